//! CPU time and memory of processes and host, from probe readings.
//!
//! Counters are read about once per second, not at the window's ends; in between they are taken to grow
//! evenly.

use crate::evidence::{NS_PER_S, Window};
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use kdyno_model::series::CpuPoint;
use std::collections::{BTreeMap, BTreeSet};

/// How far readings may end before the window does and still be carried on at their mean rate. Above it the
/// process is taken to have ended (or to have started late) and to have used nothing more.
const GAP_NS_MAX: i64 = 2 * NS_PER_S.cast_signed();

/// Counters that make up a process's CPU time, and the host's: everything but idle and iowait. What
/// the hypervisor took was wanted, so it counts as busy.
const PROCESS_COUNTERS: &[&str] = &[series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL];
const HOST_COUNTERS: &[&str] =
    &[series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL, series::CPU_STEAL_S_TOTAL];

/// A Java client reports its own, in one counter.
const JVM_COUNTERS: &[&str] = &[series::JVM_CPU_S_TOTAL];

/// Every counter of the host's time; together they are processors × time.
const HOST_ALL_COUNTERS: &[&str] = &[
    series::CPU_USER_S_TOTAL,
    series::CPU_SYSTEM_S_TOTAL,
    series::CPU_STEAL_S_TOTAL,
    series::CPU_IOWAIT_S_TOTAL,
    series::CPU_IDLE_S_TOTAL,
];

/// The subjects of a kind that were probed, each once, in order.
pub(crate) fn subjects(probes: &[ProbeReading], is_one: impl Fn(&Subject) -> bool) -> Vec<Subject> {
    let found: BTreeSet<&Subject> =
        probes.iter().map(|reading| &reading.subject).filter(|s| is_one(s)).collect();
    found.into_iter().cloned().collect()
}

/// Whether it is a worker.
pub(crate) fn is_worker(subject: &Subject) -> bool {
    matches!(subject, Subject::Worker(_))
}

/// Whether it is the process of a Java client.
pub(crate) fn is_java_client(subject: &Subject) -> bool {
    matches!(subject, Subject::Jvm(..))
}

/// Whether it is a process of the other side of a pair that runs at once.
pub(crate) fn is_other_side(subject: &Subject) -> bool {
    matches!(subject, Subject::OtherSide(_))
}

/// Whether it is a process of the run: of the system under test, a relay between its zones, a component next to it, a
/// worker, a Java client, the other side of a duet, or kdyno itself.
pub(crate) fn is_own_process(subject: &Subject) -> bool {
    use Subject::{Broker, Component, Controller, Jvm, Kdyno, OtherSide, Relay, Worker, Zookeeper};
    let is_of_system = matches!(subject, Broker(_) | Controller(_) | Zookeeper(_) | Relay(_) | Component(_));
    is_of_system || matches!(subject, Worker(_) | Jvm(..) | OtherSide(_) | Kdyno)
}

/// Whether it is what runs next to the cluster.
pub(crate) fn is_component(subject: &Subject) -> bool {
    matches!(subject, Subject::Component(_))
}

/// Whether it is a process that a user named, none of the run's own.
pub(crate) fn is_named(subject: &Subject) -> bool {
    matches!(subject, Subject::Process(_))
}

/// CPU time that a subject used in the window, seconds.
pub(crate) fn used_s(probes: &[ProbeReading], subject: &Subject, window: Window) -> Option<f64> {
    counters_s(probes, subject, counters_of(subject), window)
}

/// CPU time of several together; `None` unless each of them was probed.
pub(crate) fn used_by_all_s(probes: &[ProbeReading], subjects: &[Subject], window: Window) -> Option<f64> {
    subjects.iter().map(|subject| used_s(probes, subject, window)).sum()
}

/// CPU time that the host's programs and kernel used in the window, seconds: without what the hypervisor took.
pub(crate) fn host_programs_s(probes: &[ProbeReading], window: Window) -> Option<f64> {
    counters_s(probes, &Subject::Host, PROCESS_COUNTERS, window)
}

