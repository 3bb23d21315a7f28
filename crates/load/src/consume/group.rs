//! Clients that are members of a consumer group: their settings, and what becomes of the group as they see it.

use crate::recorder::Recorder;
use crate::stream::{Events, StreamContext};
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::group::{Assignor, GroupConfig, GroupError, GroupEvent, GroupProtocol};
use kdyno_model::event::EventKind;
use kdyno_model::plan::{self, ConsumePlan, GroupAssignor};
use std::collections::{BTreeMap, BTreeSet};

/// How long a member that leaves tries to commit, and then to inform its coordinator, ns.
const LEAVE_TIMEOUT_NS: u64 = 5_000_000_000;

/// Settings of client `index` of those that this stream has; `None`: they are in no group.
pub(super) fn group_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> Option<GroupConfig> {
    let (group, group_id) = (plan.group.as_ref()?, context.task.group_id.clone()?);
    let client = context.task.client_first + index;
    let (mut session_timeout_ns, mut heartbeat_interval_ns) = (0, 0);
    let protocol = match &group.protocol {
        plan::GroupProtocol::Classic {
            assignors,
            session_timeout_ns: session,
            heartbeat_interval_ns: heartbeat,
        } => {
            (session_timeout_ns, heartbeat_interval_ns) = (*session, *heartbeat);
            GroupProtocol::Classic { assignors: assignors.iter().copied().map(assignor).collect() }
        }
        plan::GroupProtocol::Consumer { assignor } => GroupProtocol::Consumer { assignor: assignor.clone() },
    };
    let retry_backoff =
        ExponentialBackoff { first_ns: plan.retry_backoff_ns, max_ns: ExponentialBackoff::RETRY_MAX_NS };
    Some(GroupConfig {
        group_id,
        instance_id: group
            .instance_id
            .as_ref()
            .map(|prefix| format!("{prefix}-{}-{client}", context.task.name)),
        topics: Vec::new(),
        protocol,
        session_timeout_ns,
        heartbeat_interval_ns,
        poll_interval_max_ns: group.poll_interval_max_ns,
        auto_commit_ns: group.auto_commit_ns,
        retry_backoff,
        leave_timeout_ns: LEAVE_TIMEOUT_NS,
        seed: context.member_seed(index),
    })
}

fn assignor(assignor: GroupAssignor) -> Assignor {
    match assignor {
        GroupAssignor::Range => Assignor::Range,
        GroupAssignor::RoundRobin => Assignor::RoundRobin,
        GroupAssignor::Sticky => Assignor::Sticky,
        GroupAssignor::CooperativeSticky => Assignor::CooperativeSticky,
    }
}

/// What becomes of the group, as the members of a stream see it.
///
/// A rebalance lasts from when the first of them learns of it until none of them is in one any more: of a cooperative group,
/// whose members join twice where partitions move, both together. It is over as well when a member that has its partitions
/// of it is in the next one: of a group that never comes to rest each round counts.
#[derive(Debug, Default)]
pub(crate) struct GroupCourse {
    /// Clients that are in a rebalance.
    rebalancing: BTreeSet<usize>,
    /// The rebalance that is under way.
    current: Option<Rebalance>,
    /// Whom each client knows as the coordinator.
    coordinators: BTreeMap<usize, i32>,
    /// Brokers that have assigned or committed something as coordinators, and were not reported as lost since: each
    /// client loses the same one by itself.
    coordinating: BTreeSet<i32>,
    /// Clients that have failed.
    failed: BTreeSet<usize>,
    /// The newest generation that a member had.
    generation: Option<i32>,
}

#[derive(Debug, Default)]
struct Rebalance {
    began_ns: u64,
    why: String,
    generation: i32,
    /// Clients that were assigned something in it, and when, ns.
    assigned_ns: BTreeMap<usize, u64>,
    moved: usize,
    /// The next one, which members that were assigned something in this one are in already: since when, ns, and why.
    next: Option<(u64, String)>,
}

impl GroupCourse {
    /// Something happened to a client, which the others call by its `number`.
    pub(crate) fn note(
        &mut self,
        (client, number): (usize, u32),
        reported: &[(u64, GroupEvent)],
        recorder: &mut Option<Recorder>,
        events: &mut Events,
    ) {
        for (at_ns, event) in reported {
            self.note_one((client, number), *at_ns, event, (recorder.as_mut(), events));
        }
        // A member that joins a second time at once is still in it.
        if let Some((last_ns, _)) = reported.last() {
            self.end_if_over(*last_ns, recorder.as_mut(), events);
        }
    }

