//! The `client` of a load item as typed: which client carries it, and Kafka's settings.

use crate::input::{InputError, TextPosition};
use crate::keys;
use crate::walk::{Fields, list_of, scalar};
use crate::yaml::{Scalar, YamlNode};

/// The client of a load item.
#[derive(Debug, Clone)]
pub struct ItemClientFile {
    /// `native` or `java`; params may be inserted.
    pub driver: Scalar,
    /// Which Java client; `None`: nothing was typed.
    pub version: Option<JavaClientFile>,
    /// Options of its Java process.
    pub jvm: Vec<Scalar>,
    /// Kafka's settings, by Kafka's names.
    pub settings: Vec<(Scalar, Scalar)>,
}

/// Where a Java client comes from.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum JavaClientFile {
    Release(Scalar),
    Home(Scalar),
    Source(Scalar),
    Jar(Scalar),
}

impl JavaClientFile {
    /// The value with its key.
    pub fn keyed(&self) -> (&str, &Scalar) {
        match self {
            Self::Release(typed) => ("version", typed),
            Self::Home(typed) => ("home", typed),
            Self::Source(typed) => ("source", typed),
            Self::Jar(typed) => ("jar", typed),
        }
    }
}

impl ItemClientFile {
    /// Nothing typed.
    pub fn none(place: TextPosition) -> Self {
        let driver = Scalar::assumed("native", place);
        Self { driver, version: None, jvm: Vec::new(), settings: Vec::new() }
    }

    /// Whether it may be the Java client, once params are chosen.
    pub(crate) fn may_be_java(&self) -> bool {
        self.driver.text != "native"
    }

    /// Every value into which params may be inserted.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        let mut found: Vec<(&str, &Scalar)> = vec![("driver", &self.driver)];
        found.extend(self.version.iter().map(JavaClientFile::keyed));
        found.extend(self.jvm.iter().map(|option| ("jvm", option)));
        found.extend(self.settings.iter().map(|(name, value)| (name.text.as_str(), value)));
        found
    }
}

/// Reads it from an item's keys.
pub(super) fn client(item: &Fields<'_>) -> Result<ItemClientFile, InputError> {
    let Some(node) = item.get("client") else { return Ok(ItemClientFile::none(item.place)) };
    let fields = Fields::of(node, &keys::ITEM_CLIENT)?;
    let settings = fields.others().map(|(name, value)| Ok((name.clone(), scalar(value, &name.text)?)));
    Ok(ItemClientFile {
        driver: fields.required("driver")?,
        version: version(&fields)?,
        jvm: list_of(&fields, "jvm", |node| scalar(node, "jvm"))?,
        settings: settings.collect::<Result<_, InputError>>()?,
    })
}

fn version(fields: &Fields<'_>) -> Result<Option<JavaClientFile>, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("version") else {
        return Ok(fields.scalar("version")?.map(JavaClientFile::Release));
    };
    let (name, value) = Fields::of(node, &keys::JAVA_CLIENT)?.single()?;
    let value = scalar(value, name)?;
    Ok(Some(match name {
        "home" => JavaClientFile::Home(value),
        "source" => JavaClientFile::Source(value),
        _ => JavaClientFile::Jar(value),
    }))
}
