//! The end of a run as text: one printer for every scenario.

use crate::case_table::{CaseTable, Cell, Column, NOT_TESTED, Row, case_table};
use crate::caveats::{self, Worded, severity_name};
use crate::figures::{Figures, trial_label};
use crate::grid::{GridColumn, TextOptions, Tone, grid, wrap};
use crate::input::TrialCaveat;
use crate::trials::{
    CONSUME_RATES, PRODUCE_LATENCIES, PRODUCE_OUTCOMES, PRODUCE_RATES, Shown, StreamRow, stream_rows,
};
use crate::units;
use kdyno_model::finding::{Finding, Severity, Value};
use kdyno_model::plan::{Plan, Published, TrialRef};

/// The whole result: head, caveats, the scenario's table, every trial's figures.
#[must_use]
pub fn run_table(
    plan: &Plan,
    findings: &[Finding],
    caveats: &[TrialCaveat],
    options: &TextOptions,
) -> String {
    let figures = Figures::new(plan, findings, caveats);
    let rows = stream_rows(plan, &figures);
    let parts = [
        head(plan, options),
        caveat_text(&caveats::worded(plan, caveats), options),
        table_text(&case_table(plan, &figures), plan.published.as_ref(), options),
        trials_text(plan, &figures, &rows, caveats, options),
        not_run(plan, &figures),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// One line per stream for a trial that has just ended.
#[must_use]
pub fn trial_summary(
    plan: &Plan,
    trial: TrialRef,
    findings: &[Finding],
    caveats: &[TrialCaveat],
    options: &TextOptions,
) -> String {
    let figures = Figures::new(plan, findings, caveats);
    let mut out = String::new();
    for row in stream_rows(plan, &figures).iter().filter(|row| row.trial == trial) {
        let get = |metric| figures.text(trial, row.stream, metric);
        let line = if row.produces() {
            format!(
                "{}: {} {}, response p50 {} p99 {} max {}",
                row.stream,
                get("acked_per_s"),
                if row.unanswered() { "written" } else { "acknowledged" },
                get("response.p50"),
                get("response.p99"),
                get("response.max")
            )
        } else {
            format!("{}: {} fetched", row.stream, get("fetched_per_s"))
        };
        out.push_str(&wrap(&format!("{}, {line}", trial_label(plan, trial)), options.columns(), 4));
        out.push('\n');
    }
    for (_, severity, caveat) in
        caveats.iter().filter(|(of, severity, _)| *of == trial && *severity > Severity::Note)
    {
        let line = format!("    {}: {}", severity_name(*severity), caveats::single(caveat));
        let wrapped = wrap(&line, options.columns().saturating_sub(4), 4);
        out.push_str(&format!("    {wrapped}\n"));
    }
    out
}

/// The report's first line: scenario, profile, what was changed.
#[must_use]
pub(crate) fn first_line(plan: &Plan) -> String {
    let changed: Vec<String> = plan.changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let changed =
        if changed.is_empty() { String::new() } else { format!(", changed: {}", changed.join(" ")) };
    format!("{}, profile {}{changed}", plan.scenario, plan.profile)
}

fn head(plan: &Plan, options: &TextOptions) -> String {
    let first = wrap(&first_line(plan), options.columns(), 4);
    let first: Vec<String> = first.lines().map(|line| options.paint(line, Tone::Strong)).collect();
    format!("{}\n{}\n", first.join("\n"), wrap(&plan.question, options.columns(), 0))
}

/// Caveats, before any figure.
fn caveat_text(worded: &[Worded], options: &TextOptions) -> String {
    const INDENT: usize = 9;
    if worded.is_empty() {
        return String::new();
    }
    let mut out = format!("{}\n", options.paint("Read first", Tone::Strong));
    for doubt in worded {
        let tone = match doubt.severity {
            Severity::Note => Tone::Faint,
            Severity::Warning => Tone::Warn,
            Severity::Invalid => Tone::Bad,
        };
        let concerns =
            if doubt.concerns.is_empty() { String::new() } else { format!(" [{}]", doubt.concerns) };
        let advice = if doubt.advice.is_empty() { String::new() } else { format!(" → {}", doubt.advice) };
        let text = wrap(&format!("{}{concerns}{advice}", doubt.what), options.columns() - INDENT, 0);
        for (index, line) in text.lines().enumerate() {
            let name = if index == 0 { severity_name(doubt.severity) } else { "" };
            let name = format!("{name:<width$}", width = INDENT);
            out.push_str(&options.paint(&name, tone));
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn table_text(table: &CaseTable, published: Option<&Published>, options: &TextOptions) -> String {
    if table.columns.is_empty() || table.rows.is_empty() {
        return String::new();
    }
    let mut fixed: Vec<GridColumn> = Vec::new();
    let invalid = table.rows.iter().any(|row| row.invalid);
    if invalid {
        let marks = table.rows.iter().map(|row| if row.invalid { "!" } else { "" }.to_owned());
        fixed.push(GridColumn { tone: Tone::Bad, ..GridColumn::words(&[""], marks.collect()) });
    }
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

/// What has to be said under the table.
pub(crate) fn table_notes(table: &CaseTable, published: Option<&Published>) -> Vec<String> {
    let mut notes = Vec::new();
    if table.repeated {
        notes.push("Figures are medians over the repeats.".to_owned());
    }
    let short = |cell: &Cell| cell.ours.is_some_and(|s| s.counted > 0 && s.counted < s.planned);
    if table.rows.iter().flat_map(|row| &row.cells).any(short) {
        notes.push(
            "Where it says 1 of 2, the other repeat is invalid or missing and does not count.".to_owned(),
        );
    }
    if table.rows.iter().any(|row| row.invalid) {
        notes.push("! invalid: these figures must not be used.".to_owned());
    }
    if let Some(published) = published {
        notes.push(source_text(published));
        if table.columns.iter().any(|column| column.shaped) {
            notes.push(SHAPE_NOTE.to_owned());
        }
    }
    notes
}

/// Why shapes are printed.
const SHAPE_NOTE: &str = "Absolute figures of two machines are not comparable; a shape is the figure \
    relative to the first row that has both.";

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

/// Ours, its range over repeats, theirs and the two shapes of one figure.
fn figure_columns(table: &CaseTable, index: usize, column: &Column, beside: bool) -> Vec<GridColumn> {
    let cells = |text: &dyn Fn(&Row, &Cell) -> String| -> Vec<String> {
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
    let ours = cells(&|_, cell| ours_text(cell, column));
    let mut out = vec![numbers(head(beside.then_some("here")), ours, Tone::Plain, false)];
    if table.repeated {
        let range = cells(&|_, cell| range_text(cell, column));
        let head = vec!["min – max".to_owned()];
        out.push(numbers(head, range, Tone::Faint, true));
    }
    if column.published {
        let theirs = cells(&|_, cell| cell.published.text(column.unit));
        out.push(numbers(head(Some("published")), theirs, Tone::Faint, true));
    }
    if column.shaped {
        let shape = |number: Option<f64>| {
            number.map_or_else(|| units::NOTHING.to_owned(), |n| format!("×{}", units::significant(n)))
        };
        let here = cells(&|_, cell| shape(cell.shape_ours));
        out.push(numbers(vec!["shape".to_owned(), "here".to_owned()], here, Tone::Plain, true));
        let theirs = cells(&|_, cell| shape(cell.shape_published));
        out.push(numbers(vec!["shape".to_owned(), "published".to_owned()], theirs, Tone::Faint, true));
    }
    out
}

/// Our figure as printed.
pub(crate) fn ours_text(cell: &Cell, column: &Column) -> String {
    match &cell.ours {
        None => NOT_TESTED.to_owned(),
        Some(summary) => units::value(summary.median, column.unit),
    }
}

/// The range over repeats, and how many of them count when some are missing.
pub(crate) fn range_text(cell: &Cell, column: &Column) -> String {
    let Some(summary) = &cell.ours else { return String::new() };
    let missing = if summary.counted < summary.planned {
        format!(" ({} of {})", summary.counted, summary.planned)
    } else {
        String::new()
    };
    if summary.counted == 0 || matches!(summary.min, Value::None) {
        return missing.trim().to_owned();
    }
    let (min, max) = (units::value(summary.min, column.unit), units::value(summary.max, column.unit));
    if min == max { format!("{min}{missing}") } else { format!("{min} – {max}{missing}") }
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

fn trials_text(
    plan: &Plan,
    figures: &Figures<'_>,
    rows: &[StreamRow<'_>],
    caveats: &[TrialCaveat],
    options: &TextOptions,
) -> String {
    let (produce, consume): (Vec<&StreamRow<'_>>, Vec<&StreamRow<'_>>) =
        rows.iter().partition(|row| row.produces());
    let one_trial = plan.order.len() == 1;
    let mut out = String::new();
    let mut block = |title: &str, rows: &[&StreamRow<'_>], shown: &[Shown], last: Option<GridColumn>| {
        if rows.is_empty() {
            return;
        }
        let mut flowing: Vec<GridColumn> = shown
            .iter()
            .map(|one| {
                GridColumn::numbers(&one.head, rows.iter().map(|row| row.text(figures, one)).collect())
            })
            .collect();
        flowing.extend(last);
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&options.paint(title, Tone::Strong));
        out.push('\n');
        out.push_str(&grid(&fixed_columns(figures, rows, one_trial), &flowing, options));
    };
    block("Produce: rates and what they cost", &produce, PRODUCE_RATES, None);
    block("Produce: latency", &produce, PRODUCE_LATENCIES, None);
    let reasons: Vec<String> = produce.iter().map(|row| row.failures(caveats)).collect();
    let reasons =
        reasons.iter().any(|text| !text.is_empty()).then(|| GridColumn::words(&["reasons"], reasons));
    block("Produce: records that were not acknowledged", &produce, PRODUCE_OUTCOMES, reasons);
    block("Consume: rates and what they cost", &consume, CONSUME_RATES, None);
    if produce.iter().any(|row| row.unanswered()) {
        let note = "With acks=0 nobody answers: acknowledged then means written to the socket.";
        out.push_str(&wrap(note, options.columns(), 0));
        out.push('\n');
    }
    out
}

fn fixed_columns(figures: &Figures<'_>, rows: &[&StreamRow<'_>], one_trial: bool) -> Vec<GridColumn> {
    let mut fixed = Vec::new();
    if rows.iter().any(|row| figures.is_invalid(row.trial)) {
        let marks = rows.iter().map(|row| if figures.is_invalid(row.trial) { "!" } else { "" }.to_owned());
        fixed.push(GridColumn { tone: Tone::Bad, ..GridColumn::words(&[""], marks.collect()) });
    }
    if !one_trial {
        fixed.push(GridColumn::words(&["trial"], rows.iter().map(|row| row.label.clone()).collect()));
    }
    fixed.push(GridColumn::words(&["stream"], rows.iter().map(|row| row.stream.to_owned()).collect()));
    fixed
}

fn not_run(plan: &Plan, figures: &Figures<'_>) -> String {
    let missing = plan.order.iter().filter(|trial| !figures.has(**trial)).count();
    if missing == 0 {
        return String::new();
    }
    format!(
        "{missing} of {} trials have no figures: they did not run or did not get as far.\n",
        plan.order.len()
    )
}
