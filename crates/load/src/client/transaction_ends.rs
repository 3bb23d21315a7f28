//! When a client's transactions end, and how.

use kdyno_model::plan::TransactionsPlan;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// When and how those of one client end.
#[derive(Debug)]
pub(super) struct TransactionEnds {
    plan: TransactionsPlan,
    random: Pcg64,
    /// That there will be no more of them was reported.
    pub(super) is_reported: bool,
}

impl TransactionEnds {
    /// As planned; what is drawn from the seed says which are aborted.
    pub(super) fn new(plan: TransactionsPlan, seed: u64) -> Self {
        Self { plan, random: Pcg64::seed_from_u64(seed), is_reported: false }
    }

    /// When one that began at this instant ends at the latest, ns.
    pub(super) fn ends_ns(&self, began_ns: u64) -> u64 {
        began_ns.saturating_add(self.plan.every_ns)
    }

    /// Whether the next one that ends is committed.
    pub(super) fn draw_is_commit(&mut self) -> bool {
        !self.random.random_bool(self.plan.abort_share)
    }
}
