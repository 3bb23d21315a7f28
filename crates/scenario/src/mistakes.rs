//! All that is wrong with a scenario. Readers end at the first mistake, so the text is read once more after each, with that
//! one mended: reading is pure and quick. What a mend may have brought about is never reported.

use crate::Scenario;
use crate::input::{InputError, MISTAKES_MAX, Mistake, TextPosition};
use crate::keys::{self, Key, ValueKind};
use crate::patch::{Below, below, of_item};
use crate::yaml::{self, Scalar, YamlNode};

/// Where params get their values. One that is mended there would be wrong where it is used.
const OF_PARAMS: &[&str] = &["params", "profiles", "cases", "vary", "contrasts"];

/// Values that no other value makes wrong, by how the sort of a value begins.
const FILLERS: &[(&str, &str)] =
    &[("count", "1"), ("size", "1B"), ("duration", "1s"), ("rate", "1/s"), ("text", "x")];

impl Scenario {
    /// All that is wrong with a text, in its order: what reading it finds, and what `use_it` finds in the scenario. Several
    /// things that do not go together are found only as long as no value was mended.
    pub fn mistakes(
        text: &str,
        file_name: &str,
        use_it: impl Fn(&Self) -> Result<(), InputError>,
    ) -> Vec<InputError> {
        let mut error = Self::parse(text, file_name).and_then(|scenario| use_it(&scenario)).err();
        let Ok(mut root) = yaml::parse(text) else { return error.into_iter().collect() };
        let mut found: Vec<InputError> = Vec::new();
        let mut is_as_typed = true;
        while let Some(wrong) = error.take() {
            // What was filled in has no line, and may not go with the rest.
            let is_filled = wrong.place.is_some_and(|place| place.line == 0);
            let may_be_ours = is_filled || (!is_as_typed && wrong.mistake == Mistake::Together);
            if (may_be_ours && !found.is_empty()) || found.contains(&wrong) {
                break;
            }
            let in_text = wrong.place.filter(|_| wrong.file == file_name);
            let mended = in_text.and_then(|place| mend(&mut root, place, &wrong.mistake));
            found.push(wrong);
            let Some(is_same) = mended.filter(|_| found.len() < MISTAKES_MAX) else { break };
            is_as_typed &= is_same;
            error = Self::of_tree(root.clone(), file_name)
                .map_err(|error| error.in_file(file_name))
                .and_then(|scenario| use_it(&scenario))
                .err();
        }
        found.sort_by_key(|wrong| wrong.place);
        found
    }
}

/// Changes the tree so that the mistake is gone: whether it says then what was meant. `None`: nothing was changed.
fn mend(root: &mut YamlNode, place: TextPosition, mistake: &Mistake) -> Option<bool> {
    let top = Below::Section(&keys::SCENARIO);
    match mistake {
        Mistake::Together => None,
        Mistake::Key(meant) => rename(root, place, meant.as_deref()),
        Mistake::Lacks(name) => visit(root, top, &mut |node, of| add(node, of, place, name)).then_some(false),
        Mistake::Value(other) => {
            visit(root, top, &mut |node, of| replace(node, of, place, other.as_deref())).then_some(false)
        }
    }
}

/// Renames the key at a place, or removes it with its value: whether it says then what was meant.
fn rename(node: &mut YamlNode, place: TextPosition, meant: Option<&str>) -> Option<bool> {
    match node {
        YamlNode::Scalar(_) => None,
        YamlNode::List(_, items) => items.iter_mut().find_map(|item| rename(item, place, meant)),
        YamlNode::Map(_, fields) => {
            let Some(at) = fields.iter().position(|(key, _)| key.place == place) else {
                return fields.iter_mut().find_map(|(_, value)| rename(value, place, meant));
            };
            let name = meant.filter(|name| !fields.iter().any(|(key, _)| key.text == *name));
            match name {
                Some(name) => fields[at].0.text = name.to_owned(),
                None => drop(fields.remove(at)),
            }
            Some(name.is_some())
        }
    }
}

