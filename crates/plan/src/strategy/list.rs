//! The list: every case runs once in each repeat, in an order drawn from the seed.
//!
//! Within a repeat the systems are shuffled, and the cases of one system are shuffled and stay together, so that a
//! cluster is not rebuilt needlessly. With `isolation: cluster` each trial has a cluster of its own and all cases are
//! shuffled alike.

use super::trials::{ConditioningPace, Next, TrialBasis, Upcoming, conditioning, next_id, trial_seed};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{CasePlan, Isolation, ListedTrial, Plan};
use kdyno_model::seed::mix;
use kdyno_model::trial::{Trial, TrialReason};
use std::borrow::Cow;

/// See [`super::next`].
pub(super) fn next(plan: &Plan, list: &[ListedTrial], outcomes: &[TrialOutcome], session: u32) -> Next {
    let done = reported(outcomes).count();
    let Some(listed) = list.get(done).copied() else { return Next::Stop };
    let Some((case, start)) = starts(TrialBasis::of_plan(plan), list).nth(done) else { return Next::Stop };
    if let Some(trial) = conditioning(plan, listed.case, case, start, outcomes, session) {
        return Next::Trial(Box::new(trial));
    }
    let is_repeated = list.iter().any(|other| other.repeat > 1);
    let parts = [case.label.clone(), if is_repeated { format!("#{}", listed.repeat) } else { String::new() }];
    Next::Trial(Box::new(Trial {
        id: next_id(outcomes),
        case: listed.case,
        variant: None,
        pair: None,
        repeat: listed.repeat,
        start,
        label: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
        reason: TrialReason::Listed { of: u32::try_from(list.len()).unwrap_or(u32::MAX) },
        seed: trial_seed(plan.seed, listed.repeat),
        effective: case.clone(),
    }))
}

/// The trials of a list: see [`super::upcoming`].
pub(crate) fn listed<'a>(
    ground: TrialBasis<'a>,
    list: &'a [ListedTrial],
) -> impl Iterator<Item = Upcoming<'a>> {
    let mut before = 0;
    starts(ground, list).flat_map(move |(case, start)| {
        let is_first = std::mem::replace(&mut before, start) != start;
        let first = is_first.then(|| ground.conditioning(case, start, ConditioningPace::Most)).flatten();
        let case = Cow::Borrowed(case);
        first.into_iter().chain([Upcoming { case, start, is_conditioning: false, is_concurrent: false }])
    })
}

/// The outcomes that answer something: all but those of trials that condition a cluster.
fn reported(outcomes: &[TrialOutcome]) -> impl Iterator<Item = &TrialOutcome> {
    outcomes.iter().filter(|outcome| !outcome.trial.is_conditioning())
}

/// The case of each trial of the list and the number of the start of its cluster.
fn starts<'a>(ground: TrialBasis<'a>, list: &'a [ListedTrial]) -> impl Iterator<Item = (&'a CasePlan, u32)> {
    ground.starts(list.iter().filter_map(move |listed| ground.cases.get(listed.case as usize)))
}

/// The seed of a scenario when none is given: FNV-1a of its id.
pub(crate) fn seed_of(id: &str) -> u64 {
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Every case, `repeats` times, in an order drawn from the seed.
pub(crate) fn list(cases: &[CasePlan], repeats: u32, isolation: Isolation, seed: u64) -> Vec<ListedTrial> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (index, case) in (0_u32..).zip(cases) {
        let same = groups
            .iter_mut()
            .find(|group| isolation != Isolation::Cluster && cases[group[0] as usize].system == case.system);
        match same {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    let mut draw = Draw { seed, drawn: 0 };
    let mut found = Vec::new();
    for repeat in 1..=repeats {
        draw.shuffle(&mut groups);
        for group in &mut groups {
            draw.shuffle(group);
            found.extend(group.iter().map(|&case| ListedTrial { case, repeat }));
        }
    }
    found
}

/// Draws from a seed, one after the other.
struct Draw {
    seed: u64,
    drawn: u64,
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed, self.drawn - 1)
    }

    /// Fisher–Yates. The bias of the remainder is below 2^-50 for the few items there are.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let at = (self.next() % (end as u64 + 1)) as usize;
            items.swap(end, at);
        }
    }
}
