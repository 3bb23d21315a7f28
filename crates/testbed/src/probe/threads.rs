//! Counters that the kernel keeps for each thread of a process.

use super::parse;
use std::collections::BTreeMap;

/// Most threads that are read per process; a broker has about a hundred.
const THREADS_MAX: usize = 4096;

/// Sums of `N` counters over a process's threads. The kernel keeps them per thread and forgets a thread that ends, so
/// they are added up from the differences between samples.
#[derive(Debug)]
pub(super) struct ThreadCounters<const N: usize> {
    totals: [u64; N],
    by_thread: BTreeMap<u32, [u64; N]>,
}

impl<const N: usize> Default for ThreadCounters<N> {
    fn default() -> Self {
        Self { totals: [0; N], by_thread: BTreeMap::new() }
    }
}

impl<const N: usize> ThreadCounters<N> {
    /// Takes what each thread that is there now has counted.
    pub(super) fn update(&mut self, now: BTreeMap<u32, [u64; N]>) {
        for (thread, counts) in &now {
            let before = self.by_thread.get(thread).copied().unwrap_or([0; N]);
            for ((total, count), before) in self.totals.iter_mut().zip(counts).zip(before) {
                // A smaller count is a new thread that got an ended one's number.
                let more = if *count >= before { count - before } else { *count };
                *total = total.saturating_add(more);
            }
        }
        self.by_thread = now;
    }

    /// Everything that was counted, by threads that have ended too.
    pub(super) fn totals(&self) -> [u64; N] {
        self.totals
    }
}

/// Counters of each thread of a process that has them.
pub(super) fn each<const N: usize>(
    pid: u32,
    counters: fn(u32, u32) -> Option<[u64; N]>,
) -> BTreeMap<u32, [u64; N]> {
    numbers(pid).filter_map(|thread| Some((thread, counters(pid, thread)?))).collect()
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

/// How often a thread lost its processor to another one, and how often it gave it up to wait for something. Two lines of
/// its status are read, not all of it.
pub(super) fn switches(pid: u32, thread: u32) -> Option<[u64; 2]> {
    let status = parse::read(&format!("/proc/{pid}/task/{thread}/status"))?;
    let of = |label: &str| parse::field(&status, label);
    Some([of("nonvoluntary_ctxt_switches:")?, of("voluntary_ctxt_switches:")?])
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
        let mut count = ThreadCounters::default();
        count.update(BTreeMap::from([(1, [10, 100]), (2, [5, 0])]));
        count.update(BTreeMap::from([(1, [12, 100])]));
        count.update(BTreeMap::from([(1, [12, 107]), (2, [3, 1])]));
        assert_eq!(count.totals(), [10 + 5 + 2 + 3, 100 + 7 + 1]);
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
        let delay = || numbers(pid).filter_map(|thread| run_delay_ns(pid, thread)).sum::<u64>();
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
