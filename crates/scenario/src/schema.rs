//! The JSON Schemas of scenarios and targets, made from the tables of keys: editors check a file by them while it is typed.

use crate::keys::{self, Key, Section, ValueKind};
use crate::reference::{SECTIONS, TARGET_SECTIONS};
use crate::units::{Dimension, spellings};
use serde_json::{Map, Value, json};

/// Digits, as `units` reads them.
const DIGITS: &str = "[0-9]([0-9_]*\\.?[0-9_]*[0-9])?";
/// What a text with a param, and a formula, begin or go on with: neither is judged before a case is chosen.
const OF_PARAMS: &str = "\\$|^\\s*=";
/// JSON Schema of a scenario.
pub fn json_schema() -> Value {
    root(&keys::SCENARIO, SECTIONS)
}

/// JSON Schema of a target.
pub fn target_json_schema() -> Value {
    root(&keys::TARGET, TARGET_SECTIONS)
}

/// The number is that of the format, the key `kdyno`.
fn root(section: &Section, sections: &[&Section]) -> Value {
    let mut schema = section_schema(section);
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("$id".to_owned(), json!(format!("urn:kdyno:{}:1", section.name)));
    schema.insert("title".to_owned(), json!(format!("kdyno {}", section.name)));
    let others = sections.iter().skip(1);
    let defs =
        others.map(|section| (def_name(section), section_schema(section).into())).collect::<Map<_, _>>();
    schema.insert("$defs".to_owned(), defs.into());
    schema.into()
}

fn def_name(section: &Section) -> String {
    section.name.replace(' ', "_")
}

fn section_schema(section: &Section) -> Map<String, Value> {
    let mut schema = Map::new();
    if section.name == keys::LOAD.name {
        let of_clients = [&keys::PRODUCE, &keys::CONSUME, &keys::END_TO_END];
        let of_others = [&keys::COMMAND, &keys::USERS, &keys::JOB];
        let roles = of_clients.into_iter().chain(of_others).map(reference_to);
        schema.insert("oneOf".to_owned(), roles.collect());
        return schema;
    }
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("description".to_owned(), json!(section.purpose));
    let is_side = section.name == keys::SIDE.name;
    let properties = section.keys.iter().map(|key| (key.name.to_owned(), key_schema(key, is_side)));
    schema.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
    let required: Vec<&str> = section.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    let others = match (section.open, section.name) {
        (false, _) => json!(false),
        (true, "vary") => json!({"type": "array", "items": any_scalar(), "minItems": 1}),
        (true, _) => any_scalar(),
    };
    schema.insert("additionalProperties".to_owned(), others);
    schema
}

fn key_schema(key: &Key, is_patch: bool) -> Value {
    let of_kind = if is_patch { patch_schema(&key.kind) } else { kind_schema(&key.kind) };
    let mut schema = match of_kind {
        Value::Object(schema) => schema,
        other => Map::from_iter([("anyOf".to_owned(), json!([other]))]),
    };
    let default = key.default.filter(|text| !text.is_empty());
    let default = default.map(|text| format!(" (default: {text})")).unwrap_or_default();
    schema.insert("description".to_owned(), json!(format!("{}{default}", key.meaning)));
    schema.into()
}

fn reference_to(section: &Section) -> Value {
    json!({"$ref": format!("#/$defs/{}", def_name(section))})
}

fn any_scalar() -> Value {
    json!({"type": ["string", "number", "boolean", "null"]})
}

fn kind_schema(kind: &ValueKind) -> Value {
    match kind {
        ValueKind::Scalar(what, pattern) => scalar_schema(what, pattern),
        ValueKind::Choice(words) => {
            // A word such as `1.3` is a number to an editor.
            let spelt = words.iter().flat_map(|word| {
                let number = word.parse::<f64>().ok().and_then(|_| serde_json::from_str(word).ok());
                number.into_iter().chain([json!(word)])
            });
            let spelt: Vec<Value> = spelt.collect();
            json!({"anyOf": [{"enum": spelt}, {"type": "string", "pattern": "\\$"}]})
        }
        ValueKind::Section(section) => reference_to(section),
        ValueKind::Named(section) => json!({"type": "object", "additionalProperties": reference_to(section)}),
        // Their values may be maps.
        ValueKind::Settings(
            "facts"
            | keys::TOPICS_OF_SIDE
            | keys::LOAD_OF_SIDE
            | keys::COMPONENTS_OF_SIDE
            | keys::HOSTS_OF_ITEMS,
        ) => {
            json!({"type": "object"})
        }
        ValueKind::Settings(_) => json!({"type": "object", "additionalProperties": any_scalar()}),
        ValueKind::List(inner) => json!({"type": "array", "items": kind_schema(inner)}),
        ValueKind::Either(kinds) => json!({"anyOf": kinds.iter().map(kind_schema).collect::<Vec<_>>()}),
    }
}

/// What a side of a comparison lays over a value: some keys of a map, and `null` in the place of what goes.
fn patch_schema(kind: &ValueKind) -> Value {
    let changed = match kind {
        ValueKind::Section(section) => {
            let keys = section.keys.iter().map(|key| (key.name.to_owned(), patch_schema(&key.kind)));
            json!({"type": "object", "properties": keys.collect::<Map<_, _>>(), "additionalProperties": false})
        }
        ValueKind::Either(kinds) => json!({"anyOf": kinds.iter().map(patch_schema).collect::<Vec<_>>()}),
        other => kind_schema(other),
    };
    json!({"anyOf": [changed, {"type": "null"}]})
}

/// A single value. Quantities with a unit are text to an editor, plain ones numbers too.
fn scalar_schema(what: &str, pattern: &str) -> Value {
    if pattern.is_empty() {
        return json!({"type": ["string", "number", "boolean"]});
    }
    let (plain, duration) = (quantity(Dimension::Plain), quantity(Dimension::Ns));
    let spelt = pattern
        .replace("SPAN", &format!("{duration}\\s*\\.\\.\\s*{duration}"))
        .replace("DURATION", &duration)
        .replace("RATE", &format!("{plain}/(s|min|m|h)"))
        .replace("SIZE", &quantity(Dimension::Bytes))
        .replace("COUNT", &plain)
        .replace("NUMBER", &plain);
    let mut schema = json!({
        "type": "string",
        "pattern": format!("^({spelt})$|{OF_PARAMS}"),
        // What Visual Studio Code says in the place of the pattern.
        "patternErrorMessage": format!("takes {what}; or `$param`, or `= formula`"),
    });
    let number = if pattern.starts_with("COUNT") { "integer" } else { "number" };
    if pattern.starts_with("COUNT") || pattern == "NUMBER" {
        schema["type"] = json!([number, "string"]);
        schema["minimum"] = json!(0);
    }
    schema
}

/// A number with a unit of a dimension; a plain one may go without.
fn quantity(dimension: Dimension) -> String {
    let units: Vec<&str> = spellings(dimension).filter(|unit| !unit.is_empty()).collect();
    let optional = if dimension == Dimension::Plain { "?" } else { "" };
    format!("{DIGITS}\\s*({}){optional}", units.join("|"))
}
