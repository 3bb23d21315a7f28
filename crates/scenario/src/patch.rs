//! Merge patches: what one side of a comparison lays over the scenario. The tables of keys say what may be there, so
//! that a path which is not there is an error and not a new key that nothing reads.

use crate::input::{InputError, TextPosition, known_hint, quoted};
use crate::keys::{self, Key, Section, ValueKind};
use crate::walk::known;
use crate::yaml::{self, Scalar, YamlNode};

/// Longest value that is taken for YAML; more is not typed by hand.
const VALUE_BYTES_MAX: usize = 4096;

/// A path that a patch touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The keys from the top, e.g. `system`, `kafka`.
    pub path: Vec<String>,
    /// What holds where nothing is under the path.
    pub default: Option<&'static str>,
}

/// The patch that sets one path: `system.kafka`, `load.writers.client.linger.ms`. `root` is the scenario's tree.
/// The value may be a list or map in YAML's flow style.
///
/// # Errors
/// The first part of the path that is not there.
pub(crate) fn of_path(root: &YamlNode, path: &str, value: &str) -> Result<YamlNode, InputError> {
    let place = TextPosition::default();
    let whole = quoted(path);
    let nothing = || InputError::at(place, format!("{whole} is not a whole path"));
    let mut keys: Vec<Scalar> = Vec::new();
    let mut section = &keys::SIDE;
    let mut here = Some(root);
    let mut rest = path;
    loop {
        let (name, after) = rest.split_once('.').unwrap_or((rest, ""));
        if is_setting(name, section) {
            keys.push(Scalar::assumed(rest, place));
            break;
        }
        let name = Scalar::assumed(name, place);
        let key = key_of(&name, section)?;
        here = here.and_then(|node| node.child(&name.text));
        keys.push(name);
        rest = after;
        match below(&key.kind) {
            _ if rest.is_empty() => break,
            Below::Section(inner) => section = inner,
            Below::Named(inner) => {
                let (name, after) = rest.split_once('.').unwrap_or((rest, ""));
                let name = Scalar::assumed(name, place);
                here = Some(named(here, &name, key.name)?);
                section = of_item(inner, here);
                keys.push(name);
                if after.is_empty() {
                    let names = section.keys.iter().map(|key| key.name).collect::<Vec<_>>();
                    let hint = format!("keys there: {}", crate::input::listed(names));
                    return Err(nothing().hint(hint));
                }
                rest = after;
            }
            Below::Settings => {
                keys.push(Scalar::assumed(rest, place));
                break;
            }
            Below::Nothing => {
                let message = format!("`{}` is a single value: there is no `{rest}` under it", key.name);
                return Err(InputError::at(place, message));
            }
        }
    }
    let wrap = |value: YamlNode, key: Scalar| YamlNode::Map(place, vec![(key, value)]);
    Ok(keys.into_iter().rev().fold(value_of(value)?, wrap))
}

/// A value typed by hand: flow style where it begins like that, else a single value.
fn value_of(value: &str) -> Result<YamlNode, InputError> {
    if value.len() <= VALUE_BYTES_MAX && value.trim_start().starts_with(['[', '{']) {
        return yaml::parse(value).map(nowhere);
    }
    Ok(YamlNode::Scalar(Scalar::assumed(value, TextPosition::default())))
}

/// The tree without places: it is nowhere in the scenario.
pub fn nowhere(node: YamlNode) -> YamlNode {
    let typed = |typed: Scalar| Scalar { place: TextPosition::default(), ..typed };
    match node {
        YamlNode::Scalar(value) => YamlNode::Scalar(typed(value)),
        YamlNode::List(_, items) => {
            YamlNode::List(TextPosition::default(), items.into_iter().map(nowhere).collect())
        }
        YamlNode::Map(_, fields) => {
            let fields = fields.into_iter().map(|(key, value)| (typed(key), nowhere(value)));
            YamlNode::Map(TextPosition::default(), fields.collect())
        }
    }
}

/// The tree with the patch laid over it, its `params` left out: those are values of cases.
///
/// # Errors
/// The first key that may not be there, or that the scenario does not have.
pub(crate) fn apply(root: &YamlNode, patch: &YamlNode) -> Result<YamlNode, InputError> {
    let fields = map_of(patch, "a side")?;
    for (key, _) in fields {
        key_of(key, &keys::SIDE)?;
    }
    let without = fields.iter().filter(|(key, _)| key.text != "params").cloned().collect();
    merge_section(Some(root), &YamlNode::Map(patch.place(), without), &keys::SIDE)
}

