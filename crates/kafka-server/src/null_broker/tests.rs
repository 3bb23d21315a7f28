//! The null broker against an independent codec, any split of its input, hostile bytes and real sockets.

use super::answer::SharedState;
use super::session::RequestSession;
use super::{FetchAnswer, NullBrokerOptions, NullBrokerStats, NullBrokerTls, serve, serve_tls};
use crate::codec::batch::prebuilt;
use crate::codec::oracle::{produce, request, response, topic};
use crate::codec::{ApiKind, code};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, BrokerId, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, DescribeConfigsRequest, DescribeConfigsResponse, FetchRequest,
    FetchResponse, InitProducerIdRequest, InitProducerIdResponse, ListOffsetsRequest, ListOffsetsResponse,
    MetadataRequest, MetadataResponse, ProduceResponse,
};
use kafka_protocol::records::RecordBatchDecoder;
use kdyno_kafka::security::tls::stores::{StoreKind, trusted};
use kdyno_kafka::security::tls::{TlsConfig, TlsSessions, TlsVersion};
use kdyno_kafka::session::SessionFactory as _;
use proptest::prelude::*;
use std::io::{self, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) fn broker(fetch: FetchAnswer) -> SharedState {
    SharedState::new("127.0.0.1".into(), 9092, &NullBrokerOptions { partitions: 3, fetch })
}

/// Feeds everything at once and returns the answers.
pub(super) fn talk(session: &mut RequestSession, broker: &mut SharedState, bytes: &[u8]) -> Vec<u8> {
    let used = session.feed(bytes, broker).expect("understood");
    assert_eq!(used, bytes.len());
    std::mem::take(session.outbox.end())
}

#[test]
fn produce_is_answered_with_running_offsets_in_every_version() {
    for version in 3..=9 {
        let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
        let two_batches = [prebuilt(10, 100), prebuilt(5, 7)].concat();
        for round in 0..3 {
            let body = produce(1, "t", &[(0, two_batches.clone()), (2, prebuilt(1, 50_000)), (3, vec![])]);
            let frame = request(ApiKey::Produce, version, round, &body);
            let mut out = talk(&mut session, &mut broker, &frame);
            let (id, answer) = response::<ProduceResponse>(&mut out, version);
            assert!(out.is_empty());
            assert_eq!(id, round);
            let partitions = &answer.responses[0].partition_responses;
            let seen: Vec<_> = partitions.iter().map(|p| (p.index, p.error_code, p.base_offset)).collect();
            let round = i64::from(round);
            let unknown = code::UNKNOWN_TOPIC_OR_PARTITION;
            assert_eq!(seen, [(0, 0, 15 * round), (2, 0, round), (3, unknown, -1)]);
        }
        assert_eq!(broker.stats.records, 48);
        assert_eq!(broker.stats.produce_requests, 3);
    }
}

#[test]
fn acks_0_has_no_answer() {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    let body = produce(0, "t", &[(0, prebuilt(4, 10))]);
    assert!(talk(&mut session, &mut broker, &request(ApiKey::Produce, 9, 1, &body)).is_empty());
    assert_eq!(broker.stats.records, 4);
    let body = produce(-1, "t", &[(0, prebuilt(4, 10))]);
    let mut out = talk(&mut session, &mut broker, &request(ApiKey::Produce, 9, 2, &body));
    let (id, answer) = response::<ProduceResponse>(&mut out, 9);
    assert_eq!((id, answer.responses[0].partition_responses[0].base_offset), (2, 4));
}

#[test]
fn api_versions_in_every_version_and_beyond() {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    for version in 0..=4 {
        let frame = request(ApiKey::ApiVersions, version, 5, &ApiVersionsRequest::default());
        let mut out = talk(&mut session, &mut broker, &frame);
        let spoken = version <= 3;
        let (_, answer) = response::<ApiVersionsResponse>(&mut out, if spoken { version } else { 0 });
        assert_eq!(answer.error_code, if spoken { 0 } else { code::UNSUPPORTED_VERSION });
        let groups = [8, 9, 11, 12, 13, 14, 68];
        assert_eq!(answer.api_keys.len(), ApiKind::ALL.len() - groups.len());
        assert!(answer.api_keys.iter().all(|api| !groups.contains(&api.api_key)), "it keeps no groups");
        let produce = &answer.api_keys[0];
        assert_eq!((produce.api_key, produce.min_version, produce.max_version), (0, 3, 9));
    }
}

