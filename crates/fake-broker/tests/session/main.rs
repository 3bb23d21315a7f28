//! The clients against the fake broker, once plainly and once in a session that has bytes of its own: nothing is
//! to differ, for producer, consumer and admin client.

mod toy;
mod wire;

use bytes::Bytes;
use kdyno_fake_broker::{FakeCluster, FakeConfig, StoredAnyway, tcp};
use kdyno_kafka::admin::{Admin, ConfigOf, OffsetAt};
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::{BrokerConnections, ConnectionEvent, ConnectionsConfig};
use kdyno_kafka::client::Client;
use kdyno_kafka::connection::PermanentError;
use kdyno_kafka::consumer::{self, Consumer, ConsumerConfig, FetchDepth, FetchIsolation, Partitions};
use kdyno_kafka::messages::Api;
use kdyno_kafka::producer::{
    Bodies, Delivery, Partitioner, ProducerClient, ProducerConfig, RecordShape, Sealed,
};
use kdyno_kafka::records::{BodySum, Compression, encode_record};
use kdyno_kafka::security::ConnectionSecurity;
use kdyno_kafka::session::SecureSession;
use std::collections::BTreeMap;
use std::io::{IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use toy::{Toy, Toys};
use wire::{Between, Wire};

const TOPIC: &str = "t";
const PARTITIONS: u32 = 6;
const RECORDS: u64 = 5_000;
const VALUE_BYTES: u32 = 700;
const SECOND: u64 = 1_000_000_000;
/// Rounds, of a millisecond each, after which a test has failed.
const ROUNDS_MAX: usize = 100_000;

/// Values that are all the same.
struct Plain;

impl Bodies<()> for Plain {
    fn seal(&mut self, _partition: i32, _first: u64, count: u32, _user_data: &()) -> Sealed {
        let mut body = Vec::new();
        for delta in 0..count {
            encode_record(&mut body, delta as i32, 0, None, &[7; VALUE_BYTES as usize]);
        }
        let (sum, compression, body_bytes) = (BodySum::of(&body), Compression::None, body.len() as u64);
        let (base_timestamp_ms, max_timestamp_ms) = (0, 0);
        Sealed { body: body.into(), sum, compression, body_bytes, base_timestamp_ms, max_timestamp_ms }
    }

    fn recycle(&mut self, _body: Bytes) {}
}

fn in_toys() -> ConnectionSecurity {
    ConnectionSecurity { sessions: Some(Arc::new(Toys)), login: None }
}

fn connections(cluster: &FakeCluster, between: Between, needs: &'static [Api]) -> ConnectionsConfig {
    let security = match between {
        Between::Nothing => ConnectionSecurity::default(),
        _ => in_toys(),
    };
    ConnectionsConfig {
        client_id: "me".to_owned(),
        topics: vec![TOPIC.to_owned()],
        bootstrap: cluster.broker_ids().iter().map(|id| cluster.address(*id)).collect(),
        needs,
        security,
        request_timeout_ns: 2 * SECOND,
        retry_backoff: ExponentialBackoff { first_ns: SECOND / 10, max_ns: SECOND },
        reconnect_backoff: ExponentialBackoff::RECONNECT,
        setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
        idle_ns: ConnectionsConfig::IDLE_NS,
        metadata_max_age_ns: 300 * SECOND,
        frame_bytes_max: 16 << 20,
        seed: 20_261_122,
    }
}

fn producer(cluster: &FakeCluster, between: Between) -> ProducerClient<()> {
    ProducerClient::new(connections(cluster, between, ProducerClient::<()>::NEEDS))
}

fn cluster() -> FakeCluster {
    FakeCluster::new(FakeConfig::new(3).topic(TOPIC, PARTITIONS).keep_batches())
}

/// Rounds until it is over.
fn rounds<C: Client>(wire: &mut Wire, client: &mut C, mut is_over: impl FnMut(&mut C, u64) -> bool) {
    for _ in 0..ROUNDS_MAX {
        wire.round(client);
        if is_over(client, wire.now_ns) {
            return;
        }
    }
    panic!("not over after {ROUNDS_MAX} rounds");
}

/// Sends records until all are acknowledged, whatever happens meanwhile; returns what it went through.
fn produce(wire: &mut Wire, client: &mut ProducerClient<()>) -> Vec<ConnectionEvent> {
    rounds(wire, client, |client, _| client.connections().is_ready());
    let config = ProducerConfig {
        client_id: "me".to_owned(),
        topics: vec![TOPIC.to_owned()],
        acks: -1,
        batch_bytes: 16_384,
        linger_ns: 0,
        buffer_bytes: 256 << 10,
        fill_in_flight: false,
        is_synchronous: false,
        request_bytes_max: 1 << 20,
        in_flight_max: 5,
        request_timeout_ns: 2 * SECOND,
        delivery_timeout_ns: 120 * SECOND,
        retry_backoff_ns: SECOND / 10,
        retry_backoff_max_ns: SECOND,
        compression: Compression::None,
        batch_records_max: u32::MAX,
        wall_offset_ns: 0,
        is_idempotent: false,
        transactions: None,
        partitioner: Partitioner::RoundRobin,
        adaptive_partitioning: true,
        availability_timeout_ns: 0,
        seed: 1,
    };
    let partitions: Vec<usize> = client.partition_counts().collect();
    client.prepare(config, RecordShape { value_bytes: VALUE_BYTES, ..RecordShape::default() }, &partitions);
    let (mut left, mut outcomes) = (RECORDS, Vec::new());
    rounds(wire, client, |client, now_ns| {
        client.retry_lost(now_ns);
        left -= client.admit(left.min(50), now_ns, |(), _| {});
        for connection in 0..client.connections().count() {
            while client.send_ready(connection, now_ns, true, &mut Plain) > 0 {}
        }
        let producer = client.producer_mut().expect("prepared");
        producer.take_outcomes(&mut outcomes);
        left == 0 && producer.is_idle()
    });
    for (batch, outcome) in outcomes {
        let Delivery::Acknowledged { written_ns, received_ns } = outcome else { panic!("{outcome:?}") };
        assert!(batch.created_ns <= written_ns && written_ns <= received_ns, "{batch:?} {outcome:?}");
    }
    client.connections_mut().take_events().into_iter().map(|(_, event)| event).collect()
}

#[test]
fn what_is_produced_is_fetched_in_a_session_as_without() {
    for between in [Between::Nothing, Between::Session] {
        let mut cluster = cluster();
        cluster.script().request(5).close(StoredAnyway::No);
        cluster.script().request(9).drop_request(StoredAnyway::No);
        cluster.script().request(12).fail(7, StoredAnyway::No);
        let mut client = producer(&cluster, between);
        let mut wire = Wire::new(cluster, between, 0);
        let events = produce(&mut wire, &mut client);
        let ended = events.iter().filter(|event| matches!(event, ConnectionEvent::Disconnected { .. }));
        assert!(ended.count() >= 2, "{between:?}: a closed and a silent connection: {events:?}");
        // What was stored and not answered was sent again.
        let stored = wire.cluster.counts().stored_records;
        assert!(stored >= RECORDS, "{between:?}: {stored}");
        wire.round(&mut client);
        let (pings, pongs) = wire.pings_and_pongs();
        assert!(pings == pongs && (pings > 0) == (between == Between::Session), "{pings} {pongs}");

        let now_ns = wire.now_ns;
        let mut wire = Wire::new(wire.cluster, between, now_ns);
        assert_eq!(fetch(&mut wire, between), stored, "{between:?}");
    }
}

/// Records that a consumer gets from the beginning on.
fn fetch(wire: &mut Wire, between: Between) -> u64 {
    let config = ConsumerConfig {
        topics: vec![TOPIC.to_owned()],
        partitions: Partitions::Share { first: 0, clients: 1 },
        from: OffsetAt::Earliest,
        fetch_wait_ms: 50,
        fetch_bytes_min: 1,
        fetch_bytes_max: 1 << 20,
        partition_bytes_max: 1 << 18,
        retry_backoff_ns: SECOND / 10,
        isolation: FetchIsolation::ReadUncommitted,
        reading: FetchDepth::Decode,
        holds_fetched: false,
        rack: String::new(),
        metadata_max_age_ns: 300 * SECOND,
    };
    let mut client = Consumer::new(config, connections(&wire.cluster, between, consumer::NEEDS), ());
    let begin_ns = wire.now_ns;
    let mut fetched = 0;
    rounds(wire, &mut client, |client, now_ns| {
        client.poll(now_ns, true);
        fetched += client.take_fetched().map(|fetched| fetched.tally.records).sum::<u64>();
        client.is_ready() && client.is_caught_up(begin_ns)
    });
    assert_eq!(client.take_events(), []);
    fetched
}

#[test]
fn a_refused_session_is_reported_and_not_tried_again() {
    let cluster = cluster();
    let brokers = cluster.broker_ids().len();
    let mut client = producer(&cluster, Between::RefusingSession);
    let mut wire = Wire::new(cluster, Between::RefusingSession, 0);
    rounds(&mut wire, &mut client, |client, _| client.connections().refusal().is_some());
    let refusal = client.connections().refusal().expect("a refusal").clone();
    assert!(matches!(refusal, PermanentError::Session(_)), "{refusal:?}");
    assert_eq!(refusal.to_string(), "TLS handshake failed: the other end said no");
    wire.now_ns += 1_000 * SECOND;
    wire.round(&mut client);
    let connections: &mut BrokerConnections<_> = client.connections_mut();
    assert_eq!(connections.take_events().len(), brokers, "each address is asked once");
    assert_eq!(connections.next_deadline(), None);
}

/// Accepts sessions before a broker that speaks without one.
fn proxy(broker: SocketAddr, refuses: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(broker) = TcpStream::connect(broker) else { return };
            let session = Arc::new(Mutex::new(Toy::server(refuses)));
            let (upwards, downwards) = (Arc::clone(&session), session);
            let (client_too, broker_too) = (client.try_clone().expect("a handle"), broker.try_clone());
            let broker_too = broker_too.expect("a handle");
            thread::spawn(move || pass_up(client, broker, &upwards));
            thread::spawn(move || pass_down(broker_too, client_too, &downwards));
        }
    });
    address
}

