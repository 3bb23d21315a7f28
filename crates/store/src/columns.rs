//! Single columns: values to and from SQL. What is read is distrusted; what does not fit is a [`RowFault`].

use crate::blob::PackError;
use kdyno_model::finding::{Scope, Value};
use kdyno_model::trial::TrialId;
use rusqlite::Row;
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde::{Deserialize, Serialize};

/// What is wrong with one row.
pub(crate) enum RowFault {
    Sql(rusqlite::Error),
    Content(String),
}

impl RowFault {
    fn content(reason: impl ToString) -> Self {
        Self::Content(reason.to_string())
    }
}

impl From<rusqlite::Error> for RowFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<PackError> for RowFault {
    fn from(error: PackError) -> Self {
        Self::content(error)
    }
}

impl From<&str> for RowFault {
    fn from(reason: &str) -> Self {
        Self::content(reason)
    }
}

pub(crate) fn text(row: &Row<'_>, column: usize) -> Result<String, RowFault> {
    Ok(row.get(column)?)
}

/// An unsigned number, stored bit by bit as a signed one.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, RowFault> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

pub(crate) fn blob<'row>(row: &'row Row<'_>, column: usize) -> Result<&'row [u8], RowFault> {
    row.get_ref(column)?.as_blob().map_err(RowFault::content)
}

pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, RowFault> {
    let text = row.get_ref(column)?.as_str().map_err(RowFault::content)?;
    serde_json::from_str(text).map_err(RowFault::content)
}

/// A value that is its name alone, as the enums of the model are.
pub(crate) fn named<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, RowFault> {
    let text = row.get_ref(column)?.as_str().map_err(RowFault::content)?;
    T::deserialize(text.into_deserializer()).map_err(|error: value::Error| RowFault::content(error))
}

/// The reverse of [`named`].
pub(crate) fn name_of(value: &impl Serialize) -> Result<String, serde_json::Error> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(name) => Ok(name),
        other => Err(serde::ser::Error::custom(format!("{other} is no name"))),
    }
}

/// What a [`Scope`] is, by name: the column `scope`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScopeKind {
    Trial,
    Case,
    SideB,
    Pair,
    Comparison,
    Search,
    PublishedRow,
    Run,
}

/// The columns `scope`, `scope_id` and `scope_pair`.
pub(crate) type ScopeColumns = (String, Option<u32>, Option<u32>);

pub(crate) fn scope_columns(scope: Scope) -> Result<ScopeColumns, serde_json::Error> {
    let (kind, id, pair) = match scope {
        Scope::Trial(trial) => (ScopeKind::Trial, Some(trial.0), None),
        Scope::Case(case) => (ScopeKind::Case, Some(case), None),
        Scope::SideB { case } => (ScopeKind::SideB, Some(case), None),
        Scope::Pair { case, pair } => (ScopeKind::Pair, Some(case), Some(pair)),
        Scope::Comparison { case } => (ScopeKind::Comparison, Some(case), None),
        Scope::Search { case } => (ScopeKind::Search, Some(case), None),
        Scope::PublishedRow(row) => (ScopeKind::PublishedRow, Some(row), None),
        Scope::Run => (ScopeKind::Run, None, None),
    };
    Ok((name_of(&kind)?, id, pair))
}

/// The reverse of [`scope_columns`], from the first three columns.
pub(crate) fn scope(row: &Row<'_>) -> Result<Scope, RowFault> {
    match (named(row, 0)?, row.get(1)?, row.get(2)?) {
        (ScopeKind::Trial, Some(trial), None) => Ok(Scope::Trial(TrialId(trial))),
        (ScopeKind::Case, Some(case), None) => Ok(Scope::Case(case)),
        (ScopeKind::SideB, Some(case), None) => Ok(Scope::SideB { case }),
        (ScopeKind::Pair, Some(case), Some(pair)) => Ok(Scope::Pair { case, pair }),
        (ScopeKind::Comparison, Some(case), None) => Ok(Scope::Comparison { case }),
        (ScopeKind::Search, Some(case), None) => Ok(Scope::Search { case }),
        (ScopeKind::PublishedRow, Some(row), None) => Ok(Scope::PublishedRow(row)),
        (ScopeKind::Run, None, None) => Ok(Scope::Run),
        _ => Err("a scope's numbers contradict its kind".into()),
    }
}

/// A value as the columns `estimate` and `at_least`.
pub(crate) fn value_columns(value: Value) -> (Option<f64>, bool) {
    match finite(value) {
        Value::Is(number) => (Some(number), false),
        Value::AtLeast(number) => (Some(number), true),
        Value::None => (None, false),
    }
}

/// The reverse of [`value_columns`].
pub(crate) fn value(row: &Row<'_>, column: usize) -> Result<Value, RowFault> {
    match (row.get(column)?, row.get(column + 1)?) {
        (Some(number), false) => Ok(Value::Is(number)),
        (Some(number), true) => Ok(Value::AtLeast(number)),
        (None, false) => Ok(Value::None),
        (None, true) => Err("a finding's value contradicts its kind".into()),
    }
}

/// Neither SQLite nor JSON has a NaN, and JSON no infinity: what is not finite is no value.
pub(crate) fn finite(value: Value) -> Value {
    match value {
        Value::Is(number) | Value::AtLeast(number) if !number.is_finite() => Value::None,
        other => other,
    }
}
