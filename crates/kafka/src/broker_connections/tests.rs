//! What the connections of a client ask for and conclude, response by response.

mod manners;
mod rebootstrap;

use super::*;
use crate::backoff::ExponentialBackoff;
use crate::errors::ErrorCode;
use crate::messages::{
    Api, Message, m00_produce, m17_sasl_handshake, m18_api_versions, m36_sasl_authenticate, write_frame,
};
use crate::security::sasl::{Login, LoginError};
use crate::security::{ConnectionSecurity, Hidden};
use crate::session::SessionError;
use crate::wire::Writer;

const NEEDS: &[Api] = &[m03_metadata::API, m00_produce::API];
/// The version of Metadata that the broker offers: without flexible fields.
const METADATA_VERSION: i16 = 8;

fn connections(topics: &[&str]) -> BrokerConnections<u32> {
    BrokerConnections::new(config(topics))
}

fn config(topics: &[&str]) -> ConnectionsConfig {
    ConnectionsConfig {
        client_id: "me".to_owned(),
        topics: topics.iter().map(ToString::to_string).collect(),
        bootstrap: vec![("first".to_owned(), 9092)],
        needs: NEEDS,
        security: ConnectionSecurity::default(),
        request_timeout_ns: 1_000,
        retry_backoff: ExponentialBackoff { first_ns: 10, max_ns: 10 },
        reconnect_backoff: ExponentialBackoff { first_ns: 20, max_ns: 20 },
        setup_timeout: ExponentialBackoff { first_ns: 500, max_ns: 500 },
        idle_ns: 10_000_000,
        metadata_max_age_ns: 1_000_000,
        frame_bytes_max: 1 << 20,
        seed: 20_261_122,
    }
}

/// What waits to be written, which then counts as written.
fn written(connections: &mut BrokerConnections<u32>, connection: usize) -> Vec<u8> {
    let queues = connections.connection_mut(connection);
    let mut bytes = Vec::new();
    queues.write_to(&mut bytes).expect("a vector takes all");
    queues.stamp_written(1);
    bytes
}

/// The broker answers the request with this correlation id.
fn answer(
    connections: &mut BrokerConnections<u32>,
    connection: usize,
    correlation_id: i32,
    response: &impl Message,
    version: i16,
) -> Result<(), ConnectionError> {
    answer_at(connections, connection, correlation_id, (response, version), 1)
}

/// As [`answer`], at an instant.
fn answer_at(
    connections: &mut BrokerConnections<u32>,
    connection: usize,
    correlation_id: i32,
    (response, version): (&impl Message, i16),
    now_ns: u64,
) -> Result<(), ConnectionError> {
    written(connections, connection);
    let mut frame = Vec::new();
    write_frame(&mut frame, |out| {
        out.put_i32(correlation_id);
        response.encode(version, out);
    });
    let queues = connections.connection_mut(connection);
    queues.input_space()[..frame.len()].copy_from_slice(&frame);
    queues.advance_read(frame.len())?;
    connections.receive(connection, now_ns, |_, _| Ok(()))
}

fn versions(produce: (i16, i16)) -> m18_api_versions::Response {
    let range = |api_key, (min_version, max_version)| m18_api_versions::ApiVersion {
        api_key,
        min_version,
        max_version,
    };
    let api_keys = vec![range(3, (0, METADATA_VERSION)), range(0, produce)];
    m18_api_versions::Response { api_keys, ..Default::default() }
}

/// Connects what is due, handshake included; returns which connections came up.
fn come_up(connections: &mut BrokerConnections<u32>) -> Vec<usize> {
    let mut up = Vec::new();
    while let Some(connection) = connections.to_connect(0) {
        connections.on_connected(connection, 0).unwrap();
        answer(connections, connection, 0, &versions((0, 8)), 3).unwrap();
        up.push(connection);
    }
    up
}

