//! The consumer protocol.

use super::*;
use crate::errors::ErrorCode;

const HEARTBEAT: i16 = 68;

fn lost(client: &TestConsumer) -> usize {
    client.count(|event| matches!(event, GroupEvent::Lost(_)))
}

#[test]
fn members_come_and_go_and_every_record_is_read_once() {
    let mut world = GroupFixture::new(6);
    world.add(consumer());
    world.run(SECOND);
    assert_eq!(world.clients[0].has(), 6);
    world.add(consumer());
    world.add(consumer());
    world.run(20 * SECOND);
    world.assert_shared(6);
    assert!(world.clients.iter().all(|client| client.has() == 2));
    world.leave(1);
    world.run(20 * SECOND);
    world.leave(0);
    world.run(20 * SECOND);
    assert_eq!(world.clients[2].has(), 6);
    assert_eq!(world.duplicates(), 0, "what is given up was committed, and is not handed over after that");
    assert_eq!(world.clients[0].count(|event| *event == GroupEvent::Left), 1);
}

/// What a heartbeat says: everything when it joins, later what changed.
#[test]
fn a_heartbeat_says_what_changed() {
    let mut world = GroupFixture::new(2);
    world.add(GroupConfig {
        protocol: GroupProtocol::Consumer { assignor: Some("uniform".to_owned()) },
        ..consumer()
    });
    world.run(7 * SECOND);
    let reported = &world.coordinator.heartbeats;
    let (join, acknowledgement, later) = (&reported[0], &reported[1], &reported[2]);
    assert_eq!((join.member_epoch, join.rebalance_timeout_ms), (0, 60_000));
    assert_eq!(join.subscribed_topic_names.as_deref(), Some(&[TOPIC.to_owned()][..]));
    assert_eq!(
        (join.server_assignor.as_deref(), join.topic_partitions.as_deref()),
        (Some("uniform"), Some(&[][..]))
    );
    assert_eq!(join.member_id.len(), 22);
    let owned = acknowledgement.topic_partitions.as_ref().expect("what it has");
    assert_eq!((owned[0].topic_id, owned[0].partitions.as_slice()), (TOPIC_ID, &[0, 1][..]));
    assert_eq!((acknowledgement.rebalance_timeout_ms, acknowledgement.member_epoch), (-1, 1));
    assert_eq!((later.topic_partitions.as_ref(), later.subscribed_topic_names.as_ref()), (None, None));
    assert_eq!(reported.len(), 4, "every three seconds");
}

#[test]
fn each_error_that_may_pass_is_got_over() {
    for error in [
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::UNKNOWN_MEMBER_ID,
        ErrorCode::FENCED_MEMBER_EPOCH,
    ] {
        for settles_before in [false, true] {
            let mut world = GroupFixture::new(3);
            world.add(consumer());
            if settles_before {
                world.run(2 * SECOND);
            }
            world.coordinator.errors.push((HEARTBEAT, error));
            world.run(8 * SECOND);
            let client = &world.clients[0];
            assert!(world.coordinator.errors.is_empty() && client.member.is_settled(), "{error}");
            assert_eq!(client.has(), 3, "{error}");
            let is_fenced = matches!(error, ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH);
            assert_eq!(lost(client), usize::from(is_fenced && settles_before), "{error}");
        }
    }
}

#[test]
fn what_will_not_pass_ends_it() {
    for error in [ErrorCode::UNSUPPORTED_VERSION, ErrorCode(112), ErrorCode::FENCED_INSTANCE_ID] {
        let mut world = GroupFixture::new(3);
        world.coordinator.errors.push((HEARTBEAT, error));
        world.add(consumer());
        world.run(5 * SECOND);
        let failure = world.clients[0].member.failure().map(ToString::to_string).unwrap_or_default();
        assert!(
            failure.starts_with(&format!("group g: ConsumerGroupHeartbeat failed: {error}")),
            "{failure}"
        );
        assert_eq!(world.coordinator.asked[&HEARTBEAT], 1);
    }
}

/// While one with its instance id is there, a second one does not get in; a static member's leave has an epoch of its own.
#[test]
fn an_instance_id_is_one_members_until_it_leaves() {
    let mut world = GroupFixture::new(3);
    let named = GroupConfig { instance_id: Some("a".to_owned()), ..consumer() };
    world.add(named.clone());
    world.run(2 * SECOND);
    world.add(named);
    world.run(2 * SECOND);
    let failure = world.clients[1].member.failure().map(ToString::to_string).unwrap_or_default();
    assert!(failure.contains("UNRELEASED_INSTANCE_ID"), "{failure}");
    world.leave(0);
    assert_eq!(world.coordinator.heartbeats.last().map(|last| last.member_epoch), Some(-2));
}

#[test]
fn an_unknown_member_loses_everything_and_joins_again() {
    let mut world = GroupFixture::new(4);
    world.add(consumer());
    world.add(consumer());
    world.run(15 * SECOND);
    world.coordinator.expel();
    world.run(20 * SECOND);
    world.assert_shared(4);
    assert!(world.clients.iter().all(|client| lost(client) == 1));
}

/// An application that does not poll is out, and back with its next poll.
#[test]
fn a_member_whose_application_does_not_poll_leaves() {
    let mut world = GroupFixture::new(4);
    world.add(consumer());
    world.add(consumer());
    world.run(15 * SECOND);
    world.clients[0].polls = false;
    world.run(75 * SECOND);
    assert_eq!((world.clients[0].has(), world.clients[1].has(), lost(&world.clients[0])), (0, 4, 1));
    world.clients[0].polls = true;
    world.run(20 * SECOND);
    world.assert_shared(4);
}

#[test]
fn a_broken_connection_loses_nothing() {
    let mut world = GroupFixture::new(4);
    world.add(consumer());
    world.add(consumer());
    for at in 0..60 {
        world.run(700 * MS);
        world.disconnect(at % 2);
    }
    world.run(20 * SECOND);
    world.assert_shared(4);
    assert!(world.clients.iter().all(|client| lost(client) == 0));
}

/// A topic that metadata does not name yet is requested, and what is named is taken meanwhile.
#[test]
fn topics_without_a_name_are_waited_for() {
    let mut member = Member::new(GroupConfig { auto_commit_ns: None, ..consumer() });
    let mut world = GroupFixture::new(2);
    let mut connection = connection();
    for _ in 0..10 {
        member.poll(&mut |_| None, world.now_ns);
        let request = member.look_up(world.now_ns).or_else(|| member.next_request(world.now_ns));
        let Some(request) = request else { continue };
        member.send(request, request, &mut connection, world.now_ns).expect("a common version");
        world.coordinator.take(0, request, &written(&mut connection), world.now_ns);
        for (_, request, version, body) in world.coordinator.take_answers() {
            member.on_answer(request, (version, &body), world.now_ns).expect("an answer");
        }
    }
    assert!(member.take_wants_metadata() && member.assigned().is_empty());
    member.set_topic(&TOPIC.into(), TOPIC_ID, 2);
    world.now_ns += 4 * SECOND;
    for _ in 0..3 {
        member.poll(&mut |_| None, world.now_ns);
        let Some(request) = member.next_request(world.now_ns) else { continue };
        member.send(request, request, &mut connection, world.now_ns).expect("a common version");
        written(&mut connection);
    }
    assert_eq!(member.assigned().len(), 2);
}