/// The paths that a patch touches, in its order.
pub fn touched(patch: &YamlNode) -> Vec<Touched> {
    let mut found = Vec::new();
    touch(patch, &keys::SIDE, &mut Vec::new(), &mut found);
    found
}

fn touch(patch: &YamlNode, section: &'static Section, path: &mut Vec<String>, found: &mut Vec<Touched>) {
    let YamlNode::Map(_, fields) = patch else { return };
    for (name, value) in fields {
        // A load item's keys are those of either role.
        let roles = [section, &keys::PRODUCE, &keys::CONSUME, &keys::END_TO_END, &keys::COMMAND];
        let sections = if std::ptr::eq(section, &keys::LOAD) { &roles[..] } else { &roles[..1] };
        let key = sections.iter().flat_map(|section| section.keys).find(|key| key.name == name.text);
        path.push(name.text.clone());
        match (key.map(|key| below(&key.kind)), value) {
            (Some(Below::Section(inner)), YamlNode::Map(..)) if !one_of(key) => {
                touch(value, inner, path, found)
            }
            (Some(Below::Named(inner)), YamlNode::Map(_, items)) => {
                for (item, value) in items {
                    path.push(item.text.clone());
                    touch(value, inner, path, found);
                    path.pop();
                }
            }
            (Some(Below::Settings), YamlNode::Map(_, settings)) => {
                found.extend(settings.iter().map(|(setting, _)| Touched {
                    path: path.iter().chain([&setting.text]).cloned().collect(),
                    default: None,
                }));
            }
            _ => found.push(Touched { path: path.clone(), default: key.and_then(|key| key.default) }),
        }
        path.pop();
    }
}

/// What is under a path of the tree.
pub(crate) fn at<'n>(root: &'n YamlNode, path: &[String]) -> Option<&'n YamlNode> {
    path.iter().try_fold(root, |node, key| node.child(key))
}

