//! A line of the table of accuracy, and how two figures are compared.

/// Marks a difference that must not be.
pub const OFF: &str = "✗";

/// One line of the table.
#[derive(Debug)]
pub struct AccuracyRow {
    /// The known truth that is tested.
    pub test: String,
    /// What is compared.
    pub figure: String,
    /// What is true.
    pub truth: String,
    /// What kdyno printed.
    pub kdyno: String,
    /// The difference, in words.
    pub says: String,
}

impl AccuracyRow {
    /// A row with its texts.
    pub fn new(test: &str, figure: &str, truth: String, kdyno: String, says: String) -> AccuracyRow {
        AccuracyRow { test: test.to_owned(), figure: figure.to_owned(), truth, kdyno, says }
    }
}

/// One figure as a multiple of another.
pub fn times(one: f64, other: f64) -> String {
    format!("{:.2} ×", one / other)
}

/// One figure's distance from another, in percent of the other.
pub fn percent(one: f64, other: f64) -> String {
    format!("{:+.1} %", (one / other - 1.0) * 100.0)
}
