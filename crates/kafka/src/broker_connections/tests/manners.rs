//! What a cluster may expect of a client: how often it is asked and dialled, what it is believed, when it is left
//! alone.

use super::*;
use crate::messages::{BrokerEndpoint, LeaderHint, LeaderHints};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const CLIENTS: u64 = 10;

/// A client with Java's times.
fn client(seed: u64) -> BrokerConnections<u32> {
    BrokerConnections::new(ConnectionsConfig { seed, ..times() })
}

fn times() -> ConnectionsConfig {
    ConnectionsConfig {
        request_timeout_ns: 30 * SECOND,
        retry_backoff: ExponentialBackoff { first_ns: 100 * MS, max_ns: SECOND },
        reconnect_backoff: ExponentialBackoff::RECONNECT,
        setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
        idle_ns: ConnectionsConfig::IDLE_NS,
        metadata_max_age_ns: 300 * SECOND,
        ..config(&["a"])
    }
}

/// A reply that names these brokers, and who leads the partitions of topic `a`, since which election.
fn cluster(brokers: &[i32], leaders: &[(i32, i32)]) -> m03_metadata::Response {
    let ids: Vec<i32> = leaders.iter().map(|leader| leader.0).collect();
    let mut reply = metadata(&[("a", Ok(&ids))]);
    for (partition, leader) in reply.topics[0].partitions.iter_mut().zip(leaders) {
        partition.leader_epoch = leader.1;
    }
    let broker = |&node_id: &i32| m03_metadata::MetadataResponseBroker {
        node_id,
        host: format!("broker-{node_id}"),
        port: 9092,
        ..Default::default()
    };
    reply.brokers = brokers.iter().map(broker).collect();
    reply
}

/// Takes in a reply as if it had been requested.
fn hear(connections: &mut BrokerConnections<u32>, reply: m03_metadata::Response, now_ns: u64) {
    connections.on_metadata(0, METADATA_VERSION, reply, now_ns).expect("the same cluster");
}

/// Brings a connection up that is due.
fn dial(connections: &mut BrokerConnections<u32>, now_ns: u64) -> usize {
    let connection = connections.to_connect(now_ns).expect("one that is due");
    connections.on_connected(connection, now_ns).expect("no session");
    answer_at(connections, connection, 0, (&versions((0, 8)), 3), now_ns).expect("a handshake");
    connection
}

fn is_due(connections: &mut BrokerConnections<u32>) -> bool {
    connections.to_connect(u64::MAX / 2).is_some()
}

/// When a client asks in 20 s for a partition that has no leader.
fn asked_for_a_leader(seed: u64) -> Vec<u64> {
    let mut connections = client(seed);
    dial(&mut connections, 0);
    let (mut now_ns, mut asked) = (0, Vec::new());
    while now_ns <= 20 * SECOND {
        connections.poll(now_ns);
        if !written(&mut connections, 0).is_empty() {
            asked.push(now_ns);
            let reply = cluster(&[1], &[(-1, 3)]);
            answer_at(&mut connections, 0, asked.len() as i32, (&reply, METADATA_VERSION), now_ns).unwrap();
        }
        let next_ns = connections.next_deadline().expect("it asks on");
        assert!(next_ns > now_ns, "it does not come to rest");
        now_ns = next_ns;
    }
    asked
}

/// Requests in 20 s after pauses that are longer or shorter by this factor: 100 ms twice (the first answer is
/// news), then doubled up to a second, which none exceeds.
fn requests(factor: f64) -> usize {
    let pause_ms = |answer: i32| (100.0 * 2f64.powi((answer - 1).max(0)).min(10.0) * factor).min(1_000.0);
    let mut at_ms = 0.0;
    let pauses = (0..).take_while(|&answer| {
        at_ms += pause_ms(answer);
        at_ms <= 20_000.0
    });
    1 + pauses.count()
}

