//! Lines of charts from the course of a trial.

use super::chart::{Band, ChartLine, ChartPoint, LineStyle, Panel, Vertical};
use kdyno_model::finding::Value;
use kdyno_model::metric::Unit;
use kdyno_model::plan::RoleKind;
use kdyno_model::sample::Phase;
use kdyno_model::series::{CpuSeries, QuantilePoint, ResourceSeries, SecondPoint, StreamSeries, TrialSeries};
use kdyno_model::worker::PhaseSpan;

/// Seconds without a row break a line: rows come once a second.
const SECOND_GAP: f64 = 1.5;
/// Readings further apart than so many of their usual steps are not joined: one is missing.
const STEPS_GAP: f64 = 1.5;
/// Readings of processes further apart than this are not joined; they come about once a second.
const CPU_GAP: f64 = 5.0;
/// Heights of plots, px.
pub const TALL: f64 = 120.0;
pub const LOW: f64 = 80.0;
pub const SMALL: f64 = 60.0;

const BYTES_PER_MIB: f64 = 1_048_576.0;
const NS_PER_S: f64 = 1e9;

/// The label of an axis of time.
pub const TIME_LABEL: &str = "seconds from the start of the load";

/// What is drawn of latencies.
pub struct Latency {
    /// In words.
    pub name: &'static str,
    /// p50, p99 and the largest of a second.
    pub of_second: [fn(&SecondPoint) -> Value; 3],
    /// The curve by percentile.
    pub percentiles: fn(&StreamSeries) -> &[QuantilePoint],
}

/// From the scheduled send time to the outcome.
pub const RESPONSE: Latency = Latency {
    name: "response time",
    of_second: [
        |second| second.response_ns_p50,
        |second| second.response_ns_p99,
        |second| second.response_ns_max,
    ],
    percentiles: |stream| &stream.percentiles,
};

/// From the scheduled send time into the application's hands.
pub const END_TO_END: Latency = Latency {
    name: "end-to-end latency",
    of_second: [
        |second| second.end_to_end_ns_p50,
        |second| second.end_to_end_ns_p99,
        |second| second.end_to_end_ns_max,
    ],
    percentiles: |stream| &stream.end_to_end_percentiles,
};

/// Names of the values of a second.
pub const OF_SECOND: [&str; 3] = ["p50", "p99", "max"];

/// The latencies that a stream has.
pub fn latencies(stream: &StreamSeries) -> Vec<&'static Latency> {
    let all = [
        (&RESPONSE, stream.role != RoleKind::Consume),
        (&END_TO_END, !stream.end_to_end_percentiles.is_empty()),
    ];
    all.into_iter().filter(|(_, has)| *has).map(|(latency, _)| latency).collect()
}

/// The phases of a trial behind its charts.
pub fn bands(series: &TrialSeries) -> Vec<Band> {
    let band = |span: &PhaseSpan| Band {
        name: if span.phase == Phase::Warmup { "warm-up".to_owned() } else { span.phase.to_string() },
        from: span.start_ns as f64 / NS_PER_S,
        to: span.end_ns as f64 / NS_PER_S,
        shaded: span.phase != Phase::Measure,
    };
    // The drain is a limit, not a length: it is drawn as far as there are points.
    let last = series.streams.iter().filter_map(|s| s.seconds.last()).map(|p| f64::from(p.second) + 1.0);
    let end = last.fold(0.0, f64::max);
    let mut bands: Vec<Band> = series.phases.iter().map(band).collect();
    for band in &mut bands {
        band.to = band.to.min(end.max(band.from));
    }
    bands.retain(|band| band.to > band.from);
    bands
}

/// A count of each second.
pub fn counts(stream: &StreamSeries, name: &str, look: usize, count: fn(&SecondPoint) -> u64) -> ChartLine {
    // A count belongs to the whole second; its point is in the middle.
    let point = |second: &SecondPoint| ChartPoint {
        x: f64::from(second.second) + 0.5,
        y: Some(count(second) as f64),
        at_least: false,
    };
    joined(name, look, stream.seconds.iter().map(point).collect(), Some(SECOND_GAP))
}

/// A latency of the records due in each second.
pub fn latency(
    stream: &StreamSeries,
    name: &str,
    look: usize,
    value: fn(&SecondPoint) -> Value,
) -> ChartLine {
    let point = |second: &SecondPoint| above_zero(f64::from(second.second) + 0.5, value(second));
    joined(name, look, stream.seconds.iter().map(point).collect(), Some(SECOND_GAP))
}

/// A state at the end of each second, in units of `unit`.
pub fn states(
    stream: &StreamSeries,
    name: &str,
    value: impl Fn(&SecondPoint) -> Value,
    unit: f64,
) -> ChartLine {
    let point = |second: &SecondPoint| {
        let (y, at_least) = known(value(second));
        ChartPoint { x: f64::from(second.second) + 1.0, y: y.map(|y| y / unit), at_least }
    };
    joined(name, 0, stream.seconds.iter().map(point).collect(), Some(SECOND_GAP))
}

