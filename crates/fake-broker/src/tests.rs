//! The fake cluster as a cluster: queueing theory as the oracle for times, an independent codec for bytes.

use super::cluster::{ClusterOutput, FakeCluster};
use super::codec::code;
use super::connection::ConnId;
use super::{FakeConfig, Service, ServicePer, ServiceTime, tcp};
use crate::oracle::{produce, request, response, topic};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, DescribeConfigsRequest, DescribeConfigsResponse, FetchRequest,
    FetchResponse, InitProducerIdRequest, InitProducerIdResponse, ListOffsetsRequest, ListOffsetsResponse,
    MetadataRequest, MetadataResponse, ProduceResponse,
};
use kafka_protocol::records::RecordBatchDecoder;
use kdyno_kafka_server::codec::batch::prebuilt;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A produce request of `records` records for one partition of topic "t".
pub(super) fn frame(id: i32, partition: i32, records: u32) -> Vec<u8> {
    request(ApiKey::Produce, 9, id, &produce(1, "t", &[(partition, prebuilt(records, 10))]))
}

/// Everything that comes until nothing is scheduled any more: instant and output.
pub(super) fn drain(cluster: &mut FakeCluster) -> Vec<(u64, ClusterOutput)> {
    let mut all = Vec::new();
    while let Some(at) = cluster.next_deadline() {
        all.extend(cluster.poll(at).into_iter().map(|output| (at, output)));
    }
    all
}

/// Correlation id, error and base offset of an answer to [`frame`].
pub(super) fn answered(output: &ClusterOutput) -> (i32, i16, i64) {
    let ClusterOutput::Bytes { bytes, .. } = output else { panic!("closed") };
    let mut bytes = bytes.clone();
    let (id, answer) = response::<ProduceResponse>(&mut bytes, 9);
    assert!(bytes.is_empty());
    let partition = &answer.responses[0].partition_responses[0];
    (id, partition.error_code, partition.base_offset)
}

/// The only answer to a request that needs no waiting.
fn ask<R: kafka_protocol::protocol::Decodable + kafka_protocol::protocol::HeaderVersion>(
    cluster: &mut FakeCluster,
    conn: ConnId,
    frame: &[u8],
    version: i16,
) -> R {
    cluster.receive(conn, frame, 0);
    let at = cluster.next_deadline().expect("an answer");
    let outputs = cluster.poll(at);
    let [ClusterOutput::Bytes { bytes, .. }] = &outputs[..] else { panic!("{outputs:?}") };
    response::<R>(&mut bytes.clone(), version).1
}

