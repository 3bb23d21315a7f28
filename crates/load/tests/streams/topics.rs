//! Clients with several topics each, in simulated time: every record is accounted for in the partition of the topic that it went
//! to.

use crate::common::{CONTROL_NS, Fetching, Load, MS, Outcome, SECOND, TOPIC, fetch, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, ServicePer, ServiceTime, StoredAnyway};
use kdyno_model::plan::{
    Arrivals, Fill, GroupAssignor, GroupPlan, GroupProtocol, KeyLaw, KeyPlan, Partitioner, Payload,
    StartOffset, WorkPlan,
};

const REQUEST_TIMED_OUT: i16 = 7;
/// Each with its partitions.
const TOPICS: [(&str, u32); 3] = [(TOPIC, 4), ("u", 1), ("v", 3)];
const PARTITIONS: usize = 8;

fn config(topics: &[(&str, u32)]) -> FakeConfig {
    let time = ServiceTime::Exponential { mean_ns: 20_000.0 };
    let config = FakeConfig::new(3).control_delay_ns(CONTROL_NS).keep_batches();
    let config = config.service(Service::Queue { per: ServicePer::Record, time });
    topics.iter().fold(config, |config, (name, partitions)| config.topic(name, *partitions))
}

fn more_topics() -> Vec<String> {
    TOPICS[1..].iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Two clients that send records of their own to all topics.
fn load(load: Load) -> Load {
    let load = load.seconds(2.0).with(|plan| {
        plan.payload = Payload::Unique;
        plan.client.linger_ns = 2 * MS;
    });
    Load { clients: 2, more_topics: more_topics(), ..load }
}

/// Records that a cluster holds, by topic and partition.
fn stored(cluster: &FakeCluster, topics: &[(&str, u32)]) -> Vec<Vec<u64>> {
    let of_topic = |(name, partitions): &(&str, u32)| {
        let stored = |partition| cluster.stored(name, partition).expect("a partition").records;
        (0..*partitions as i32).map(stored).collect()
    };
    topics.iter().map(of_topic).collect()
}

/// What was acknowledged is in the logs, each record in the partition that it counts for. Those that were acknowledged behind the
/// measure phase count for none.
fn assert_kept(outcome: &Outcome, by_topic: &[Vec<u64>]) {
    let (stored, counts) = (by_topic.concat(), outcome.counts());
    assert_eq!(stored.iter().sum::<u64>(), counts.acknowledged);
    let counted: Vec<u64> = outcome.totals.partitions.iter().map(|partition| partition.records).collect();
    assert_eq!(counted.len(), stored.len());
    for (counted, stored) in counted.iter().zip(&stored) {
        assert!(counted <= stored && (*counted > 0) == (*stored > 0), "{counted} of {stored}");
    }
}

/// Each topic has as many records as the others, but for the last turn of each client.
fn assert_in_turn(by_topic: &[Vec<u64>], clients: u64) {
    let sums: Vec<u64> = by_topic.iter().map(|topic| topic.iter().sum()).collect();
    let (least, most) = (sums.iter().min().expect("topics"), sums.iter().max().expect("topics"));
    assert!(*least > 0 && most - least <= clients, "{sums:?}");
}

#[test]
fn each_record_is_in_the_topic_that_had_its_turn() {
    for is_by_id in [true, false] {
        for rate in
            [Load::open(3_000.0, Arrivals::Poisson), Load::max(Fill::Buffer), Load::max(Fill::InFlight)]
        {
            let config = config(&TOPICS);
            let config = if is_by_id { config } else { config.without_topic_ids() };
            let outcome = simulate(&load(rate), FakeCluster::new(config));
            outcome.assert_accounted();
            let counts = outcome.counts();
            assert_eq!((counts.acknowledged, counts.retries), (counts.offered, 0), "{:?}", outcome.events);
            let by_topic = stored(&outcome.cluster, &TOPICS);
            assert_kept(&outcome, &by_topic);
            assert_in_turn(&by_topic, 2);
            assert!(by_topic.concat().iter().all(|records| *records > 0), "{by_topic:?}");
        }
    }
}

/// A request holds batches of several topics, and one that the broker does not take is sent again to where it belongs.
#[test]
fn what_is_sent_again_stays_in_its_topic() {
    for is_idempotent in [true, false] {
        let mut cluster = FakeCluster::new(config(&TOPICS));
        cluster.script().share(0.02).fail(REQUEST_TIMED_OUT, StoredAnyway::No);
        cluster.script().share(0.005).close(StoredAnyway::No);
        let load = load(Load::open(3_000.0, Arrivals::Poisson)).with(|plan| {
            plan.client.enable_idempotence = is_idempotent;
            plan.client.partitioner = Partitioner::RoundRobin;
        });
        let outcome = simulate(&load, cluster);
        outcome.assert_accounted();
        let counts = outcome.counts();
        assert_eq!(counts.acknowledged, counts.offered, "{:?}", outcome.events);
        assert!(counts.retries > 0);
        assert_kept(&outcome, &stored(&outcome.cluster, &TOPICS));
        assert_in_turn(&stored(&outcome.cluster, &TOPICS), 2);
    }
}

#[test]
fn keys_choose_within_the_topic_that_has_its_turn() {
    let topics = [(TOPIC, 5), ("u", 5), ("v", 5)];
    let keyed = load(Load::open(3_000.0, Arrivals::Poisson)).with(|plan| {
        plan.records.key = Some(KeyPlan::Numbered { law: KeyLaw::Uniform, of: 1, bytes: 8 });
    });
    let outcome = simulate(&keyed, FakeCluster::new(config(&topics)));
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered);
    let by_topic = stored(&outcome.cluster, &topics);
    assert_kept(&outcome, &by_topic);
    assert_in_turn(&by_topic, 2);
    let taken: Vec<Vec<usize>> = by_topic
        .iter()
        .map(|topic| (0..topic.len()).filter(|partition| topic[*partition] > 0).collect())
        .collect();
    assert!(taken[0].len() == 1 && taken.iter().all(|own| *own == taken[0]), "the one key's: {taken:?}");
}

