//! What a consuming client knows as a member of a group.

use crate::group::{GroupEvent, GroupRequest, Member};
use crate::messages::{
    Api, m01_fetch, m02_list_offsets, m03_metadata, m08_offset_commit, m09_offset_fetch,
    m10_find_coordinator, m11_join_group, m12_heartbeat, m13_leave_group, m14_sync_group,
    m68_consumer_group_heartbeat,
};
use crate::wire::WireError;
use std::sync::Arc;

/// What brokers must speak to a member of a classic group.
pub const NEEDS_CLASSIC: &[Api] = &[
    m03_metadata::API,
    m02_list_offsets::API,
    m01_fetch::API,
    m08_offset_commit::API,
    m09_offset_fetch::API,
    m10_find_coordinator::API,
    m11_join_group::API,
    m12_heartbeat::API,
    m13_leave_group::API,
    m14_sync_group::API,
];
/// The same of a group of the consumer protocol.
pub const NEEDS_CONSUMER: &[Api] = &[
    m03_metadata::API,
    m02_list_offsets::API,
    m01_fetch::API,
    m08_offset_commit::API,
    m09_offset_fetch::API,
    m10_find_coordinator::API,
    m68_consumer_group_heartbeat::API,
];

/// A member, with the name of the one topic that it reads.
#[derive(Debug)]
pub(super) struct Membership {
    pub member: Member,
    pub topic: Arc<str>,
    /// What happened and has not been taken.
    pub events: Vec<(u64, GroupEvent)>,
    /// How many partitions the topic has, as the member knows it.
    pub partitions: usize,
}

impl Membership {
    /// An answer came to what it asked.
    pub(super) fn on_answer(
        &mut self,
        request: GroupRequest,
        answer: (i16, &[u8]),
        now_ns: u64,
    ) -> Result<(), WireError> {
        self.member.on_answer(request, answer, now_ns)
    }
}
