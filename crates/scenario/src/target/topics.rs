//! `topics` of a target: existing ones that take the place of a scenario's.

use crate::input::{InputError, quoted};
use crate::walk::settings;
use crate::yaml::YamlNode;
use std::collections::BTreeMap;

/// Longest name of a topic in Kafka.
const TOPIC_CHARS_MAX: usize = 249;
/// Permission for load on topics that are there.
const EXISTING_TOPICS: &str = "existing-topics";

/// Existing topics, by the address of those that they replace.
pub(super) fn topics(node: &YamlNode, allow: &[String]) -> Result<BTreeMap<String, String>, InputError> {
    let mut found = BTreeMap::new();
    for (address, value) in settings(node, "topics")? {
        let fits = (1..=TOPIC_CHARS_MAX).contains(&value.text.len())
            && value.text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !fits || value.text.starts_with("__") {
            return Err(InputError::at(
                value.place,
                format!("{} cannot be a topic of load", quoted(&value.text)),
            )
            .hint("letters, digits, `-`, `_` and `.`; what begins with `__` is Kafka's own"));
        }
        found.insert(address.text, value.text);
    }
    if !found.is_empty() && !allow.iter().any(|allowed| allowed == EXISTING_TOPICS) {
        let message = "load on topics that are there needs to be allowed";
        return Err(InputError::at(node.place(), message)
            .hint(format!("name `{EXISTING_TOPICS}` under `guard.allow`")));
    }
    Ok(found)
}