/// A node on one line, as YAML writes it.
pub fn flow(node: &YamlNode) -> String {
    match node {
        YamlNode::Scalar(typed) => typed.text.clone(),
        YamlNode::List(_, items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        YamlNode::Map(_, fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", key.text, flow(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What may be under a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Below {
    Section(&'static Section),
    Named(&'static Section),
    Settings,
    Nothing,
}

pub(crate) fn below(kind: &'static ValueKind) -> Below {
    match kind {
        ValueKind::Section(section) => Below::Section(section),
        ValueKind::Settings(what) => match *what {
            keys::TOPICS_OF_SIDE => Below::Named(&keys::TOPIC),
            keys::LOAD_OF_SIDE => Below::Named(&keys::LOAD),
            keys::COMPONENTS_OF_SIDE => Below::Named(&keys::COMPONENT),
            _ => Below::Settings,
        },
        ValueKind::Named(section) => Below::Named(section),
        ValueKind::Either(kinds) => {
            let section = kinds.iter().find_map(|kind| match kind {
                ValueKind::Section(section) => Some(*section),
                _ => None,
            });
            section.map_or(Below::Nothing, Below::Section)
        }
        ValueKind::Scalar(..) | ValueKind::Choice(_) | ValueKind::List(_) => Below::Nothing,
    }
}

/// Whether a name is none of a section's keys but one of the settings that may be next to them.
fn is_setting(name: &str, section: &'static Section) -> bool {
    section.open && !section.keys.iter().any(|key| key.name == name)
}

/// Whether a key takes a single value or a map: what is typed replaces all of it.
fn one_of(key: Option<&Key>) -> bool {
    key.is_some_and(|key| matches!(key.kind, ValueKind::Either(_)))
}

fn key_of(name: &Scalar, section: &'static Section) -> Result<&'static Key, InputError> {
    let is_side = std::ptr::eq(section, &keys::SIDE);
    if is_side && name.text != "label" && !section.keys.iter().any(|key| key.name == name.text) {
        if keys::SCENARIO.keys.iter().any(|key| key.name == name.text) {
            let message = format!("`{}` is the same on both sides of a comparison", name.text);
            return Err(InputError::at(name.place, message)
                .hint("a side changes `params`, `system`, `topics`, `load` and `components`"));
        }
        let names = section.keys.iter().map(|key| key.name).filter(|name| *name != "label");
        let message = format!("{} is neither a param nor a path of the scenario", quoted(&name.text));
        return Err(
            InputError::at(name.place, message).hint(known_hint(&name.text, names.collect::<Vec<_>>()))
        );
    }
    known(name, section)?;
    let key = section.keys.iter().find(|key| key.name == name.text);
    key.ok_or_else(|| InputError::at(name.place, format!("{} cannot be changed", quoted(&name.text))))
}

/// The section of a load item is that of its role.
pub(crate) fn of_item(section: &'static Section, item: Option<&YamlNode>) -> &'static Section {
    let has = |key: &str| item.is_some_and(|item| item.child(key).is_some());
    match std::ptr::eq(section, &keys::LOAD) {
        false => section,
        true if has("consume") => &keys::CONSUME,
        true if has("end_to_end") => &keys::END_TO_END,
        true if has("command") => &keys::COMMAND,
        true if has("users") => &keys::USERS,
        true if has("job") => &keys::JOB,
        true => &keys::PRODUCE,
    }
}

/// An entry that the scenario must have.
fn named<'n>(map: Option<&'n YamlNode>, name: &Scalar, under: &str) -> Result<&'n YamlNode, InputError> {
    map.and_then(|map| map.child(&name.text)).ok_or_else(|| {
        let names: Vec<&str> = match map {
            Some(YamlNode::Map(_, fields)) => fields.iter().map(|(key, _)| key.text.as_str()).collect(),
            _ => Vec::new(),
        };
        let message = format!("the scenario has no {} under `{under}`", quoted(&name.text));
        InputError::at(name.place, message).hint(known_hint(&name.text, names))
    })
}

fn map_of<'n>(node: &'n YamlNode, what: &str) -> Result<&'n [(Scalar, YamlNode)], InputError> {
    match node {
        YamlNode::Map(_, fields) => Ok(fields),
        other => Err(InputError::at(other.place(), format!("`{what}` takes a map, not {}", other.kind()))),
    }
}

fn merge_section(
    target: Option<&YamlNode>,
    patch: &YamlNode,
    section: &'static Section,
) -> Result<YamlNode, InputError> {
    let mut merged = MergedMap::new(target, patch);
    for (name, value) in map_of(patch, section.name)? {
        if is_setting(&name.text, section) {
            merged.set(name, value.clone())?;
            continue;
        }
        let key = key_of(name, section)?;
        let here = target.and_then(|target| target.child(&name.text));
        let value = match (below(&key.kind), value) {
            _ if one_of(Some(key)) || is_null(value) => value.clone(),
            (Below::Section(inner), _) => merge_section(here, value, inner)?,
            (Below::Named(inner), _) => merge_named(here, value, inner, key.name)?,
            (Below::Settings, _) => merge_settings(here, value, key.name)?,
            (Below::Nothing, _) => value.clone(),
        };
        merged.set(name, value)?;
    }
    Ok(merged.done())
}

fn merge_named(
    target: Option<&YamlNode>,
    patch: &YamlNode,
    section: &'static Section,
    under: &str,
) -> Result<YamlNode, InputError> {
    let mut merged = MergedMap::new(target, patch);
    for (name, value) in map_of(patch, under)? {
        let here = named(target, name, under)?;
        if is_null(value) {
            let message = format!("both sides have the same `{under}`: {} stays", quoted(&name.text));
            return Err(InputError::at(name.place, message));
        }
        merged.set(name, merge_section(Some(here), value, of_item(section, Some(here)))?)?;
    }
    Ok(merged.done())
}

fn merge_settings(target: Option<&YamlNode>, patch: &YamlNode, what: &str) -> Result<YamlNode, InputError> {
    let mut merged = MergedMap::new(target, patch);
    for (name, value) in map_of(patch, what)? {
        merged.set(name, value.clone())?;
    }
    Ok(merged.done())
}

fn is_null(node: &YamlNode) -> bool {
    matches!(node, YamlNode::Scalar(typed) if !typed.quoted && matches!(typed.text.as_str(), "null" | "~"))
}

/// A map under construction.
struct MergedMap {
    place: TextPosition,
    fields: Vec<(Scalar, YamlNode)>,
}

impl MergedMap {
    fn new(target: Option<&YamlNode>, patch: &YamlNode) -> Self {
        match target {
            Some(YamlNode::Map(place, fields)) => Self { place: *place, fields: fields.clone() },
            _ => Self { place: patch.place(), fields: Vec::new() },
        }
    }

    /// Sets a key; `null` removes it.
    fn set(&mut self, name: &Scalar, value: YamlNode) -> Result<(), InputError> {
        let at = self.fields.iter().position(|(key, _)| key.text == name.text);
        match (at, is_null(&value)) {
            (Some(at), true) => drop(self.fields.remove(at)),
            (Some(at), false) => self.fields[at].1 = value,
            (None, false) => self.fields.push((name.clone(), value)),
            (None, true) => {
                let names: Vec<&str> = self.fields.iter().map(|(key, _)| key.text.as_str()).collect();
                let message = format!("{} is not there to be removed", quoted(&name.text));
                return Err(InputError::at(name.place, message).hint(known_hint(&name.text, names)));
            }
        }
        Ok(())
    }

    fn done(self) -> YamlNode {
        YamlNode::Map(self.place, self.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOT: &str = "\
params: {kafka: 3.7.2}
system: {kafka: $kafka, config: {num.io.threads: 8}}
topics: {perf: {partitions: 1}}
load: {writers: {produce: perf, rate: 1k/s, value: 1KiB, client: {acks: all}}, readers: {consume: perf}}
";

    fn root() -> YamlNode {
        yaml::parse(ROOT).expect("a tree")
    }

    fn set(path: &str, value: &str) -> Result<String, String> {
        let reported = |error: InputError| format!("{} | {}", error.message, error.hint.unwrap_or_default());
        let patch = of_path(&root(), path, value).map_err(reported)?;
        let merged = apply(&root(), &patch).map_err(reported)?;
        let path = &touched(&patch)[0].path;
        Ok(format!("{} = {}", path.join("/"), at(&merged, path).map_or("nothing".to_owned(), flow)))
    }

    #[test]
    fn paths_are_set_where_they_are() {
        let cases = [
            ("system.kafka", "4.1.1", "system/kafka = 4.1.1"),
            ("system.kafka", "{home: /k}", "system/kafka = {home: /k}"),
            ("system.kafka.home", "/k", "system/kafka = {home: /k}"),
            ("system.limits.heap", "1GiB", "system/limits/heap = 1GiB"),
            ("system.config.num.io.threads", "4", "system/config/num.io.threads = 4"),
            ("system.config.num.io.threads", "null", "system/config/num.io.threads = nothing"),
            ("load.writers.client.linger.ms", "0", "load/writers/client/linger.ms = 0"),
            ("load.writers.client.driver", "java", "load/writers/client/driver = java"),
            ("load.writers.client.version", "4.1.1", "load/writers/client/version = 4.1.1"),
            ("load.writers.client.version.jar", "k.jar", "load/writers/client/version = {jar: k.jar}"),
            ("load.writers.client.version", "{source: /k}", "load/writers/client/version = {source: /k}"),
            ("load.writers.client.jvm", "[-Xmx1g]", "load/writers/client/jvm = [-Xmx1g]"),
            ("load.writers.client.acks", "null", "load/writers/client/acks = nothing"),
            ("load.readers.from", "earliest", "load/readers/from = earliest"),
            ("system.jvm", "[-Xss1m]", "system/jvm = [-Xss1m]"),
            ("topics.perf.partitions", "$p", "topics/perf/partitions = $p"),
        ];
        for (path, value, reported) in cases {
            assert_eq!(set(path, value).as_deref(), Ok(reported), "{path}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let cases = [
            ("sytem.kafka", "is neither a param nor a path of the scenario | did you mean `system`?"),
            ("system.kafak", "`kafak` is not a key of `system` | did you mean `kafka`?"),
            ("load.wrters.rate", "the scenario has no `wrters` under `load` | did you mean `writers`?"),
            ("load.readers.rate", "is not in this version yet"),
            ("load.writers", "`load.writers` is not a whole path | keys there"),
            ("system.brokers.x", "`brokers` is a single value: there is no `x` under it"),
            ("phases.measure", "`phases` is the same on both sides"),
            ("compare", "`compare` is the same on both sides"),
            ("", "neither a param nor a path"),
        ];
        for (path, reported) in cases {
            let error = set(path, "1").expect_err(path);
            assert!(error.contains(reported), "{path}: {error}");
        }
        assert!(set("system.config.num.oi.threads", "null").expect_err("gone").contains("num.io.threads"));
        assert!(set("system", "null").is_ok());
    }

    proptest! {
        #[test]
        fn no_patch_panics(path in "(system|load|topics|params|writers|client|config|kafka|[a-z.]{0,4}|\\.){0,6}", value in "[ -~]{0,20}") {
            let _ = set(&path, &value);
        }

        #[test]
        fn no_tree_panics(text in "([a-z]{0,6}|system|load|writers|client)[:,\\[\\]{} \n]{1,3}(kafka|null|[a-z]{0,3})?") {
            if let Ok(patch) = yaml::parse(&text) {
                let _ = apply(&root(), &patch);
                let _ = touched(&patch);
            }
        }
    }
}
