//! A component by all of its processes: those below its keeper, which come and go.
//!
//! What a process used goes to its parent when that takes leave of it, in the end to the keeper; so the sum over those that
//! run and over what they and the keeper have inherited is what all of them ever used.

use super::open_files::open_files;
use super::parse::SeriesValue;
use crate::process::{ProcessId, of_pid};
use kdyno_model::sample::series;
use procfs::process::Process;
use std::collections::BTreeSet;

/// Most processes that are read: a component is not a build farm, and each costs time.
const PROCESSES_MAX: usize = 1_000;

/// What was read so far of the processes below a keeper.
#[derive(Debug, Default)]
pub(super) struct ProcessTree {
    /// Counters never fall: what a process used that ends while it is read may be left out of one reading.
    most: [f64; 4],
}

/// What is read of one process.
#[derive(Debug, Clone, Copy)]
struct Used {
    process: ProcessId,
    /// User and system time, s; bytes read from and written to disks.
    totals: [f64; 4],
    /// Memory of its own, bytes.
    own_bytes: f64,
    /// Resident memory of files and shared, bytes.
    shared_bytes: f64,
    open_files: f64,
}

impl ProcessTree {
    /// What the processes below the keeper used together, or of the other side's what is needed of that; `None`: it is gone.
    pub(super) fn values(&mut self, keeper: u32, is_other: bool) -> Option<Vec<SeriesValue>> {
        // Lower processes are read before what is above them: what ends in between may be in both, and is not lost.
        let mut below = below(keeper);
        below.reverse();
        let all: Vec<Used> = below.into_iter().filter_map(|pid| used(&of_pid(pid)?)).collect();
        let inherited = inherited(&of_pid(keeper)?)?;
        self.count(inherited, &all, |process| ProcessId::of(process.pid) == Some(process));
        let sum = |of: fn(&Used) -> f64| all.iter().map(of).sum::<f64>();
        let shared = all.iter().map(|one| one.shared_bytes).fold(0.0, f64::max);
        let [user_s, system_s, read, written] = self.most;
        let mut values: Vec<SeriesValue> = vec![
            (series::CPU_USER_S_TOTAL.into(), user_s),
            (series::CPU_SYSTEM_S_TOTAL.into(), system_s),
            (series::MEMORY_RSS_BYTES.into(), sum(|one| one.own_bytes) + shared),
        ];
        if !is_other {
            values.push((series::DISK_READ_BYTES_TOTAL.into(), read));
            values.push((series::DISK_WRITE_BYTES_TOTAL.into(), written));
            values.push((series::OPEN_FILES.into(), sum(|one| one.open_files)));
        }
        Some(values)
    }

    /// Counts what was read of the processes and, after them, of what the keeper inherited. One that is gone since it was read
    /// counts by who inherited it: with what was read of it all that it ever used would count twice, and stay, for counters
    /// never fall. Where it was inherited too late to be seen it is in the next reading.
    fn count(&mut self, inherited: [f64; 4], all: &[Used], is_there: impl Fn(ProcessId) -> bool) {
        let mut totals = inherited;
        for one in all.iter().filter(|one| is_there(one.process)) {
            totals.iter_mut().zip(one.totals).for_each(|(sum, more)| *sum += more);
        }
        self.most.iter_mut().zip(totals).for_each(|(most, now)| *most = most.max(now));
    }
}

/// What a process used, and what it inherited of those that it took leave of.
fn used(process: &Process) -> Option<Used> {
    let stat = process.stat().ok()?;
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let s = |own: u64, inherited: i64| (own as f64 + inherited as f64) / ticks_per_s;
    // It may be another user's: then disks are not readable. The kernel adds up what children did there.
    let (read, written) = process.io().map_or((0.0, 0.0), |io| (io.read_bytes as f64, io.write_bytes as f64));
    let status = process.status().ok();
    let bytes = |kib: Option<u64>| kib.unwrap_or(0) as f64 * 1024.0;
    let own_bytes = status.as_ref().map_or(0.0, |status| bytes(status.rssanon));
    let shared = |status: &procfs::process::Status| bytes(status.rssfile) + bytes(status.rssshmem);
    Some(Used {
        process: ProcessId { pid: process.pid().cast_unsigned(), start_ticks: stat.starttime },
        totals: [s(stat.utime, stat.cutime), s(stat.stime, stat.cstime), read, written],
        own_bytes,
        shared_bytes: status.as_ref().map_or(0.0, shared),
        open_files: open_files(process.pid().cast_unsigned()).unwrap_or(0) as f64,
    })
}

