//! Whether B differs from A: a sentence that can be read without knowing statistics, with the figures under it.

use super::form::{Answer, Sentence};
pub use super::said::sentence;
use super::{differences, lost, settings, waited, words};
use crate::digits;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::conclusion::{Conclusion, MetricRole, Ratio, Says, Verdict, of_kind};
use kdyno_model::finding::{Scope, Value, marks_of_both};
use kdyno_model::grouped::distinct;
use kdyno_model::plan::{Better, ComparePlan, Depth, EvidenceUnit, PairDesign};
use std::collections::BTreeSet;

/// From here on a ratio is seen to be another one than that of two figures, as a share.
const MEDIANS_APART: f64 = 0.01;

/// One answer per compared case.
pub fn answers(input: &ReportInput<'_>) -> Vec<Answer> {
    let labels = labels(input);
    let answer = |case: u32| {
        let scope = Scope::Comparison { case };
        let mut answer = answer(input.conclusions, scope, input.case_label(case), &labels);
        // What differs comes first: it is what the verdict is about, or what it may be about instead.
        answer.sentences.splice(0..0, settings::difference(input.conclusions, scope, &labels));
        answer.sentences.extend(in_short(input.conclusions, scope));
        answer.sentences.extend(lost::sentences(input, case));
        answer.sentences.extend(waited::sentence(input, case, &labels));
        answer.notes.extend(changes(compared(input)));
        answer.notes.extend(at_once(compared(input)));
        answer
    };
    let cases = compared_scopes(input.conclusions).into_iter().filter_map(|scope| match scope {
        Scope::Comparison { case } => Some(case),
        _ => None,
    });
    cases.map(answer).collect()
}

/// What the verdicts of a scope come to together; `None` of fewer than two.
pub fn in_short(conclusions: &[Conclusion], scope: Scope) -> Option<Sentence> {
    let of_scope: Vec<&Verdict> = verdicts(conclusions).filter(|one| one.scope == scope).collect();
    differences::sentence(&of_scope)
}

/// What has verdicts, in the order of these.
pub fn compared_scopes(conclusions: &[Conclusion]) -> Vec<Scope> {
    distinct(verdicts(conclusions).map(|verdict| verdict.scope))
}

/// The answer of one comparison: what was named to be judged in sentences, everything in the table.
pub fn answer(conclusions: &[Conclusion], scope: Scope, case: &str, labels: &[String; 2]) -> Answer {
    let of_scope: Vec<&Verdict> = verdicts(conclusions).filter(|one| one.scope == scope).collect();
    let judged = of_scope.iter().filter(|one| one.role == MetricRole::Judged);
    let mut sentences: Vec<Sentence> = judged.map(|one| sentence(one, labels)).collect();
    if sentences.is_empty() {
        let text = "no metric is judged (`--judge`), so there is no verdict: the table shows what differs";
        sentences.push(Sentence::new(Tone::Warn, format!("{text}.")));
    }
    let name = match of_scope.first() {
        Some(one) if one.unit_of_evidence == EvidenceUnit::Run => "Stored runs, no verdict",
        Some(one) if one.depth == Depth::Quick => "Quick look, these starts only",
        _ => "Verdict",
    };
    let title = if case.is_empty() { name.to_owned() } else { format!("{name}: {case}") };
    let mut notes = head_notes(&of_scope);
    notes.extend(of_scope.iter().filter_map(|one| too_wide(one)));
    notes.extend(two_levels(&of_scope));
    Answer { title, sentences, table: Some(table(&of_scope, labels)), curve: None, notes }
}

/// Whether its ratio, which is that of its pairs, is not the one of the medians that are shown with it.
pub(crate) fn is_of_pairs(verdict: &Verdict) -> bool {
    if verdict.unit_of_evidence == EvidenceUnit::Run {
        return false;
    }
    match (verdict.judged_by(), verdict.a, verdict.b) {
        (Some(ratio), Value::Is(a), Value::Is(b)) if a > 0.0 => {
            ((b / a) / ratio.estimate - 1.0).abs() > MEDIANS_APART
        }
        // Figures that are open or zero have no ratio of their own.
        (ratio, ..) => ratio.is_some(),
    }
}

/// What the ratio of a verdict is called.
pub(crate) fn ratio_head(is_of_pairs: bool) -> &'static str {
    if is_of_pairs { "ratio of pairs" } else { "B ÷ A" }
}

