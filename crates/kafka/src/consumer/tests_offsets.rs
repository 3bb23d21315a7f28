//! A consuming client and answers that are made by hand.

use super::*;
use crate::backoff::ExponentialBackoff;
use crate::messages::{Api, Message, m03_metadata, m18_api_versions, write_frame};
use crate::security::ConnectionSecurity;
use crate::wire::Writer;

const MS: u64 = 1_000_000;
/// `retry.backoff.ms`.
const PAUSE_NS: u64 = 100 * MS;
/// The versions that the broker offers: without flexible fields.
const METADATA_VERSION: i16 = 8;
const LIST_OFFSETS_VERSION: i16 = 5;

fn consumer() -> Consumer {
    let config = ConsumerConfig {
        retry_backoff_ns: PAUSE_NS,
        ..super::tests::config(FetchDepth::Decode, FetchIsolation::ReadUncommitted)
    };
    let connections = ConnectionsConfig {
        client_id: "me".to_owned(),
        topics: vec!["t".to_owned()],
        bootstrap: vec![("first".to_owned(), 9092)],
        needs: super::NEEDS,
        security: ConnectionSecurity::default(),
        request_timeout_ns: 30_000 * MS,
        retry_backoff: ExponentialBackoff { first_ns: PAUSE_NS, max_ns: PAUSE_NS },
        reconnect_backoff: ExponentialBackoff::RECONNECT,
        setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
        idle_ns: ConnectionsConfig::IDLE_NS,
        metadata_max_age_ns: 300_000 * MS,
        frame_bytes_max: 1 << 20,
        seed: 20_261_123,
    };
    Consumer::new(config, connections, ())
}

/// Writes what waits; then the broker answers the request with this correlation id.
fn answer(
    consumer: &mut Consumer,
    connection: usize,
    correlation_id: i32,
    (response, version): (&impl Message, i16),
    now_ns: u64,
) {
    let queues = consumer.connections.connection_mut(connection);
    queues.write_to(&mut Vec::new()).expect("a vector takes all");
    queues.stamp_written(now_ns);
    let mut frame = Vec::new();
    write_frame(&mut frame, |out| {
        out.put_i32(correlation_id);
        response.encode(version, out);
    });
    queues.input_space()[..frame.len()].copy_from_slice(&frame);
    queues.advance_read(frame.len()).expect("a frame");
    consumer.receive(connection, now_ns).expect("an answer");
}

/// Connects what is due, handshake included.
fn come_up(consumer: &mut Consumer) -> usize {
    let connection = consumer.connections.to_connect(0).expect("one that is due");
    consumer.connections.on_connected(connection, 0).expect("no session");
    let range = |api: Api, max_version| m18_api_versions::ApiVersion {
        api_key: api.key,
        min_version: 0,
        max_version,
    };
    let api_keys = vec![
        range(m03_metadata::API, METADATA_VERSION),
        range(m02_list_offsets::API, LIST_OFFSETS_VERSION),
        range(m01_fetch::API, 11),
    ];
    let versions = m18_api_versions::Response { api_keys, ..Default::default() };
    answer(consumer, connection, 0, (&versions, 3), 0);
    connection
}

#[test]
fn offsets_missing_from_an_answer_are_asked_again_after_a_pause() {
    let mut consumer = consumer();
    let bootstrap = come_up(&mut consumer);
    consumer.connections.poll(0);
    let broker = m03_metadata::MetadataResponseBroker {
        node_id: 1,
        host: "broker-1".to_owned(),
        port: 9092,
        ..Default::default()
    };
    let partition = |partition_index| m03_metadata::MetadataResponsePartition {
        partition_index,
        leader_id: 1,
        ..Default::default()
    };
    let topic = m03_metadata::MetadataResponseTopic {
        name: Some("t".to_owned()),
        partitions: vec![partition(0), partition(1)],
        ..Default::default()
    };
    let metadata =
        m03_metadata::Response { brokers: vec![broker], topics: vec![topic], ..Default::default() };
    answer(&mut consumer, bootstrap, 1, (&metadata, METADATA_VERSION), 0);
    let leader = come_up(&mut consumer);

    let offset = |partition_index| m02_list_offsets::ListOffsetsPartitionResponse {
        partition_index,
        offset: 5,
        ..Default::default()
    };
    let mut now_ns = 0;
    for (correlation_id, reported) in [(1, vec![]), (2, vec![offset(0)])] {
        consumer.poll(now_ns, false);
        assert_eq!(consumer.connections.in_flight(leader), 1);
        let topics =
            vec![m02_list_offsets::ListOffsetsTopicResponse { name: "t".to_owned(), partitions: reported }];
        let offsets = m02_list_offsets::Response { topics, ..Default::default() };
        answer(&mut consumer, leader, correlation_id, (&offsets, LIST_OFFSETS_VERSION), now_ns);
        for early_ns in [now_ns, now_ns + PAUSE_NS - 1] {
            consumer.poll(early_ns, false);
            assert_eq!(consumer.connections.in_flight(leader), 0, "asked again without a pause");
        }
        now_ns += PAUSE_NS;
        assert_eq!(consumer.next_deadline(), Some(now_ns));
    }
    let known: Vec<Option<i64>> = consumer.positions.iter().map(|position| position.next).collect();
    assert_eq!(known, [Some(5), None]);
}
