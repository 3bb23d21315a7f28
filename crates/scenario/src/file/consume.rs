//! A load item that consumes, as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, scalar};
use crate::yaml::{Node, Typed};

/// How records are fetched, and what is done with them.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ConsumeFile {
    pub from: Typed,
    pub group: Option<Typed>,
    pub read: Typed,
    pub work: WorkFile,
}

/// How long an application works on each record.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum WorkFile {
    Constant(Typed),
    Exponential(Typed),
    Zipf { least: Typed, most: Typed, s: Typed },
}

impl WorkFile {
    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Typed)> {
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
    let Some(node @ Node::Map(..)) = fields.get("work") else {
        return fields.required("work").map(WorkFile::Constant);
    };
    let (law, node) = Fields::of(node, &keys::WORK)?.single()?;
    if law == "exponential" {
        return scalar(node, law).map(WorkFile::Exponential);
    }
    let zipf = Fields::of(node, &keys::ZIPF_WORK)?;
    let (least, most) = (zipf.required("least")?, zipf.required("most")?);
    Ok(WorkFile::Zipf { least, most, s: zipf.required("s")? })
}
