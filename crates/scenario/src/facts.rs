//! What is declared of a target (`facts`) or of where a scenario runs (`environment`).

use crate::input::InputError;
use crate::walk::{entries, scalar};
use crate::yaml::YamlNode;
use kdyno_model::declared::{LIMITS, bytes_per_s};
use kdyno_model::words::quoted;
use std::collections::BTreeMap;

/// Most facts, nested ones counted singly.
const FACTS_MAX: usize = 200;

/// Facts under their names, nested ones under dotted names. `key` is the key above them.
pub(crate) fn facts(node: &YamlNode, key: &str) -> Result<BTreeMap<String, String>, InputError> {
    let mut found = BTreeMap::new();
    flatten((node, ""), key, &mut found)?;
    Ok(found)
}

fn flatten(
    (node, under): (&YamlNode, &str),
    of: &str,
    facts: &mut BTreeMap<String, String>,
) -> Result<(), InputError> {
    for (key, value) in entries(node, of)? {
        let name = if under.is_empty() { key.text.clone() } else { format!("{under}.{}", key.text) };
        if facts.len() >= FACTS_MAX {
            return Err(InputError::at(key.place, format!("there are more than {FACTS_MAX} facts")));
        }
        match value {
            YamlNode::Map(..) => flatten((value, &name), of, facts)?,
            YamlNode::Scalar(typed) => {
                let limit = LIMITS.iter().find(|(limit, _)| *limit == name);
                if let Some((_, hint)) = limit.filter(|_| bytes_per_s(&typed.text).is_none()) {
                    let message =
                        format!("`{name}`: {} is no rate that a resource may have", quoted(&typed.text));
                    return Err(InputError::at(typed.place, message).hint(*hint));
                }
                facts.insert(name, typed.text.clone());
            }
            YamlNode::List(_, items) => {
                let texts = items.iter().map(|item| scalar(item, &name).map(|typed| typed.text));
                facts.insert(name.clone(), texts.collect::<Result<Vec<_>, _>>()?.join(", "));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn environment(text: &str) -> Result<Vec<(String, String)>, String> {
        let scenario = format!(
            "kdyno: 1\nid: small\nquestion: How?\n{text}\ntopics: {{t: {{partitions: 1}}}}\n\
             load: {{w: {{produce: t, rate: 1/s, value: 1B}}}}\nphases: {{measure: 1s}}\n"
        );
        let read = Scenario::parse(&scenario, "s.yaml").map_err(|error| error.to_string())?;
        Ok(read.typed().environment.clone().into_iter().collect())
    }

    #[test]
    fn what_is_declared_may_be_nested_and_listed() {
        let reported =
            environment("environment: {storage class: gp3, disk: {limit: 250MiB/s}, zones: [a, b]}");
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            reported,
            Ok(vec![of("disk.limit", "250MiB/s"), of("storage class", "gp3"), of("zones", "a, b")])
        );
        assert_eq!(environment(""), Ok(Vec::new()));
        let wrong = environment("environment: gp3").expect_err("no map");
        assert!(wrong.starts_with("s.yaml:4:"), "{wrong}");
        for limit in ["{disk: {limit: lots}}", "{network.limit: 25Gbit}", "{disk: {limit: 250}}"] {
            let wrong = environment(&format!("environment: {limit}")).expect_err(limit);
            assert!(wrong.contains("is no rate that a resource may have"), "{wrong}");
        }
        let many: Vec<String> = (0..201).map(|n| format!("f{n}: 1")).collect();
        let wrong = environment(&format!("environment: {{{}}}", many.join(", "))).expect_err("too many");
        assert!(wrong.contains("more than 200 facts"), "{wrong}");
    }
}
