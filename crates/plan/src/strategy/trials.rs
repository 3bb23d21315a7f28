//! What the strategies share: what one says, and the trials that condition a cluster.

use crate::phases::warmup_records;
use crate::planned::PlannedCases;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{
    CasePlan, Conditioning, Fill, Isolation, LoadSpan, PairDesign, PhasesPlan, Plan, Rate, RatePiece, Role,
    Strategy, WarmupAuto,
};
use kdyno_model::seed::mix;
use kdyno_model::trial::{Trial, TrialId, TrialReason};
use std::borrow::Cow;

/// Measured window of a trial that only conditions a cluster: a trial has one, and nothing is drawn from this.
const CONDITIONING_WINDOW_NS: u64 = 1_000_000_000;

/// What a strategy says.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run this one.
    Trial(Box<Trial>),
    /// Run these two at once, the first one's workers started first: a pair of a duet.
    Together(Box<[Trial; 2]>),
    /// The question is answered as far as it will be.
    Stop,
}

impl Next {
    /// The trials that are to be run at once; none: it stops.
    pub fn trials(self) -> Vec<Trial> {
        match self {
            Self::Trial(trial) => vec![*trial],
            Self::Together(pair) => Vec::from(*pair),
            Self::Stop => Vec::new(),
        }
    }
}

/// What trials are made of, also of a plan in the making.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialBasis<'a> {
    /// The cases; of a comparison those of side A.
    pub cases: &'a [CasePlan],
    /// What is made again for each trial.
    pub isolation: Isolation,
    /// What a fresh cluster gets.
    pub conditioning: Option<Conditioning>,
}

impl<'a> TrialBasis<'a> {
    /// The trials of a plan.
    pub(super) fn of_plan(plan: &'a Plan) -> Self {
        Self { cases: &plan.cases, isolation: plan.isolation, conditioning: plan.conditioning }
    }

    /// The trials of cases that have no strategy yet.
    pub fn of(planned: &'a PlannedCases) -> Self {
        let PlannedCases { cases, isolation, conditioning, .. } = planned;
        Self { cases, isolation: *isolation, conditioning: *conditioning }
    }

    /// For each of these cases, in the order in which they run, the number of the start of its cluster: cases of one
    /// system that follow each other share one, unless every one is to have its own.
    pub(super) fn starts(
        self,
        cases: impl Iterator<Item = &'a CasePlan>,
    ) -> impl Iterator<Item = (&'a CasePlan, u32)> {
        let mut before: Option<&CasePlan> = None;
        let mut start = 0;
        cases.map(move |case| {
            let is_shared = self.isolation != Isolation::Cluster;
            let is_kept = is_shared && before.is_some_and(|before| before.system == case.system);
            before = Some(case);
            start += u32::from(!is_kept);
            (case, start)
        })
    }

    /// The trial that conditions a case's cluster on a start, if one does.
    pub(super) fn conditioning(
        self,
        case: &CasePlan,
        start: u32,
        pace: ConditioningPace,
    ) -> Option<Upcoming<'a>> {
        let case = Cow::Owned(conditioned_by(self.conditioning?, case, pace)?);
        Some(Upcoming { case, start, is_conditioning: true, is_concurrent: false })
    }
}

/// How fast a case's own load is when it conditions a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditioningPace {
    /// As fast as it goes: what takes most CPU time is compiled soonest.
    Most,
    /// As planned. A duet's sides share the machine as they do in its pairs, and small batches at a given rate take another
    /// way through the brokers than full ones.
    Planned,
}

impl ConditioningPace {
    /// The trials of pairs of a design.
    pub(super) fn of(design: PairDesign) -> Self {
        match design {
            PairDesign::Turns => Self::Most,
            PairDesign::Duet => Self::Planned,
        }
    }

    /// The trials of a plan.
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        match &plan.strategy {
            Strategy::Compare(comparison) => Self::of(comparison.design),
            Strategy::List(_) | Strategy::Find(_) => Self::Most,
        }
    }
}

/// A trial that will run.
#[derive(Debug, Clone)]
pub struct Upcoming<'a> {
    /// What it runs.
    pub case: Cow<'a, CasePlan>,
    /// On which start of its cluster.
    pub start: u32,
    /// It only conditions its cluster.
    pub is_conditioning: bool,
    /// It runs at once with the one before it, and takes no time of its own.
    pub is_concurrent: bool,
}

