//! The topology of trials as pictures, each with the same as a table.

use super::figure::folded;
use super::pen::px;
use crate::grid::shorten;
use crate::input::ReportInput;
use crate::topology::{self, Frame, Node, Topology};
use crate::units::NOTHING;
use maud::{Markup, html};

/// Of the picture, in its own units.
const WIDTH: f64 = 920.0;
const BOX: f64 = 205.0;
const GAP: f64 = 12.0;
const LINE: f64 = 15.0;
/// Above the boxes of a frame, for its title.
const HEAD: f64 = 24.0;
/// Between two tiers, for the arrow and what is written beside it.
const LINK: f64 = 40.0;
/// Between two tiers of which none is known to reach the other.
const APART: f64 = 14.0;
/// Boxes beside each other at most.
const COLUMNS_MAX: usize = 4;
/// Letters of a line as wide as a box, and as the picture.
const LETTERS: usize = 32;
const LETTERS_WIDE: usize = 130;

/// The pictures; nothing before a trial began.
pub fn figures(input: &ReportInput<'_>) -> Markup {
    let (all, more) = topology::all(input);
    html! {
        @if !all.is_empty() { h3 { "Topology" } }
        @for (number, (concerns, topology)) in all.iter().enumerate() {
            (figure(&format!("What stood where: {concerns}"), &format!("topology-{number}"), topology))
        }
        @if more > 0 { p { (topology::left_out(more)) } }
    }
}

fn figure(title: &str, id: &str, topology: &Topology) -> Markup {
    html! {
        figure id=(id) {
            figcaption { (title) }
            div class="scroll" role="region" aria-label=(format!("Picture: {title}")) tabindex="0" { (picture(title, topology)) }
            (folded(&table(topology), title))
        }
    }
}

/// A frame with its place.
struct Placed<'a> {
    frame: &'a Frame,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Boxes beside each other.
    columns: usize,
}

fn picture(title: &str, topology: &Topology) -> Markup {
    let mut top = 1.0;
    let mut frames: Vec<Placed<'_>> = Vec::new();
    let mut links: Vec<(f64, &str)> = Vec::new();
    for (number, tier) in topology.tiers.iter().enumerate() {
        if number > 0 {
            match &tier.link {
                Some(link) => {
                    links.push((top, link));
                    top += LINK;
                }
                None => top += APART,
            }
        }
        let placed = placed(&tier.frames, top);
        top = placed.iter().map(|one| one.top + one.height).fold(top, f64::max);
        frames.extend(placed);
    }
    html! {
        svg class="topology" viewBox=(format!("0 0 {WIDTH} {}", px(top + 1.0))) role="img" {
            title { (title) }
            desc { "From the load at the top down to the cluster; the table under the picture says the same." }
            @for one in &frames { (self::frame(one)) }
            @for (top, link) in &links { (arrow(*top, link)) }
        }
    }
}

/// The frames of a tier side by side where there is room, else one below the other.
fn placed(frames: &[Frame], top: f64) -> Vec<Placed<'_>> {
    let width = |columns: usize| columns as f64 * (BOX + GAP) + GAP;
    let row =
        frames.iter().map(|frame| width(frame.nodes.len())).sum::<f64>() + GAP * (frames.len() as f64 - 1.0);
    let is_beside = row <= WIDTH - 2.0;
    let (mut left, mut down) = (1.0, top);
    let mut out: Vec<Placed<'_>> = Vec::new();
    for frame in frames {
        let columns = frame.nodes.len().clamp(1, COLUMNS_MAX);
        let heights = frame.nodes.chunks(columns).map(|row| row.iter().map(height).fold(0.0, f64::max) + GAP);
        let one = Placed {
            frame,
            left,
            top: down,
            width: width(columns),
            height: HEAD + heights.sum::<f64>(),
            columns,
        };
        if is_beside {
            left += one.width + GAP;
        } else {
            down += one.height + GAP;
        }
        out.push(one);
    }
    out
}

fn height(node: &Node) -> f64 {
    24.0 + LINE * node.lines.len() as f64
}

fn frame(one: &Placed<'_>) -> Markup {
    let mut top = one.top + HEAD;
    let mut rows: Vec<(f64, &[Node])> = Vec::new();
    for row in one.frame.nodes.chunks(one.columns) {
        rows.push((top, row));
        top += row.iter().map(height).fold(0.0, f64::max) + GAP;
    }
    // A title that is wider than its frame would run into the next one.
    let letters = LETTERS * one.columns;
    html! {
        rect class="frame" x=(px(one.left)) y=(px(one.top)) width=(px(one.width)) height=(px(one.height)) rx="4" {}
        text class="frame-name" x=(px(one.left + GAP)) y=(px(one.top + 16.0)) { (text(&one.frame.title, letters)) }
        @for (top, row) in &rows {
            @for (column, node) in row.iter().enumerate() {
                (self::node(node, one.left + GAP + column as f64 * (BOX + GAP), *top))
            }
        }
    }
}

fn node(node: &Node, left: f64, top: f64) -> Markup {
    html! {
        g {
            rect class="box" x=(px(left)) y=(px(top)) width=(px(BOX)) height=(px(height(node))) rx="3" {}
            text class="box-name" x=(px(left + 8.0)) y=(px(top + 16.0)) { (text(&node.name, LETTERS)) }
            @for (number, line) in node.lines.iter().enumerate() {
                text x=(px(left + 8.0)) y=(px(top + 31.0 + LINE * number as f64)) { (text(line, LETTERS)) }
            }
        }
    }
}

/// As much of a text as there is room for; where it is not all, the whole is its tooltip.
fn text(whole: &str, letters: usize) -> Markup {
    let shown = shorten(whole, letters);
    html! { @if shown != whole { title { (whole) } } (shown) }
}

/// From a tier down to the next one, with what is said of the way in one line or two.
fn arrow(top: f64, link: &str) -> Markup {
    let (at, end) = (24.0, top + LINK);
    let lines: Vec<String> = link.splitn(2, "; ").map(|line| shorten(line, LETTERS_WIDE)).collect();
    let first = top + if lines.len() > 1 { 17.0 } else { 24.0 };
    html! {
        path class="way" d=(format!("M{at},{}V{}M{},{}L{at},{}L{},{}", px(top + 2.0), px(end - 2.0), at - 4.0, px(end - 9.0), px(end - 2.0), at + 4.0, px(end - 9.0))) {}
        @for (number, line) in lines.iter().enumerate() { text x="36" y=(px(first + LINE * number as f64)) { (line) } }
    }
}

/// The same in rows.
fn table(topology: &Topology) -> Markup {
    html! {
        table {
            thead { tr { @for head in ["what", "where", "how it is reached", "more"] { th class="words" scope="col" { (head) } } } }
            tbody {
                @for tier in &topology.tiers {
                    @for frame in &tier.frames {
                        @for node in &frame.nodes {
                            tr {
                                th class="words" scope="row" { (node.name) }
                                td class="words wrap" { (frame.title) }
                                td class="words wrap" { (tier.link.as_deref().unwrap_or(NOTHING)) }
                                td class="words wrap" { @if node.lines.is_empty() { (NOTHING) } @else { (node.lines.join(", ")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
