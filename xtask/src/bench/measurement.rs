//! What a benchmark measures of kdyno alone, so that two programs can be set side by side.

use super::setup::Setup;

/// One figure of one run.
pub struct BenchFigure {
    /// What it is, with its unit.
    pub name: &'static str,
    /// How large it was.
    pub value: f64,
    /// A rate: the more the better. All others are costs.
    pub is_rate: bool,
}

impl BenchFigure {
    /// Less of this is better.
    pub fn cost(name: &'static str, value: f64) -> BenchFigure {
        BenchFigure { name, value, is_rate: false }
    }

    /// More of this is better.
    pub fn rate(name: &'static str, value: f64) -> BenchFigure {
        BenchFigure { name, value, is_rate: true }
    }
}

type MeasureFn<'a> = Box<dyn Fn(&Setup) -> anyhow::Result<Vec<BenchFigure>> + 'a>;

/// A load that any program's worker can be given. What it is sent to is the same for all.
pub struct Measurement<'a> {
    /// What is measured.
    pub name: String,
    /// Runs the load once with the setup's program; always the same figures in the same order.
    pub run: MeasureFn<'a>,
}
