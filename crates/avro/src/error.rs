//! What is wrong with a schema.

use std::fmt;

/// A schema from which no values can be made: one lowercase clause, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    what: String,
    hint: Option<String>,
}

impl SchemaError {
    /// Without a hint.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// An error with a hint.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for SchemaError {}
