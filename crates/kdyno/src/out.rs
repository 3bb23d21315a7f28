//! Where words go: data to standard output, everything else to standard error.

use crate::failure::{Exit, Failure};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// Writes data to standard output. A reader that has seen enough (`kdyno runs | head`), or a terminal that has closed, is no
/// failure.
pub(crate) fn data(content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(content.as_ref()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe && !is_closed_terminal(&e) => Err(Failure {
            exit: Exit::ToolFailed,
            message: format!("could not write to standard output: {e}"),
            hint: None,
        }),
        _ => Ok(()),
    }
}

/// Whether the error is that of a terminal that has closed. It is no terminal any more, but still a device.
fn is_closed_terminal(error: &std::io::Error) -> bool {
    let is_device =
        |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    error.raw_os_error() == Some(Errno::IO.raw_os_error()) && fstat(std::io::stdout()).is_ok_and(is_device)
}

/// Writes a line of data.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    data(format!("{text}\n"))
}

/// Writes a JSON document to standard output, indented, with a line end.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), Failure> {
    data(format!("{value:#}\n"))
}

/// What every SQLite file begins with, run files among them.
const SQLITE_HEAD: &[u8] = b"SQLite format 3\0";

/// Writes a file that was asked for by name. Evidence is not overwritten by what is made of it.
pub(crate) fn file(target: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut head = [0; SQLITE_HEAD.len()];
    let is_evidence = File::open(target).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    if is_evidence && head == SQLITE_HEAD {
        return Err(Failure::usage(format!("{} is a run file, it is not overwritten", target.display()))
            .hint("name another file"));
    }
    std::fs::write(target, content)
        .map_err(|e| Failure::tool(format!("could not write {}: {e}", target.display())))
}

/// Tells something on standard error; without a reader it is lost, which is nobody's failure.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
