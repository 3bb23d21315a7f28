//! A text of several YAML documents as JSON: resources of Kubernetes that a scenario names.

use crate::input::{InputError, TextPosition};
use crate::yaml::{self, Scalar, YamlNode};
use serde_json::{Map, Number, Value};

/// Most documents of one text: each is read with as many lines before it as there are.
const DOCUMENTS_MAX: usize = 20;

/// Reads all of them; documents without anything in them are left out.
///
/// # Errors
/// Everything that is not plain, bounded YAML, with its place. The error does not name the file yet.
pub fn documents(text: &str) -> Result<Vec<Value>, InputError> {
    let mut found = Vec::new();
    let mut document = String::new();
    let mut begun = 1;
    // Lines of the documents before stay as empty ones, so that places are those of the text.
    for (number, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            begun += 1;
            if begun > DOCUMENTS_MAX {
                let place = TextPosition { line: u32::try_from(number + 1).unwrap_or(u32::MAX), column: 1 };
                return Err(InputError::at(place, format!("more than {DOCUMENTS_MAX} documents")));
            }
            found.extend(value(&document)?);
            document = "\n".repeat(number + 1);
        } else {
            document.push_str(line);
            document.push('\n');
        }
    }
    found.extend(value(&document)?);
    Ok(found)
}

fn value(document: &str) -> Result<Option<Value>, InputError> {
    let is_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if document.lines().all(is_nothing) {
        return Ok(None);
    }
    yaml::parse(document).map(|root| Some(json(&root)))
}

fn json(node: &YamlNode) -> Value {
    match node {
        YamlNode::Scalar(typed) => scalar(typed),
        YamlNode::List(_, items) => items.iter().map(json).collect(),
        YamlNode::Map(_, fields) => {
            let fields = fields.iter().map(|(key, value)| (key.text.clone(), json(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// What YAML's core schema makes of a text without quotes.
fn scalar(typed: &Scalar) -> Value {
    let text = typed.text.as_str();
    if typed.quoted {
        return Value::from(text);
    }
    let number = || {
        let real =
            || text.parse::<f64>().ok().filter(|_| text.contains(['.', 'e', 'E'])).and_then(Number::from_f64);
        text.parse::<i64>().ok().map(Number::from).or_else(real)
    };
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => number().map_or_else(|| Value::from(text), Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_are_json_with_the_types_of_yaml() {
        let text = "# ours\n---\nkind: Kafka\nspec: {tls: true, port: 9092, share: 0.5, version: \"4.1\", name: plain, no: }\n\
                    ---\n\n---\nlist: [1, a]\n";
        let spec =
            json!({"tls": true, "port": 9092, "share": 0.5, "version": "4.1", "name": "plain", "no": null});
        let wanted = vec![json!({"kind": "Kafka", "spec": spec}), json!({"list": [1, "a"]})];
        assert_eq!(documents(text).expect("two documents"), wanted);
        assert_eq!(documents("# nothing\n").expect("none"), Vec::<Value>::new());
    }

    #[test]
    fn a_mistake_is_named_by_its_line_of_the_file() {
        let error = documents("kind: Kafka\n---\nkind: KafkaNodePool\nspec: &a {}\n").expect_err("an anchor");
        assert_eq!(error.place.map(|place| place.line), Some(4));
        let error = documents(&"---\n".repeat(1000)).expect_err("too many");
        assert_eq!(error.place.map(|place| place.line), Some(20));
    }
}
