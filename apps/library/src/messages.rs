//! What travels on the topics. Values are JSON but for chunks, which are MARC 21 as it was uploaded.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Something happened to a loan. On the topic of loans, by item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoanEvent {
    /// What.
    pub kind: LoanEventKind,
    /// The loan's number.
    pub loan: i64,
    /// The user's number.
    pub user: i64,
    /// The item's number.
    pub item: i64,
    /// Counts the events of one item, from 1: so what arrives late or twice is known.
    pub version: i64,
}

/// What happened to a loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoanEventKind {
    /// It began.
    CheckedOut,
    /// It ended.
    CheckedIn,
}

impl LoanEvent {
    /// The status that the item has then.
    pub fn status(&self) -> &'static str {
        match self.kind {
            LoanEventKind::CheckedOut => "Checked out",
            LoanEventKind::CheckedIn => "Available",
        }
    }
}

/// What an import does with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Makes an instance; there must be none with its control number.
    Create,
    /// Changes the instance with its control number; there must be one.
    Update,
}

impl Profile {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "create" => Ok(Self::Create),
            "update" => Ok(Self::Update),
            _ => Err(format!("there is no profile `{text}`: `create` or `update`")),
        }
    }
}

/// A record of an import, wherever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordId {
    /// The import's number.
    pub job: i64,
    /// The record's place in the file, from 1.
    pub number: i32,
}

/// A piece of an uploaded file; the key of its record, as text: `JOB/FIRST/PROFILE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkKey {
    /// Its first record.
    pub first: RecordId,
    /// What is to be done with its records.
    pub profile: Profile,
}

impl fmt::Display for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.first.job, self.first.number, self.profile.name())
    }
}

impl FromStr for ChunkKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no key of a chunk");
        let mut parts = text.split('/');
        let mut part = || parts.next().ok_or_else(wrong);
        let job = part()?.parse().map_err(|_| wrong())?;
        let number = part()?.parse().map_err(|_| wrong())?;
        let profile = part()?.parse()?;
        Ok(Self { first: RecordId { job, number }, profile })
    }
}

/// What a record says of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// The number that its maker gave it (001).
    pub control_number: String,
    /// Its title (245).
    pub title: String,
    /// Who made it (100, 110 or 111).
    pub author: Option<String>,
    /// Its ISBNs (020).
    pub isbns: Vec<String>,
    /// When it was published (264 or 260).
    pub published: Option<String>,
    /// What it is about (650).
    pub subjects: Vec<String>,
}

/// A record that was understood. On the topic of parsed records, by control number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parsed {
    /// Which.
    pub id: RecordId,
    /// What is to be done with it.
    pub profile: Profile,
    /// What it says.
    pub instance: Instance,
    /// The whole record as it came.
    pub source: String,
}

/// A record whose source is stored. On the topic of stored records, by control number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Which.
    pub id: RecordId,
    /// What is to be done with it.
    pub profile: Profile,
    /// What it says.
    pub instance: Instance,
}

/// What became of a record. On the topic of outcomes, by job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which.
    pub id: RecordId,
    /// What.
    pub kind: OutcomeKind,
    /// For a failure: why.
    pub reason: Option<String>,
}

impl Outcome {
    /// It failed.
    pub fn failed(id: RecordId, reason: impl Into<String>) -> Self {
        Self { id, kind: OutcomeKind::Failed, reason: Some(reason.into()) }
    }

    /// The message that reports it.
    pub fn message(&self, topic: &str) -> crate::kafka::Message {
        crate::kafka::Message::json(topic, self.id.job.to_string(), self)
    }
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    /// There is a new instance.
    Created,
    /// An instance was changed.
    Updated,
    /// Nothing was done.
    Failed,
}

impl OutcomeKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for OutcomeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Created, Self::Updated, Self::Failed]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("there is no outcome `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunks_key_is_read_as_it_was_written() {
        let key = ChunkKey { first: RecordId { job: 12, number: 301 }, profile: Profile::Update };
        assert_eq!(key.to_string(), "12/301/update");
        assert_eq!("12/301/update".parse(), Ok(key));
        for wrong in ["", "12", "12/301", "x/1/create", "12/301/delete"] {
            assert!(wrong.parse::<ChunkKey>().is_err(), "{wrong}");
        }
    }
}
