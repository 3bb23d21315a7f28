//! What the coordinator's answers mean to a classic member.

use super::leader::Leading;
use super::{Classic, ClassicState, Joining, NO_GENERATION};
use crate::errors::ErrorCode;
use crate::group::assignors::Assignor;
use crate::group::protocol::PROTOCOL_TYPE;
use crate::group::shared::MemberCore;
use crate::group::{GroupRequest, GroupRequestKind};
use crate::messages::{m03_metadata, m11_join_group, m14_sync_group};

impl Classic {
    /// The coordinator is another one now: its session starts again.
    pub(in crate::group) fn on_coordinator(&mut self, shared: &MemberCore, now_ns: u64) {
        self.heartbeats.session_until_ns = now_ns + shared.config.session_timeout_ns;
    }

    /// It is to be looked for again; what was asked of it is tried again.
    pub(in crate::group) fn lose_coordinator(&mut self, shared: &mut MemberCore, why: &str, now_ns: u64) {
        let lost = shared.lose_coordinator(why, now_ns);
        shared.offsets_lost(&lost, now_ns);
        if lost.contains(&GroupRequestKind::Heartbeat) {
            self.heartbeat_failed(shared, now_ns);
        }
        self.leave_wanted = None;
        if self.joining != Joining::Not {
            self.join_failed(shared, "rebalance failed since its coordinator was lost", true, now_ns);
        }
    }

    /// It did not work out: it joins again, after a pause or at once.
    fn join_failed(&mut self, shared: &mut MemberCore, reason: &'static str, pauses: bool, now_ns: u64) {
        self.joining = Joining::Not;
        self.leading = None;
        let pause_ns = if pauses { shared.config.retry_backoff.first_ns } else { 0 };
        self.join_from_ns = now_ns + pause_ns;
        self.want_join(shared, reason, now_ns);
    }

    fn heartbeat_failed(&mut self, shared: &mut MemberCore, now_ns: u64) {
        let pause_ns = shared.config.retry_backoff.after(self.heartbeats.failures, &mut shared.random);
        self.heartbeats.failures = self.heartbeats.failures.saturating_add(1);
        self.heartbeats.due_ns = now_ns + pause_ns;
    }

    fn heartbeat_heard(&mut self, shared: &MemberCore, now_ns: u64) {
        self.heartbeats.failures = 0;
        self.heartbeats.session_until_ns = now_ns + shared.config.session_timeout_ns;
    }

    fn is_of_now(&self, request: GroupRequest) -> bool {
        request.membership == self.generation.stamp
    }

    pub(in crate::group) fn on_join(
        &mut self,
        shared: &mut MemberCore,
        request: GroupRequest,
        response: m11_join_group::Response,
        now_ns: u64,
    ) {
        let error = response.error_code;
        match error {
            ErrorCode::NONE => self.joined(shared, response, now_ns),
            ErrorCode::MEMBER_ID_REQUIRED => {
                self.set_generation(NO_GENERATION, response.member_id, None);
                self.join_failed(shared, "need to re-join with the given member-id", false, now_ns);
            }
            ErrorCode::UNKNOWN_MEMBER_ID => {
                if self.is_of_now(request) {
                    self.reset(
                        shared,
                        "encountered UNKNOWN_MEMBER_ID from JOIN_GROUP response",
                        false,
                        now_ns,
                    );
                }
                self.join_failed(shared, "rebalance failed due to UnknownMemberIdException", false, now_ns);
            }
            error => self.not_joined(shared, "JoinGroup", error, now_ns),
        }
    }

