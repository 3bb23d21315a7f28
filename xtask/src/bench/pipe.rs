//! The bare writer and the sink behind it: what it costs merely to hand bytes to a loopback socket.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;

use super::sleeper::thread_cpu_s;

/// Larger than any slice, so that the sink never limits what a call may take.
const SINK_BUFFER_BYTES: usize = 256 * 1024;

/// Has the kernel drop what one connection sends (tcp(7), `MSG_TRUNC`), as the null broker does with record bytes: both
/// sides of a ratio have the same kind of peer.
fn sink(listener: &TcpListener) -> std::io::Result<()> {
    let (stream, _) = listener.accept()?;
    let mut buffer = vec![0; SINK_BUFFER_BYTES];
    while rustix::net::recv(&stream, &mut buffer[..], RecvFlags::TRUNC)?.1 > 0 {}
    Ok(())
}

/// Writes slices of a pool round and round for a while; CPU seconds of the writing thread per GB (10⁹ bytes).
///
/// The pool is as large as a worker's payload pool: the same bytes come from the same depth of the
/// cache hierarchy. A pool of one slice shows what a hot buffer would have cost.
pub fn cpu_s_per_gb(slice_bytes: usize, pool_bytes: usize, length: Duration) -> anyhow::Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut stream = TcpStream::connect(listener.local_addr()?)?;
    stream.set_nodelay(true)?;
    let sink = thread::spawn(move || sink(&listener));
    let slices = (pool_bytes / slice_bytes).max(1);
    let pool = filler(slices * slice_bytes);
    let (begin, cpu_before_s) = (Instant::now(), thread_cpu_s());
    let mut written: u64 = 0;
    while begin.elapsed() < length {
        for slice in pool.chunks(slice_bytes) {
            stream.write_all(slice)?;
            written += slice.len() as u64;
        }
    }
    let cpu_s = thread_cpu_s() - cpu_before_s;
    drop(stream);
    sink.join().map_err(|_| anyhow::anyhow!("the sink panicked"))??;
    Ok(cpu_s / (written as f64 / 1e9))
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
