//! Stacks merged into a tree, and the tree laid out in rows.

use super::graph::Graph;
use kdyno_model::stacks::Stacks;
use std::collections::BTreeMap;

/// Rows of a graph at most; what lies deeper is not drawn.
const ROWS_MAX: usize = 200;
/// Least width of a frame, as a share of the whole: a pixel of a wide window.
const SHARE_MIN: f64 = 0.0007;

/// A frame to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed<'s> {
    /// As sampled.
    pub name: &'s str,
    /// From the thread, which is 0.
    pub row: usize,
    /// Where it begins, as a share of the whole.
    pub left: f64,
    /// How wide it is: its share; of a difference the mean of both sides' shares, so that nothing is missing.
    pub width: f64,
    /// Counted in it and in what it called, by side.
    pub counts: Vec<u64>,
}

/// A frame with everything that was called from it.
#[derive(Default)]
struct FrameNode<'s> {
    counts: Vec<u64>,
    /// By name: the order from left to right, which is the same in every graph.
    callees: BTreeMap<&'s str, usize>,
}

struct FrameTree<'s> {
    nodes: Vec<FrameNode<'s>>,
    /// Shares of each side.
    totals: Vec<u64>,
}

impl<'s> FrameTree<'s> {
    fn of(graph: &'s Graph) -> Self {
        let sides = graph.sides.len();
        let node = || FrameNode { counts: vec![0; sides], callees: BTreeMap::new() };
        let mut nodes = vec![node()];
        for (side, stacks) in graph.sides.iter().enumerate() {
            for (frames, count) in stacks.iter() {
                let mut at = 0;
                for frame in frames.take(ROWS_MAX) {
                    let next = nodes.len();
                    at = *nodes[at].callees.entry(frame).or_insert(next);
                    if at == next {
                        nodes.push(node());
                    }
                    let counted = &mut nodes[at].counts[side];
                    *counted = counted.saturating_add(count);
                }
            }
        }
        Self { nodes, totals: graph.sides.iter().map(Stacks::total).collect() }
    }

    /// The mean of a node's shares, of the sides that counted anything.
    fn width(&self, node: usize) -> f64 {
        let sides = self.totals.iter().filter(|total| **total > 0).count().max(1);
        let shares = self.nodes[node].counts.iter().zip(&self.totals);
        shares.map(|(count, total)| share(*count, *total)).sum::<f64>() / sides as f64
    }

    /// Least width of the frames that are drawn, so that they are no more than `frames_max`. One that is drawn has all those
    /// above it drawn too, for these are no narrower.
    fn narrowest(&self, frames_max: usize) -> f64 {
        let mut widths: Vec<f64> = (1..self.nodes.len()).map(|node| self.width(node)).collect();
        widths.sort_by(|a, b| b.total_cmp(a));
        // Among several that are as wide, none is drawn rather than too many.
        let beyond = widths.get(frames_max).copied().unwrap_or(0.0);
        SHARE_MIN.max(beyond * (1.0 + 1e-9))
    }
}

/// Part of the whole, 0 where there is no whole.
pub(super) fn share(count: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { count as f64 / total as f64 }
}

/// The frames of a graph from the top on, at most so many, the widest ones.
pub(super) fn place(graph: &Graph, frames_max: usize) -> Vec<Placed<'_>> {
    let tree = FrameTree::of(graph);
    let narrowest = tree.narrowest(frames_max);
    let mut placed = Vec::new();
    // Without recursion: how deep a stack is, is not ours to say.
    let mut open: Vec<(usize, usize, f64)> = vec![(0, 0, 0.0)];
    while let Some((node, row, left)) = open.pop() {
        let mut left = left;
        for (&name, &callee) in &tree.nodes[node].callees {
            let width = tree.width(callee);
            if width >= narrowest {
                placed.push(Placed { name, row, left, width, counts: tree.nodes[callee].counts.clone() });
                open.push((callee, row + 1, left));
            }
            left += width;
        }
    }
    placed.sort_by(|a, b| a.row.cmp(&b.row).then(a.left.total_cmp(&b.left)));
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::stacks::FlameKind;
    use proptest::prelude::*;

    fn graph(sides: &[&str]) -> Graph {
        let sides = sides.iter().map(|text| Stacks::read(text).expect("stacks")).collect();
        Graph { title: String::new(), kind: FlameKind::Cpu, sides, held: Vec::new() }
    }

    fn widths(graph: &Graph, frames_max: usize) -> Vec<(String, usize, f64, f64)> {
        let short = |number: f64| (number * 1e4).round() / 1e4;
        let placed = place(graph, frames_max).into_iter();
        placed.map(|one| (one.name.to_owned(), one.row, short(one.left), short(one.width))).collect()
    }

    #[test]
    fn a_frame_is_as_wide_as_what_it_and_its_callees_counted() {
        let graph = graph(&["t;a;b 30\nt;a 10\nt;c 60\n"]);
        let expected = [("t", 0, 0.0, 1.0), ("a", 1, 0.0, 0.4), ("c", 1, 0.4, 0.6), ("b", 2, 0.0, 0.3)];
        let expected = expected.map(|(name, row, left, width)| (name.to_owned(), row, left, width));
        assert_eq!(widths(&graph, 100), expected);
    }

    #[test]
    fn sides_of_a_difference_count_by_their_own_totals() {
        // B has ten times the samples of A, and half of them elsewhere.
        let graph = graph(&["t;a 10\n", "t;a 50\nt;b 50\n"]);
        let expected = [("t", 0, 0.0, 1.0), ("a", 1, 0.0, 0.75), ("b", 1, 0.75, 0.25)];
        let expected = expected.map(|(name, row, left, width)| (name.to_owned(), row, left, width));
        assert_eq!(widths(&graph, 100), expected);
        assert_eq!(place(&graph, 100)[2].counts, [0, 50]);
    }

    #[test]
    fn a_side_without_samples_hides_nothing_of_the_other() {
        let graph = graph(&["", "t;a 3\nt;b 1\n"]);
        assert_eq!(widths(&graph, 100).last().map(|last| last.3), Some(0.25));
    }

    #[test]
    fn the_widest_frames_are_drawn_where_not_all_can_be() {
        let text: String = (0..50u32).map(|n| format!("t;f{n:02} {}\n", n + 1)).collect();
        let graph = graph(&[&text]);
        let placed = place(&graph, 11);
        assert_eq!(placed.len(), 11);
        assert_eq!(placed.iter().map(|one| one.name).filter(|name| *name >= "f40").count(), 10 + 1);
        assert!(place(&self::graph(&["t 1\n"]), 0).is_empty());
    }

    proptest! {
        #[test]
        fn frames_lie_within_the_one_above(text in "([a-d](;[a-d]){0,6} [0-9]{1,4}\n){0,40}") {
            let graph = graph(&[&text, "a;b 3\n"]);
            let placed = place(&graph, 60);
            prop_assert!(placed.len() <= 60);
            for one in placed.iter().filter(|one| one.row > 0) {
                let is_above = |other: &&Placed<'_>| other.row + 1 == one.row
                    && other.left <= one.left + 1e-9
                    && one.left + one.width <= other.left + other.width + 1e-9;
                prop_assert!(placed.iter().any(|other| is_above(&other)), "{one:?}");
            }
        }
    }
}
