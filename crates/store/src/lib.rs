//! Writes and reads run files; alone knows their format.
//!
//! A run is one SQLite file. [`RunWriter`] appends to it from a thread of its own while the run lasts:
//! the head and the session first, samples and readings as they come, findings and the session's end last; it
//! also yields the evidence of a trial while the run goes on. [`RunFile`] reads the file, also after the writer
//! was killed. What the file holds and how it may change is in [`schema`].
//!
//! Invariants: nothing here interprets a number, rows are kept as they came; the address of an attached cluster
//! is never written, wherever it is in a plan.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod blob;
mod columns;
mod courses;
mod error;
mod evidence;
mod fold;
mod import;
mod list;
mod opening;
mod pack;
mod reader;
mod reserve;
mod rows;
pub mod schema;
mod stacks;
mod writer;
mod writing;

pub use error::StoreError;
pub use import::{ImportedTrial, import};
pub use list::{RunList, RunSummary, list, list_by, summary};
pub use reader::RunFile;
pub use writer::RunWriter;
