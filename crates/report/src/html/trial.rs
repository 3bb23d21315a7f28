//! The charts of one trial: rate, latency, lag and processor time over time, latency by percentile.

use super::chart::{Band, Chart, Drawn, Horizontal, Line, Point, Vertical, figure, nines};
use kdyno_model::finding::Value;
use kdyno_model::plan::RoleKind;
use kdyno_model::sample::Phase;
use kdyno_model::series::{CpuSeries, ImportedSeries, QuantilePoint, SecondPoint, StreamSeries, TrialSeries};
use maud::{Markup, html};

/// Seconds without a row break a line: rows come once a second.
const SECOND_GAP: f64 = 1.5;
/// Imported readings further apart than so many of their usual steps are not joined: one is missing.
const STEPS_GAP: f64 = 1.5;
/// Readings further apart than this are not joined; they come about once a second.
const CPU_GAP: f64 = 5.0;

/// All charts of a trial.
pub fn charts(series: &TrialSeries) -> Markup {
    let id = |what: &str| format!("trial-{}-{what}", series.trial);
    html! {
        div class="charts" {
            @for (index, stream) in series.streams.iter().enumerate() {
                (figure(&rate(series, stream, id(&format!("rate-{index}")))))
                @if stream.role != RoleKind::Consume {
                    (figure(&latency(series, stream, &RESPONSE, id(&format!("latency-{index}")))))
                }
                @if !stream.end_to_end_percentiles.is_empty() {
                    (figure(&latency(series, stream, &END_TO_END, id(&format!("end-to-end-{index}")))))
                }
                @for chart in lag(series, stream, |what| id(&format!("{what}-{index}"))) {
                    (figure(&chart))
                }
            }
            (figure(&percentiles(series, &RESPONSE, id("percentiles"))))
            @if series.streams.iter().any(|stream| !stream.end_to_end_percentiles.is_empty()) {
                (figure(&percentiles(series, &END_TO_END, id("end-to-end-percentiles"))))
            }
            (figure(&cpu(series, id("cpu"))))
            @for (index, one) in series.imported.iter().enumerate() {
                (figure(&imported(series, one, id(&format!("imported-{index}")))))
            }
        }
    }
}

/// What is drawn of latencies.
struct Latency {
    /// In words.
    name: &'static str,
    /// Above the chart of percentiles.
    title: &'static str,
    y_label: &'static str,
    /// p50, p99 and the largest of a second.
    of_second: [fn(&SecondPoint) -> Value; 3],
    percentiles: fn(&StreamSeries) -> &[QuantilePoint],
}

const RESPONSE: Latency = Latency {
    name: "response time",
    title: "Response time by percentile, measure phase",
    y_label: "response time (log)",
    of_second: [
        |second| second.response_ns_p50,
        |second| second.response_ns_p99,
        |second| second.response_ns_max,
    ],
    percentiles: |stream| &stream.percentiles,
};

const END_TO_END: Latency = Latency {
    name: "end-to-end latency",
    title: "End-to-end latency by percentile, measure phase",
    y_label: "end-to-end latency (log)",
    of_second: [
        |second| second.end_to_end_ns_p50,
        |second| second.end_to_end_ns_p99,
        |second| second.end_to_end_ns_max,
    ],
    percentiles: |stream| &stream.end_to_end_percentiles,
};

