//! Samples what processes and the host use, from `/proc`.
//!
//! What the kernel does not tell gives no reading, a process that is gone is reported by [`Sampler::dead`], and nothing
//! here panics or blocks.

pub(crate) mod host;
pub(crate) mod parse;

use self::host::Value;
use crate::process::{ProcessId, ProcessRef, of_pid, seconds};
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use std::collections::{BTreeMap, BTreeSet};

/// Most threads that are read per process; a broker has about a hundred.
const THREADS_MAX: usize = 4096;

/// Reads all probes of a set of processes, and of the host.
#[derive(Debug)]
pub struct Sampler {
    watched: Vec<Watched>,
    include_host: bool,
    dead: BTreeSet<Subject>,
}

#[derive(Debug)]
struct Watched {
    subject: Subject,
    id: ProcessId,
    switches: SwitchCount,
    /// A worker's threads by number.
    threads: BTreeMap<u32, Named>,
}

/// A thread's name as the kernel has it, and as it is told apart from others of that name.
#[derive(Debug)]
struct Named {
    name: String,
    unique: String,
}

/// Involuntary context switches of a process. The kernel keeps them per thread and forgets a thread that ends, so
/// they are added up from the differences between samples.
#[derive(Debug, Default)]
struct SwitchCount {
    total: u64,
    by_thread: BTreeMap<u32, u64>,
}

impl Sampler {
    /// Watches these processes; one that is already gone is dead from the start.
    #[must_use]
    pub fn new(subjects: Vec<ProcessRef>, include_host: bool) -> Self {
        let mut sampler = Self { watched: Vec::new(), include_host, dead: BTreeSet::new() };
        subjects.into_iter().for_each(|subject| sampler.add(subject));
        sampler
    }

    /// Watches another process.
    pub fn add(&mut self, process: ProcessRef) {
        match ProcessId::of(process.pid) {
            Some(id) => {
                let (switches, threads) = (SwitchCount::default(), BTreeMap::new());
                self.watched.push(Watched { subject: process.subject, id, switches, threads });
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
            let values = if watched.id.is_alive() { process_values(watched) } else { None };
            let Some(values) = values else {
                dead.insert(watched.subject.clone());
                return false;
            };
            let of = |(series, value): (&str, f64)| reading(at_ns, &watched.subject, series, value);
            readings.extend(values.into_iter().map(of));
            // A load generator is at its limit when one of its threads is, however idle the others are.
            if matches!(watched.subject, Subject::Worker(_)) {
                let times = thread_times(watched.id.pid, &mut watched.threads);
                readings.extend(times.iter().map(|(series, value)| of((series, *value))));
            }
            true
        });
        if self.include_host {
            let values = host::values();
            readings.extend(
                values.into_iter().map(|(series, value)| reading(at_ns, &Subject::Host, series, value)),
            );
        }
        readings
    }

    /// Subjects whose process has ended.
    #[must_use]
    pub fn dead(&self) -> Vec<Subject> {
        self.dead.iter().cloned().collect()
    }
}

fn reading(at_ns: i64, subject: &Subject, series: &str, value: f64) -> ProbeReading {
    ProbeReading { at_ns, subject: subject.clone(), series: series.to_string(), value }
}

/// `None` when the process is gone. Counters of `/proc/PID/io` are readable by the process's owner only and may be
/// missing.
fn process_values(watched: &mut Watched) -> Option<Vec<Value>> {
    let process = of_pid(watched.id.pid)?;
    let stat = process.stat().ok()?;
    let (user_s, system_s) = seconds(&stat);
    let mut values = vec![
        (series::CPU_USER_S_TOTAL, user_s),
        (series::CPU_SYSTEM_S_TOTAL, system_s),
        (series::MEMORY_RSS_BYTES, stat.rss as f64 * procfs::page_size() as f64),
    ];
    if let Ok(io) = process.io() {
        values.push((series::DISK_READ_BYTES_TOTAL, io.read_bytes as f64));
        values.push((series::DISK_WRITE_BYTES_TOTAL, io.write_bytes as f64));
    }
    watched.switches.update(thread_switches(watched.id.pid));
    values.push((series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL, watched.switches.total as f64));
    Some(values)
}

/// Numbers of a process's threads.
fn threads(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    tasks.take(THREADS_MAX).filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok())
}