#[test]
fn ten_clients_ask_for_a_leader_with_growing_random_pauses() {
    let (least, most) = (requests(1.2), requests(0.8));
    assert_eq!((least, most), (24, 29), "the formula");
    let asked: Vec<Vec<u64>> = (0..CLIENTS).map(asked_for_a_leader).collect();
    for asked in &asked {
        assert!((least..=most).contains(&asked.len()), "{}", asked.len());
    }
    let later: BTreeSet<u64> = asked.iter().flat_map(|asked| &asked[1..]).copied().collect();
    assert_eq!(later.len(), asked.iter().map(|asked| asked.len() - 1).sum::<usize>(), "two at one instant");
}

#[test]
fn clients_that_lose_a_cluster_return_after_random_pauses() {
    let mut instants = BTreeSet::new();
    for seed in 0..CLIENTS {
        let mut connections = client(seed);
        dial(&mut connections, 0);
        hear(&mut connections, cluster(&[1], &[(1, 1)]), 0);
        dial(&mut connections, 0);
        assert_eq!(connections.take_surplus(0), Some(0), "the bootstrap connection");
        connections.on_closed(1, SECOND, ConnectionError::Closed);
        let mut lost_ns = SECOND;
        for (least_ms, most_ms) in [(40, 60), (80, 120), (160, 240), (320, 480), (640, 960), (800, 1_000)] {
            let ConnectionState::Down { retry_ns } = connections.state(1) else { panic!("not down") };
            let pause_ns = retry_ns - lost_ns;
            assert!((least_ms * MS..=most_ms * MS).contains(&pause_ns), "{pause_ns} for {least_ms}");
            assert!(instants.insert(retry_ns), "two clients at {retry_ns}");
            // The bootstrap address has its own pause after that.
            assert!(connections.next_deadline() > Some(lost_ns));
            while connections.to_connect(retry_ns) != Some(1) {}
            lost_ns = retry_ns;
            connections.on_closed(1, lost_ns, ConnectionError::Closed);
        }
    }
    assert_eq!(instants.len() as u64, 6 * CLIENTS);
}

#[test]
fn the_first_bootstrap_address_is_random_and_the_others_follow() {
    let bootstrap: Vec<_> = (0..4).map(|place| (format!("host-{place}"), 9092)).collect();
    let mut first = BTreeSet::new();
    for seed in 0..40 {
        let config = ConnectionsConfig { bootstrap: bootstrap.clone(), seed, ..times() };
        let mut connections = BrokerConnections::<u32>::new(config);
        let tried: Vec<usize> = (0..4)
            .map(|_| {
                let connection = connections.to_connect(0).expect("an address");
                assert_eq!(connections.to_connect(0), None, "one at a time");
                connections.on_closed(connection, 0, ConnectionError::Closed);
                connection
            })
            .collect();
        assert_eq!(tried, (0..4).map(|step| (tried[0] + step) % 4).collect::<Vec<_>>());
        first.insert(tried[0]);
    }
    assert_eq!(first.len(), 4, "{first:?}");
}

#[test]
fn a_connect_may_take_ten_seconds_and_thirty_after_failures() {
    let mut connections = client(1);
    let mut now_ns = 0;
    for (least_s, most_s) in [(8, 12), (16, 24), (24, 30), (24, 30)] {
        let connection = connections.to_connect(now_ns).expect("due");
        let until_ns = connections.next_deadline().expect("an end");
        assert!((least_s * SECOND..=most_s * SECOND).contains(&(until_ns - now_ns)), "{until_ns}");
        assert!(connections.to_close(until_ns - 1).is_none());
        let (late, error) = connections.to_close(until_ns).expect("a connection that takes too long");
        let reported = format!("no connection could be made within {} ms", (until_ns - now_ns) / MS);
        assert_eq!((late, error.to_string()), (connection, reported));
        connections.on_closed(late, until_ns, error);
        now_ns = until_ns + SECOND;
    }
    let connection = dial(&mut connections, now_ns);
    connections.on_closed(connection, now_ns, ConnectionError::Closed);
    connections.to_connect(now_ns + SECOND).expect("due");
    let until_ns = connections.next_deadline().expect("an end");
    assert!(until_ns - now_ns <= 13 * SECOND, "a socket that was connected begins the count anew");
}

