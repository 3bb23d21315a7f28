//! Writes and reads run files; alone knows their format.
//!
//! A run is one SQLite file. [`RunWriter`] appends to it from a thread of its own while the run lasts:
//! the head first, samples and readings as they come, findings and the end last. [`RunFile`] reads it,
//! also after the writer was killed. What the file holds and how it may change stands in [`schema`].
//!
//! Invariant: nothing here interprets a number; rows are kept as they came.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod error;
mod fold;
mod list;
mod opening;
mod pack;
mod reader;
mod reserve;
mod rows;
pub mod schema;
mod writer;

pub use error::StoreError;
pub use kdyno_model::run::{Event, RunEnd, RunHeader, RunStatus, StreamInfo, TrialStart};
pub use list::{RunList, RunSummary, list};
pub use reader::RunFile;
pub use writer::RunWriter;
