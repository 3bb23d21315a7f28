//! A relay on real sockets, in a thread of the test.

use super::serve::RelayLoop;
use super::{LinkSpec, RelayPort, RelaySpec, read};
use kdyno_model::plan::{JitterLaw, LinkPlan};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn link(delay_ns: u64) -> LinkPlan {
    LinkPlan { delay_ns, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None }
}

/// A relay that leads to a listener; its thread ends with the test's process.
struct RelayFixture {
    temp: tempfile::TempDir,
    port: u16,
    server: TcpListener,
}

impl RelayFixture {
    fn new(link: LinkPlan) -> Self {
        Self::with(link, super::CONNECTIONS_MAX)
    }

    fn with(link: LinkPlan, connections_max: usize) -> Self {
        let temp = tempfile::tempdir().expect("temp");
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let to = server.local_addr().expect("bound").port();
        let port = free_port();
        let spec = spec(&temp, link, RelayPort { listen: port, to, from: 0 });
        let mut relay = RelayLoop::new(&spec).expect("it listens");
        relay.connections_max = connections_max;
        std::thread::spawn(move || relay.run());
        Self { temp, port, server }
    }

    /// A connection by way of the relay: the client's end and the server's.
    fn connect(&self) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("the relay listens");
        let (server, _) = self.server.accept().expect("it goes on");
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE)).expect("set");
            end.set_write_timeout(Some(PATIENCE)).expect("set");
            end.set_nodelay(true).expect("set");
        }
        (client, server)
    }
}

fn spec(temp: &tempfile::TempDir, link: LinkPlan, entry: RelayPort) -> RelaySpec {
    RelaySpec {
        links: vec![LinkSpec { link, entries: vec![entry] }],
        tally: temp.path().join("tally"),
        seed: 1,
    }
}

fn free_port() -> u16 {
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    held.local_addr().expect("bound").port()
}

#[test]
fn each_way_takes_the_delay_and_the_tally_says_how_late_it_was() {
    let scene = RelayFixture::new(link(20 * MS));
    let (mut client, mut server) = scene.connect();
    let mut byte = [0];
    for _ in 0..10 {
        let begun = Instant::now();
        client.write_all(b"x").expect("sent");
        server.read_exact(&mut byte).expect("there");
        assert!(begun.elapsed() >= Duration::from_millis(20), "{:?}", begun.elapsed());
        server.write_all(b"y").expect("sent");
        client.read_exact(&mut byte).expect("back");
        assert!(begun.elapsed() >= Duration::from_millis(40), "{:?}", begun.elapsed());
    }
    let begun = Instant::now();
    let tallied = || read(&scene.temp.path().join("tally"));
    while tallied().last().is_none_or(|tally| tally.bytes != [10, 10]) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", tallied());
        std::thread::sleep(Duration::from_millis(20));
    }
    let counted: u64 = tallied().iter().map(|tally| tally.late().expect("a histogram").len()).sum();
    assert_eq!(counted, 20);
}

#[test]
fn bytes_arrive_whole_and_in_order_also_with_jitter() {
    const BYTES: usize = 8 << 20;
    let jitter = LinkPlan { jitter_ns: 2 * MS, jitter_law: JitterLaw::Normal, ..link(2 * MS) };
    let scene = RelayFixture::new(jitter);
    let (mut client, mut server) = scene.connect();
    let number = |place: usize| (place % 251) as u8;
    let sent = std::thread::spawn(move || {
        let bytes: Vec<u8> = (0..BYTES).map(number).collect();
        bytes.chunks(7_919).for_each(|chunk| client.write_all(chunk).expect("sent"));
        client.shutdown(Shutdown::Write).expect("half closed");
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).expect("the other half is open");
        answer
    });
    let mut received = Vec::new();
    server.read_to_end(&mut received).expect("to the end");
    assert_eq!(received.len(), BYTES);
    assert!(received.iter().enumerate().all(|(place, byte)| *byte == number(place)));
    // A half-close is carried over: after the sender's end the answer still comes.
    server.write_all(b"all of it").expect("sent");
    drop(server);
    assert_eq!(sent.join().expect("no panic"), b"all of it");
}