/// What the head of the ratios, brackets, and names of metrics that are not judged mean.
fn head_notes(verdicts: &[&Verdict]) -> Vec<String> {
    let has = |role| verdicts.iter().any(|one| one.role == role);
    let is_mixed = has(MetricRole::Judged) && (has(MetricRole::Exploratory) || has(MetricRole::Imported));
    let exploratory = is_mixed.then_some("(in brackets): exploratory, no verdict.");
    let imported = has(MetricRole::Imported)
        .then_some("imported-…: measured elsewhere; which direction is better is not known.");
    let of_pairs = verdicts.iter().any(|one| is_of_pairs(one)).then_some(
        "ratio of pairs: estimated from B ÷ A of each pair; it is not the ratio of the medians in the table.",
    );
    of_pairs.into_iter().chain(exploratory).chain(imported).map(str::to_owned).collect()
}

/// What a summary says under [`short_table`]: what the table's names mean, and which settings differ. Lost pairs and brokers
/// that waited are among its caveats.
pub(crate) fn short_notes(input: &ReportInput<'_>, scope: Scope) -> Vec<String> {
    let mut notes = head_notes(&in_summary(input.conclusions, scope));
    notes.extend(settings::line(input.conclusions, scope));
    notes.extend(at_once(compared(input)));
    notes
}

/// Why intervals of one table have several levels.
fn two_levels(verdicts: &[&Verdict]) -> Option<String> {
    let judged_by = verdicts.iter().filter_map(|one| one.judged_by());
    let levels: BTreeSet<String> =
        judged_by.filter_map(|ratio| words::bounds(&ratio)).map(|(_, _, level)| level_text(level)).collect();
    (levels.len() > 1).then(|| {
        "Two levels of confidence: a difference is judged at the error of the look; equivalence, or a difference below the \
         margin, at twice that error (two one-sided tests)."
            .to_owned()
    })
}

fn level_text(level: f64) -> String {
    words::percent(level, Some(0.001))
}

/// What the sides are called: as the plan has them, else A and B.
pub fn labels(input: &ReportInput<'_>) -> [String; 2] {
    input.sides().cloned().unwrap_or_else(|| ["A", "B"].map(str::to_owned))
}

fn compared<'a>(input: &ReportInput<'a>) -> Option<&'a ComparePlan> {
    input.plan().strategy.as_compare()
}

fn changes(compare: Option<&ComparePlan>) -> Option<String> {
    let changes = &compare?.changes;
    (!changes.is_empty()).then(|| format!("Requested: {}.", changes.join("; ")))
}

/// For a duet: what its figures are.
fn at_once(compare: Option<&ComparePlan>) -> Option<String> {
    let reported =
        "Both sides ran at once on this machine, so only their ratio counts: a disturbance hits both.";
    (compare?.design == PairDesign::Duet).then(|| reported.to_owned())
}

/// The verdicts among conclusions.
pub(crate) fn verdicts(conclusions: &[Conclusion]) -> impl Iterator<Item = &Verdict> {
    of_kind(conclusions)
}

/// For a judged metric without an answer: an interval that reaches further than the margin could not have shown that
/// the sides are alike, whatever the estimate.
fn too_wide(verdict: &Verdict) -> Option<String> {
    let is_open = verdict.says.is_open();
    let interval = verdict.equivalence_interval?;
    let (low, high, level) = words::bounds(&Ratio { interval, ..verdict.ratio? })?;
    let reach = (high - low) / 2.0;
    let margin = verdict.margin;
    let reported = || {
        let reach = digits::decimals_apart_from(&[margin * 100.0], reach * 100.0, Some(reach * 100.0), 0);
        format!(
            "The interval of {} is as wide as ±{} % at {} confidence, wider than the margin of ±{}: this evidence cannot show \
             equivalence.",
            verdict.of,
            reach,
            level_text(level),
            words::margin(margin),
        )
    };
    (is_open && verdict.role == MetricRole::Judged && reach > margin).then(reported)
}

/// The verdict in one or two words.
pub fn word(verdict: &Verdict) -> &'static str {
    match &verdict.says {
        Says::Different { .. } if verdict.role == MetricRole::Imported => "differs",
        Says::MaybeMaterial { .. } if verdict.role == MetricRole::Imported => "maybe differs",
        Says::Different { material: true, worse: true } => "worse",
        Says::Different { material: true, worse: false } => "better",
        Says::Different { material: false, .. } => "differs",
        Says::MaybeMaterial { .. } if verdict.depth == Depth::Quick => "differs",
        Says::MaybeMaterial { worse: true, .. } => "maybe worse",
        Says::MaybeMaterial { worse: false, .. } => "maybe better",
        Says::DifferentAlone { .. } => "differs alone",
        Says::OnThisStart { .. } => "this start",
        Says::Equivalent => "equivalent",
        Says::Inconclusive { .. } => "inconclusive",
        Says::Invalid { .. } => "invalid",
    }
}

