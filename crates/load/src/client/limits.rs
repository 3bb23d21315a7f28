//! How many records a client may take at an instant: the first ones come before its steady state, and a transaction may hold
//! so many.

use crate::recorder::Recorder;
use kdyno_model::plan::ProducePlan;

/// What is left of both. No record behind the first ones is accepted at the instant of the last one of them, so that the two
/// kinds can be distinguished by their instants.
#[derive(Debug, Default)]
pub(super) struct AdmissionLimits {
    /// Records before the steady state; 0 from the beginning: the client has no steady state of its own.
    warmup_left: u64,
    warmup_ended_ns: Option<u64>,
    /// Records of a transaction, and those that the open one may still hold; `None`: any number.
    transaction: Option<(u64, u64)>,
}

impl AdmissionLimits {
    /// The limits of a plan.
    pub(super) fn new(plan: &ProducePlan) -> Self {
        let records = plan.transactions.and_then(|transactions| transactions.records);
        Self {
            warmup_left: plan.tool_lines.map_or(0, |lines| lines.warmup_records),
            warmup_ended_ns: None,
            transaction: records.map(|records| (records, records)),
        }
    }

    /// How many records may be accepted at this instant at most.
    #[inline]
    pub(super) fn room(&self, now_ns: u64) -> u64 {
        let of_transaction = self.transaction.map_or(u64::MAX, |(_, left)| left);
        match (self.warmup_left, self.warmup_ended_ns) {
            (0, Some(ended_ns)) if ended_ns == now_ns => 0,
            (0, _) => of_transaction,
            (left, _) => left.min(of_transaction),
        }
    }

    /// Takes note of records that were accepted. Returns whether another turn is due at once: they were the last ones before
    /// the steady state, or of a transaction.
    #[inline]
    pub(super) fn take(&mut self, records: u64, now_ns: u64, recorder: &mut Recorder) -> bool {
        let were_left = self.warmup_left;
        self.warmup_left -= records.min(were_left);
        let are_last = were_left > 0 && self.warmup_left == 0;
        if are_last {
            self.warmup_ended_ns = Some(now_ns);
            recorder.steady_after(now_ns);
        }
        if let Some((_, left)) = &mut self.transaction {
            *left -= records.min(*left);
        }
        are_last || self.is_transaction_full()
    }

    /// Whether the open transaction holds as many records as it may.
    #[inline]
    pub(super) fn is_transaction_full(&self) -> bool {
        matches!(self.transaction, Some((_, 0)))
    }

    /// A transaction is over: the next one is empty.
    pub(super) fn transaction_over(&mut self) {
        if let Some((records, left)) = &mut self.transaction {
            *left = *records;
        }
    }
}
