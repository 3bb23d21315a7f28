//! Reads a schema: what its values are drawn from.

use crate::encode;
use crate::endings;
use crate::error::SchemaError;
use crate::hints::Hints;
use crate::shape::{Shapes, ValueShape};
use apache_avro::Schema;
use apache_avro::schema::{DecimalSchema, InnerDecimalSchema, Name, UuidSchema};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};

/// Largest schema file, bytes: people write them by hand.
pub(crate) const SCHEMA_BYTES_MAX: u64 = 1 << 20;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// The days of 2025, from 1970 on: dates and timestamps without a hint lie there, for real ones are near each other.
const DAYS: (i64, i64) = (20_089, 20_453);
/// Most digits of a decimal that are drawn.
const DIGITS_MAX: usize = 18;

/// The shapes of a schema.
///
/// # Errors
/// It is none, or values cannot be made of it.
pub(crate) fn read(text: &[u8]) -> Result<Shapes, SchemaError> {
    if text.len() as u64 > SCHEMA_BYTES_MAX {
        let message = format!("has {} bytes, more than the {SCHEMA_BYTES_MAX} that are read", text.len());
        return Err(SchemaError::new(message));
    }
    let json: Json =
        serde_json::from_slice(text).map_err(|e| SchemaError::new(format!("is no JSON: {e}")))?;
    if json.get("type").is_none() && json.get("schema").is_some_and(Json::is_string) {
        return Err(SchemaError::new("is the answer of a registry")
            .hint("the schema is the text under `schema` there, without its quotation marks"));
    }
    let json = without_defaults(json);
    let schema = Schema::parse(&json).map_err(|e| not_avro(&e.to_string()))?;
    let mut reading = NamedTypes::default();
    let mut whole = reading.shape(&schema, &json, "the schema")?;
    let NamedTypes { numbers, mut named } = reading;
    endings::find(&mut whole, &mut named, &numbers)?;
    Ok(Shapes::new(whole, named))
}

