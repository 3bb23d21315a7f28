//! All cases in one chart: rate and latency over time, and latency by percentile.

use super::chart::{Chart, ChartLine, Detail, Horizontal, Panel, Vertical};
use super::courses::{self, Latency, RESPONSE, TALL, TIME_LABEL};
use super::figure::figure;
use super::groups::{self, TrialGroup};
use super::trial::curve;
use crate::input::ReportInput;
use kdyno_model::grouped::distinct;
use kdyno_model::plan::RoleKind;
use kdyno_model::series::{SecondPoint, StreamSeries, TrialSeries};
use maud::{Markup, html};

/// Trials that are overlaid at most, those that ran first.
const TRIALS_MAX: usize = 48;
/// Load items that have a chart of their own at most.
const STREAMS_MAX: usize = 8;

/// The overlays; nothing of fewer than two trials, without records, and of a search, whose curve shows more.
pub fn overlays(input: &ReportInput<'_>) -> Markup {
    let groups = groups::groups(input);
    let all: Vec<(usize, &TrialSeries)> =
        input.series.iter().filter_map(|one| Some((groups::of_trial(&groups, one.trial)?, one))).collect();
    if all.len() < 2 {
        return html! {};
    }
    let shown = &all[..all.len().min(TRIALS_MAX)];
    let detail = Detail { rows: 24, ..Detail::among(shown.len()) };
    let streams = shown.iter().flat_map(|(_, series)| &series.streams);
    let mut names = distinct(streams.map(|stream| stream.name.as_str()));
    if names.is_empty() {
        return html! {};
    }
    names.truncate(STREAMS_MAX);
    html! {
        section aria-labelledby="overlay" {
            h2 id="overlay" { "Cases overlaid" }
            p class="note" {
                "A line is a trial, its colour and dash those of its case. Shaded is what is not measured, of the first trial."
                @if shown.len() < all.len() { " The first " (shown.len()) " of " (all.len()) " trials." }
            }
            @for (number, name) in names.iter().enumerate() {
                (figure(&over_time(name, shown, &groups, detail, format!("overlay-{number}"))))
            }
            @for (number, name) in names.iter().enumerate() {
                @for of in [&RESPONSE, &courses::END_TO_END] {
                    (figure(&by_percentile(name, of, shown, &groups, detail, format!("overlay-{number}-{}", of.name.replace(' ', "-")))))
                }
            }
        }
    }
}

/// The lines of a load item of all trials.
fn lines(
    name: &str,
    shown: &[(usize, &TrialSeries)],
    groups: &[TrialGroup<'_>],
    line: impl Fn(&StreamSeries, &str, usize) -> ChartLine,
) -> Vec<ChartLine> {
    let of = |(group, series): &(usize, &TrialSeries)| {
        let stream = series.streams.iter().find(|stream| stream.name == name)?;
        let called = groups.get(*group).map(|one| one.name.as_str()).filter(|called| !called.is_empty());
        Some(line(stream, called.unwrap_or("all trials"), *group))
    };
    shown.iter().filter_map(of).collect()
}

fn over_time(
    name: &str,
    shown: &[(usize, &TrialSeries)],
    groups: &[TrialGroup<'_>],
    detail: Detail,
    id: String,
) -> Chart {
    let streams =
        || shown.iter().flat_map(|(_, series)| &series.streams).filter(|stream| stream.name == name);
    let is_consumer = streams().all(|stream| stream.role == RoleKind::Consume);
    let count: fn(&SecondPoint) -> u64 =
        if is_consumer { |second| second.fetched } else { |second| second.acknowledged };
    let rate =
        lines(name, shown, groups, |stream, called, look| courses::counts(stream, called, look, count));
    let what = if is_consumer { "consumed" } else { "acknowledged" };
    let mut panels = vec![courses::panel(
        format!("{name}: rate {what}"),
        "records per second",
        Vertical::FromZero,
        TALL,
        rate,
    )];
    for of in [&RESPONSE, &courses::END_TO_END] {
        for index in 0..2 {
            panels.push(latency(name, of, index, shown, groups));
        }
    }
    Chart {
        id,
        title: format!("{name}: rate and latency of all trials over time"),
        x: Horizontal::Seconds,
        x_label: TIME_LABEL,
        panels,
        bands: shown.first().map(|(_, series)| courses::bands(series)).unwrap_or_default(),
        flags: Vec::new(),
        detail,
    }
}

fn latency(
    name: &str,
    of: &Latency,
    index: usize,
    shown: &[(usize, &TrialSeries)],
    groups: &[TrialGroup<'_>],
) -> Panel {
    let all = lines(name, shown, groups, |stream, called, look| {
        let has = !(of.percentiles)(stream).is_empty();
        let mut line = courses::latency(stream, called, look, of.of_second[index]);
        line.points.retain(|_| has);
        line
    });
    let title = format!("{name}: {} {}", of.name, courses::OF_SECOND[index]);
    courses::panel(title, "time (log)", Vertical::LogNs, TALL, all)
}

fn by_percentile(
    name: &str,
    of: &Latency,
    shown: &[(usize, &TrialSeries)],
    groups: &[TrialGroup<'_>],
    detail: Detail,
    id: String,
) -> Chart {
    let all =
        lines(name, shown, groups, |stream, called, look| curve(called, look, (of.percentiles)(stream)));
    Chart {
        id,
        title: format!("{name}: {} by percentile of all trials, measure phase", of.name),
        x: Horizontal::Nines,
        x_label: "percentile of the records, %",
        panels: vec![courses::panel(String::new(), "time (log)", Vertical::LogNs, 180.0, all)],
        bands: Vec::new(),
        flags: Vec::new(),
        detail,
    }
}
