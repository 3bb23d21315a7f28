//! The requests of transactions as bytes: in which versions they are sent, and what they say of the producer.

use super::*;
use crate::connection::Connection;
use crate::messages::{
    Api, Message, m10_find_coordinator, m18_api_versions, m22_init_producer_id, m24_add_partitions_to_txn,
    m26_end_txn, write_frame,
};
use crate::wire::Writer;

const APIS: [Api; 5] = [
    m00_produce::API,
    m10_find_coordinator::API,
    m22_init_producer_id::API,
    m24_add_partitions_to_txn::API,
    m26_end_txn::API,
];
/// Length, API key, version, correlation id, client id, tags: none of the requests here is of a classic version.
const HEADER_BYTES: usize = 4 + 2 + 2 + 4 + 2 + 2 + 1;

/// What waits to be written, which then counts as written.
fn written(connection: &mut Connection<ProducerToken>) -> Vec<u8> {
    let mut bytes = Vec::new();
    connection.write_to(&mut bytes).expect("a vector takes all");
    connection.stamp_written(1);
    bytes
}

/// A connection to a broker that speaks every version there is, of a cluster at this level of `transaction.version`.
fn connection(level: i16) -> Connection<ProducerToken> {
    let mut connection = Connection::new("me".into(), &[], 1 << 20);
    connection.open(None, None, 0);
    written(&mut connection);
    let range =
        |api: Api| m18_api_versions::ApiVersion { api_key: api.key, min_version: 0, max_version: i16::MAX };
    let feature = |name: &str, level| m18_api_versions::FinalizedFeatureKey {
        name: name.to_owned(),
        max_version_level: level,
        min_version_level: 1,
    };
    let answer = m18_api_versions::Response {
        api_keys: APIS.map(range).to_vec(),
        finalized_features: vec![feature("metadata.version", 25), feature("transaction.version", level)],
        ..Default::default()
    };
    let mut frame = Vec::new();
    write_frame(&mut frame, |out| {
        out.put_i32(0); // correlation id
        answer.encode(m18_api_versions::API.version_max, out);
    });
    connection.input_space()[..frame.len()].copy_from_slice(&frame);
    connection.advance_read(frame.len()).expect("a plain connection");
    connection.receive(0, |_, _| Ok(())).expect("a handshake");
    assert!(connection.is_up());
    connection
}

struct CoordinationFixture {
    producer: Producer<Vec<u64>>,
    connection: Connection<ProducerToken>,
}

impl CoordinationFixture {
    fn new(level: i16) -> Self {
        let transactions = TransactionsConfig { transactional_id: "mine".to_owned(), timeout_ms: 60_000 };
        let config = ProducerConfig { transactions: Some(transactions), ..super::tests::config() };
        let shape = RecordShape { value_bytes: 100, ..RecordShape::default() };
        Self { producer: Producer::new(config, shape, &[2]), connection: connection(level) }
    }

    /// Sends a request: API key and version, and its body.
    fn ask<R: Message>(&mut self, request: TransactionRequest) -> ((i16, i16), R) {
        self.producer.ask_for_transaction(request, &mut self.connection, 0).expect("a common version");
        let bytes = written(&mut self.connection);
        let number = |at: usize| i16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let version = number(6);
        let body = R::decode(&bytes[HEADER_BYTES..], version).expect("a request");
        ((number(4), version), body)
    }

    fn answer(&mut self, request: TransactionRequest, answer: &impl Message, version: i16) {
        let mut body = Vec::new();
        answer.encode(version, &mut body);
        let (answer, level) = ((version, body.as_slice()), self.connection.transaction_version());
        self.producer.on_transaction_answer(request, answer, level, 0).expect("an answer");
    }

    fn start(&mut self, producer_epoch: i16) {
        let answer = m22_init_producer_id::Response { producer_id: 9, producer_epoch, ..Default::default() };
        self.answer(TransactionRequest::InitProducerId, &answer, 5);
    }
}

/// Before KIP-890 no request is sent in a version that says otherwise to the brokers, whatever they speak: Produce 12
/// would add partitions, EndTxn 5 would begin an epoch. From version 4 on AddPartitionsToTxn is for brokers.
#[test]
fn versions_are_those_of_the_clusters_protocol() {
    for (level, produce, end_txn) in [(0, 11, 4), (1, 11, 4), (2, i16::MAX, 5)] {
        let mut world = CoordinationFixture::new(level);
        let (sent, body) = world.ask::<m10_find_coordinator::Request>(TransactionRequest::FindCoordinator);
        assert_eq!(sent, (10, m10_find_coordinator::API.version_max));
        assert_eq!((body.key_type, body.coordinator_keys), (1, vec!["mine".to_owned()]));
        let found = m10_find_coordinator::Coordinator { node_id: 3, ..Default::default() };
        let answer = m10_find_coordinator::Response { coordinators: vec![found], ..Default::default() };
        world.answer(TransactionRequest::FindCoordinator, &answer, sent.1);
        assert_eq!(world.producer.coordinator(), Some(3));

        let (sent, body) = world.ask::<m22_init_producer_id::Request>(TransactionRequest::InitProducerId);
        assert_eq!(sent, (22, m22_init_producer_id::API.version_max));
        assert_eq!((body.transactional_id.as_deref(), body.transaction_timeout_ms), (Some("mine"), 60_000));
        assert_eq!((body.producer_id, body.producer_epoch), (-1, -1), "it starts");
        world.start(4);
        assert_eq!(world.producer.produce_version_max(), produce, "level {level}");

        let request = TransactionRequest::AddPartitions;
        world.producer.admit(1, 0, |_| Some(0), |data, _| data.push(0));
        let (sent, body) = world.ask::<m24_add_partitions_to_txn::Request>(request);
        assert_eq!(sent, (24, 3));
        let who = (body.v3_and_below_producer_id, body.v3_and_below_producer_epoch);
        assert_eq!((body.v3_and_below_transactional_id.as_str(), who), ("mine", (9, 4)));
        assert_eq!(body.v3_and_below_topics.len(), 1);
        let partitions = if level < 2 { 1 } else { 0 };
        assert_eq!(body.v3_and_below_topics[0].partitions.len(), partitions, "leaders add them");

        world.producer.end_transaction(level == 1, 0);
        let (sent, body) = world.ask::<m26_end_txn::Request>(TransactionRequest::EndTxn);
        assert_eq!(sent, (26, end_txn), "level {level}");
        assert_eq!((body.producer_id, body.producer_epoch, body.committed), (9, 4, level == 1));
    }
}

/// A producer that wants the next epoch says which one it has: a producer that took over in the meantime is not fenced
/// by it.
#[test]
fn a_new_epoch_is_asked_for_with_the_one_of_before() {
    let mut world = CoordinationFixture::new(0);
    world.start(4);
    let (_, body) = world.ask::<m22_init_producer_id::Request>(TransactionRequest::InitProducerId);
    assert_eq!((body.producer_id, body.producer_epoch), (9, 4));
}

/// The level is that of the coordinator's cluster when it gives id and epoch.
#[test]
fn a_cluster_without_the_feature_is_of_before_kip_890() {
    let mut world = CoordinationFixture::new(2);
    let answer = m22_init_producer_id::Response { producer_id: 9, ..Default::default() };
    let mut body = Vec::new();
    answer.encode(5, &mut body);
    let asked = TransactionRequest::InitProducerId;
    world.producer.on_transaction_answer(asked, (5, body.as_slice()), 0, 0).expect("an answer");
    assert_eq!(world.producer.produce_version_max(), 11);
}
