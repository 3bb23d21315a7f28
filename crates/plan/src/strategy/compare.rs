//! Pairs of trials of two sides, until the verdict is clear or the last look is reached.
//!
//! One case after the other. Clusters of both sides start together and are conditioned; then each carries the load in
//! turn, or in a duet both at once from the conditioning on, pair by pair, in an order that a coin gives for each pair. A start that an interruption or a lost trial ended
//! is left behind for the next one. At the looks that the plan names the metrics to be judged are looked at, and if all
//! of them are clear the case is done, of what differs also whether it matters; units of evidence that were lost are
//! replaced, up to a bound.

use super::trials::{ConditioningPace, Next, TrialBasis, Upcoming, conditioning, next_id, trial_seed};
use kdyno_analysis::comparison::{ComparisonProgress, progress, verdicts};
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::caveat::Caveat;
use kdyno_model::conclusion::{Conclusion, MetricRole, Says};
use kdyno_model::finding::Scope;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{CasePlan, ComparePlan, Depth, EvidenceUnit, PairDesign, Plan};
use kdyno_model::seed::mix;
use kdyno_model::trial::{PairPlace, Trial, TrialId, TrialReason};
use std::borrow::Cow;

/// What draws from the plan's seed are for, so that none of them is another's.
const ORDER_OF_PAIR: u64 = 0x7061_6972;
const ORDER_OF_START: u64 = 0x7374_6172;
/// Rows that are drawn at most: of those of two coins half are alike.
const DRAWS_MAX: u64 = 64;

/// See [`super::next`].
pub(super) fn next(plan: &Plan, settings: &ComparePlan, outcomes: &[TrialOutcome], session: u32) -> Next {
    let mut comparing = plan.case_numbers().map(|case| Comparing { plan, settings, outcomes, session, case });
    let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
    comparing.find_map(|comparing| comparing.next(&trials)).unwrap_or(Next::Stop)
}

/// See [`super::upcoming`]: up to the last look, with nothing lost.
pub(super) fn upcoming<'a>(plan: &'a Plan, settings: &'a ComparePlan) -> impl Iterator<Item = Upcoming<'a>> {
    up_to(TrialBasis::of_plan(plan), settings, settings.looks.iter().copied().max().unwrap_or(0))
}

/// The trials until each case has so many units of evidence.
pub(crate) fn up_to<'a>(
    ground: TrialBasis<'a>,
    settings: &'a ComparePlan,
    units: u32,
) -> impl Iterator<Item = Upcoming<'a>> {
    let per_start = settings.pairs_on_a_start();
    let (starts, pairs_max) = match settings.unit {
        EvidenceUnit::Pair => (units.div_ceil(per_start), units),
        EvidenceUnit::Cluster => (1, per_start),
        EvidenceUnit::Start | EvidenceUnit::Run => (units, units.saturating_mul(per_start)),
    };
    let mut start = 0;
    ground.cases.iter().zip(&settings.b).zip(0_u32..).flat_map(move |((a, b), case)| {
        let first = start;
        start += starts;
        (0..starts).flat_map(move |at| {
            let start = first + at + 1;
            let mut sides = vec![a];
            if b.system != a.system {
                sides.push(b);
            }
            let is_duet = settings.design == PairDesign::Duet;
            let pace = ConditioningPace::of(settings.design);
            let conditioned =
                sides.into_iter().filter_map(move |side| ground.conditioning(side, start, pace));
            let conditioned = conditioned
                .enumerate()
                .map(move |(place, of_side)| Upcoming { is_concurrent: is_duet && place > 0, ..of_side });
            let pairs = per_start.min(pairs_max - at * per_start);
            let sides =
                move |pair: u32| [0, 1].map(|side| settings.effective(ground.cases, side, case, pair));
            let trials = (0..pairs).flat_map(move |of_start| {
                let sides = sides(at * per_start + of_start + 1).into_iter().flatten();
                sides.enumerate().map(move |(place, side)| Upcoming {
                    case: Cow::Borrowed(side),
                    start,
                    is_conditioning: false,
                    is_concurrent: is_duet && place > 0,
                })
            });
            conditioned.chain(trials)
        })
    })
}