/// The trial that conditions the cluster of a case and start, if the plan wants one and none has run yet in the session
/// that goes on.
pub(super) fn conditioning(
    plan: &Plan,
    case: u32,
    effective: &CasePlan,
    start: u32,
    outcomes: &[TrialOutcome],
    session: u32,
) -> Option<Trial> {
    let conditioned = conditioned_by(plan.conditioning?, effective, ConditioningPace::of_plan(plan))?;
    let has_run = |outcome: &TrialOutcome| {
        let trial = &outcome.trial;
        let is_of_start = trial.start == start && outcome.session == session;
        trial.is_conditioning() && is_of_start && trial.effective.system == effective.system
    };
    if outcomes.iter().any(has_run) {
        return None;
    }
    Some(Trial {
        id: next_id(outcomes),
        case,
        variant: None,
        pair: None,
        repeat: 1,
        start,
        label: "conditioning".to_owned(),
        reason: TrialReason::Conditioning,
        seed: mix(plan.seed, u64::from(start)),
        effective: conditioned,
    })
}

/// What conditions a case's cluster: its own load until it has settled. `None`: the cluster is somebody's, or there is none.
pub(crate) fn conditioned_by(how: Conditioning, case: &CasePlan, pace: ConditioningPace) -> Option<CasePlan> {
    let Conditioning { least_ns, most_ns } = how;
    if !case.system.starts_brokers() {
        return None;
    }
    let mut case = case.clone();
    // What somebody else's program does to a cluster it does once, measured.
    case.commands.clear();
    case.components.clear();
    for item in case.load.values_mut() {
        item.span = LoadSpan::default();
        if let Role::Consume(consume) = &mut item.role {
            // Brokers get no warmer by readers that wait, and those would have a backlog to work off.
            consume.work = None;
        }
        if let Role::Produce(produce) = &mut item.role {
            produce.records_max = None;
            match (&mut produce.rate, pace) {
                (rate, ConditioningPace::Most) => *rate = Rate::Max { fill: Fill::InFlight },
                (Rate::Open { pieces, .. }, ConditioningPace::Planned) => hold_highest(pieces),
                (Rate::Max { .. }, ConditioningPace::Planned) => {}
            }
        }
    }
    let records_min = match pace {
        // As fast as it goes there are enough of them.
        ConditioningPace::Most => 0,
        ConditioningPace::Planned => warmup_records(&case.load, most_ns),
    };
    case.phases = PhasesPlan {
        warmup_ns: most_ns,
        warmup_auto: Some(WarmupAuto { least_ns, records_min }),
        measure_ns: CONDITIONING_WINDOW_NS,
        drain_ns: case.phases.drain_ns,
    };
    Some(case)
}

/// A ramp or steps, held at their highest rate: until the measure phase begins the first one holds, which may be nothing.
fn hold_highest(pieces: &mut Vec<RatePiece>) {
    let highest = pieces.iter().map(|piece| piece.from_per_s.max(piece.to_per_s)).reduce(f64::max);
    let first = pieces.first().zip(highest);
    if let Some(held) = first.map(|(first, per_s)| RatePiece { from_per_s: per_s, to_per_s: per_s, ..*first })
    {
        *pieces = vec![held];
    }
}

/// The number of the trial after these.
pub(super) fn next_id(outcomes: &[TrialOutcome]) -> TrialId {
    TrialId(u32::try_from(outcomes.len() + 1).unwrap_or(u32::MAX))
}

/// The seed of a trial's arrivals: the same for all cases of a repeat and both sides of a pair, so that what differs
/// between them is not the draw.
pub(super) fn trial_seed(plan_seed: u64, repeat: u32) -> u64 {
    mix(plan_seed, u64::from(repeat.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn seeds_repeat_for_the_same_repeat_and_differ_between_repeats() {
        let mut seen = BTreeSet::new();
        for repeat in 1..=20 {
            assert_eq!(trial_seed(7, repeat), trial_seed(7, repeat));
            assert!(seen.insert(trial_seed(7, repeat)));
            assert!(seen.insert(trial_seed(8, repeat)));
        }
    }
}
