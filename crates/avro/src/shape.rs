//! A schema as what its values are drawn from.

use crate::encode;
use crate::error::SchemaError;
use crate::hints::Hints;
use apache_avro::Schema;
use apache_avro::schema::{DecimalSchema, InnerDecimalSchema, Name, UuidSchema};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Largest schema file, bytes: people write them by hand.
pub(crate) const SCHEMA_BYTES_MAX: u64 = 1 << 20;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// The days of 2025, from 1970 on: dates and timestamps of which nothing is said lie there, for real ones are near each other.
const DAYS: (i64, i64) = (20_089, 20_453);
/// Most digits of a decimal that are drawn.
const DIGITS_MAX: usize = 18;

/// What one part of a value is drawn from.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Nothing.
    Null,
    /// `true` with a probability.
    Boolean(f64),
    /// A whole number from one to another; an enum's is the place of its symbol.
    Whole(i64, i64),
    /// A number from one to another.
    Float(f64, f64),
    /// The same with twice the bytes.
    Double(f64, f64),
    /// Random bytes, of a length from one to another.
    Bytes(u32, u32),
    /// Random capital letters.
    Text(u32, u32),
    /// So many random bytes, without a length.
    Fixed(usize),
    /// An unscaled value below a power of ten; with a number of bytes in as many, otherwise in as few as it takes.
    Decimal(i64, Option<usize>),
    /// A random UUID as text.
    Uuid,
    /// Months, days and milliseconds.
    Duration,
    /// One of these, as they are encoded.
    OneOf(Vec<Vec<u8>>),
    /// So many of one shape.
    Array(Box<Shape>, (u32, u32)),
    /// The same, each with a key.
    Map(Box<Shape>, (u32, u32)),
    /// One of these.
    Union(Vec<Shape>),
    /// All of these.
    Record(Vec<Shape>),
    /// What has this name.
    Named(String),
}

/// The shapes of a schema.
#[derive(Debug)]
pub(crate) struct Shapes {
    whole: Shape,
    named: BTreeMap<String, Shape>,
}

impl Shapes {
    /// Those of a schema.
    pub(crate) fn read(text: &[u8]) -> Result<Self, SchemaError> {
        if text.len() as u64 > SCHEMA_BYTES_MAX {
            let message = format!("has {} bytes, more than the {SCHEMA_BYTES_MAX} that are read", text.len());
            return Err(SchemaError::new(message));
        }
        let json: Json =
            serde_json::from_slice(text).map_err(|e| SchemaError::new(format!("is no JSON: {e}")))?;
        let schema = Schema::parse(&json).map_err(|e| SchemaError::new(format!("is no Avro schema: {e}")))?;
        let mut reading = Reading { named: BTreeMap::new() };
        let whole = reading.shape(&schema, &json, Place { namespace: None, name: "the schema" })?;
        let shapes = Self { whole, named: reading.named };
        shapes.check_names(&shapes.whole)?;
        shapes.named.values().try_for_each(|shape| shapes.check_names(shape))?;
        Ok(shapes)
    }

    /// That of a whole value.
    pub(crate) fn whole(&self) -> &Shape {
        &self.whole
    }

    /// That with a name, which was checked to be there.
    pub(crate) fn named(&self, name: &str) -> &Shape {
        self.named.get(name).unwrap_or(&Shape::Null)
    }

    fn check_names(&self, shape: &Shape) -> Result<(), SchemaError> {
        match shape {
            Shape::Named(name) if !self.named.contains_key(name) => {
                Err(SchemaError::new(format!("refers to the type `{name}`, which is not in it"))
                    .hint("put all types into one schema file"))
            }
            Shape::Array(inner, _) | Shape::Map(inner, _) => self.check_names(inner),
            Shape::Union(inner) | Shape::Record(inner) => {
                inner.iter().try_for_each(|shape| self.check_names(shape))
            }
            _ => Ok(()),
        }
    }
}

