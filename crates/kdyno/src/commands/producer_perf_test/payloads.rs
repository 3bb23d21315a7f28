//! The file that values come from.

use crate::failure::Failure;
use crate::out;
use kdyno_perf_test::producer::{self, ProducerOptions, RecordContent};
use std::path::{Path, PathBuf};

/// The file of payloads and what is between them.
pub(super) struct PayloadSource {
    pub(super) path: PathBuf,
    pub(super) delimiter: String,
}

/// Looks at the file of payloads, if there is one, and returns how many there are.
pub(super) fn look(options: &ProducerOptions) -> Result<Option<PayloadSource>, Failure> {
    let RecordContent::File(file) = &options.value else { return Ok(None) };
    let path = std::path::absolute(file).map_err(Failure::tool)?;
    out::line(&producer::reading(&path.display().to_string()))?;
    let delimiter = producer::literal(&options.delimiter).map_err(|why| {
        Failure::usage(format!("--payload-delimiter: {why}"))
            .hint("the delimiter is a regular expression, and only those that mean one text are understood")
    })?;
    let content = read(&path)?;
    if content.is_empty() {
        return Err(Failure::usage("File does not exist or empty file provided."));
    }
    out::line(&producer::records_read(kdyno_model::plan::pieces(&content, &delimiter).len()))?;
    Ok(Some(PayloadSource { path, delimiter }))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display().to_string();
    let failed = |why: String| Failure::usage(format!("--payload-file: the file {name} {why}"));
    crate::given_files::read(&name).map_err(failed)
}