/// Acts on each list and map, with what may stand in it, until one is changed.
fn visit(node: &mut YamlNode, of: Below, act: &mut dyn FnMut(&mut YamlNode, Below) -> bool) -> bool {
    if act(node, of) {
        return true;
    }
    match node {
        YamlNode::Scalar(_) => false,
        YamlNode::List(_, items) => items.iter_mut().any(|item| visit(item, of, act)),
        YamlNode::Map(_, fields) => fields
            .iter_mut()
            .any(|(name, value)| inside(of, &name.text, value).is_some_and(|of| visit(value, of, act))),
    }
}

/// What may stand in the value of a key; `None`: nothing is mended there.
fn inside(of: Below, name: &str, value: &YamlNode) -> Option<Below> {
    match of {
        Below::Section(_) if OF_PARAMS.contains(&name) => None,
        Below::Named(section) => Some(Below::Section(of_item(section, Some(value)))),
        Below::Settings | Below::Nothing => Some(Below::Nothing),
        Below::Section(_) => Some(match &key_of(of, name)?.kind {
            ValueKind::List(items) => below(items),
            kind => below(kind),
        }),
    }
}

fn key_of(of: Below, name: &str) -> Option<&'static Key> {
    let Below::Section(section) = of else { return None };
    section.keys.iter().find(|key| key.name == name)
}

/// Adds a key to the map at a place that lacks it.
fn add(node: &mut YamlNode, of: Below, place: TextPosition, name: &str) -> bool {
    let YamlNode::Map(begins, fields) = node else { return false };
    if *begins != place || fields.iter().any(|(key, _)| key.text == name) {
        return false;
    }
    let Some(value) = key_of(of, name).and_then(|key| filler(&key.kind)) else { return false };
    fields.push((filled(name), value));
    true
}

/// Replaces the value at a place, or removes it where it may be left out.
fn replace(node: &mut YamlNode, of: Below, place: TextPosition, other: Option<&str>) -> bool {
    let other = other.map(|text| YamlNode::Scalar(filled(text)));
    match node {
        YamlNode::Scalar(_) => false,
        YamlNode::List(_, items) => {
            let Some(at) = items.iter().position(|item| is_at(item, place)) else { return false };
            match other {
                Some(other) => items[at] = other,
                None => drop(items.remove(at)),
            }
            true
        }
        YamlNode::Map(_, fields) => {
            let Some(at) = fields.iter().position(|(_, value)| is_at(value, place)) else { return false };
            let name = fields[at].0.text.as_str();
            // What uses params would be wrong without them.
            if matches!(of, Below::Section(_)) && OF_PARAMS.contains(&name) {
                return false;
            }
            let key = key_of(of, name);
            let is_free = match (key, of) {
                (Some(key), _) => !key.required,
                (None, Below::Section(section)) => section.open,
                (None, of) => matches!(of, Below::Settings),
            };
            match other.or_else(|| filler(&key.filter(|key| key.required)?.kind)) {
                Some(other) => fields[at].1 = other,
                None if is_free => drop(fields.remove(at)),
                None => return false,
            }
            true
        }
    }
}

/// Whether a node begins at a place; a single value, whether the place is in it.
fn is_at(node: &YamlNode, place: TextPosition) -> bool {
    let YamlNode::Scalar(Scalar { text, place: begins, .. }) = node else { return node.place() == place };
    let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let columns = begins.column..=begins.column.saturating_add(length);
    begins.line == place.line && columns.contains(&place.column)
}

/// A value that may stand under a key.
fn filler(kind: &ValueKind) -> Option<YamlNode> {
    let scalar = |text: &str| Some(YamlNode::Scalar(filled(text)));
    match kind {
        ValueKind::Scalar(sort, _) => scalar(FILLERS.iter().find(|(begins, _)| sort.starts_with(begins))?.1),
        ValueKind::Choice(words) => scalar(words.first()?),
        ValueKind::Either(kinds) => kinds.iter().find_map(filler),
        ValueKind::Section(section) => {
            let needed = section.keys.iter().filter(|key| key.required);
            let fields = needed.map(|key| Some((filled(key.name), filler(&key.kind)?)));
            Some(YamlNode::Map(TextPosition::default(), fields.collect::<Option<_>>()?))
        }
        ValueKind::Named(_) | ValueKind::Settings(_) | ValueKind::List(_) => None,
    }
}

