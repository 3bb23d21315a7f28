//! What a topology is made of.

/// Processes of a frame that are named one by one.
const NODES_MAX: usize = 24;

/// A process, or a few that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyNode {
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub lines: Vec<String>,
}

/// Processes of one tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What they are.
    pub title: String,
    /// At least one.
    pub nodes: Vec<TopologyNode>,
}

/// What is side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// How the tier above it reaches this one; `None`: nothing is known to.
    pub link: Option<String>,
    /// At least one.
    pub frames: Vec<Frame>,
}

impl TopologyNode {
    /// Name and what is said of it in one line.
    pub fn describe(&self) -> String {
        if self.lines.is_empty() {
            self.name.clone()
        } else {
            format!("{}: {}", self.name, self.lines.join(", "))
        }
    }
}

/// A frame, unless there is nothing in it.
pub(crate) fn frame(title: String, nodes: Vec<TopologyNode>) -> Option<Frame> {
    (!nodes.is_empty()).then_some(Frame { title, nodes })
}

/// The first ones, and how many more there are.
pub(crate) fn shown(nodes: impl Iterator<Item = TopologyNode>) -> Vec<TopologyNode> {
    let mut all: Vec<TopologyNode> = nodes.collect();
    let more = all.len().saturating_sub(NODES_MAX);
    if more > 0 {
        all.truncate(NODES_MAX);
        all.push(TopologyNode { name: format!("and {more} more"), lines: Vec::new() });
    }
    all
}
