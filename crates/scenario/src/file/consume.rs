//! A load item that consumes, as typed.

use crate::input::{InputError, meant, quoted};
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
fn with_constant(error: InputError, node: &Node) -> InputError {
    let Node::Map(_, fields) = node else { return error };
    let [(key, Node::Scalar(time))] = fields.as_slice() else { return error };
    if meant(&key.text, keys::WORK.keys.iter().map(|key| key.name)).is_some() {
        return error;
    }
    let hint = error
        .hint
        .clone()
        .map(|hint| format!("{hint}; for a constant write {}", quoted(&format!("work: {}", time.text))));
    error.maybe_hint(hint)
}
