//! The designs of pairs, the metrics that they are compared by, and the table in which they are side by side.

use clap::ValueEnum;

use super::pairs::{CaseMetric, MetricPairs};
use crate::accuracy::table::{NOTHING, markdown};

/// How pairs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PairMaking {
    /// Both systems run and are conditioned once, several pairs on each start, one system loaded at a time
    Standing,
    /// One pair on each start; both systems run meanwhile, one of them idle
    Restart,
    /// Both systems under the same paced load at once
    Duet,
}

/// Pairs on one start of the clusters, where a start has several.
pub const PAIRS_PER_START: u32 = 2;

/// Metrics of the series, each with the case it is of and the sd of pairs that is aimed at.
pub const METRICS: [CaseMetric; 4] = [
    CaseMetric { case: 0, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    CaseMetric { case: 1, subject: "brokers", name: "cpu_us_per_record", sd_max: 0.02 },
    CaseMetric { case: 0, subject: "writers", name: "response.p50", sd_max: 0.05 },
    CaseMetric { case: 1, subject: "writers", name: "acked_per_s", sd_max: 0.05 },
];
/// How far the predicted half-width of an interval may lie from the printed one.
const PREDICTED_WITHIN: f64 = 0.25;

/// What a design showed of a metric.
pub struct DesignRow {
    /// The design.
    pub design: PairMaking,
    /// The metric, by its place in [`METRICS`].
    pub metric: usize,
    /// Its pairs.
    pub pairs: MetricPairs,
    /// Time of a pair with its part of the start, in minutes.
    pub minutes_per_pair: f64,
    /// What kdyno's own comparison printed: p, and half of the interval of ln(B ÷ A).
    pub printed: Option<(f64, f64)>,
}

impl PairMaking {
    /// In a table, and in the names of folders.
    pub fn name(self) -> &'static str {
        match self {
            PairMaking::Standing => "standing",
            PairMaking::Restart => "restart",
            PairMaking::Duet => "duet",
        }
    }
}

/// The designs side by side, ready for docs/benchmarks.md.
pub fn table(rows: &[DesignRow]) -> String {
    let heading = [
        "metric",
        "design",
        "pairs (starts)",
        "B ÷ A",
        "p",
        "sd of pairs",
        "aim",
        "between starts",
        "within a start",
        "second ÷ first",
        "half-width predicted",
        "printed",
        "min per pair",
        "variance × minutes, %² · min",
    ];
    let mut sorted: Vec<&DesignRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.metric);
    markdown(&heading, &sorted.into_iter().map(cells).collect::<Vec<_>>())
}

fn cells(row: &DesignRow) -> Vec<String> {
    let DesignRow { design, metric, pairs, minutes_per_pair, printed } = row;
    let metric = &METRICS[*metric];
    let shown = |value: f64, text: String| if value.is_finite() { text } else { NOTHING.to_owned() };
    let percent = |value: f64| shown(value, format!("{:.1} %", 100.0 * value));
    let missed = |is_missed: bool| if is_missed { " ✗" } else { "" };
    let (parts, (order, error)) = (pairs.parts(), pairs.second_over_first());
    let predicted = pairs.half_width_predicted();
    let is_off = predicted
        .zip(*printed)
        .is_some_and(|(predicted, (_, printed))| (predicted / printed - 1.0).abs() > PREDICTED_WITHIN);
    let nothing = || NOTHING.to_owned();
    let cost = pairs.variance_minutes(*minutes_per_pair);
    let load = if metric.case == 0 { "20k/s" } else { "max" };
    vec![
        format!("{}.{} at {load}", metric.subject, metric.name),
        design.name().to_owned(),
        format!("{} ({})", pairs.len(), pairs.starts()),
        format!("{:.3}", pairs.mean().exp()),
        printed.map_or_else(nothing, |(p, _)| format!("{p:.3}")),
        format!("{}{}", percent(pairs.sd()), missed(pairs.sd() > metric.sd_max)),
        percent(metric.sd_max),
        percent(parts.between),
        percent(parts.within),
        shown(order, format!("{:.3} ± {error:.3}", order.exp())),
        predicted.map_or_else(nothing, |half| format!("{}{}", percent(half), missed(is_off))),
        printed.map_or_else(nothing, |(_, half)| percent(half)),
        format!("{minutes_per_pair:.2}"),
        shown(cost, format!("{cost:.1}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::pairs::CompletePair;
    use super::*;

    #[test]
    fn aims_that_are_missed_are_marked() {
        let of = |start, log| CompletePair { start, log, is_b_second: start % 2 == 0 };
        let row = |scale: f64, printed| {
            let logs = [0.01, -0.01, 0.02, -0.02, 0.0, 0.0];
            let pairs = logs.iter().zip(1..).map(|(log, start)| of(start, log * scale)).collect();
            let pairs = MetricPairs::new(pairs, &METRICS[0]).expect("pairs");
            DesignRow { design: PairMaking::Restart, metric: 0, pairs, minutes_per_pair: 1.5, printed }
        };
        let reported = table(&[row(1.0, Some((0.5, 0.0149)))]);
        assert!(
            reported.contains("| restart | 6 (6) | 1.000 | 0.500 | 1.4 % | 2.0 % | 1.4 % | – |"),
            "{reported}"
        );
        assert!(!reported.contains('✗'), "{reported}");
        let reported = table(&[row(2.0, Some((0.5, 0.05)))]);
        assert!(reported.contains("| 2.8 % ✗ |") && reported.contains("| 3.0 % ✗ | 5.0 % |"), "{reported}");
    }
}