fn queue(time: ServiceTime) -> Service {
    Service::Queue { per: ServicePer::Request, time }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn completions_follow_lindleys_recursion(
        gaps in prop::collection::vec(0u64..2_000_000, 1..80),
        times in prop::collection::vec(0u64..2_000_000, 1..20),
        connections in 1usize..4,
    ) {
        let service = queue(ServiceTime::List(times.clone()));
        let mut cluster = FakeCluster::new(FakeConfig::new(1).topic("t", 1).service(service).keep_traces());
        let conns: Vec<_> = (0..connections).map(|_| cluster.open(0, 0)).collect();
        let (mut arrival, mut free) = (0, 0);
        let mut expected = Vec::new();
        let mut outputs = Vec::new();
        for (index, gap) in gaps.iter().enumerate() {
            arrival += gap;
            while let Some(at) = cluster.next_deadline().filter(|at| *at <= arrival) {
                outputs.extend(cluster.poll(at).into_iter().map(|output| (at, output)));
            }
            cluster.receive(conns[index % connections], &frame(index as i32, 0, 1), arrival);
            let start = free.max(arrival);
            free = start + times[index % times.len()];
            expected.push((arrival, start, free));
        }
        outputs.extend(drain(&mut cluster));
        let traces = cluster.take_traces();
        let seen: Vec<_> = traces.iter().map(|t| (t.arrival_ns, t.start_ns, t.completion_ns)).collect();
        prop_assert_eq!(&seen, &expected);
        let left: Vec<_> = outputs.iter().map(|(at, output)| (*at, answered(output))).collect();
        let wanted: Vec<_> = (0..).zip(&expected).map(|(i, (_, _, end))| (*end, (i, 0, i64::from(i)))).collect();
        prop_assert_eq!(left, wanted);
    }

    #[test]
    fn a_stall_shifts_exactly_the_work_it_covers(
        gaps in prop::collection::vec(0u64..100, 1..60),
        time in 1u64..100, stall_at in 0u64..3000, stall_for in 0u64..3000,
    ) {
        let service = queue(ServiceTime::Constant { time_ns: time });
        let mut cluster = FakeCluster::new(FakeConfig::new(1).topic("t", 1).service(service).keep_traces());
        cluster.script().at(stall_at).stall(0, stall_for);
        let conn = cluster.open(0, 0);
        // An instant is worked in unless it is in the stall: Lindley on a clock that is stopped there.
        let stall_end = stall_at + stall_for;
        let finish = |start: u64, work: u64| {
            let from = if (stall_at..stall_end).contains(&start) { stall_end } else { start };
            if from < stall_at && from + work >= stall_at { from + work + stall_for } else { from + work }
        };
        let (mut arrival, mut free, mut expected) = (0, 0, Vec::new());
        for (gap, id) in gaps.iter().zip(0..) {
            arrival += gap;
            cluster.receive(conn, &frame(id, 0, 1), arrival);
            free = finish(free.max(arrival), time);
            expected.push(free);
        }
        drain(&mut cluster);
        let seen: Vec<_> = cluster.take_traces().iter().map(|t| t.completion_ns).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn hostile_bytes_close_their_connection_and_nothing_else(
        bytes in prop::collection::vec(any::<u8>(), 0..2000), cut in 1usize..300,
        spoilt in any::<prop::sample::Index>(), value in any::<u8>(), is_garbage in any::<bool>(),
    ) {
        let mut cluster = FakeCluster::new(FakeConfig::new(1).topic("t", 2));
        let (bad, good) = (cluster.open(0, 0), cluster.open(0, 0));
        let mut sent = bytes;
        if !is_garbage {
            sent = [frame(1, 0, 3), fetch(12, 1, 0, 0), frame(2, 1, 3)].concat();
            let at = spoilt.index(sent.len());
            sent[at] = value;
        }
        for piece in sent.chunks(cut) {
            cluster.receive(bad, piece, 0);
        }
        prop_assert!(cluster.held_bytes(bad) <= sent.len());
        cluster.receive(good, &frame(9, 1, 1), 5);
        let outputs = drain(&mut cluster);
        let ours: Vec<_> = outputs.iter().filter(|(_, o)| matches!(o, ClusterOutput::Bytes { conn, .. } if *conn == good)).collect();
        prop_assert_eq!(ours.len(), 1);
        prop_assert_eq!(answered(&ours[0].1).0, 9);
    }
}

#[test]
fn service_laws_have_their_means_and_repeat_with_their_seed() {
    let laws = [
        (ServiceTime::Exponential { mean_ns: 1e6 }, 1e6),
        (ServiceTime::LogNormal { median_ns: 1e6, sigma: 0.5 }, 1e6 * (0.125f64).exp()),
        (ServiceTime::Bimodal { fast_ns: 1_000, slow_ns: 1_000_000, slow_share: 0.1 }, 100_900.0),
        (ServiceTime::List(vec![10, 20, 60]), 30.0),
        (ServiceTime::Constant { time_ns: 77 }, 77.0),
    ];
    for (law, mean_ns) in laws {
        let run = |seed, per| {
            let service = Service::Queue { per, time: law.clone() };
            let config = FakeConfig::new(1).topic("t", 1).seed(seed).service(service).keep_traces();
            let mut cluster = FakeCluster::new(config);
            let conn = cluster.open(0, 0);
            for id in 0..300 {
                cluster.receive(conn, &frame(id, 0, 100), 0);
            }
            drain(&mut cluster);
            cluster.take_traces()
        };
        let traces = run(7, ServicePer::Record);
        // 30,000 draws: a standard error of a hundredth of the standard deviation, at most 3 means here.
        let measured = traces[299].completion_ns as f64 / 30_000.0;
        assert!((measured / mean_ns - 1.0).abs() < 0.1, "{law:?}: {measured}");
        assert_eq!(traces, run(7, ServicePer::Record));
        if !matches!(law, ServiceTime::List(_) | ServiceTime::Constant { .. }) {
            assert_ne!(traces, run(8, ServicePer::Record), "{law:?}");
        }
        let per_request = run(7, ServicePer::Request)[299].completion_ns;
        assert!(per_request < traces[299].completion_ns / 10, "{law:?}");
    }
}

#[test]
fn answers_keep_the_order_of_their_connection() {
    let config = FakeConfig::new(1).topic("t", 1).service(Service::Fixed { delay_ns: 1000 });
    let mut cluster = FakeCluster::new(config);
    let conn = cluster.open(0, 0);
    cluster.receive(conn, &frame(1, 0, 1), 0);
    // Answered at once by itself, but the produce request came first.
    cluster.receive(conn, &request(ApiKey::ApiVersions, 3, 2, &ApiVersionsRequest::default()), 10);
    let outputs = drain(&mut cluster);
    assert_eq!(outputs.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1000, 1000]);
    assert_eq!(answered(&outputs[0].1).0, 1);
    let ClusterOutput::Bytes { bytes, .. } = &outputs[1].1 else { panic!("closed") };
    assert_eq!(response::<ApiVersionsResponse>(&mut bytes.clone(), 3).0, 2);
}