/// Share of the host's processors that was not idle in the window, what the hypervisor took included, 0 to 1.
pub(crate) fn host_busy_share(probes: &[ProbeReading], window: Window) -> Option<f64> {
    let busy = used_s(probes, &Subject::Host, window)?;
    let all = counters_s(probes, &Subject::Host, HOST_ALL_COUNTERS, window)?;
    (all > 0.0).then(|| busy / all)
}

/// By how much one counter of a subject grew in the window.
pub(crate) fn counter_s(
    probes: &[ProbeReading],
    subject: &Subject,
    counter: &str,
    window: Window,
) -> Option<f64> {
    counters_s(probes, subject, &[counter], window)
}

/// Time for which the threads of a process were ready and waited for a processor in the window, added up, seconds.
pub(crate) fn waited_s(probes: &[ProbeReading], subject: &Subject, window: Window) -> Option<f64> {
    counter_s(probes, subject, series::RUN_DELAY_S_TOTAL, window)
}

/// The threads of a subject, by name, and the CPU time each used in the window, seconds.
pub(crate) fn threads_s<'a>(
    probes: &'a [ProbeReading],
    subject: &Subject,
    window: Window,
) -> BTreeMap<&'a str, f64> {
    grown_of_each(probes, subject, series::THREAD_CPU_S_TOTAL_OF, window)
}

/// Sum of the times for which each was ready and waited for a CPU.
pub(crate) fn threads_waited_s<'a>(
    probes: &'a [ProbeReading],
    subject: &Subject,
    window: Window,
) -> BTreeMap<&'a str, f64> {
    grown_of_each(probes, subject, series::THREAD_RUN_DELAY_S_TOTAL_OF, window)
}

/// Growth of a counter that each of several has under its name, by what follows the prefix: a thread, a processor, a drive.
pub(crate) fn grown_of_each<'a>(
    probes: &'a [ProbeReading],
    subject: &Subject,
    prefix: &str,
    window: Window,
) -> BTreeMap<&'a str, f64> {
    let of_subject = probes.iter().filter(|reading| reading.subject == *subject);
    let named: BTreeSet<(&str, &str)> = of_subject
        .filter_map(|reading| Some((reading.series.strip_prefix(prefix)?, reading.series.as_str())))
        .collect();
    let grown = named
        .into_iter()
        .filter_map(|(name, counter)| Some((name, counters_s(probes, subject, &[counter], window)?)));
    grown.collect()
}

/// Share of all the host's CPU time in the window that the hypervisor took, 0 to 1.
pub(crate) fn steal_share(probes: &[ProbeReading], window: Window) -> Option<f64> {
    let stolen = counters_s(probes, &Subject::Host, &[series::CPU_STEAL_S_TOTAL], window)?;
    let all = counters_s(probes, &Subject::Host, HOST_ALL_COUNTERS, window)?;
    (all > 0.0).then(|| stolen / all)
}

/// Time the hypervisor took in the window, percent of one core.
pub(crate) fn steal_percent(probes: &[ProbeReading], window: Window) -> Option<f64> {
    let stolen = counters_s(probes, &Subject::Host, &[series::CPU_STEAL_S_TOTAL], window)?;
    Some(100.0 * stolen / window.seconds())
}

/// A value that was read of a process once, when sampling had ended.
pub(crate) fn sampled(probes: &[ProbeReading], subject: &Subject, series: &str) -> Option<f64> {
    let is_it = |reading: &&ProbeReading| reading.subject == *subject && reading.series == series;
    probes.iter().rev().find(is_it).map(|reading| reading.value)
}

/// Share of the CPU time that some processes used in the window, all together, which their sampled stacks hold.
pub(crate) fn sampled_share(
    probes: &[ProbeReading],
    subjects: &[Subject],
    window: Option<Window>,
) -> Option<f64> {
    let window = window.filter(|_| !subjects.is_empty())?;
    let used_s = used_by_all_s(probes, subjects, window).filter(|used_s| *used_s > 0.0)?;
    let per_s = |subject: &Subject| sampled(probes, subject, series::CPU_S_PER_S_SAMPLED);
    let per_s = subjects.iter().map(per_s).sum::<Option<f64>>()?;
    Some(per_s * window.seconds() / used_s)
}

