//! YAML to a small tree that knows the place of everything. The only module that knows the YAML crate.
//!
//! Strict on purpose: no anchors, aliases, tags or directives, no second document, no duplicate or
//! composite keys; and bounded in size, depth and number of nodes, so that no text can exhaust memory.
//! Scalars stay text: what a value means is decided by the key that it is under.

use crate::input::{InputError, TextPosition, quoted};
use crate::layout;
use granit_parser::{Event, Marker, Parser, ScalarStyle};
use kdyno_model::units::size;

/// Largest text that is read, bytes: the bundled scenarios are below 8 KiB.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting; the grammar itself needs 6.
pub const DEPTH_MAX: usize = 24;
/// Most nodes of one text.
pub const NODES_MAX: usize = 50_000;
/// Most keys of one map: they are compared pair by pair.
pub const KEYS_MAX: usize = 1_000;

/// A scalar as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text after YAML's own escapes.
    pub text: String,
    /// Where it begins.
    pub place: TextPosition,
    /// Whether it stood in quotes (or in a block): then it is text even when it looks like a number.
    pub quoted: bool,
}

impl Scalar {
    /// A scalar that is not typed, for defaults; its place is that of what it belongs to.
    pub fn assumed(text: &str, place: TextPosition) -> Self {
        Self { text: text.to_owned(), place, quoted: false }
    }
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlNode {
    /// A value.
    Scalar(Scalar),
    /// A sequence.
    List(TextPosition, Vec<YamlNode>),
    /// A mapping, in the order of the text; keys are unique.
    Map(TextPosition, Vec<(Scalar, YamlNode)>),
}

impl YamlNode {
    /// Where the node begins.
    pub fn place(&self) -> TextPosition {
        match self {
            Self::Scalar(typed) => typed.place,
            Self::List(place, _) | Self::Map(place, _) => *place,
        }
    }

    /// What is under a key, if it is a map that has it.
    pub fn child(&self, name: &str) -> Option<&Self> {
        let Self::Map(_, fields) = self else { return None };
        fields.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(_) => "a single value",
            Self::List(..) => "a list",
            Self::Map(..) => "a map",
        }
    }
}

/// Bytes of a file as text.
///
/// # Errors
/// Too large, another encoding than UTF-8 (with the place of the first bad byte), or nothing in it.
pub fn decode<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, InputError> {
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(too_large(bytes.len()).in_file(file));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let error = InputError::whole("the file is UTF-16, not UTF-8").hint("save it as UTF-8");
        return Err(error.in_file(file));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or("");
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        InputError::at(place(line, column), "the file is not UTF-8 text here")
            .hint("save it as UTF-8")
            .in_file(file)
    })
}

fn too_large(bytes: usize) -> InputError {
    InputError::whole(format!(
        "the file has {}; at most {} are read",
        size(bytes as u64),
        size(TEXT_BYTES_MAX as u64)
    ))
}

fn place(line: usize, column: usize) -> TextPosition {
    let short = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    TextPosition { line: short(line), column: short(column) }
}

fn at(marker: &Marker) -> TextPosition {
    place(marker.line(), marker.col() + 1)
}

/// A text in quotes, so that it stays a value, and without params.
pub fn literal(text: &str) -> String {
    serde_json::Value::from(text.replace('$', "$$")).to_string()
}

/// Reads one document.
///
/// # Errors
/// Everything that is not plain, bounded YAML, with its place. The error does not name the file yet.
pub fn parse(text: &str) -> Result<YamlNode, InputError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(too_large(text.len()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = granit_parser::Options::default();
    options.set_emit_comments(false);
    options.disallow_directives = true;
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    let mut tree = TreeBuilder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| syntax_error(text, at(error.marker()), &error.info()))?;
        let there = !span.is_empty();
        tree.take(event, at(&span.start), there)?;
    }
    tree.root.ok_or_else(|| InputError::whole("the file is empty").hint("see `kdyno scenarios` for examples"))
}

/// What is wrong where the parser could not go on, or in a line before that which it let pass.
fn syntax_error(text: &str, place: TextPosition, info: &str) -> InputError {
    let line = text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or_default();
    let two_colons = line.matches(": ").count() > 1 && !line.contains('{');
    let here = |hint: &str| InputError::at(place, info).hint(hint);
    let error = if info.contains("tab") {
        here("indent with spaces")
    } else if let Some(place) = tab(text, place) {
        InputError::at(place, "a tab is before the text of this line").hint("indent with spaces")
    } else if info.contains("mismatched bracket") || info.contains("nesting") {
        here("each `[` and `{` needs its `]` and `}`")
    } else if two_colons {
        here(NEEDS_QUOTES)
    } else {
        layout::mistake(text, place.line as usize).unwrap_or_else(|| here(NEEDS_QUOTES))
    };
    InputError { message: format!("the file is not valid YAML: {}", error.message), ..error }
}

