//! When a client goes back to its bootstrap addresses.

use super::*;

const SECOND: u64 = 1_000_000_000;

/// Brings a client up that knows broker 1, which leads its partition; returns the connection to it.
fn at_home() -> (BrokerConnections<u32>, usize) {
    let mut connections = connections(&["a"]);
    come_up(&mut connections);
    connections.poll(0);
    answer(&mut connections, 0, 1, &metadata(&[("a", Ok(&[1]))]), METADATA_VERSION).unwrap();
    let up = come_up(&mut connections);
    assert_eq!(connections.take_surplus(0), Some(0), "the bootstrap connection");
    connections.take_events();
    (connections, up[0])
}

/// The client has left the broker it knew, and is at home again by way of a bootstrap address.
fn comes_back(connections: &mut BrokerConnections<u32>, known: usize, now_ns: u64, why: &str) {
    assert_eq!(connections.next_deadline(), Some(0), "at once");
    let (closed, error) = connections.to_close(now_ns).expect("a connection to leave");
    connections.on_closed(closed, now_ns, error);
    assert_eq!((closed, connections.to_close(now_ns).map(|late| late.0)), (known, None));
    assert_eq!((connections.take_lost(), connections.known_leader(0, 0)), (vec![(known, 7)], None));
    let key = ConnectionKey::Broker(1, Purpose::Leader);
    let why = format!("the client goes back to its bootstrap addresses: {why}");
    assert_eq!(connections.take_events(), [(now_ns, ConnectionEvent::Disconnected { key, why })]);

    let later_ns = now_ns + 1_000;
    assert_eq!(connections.to_connect(later_ns), Some(0), "a bootstrap address");
    connections.on_connected(0, later_ns).unwrap();
    answer_at(connections, 0, 0, (&versions((0, 8)), 3), later_ns).unwrap();
    assert_eq!(connections.to_connect(later_ns), None, "and nothing else");
    connections.poll(later_ns);
    let reply = metadata(&[("a", Ok(&[1]))]);
    answer_at(connections, 0, 1, (&reply, METADATA_VERSION), later_ns).unwrap();
    let again = connections.to_connect(later_ns).expect("broker 1");
    connections.on_connected(again, later_ns).unwrap();
    answer_at(connections, again, 0, (&versions((0, 8)), 3), later_ns).unwrap();
    assert_eq!(connections.leader(0, 0), Some(again));
    assert_eq!(connections.take_events(), [], "no leader has moved");
}

#[test]
fn a_broker_can_send_the_client_back_to_the_bootstrap_addresses() {
    let (mut connections, known) = at_home();
    let request = m03_metadata::Request::of_topics(None);
    let asks = m03_metadata::Response { error_code: ErrorCode::REBOOTSTRAP_REQUIRED, ..Default::default() };
    connections.on_metadata(known, 13, asks, 5_000).expect("no other cluster");
    connections.connection_mut(known).ask(RequestOwner::Client(7), &request, 5_000).unwrap();
    comes_back(&mut connections, known, 5_000, "a broker asked for it");
}

#[test]
fn a_cluster_silent_for_300_s_is_sought_at_bootstrap_addresses() {
    let (mut connections, known) = at_home();
    connections.want_metadata();
    // The broker throttles the client all the while, so that it is not even asked.
    connections.throttle(known, 1_000 * SECOND, 100);
    let request = m03_metadata::Request::of_topics(None);
    connections.connection_mut(known).ask(RequestOwner::Client(7), &request, 5_000).unwrap();
    for now_ns in [100, 150 * SECOND, 300 * SECOND] {
        connections.poll(now_ns);
        assert_eq!(connections.known_leader(0, 0), Some(known));
    }
    connections.poll(300 * SECOND + 100);
    let why = "none of the known brokers returned metadata for too long";
    comes_back(&mut connections, known, 300 * SECOND + 100, why);
}
