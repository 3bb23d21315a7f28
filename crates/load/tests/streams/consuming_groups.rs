//! Members of a group in simulated time: what happens to brokers under their load costs no record and doubles none.

use crate::common::{Fetching, MS, Outcome, SECOND, assert_all_fetched, fetch, filled};
use kdyno_fake_broker::FakeCluster;
use kdyno_model::plan::{GroupAssignor, GroupPlan, GroupProtocol, StartOffset, WorkPlan};

const PARTITIONS: u32 = 6;

/// Both protocols; of the classic one an eager assignor and a cooperative one.
fn protocols() -> [GroupProtocol; 3] {
    let classic = |assignor| GroupProtocol::Classic {
        assignors: vec![assignor],
        session_timeout_ns: 10 * SECOND,
        heartbeat_interval_ns: 100 * MS,
    };
    let consumer = GroupProtocol::Consumer { assignor: None };
    [consumer, classic(GroupAssignor::Range), classic(GroupAssignor::CooperativeSticky)]
}

/// Three members that share a cluster's partitions, and read for about two seconds what is there.
fn members(protocol: GroupProtocol) -> Fetching {
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    (fetching.clients, fetching.connect_seconds) = (3, 5);
    fetching.plan.work = Some(WorkPlan::Constant { ns: MS });
    fetching.plan.poll_records_max = 20;
    fetching.plan.group = Some(GroupPlan {
        name: "g".to_owned(),
        id: None,
        protocol,
        instance_id: None,
        poll_interval_max_ns: 60 * SECOND,
        auto_commit_ns: Some(50 * MS),
    });
    fetching
}

/// Everything was handed over once, and nothing changed hands since T0.
fn assert_undisturbed(outcome: &Outcome) {
    assert_all_fetched(outcome, PARTITIONS);
    let counts = outcome.counts();
    assert_eq!((counts.duplicates, counts.rebalances), (0, 0), "{:?}", outcome.events);
    let members = outcome.totals.clients.iter().map(|client| client.member.expect("a member"));
    let had: Vec<(u32, u32)> = members.map(|member| (member.partitions, member.rebalances)).collect();
    assert_eq!(had, [(2, 0); 3]);
}

fn reported<'a>(outcome: &'a Outcome, kind: &str) -> Vec<&'a str> {
    let reported = outcome.events.iter().filter_map(|event| event.strip_prefix(kind)?.strip_prefix(": "));
    reported.collect()
}

fn filled_for(fetching: &Fetching) -> (FakeCluster, u64, u64) {
    let (cluster, now_ns) = filled(3, PARTITIONS);
    (cluster, now_ns, now_ns + fetching.connect_seconds * SECOND)
}

#[test]
fn members_share_what_is_there_and_commit_it() {
    for protocol in protocols() {
        let fetching = members(protocol);
        let (cluster, now_ns, _) = filled_for(&fetching);
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_undisturbed(&outcome);
        assert!(outcome.counts().offset_commits > 50, "{:?}", outcome.counts());
        // Another three members of the group find nothing left.
        let ended_ns = outcome.ended_ns;
        let again = fetch(&fetching, outcome.cluster, ended_ns);
        assert_eq!(again.counts().fetched, 0);
    }
}

/// Members get NOT_COORDINATOR by their heartbeats and commits, each when it comes, and look for the next one, which
/// reads its log at first.
#[test]
fn a_group_with_a_moved_coordinator_loses_and_doubles_no_record() {
    for protocol in protocols() {
        let fetching = members(protocol);
        let (mut cluster, now_ns, t0_ns) = filled_for(&fetching);
        for (at_ms, to) in [(300, 1), (800, 2), (1_300, 0)] {
            let at_ns = t0_ns + at_ms * MS;
            cluster.script().at(at_ns).move_coordinator(to).at(at_ns).load_coordinator(120 * MS);
        }
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_undisturbed(&outcome);
        let lost = reported(&outcome, "coordinator-lost");
        assert!(lost.iter().all(|one| one.ends_with(": NOT_COORDINATOR")), "{lost:?}");
        assert_eq!(
            lost.len(),
            3,
            "once for each move, whoever of the members noticed it: {:?}",
            outcome.events
        );
        for kind in ["partitions-lost", "member-failed"] {
            assert_eq!(reported(&outcome, kind), Vec::<&str>::new());
        }
    }
}

/// A coordinator that is gone for good: its connection breaks, and another broker coordinates.
#[test]
fn a_group_with_a_dead_coordinator_loses_and_doubles_no_record() {
    for protocol in protocols() {
        let fetching = members(protocol);
        let (mut cluster, now_ns, t0_ns) = filled_for(&fetching);
        let at_ns = t0_ns + 500 * MS;
        cluster.script().at(at_ns).remove_broker(0).at(at_ns + 300 * MS).move_coordinator(1);
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_undisturbed(&outcome);
        assert_eq!(reported(&outcome, "coordinator-lost").len(), 1, "{:?}", outcome.events);
    }
}

/// A quota holds fetches back; members reach their coordinator another way, so that they stay in the group.
#[test]
fn throttled_fetches_are_reported_and_do_not_disturb_the_group() {
    // The fake coordinator gives each of the three members the partitions of one broker, the range assignor those of two.
    let [by_brokers, range, _] = protocols();
    throttled_fetches(by_brokers, 3);
    throttled_fetches(range, 6);
}

/// `asked`: the brokers from which each member fetches, of all members together.
fn throttled_fetches(protocol: GroupProtocol, asked: u64) {
    const THROTTLE_NS: u64 = 200 * MS;
    let mut fetching = members(protocol);
    fetching.plan.work = None;
    let (mut cluster, now_ns, t0_ns) = filled_for(&fetching);
    // There is more than they fetch in that time.
    let (until_ns, mut script) = (2 * SECOND, cluster.script());
    for broker in 0..3 {
        script = script.at(t0_ns - MS).throttle(broker, (THROTTLE_NS / MS) as i32);
        script = script.at(t0_ns + until_ns).throttle(broker, 0);
    }
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_undisturbed(&outcome);
    let throttled = reported(&outcome, "throttled");
    assert_eq!(throttled.len(), 3, "each broker once: {throttled:?}");
    let says = "throttles its clients, for 200 ms at first: a quota is exceeded";
    assert!(throttled.iter().all(|one| one.ends_with(says)), "{throttled:?}");
    // A member asks a broker again only when the time that it said is over.
    let (throttled_ns, most) = (outcome.counts().throttled_ns, asked * (until_ns / THROTTLE_NS + 1));
    let answers = throttled_ns / THROTTLE_NS;
    assert!(throttled_ns.is_multiple_of(THROTTLE_NS), "{throttled_ns}");
    assert!((most - 3 * asked..=most).contains(&answers), "{answers} of at most {most} throttled answers");
}
