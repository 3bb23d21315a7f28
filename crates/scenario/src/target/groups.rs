//! `groups` of a target: existing consumer groups whose lag is read.

use crate::input::{InputError, quoted};
use crate::walk::scalars;
use crate::yaml::YamlNode;

/// Most groups: each is asked for by itself.
const GROUPS_MAX: usize = 20;
/// As long as a topic's name, which Kafka limits; an id of a group it does not.
const CHARACTERS_MAX: usize = 249;

/// `groups: [billing]`.
pub(super) fn groups(node: &YamlNode) -> Result<Vec<String>, InputError> {
    let typed = scalars(node, "groups")?;
    if typed.len() > GROUPS_MAX {
        let message = format!("`groups` names {} groups, and at most {GROUPS_MAX} are read", typed.len());
        return Err(InputError::at(node.place(), message));
    }
    let mut found: Vec<String> = Vec::new();
    for one in typed {
        let fits = (1..=CHARACTERS_MAX).contains(&one.text.chars().count());
        if !fits || one.text.chars().any(char::is_control) {
            return Err(InputError::at(
                one.place,
                format!("`groups`: {} is no id of a consumer group", quoted(&one.text)),
            ));
        }
        if found.contains(&one.text) {
            return Err(InputError::at(one.place, format!("`groups`: {} is there twice", quoted(&one.text))));
        }
        found.push(one.text);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn read(text: &str) -> Result<Vec<String>, String> {
        groups(&yaml::parse(text).expect("YAML")).map_err(|error| error.to_string())
    }

    #[test]
    fn ids_are_taken_once_each_and_as_they_are() {
        assert_eq!(read("[billing, \"a b\"]"), Ok(vec!["billing".to_owned(), "a b".to_owned()]));
        let many = format!("[{}]", (0..=GROUPS_MAX).map(|id| id.to_string()).collect::<Vec<_>>().join(", "));
        for (text, words) in [
            ("[billing, billing]", "`billing` is there twice"),
            ("[\"a\\nb\"]", "is no id of a consumer group"),
            ("billing", "takes a list"),
            (many.as_str(), "names 21 groups, and at most 20 are read"),
        ] {
            let reported = read(text).expect_err(text);
            assert!(reported.contains(words), "{text}: {reported}");
        }
    }
}
