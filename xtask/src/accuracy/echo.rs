//! The bare loop beside the fixed delay: one byte over loopback TCP, answered after the same delay. The answering side waits
//! as the fake cluster does: one thread, `poll` with a timeout in nanoseconds until the next answer is due.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bench::sleeper::{NS_PER_S, now_ns, p50_and_p99, sleep_until};

/// Longest wait of the answering side.
const WAIT_NS_MAX: u64 = 100_000_000;
/// Bytes that may wait for their answers; a caller that sends faster is not read.
const WAITING_MAX: usize = 1 << 16;
/// Most questions of one run; bounds the list of responses.
const ASKED_MAX: u64 = 10_000_000;
/// Asked before those that count, in seconds.
const WARMUP_SECONDS: u64 = 1;

/// Answers every byte of a caller so long after it was read, until it hangs up.
fn answer(mut stream: TcpStream, delay_ns: u64) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
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

/// Sends a byte at every instant of a constant schedule, whatever the answers do; p50 and p99 of how long after their instants
/// the answers came.
pub fn responses_ns(delay_ns: u64, rate_per_s: u64, seconds: u64) -> anyhow::Result<[f64; 2]> {
    let total = (seconds + WARMUP_SECONDS).checked_mul(rate_per_s).filter(|total| *total <= ASKED_MAX);
    let total = total.context("rate × seconds is out of bounds")?;
    ensure!(rate_per_s > 0 && seconds > 0, "a rate and a length are more than nothing");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut stream = TcpStream::connect(listener.local_addr()?)?;
    let (peer, _) = listener.accept()?;
    let answering = thread::spawn(move || answer(peer, delay_ns));
    stream.set_nodelay(true)?;
    let mut sending = stream.try_clone()?;
    let begin_ns = now_ns() + NS_PER_S / 10;
    let due_ns = move |index: u64| begin_ns + index * NS_PER_S / rate_per_s;
    let sender = thread::spawn(move || -> std::io::Result<()> {
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
    drop(stream);
    answering.join().map_err(|_| anyhow::anyhow!("the answering side failed"))??;
    Ok(p50_and_p99(&mut responses_ns[usize::try_from(WARMUP_SECONDS * rate_per_s)?..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_answered_and_none_before_its_delay() {
        let [p50_ns, p99_ns] = responses_ns(3_000_000, 100, 1).expect("answers");
        assert!(3e6 <= p50_ns && p50_ns <= p99_ns, "{p50_ns} {p99_ns}");
        assert!(responses_ns(0, 0, 1).is_err());
    }
}
