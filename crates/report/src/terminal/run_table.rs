//! The end of a run as text: one printer for every scenario.

use super::answer_text::{answer_text, table_text as text_table};
use crate::answer::members::{self, MembersTable};
use crate::answer::{answers, health, inside, logs, notes, processes};
use crate::case_table::{CaseTable, Cell, Column, NOT_TESTED, Row, case_table, ratio_text};
use crate::caveats::{self, Worded};
use crate::declared;
use crate::figures::{Figures, covers};
use crate::grid::{GridColumn, TextOptions, Tone, grid, wrap};
use crate::input::{ReportInput, trial_name};
use crate::marks::Signs;
use crate::trials::{self, CUT_SHORT_NOTE, StreamRow, Streams, TABLES, row_mark, stream_rows, streams};
use crate::units;
use kdyno_model::caveat::{ScopedCaveat, Severity};
use kdyno_model::finding::{Finding, Interval};
use kdyno_model::metric::{self, SubjectKind, Unit};
use kdyno_model::plan::{Plan, Published, RoleKind, Strategy};
use kdyno_model::trial::Trial;
use std::collections::BTreeSet;

/// Rows of the table of members that are printed at most.
const MEMBER_ROWS_MAX: usize = 40;

/// The whole result: loss, if there was any; head, caveats, answers, the scenario's table, every trial's figures.
pub fn run_table(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let figures = Figures::new(input.findings, input.caveats);
    let [loss, others] = loss_first(input);
    let mut parts =
        vec![loss_text(&loss, options), head(input, &figures, options), caveat_text(&others, options)];
    parts.extend(answers(input).iter().map(|answer| answer_text(answer, options)));
    parts.extend(caveats::elsewhere(input).map(|line| wrap(&line, options.columns(), 2) + "\n"));
    parts.push(table_text(input, &case_table(input, &figures), options));
    parts.extend(inside::answer(input).map(|answer| answer_text(&answer, options)));
    parts.extend(logs::answers(input).iter().map(|answer| answer_text(answer, options)));
    parts.extend(health::answer(input).map(|answer| answer_text(&answer.without_table(), options)));
    parts.extend(processes::short_answer(input).map(|answer| answer_text(&answer, options)));
    parts.push(trials_text(input, &figures, options));
    parts.extend(declared::line(input.plan()).map(|line| wrap(&line, options.columns(), 2) + "\n"));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Caveats that tell of loss, and all others but those that are summed up after the answers.
pub(crate) fn loss_first(input: &ReportInput<'_>) -> [Vec<Worded>; 2] {
    let told = caveats::worded(input).into_iter().filter(|one| !one.is_elsewhere);
    let (loss, others) = told.partition(|one| one.is_loss);
    [loss, others]
}

/// Acknowledged records that are gone: before anything else.
pub(crate) fn loss_text(loss: &[Worded], options: &TextOptions) -> String {
    let mut out = String::new();
    for one in loss {
        let concerns = if one.concerns.is_empty() { String::new() } else { format!(" [{}]", one.concerns) };
        let text = format!("DATA LOSS: {}{concerns} → {}", one.sentence, one.remedy);
        for line in wrap(&text, options.columns(), 4).lines() {
            out.push_str(&options.paint(line, Tone::Bad));
            out.push('\n');
        }
    }
    out
}

/// One line per stream for a trial that has just ended with what its marks mean, then its warnings.
pub fn trial_summary(
    trial: &Trial,
    findings: &[Finding],
    caveats: &[ScopedCaveat],
    options: &TextOptions,
) -> String {
    let figures = Figures::new(findings, caveats);
    let mut out = String::new();
    let mut signs = Signs::default();
    for row in streams(trial, caveats).filter(|_| figures.has(trial.id)) {
        let mut get = |metric| {
            signs.add_all(&figures.signs(trial.id, row.stream, metric));
            figures.text(trial.id, row.stream, metric)
        };
        let line = match row.load.role.kind() {
            RoleKind::Produce => format!(
                "{}: {} {}{}, response p50 {} p99 {} max {}",
                row.stream,
                get("acked_per_s"),
                if row.unanswered() { "written" } else { "acknowledged" },
                match Streams::Compressed.has(row.load) {
                    true => format!(", compression ratio {}", get("compression_ratio")),
                    false => String::new(),
                },
                get("response.p50"),
                get("response.p99"),
                get("response.max")
            ),
            RoleKind::EndToEnd => format!(
                "{}: response p50 {} p99 {}, end to end p50 {} p99 {} max {}",
                row.stream,
                get("response.p50"),
                get("response.p99"),
                get("end_to_end.p50"),
                get("end_to_end.p99"),
                get("end_to_end.max")
            ),
            RoleKind::Consume => {
                let rate = format!("{}: {} handed over", row.stream, get("fetched_per_s"));
                match figures.is_there(trial.id, row.stream, "end_to_end.p50") {
                    true => format!(
                        "{rate}, end to end p50 {} p99 {} max {}",
                        get("end_to_end.p50"),
                        get("end_to_end.p99"),
                        get("end_to_end.max")
                    ),
                    false => rate,
                }
            }
        };
        out.push_str(&wrap(&format!("{}, {line}", trial_name(trial)), options.columns(), 4));
        out.push('\n');
    }
    for line in signs.legend().into_iter().chain(warnings(trial, caveats)) {
        let wrapped = wrap(&line, options.columns().saturating_sub(4), 8);
        out.push_str(&format!("    {wrapped}\n"));
    }
    out
}

/// The warnings alone of a trial that has just ended, for who prints its rates elsewhere and over another span of time.
pub fn trial_warnings(trial: &Trial, caveats: &[ScopedCaveat], options: &TextOptions) -> String {
    let lines = warnings(trial, caveats).map(|line| wrap(&line, options.columns(), 4) + "\n");
    lines.collect()
}

fn warnings<'a>(trial: &'a Trial, caveats: &'a [ScopedCaveat]) -> impl Iterator<Item = String> + 'a {
    let told = caveats.iter().filter(move |one| one.severity > Severity::Note && covers(one.scope, trial));
    told.map(|one| format!("{}: {}", one.severity, caveats::sentence(&one.caveat)))
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
pub(crate) fn caveat_text(worded: &[Worded], options: &TextOptions) -> String {
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

fn table_text(input: &ReportInput<'_>, table: &CaseTable<'_>, options: &TextOptions) -> String {
    if table.columns.is_empty() || table.rows.is_empty() {
        return String::new();
    }
    let published = input.plan().published.as_ref();
    let mut fixed: Vec<GridColumn> = Vec::new();
    let marks: Vec<&str> = table.rows.iter().map(|row| row_mark(row.cut_short)).collect();
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
    for note in table_notes(input, table) {
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
pub(crate) fn table_notes(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Vec<String> {
    let published = input.plan().published.as_ref();
    let mut notes: Vec<String> = table.signs().legend().into_iter().collect();
    notes.extend(repeats_note(table));
    let missing = |cell: &Cell<'_>| cell.ours.is_some_and(|ours| ours.missing().is_some());
    if table.rows.iter().flat_map(|row| &row.cells).any(missing) {
        notes.push(
            "Where it says 1 of 2, the other repeat is invalid or missing and does not count.".to_owned(),
        );
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
    notes.extend(notes::notes(input, table));
    notes
}

/// What a figure over several repeats is, and how sure its interval.
fn repeats_note(table: &CaseTable<'_>) -> Option<String> {
    let ours = || table.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.ours?.finding);
    let counts: BTreeSet<u32> = ours().map(|one| one.n).filter(|n| *n > 1).collect();
    let what = match (table.repeated, counts.contains(&2), counts.iter().any(|n| *n > 2)) {
        (false, ..) => return None,
        (true, true, false) => "Figures are means of the 2 repeats, where both count",
        (true, true, true) => "Figures are medians over the repeats, of 2 their mean",
        (true, false, _) => "Figures are medians over the repeats",
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

/// Rates in bytes count different bytes for producers and consumers: which ones is said where both stand.
fn bytes_note(table: &CaseTable<'_>) -> Option<String> {
    let columns = table.columns.iter().filter(|column| column.unit == Unit::MibPerS);
    let known = |column: &Column| metric::all().find(|known| known.name == column.of.metric);
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
        let head = vec![(if column.intervals { "interval" } else { "min – max" }).to_owned()];
        out.push(numbers(head, range, Tone::Faint, true));
    }
    if column.published {
        let theirs = cells(&|_, cell| cell.published.text(column.unit));
        out.push(numbers(head(Some("published")), theirs, Tone::Faint, true));
    }
    if column.ratios {
        let head = |whose: Option<&str>| -> Vec<String> {
            ["ratio to the", "first row"].into_iter().chain(whose).map(str::to_owned).collect()
        };
        let here = cells(&|_, cell| ratio_text(cell.ratio_ours));
        out.push(numbers(head(column.published.then_some("here")), here, Tone::Plain, true));
        if column.published {
            let theirs = cells(&|_, cell| ratio_text(cell.ratio_published));
            out.push(numbers(head(Some("published")), theirs, Tone::Faint, true));
        }
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

/// Every trial's figures. Those of a comparison or a search are many and stand in the page.
fn trials_text(input: &ReportInput<'_>, figures: &Figures<'_>, options: &TextOptions) -> String {
    if !matches!(input.plan().strategy, Strategy::List(_)) {
        return String::new();
    }
    let rows = stream_rows(input, figures);
    let mut out = String::new();
    let mut signs = Signs::default();
    for (title, streams, shown, words) in TABLES {
        let is_shown = |row: &&StreamRow<'_>| streams.has(row.load) && row.has_any(figures, shown);
        let rows: Vec<&StreamRow<'_>> = rows.iter().filter(is_shown).collect();
        if rows.is_empty() {
            continue;
        }
        let column = |text: &dyn Fn(&StreamRow<'_>) -> String| rows.iter().map(|row| text(row)).collect();
        let mut flowing: Vec<GridColumn> = shown
            .iter()
            .map(|one| GridColumn::numbers(&one.head, column(&|row| row.text(figures, one))))
            .collect();
        let said: Vec<String> = column(&|row| row.words(words, input));
        if said.iter().any(|text| !text.is_empty()) {
            flowing.push(GridColumn::words(&[words.head()], said));
        }
        for (row, one) in rows.iter().flat_map(|row| shown.iter().map(move |one| (row, one))) {
            signs.add_all(&row.signs(figures, one));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&options.paint(title, Tone::Strong));
        out.push('\n');
        out.push_str(&grid(&fixed_columns(&rows), &flowing, options));
    }
    let members = members::table(input, figures);
    let is_explained = |of: &MembersTable| of.has_others && of.table.rows.len() <= MEMBER_ROWS_MAX;
    if let Some(members) = &members {
        out.push('\n');
        out.push_str(&members_text(members, options));
        signs.add_all(&members.table.signs());
    }
    let others = members.as_ref().is_some_and(is_explained).then_some(members::OTHERS_NOTE);
    let notes = others.into_iter().chain(trials::notes(&rows, figures)).map(str::to_owned);
    for note in signs.legend().into_iter().chain(notes) {
        out.push_str(&wrap(&note, options.columns(), 0));
        out.push('\n');
    }
    out
}

/// The members of groups, unless they fill the screen.
fn members_text(members: &MembersTable, options: &TextOptions) -> String {
    let title = options.paint(members::TITLE, Tone::Strong);
    let rows = members.table.rows.len();
    if rows > MEMBER_ROWS_MAX {
        let elsewhere =
            format!("{} rows, which are in the page and in the JSON document.", units::count(rows as f64));
        return format!("{title}\n{}\n", wrap(&elsewhere, options.columns(), 0));
    }
    format!("{title}\n{}", text_table(&members.table, members.names, options))
}

/// Which trial and stream a row is of; a plan with one trial needs no number.
fn fixed_columns(rows: &[&StreamRow<'_>]) -> Vec<GridColumn> {
    let marks: Vec<&str> = rows.iter().map(|row| row_mark(row.cut_short)).collect();
    let mut fixed: Vec<GridColumn> = mark_column(&marks).into_iter().collect();
    let column = |text: &dyn Fn(&StreamRow<'_>) -> String| rows.iter().map(|row| text(row)).collect();
    if rows.iter().any(|row| !row.trial.label.is_empty()) {
        fixed.push(GridColumn::numbers(&["trial"], column(&|row| row.trial.id.to_string())));
        fixed.push(GridColumn::words(&["case"], column(&|row| row.trial.label.clone())));
    }
    fixed.push(GridColumn::words(&["stream"], column(&|row| row.stream.to_owned())));
    fixed
}
