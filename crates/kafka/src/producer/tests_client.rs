//! A producing client and brokers that say what a test wants: who has its turn, and when there is something to ask.

use super::tests::{MS, Plain, config};
use super::*;
use crate::backoff::ExponentialBackoff;
use crate::broker_connections::ConnectionsConfig;
use crate::client::Client as _;
use crate::connection::WriteProgress;
use crate::messages::{
    Api, Message, m03_metadata, m10_find_coordinator, m18_api_versions, m22_init_producer_id, write_frame,
};
use crate::security::ConnectionSecurity;
use crate::wire::{Reader, Writer};

const SECOND: u64 = 1_000 * MS;
/// `retry.backoff.ms`.
const PAUSE_NS: u64 = 10 * MS;
const BROKERS: [i32; 2] = [1, 2];
/// The connection to the bootstrap address; those to the brokers follow in their order.
const BOOTSTRAP: usize = 0;

struct ClientFixture {
    client: ProducerClient<Vec<u64>>,
    bodies: Plain,
    now_ns: u64,
}

impl ClientFixture {
    /// A client that is connected to the leaders of its topic's partitions.
    fn new(config: ProducerConfig, leaders: &[i32]) -> Self {
        let backoff = ExponentialBackoff { first_ns: PAUSE_NS, max_ns: PAUSE_NS };
        let client = ProducerClient::new(ConnectionsConfig {
            client_id: "me".to_owned(),
            topics: config.topics.clone(),
            bootstrap: vec![("first".to_owned(), 9092)],
            needs: ProducerClient::<Vec<u64>>::NEEDS_TRANSACTIONAL,
            security: ConnectionSecurity::default(),
            request_timeout_ns: 30 * SECOND,
            retry_backoff: backoff,
            reconnect_backoff: backoff,
            setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
            idle_ns: ConnectionsConfig::IDLE_NS,
            metadata_max_age_ns: 300 * SECOND,
            frame_bytes_max: 1 << 20,
            seed: 20_261_122,
        });
        let shape = RecordShape { value_bytes: 900, has_own_timestamp: true, ..RecordShape::default() };
        let mut world = Self { client, bodies: Plain { shape, share: 1.0 }, now_ns: 0 };
        assert_eq!(world.come_up(), [BOOTSTRAP]);
        world.client.connections_mut().poll(0);
        world.answer(BOOTSTRAP, &metadata(leaders));
        world.come_up();
        assert!(world.client.connections().is_ready());
        let partitions: Vec<usize> = world.client.partition_counts().collect();
        world.client.prepare(config, shape, &partitions);
        world
    }

    /// Connects what is due, handshake included; returns which connections came up.
    fn come_up(&mut self) -> Vec<usize> {
        let range = |api: &Api| m18_api_versions::ApiVersion {
            api_key: api.key,
            min_version: 0,
            max_version: i16::MAX,
        };
        let api_keys = ProducerClient::<Vec<u64>>::NEEDS_TRANSACTIONAL.iter().map(range).collect();
        let versions = m18_api_versions::Response { api_keys, ..Default::default() };
        let mut up = Vec::new();
        while let Some(connection) = self.client.connections_mut().to_connect(self.now_ns) {
            self.client.connections_mut().on_connected(connection, self.now_ns).expect("no session");
            self.answer(connection, &versions);
            up.push(connection);
        }
        up
    }

    /// The broker answers the request that waits to be written over a connection.
    fn answer<R: Message>(&mut self, connection: usize, response: &R) {
        let queues = self.client.connections_mut().connection_mut(connection);
        let mut bytes = Vec::new();
        let written = queues.write_to(&mut bytes).expect("a vector takes all");
        assert_eq!(written, WriteProgress::Request, "a request waits");
        queues.stamp_written(self.now_ns);
        let mut header = Reader::new(&bytes[4..]);
        assert_eq!(header.i16(), Ok(R::API.key));
        let version = header.i16().expect("a version");
        let correlation_id = header.i32().expect("a correlation id");
        let mut frame = Vec::new();
        write_frame(&mut frame, |out| {
            out.put_i32(correlation_id);
            out.put_no_tags(R::API.is_flexible(version) && R::API.key != m18_api_versions::API.key);
            response.encode(version, out);
        });
        queues.input_space()[..frame.len()].copy_from_slice(&frame);
        queues.advance_read(frame.len()).expect("a plain connection");
        self.client.receive(connection, self.now_ns).expect("an answer");
    }

