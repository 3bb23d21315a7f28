//! What a program of somebody else writes: read as fast as it comes, so that it never waits for us, and its end kept.

use kdyno_analysis::commands::LineSplitter;
use kdyno_model::words::is_acted_on;
use std::collections::VecDeque;
use std::io::Read;

/// Lines and bytes of a program's output that are kept: the end.
pub(crate) const TAIL_LINES: usize = 200;
pub(crate) const TAIL_BYTES: usize = 16 << 10;
/// Longest line of these.
const TAIL_LINE_BYTES: usize = 1 << 10;
/// How much is read at once.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
/// Lines of it that a message has.
const LINES_MAX: usize = 3;
/// Characters of these.
const CHARACTERS_MAX: usize = 300;

/// Reads an output to its end, and gives each line, `None` for one that is too long; how many bytes it was.
pub(crate) fn read_lines(mut from: impl Read, mut each: impl FnMut(Option<&[u8]>)) -> u64 {
    let mut lines = LineSplitter::default();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut bytes = 0_u64;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        bytes = bytes.saturating_add(count as u64);
        lines.push(&buffer[..count], &mut each);
    }
    lines.finish(&mut each);
    bytes
}

/// The last lines that were written.
#[derive(Debug, Default)]
pub(crate) struct OutputTail(VecDeque<Vec<u8>>);

impl OutputTail {
    /// Adds a line, `None`: one that is too long. A flood of lines costs next to nothing.
    pub(crate) fn push(&mut self, line: Option<&[u8]>) {
        let is_full = self.0.len() >= TAIL_LINES;
        let mut kept = if is_full { self.0.pop_front().unwrap_or_default() } else { Vec::new() };
        kept.clear();
        let line = line.unwrap_or(b"(a line that is too long to be read)");
        kept.extend_from_slice(&line[..line.len().min(TAIL_LINE_BYTES)]);
        self.0.push_back(kept);
    }

    /// The lines, the oldest first. What a terminal would act upon is not passed on.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let shown = |c: char| if is_acted_on(c) && c != '\t' { '\u{fffd}' } else { c };
        self.0.iter().map(move |line| String::from_utf8_lossy(line).chars().map(shown).collect())
    }

    /// What is kept of it.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.lines().collect();
        end_of(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// The last of some lines: as many as are kept in bytes.
pub(crate) fn end_of(lines: &[&str]) -> String {
    let mut bytes = 0;
    let kept = lines.iter().rev().take_while(|line| {
        bytes += line.len() + 1;
        bytes <= TAIL_BYTES
    });
    let kept = kept.count();
    lines[lines.len() - kept..].join("\n")
}

/// The last lines of an output, for a message.
pub(crate) fn last_lines(tail: &str) -> String {
    let lines: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return "; it wrote nothing".to_owned();
    }
    let reported = lines[lines.len().saturating_sub(LINES_MAX)..].join(" | ");
    // What went wrong is mostly at the very end.
    let over = reported.chars().count().saturating_sub(CHARACTERS_MAX);
    let end: String = reported.chars().skip(over).collect();
    format!("; its last lines: {}{end}", if over > 0 { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_the_output_is_kept() {
        assert_eq!(last_lines(" \n"), "; it wrote nothing");
        assert_eq!(last_lines("1\n2\n\n3\n4\n"), "; its last lines: 2 | 3 | 4");
        let long = "x".repeat(1000) + "y";
        assert!(last_lines(&long).starts_with("; its last lines: …x") && last_lines(&long).ends_with("xy"));
        assert_eq!(last_lines(&long).chars().count(), "; its last lines: ".len() + CHARACTERS_MAX + 1);
    }

    #[test]
    fn of_a_flood_the_end_is_kept() {
        let flood: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let mut tail = OutputTail::default();
        assert_eq!(read_lines(flood.as_bytes(), |line| tail.push(line)), flood.len() as u64);
        let kept = tail.text();
        assert!(kept.len() <= TAIL_BYTES && kept.ends_with("line 99999"), "{kept}");
        assert_eq!(tail.lines().count(), TAIL_LINES);
    }
}