#[test]
fn brokers_that_left_are_not_dialled_and_give_up_their_places() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    for id in 0..100 {
        hear(&mut connections, cluster(&[id], &[(id, id)]), 0);
        let connection = connections.leader(0, 0);
        assert_eq!(connection, None, "not up yet");
        dial(&mut connections, 0);
        while connections.take_surplus(0).is_some() {}
        assert!(connections.leader(0, 0).is_some(), "the connection that is needed stays");
    }
    assert!(connections.count() <= 3, "{}", connections.count());
    // One that fails is given up as soon as its broker has left.
    let leader = connections.leader(0, 0).expect("a leader");
    connections.on_closed(leader, 0, ConnectionError::Closed);
    hear(&mut connections, cluster(&[7, 8], &[(-1, 200)]), 0);
    let due: Vec<usize> = std::iter::from_fn(|| connections.to_connect(u64::MAX / 2)).collect();
    assert!(due.iter().all(|&at| matches!(connections.key(at), ConnectionKey::Bootstrap(_))), "{due:?}");
}

#[test]
fn a_broker_is_dialled_only_while_it_leads_something() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1, 2], &[(1, 1), (2, 1)]), 0);
    let [one, two] = [dial(&mut connections, 0), dial(&mut connections, 0)];
    hear(&mut connections, cluster(&[1, 2], &[(1, 1), (1, 2)]), 0);
    connections.on_closed(two, 0, ConnectionError::Closed);
    assert_eq!(connections.leader(0, 1), Some(one));
    assert!(!is_due(&mut connections), "broker 2 is of no use");
    hear(&mut connections, cluster(&[1, 2], &[(1, 1), (2, 3)]), 0);
    assert!(is_due(&mut connections));
}

#[test]
fn an_error_is_reported_once_until_it_changes() {
    let mut connections = client(1);
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let mut reported = |reply: Result<&[i32], ErrorCode>| {
        hear(&mut connections, metadata(&[("a", reply)]), 1);
        connections.take_events().into_iter().map(|(_, event)| event).collect::<Vec<_>>()
    };
    let error = |error| ConnectionEvent::MetadataError { topic: "a".to_owned(), error };
    assert_eq!(reported(Err(unknown)), [error(unknown)]);
    assert_eq!(reported(Err(unknown)), []);
    let other = ErrorCode::LEADER_NOT_AVAILABLE;
    assert_eq!(reported(Err(other)), [error(other)]);
    assert_eq!(reported(Ok(&[1])), [ConnectionEvent::MetadataRecovered { topic: "a".to_owned() }]);
    assert_eq!(reported(Ok(&[1])), []);
    assert_eq!(reported(Err(other)), [error(other)], "it came back");
    let denied = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert!(matches!(&reported(Err(denied))[..], [ConnectionEvent::Refused { .. }]));
    assert_eq!(reported(Err(denied)), []);
}

fn hint(partition: i32, leader: i32, epoch: i32) -> LeaderHints {
    let endpoints = vec![BrokerEndpoint { broker: 9, host: "broker-9".to_owned(), port: 9099 }];
    LeaderHints { leaders: vec![LeaderHint { topic: 0, partition, leader, epoch }], endpoints }
}

#[test]
fn a_newer_leader_named_in_a_response_is_dialled_at_once() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1, 2], &[(1, 5), (1, 5)]), 0);
    dial(&mut connections, 0);
    connections.take_events();
    for (old, why) in [
        (hint(0, 2, 5), "of the same election"),
        (hint(0, 2, 4), "of an older one"),
        (hint(0, 3, 6), "nobody knows where it listens"),
        (hint(0, -1, 6), "no leader"),
        (hint(2, 2, 6), "no such partition"),
        (hint(-1, 2, 6), "no partition"),
    ] {
        assert_eq!(connections.take_hints(old, 1), [], "{why}");
    }
    assert_eq!(connections.take_events(), []);
    assert_eq!(connections.take_hints(hint(1, 9, 6), 1), [(0, 1)]);
    let moved = ConnectionEvent::LeaderMoved { topic: "a".to_owned(), partition: 1, from: 1, to: 9 };
    assert_eq!(connections.take_events(), [(1, moved)]);
    let new = dial(&mut connections, 1);
    assert_eq!((connections.leader(0, 1), connections.address(new)), (Some(new), ("broker-9", 9099)));
    // A broker that has not heard of it does not move the leader back, nor does it take its address.
    hear(&mut connections, cluster(&[1, 2], &[(1, 5), (1, 5)]), 2);
    assert_eq!(connections.leader(0, 1), Some(new));
    assert_eq!(
        [0; 2].map(|_| connections.take_surplus(2)),
        [Some(0), None],
        "the bootstrap connection alone"
    );
    assert!(connections.metadata.is_wanted, "another broker is asked");
    assert_eq!(connections.take_hints(hint(1, 1, 5), 3), [], "nor does an old hint");
}