#[test]
fn a_bandwidth_is_shared_by_the_connections_of_its_direction() {
    // A busy host may hold one of the two senders back, and the other one then has the link alone. So only a
    // relay that never shares fails.
    let shared = (0..5).any(|_| {
        let took = two_megabytes_over_one_link();
        let (first, last) = (took[0].min(took[1]), took[0].max(took[1]));
        assert!(last >= Duration::from_millis(490), "2 MiB at 4 MiB/s take half a second: {took:?}");
        assert!(last < Duration::from_secs(5), "{took:?}");
        first >= Duration::from_millis(300)
    });
    assert!(shared, "one of the two connections had the link alone, five times of five");
}

/// How long each of two connections takes for 1 MiB over a link of 4 MiB/s.
fn two_megabytes_over_one_link() -> [Duration; 2] {
    const BYTES: usize = 1 << 20;
    let scene = RelayFixture::new(LinkPlan { bytes_per_s: Some(4 << 20), ..link(0) });
    let begun = Instant::now();
    let pairs = [scene.connect(), scene.connect()];
    let threads = pairs.map(|(mut client, mut server)| {
        std::thread::spawn(move || {
            let sender = std::thread::spawn(move || {
                client.write_all(&vec![1; BYTES]).expect("sent");
                client
            });
            server.read_exact(&mut vec![0; BYTES]).expect("there");
            let took = begun.elapsed();
            drop(sender.join().expect("no panic"));
            took
        })
    });
    threads.map(|thread| thread.join().expect("no panic"))
}

#[test]
fn unread_bytes_stay_with_their_sender() {
    let scene = RelayFixture::new(link(0));
    let (mut client, server) = scene.connect();
    client.set_write_timeout(Some(Duration::from_millis(500))).expect("set");
    let mut taken = 0;
    loop {
        match client.write(&[0; 64 << 10]) {
            Ok(count) => taken += count,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
                break;
            }
        }
        assert!(taken < 64 << 20, "the relay keeps a window and no more");
    }
    drop(server);
}

#[test]
fn a_refusal_and_a_reset_are_carried_over() {
    let scene = RelayFixture::new(link(0));
    let (mut client, server) = scene.connect();
    super::connection::reset(&server);
    drop(server);
    let error = client.read(&mut [0]).expect_err("reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");

    let temp = tempfile::tempdir().expect("temp");
    let listen = free_port();
    let unreachable = RelayPort { listen, to: free_port(), from: 0 };
    let relay = RelayLoop::new(&spec(&temp, link(0), unreachable)).expect("it listens");
    std::thread::spawn(move || relay.run());
    let mut refused = TcpStream::connect((Ipv4Addr::LOCALHOST, listen)).expect("the relay itself is there");
    refused.set_read_timeout(Some(PATIENCE)).expect("set");
    let error = refused.read(&mut [0]).expect_err("nobody is behind it");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
}

#[test]
fn a_connection_too_many_is_reset_and_counted() {
    let scene = RelayFixture::with(link(0), 1);
    let (mut client, mut server) = scene.connect();
    for _ in 0..2 {
        let mut refused = TcpStream::connect((Ipv4Addr::LOCALHOST, scene.port)).expect("the relay listens");
        refused.set_read_timeout(Some(PATIENCE)).expect("set");
        let error = refused.read(&mut [0]).expect_err("one is enough");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    let tallied = || read(&scene.temp.path().join("tally"));
    let begun = Instant::now();
    // It writes when it has something to do.
    while tallied().last().is_none_or(|tally| tally.refused != 2) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", tallied());
        client.write_all(b"x").expect("sent");
        server.read_exact(&mut [0]).expect("the one that it has goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_port_in_use_is_reported_as_brokers_report_it() {
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let listen = held.local_addr().expect("bound").port();
    let temp = tempfile::tempdir().expect("temp");
    let Err(error) = RelayLoop::new(&spec(&temp, link(0), RelayPort { listen, to: 1, from: 0 })) else {
        panic!("it is taken")
    };
    let lines = [error.to_string()];
    assert!(crate::cluster::diagnose::cause(&lines).port_clash, "{lines:?}");
}

#[test]
fn a_file_that_is_no_spec_is_refused() {
    let temp = tempfile::tempdir().expect("temp");
    let path = temp.path().join("spec");
    std::fs::write(&path, "{\"links\": 3}").expect("written");
    let reported =
        |path: &std::path::Path| super::main(path).map(|never| match never {}).expect_err("refused");
    assert!(reported(&path).to_string().contains("not a spec"), "{}", reported(&path));
    assert!(reported(&temp.path().join("none")).to_string().contains("cannot read"));
}
