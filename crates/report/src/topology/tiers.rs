//! What a topology is made of.

/// A process, or a few that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub lines: Vec<String>,
}

/// Processes that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What they are.
    pub title: String,
    /// At least one.
    pub nodes: Vec<Node>,
}

/// What stands side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// How the tier above it reaches this one; `None`: nothing is known to.
    pub link: Option<String>,
    /// At least one.
    pub frames: Vec<Frame>,
}

impl Node {
    /// Name and what is said of it in one line.
    pub fn told(&self) -> String {
        if self.lines.is_empty() {
            self.name.clone()
        } else {
            format!("{}: {}", self.name, self.lines.join(", "))
        }
    }
}
