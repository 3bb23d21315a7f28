//! The bare loop compared with the fixed delay: one byte over loopback TCP, answered after the same delay. Two
//! hidden modes of this program. The answering side waits as the fake cluster does: one thread, `poll`
//! with a timeout in nanoseconds until the next answer is due.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use anyhow::{Context, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::bench::sleeper::{now_ns, sleep_until};

const NS_PER_S: u64 = 1_000_000_000;
/// Longest wait of the answering side.
const WAIT_NS_MAX: u64 = 100_000_000;
/// Bytes that may wait for their answers; a caller that sends faster is not read.
const WAITING_MAX: usize = 1 << 16;
/// Most questions of one run; bounds the list of responses.
const ASKED_MAX: u64 = 10_000_000;
/// Asked before those that count, in seconds.
const WARMUP_SECONDS: u64 = 1;

/// Answers every byte of one caller after another, each `delay_us` after it was read. Prints its address.
pub fn serve(delay_us: u64) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        answer(stream, delay_us * 1_000)?;
    }
}

/// Until the caller hangs up.
fn answer(mut stream: TcpStream, delay_ns: u64) -> anyhow::Result<()> {
    let mut due_ns: VecDeque<u64> = VecDeque::new();
    let mut buffer = [0; 4096];
    loop {
        let wait_ns = due_ns.front().map_or(u64::MAX, |due| due.saturating_sub(now_ns())).min(WAIT_NS_MAX);
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ns as i64 };
        let interest = if due_ns.len() < WAITING_MAX { PollFlags::IN } else { PollFlags::empty() };
        // Interrupted: the loop looks at the clock anyway.
        let _ = poll(&mut [PollFd::new(&stream, interest)], Some(&timeout));
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => due_ns.extend(std::iter::repeat_n(now_ns() + delay_ns, count)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Ok(()),
        }
        while due_ns.front().is_some_and(|due| *due <= now_ns()) {
            due_ns.pop_front();
            // One byte finds room, unless the caller has gone.
            if stream.write_all(&[0]).is_err() {
                return Ok(());
            }
        }
    }
}

/// Sends a byte at every instant of a constant schedule, whatever the answers do, and prints as JSON how
/// long after their instants the answers came: `response_ns.p50`, `response_ns.p99`.
pub fn ask(to: &str, rate_per_s: u64, seconds: u64) -> anyhow::Result<()> {
    let total = (seconds + WARMUP_SECONDS).checked_mul(rate_per_s).filter(|total| *total <= ASKED_MAX);
    let total = total.context("rate × seconds is out of bounds")?;
    ensure!(rate_per_s > 0 && seconds > 0, "a rate and a length are more than nothing");
    let mut stream = TcpStream::connect(to).with_context(|| format!("cannot connect to {to}"))?;
    stream.set_nodelay(true)?;
    let mut sending = stream.try_clone()?;
    let begin_ns = now_ns() + NS_PER_S / 10;
    let due_ns = move |index: u64| begin_ns + index * NS_PER_S / rate_per_s;
    let sender = std::thread::spawn(move || -> std::io::Result<()> {
        for index in 0..total {
            sleep_until(due_ns(index));
            sending.write_all(&[0])?;
        }
        Ok(())
    });
    let mut responses_ns = Vec::with_capacity(usize::try_from(total)?);
    let mut buffer = [0; 4096];
    while (responses_ns.len() as u64) < total {
        let count = stream.read(&mut buffer)?;
        ensure!(count > 0, "the peer hung up");
        let now_ns = now_ns();
        for _ in 0..count {
            responses_ns.push(now_ns.saturating_sub(due_ns(responses_ns.len() as u64)));
        }
    }
    sender.join().map_err(|_| anyhow::anyhow!("the sender failed"))??;
    let counted = &mut responses_ns[usize::try_from(WARMUP_SECONDS * rate_per_s)?..];
    counted.sort_unstable();
    let quantile = |share: f64| counted[((counted.len() - 1) as f64 * share) as usize];
    println!("{}", json!({"response_ns": {"p50": quantile(0.5), "p99": quantile(0.99)}}));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_answered_and_none_before_its_delay() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut caller = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (stream, _) = listener.accept().expect("accepted");
        stream.set_nonblocking(true).expect("set");
        let server = std::thread::spawn(move || answer(stream, 3_000_000));
        let begin_ns = now_ns();
        caller.write_all(&[0; 5]).expect("sent");
        caller.read_exact(&mut [0; 5]).expect("five answers");
        assert!(now_ns() - begin_ns >= 3_000_000);
        drop(caller);
        server.join().expect("no panic").expect("ends when the caller hangs up");
    }
}
