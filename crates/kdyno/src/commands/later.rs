//! Commands that are planned and named, but not there yet.

use crate::failure::{Failure, Outcome};

/// Says so.
pub(crate) fn later(command: &str) -> Outcome {
    Err(Failure::usage(format!("`kdyno {command}` is not in this version yet"))
        .hint("`kdyno run` with several cases sets figures side by side"))
}
