//! The end of a run as text: one printer for every scenario.

use crate::case_table::{CaseTable, Cell, Column, NOT_TESTED, Row, case_table, ratio_text};
use crate::caveats::{self, Worded};
use crate::figures::{Figures, covers};
use crate::grid::{GridColumn, TextOptions, Tone, grid, wrap};
use crate::input::{ReportInput, trial_name};
use crate::trials::{
    CUT_SHORT_NOTE, INVALID_NOTE, StreamRow, TABLES, UNANSWERED_NOTE, mark, stream_rows, streams,
};
use kdyno_model::finding::{Finding, ScopedCaveat, Severity};
use kdyno_model::metric::{self, SubjectKind, Unit};
use kdyno_model::plan::{Plan, Published, RoleKind};
use kdyno_model::trial::Trial;

/// The whole result: head, caveats, the scenario's table, every trial's figures.
pub fn run_table(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = Figures::new(input.findings, input.caveats);
    let parts = [
        head(input, &figures, options),
        caveat_text(&caveats::worded(input), options),
        table_text(&case_table(input, &figures), input.plan().published.as_ref(), options),
        trials_text(input, &figures, options),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// One line per stream for a trial that has just ended, then its warnings.
pub fn trial_summary(
    trial: &Trial,
    findings: &[Finding],
    caveats: &[ScopedCaveat],
    options: &TextOptions,
) -> String {
    let figures = Figures::new(findings, caveats);
    let mut out = String::new();
    for row in streams(trial, &figures, caveats).filter(|_| figures.has(trial.id)) {
        let get = |metric| figures.text(trial.id, row.stream, metric);
        let line = match row.load.role.kind() {
            RoleKind::Produce => format!(
                "{}: {} {}, response p50 {} p99 {} max {}",
                row.stream,
                get("acked_per_s"),
                if row.unanswered() { "written" } else { "acknowledged" },
                get("response.p50"),
                get("response.p99"),
                get("response.max")
            ),
            RoleKind::Consume => format!("{}: {} fetched", row.stream, get("fetched_per_s")),
        };
        out.push_str(&wrap(&format!("{}, {line}", trial_name(trial)), options.columns(), 4));
        out.push('\n');
    }
    let warnings = caveats.iter().filter(|one| one.severity > Severity::Note && covers(one.scope, trial));
    for one in warnings {
        let line = format!("    {}: {}", one.severity, caveats::sentence(&one.caveat));
        let wrapped = wrap(&line, options.columns().saturating_sub(4), 4);
        out.push_str(&format!("    {wrapped}\n"));
    }
    out
}

/// The report's first line: scenario, profile, what was changed.
pub(crate) fn first_line(plan: &Plan) -> String {
    let changed: Vec<String> = plan.changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let changed =
        if changed.is_empty() { String::new() } else { format!(", changed: {}", changed.join(" ")) };
    format!("{}, profile {}{changed}", plan.scenario, plan.profile)
}

fn head(input: &ReportInput<'_>, figures: &Figures<'_>, options: &TextOptions) -> String {
    let first = wrap(&first_line(input.plan()), options.columns(), 4);
    let mut lines: Vec<String> = first.lines().map(|line| options.paint(line, Tone::Strong)).collect();
    lines.push(wrap(&input.plan().question, options.columns(), 0));
    if let Some(outcome) = input.outcome(figures) {
        let wrapped = wrap(&outcome, options.columns(), 4);
        lines.extend(wrapped.lines().map(|line| options.paint(line, Tone::Warn)));
    }
    lines.join("\n") + "\n"
}

/// The caveats, which stand before any figure.
fn caveat_text(worded: &[Worded], options: &TextOptions) -> String {
    const INDENT: usize = 9;
    if worded.is_empty() {
        return String::new();
    }
    let mut out = format!("{}\n", options.paint("Read first", Tone::Strong));
    for caveat in worded {
        let tone = match caveat.severity {
            Severity::Note => Tone::Faint,
            Severity::Warning => Tone::Warn,
            Severity::Invalid => Tone::Bad,
        };
        let concerns =
            if caveat.concerns.is_empty() { String::new() } else { format!(" [{}]", caveat.concerns) };
        let remedy = if caveat.remedy.is_empty() { String::new() } else { format!(" → {}", caveat.remedy) };
        let text = wrap(&format!("{}{concerns}{remedy}", caveat.sentence), options.columns() - INDENT, 0);
        for (index, line) in text.lines().enumerate() {
            let name = if index == 0 { caveat.severity.into() } else { "" };
            let name = format!("{name:<width$}", width = INDENT);
            out.push_str(&options.paint(&name, tone));
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn table_text(table: &CaseTable<'_>, published: Option<&Published>, options: &TextOptions) -> String {
    if table.columns.is_empty() || table.rows.is_empty() {
        return String::new();
    }
    let mut fixed: Vec<GridColumn> = Vec::new();
    let marks: Vec<&str> = table.rows.iter().map(|row| mark(row.invalid, row.cut_short)).collect();
    fixed.extend(mark_column(&marks));
    for (index, name) in table.params.iter().enumerate() {
        let cells = table.rows.iter().map(|row| row.params[index].clone()).collect();
        fixed.push(GridColumn::words(&[name], cells));
    }
    let flowing: Vec<GridColumn> = table
        .columns
        .iter()
        .enumerate()
        .flat_map(|(index, column)| figure_columns(table, index, column, published.is_some()))
        .collect();
    let mut out = format!("{}\n{}", options.paint("Result", Tone::Strong), grid(&fixed, &flowing, options));
    for note in table_notes(table, published) {
        out.push_str(&wrap(&note, options.columns(), 0));
        out.push('\n');
    }
    out
}

/// Marks stand in a column of their own, which is there only with a mark in it.
fn mark_column(marks: &[&str]) -> Option<GridColumn> {
    let cells = marks.iter().map(ToString::to_string).collect();
    let column = GridColumn { tone: Tone::Bad, ..GridColumn::words(&[""], cells) };
    marks.iter().any(|mark| !mark.is_empty()).then_some(column)
}

/// What has to be said under the table.
pub(crate) fn table_notes(table: &CaseTable<'_>, published: Option<&Published>) -> Vec<String> {
    let mut notes = Vec::new();
    if table.repeated {
        notes.push("Figures are medians over the repeats.".to_owned());
    }
    let missing = |cell: &Cell<'_>| cell.ours.is_some_and(|ours| ours.missing().is_some());
    if table.rows.iter().flat_map(|row| &row.cells).any(missing) {
        notes.push(
            "Where it says 1 of 2, the other repeat is invalid or missing and does not count.".to_owned(),
        );
    }
    if table.rows.iter().any(|row| row.invalid) {
        notes.push(INVALID_NOTE.to_owned());
    }
    if table.rows.iter().any(|row| row.cut_short) {
        notes.push(CUT_SHORT_NOTE.to_owned());
    }
    notes.extend(bytes_note(table));
    if let Some(published) = published {
        notes.push(source_text(published));
        if table.columns.iter().any(|column| column.ratios) {
            notes.push(RATIO_NOTE.to_owned());
        }
    }
    notes
}

/// Rates in bytes count different bytes for producers and consumers: which ones is said where both stand.
fn bytes_note(table: &CaseTable<'_>) -> Option<String> {
    let columns = table.columns.iter().filter(|column| column.unit == Unit::MibPerS);
    let known = |column: &Column| metric::ALL.iter().find(|known| known.name == column.of.metric);
    let mut shown: Vec<&metric::Metric> = columns.filter_map(known).collect();
    shown.dedup_by_key(|known| known.name);
    let has = |kind| shown.iter().any(|known| known.kinds.contains(&kind));
    let meanings: Vec<String> =
        shown.iter().map(|known| format!("{}: {}", known.name, known.meaning)).collect();
    (has(SubjectKind::Produce) && has(SubjectKind::Consume)).then(|| meanings.join("; ") + ".")
}

/// Why ratios are printed.
const RATIO_NOTE: &str = "Absolute figures of two machines are not comparable; beside them stands each figure's \
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

/// Ours, its range over repeats, theirs and the two ratios of one figure.
fn figure_columns(
    table: &CaseTable<'_>,
    index: usize,
    column: &Column,
    is_published: bool,
) -> Vec<GridColumn> {
    let cells = |text: &dyn Fn(&Row<'_>, &Cell<'_>) -> String| -> Vec<String> {
        table.rows.iter().map(|row| text(row, &row.cells[index])).collect()
    };
    let mut name = vec![column.of.subject.clone()];
    name.extend(split_name(&column.of.metric));
    let head =
        |last: Option<&str>| -> Vec<String> { name.iter().cloned().chain(last.map(str::to_owned)).collect() };
    let numbers = |head: Vec<String>, cells: Vec<String>, tone: Tone, joined: bool| GridColumn {
        head,
        cells,
        tone,
        right: true,
        joined,
    };
    let ours = cells(&|_, cell| ours_text(cell));
    let mut out = vec![numbers(head(is_published.then_some("here")), ours, Tone::Plain, false)];
    if table.repeated {
        let range = cells(&|_, cell| range_text(cell));
        let head = vec!["min – max".to_owned()];
        out.push(numbers(head, range, Tone::Faint, true));
    }
    if column.published {
        let theirs = cells(&|_, cell| cell.published.text(column.unit));
        out.push(numbers(head(Some("published")), theirs, Tone::Faint, true));
    }
    if column.ratios {
        let head = |whose: &str| ["ratio to the", "first row", whose].map(str::to_owned).to_vec();
        let here = cells(&|_, cell| ratio_text(cell.ratio_ours));
        out.push(numbers(head("here"), here, Tone::Plain, true));
        let theirs = cells(&|_, cell| ratio_text(cell.ratio_published));
        out.push(numbers(head("published"), theirs, Tone::Faint, true));
    }
    out
}

/// Our figure as printed.
pub(crate) fn ours_text(cell: &Cell<'_>) -> String {
    cell.ours.map_or_else(|| NOT_TESTED.to_owned(), |ours| ours.text())
}

/// The range over repeats as printed; empty where nothing was tested.
pub(crate) fn range_text(cell: &Cell<'_>) -> String {
    cell.ours.map_or_else(String::new, |ours| ours.range_text())
}

/// Breaks a long metric name at its underscores, so that its column stays narrow.
fn split_name(metric: &str) -> Vec<String> {
    const LINE_MAX: usize = 15;
    let mut lines = vec![String::new()];
    for (index, part) in metric.split('_').enumerate() {
        let part = if index == 0 { part.to_owned() } else { format!("_{part}") };
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.len() + part.len() <= LINE_MAX => line.push_str(&part),
            _ => lines.push(part),
        }
    }
    lines
}

fn trials_text(input: &ReportInput<'_>, figures: &Figures<'_>, options: &TextOptions) -> String {
    let rows = stream_rows(input, figures);
    let mut out = String::new();
    for (title, role, shown, with_reasons) in TABLES {
        let rows: Vec<&StreamRow<'_>> = rows.iter().filter(|row| row.load.role.kind() == role).collect();
        if rows.is_empty() {
            continue;
        }
        let column = |text: &dyn Fn(&StreamRow<'_>) -> String| rows.iter().map(|row| text(row)).collect();
        let mut flowing: Vec<GridColumn> = shown
            .iter()
            .map(|one| GridColumn::numbers(&one.head, column(&|row| row.text(figures, one))))
            .collect();
        let reasons: Vec<String> = column(&|row| row.failures(input.caveats));
        if with_reasons && reasons.iter().any(|text| !text.is_empty()) {
            flowing.push(GridColumn::words(&["reasons"], reasons));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&options.paint(title, Tone::Strong));
        out.push('\n');
        out.push_str(&grid(&fixed_columns(&rows), &flowing, options));
    }
    let notes = [
        (rows.iter().any(|row| row.invalid), INVALID_NOTE),
        (rows.iter().any(|row| row.cut_short && !row.invalid), CUT_SHORT_NOTE),
        (rows.iter().any(StreamRow::unanswered), UNANSWERED_NOTE),
    ];
    for (_, note) in notes.iter().filter(|(wanted, _)| *wanted) {
        out.push_str(&wrap(note, options.columns(), 0));
        out.push('\n');
    }
    out
}

/// Which trial and stream a row is of; a plan with one trial needs no number.
fn fixed_columns(rows: &[&StreamRow<'_>]) -> Vec<GridColumn> {
    let marks: Vec<&str> = rows.iter().map(|row| mark(row.invalid, row.cut_short)).collect();
    let mut fixed: Vec<GridColumn> = mark_column(&marks).into_iter().collect();
    let column = |text: &dyn Fn(&StreamRow<'_>) -> String| rows.iter().map(|row| text(row)).collect();
    if rows.iter().any(|row| !row.trial.label.is_empty()) {
        fixed.push(GridColumn::numbers(&["trial"], column(&|row| row.trial.id.to_string())));
        fixed.push(GridColumn::words(&["case"], column(&|row| row.trial.label.clone())));
    }
    fixed.push(GridColumn::words(&["stream"], column(&|row| row.stream.to_owned())));
    fixed
}
