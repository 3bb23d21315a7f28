//! One side of what is compared: figures, what is done with them, and the unit of the outcome.

use crate::input::TextPosition;
use crate::units::{self, Dimension};
use crate::yaml::Scalar;
use kdyno_model::metric::{Address, Unit};

/// One side of a comparison of figures.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A number, in the unit of what it is compared with or added to.
    Number(f64),
    /// A metric.
    Metric(MetricOf),
    /// Two sides and what is done with them.
    Binary(Operator, Box<Expr>, Box<Expr>),
}

/// A metric of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricOf {
    /// The metric.
    pub of: Address,
    /// Its unit.
    pub unit: Unit,
    /// The params that select the case, with their values.
    pub case: Vec<(Scalar, Scalar)>,
    /// Its place.
    pub place: TextPosition,
}

/// What is done with two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its own name")]
pub enum Operator {
    Sum,
    Difference,
    Product,
    Quotient,
}

impl Expr {
    pub(super) fn has_metric(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Metric(_) => true,
            Self::Binary(_, left, right) => left.has_metric() || right.has_metric(),
        }
    }

    /// Whether each of its metrics selects its case.
    pub fn selects_all(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Metric(metric) => !metric.case.is_empty(),
            Self::Binary(_, left, right) => left.selects_all() && right.selects_all(),
        }
    }
}

/// What figures are of: how often each kind of unit is a factor. A ratio has none.
pub(super) type Units = [i8; 10];

/// The kinds of units, with their names for messages.
const KINDS: [&str; 10] = [
    "bytes",
    "a duration",
    "records/s",
    "MiB/s",
    "percent of one core",
    "CPU-µs per record",
    "a count",
    "cost per GB",
    "cost per million records",
    "MiB per minute",
];

pub(super) fn units_of(unit: Unit) -> Units {
    let mut units = [0; KINDS.len()];
    let kind = match unit {
        Unit::Bytes => 0,
        Unit::Ns => 1,
        Unit::RecordsPerS | Unit::RequestsPerS | Unit::TransactionsPerS => 2,
        Unit::MibPerS => 3,
        Unit::PercentOfCore => 4,
        Unit::CpuUsPerRecord => 5,
        Unit::Count => 6,
        Unit::CostPerGb => 7,
        Unit::CostPerMillion => 8,
        Unit::MibPerMin => 9,
        Unit::Ratio | Unit::Percent | Unit::YesNo => return units,
    };
    units[kind] = 1;
    units
}

/// Whether the units are those of one metric, and their kind.
pub(super) fn single(units: Units) -> Option<usize> {
    let at = units.iter().position(|power| *power != 0)?;
    (units[at] == 1 && units.iter().filter(|power| **power != 0).count() == 1).then_some(at)
}

pub(super) fn described(units: Units) -> String {
    match single(units) {
        Some(kind) => KINDS[kind].to_owned(),
        None if units == [0; KINDS.len()] => "a plain number".to_owned(),
        None => "a product of units".to_owned(),
    }
}

/// How a number was written: it may take the unit of what it meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NumberForm {
    Plain,
    Percent,
    Duration,
    Other,
}

pub(super) struct ExprSide {
    pub(super) expr: Expr,
    pub(super) units: Units,
    /// The unit of a number alone.
    pub(super) written: Option<NumberForm>,
}

impl ExprSide {
    /// A number alone in the unit of what it meets, where that is what its author meant.
    pub(super) fn fit(self, wanted: Units) -> Self {
        let (Expr::Number(number), Some(written)) = (&self.expr, self.written) else { return self };
        let factor = match (written, single(wanted)) {
            // Plain numbers count; these kinds have no unit that could be written.
            (NumberForm::Plain, Some(4..=6)) => 1.0,
            // `80%` of one core: the metric counts percent.
            (NumberForm::Percent, Some(4)) => 100.0,
            // CPU time is in microseconds, durations are in nanoseconds.
            (NumberForm::Duration, Some(5)) => 1e-3,
            _ => return self,
        };
        Self { expr: Expr::Number(number * factor), units: wanted, written: None }
    }
}

pub(super) fn folded(op: Operator, left: ExprSide, right: ExprSide) -> ExprSide {
    let power = |one: i8, other: i8| match op {
        Operator::Sum | Operator::Difference => one,
        Operator::Product => one.saturating_add(other),
        Operator::Quotient => one.saturating_sub(other),
    };
    let mut units = left.units;
    for (one, other) in units.iter_mut().zip(right.units) {
        *one = power(*one, other);
    }
    ExprSide { expr: Expr::Binary(op, Box::new(left.expr), Box::new(right.expr)), units, written: None }
}

/// A number with its unit, in the unit that metrics have.
pub(super) fn literal(word: &str) -> Option<ExprSide> {
    let made = |number: f64, unit: Unit, written: NumberForm| ExprSide {
        expr: Expr::Number(number),
        units: units_of(unit),
        written: Some(written),
    };
    if let Some(percent) = word.strip_suffix('%') {
        let quantity = units::parse(percent)?;
        let plain = quantity.dimension == Dimension::Plain;
        return plain.then(|| made(quantity.value / 100.0, Unit::Ratio, NumberForm::Percent));
    }
    if let Some(size) = word.strip_suffix("/s").and_then(units::parse)
        && size.dimension == Dimension::Bytes
    {
        return Some(made(size.value / f64::from(1 << 20), Unit::MibPerS, NumberForm::Other));
    }
    let quantity = units::parse(word)?;
    Some(match quantity.dimension {
        Dimension::Plain => made(quantity.value, Unit::Ratio, NumberForm::Plain),
        Dimension::Bytes => made(quantity.value, Unit::Bytes, NumberForm::Other),
        Dimension::Ns => made(quantity.value, Unit::Ns, NumberForm::Duration),
        Dimension::PerS => made(quantity.value, Unit::RecordsPerS, NumberForm::Other),
    })
}
