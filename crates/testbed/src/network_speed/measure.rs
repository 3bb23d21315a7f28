//! The end that measures.

use super::wire::{
    ANSWER_TIME_MAX, BLOCK_BYTES, BLOCKS_TIME, ECHO, ECHO_BYTES, END, GIVE, HELLO, Peer, TAKE, WireFault,
};
use crate::disk_speed::incompressible;
use crate::error::TestbedError;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Rounds: by what they differ, the figures are unsure.
pub const ROUNDS: u32 = 5;
/// Round trips of a round at most,
const ECHOES_MAX: usize = 200;
/// and how long they may take.
const ECHOES_TIME_MAX: Duration = Duration::from_millis(500);

/// How long it takes when nothing goes wrong.
pub const TIME_MAX: Duration =
    ECHOES_TIME_MAX.saturating_add(BLOCKS_TIME).saturating_add(BLOCKS_TIME).saturating_mul(ROUNDS);

/// What one round found.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkRound {
    /// Bytes sent to the other end.
    pub sent: u64,
    /// How long that took, until the other end had them all.
    pub sending: Duration,
    /// Bytes that came from there.
    pub received: u64,
    /// How long that took.
    pub receiving: Duration,
    /// How long 64 bytes there and back took, each time; at least one.
    pub round_trips: Vec<Duration>,
}

/// Measures the network to the end that [`super::serve`]s at `host:port`; `None`: `stop` was set before it was done.
///
/// # Errors
/// Nothing answers there, something else does, or the connection breaks.
pub fn measure(address: &str, stop: &AtomicBool) -> Result<Option<Vec<NetworkRound>>, TestbedError> {
    let failed = |why: &dyn std::fmt::Display| {
        TestbedError::hinted(
            format!("the network to {address} was not measured: {why}"),
            "`kdyno doctor --serve-network [HOST:]PORT` on the other host answers, one peer at a time",
        )
    };
    let stream = connect(address).map_err(|error| failed(&error))?;
    match look(stream, stop) {
        Ok(rounds) => Ok(Some(rounds)),
        Err(WireFault::Stopped) => Ok(None),
        Err(fault) => Err(failed(&fault)),
    }
}

/// To the first of its addresses that answers.
fn connect(address: &str) -> std::io::Result<TcpStream> {
    let none = || std::io::Error::new(std::io::ErrorKind::NotFound, "it has no address");
    let mut last = none();
    for one in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, ANSWER_TIME_MAX) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn look(stream: TcpStream, stop: &AtomicBool) -> Result<Vec<NetworkRound>, WireFault> {
    let mut peer = Peer::new(stream, stop)?;
    peer.write(HELLO)?;
    let mut hello = [0; HELLO.len()];
    peer.read(&mut hello)?;
    if hello != *HELLO {
        return Err(WireFault::Garbage);
    }
    let mut block = incompressible(BLOCK_BYTES);
    let rounds = (0..ROUNDS).map(|_| round(&mut peer, &mut block)).collect::<Result<Vec<_>, _>>()?;
    peer.within(ANSWER_TIME_MAX);
    peer.write(&[END])?;
    Ok(rounds)
}

fn round(peer: &mut Peer<'_>, block: &mut [u8]) -> Result<NetworkRound, WireFault> {
    // The small ones first, while nothing is in the queues between.
    let round_trips = round_trips(peer)?;
    let begun = Instant::now();
    peer.write(&[TAKE])?;
    let sent = peer.give(block)?;
    let mut reported = [0; 8];
    peer.read(&mut reported)?;
    let sending = begun.elapsed();
    if u64::from_be_bytes(reported) != sent {
        return Err(WireFault::Garbage);
    }
    peer.within(ANSWER_TIME_MAX);
    let begun = Instant::now();
    peer.write(&[GIVE])?;
    let received = peer.take(block)?;
    Ok(NetworkRound { sent, sending, received, receiving: begun.elapsed(), round_trips })
}

/// How long each took; at least one.
fn round_trips(peer: &mut Peer<'_>) -> Result<Vec<Duration>, WireFault> {
    let mut message = [7; ECHO_BYTES];
    message[0] = ECHO;
    let (begun, mut found) = (Instant::now(), Vec::new());
    while found.is_empty() || (found.len() < ECHOES_MAX && begun.elapsed() < ECHOES_TIME_MAX) {
        peer.within(ANSWER_TIME_MAX);
        let mut answer = [0; ECHO_BYTES];
        let one = Instant::now();
        peer.write(&message)?;
        peer.read(&mut answer)?;
        found.push(one.elapsed());
        if answer != message {
            return Err(WireFault::Garbage);
        }
    }
    Ok(found)
}
