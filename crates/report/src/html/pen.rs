//! What pictures are drawn with. Places across are parts of a thousand of the width, so that a picture is as wide as the
//! page has room while its text keeps its size; places down are px.
//!
//! Looks differ by dash and shape as well as by colour.

use super::chart::ACROSS;
use super::scale::Scale;
use maud::{Markup, html};

/// Distinct looks in the style sheet; further ones repeat them.
pub const LOOKS: usize = 8;

/// Numbers under an axis that a narrow page has room for, but for one.
const NARROW_MAX: usize = 4;
/// Least distance of two texts next to an axis, px.
const LINE_PX: f64 = 13.0;

/// Shapes of signs around their middle.
const SHAPES: [&str; LOOKS] = [
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
    "M-3.5,-3.5h7v7h-7z",
    "M0,-5l4.7,8.5h-9.4z",
    "M0,-5.2l4.6,5.2l-4.6,5.2l-4.6,-5.2z",
    "M0,5l4.7,-8.5h-9.4z",
    "M-1.5,-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M-4.6,0l2.3,-4.2h4.6l2.3,4.2l-2.3,4.2h-4.6z",
    CROSS,
];
const CROSS: &str = "M-4.5,-3l1.5,-1.5l3,3l3,-3l1.5,1.5l-3,3l3,3l-1.5,1.5l-3,-3l-3,3l-1.5,-1.5l3,-3z";

/// The sign of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointSign {
    /// The shape of a look, filled.
    Filled(usize),
    /// The same, hollow: it does not count.
    Hollow(usize),
    /// A cross in the colour of a look.
    Cross(usize),
}

impl PointSign {
    /// Its shape, by itself.
    pub fn shape(self) -> Markup {
        let (look, class, shape) = match self {
            Self::Filled(look) => (look, "dot", SHAPES[look % LOOKS]),
            Self::Hollow(look) => (look, "dot hollow", SHAPES[look % LOOKS]),
            Self::Cross(look) => (look, "dot", CROSS),
        };
        html! { path class=(format!("{class} {}", look_class(look))) d=(shape) {} }
    }

    /// The sign at a place, with what it says when it is pointed at.
    pub fn at(self, across: f64, down: f64, says: Option<&str>) -> Markup {
        html! {
            svg x=(percent(across)) y=(px(down)) {
                @if let Some(says) = says { title { (says) } }
                (self.shape())
            }
        }
    }
}

/// The class of a look.
pub fn look_class(look: usize) -> String {
    format!("look-{}", look % LOOKS)
}

/// A place across as an attribute.
pub fn percent(place: f64) -> String {
    let text = format!("{:.1}", place / 10.0);
    format!("{}%", text.trim_end_matches(".0"))
}

/// A place down as an attribute.
pub fn px(place: f64) -> String {
    let text = format!("{place:.1}");
    let text = text.trim_end_matches(".0");
    // Minus nothing is nothing.
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// How a text at a place across is anchored, so that it stays on the paper.
pub fn anchor(place: f64) -> &'static str {
    match place {
        place if place < 30.0 => "start",
        place if place > 970.0 => "end",
        _ => "middle",
    }
}

/// Lines across and down a plot from `top` to `bottom`, as one path on a paper of a thousand.
pub fn grid(across: &Scale, up: Option<&Scale>, top: f64, bottom: f64) -> Markup {
    let down: String = across
        .ticks
        .iter()
        .map(|tick| format!("M{:.0},{}v{}", across.place(*tick), px(top), px(bottom - top)))
        .collect();
    let rows = up.into_iter().flat_map(|up| up.ticks.iter().map(|tick| up.place(*tick)));
    let rows: String = rows.map(|place| format!("M0,{}h{ACROSS}", px(place))).collect();
    html! { path class="grid" d=(down + &rows) {} }
}

/// The numbers at the left of a plot; those that would overlap are left out.
pub fn rows(up: &Scale, text: impl Fn(f64) -> String) -> Markup {
    let mut last = f64::INFINITY;
    let mut reported: Vec<(f64, String)> = Vec::new();
    for tick in &up.ticks {
        let place = up.place(*tick);
        if (last - place).abs() >= LINE_PX {
            last = place;
            reported.push((place, text(*tick)));
        }
    }
    html! { @for (place, text) in &reported { text x="-8" y=(px(place + 4.0)) text-anchor="end" { (text) } } }
}

/// The numbers under a plot, which ends at `bottom`.
pub fn columns(across: &Scale, bottom: f64, text: impl Fn(f64) -> String) -> Markup {
    let last = across.ticks.len().saturating_sub(1);
    html! {
        @for (index, tick) in across.ticks.iter().enumerate() {
            @let place = across.place(*tick);
            // With many a narrow page has no room for the last one.
            @let class = (index > NARROW_MAX && index == last).then_some("wide");
            text class=[class] x=(percent(place)) y=(px(bottom + 16.0)) text-anchor=(anchor(place)) { (text(*tick)) }
        }
    }
}

/// A rectangle between two places across.
pub fn bar(class: &str, ends: (f64, f64), top: f64, height: f64) -> Markup {
    let (left, right) = if ends.0 <= ends.1 { ends } else { (ends.1, ends.0) };
    html! { rect class=(class) x=(percent(left)) y=(px(top)) width=(percent(right - left)) height=(px(height)) {} }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_at_the_ends_of_an_axis_stay_on_the_paper() {
        assert_eq!([0.0, 500.0, 1000.0].map(anchor), ["start", "middle", "end"]);
    }

    #[test]
    fn numbers_that_would_stand_on_each_other_are_left_out() {
        let up = Scale::linear([0.0, 100.0].into_iter(), true, 20.0, 0.0);
        let drawn = rows(&up, |tick| tick.to_string()).0;
        assert!(up.ticks.len() > 4 && drawn.matches("<text").count() == 2, "{drawn}");
    }

    #[test]
    fn every_look_has_a_shape_of_its_own() {
        let shapes: std::collections::BTreeSet<&str> = SHAPES.into_iter().collect();
        assert_eq!(shapes.len(), LOOKS);
    }
}