/// A cluster whose topics hold what a load left in them, and the instant at which that is so.
fn filled(config: FakeConfig) -> (FakeCluster, u64) {
    let outcome = simulate(&load(Load::open(3_000.0, Arrivals::Poisson)), FakeCluster::new(config));
    outcome.assert_accounted();
    (outcome.cluster, outcome.ended_ns)
}

fn reading(clients: u32) -> Fetching {
    let fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    Fetching { clients, connect_seconds: 5, more_topics: more_topics(), ..fetching }
}

fn assert_all_read(outcome: &Outcome) {
    let records: u64 = stored(&outcome.cluster, &TOPICS).concat().iter().sum();
    let counts = outcome.counts();
    assert_eq!((counts.fetched, counts.duplicates), (records, 0), "{:?}", outcome.events);
    let by_client: Vec<u64> = outcome.totals.clients.iter().map(|client| client.records).collect();
    assert_eq!(by_client.iter().sum::<u64>(), records);
    assert!(by_client.iter().all(|records| *records > 0), "{by_client:?}");
}

#[test]
fn clients_share_out_the_partitions_of_all_topics() {
    for is_by_id in [true, false] {
        let config = config(&TOPICS);
        let config = if is_by_id { config } else { config.without_topic_ids().without_fetch_sessions() };
        let (cluster, now_ns) = filled(config);
        let outcome = fetch(&reading(3), cluster, now_ns);
        assert_all_read(&outcome);
    }
}

#[test]
fn members_share_what_is_in_all_topics_and_commit_it() {
    for (assignor, work) in [
        (GroupAssignor::Range, None),
        (GroupAssignor::CooperativeSticky, None),
        (GroupAssignor::Range, Some(WorkPlan::Constant { ns: MS / 10 })),
    ] {
        let mut fetching = reading(3);
        fetching.plan.work = work;
        fetching.plan.group = Some(GroupPlan {
            name: "g".to_owned(),
            id: None,
            protocol: GroupProtocol::Classic {
                assignors: vec![assignor],
                session_timeout_ns: 10 * SECOND,
                heartbeat_interval_ns: 100 * MS,
            },
            instance_id: None,
            poll_interval_max_ns: 60 * SECOND,
            auto_commit_ns: Some(50 * MS),
        });
        let (cluster, now_ns) = filled(config(&TOPICS));
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_all_read(&outcome);
        let members = outcome.totals.clients.iter().map(|client| client.member.expect("a member"));
        assert_eq!(members.map(|member| member.partitions as usize).sum::<usize>(), PARTITIONS);
        assert!(outcome.counts().offset_commits > 0);
        // Another three members of the group find nothing left in any of them.
        let ended_ns = outcome.ended_ns;
        let again = fetch(&fetching, outcome.cluster, ended_ns);
        assert_eq!(again.counts().fetched, 0, "{:?}", again.events);
    }
}

/// Fetching goes on in each partition of each topic where it was.
#[test]
fn errors_and_lost_connections_cost_no_record_of_any_topic() {
    let (mut cluster, now_ns) = filled(config(&TOPICS));
    let begun_ns = now_ns + 5 * SECOND;
    cluster.script().at(begun_ns + 20 * MS).remove_broker(0);
    let outcome = fetch(&reading(3), cluster, now_ns);
    assert_all_read(&outcome);
}
