//! The pages of `kdyno serve` around those of single runs: the list of runs, two runs compared, a metric over many runs.
//!
//! Links are relative to the server's root, so that a tunnel or a proxy changes nothing.

mod comparison;
mod course;
mod list;

pub use comparison::comparison;
pub use course::{CoursePage, course};
pub use list::{ListPage, ListedRun, list};

use crate::input::ReportInput;
use maud::{DOCTYPE, Markup, html};
use std::fmt::Write;

/// A run's page, with the way back to the list.
pub fn run(input: &ReportInput<'_>) -> String {
    super::page_below(input, &navigation())
}

/// What went wrong, as a page; `hint` is empty where there is nothing to do.
pub fn failure(message: &str, hint: &str) -> String {
    shell(
        "This cannot be shown",
        &html! {
            p class="answer bad" { (super::tables::coded(message)) }
            @if !hint.is_empty() { p { "→ " (super::tables::coded(hint)) } }
        },
    )
}

/// The address of a run's page.
fn run_address(file: &str) -> String {
    format!("/run/{}", encoded(file))
}

/// What leads from a page to the list of runs.
fn navigation() -> Markup {
    html! { nav class="site" aria-label="kdyno" { a href="/" { "all runs" } } }
}

fn shell(title: &str, body: &Markup) -> String {
    super::finished(html! {
        (DOCTYPE)
        html lang="en" {
            (super::head(&format!("{title}: kdyno"), include_str!("served.css")))
            body {
                header { (navigation()) h1 { (title) } }
                main { (body) }
            }
        }
    })
}

/// A text as a part of an address: RFC 3986's unreserved characters as they are, all other bytes by number.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::SCRIPT;

    #[test]
    fn names_of_files_are_parts_of_addresses() {
        assert_eq!(run_address("20261121-093005-a.kdyno"), "/run/20261121-093005-a.kdyno");
        assert_eq!(run_address("a b/../é?&#\"<.kdyno"), "/run/a%20b%2F..%2F%C3%A9%3F%26%23%22%3C.kdyno");
    }

    #[test]
    fn words_from_outside_are_text() {
        let page = failure("there is no run `<script>alert(1)</script>`", "");
        assert!(page.contains("&lt;script&gt;") && !page.replace(SCRIPT, "").contains("<script"), "{page}");
    }
}
