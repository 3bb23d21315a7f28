//! The order of the trials, drawn from the seed.
//!
//! Every case runs once in each repeat. Within a repeat the systems are shuffled, and the cases of one
//! system are shuffled and stay together, so that a cluster is not rebuilt needlessly. With
//! `isolation: cluster` each trial has a cluster of its own and all cases are shuffled alike.

use kdyno_model::plan::{CasePlan, Isolation, TrialRef};

/// SplitMix64: small, and fixed here so that a seed means the same order in every version.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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

pub(crate) fn order(cases: &[CasePlan], repeat: u32, isolation: Isolation, seed: u64) -> Vec<TrialRef> {
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
    let mut draw = Draw(seed);
    let mut found = Vec::new();
    for repeat in 0..repeat {
        draw.shuffle(&mut groups);
        for group in &mut groups {
            draw.shuffle(group);
            found.extend(group.iter().map(|&case| TrialRef { case, repeat }));
        }
    }
    found
}
