//! What an answer changes in addition to a consuming client's positions.

use super::reading::FetchTally;
use super::types::{ConsumerEvent, Fetched};
use crate::messages::LeaderHints;

/// What an answer changes in addition to the positions.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Metadata is to be fetched again.
    pub is_metadata_old: bool,
    /// A partition could not be answered.
    pub has_error: bool,
    /// Another replica is to be asked.
    pub is_sent_on: bool,
    pub tally: FetchTally,
    pub throttled_ns: u64,
    pub events: Vec<ConsumerEvent>,
    pub hints: LeaderHints,
}

impl Effects {
    /// Whether the broker had nothing to give. One that throttles us may have, and send it later.
    pub(super) fn is_empty(&self) -> bool {
        let is_answered = !self.has_error && !self.is_sent_on && self.throttled_ns == 0;
        self.tally == FetchTally::default() && !self.is_metadata_old && is_answered
    }

    /// What the answer brought, as it is reported.
    pub(super) fn fetched(&self, connection: usize, received_ns: u64, response_bytes: usize) -> Fetched {
        let (tally, throttled_ns) = (self.tally, self.throttled_ns);
        Fetched { received_ns, response_bytes, tally, connection, throttled_ns }
    }
}