    fn note_one(
        &mut self,
        (client, number): (usize, u32),
        at_ns: u64,
        event: &GroupEvent,
        (mut recorder, events): (Option<&mut Recorder>, &mut Events),
    ) {
        match event {
            GroupEvent::Rebalancing(why) => {
                self.rebalancing.insert(client);
                let current = self.current.get_or_insert_with(|| Rebalance {
                    began_ns: at_ns,
                    why: why.clone(),
                    ..Rebalance::default()
                });
                // One that joins again in the same instant is still in it.
                if current.assigned_ns.get(&client).is_some_and(|assigned_ns| *assigned_ns < at_ns) {
                    current.next.get_or_insert_with(|| (at_ns, why.clone()));
                }
            }
            GroupEvent::Assigned(rebalanced) => {
                self.end_if_next((client, at_ns), rebalanced.began_ns, (recorder.as_deref_mut(), events));
                self.coordinating.extend(self.coordinators.get(&client));
                self.rebalancing.remove(&client);
                self.generations(at_ns, rebalanced.generation, recorder);
                let began_ns = rebalanced.began_ns;
                let current =
                    self.current.get_or_insert_with(|| Rebalance { began_ns, ..Rebalance::default() });
                current.generation = current.generation.max(rebalanced.generation);
                current.assigned_ns.insert(client, at_ns);
                current.moved += rebalanced.added.len();
            }
            GroupEvent::Lost(all) => {
                let count = all.len();
                let detail = format!(
                    "client {number} lost {count} partitions without giving them up: others may have read on in them"
                );
                events.push(at_ns, EventKind::PartitionsLost, detail);
            }
            GroupEvent::Coordinator(broker) => {
                self.coordinators.insert(client, *broker);
            }
            // While the first member looks for it, brokers may make it.
            GroupEvent::CoordinatorLost(why) => {
                let lost = self.coordinators.remove(&client);
                if lost.is_some_and(|broker| self.coordinating.remove(&broker)) {
                    // The others that knew it there will notice the same loss.
                    self.coordinators.retain(|_, broker| Some(*broker) != lost);
                    events.push(at_ns, EventKind::CoordinatorLost, format!("client {number}: {why}"));
                }
            }
            GroupEvent::CoordinatorMissing(error) => {
                let detail = format!("client {number} finds no coordinator of its group: {error}");
                events.push(at_ns, EventKind::CoordinatorLost, detail);
            }
            GroupEvent::Committed { took_ns, .. } => {
                self.coordinating.extend(self.coordinators.get(&client));
                if let Some(recorder) = recorder {
                    recorder.offsets_committed(at_ns, *took_ns);
                }
            }
            GroupEvent::Left => {
                self.rebalancing.remove(&client);
            }
            GroupEvent::Revoking(_)
            | GroupEvent::Revoked(_)
            | GroupEvent::Start(_)
            | GroupEvent::CommitFailed(_) => {}
        }
    }

    /// Counts the generations up to the one of an assignment. A member that was put out may miss several, which a group makes for
    /// the others meanwhile.
    fn generations(&mut self, at_ns: u64, generation: i32, recorder: Option<&mut Recorder>) {
        let last = self.generation.unwrap_or(generation - 1);
        self.generation = Some(last.max(generation));
        let new = u64::try_from(i64::from(generation) - i64::from(last)).unwrap_or(0);
        if let Some(recorder) = recorder {
            recorder.generations(at_ns, new);
        }
    }

    fn end_if_over(&mut self, at_ns: u64, recorder: Option<&mut Recorder>, events: &mut Events) {
        if self.rebalancing.is_empty() {
            self.end(at_ns, recorder, events);
        }
    }

    /// A client is assigned something that was assigned something in the current rebalance before, and was at rest or in
    /// the next one since: the current one was over when the last of its members got theirs.
    fn end_if_next(
        &mut self,
        (client, at_ns): (usize, u64),
        began_ns: u64,
        (recorder, events): (Option<&mut Recorder>, &mut Events),
    ) {
        let Some(current) = &mut self.current else { return };
        let Some(assigned_ns) = current.assigned_ns.get(&client).copied() else { return };
        let was_at_rest = !self.rebalancing.contains(&client) && assigned_ns < at_ns;
        if current.next.is_none() && !was_at_rest {
            return;
        }
        let (began_ns, why) = current.next.take().unwrap_or((began_ns, String::new()));
        let last_ns = current.assigned_ns.values().copied().max().unwrap_or(at_ns);
        self.end(last_ns, recorder, events);
        self.current = Some(Rebalance { began_ns, why, ..Rebalance::default() });
    }