    fn joined(&mut self, shared: &mut MemberCore, response: m11_join_group::Response, now_ns: u64) {
        if self.joining != Joining::Join {
            return;
        }
        if response.protocol_type.as_deref().is_some_and(|name| name != PROTOCOL_TYPE) {
            return shared.refused("JoinGroup", ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        let named = response.protocol_name.as_deref().and_then(Assignor::of_name);
        let Some(assignor) = named.filter(|assignor| self.assignors.contains(assignor)) else {
            return shared.inconsistent("its coordinator chose an assignor that this member does not have");
        };
        self.state = ClassicState::Completing;
        self.joining = Joining::Sync;
        self.heartbeats.failures = 0;
        self.heartbeats.due_ns = now_ns + shared.config.heartbeat_interval_ns;
        self.heartbeats.session_until_ns = now_ns + shared.config.session_timeout_ns;
        self.set_generation(response.generation_id, response.member_id.clone(), Some(assignor));
        self.is_leader = response.leader == response.member_id;
        if self.is_leader {
            match Leading::new(assignor, response) {
                Ok(leading) => self.leading = Some(leading),
                Err(_) => shared.inconsistent("what another member said when it joined cannot be read"),
            }
        }
    }

    pub(in crate::group) fn on_sync(
        &mut self,
        shared: &mut MemberCore,
        request: GroupRequest,
        response: m14_sync_group::Response,
        now_ns: u64,
    ) {
        let error = response.error_code;
        match error {
            ErrorCode::NONE if self.state == ClassicState::Completing && !self.is_reset() => {
                let name = self.generation.assignor.map(Assignor::name);
                let is_other = |theirs: &Option<String>, ours| theirs.is_some() && theirs.as_deref() != ours;
                if is_other(&response.protocol_type, Some(PROTOCOL_TYPE))
                    || is_other(&response.protocol_name, name)
                {
                    return shared.refused("SyncGroup", ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
                }
                self.state = ClassicState::Stable;
                self.joining = Joining::Not;
                self.wants_join = false;
                self.reason = "";
                self.join_from_ns = 0;
                self.synced = Some(response.assignment);
            }
            ErrorCode::NONE => {
                self.join_failed(shared, "rebalance failed due to IllegalGenerationException", false, now_ns);
            }
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION => {
                if self.is_of_now(request) {
                    let keeps_id = error == ErrorCode::ILLEGAL_GENERATION;
                    self.reset(
                        shared,
                        "encountered an old generation or id from SYNC_GROUP",
                        keeps_id,
                        now_ns,
                    );
                }
                self.join_failed(shared, "rebalance failed due to an old generation or id", false, now_ns);
            }
            error => self.not_joined(shared, "SyncGroup", error, now_ns),
        }
    }

    /// What an error means that says the same to a JoinGroup and to a SyncGroup.
    fn not_joined(&mut self, shared: &mut MemberCore, api: &'static str, error: ErrorCode, now_ns: u64) {
        match error {
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.lose_coordinator(shared, error.name(), now_ns);
            }
            ErrorCode::REBALANCE_IN_PROGRESS => {
                let reason = "rebalance failed due to RebalanceInProgressException";
                self.join_failed(shared, reason, false, now_ns);
            }
            error if error.is_retriable() => {
                self.join_failed(shared, "rebalance failed due to an error that may pass", true, now_ns);
            }
            error => shared.refused(api, error),
        }
    }

    pub(in crate::group) fn on_heartbeat(
        &mut self,
        shared: &mut MemberCore,
        request: GroupRequest,
        error: ErrorCode,
        now_ns: u64,
    ) {
        match error {
            ErrorCode::NONE => self.heartbeat_heard(shared, now_ns),
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.heartbeat_heard(shared, now_ns);
                // While it joins it knows.
                if self.state == ClassicState::Stable {
                    self.want_join(shared, "group is already rebalancing", now_ns);
                }
            }
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.lose_coordinator(shared, error.name(), now_ns);
                self.heartbeat_failed(shared, now_ns);
            }
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION | ErrorCode::FENCED_INSTANCE_ID => {
                if !self.is_of_now(request) {
                    return self.heartbeat_heard(shared, now_ns);
                }
                self.abandon_join(shared);
                let keeps_id = error == ErrorCode::ILLEGAL_GENERATION;
                self.reset(shared, "encountered an old generation or id from HEARTBEAT", keeps_id, now_ns);
                self.heartbeat_failed(shared, now_ns);
                if error == ErrorCode::FENCED_INSTANCE_ID {
                    shared.refused("Heartbeat", error);
                }
            }
            ErrorCode::GROUP_AUTHORIZATION_FAILED => shared.refused("Heartbeat", error),
            _ => self.heartbeat_failed(shared, now_ns),
        }
    }

    /// The generation that it was about to become part of is over for it.
    fn abandon_join(&mut self, shared: &mut MemberCore) {
        shared.forget(GroupRequestKind::Sync);
        shared.forget(GroupRequestKind::Metadata);
        self.joining = Joining::Not;
        self.leading = None;
    }

    pub(in crate::group) fn on_metadata(
        &mut self,
        shared: &mut MemberCore,
        response: &m03_metadata::Response,
        now_ns: u64,
    ) {
        let Some(leading) = &mut self.leading else { return };
        if !leading.take(shared, response) {
            leading.ask_from_ns =
                now_ns + shared.config.retry_backoff.after(leading.failures, &mut shared.random);
            leading.failures = leading.failures.saturating_add(1);
        }
    }

    /// What a commit was refused with, as far as the member needs it for more than reporting it.
    pub(in crate::group) fn on_commit_refused(
        &mut self,
        shared: &mut MemberCore,
        request: GroupRequest,
        error: ErrorCode,
        now_ns: u64,
    ) {
        let is_of_now = self.is_of_now(request);
        match error {
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.want_join(shared, "offset commit failed since group is already rebalancing", now_ns);
            }
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION
                if is_of_now || self.state != ClassicState::Preparing =>
            {
                self.abandon_join(shared);
                let keeps_id = error == ErrorCode::ILLEGAL_GENERATION;
                let why = "encountered an old generation or id from OFFSET_COMMIT";
                self.reset(shared, why, keeps_id, now_ns);
            }
            ErrorCode::FENCED_INSTANCE_ID if is_of_now => shared.refused("OffsetCommit", error),
            _ => {}
        }
    }

    /// Topics whose metadata is needed.
    pub(in crate::group) fn missing_topics(&self, shared: &MemberCore) -> Vec<String> {
        let missing = self.leading.as_ref().map(|leading| leading.missing(shared)).unwrap_or_default();
        missing.iter().map(|topic| topic.to_string()).collect()
    }
}
