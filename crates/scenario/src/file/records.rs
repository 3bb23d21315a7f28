//! What records are made of, as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, opt, scalar, settings};
use crate::yaml::{Scalar, YamlNode};

/// Values of records.
#[derive(Debug, Clone)]
pub struct ValueFile {
    /// Their sizes, or where they come from.
    pub values: ValuesFile,
    /// How well they compress.
    pub compressible: Option<Scalar>,
}

/// Sizes of values, or where they come from.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is the key of the same name in `keys`")]
pub enum ValuesFile {
    Size(Scalar),
    Uniform { from: Scalar, to: Scalar },
    Lognormal { median: Scalar, p99: Scalar, max: Option<Scalar> },
    File(GivenNameFile),
    Sample { topic: Scalar, mean: Scalar, at_most: Scalar },
    Avro { schema: Scalar, id: Scalar },
}

/// A file of keys or values.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct GivenNameFile {
    pub name: Scalar,
    pub delimiter: Scalar,
}

/// Keys of records.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum KeyFile {
    /// `none`.
    Word(Scalar),
    Numbered(NumberedFile),
    File(GivenNameFile),
}

/// Keys that are numbers.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct NumberedFile {
    /// `sequential`, `uniform` or `zipf`.
    pub law: String,
    pub of: Scalar,
    pub s: Option<Scalar>,
    pub size: Option<Scalar>,
}

/// A payload.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum PayloadFile {
    Word(Scalar),
    Pooled(Scalar),
}

/// The payload of a produce item.
pub(super) fn payload(fields: &Fields<'_>) -> Result<PayloadFile, InputError> {
    Ok(match fields.get("payload") {
        Some(node @ YamlNode::Map(..)) => {
            PayloadFile::Pooled(Fields::of(node, &keys::PAYLOAD)?.required("pooled")?)
        }
        _ => PayloadFile::Word(fields.required("payload")?),
    })
}

/// The value of a produce item.
pub(super) fn value(fields: &Fields<'_>) -> Result<ValueFile, InputError> {
    const SOURCES: &[&str] = &["size", "uniform", "lognormal", "file", "sample", "avro"];
    let Some(node @ YamlNode::Map(..)) = fields.get("value") else {
        let values = ValuesFile::Size(fields.required("value")?);
        return Ok(ValueFile { values, compressible: None });
    };
    let value = Fields::of(node, &keys::VALUE)?;
    let there: Vec<&str> = SOURCES.iter().copied().filter(|source| value.get(source).is_some()).collect();
    let [source] = there[..] else {
        let how =
            if there.is_empty() { "says nothing of sizes" } else { "says more than one thing of sizes" };
        return Err(InputError::at(value.place, format!("`value` {how}"))
            .hint("it takes exactly one of `size`, `uniform`, `lognormal`, `file`, `sample` and `avro`"));
    };
    let values = match (source, value.get(source)) {
        ("uniform", Some(node)) => {
            let range = Fields::of(node, &keys::UNIFORM)?;
            ValuesFile::Uniform { from: range.required("from")?, to: range.required("to")? }
        }
        ("lognormal", Some(node)) => {
            let law = Fields::of(node, &keys::LOGNORMAL)?;
            let (median, p99) = (law.required("median")?, law.required("p99")?);
            ValuesFile::Lognormal { median, p99, max: law.scalar("max")? }
        }
        ("file", Some(node)) => ValuesFile::File(given(node)?),
        ("sample", Some(node)) => {
            let sample = Fields::of(node, &keys::SAMPLE)?;
            let (topic, mean) = (sample.required("topic")?, sample.required("mean")?);
            ValuesFile::Sample { topic, mean, at_most: sample.required("at_most")? }
        }
        ("avro", Some(node)) => {
            let avro = Fields::of(node, &keys::AVRO)?;
            ValuesFile::Avro { schema: avro.required("schema")?, id: avro.required("id")? }
        }
        _ => ValuesFile::Size(value.required("size")?),
    };
    Ok(ValueFile { values, compressible: value.scalar("compressible")? })
}

/// The keys of a produce item.
pub(super) fn key(fields: &Fields<'_>) -> Result<KeyFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("key") else {
        return fields.required("key").map(KeyFile::Word);
    };
    let (law, node) = Fields::of(node, &keys::KEY)?.single()?;
    if law == "file" {
        return given(node).map(KeyFile::File);
    }
    let is_zipf = law == "zipf";
    let numbered = Fields::of(node, if is_zipf { &keys::ZIPF } else { &keys::NUMBERED })?;
    Ok(KeyFile::Numbered(NumberedFile {
        law: law.to_owned(),
        of: numbered.required("of")?,
        s: if is_zipf { numbered.scalar("s")? } else { None },
        size: numbered.scalar("size")?,
    }))
}

/// The headers of a produce item.
pub(super) fn headers(fields: &Fields<'_>) -> Result<Vec<(Scalar, Scalar)>, InputError> {
    Ok(opt(fields, "headers", |node| settings(node, "headers"))?.unwrap_or_default())
}

fn given(node: &YamlNode) -> Result<GivenNameFile, InputError> {
    if let YamlNode::Map(..) = node {
        let fields = Fields::of(node, &keys::GIVEN)?;
        return Ok(GivenNameFile {
            name: fields.required("name")?,
            delimiter: fields.required("delimiter")?,
        });
    }
    let name = scalar(node, "file")?;
    let default = keys::GIVEN.keys.iter().find_map(|key| key.default).unwrap_or_default();
    Ok(GivenNameFile { delimiter: Scalar::assumed(default, name.place), name })
}

impl ValueFile {
    /// Every value into which params may be inserted.
    pub(crate) fn all(&self) -> Vec<(&'static str, &Scalar)> {
        let mut found = match &self.values {
            ValuesFile::Size(size) => vec![("value", size)],
            ValuesFile::Uniform { from, to } => vec![("from", from), ("to", to)],
            ValuesFile::Lognormal { median, p99, max } => {
                let max = max.iter().map(|max| ("max", max));
                [("median", median), ("p99", p99)].into_iter().chain(max).collect()
            }
            ValuesFile::File(file) => file.all(),
            ValuesFile::Sample { topic, mean, at_most } => {
                vec![("topic", topic), ("mean", mean), ("at_most", at_most)]
            }
            ValuesFile::Avro { schema, id } => vec![("schema", schema), ("id", id)],
        };
        found.extend(self.compressible.iter().map(|ratio| ("compressible", ratio)));
        found
    }
}

impl KeyFile {
    /// Every value into which params may be inserted.
    pub(crate) fn all(&self) -> Vec<(&'static str, &Scalar)> {
        match self {
            Self::Word(word) => vec![("key", word)],
            Self::File(file) => file.all(),
            Self::Numbered(NumberedFile { of, s, size, .. }) => {
                let rest = s.iter().map(|s| ("s", s)).chain(size.iter().map(|size| ("size", size)));
                std::iter::once(("of", of)).chain(rest).collect()
            }
        }
    }
}

impl GivenNameFile {
    fn all(&self) -> Vec<(&'static str, &Scalar)> {
        vec![("file", &self.name), ("delimiter", &self.delimiter)]
    }
}
