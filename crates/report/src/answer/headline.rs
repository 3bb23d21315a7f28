//! The answer of a run in a sentence or a few, with its confidence: what is under the question.

use super::form::Sentence;
use super::{claims, search, steadiness, verdict, words};
use crate::case_table::{CaseRow, CaseTable, OurFigure, ShownMetric};
use crate::digits;
use crate::figures::FindingIndex;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::marks::{self, Signs};
use crate::units;
use crate::without_generator;
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::finding::{Finding, Interval, Scope, Value};
use kdyno_model::metric::{self, Address, Unit};
use kdyno_model::plan::Contrast;
use std::collections::BTreeSet;

/// Cases that are named in one sentence; of more the lowest and the highest are.
const CASES_MAX: usize = 4;
/// Figures of a run of one case that are named with a latency.
const FIGURES_MAX: usize = 2;
/// Cases whose figures are within so much of each other are not called different.
const ALIKE_MAX: f64 = 1.01;
/// Whose figures are the load generator's own.
const GENERATOR: &str = "workers";
/// Metric that says what was requested.
const INPUT: &str = "offered_per_s";

/// What is under the question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headline {
    /// The answer.
    pub sentences: Vec<Sentence>,
    /// What the signs of its figures mean.
    pub legend: Option<String>,
}

/// Verdicts, the result of a search, claims, else what the first figures of the table are and the contrasts; however many
/// sentences it takes.
pub fn whole(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Headline {
    let sentences = judged(input);
    if !sentences.is_empty() {
        return Headline { sentences, legend: None };
    }
    let figures = FindingIndex::new(input.findings, input.caveats);
    let needed = steadiness::needed(input);
    let Headline { mut sentences, legend } = of_table(table, &figures, needed.as_deref());
    sentences.extend(of_contrasts(input, table));
    Headline { sentences, legend }
}

/// For each contrast one known ratio: that of the metric which comes first in the table, whose figures are
/// before it, else the one that it names first.
fn of_contrasts(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Vec<Sentence> {
    let column = |of: &Address| table.metrics.iter().position(|column| column.of == *of && is_answer(column));
    let mut reported: Vec<(&Contrast, &Finding)> = Vec::new();
    for (contrast, one) in
        claims::contrasted(input).into_iter().filter(|(_, one)| one.estimate != Value::None)
    {
        let is_before = |other: &Finding| match (column(&one.of), column(&other.of)) {
            (Some(place), Some(other)) => place < other,
            (place, other) => place.is_some() && other.is_none(),
        };
        match reported.iter_mut().find(|(known, _)| *known == contrast) {
            Some((_, known)) if is_before(known) => *known = one,
            Some(_) => {}
            None => reported.push((contrast, one)),
        }
    }
    let mut sentences = Vec::new();
    for (contrast, one) in reported {
        let [from, to] = [contrast.from, contrast.to].map(|case| input.case_label(case));
        let level = match one.interval {
            Interval::Bounds { level, .. } => format!(", {} % confidence", units::significant(level * 100.0)),
            Interval::NotResolvable(_) if one.n == 1 => ", of one repeat".to_owned(),
            Interval::NotResolvable(_) => ", without an interval".to_owned(),
        };
        let (of, ratio) = (words::metric(&one.of), digits::ratio(one));
        let text = format!(
            "{}, from {from} to {to}: {of} {ratio}{level}{}.",
            contrast.name,
            marks::clause(&one.marks)
        );
        let tone = if one.is_invalid() { Tone::Warn } else { Tone::Plain };
        sentences.push(Sentence::new(tone, text));
    }
    sentences
}

/// A sentence about a compared or searched case, which it names where cases have names.
pub fn of_case(sentence: Sentence, scope: Scope, input: &ReportInput<'_>) -> Sentence {
    let label = match scope {
        Scope::Comparison { case } | Scope::Search { case } => input.case_label(case),
        _ => "",
    };
    if label.is_empty() {
        return sentence;
    }
    Sentence::new(sentence.tone, format!("With {label}: {}", sentence.text))
}

fn judged(input: &ReportInput<'_>) -> Vec<Sentence> {
    let labels = verdict::labels(input);
    let sentence = |one: &Conclusion| match one {
        Conclusion::Verdict(of) if of.role == MetricRole::Judged => {
            Some(of_case(verdict::sentence(of, &labels), of.scope, input))
        }
        Conclusion::Search(of) => Some(search::sentence(of, input)),
        Conclusion::Claim(of) => Some(claims::sentence(of, input)),
        _ => None,
    };
    input.conclusions.iter().filter_map(sentence).collect()
}

/// A figure of the table: the finding and what its row is called.
type HeadlineFigure<'a> = (OurFigure<'a>, &'a Finding, &'a str);

/// The column that the headline of several cases speaks of first: of what came out of the system, and differs, the one in
/// which they differ most, a rate before a latency; else the first column.
pub fn telling(table: &CaseTable<'_>) -> Option<usize> {
    let tells = |column: &ShownMetric| is_of_system(column) && column.unit != Unit::YesNo;
    let columns = table.metrics.iter().enumerate().filter(|(_, column)| tells(column));
    let known: Vec<_> = columns.map(|(index, column)| ((index, column), figures(table, index))).collect();
    let first = known.first().map(|((index, _), _)| *index);
    let differing = known.into_iter().filter(|(_, figures)| differ(figures)).collect();
    let ranked = by_spread(differing).into_iter().map(|((index, column), _)| (column, index)).collect();
    chosen(ranked, 1).first().map(|(_, index)| *index).or(first)
}

/// The figures of a column that are known.
fn figures<'a>(table: &CaseTable<'a>, index: usize) -> Vec<HeadlineFigure<'a>> {
    let of_row = |row: &CaseRow<'a>| {
        let ours = row.entries.get(index)?.ours?;
        let finding = ours.finding.filter(|one| one.estimate != Value::None)?;
        Some((ours, finding, row.label))
    };
    table.rows.iter().filter_map(of_row).collect()
}

