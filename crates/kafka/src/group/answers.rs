//! What answers, and their absence, mean to a member.

use super::member::{Member, MemberProtocol};
use super::{GroupEvent, GroupRequest, GroupRequestKind, Position, TopicPartition};
use crate::errors::ErrorCode;
use crate::messages::{
    Request as _, m03_metadata, m08_offset_commit, m09_offset_fetch, m10_find_coordinator, m11_join_group,
    m12_heartbeat, m14_sync_group, m68_consumer_group_heartbeat,
};
use crate::wire::WireError;

/// What was reported of one partition's committed offset.
struct CommittedOffset<'a> {
    topic: &'a str,
    partition: i32,
    position: Position,
    error: ErrorCode,
}

impl Member {
    /// An answer came.
    ///
    /// # Errors
    /// When it is none; it is then asked again, and the connection is to be closed.
    pub fn on_answer(
        &mut self,
        request: GroupRequest,
        (version, body): (i16, &[u8]),
        now_ns: u64,
    ) -> Result<(), WireError> {
        let taken = self.take_answer(request, version, body, now_ns);
        if taken.is_err() {
            self.on_lost(request, now_ns);
        }
        taken
    }

    /// A request got no answer: its connection is gone, or cannot be made.
    pub fn on_lost(&mut self, request: GroupRequest, now_ns: u64) {
        if request.kind == GroupRequestKind::FindCoordinator {
            self.shared.lookup_failed(now_ns);
        } else if self.shared.is_awaited(request) {
            self.lose_coordinator("its connection was lost", now_ns);
        }
    }

    /// The coordinator cannot be reached: it is looked for again after a pause.
    pub fn on_unreachable(&mut self, why: &str, now_ns: u64) {
        self.lose_coordinator(why, now_ns);
        self.shared.pause_lookup(now_ns);
    }

    fn lose_coordinator(&mut self, why: &str, now_ns: u64) {
        match &mut self.membership {
            MemberProtocol::Classic(classic) => classic.lose_coordinator(&mut self.shared, why, now_ns),
            MemberProtocol::Consumer(member) => member.lose_coordinator(&mut self.shared, why, now_ns),
        }
    }

    fn take_answer(
        &mut self,
        request: GroupRequest,
        version: i16,
        body: &[u8],
        now_ns: u64,
    ) -> Result<(), WireError> {
        if request.kind == GroupRequestKind::FindCoordinator {
            return self.on_found(version, body, now_ns);
        }
        // An answer that is no longer waited for says nothing new.
        if !self.shared.is_awaited(request) {
            return Ok(());
        }
        match request.kind {
            GroupRequestKind::Commit => {
                let response = m08_offset_commit::Request::decode_response(body, version)?;
                self.shared.settle(request);
                let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
                let error = partitions.map(|one| one.error_code).find(|error| error.is_error());
                self.on_committed(request, error, now_ns);
                return Ok(());
            }
            GroupRequestKind::FetchOffsets => {
                let response = m09_offset_fetch::Request::decode_response(body, version)?;
                self.shared.settle(request);
                self.on_offsets(&response, now_ns);
                return Ok(());
            }
            _ => {}
        }
        let shared = &mut self.shared;
        match (request.kind, &mut self.membership) {
            (GroupRequestKind::Join, MemberProtocol::Classic(classic)) => {
                let response = m11_join_group::Request::decode_response(body, version)?;
                shared.settle(request);
                classic.on_join(shared, request, response, now_ns);
            }
            (GroupRequestKind::Sync, MemberProtocol::Classic(classic)) => {
                let response = m14_sync_group::Request::decode_response(body, version)?;
                shared.settle(request);
                classic.on_sync(shared, request, response, now_ns);
            }
            (GroupRequestKind::Heartbeat, MemberProtocol::Classic(classic)) => {
                let response = m12_heartbeat::Request::decode_response(body, version)?;
                shared.settle(request);
                classic.on_heartbeat(shared, request, response.error_code, now_ns);
            }
            (GroupRequestKind::Metadata, MemberProtocol::Classic(classic)) => {
                let response = m03_metadata::Request::decode_response(body, version)?;
                shared.settle(request);
                classic.on_metadata(shared, &response, now_ns);
            }
            (GroupRequestKind::ConsumerHeartbeat, MemberProtocol::Consumer(member)) => {
                let response = m68_consumer_group_heartbeat::Request::decode_response(body, version)?;
                shared.settle(request);
                member.on_answer(shared, response, now_ns);
            }
            // Whatever is said to one that leaves, it has left.
            _ => shared.settle(request),
        }
        Ok(())
    }

