//! Rebalances by the classic protocol in which nothing goes wrong.

use super::*;

#[test]
fn members_come_and_go_and_every_record_is_read_once() {
    for assignor in [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky] {
        let mut world = GroupFixture::new(6);
        world.add(classic(assignor));
        world.run(SECOND);
        assert_eq!(world.clients[0].has(), 6, "{assignor:?}");
        world.add(classic(assignor));
        world.add(classic(assignor));
        world.run(10 * SECOND);
        world.assert_shared(6);
        assert!(world.clients.iter().all(|client| client.has() == 2), "{assignor:?}");
        world.leave(1);
        world.run(10 * SECOND);
        world.assert_shared(6);
        world.leave(0);
        world.run(10 * SECOND);
        assert_eq!(world.clients[2].has(), 6, "{assignor:?}");
        assert_eq!(world.duplicates(), 0, "{assignor:?}: each gave up what it had committed");
    }
}

/// The one that had all keeps half of it without a pause, and gives up the other half before anybody gets that.
#[test]
fn cooperative_members_keep_what_does_not_move() {
    let mut world = GroupFixture::new(6);
    world.add(classic(Assignor::CooperativeSticky));
    world.run(SECOND);
    world.add(classic(Assignor::CooperativeSticky));
    world.run(10 * SECOND);
    world.assert_shared(6);
    let first = &world.clients[0];
    assert_eq!(first.count(|event| matches!(event, GroupEvent::Revoking(_))), 0);
    let revoked: Vec<_> =
        first.events.iter().filter(|(_, event)| matches!(event, GroupEvent::Revoked(_))).collect();
    assert!(matches!(revoked[..], [(_, GroupEvent::Revoked(all))] if all.len() == 3), "{revoked:?}");
    let generations: Vec<_> = first.rebalances().iter().map(|one| (one.generation, one.assigned)).collect();
    // Alone; without what it has to give up; after the other one has that.
    assert_eq!(generations, [(1, 6), (2, 3), (3, 3)]);
    let second: Vec<_> = world.clients[1].rebalances().iter().map(|one| one.added.len()).collect();
    assert_eq!(second, [0, 3]);
    let again = world.clients.iter().map(|client| client.read.len()).sum::<usize>();
    assert!(
        again > 0 && world.duplicates() <= 3,
        "what is read between the commit and the end of a rebalance"
    );
}

/// Who has to rebalance commits what it handed over, and hands over nothing of it any more.
#[test]
fn an_eager_member_stops_commits_revokes_and_joins() {
    let mut world = GroupFixture::new(2);
    world.add(classic(Assignor::Range));
    world.run(SECOND);
    let began = world.clients[0].events.len();
    world.add(classic(Assignor::Range));
    world.run(5 * SECOND);
    let events = &world.clients[0].events[began..];
    let kinds: Vec<&str> = events
        .iter()
        .map(|(_, event)| match event {
            GroupEvent::Rebalancing(_) => "rebalancing",
            GroupEvent::Revoking(_) => "revoking",
            GroupEvent::Committed { .. } => "committed",
            GroupEvent::Revoked(_) => "revoked",
            GroupEvent::Assigned(_) => "assigned",
            GroupEvent::Start(_) => "start",
            _ => "else",
        })
        .collect();
    assert_eq!(
        kinds[..6],
        ["rebalancing", "revoking", "committed", "revoked", "assigned", "start"],
        "{events:?}"
    );
    let rebalanced = world.clients[0].rebalances()[1];
    assert!(rebalanced.is_leader && rebalanced.began_ns <= rebalanced.joined_ns);
}

#[test]
fn offsets_are_committed_by_interval_and_where_it_leaves() {
    let mut world = GroupFixture::new(1);
    world.add(classic(Assignor::Range));
    world.run(4 * SECOND);
    assert_eq!(world.coordinator.asked.get(&8), None, "not before five seconds");
    world.run(12 * SECOND);
    assert_eq!(world.coordinator.asked[&8], 3);
    world.leave(0);
    let read = world.clients[0].read.len() as i64;
    assert_eq!(world.coordinator.offsets[&0], read);
    assert_eq!(
        world.clients[0].count(|event| matches!(event, GroupEvent::Committed { partitions: 1, .. })),
        4
    );
    assert_eq!(world.clients[0].count(|event| *event == GroupEvent::Left), 1);
    assert!(world.coordinator.members.is_empty());
}

#[test]
fn what_a_user_commits_is_committed_once_and_not_by_itself() {
    let mut world = GroupFixture::new(2);
    world.add(GroupConfig { auto_commit_ns: None, ..classic(Assignor::Range) });
    world.run(7 * SECOND);
    assert_eq!(world.coordinator.asked.get(&8), None);
    let position = |offset| Position { offset, leader_epoch: -1 };
    world.clients[0].member.commit([(TopicPartition::new(TOPIC, 1), position(5))], world.now_ns);
    world.clients[0].member.commit([(TopicPartition::new(TOPIC, 1), position(6))], world.now_ns);
    world.run(SECOND);
    assert_eq!((world.coordinator.offsets.get(&1), world.coordinator.asked[&8]), (Some(&6), 1));
    world.leave(0);
    assert_eq!(world.coordinator.asked[&8], 1);
}

/// With an instance id it says nothing when it goes, and gets its partitions again when it comes back.
#[test]
fn a_static_member_may_be_away() {
    let mut world = GroupFixture::new(4);
    let named = |name: &str| GroupConfig { instance_id: Some(name.to_owned()), ..classic(Assignor::Range) };
    world.add(named("a"));
    world.add(named("b"));
    world.run(5 * SECOND);
    world.assert_shared(4);
    world.leave(1);
    assert_eq!((world.coordinator.asked.get(&13), world.coordinator.members.len()), (None, 2));
    assert_eq!(world.clients[0].has(), 2);
    let again = world.add(named("b"));
    world.run(5 * SECOND);
    assert_eq!((world.clients[again].has(), world.coordinator.members.len()), (2, 2));
    world.assert_shared(4);
}

#[test]
fn the_leader_joins_again_when_a_topic_grows() {
    let mut world = GroupFixture::new(2);
    world.add(classic(Assignor::RoundRobin));
    world.add(classic(Assignor::RoundRobin));
    world.run(5 * SECOND);
    let generation = world.coordinator.generation;
    world.coordinator.partitions = 5;
    world.run(10 * SECOND);
    assert_eq!(world.coordinator.generation, generation + 1);
    world.assert_shared(5);
}

/// Who leads asks for the topics of others before it assigns.
#[test]
fn a_topic_that_only_another_one_subscribes_to_is_assigned() {
    let mut world = GroupFixture::new(2);
    world.add(classic(Assignor::Range));
    let both = vec![TOPIC.into(), "other".into(), "nowhere".into()];
    world.add(GroupConfig { topics: both, ..classic(Assignor::Range) });
    world.run(5 * SECOND);
    assert!(world.clients[0].rebalances().last().is_some_and(|one| one.is_leader));
    assert_eq!(world.coordinator.asked[&3], 1);
    let names: BTreeSet<_> =
        world.clients[1].member.assigned().iter().map(|one| one.topic.to_string()).collect();
    assert_eq!((world.clients[0].has(), names), (1, BTreeSet::from([TOPIC.to_owned(), "other".to_owned()])));
}
