//! The table *Result*, for every form: its columns, its cells, and what has to be said under it.

use crate::answer::notes::{self, CaseNames};
use crate::answer::{steadiness, words};
use crate::case_table::{CaseRow, CaseTable, OurFigure, PublishedFigure, ShownMetric, TableEntry};
use crate::digits;
use crate::figures::FindingIndex;
use crate::grid::wrap;
use crate::headings::{heading, named};
use crate::input::ReportInput;
use crate::table::{Cell, Column, Holds, Table};
use crate::trials::{CUT_SHORT_NOTE, row_mark};
use crate::units;
use crate::without_generator;
use kdyno_model::command_metrics::is_time_of_requests;
use kdyno_model::finding::{Finding, Interval, Value};
use kdyno_model::metric::{self, SubjectKind, Unit};
use kdyno_model::plan::{OutputFormat, Published};
use std::collections::BTreeSet;

/// What is said of a figure that kdyno has not measured.
const AS_REPORTED: &str = "as reported";

/// Letters of a heading's line at most, where it can be broken at a space.
const HEADING_LINE_MAX: usize = 16;

/// Who heads the columns: each form has other room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads {
    /// Short lines above each other.
    Terminal,
    /// One line.
    Markdown,
    /// One line under the name of the figure.
    Page,
}

/// What a figure has a column for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Ours,
    Published,
    Ratio,
    PublishedRatio,
}

/// The columns of one figure, in every form: ours, with an interval or a range where there are repeats; theirs;
/// the ratio of each to the first row.
fn parts(shown: &ShownMetric) -> impl Iterator<Item = ColumnKind> {
    let wanted = [
        (ColumnKind::Ours, true),
        (ColumnKind::Published, shown.published),
        (ColumnKind::Ratio, shown.ratios),
        (ColumnKind::PublishedRatio, shown.ratios && shown.published),
    ];
    wanted.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(part, _)| part)
}

impl ColumnKind {
    fn column(self, shown: &ShownMetric, table: &CaseTable<'_>, heads: Heads) -> Column {
        let spread = if shown.intervals { "interval" } else { "min – max" };
        Column {
            head: self.head(shown, heads).lines().map(str::to_owned).collect(),
            holds: match self {
                Self::Ours => Holds::Numbers,
                Self::Published => Holds::Published,
                Self::Ratio => Holds::Ratios,
                Self::PublishedRatio => Holds::PublishedRatios,
            },
            of: (heads == Heads::Page).then(|| shown.of.clone()),
            joined: self != Self::Ours,
            spread: (self == Self::Ours && table.repeated).then_some(spread),
        }
    }

    fn head(self, shown: &ShownMetric, heads: Heads) -> String {
        let is_ratio = matches!(self, Self::Ratio | Self::PublishedRatio);
        let whose = match self {
            Self::Published | Self::PublishedRatio => "published",
            Self::Ours | Self::Ratio if shown.reported.is_some() => AS_REPORTED,
            Self::Ours | Self::Ratio => "here",
        };
        match (heads, self) {
            (Heads::Terminal, _) => {
                let name = format!(
                    "{}\n{}",
                    shown.of.subject,
                    wrap(&heading(&shown.of.metric), HEADING_LINE_MAX, 0)
                );
                let what = if is_ratio { "ratio to the\nfirst row" } else { name.as_str() };
                let is_said = shown.published || shown.reported.is_some();
                if is_said { format!("{what}\n{whose}") } else { what.to_owned() }
            }
            (Heads::Markdown, Self::Ours) => with_origin(shown.of.to_string(), shown),
            (Heads::Markdown, Self::Ratio) => "ratio to the first row".to_owned(),
            (Heads::Markdown, Self::PublishedRatio) => "the same, published".to_owned(),
            (Heads::Page, Self::Ours) if shown.reported.is_some() => AS_REPORTED.to_owned(),
            (Heads::Page, Self::Ours) => "measured here".to_owned(),
            (Heads::Page, Self::Ratio | Self::PublishedRatio) => format!("ratio to the first row, {whose}"),
            (Heads::Markdown | Heads::Page, Self::Published) => whose.to_owned(),
        }
    }

    fn cell(self, entry: &TableEntry<'_>, shown: &ShownMetric, table: &CaseTable<'_>) -> Cell {
        match self {
            Self::Ours => ours(entry, table),
            Self::Published => published(entry.published, shown.unit),
            Self::Ratio => ratio(entry.ratio_ours),
            Self::PublishedRatio => ratio(entry.ratio_published),
        }
    }
}

/// A name of a figure, and that somebody else has measured it.
fn with_origin(name: String, shown: &ShownMetric) -> String {
    if shown.reported.is_some() { format!("{name}, {AS_REPORTED}") } else { name }
}