fn bands(series: &TrialSeries) -> Vec<Band> {
    let band = |span: &kdyno_model::worker::PhaseSpan| Band {
        name: span.phase.into(),
        from: span.start_ns as f64 / 1e9,
        to: span.end_ns as f64 / 1e9,
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

fn counts(stream: &StreamSeries, name: &str, count: fn(&SecondPoint) -> u64) -> Line {
    // A count belongs to the whole second; its point stands in the middle.
    let point = |second: &SecondPoint| Point {
        x: f64::from(second.second) + 0.5,
        y: Some(count(second) as f64),
        at_least: false,
    };
    let points = stream.seconds.iter().map(point).collect();
    Line { name: name.to_owned(), drawn: Drawn::Joined, points, gap: Some(SECOND_GAP) }
}

fn rate(series: &TrialSeries, stream: &StreamSeries, id: String) -> Chart {
    let lines = match stream.role {
        RoleKind::Produce | RoleKind::EndToEnd => {
            let mut lines = vec![
                counts(stream, "acknowledged", |second| second.acknowledged),
                counts(stream, "offered", |second| second.offered),
            ];
            if stream.seconds.iter().any(|second| second.achieved != second.offered) {
                lines.push(counts(stream, "achieved (accepted by the client)", |second| second.achieved));
            }
            if stream.seconds.iter().any(|second| second.failed > 0) {
                lines.push(counts(stream, "failed", |second| second.failed));
            }
            lines
        }
        RoleKind::Consume => vec![counts(stream, "handed over", |second| second.fetched)],
    };
    Chart {
        id,
        title: format!("{}: rate over time", stream.name),
        x_label: "seconds from the start of the load",
        y_label: "records per second",
        x: Horizontal::Seconds,
        y: Vertical::FromZero,
        lines,
        bands: bands(series),
    }
}

/// A value, if there is one, and whether it is at least that.
fn known(value: Value) -> (Option<f64>, bool) {
    match value {
        Value::Is(value) => (Some(value), false),
        Value::AtLeast(value) => (Some(value), true),
        Value::None => (None, false),
    }
}

fn bounded(x: f64, value: Value) -> Point {
    let (y, at_least) = known(value);
    // A logarithmic axis has no place for zero.
    Point { x, y: y.filter(|ns| *ns > 0.0), at_least }
}

/// A consumer's lag in time and in records, where it is known.
fn lag(series: &TrialSeries, stream: &StreamSeries, id: impl Fn(&str) -> String) -> Vec<Chart> {
    let line = |value: fn(&SecondPoint) -> Value, unit: f64| {
        let point = |second: &SecondPoint| {
            let (y, at_least) = known(value(second));
            // A state at the second's end.
            Point { x: f64::from(second.second) + 1.0, y: y.map(|y| y / unit), at_least }
        };
        let points: Vec<Point> = stream.seconds.iter().map(point).collect();
        Line { name: stream.name.clone(), drawn: Drawn::Joined, points, gap: Some(SECOND_GAP) }
    };
    let chart = |what: &str, in_what: &str, y_label: &'static str, line: Line| Chart {
        id: id(what),
        title: format!("{}: lag in {in_what} over time", stream.name),
        x_label: "seconds from the start of the load",
        y_label,
        x: Horizontal::Seconds,
        y: Vertical::FromZero,
        lines: vec![line],
        bands: bands(series),
    };
    let charts = [
        chart("lag", "time", "lag in seconds", line(|second| second.lag_ns, 1e9)),
        chart(
            "lag-records",
            "records",
            "records to the end of the log",
            line(|second| second.lag_records, 1.0),
        ),
    ];
    let is_known =
        |chart: &Chart| chart.lines.iter().any(|line| line.points.iter().any(|point| point.y.is_some()));
    charts.into_iter().filter(is_known).collect()
}

fn latency(series: &TrialSeries, stream: &StreamSeries, of: &Latency, id: String) -> Chart {
    let line = |(name, value): (&str, fn(&SecondPoint) -> Value)| {
        let point = |second: &SecondPoint| bounded(f64::from(second.second) + 0.5, value(second));
        let points = stream.seconds.iter().map(point).collect();
        Line { name: name.to_owned(), drawn: Drawn::Joined, points, gap: Some(SECOND_GAP) }
    };
    Chart {
        id,
        title: format!("{}: {} over time", stream.name, of.name),
        x_label: "second in which the record was due",
        y_label: of.y_label,
        x: Horizontal::Seconds,
        y: Vertical::LogNs,
        lines: ["p50", "p99", "max"].into_iter().zip(of.of_second).map(line).collect(),
        bands: bands(series),
    }
}

fn percentiles(series: &TrialSeries, of: &Latency, id: String) -> Chart {
    let line = |stream: &StreamSeries| Line {
        name: stream.name.clone(),
        drawn: Drawn::Joined,
        points: (of.percentiles)(stream)
            .iter()
            .filter_map(|point| Some(bounded(nines(point.quantile)?, point.ns)))
            .collect(),
        gap: None,
    };
    Chart {
        id,
        title: of.title.to_owned(),
        x_label: "percentile of the records",
        y_label: of.y_label,
        x: Horizontal::Nines,
        y: Vertical::LogNs,
        lines: series
            .streams
            .iter()
            .filter(|stream| !(of.percentiles)(stream).is_empty())
            .map(line)
            .collect(),
        bands: Vec::new(),
    }
}

/// What somebody else measured. A line is broken where readings are missing.
fn imported(series: &TrialSeries, one: &ImportedSeries, id: String) -> Chart {
    let points =
        one.points.iter().map(|point| Point { x: point.at_s, y: Some(point.value), at_least: false });
    let mut steps: Vec<f64> = one.points.windows(2).map(|pair| pair[1].at_s - pair[0].at_s).collect();
    steps.sort_by(f64::total_cmp);
    let step = steps.get(steps.len() / 2).copied();
    let line = Line {
        name: one.name.clone(),
        drawn: Drawn::Joined,
        points: points.collect(),
        gap: step.map(|step| step * STEPS_GAP),
    };
    Chart {
        id,
        title: format!("{} of {}, not measured by kdyno", one.name, one.subject),
        x_label: "seconds from the start of the load",
        y_label: one.unit.described(),
        x: Horizontal::Seconds,
        y: Vertical::FromZero,
        lines: vec![line],
        bands: bands(series),
    }
}

fn cpu(series: &TrialSeries, id: String) -> Chart {
    let line = |cpu: &CpuSeries| Line {
        name: cpu.subject.to_string(),
        drawn: Drawn::Joined,
        points: cpu
            .points
            .iter()
            .map(|point| Point { x: point.at_s, y: Some(point.percent), at_least: false })
            .collect(),
        gap: Some(CPU_GAP),
    };
    Chart {
        id,
        title: "Processor time".to_owned(),
        x_label: "seconds from the start of the load",
        y_label: "% of one core",
        x: Horizontal::Seconds,
        y: Vertical::FromZero,
        lines: series.cpu.iter().map(line).collect(),
        bands: bands(series),
    }
}
