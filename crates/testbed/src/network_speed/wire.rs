//! What both ends say to each other, and how long they wait for it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The first bytes of both ends, with the number of this form.
pub(super) const HELLO: &[u8; 16] = b"kdyno network 2\n";
/// Send the other 63 bytes of these back, with this one.
pub(super) const ECHO: u8 = b'e';
/// Send blocks.
pub(super) const GIVE: u8 = b'g';
/// Take blocks, and say how many bytes there were, as a big-endian u64.
pub(super) const TAKE: u8 = b't';
/// That was all.
pub(super) const END: u8 = b'q';

/// Bytes that are sent back.
pub(super) const ECHO_BYTES: usize = 64;
/// Bytes of a block. Its first one is 1, of the last block 0.
pub(super) const BLOCK_BYTES: usize = 128 << 10;
/// How long blocks are sent.
pub(super) const BLOCKS_TIME: Duration = Duration::from_secs(1);
/// Most bytes of them each way: more than a link of 10 Gbit/s carries meanwhile.
pub(super) const BLOCKS_BYTES_MAX: u64 = 2 << 30;
/// Until a peer has said hello or an answer of a few bytes is there.
pub(super) const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Until all blocks are there: a slow link has them in its queues when the last one is sent.
pub(super) const BLOCKS_TIME_MAX: Duration = Duration::from_secs(30);

/// How often a wish to stop is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Why it goes on no further.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireFault {
    /// Somebody asked to stop.
    #[error("it was stopped")]
    Stopped,
    /// The peer took too long.
    #[error("the other end took too long")]
    Late,
    /// The peer closed the connection.
    #[error("the other end closed the connection")]
    Closed,
    /// It said something else than it should.
    #[error("the other end does not speak as this kdyno does")]
    Garbage,
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The other end of a connection.
pub(super) struct Peer<'a> {
    stream: TcpStream,
    stop: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> Peer<'a> {
    pub(super) fn new(stream: TcpStream, stop: &'a AtomicBool) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        Ok(Self { stream, stop, deadline: Instant::now() + ANSWER_TIME_MAX })
    }

    /// What follows may take so long from now on, all together.
    pub(super) fn within(&mut self, time: Duration) {
        self.deadline = Instant::now() + time;
    }

    /// All of it.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<(), WireFault> {
        let mut filled = 0;
        while filled < bytes.len() {
            self.may_go_on()?;
            filled += some(self.stream.read(&mut bytes[filled..]))?;
        }
        Ok(())
    }

    /// All of it, into the hands of the kernel.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), WireFault> {
        let mut sent = 0;
        while sent < bytes.len() {
            self.may_go_on()?;
            sent += some(self.stream.write(&bytes[sent..]))?;
        }
        Ok(())
    }

    fn may_go_on(&self) -> Result<(), WireFault> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(WireFault::Stopped);
        }
        if Instant::now() > self.deadline { Err(WireFault::Late) } else { Ok(()) }
    }

    /// Sends blocks for a while; how many bytes.
    pub(super) fn give(&mut self, block: &mut [u8]) -> Result<u64, WireFault> {
        self.within(BLOCKS_TIME_MAX);
        let (begun, mut bytes) = (Instant::now(), 0);
        loop {
            bytes += block.len() as u64;
            let is_last = begun.elapsed() >= BLOCKS_TIME || bytes >= BLOCKS_BYTES_MAX;
            block[0] = u8::from(!is_last);
            self.write(block)?;
            if is_last {
                return Ok(bytes);
            }
        }
    }

    /// Takes blocks until the last one; how many bytes.
    pub(super) fn take(&mut self, block: &mut [u8]) -> Result<u64, WireFault> {
        self.within(BLOCKS_TIME_MAX);
        let mut bytes = 0;
        while bytes < BLOCKS_BYTES_MAX {
            self.read(block)?;
            bytes += block.len() as u64;
            match block[0] {
                0 => return Ok(bytes),
                1 => {}
                _ => break,
            }
        }
        Err(WireFault::Garbage)
    }
}

/// How many bytes one call moved; none where its time was over.
fn some(moved: io::Result<usize>) -> Result<usize, WireFault> {
    match moved {
        Ok(0) => Err(WireFault::Closed),
        Ok(bytes) => Ok(bytes),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(0),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
                Err(WireFault::Closed)
            }
            _ => Err(error.into()),
        },
    }
}