#[test]
fn topics_are_created_described_and_deleted() {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    for (create_version, delete_version) in [(2, 1), (5, 4)] {
        let new = |name: &str, partitions, replicas| {
            CreatableTopic::default()
                .with_name(topic(name))
                .with_num_partitions(partitions)
                .with_replication_factor(replicas)
        };
        let wanted = vec![new("made", 7, 1), new("bad name", 1, 1), new("none", 0, 1), new("two", 1, 2)];
        let body = CreateTopicsRequest::default().with_topics(wanted).with_timeout_ms(1000);
        let mut out =
            talk(&mut session, &mut broker, &request(ApiKey::CreateTopics, create_version, 1, &body));
        let (_, answer) = response::<CreateTopicsResponse>(&mut out, create_version);
        let errors: Vec<_> = answer.topics.iter().map(|t| t.error_code).collect();
        let replication = code::INVALID_REPLICATION_FACTOR;
        assert_eq!(errors, [0, code::INVALID_TOPIC, code::INVALID_PARTITIONS, replication]);
        assert_eq!(partitions_of(&mut session, &mut broker, "made"), 7);
        assert_eq!(partitions_of(&mut session, &mut broker, "never heard of".replace(' ', "-").as_str()), 3);

        let body = DeleteTopicsRequest::default().with_topic_names(vec![topic("made"), topic("other")]);
        let mut out =
            talk(&mut session, &mut broker, &request(ApiKey::DeleteTopics, delete_version, 1, &body));
        let (_, answer) = response::<DeleteTopicsResponse>(&mut out, delete_version);
        let errors: Vec<_> = answer.responses.iter().map(|t| t.error_code).collect();
        assert_eq!(errors, [0, code::UNKNOWN_TOPIC_OR_PARTITION]);
        assert_eq!(partitions_of(&mut session, &mut broker, "made"), 0, "gone until it is used again");
    }
}

/// Asks in all versions, which must agree.
fn partitions_of(session: &mut RequestSession, broker: &mut SharedState, name: &str) -> usize {
    let mut counts: Vec<usize> = (0..=9)
        .map(|version| {
            let wanted = MetadataRequestTopic::default().with_name(Some(topic(name)));
            let body = MetadataRequest::default().with_topics(Some(vec![wanted]));
            let mut out = talk(session, broker, &request(ApiKey::Metadata, version, 3, &body));
            let (_, answer) = response::<MetadataResponse>(&mut out, version);
            assert_eq!(answer.brokers[0].port, 9092);
            assert!(answer.topics[0].partitions.iter().all(|p| p.leader_id == BrokerId(0)));
            answer.topics[0].partitions.len()
        })
        .collect();
    counts.dedup();
    assert_eq!(counts.len(), 1);
    counts[0]
}

#[test]
fn offsets_configs_and_producer_ids() {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    let body = produce(1, "t", &[(1, prebuilt(12, 10))]);
    talk(&mut session, &mut broker, &request(ApiKey::Produce, 9, 2, &body));
    for version in 1..=6 {
        let asked = [(1, -1), (1, -2), (0, -1), (9, -1)].map(|(index, timestamp)| {
            ListOffsetsPartition::default().with_partition_index(index).with_timestamp(timestamp)
        });
        let wanted = ListOffsetsTopic::default().with_name(topic("t")).with_partitions(asked.to_vec());
        let body = ListOffsetsRequest::default().with_topics(vec![wanted]);
        let mut out = talk(&mut session, &mut broker, &request(ApiKey::ListOffsets, version, 3, &body));
        let (_, answer) = response::<ListOffsetsResponse>(&mut out, version);
        let seen: Vec<_> = answer.topics[0].partitions.iter().map(|p| (p.error_code, p.offset)).collect();
        assert_eq!(seen, [(0, 12), (0, 0), (0, 0), (code::UNKNOWN_TOPIC_OR_PARTITION, -1)]);
    }
    for version in 1..=4 {
        let body = DescribeConfigsRequest::default();
        let mut out = talk(&mut session, &mut broker, &request(ApiKey::DescribeConfigs, version, 3, &body));
        assert!(response::<DescribeConfigsResponse>(&mut out, version).1.results.is_empty());
    }
    for version in 0..=4 {
        let body = InitProducerIdRequest::default();
        let mut out = talk(&mut session, &mut broker, &request(ApiKey::InitProducerId, version, 3, &body));
        let (_, answer) = response::<InitProducerIdResponse>(&mut out, version);
        assert_eq!((answer.error_code, answer.producer_id.0), (0, i64::from(version) + 1));
    }
}

