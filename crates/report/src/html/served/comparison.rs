//! Two stored runs: in what they differ, the verdicts on their figures, the figures next to each other.

use super::{run_address, shell};
use crate::html::tables;
use crate::side_by_side::RunsSideBySide;
use crate::stored::StoredComparison;
use maud::html;

/// The page; `beside` has the same runs, `files` their names.
pub fn comparison(of: &StoredComparison<'_>, side_by_side: &RunsSideBySide, files: [&str; 2]) -> String {
    let nothing = html! {};
    let body = html! {
        nav class="site" aria-label="The two runs" { @for (side, file) in ["A", "B"].iter().zip(files) { a href=(run_address(file)) { (side) ": " (file) } } }
        (tables::caveats(&of.caveats()))
        @for (number, answer) in of.answers().iter().enumerate() { (tables::answer(&number.to_string(), answer, &[], &nothing)) }
        (tables::answer("beside", side_by_side.answer(), &[], &nothing))
        p class="note" { "Two runs of one scenario are an observation each: trials in turn within one run (" code { "kdyno compare" } ") show a difference far sooner." }
    };
    shell(&of.title(), &body)
}
