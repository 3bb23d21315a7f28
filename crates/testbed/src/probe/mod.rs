//! Samples what processes and the host use, from `/proc`.
//!
//! What the kernel does not report gives no reading, a process that is gone is reported by [`ProbeSampler::dead`], and
//! nothing here panics or blocks.

pub mod cgroup;
mod drives;
mod gc_log;
pub(crate) mod host;
pub mod named;
mod network;
mod open_files;
pub(crate) mod parse;
mod threads;
mod tree;

use self::open_files::open_files;
use self::parse::SeriesValue;
use self::threads::ThreadCounters;
use crate::process::{ProcessId, ProcessRef, of_pid, seconds};
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use std::collections::{BTreeMap, BTreeSet};

const NS_PER_S: f64 = 1e9;

/// Reads all probes of a set of processes, and of the host.
#[derive(Debug)]
pub struct ProbeSampler {
    watched: Vec<WatchedProcess>,
    include_host: bool,
    dead: BTreeSet<Subject>,
}

#[derive(Debug)]
struct WatchedProcess {
    subject: Subject,
    id: ProcessId,
    /// Involuntary and voluntary ones.
    switches: ThreadCounters<2>,
    run_delay_ns: ThreadCounters<1>,
    /// Files that say for how long limits on CPU time have held it.
    limits: Vec<cgroup::CgroupFile>,
    /// Where a broker's or controller's garbage collector writes.
    gc_log: Option<gc_log::GcLog>,
    /// A worker's threads by number.
    threads: BTreeMap<u32, ThreadName>,
    /// What is below it, where that is meant.
    tree: Option<tree::ProcessTree>,
}

/// A thread's name as the kernel has it, and as it is distinguished from others of that name.
#[derive(Debug)]
struct ThreadName {
    name: String,
    unique: String,
}

impl ProbeSampler {
    /// Watches these processes; one that is already gone is dead from the start.
    #[must_use]
    pub fn new(subjects: Vec<ProcessRef>, include_host: bool) -> Self {
        let mut sampler = Self { watched: Vec::new(), include_host, dead: BTreeSet::new() };
        subjects.into_iter().for_each(|subject| sampler.add(subject));
        sampler
    }

    /// Watches another process; under the name of one that has ended it goes on in its place.
    pub fn add(&mut self, process: ProcessRef) {
        match ProcessId::of(process.pid) {
            Some(id) => {
                self.dead.remove(&process.subject);
                let is_kafka = matches!(process.subject, Subject::Broker(_) | Subject::Controller(_));
                self.watched.push(WatchedProcess {
                    gc_log: is_kafka.then(|| gc_log::GcLog::of(process.pid)).flatten(),
                    subject: process.subject,
                    id,
                    switches: ThreadCounters::default(),
                    run_delay_ns: ThreadCounters::default(),
                    limits: cgroup::limits_of(process.pid),
                    threads: BTreeMap::new(),
                    tree: process.is_keeper.then(tree::ProcessTree::default),
                });
            }
            None => {
                self.dead.insert(process.subject);
            }
        }
    }

    /// Reads everything; all readings carry `at_ns`, the caller's time from T0.
    pub fn sample(&mut self, at_ns: i64) -> Vec<ProbeReading> {
        let mut readings = Vec::new();
        let dead = &mut self.dead;
        self.watched.retain_mut(|watched| {
            let (pid, is_other) = (watched.id.pid, matches!(watched.subject, Subject::OtherSide(_)));
            let values = match (watched.id.is_alive(), &mut watched.tree) {
                (false, _) => None,
                (true, Some(tree)) => tree.values(pid, is_other),
                (true, None) => process_values(watched),
            };
            let Some(values) = values else {
                dead.insert(watched.subject.clone());
                return false;
            };
            let of = |value: SeriesValue| reading(at_ns, &watched.subject, value);
            readings.extend(values.into_iter().map(of));
            // A load generator is at its limit when one of its threads is, however idle the others are.
            if matches!(watched.subject, Subject::Worker(_)) {
                readings.extend(thread_times(watched.id.pid, &mut watched.threads).into_iter().map(of));
            }
            true
        });
        if self.include_host {
            let values = host::values().into_iter().chain(drives::values()).chain(network::values());
            readings.extend(values.map(|value| reading(at_ns, &Subject::Host, value)));
        }
        readings
    }

    /// Subjects whose process has ended.
    #[must_use]
    pub fn dead(&self) -> Vec<Subject> {
        self.dead.iter().cloned().collect()
    }
}

