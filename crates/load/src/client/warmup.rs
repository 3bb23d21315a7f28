//! The first records of a client, which come before its steady state.

use crate::recorder::Recorder;

/// How many of them are left. No record behind them is accepted at the instant of the last one, so that the two kinds can
/// be distinguished by their instants.
#[derive(Debug, Default)]
pub(super) struct WarmupRecords {
    left: u64,
    ended_ns: Option<u64>,
}

impl WarmupRecords {
    /// So many; 0: the client has no steady state of its own.
    pub(super) fn new(records: u64) -> Self {
        Self { left: records, ended_ns: None }
    }

    /// How many records may be accepted at this instant at most.
    #[inline]
    pub(super) fn room(&self, now_ns: u64) -> u64 {
        match (self.left, self.ended_ns) {
            (0, Some(ended_ns)) if ended_ns == now_ns => 0,
            (0, _) => u64::MAX,
            (left, _) => left,
        }
    }

    /// Takes note of records that were accepted. Returns whether they were the last ones: another turn is due at once.
    #[inline]
    pub(super) fn take(&mut self, records: u64, now_ns: u64, recorder: &mut Recorder) -> bool {
        let were_left = self.left;
        self.left -= records.min(were_left);
        let are_last = were_left > 0 && self.left == 0;
        if are_last {
            self.ended_ns = Some(now_ns);
            recorder.steady_after(now_ns);
        }
        are_last
    }
}