/// One line of each thread's status is read, not all of it: brokers have hundreds of threads.
fn thread_switches(pid: u32) -> BTreeMap<u32, u64> {
    let count = |thread: u32| {
        let status = parse::read(&format!("/proc/{pid}/task/{thread}/status"))?;
        Some((thread, parse::field(&status, "nonvoluntary_ctxt_switches:")?))
    };
    threads(pid).filter_map(count).collect()
}

/// Processor time of each thread, s, under a series of its own. `names` keeps them: of two threads with one name
/// the one that was there first has it alone, whatever order they are listed in later.
fn thread_times(pid: u32, names: &mut BTreeMap<u32, Named>) -> Vec<(String, f64)> {
    let Some(process) = of_pid(pid) else { return Vec::new() };
    let time = |thread: u32| {
        let stat = process.task_from_tid(i32::try_from(thread).ok()?).ok()?.stat().ok()?;
        let name = stat.comm.as_str();
        // A thread that has just begun still has the name of the one that made it.
        if names.get(&thread).is_none_or(|known| known.name != name) {
            let unique = unused(name, names);
            names.insert(thread, Named { name: name.to_owned(), unique });
        }
        let (user_s, system_s) = seconds(&stat);
        Some((format!("{}{}", series::THREAD_CPU_S_TOTAL_OF, names[&thread].unique), user_s + system_s))
    };
    let mut all: Vec<u32> = threads(pid).collect();
    all.sort_unstable();
    all.into_iter().filter_map(time).collect()
}

/// The name itself, or the first of `NAME#2`, `NAME#3` … that no thread has.
fn unused(name: &str, names: &BTreeMap<u32, Named>) -> String {
    let is_used = |candidate: &String| names.values().any(|used| used.unique == *candidate);
    let numbered = (2..).map(|number| format!("{name}#{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|candidate| !is_used(candidate)).unwrap_or_default()
}

impl SwitchCount {
    fn update(&mut self, now: BTreeMap<u32, u64>) {
        for (thread, count) in &now {
            let before = self.by_thread.get(thread).copied().unwrap_or(0);
            // A smaller count is a new thread that got an ended one's number.
            self.total += if *count >= before { count - before } else { *count };
        }
        self.by_thread = now;
    }
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
        let me = ProcessRef { subject: Subject::Kdyno, pid: std::process::id() };
        let mut sampler = Sampler::new(vec![me], true);
        let first = sampler.sample(-5);
        assert!(first.iter().all(|r| r.at_ns == -5 && r.value >= 0.0));
        for name in
            [series::CPU_USER_S_TOTAL, series::MEMORY_RSS_BYTES, series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL]
        {
            assert!(value(&first, &Subject::Kdyno, name).is_some(), "{name}");
        }
        for name in [
            series::CPU_USER_S_TOTAL,
            series::CPU_SYSTEM_S_TOTAL,
            series::CPU_IOWAIT_S_TOTAL,
            series::CPU_STEAL_S_TOTAL,
            series::CPU_IDLE_S_TOTAL,
            series::MEMORY_AVAILABLE_BYTES,
            series::DISK_READ_BYTES_TOTAL,
            series::DISK_WRITE_BYTES_TOTAL,
            series::NET_RECEIVE_BYTES_TOTAL,
            series::NET_TRANSMIT_BYTES_TOTAL,
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
        let mut sampler =
            Sampler::new(vec![ProcessRef { subject: Subject::Broker(7), pid: child.id() }], false);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut cpu = 0.0;
        while cpu < 0.05 && std::time::Instant::now() < deadline {
            let readings = sampler.sample(0);
            cpu = value(&readings, &Subject::Broker(7), series::CPU_USER_S_TOTAL).unwrap_or(0.0)
                + value(&readings, &Subject::Broker(7), series::CPU_SYSTEM_S_TOTAL).unwrap_or(0.0);
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(cpu >= 0.05, "no processor time seen");
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
        let me = |subject| ProcessRef { subject, pid: std::process::id() };
        let mut sampler = Sampler::new(vec![me(Subject::Worker(0)), me(Subject::Broker(0))], false);
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

    #[test]
    fn switches_of_ended_threads_are_kept() {
        let mut count = SwitchCount::default();
        count.update(BTreeMap::from([(1, 10), (2, 5)]));
        count.update(BTreeMap::from([(1, 12)]));
        count.update(BTreeMap::from([(1, 12), (2, 3)]));
        assert_eq!(count.total, 10 + 5 + 2 + 3);
    }
}