#[test]
fn what_is_acknowledged_is_stored_and_can_be_fetched() {
    let mut cluster = FakeCluster::new(FakeConfig::new(2).topic("t", 2).keep_batches());
    let conn = cluster.open(1, 0);
    let sets = [(1, [prebuilt(10, 5), prebuilt(4, 500)].concat()), (0, prebuilt(3, 5)), (7, prebuilt(1, 1))];
    for version in 3..=9 {
        let frame = request(ApiKey::Produce, version, 1, &produce(-1, "t", &sets));
        let answer: ProduceResponse = ask(&mut cluster, conn, &frame, version);
        let errors: Vec<_> = answer.responses[0].partition_responses.iter().map(|p| p.error_code).collect();
        assert_eq!(errors, [0, code::NOT_LEADER_OR_FOLLOWER, code::UNKNOWN_TOPIC_OR_PARTITION]);
    }
    let mut spoilt = prebuilt(1, 100);
    spoilt[80] ^= 1;
    let frame = request(ApiKey::Produce, 9, 1, &produce(1, "t", &[(1, spoilt)]));
    let answer: ProduceResponse = ask(&mut cluster, conn, &frame, 9);
    assert_eq!(answer.responses[0].partition_responses[0].error_code, code::CORRUPT_MESSAGE);

    let stored = cluster.stored("t", 1).expect("partition");
    assert_eq!((stored.records, stored.batches), (7 * 14, 14));
    assert_eq!(stored.bytes, 7 * (prebuilt(10, 5).len() + prebuilt(4, 500).len()) as u64);
    assert_eq!(cluster.stored("t", 0).expect("partition").records, 0);
    let counts = cluster.counts();
    assert_eq!((counts.stored_records, counts.acknowledged_records, counts.produce_requests), (98, 98, 8));

    for version in 4..=12 {
        let answer: FetchResponse = ask(&mut cluster, conn, &fetch(version, 1, 12, 0), version);
        let partition = &answer.responses[0].partitions[0];
        assert_eq!((partition.error_code, partition.high_watermark), (0, 98));
        let mut records = partition.records.clone().expect("records");
        let sets = RecordBatchDecoder::decode_all(&mut records).expect("batches");
        let offsets: Vec<_> = sets.iter().flat_map(|set| &set.records).map(|record| record.offset).collect();
        // The batch that holds offset 12 begins at 10.
        assert_eq!(offsets, (10..98).collect::<Vec<_>>());
        let answer: FetchResponse = ask(&mut cluster, conn, &fetch(version, 1, 99, 0), version);
        assert_eq!(answer.responses[0].partitions[0].error_code, code::OFFSET_OUT_OF_RANGE);
    }
    for version in 1..=6 {
        let asked = [(1, -1), (1, -2), (0, -1)].map(|(index, timestamp)| {
            ListOffsetsPartition::default().with_partition_index(index).with_timestamp(timestamp)
        });
        let wanted = ListOffsetsTopic::default().with_name(topic("t")).with_partitions(asked.to_vec());
        let body = ListOffsetsRequest::default().with_topics(vec![wanted]);
        let frame = request(ApiKey::ListOffsets, version, 3, &body);
        let answer: ListOffsetsResponse = ask(&mut cluster, conn, &frame, version);
        let seen: Vec<_> = answer.topics[0].partitions.iter().map(|p| (p.error_code, p.offset)).collect();
        assert_eq!(seen, [(0, 98), (0, 0), (code::NOT_LEADER_OR_FOLLOWER, -1)]);
    }
}

