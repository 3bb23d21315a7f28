//! Counters that the kernel keeps for each thread of a process.

use super::parse;
use std::collections::BTreeMap;

/// Most threads that are read per process; a broker has about a hundred.
const THREADS_MAX: usize = 4096;

/// The sum of a counter over a process's threads. The kernel keeps it per thread and forgets a thread that ends, so it
/// is added up from the differences between samples.
#[derive(Debug, Default)]
pub(super) struct ThreadCounter {
    total: u64,
    by_thread: BTreeMap<u32, u64>,
}

impl ThreadCounter {
    /// Takes what each thread that is there now has counted.
    pub(super) fn update(&mut self, now: BTreeMap<u32, u64>) {
        for (thread, count) in &now {
            let before = self.by_thread.get(thread).copied().unwrap_or(0);
            // A smaller count is a new thread that got an ended one's number.
            let more = if *count >= before { count - before } else { *count };
            self.total = self.total.saturating_add(more);
        }
        self.by_thread = now;
    }

    /// Everything that was counted, by threads that have ended too.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

/// A counter of each thread of a process that has it.
pub(super) fn each(pid: u32, counter: fn(u32, u32) -> Option<u64>) -> BTreeMap<u32, u64> {
    numbers(pid).filter_map(|thread| Some((thread, counter(pid, thread)?))).collect()
}

/// Numbers of a process's threads, in order.
pub(super) fn sorted(pid: u32) -> Vec<u32> {
    let mut all: Vec<u32> = numbers(pid).collect();
    all.sort_unstable();
    all
}

fn numbers(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    tasks.take(THREADS_MAX).filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok())
}

/// How often a thread lost its processor to another one. One line of its status is read, not all of it.
pub(super) fn involuntary_switches(pid: u32, thread: u32) -> Option<u64> {
    let status = parse::read(&format!("/proc/{pid}/task/{thread}/status"))?;
    parse::field(&status, "nonvoluntary_ctxt_switches:")
}

/// For how long a thread was ready and waited for a processor, ns; `None` where the kernel does not say.
pub(super) fn run_delay_ns(pid: u32, thread: u32) -> Option<u64> {
    delay_of(&parse::read(&format!("/proc/{pid}/task/{thread}/schedstat"))?)
}

/// The second of the three numbers: time on a processor, time waiting for one, how often it got one.
fn delay_of(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_threads_counted_is_kept() {
        let mut count = ThreadCounter::default();
        count.update(BTreeMap::from([(1, 10), (2, 5)]));
        count.update(BTreeMap::from([(1, 12)]));
        count.update(BTreeMap::from([(1, 12), (2, 3)]));
        assert_eq!(count.total(), 10 + 5 + 2 + 3);
    }

    #[test]
    fn run_delay_is_the_second_number() {
        assert_eq!(delay_of("123 456 7\n"), Some(456));
        assert_eq!((delay_of("123"), delay_of("")), (None, None));
    }

    /// On one processor, threads that spin wait for each other.
    #[test]
    fn a_thread_that_waits_for_a_processor_is_seen_to() {
        let pid = std::process::id();
        if run_delay_ns(pid, pid).is_none() {
            return;
        }
        use std::sync::atomic::{AtomicBool, Ordering};
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let threads = 2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get) + 1;
        let spin = || {
            while !IS_OVER.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let all: Vec<_> = (0..threads).map(|_| std::thread::spawn(spin)).collect();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let delay = || each(pid, run_delay_ns).values().sum::<u64>();
        let before = delay();
        while delay() < before + 1_000_000 && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let waited = delay() - before;
        IS_OVER.store(true, Ordering::Relaxed);
        all.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(waited >= 1_000_000, "{waited} ns");
    }
}