/// What the keeper inherited. Its own reads and writes are pipes and `/proc`: no disk's.
fn inherited(keeper: &Process) -> Option<[f64; 4]> {
    let stat = keeper.stat().ok()?;
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let (read, written) = keeper.io().map_or((0.0, 0.0), |io| (io.read_bytes as f64, io.write_bytes as f64));
    Some([stat.cutime as f64 / ticks_per_s, stat.cstime as f64 / ticks_per_s, read, written])
}

/// The processes below one, each after its parent.
fn below(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for child in children(pid) {
            if found.len() < PROCESSES_MAX && seen.insert(child) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

/// The children of a process, whichever of its threads made them.
fn children(pid: u32) -> Vec<u32> {
    let folders = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = folders.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    /// Ends what a test started, also when it fails.
    struct KillOnDrop(Child);

    impl Drop for KillOnDrop {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn usage_of_ended_children_and_grandchildren_is_kept() {
        // The shell plays the keeper: what it uses itself does not count, what it reaps does.
        let script = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 0'; sleep 60; exit 0";
        let keeper = KillOnDrop(Command::new("sh").args(["-c", script]).spawn().expect("sh"));
        let mut tree = ProcessTree::default();
        let until = Instant::now() + Duration::from_secs(60);
        let value = |values: &[SeriesValue], name: &str| {
            values.iter().find(|(series, _)| series == name).map_or(0.0, |(_, value)| *value)
        };
        let mut last = 0.0;
        loop {
            let values = tree.values(keeper.0.id(), false).expect("it runs");
            let user_s = value(&values, series::CPU_USER_S_TOTAL);
            assert!(user_s >= last, "{user_s} after {last}");
            last = user_s;
            let sleeps = below(keeper.0.id()).into_iter().any(|pid| {
                of_pid(pid).and_then(|process| process.stat().ok()).is_some_and(|stat| stat.comm == "sleep")
            });
            if sleeps {
                let values = tree.values(keeper.0.id(), false).expect("it runs");
                assert!(value(&values, series::CPU_USER_S_TOTAL) > 0.02, "{values:?}");
                assert!(value(&values, series::MEMORY_RSS_BYTES) > 0.0, "{values:?}");
                assert!(value(&values, series::OPEN_FILES) >= 1.0, "{values:?}");
                let sleeper = below(keeper.0.id())[0].cast_signed();
                let pid = rustix::process::Pid::from_raw(sleeper).expect("a pid");
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                return;
            }
            assert!(Instant::now() < until, "it does not get there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A process that used 100 s and ends while the tree is read.
    #[test]
    fn what_ends_while_it_is_read_counts_once() {
        let used = |pid: u32, user_s: f64| Used {
            process: ProcessId { pid, start_ticks: 1 },
            totals: [user_s, 0.0, 0.0, 0.0],
            own_bytes: 0.0,
            shared_bytes: 0.0,
            open_files: 0.0,
        };
        let mut tree = ProcessTree::default();
        tree.count([1.0, 0.0, 0.0, 0.0], &[used(2, 5.0), used(3, 100.0)], |_| true);
        assert_eq!(tree.most[0], 106.0);
        // It was read, it ended, and the keeper inherited it before that was read.
        tree.count([101.0, 0.0, 0.0, 0.0], &[used(2, 6.0), used(3, 100.0)], |process| process.pid == 2);
        assert_eq!(tree.most[0], 107.0);
        // Another one ended after the keeper was read: it is in the next reading.
        tree.count([101.0, 0.0, 0.0, 0.0], &[used(2, 7.0)], |_| false);
        assert_eq!(tree.most[0], 107.0, "it never falls");
        tree.count([108.0, 0.0, 0.0, 0.0], &[], |_| true);
        assert_eq!(tree.most[0], 108.0);
    }

    #[test]
    fn of_a_keeper_that_is_gone_nothing_is_read() {
        assert!(ProcessTree::default().values(u32::MAX >> 1, false).is_none());
        let others = ProcessTree::default().values(std::process::id(), true).expect("this process");
        assert_eq!(others.len(), 3, "of the other side no more than is needed: {others:?}");
    }
}