/// A schema without the defaults of its fields: values have no need of them, and to check those of types within types takes
/// the parser time without end.
fn without_defaults(json: Json) -> Json {
    match json {
        Json::Object(object) => {
            let kept = object.into_iter().filter(|(key, _)| key != "default");
            Json::Object(kept.map(|(key, value)| (key, without_defaults(value))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(without_defaults).collect()),
        other => other,
    }
}

/// What the parser says, which may repeat the schema.
fn not_avro(why: &str) -> SchemaError {
    const LETTERS_MAX: usize = 200;
    let mut shown: String = why.chars().take(LETTERS_MAX).collect();
    if shown.len() < why.len() {
        shown.push('…');
    }
    SchemaError::new(format!("is no Avro schema: {shown}"))
        .hint("a type is defined in this file, where it is named first from the top: references to others are not read")
}

/// Types with names that were read.
#[derive(Default)]
struct NamedTypes {
    /// Their numbers, by their whole names.
    numbers: BTreeMap<String, usize>,
    named: Vec<ValueShape>,
}

impl NamedTypes {
    /// What a type is. `place`: where it is, for messages.
    fn shape(&mut self, schema: &Schema, json: &Json, place: &str) -> Result<ValueShape, SchemaError> {
        let (json, hints) = Hints::of(json, place)?;
        if let Schema::Ref { name } = schema {
            hints.only(&[])?;
            let full = name.fullname(None);
            return self.numbers.get(&full).map(|number| ValueShape::Named(*number)).ok_or_else(|| {
                SchemaError::new(format!("refers at {place} to the type `{full}`, which it does not define"))
                    .hint("put all types into one schema file, and name them by their names, not by aliases")
            });
        }
        let Some(name) = name_of(schema) else { return self.unnamed(schema, (json, hints), place) };
        // The parser has put namespaces before names.
        let full = name.fullname(None);
        let number = self.named.len();
        self.named.push(ValueShape::Null);
        if self.numbers.insert(full.clone(), number).is_some() {
            return Err(SchemaError::new(format!("defines the type `{full}` twice")));
        }
        self.named[number] = self.unnamed(schema, (json, hints), place)?;
        Ok(ValueShape::Named(number))
    }

    /// What a type is, whatever its name.
    fn unnamed(
        &mut self,
        schema: &Schema,
        (json, hints): (&Json, Hints<'_>),
        place: &str,
    ) -> Result<ValueShape, SchemaError> {
        if let Some(shape) = simple(schema, hints, place)? {
            return Ok(shape);
        }
        match schema {
            Schema::Array(array) => {
                hints.only(&["length"])?;
                let items = self.inner(&array.items, json.get("items"), (place, "items"))?;
                Ok(ValueShape::Array(Box::new(items), hints.length()?))
            }
            Schema::Map(map) => {
                hints.only(&["length"])?;
                let values = self.inner(&map.types, json.get("values"), (place, "values"))?;
                Ok(ValueShape::Map(Box::new(values), hints.length()?))
            }
            Schema::Union(union) if union.variants().is_empty() => {
                Err(SchemaError::new(format!("has at {place} a union of nothing")))
            }
            Schema::Union(union) => {
                hints.only(&[])?;
                let variants = union.variants().iter().enumerate();
                let shapes = variants
                    .map(|(at, variant)| self.shape(variant, json.get(at).unwrap_or(&Json::Null), place));
                shapes.collect::<Result<_, _>>().map(|shapes| ValueShape::Union(shapes, 0))
            }
            Schema::Record(record) => {
                hints.only(&[])?;
                let typed =
                    json.get("fields").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
                if typed.len() != record.fields.len() {
                    return Err(SchemaError::new(format!("has at {place} a field that is no object")));
                }
                let fields = record.fields.iter().zip(typed);
                let shapes =
                    fields.map(|(field, json)| self.inner(&field.schema, Some(json), (place, &field.name)));
                shapes.collect::<Result<_, _>>().map(ValueShape::Record)
            }
            other => {
                let hint = "give it another type, or send values of your own with `file` or `sample`";
                Err(SchemaError::new(format!("has at {place} a type that is not made here: {other}"))
                    .hint(hint))
            }
        }
    }

    fn inner(
        &mut self,
        schema: &Schema,
        json: Option<&Json>,
        (outer, name): (&str, &str),
    ) -> Result<ValueShape, SchemaError> {
        let place = match outer.strip_prefix('`').and_then(|outer| outer.strip_suffix('`')) {
            Some(outer) => format!("`{outer}.{name}`"),
            None => format!("`{name}`"),
        };
        self.shape(schema, json.unwrap_or(&Json::Null), &place)
    }
}

/// The name that a type has of itself.
fn name_of(schema: &Schema) -> Option<&Name> {
    match schema {
        Schema::Record(record) => Some(&record.name),
        Schema::Enum(symbols) => Some(&symbols.name),
        Schema::Fixed(fixed) | Schema::Duration(fixed) | Schema::Uuid(UuidSchema::Fixed(fixed)) => {
            Some(&fixed.name)
        }
        Schema::Decimal(DecimalSchema { inner: InnerDecimalSchema::Fixed(fixed), .. }) => Some(&fixed.name),
        _ => None,
    }
}

/// Types without others inside; `None`: it has others, or is not known.
fn simple(schema: &Schema, hints: Hints<'_>, place: &str) -> Result<Option<ValueShape>, SchemaError> {
    const INT: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
    const LONG: (i64, i64) = (i64::MIN, i64::MAX);
    let day = |units: i64| (0, DAY_MS * units - 1);
    let year = |units: i64| (DAYS.0 * DAY_MS * units, (DAYS.1 + 1) * DAY_MS * units - 1);
    let shape = match schema {
        Schema::Int => whole(hints, INT, INT)?,
        Schema::Long => whole(hints, LONG, LONG)?,
        Schema::Date => whole(hints, DAYS, INT)?,
        Schema::TimeMillis => whole(hints, day(1), day(1))?,
        Schema::TimeMicros => whole(hints, day(1_000), day(1_000))?,
        Schema::TimestampMillis | Schema::LocalTimestampMillis => whole(hints, year(1), LONG)?,
        Schema::TimestampMicros | Schema::LocalTimestampMicros => whole(hints, year(1_000), LONG)?,
        Schema::TimestampNanos | Schema::LocalTimestampNanos => whole(hints, year(1_000_000), LONG)?,
        Schema::Boolean => boolean(hints)?,
        Schema::Float => real(hints, f64::from(f32::MAX), ValueShape::Float, |number, out| {
            out.extend_from_slice(&(*number as f32).to_le_bytes());
        })?,
        Schema::Double => real(hints, f64::MAX, ValueShape::Double, |number, out| {
            out.extend_from_slice(&number.to_le_bytes());
        })?,
        Schema::String => text(hints)?,
        Schema::Enum(symbols) => symbol(hints, &symbols.symbols, place)?,
        Schema::Bytes => {
            hints.only(&["length"])?;
            let (min, max) = hints.length()?;
            ValueShape::Bytes(min, max)
        }
        rest => {
            let Some(shape) = fixed(rest) else { return Ok(None) };
            hints.only(&[])?;
            shape
        }
    };
    Ok(Some(shape))
}

/// Types that a schema can say nothing more about.
fn fixed(schema: &Schema) -> Option<ValueShape> {
    Some(match schema {
        Schema::Null => ValueShape::Null,
        Schema::Fixed(fixed) => ValueShape::Fixed(fixed.size),
        Schema::Duration(_) => ValueShape::Duration,
        Schema::Uuid(UuidSchema::String) => ValueShape::Uuid,
        Schema::Uuid(UuidSchema::Fixed(_)) => ValueShape::Fixed(16),
        Schema::Uuid(UuidSchema::Bytes) => ValueShape::Bytes(16, 16),
        Schema::Decimal(decimal) => {
            let below = 10_i64.pow(decimal.precision.min(DIGITS_MAX) as u32);
            match &decimal.inner {
                InnerDecimalSchema::Bytes => ValueShape::Decimal(below, None),
                // What does not fit in so few bytes is not drawn.
                InnerDecimalSchema::Fixed(fixed) => {
                    let bits =
                        u32::try_from(fixed.size.saturating_mul(8)).unwrap_or(u32::MAX).saturating_sub(1);
                    let fits = if bits < i64::BITS - 1 { 1 << bits } else { i64::MAX };
                    ValueShape::Decimal(below.min(fits), Some(fixed.size))
                }
            }
        }
        _ => return None,
    })
}

fn whole(hints: Hints<'_>, usual: (i64, i64), possible: (i64, i64)) -> Result<ValueShape, SchemaError> {
    hints.only(&["range", "options"])?;
    let is_possible = |number: &i64| (possible.0..=possible.1).contains(number);
    let options = hints.options(|json| json.as_i64().filter(is_possible))?;
    let (min, max) = hints.whole(usual, possible)?;
    Ok(one_of(options, |number, out| encode::long(*number, out)).unwrap_or(ValueShape::Whole(min, max)))
}

fn real(
    hints: Hints<'_>,
    possible: f64,
    shape: impl Fn(f64, f64) -> ValueShape,
    encode: impl Fn(&f64, &mut Vec<u8>),
) -> Result<ValueShape, SchemaError> {
    hints.only(&["range", "options"])?;
    let is_possible = |number: &f64| number.abs() <= possible;
    let options = hints.options(|json| json.as_f64().filter(is_possible))?;
    let (min, max) = hints.real(possible)?;
    Ok(one_of(options, encode).unwrap_or_else(|| shape(min, max)))
}

fn boolean(hints: Hints<'_>) -> Result<ValueShape, SchemaError> {
    hints.only(&["odds", "options"])?;
    let options = hints.options(Json::as_bool)?;
    let odds = hints.odds()?;
    Ok(one_of(options, |is_true, out| out.push((*is_true).into())).unwrap_or(ValueShape::Boolean(odds)))
}

fn text(hints: Hints<'_>) -> Result<ValueShape, SchemaError> {
    hints.only(&["length", "options"])?;
    let options = hints.options(|json| json.as_str().map(str::to_owned))?;
    let (min, max) = hints.length()?;
    Ok(one_of(options, |text, out| encode::bytes(text.as_bytes(), out)).unwrap_or(ValueShape::Text(min, max)))
}

fn symbol(hints: Hints<'_>, symbols: &[String], place: &str) -> Result<ValueShape, SchemaError> {
    hints.only(&["options"])?;
    if symbols.is_empty() {
        return Err(SchemaError::new(format!("has at {place} an enum without symbols")));
    }
    let places: HashMap<&str, usize> =
        symbols.iter().enumerate().map(|(place, symbol)| (symbol.as_str(), place)).collect();
    let options = hints.options(|json| places.get(json.as_str()?).copied())?;
    let all = ValueShape::Whole(0, symbols.len() as i64 - 1);
    Ok(one_of(options, |place, out| encode::long(*place as i64, out)).unwrap_or(all))
}

/// One of what a schema lists, if it does.
fn one_of<T>(options: Option<Vec<T>>, encode: impl Fn(&T, &mut Vec<u8>)) -> Option<ValueShape> {
    let encoded = |option: &T| {
        let mut out = Vec::new();
        encode(option, &mut out);
        out
    };
    options.map(|options| ValueShape::OneOf(options.iter().map(encoded).collect()))
}