fn reading(at_ns: i64, subject: &Subject, (series, value): SeriesValue) -> ProbeReading {
    ProbeReading { at_ns, subject: subject.clone(), series: series.into_owned(), value }
}

/// `None` when the process is gone. Counters of `/proc/PID/io` are readable by the process's owner only and may be
/// missing.
fn process_values(watched: &mut WatchedProcess) -> Option<Vec<SeriesValue>> {
    let process = of_pid(watched.id.pid)?;
    let stat = process.stat().ok()?;
    let (user_s, system_s) = seconds(&stat);
    let mut values: Vec<SeriesValue> = vec![
        (series::CPU_USER_S_TOTAL.into(), user_s),
        (series::CPU_SYSTEM_S_TOTAL.into(), system_s),
        (series::MEMORY_RSS_BYTES.into(), stat.rss as f64 * procfs::page_size() as f64),
    ];
    if matches!(watched.subject, Subject::OtherSide(_)) {
        // All else of it is read with the trial that it belongs to.
        return Some(values);
    }
    if let Ok(io) = process.io() {
        values.push((series::DISK_READ_BYTES_TOTAL.into(), io.read_bytes as f64));
        values.push((series::DISK_WRITE_BYTES_TOTAL.into(), io.write_bytes as f64));
    }
    let pid = watched.id.pid;
    values.extend(open_files(pid).map(|files| (series::OPEN_FILES.into(), files as f64)));
    watched.switches.update(threads::each(pid, threads::switches));
    let [involuntary, voluntary] = watched.switches.totals();
    values.push((series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL.into(), involuntary as f64));
    values.push((series::CONTEXT_SWITCHES_VOLUNTARY_TOTAL.into(), voluntary as f64));
    let delays = threads::each(pid, |pid, thread| threads::run_delay_ns(pid, thread).map(|ns| [ns]));
    // A kernel that keeps none says so by no file at all.
    if !delays.is_empty() {
        watched.run_delay_ns.update(delays);
        let [delay_ns] = watched.run_delay_ns.totals();
        values.push((series::RUN_DELAY_S_TOTAL.into(), delay_ns as f64 / NS_PER_S));
    }
    values.extend(watched.gc_log.iter_mut().flat_map(gc_log::GcLog::values));
    let held_s = cgroup::held_s(&watched.limits);
    values.extend(held_s.map(|held_s| (series::CPU_THROTTLED_S_TOTAL.into(), held_s)));
    Some(values)
}

/// CPU time of each thread and the time it waited for a processor, s, each under a series of its own. `names`
/// keeps them: of two threads with one name the one that was there first has it alone, whatever order they are listed
/// in later.
fn thread_times(pid: u32, names: &mut BTreeMap<u32, ThreadName>) -> Vec<SeriesValue> {
    let Some(process) = of_pid(pid) else { return Vec::new() };
    let mut times = Vec::new();
    for thread in threads::sorted(pid) {
        let task = i32::try_from(thread).ok().and_then(|thread| process.task_from_tid(thread).ok());
        let Some(stat) = task.and_then(|task| task.stat().ok()) else { continue };
        let name = stat.comm.as_str();
        // A thread that has just begun still has the name of the one that made it.
        if names.get(&thread).is_none_or(|known| known.name != name) {
            let unique = unused(name, names);
            names.insert(thread, ThreadName { name: name.to_owned(), unique });
        }
        let unique = &names[&thread].unique;
        let (user_s, system_s) = seconds(&stat);
        times.push((format!("{}{unique}", series::THREAD_CPU_S_TOTAL_OF).into(), user_s + system_s));
        if let Some(delay_ns) = threads::run_delay_ns(pid, thread) {
            let name = format!("{}{unique}", series::THREAD_RUN_DELAY_S_TOTAL_OF);
            times.push((name.into(), delay_ns as f64 / NS_PER_S));
        }
    }
    times
}