/// The table with a row per case.
pub fn by_case(table: &CaseTable<'_>, heads: Heads) -> Table {
    let params = table.params.iter().map(|name| Column::new(&[name], Holds::Names));
    let of_metric = |shown| parts(shown).map(move |part| part.column(shown, table, heads));
    let row = |row: &CaseRow<'_>| {
        let entries = row.entries.iter().zip(&table.metrics);
        let figures =
            entries.flat_map(|(entry, shown)| parts(shown).map(move |part| part.cell(entry, shown, table)));
        row.params.iter().cloned().map(Cell::from).chain(figures).collect()
    };
    let cut_short = table.rows.iter().enumerate().filter(|(_, row)| row.cut_short);
    Table {
        columns: params.chain(table.metrics.iter().flat_map(of_metric)).collect(),
        rows: table.rows.iter().map(row).collect(),
        names: table.params.len(),
        cut_short: cut_short.map(|(index, _)| index).collect(),
    }
}

/// The table with a row per figure, for few cases without published figures: a column per case and one for its ratio
/// to the first one.
pub fn by_figure(table: &CaseTable<'_>) -> Table {
    let with_ratios = table.metrics.iter().any(|shown| shown.ratios);
    let first = table.rows.first();
    // Where the first case has no figure it is to another one, which the column does not name.
    let is_to_first = |at: usize| first.is_some_and(|row| row.entries[at].ratio_ours.is_some());
    let mut columns = vec![Column::new(&[""], Holds::Names)];
    let name = |shown: &ShownMetric| with_origin(named(&shown.of), shown);
    let mut rows: Vec<Vec<Cell>> = table.metrics.iter().map(|shown| vec![name(shown).into()]).collect();
    for (index, row) in table.rows.iter().enumerate() {
        columns.push(Column { head: case_head(table, row), ..Column::new(&[], Holds::Numbers) });
        let with_ratio = index > 0 && with_ratios;
        if with_ratio {
            let head = ["ratio to the", "first case"];
            columns.push(Column { joined: true, ..Column::new(&head, Holds::Ratios) });
        }
        for (at, (cells, entry)) in rows.iter_mut().zip(&row.entries).enumerate() {
            cells.push(ours(entry, table));
            cells.extend(with_ratio.then(|| ratio(entry.ratio_ours.filter(|_| is_to_first(at)))));
        }
    }
    Table { columns, rows, names: 1, cut_short: BTreeSet::new() }
}

/// What a case is called above its column; of a row that is not tested its parameters, a line each.
fn case_head(table: &CaseTable<'_>, row: &CaseRow<'_>) -> Vec<String> {
    let params = || table.params.iter().zip(&row.params).map(|(name, value)| format!("{name}={value}"));
    let called: Vec<String> = match row.label {
        "" => params().collect(),
        // Files of earlier versions have parts like these.
        label => label.split(", ").map(str::to_owned).collect(),
    };
    row.cut_short.then(|| row_mark(true).to_owned()).into_iter().chain(called).collect()
}

/// Our figure: the median over the trials that count, with its interval, else its range, and how many trials those are
/// where some are missing.
fn ours(entry: &TableEntry<'_>, table: &CaseTable<'_>) -> Cell {
    let Some(ours) = entry.ours else { return "not tested".into() };
    let cell = Cell::from(ours.finding);
    let Some(finding) = ours.finding.filter(|_| table.repeated) else { return cell };
    let mut within = digits::with_spread(finding);
    if let Some((n, of)) = ours.missing() {
        within.push_str(&format!(", {n} of {of}"));
    }
    cell.with_spread(within, spread(&ours, finding))
}

fn spread(ours: &OurFigure<'_>, finding: &Finding) -> String {
    let range = || {
        let half_width = digits::half_width(finding);
        let (min, max) = finding.range?;
        let [min, max] =
            [min, max].map(|end| digits::of_metric(&finding.of.metric, end, finding.unit, half_width));
        Some(if min == max { min } else { format!("{min} – {max}") })
    };
    match (digits::interval(finding).or_else(range), ours.missing()) {
        (Some(spread), Some((n, of))) => format!("{spread} ({n} of {of})"),
        (None, Some((n, of))) => format!("{n} of {of}"),
        (Some(spread), None) => spread,
        (None, None) if finding.estimate == Value::None => String::new(),
        (None, None) => digits::text(finding),
    }
}

/// The published figure, or why there is none.
fn published(figure: PublishedFigure, unit: Unit) -> Cell {
    match figure {
        PublishedFigure::Is(number) => units::number(number, unit).into(),
        PublishedFigure::NotGiven => "not given".into(),
        PublishedFigure::None => units::NOTHING.into(),
    }
}

/// A ratio with its interval where it has one: `×1.98`, `~ ×1.98 (1.90–2.06)`.
fn ratio(ratio: Option<&Finding>) -> Cell {
    match ratio.filter(|one| matches!(one.estimate, Value::Is(_))) {
        Some(one) => Cell::figure(&one.marks, digits::ratio(one)),
        None => units::NOTHING.into(),
    }
}

