//! One trial over time: everything on one axis of time, latencies by percentile, heat maps, resources of its processes.

use super::chart::{Chart, ChartFlag, ChartLine, Detail, Horizontal, Panel, Vertical, nines};
use super::courses::{self, LOW, Latency, RESPONSE, TALL, TIME_LABEL};
use super::figure::{figure, figure_with};
use super::table::{scroll, texts};
use super::{heat, resources};
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::event::{Event, Subject};
use kdyno_model::series::{ImportedSeries, Outcomes, QuantilePoint, Resource, StreamSeries, TrialSeries};
use maud::{Markup, html};

/// Load items that are drawn at most.
const STREAMS_MAX: usize = 12;
/// Events that are marked at most, those of one kind and second together.
const FLAGS_MAX: usize = 24;
/// Letters of the detail of an event next to its mark.
const DETAIL_MAX: usize = 200;

/// All pictures of a trial.
pub fn charts(input: &ReportInput<'_>, series: &TrialSeries, detail: Detail) -> Markup {
    let id = |what: &str| format!("trial-{}-{what}", series.trial);
    let shown = &series.streams[..series.streams.len().min(STREAMS_MAX)];
    let marked = marked(input, series);
    html! {
        (figure_with(&linked(series, shown, &marked, detail, id("time")), &flag_list(&marked)))
        @if shown.len() < series.streams.len() {
            p class="note" { "The first " (shown.len()) " of " (series.streams.len()) " load items are drawn; the exports have all." }
        }
        (figure_with(&percentiles(shown, detail, id("percentiles")), &outcomes(shown)))
        @for (index, stream) in shown.iter().enumerate() {
            (heat::figure(series, stream, &stream.heat, RESPONSE.name, &id(&format!("heat-{index}")), detail))
            (heat::figure(series, stream, &stream.end_to_end_heat, courses::END_TO_END.name, &id(&format!("heat-e2e-{index}")), detail))
        }
        (resources::of_trial(series, detail, &id("resources")))
        @for (index, one) in series.imported.iter().enumerate() {
            (figure(&imported(input, series, one, id(&format!("imported-{index}")), detail)))
        }
    }
}

/// Rate, latencies, what waits, and resources, one above the other.
fn linked(
    series: &TrialSeries,
    shown: &[StreamSeries],
    marked: &[Marked<'_>],
    detail: Detail,
    id: String,
) -> Chart {
    let mut panels: Vec<Panel> = Vec::new();
    for stream in shown {
        panels.push(courses::rate(stream));
        panels.extend(courses::latencies(stream).into_iter().map(|of| courses::latency_panel(stream, of)));
        panels.extend(courses::waiting(stream));
    }
    panels.extend(used(series));
    let flag =
        |(number, one): (usize, &Marked<'_>)| ChartFlag { name: (number + 1).to_string(), at: one.at_s };
    Chart {
        id,
        title: "Rate, latency, what waits, and CPUs, on one axis of time".to_owned(),
        x: Horizontal::Seconds,
        x_label: TIME_LABEL,
        panels,
        bands: courses::bands(series),
        flags: marked.iter().enumerate().map(flag).collect(),
        detail,
    }
}

/// What brokers, workers and the host used.
fn used(series: &TrialSeries) -> Vec<Panel> {
    let cpu = series.cpu.iter().enumerate();
    let cpu = cpu.map(|(look, cpu)| courses::cpu(cpu, &cpu.subject.to_string(), look)).collect();
    let of = |wanted: Resource| -> Vec<ChartLine> {
        let is_shown = |subject: &Subject| subject.is_broker() || *subject == Subject::Host;
        let all = series.resources.iter().filter(|one| one.resource == wanted && is_shown(&one.subject));
        let lines = all.enumerate().map(|(look, one)| courses::resource(one, &one.subject.to_string(), look));
        let lines: Vec<ChartLine> = lines.collect();
        if lines.iter().any(courses::is_above_zero) { lines } else { Vec::new() }
    };
    let low =
        |title: &str, wanted| courses::panel(title.to_owned(), "MiB/s", Vertical::FromZero, LOW, of(wanted));
    vec![
        courses::panel(
            "CPU time, user and system".to_owned(),
            "% of one core",
            Vertical::FromZero,
            TALL,
            cpu,
        ),
        low("Written to drives", Resource::DiskWrite),
        low("Record batches produced to brokers, as they report", Resource::BytesIn),
        low("Record batches fetched from brokers, as they report", Resource::BytesOut),
    ]
}

/// Events of one kind and second.
struct Marked<'a> {
    at_s: f64,
    first: &'a Event,
    more: usize,
}

fn marked<'a>(input: &ReportInput<'a>, series: &TrialSeries) -> Vec<Marked<'a>> {
    let end = courses::bands(series).iter().map(|band| band.to).fold(0.0, f64::max);
    let mut found: Vec<Marked<'a>> = Vec::new();
    for (trial, event) in input.events {
        let Some(at_ns) = event.at_ns.filter(|_| *trial == Some(series.trial)) else { continue };
        let at_s = at_ns as f64 / 1e9;
        if !(0.0..=end).contains(&at_s) {
            continue;
        }
        let alike = |one: &&mut Marked<'_>| one.first.kind == event.kind && one.at_s.floor() == at_s.floor();
        match found.iter_mut().find(alike) {
            Some(one) => one.more += 1,
            None => found.push(Marked { at_s, first: event, more: 0 }),
        }
    }
    found.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    found.truncate(FLAGS_MAX);
    found
}