fn pass_up(mut client: TcpStream, mut broker: TcpStream, session: &Mutex<Toy>) -> Option<()> {
    let mut buffer = [0; 997];
    loop {
        let count = client.read(&mut buffer).ok()?;
        if count == 0 {
            return broker.shutdown(Shutdown::Both).ok();
        }
        let (mut plaintext, mut ciphertext) = (Vec::new(), Vec::new());
        let mut session = session.lock().ok()?;
        session.receive(&buffer[..count], &mut plaintext).ok()?;
        session.write_to(&mut ciphertext).ok()?;
        client.write_all(&ciphertext).ok()?;
        broker.write_all(&plaintext).ok()?;
    }
}

fn pass_down(mut broker: TcpStream, mut client: TcpStream, session: &Mutex<Toy>) -> Option<()> {
    let mut buffer = [0; 997];
    loop {
        let count = broker.read(&mut buffer).ok()?;
        if count == 0 {
            return client.shutdown(Shutdown::Both).ok();
        }
        let mut ciphertext = Vec::new();
        let mut session = session.lock().ok()?;
        session.send(&[IoSlice::new(&buffer[..count])]);
        session.write_to(&mut ciphertext).ok()?;
        client.write_all(&ciphertext).ok()?;
    }
}

/// A broker behind a proxy that is advertised as the broker, and the proxy's address.
fn served(refuses: bool) -> (tcp::FakeServer, String) {
    let server = tcp::spawn(FakeCluster::new(FakeConfig::new(1))).expect("a server");
    let address = proxy(server.addresses()[&0], refuses);
    server.with(|cluster| cluster.set_address(0, &address.ip().to_string(), address.port()));
    (server, address.to_string())
}

