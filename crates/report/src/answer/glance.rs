//! What is read first, in every form: the answer with its confidence, the heaviest caveats in a line each, what to do next.

use super::headline::Headline;
use super::said::REACH_NS;
use super::{Sentence, claims, headline, health, notes, search, verdict, words};
use crate::case_table::CaseTable;
use crate::caveats::{ALL_FIGURES, Worded};
use crate::command_line::verdict_again;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::units;
use kdyno_model::caveat::{Caveat, CaveatGroup, CaveatKind, Severity};
use kdyno_model::conclusion::{MetricRole, Says, SearchResult, Verdict, of_kind};
use kdyno_model::finding::{Mark, Scope};
use kdyno_model::grouped::by_key;
use kdyno_model::plan::{Depth, Strategy};
use kdyno_model::run::RunStatus;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Caveats that are shown at most; of the others it is said how many they are.
const DOUBTS_MAX: usize = 3;
/// Sentences of an answer at most; the gravest come first.
const ANSWERS_MAX: usize = 4;
/// Verdicts of one comparison that have a sentence of their own; of the others the metrics are named.
const VERDICTS_MAX: usize = 2;
/// Metrics of one kind of verdict that are named.
const METRICS_MAX: usize = 4;
/// Cases with a line each on their limit.
const LIMITS_MAX: usize = 2;

/// The first screen of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    /// The answer, a sentence each.
    pub answer: Vec<Sentence>,
    /// What the signs in it mean.
    pub legend: Option<String>,
    /// What limits it: the heaviest caveats.
    pub doubts: Vec<Doubt>,
    /// How many more caveats and notes there are.
    pub more: usize,
    /// What to do where there is no answer yet.
    pub next: Option<String>,
}

/// A caveat in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Whether the figures that the answer rests on may be used: what makes others invalid is a warning here.
    pub severity: Severity,
    /// Without a full stop.
    pub text: String,
}

/// The first screen of a run with these caveats.
pub fn glance(input: &ReportInput<'_>, table: &CaseTable<'_>, worded: &[Worded]) -> Glance {
    let (mut answer, legend) = match &input.plan().strategy {
        Strategy::Compare(_) => (compared(input), None),
        Strategy::Find(_) => (searched(input), None),
        Strategy::List(_) => listed(input, table),
    };
    first(&mut answer);
    answer.extend(health::line(input));
    let (doubts, more) = doubts(worded);
    let next = next(input).or_else(|| repeats(input, table));
    Glance { answer, legend, doubts, more, next }
}

/// The gravest sentences, and how many are left out.
fn first(answer: &mut Vec<Sentence>) {
    answer.sort_by_key(|one| one.tone != Tone::Bad);
    let left = answer.len().saturating_sub(ANSWERS_MAX);
    answer.truncate(ANSWERS_MAX);
    if left > 0 {
        let text = format!("{left} more answers: `kdyno show RUN --details`.");
        answer.push(Sentence::new(Tone::Warn, text));
    }
}

fn listed(input: &ReportInput<'_>, table: &CaseTable<'_>) -> (Vec<Sentence>, Option<String>) {
    let Headline { sentences: mut answer, legend } = headline::whole(input, table);
    let limits = notes::limits(input);
    if limits.len() <= LIMITS_MAX {
        // They begin with names of load items, which stay as they are typed.
        answer.extend(limits.into_iter().map(|text| Sentence { tone: Tone::Plain, text }));
    }
    (answer, legend)
}

fn searched(input: &ReportInput<'_>) -> Vec<Sentence> {
    let mut answer = Vec::new();
    for result in of_kind::<SearchResult>(input.conclusions) {
        answer.push(headline::of_case(search::sentence(result, input), result.scope, input));
        let limit = search::limit_there(result, input).into_iter().next();
        answer.extend(limit.map(|text| Sentence::new(Tone::Plain, text)));
    }
    answer.extend(claims::judged(input).map(|one| claims::sentence(one, input)));
    answer
}

/// What differs by more than its margin in sentences, the rest by the names of its metrics.
fn compared(input: &ReportInput<'_>) -> Vec<Sentence> {
    let labels = verdict::labels(input);
    let mut answer = Vec::new();
    for scope in verdict::compared_scopes(input.conclusions) {
        let judged: Vec<&Verdict> = judged(input, scope).collect();
        let (mut reported, mut rest): (Vec<&Verdict>, Vec<&Verdict>) =
            judged.iter().copied().partition(|one| judged.len() == 1 || is_material(one));
        reported.sort_by_key(|one| !matches!(one.says, Says::Different { worse: true, .. }));
        rest.extend(reported.split_off(reported.len().min(VERDICTS_MAX)));
        let sentences = reported.into_iter().map(|one| verdict::sentence(one, &labels));
        answer.extend(
            sentences.chain(together(&rest, &labels)).map(|one| headline::of_case(one, scope, input)),
        );
        if judged.is_empty() {
            let text =
                "no metric is judged (`--judge`), so there is no verdict: the table shows what differs.";
            answer.push(Sentence::new(Tone::Warn, text));
        }
    }
    answer
}

