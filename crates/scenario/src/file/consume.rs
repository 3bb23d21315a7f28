//! A load item that consumes, as typed.

use crate::input::{InputError, meant, quoted};
use crate::keys;
use crate::walk::{Fields, scalar};
use crate::yaml::{Scalar, YamlNode};

/// How records are fetched, and what is done with them.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ConsumeFile {
    pub from: Scalar,
    pub group: Option<Scalar>,
    pub read: Scalar,
    pub work: WorkFile,
}

/// How long an application works on each record.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum WorkFile {
    Constant(Scalar),
    Exponential(Scalar),
    Zipf { least: Scalar, most: Scalar, s: Scalar },
}

impl WorkFile {
    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        match self {
            Self::Constant(time) => vec![("work", time)],
            Self::Exponential(mean) => vec![("exponential", mean)],
            Self::Zipf { least, most, s } => vec![("least", least), ("most", most), ("s", s)],
        }
    }
}

/// Reads it from an item's keys.
pub(super) fn consume(fields: &Fields<'_>) -> Result<ConsumeFile, InputError> {
    Ok(ConsumeFile {
        from: fields.required("from")?,
        group: fields.scalar("group")?,
        read: fields.required("read")?,
        work: work(fields)?,
    })
}

fn work(fields: &Fields<'_>) -> Result<WorkFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("work") else {
        return fields.required("work").map(WorkFile::Constant);
    };
    let fields = Fields::of(node, &keys::WORK).map_err(|error| with_constant(error, node))?;
    let (law, node) = fields.single()?;
    if law == "exponential" {
        return scalar(node, law).map(WorkFile::Exponential);
    }
    let zipf = Fields::of(node, &keys::ZIPF_WORK)?;
    let (least, most) = (zipf.required("least")?, zipf.required("most")?);
    Ok(WorkFile::Zipf { least, most, s: zipf.required("s")? })
}

/// An error in a map whose only key is no law's name: work that is equal for each record is no map.
fn with_constant(error: InputError, node: &YamlNode) -> InputError {
    let YamlNode::Map(_, fields) = node else { return error };
    let [(key, YamlNode::Scalar(time))] = fields.as_slice() else { return error };
    if meant(&key.text, keys::WORK.keys.iter().map(|key| key.name)).is_some() {
        return error;
    }
    let hint = error
        .hint
        .clone()
        .map(|hint| format!("{hint}; for a constant write {}", quoted(&format!("work: {}", time.text))));
    error.maybe_hint(hint)
}
