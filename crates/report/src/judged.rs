//! What a run's answer comes to in one word: what exit codes and gates are made of.

use crate::answer::{claims, search};
use crate::input::ReportInput;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{
    ClaimSays, Conclusion, JudgedClaim, MetricRole, Says, SearchOutcome, SearchResult, Verdict, of_kind,
};
use kdyno_model::finding::{Finding, Quantity, Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{Depth, Strategy};

/// What makes a run fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gate {
    /// What is not met, or materially worse.
    Worse,
    /// That, and a claim or a threshold that has no answer: who asks for one is not content with silence.
    #[default]
    Claims,
    /// That, and a verdict or a search without an answer.
    Strict,
}

impl Gate {
    /// Whether an answer makes a run fail.
    pub fn fails(self, judged: RunAnswer) -> bool {
        match judged {
            RunAnswer::Invalid | RunAnswer::NotMet | RunAnswer::Worse => true,
            RunAnswer::Undecided => self != Self::Worse,
            RunAnswer::Inconclusive => self == Self::Strict,
            RunAnswer::Fine => false,
        }
    }
}

/// The answer of a run, the gravest part of it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunAnswer {
    /// Records were lost, or a figure that the run states as its answer must not be used.
    Invalid,
    /// A claim does not hold, a threshold is passed, or no load meets the conditions of a search.
    NotMet,
    /// Side B of a comparison is worse by more than the margin of a metric that was named.
    Worse,
    /// A claim or a threshold has no answer.
    Undecided,
    /// A verdict or a search has no answer, or of a difference it is open whether it matters. A quick look has none ever
    /// that could be worse.
    Inconclusive,
    /// None of these.
    Fine,
}

/// What the run as a whole comes to.
pub fn judged(input: &ReportInput<'_>) -> RunAnswer {
    // A threshold that is true says what figures next to it, which are invalid, could not change.
    let shown = if is_passed(input) { RunAnswer::Fine } else { shown(input) };
    let all = [
        lost(input),
        shown,
        unreported(input),
        nothing_acknowledged(input),
        comparison(input),
        found(input),
        claimed(input),
    ];
    all.into_iter().min().unwrap_or(RunAnswer::Fine)
}

/// What a comparison of stored runs comes to: no answer ever, since nothing was named to be judged; invalid where the runs
/// as a whole must not be compared.
pub fn of_stored_runs(judgement: &Judgement) -> RunAnswer {
    let is_void =
        |one: &ScopedCaveat| (one.severity, &one.concerns) == (Severity::Invalid, &Concern::Everything);
    if judgement.caveats.iter().any(is_void) {
        RunAnswer::Invalid
    } else {
        of_verdicts(&judgement.conclusions)
    }
}

/// By the verdicts on metrics that were named to be judged; what is only shown decides nothing.
fn of_verdicts(conclusions: &[Conclusion]) -> RunAnswer {
    let judged = of_kind::<Verdict>(conclusions).filter(|of| of.role == MetricRole::Judged);
    judged.map(of_verdict).min().unwrap_or(RunAnswer::Inconclusive)
}

fn lost(input: &ReportInput<'_>) -> RunAnswer {
    let is_loss = input.caveats.iter().any(|one| matches!(one.caveat, Caveat::Lost { .. }));
    if is_loss { RunAnswer::Invalid } else { RunAnswer::Fine }
}

/// The shown columns of a table of cases.
fn shown(input: &ReportInput<'_>) -> RunAnswer {
    if invalid_shown(input).next().is_some() { RunAnswer::Invalid } else { RunAnswer::Fine }
}

/// A load item without an acknowledged record, in a run of cases without a claim about it: it was not meant.
fn nothing_acknowledged(input: &ReportInput<'_>) -> RunAnswer {
    let plan = input.plan();
    let is_asked =
        matches!(plan.strategy, Strategy::List(_)) && plan.claims.iter().all(|claim| claim.is_threshold);
    let is_it = |one: &ScopedCaveat| matches!(one.caveat, Caveat::NothingAcknowledged { .. });
    if is_asked && input.caveats.iter().any(is_it) { RunAnswer::Invalid } else { RunAnswer::Fine }
}

/// A command that failed before it reported, in any trial of a case, a figure that is shown: there is none that could
/// be invalid.
fn unreported(input: &ReportInput<'_>) -> RunAnswer {
    let plan = input.plan();
    if !matches!(plan.strategy, Strategy::List(_)) {
        return RunAnswer::Fine;
    }
    let is_unreported = |(case, item): (u32, &String)| {
        let command = plan.cases.get(case as usize).and_then(|case| case.commands.get(item));
        let is_of_it = |of: &&Address| {
            of.subject == *item
                || command.is_some_and(|command| command.labels().any(|label| label == of.subject))
        };
        let has_figure = |of: &Address| {
            let of_case = |one: &&Finding| one.scope == Scope::Case(case) && one.of == *of;
            input.findings.iter().filter(of_case).any(|one| one.estimate != Value::None)
        };
        plan.show.columns.iter().filter(is_of_it).any(|of| !has_figure(of))
    };
    if failed_commands(input).any(is_unreported) { RunAnswer::Invalid } else { RunAnswer::Fine }
}

/// The commands that failed, with their case.
fn failed_commands<'a>(input: &'a ReportInput<'_>) -> impl Iterator<Item = (u32, &'a String)> {
    input.caveats.iter().filter_map(|one| match (&one.caveat, one.scope) {
        (Caveat::CommandFailed { item, .. }, Scope::Trial(id)) => Some((input.trial(id)?.case, item)),
        _ => None,
    })
}