fn fetch(version: i16, offsets: &[i64], max_bytes: i32) -> Vec<u8> {
    let partitions = offsets.iter().zip(0..).map(|(offset, index)| {
        FetchPartition::default()
            .with_partition(index)
            .with_fetch_offset(*offset)
            .with_partition_max_bytes(1 << 20)
    });
    let wanted = FetchTopic::default().with_topic(topic("t")).with_partitions(partitions.collect());
    let body =
        FetchRequest::default().with_max_wait_ms(500).with_max_bytes(max_bytes).with_topics(vec![wanted]);
    request(ApiKey::Fetch, version, 8, &body)
}

#[test]
fn fetch_gets_a_valid_batch_at_the_asked_offset() {
    for version in 4..=12 {
        let mut broker = broker(FetchAnswer::Batch { records: 20, value_bytes: 100 });
        let mut session = RequestSession::new();
        let mut out = talk(&mut session, &mut broker, &fetch(version, &[40, 7, 0], 4000));
        let (_, answer) = response::<FetchResponse>(&mut out, version);
        let partitions = &answer.responses[0].partitions;
        assert_eq!(partitions[0].high_watermark, 60);
        let mut batch = partitions[0].records.clone().expect("records");
        let set = RecordBatchDecoder::decode(&mut batch).expect("valid batch");
        assert_eq!(set.records.len(), 20);
        assert_eq!((set.records[0].offset, set.records[19].offset), (40, 59));
        assert_eq!(set.records[3].value.as_ref().expect("value").len(), 100);
        let second = partitions[1].records.clone().unwrap_or_default();
        assert!(second.is_empty(), "{} bytes are beyond the asked 4000", second.len());
        assert_eq!(broker.stats.fetched_records, 20);
    }
}

#[test]
fn an_empty_fetch_waits_and_holds_back_what_follows() {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    let versions = request(ApiKey::ApiVersions, 0, 1, &ApiVersionsRequest::default());
    let input = [versions.clone(), fetch(12, &[0], 1000), versions.clone()].concat();
    let used = session.feed(&input, &mut broker).expect("understood");
    assert_eq!(used, input.len() - versions.len());
    assert_eq!(session.wait_ms, Some(500));
    let mut sent = Vec::new();
    session.outbox.send(&mut sent).expect("vec");
    response::<ApiVersionsResponse>(&mut sent, 0);
    assert!(sent.is_empty(), "the fetch's answer was not held back");
    session.wait_ms = None;
    session.outbox.release();
    session.feed(&input[used..], &mut broker).expect("understood");
    session.outbox.send(&mut sent).expect("vec");
    response::<FetchResponse>(&mut sent, 12);
    response::<ApiVersionsResponse>(&mut sent, 0);
    assert!(sent.is_empty());
}

/// Some of everything, for tests that cut it up or spoil it.
fn conversation() -> Vec<u8> {
    let sets = [(0, [prebuilt(3, 40), prebuilt(1, 9)].concat()), (1, prebuilt(2, 70_000)), (2, vec![])];
    [
        request(ApiKey::ApiVersions, 3, 1, &ApiVersionsRequest::default()),
        request(ApiKey::Metadata, 9, 2, &MetadataRequest::default().with_topics(None)),
        request(ApiKey::Produce, 9, 3, &produce(1, "t", &sets)),
        request(ApiKey::Produce, 3, 4, &produce(1, "t", &sets)),
        request(ApiKey::Produce, 8, 5, &produce(0, "t", &sets)),
        request(ApiKey::InitProducerId, 4, 6, &InitProducerIdRequest::default()),
    ]
    .concat()
}

/// Feeds `bytes` in pieces, dropping part of what may be skipped, as the socket's owner does.
fn feed_in_pieces(bytes: &[u8], pieces: &[usize]) -> (Vec<u8>, NullBrokerStats) {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    let (mut consumed, mut given) = (0, 0);
    let mut pieces = pieces.iter().cycle();
    while consumed < bytes.len() {
        let drop = session.skip_ahead() / 2;
        if drop > 0 && consumed == given && consumed + drop <= bytes.len() {
            session.skipped(drop);
            consumed += drop;
            given = consumed;
        }
        given = (given + pieces.next().expect("cycle")).min(bytes.len());
        consumed += session.feed(&bytes[consumed..given], &mut broker).expect("understood");
    }
    assert!(session.is_between_requests());
    (std::mem::take(session.outbox.end()), broker.stats)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn how_the_input_is_cut_does_not_matter(pieces in prop::collection::vec(1usize..3000, 1..50)) {
        let whole = conversation();
        prop_assert_eq!(feed_in_pieces(&whole, &[whole.len()]), feed_in_pieces(&whole, &pieces));
    }

    #[test]
    fn spoilt_input_is_an_error_or_an_answer(
        at in any::<prop::sample::Index>(), value in any::<u8>(), end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = conversation();
        // Nearly all of it is payload, so spoil what is not.
        let at = at.index(400);
        bytes[at] = value;
        bytes.truncate(end.index(bytes.len()) + 1);
        let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
        if let Ok(used) = session.feed(&bytes, &mut broker) {
            prop_assert!(used <= bytes.len());
        }
        prop_assert!(session.held_bytes() <= 4 * bytes.len() + 4096);
    }

    #[test]
    fn garbage_never_makes_it_hold_more_than_was_sent(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
        let _ = session.feed(&bytes, &mut broker);
        prop_assert!(session.held_bytes() <= 4 * bytes.len() + 4096);
    }
}

