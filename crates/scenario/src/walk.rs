//! Takes a map apart by the table of its keys: unknown, later, missing and misplaced keys are errors here,
//! so that the readers of the sections only say what they need.

use super::keys::Section;
use crate::input::{InputError, Mistake, TextPosition, known_hint, listed, meant, quoted};
use crate::yaml::{Scalar, YamlNode};

/// The fields of one map, all of them known.
pub(crate) struct Fields<'n> {
    section: &'static Section,
    /// Where the map begins.
    pub place: TextPosition,
    fields: &'n [(Scalar, YamlNode)],
}

impl<'n> Fields<'n> {
    /// Checks a node against a section's table.
    pub fn of(node: &'n YamlNode, section: &'static Section) -> Result<Self, InputError> {
        let YamlNode::Map(place, fields) = node else {
            let message = format!("{} is a map, not {}", section.called(), node.kind());
            return Err(InputError::at(node.place(), message).hint(keys_hint(section)).of_value());
        };
        for (at, (key, _)) in fields.iter().enumerate() {
            known(key, section).map_err(|error| error.maybe_hint(without_commas(fields, at)))?;
        }
        for key in section.keys.iter().filter(|key| key.required) {
            if !fields.iter().any(|(typed, _)| typed.text == key.name) {
                let message = format!("{} lacks `{}`", section.called(), key.name);
                let hint = format!("`{}`: {}", key.name, key.meaning);
                return Err(InputError::at(*place, message).hint(hint).about(Mistake::Lacks(key.name)));
            }
        }
        Ok(Self { section, place: *place, fields })
    }

    /// The node under a key.
    pub fn get(&self, name: &str) -> Option<&'n YamlNode> {
        debug_assert!(self.section.keys.iter().any(|key| key.name == name), "{name} is not in the table");
        self.fields.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
    }

    /// The node under a key that is required.
    pub fn node(&self, name: &str) -> Result<&'n YamlNode, InputError> {
        self.get(name)
            .ok_or_else(|| InputError::at(self.place, format!("{} lacks `{name}`", self.section.called())))
    }

    /// The single value under a key, or the table's default.
    pub fn scalar(&self, name: &str) -> Result<Option<Scalar>, InputError> {
        if let Some(node) = self.get(name) {
            return scalar(node, name).map(Some);
        }
        let default = self.section.keys.iter().find(|key| key.name == name).and_then(|key| key.default);
        Ok(default.map(|text| Scalar::assumed(text, self.place)))
    }

    /// The single value under a key that is required or has a default.
    pub fn required(&self, name: &str) -> Result<Scalar, InputError> {
        self.scalar(name)?
            .ok_or_else(|| InputError::at(self.place, format!("{} lacks `{name}`", self.section.called())))
    }

    /// Fields other than those of the table (open sections only).
    pub fn others(&self) -> impl Iterator<Item = &'n (Scalar, YamlNode)> {
        let section = self.section;
        self.fields.iter().filter(move |(key, _)| !section.keys.iter().any(|known| known.name == key.text))
    }

    /// The only key that is there, of a section that holds one of several.
    pub fn single(&self) -> Result<(&'n str, &'n YamlNode), InputError> {
        match self.fields {
            [(key, node)] => Ok((key.text.as_str(), node)),
            _ => Err(InputError::at(self.place, format!("{} takes exactly one key", self.section.called()))
                .hint(keys_hint(self.section))),
        }
    }
}

/// What is meant by a number with commas in a map on one line, where the groups after the first become keys:
/// `{rate: 3,000/s}` has the keys `rate` and `000/s`. `at` is the place of the second group.
fn without_commas(fields: &[(Scalar, YamlNode)], at: usize) -> Option<String> {
    let is_group = |(key, value): &&(Scalar, YamlNode)| {
        let digits = key.text.bytes().take_while(u8::is_ascii_digit).count();
        digits == 3 && matches!(value, YamlNode::Scalar(none) if none.text.is_empty() && !none.quoted)
    };
    let (name, YamlNode::Scalar(first)) = fields.get(at.checked_sub(1)?)? else { return None };
    let is_first = (1..=3).contains(&first.text.len()) && first.text.bytes().all(|b| b.is_ascii_digit());
    let groups: String = fields[at..].iter().take_while(is_group).map(|(key, _)| key.text.as_str()).collect();
    let number = format!("{}: {}{groups}", name.text, first.text);
    (is_first && !groups.is_empty())
        .then(|| format!("numbers are written without commas: {}", quoted(&number)))
}