    fn end(&mut self, at_ns: u64, recorder: Option<&mut Recorder>, events: &mut Events) {
        let Some(Rebalance { began_ns, why, generation, assigned_ns, moved, next: _ }) = self.current.take()
        else {
            return;
        };
        if assigned_ns.is_empty() {
            return; // who was in it has left
        }
        let took_ns = at_ns.saturating_sub(began_ns);
        let (members, ms) = (assigned_ns.len(), took_ns / 1_000_000);
        let why = if why.is_empty() { String::new() } else { format!("; it began with: {why}") };
        let detail = format!(
            "generation {generation}: {members} members in {ms} ms, partitions got a new owner {moved} times{why}"
        );
        events.push(at_ns, EventKind::GroupRebalanced, detail);
        if let Some(recorder) = recorder {
            recorder.rebalanced(at_ns, took_ns);
        }
    }

    /// A client is no member any more, for good; reported once.
    pub(super) fn failed(
        &mut self,
        (client, number): (usize, u32),
        why: &GroupError,
        now_ns: u64,
        events: &mut Events,
    ) {
        if self.failed.insert(client) {
            self.rebalancing.remove(&client);
            events.push(now_ns, EventKind::MemberFailed, format!("client {number}: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::errors::ErrorCode;
    use kdyno_kafka::group::{Rebalanced, TopicPartition};
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::{Counts, Grain, StreamId, Timing};

    const MS: u64 = 1_000_000;

    struct NotedEvents {
        course: GroupCourse,
        recorder: Option<Recorder>,
        events: Events,
    }

    impl NotedEvents {
        fn new() -> Self {
            let second = 1_000 * MS;
            let phases =
                PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 10 * second, drain_ns: second };
            let mut recorder = Recorder::new(StreamId::default(), 0, phases);
            recorder.measure_begins(0);
            Self { course: GroupCourse::default(), recorder: Some(recorder), events: Events::default() }
        }

        fn note(&mut self, client: usize, reported: &[(u64, GroupEvent)]) {
            self.course.note((client, 10 + client as u32), reported, &mut self.recorder, &mut self.events);
        }

        fn reported(&mut self) -> Vec<(EventKind, String)> {
            self.events.take(0, 0).into_iter().map(|event| (event.kind, event.detail)).collect()
        }

        fn counts(mut self) -> (Counts, Vec<u128>) {
            let recorder = self.recorder.as_mut().expect("a recorder");
            let counts = recorder.finish();
            let samples = recorder.take_samples();
            let phases = samples.iter().filter(|sample| sample.grain == Grain::Phase);
            let sums = phases.flat_map(|sample| sample.sums_ns.get(&Timing::Rebalance).copied());
            (counts, sums.collect())
        }
    }

    fn rebalancing(at_ms: u64) -> (u64, GroupEvent) {
        (at_ms * MS, GroupEvent::Rebalancing("a member came".to_owned()))
    }

    fn assigned(at_ms: u64, generation: i32, added: i32) -> (u64, GroupEvent) {
        let added: Vec<_> = (0..added).map(|partition| TopicPartition::new("t", partition)).collect();
        let assigned = added.len();
        let of = Rebalanced { began_ns: 0, joined_ns: 0, generation, is_leader: false, added, assigned };
        (at_ms * MS, GroupEvent::Assigned(of))
    }

    #[test]
    fn a_rebalance_lasts_from_the_first_member_to_the_last() {
        let mut reported = NotedEvents::new();
        reported.note(0, &[rebalancing(100)]);
        reported.note(1, &[rebalancing(400)]);
        reported.note(0, &[assigned(500, 3, 2)]);
        assert_eq!(reported.reported(), [], "one is in it yet");
        reported.note(1, &[assigned(520, 3, 1)]);
        let detail = "generation 3: 2 members in 420 ms, partitions got a new owner 3 times; it began with: a member came";
        assert_eq!(reported.reported(), [(EventKind::GroupRebalanced, detail.to_owned())]);
        let (counts, sums) = reported.counts();
        assert_eq!((counts.rebalances, sums), (1, vec![u128::from(420 * MS)]));
    }

    #[test]
    fn joining_twice_is_one_rebalance_and_leaving_is_none() {
        let mut reported = NotedEvents::new();
        reported.note(0, &[rebalancing(0)]);
        reported.note(0, &[assigned(100, 1, 0), rebalancing(100)]);
        reported.note(0, &[assigned(300, 2, 4)]);
        let kinds: Vec<EventKind> = reported.reported().into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [EventKind::GroupRebalanced]);
        reported.note(0, &[rebalancing(500)]);
        reported.note(0, &[(600 * MS, GroupEvent::Left)]);
        assert_eq!(reported.reported(), [], "nobody was assigned anything");
        reported.note(1, &[(700 * MS, GroupEvent::Committed { partitions: 2, took_ns: 5 * MS })]);
        let (counts, sums) = reported.counts();
        // As Kafka counts them, each generation is a rebalance; as time without an owner both joins are one.
        assert_eq!((counts.rebalances, counts.offset_commits, sums), (2, 1, vec![u128::from(300 * MS)]));
    }

    #[test]
    fn generations_that_a_member_missed_count() {
        let mut reported = NotedEvents::new();
        reported.note(0, &[rebalancing(0)]);
        reported.note(0, &[assigned(100, 2, 4)]);
        reported.note(0, &[rebalancing(500)]);
        reported.note(0, &[assigned(900, 6, 4)]);
        let (counts, sums) = reported.counts();
        assert_eq!((counts.rebalances, sums.len()), (1 + 4, 1), "2, then 3 to 6");
    }

    /// Two members that are put out in turns, for they work longer than they may: one of them is always in a rebalance.
    #[test]
    fn each_round_of_a_group_that_never_settles_is_a_rebalance() {
        let mut reported = NotedEvents::new();
        reported.note(0, &[rebalancing(0)]);
        reported.note(1, &[rebalancing(0)]);
        for (generation, ms) in [(1, 1_000), (2, 2_000), (3, 3_000)] {
            reported.note(0, &[assigned(ms, generation, 2)]);
            reported.note(0, &[rebalancing(ms + 500)]);
            reported.note(1, &[assigned(ms + 600, generation, 2)]);
            reported.note(1, &[rebalancing(ms + 900)]);
        }
        reported.note(0, &[assigned(4_000, 4, 2)]);
        reported.note(1, &[assigned(4_100, 4, 2)]);
        let events = reported.reported();
        assert_eq!(events.len(), 4, "{events:?}");
        assert!(events[0].1.starts_with("generation 1: 2 members in 1600 ms"), "{events:?}");
        assert!(events[3].1.starts_with("generation 4: 2 members in 600 ms"), "{events:?}");
        assert_eq!(reported.counts().0.rebalances, 4);
    }

    /// The lab looks for the error in these words, to say what may be wrong.
    #[test]
    fn a_missing_coordinator_is_reported_with_the_brokers_error() {
        let mut reported = NotedEvents::new();
        reported
            .note(1, &[(5_000 * MS, GroupEvent::CoordinatorMissing(ErrorCode::COORDINATOR_NOT_AVAILABLE))]);
        let detail = "client 11 finds no coordinator of its group: COORDINATOR_NOT_AVAILABLE";
        assert_eq!(reported.reported(), [(EventKind::CoordinatorLost, detail.to_owned())]);
    }

    /// Every member loses it by itself, and some when others are at work with the next one already.
    #[test]
    fn a_lost_coordinator_is_reported_once_until_it_works_again() {
        let mut reported = NotedEvents::new();
        let found = |at_ms: u64, broker| (at_ms * MS, GroupEvent::Coordinator(broker));
        let committed = |at_ms: u64| (at_ms * MS, GroupEvent::Committed { partitions: 1, took_ns: 0 });
        let lost = |at_ms: u64| (at_ms * MS, GroupEvent::CoordinatorLost("NOT_COORDINATOR".to_owned()));
        reported.note(0, &[found(0, 1), lost(0)]);
        assert_eq!(reported.reported(), [], "nothing was coordinated yet");
        reported.note(0, &[found(0, 1), committed(0)]);
        reported.note(1, &[found(0, 1), committed(0)]);
        reported.note(0, &[lost(1), found(2, 2), committed(3)]);
        reported.note(1, &[lost(4), found(5, 2), committed(6)]);
        reported.note(0, &[lost(7), found(8, 1), committed(9), lost(10)]);
        // Broker 1 coordinates again before the second member notices that it was gone.
        reported.note(1, &[found(11, 1), committed(11)]);
        reported.note(0, &[found(11, 1), committed(11), lost(12), found(13, 1), committed(13)]);
        reported.note(1, &[lost(14)]);
        reported.note(0, &[(15 * MS, GroupEvent::Lost(vec![TopicPartition::new("t", 0)]))]);
        let kinds: Vec<EventKind> = reported.reported().into_iter().map(|(kind, _)| kind).collect();
        let expected = [
            EventKind::CoordinatorLost,
            EventKind::CoordinatorLost,
            EventKind::CoordinatorLost,
            EventKind::CoordinatorLost,
            EventKind::PartitionsLost,
        ];
        assert_eq!(kinds, expected, "of broker 1, of 2, of 1 twice more");
    }
}