/// A text that is nowhere in the file.
fn filled(text: &str) -> Scalar {
    Scalar::assumed(text, TextPosition::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "kdyno: 1
id: small
question: How?
params: {rate: 10/s}
system: {brokers: 1}
topics:
  perf: {partitions: 1}
load:
  writers:
    produce: perf
    rate: $rate
    value: 100B
    client: {linger.ms: 5ms}
phases:
  warmup: 1s
  measure: 2s
show:
  columns: [writers.acked_per_s]
";

    /// Line, column and message of each mistake.
    fn messages(text: &str) -> Vec<String> {
        Scenario::mistakes(text, "f.yaml", |_| Ok(())).iter().map(ToString::to_string).collect()
    }

    fn changed(changes: &[(&str, &str)]) -> String {
        changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
    }

    #[test]
    fn every_mistake_is_found_in_the_order_of_the_text() {
        assert_eq!(messages(GOOD), Vec::<String>::new());
        let text = changed(&[
            ("partitions: 1", "partition: 1"),
            ("produce: perf", "produce: prf"),
            ("rate: $rate", "rate: $rat"),
            ("linger.ms", "linger"),
            ("  warmup: 1s\n", "  wramup: 1s\n"),
            ("writers.acked_per_s", "writers.acked, writers.failed"),
        ]);
        let found = messages(&text);
        let places: Vec<&str> = found.iter().map(|one| one.split_once(": ").expect("a place").0).collect();
        let expected = ["7:10", "10:14", "11:11", "13:14", "15:3", "18:13"];
        assert_eq!(places, expected.map(|place| format!("f.yaml:{place}")), "{found:?}");
    }

    #[test]
    fn a_missing_value_and_a_list_are_mistakes_of_their_own() {
        let text = changed(&[
            ("    value: 100B\n", ""),
            ("question: How?\n", ""),
            ("brokers: 1", "brokers: [1, 2], heap: 1"),
        ]);
        let found = messages(&text);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("lacks `question`"), "{found:?}");
        assert!(found[1].contains("`brokers` takes a single value"), "{found:?}");
        assert!(found[2].contains("`heap` is not a key"), "{found:?}");
        assert!(found[3].contains("lacks `value`"), "{found:?}");
    }

    #[test]
    fn a_mend_brings_no_mistake_about() {
        // The item is gone with its role: what names it is right all the same.
        let messages_of = |from: &str, to: &str| messages(&changed(&[(from, to)]));
        for (from, to) in [
            ("    produce: perf\n", "    prodcue: perf\n"),
            ("  writers:\n", "  writers: 5\n  others:\n"),
            ("  perf: {partitions: 1}", "  \"p f\": {partitions: 1}"),
            ("rate: 10/s", "rate: $none"),
            ("measure: 2s", "measure: [2s]"),
            ("params: {rate: 10/s}", "params: [rate: 10/s]"),
        ] {
            assert_eq!(messages_of(from, to).len(), 1, "{to}: {:?}", messages_of(from, to));
        }
        let use_it = |scenario: &Scenario| {
            let measure = match &scenario.typed().phases.measure {
                crate::file::MeasureFile::Time(typed) => typed.clone(),
                _ => return Ok(()),
            };
            Err(InputError::at(measure.place, "the window is too short for its warm-up"))
        };
        let text = changed(&[("rate: $rate", "rate: $rat")]);
        let found = Scenario::mistakes(&text, "f.yaml", use_it);
        assert_eq!(found.len(), 1, "it may be due to the value that was filled in: {found:?}");
        let found = Scenario::mistakes(&changed(&[("warmup", "wramup")]), "f.yaml", use_it);
        assert_eq!(found.len(), 2, "{found:?}");
        let removed = changed(&[("warmup: 1s", "zzz: 1s")]);
        assert_eq!(
            Scenario::mistakes(&removed, "f.yaml", use_it).len(),
            1,
            "it may be due to what was removed"
        );
    }

    #[test]
    fn mistakes_end_somewhere() {
        let many: String = (0..300).map(|n| format!("zz{n}: 1\n")).collect();
        assert_eq!(messages(&format!("{GOOD}{many}")).len(), MISTAKES_MAX);
    }
}
