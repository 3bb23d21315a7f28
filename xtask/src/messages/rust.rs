//! A message as the `message!` macro of `crates/kafka/src/messages/field.rs` wants it.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, bail};

use super::KAFKA_VERSION;
use super::spec::{FieldSpec, MessageSpec, Versions};

/// What makes the files.
pub(super) const COMMAND: &str = "cargo xtask messages --write";

/// An API and the versions of it that we speak.
pub struct SpokenApi {
    pub name: &'static str,
    pub version_min: i16,
    pub version_max: i16,
}

/// APIs whose response is not read as its version says, and what reads it instead.
const READ_BY_HAND: [(&str, &str); 1] = [("ApiVersions", "crate::messages::read_api_versions")];

/// Fields for which a version without them must differ from their default, and what they then are.
const ABSENT: [(&str, &str); 1] = [("ConfigType", "-1")];

/// Words that Rust keeps for itself, among the names of fields.
const KEYWORDS: [&str; 2] = ["match", "type"];

/// Name of the module of an API.
pub fn module(api: &str, api_key: i16) -> String {
    format!("m{api_key:02}_{}", snake_case(api))
}

/// The module that holds all others.
pub fn index(apis: &[(&str, i16)]) -> String {
    let mut out =
        format!("//! Made by `{COMMAND}` from the specifications in kafka-clients {KAFKA_VERSION}.\n\n");
    out += "#![allow(missing_docs, reason = \"names are Kafka's own, whose specifications say what they mean\")]\n\n";
    for (api, key) in apis {
        let _ = writeln!(out, "pub mod {};", module(api, *key));
    }
    out += "\n/// Calls a macro of the tests with every module and the names of its messages.\n";
    out += "#[cfg(test)]\nmacro_rules! for_each_message {\n    ($call:ident) => {\n";
    for (api, key) in apis {
        let _ = writeln!(out, "        $call! {{ {}: {api}Request => {api}Response }}", module(api, *key));
    }
    out += "    };\n}\n#[cfg(test)]\npub(super) use for_each_message;\n";
    out
}

/// The module of an API.
pub fn file(api: &SpokenApi, request: &MessageSpec, response: &MessageSpec) -> anyhow::Result<String> {
    let (first, last) = (request.valid_versions.first, request.valid_versions.last);
    if api.version_min < first || api.version_max > last {
        bail!("versions {first} to {last} are specified, {} to {} wanted", api.version_min, api.version_max);
    }
    let mut structures = Structures::default();
    structures.message("Request", request)?;
    let count = structures.list.len();
    structures.taken = structures.list.iter().map(|structure| structure.name.clone()).collect();
    structures.message("Response", response)?;
    let (mut requests, mut responses) = (structures.list, Vec::new());
    responses.extend(requests.drain(count..));

    let name = api.name;
    let mut out = format!(
        "//! {name} (key {}), from `{name}Request.json` and `{name}Response.json`.\n",
        request.api_key
    );
    let _ = writeln!(out, "//! Made by `{COMMAND}` from kafka-clients {KAFKA_VERSION}.\n");
    let all: Vec<_> = requests.iter().chain(&responses).collect();
    if all.iter().any(|structure| structure.lines.iter().any(|line| line.contains(": ErrorCode "))) {
        out += "use crate::errors::ErrorCode;\n";
    }
    out += "use crate::messages::message;\n\nmessage! {\n";
    let _ = write!(
        out,
        "    {name} = {}, versions {}..={}, flexible {}..",
        request.api_key, api.version_min, api.version_max, request.flexible_versions.first
    );
    if let Some((_, reader)) = READ_BY_HAND.iter().find(|(hand, _)| *hand == name) {
        let _ = write!(out, ", response by {reader}");
    }
    out += ";\n";
    for structure in all {
        let _ = writeln!(out, "\n    {} {{", structure.name);
        for line in &structure.lines {
            let _ = writeln!(out, "        {line}");
        }
        out += "    }\n";
    }
    out += "}\n";
    Ok(out)
}

/// A structure: its name and a line for each field.
struct RustStructure {
    name: String,
    lines: Vec<String>,
}

/// The structures of an API.
#[derive(Default)]
struct Structures {
    list: Vec<RustStructure>,
    /// Names of the request's structures: one of the response with such a name gets `Response` before it.
    taken: BTreeSet<String>,
}

