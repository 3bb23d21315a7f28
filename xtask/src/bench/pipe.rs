//! The bare writer and the sink behind it: what it costs merely to hand bytes to a loopback socket.
//! Hidden modes of this program, because both must be processes of their own.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::net::RecvFlags;

/// Larger than any slice, so that the sink never limits what a call may take.
const SINK_BUFFER_BYTES: usize = 256 * 1024;

/// Prints its address, then has the kernel drop what one connection after the other sends (tcp(7),
/// `MSG_TRUNC`), as the null broker does with record bytes: both sides of a ratio have the same kind of peer.
pub fn sink() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?);
    let mut buffer = vec![0; SINK_BUFFER_BYTES];
    for stream in listener.incoming() {
        let stream = stream?;
        while rustix::net::recv(&stream, &mut buffer[..], RecvFlags::TRUNC)?.1 > 0 {}
    }
    Ok(())
}

/// Writes slices of a pool round and round for a while; prints how many bytes the socket took.
///
/// The pool is as large as a worker's payload pool: the same bytes come from the same depth of the
/// cache hierarchy. A pool of one slice shows what a hot buffer would have cost.
pub fn write(to: &str, slice_bytes: usize, pool_bytes: usize, length: Duration) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(to).with_context(|| format!("cannot reach the sink at {to}"))?;
    stream.set_nodelay(true)?;
    let slices = (pool_bytes / slice_bytes).max(1);
    let pool = filler(slices * slice_bytes);
    let begin = Instant::now();
    let mut written: u64 = 0;
    while begin.elapsed() < length {
        for slice in pool.chunks(slice_bytes) {
            stream.write_all(slice)?;
            written += slice.len() as u64;
        }
    }
    println!("{written}");
    Ok(())
}

/// Bytes without a pattern (xorshift); their values do not matter, that they are not one page does.
pub(super) fn filler(length: usize) -> Vec<u8> {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