/// The processes whose stacks were sampled for their CPU time.
pub(crate) fn sampled_processes(probes: &[ProbeReading]) -> Vec<Subject> {
    let is_one = |subject: &Subject| sampled(probes, subject, series::CPU_S_PER_S_SAMPLED).is_some();
    subjects(probes, |subject| (subject.is_broker() || is_java_client(subject)) && is_one(subject))
}

/// Largest resident memory of a subject read in the window, bytes.
pub(crate) fn memory_bytes_max(probes: &[ProbeReading], subject: &Subject, window: Window) -> Option<f64> {
    largest(probes, subject, series::MEMORY_RSS_BYTES, window)
}

/// Largest value of a series of a subject read in the window.
pub(crate) fn largest(
    probes: &[ProbeReading],
    subject: &Subject,
    series: &str,
    window: Window,
) -> Option<f64> {
    values(probes, subject, series, window).reduce(f64::max)
}

/// Largest value of a series of values for the time since the reading before, among those whose time lies in the window
/// for more than half: readings come just after the instants that they are meant for, the window's ends too.
pub(crate) fn largest_span(
    probes: &[ProbeReading],
    subject: &Subject,
    series: &str,
    window: Window,
) -> Option<f64> {
    let (start_ns, end_ns) = window.ends_ns();
    let mut of_it: Vec<&ProbeReading> =
        probes.iter().filter(|reading| reading.series == series && reading.subject == *subject).collect();
    of_it.sort_by_key(|reading| reading.at_ns);
    let is_inside = |before_ns: i64, at_ns: i64| {
        let inside_ns = at_ns.min(end_ns) - before_ns.max(start_ns);
        2 * inside_ns > at_ns - before_ns
    };
    let pairs = of_it.windows(2).filter(|pair| is_inside(pair[0].at_ns, pair[1].at_ns));
    pairs.map(|pair| pair[1].value).reduce(f64::max)
}

/// Smallest value of a series of a subject read in the window.
pub(crate) fn smallest(
    probes: &[ProbeReading],
    subject: &Subject,
    series: &str,
    window: Window,
) -> Option<f64> {
    values(probes, subject, series, window).reduce(f64::min)
}

fn values(
    probes: &[ProbeReading],
    subject: &Subject,
    series: &str,
    window: Window,
) -> impl Iterator<Item = f64> {
    let (start_ns, end_ns) = window.ends_ns();
    probes
        .iter()
        .filter(move |reading| reading.series == series && reading.subject == *subject)
        .filter(move |reading| (start_ns..=end_ns).contains(&reading.at_ns))
        .map(|reading| reading.value)
}

/// A subject's processor use between each two readings.
pub(crate) fn course(probes: &[ProbeReading], subject: &Subject) -> Vec<CpuPoint> {
    let grown = growth(probes, subject, counters_of(subject));
    let pairs = grown.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    pairs
        .map(|pair| CpuPoint {
            at_s: pair[1].0 as f64 / NS_PER_S as f64,
            percent: 100.0 * (pair[1].1 - pair[0].1) / ((pair[1].0 - pair[0].0) as f64 / NS_PER_S as f64),
        })
        .collect()
}

/// CPU time that a subject used in each second of `first..end`, seconds; `None` where there are no readings on
/// both sides of it.
pub(crate) fn per_second_s(
    probes: &[ProbeReading],
    subject: &Subject,
    first: u32,
    end: u32,
) -> Vec<Option<f64>> {
    let grown = growth(probes, subject, counters_of(subject));
    let begins_ns = grown.first().map(|(at_ns, _)| *at_ns);
    let by = |second: u32| {
        let at_ns = i64::from(second) * NS_PER_S.cast_signed();
        at(&grown, at_ns).filter(|_| begins_ns.is_some_and(|begins_ns| begins_ns <= at_ns))
    };
    (first..end).map(|second| Some(by(second + 1)? - by(second)?)).collect()
}