#[test]
fn the_admin_client_works_in_a_session() {
    let (_server, address) = served(false);
    let mut admin = Admin::connect_by(in_toys(), &[address], "me", Duration::from_secs(60)).unwrap();
    admin.create_topic("made", 3, 1, &BTreeMap::new()).unwrap();
    assert_eq!(admin.topics(Some(&["made"])).unwrap()[0].partitions.len(), 3);
    let offsets = admin.list_offsets("made", OffsetAt::Latest).unwrap();
    assert_eq!(offsets, BTreeMap::from([(0, 0), (1, 0), (2, 0)]));
    admin.delete_topics(&["made"]).unwrap();
}

#[test]
fn the_admin_client_does_not_insist_where_it_is_refused() {
    let (_server, address) = served(true);
    let connected =
        Admin::connect_by(in_toys(), std::slice::from_ref(&address), "me", Duration::from_secs(60));
    let error = connected.unwrap_err().to_string();
    assert_eq!(error, format!("broker {address}: TLS handshake failed: the other end said no"));
}

#[test]
fn the_admin_client_rejects_other_clusters_and_bad_addresses() {
    let server = tcp::spawn(FakeCluster::new(FakeConfig::new(2))).expect("a server");
    let address = server.addresses()[&0].to_string();
    let mut admin = Admin::connect(std::slice::from_ref(&address), "me", Duration::from_secs(60)).unwrap();
    server.with(|cluster| cluster.set_address(1, "host", 0));
    assert_eq!(admin.cluster().unwrap().brokers.len(), 2, "who does not need the broker does not mind");
    let error = admin.describe_configs(ConfigOf::Broker(1)).unwrap_err().to_string();
    let reported =
        "broker 1 advertises the address \"host:0\": that needs a host, and a port from 1 to 65535";
    assert_eq!(error, reported);
    server.with(|cluster| {
        cluster.script().at(0).set_cluster_id("another");
    });
    let error = admin.cluster().unwrap_err().to_string();
    let first = "while the client began with cluster \"kdyno-fake-cluster\"";
    assert_eq!(error, format!("a broker of cluster \"another\" answers at {address}, {first}"));
}