fn of_table(table: &CaseTable<'_>, own: &FindingIndex<'_>, needed: Option<&str>) -> Headline {
    let columns = table.metrics.iter().enumerate();
    let known: Vec<(&ShownMetric, Vec<HeadlineFigure<'_>>)> =
        columns.map(|(index, column)| (column, figures(table, index))).collect();
    let reported: Vec<(&ShownMetric, Vec<HeadlineFigure<'_>>)> = match table.rows.len() {
        0 | 1 => {
            known.into_iter().filter(|(column, figures)| is_answer(column) && !figures.is_empty()).collect()
        }
        _ => known.into_iter().filter(|(column, figures)| is_of_system(column) && differ(figures)).collect(),
    };
    let reported = match table.rows.len() {
        0 | 1 => chosen(reported, FIGURES_MAX),
        _ => chosen(by_spread(reported), 1),
    };
    if reported.is_empty() {
        return Headline::default();
    }
    let parts: Vec<String> = reported.iter().map(|(column, figures)| part(column, figures, own)).collect();
    let all: Vec<&Finding> =
        reported.iter().flat_map(|(_, figures)| figures.iter().map(|(_, one, _)| *one)).collect();
    let mut signs = Signs::default();
    all.iter().for_each(|one| signs.add(&one.marks, &digits::text(one)));
    let is_doubtful = all.iter().any(|one| one.is_invalid());
    let tone = if is_doubtful { Tone::Warn } else { Tone::Plain };
    let text = format!("{}{}.", parts.join("; "), confidence(&all));
    Headline { sentences: vec![Sentence::new(tone, text)], legend: signs.legend_with(needed) }
}

/// Whether a column is an outcome, not an input.
pub fn is_answer(column: &ShownMetric) -> bool {
    metric::is_outcome(&column.of.metric) && column.of.metric != INPUT
}

/// Whether it is an outcome of the system: what the load generator costs is no answer about it.
fn is_of_system(column: &ShownMetric) -> bool {
    is_answer(column) && column.of.subject != GENERATOR
}

/// The first rates or other figures, and the first latency, the one at p99 before others.
fn chosen<T>(reported: Vec<(&ShownMetric, T)>, others_max: usize) -> Vec<(&ShownMetric, T)> {
    let is_time = |column: &ShownMetric| column.unit == Unit::Ns;
    let at = |wanted: &dyn Fn(&ShownMetric) -> bool| reported.iter().position(|(column, _)| wanted(column));
    let latency =
        at(&|column| is_time(column) && column.of.metric.ends_with(".p99")).or_else(|| at(&is_time));
    let mut others = 0;
    let mut kept = Vec::new();
    for (index, (column, figures)) in reported.into_iter().enumerate() {
        others += usize::from(!is_time(column));
        if Some(index) == latency || (!is_time(column) && others <= others_max) {
            kept.push((column, figures));
        }
    }
    // What was carried comes before how long it took.
    kept.sort_by_key(|(column, _)| is_time(column));
    kept
}

/// Columns in which the cases differ most come first.
fn by_spread<'a, T>(mut reported: Vec<(T, Vec<HeadlineFigure<'a>>)>) -> Vec<(T, Vec<HeadlineFigure<'a>>)> {
    reported.sort_by(|(_, a), (_, b)| spread(b).total_cmp(&spread(a)));
    reported
}