fn counters_of(subject: &Subject) -> &'static [&'static str] {
    match subject {
        Subject::Host => HOST_COUNTERS,
        Subject::Jvm(..) => JVM_COUNTERS,
        _ => PROCESS_COUNTERS,
    }
}

/// Growth of the sum of some counters over the window.
fn counters_s(probes: &[ProbeReading], subject: &Subject, counters: &[&str], window: Window) -> Option<f64> {
    let grown = growth(probes, subject, counters);
    let (start_ns, end_ns) = window.ends_ns();
    let from_ns = start_ns.max(grown.first()?.0);
    let to_ns = end_ns.min(grown.last()?.0);
    if to_ns <= from_ns {
        return None;
    }
    let used = at(&grown, to_ns)? - at(&grown, from_ns)?;
    let carried_ns: i64 =
        [from_ns - start_ns, end_ns - to_ns].into_iter().filter(|gap_ns| *gap_ns <= GAP_NS_MAX).sum();
    let seen_ns = (to_ns - from_ns) as f64;
    Some(used * (seen_ns + carried_ns as f64) / seen_ns)
}

/// The sum of some counters at every instant at which all were read, from 0. A counter that falls belongs to
/// a new process under the same name and goes on from there.
fn growth(probes: &[ProbeReading], subject: &Subject, counters: &[&str]) -> Vec<(i64, f64)> {
    let mut readings: BTreeMap<i64, Vec<Option<f64>>> = BTreeMap::new();
    for reading in probes.iter().filter(|reading| reading.subject == *subject && reading.value.is_finite()) {
        if let Some(index) = counters.iter().position(|counter| *counter == reading.series) {
            let row = readings.entry(reading.at_ns).or_insert_with(|| vec![None; counters.len()]);
            row[index] = Some(reading.value);
        }
    }
    let mut sum = 0.0;
    let mut before: Option<Vec<f64>> = None;
    let mut grown = Vec::with_capacity(readings.len());
    for (at_ns, row) in readings {
        let Some(now) = row.into_iter().collect::<Option<Vec<f64>>>() else { continue };
        if let Some(before) = &before {
            let steps =
                now.iter().zip(before).map(|(now, before)| if now < before { *now } else { now - before });
            sum += steps.sum::<f64>();
        }
        grown.push((at_ns, sum));
        before = Some(now);
    }
    grown
}