    fn on_found(&mut self, version: i16, body: &[u8], now_ns: u64) -> Result<(), WireError> {
        let response = m10_find_coordinator::Request::decode_response(body, version)?;
        let (error, node) = match response.coordinators.first() {
            Some(found) => (found.error_code, found.node_id),
            None => (response.error_code, response.node_id),
        };
        self.shared.looked_up(error.check().map(|()| node), now_ns);
        if let MemberProtocol::Classic(classic) = &mut self.membership {
            classic.on_coordinator(&self.shared, now_ns);
        }
        Ok(())
    }

    fn on_committed(&mut self, request: GroupRequest, error: Option<ErrorCode>, now_ns: u64) {
        let Some(error) = error else { return self.shared.committed(now_ns) };
        let is_stale_only = error == ErrorCode::STALE_MEMBER_EPOCH;
        self.shared.commit_failed(error, error.is_retriable() || is_stale_only, now_ns);
        match (error, &mut self.membership) {
            (
                ErrorCode::NOT_COORDINATOR
                | ErrorCode::COORDINATOR_NOT_AVAILABLE
                | ErrorCode::REQUEST_TIMED_OUT,
                _,
            ) => self.lose_coordinator(error.name(), now_ns),
            (error, MemberProtocol::Classic(classic)) => {
                classic.on_commit_refused(&mut self.shared, request, error, now_ns);
            }
            // Its next heartbeat does the rest.
            (_, MemberProtocol::Consumer(_)) => {}
        }
    }

    fn on_offsets(&mut self, response: &m09_offset_fetch::Response, now_ns: u64) {
        let group = response.groups.first();
        let error = group.map_or(response.error_code, |group| group.error_code);
        let is_passing = error.is_retriable()
            || matches!(error, ErrorCode::STALE_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID);
        if matches!(error, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE) {
            self.lose_coordinator(error.name(), now_ns);
        } else if error.is_error() && !is_passing {
            self.shared.refused("OffsetFetch", error);
        }
        let mut starts = Vec::new();
        if !error.is_error() {
            for reported in reported_offsets(response) {
                if reported.error.is_error() {
                    if !reported.error.is_retriable() {
                        self.shared.refused("OffsetFetch", reported.error);
                    }
                    continue;
                }
                let taken = self.shared.offsets.take_start(reported.topic, reported.partition);
                let position = Some(reported.position).filter(|position| position.offset >= 0);
                starts.extend(taken.map(|partition: TopicPartition| (partition, position)));
            }
        }
        self.shared.starts_answered(now_ns);
        if !starts.is_empty() {
            self.shared.tell(now_ns, GroupEvent::Start(starts));
        }
    }
}

/// The offsets of a response, whatever its version.
fn reported_offsets(response: &m09_offset_fetch::Response) -> Vec<CommittedOffset<'_>> {
    let old = response.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|one| CommittedOffset {
            topic: &topic.name,
            partition: one.partition_index,
            position: Position { offset: one.committed_offset, leader_epoch: one.committed_leader_epoch },
            error: one.error_code,
        })
    });
    let new = response.groups.iter().flat_map(|group| &group.topics).flat_map(|topic| {
        topic.partitions.iter().map(|one| CommittedOffset {
            topic: &topic.name,
            partition: one.partition_index,
            position: Position { offset: one.committed_offset, leader_epoch: one.committed_leader_epoch },
            error: one.error_code,
        })
    });
    old.chain(new).collect()
}
