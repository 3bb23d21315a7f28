//! Which caveats of a comparison speak of what its verdicts are about, and what is said of the others.

use crate::input::ReportInput;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::concern::{rank, timing};
use kdyno_model::conclusion::{MetricRole, Verdict, of_kind};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::{PairDesign, Strategy};
use kdyno_model::sample::Timing;
use std::collections::BTreeMap;

/// What is invalid where nothing of a trial may be used.
pub(crate) const ALL_FIGURES: &str = "all figures";

/// Whether a caveat speaks only of figures that no verdict is about: they were not judged, and no table shows them.
/// Never where a run has no verdict.
pub(super) fn is_elsewhere(input: &ReportInput<'_>, caveat: &ScopedCaveat) -> bool {
    let mut verdicts = of_kind::<Verdict>(input.conclusions).peekable();
    caveat.is_of_some() && verdicts.peek().is_some() && !verdicts.any(|one| caveat.speaks_of(&one.of))
}

/// Whether details report it with the verdicts: which pairs do not count, and that brokers waited for a CPU where both sides of a pair
/// ran at once, which limits what the ratio says, of all pairs alike.
pub(crate) fn is_shown_with_verdicts(input: &ReportInput<'_>, caveat: &ScopedCaveat) -> bool {
    if matches!(caveat.caveat, Caveat::PairsLost { .. } | Caveat::PairsTied(_)) {
        return of_kind::<Verdict>(input.conclusions).any(|one| one.scope == caveat.scope);
    }
    let is_duet = input.plan().strategy.as_compare().is_some_and(|of| of.design == PairDesign::Duet);
    waited(&caveat.caveat).is_some() && is_duet && of_kind::<Verdict>(input.conclusions).next().is_some()
}

/// The share of brokers that waited for a CPU, and whether it is one of the time in which they ran or were ready; else
/// it is one of the window.
pub(crate) fn waited(caveat: &Caveat) -> Option<(f64, bool)> {
    match caveat {
        Caveat::WaitedForProcessor { who, share, share_of_ready } if *who == Subject::Brokers.to_string() => {
            Some((share_of_ready.unwrap_or(*share), share_of_ready.is_some()))
        }
        _ => None,
    }
}

/// One line on the caveats that speak only of figures that no verdict is about; `None`: there is none.
pub(crate) fn elsewhere(input: &ReportInput<'_>) -> Option<String> {
    let mut kinds: BTreeMap<&str, KindReach<'_>> = BTreeMap::new();
    for one in input.caveats.iter().filter(|one| is_elsewhere(input, one)) {
        let Some(part) = part(one) else { continue };
        let kind = kinds.entry(what(&one.caveat)).or_default();
        kind.is_invalid |= one.severity == Severity::Invalid;
        kind.add(part);
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(what, kind)| kind.text(what)).collect();
    (!kinds.is_empty()).then(|| {
        format!("Other metrics with caveats: {}. The page (`kdyno report`) has each.", kinds.join("; "))
    })
}

/// The caveats of one kind.
#[derive(Default)]
struct KindReach<'a> {
    is_invalid: bool,
    /// For each load item the lowest quantile or what else they speak of, and its mean.
    parts: BTreeMap<(&'a str, bool), AffectedFigures<'a>>,
}

impl<'a> KindReach<'a> {
    fn add(&mut self, (item, part): (&'a str, AffectedFigures<'a>)) {
        let known = self.parts.entry((item, part.is_mean())).or_insert(part);
        if part.rank() < known.rank() {
            *known = part;
        }
    }