/// One case of a comparison that is under way.
struct Comparing<'a> {
    plan: &'a Plan,
    settings: &'a ComparePlan,
    outcomes: &'a [TrialOutcome],
    /// The one that goes on now.
    session: u32,
    case: u32,
}

/// A trial of a pair that ran.
#[derive(Clone, Copy)]
struct Ran<'a> {
    outcome: &'a TrialOutcome,
    place: PairPlace,
}

impl<'a> Comparing<'a> {
    /// Whether the last look was reached, or one at which everything was clear, or too much was lost.
    fn is_over(&self, trials: &[AnalysedTrial<'_>], progress: &ComparisonProgress) -> bool {
        if progress.is_exhausted || self.half_pair().is_some() {
            return progress.is_exhausted;
        }
        progress.is_look && self.is_clear(trials)
    }

    /// Whether each metric that is judged has its verdict: more units could show nothing more that matters.
    fn is_clear(&self, trials: &[AnalysedTrial<'_>]) -> bool {
        let judged = verdicts(self.plan, self.settings, trials).conclusions;
        let mut judged = judged.iter().filter_map(|conclusion| match conclusion {
            Conclusion::Verdict(verdict)
                if verdict.role == MetricRole::Judged
                    && verdict.scope == (Scope::Comparison { case: self.case }) =>
            {
                Some(&verdict.says)
            }
            _ => None,
        });
        // What is invalid stays so: its figures have no ratio.
        judged.all(|says| matches!(says, Says::Different { .. } | Says::Equivalent | Says::Invalid { .. }))
    }

    fn ran(&self) -> impl DoubleEndedIterator<Item = Ran<'a>> {
        let of_case = self.outcomes.iter().filter(|outcome| outcome.trial.case == self.case);
        of_case.filter_map(|outcome| Some(Ran { outcome, place: outcome.trial.pair? }))
    }

    /// The first trial of a pair whose second one can still follow; of two that run at once none can.
    fn half_pair(&self) -> Option<Ran<'a>> {
        if self.settings.design == PairDesign::Duet {
            return None;
        }
        let last = self.ran().next_back()?;
        (last.place.place == 1 && self.is_intact(last.outcome)).then_some(last)
    }

    /// Whether the clusters of a trial are still as they were conditioned: in this session, nothing ended the trial
    /// early, and none of them was replaced before it or has to be after it.
    fn is_intact(&self, outcome: &TrialOutcome) -> bool {
        let ends = |caveat: &Caveat| match caveat {
            Caveat::CutShort { .. } | Caveat::ProcessDied { .. } => true,
            Caveat::Unconditioned => self.plan.conditioning.is_some(),
            _ => false,
        };
        outcome.session == self.session && !outcome.caveats.iter().any(|of| ends(&of.caveat))
    }

    /// The start that the next pair belongs to: that of the pair before, while it is intact and has room for more.
    fn start(&self) -> u32 {
        let newest = self.outcomes.iter().map(|outcome| outcome.trial.start).max().unwrap_or(0);
        // Conditioning that ended early is not tried again: what is wrong will show in the pairs, which are bounded.
        let of_session = self.outcomes.last().filter(|last| last.session == self.session);
        if let Some(last) =
            of_session.filter(|last| last.trial.is_conditioning() && last.trial.case == self.case)
        {
            return last.trial.start;
        }
        let Some(last) = self.ran().next_back() else { return newest + 1 };
        let start = last.outcome.trial.start;
        let of_start = self.ran().filter(|ran| ran.outcome.trial.start == start);
        let (mut pairs, mut is_intact) = (Vec::new(), true);
        for ran in of_start {
            pairs.push(ran.place.pair);
            is_intact &= self.is_intact(ran.outcome);
        }
        pairs.dedup();
        let has_room = pairs.len() < self.settings.pairs_on_a_start() as usize;
        if is_intact && has_room { start } else { newest + 1 }
    }

