//! A document of several runs: what its author writes, a register of all trials, what each run found, and an appendix made
//! from what really ran. As one HTML file, or as Markdown for wikis and pull requests.

mod appendix;
mod front;
mod html;
mod markdown;
mod parts;
mod register;

pub use front::Front;
pub use parts::{Document, DocumentRun};

/// One HTML file, which loads nothing.
pub fn html(of: &Document<'_>) -> String {
    html::page(of)
}

/// Markdown with tables, as GitHub and most wikis read it.
pub fn markdown(of: &Document<'_>) -> String {
    markdown::text(of)
}