    fn figures(&self) -> String {
        let parts = self.parts.iter().map(|((item, _), part)| match part {
            AffectedFigures::From(quantile) => format!("{item} at {quantile} and above"),
            AffectedFigures::Mean => format!("the mean of {item}"),
            AffectedFigures::All(what) => format!("{what} of {item}"),
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    fn text(&self, what: &str) -> String {
        let invalid = if self.is_invalid { ", in some trials so that they are invalid" } else { "" };
        format!("{what}{invalid} ({})", self.figures())
    }
}

/// Which figures are invalid for caveats that are reported together: `latencies of writers`. Empty where the answer rests on
/// none of these, as where a repeat is left out.
pub(super) fn invalid(input: &ReportInput<'_>, caveats: &[&ScopedCaveat]) -> String {
    let is_invalid = |one: &&ScopedCaveat| one.severity == Severity::Invalid && is_of_answer(input, one);
    let mut all = KindReach::default();
    for one in caveats.iter().copied().filter(is_invalid) {
        match part(one) {
            Some(part) => all.add(part),
            None => return ALL_FIGURES.to_owned(),
        }
    }
    all.figures()
}

/// Whether a figure that the answer rests on is invalid for a caveat: of a comparison what was judged, of a run of cases what is
/// shown or claimed.
fn is_of_answer(input: &ReportInput<'_>, caveat: &ScopedCaveat) -> bool {
    let plan = input.plan();
    // Lost records make a run invalid wherever they were lost.
    if matches!(caveat.caveat, Caveat::Lost { .. }) {
        return true;
    }
    if matches!(plan.strategy, Strategy::Compare(_)) {
        let is_judged = |one: &&Verdict| one.role == MetricRole::Judged;
        let mut judged = of_kind::<Verdict>(input.conclusions).filter(is_judged).peekable();
        return judged.peek().is_none() || judged.any(|one| caveat.speaks_of(&one.of));
    }
    let shown = &plan.show.columns;
    if shown.is_empty() || !matches!(plan.strategy, Strategy::List(_)) {
        return true;
    }
    let case = match caveat.scope {
        Scope::Trial(id) => input.trial(id).map(|trial| trial.case),
        _ => None,
    };
    let of_claims = plan.claims.iter().flat_map(|claim| claim.left.metrics().chain(claim.right.metrics()));
    let claimed: Vec<&Address> = of_claims.map(|(of, _)| of).collect();
    let is_of_case =
        |one: &Finding| matches!(one.scope, Scope::Case(own) if case.is_none_or(|case| case == own));
    // What is consumed late was sent late.
    let is_behind = |of: &Address| {
        matches!(caveat.concerns, Concern::Latencies { .. })
            && timing(&of.metric).is_some_and(|(timing, _)| Timing::OF_HANDED.contains(&timing))
    };
    let concerns = |of: &Address| caveat.concerns.covers(of) || is_behind(of);
    // A figure that was never reported has no finding, or one without a value.
    shown.iter().chain(claimed).filter(|of| concerns(of)).any(|of| {
        let mut found = input.findings.iter().filter(|one| is_of_case(one) && one.of == *of).peekable();
        found.peek().is_none() || found.any(|one| one.is_invalid() || one.estimate == Value::None)
    })
}

/// Which figures of a load item a caveat speaks of.
#[derive(Debug, Clone, Copy)]
enum AffectedFigures<'a> {
    From(&'a str),
    Mean,
    All(&'static str),
}

impl AffectedFigures<'_> {
    fn is_mean(self) -> bool {
        matches!(self, Self::Mean)
    }

    fn rank(self) -> f64 {
        match self {
            Self::From(quantile) => rank(quantile).unwrap_or(1.0),
            Self::Mean | Self::All(_) => 0.0,
        }
    }
}

/// The load item and which of its figures; `None`: of all figures.
fn part(caveat: &ScopedCaveat) -> Option<(&str, AffectedFigures<'_>)> {
    match (&caveat.caveat, &caveat.concerns) {
        (Caveat::FewRecords { item, quantile, .. }, _)
        | (_, Concern::LatenciesFrom { item, quantile } | Concern::ServiceFrom { item, quantile }) => {
            Some((item.as_str(), AffectedFigures::From(quantile.as_str())))
        }
        (_, Concern::Latencies { item }) => Some((item.as_str(), AffectedFigures::All("latencies"))),
        (_, Concern::Rates { item }) => Some((item.as_str(), AffectedFigures::All("rates"))),
        (_, Concern::Command { item, .. }) => Some((item.as_str(), AffectedFigures::All("figures"))),
        (_, Concern::Mean { item }) => Some((item.as_str(), AffectedFigures::Mean)),
        (_, Concern::Everything) => None,
    }
}

/// What speaks against them, in a few words.
fn what(caveat: &Caveat) -> &'static str {
    match caveat.row().brief {
        "" => "other caveats",
        brief => brief,
    }
}
