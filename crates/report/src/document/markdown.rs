//! The document as Markdown.

use super::parts::Document;
use super::{appendix, register};
use crate::markdown::{block, escaped, grid};
use std::fmt::Write;

/// What a fence is made of at least; longer where a text has as many backticks in a row.
const FENCE_MIN: usize = 3;

pub(super) fn text(of: &Document<'_>) -> String {
    let mut out = format!("# {}\n\n", escaped(&of.front.title));
    // Writing to a String cannot fail.
    for (name, value) in &of.front.facts {
        let _ = writeln!(out, "- {}: {}", escaped(name), escaped(value));
    }
    let _ = writeln!(out, "- made by: kdyno {} from {}\n", escaped(of.kdyno), of.runs_text());
    if !of.front.text.is_empty() {
        let _ = writeln!(out, "{}\n", of.front.text);
    }
    out.push_str("## Summary\n\n");
    for (number, run) in (1..).zip(of.runs) {
        let _ = writeln!(
            out,
            "- Run {number}, {}: {}",
            escaped(&run.input.plan().question),
            run.summary().iter().map(|one| escaped(one)).collect::<Vec<_>>().join(" ")
        );
    }
    let _ = write!(out, "\n## Test register\n\n{}", grid(&register::table(of.runs)));
    for (number, run) in (1..).zip(of.runs) {
        let _ = write!(
            out,
            "## Run {number}: {}\n\n{}\n",
            escaped(&run.input.plan().question),
            block(&run.input)
        );
    }
    out.push_str("## Appendix\n\n");
    for (number, run) in (1..).zip(of.runs) {
        let _ = writeln!(out, "### Run {number}: {}\n", escaped(&run.file));
        for part in appendix::parts(&run.input) {
            let fence = "`".repeat(fence(&part.text));
            let _ = writeln!(out, "#### {}\n\n{fence}\n{}\n{fence}\n", escaped(&part.title), part.text);
        }
    }
    out
}

/// Backticks that no row of them in the text ends.
fn fence(text: &str) -> usize {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    FENCE_MIN.max(longest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_does_not_end_its_fence() {
        assert_eq!([fence("plain"), fence("a ``` b"), fence("`````")], [3, 4, 6]);
    }
}