fn keys_hint(section: &Section) -> String {
    let names = listed(section.keys.iter().map(|key| key.name));
    if section.open { "params by name".to_owned() } else { format!("keys here: {names}") }
}

/// Whether a key is one of the section's; the error says which it may be.
pub(crate) fn known(key: &Scalar, section: &'static Section) -> Result<(), InputError> {
    if section.open || section.keys.iter().any(|known| known.name == key.text) {
        return Ok(());
    }
    if let Some((name, hint)) = section.later.iter().find(|(name, _)| *name == key.text) {
        return Err(InputError::later(key.place, &format!("`{name}`"), hint).about(Mistake::Key(None)));
    }
    let message = format!("{} is not a key of {}", quoted(&key.text), section.called());
    let names: Vec<&str> = section.keys.iter().map(|known| known.name).collect();
    let near = meant(&key.text, names.iter().copied()).map(str::to_owned);
    Err(InputError::at(key.place, message)
        .hint(known_hint(&key.text, names))
        .about(Mistake::Key(near.map(Into::into))))
}

/// A node that must be a single value.
pub(crate) fn scalar(node: &YamlNode, what: &str) -> Result<Scalar, InputError> {
    match node {
        YamlNode::Scalar(typed) if typed.text.is_empty() && !typed.quoted => {
            Err(InputError::at(typed.place, format!("`{what}` has no value")).of_value())
        }
        YamlNode::Scalar(typed) => Ok(typed.clone()),
        other => {
            let message = format!("`{what}` takes a single value, not {}", other.kind());
            Err(InputError::at(other.place(), message).of_value())
        }
    }
}

/// A node that must be a list.
pub(crate) fn list<'n>(node: &'n YamlNode, what: &str) -> Result<&'n [YamlNode], InputError> {
    match node {
        YamlNode::List(_, items) => Ok(items),
        other => Err(InputError::at(other.place(), format!("`{what}` takes a list, not {}", other.kind()))
            .hint(format!("write it as `{what}: [...]`"))
            .of_value()),
    }
}

/// A node that must be a list of single values.
pub(crate) fn scalars(node: &YamlNode, what: &str) -> Result<Vec<Scalar>, InputError> {
    list(node, what)?.iter().map(|item| scalar(item, what)).collect()
}

/// A node that must be a map of free names.
pub(crate) fn entries<'n>(node: &'n YamlNode, what: &str) -> Result<&'n [(Scalar, YamlNode)], InputError> {
    match node {
        YamlNode::Map(_, fields) => Ok(fields),
        other => {
            let message = format!("`{what}` takes a map, not {}", other.kind());
            Err(InputError::at(other.place(), message).of_value())
        }
    }
}

/// A node that must be a map of free names with single values.
pub(crate) fn settings(node: &YamlNode, what: &str) -> Result<Vec<(Scalar, Scalar)>, InputError> {
    entries(node, what)?.iter().map(|(key, value)| Ok((key.clone(), scalar(value, &key.text)?))).collect()
}

/// What is under a key, where it is there.
pub(crate) fn opt<'n, T>(
    fields: &Fields<'n>,
    name: &str,
    read: impl FnOnce(&'n YamlNode) -> Result<T, InputError>,
) -> Result<Option<T>, InputError> {
    fields.get(name).map(read).transpose()
}

/// The items of the list under a key; none where it is not there.
pub(crate) fn list_of<T>(
    fields: &Fields<'_>,
    name: &str,
    read: impl Fn(&YamlNode) -> Result<T, InputError>,
) -> Result<Vec<T>, InputError> {
    let Some(node) = fields.get(name) else { return Ok(Vec::new()) };
    list(node, name)?.iter().map(read).collect()
}
