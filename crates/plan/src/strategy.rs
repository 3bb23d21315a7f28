//! Which trial comes next, given what came of those before. Pure.
//!
//! A strategy is asked after every trial and names one more, with all that it runs and why, or stops. The list
//! is the one in this version: every case runs once in each repeat. Within a repeat the systems are shuffled,
//! and the cases of one system are shuffled and stay together, so that a cluster is not rebuilt needlessly.
//! With `isolation: cluster` each trial has a cluster of its own and all cases are shuffled alike.

use kdyno_model::finding::TrialOutcome;
use kdyno_model::plan::{CasePlan, Isolation, ListedTrial, Plan, Strategy};
use kdyno_model::seed::mix;
use kdyno_model::trial::{Trial, TrialId, TrialReason};

/// What a strategy says.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run this one.
    Trial(Box<Trial>),
    /// The question is answered as far as it will be.
    Stop,
}

/// The next trial of a run of the plan, or its end. `outcomes` are those of its trials so far, in order.
pub fn next(plan: &Plan, outcomes: &[TrialOutcome]) -> Next {
    match &plan.strategy {
        Strategy::List(list) => next_listed(plan, list, outcomes.len()),
    }
}

/// The cases that will be run after the first `done` trials, as far as that is known; and whether it is all.
pub fn upcoming(plan: &Plan, done: usize) -> impl Iterator<Item = &CasePlan> {
    match &plan.strategy {
        Strategy::List(list) => {
            list.iter().skip(done).filter_map(|listed| plan.cases.get(listed.case as usize))
        }
    }
}

fn next_listed(plan: &Plan, list: &[ListedTrial], done: usize) -> Next {
    let listed = list.get(done).copied();
    let case = listed.and_then(|listed| plan.cases.get(listed.case as usize));
    let (Some(listed), Some(case)) = (listed, case) else { return Next::Stop };
    let is_repeated = list.iter().any(|other| other.repeat > 1);
    let parts = [case.label.clone(), if is_repeated { format!("#{}", listed.repeat) } else { String::new() }];
    Next::Trial(Box::new(Trial {
        id: TrialId(u32::try_from(done + 1).unwrap_or(u32::MAX)),
        case: listed.case,
        variant: None,
        pair: None,
        repeat: listed.repeat,
        label: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
        reason: TrialReason::Listed { of: u32::try_from(list.len()).unwrap_or(u32::MAX) },
        seed: trial_seed(plan.seed, listed),
        effective: case.clone(),
    }))
}

/// A trial's seed: the same plan gives the same seed, two trials different ones.
fn trial_seed(plan_seed: u64, listed: ListedTrial) -> u64 {
    mix(plan_seed, (u64::from(listed.case) << 32) | u64::from(listed.repeat.saturating_sub(1)))
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

/// The seed of a scenario when none is given: FNV-1a of its id.
pub(crate) fn seed_of(id: &str) -> u64 {
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Every case, `repeats` times, in an order drawn from the seed.
pub(crate) fn list(cases: &[CasePlan], repeats: u32, isolation: Isolation, seed: u64) -> Strategy {
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
    Strategy::List(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn seeds_repeat_for_the_same_plan_and_differ_between_trials() {
        let mut seen = BTreeSet::new();
        for case in 0..20 {
            for repeat in 1..=20 {
                let listed = ListedTrial { case, repeat };
                assert_eq!(trial_seed(7, listed), trial_seed(7, listed));
                assert!(seen.insert(trial_seed(7, listed)));
                assert!(seen.insert(trial_seed(8, listed)));
            }
        }
    }
}
