//! The head of every page: how it looks, its script, and what it may do.

use maud::{Markup, PreEscaped, html};

/// The script of every page as an element, made of `web/src`; empty where kdyno was built without it.
pub const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/script.html"));

/// What a page may do: it loads nothing, and no script runs but its own, which is identified by its hash.
pub const POLICY: &str =
    concat!("default-src 'none'; style-src 'unsafe-inline'; script-src ", env!("KDYNO_SCRIPT_SOURCE"));

/// The head of a page with this title; `more` is style of its kind of page.
pub(crate) fn head(title: &str, more: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            title { (title) }
            style {
                (PreEscaped(include_str!("style.css"))) (PreEscaped(include_str!("charts.css")))
                (PreEscaped(crate::flame::STYLE)) (PreEscaped(more))
            }
            // Behind the style, whose colours it may change before anything is drawn.
            (PreEscaped(SCRIPT))
        }
    }
}