pub(super) fn fetch(version: i16, partition: i32, offset: i64, max_wait_ms: i32) -> Vec<u8> {
    let asked = FetchPartition::default()
        .with_partition(partition)
        .with_fetch_offset(offset)
        .with_partition_max_bytes(1 << 20);
    let wanted = FetchTopic::default().with_topic(topic("t")).with_partitions(vec![asked]);
    let body = FetchRequest::default()
        .with_max_wait_ms(max_wait_ms)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_topics(vec![wanted]);
    request(ApiKey::Fetch, version, 4, &body)
}

#[test]
fn a_fetch_waits_for_records_or_for_the_end_of_its_wait() {
    let config = FakeConfig::new(1).topic("t", 1).keep_batches().service(Service::Fixed { delay_ns: 100 });
    let mut cluster = FakeCluster::new(config);
    let (reader, writer) = (cluster.open(0, 0), cluster.open(0, 0));
    cluster.receive(reader, &fetch(12, 0, 0, 500), 0);
    cluster.receive(writer, &frame(1, 0, 2), 7000);
    let outputs = drain(&mut cluster);
    assert_eq!(outputs.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [7100, 7100]);
    cluster.receive(reader, &fetch(12, 0, 2, 500), 10_000);
    let outputs = drain(&mut cluster);
    assert_eq!(outputs.len(), 1);
    assert_eq!(outputs[0].0, 500_010_000);
    let ClusterOutput::Bytes { bytes, .. } = &outputs[0].1 else { panic!("closed") };
    let (_, answer) = response::<FetchResponse>(&mut bytes.clone(), 12);
    assert!(answer.responses[0].partitions[0].records.clone().unwrap_or_default().is_empty());
}

#[test]
fn topics_are_created_described_and_deleted() {
    let mut cluster = FakeCluster::new(FakeConfig::new(3));
    let conn = cluster.open(2, 0);
    for (create_version, delete_version) in [(2, 1), (3, 2), (4, 3), (5, 4)] {
        let new = |name: &str, partitions, replicas| {
            CreatableTopic::default()
                .with_name(topic(name))
                .with_num_partitions(partitions)
                .with_replication_factor(replicas)
        };
        let wanted = vec![new("made", 4, 2), new("made", 4, 2), new("wide", 1, 4), new("none", 0, 1)];
        let body = CreateTopicsRequest::default().with_topics(wanted);
        let frame = request(ApiKey::CreateTopics, create_version, 1, &body);
        let answer: CreateTopicsResponse = ask(&mut cluster, conn, &frame, create_version);
        let errors: Vec<_> = answer.topics.iter().map(|t| t.error_code).collect();
        let expected =
            [0, code::TOPIC_ALREADY_EXISTS, code::INVALID_REPLICATION_FACTOR, code::INVALID_PARTITIONS];
        assert_eq!(errors, expected);
        for version in 0..=9 {
            let all = (version == 0).then(Vec::new);
            let body = MetadataRequest::default().with_topics(all);
            let frame = request(ApiKey::Metadata, version, 1, &body);
            let answer: MetadataResponse = ask(&mut cluster, conn, &frame, version);
            assert_eq!(answer.brokers.len(), 3);
            let partitions = &answer.topics[0].partitions;
            assert_eq!(partitions.iter().map(|p| p.leader_id.0).collect::<Vec<_>>(), [0, 1, 2, 0]);
            assert!(partitions.iter().all(|p| p.replica_nodes.len() == 2 && p.isr_nodes == p.replica_nodes));
        }
        let body = DeleteTopicsRequest::default().with_topic_names(vec![topic("made"), topic("other")]);
        let frame = request(ApiKey::DeleteTopics, delete_version, 1, &body);
        let answer: DeleteTopicsResponse = ask(&mut cluster, conn, &frame, delete_version);
        let errors: Vec<_> = answer.responses.iter().map(|t| t.error_code).collect();
        assert_eq!(errors, [0, code::UNKNOWN_TOPIC_OR_PARTITION]);
    }
    let frame = request(ApiKey::DescribeConfigs, 4, 1, &DescribeConfigsRequest::default());
    let answer: DescribeConfigsResponse = ask(&mut cluster, conn, &frame, 4);
    assert!(answer.results.is_empty());
    let body = InitProducerIdRequest::default().with_transactional_id(None);
    let frame = request(ApiKey::InitProducerId, 4, 1, &body);
    let answer: InitProducerIdResponse = ask(&mut cluster, conn, &frame, 4);
    assert_eq!((answer.error_code, answer.producer_id.0), (0, 1));
}

