//! Both ends over the loopback address, and ends that misbehave.

use super::wire::{BLOCK_BYTES, ECHO_BYTES, END, GIVE, HELLO, TAKE};
use super::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One that serves until it is dropped, and what it reported.
struct Serving {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(ServedClients, Vec<String>)>,
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    (listener, address)
}

impl Serving {
    fn start() -> Self {
        let (listener, address) = listener();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut reported = Vec::new();
            let served = serve(&listener, SERVE_TIME_MAX, &stopped, &mut |one| reported.push(one.to_owned()));
            (served.expect("it listens"), reported)
        });
        Self { address, stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        stream
    }

    fn end(self) -> (ServedClients, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic")
    }
}

/// What is measured of an end that does this with the connection.
fn measured_of(peer: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let (listener, address) = listener();
    let thread = std::thread::spawn(move || peer(listener.accept().expect("a connection").0));
    let reported =
        measure(&address.to_string(), &AtomicBool::new(false)).expect_err("no figures").to_string();
    thread.join().expect("no panic");
    reported
}

/// Says hello, and sends back what is sent until the first command that is no echo, which it returns.
fn as_far_as_blocks(stream: &mut TcpStream) -> u8 {
    let mut hello = [0; HELLO.len()];
    stream.read_exact(&mut hello).expect("hello");
    stream.write_all(HELLO).expect("hello");
    loop {
        let mut echo = [0; ECHO_BYTES];
        stream.read_exact(&mut echo[..1]).expect("a command");
        if echo[0] != wire::ECHO {
            return echo[0];
        }
        stream.read_exact(&mut echo[1..]).expect("the rest");
        stream.write_all(&echo).expect("sent back");
    }
}

#[test]
fn both_ways_and_round_trip_are_measured_bad_peers_dropped() {
    let serving = Serving::start();
    let block = vec![1; BLOCK_BYTES];
    let mut garbage = serving.connect();
    garbage.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut unknown = serving.connect();
    unknown.write_all(&[&HELLO[..], b"z"].concat()).expect("sent");
    let mut closes = serving.connect();
    closes.write_all(&[&HELLO[..], &[TAKE], &block, &block[..9]].concat()).expect("sent");
    drop(closes);
    let mut wrong = serving.connect();
    wrong.write_all(&[&HELLO[..], &[TAKE, 2], &block].concat()).expect("sent");
    let mut leaves = serving.connect();
    leaves.write_all(&[&HELLO[..], &[GIVE]].concat()).expect("sent");
    let mut some = [0; 4096];
    leaves.read_exact(&mut some).expect("hello and a part of a block");
    drop(leaves);
    // It waits in the queue meanwhile.
    let speed = measure(&serving.address.to_string(), &AtomicBool::new(false));
    let rounds = speed.expect("it answers").expect("nobody stopped it");
    assert_eq!(rounds.len(), ROUNDS as usize);
    for round in &rounds {
        assert!(round.sent > 1 << 20 && round.received > 1 << 20, "{rounds:?}");
        for took in [round.sending, round.receiving] {
            assert!(took > Duration::ZERO && took < Duration::from_secs(30), "{rounds:?}");
        }
        assert!(!round.round_trips.is_empty() && round.round_trips.iter().all(|took| *took > Duration::ZERO));
    }
    // The end that the measurement said is heard before the next one's turn.
    let mut next = serving.connect();
    next.write_all(&[&HELLO[..], &[END]].concat()).expect("sent");
    let mut answer = Vec::new();
    next.read_to_end(&mut answer).expect("closed");
    assert_eq!(answer, HELLO);
    let (served, reported) = serving.end();
    assert_eq!((served.measured, served.failed, served.is_time_over), (2, 5, false), "{reported:?}");
    for (words, count) in [("does not speak", 3), ("closed the connection", 2)] {
        assert_eq!(reported.iter().filter(|one| one.contains(words)).count(), count, "{reported:?}");
    }
}

#[test]
fn one_that_says_nothing_holds_it_for_some_seconds_alone() {
    let serving = Serving::start();
    let silent = serving.connect();
    let begun = Instant::now();
    let mut next = serving.connect();
    next.write_all(HELLO).expect("sent");
    let mut hello = [0; HELLO.len()];
    next.read_exact(&mut hello).expect("its turn came");
    assert!(hello == *HELLO && begun.elapsed() < Duration::from_secs(30));
    next.write_all(b"q").expect("sent");
    drop(silent);
    // Until the end of the second one is seen.
    let mut nothing = [0; 1];
    assert_eq!(next.read(&mut nothing).expect("closed"), 0);
    let (served, reported) = serving.end();
    assert_eq!((served.measured, served.failed), (1, 1), "{reported:?}");
    assert!(reported[0].contains("took too long"), "{reported:?}");
}

#[test]
fn a_misbehaving_end_is_reported_and_gives_no_figure() {
    let reported = measured_of(|mut stream| stream.write_all(b"220 mail.example ESMTP\r\n").expect("sent"));
    assert!(reported.contains("does not speak as this kdyno does"), "{reported}");
    let reported = measured_of(drop);
    assert!(reported.contains("closed the connection"), "{reported}");
    let reported = measured_of(|mut stream| {
        let mut hello = [0; HELLO.len()];
        stream.read_exact(&mut hello).expect("hello");
        // Nothing comes until the other end gives up.
        let mut nothing = [0; 1];
        assert_eq!(stream.read(&mut nothing).unwrap_or(0), 0);
    });
    assert!(reported.contains("took too long"), "{reported}");
    let reported = measured_of(|mut stream| {
        assert_eq!(as_far_as_blocks(&mut stream), TAKE);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            stream.read_exact(&mut block).expect("a block");
            if block[0] == 0 {
                break;
            }
        }
        stream.write_all(&u64::MAX.to_be_bytes()).expect("a number of its own");
    });
    assert!(reported.contains("does not speak as this kdyno does"), "{reported}");
    let (listener, address) = listener();
    drop(listener);
    let error = measure(&address.to_string(), &AtomicBool::new(false)).expect_err("nobody is there");
    assert!(error.hint().is_some_and(|hint| hint.contains("--serve-network")), "{error}");
    assert!(measure("no address", &AtomicBool::new(false)).is_err());
}

#[test]
fn both_ends_stop_on_request_and_one_when_its_time_is_over() {
    let (listener, address) = listener();
    let begun = Instant::now();
    let stop = AtomicBool::new(true);
    assert_eq!(measure(&address.to_string(), &stop).expect("stopped"), None);
    let served = serve(&listener, SERVE_TIME_MAX, &stop, &mut |_| {}).expect("stopped");
    assert_eq!(served, ServedClients::default());
    let go_on = AtomicBool::new(false);
    drop(listener);
    let (listener, _) = super::tests::listener();
    let served = serve(&listener, Duration::ZERO, &go_on, &mut |_| {}).expect("its time is over");
    assert!(served.is_time_over && begun.elapsed() < Duration::from_secs(30), "{served:?}");
}