fn judged<'a>(input: &ReportInput<'a>, scope: Scope) -> impl Iterator<Item = &'a Verdict> + use<'a> {
    let all = verdict::verdicts(input.conclusions);
    all.filter(move |one| one.scope == scope && one.role == MetricRole::Judged)
}

fn is_material(one: &Verdict) -> bool {
    matches!(one.says, Says::Different { material: true, .. } | Says::Invalid { .. })
}

/// Verdicts in one sentence: `B against A: equivalent within the margin in …; inconclusive in … (8 starts).`
fn together(verdicts: &[&Verdict], labels: &[String; 2]) -> Option<Sentence> {
    let said = by_key(verdicts.iter().map(|one| (what(one), *one)));
    let part = |((what, aside), all): &((&str, &str), Vec<&Verdict>)| {
        let mut metrics: Vec<String> =
            all.iter().take(METRICS_MAX).map(|one| words::metric(&one.of)).collect();
        if all.len() > METRICS_MAX {
            metrics.push(format!("{} more", all.len() - METRICS_MAX));
        }
        format!("{what} in {}{aside}", words::list(&metrics))
    };
    let parts: Vec<String> = said.iter().map(part).collect();
    let first = verdicts.iter().max_by_key(|one| one.n)?;
    let rests = words::units_of_evidence(first.n, first.unit_of_evidence);
    let quick = if first.depth == Depth::Quick { "quick look, these starts only: " } else { "" };
    let is_bad = |one: &&Verdict| {
        matches!(one.says, Says::Different { material: true, worse: true } | Says::Invalid { .. })
    };
    let is_clear = |one: &&Verdict| matches!(one.says, Says::Equivalent | Says::Different { .. });
    let tone = match (verdicts.iter().any(is_bad), verdicts.iter().all(is_clear)) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Plain,
        (false, false) => Tone::Warn,
    };
    let [a, b] = labels;
    let sides = if a == b { format!("both sides are {a}") } else { format!("{b} against {a}") };
    let text = format!("{quick}{sides}: {} ({rests}).", parts.join("; "));
    Some(Sentence::new(tone, text))
}

/// The verdict before the names of its metrics, and what follows them.
fn what(one: &Verdict) -> (&'static str, &'static str) {
    const OVERLAPS: &str = ", but the interval overlaps the margin";
    match one.says {
        Says::Equivalent => ("equivalent within the margin", ""),
        Says::Different { material: false, .. } => ("different, but by less than the margin,", ""),
        Says::Different { worse: true, .. } => ("worse", ""),
        Says::Different { worse: false, .. } => ("better", ""),
        Says::MaybeMaterial { worse: true, .. } => ("worse", OVERLAPS),
        Says::MaybeMaterial { worse: false, .. } => ("better", OVERLAPS),
        Says::OnThisStart { .. } => ("different on this start", ", which another start may not show"),
        Says::DifferentAlone { .. } => ("different", " only if no other metric is judged"),
        Says::Inconclusive { .. } => ("inconclusive", ""),
        Says::Invalid { .. } => ("invalid", ""),
    }
}

/// The heaviest caveats, and how many are left out. One of a group, such as the host, is enough while others have none.
pub fn doubts(worded: &[Worded]) -> (Vec<Doubt>, usize) {
    let is_reported = |one: &&Worded| !one.is_loss && !one.is_elsewhere;
    let all: Vec<&Worded> = worded.iter().filter(is_reported).collect();
    let mut heavy: Vec<&Worded> = all.iter().copied().filter(|one| one.severity > Severity::Note).collect();
    heavy.sort_by_key(rank);
    let mut groups: BTreeSet<(Severity, CaveatGroup)> = BTreeSet::new();
    let (first, more): (Vec<&Worded>, Vec<&Worded>) = heavy.into_iter().partition(|one| {
        // Each reason for which figures are invalid comes before any that is none.
        groups.insert((one.severity, one.kind.row().group)) || heads(one)
    });
    let mut chosen: Vec<&Worded> = first.into_iter().chain(more).take(DOUBTS_MAX).collect();
    chosen.sort_by_key(rank);
    let doubt = |one: &&Worded| {
        let concerns = match one.concerns.as_str() {
            "" | "all trials" => String::new(),
            concerns => format!(" [{concerns}]"),
        };
        let severity = if heads(one) { Severity::Invalid } else { one.severity.min(Severity::Warning) };
        Doubt { severity, text: doubt_text(one) + &concerns }
    };
    let left = all.len() - chosen.len();
    (chosen.iter().map(doubt).collect(), left)
}