/// Brokers 1 and 2, and topics with the leaders of their partitions, or an error.
fn metadata(topics: &[(&str, Result<&[i32], ErrorCode>)]) -> m03_metadata::Response {
    let broker = |node_id| m03_metadata::MetadataResponseBroker {
        node_id,
        host: format!("broker-{node_id}"),
        port: 9092,
        ..Default::default()
    };
    let partition = |(leader_id, partition_index): (&i32, i32)| m03_metadata::MetadataResponsePartition {
        partition_index,
        leader_id: *leader_id,
        ..Default::default()
    };
    let topic = |(name, leaders): &(&str, Result<&[i32], ErrorCode>)| m03_metadata::MetadataResponseTopic {
        name: Some(name.to_string()),
        error_code: leaders.err().unwrap_or(ErrorCode::NONE),
        partitions: leaders.unwrap_or_default().iter().zip(0..).map(partition).collect(),
        ..Default::default()
    };
    m03_metadata::Response {
        brokers: vec![broker(1), broker(2)],
        topics: topics.iter().map(topic).collect(),
        ..Default::default()
    }
}

#[test]
fn the_leaders_of_several_topics_share_connections() {
    let mut connections = connections(&["a", "b"]);
    assert_eq!(come_up(&mut connections), [0]);
    connections.poll(0);
    let request = written(&mut connections, 0);
    assert!(request.ends_with(&[0, 1, b'a', 0, 1, b'b', 0, 0, 0]), "{request:?}");
    let leaders = metadata(&[("b", Ok(&[2])), ("a", Ok(&[1, 2]))]);
    answer(&mut connections, 0, 1, &leaders, METADATA_VERSION).unwrap();
    assert_eq!((connections.partition_count(0), connections.partition_count(1)), (2, 1));
    assert!(!connections.is_ready());
    assert_eq!(come_up(&mut connections), [1, 2]);
    assert!(connections.is_ready());
    let leaders = [(0, 0), (0, 1), (1, 0)].map(|(topic, partition)| connections.leader(topic, partition));
    assert_eq!(leaders, [Some(1), Some(2), Some(2)]);
    {
        let (_, leads) = connections.connection_and_leads(2);
        assert!(leads(1, 0) && !leads(0, 0) && leads(0, 1));
    }
    assert_eq!(connections.take_surplus(1), Some(0), "nobody needs the bootstrap connection any more");
}

#[test]
fn a_lagging_topic_does_not_delay_the_other_and_is_asked_again() {
    let mut connections = connections(&["a", "b"]);
    come_up(&mut connections);
    connections.poll(0);
    let error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let half = metadata(&[("a", Ok(&[1])), ("b", Err(error))]);
    answer(&mut connections, 0, 1, &half, METADATA_VERSION).unwrap();
    come_up(&mut connections);
    assert!(connections.leader(0, 0).is_some() && !connections.is_ready());
    let reported = ConnectionEvent::MetadataError { topic: "b".to_owned(), error };
    assert_eq!(connections.take_events(), [(1, reported)]);
    assert_eq!((connections.refusal(), connections.next_deadline()), (None, Some(11)));
}

#[test]
fn a_coordinator_has_a_connection_of_its_own() {
    let mut connections = connections(&["a"]);
    assert_eq!(connections.wanted(1, Purpose::Coordinator), None, "not known yet");
    come_up(&mut connections);
    connections.poll(0);
    answer(&mut connections, 0, 1, &metadata(&[("a", Ok(&[1]))]), METADATA_VERSION).unwrap();
    let coordinator = connections.wanted(1, Purpose::Coordinator).unwrap();
    assert_eq!(connections.wanted(1, Purpose::Coordinator), Some(coordinator), "one, however often");
    assert_eq!(come_up(&mut connections), [1, coordinator]);
    assert_eq!(connections.leader(0, 0), Some(1));
    assert_eq!(connections.key(coordinator), ConnectionKey::Broker(1, Purpose::Coordinator));
    assert_eq!(connections.address(coordinator), connections.address(1));
    // The one to a bootstrap address is not needed any more.
    assert_eq!(connections.take_surplus(0), Some(0));
    assert_eq!(connections.take_surplus(0), None);
    connections.unwanted(1, Purpose::Coordinator);
    assert_eq!(connections.take_surplus(0), Some(coordinator), "another broker coordinates");
    assert_eq!(connections.to_connect(0), None);
    assert_eq!(connections.wanted(1, Purpose::Coordinator), Some(coordinator), "or it does so again");
    assert_eq!(come_up(&mut connections), [coordinator]);
    connections.on_closed(coordinator, 1, ConnectionError::Closed);
    assert!(connections.is_ready(), "records do not wait for a coordinator");
}

