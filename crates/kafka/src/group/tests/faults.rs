//! What a classic member does when something goes wrong, as Java's.

use super::*;
use crate::errors::ErrorCode;

const COMMIT: i16 = 8;
const FIND: i16 = 10;
const JOIN: i16 = 11;
const HEARTBEAT: i16 = 12;
const SYNC: i16 = 14;

/// A group of two that has settled.
fn settled(assignor: Assignor) -> GroupFixture {
    let mut world = GroupFixture::new(4);
    world.add(classic(assignor));
    world.add(classic(assignor));
    world.run(5 * SECOND);
    world.assert_shared(4);
    world.clients.iter_mut().for_each(|client| client.events.clear());
    world
}

fn lost(client: &TestConsumer) -> usize {
    client.count(|event| matches!(event, GroupEvent::Lost(_)))
}

#[test]
fn each_error_that_may_pass_is_got_over() {
    for (key, error) in [
        (FIND, ErrorCode::COORDINATOR_NOT_AVAILABLE),
        (JOIN, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        (JOIN, ErrorCode::NOT_COORDINATOR),
        (JOIN, ErrorCode::UNKNOWN_MEMBER_ID),
        (JOIN, ErrorCode::REBALANCE_IN_PROGRESS),
        (SYNC, ErrorCode::NOT_COORDINATOR),
        (SYNC, ErrorCode::REBALANCE_IN_PROGRESS),
        (SYNC, ErrorCode::ILLEGAL_GENERATION),
        (SYNC, ErrorCode::UNKNOWN_MEMBER_ID),
        (9, ErrorCode::NOT_COORDINATOR),
        (9, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        (9, ErrorCode::UNSTABLE_OFFSET_COMMIT),
        (HEARTBEAT, ErrorCode::NOT_COORDINATOR),
        (HEARTBEAT, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        (COMMIT, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        (COMMIT, ErrorCode::NOT_COORDINATOR),
    ] {
        let mut world = GroupFixture::new(3);
        world.coordinator.errors.push((key, error));
        world.add(classic(Assignor::Sticky));
        // Longer than a session: a member that is reported as unknown is still there for the others until then.
        world.run(15 * SECOND);
        assert!(world.coordinator.errors.is_empty(), "{key} {error}");
        let client = &world.clients[0];
        assert!(
            client.member.is_settled() && client.member.failure().is_none(),
            "{key} {error}: {:?}",
            client.events
        );
        assert_eq!((client.has(), client.reading.values().filter(|next| next.is_some()).count()), (3, 3));
        assert!(client.read.len() > 3, "{key} {error}");
        let lookups = world.coordinator.asked[&FIND];
        let looks_again = key == FIND || error == ErrorCode::NOT_COORDINATOR;
        assert_eq!(lookups, 1 + usize::from(looks_again), "{key} {error}");
    }
}

#[test]
fn what_will_not_pass_ends_it_with_a_sentence() {
    for (key, error, sentence) in [
        (
            FIND,
            ErrorCode::GROUP_AUTHORIZATION_FAILED,
            "group g: FindCoordinator failed: GROUP_AUTHORIZATION_FAILED; this user may not read the group (an ACL that allows \
             Read of it)",
        ),
        (
            JOIN,
            ErrorCode::INCONSISTENT_GROUP_PROTOCOL,
            "group g: JoinGroup failed: INCONSISTENT_GROUP_PROTOCOL; its members have no assignor in common \
             (partition.assignment.strategy) or it is of another protocol",
        ),
        (
            SYNC,
            ErrorCode::FENCED_INSTANCE_ID,
            "group g: SyncGroup failed: FENCED_INSTANCE_ID; another member has this group.instance.id",
        ),
    ] {
        let mut world = GroupFixture::new(3);
        world.coordinator.errors.push((key, error));
        world.add(classic(Assignor::Range));
        world.run(5 * SECOND);
        let failure = world.clients[0].member.failure().map(ToString::to_string);
        assert_eq!(failure.as_deref(), Some(sentence));
        let asked = world.coordinator.asked.clone();
        world.run(60 * SECOND);
        assert_eq!(world.coordinator.asked, asked, "it asks nothing any more");
    }
}

/// Brokers that cannot make the topic of offsets refuse every look-up. A second or two of that are a start as any other.
#[test]
fn a_missing_coordinator_is_reported_once_with_the_error() {
    let refusal = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    let missing = |world: &GroupFixture| {
        world.clients[0].count(|event| *event == GroupEvent::CoordinatorMissing(refusal))
    };
    for is_lost_first in [false, true] {
        let mut world = GroupFixture::new(3);
        world.coordinator.errors = vec![(FIND, refusal); 1_000];
        world.coordinator.is_silent = is_lost_first;
        world.add(classic(Assignor::Range));
        world.settle();
        if is_lost_first {
            world.coordinator.is_silent = false;
            world.disconnect(0);
        }
        world.run(4 * SECOND);
        assert_eq!(missing(&world), 0, "{is_lost_first}");
        world.run(60 * SECOND);
        assert_eq!(missing(&world), 1, "{is_lost_first}");
        world.coordinator.errors.clear();
        world.run(5 * SECOND);
        world.assert_shared(3);
        // Another time is reported again.
        world.coordinator.errors = vec![(FIND, refusal); 1_000];
        world.coordinator.node += 1;
        world.run(20 * SECOND);
        assert_eq!(missing(&world), 2, "{is_lost_first}");
    }
}

/// Who was taken out of the group has lost what it had, and may not commit that.
#[test]
fn an_unknown_member_loses_everything_and_joins_again() {
    let mut world = settled(Assignor::Sticky);
    let id = world.coordinator.members.keys().next().cloned().expect("a member");
    world.coordinator.members.remove(&id);
    world.run(10 * SECOND);
    world.assert_shared(4);
    let (all, of): (usize, Vec<usize>) =
        (world.clients.iter().map(lost).sum(), world.clients.iter().map(lost).collect());
    assert_eq!(all, 1, "{of:?}");
    assert!(!world.coordinator.members.contains_key(&id), "it has another id now");
}

#[test]
fn an_old_generation_keeps_its_id() {
    let mut world = settled(Assignor::Sticky);
    let ids: Vec<String> = world.coordinator.members.keys().cloned().collect();
    world.coordinator.errors.push((HEARTBEAT, ErrorCode::ILLEGAL_GENERATION));
    world.run(10 * SECOND);
    world.assert_shared(4);
    assert_eq!(world.coordinator.members.keys().cloned().collect::<Vec<_>>(), ids);
    assert_eq!(world.clients.iter().map(lost).sum::<usize>(), 1);
}

/// A process that dies is noticed by its session, and its partitions go to the others.
#[test]
fn the_partitions_of_a_dead_member_go_to_the_others() {
    for assignor in Assignor::ALL {
        let mut world = settled(assignor);
        world.clients[1].lives = false;
        world.run(8 * SECOND);
        assert_eq!(world.clients[0].has(), 2, "its session is not over");
        world.run(10 * SECOND);
        assert_eq!(world.clients[0].has(), 4, "{assignor:?}");
        world.duplicates(); // nothing is left out
    }
}

/// An application that works for too long on what it got leaves by its member's own doing, and comes back with its next poll.
#[test]
fn a_member_whose_application_does_not_poll_leaves() {
    let mut world = settled(Assignor::Range);
    world.clients[0].polls = false;
    world.run(59 * SECOND);
    assert_eq!((world.coordinator.members.len(), world.clients[1].has()), (2, 2), "heartbeats keep it");
    world.run(10 * SECOND);
    assert_eq!((world.coordinator.members.len(), world.clients[1].has()), (1, 4));
    assert_eq!(lost(&world.clients[0]), 0, "its application does not know yet");
    world.clients[0].polls = true;
    world.run(10 * SECOND);
    assert_eq!((lost(&world.clients[0]), world.coordinator.members.len()), (1, 2));
    world.assert_shared(4);
}

/// While an application works it takes part in no rebalance: the others wait for it.
#[test]
fn others_wait_for_an_application_that_works() {
    let mut world = settled(Assignor::Range);
    world.clients[0].polls = false;
    let new = world.add(classic(Assignor::Range));
    world.run(20 * SECOND);
    assert_eq!(world.clients[new].has(), 0);
    world.clients[0].polls = true;
    world.run(2 * SECOND);
    world.assert_shared(4);
    let longest = world.clients[new].rebalances()[0];
    assert!(longest.joined_ns - longest.began_ns < SECOND && longest.began_ns < world.now_ns - 20 * SECOND);
}

#[test]
fn a_broken_connection_loses_nothing() {
    for assignor in [Assignor::Range, Assignor::CooperativeSticky] {
        let mut world = settled(assignor);
        for at in 0..40 {
            world.disconnect(at % 2);
            world.run(700 * MS);
        }
        world.run(10 * SECOND);
        world.assert_shared(4);
        assert_eq!(world.clients.iter().map(lost).sum::<usize>(), 0, "{assignor:?}");
    }
}

/// A coordinator that does not answer is given up when the session would be over, and another one is looked for.
#[test]
fn a_silent_coordinator_is_looked_for_again() {
    let mut world = settled(Assignor::Range);
    world.coordinator.is_silent = true;
    world.run(15 * SECOND);
    for client in &world.clients {
        assert_eq!(client.count(|event| matches!(event, GroupEvent::CoordinatorLost(_))), 1);
        assert_eq!(client.has(), 2, "it has what it has until somebody says otherwise");
    }
    assert_eq!(world.coordinator.asked[&FIND], 4);
}

/// A second process under the same instance id takes over; the first one gets an error and ends.
#[test]
fn the_older_of_two_with_one_instance_id_is_fenced() {
    let mut world = GroupFixture::new(4);
    let named = GroupConfig { instance_id: Some("a".to_owned()), ..classic(Assignor::Range) };
    world.add(named.clone());
    world.run(2 * SECOND);
    world.add(named);
    world.run(10 * SECOND);
    let failure = world.clients[0].member.failure().map(ToString::to_string).unwrap_or_default();
    assert!(failure.contains("FENCED_INSTANCE_ID"), "{failure}");
    assert_eq!(world.clients[1].has(), 4);
}

/// A commit that is refused since the group rebalances is no reason to lose anything.
#[test]
fn a_commit_during_a_rebalance_makes_it_join() {
    let mut world = settled(Assignor::Range);
    world.coordinator.errors.push((COMMIT, ErrorCode::REBALANCE_IN_PROGRESS));
    world.run(10 * SECOND);
    world.assert_shared(4);
    assert_eq!(world.clients.iter().map(lost).sum::<usize>(), 0);
    let failed = |client: &TestConsumer| client.count(|event| matches!(event, GroupEvent::CommitFailed(_)));
    assert_eq!(world.clients.iter().map(failed).sum::<usize>(), 1);
}

/// The member that notices it first, by its heartbeat or its commit, looks for the new coordinator, which knows what
/// the one before did. A member that comes meanwhile joins there, and the others follow.
#[test]
fn a_coordinator_that_moves_under_load_costs_nothing() {
    let all = Assignor::ALL.map(classic).into_iter().chain([consumer()]);
    for config in all {
        let mut world = GroupFixture::new(4);
        world.add(config.clone());
        world.add(config.clone());
        world.run(20 * SECOND);
        for node in 1..=4 {
            world.coordinator.node = node;
            world.run(3_700 * MS);
        }
        let what = &config.protocol;
        for client in &world.clients {
            let losses = client.count(|event| matches!(event, GroupEvent::CoordinatorLost(_)));
            assert_eq!((losses, client.member.coordinator()), (4, Some(4)), "{what:?}");
        }
        let rebalances = |world: &GroupFixture| world.clients[0].rebalances().len();
        let before = rebalances(&world);
        world.coordinator.node = 5;
        world.add(config.clone());
        world.run(20 * SECOND);
        world.assert_shared(4);
        assert!(rebalances(&world) > before, "{what:?}");
        assert_eq!(world.clients.iter().map(lost).sum::<usize>(), 0, "{what:?}");
        // Members that keep what does not move read on in it between their commit and the end of the rebalance.
        let again_max = if config.protocol == classic(Assignor::CooperativeSticky).protocol { 4 } else { 0 };
        assert!(world.duplicates() <= again_max, "{what:?}");
    }
}