/// Verdicts as a table, a row for each.
pub fn table(verdicts: &[&Verdict], labels: &[String; 2]) -> Table {
    let ratio = ratio_head(verdicts.iter().any(|one| is_of_pairs(one)));
    let head = [
        ("metric", false),
        (labels[0].as_str(), true),
        (labels[1].as_str(), true),
        (ratio, true),
        ("interval", true),
        ("level", true),
        ("n", true),
        ("better", false),
        ("margin", true),
        ("verdict", false),
    ];
    Table::new(&head, verdicts.iter().map(|one| row(one)).collect())
}

/// Columns of [`table`] that a summary leaves out, from 0: level, units of evidence and direction are in the sentence.
const NOT_IN_SHORT: [usize; 3] = [5, 6, 7];
/// Exploratory metrics of a summary at most.
const EXPLORATORY_MAX: usize = 3;

/// The verdicts of a scope for a summary: what was judged, and of the rest what differs.
fn in_summary(conclusions: &[Conclusion], scope: Scope) -> Vec<&Verdict> {
    let of_scope = verdicts(conclusions).filter(|one| one.scope == scope);
    let (judged, others): (Vec<&Verdict>, Vec<&Verdict>) =
        of_scope.partition(|one| one.role == MetricRole::Judged);
    let differs = |one: &&Verdict| matches!(one.says, Says::Different { .. });
    judged.into_iter().chain(others.into_iter().filter(differs).take(EXPLORATORY_MAX)).collect()
}

/// Their table.
pub(crate) fn short_table(conclusions: &[Conclusion], scope: Scope, labels: &[String; 2]) -> Table {
    let table = table(&in_summary(conclusions, scope), labels);
    let kept: Vec<bool> = (0..table.columns.len()).map(|index| !NOT_IN_SHORT.contains(&index)).collect();
    let mut table = table.with_columns(&kept);
    // In two lines: so it fits 100 columns.
    for column in table.columns.iter_mut().filter(|column| column.title() == ratio_head(true)) {
        column.head = ["ratio", "of pairs"].map(str::to_owned).to_vec();
    }
    table
}

/// The figures of both sides.
pub(crate) fn sides(verdict: &Verdict) -> [Cell; 2] {
    let ratio = verdict.judged_by();
    let half_width = ratio.as_ref().and_then(words::bounds).map(|(low, high, _)| (high - low) / 2.0);
    let side = |value| words::side(&verdict.of.metric, value, verdict.unit, half_width);
    let [of_a, of_b] = &verdict.marks;
    [Cell::figure(of_a, side(verdict.a)), Cell::figure(of_b, side(verdict.b))]
}

/// Their ratio, and its interval.
pub(crate) fn ratio(verdict: &Verdict) -> (Cell, String) {
    match verdict.judged_by() {
        Some(of) => (
            Cell::figure(&marks_of_both(&verdict.marks), words::ratio(&of)),
            words::interval_with_margin(&of, verdict.margin),
        ),
        None => (units::NOTHING.into(), units::NOTHING.to_owned()),
    }
}

fn row(verdict: &Verdict) -> Vec<Cell> {
    let bounds = verdict.judged_by().as_ref().and_then(words::bounds);
    let metric = match verdict.role {
        MetricRole::Judged => verdict.of.to_string(),
        MetricRole::Exploratory | MetricRole::Imported => format!("({})", verdict.of),
    };
    let nothing = || units::NOTHING.to_owned();
    let [a, b] = sides(verdict);
    let (ratio, interval) = ratio(verdict);
    vec![
        metric.into(),
        a,
        b,
        ratio,
        interval.into(),
        bounds.map_or_else(nothing, |(_, _, level)| level_text(level)).into(),
        words::units_of_evidence(verdict.n, verdict.unit_of_evidence).into(),
        match verdict.better {
            _ if verdict.role == MetricRole::Imported => nothing().into(),
            Better::Lower => "lower".into(),
            Better::Higher => "higher".into(),
        },
        match verdict.role {
            MetricRole::Judged | MetricRole::Exploratory => words::margin(verdict.margin).into(),
            MetricRole::Imported => nothing().into(),
        },
        word(verdict).into(),
    ]
}