/// What has to be said under the table, in which cases have the given names.
pub fn table_notes(input: &ReportInput<'_>, table: &CaseTable<'_>, names: &CaseNames<'_>) -> Vec<String> {
    let mut notes = figure_notes(input, table);
    notes.extend(bytes_note(table));
    if let Some(published) = input.plan().published.as_ref() {
        notes.push(source_text(published));
        if table.metrics.iter().any(|shown| shown.ratios) {
            notes.push(RATIO_NOTE.to_owned());
        }
    }
    notes.extend(notes::notes(input, table, names));
    notes
}

/// What the figures of the table are: their marks, what the load generator made of them, their repeats.
pub fn figure_notes(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Vec<String> {
    let signs = by_case(table, Heads::Page).signs();
    let mut notes: Vec<String> =
        signs.legend_with(steadiness::needed(input).as_deref()).into_iter().collect();
    notes.extend(reported_note(table));
    notes.extend(without_generator::of_cases(&FindingIndex::new(input.findings, input.caveats), table));
    notes.extend(repeats_note(table));
    let missing = |entry: &TableEntry<'_>| entry.ours.and_then(|ours| ours.missing());
    if let Some((n, of)) = table.rows.iter().flat_map(|row| &row.entries).find_map(missing) {
        let others = match of - n {
            1 => "the other repeat is invalid or missing and does not count",
            _ => "the other repeats are invalid or missing and do not count",
        };
        notes.push(format!("Where it says {n} of {of}, {others}."));
    }
    if table.rows.iter().any(|row| row.cut_short) {
        notes.push(CUT_SHORT_NOTE.to_owned());
    }
    notes
}

/// Names the tools whose figures kdyno has not measured. Times of Kafka's own tools begin later than those of kdyno's clients.
fn reported_note(table: &CaseTable<'_>) -> Option<String> {
    let reported = || table.metrics.iter().filter(|shown| shown.reported.is_some());
    let subjects: BTreeSet<String> = reported().map(|shown| shown.of.subject.clone()).collect();
    let is_from_send = |shown: &ShownMetric| {
        shown.reported == Some(OutputFormat::PerfTest) && is_time_of_requests(&shown.of.metric)
    };
    let times = if reported().any(is_from_send) {
        "; latencies of Kafka's tools are from the send, those of kdyno's clients from the scheduled send time"
    } else {
        ""
    };
    let whose =
        format!("{AS_REPORTED}: figures of the tool itself ({})", words::list(&Vec::from_iter(subjects)));
    reported().next().map(|_| format!("{whose}{times}."))
}

/// What a figure over several repeats is, and how sure its interval.
fn repeats_note(table: &CaseTable<'_>) -> Option<String> {
    let ours = || table.rows.iter().flat_map(|row| &row.entries).filter_map(|entry| entry.ours?.finding);
    let counts: BTreeSet<u32> = ours().map(|one| one.n).filter(|n| *n > 1).collect();
    let what = match (table.repeated, counts.contains(&2), counts.iter().any(|n| *n > 2)) {
        // Each figure of an interrupted run may be of one trial.
        (false, ..) | (true, false, false) => return None,
        (true, true, false) => "Figures are means of the 2 repeats, where both count",
        (true, true, true) => "Figures are medians over the repeats, of 2 their mean",
        (true, false, true) => "Figures are medians over the repeats",
    };
    let levels: Vec<f64> = ours().filter_map(level).collect();
    let least = levels.iter().copied().reduce(f64::min);
    let interval = least.map_or_else(String::new, |level| {
        let level = units::significant(level * 100.0);
        format!("; intervals hold the true one with {level} % confidence at least")
    });
    Some(format!("{what}{interval}."))
}

fn level(finding: &Finding) -> Option<f64> {
    match finding.interval {
        Interval::Bounds { level, .. } => Some(level),
        Interval::NotResolvable(_) => None,
    }
}

/// Rates in bytes count different bytes for producers and consumers: which ones is said where both are shown.
fn bytes_note(table: &CaseTable<'_>) -> Option<String> {
    let rates = table.metrics.iter().filter(|shown| shown.unit == Unit::MibPerS);
    let known = |shown: &ShownMetric| metric::all().find(|known| known.name == shown.of.metric);
    let mut shown: Vec<&metric::Metric> = rates.filter_map(known).collect();
    shown.sort_by_key(|known| known.name);
    shown.dedup_by_key(|known| known.name);
    let has = |kind| shown.iter().any(|known| known.kinds.contains(&kind));
    let meanings: Vec<String> =
        shown.iter().map(|known| format!("{}: {}", known.name, known.meaning)).collect();
    (has(SubjectKind::Produce) && has(SubjectKind::Consume)).then(|| meanings.join("; ") + ".")
}

/// Why ratios are printed.
const RATIO_NOTE: &str = "Absolute figures of two machines are not comparable; next to them is each figure's \
    ratio to the first row that has both ours and the published one.";

/// Where the published figures come from.
fn source_text(published: &Published) -> String {
    let definition = if published.definition.is_empty() {
        String::new()
    } else {
        format!(" Its figure: {}.", published.definition.trim_end_matches('.'))
    };
    format!(
        "Published: {}, {}, measured on {}.{definition}",
        published.title,
        published.date,
        published.hardware.trim_end_matches('.')
    )
}
