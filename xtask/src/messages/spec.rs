//! A message as Kafka specifies it. What is not known here is an error, never left out.

use anyhow::{Context, bail};
use serde::{Deserialize, Deserializer};

/// Versions as in `0+`, `2-7`, `3` or `none`: the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Versions {
    pub first: i16,
    pub last: i16,
}

impl TryFrom<String> for Versions {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Versions, Self::Error> {
        if text == "none" {
            return Ok(Versions { first: i16::MAX, last: i16::MAX });
        }
        if let Some(first) = text.strip_suffix('+') {
            return Ok(Versions { first: first.parse()?, last: i16::MAX });
        }
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        Ok(Versions { first: first.parse()?, last: last.parse()? })
    }
}

/// A request or a response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageSpec {
    pub api_key: i16,
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "listeners")]
    _listeners: Option<Vec<String>>,
    #[serde(rename = "name")]
    _name: String,
    pub valid_versions: Versions,
    #[serde(rename = "latestVersionUnstable")]
    _latest_version_unstable: Option<bool>,
    pub flexible_versions: Versions,
    pub fields: Vec<FieldSpec>,
    #[serde(default)]
    pub common_structs: Vec<StructureSpec>,
}

/// A structure that several fields have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureSpec {
    pub name: String,
    #[serde(rename = "versions")]
    _versions: Versions,
    pub fields: Vec<FieldSpec>,
}

/// A field.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldSpec {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub versions: Versions,
    pub nullable_versions: Option<Versions>,
    pub tag: Option<u32>,
    pub tagged_versions: Option<Versions>,
    #[serde(default, deserialize_with = "text")]
    pub default: Option<String>,
    #[serde(default)]
    pub fields: Vec<FieldSpec>,
    /// Whether Java drops the field in versions that lack it, where otherwise it refuses to; we always drop it.
    #[serde(rename = "ignorable")]
    _ignorable: Option<bool>,
    #[serde(rename = "mapKey")]
    _map_key: Option<bool>,
    #[serde(rename = "entityType")]
    _entity_type: Option<String>,
    #[serde(rename = "about")]
    _about: Option<String>,
}

/// A default as text: some are written as numbers.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Some(match serde_json::Value::deserialize(from)? {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }))
}

impl MessageSpec {
    /// Reads a specification: JSON with whole lines of comment.
    pub fn parse(text: &str) -> anyhow::Result<MessageSpec> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let json = lines.collect::<Vec<_>>().join("\n");
        let message: MessageSpec = serde_json::from_str(&json).context("not as expected")?;
        for field in &message.fields {
            field.check()?;
        }
        for structure in &message.common_structs {
            structure.fields.iter().try_for_each(FieldSpec::check)?;
        }
        Ok(message)
    }
}

impl FieldSpec {
    fn check(&self) -> anyhow::Result<()> {
        if self.tag.is_some() && self.tagged_versions != Some(self.versions) {
            bail!("field {} is tagged in a part of its versions only", self.name);
        }
        self.fields.iter().try_for_each(FieldSpec::check)
    }
}