fn flag_list(marked: &[Marked<'_>]) -> Markup {
    html! {
        @if !marked.is_empty() {
            ol class="flags" aria-label="Events marked in the figure" {
                @for one in marked {
                    li {
                        (format!("{:.1} s: ", one.at_s)) b { (one.first.kind) } " " (one.first.subject) ": " (shortened(&one.first.detail))
                        @if one.more > 0 { " (and " (one.more) " more of this kind in that second)" }
                    }
                }
            }
        }
    }
}

fn shortened(detail: &str) -> String {
    if detail.chars().count() <= DETAIL_MAX {
        return detail.to_owned();
    }
    detail.chars().take(DETAIL_MAX).chain(['…']).collect()
}

/// Latency by percentile: response and service of each item that produces, end to end of each that consumes.
fn percentiles(shown: &[StreamSeries], detail: Detail, id: String) -> Chart {
    let of_latency = |stream: &StreamSeries, of: &Latency| {
        (format!("{}: {}", stream.name, of.name), (of.percentiles)(stream).to_vec())
    };
    let mut curves: Vec<(String, Vec<QuantilePoint>)> = Vec::new();
    for stream in shown {
        curves.push(of_latency(stream, &RESPONSE));
        curves.push((format!("{}: service time", stream.name), stream.service_percentiles.clone()));
        curves.push(of_latency(stream, &courses::END_TO_END));
    }
    curves.retain(|(_, points)| !points.is_empty());
    let lines = curves.iter().enumerate().map(|(look, (name, points))| curve(name, look, points)).collect();
    Chart {
        id,
        title: "Latency by percentile, measure phase".to_owned(),
        x: Horizontal::Nines,
        x_label: "percentile of the records, %",
        panels: vec![courses::panel(String::new(), "time (log)", Vertical::LogNs, 200.0, lines)],
        bands: Vec::new(),
        flags: Vec::new(),
        detail,
    }
}

/// A curve by percentile.
pub fn curve(name: &str, look: usize, points: &[QuantilePoint]) -> ChartLine {
    let points =
        points.iter().filter_map(|point| Some(courses::above_zero(nines(point.quantile)?, point.ns)));
    courses::joined(name, look, points.collect(), None)
}

/// How many records the curves are of.
fn outcomes(shown: &[StreamSeries]) -> Markup {
    let mut rows: Vec<(String, Outcomes)> = Vec::new();
    for stream in shown {
        if !stream.percentiles.is_empty() {
            rows.push((format!("{}: response and service", stream.name), stream.outcomes));
        }
        if !stream.end_to_end_percentiles.is_empty() {
            rows.push((format!("{}: end to end", stream.name), stream.end_to_end_outcomes));
        }
    }
    let cells = |(name, of): (String, Outcomes)| {
        let counts = [of.kept, of.failed, of.unseen].map(|number| units::count(number as f64));
        std::iter::once(name).chain(counts).map(Cell::from).collect()
    };
    let heads =
        [("curve", false), ("with a latency", true), ("failed", true), ("unresolved or censored", true)];
    let caption =
        "Records that the curves are of; those without a latency count as slower than every percentile";
    let table = Table::new(&heads, rows.into_iter().map(cells).collect());
    html! { @if !table.rows.is_empty() { (scroll("Records that the curves are of", &texts(&table, Some(caption)))) } }
}

/// What somebody else measured, kdyno's own users and jobs over HTTP, a broker's MBean, or a group's lag. A line is broken where
/// readings are missing.
fn imported(
    input: &ReportInput<'_>,
    series: &TrialSeries,
    one: &ImportedSeries,
    id: String,
    detail: Detail,
) -> Chart {
    let by = if is_own(input, &one.subject) { "" } else { ", not measured by kdyno" };
    let point = |at_s, value| super::chart::ChartPoint { x: at_s, y: Some(value), at_least: false };
    let points = one.points.iter().map(|read| point(read.at_s, read.value)).collect();
    let gap = courses::usual_step(one.points.iter().map(|read| read.at_s)).map(|step| step * 1.5);
    let line = courses::joined(&one.name, 0, points, gap);
    Chart {
        id,
        title: format!("{} of {}{by}", one.name, one.subject),
        x: Horizontal::Seconds,
        x_label: TIME_LABEL,
        panels: vec![courses::panel(
            String::new(),
            one.unit.described(),
            Vertical::FromZero,
            TALL,
            vec![line],
        )],
        bands: courses::bands(series),
        flags: Vec::new(),
        detail,
    }
}

/// Whether kdyno read it: it is a broker's or a group's, or of a load item of kdyno's own over HTTP or a step of one.
fn is_own(input: &ReportInput<'_>, subject: &Subject) -> bool {
    match subject {
        Subject::Broker(_) | Subject::Group(_) => true,
        Subject::Item(name) => input.commands_of(name).any(|command| command.http.is_some()),
        _ => false,
    }
}