#[test]
fn huge_claims_are_refused_before_anything_is_held() {
    let claims: [(&str, Vec<u8>); 4] = [
        ("frame", i32::MAX.to_be_bytes().to_vec()),
        ("negative frame", (-5i32).to_be_bytes().to_vec()),
        (
            "metadata of 50 MB",
            [&(50i32 << 20).to_be_bytes()[..], &[0, 3, 0, 9, 0, 0, 0, 1, 0, 0, 0]].concat(),
        ),
        // Version 3, no client id, no transactional id, acks 1, a timeout, and two thousand million topics.
        (
            "topics",
            [
                &(90i32 << 20).to_be_bytes()[..],
                &[0, 0, 0, 3, 0, 0, 0, 1, 255, 255],
                &[255, 255, 0, 1, 0, 0, 0, 1, 0x7f, 255, 255, 255],
            ]
            .concat(),
        ),
    ];
    for (what, bytes) in claims {
        let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
        assert!(session.feed(&bytes, &mut broker).is_err(), "{what}");
        assert!(session.held_bytes() < 4096, "{what}");
    }
}

/// A null broker on its own thread, ended at the latest when this goes out of scope.
struct RunningBroker {
    address: std::net::SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<NullBrokerStats>>,
}

impl RunningBroker {
    fn start(options: NullBrokerOptions) -> Self {
        Self::serving(move |listener, stop| serve(listener, options, stop))
    }

    fn serving(
        serve: impl FnOnce(TcpListener, Arc<AtomicBool>) -> io::Result<NullBrokerStats> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("address");
        let stop = Arc::new(AtomicBool::new(false));
        let reported = Arc::clone(&stop);
        let thread = std::thread::spawn(move || serve(listener, reported).expect("serve"));
        Self { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connect");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("timeout");
        stream
    }

    fn end(mut self) -> NullBrokerStats {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("once").join().expect("no panic")
    }
}

impl Drop for RunningBroker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn read_frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut frame = vec![0; 4];
    stream.read_exact(&mut frame).expect("length");
    let length = i32::from_be_bytes(frame[..4].try_into().expect("four")) as usize;
    frame.resize(4 + length, 0);
    stream.read_exact(&mut frame[4..]).expect("body");
    frame
}

#[test]
fn real_sockets_large_and_small_batches_interleaved() {
    let running = RunningBroker::start(NullBrokerOptions { partitions: 4, ..Default::default() });
    let mut stream = running.connect();
    let rounds = 40;
    let mut sent_bytes = 0;
    let mut reader = stream.try_clone().expect("clone");
    let answers =
        std::thread::spawn(move || (0..2 * rounds).map(|_| read_frame(&mut reader)).collect::<Vec<_>>());
    for round in 0..rounds {
        let large =
            produce(1, "t", &[(0, prebuilt(3, 40_000)), (1, prebuilt(1, 10)), (2, prebuilt(2, 17_000))]);
        let small = produce(1, "t", &[(3, prebuilt(5, 100))]);
        for (id, body) in [(2 * round, large), (2 * round + 1, small)] {
            let frame = request(ApiKey::Produce, 9, id, &body);
            stream.write_all(&frame).expect("write");
            sent_bytes += frame.len() as u64;
        }
    }
    for (frame, id) in answers.join().expect("answers").iter().zip(0..) {
        let (answered, answer) = response::<ProduceResponse>(&mut frame.clone(), 9);
        assert_eq!(answered, id);
        let offsets: Vec<_> = answer.responses[0].partition_responses.iter().map(|p| p.base_offset).collect();
        let round = i64::from(id / 2);
        assert_eq!(offsets, if id % 2 == 0 { vec![3 * round, round, 2 * round] } else { vec![5 * round] });
    }
    drop(stream);
    let stats = running.end();
    assert_eq!((stats.errors, stats.last_error), (0, None));
    assert_eq!(stats.records, 11 * rounds as u64);
    assert_eq!(stats.received_bytes, sent_bytes);
    assert_eq!(stats.requests, 2 * rounds as u64);
}

