//! What a process wrote before it went wrong: the end of its log goes into the run file.

use crate::error::LabError;
use crate::private::Private;
use kdyno_model::event::Subject;
use kdyno_store::RunWriter;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of a log is kept: enough for a stack trace or two.
const LOG_BYTES_KEPT: u64 = 16 * 1024;

/// Stores the end of a log file without what is private. A log that cannot be read has no content.
pub(crate) fn keep(
    store: &RunWriter,
    private: &Private,
    subject: &Subject,
    path: &Path,
) -> Result<(), LabError> {
    match tail(path) {
        Ok(text) if !text.trim().is_empty() => Ok(store.log(&subject.to_string(), &private.hide(&text))?),
        _ => Ok(()),
    }
}

/// The last [`LOG_BYTES_KEPT`] of a file, from the beginning of a line on.
pub(crate) fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(LOG_BYTES_KEPT);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_KEPT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, whole_lines)) if skipped > 0 => whole_lines.to_owned(),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_begins_with_a_whole_line_and_is_bounded() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("log");
        std::fs::write(&path, "short\n").expect("write");
        assert_eq!(tail(&path).expect("read"), "short\n");
        let lines: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, &lines).expect("write");
        let kept = tail(&path).expect("read");
        assert!(kept.starts_with("line ") && kept.ends_with("line 4999\n"));
        assert!(kept.len() as u64 <= LOG_BYTES_KEPT);
    }
}
