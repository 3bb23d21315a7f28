//! The document as one HTML file.

use super::parts::{Document, DocumentRun};
use super::register;
use crate::grid::clean;
use crate::html::{finished, run_sections, table, tables, what_ran};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

pub(super) fn page(of: &Document<'_>) -> String {
    finished(html! {
        (DOCTYPE)
        html lang="en" {
            (crate::html::head(&of.front.title, include_str!("document.css")))
            body class="document" {
                (head(of))
                main {
                    (contents(of))
                    @if !of.front.text.is_empty() { section class="front" { (author_text(&of.front.text)) } }
                    (summary(of))
                    section id="register" {
                        h2 { "Test register" }
                        (table::plain("Test register", &register::table(of.runs)))
                    }
                    @for (number, run) in (1..).zip(of.runs) { (run_of(number, run)) }
                    section id="appendix" {
                        h2 { "Appendix: what really ran" }
                        @for (number, run) in (1..).zip(of.runs) {
                            h3 { "Run " (number) ": " (run.file) }
                            (PreEscaped(as_part(&what_ran(&run.input).into_string(), &format!("run-{number}-"))))
                        }
                    }
                }
            }
        }
    })
}

fn head(of: &Document<'_>) -> Markup {
    html! {
        header {
            h1 { (of.front.title) }
            dl {
                @for (name, value) in &of.front.facts { dt { (name) } dd { (value) } }
                dt { "made by" } dd { "kdyno " (of.kdyno) " from " (of.runs_text()) }
            }
        }
    }
}

fn contents(of: &Document<'_>) -> Markup {
    html! {
        nav aria-labelledby="contents" {
            h2 id="contents" { "Contents" }
            ol {
                li { a href="#summary" { "Summary" } }
                li { a href="#register" { "Test register" } }
                @for (number, run) in (1..).zip(of.runs) { li { a href=(format!("#run-{number}")) { (run.input.plan().question) } } }
                li { a href="#appendix" { "Appendix: what really ran" } }
            }
        }
    }
}

fn summary(of: &Document<'_>) -> Markup {
    html! {
        section id="summary" {
            h2 { "Summary" }
            @for (number, run) in (1..).zip(of.runs) {
                h3 { a href=(format!("#run-{number}")) { "Run " (number) } ": " (run.input.plan().question) }
                ul { @for sentence in run.summary() { li { (tables::coded(&sentence)) } } }
            }
        }
    }
}

fn run_of(number: usize, run: &DocumentRun<'_>) -> Markup {
    let sections = run_sections(&run.input).into_string();
    html! {
        section class="run" id=(format!("run-{number}")) {
            h2 { "Run " (number) ": " (run.input.plan().question) }
            p class="over" { (crate::terminal::first_line(run.input.plan())) }
            (PreEscaped(as_part(&sections, &format!("run-{number}-"))))
        }
    }
}

/// Sections of a run's page as part of a document: headings one level lower, ids with the run before them. In what the
/// templates make every unescaped `<` and `"` is a template's own, for those from outside are escaped.
fn as_part(sections: &str, prefix: &str) -> String {
    let mut out = sections.to_owned();
    for level in (2..=5).rev() {
        for open in ["<h", "</h"] {
            out = out.replace(&format!("{open}{level}"), &format!("{open}{}", level + 1));
        }
    }
    for attribute in [" id=\"", " aria-labelledby=\"", " href=\"#", "url(#"] {
        out = out.replace(attribute, &format!("{attribute}{prefix}"));
    }
    out
}

/// A table of the author's scrolls by itself when the page is narrow.
const SCROLL: &str = "<div class=\"scroll\" role=\"region\" aria-label=\"Table\" tabindex=\"0\">";

/// The author's Markdown. HTML in it is text: the document loads and runs nothing.
fn author_text(text: &str) -> Markup {
    let text: String = text.lines().map(|line| clean(line) + "\n").collect();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(&text, options).filter_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        // A picture would be loaded from elsewhere: its words replace it.
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { dest_url, .. }) if !is_address(&dest_url) => None,
        other => Some(other),
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, balanced(events).into_iter());
    // What the author writes is escaped, so each of these is the beginning or the end of a table.
    PreEscaped(out.replace("<table>", &format!("{SCROLL}<table>")).replace("</table>", "</table></div>"))
}

/// Links that lead to a page, and nothing that a browser would run.
fn is_address(link: &str) -> bool {
    ["http://", "https://", "#", "mailto:"].iter().any(|start| link.starts_with(start))
}

/// Without ends of links whose beginning was left out.
fn balanced<'t>(events: impl Iterator<Item = Event<'t>>) -> Vec<Event<'t>> {
    let mut open = 0_u32;
    let keep = |event: &Event<'t>| match event {
        Event::Start(Tag::Link { .. }) => {
            open += 1;
            true
        }
        Event::End(TagEnd::Link) if open == 0 => false,
        Event::End(TagEnd::Link) => {
            open -= 1;
            true
        }
        _ => true,
    };
    events.filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_author_writes_runs_nothing() {
        let text = author_text(
            "# *A*\n\n<script>y</script>\n\nB <script>x</script> [a](javascript:x) [b](https://e.org) ![c](http://e.org/c.png)",
        )
        .0;
        assert!(text.contains("<em>A</em>") && text.contains("<a href=\"https://e.org\">b</a>"), "{text}");
        assert!(
            !text.contains("<script") && !text.contains("javascript:") && !text.contains("<img"),
            "{text}"
        );
        assert!(
            text.contains("&lt;script&gt;") && text.ends_with("a <a href=\"https://e.org\">b</a> c</p>\n"),
            "{text}"
        );
    }

    #[test]
    fn sections_of_two_runs_have_ids_of_their_own() {
        let part =
            "<section aria-labelledby=\"x\"><h2 id=\"x\">A</h2><h3>B</h3><a href=\"#x\">c</a></section>";
        let expected = "<section aria-labelledby=\"run-1-x\"><h3 id=\"run-1-x\">A</h3><h4>B</h4><a href=\"#run-1-x\">c</a></section>";
        assert_eq!(as_part(part, "run-1-"), expected);
    }
}
