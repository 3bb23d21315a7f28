//! Resources of processes in small multiples: a picture for each process, all of a resource on the same axes.

use super::chart::{Chart, ChartLine, Detail, Horizontal, Panel, Vertical};
use super::courses::{self, SMALL, TIME_LABEL};
use super::figure;
use super::groups::TrialGroup;
use super::plot::{self, PanelPosition};
use kdyno_model::event::Subject;
use kdyno_model::metric::Unit;
use kdyno_model::series::{Resource, ResourceSeries, TrialSeries};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Processes that are drawn at most.
const SUBJECTS_MAX: usize = 16;
/// Trials of a side that are drawn at most.
const TRIALS_MAX: usize = 8;

/// What is drawn together: its name, and its resources with their names.
struct ResourceGroup {
    title: &'static str,
    of: &'static [(Resource, &'static str)],
}

const KINDS: [ResourceGroup; 5] = [
    ResourceGroup { title: "CPU time", of: &[(Resource::CpuUser, "user"), (Resource::CpuSystem, "system")] },
    ResourceGroup { title: "Memory", of: &[(Resource::Memory, "resident"), (Resource::Heap, "heap in use")] },
    ResourceGroup { title: "Drives", of: &[(Resource::DiskWrite, "written"), (Resource::DiskRead, "read")] },
    ResourceGroup {
        title: "Network interfaces",
        of: &[(Resource::NetworkTransmit, "sent"), (Resource::NetworkReceive, "received")],
    },
    ResourceGroup {
        title: "Record batches, as brokers report",
        of: &[(Resource::BytesIn, "in"), (Resource::BytesOut, "out")],
    },
];

impl ResourceGroup {
    fn unit(&self) -> &'static str {
        match self.of.first().map(|(resource, _)| resource.unit()) {
            Some(Unit::Bytes) => "MiB",
            Some(unit) => unit.described(),
            None => "",
        }
    }

    fn has(&self, one: &ResourceSeries, subject: &Subject) -> bool {
        one.subject == *subject && self.of.iter().any(|(resource, _)| *resource == one.resource)
    }
}

/// One picture of the grid, of a process.
struct ProcessPicture {
    name: String,
    lines: Vec<ChartLine>,
}

/// The resources of a trial's processes, user and system time apart.
pub fn of_trial(series: &TrialSeries, detail: Detail, id: &str) -> Markup {
    let subjects = subjects(&[series], |_| true);
    let shown = &subjects[..subjects.len().min(SUBJECTS_MAX)];
    let detail = Detail { points: detail.points.min(150), rows: detail.rows / 3 };
    html! {
        @for (number, kind) in KINDS.iter().enumerate() {
            @let cells: Vec<ProcessPicture> = shown.iter().map(|subject| of_subject(series, subject, kind)).collect();
            (grid(kind, &cells, series, detail, &format!("{id}-{number}"), false))
        }
        @if shown.len() < subjects.len() { p class="note" { "The first " (shown.len()) " of " (subjects.len()) " processes." } }
    }
}

fn of_subject(series: &TrialSeries, subject: &Subject, kind: &ResourceGroup) -> ProcessPicture {
    let mut lines = Vec::new();
    for (look, (resource, name)) in kind.of.iter().enumerate() {
        let one = series.resources.iter().find(|one| one.subject == *subject && one.resource == *resource);
        // A series of nothing but 0 says nothing, unless it is what the picture is of.
        let is_reported =
            |one: &&ResourceSeries| look == 0 || one.points.iter().any(|point| point.value != 0.0);
        lines.extend(one.filter(is_reported).map(|one| courses::resource(one, name, look)));
    }
    ProcessPicture { name: subject.to_string(), lines }
}

/// Side A next to side B: of each process of the system and the host its trials' lines, on shared axes.
pub fn of_sides(sides: [&TrialGroup<'_>; 2], series: &[TrialSeries], id: &str) -> Markup {
    let of = |group: &TrialGroup<'_>| -> Vec<&TrialSeries> {
        let ids = group.trials.iter().take(TRIALS_MAX).map(|trial| trial.id);
        ids.filter_map(|id| series.iter().find(|one| one.trial == id)).collect()
    };
    let [a, b] = sides.map(of);
    let Some(first) = a.first().or(b.first()) else { return html! {} };
    let both: Vec<&TrialSeries> = a.iter().chain(&b).copied().collect();
    let is_of_system =
        |subject: &Subject| !matches!(subject, Subject::Kdyno | Subject::Worker(_) | Subject::Jvm(..));
    let subjects = subjects(&both, is_of_system);
    let detail = Detail { rows: 16, points: Detail::among(both.len()).points.min(120) };
    html! {
        @for (number, kind) in KINDS.iter().enumerate() {
            @let cells = sides_cells(&subjects[..subjects.len().min(SUBJECTS_MAX)], kind, [&a, &b], &sides);
            (grid(kind, &cells, first, detail, &format!("{id}-{number}"), true))
        }
        @if a.len() < sides[0].trials.len() || b.len() < sides[1].trials.len() {
            p class="note" { "The first " (TRIALS_MAX) " trials of each side." }
        }
    }
}