#[test]
fn a_broker_without_a_common_version_is_not_tried_again() {
    let mut connections = connections(&["a"]);
    let connection = connections.to_connect(0).unwrap();
    connections.on_connected(connection, 0).unwrap();
    let error = answer(&mut connections, connection, 0, &versions((20, 21)), 3).unwrap_err();
    connections.on_closed(connection, 1, error);
    let refusal = connections.refusal().expect("a refusal").to_string();
    assert_eq!(refusal, "no common version of Produce: the broker speaks 20 to 21, we speak 3 to 13");
    assert_eq!((connections.to_connect(u64::MAX / 2), connections.next_deadline()), (None, None));
    let events = connections.take_events();
    assert!(matches!(&events[..], [(1, ConnectionEvent::Refused { .. })]), "{events:?}");
}

#[test]
fn an_error_in_the_handshake_is_final_only_if_it_says_so() {
    for (error, is_final) in [
        (ErrorCode::SASL_AUTHENTICATION_FAILED, true),
        (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, true),
        (ErrorCode::UNKNOWN_SERVER_ERROR, false),
        (ErrorCode::REQUEST_TIMED_OUT, false),
    ] {
        let mut connections = connections(&["a"]);
        let connection = connections.to_connect(0).unwrap();
        connections.on_connected(connection, 0).unwrap();
        let response = m18_api_versions::Response { error_code: error, ..Default::default() };
        let failure = answer(&mut connections, connection, 0, &response, 3).unwrap_err();
        connections.on_closed(connection, 1, failure);
        assert_eq!(connections.refusal().is_some(), is_final, "{error}");
        assert_eq!(connections.to_connect(u64::MAX / 2).is_none(), is_final, "{error}");
    }
}

/// Connects what is due and has the broker answer the login.
fn log_in(
    connections: &mut BrokerConnections<u32>,
    now_ns: u64,
    error_code: ErrorCode,
) -> Result<(), ConnectionError> {
    let connection = connections.to_connect(now_ns).expect("one that is due");
    connections.on_connected(connection, now_ns)?;
    let mut spoken = versions((0, 8));
    for api in [m17_sasl_handshake::API, m36_sasl_authenticate::API] {
        let (api_key, min_version, max_version) = (api.key, 0, 1);
        spoken.api_keys.push(m18_api_versions::ApiVersion { api_key, min_version, max_version });
    }
    answer_at(connections, connection, 0, (&spoken, 3), now_ns)?;
    answer_at(connections, connection, 1, (&m17_sasl_handshake::Response::default(), 1), now_ns)?;
    let response = m36_sasl_authenticate::Response { error_code, ..Default::default() };
    answer_at(connections, connection, 2, (&response, 1), now_ns)
}

#[test]
fn a_login_that_worked_once_is_retried_and_reported_once() {
    let login = Arc::new(Login::plain("me", Hidden::new(b"hunter2".to_vec())).unwrap());
    let security = ConnectionSecurity { login: Some(login), ..ConnectionSecurity::default() };
    let fresh =
        || BrokerConnections::<u32>::new(ConnectionsConfig { security: security.clone(), ..config(&["a"]) });
    let (good, bad) = (ErrorCode::NONE, ErrorCode::SASL_AUTHENTICATION_FAILED);
    let mut never = fresh();
    let error = log_in(&mut never, 0, bad).unwrap_err();
    never.on_closed(0, 0, error);
    assert_eq!(never.state(0), ConnectionState::Refused, "it was never good");

    let mut connections = fresh();
    let retry_ns = |connections: &BrokerConnections<u32>| match connections.state(0) {
        ConnectionState::Down { retry_ns } => retry_ns,
        other => panic!("not tried again: {other:?}"),
    };
    log_in(&mut connections, 0, good).unwrap();
    connections.on_closed(0, 1, ConnectionError::Closed);
    connections.take_events();
    for attempt in 0..3 {
        let now_ns = retry_ns(&connections);
        let error = log_in(&mut connections, now_ns, bad).unwrap_err();
        connections.on_closed(0, now_ns, error);
        assert!(retry_ns(&connections) > now_ns, "after a pause");
        assert_eq!(connections.take_events().len(), usize::from(attempt == 0));
        assert_eq!(connections.refusal(), None);
    }
    let now_ns = retry_ns(&connections);
    log_in(&mut connections, now_ns, good).expect("a token that was renewed");
    connections.on_closed(0, now_ns, PermanentError::Login(LoginError::NotAsked).into());
    let events = connections.take_events();
    assert!(matches!(&events[..], [(_, ConnectionEvent::Disconnected { .. })]), "{events:?}");
    assert!(retry_ns(&connections) > now_ns);
}

