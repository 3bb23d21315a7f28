//! What a schema says of its values beyond their types, under `arg.properties`.

use crate::error::SchemaError;
use serde_json::{Map, Value as Json};

/// Name of the attribute.
const NAME: &str = "arg.properties";
/// Lengths of strings, bytes, arrays and maps without a hint, as Confluent's generator has them.
const LENGTH: (u32, u32) = (8, 15);
/// Letters of what is wrong that are shown.
const SHOWN_MAX: usize = 60;
/// Longest that may be requested; the size of a value as a whole is bounded separately.
const LENGTH_MAX: u32 = 8 << 20;

/// The attributes of one type in a schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints<'s> {
    said: Option<&'s Map<String, Json>>,
    place: &'s str,
}

impl<'s> Hints<'s> {
    /// Hints of a type at a place, and the type behind objects that only wrap one.
    pub(crate) fn of(mut json: &'s Json, place: &'s str) -> Result<(&'s Json, Self), SchemaError> {
        let mut said = None;
        while let Json::Object(object) = json {
            match object.get(NAME) {
                None => {}
                Some(_) if said.is_some() => {
                    return Err(SchemaError::new(format!(
                        "says `{NAME}` of {place} twice, one within the other"
                    )));
                }
                Some(Json::Object(found)) => said = Some(found),
                Some(_) => {
                    return Err(SchemaError::new(format!("says `{NAME}` of {place}, which is no object")));
                }
            }
            match object.get("type") {
                Some(inner @ (Json::Object(_) | Json::Array(_))) => json = inner,
                _ => break,
            }
        }
        Ok((json, Self { said, place }))
    }

    /// What is wrong with one of them.
    fn wrong(&self, name: &str, why: &str) -> SchemaError {
        SchemaError::new(format!("says `{name}` in `{NAME}` of {}, which {why}", self.place))
    }

    /// Refuses what the type cannot make use of.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), SchemaError> {
        let mut names = self.said.iter().flat_map(|said| said.keys());
        let Some(name) = names.find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let hint = match known {
            [] => {
                "of a record, a union, a fixed, a decimal and null nothing is taken; say it of the types within".to_owned()
            }
            known => format!("of this type it may say `{}`", known.join("`, `")),
        };
        Err(self.wrong(name, "is not known here").hint(hint))
    }

    fn get(&self, name: &str) -> Option<&'s Json> {
        self.said.and_then(|said| said.get(name))
    }

    /// The two ends of something, `min` and `max`; an end that is left out has its usual value.
    fn ends<T: Copy>(
        &self,
        name: &str,
        usual: (T, T),
        read: impl Fn(&Json) -> Option<T>,
    ) -> Result<(T, T), SchemaError> {
        let Some(said) = self.get(name) else { return Ok(usual) };
        let wrong = || self.wrong(name, "is no map of `min` and `max` with numbers that suit its type");
        let ends = said.as_object().ok_or_else(wrong)?;
        if ends.is_empty() || ends.keys().any(|end| end != "min" && end != "max") {
            return Err(wrong());
        }
        let end = |name: &str, usual| ends.get(name).map_or(Some(usual), &read).ok_or_else(wrong);
        Ok((end("min", usual.0)?, end("max", usual.1)?))
    }

    /// Shortest and longest length. As in Confluent's generator the length is below `max`.
    pub(crate) fn length(&self) -> Result<(u32, u32), SchemaError> {
        let read = |json: &Json| json.as_u64().and_then(|length| u32::try_from(length).ok());
        if let Some(length) = self.get("length").and_then(read) {
            return self.checked_length((length, length));
        }
        // Without `min` none is too short.
        let min_usual = if self.get("length").is_some() { 0 } else { LENGTH.0 };
        let (min, max) = self.ends("length", (min_usual, LENGTH.1 + 1), read)?;
        let is_open = self.get("length").is_some_and(|said| said.get("max").is_none());
        let max = if is_open && max <= min { min.saturating_add(1) } else { max };
        self.checked_length((min, max.checked_sub(1).ok_or_else(|| self.none("length"))?))
    }

    fn checked_length(&self, (min, max): (u32, u32)) -> Result<(u32, u32), SchemaError> {
        if min > max {
            return Err(self.none("length"));
        }
        if max > LENGTH_MAX {
            return Err(self.wrong("length", &format!("is more than {LENGTH_MAX}")));
        }
        Ok((min, max))
    }

    fn none(&self, name: &str) -> SchemaError {
        self.wrong(name, "leaves no value").hint("`max` itself is not reached: it must be more than `min`")
    }

    /// Smallest and largest whole number, of those that the type has or that are usual; below `max`.
    pub(crate) fn whole(&self, usual: (i64, i64), possible: (i64, i64)) -> Result<(i64, i64), SchemaError> {
        let Some(said) = self.get("range") else { return Ok(usual) };
        let (min, max) = self.ends("range", possible, Json::as_i64)?;
        let max = if said.get("max").is_some() { max.checked_sub(1) } else { Some(max) };
        let max = max.filter(|max| *max >= min).ok_or_else(|| self.none("range"))?;
        if min < possible.0 || max > possible.1 {
            let (from, to) = possible;
            return Err(self.wrong("range", &format!("goes beyond the type: {from} to {to}")));
        }
        Ok((min, max))
    }

    /// Smallest and largest real number.
    pub(crate) fn real(&self, possible: f64) -> Result<(f64, f64), SchemaError> {
        let usual = if self.get("range").is_some() { (-possible, possible) } else { (0.0, 1.0) };
        let (min, max) = self.ends("range", usual, Json::as_f64)?;
        if min.abs() > possible || max.abs() > possible {
            return Err(self.wrong("range", "goes beyond the type"));
        }
        if min < max { Ok((min, max)) } else { Err(self.none("range")) }
    }

    /// Probability of `true`.
    pub(crate) fn odds(&self) -> Result<f64, SchemaError> {
        let Some(said) = self.get("odds") else { return Ok(0.5) };
        let odds = said.as_f64().filter(|odds| (0.0..=1.0).contains(odds));
        odds.ok_or_else(|| self.wrong("odds", "is no number from 0 to 1"))
    }

    /// The only values that there are, each read by the type.
    pub(crate) fn options<T>(
        &self,
        read: impl Fn(&Json) -> Option<T>,
    ) -> Result<Option<Vec<T>>, SchemaError> {
        let Some(said) = self.get("options") else { return Ok(None) };
        if let Some(other) = self.said.iter().flat_map(|said| said.keys()).find(|name| *name != "options") {
            return Err(self.wrong(other, "says nothing next to `options`").hint("leave one of them out"));
        }
        let wrong = |which: &str| self.wrong("options", &format!("is no list of values of its type{which}"));
        let list = said.as_array().filter(|list| !list.is_empty()).ok_or_else(|| wrong(""))?;
        let one = |option: &Json| {
            read(option).ok_or_else(|| {
                let shown: String = option.to_string().chars().take(SHOWN_MAX).collect();
                wrong(&format!(": {shown} is none"))
            })
        };
        list.iter().map(one).collect::<Result<_, _>>().map(Some)
    }
}