fn sides_cells(
    subjects: &[Subject],
    kind: &ResourceGroup,
    sides: [&[&TrialSeries]; 2],
    groups: &[&TrialGroup<'_>; 2],
) -> Vec<ProcessPicture> {
    let mut cells = Vec::new();
    for subject in subjects {
        for (side, trials) in sides.iter().enumerate() {
            let of_side = trials.iter().flat_map(|series| of_subject(series, subject, kind).lines);
            cells.push(ProcessPicture {
                name: format!("{subject}, {}", groups[side].name),
                lines: of_side.collect(),
            });
        }
    }
    // A process that reports nothing of it has no row.
    let has = |pair: &[ProcessPicture]| {
        pair.iter().any(|cell| cell.lines.iter().any(|line| !line.points.is_empty()))
    };
    let mut kept = Vec::new();
    let mut rest = cells.into_iter();
    while let (Some(a), Some(b)) = (rest.next(), rest.next()) {
        let pair = [a, b];
        if has(&pair) {
            kept.extend(pair);
        }
    }
    kept
}

/// The processes with anything to draw, in order.
fn subjects(series: &[&TrialSeries], is_shown: impl Fn(&Subject) -> bool) -> Vec<Subject> {
    let all = series.iter().flat_map(|series| &series.resources);
    let known = all.filter(|one| KINDS.iter().any(|kind| kind.has(one, &one.subject)));
    known
        .map(|one| &one.subject)
        .filter(|subject| is_shown(subject))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .cloned()
        .collect()
}

/// The grid of one kind, or nothing; `in_pairs`: two next to each other always, whatever they hold.
fn grid(
    kind: &ResourceGroup,
    cells: &[ProcessPicture],
    series: &TrialSeries,
    detail: Detail,
    id: &str,
    in_pairs: bool,
) -> Markup {
    let values =
        cells.iter().flat_map(|cell| &cell.lines).flat_map(|line| &line.points).filter_map(|point| point.y);
    let most = values.fold(f64::NEG_INFINITY, f64::max);
    let title =
        if in_pairs { format!("{}, A and B", kind.title) } else { format!("{} by process", kind.title) };
    let panels = cells.iter().map(|cell| Panel {
        holds: vec![most],
        ..courses::panel(cell.name.clone(), kind.unit(), Vertical::FromZero, SMALL, cell.lines.clone())
    });
    let whole = Chart {
        id: id.to_owned(),
        title,
        x: Horizontal::Seconds,
        x_label: TIME_LABEL,
        panels: panels.collect(),
        bands: courses::bands(series),
        flags: Vec::new(),
        detail,
    };
    let drawn = whole.drawable();
    if drawn.panels.is_empty() {
        return html! {};
    }
    let across = drawn.across();
    let all: Vec<ChartLine> = drawn.panels.iter().flat_map(|panel| panel.lines.iter().cloned()).collect();
    let alone = |panel: &Panel| {
        let chart = Chart { title: panel.title.clone(), panels: vec![panel.clone()], ..whole.clone() };
        chart.drawable()
    };
    html! {
        figure id=(whole.id) data-time=(plot::instants(&across)) {
            figcaption { (whole.title) }
            p class="panel-name" { span { (kind.unit()) ", over " (TIME_LABEL) "; shaded is what is not measured" } }
            (plot::legend(&all))
            div class=(if in_pairs { "multiples pairs" } else { "multiples" }) {
                @for chart in whole.panels.iter().map(alone) {
                    @if in_pairs || !chart.panels.is_empty() {
                        div class="panel" {
                            p class="panel-name" { b { (chart.title) } }
                            @match chart.panels.first() {
                                Some(panel) => (plot::picture(panel, PanelPosition { chart: &chart, across: &across, number: 0, is_small: true })),
                                None => p class="note" { "nothing was read" },
                            }
                        }
                    }
                }
            }
            (figure::data(&whole))
        }
    }
}