/// The broker shows a certificate that has expired. Returns whether it is tried again, and what is reported.
fn expire(
    connections: &mut BrokerConnections<u32>,
    connection: usize,
    now_ns: u64,
) -> (bool, Vec<ConnectionEvent>) {
    let expired = SessionError::Refused("its certificate has expired".to_owned());
    connections.on_closed(connection, now_ns, expired.into());
    let is_tried_again = match connections.state(connection) {
        ConnectionState::Down { retry_ns } => {
            assert!(retry_ns > now_ns, "after a pause");
            true
        }
        other => {
            assert_eq!(other, ConnectionState::Refused);
            false
        }
    };
    assert_eq!(connections.refusal().is_some(), !is_tried_again);
    (is_tried_again, connections.take_events().into_iter().map(|(_, event)| event).collect())
}

#[test]
fn a_certificate_that_was_valid_once_is_retried_during_the_load() {
    for has_begun in [false, true] {
        let mut connections = connections(&["a"]);
        come_up(&mut connections);
        connections.poll(0);
        answer(&mut connections, 0, 1, &metadata(&[("a", Ok(&[1, 2]))]), METADATA_VERSION).unwrap();
        let [known, new] = [0; 2].map(|_| connections.to_connect(0).expect("a leader"));
        connections.on_connected(known, 0).unwrap();
        answer(&mut connections, known, 0, &versions((0, 8)), 3).unwrap();
        connections.on_closed(known, 1, ConnectionError::Closed);
        connections.take_events();

        let (key, why) =
            (connections.key(known), "TLS handshake failed: its certificate has expired".to_owned());
        let reported = ConnectionEvent::Unreachable { key, why };
        assert_eq!(expire(&mut connections, known, 1_000), (true, vec![reported]));
        assert_eq!(expire(&mut connections, known, 2_000), (true, vec![]), "told once");

        if has_begun {
            connections.begin(3_000);
            connections.take_events();
        }
        let (is_tried_again, reported) = expire(&mut connections, new, 4_000);
        let is_final = matches!(reported[..], [ConnectionEvent::Refused { .. }]);
        assert_eq!(
            (is_tried_again, is_final),
            (has_begun, !has_begun),
            "one that never was good: {reported:?}"
        );
    }
}

#[test]
fn a_topic_that_is_not_ours_to_see_is_a_refusal_until_it_is() {
    let mut connections = connections(&["a"]);
    come_up(&mut connections);
    connections.poll(0);
    let denied = metadata(&[("a", Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED))]);
    answer(&mut connections, 0, 1, &denied, METADATA_VERSION).unwrap();
    let reported = "the broker answered Metadata of topic \"a\" with an error TOPIC_AUTHORIZATION_FAILED";
    assert_eq!(connections.refusal().map(ToString::to_string).as_deref(), Some(reported));
    connections.poll(501);
    assert_eq!(connections.next_deadline(), Some(1_000_001), "not asked again before its age");
    connections.poll(1_000_001);
    answer(&mut connections, 0, 2, &metadata(&[("a", Ok(&[1]))]), METADATA_VERSION).unwrap();
    assert_eq!(connections.refusal(), None);
}

#[test]
fn a_lost_connection_returns_its_requests_and_asks_for_leaders() {
    let mut connections = connections(&["a"]);
    come_up(&mut connections);
    connections.poll(0);
    answer(&mut connections, 0, 1, &metadata(&[("a", Ok(&[1]))]), METADATA_VERSION).unwrap();
    come_up(&mut connections);
    let request = m03_metadata::Request::of_topics(None);
    connections.connection_mut(1).ask(RequestOwner::Client(7), &request, 5).unwrap();
    assert!(connections.to_close(1_004).is_none());
    let (late, error) = connections.to_close(1_005).expect("a connection that waited too long");
    connections.on_closed(late, 1_005, error);
    assert_eq!((late, connections.take_lost()), (1, vec![(1, 7)]));
    let key = ConnectionKey::Broker(1, Purpose::Leader);
    let why = "the broker did not answer within 0 ms".to_owned();
    assert_eq!(connections.take_events(), [(1_005, ConnectionEvent::Disconnected { key, why })]);
    connections.poll(1_005);
    assert!(!written(&mut connections, 0).is_empty(), "metadata is asked for over the other one");
}

