//! How the metric of a condition grows with the load, with the limit that it must keep: as text here, as a picture in
//! the page.

use super::words;
use crate::table::{Cell, Column, Holds, Table};
use crate::units;
use kdyno_model::conclusion::{SearchOutcome, SearchResult};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::metric::Unit;
use kdyno_model::plan::{FindPlan, LimitSide};
use std::collections::BTreeSet;

/// Columns of the bars of the text form.
const BAR: usize = 36;

/// The trials of a search by their load.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The metric, e.g. `writers.response.p99`.
    pub of: String,
    /// Its unit.
    pub unit: Unit,
    /// The limit that it must keep, in that unit.
    pub limit: f64,
    /// Which side of the limit is met.
    pub must_be: LimitSide,
    /// One point per trial, the lowest load first.
    pub points: Vec<CurvePoint>,
    /// The load that the search ended with, records/s, and what it is.
    pub answer: Option<(f64, &'static str)>,
    /// Interval of the load at which the conditions just hold by the fitted line, records/s.
    pub estimate: Option<(f64, f64)>,
}

/// One trial.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// Records/s.
    pub load_per_s: f64,
    /// The metric.
    pub value: Value,
    /// Its marks.
    pub marks: BTreeSet<Mark>,
    /// Whether all conditions held; `None`: inconclusive.
    pub passed: Option<bool>,
    /// What the trial was for.
    pub stage: &'static str,
}

impl Curve {
    /// The curve of the condition that binds, else of the first; `None` without a condition or a trial.
    pub fn of(result: &SearchResult, plan: &FindPlan) -> Option<Self> {
        let index = result.binds.unwrap_or_default() as usize;
        let condition = plan.conditions.get(index)?;
        let mut points: Vec<CurvePoint> = result
            .points
            .iter()
            .map(|point| CurvePoint {
                load_per_s: point.load_per_s,
                value: point.values.get(index).copied().unwrap_or(Value::None),
                marks: point.marks.get(index).cloned().unwrap_or_default(),
                passed: point.passed,
                stage: point.stage.into(),
            })
            .collect();
        points.sort_by(|a, b| a.load_per_s.total_cmp(&b.load_per_s));
        (!points.is_empty()).then(|| Self {
            of: condition.of.to_string(),
            unit: units::of_metric(&condition.of.metric),
            limit: condition.limit,
            must_be: condition.must_be,
            points,
            answer: answer(result.outcome),
            estimate: result.estimate.as_ref().and_then(words::bounds).map(|(low, high, _)| (low, high)),
        })
    }

    /// The points as a table.
    pub fn table(&self) -> Table {
        let columns = [("load", true), (self.of.as_str(), true), ("conditions", false), ("stage", false)];
        let row = |point: &CurvePoint| {
            vec![
                units::number(point.load_per_s, Unit::RecordsPerS).into(),
                Cell::figure(&point.marks, units::value(point.value, self.unit)),
                passed(point.passed).into(),
                point.stage.into(),
            ]
        };
        Table::new(&columns, self.points.iter().map(row).collect())
    }

    /// The table with a picture of signs: where each value lies on a logarithmic axis, with the limit as a line.
    pub fn with_bars(&self) -> Table {
        let axis = BarScale::of(self);
        let limit = units::number(self.limit, self.unit);
        let scale = if axis.logarithmic { "log axis" } else { "from 0" };
        let is_at_least = |point: &CurvePoint| matches!(point.value, Value::AtLeast(_));
        let at_least = if self.points.iter().any(is_at_least) { ", ▶ at least" } else { "" };
        let head = format!("{scale}, │ {limit}{at_least}");
        let mut table = self.table();
        table.columns.insert(2, Column::new(&[&head], Holds::Words));
        for (row, point) in table.rows.iter_mut().zip(&self.points) {
            row.insert(2, axis.bar(point.value).into());
        }
        let columns = table.columns.len();
        table.with_names(columns)
    }
}

/// The load of an outcome that is drawn.
fn answer(outcome: SearchOutcome) -> Option<(f64, &'static str)> {
    match outcome {
        SearchOutcome::Confirmed { load_per_s } => Some((load_per_s, "confirmed")),
        SearchOutcome::NotConfirmed { highest_passed_per_s } => {
            Some((highest_passed_per_s, "held, not confirmed"))
        }
        SearchOutcome::EveryLoadPasses { highest_per_s } => Some((highest_per_s, "highest allowed")),
        SearchOutcome::GeneratorLimit { .. }
        | SearchOutcome::NoFigures { .. }
        | SearchOutcome::EveryLoadFails { .. }
        | SearchOutcome::Unfinished => None,
    }
}

fn passed(passed: Option<bool>) -> &'static str {
    match passed {
        Some(true) => "held",
        Some(false) => "failed",
        None => "inconclusive",
    }
}

/// Where the bars have numbers.
struct BarScale {
    low: f64,
    high: f64,
    limit: f64,
    logarithmic: bool,
}

impl BarScale {
    fn of(curve: &Curve) -> Self {
        let known = || curve.points.iter().filter_map(|point| number(point.value)).chain([curve.limit]);
        let logarithmic = curve.unit == Unit::Ns && known().all(|value| value > 0.0);
        let place = |value: f64| if logarithmic { value.ln() } else { value };
        let (low, high) = known()
            .map(place)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)));
        let low = if logarithmic { low } else { low.min(0.0) };
        Self { low, high, limit: curve.limit, logarithmic }
    }

    fn column(&self, value: f64) -> usize {
        let place = if self.logarithmic { value.ln() } else { value };
        let share = (place - self.low) / (self.high - self.low);
        if share.is_finite() {
            (share * (BAR - 1) as f64).round().clamp(0.0, (BAR - 1) as f64) as usize
        } else {
            0
        }
    }

    fn bar(&self, value: Value) -> String {
        let limit = self.column(self.limit);
        let end = number(value).map(|value| self.column(value));
        let tip = if matches!(value, Value::AtLeast(_)) { '▶' } else { '●' };
        let cell = |column: usize| match end {
            Some(end) if column == end => tip,
            _ if column == limit => '│',
            Some(end) if column < end => '─',
            _ => ' ',
        };
        (0..BAR).map(cell).collect::<String>().trim_end().to_owned()
    }
}

fn number(value: Value) -> Option<f64> {
    value.least().filter(|number| number.is_finite())
}
