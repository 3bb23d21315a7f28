//! The end that answers: one peer at a time, for a bounded time.

use super::wire::{ANSWER_TIME_MAX, BLOCK_BYTES, ECHO, ECHO_BYTES, END, GIVE, HELLO, Peer, TAKE, WireFault};
use crate::disk_speed::incompressible;
use crate::error::TestbedError;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After so long it ends by itself: it is not to be found open next week.
pub const SERVE_TIME_MAX: Duration = Duration::from_secs(600);
/// Longest time with one peer; another one waits meanwhile.
const PEER_TIME_MAX: Duration = Duration::from_secs(60);
/// How often somebody new is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Whom it had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServedClients {
    /// Peers that measured to the end.
    pub measured: u32,
    /// Connections that went another way.
    pub failed: u32,
    /// It ended because its time was over.
    pub is_time_over: bool,
}

/// Answers clients one after the other, until `stop` is set or the time is over. Each that did not get to its end is
/// passed to `reported`, one lowercase sentence.
///
/// # Errors
/// No listener is possible.
pub fn serve(
    listener: &TcpListener,
    time: Duration,
    stop: &AtomicBool,
    reported: &mut dyn FnMut(&str),
) -> Result<ServedClients, TestbedError> {
    let failed =
        |error| TestbedError::Impossible(format!("cannot listen for a network measurement: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let (begun, mut served) = (Instant::now(), ServedClients::default());
    while !stop.load(Ordering::Relaxed) {
        if begun.elapsed() > time {
            served.is_time_over = true;
            break;
        }
        // That one could not be taken is no reason to end: it is gone, or files are short for a moment.
        let Ok((stream, peer)) = listener.accept() else {
            std::thread::sleep(LOOK);
            continue;
        };
        match with(stream, stop) {
            Ok(()) => served.measured += 1,
            Err(WireFault::Stopped) => {}
            Err(fault) => {
                served.failed += 1;
                reported(&format!("{peer}: {fault}"));
            }
        }
    }
    Ok(served)
}

fn with(stream: TcpStream, stop: &AtomicBool) -> Result<(), WireFault> {
    let mut peer = Peer::new(stream, stop)?;
    let mut hello = [0; HELLO.len()];
    peer.read(&mut hello)?;
    if hello != *HELLO {
        return Err(WireFault::Garbage);
    }
    peer.write(HELLO)?;
    let (begun, mut block) = (Instant::now(), incompressible(BLOCK_BYTES));
    while begun.elapsed() < PEER_TIME_MAX {
        peer.within(ANSWER_TIME_MAX);
        let mut echo = [0; ECHO_BYTES];
        peer.read(&mut echo[..1])?;
        match echo[0] {
            ECHO => {
                peer.read(&mut echo[1..])?;
                peer.write(&echo)?;
            }
            GIVE => {
                peer.give(&mut block)?;
            }
            TAKE => {
                let bytes = peer.take(&mut block)?;
                peer.write(&bytes.to_be_bytes())?;
            }
            END => return Ok(()),
            _ => return Err(WireFault::Garbage),
        }
    }
    Err(WireFault::Late)
}
