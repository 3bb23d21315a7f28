//! What every rule reads and what it answers with.

use std::fmt;

/// One tracked text file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Relative to the workspace root, with forward slashes.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// File, relative to the workspace root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do instead.
    pub instead: String,
}

impl Problem {
    /// A problem in a line of a file.
    pub fn new(file: &SourceFile, line: usize, what: String, instead: &str) -> Problem {
        Problem { path: file.path.clone(), line, what, instead: instead.to_owned() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.instead)
    }
}
