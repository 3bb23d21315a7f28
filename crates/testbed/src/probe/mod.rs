//! Samples what processes and the host use, from `/proc`.
//!
//! Every file is read whole into a bounded buffer and parsed leniently: a field that is missing gives no reading,
//! a process that is gone is reported by [`Sampler::dead`], and nothing here panics or blocks.

pub(crate) mod host;
pub(crate) mod parse;

use crate::process::{ProcessId, ProcessRef};
use kdyno_model::sample::{ProbeReading, series};
use std::collections::{BTreeMap, BTreeSet};

/// Most threads whose context switches are read per process; a broker has about a hundred.
const THREADS_MAX: usize = 4096;

/// Reads all probes of a set of processes, and of the host.
#[derive(Debug)]
pub struct Sampler {
    watched: Vec<Watched>,
    include_host: bool,
    dead: BTreeSet<String>,
    ticks_per_s: f64,
}

#[derive(Debug)]
struct Watched {
    subject: String,
    id: ProcessId,
    switches: SwitchCount,
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
        let mut sampler = Self {
            watched: Vec::new(),
            include_host,
            dead: BTreeSet::new(),
            ticks_per_s: rustix::param::clock_ticks_per_second() as f64,
        };
        subjects.into_iter().for_each(|subject| sampler.add(subject));
        sampler
    }

    /// Watches another process.
    pub fn add(&mut self, process: ProcessRef) {
        match ProcessId::of(process.pid) {
            Some(id) => {
                self.watched.push(Watched { subject: process.subject, id, switches: SwitchCount::default() });
            }
            None => {
                self.dead.insert(process.subject);
            }
        }
    }

    /// Reads everything; all readings carry `at_ns`, the caller's time from T0.
    pub fn sample(&mut self, at_ns: i64) -> Vec<ProbeReading> {
        let mut readings = Vec::new();
        let (ticks_per_s, dead) = (self.ticks_per_s, &mut self.dead);
        self.watched.retain_mut(|watched| {
            let values = if watched.id.is_alive() { process_values(watched, ticks_per_s) } else { None };
            let Some(values) = values else {
                dead.insert(watched.subject.clone());
                return false;
            };
            readings.extend(
                values.into_iter().map(|(series, value)| reading(at_ns, &watched.subject, series, value)),
            );
            true
        });
        if self.include_host {
            let values = host::values(self.ticks_per_s);
            readings.extend(values.into_iter().map(|(series, value)| reading(at_ns, "host", series, value)));
        }
        readings
    }

    /// Subjects whose process has ended.
    #[must_use]
    pub fn dead(&self) -> Vec<String> {
        self.dead.iter().cloned().collect()
    }
}

fn reading(at_ns: i64, subject: &str, series: &str, value: f64) -> ProbeReading {
    ProbeReading { at_ns, subject: subject.to_string(), series: series.to_string(), value }
}

/// A series name and its value.
type Value = (&'static str, f64);

/// `None` when the process is gone. Counters of `/proc/PID/io` are readable by the process's owner only and may be
/// missing.
fn process_values(watched: &mut Watched, ticks_per_s: f64) -> Option<Vec<Value>> {
    let pid = watched.id.pid;
    let stat = parse::process_stat(&parse::read(&format!("/proc/{pid}/stat"))?)?;
    let mut values = vec![
        (series::CPU_USER_S_TOTAL, stat.user_ticks as f64 / ticks_per_s),
        (series::CPU_SYSTEM_S_TOTAL, stat.system_ticks as f64 / ticks_per_s),
        (series::MEMORY_RSS_BYTES, stat.rss_pages as f64 * rustix::param::page_size() as f64),
    ];
    if let Some(io) = parse::read(&format!("/proc/{pid}/io")) {
        values.extend(parse::field(&io, "read_bytes:").map(|v| (series::DISK_READ_BYTES_TOTAL, v as f64)));
        values.extend(parse::field(&io, "write_bytes:").map(|v| (series::DISK_WRITE_BYTES_TOTAL, v as f64)));
    }
    watched.switches.update(thread_switches(pid));
    values.push((series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL, watched.switches.total as f64));
    Some(values)
}

fn thread_switches(pid: u32) -> BTreeMap<u32, u64> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return BTreeMap::new() };
    tasks
        .take(THREADS_MAX)
        .filter_map(|task| {
            let thread: u32 = task.ok()?.file_name().to_str()?.parse().ok()?;
            let status = parse::read(&format!("/proc/{pid}/task/{thread}/status"))?;
            Some((thread, parse::field(&status, "nonvoluntary_ctxt_switches:")?))
        })
        .collect()
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

    fn value(readings: &[ProbeReading], subject: &str, series: &str) -> Option<f64> {
        readings.iter().find(|r| r.subject == subject && r.series == series).map(|r| r.value)
    }

    #[test]
    fn this_process_and_the_host_give_every_series() {
        let me = ProcessRef { subject: "kdyno".to_string(), pid: std::process::id() };
        let mut sampler = Sampler::new(vec![me], true);
        let first = sampler.sample(-5);
        assert!(first.iter().all(|r| r.at_ns == -5 && r.value >= 0.0));
        for name in
            [series::CPU_USER_S_TOTAL, series::MEMORY_RSS_BYTES, series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL]
        {
            assert!(value(&first, "kdyno", name).is_some(), "{name}");
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
            assert!(value(&first, "host", name).is_some(), "{name}");
        }
        let second = sampler.sample(5);
        for r in second.iter().filter(|r| r.series.ends_with("_total")) {
            assert!(value(&first, &r.subject, &r.series) <= Some(r.value), "{r:?} fell");
        }
    }

    #[test]
    fn a_spinning_processs_time_is_counted() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh");
        let mut sampler = Sampler::new(vec![ProcessRef { subject: "x".into(), pid: child.id() }], false);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut cpu = 0.0;
        while cpu < 0.05 && std::time::Instant::now() < deadline {
            let readings = sampler.sample(0);
            cpu = value(&readings, "x", series::CPU_USER_S_TOTAL).unwrap_or(0.0)
                + value(&readings, "x", series::CPU_SYSTEM_S_TOTAL).unwrap_or(0.0);
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(cpu >= 0.05, "no processor time seen");
        assert!(sampler.sample(1).is_empty());
        assert_eq!(sampler.dead(), ["x"]);
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