/// Where a part of a schema stands.
#[derive(Debug, Clone, Copy)]
struct Place<'s> {
    namespace: Option<&'s str>,
    /// For messages, e.g. `order.price`.
    name: &'s str,
}

/// Types with names that were read.
struct Reading {
    named: BTreeMap<String, Shape>,
}

impl Reading {
    fn shape(&mut self, schema: &Schema, json: &Json, place: Place<'_>) -> Result<Shape, SchemaError> {
        let (json, hints) = Hints::of(json, place.name)?;
        if let Schema::Ref { name } = schema {
            hints.only(&[])?;
            return Ok(Shape::Named(name.fullname(place.namespace)));
        }
        let Some(name) = name_of(schema) else { return self.unnamed(schema, (json, hints), place) };
        let full = name.fullname(place.namespace);
        let inside = Place { namespace: name.namespace().or(place.namespace), ..place };
        let shape = self.unnamed(schema, (json, hints), inside)?;
        self.named.insert(full.clone(), shape);
        Ok(Shape::Named(full))
    }

    /// What a type is, whatever its name.
    fn unnamed(
        &mut self,
        schema: &Schema,
        (json, hints): (&Json, Hints<'_>),
        place: Place<'_>,
    ) -> Result<Shape, SchemaError> {
        if let Some(shape) = simple(schema, hints)? {
            return Ok(shape);
        }
        match schema {
            Schema::Array(array) => {
                hints.only(&["length"])?;
                let items = self.inner(&array.items, json.get("items"), (place, "items"))?;
                Ok(Shape::Array(Box::new(items), hints.length()?))
            }
            Schema::Map(map) => {
                hints.only(&["length"])?;
                let values = self.inner(&map.types, json.get("values"), (place, "values"))?;
                Ok(Shape::Map(Box::new(values), hints.length()?))
            }
            Schema::Union(union) => {
                hints.only(&[])?;
                let variants = union.variants().iter().enumerate();
                let shapes = variants
                    .map(|(at, variant)| self.shape(variant, json.get(at).unwrap_or(&Json::Null), place));
                shapes.collect::<Result<_, _>>().map(Shape::Union)
            }
            Schema::Record(record) => {
                hints.only(&[])?;
                let fields = record.fields.iter().enumerate();
                let shapes = fields.map(|(at, field)| {
                    let json = json.get("fields").and_then(|fields| fields.get(at));
                    self.inner(&field.schema, json, (place, &field.name))
                });
                shapes.collect::<Result<_, _>>().map(Shape::Record)
            }
            other => Err(SchemaError::new(format!("has a type that is not made here: {other}"))),
        }
    }

    fn inner(
        &mut self,
        schema: &Schema,
        json: Option<&Json>,
        (outer, name): (Place<'_>, &str),
    ) -> Result<Shape, SchemaError> {
        let name = match outer.name.strip_prefix('`').and_then(|outer| outer.strip_suffix('`')) {
            Some(outer) => format!("`{outer}.{name}`"),
            None => format!("`{name}`"),
        };
        self.shape(schema, json.unwrap_or(&Json::Null), Place { name: &name, ..outer })
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
fn simple(schema: &Schema, hints: Hints<'_>) -> Result<Option<Shape>, SchemaError> {
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
        Schema::Float => real(hints, f64::from(f32::MAX), Shape::Float, |number, out| {
            out.extend_from_slice(&(*number as f32).to_le_bytes());
        })?,
        Schema::Double => real(hints, f64::MAX, Shape::Double, |number, out| {
            out.extend_from_slice(&number.to_le_bytes());
        })?,
        Schema::String => text(hints)?,
        Schema::Enum(symbols) => symbol(hints, &symbols.symbols)?,
        Schema::Bytes => {
            hints.only(&["length"])?;
            let (min, max) = hints.length()?;
            Shape::Bytes(min, max)
        }
        rest => {
            let Some(shape) = fixed(rest) else { return Ok(None) };
            hints.only(&[])?;
            shape
        }
    };
    Ok(Some(shape))
}

/// Types of which a schema can say nothing more.
fn fixed(schema: &Schema) -> Option<Shape> {
    Some(match schema {
        Schema::Null => Shape::Null,
        Schema::Fixed(fixed) => Shape::Fixed(fixed.size),
        Schema::Duration(_) => Shape::Duration,
        Schema::Uuid(UuidSchema::String) => Shape::Uuid,
        Schema::Uuid(UuidSchema::Fixed(_)) => Shape::Fixed(16),
        Schema::Uuid(UuidSchema::Bytes) => Shape::Bytes(16, 16),
        Schema::Decimal(decimal) => {
            let below = 10_i64.pow(decimal.precision.min(DIGITS_MAX) as u32);
            match &decimal.inner {
                InnerDecimalSchema::Bytes => Shape::Decimal(below, None),
                // What does not fit in so few bytes is not drawn.
                InnerDecimalSchema::Fixed(fixed) => {
                    let bits =
                        u32::try_from(fixed.size.saturating_mul(8)).unwrap_or(u32::MAX).saturating_sub(1);
                    let fits = if bits < i64::BITS - 1 { 1 << bits } else { i64::MAX };
                    Shape::Decimal(below.min(fits), Some(fixed.size))
                }
            }
        }
        _ => return None,
    })
}

fn whole(hints: Hints<'_>, usual: (i64, i64), possible: (i64, i64)) -> Result<Shape, SchemaError> {
    hints.only(&["range", "options"])?;
    let is_possible = |number: &i64| (possible.0..=possible.1).contains(number);
    let options = hints.options(|json| json.as_i64().filter(is_possible))?;
    let (min, max) = hints.whole(usual, possible)?;
    Ok(one_of(options, |number, out| encode::long(*number, out)).unwrap_or(Shape::Whole(min, max)))
}

fn real(
    hints: Hints<'_>,
    possible: f64,
    shape: impl Fn(f64, f64) -> Shape,
    encode: impl Fn(&f64, &mut Vec<u8>),
) -> Result<Shape, SchemaError> {
    hints.only(&["range", "options"])?;
    let options = hints.options(Json::as_f64)?;
    let (min, max) = hints.real(possible)?;
    Ok(one_of(options, encode).unwrap_or_else(|| shape(min, max)))
}

fn boolean(hints: Hints<'_>) -> Result<Shape, SchemaError> {
    hints.only(&["odds", "options"])?;
    let options = hints.options(Json::as_bool)?;
    let odds = hints.odds()?;
    Ok(one_of(options, |is_true, out| out.push((*is_true).into())).unwrap_or(Shape::Boolean(odds)))
}

fn text(hints: Hints<'_>) -> Result<Shape, SchemaError> {
    hints.only(&["length", "options"])?;
    let options = hints.options(|json| json.as_str().map(str::to_owned))?;
    let (min, max) = hints.length()?;
    Ok(one_of(options, |text, out| encode::bytes(text.as_bytes(), out)).unwrap_or(Shape::Text(min, max)))
}

fn symbol(hints: Hints<'_>, symbols: &[String]) -> Result<Shape, SchemaError> {
    hints.only(&["options"])?;
    let place_of = |json: &Json| symbols.iter().position(|symbol| json.as_str() == Some(symbol));
    let options = hints.options(place_of)?;
    if symbols.is_empty() {
        return Err(SchemaError::new("has an enum without symbols"));
    }
    let all = Shape::Whole(0, symbols.len() as i64 - 1);
    Ok(one_of(options, |place, out| encode::long(*place as i64, out)).unwrap_or(all))
}

/// One of what a schema lists, if it does.
fn one_of<T>(options: Option<Vec<T>>, encode: impl Fn(&T, &mut Vec<u8>)) -> Option<Shape> {
    let encoded = |option: &T| {
        let mut out = Vec::new();
        encode(option, &mut out);
        out
    };
    options.map(|options| Shape::OneOf(options.iter().map(encoded).collect()))
}
