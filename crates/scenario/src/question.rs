//! Comparisons, searches, expectations and contrasts as typed.

use super::keys;
use super::walk::{Fields, entries, list, list_of, opt, scalar, scalars, settings};
use crate::input::{InputError, TextPosition};
use crate::yaml::{Scalar, YamlNode};

/// The `compare` section.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct CompareFile {
    pub place: TextPosition,
    pub a: SideFile,
    pub b: SideFile,
    pub judge: Vec<JudgeFile>,
    pub may_differ: Vec<Scalar>,
    pub looks: Vec<Scalar>,
    pub pairs_per_start: Option<Scalar>,
    pub design: Option<Scalar>,
}

/// A side of a comparison.
#[derive(Debug, Clone)]
pub struct SideFile {
    /// What it is called.
    pub label: Option<Scalar>,
    /// What is laid over the scenario: the side without its label.
    pub patch: YamlNode,
}

/// A metric to judge.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct JudgeFile {
    pub of: Scalar,
    pub better: Option<Scalar>,
    pub margin: Option<Scalar>,
}

/// The `find` section.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct FindFile {
    pub place: TextPosition,
    pub highest: Scalar,
    pub each: Option<Scalar>,
    pub from: Option<Scalar>,
    pub to: Option<Scalar>,
    pub within: Option<Scalar>,
    pub conditions: Vec<Scalar>,
    pub ramp: Option<Scalar>,
    pub trial: Option<Scalar>,
    pub confirm: Option<Scalar>,
    pub confirmations: Option<Scalar>,
    pub trials: Option<Scalar>,
}

/// An expectation.
#[derive(Debug, Clone)]
pub struct ExpectFile {
    /// In words.
    pub claim: String,
    /// What must hold.
    pub that: Scalar,
}

/// A contrast.
#[derive(Debug, Clone)]
pub struct ContrastFile {
    /// Its name.
    pub name: Scalar,
    /// Params that select the case it starts from.
    pub from: Vec<(Scalar, Scalar)>,
    /// Params that select the case it leads to.
    pub to: Vec<(Scalar, Scalar)>,
    /// Metric addresses.
    pub of: Vec<Scalar>,
}

pub(crate) fn compare(node: &YamlNode) -> Result<CompareFile, InputError> {
    let fields = Fields::of(node, &keys::COMPARE)?;
    let side_of = |name: &str| opt(&fields, name, side);
    let lacks = |name: &str| InputError::at(fields.place, format!("`compare` lacks `{name}`"));
    Ok(CompareFile {
        place: fields.place,
        a: side_of("A")?.ok_or_else(|| lacks("A"))?,
        b: side_of("B")?.ok_or_else(|| lacks("B"))?,
        judge: list_of(&fields, "judge", judge)?,
        may_differ: opt(&fields, "may_differ", |node| scalars(node, "may_differ"))?.unwrap_or_default(),
        looks: opt(&fields, "looks", |node| scalars(node, "looks"))?.unwrap_or_default(),
        pairs_per_start: fields.scalar("pairs_per_start")?,
        design: fields.scalar("design")?,
    })
}

fn side(node: &YamlNode) -> Result<SideFile, InputError> {
    let fields = Fields::of(node, &keys::SIDE)?;
    let others = entries(node, "a side")?.iter().filter(|(key, _)| key.text != "label").cloned();
    Ok(SideFile { label: fields.scalar("label")?, patch: YamlNode::Map(fields.place, others.collect()) })
}

fn judge(node: &YamlNode) -> Result<JudgeFile, InputError> {
    let fields = Fields::of(node, &keys::JUDGE)?;
    Ok(JudgeFile {
        of: fields.required("of")?,
        better: fields.scalar("better")?,
        margin: fields.scalar("margin")?,
    })
}

pub(crate) fn find(node: &YamlNode) -> Result<FindFile, InputError> {
    let fields = Fields::of(node, &keys::FIND)?;
    let conditions = opt(&fields, "while", |node| scalars(node, "while"))?.unwrap_or_default();
    if conditions.is_empty() {
        let error = InputError::at(fields.place, "`while` is empty: every load would do");
        return Err(error.hint("e.g. `while: [writers.response.p99 <= 20ms]`"));
    }
    Ok(FindFile {
        place: fields.place,
        highest: fields.required("highest")?,
        each: fields.scalar("each")?,
        from: fields.scalar("from")?,
        to: fields.scalar("to")?,
        within: fields.scalar("within")?,
        conditions,
        ramp: fields.scalar("ramp")?,
        trial: fields.scalar("trial")?,
        confirm: fields.scalar("confirm")?,
        confirmations: fields.scalar("confirmations")?,
        trials: fields.scalar("trials")?,
    })
}

pub(crate) fn expect(node: &YamlNode) -> Result<ExpectFile, InputError> {
    let fields = Fields::of(node, &keys::EXPECT)?;
    Ok(ExpectFile { claim: fields.required("claim")?.text, that: fields.required("that")? })
}

pub(crate) fn contrasts(fields: &Fields<'_>) -> Result<Vec<ContrastFile>, InputError> {
    let Some(node) = fields.get("contrasts") else { return Ok(Vec::new()) };
    let mut found: Vec<ContrastFile> = Vec::new();
    for item in list(node, "contrasts")? {
        let named = entries(item, "a contrast")?;
        let [(name, body)] = named else {
            let error = InputError::at(item.place(), format!("a contrast has one name, not {}", named.len()));
            return Err(error.hint("write `- NAME: {from: {…}, to: {…}, of: […]}`"));
        };
        if found.iter().any(|known| known.name.text == name.text) {
            return Err(InputError::at(name.place, format!("two contrasts are called `{}`", name.text)));
        }
        found.push(contrast(name, body)?);
    }
    Ok(found)
}

fn contrast(name: &Scalar, body: &YamlNode) -> Result<ContrastFile, InputError> {
    let fields = Fields::of(body, &keys::CONTRAST)?;
    let params = |key: &str| opt(&fields, key, |node| settings(node, key));
    let of = list_of(&fields, "of", |node| scalar(node, "of"))?;
    if of.is_empty() {
        return Err(InputError::at(fields.place, "`of` is empty: name a metric"));
    }
    Ok(ContrastFile {
        name: name.clone(),
        from: params("from")?.unwrap_or_default(),
        to: params("to")?.unwrap_or_default(),
        of,
    })
}