#[test]
fn in_tls_every_batch_is_counted_and_answered() {
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let tls = NullBrokerTls::new(&[version], &[]).expect("tls");
        let trusted = trusted(StoreKind::Pem, tls.certificate_pem.as_bytes(), None).expect("its certificate");
        let options = NullBrokerOptions { partitions: 4, ..Default::default() };
        let running = RunningBroker::serving(move |listener, stop| serve_tls(listener, options, tls, stop));
        let (identity, ciphers) = (None, Vec::new());
        let config = TlsConfig { trusted, identity, checks_hostname: true, versions: vec![version], ciphers };
        let mut session = TlsSessions::new(config).expect("sessions").open("127.0.0.1").expect("a session");
        let mut stream = running.connect();
        let (mut answers, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        for round in 0..20 {
            let sets = [(0, prebuilt(3, 40_000)), (1, prebuilt(1, 10)), (2, prebuilt(2, 17_000))];
            let frame = request(ApiKey::Produce, 9, round, &produce(1, "t", &sets));
            let mut is_sent = false;
            while answers.is_empty() {
                let mut ciphertext = Vec::new();
                if !session.is_handshaking() && !std::mem::replace(&mut is_sent, true) {
                    session.send(&[IoSlice::new(&frame)]);
                }
                session.write_to(&mut ciphertext).expect("a vector takes all");
                stream.write_all(&ciphertext).expect("written");
                let count = stream.read(&mut buffer).expect("an answer");
                session.receive(&buffer[..count], &mut answers).expect("tls");
            }
            let (answered, answer) = response::<ProduceResponse>(&mut answers, 9);
            assert_eq!((answered, answer.responses[0].partition_responses.len()), (round, 3));
        }
        drop(stream);
        let stats = running.end();
        assert_eq!((stats.errors, stats.last_error), (0, None));
        assert_eq!((stats.requests, stats.records), (20, 20 * 6));
    }
}

#[test]
fn a_hostile_connection_is_closed_and_others_live_on() {
    let running = RunningBroker::start(NullBrokerOptions::default());
    let mut good = running.connect();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 9, 0, 3, 0, 99, 0, 0, 0, 0, 0], &[255; 64]] {
        let mut bad = running.connect();
        bad.write_all(bytes).expect("write");
        // Unread bytes make the close a reset; both are an end.
        assert!(matches!(bad.read(&mut [0; 16]), Ok(0) | Err(_)));
    }
    good.write_all(&request(ApiKey::ApiVersions, 3, 77, &ApiVersionsRequest::default())).expect("write");
    let (id, _) = response::<ApiVersionsResponse>(&mut read_frame(&mut good), 3);
    assert_eq!(id, 77);
    let stats = running.end();
    assert_eq!((stats.connections, stats.errors), (4, 3));
    assert!(stats.last_error.is_some());
}

#[test]
fn a_client_that_never_reads_is_held_within_bounds() {
    let batch = FetchAnswer::Batch { records: 100, value_bytes: 10_000 };
    let running = RunningBroker::start(NullBrokerOptions { partitions: 1, fetch: batch });
    let mut deaf = running.connect();
    deaf.set_nonblocking(true).expect("nonblocking");
    let frame = fetch(12, &[0], 1 << 20);
    // Until the broker no longer reads: then the sockets' buffers fill up and the write is refused.
    let mut written = 0;
    let refused = (0..1_000_000).any(|_| match deaf.write(&frame) {
        Ok(count) if count == frame.len() => {
            written += count;
            false
        }
        _ => true,
    });
    assert!(refused, "{written} bytes of requests were taken without one answer read");
    let mut other = running.connect();
    other.write_all(&request(ApiKey::ApiVersions, 3, 1, &ApiVersionsRequest::default())).expect("write");
    response::<ApiVersionsResponse>(&mut read_frame(&mut other), 3);
    drop(deaf);
    assert!(running.end().sent_bytes < 64 << 20);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let fetch = FetchAnswer::Batch { records: 0, value_bytes: 1 };
    for options in [
        NullBrokerOptions { partitions: 1, fetch },
        NullBrokerOptions { partitions: 0, fetch: FetchAnswer::Empty },
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        assert!(serve(listener, options, Arc::new(AtomicBool::new(true))).is_err());
    }
}