/// Figures in the shown columns of a table of cases that must not be used, but for those whose bound decides a threshold.
pub(crate) fn invalid_shown<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = &'a Finding> + use<'a> {
    let by_bound = claims::judged(input).filter(|one| one.by_bound);
    let bounded: Vec<(&Address, u32)> = by_bound.flat_map(|one| figures(one, input)).collect();
    let is_bounded = move |one: &Finding| {
        bounded.iter().any(|(of, case)| one.scope == Scope::Case(*case) && one.of == **of)
    };
    let plan = input.plan();
    let is_list = matches!(plan.strategy, Strategy::List(_));
    let is_shown = |of: &Address| plan.show.columns.is_empty() || plan.show.columns.contains(of);
    let is_answer = move |one: &&Finding| {
        is_list && one.quantity == Quantity::Value && matches!(one.scope, Scope::Case(_)) && is_shown(&one.of)
    };
    input.findings.iter().filter(is_answer).filter(move |one| one.is_invalid() && !is_bounded(one))
}

fn comparison(input: &ReportInput<'_>) -> RunAnswer {
    match input.plan().strategy {
        Strategy::Compare(_) => of_verdicts(input.conclusions),
        Strategy::List(_) | Strategy::Find(_) => RunAnswer::Fine,
    }
}

/// One verdict of a comparison.
pub(crate) fn of_verdict(verdict: &Verdict) -> RunAnswer {
    match &verdict.says {
        Says::Invalid { .. } => RunAnswer::Invalid,
        // These starts only: no verdict, and so no red gate.
        Says::Different { material: true, worse: true } if verdict.depth == Depth::Quick => {
            RunAnswer::Inconclusive
        }
        Says::Different { material: true, worse: true } => RunAnswer::Worse,
        Says::Inconclusive { .. }
        | Says::DifferentAlone { .. }
        | Says::OnThisStart { .. }
        | Says::MaybeMaterial { .. } => RunAnswer::Inconclusive,
        Says::Different { .. } | Says::Equivalent => RunAnswer::Fine,
    }
}

fn found(input: &ReportInput<'_>) -> RunAnswer {
    if search::plan(input).is_none() {
        return RunAnswer::Fine;
    }
    of_kind::<SearchResult>(input.conclusions).map(of_search).min().unwrap_or(RunAnswer::Inconclusive)
}

/// The result of one search.
pub(crate) fn of_search(of: &SearchResult) -> RunAnswer {
    match of.outcome {
        SearchOutcome::Confirmed { .. } | SearchOutcome::EveryLoadPasses { .. } => RunAnswer::Fine,
        SearchOutcome::EveryLoadFails { .. } => RunAnswer::NotMet,
        SearchOutcome::NotConfirmed { .. }
        | SearchOutcome::GeneratorLimit { .. }
        | SearchOutcome::NoFigures { .. }
        | SearchOutcome::Unfinished => RunAnswer::Inconclusive,
    }
}

/// What its claims and thresholds alone come to.
pub fn claimed(input: &ReportInput<'_>) -> RunAnswer {
    if is_passed(input) {
        return RunAnswer::NotMet;
    }
    claims::judged(input).map(|one| of_claim(one, input)).min().unwrap_or(RunAnswer::Fine)
}

/// What makes it [`RunAnswer::NotMet`], each in a few words.
pub fn unmet(input: &ReportInput<'_>) -> Vec<&'static str> {
    let is_claim = |one: &JudgedClaim| !is_threshold(one, input) && of_claim(one, input) == RunAnswer::NotMet;
    let all = [
        (is_passed(input), "a `fail_if` is true"),
        (claims::judged(input).any(is_claim), "a claim does not hold"),
        (found(input) == RunAnswer::NotMet, "no load meets the conditions of the search"),
    ];
    all.into_iter().filter_map(|(is_unmet, words)| is_unmet.then_some(words)).collect()
}

/// Whether a threshold is true, by figures that may be used as far as that.
fn is_passed(input: &ReportInput<'_>) -> bool {
    claims::judged(input).any(|one| is_threshold(one, input) && of_claim(one, input) == RunAnswer::NotMet)
}

fn is_threshold(one: &JudgedClaim, input: &ReportInput<'_>) -> bool {
    claims::claim(one, input).is_some_and(|claim| claim.is_threshold)
}

/// The metrics of a claim, each with its case.
fn figures<'a>(
    one: &JudgedClaim,
    input: &ReportInput<'a>,
) -> impl Iterator<Item = (&'a Address, u32)> + use<'a> {
    let claim = claims::claim(one, input);
    claim.into_iter().flat_map(|claim| claim.left.metrics().chain(claim.right.metrics()))
}

/// One claim: invalid with any of its figures, unless a bound decides it.
pub(crate) fn of_claim(one: &JudgedClaim, input: &ReportInput<'_>) -> RunAnswer {
    let invalid = |(of, case): (&Address, u32)| {
        let is_it = |one: &Finding| {
            one.scope == Scope::Case(case) && one.of == *of && one.quantity == Quantity::Value
        };
        input.findings.iter().any(|one| is_it(one) && one.is_invalid())
    };
    match one.says {
        _ if !one.by_bound && figures(one, input).any(invalid) => RunAnswer::Invalid,
        ClaimSays::Holds => RunAnswer::Fine,
        ClaimSays::DoesNot => RunAnswer::NotMet,
        ClaimSays::CannotTell => RunAnswer::Undecided,
    }
}