/// A tab in the indentation of the line where the parser stopped, or of the one before.
fn tab(text: &str, stopped: TextPosition) -> Option<TextPosition> {
    let last = stopped.line as usize;
    let mut lines = text.lines().enumerate().take(last).skip(last.saturating_sub(2));
    lines.find_map(|(index, line)| {
        let column = line.chars().take_while(|c| c.is_whitespace()).position(|c| c == '\t')?;
        (!line.trim().is_empty()).then(|| place(index + 1, column + 1))
    })
}

const NEEDS_QUOTES: &str =
    "a value that holds `: `, ` #`, `{`, `[` or starts with `*`, `&`, `!`, `%` needs quotes";

/// A collection under construction.
enum OpenCollection {
    List(TextPosition, Vec<YamlNode>),
    Map(TextPosition, Vec<(Scalar, YamlNode)>, Option<Scalar>),
}

#[derive(Default)]
struct TreeBuilder {
    open: Vec<OpenCollection>,
    root: Option<YamlNode>,
    nodes: usize,
}

impl TreeBuilder {
    /// `there`: whether the event has any text; a key without a value makes a scalar without one.
    fn take(&mut self, event: Event<'_>, place: TextPosition, there: bool) -> Result<(), InputError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                no_anchor(anchor, place)?;
                no_tag(tag.is_some(), place)?;
                let quoted = style != ScalarStyle::Plain;
                let text = if there { text.into_owned() } else { String::new() };
                self.node(YamlNode::Scalar(Scalar { text, place, quoted }))
            }
            Event::SequenceStart(_, anchor, tag) => {
                no_anchor(anchor, place)?;
                no_tag(tag.is_some(), place)?;
                self.push(OpenCollection::List(place, Vec::new()), place)
            }
            Event::MappingStart(_, anchor, tag) => {
                no_anchor(anchor, place)?;
                no_tag(tag.is_some(), place)?;
                self.push(OpenCollection::Map(place, Vec::new(), None), place)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(OpenCollection::List(place, items)) => self.node(YamlNode::List(place, items)),
                Some(OpenCollection::Map(place, fields, _)) => self.node(YamlNode::Map(place, fields)),
                None => Ok(()),
            },
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(InputError::at(place, "a second YAML document begins here; one file holds one"))
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) | Event::Anchor(..) => no_anchor(1, place),
            _ => Ok(()),
        }
    }

    fn push(&mut self, open: OpenCollection, place: TextPosition) -> Result<(), InputError> {
        if self.open.len() >= DEPTH_MAX {
            return Err(InputError::at(place, format!("nested more than {DEPTH_MAX} deep")));
        }
        if let Some(OpenCollection::Map(_, _, None)) = self.open.last() {
            return Err(InputError::at(place, "a key must be a single value, not a list or map"));
        }
        self.open.push(open);
        Ok(())
    }

    fn node(&mut self, node: YamlNode) -> Result<(), InputError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(InputError::at(node.place(), format!("the file has more than {NODES_MAX} values")));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenCollection::List(_, items)) => items.push(node),
            Some(OpenCollection::Map(_, fields, pending)) => match (pending.take(), node) {
                (Some(key), value) => fields.push((key, value)),
                (None, YamlNode::Scalar(key)) => {
                    if let Some((first, _)) = fields.iter().find(|(known, _)| known.text == key.text) {
                        return Err(duplicate(&key, first));
                    }
                    if fields.len() >= KEYS_MAX {
                        return Err(InputError::at(key.place, format!("a map has at most {KEYS_MAX} keys")));
                    }
                    *pending = Some(key);
                }
                (None, other) => {
                    return Err(InputError::at(other.place(), "a key must be a single value"));
                }
            },
        }
        Ok(())
    }
}

fn duplicate(key: &Scalar, first: &Scalar) -> InputError {
    let message = format!("{} is here a second time; first in line {}", quoted(&key.text), first.place.line);
    InputError::at(key.place, message)
}

fn no_anchor(anchor: usize, place: TextPosition) -> Result<(), InputError> {
    if anchor == 0 {
        return Ok(());
    }
    Err(InputError::at(place, "YAML anchors (`&name`) and aliases (`*name`) are not allowed")
        .hint("put the shared value under `params` and insert it with `$name`"))
}

fn no_tag(tagged: bool, place: TextPosition) -> Result<(), InputError> {
    if tagged { Err(InputError::at(place, "YAML tags (`!name`) are not allowed")) } else { Ok(()) }
}