/// The panel of a stream's rate.
pub fn rate(stream: &StreamSeries) -> Panel {
    let lines = match stream.role {
        RoleKind::Produce | RoleKind::EndToEnd => {
            let mut lines = vec![
                counts(stream, "acknowledged", 0, |second| second.acknowledged),
                counts(stream, "offered", 1, |second| second.offered),
            ];
            if stream.seconds.iter().any(|second| second.achieved != second.offered) {
                lines.push(counts(stream, "achieved (accepted by the client)", 2, |second| second.achieved));
            }
            if stream.seconds.iter().any(|second| second.failed > 0) {
                lines.push(counts(stream, "failed", 3, |second| second.failed));
            }
            lines
        }
        RoleKind::Consume => vec![counts(stream, "consumed", 0, |second| second.fetched)],
    };
    panel(format!("{}: rate", stream.name), "records per second", Vertical::FromZero, TALL, lines)
}

/// The panel of a latency of a stream.
pub fn latency_panel(stream: &StreamSeries, of: &Latency) -> Panel {
    let lines = OF_SECOND.into_iter().zip(of.of_second).enumerate();
    let lines = lines.map(|(look, (name, value))| latency(stream, name, look, value)).collect();
    let title = format!("{}: {} of the records due in each second", stream.name, of.name);
    panel(title, "time (log)", Vertical::LogNs, TALL, lines)
}

/// Records that wait: those without an outcome, and a consumer's lag in records and in time.
pub fn waiting(stream: &StreamSeries) -> Vec<Panel> {
    let open = |second: &SecondPoint| second.open_records.map(|open| open as f64).into();
    let one = |title: String, unit, line| panel(title, unit, Vertical::FromZero, LOW, vec![line]);
    let name = &stream.name;
    vec![
        one(
            format!("{name}: backlog, records that are due and have no outcome"),
            "records",
            states(stream, "without an outcome", open, 1.0),
        ),
        one(
            format!("{name}: lag time"),
            "seconds",
            states(stream, "lag time", |second| second.lag_ns, NS_PER_S),
        ),
        one(
            format!("{name}: lag, records to the end of the log"),
            "records",
            states(stream, "lag", |second| second.lag_records, 1.0),
        ),
    ]
}

/// Whether a line is of anything but nothing.
pub fn is_above_zero(line: &ChartLine) -> bool {
    line.points.iter().any(|point| point.y.is_some_and(|y| y != 0.0))
}

/// CPU time of a process, user and system together.
pub fn cpu(cpu: &CpuSeries, name: &str, look: usize) -> ChartLine {
    let point = |(at_s, percent)| ChartPoint { x: at_s, y: Some(percent), at_least: false };
    let points = cpu.points.iter().map(|one| point((one.at_s, one.percent)));
    joined(name, look, points.collect(), Some(CPU_GAP))
}

/// A resource of a process, in the unit of [`unit_of`].
pub fn resource(of: &ResourceSeries, name: &str, look: usize) -> ChartLine {
    let scale = if of.resource.unit() == Unit::Bytes { BYTES_PER_MIB } else { 1.0 };
    let point = |(at_s, value): (f64, f64)| ChartPoint { x: at_s, y: Some(value / scale), at_least: false };
    let points: Vec<ChartPoint> = of.points.iter().map(|one| point((one.at_s, one.value))).collect();
    let gap = usual_step(of.points.iter().map(|one| one.at_s)).map(|step| (step * STEPS_GAP).max(CPU_GAP));
    joined(name, look, points, gap)
}

/// The usual distance of two readings: three of four are no longer, for readings at the ends of phases come between those that
/// are due.
pub fn usual_step(at_s: impl Iterator<Item = f64>) -> Option<f64> {
    let at_s: Vec<f64> = at_s.collect();
    let mut steps: Vec<f64> = at_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() * 3 / 4).copied()
}

/// Points that are joined, but for gaps.
pub fn joined(name: &str, look: usize, points: Vec<ChartPoint>, gap: Option<f64>) -> ChartLine {
    ChartLine { name: name.to_owned(), look, drawn: LineStyle::Joined, points, gap }
}

/// A panel with an axis of its own.
pub fn panel(title: String, unit: &'static str, y: Vertical, height: f64, lines: Vec<ChartLine>) -> Panel {
    Panel { title, unit, y, holds: Vec::new(), limit: None, height, lines }
}

/// A value, if there is one, and whether it is at least that.
pub fn known(value: Value) -> (Option<f64>, bool) {
    match value {
        Value::Is(value) => (Some(value), false),
        Value::AtLeast(value) => (Some(value), true),
        Value::None => (None, false),
    }
}

/// A point on a logarithmic axis, which has no place for zero.
pub fn above_zero(x: f64, value: Value) -> ChartPoint {
    let (y, at_least) = known(value);
    ChartPoint { x, y: y.filter(|ns| *ns > 0.0), at_least }
}