/// Whether figures that the answer rests on are invalid for it.
fn heads(one: &Worded) -> bool {
    !one.invalid.is_empty()
}

/// What is invalid, and why: `latencies of writers: more was offered than handled`.
fn doubt_text(one: &Worded) -> String {
    let short = one.short.as_str();
    if one.invalid.is_empty() {
        let aside = if one.severity == Severity::Invalid { "not in the answer, and invalid: " } else { "" };
        return format!("{aside}{short}");
    }
    // The load item is named with its figures.
    let is_of_item = one.kind.row().short.starts_with("{item}: ") && one.invalid != ALL_FIGURES;
    let why = short.split_once(": ").filter(|_| is_of_item).map_or(short, |(_, why)| why);
    format!("{}: {why}", one.invalid)
}

/// Invalid figures first, then that there was no Kafka at all.
fn rank(one: &&Worded) -> (bool, Reverse<Severity>, bool, CaveatGroup) {
    (!heads(one), Reverse(one.severity), one.kind != CaveatKind::NullBroker, one.kind.row().group)
}

/// What to do where there is no answer. Nothing while a run goes on, or where it ended before its plan did: the end of such a
/// run says how to resume it.
fn next(input: &ReportInput<'_>) -> Option<String> {
    input.end().filter(|end| end.status == RunStatus::Completed)?;
    let mut searches = of_kind::<SearchResult>(input.conclusions);
    let of_search = searches.find_map(|one| search::next(one, is_disturbed(input)));
    of_search.map(str::to_owned).or_else(|| next_of_comparison(input))
}

/// What a comparison without an answer lacks: starts, windows in a steady state, or a host of its own.
fn next_of_comparison(input: &ReportInput<'_>) -> Option<String> {
    let scopes = verdict::compared_scopes(input.conclusions);
    let open: Vec<&Verdict> =
        scopes.into_iter().flat_map(|scope| judged(input, scope)).filter(|one| one.says.is_open()).collect();
    let first = open.first()?;
    if input.caveats.iter().any(|one| matches!(one.caveat, Caveat::PairOrder(_))) {
        let settled = "the second trial of a pair differs from the first one, so lengthen `phases.condition` or take `--design duet`";
        return Some(settled.to_owned());
    }
    if is_disturbed(input) {
        return Some("other programs used the CPUs, so repeat on a quiet host".to_owned());
    }
    if open.iter().any(|one| is_unsteady(one)) {
        let steady =
            "the windows were not in a steady state, so lengthen `phases.warmup` and `phases.measure`";
        return Some(steady.to_owned());
    }
    if first.depth == Depth::Quick {
        let command = verdict_again(input).map_or_else(String::new, |command| format!(": `{command}`"));
        return Some(format!("a verdict needs more starts{command}"));
    }
    let Some((more, further_ns)) = open.iter().filter_map(|one| further(one)).max() else {
        return Some(
            "the estimate is so near to the margin that no number of starts would decide".to_owned(),
        );
    };
    let units = words::units_of_evidence(more, first.unit_of_evidence);
    let time = units::duration(further_ns);
    Some(match further_ns > REACH_NS {
        true => format!("about {units} more ({time}), so not with this design on this machine"),
        false => format!("about {units} more ({time}): repeat it with more `looks`, or a larger `--budget`"),
    })
}

/// The units that a verdict needs, and how long they take.
fn further(one: &Verdict) -> Option<(u32, u64)> {
    let more = match one.says {
        Says::Inconclusive { more_needed }
        | Says::MaybeMaterial { more_needed, .. }
        | Says::DifferentAlone { more_needed, .. } => more_needed?,
        _ => return None,
    };
    Some((more, one.unit_ns?.saturating_mul(u64::from(more))))
}

/// What to do where each case ran once, so that chance may be all that they differ by.
fn repeats(input: &ReportInput<'_>, table: &CaseTable<'_>) -> Option<String> {
    let is_listed = matches!(input.plan().strategy, Strategy::List(_));
    let has_ended = input.end().is_some_and(|end| end.status == RunStatus::Completed);
    let is_one_each = table.rows.len() > 1 && !table.repeated && !table.metrics.is_empty();
    (is_listed && has_ended && is_one_each)
        .then(|| "no repeats, so no confidence intervals: set `repeat: 6` in the scenario".to_owned())
}

fn is_disturbed(input: &ReportInput<'_>) -> bool {
    let disturbs = |one: &Caveat| {
        matches!(one, Caveat::OtherLoad { .. } | Caveat::HostShared { .. } | Caveat::Steal { .. })
    };
    input.caveats.iter().any(|one| one.severity > Severity::Note && disturbs(&one.caveat))
}

fn is_unsteady(one: &Verdict) -> bool {
    let is_one = |mark: &Mark| matches!(mark, Mark::Drifting | Mark::SeveralLevels);
    one.marks.iter().flatten().any(is_one)
}