/// Whether a column says something about the cases: it differs by more than its last printed digits.
fn differ(figures: &[HeadlineFigure<'_>]) -> bool {
    spread(figures) > ALIKE_MAX
}

/// The highest figure of a column ÷ its lowest, of those that are valid; 1 where fewer than two are known. Next to none at all
/// even one is infinitely more, so such columns come after all others that differ.
fn spread(figures: &[HeadlineFigure<'_>]) -> f64 {
    let valid = figures.iter().filter(|(_, one, _)| !one.is_invalid());
    let numbers = valid.filter_map(|(_, one, _)| one.estimate.least());
    let ends = numbers.map(|one| (one, one)).reduce(|(low, high), (one, _)| (low.min(one), high.max(one)));
    match ends {
        Some((low, high)) if low > 0.0 => high / low,
        Some((low, high)) if low < high => ALIKE_MAX.next_up(),
        _ => 1.0,
    }
}

fn part(column: &ShownMetric, figures: &[HeadlineFigure<'_>], own: &FindingIndex<'_>) -> String {
    let what = words::metric(&column.of);
    // Missing repeats that the figure does not lack are reported with it.
    let reported = |(ours, one, case): &HeadlineFigure<'_>| {
        let figure = marks::marked(&one.marks, digits::with_spread(one));
        let figure = figure + &without_generator::clause(own, one.scope, &one.of);
        let figure = match ours.missing_words() {
            Some(missing) => format!("{figure} ({missing})"),
            None => figure,
        };
        if case.is_empty() { figure } else { format!("{figure} with {case}") }
    };
    let number = |(_, one, _): &&HeadlineFigure<'_>| one.estimate.least().unwrap_or(f64::NAN);
    if figures.len() <= CASES_MAX {
        return format!("{what}: {}", words::list(&figures.iter().map(reported).collect::<Vec<_>>()));
    }
    let least = figures.iter().min_by(|a, b| number(a).total_cmp(&number(b)));
    let most = figures.iter().max_by(|a, b| number(a).total_cmp(&number(b)));
    let ends: Vec<String> = least.into_iter().chain(most).map(reported).collect();
    format!("{what} in {} cases: from {}", figures.len(), ends.join(" to "))
}

/// What the brackets are, and how much a figure says of the next run.
fn confidence(all: &[&Finding]) -> String {
    let level = |one: &&&Finding| match one.interval {
        Interval::Bounds { level, .. } => Some(level),
        Interval::NotResolvable(_) => None,
    };
    let levels: Vec<f64> = all.iter().filter_map(|one| level(&one)).collect();
    let repeats: BTreeSet<u32> = all.iter().map(|one| one.n).collect();
    let most = repeats.last().copied().unwrap_or_default();
    if let Some(least) = levels.iter().copied().reduce(f64::min) {
        let level = units::significant(least * 100.0);
        return format!(" (in brackets intervals of {level} % confidence)");
    }
    match most {
        0 | 1 => " (one trial per case: run-to-run variation unknown)".to_owned(),
        many => format!(" (in brackets the range of {many} repeats, too few for an interval)"),
    }
}
