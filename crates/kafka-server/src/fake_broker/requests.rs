//! Requests that are not answered yet.

use super::connection::{ConnId, Slot};
use super::plan::Fate;
use crate::codec::RequestHead;
use crate::codec::fetch::FetchPartition;

/// A produce request on its way through a server.
#[derive(Debug)]
pub(super) struct Produce {
    pub conn: ConnId,
    pub slot: Slot,
    pub number: u64,
    pub head: RequestHead,
    /// The whole frame but its length, and where the body begins.
    pub frame: Vec<u8>,
    pub body_at: usize,
    /// Records of each partition's set in order; `None` where it is spoilt.
    pub sets: Vec<Option<u64>>,
    pub fate: Fate,
}

/// A fetch that has not been answered.
#[derive(Debug)]
pub(super) struct WaitingFetch {
    pub conn: ConnId,
    pub slot: Slot,
    pub head: RequestHead,
    pub bytes_min: usize,
    pub bytes_max: usize,
    /// Each with its name and, where it was named by that, its id.
    pub topics: Vec<(String, [u8; 16], Vec<FetchPartition>)>,
    /// The end of the client's wait.
    pub deadline: Option<TimerKey>,
}

/// Another request, until it is looked at.
#[derive(Debug)]
pub(super) struct Control {
    pub conn: ConnId,
    pub slot: Slot,
    pub head: RequestHead,
    pub frame: Vec<u8>,
    pub body_at: usize,
}

/// Instant of a timer, and a number that tells it from others.
pub(super) type TimerKey = (u64, u64);
