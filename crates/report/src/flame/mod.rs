//! Flame graphs of sampled stacks, and graphs of the difference of two: pure functions from stacks to SVG.
//!
//! A frame is as wide as its share of everything that was counted; the thread is on top and what it called below it. Shares
//! are counts added up and nothing else, each side of a difference by its own total. Without script: a frame's whole name
//! and its numbers are its tooltip, and frames that would be narrower than a pixel are left out.

mod layout;
mod svg;

use kdyno_model::plan::ComparePlan;
use kdyno_model::stacks::{FlameKind, Stacks};
pub(crate) use svg::{STYLE, legend, picture};

/// Frames of a graph within a page, where there are several; the widest ones.
pub(crate) const FRAMES_OF_PAGE: usize = 700;
/// Frames of a graph by itself.
const FRAMES_ALONE: usize = 4000;

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Above it.
    pub title: String,
    /// What was counted.
    pub kind: FlameKind,
    /// Of a difference the two sides, A first; otherwise one.
    pub sides: Vec<Stacks>,
}

impl Graph {
    /// Whether it has something to show.
    pub fn is_empty(&self) -> bool {
        self.sides.iter().all(Stacks::is_empty)
    }

    /// What was counted in all, in words.
    pub(crate) fn counted(&self) -> String {
        let one = |stacks: &Stacks| self.number(stacks.total());
        match self.sides.as_slice() {
            [a, b] => {
                let [name_a, name_b] = ComparePlan::SIDES;
                format!("{name_a}: {}, {name_b}: {}", one(a), one(b))
            }
            sides => sides.first().map(one).unwrap_or_default(),
        }
    }

    /// A number of what is counted, with its unit.
    fn number(&self, count: u64) -> String {
        let count = count as f64;
        match self.kind {
            FlameKind::Cpu => format!("{} samples", crate::units::count(count)),
            FlameKind::Alloc | FlameKind::Jfr => format!("{} allocated", crate::units::bytes(count)),
            FlameKind::Lock => format!("{} waited", crate::units::nanoseconds(count)),
        }
    }
}

/// The graph as a file of its own.
pub fn document(graph: &Graph) -> String {
    svg::document(graph, FRAMES_ALONE)
}
