//! Flame graphs of sampled stacks, and graphs of the difference of two: pure functions from stacks to SVG.
//!
//! A frame is as wide as its share of everything that was counted; the thread is on top and what it called below it. Shares
//! are counts added up and nothing else, each side of a difference by its own total. Without script: a frame's whole name
//! and its numbers are its tooltip, and frames that would be narrower than a pixel are left out.

mod graph;
mod layout;
mod svg;
mod table;

pub use graph::{Graph, held};
pub(crate) use svg::{STYLE, legend, picture};
pub(crate) use table::table;

/// Frames of a graph within a page, where there are several; the widest ones.
pub(crate) const FRAMES_OF_PAGE: usize = 700;
/// Frames of a graph by itself.
const FRAMES_ALONE: usize = 4000;

/// The graph as a file of its own.
pub fn document(graph: &Graph) -> String {
    svg::document(graph, FRAMES_ALONE)
}