    /// Who coordinates is asked over one connection, and answered.
    fn look_up(&mut self, connection: usize, node_id: i32) {
        self.client.ask_coordinator(self.now_ns);
        let found = m10_find_coordinator::Coordinator { node_id, ..Default::default() };
        let answer =
            m10_find_coordinator::Response { coordinators: vec![found], node_id, ..Default::default() };
        self.answer(connection, &answer);
    }

    /// The coordinator that was found is connected to, gets a request for an id, and says that another one coordinates.
    fn is_sent_away(&mut self) -> usize {
        self.client.ask_coordinator(self.now_ns);
        let up = self.come_up();
        let [coordinator] = up.as_slice() else { panic!("{up:?}") };
        self.client.ask_coordinator(self.now_ns);
        let answer =
            m22_init_producer_id::Response { error_code: ErrorCode::NOT_COORDINATOR, ..Default::default() };
        self.answer(*coordinator, &answer);
        *coordinator
    }
}

/// Both brokers, and a partition for each of these leaders.
fn metadata(leaders: &[i32]) -> m03_metadata::Response {
    let broker = |node_id: i32| m03_metadata::MetadataResponseBroker {
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
    let topic = m03_metadata::MetadataResponseTopic {
        name: config().topics.pop(),
        partitions: leaders.iter().zip(0..).map(partition).collect(),
        ..Default::default()
    };
    m03_metadata::Response {
        brokers: BROKERS.map(broker).to_vec(),
        topics: vec![topic],
        ..Default::default()
    }
}

/// A target's cap may let one request go at a time: it is not always the first broker's.
#[test]
fn where_one_request_goes_at_a_time_each_broker_has_its_turn() {
    let config = ProducerConfig { partitioner: Partitioner::RoundRobin, in_flight_max: 8, ..config() };
    let mut world = ClientFixture::new(config, &BROKERS);
    let taken = world.client.admit(8, 0, |data, count| data.extend(0..u64::from(count)));
    assert_eq!(taken, 8);
    let ClientFixture { client, bodies, .. } = &mut world;
    let mut turn = || client.in_turn().find(|&connection| client.send_ready(connection, 0, true, bodies) > 0);
    assert_eq!([turn(), turn(), turn(), turn()], [1, 2, 1, 2].map(Some));
}

/// A coordinator that gave its place to another one and has it back: its connection was closed as it was not needed,
/// and the pause before it is asked is waited for all the same.
#[test]
fn a_coordinator_that_is_back_is_asked_after_the_pause() {
    let transactions = TransactionsConfig { transactional_id: "mine".to_owned(), timeout_ms: 60_000 };
    let mut world =
        ClientFixture::new(ProducerConfig { transactions: Some(transactions), ..config() }, &BROKERS[..1]);
    world.look_up(BOOTSTRAP, 1);
    let first = world.is_sent_away();
    world.look_up(BOOTSTRAP, 2);
    world.now_ns = PAUSE_NS;
    let second = world.is_sent_away();
    assert_ne!(first, second);
    while world.client.connections_mut().take_surplus(world.now_ns).is_some() {}
    assert!(!world.client.connections().is_up(first), "no record wants it");
    world.look_up(1, 1);
    world.client.ask_coordinator(world.now_ns);
    assert_eq!(world.client.next_deadline(false, 0), Some(2 * PAUSE_NS));
    world.now_ns = 2 * PAUSE_NS;
    world.client.ask_coordinator(world.now_ns);
    assert_eq!(world.come_up(), [first]);
}