#[test]
fn a_claim_makes_nothing_be_held() {
    let mut cluster = FakeCluster::new(FakeConfig::new(1).topic("t", 1));
    let conn = cluster.open(0, 0);
    // 100 MiB are allowed, so the frame is waited for, but only what came is held.
    cluster.receive(conn, &(100i32 << 20).to_be_bytes(), 0);
    assert_eq!(cluster.held_bytes(conn), 4);
    cluster.receive(conn, &[0; 100], 0);
    assert_eq!(cluster.held_bytes(conn), 104);
    let conn = cluster.open(0, 0);
    cluster.receive(conn, &i32::MAX.to_be_bytes(), 0);
    assert_eq!(cluster.poll(0), [ClusterOutput::Close { conn }]);
    assert_eq!((cluster.held_bytes(conn), cluster.counts().protocol_errors), (0, 1));
    // Answered requests are let go, and their batches are not kept unless requested.
    let conn = cluster.open(0, 0);
    for id in 0..1000 {
        cluster.receive(conn, &frame(id, 0, 50), u64::from(id as u32));
        cluster.poll(u64::from(id as u32));
        assert_eq!(cluster.held_bytes(conn), 0);
    }
    assert_eq!(cluster.stored("t", 0).expect("partition").records, 50_000);
    assert!(cluster.batches("t", 0).is_empty() && cluster.take_traces().is_empty());
}

#[test]
fn behind_real_sockets_it_is_the_same_cluster() {
    let config = FakeConfig::new(2).topic("t", 2).service(Service::Fixed { delay_ns: 2_000_000 });
    let server = tcp::spawn(FakeCluster::new(config)).expect("spawn");
    let mut streams: Vec<_> = server.addresses().values().map(|a| connect(*a)).collect();
    for (stream, partition) in streams.iter_mut().zip(0..) {
        for id in 0..20 {
            stream.write_all(&frame(id, partition, 3)).expect("write");
        }
    }
    for (stream, partition) in streams.iter_mut().zip(0..) {
        for id in 0..20 {
            let bytes = read_frame(stream);
            let answer = answered(&ClusterOutput::Bytes { conn: ConnId(0), bytes });
            assert_eq!(answer, (id, 0, 3 * i64::from(id)));
        }
        assert_eq!(server.with(|cluster| cluster.stored("t", partition)).expect("partition").records, 60);
    }
    server.with(|cluster| {
        cluster.script().at(0).remove_broker(1);
    });
    assert_eq!(streams[1].read(&mut [0; 8]).expect("end"), 0);
    let mut metadata = request(ApiKey::Metadata, 9, 5, &MetadataRequest::default().with_topics(None));
    streams[0].write_all(&metadata).expect("write");
    metadata = read_frame(&mut streams[0]);
    let (_, answer) = response::<MetadataResponse>(&mut metadata, 9);
    assert_eq!(answer.brokers.len(), 1);
    assert_eq!(i32::from(server.addresses()[&0].port()), answer.brokers[0].port);
    assert!(answer.topics[0].partitions.iter().all(|p| p.leader_id.0 == 0));
    // A removed broker's port accepts no connection.
    assert_eq!(connect(server.addresses()[&1]).read(&mut [0; 8]).expect("end"), 0);
    let address = server.addresses()[&0];
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}

fn connect(address: std::net::SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connect");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("timeout");
    stream
}

fn read_frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut frame = vec![0; 4];
    stream.read_exact(&mut frame).expect("length");
    let length = i32::from_be_bytes(frame[..4].try_into().expect("four")) as usize;
    frame.resize(4 + length, 0);
    stream.read_exact(&mut frame[4..]).expect("body");
    frame
}