    /// The next trial, or both of a duet's pair; `None` when the comparison is over.
    fn next(&self, trials: &[AnalysedTrial<'_>]) -> Option<Next> {
        let progress = progress(self.plan, self.settings, self.case, trials);
        if self.is_over(trials, &progress) {
            return None;
        }
        if let Some(Ran { outcome, place }) = self.half_pair() {
            let other = usize::from(outcome.trial.variant.as_deref() == Some(ComparePlan::SIDES[0]));
            let place = PairPlace { pair: place.pair, place: 2 };
            return self.half(other, place, outcome.trial.start).map(|trial| Next::Trial(Box::new(trial)));
        }
        let start = self.start();
        let first = self.coin(ORDER_OF_START, start);
        let conditioned = [first, 1 - first].map(|side| self.conditioning(side, start));
        if conditioned.iter().any(Option::is_some) {
            return self.by_design(conditioned);
        }
        let pair = progress.next_pair;
        let side = self.side_that_begins(pair);
        let half = |side: usize, place: u8| self.half(side, PairPlace { pair, place }, start);
        self.by_design([Some(half(side, 1)?), Some(half(1 - side, 2)?)])
    }

    fn coin(&self, of: u64, number: u32) -> usize {
        let drawn = mix(mix(self.plan.seed, of), (u64::from(self.case) << 32) | u64::from(number));
        usize::from(drawn & 1 == 1)
    }

    /// Which side comes first in a pair (0 is A, 1 is B). What a trial leaves to the next one looks like a side's doing where
    /// the same side always comes first (docs/METHOD.md, Comparing A and B).
    fn side_that_begins(&self, pair: u32) -> usize {
        if self.plan.depth == Depth::Quick {
            // One coin for two pairs: few coins are often all alike.
            return (self.coin(ORDER_OF_PAIR, pair.div_ceil(2)) + usize::from(pair.is_multiple_of(2))) % 2;
        }
        // A row of coins up to the first look that are all alike is drawn again.
        let row = self.settings.looks.first().copied().unwrap_or(0);
        let is_mixed = |draw: &u64| {
            let first = self.coin(ORDER_OF_PAIR + draw, 1);
            (2..=row).any(|pair| self.coin(ORDER_OF_PAIR + draw, pair) != first)
        };
        let draw = if pair <= row { (0..DRAWS_MAX).find(is_mixed).unwrap_or(0) } else { 0 };
        self.coin(ORDER_OF_PAIR + draw, pair)
    }

    /// What both sides are to run: the first trial, or in a duet both at once.
    fn by_design(&self, trials: [Option<Trial>; 2]) -> Option<Next> {
        match (trials, self.settings.design) {
            ([Some(one), Some(other)], PairDesign::Duet) => {
                let other = Trial { id: TrialId(one.id.0.saturating_add(1)), ..other };
                Some(Next::Together(Box::new([one, other])))
            }
            (trials, _) => trials.into_iter().flatten().next().map(|trial| Next::Trial(Box::new(trial))),
        }
    }

    /// The trial that conditions the cluster of a side (0 is A, 1 is B) on a start, unless it has run.
    fn conditioning(&self, side: usize, start: u32) -> Option<Trial> {
        let case = self.effective(side, 1)?;
        let trial = conditioning(self.plan, self.case, case, start, self.outcomes, self.session)?;
        let label = self.label(side, &trial.label);
        Some(Trial { variant: Some(ComparePlan::SIDES[side].to_owned()), label, ..trial })
    }

    /// What a side (0 is A, 1 is B) runs in a pair.
    fn effective(&self, side: usize, pair: u32) -> Option<&'a CasePlan> {
        self.settings.effective(&self.plan.cases, side, self.case, pair)
    }

    /// One trial of a pair. Both draw their arrivals from the same seed.
    fn half(&self, side: usize, place: PairPlace, start: u32) -> Option<Trial> {
        Some(Trial {
            id: next_id(self.outcomes),
            case: self.case,
            variant: Some(ComparePlan::SIDES[side].to_owned()),
            pair: Some(place),
            repeat: place.pair,
            start,
            label: self.label(side, &format!("#{}", place.pair)),
            reason: match self.settings.design {
                PairDesign::Turns => TrialReason::Pair,
                PairDesign::Duet => TrialReason::Duet,
            },
            seed: trial_seed(self.plan.seed, place.pair),
            effective: self.effective(side, place.pair)?.clone(),
        })
    }

    fn label(&self, side: usize, rest: &str) -> String {
        let case = self.plan.cases.get(self.case as usize).map_or("", |case| &case.label);
        let parts = [case, &self.settings.labels[side], rest];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
