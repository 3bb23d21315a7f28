//! Lanes: rows with a name next to a picture, all over one horizontal axis at the bottom.

use super::chart::ACROSS;
use super::pen::{self, percent, px};
use super::scale::Scale;
use maud::{Markup, html};

/// Numbers under the axis at most: more would overlap where the page is narrow.
const NUMBERS_MAX: usize = 5;

/// One row.
pub struct Lane {
    /// What is next to the picture.
    pub name: Markup,
    /// For those who do not see the picture.
    pub says: String,
    /// Height of the picture, px.
    pub height: f64,
    /// What is drawn on the grid.
    pub drawn: Markup,
}

/// The axis of all rows.
pub struct LaneAxis<'a> {
    /// The axis.
    pub across: &'a Scale,
    /// Its numbers as printed.
    pub text: &'a dyn Fn(f64) -> String,
    /// Its caption, with the unit.
    pub label: &'a str,
}

/// The rows, then the axis with its numbers.
pub fn lanes(lanes: &[Lane], axis: &LaneAxis<'_>) -> Markup {
    let step = axis.across.ticks.len().div_ceil(NUMBERS_MAX).max(1);
    html! {
        div class="lanes" {
            @for lane in lanes {
                div class="lane" {
                    div class="lane-name" { (lane.name) }
                    svg class="plot" height=(px(lane.height)) role="img" {
                        title { (lane.says) }
                        svg width="100%" height=(px(lane.height)) viewBox=(format!("0 0 {ACROSS} {}", px(lane.height))) preserveAspectRatio="none" {
                            (pen::grid(axis.across, None, 0.0, lane.height))
                        }
                        (lane.drawn)
                    }
                }
            }
            div class="lane" {
                div class="lane-name axis-name" { (axis.label) }
                svg class="plot" height="24" aria-hidden="true" {
                    line class="axis" x2="100%" y1="1" y2="1" {}
                    @for (index, tick) in axis.across.ticks.iter().enumerate() {
                        @let place = axis.across.place(*tick);
                        line class="tick" x1=(percent(place)) x2=(percent(place)) y1="1" y2="5" {}
                        @if index % step == 0 {
                            text x=(percent(place)) y="18" text-anchor=(pen::anchor(place)) { ((axis.text)(*tick)) }
                        }
                    }
                }
            }
        }
    }
}

/// An interval as a line with ends, `down` px from the top.
pub fn interval(class: &str, ends: (f64, f64), down: f64) -> Markup {
    let (left, right) = (percent(ends.0), percent(ends.1));
    html! {
        line class=(class) x1=(left) x2=(right) y1=(px(down)) y2=(px(down)) {}
        @for end in [&left, &right] { line class=(class) x1=(end) x2=(end) y1=(px(down - 4.0)) y2=(px(down + 4.0)) {} }
    }
}