/// What several responses say is taken in together: a broker listens where the last one has it.
#[test]
fn of_two_addresses_of_a_leader_the_later_one_counts() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1], &[(1, 5)]), 0);
    dial(&mut connections, 0);
    let mut hints = hint(0, 9, 6);
    let moved = BrokerEndpoint { broker: 9, host: "elsewhere".to_owned(), port: 9100 };
    hints.extend(LeaderHints { leaders: Vec::new(), endpoints: vec![moved] });
    assert_eq!(connections.take_hints(hints, 1), [(0, 0)]);
    let leader = dial(&mut connections, 1);
    assert_eq!(connections.address(leader), ("elsewhere", 9100));
}

#[test]
fn a_recreated_topic_is_reported_and_starts_again() {
    let mut connections = client(1);
    let made = |id: u8, leaders: &[(i32, i32)]| {
        let mut reply = cluster(&[1, 2], leaders);
        reply.topics[0].topic_id = [id; 16];
        reply
    };
    assert_eq!(connections.topic_id(0), None);
    hear(&mut connections, made(4, &[(1, 7), (1, 7)]), 1);
    assert_eq!(connections.topic_id(0), Some([4; 16]));
    connections.take_events();
    hear(&mut connections, made(0, &[(1, 7), (1, 7)]), 1);
    assert_eq!(connections.topic_id(0), Some([4; 16]), "a broker that knows no ids does not take it away");
    hear(&mut connections, made(5, &[(1, 0)]), 1);
    assert_eq!((connections.topic_id(0), connections.partition_count(0)), (Some([5; 16]), 1));
    let reported: Vec<_> = connections.take_events();
    assert_eq!(reported, [(1, ConnectionEvent::TopicRecreated { topic: "a".to_owned() })]);
}

#[test]
fn another_cluster_behind_an_address_is_refused_with_both_ids() {
    let mut connections = client(1);
    let of = |id: &str| m03_metadata::Response {
        cluster_id: Some(id.to_owned()),
        ..cluster(&[1, 2], &[(1, 1), (2, 1)])
    };
    dial(&mut connections, 0);
    hear(&mut connections, of("ours"), 0);
    let [one, two] = [dial(&mut connections, 0), dial(&mut connections, 0)];
    for (connection, now_ns) in [(0, SECOND), (one, 5 * SECOND)] {
        connections.want_metadata();
        connections.metadata.next_connection = connection;
        connections.poll(now_ns);
        let reply = if connection == 0 { of("ours") } else { of("theirs") };
        let answered = answer_at(&mut connections, connection, 1, (&reply, METADATA_VERSION), now_ns);
        assert_eq!(answered.is_err(), connection == one);
        if let Err(error) = answered {
            connections.on_closed(connection, now_ns, error);
        }
    }
    let reported =
        "a broker of cluster \"theirs\" answers there, while the client began with cluster \"ours\"";
    let events = connections.take_events();
    let [(_, ConnectionEvent::Refused { refusal, .. })] = &events[..] else { panic!("{events:?}") };
    assert_eq!(refusal.to_string(), reported);
    assert_eq!((connections.state(one), connections.leader(0, 0)), (ConnectionState::Refused, None));
    assert_eq!(connections.leader(0, 1), Some(two), "what it said is not believed");
    assert!(!is_due(&mut connections), "it is not tried again");
    connections.poll(10 * SECOND);
    assert!([0, two].iter().any(|&other| !written(&mut connections, other).is_empty()), "others are asked");
}

