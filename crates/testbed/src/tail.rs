//! The end of a log file, bounded whatever its size.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Read from the end; a stack trace is well below this.
const TAIL_BYTES: u64 = 64 << 10;

/// The last lines of a file, oldest first; empty when it cannot be read.
pub(crate) fn lines(path: &Path, lines_max: usize) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines_max)..].iter().map(|line| (*line).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_read() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("log");
        let text: String = (0..100_000).map(|i| format!("line {i}\n")).collect();
        std::fs::write(&path, text).expect("write");
        assert_eq!(lines(&path, 2), ["line 99998", "line 99999"]);
        assert!(lines(&temp.path().join("none"), 2).is_empty());
    }
}
