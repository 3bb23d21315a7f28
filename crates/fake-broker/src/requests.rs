//! Requests that are not answered yet.

use super::connection::{ConnId, Slot};
use super::plan::ProduceFate;
use kdyno_kafka_server::codec::RequestHead;
use kdyno_kafka_server::codec::fetch::FetchPartition;

/// A produce request on its way through a server.
#[derive(Debug)]
pub(super) struct PendingProduce {
    pub conn: ConnId,
    pub slot: Slot,
    pub number: u64,
    pub head: RequestHead,
    /// The whole frame but its length, and where the body begins.
    pub frame: Vec<u8>,
    pub body_at: usize,
    /// Records of each partition's set in order; `None` where it is spoilt.
    pub sets: Vec<Option<u64>>,
    pub fate: ProduceFate,
}

/// A fetch that has not been answered.
#[derive(Debug)]
pub(super) struct WaitingFetch {
    pub conn: ConnId,
    pub slot: Slot,
    pub head: RequestHead,
    pub bytes_min: usize,
    pub bytes_max: usize,
    /// Committed records alone.
    pub is_committed: bool,
    /// Where the client is; empty: it does not say.
    pub rack: String,
    /// The session that it goes on with or has begun; 0: none.
    pub session: i32,
    /// It names all partitions of its session, and all are answered.
    pub is_full: bool,
    /// What is fetched, also what the session remembers.
    pub partitions: Vec<FetchedPartition>,
    /// The end of the client's wait.
    pub deadline: Option<TimerKey>,
}

/// A partition that is fetched.
#[derive(Debug, Clone)]
pub(super) struct FetchedPartition {
    pub topic: String,
    /// Id of the topic, where it was named by that.
    pub topic_id: [u8; 16],
    pub asked: FetchPartition,
    /// High watermark that the session has reported last.
    pub reported: i64,
}

/// What a broker remembers of a client's fetches.
#[derive(Debug)]
pub(super) struct FetchSession {
    pub broker: i32,
    /// Number of the next request.
    pub epoch: i32,
    pub partitions: Vec<FetchedPartition>,
}

/// Another request, until it is looked at.
#[derive(Debug)]
pub(super) struct ControlRequest {
    pub conn: ConnId,
    pub slot: Slot,
    pub head: RequestHead,
    pub frame: Vec<u8>,
    pub body_at: usize,
}

/// Instant of a timer, and a number that distinguishes it from others.
pub(super) type TimerKey = (u64, u64);