/// With `acks=0` a request is over when it is written, and that is reported also where its connection ends and the
/// broker has left before the caller asks.
#[test]
fn a_place_is_kept_until_its_write_is_reported() {
    let mut connections = connections(&["a"]);
    come_up(&mut connections);
    let hear = |connections: &mut BrokerConnections<u32>, broker: i32| {
        let mut reply = metadata(&[("a", Ok(&[broker]))]);
        reply.brokers.truncate(1);
        reply.brokers[0].node_id = broker;
        connections.on_metadata(0, METADATA_VERSION, reply, 1).expect("the same cluster");
    };
    hear(&mut connections, 1);
    assert_eq!(come_up(&mut connections), [1]);
    let (token, api) = (RequestOwner::Client(7), (m00_produce::API, m00_produce::BY_NAME_MAX));
    connections.connection_mut(1).send(token, api, false, 0, |_, out| {
        out.push_back(b"records".as_slice().into());
        7
    });
    written(&mut connections, 1);
    connections.on_closed(1, 1, ConnectionError::Closed);
    hear(&mut connections, 2);
    assert_eq!(connections.key(1), ConnectionKey::Broker(1, Purpose::Leader));
    assert_eq!(connections.take_unanswered(1).map(|over| over.token), Some(7));
    hear(&mut connections, 3);
    assert_eq!(connections.key(1), ConnectionKey::Broker(3, Purpose::Leader));
}

/// Metadata of topic `a` with an id, whose only partition is led by `leader_id` since an election.
fn elected(topic_id: u8, leader_id: i32, leader_epoch: i32) -> m03_metadata::Response {
    let mut response = metadata(&[("a", Ok(&[leader_id]))]);
    response.topics[0].topic_id = [topic_id; 16];
    response.topics[0].partitions[0].leader_epoch = leader_epoch;
    response
}

/// Brokers hear of an election one after the other: who leads does not go back and forth with whom is asked.
#[test]
fn a_leader_moves_only_forward_unless_the_topic_is_another() {
    let mut connections = connections(&["a"]);
    let mut hear = |topic_id, leader_id, leader_epoch| {
        connections.metadata.is_asked = true;
        let reply = elected(topic_id, leader_id, leader_epoch);
        connections.on_metadata(0, METADATA_VERSION, reply, 1).expect("the same cluster");
        let moved = connections.take_events().into_iter().filter_map(|(_, event)| match event {
            ConnectionEvent::LeaderMoved { from, to, .. } => Some((from, to)),
            ConnectionEvent::TopicRecreated { topic } if (topic.as_str(), topic_id) == ("a", 2) => None,
            other => panic!("{other:?}"),
        });
        (moved.collect::<Vec<_>>(), connections.metadata.leaders(0)[0].broker, connections.metadata.is_wanted)
    };
    assert_eq!(hear(1, 1, 5), (vec![], 1, false), "the first leader has not moved");
    assert_eq!(hear(1, 2, 6), (vec![(1, 2)], 2, false));
    assert_eq!(hear(1, 1, 5), (vec![], 2, true), "old news, and another broker is asked");
    assert_eq!(hear(1, 2, 6), (vec![], 2, false));
    assert_eq!(hear(2, 1, 0), (vec![(2, 1)], 1, false), "a topic that was made anew begins anew");
    assert_eq!(hear(0, 2, 1), (vec![(1, 2)], 2, false), "a broker that knows no ids means the same topic");
    assert_eq!(hear(2, 1, 0), (vec![], 2, true), "so what is old stays old");
    assert_eq!(hear(2, 1, -1), (vec![(2, 1)], 1, false), "a broker that tells no epoch is believed");
    assert_eq!(hear(2, 2, 0), (vec![], 1, true), "and makes no epoch forgotten");
}