#[test]
fn a_throttled_client_waits_and_requests_in_flight_last_longer() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1], &[(1, 1)]), 0);
    let leader = dial(&mut connections, 0);
    let request = m03_metadata::Request::of_topics(None);
    connections.connection_mut(leader).ask(RequestOwner::Client(7), &request, 0).unwrap();
    connections.throttle(leader, 0, SECOND);
    assert!(connections.can_ask(leader));
    connections.throttle(leader, 5 * SECOND, SECOND);
    connections.throttle(leader, 3 * SECOND, 2 * SECOND);
    assert!(!connections.can_ask(leader) && connections.is_up(leader), "until the later of the two");
    assert_eq!(connections.next_deadline(), Some(6 * SECOND));
    connections.poll(6 * SECOND - 1);
    assert!(!connections.can_ask(leader));
    connections.poll(6 * SECOND);
    assert!(connections.can_ask(leader));
    assert!(connections.to_close(38 * SECOND - 1).is_none(), "30 s, and the 8 s for which it was held back");
    assert_eq!(connections.to_close(38 * SECOND).map(|late| late.0), Some(leader));
}

#[test]
fn metadata_reports_throttling_from_version_6_on() {
    for (version, is_muted) in [(5, false), (6, true)] {
        let mut connections = client(1);
        dial(&mut connections, 0);
        let reply = m03_metadata::Response { throttle_time_ms: 100, ..cluster(&[1], &[(1, 1)]) };
        connections.on_metadata(0, version, reply, 0).expect("the same cluster");
        assert_eq!(connections.can_ask(0), !is_muted, "{version}");
    }
}

#[test]
fn an_idle_connection_is_closed_until_it_is_needed() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1], &[(1, 1)]), 0);
    let leader = dial(&mut connections, 0);
    assert_eq!(connections.take_surplus(0), Some(0), "the bootstrap connection");
    let request = m03_metadata::Request::of_topics(None);
    connections.connection_mut(leader).ask(RequestOwner::Client(7), &request, SECOND).unwrap();
    let idle_ns = ConnectionsConfig::IDLE_NS;
    assert_eq!(connections.take_surplus(SECOND + idle_ns), None, "something is in flight");
    answer_at(&mut connections, leader, 1, (&cluster(&[], &[]), METADATA_VERSION), 2 * SECOND).unwrap();
    assert_eq!(connections.take_surplus(2 * SECOND + idle_ns - 1), None);
    assert_eq!(connections.take_surplus(2 * SECOND + idle_ns), Some(leader));
    assert_eq!(connections.take_events(), [], "that is no news");
    assert!(connections.has_idle());
    let due = connections.to_connect(1_000 * SECOND);
    assert_eq!(due, Some(0), "metadata has to be asked for somewhere");
    assert_eq!(connections.to_connect(1_000 * SECOND), None);
    connections.wake(0, 0);
    assert_eq!((connections.to_connect(1_000 * SECOND), connections.has_idle()), (Some(leader), false));
}

