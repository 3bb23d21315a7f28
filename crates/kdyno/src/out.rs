//! Where words go: data to standard output, everything else to standard error.
//!
//! What is printed may repeat what somebody else wrote: names in a run file, lines of a log, an answer of a broker. So text is
//! made visible here, and nowhere else: a terminal acts on nothing but line ends, tabs and, where text is in colour, the
//! sequences that are kdyno's own.

use crate::failure::Failure;
use kdyno_model::words::visible;
use kdyno_report::terminal::{SEQUENCES, TextOptions};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::termios::{Winsize, tcgetwinsize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What clap's errors have in addition to the tones of reports: underlined and green.
const SEQUENCES_OF_USAGE: &[&str] = &["\x1b[4m", "\x1b[32m"];

/// The size of the terminal on standard error, where it reports it.
pub(crate) fn window() -> Option<Winsize> {
    tcgetwinsize(std::io::stderr()).ok().filter(|size| size.ws_col > 0)
}

/// How text is laid out on standard output.
pub(crate) fn options() -> TextOptions {
    text_options(std::io::stdout().is_terminal())
}

/// How text is laid out on standard error.
pub(crate) fn note_options() -> TextOptions {
    text_options(std::io::stderr().is_terminal())
}

/// How text is laid out on a stream: as wide as the terminal, in colour only there, and not where the user wants none
/// (`NO_COLOR`, <https://no-color.org>).
fn text_options(terminal: bool) -> TextOptions {
    // Elsewhere wide enough for the widest bundled table, narrow enough for a pasted one.
    let width = window().filter(|_| terminal).map_or(120, |size| usize::from(size.ws_col));
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    TextOptions { width, colour: terminal && !is_plain }
}

/// Writes data to standard output as it is, and to a terminal as text. A reader that has seen enough (`kdyno runs | head`), or a
/// terminal that has closed, is no failure.
pub(crate) fn data(content: impl AsRef<[u8]>) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        return text(String::from_utf8_lossy(content.as_ref()));
    }
    write(content.as_ref())
}

/// Writes text without colours to standard output.
pub(crate) fn text(text: impl AsRef<str>) -> Result<(), Failure> {
    write(visible(text.as_ref(), &[]).as_bytes())
}

/// Writes text of a report to standard output.
pub(crate) fn painted(text: &str) -> Result<(), Failure> {
    write(visible(text, own(options().colour)).as_bytes())
}

/// The sequences of reports, where they are in colour.
fn own(colour: bool) -> &'static [&'static str] {
    if colour { SEQUENCES } else { &[] }
}

fn write(content: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(content).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe && !is_closed_terminal(&e) => {
            Err(Failure::tool(format!("could not write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Whether the error is that of a terminal that has closed. It is no terminal any more, but still a device.
fn is_closed_terminal(error: &std::io::Error) -> bool {
    let is_device =
        |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    error.raw_os_error() == Some(Errno::IO.raw_os_error()) && fstat(std::io::stdout()).is_ok_and(is_device)
}

/// Writes a line of text.
pub(crate) fn line(line: &str) -> Result<(), Failure> {
    text(format!("{line}\n"))
}

/// Writes a JSON document to standard output, indented, with a line end.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), Failure> {
    data(kdyno_report::json::text(value))
}

/// What every SQLite file begins with, run files among them.
pub(crate) const SQLITE_HEAD: &[u8] = b"SQLite format 3\0";

/// Writes a file that was requested by name, and makes its folder. Evidence is not overwritten by what is made of it.
pub(crate) fn file(target: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    keep_run_file(target)?;
    make_folder(target.parent().unwrap_or(Path::new("")))?;
    std::fs::write(target, content)
        .map_err(|e| Failure::tool(format!("could not write {}: {e}", target.display())))
}

/// Makes a folder that was named, unless it is there; the empty path is the current one.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::tool(format!("could not make the folder {}: {e}", folder.display())))
}

/// Refuses to overwrite evidence.
pub(crate) fn keep_run_file(target: &Path) -> Result<(), Failure> {
    let mut head = [0; SQLITE_HEAD.len()];
    let is_evidence = File::open(target).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    if is_evidence && head == SQLITE_HEAD {
        return Err(Failure::usage(format!("{} is a run file, it is not overwritten", target.display()))
            .hint("name another file"));
    }
    Ok(())
}

/// Prints something on standard error; without a reader it is lost, which is no failure.
pub(crate) fn note(line: &str) {
    note_with(line, &[]);
}

/// Prints a part of a report on standard error.
pub(crate) fn note_painted(line: &str) {
    note_with(line, own(note_options().colour));
}

/// Prints a note on standard error that was not printed before: a file is read for each case, and a note is about the file.
pub(crate) fn note_once(line: &str) {
    static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.insert(line.to_owned()) {
        note(line);
    }
}

fn note_with(line: &str, own: &[&str]) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible(line, own));
}

/// Most mistakes of one text that are printed.
const MISTAKES_SHOWN_MAX: usize = 20;

/// Prints `error:` and `hint:` lines on standard error.
pub(crate) fn failure(failure: &Failure) {
    for one in std::iter::once(failure).chain(&failure.more).take(MISTAKES_SHOWN_MAX) {
        note(&format!("error: {}", one.message));
        if let Some(hint) = &one.hint {
            note(&format!("hint: {hint}"));
        }
    }
    let left = (1 + failure.more.len()).saturating_sub(MISTAKES_SHOWN_MAX);
    if left > 0 {
        note(&format!("+ {left} more"));
    }
}

/// Prints something in place of the line on which the cursor is.
pub(crate) fn note_over(line: &str) {
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
    }
    note(line);
}

/// Draws lines of a report on standard error, a terminal; `place` puts sequences around them that move the cursor.
pub(crate) fn draw(lines: &[String], place: impl FnOnce(&[String]) -> String) {
    let own = own(note_options().colour);
    let lines: Vec<String> = lines.iter().map(|line| visible(line, own)).collect();
    // A terminal that is gone has no reader to disappoint.
    let _ = write!(std::io::stderr().lock(), "{}", place(&lines));
}

/// Prints clap's own message: help and version to standard output, mistakes, which repeat what was typed, to standard error.
pub(crate) fn usage(usage: &clap::Error) {
    if !usage.use_stderr() {
        // A reader that has seen enough is no failure.
        let _ = usage.print();
        return;
    }
    let message = usage.render();
    let said = match note_options().colour {
        true => visible(&message.ansi().to_string(), &[SEQUENCES, SEQUENCES_OF_USAGE].concat()),
        false => visible(&message.to_string(), &[]),
    };
    let _ = write!(std::io::stderr().lock(), "{said}");
}