/// The name itself, or the first of `NAME#2`, `NAME#3` … that no thread has.
fn unused(name: &str, names: &BTreeMap<u32, ThreadName>) -> String {
    let is_used = |candidate: &String| names.values().any(|used| used.unique == *candidate);
    let numbered = (2..).map(|number| format!("{name}#{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|candidate| !is_used(candidate)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn value(readings: &[ProbeReading], subject: &Subject, series: &str) -> Option<f64> {
        readings.iter().find(|r| r.subject == *subject && r.series == series).map(|r| r.value)
    }

    #[test]
    fn this_process_and_the_host_give_every_series() {
        let me = ProcessRef::new(Subject::Kdyno, std::process::id());
        let mut sampler = ProbeSampler::new(vec![me], true);
        let first = sampler.sample(-5);
        assert!(first.iter().all(|r| r.at_ns == -5 && r.value >= 0.0));
        // The kernel has run delay in a file that it may have been built without.
        let run_delay = threads::run_delay_ns(std::process::id(), std::process::id());
        for name in [
            Some(series::CPU_USER_S_TOTAL),
            Some(series::MEMORY_RSS_BYTES),
            Some(series::OPEN_FILES),
            Some(series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL),
            Some(series::CONTEXT_SWITCHES_VOLUNTARY_TOTAL),
            run_delay.map(|_| series::RUN_DELAY_S_TOTAL),
        ]
        .into_iter()
        .flatten()
        {
            assert!(value(&first, &Subject::Kdyno, name).is_some(), "{name}");
        }
        for name in [
            series::CPU_USER_S_TOTAL,
            series::CPU_SYSTEM_S_TOTAL,
            series::CPU_IOWAIT_S_TOTAL,
            series::CPU_STEAL_S_TOTAL,
            series::CPU_IDLE_S_TOTAL,
            series::MEMORY_TOTAL_BYTES,
            series::MEMORY_AVAILABLE_BYTES,
            series::MEMORY_CACHED_BYTES,
            series::MEMORY_DIRTY_BYTES,
            series::MEMORY_WRITEBACK_BYTES,
            series::DISK_READ_BYTES_TOTAL,
            series::DISK_WRITE_BYTES_TOTAL,
            series::NET_RECEIVE_BYTES_TOTAL,
            series::NET_TRANSMIT_BYTES_TOTAL,
            series::NET_RECEIVE_DROPPED_TOTAL,
            series::TCP_SEGMENTS_SENT_TOTAL,
            series::TCP_SEGMENTS_RETRANSMITTED_TOTAL,
        ] {
            assert!(value(&first, &Subject::Host, name).is_some(), "{name}");
        }
        let second = sampler.sample(5);
        for r in second.iter().filter(|r| r.series.ends_with("_total")) {
            assert!(value(&first, &r.subject, &r.series) <= Some(r.value), "{r:?} fell");
        }
    }

    #[test]
    fn a_spinning_processs_time_is_counted() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh");
        let mut sampler = ProbeSampler::new(vec![ProcessRef::new(Subject::Broker(7), child.id())], false);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut cpu = 0.0;
        while cpu < 0.05 && std::time::Instant::now() < deadline {
            let readings = sampler.sample(0);
            cpu = value(&readings, &Subject::Broker(7), series::CPU_USER_S_TOTAL).unwrap_or(0.0)
                + value(&readings, &Subject::Broker(7), series::CPU_SYSTEM_S_TOTAL).unwrap_or(0.0);
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(cpu >= 0.05, "no CPU time seen");
        assert!(sampler.sample(1).is_empty());
        assert_eq!(sampler.dead(), [Subject::Broker(7)]);
    }

    #[test]
    fn each_thread_of_a_worker_is_read_by_its_name() {
        use std::sync::atomic::{AtomicBool, Ordering};
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let spawn = |name: &str, spins: bool| {
            let wait = move || {
                while !IS_OVER.load(Ordering::Relaxed) {
                    if !spins {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                }
            };
            std::thread::Builder::new().name(name.to_string()).spawn(wait).expect("a thread")
        };
        let all = [spawn("writers", true), spawn("a name that is cut off", false), spawn("writers", false)];
        let me = |subject| ProcessRef::new(subject, std::process::id());
        let mut sampler = ProbeSampler::new(vec![me(Subject::Worker(0)), me(Subject::Broker(0))], false);
        let of = |thread: &str| format!("{}{thread}", series::THREAD_CPU_S_TOTAL_OF);
        let names = [of("writers"), of("writers#2"), of("a name that is ")];
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut cpu = [None; 3];
        let mut readings = Vec::new();
        // Threads name themselves when they begin. Which of the two writers is first, the kernel says.
        while (cpu.contains(&None) || cpu.iter().flatten().sum::<f64>() < 0.05)
            && std::time::Instant::now() < deadline
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
            readings = sampler.sample(0);
            cpu = names.each_ref().map(|name| value(&readings, &Subject::Worker(0), name));
        }
        IS_OVER.store(true, Ordering::Relaxed);
        all.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let cpu = cpu.map(|seconds| seconds.expect("each thread has a series"));
        assert!(cpu[0].max(cpu[1]) >= 0.05 && cpu[0].min(cpu[1]) < 0.05 && cpu[2] < 0.05, "{cpu:?}");
        assert_eq!(value(&readings, &Subject::Broker(0), &names[0]), None, "only workers are read so");
    }
}