#[test]
fn an_unreachable_leader_is_waited_for_up_to_the_socket_timeout() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1, 2], &[(1, 1), (2, 1), (-1, 1)]), 0);
    dial(&mut connections, 0);
    let lost = connections.to_connect(0).expect("broker 2");
    let fail = |connections: &mut BrokerConnections<u32>, now_ns| {
        connections.on_closed(lost, now_ns, ConnectionError::Closed);
        connections.to_connect(now_ns + SECOND).expect("it is tried again");
        connections.take_events().len()
    };
    assert_eq!(fail(&mut connections, 0), 1, "told");
    assert_eq!(fail(&mut connections, SECOND), 0, "once");
    connections.poll(10 * SECOND - 1);
    assert!(!connections.is_ready());
    connections.poll(10 * SECOND);
    assert!(connections.is_ready(), "without broker 2, and without the partition that has no leader");
    connections.begin(11 * SECOND);
    let again = connections.take_events().into_iter().map(|(at_ns, event)| {
        assert_eq!(at_ns, 11 * SECOND);
        match event {
            ConnectionEvent::Unreachable { key, .. } => key.to_string(),
            ConnectionEvent::LeaderMoved { partition, from: -1, to: -1, .. } => {
                format!("partition {partition}")
            }
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(again.collect::<Vec<_>>(), ["broker 2", "partition 2"], "told again when the load begins");
    assert_eq!(fail(&mut connections, 11 * SECOND), 0);
    let refusal = PermanentError::OtherCluster { first: "a".to_owned(), found: "b".to_owned() };
    connections.on_closed(lost, 12 * SECOND, refusal.into());
    assert!(!connections.is_ready() && connections.refusal().is_some(), "that is for the user to cure");
}

#[test]
fn a_client_that_reaches_no_broker_is_never_ready() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    hear(&mut connections, cluster(&[1], &[(1, 1)]), 0);
    let lost = connections.to_connect(0).expect("broker 1");
    connections.on_closed(lost, 0, ConnectionError::Closed);
    connections.poll(1_000 * SECOND);
    assert!(!connections.is_ready());
}

#[test]
fn an_invalid_address_is_reported_and_not_dialled() {
    for (host, port, why) in [
        ("h", 0, "it advertises port 0, and ports are 1 to 65535"),
        ("h", 65_536, "it advertises port 65536, and ports are 1 to 65535"),
        ("h", -1, "it advertises port -1, and ports are 1 to 65535"),
        ("", 9092, "it advertises an address without a host"),
    ] {
        let mut connections = client(1);
        dial(&mut connections, 0);
        let mut reply = cluster(&[1, 2], &[(1, 1), (2, 1)]);
        (reply.brokers[1].host, reply.brokers[1].port) = (host.to_owned(), port);
        hear(&mut connections, reply.clone(), 0);
        hear(&mut connections, reply, 1);
        let key = ConnectionKey::Broker(2, Purpose::Leader);
        let reported = ConnectionEvent::Unreachable { key, why: why.to_owned() };
        assert_eq!(connections.take_events(), [(0, reported)], "once");
        connections.begin(1);
        assert_eq!(connections.take_events().len(), 1, "and when the load begins");
        let leader = dial(&mut connections, 1);
        assert_eq!(connections.key(leader), ConnectionKey::Broker(1, Purpose::Leader));
        assert!(!is_due(&mut connections));
        hear(&mut connections, cluster(&[1, 2], &[(1, 1), (2, 1)]), 2);
        assert!(is_due(&mut connections), "once it has one it is dialled");
    }
}

#[test]
fn no_reply_makes_a_client_store_impossibly_many_brokers() {
    let mut connections = client(1);
    let ids: Vec<i32> = (0..10_000).collect();
    hear(&mut connections, cluster(&ids, &[(1, 1), (9_999, 1)]), 0);
    assert_eq!((connections.metadata.brokers.len(), connections.count()), (4_096, 2));
    connections.take_hints(hint(0, 9, 2), 0);
    assert!(connections.metadata.brokers.len() <= 4_096);
}

#[test]
fn a_reply_that_cannot_be_read_is_asked_for_again() {
    let mut connections = client(1);
    dial(&mut connections, 0);
    connections.poll(0);
    // An answer to ApiVersions is none to Metadata.
    let error = answer_at(&mut connections, 0, 1, (&versions((0, 8)), 3), 0).expect_err("no metadata");
    connections.on_closed(0, 0, error);
    let again = dial(&mut connections, SECOND);
    connections.poll(SECOND);
    assert!(!written(&mut connections, again).is_empty());
    // Nor is one that names no broker: it is about to start.
    answer_at(&mut connections, again, 1, (&cluster(&[], &[(1, 1)]), METADATA_VERSION), SECOND).unwrap();
    assert_eq!(connections.partition_count(0), 0);
    connections.poll(2 * SECOND);
    assert!(!written(&mut connections, again).is_empty());
}