/// A growing value at an instant between its first and last reading.
pub(crate) fn at(grown: &[(i64, f64)], at_ns: i64) -> Option<f64> {
    let after = grown.partition_point(|(reading_ns, _)| *reading_ns < at_ns);
    let (after_ns, after_s) = *grown.get(after)?;
    let Some((before_ns, before_s)) = after.checked_sub(1).map(|before| grown[before]) else {
        return Some(after_s);
    };
    let share = (at_ns - before_ns) as f64 / (after_ns - before_ns) as f64;
    Some(before_s + share * (after_s - before_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ms: i64, subject: Subject, name: &str, value: f64) -> ProbeReading {
        ProbeReading { at_ns: at_ms * 1_000_000, subject, series: name.into(), value }
    }

    fn cpu(at_ms: i64, subject: Subject, user: f64, system: f64) -> [ProbeReading; 2] {
        [
            reading(at_ms, subject.clone(), series::CPU_USER_S_TOTAL, user),
            reading(at_ms, subject, series::CPU_SYSTEM_S_TOTAL, system),
        ]
    }

    const WINDOW: Window = Window { first_second: 2, end_second: 4 };

    fn close(found: Option<f64>, wanted: f64) {
        assert!(found.is_some_and(|found| (found - wanted).abs() < 1e-9), "{found:?} is not {wanted}");
    }

    #[test]
    fn readings_around_the_windows_ends_are_interpolated() {
        // 0.5 s per second of user, 0.1 of system, read at 0.5, 1.5 …
        let probes: Vec<_> = (0..6)
            .flat_map(|n| cpu(500 + n * 1000, Subject::Broker(0), 0.5 * n as f64, 0.1 * n as f64))
            .collect();
        close(used_s(&probes, &Subject::Broker(0), WINDOW), 1.2);
        assert_eq!(used_s(&probes, &Subject::Broker(1), WINDOW), None);
    }

    #[test]
    fn a_process_that_died_used_nothing_afterwards() {
        let window = Window { first_second: 0, end_second: 10 };
        let probes = [cpu(0, Subject::Broker(0), 0.0, 0.0), cpu(5000, Subject::Broker(0), 4.0, 1.0)].concat();
        close(used_s(&probes, &Subject::Broker(0), window), 5.0);
        // Readings that merely end a second early are carried on.
        let probes = [cpu(0, Subject::Broker(0), 0.0, 0.0), cpu(9000, Subject::Broker(0), 8.0, 1.0)].concat();
        close(used_s(&probes, &Subject::Broker(0), window), 10.0);
    }

    #[test]
    fn a_restarted_process_counts_from_nothing() {
        let probes = [
            cpu(2000, Subject::Broker(0), 7.0, 1.0),
            cpu(3000, Subject::Broker(0), 7.5, 1.0),
            cpu(4000, Subject::Broker(0), 0.2, 0.1),
        ]
        .concat();
        close(used_s(&probes, &Subject::Broker(0), WINDOW), 0.8);
    }

    #[test]
    fn each_thread_of_a_process_has_its_own_time() {
        let name = |thread: &str| format!("{}{thread}", series::THREAD_CPU_S_TOTAL_OF);
        let probes: Vec<_> = (1..6)
            .flat_map(|n| {
                let t = f64::from(n);
                [
                    reading(i64::from(n) * 1000, Subject::Worker(0), &name("writers"), 0.9 * t),
                    reading(i64::from(n) * 1000, Subject::Worker(0), &name("readers"), 0.1 * t),
                    reading(i64::from(n) * 1000, Subject::Worker(0), series::CPU_USER_S_TOTAL, t),
                    reading(i64::from(n) * 1000, Subject::Worker(1), &name("others"), t),
                ]
            })
            .collect();
        let used = threads_s(&probes, &Subject::Worker(0), WINDOW);
        assert_eq!(used.keys().copied().collect::<Vec<_>>(), ["readers", "writers"]);
        close(used.get("writers").copied(), 1.8);
    }

    #[test]
    fn subjects_are_numbered_processes_in_order() {
        use Subject::{Broker, Brokers, Controller, Host};
        let probes = [Broker(10), Broker(2), Brokers, Controller(1), Broker(2), Host]
            .map(|subject| reading(0, subject, series::MEMORY_RSS_BYTES, 1.0));
        assert_eq!(subjects(&probes, Subject::is_broker), [Broker(2), Broker(10)]);
        assert_eq!(subjects(&probes, is_own_process), [Broker(2), Broker(10), Controller(1)]);
    }

    #[test]
    fn the_host_is_busy_with_what_is_neither_idle_nor_iowait() {
        let host = |at_ms, scale: f64| {
            [
                reading(at_ms, Subject::Host, series::CPU_USER_S_TOTAL, 0.4 * scale),
                reading(at_ms, Subject::Host, series::CPU_SYSTEM_S_TOTAL, 0.2 * scale),
                reading(at_ms, Subject::Host, series::CPU_IOWAIT_S_TOTAL, 0.3 * scale),
                reading(at_ms, Subject::Host, series::CPU_STEAL_S_TOTAL, 0.1 * scale),
                reading(at_ms, Subject::Host, series::CPU_IDLE_S_TOTAL, 1.0 * scale),
            ]
        };
        let probes = [host(2000, 2.0), host(4000, 4.0)].concat();
        close(used_s(&probes, &Subject::Host, WINDOW), 1.4);
        close(steal_share(&probes, WINDOW), 0.05);
        close(steal_percent(&probes, WINDOW), 10.0);
        assert_eq!(course(&probes, &Subject::Host).len(), 1);
        close(Some(course(&probes, &Subject::Host)[0].percent), 70.0);
    }
}