impl Structures {
    fn message(&mut self, name: &str, message: &MessageSpec) -> anyhow::Result<()> {
        self.structure(name.to_owned(), &message.fields, message)?;
        for common in &message.common_structs {
            self.structure(self.name(&common.name), &common.fields, message)?;
        }
        Ok(())
    }

    fn name(&self, name: &str) -> String {
        if self.taken.contains(name) { format!("Response{name}") } else { name.to_owned() }
    }

    /// Adds a structure, and those of its fields behind it.
    fn structure(&mut self, name: String, fields: &[FieldSpec], message: &MessageSpec) -> anyhow::Result<()> {
        let lines = fields.iter().map(|field| self.line(field, message));
        let lines = lines.collect::<anyhow::Result<_>>()?;
        self.list.push(RustStructure { name, lines });
        for field in fields.iter().filter(|field| !field.fields.is_empty()) {
            let name = self.name(field.kind.trim_start_matches("[]"));
            self.structure(name, &field.fields, message)?;
        }
        Ok(())
    }

    /// `name: Type [versions] null [versions] tag N = default,`
    fn line(&self, field: &FieldSpec, message: &MessageSpec) -> anyhow::Result<String> {
        let mut name = snake_case(&field.name);
        if KEYWORDS.contains(&name.as_str()) {
            name = format!("r#{name}");
        }
        let mut kind = self.kind(&field.kind, &field.name)?;
        if field.nullable_versions.is_some() {
            kind = format!("Option<{kind}>");
        }
        let mut line = format!("{name}: {kind} [{}]", range(field.versions));
        if let Some(nullable) = field.nullable_versions {
            let (first, last) = (message.valid_versions.first, message.valid_versions.last);
            let asked = field.versions.first.max(first)..=field.versions.last.min(last);
            if nullable.first > *asked.start() || nullable.last < *asked.end() {
                let _ = write!(line, " null [{}]", range(nullable));
            }
        }
        if let Some(tag) = field.tag {
            let _ = write!(line, " tag {tag}");
        }
        if let Some(default) = default(field).with_context(|| format!("default of {}", field.name))? {
            let _ = write!(line, " = {default}");
        }
        line.push(',');
        Ok(line)
    }

    fn kind(&self, kind: &str, field: &str) -> anyhow::Result<String> {
        if let Some(element) = kind.strip_prefix("[]") {
            return Ok(format!("Vec<{}>", self.kind(element, field)?));
        }
        Ok(match kind {
            "int16" if field.ends_with("ErrorCode") => "ErrorCode".to_owned(),
            "int8" | "int16" | "int32" | "int64" => format!("i{}", &kind["int".len()..]),
            "float64" => "f64".to_owned(),
            "bool" => "bool".to_owned(),
            "string" => "String".to_owned(),
            "bytes" => "Vec<u8>".to_owned(),
            "uuid" => "[u8; 16]".to_owned(),
            name if name.starts_with(char::is_uppercase) => self.name(name),
            unknown => bail!("field {field} is of type {unknown}, which is not known here"),
        })
    }
}

/// The default of a field, unless it is Rust's own.
fn default(field: &FieldSpec) -> anyhow::Result<Option<String>> {
    let absent = ABSENT.iter().find(|(name, _)| *name == field.name);
    let text = absent.map_or(field.default.as_deref().unwrap_or_default(), |(_, value)| value);
    if field.nullable_versions.is_some() {
        return Ok((text != "null").then(|| "Some(Default::default())".to_owned()));
    }
    Ok(match (field.kind.as_str(), text) {
        (_, "" | "0" | "false") => None,
        ("bool", "true") => Some(text.to_owned()),
        ("int8" | "int16" | "int32" | "int64", text) => Some(match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16)?.to_string(),
            None => text.parse::<i64>()?.to_string(),
        }),
        (kind, text) => bail!("{text:?} of type {kind} is not known here"),
    })
}

fn range(versions: Versions) -> String {
    match versions {
        Versions { first, last: i16::MAX } => format!("{first}.."),
        Versions { first, last } => format!("{first}..={last}"),
    }
}

/// `ThrottleTimeMs` as `throttle_time_ms`.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before != '_' && !before.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
        before = letter;
    }
    out
}
