//! Courses of resources of processes and the host, for the panels of the page.

use crate::cpu;
use crate::evidence::{NS_PER_S, ReadingsByTime};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::series;
use kdyno_model::series::{Resource, ResourcePoint, ResourceSeries};
use std::collections::BTreeMap;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// How a resource is read.
enum ReadingKind {
    /// A counter; its growth per second, times this.
    Grows(&'static str, f64),
    /// A level, by one of two names.
    Level(&'static str, &'static str),
}

fn read(resource: Resource) -> ReadingKind {
    let mib = 1.0 / BYTES_PER_MIB;
    match resource {
        Resource::CpuUser => ReadingKind::Grows(series::CPU_USER_S_TOTAL, 100.0),
        Resource::CpuSystem => ReadingKind::Grows(series::CPU_SYSTEM_S_TOTAL, 100.0),
        Resource::Memory => ReadingKind::Level(series::MEMORY_RSS_BYTES, series::MEMORY_RSS_BYTES),
        Resource::Heap => ReadingKind::Level(series::HEAP_USED_BYTES, series::JVM_HEAP_USED_BYTES),
        Resource::DiskRead => ReadingKind::Grows(series::DISK_READ_BYTES_TOTAL, mib),
        Resource::DiskWrite => ReadingKind::Grows(series::DISK_WRITE_BYTES_TOTAL, mib),
        Resource::NetworkReceive => ReadingKind::Grows(series::NET_RECEIVE_BYTES_TOTAL, mib),
        Resource::NetworkTransmit => ReadingKind::Grows(series::NET_TRANSMIT_BYTES_TOTAL, mib),
        Resource::BytesIn => ReadingKind::Grows(series::BYTES_IN_TOTAL, mib),
        Resource::BytesOut => ReadingKind::Grows(series::BYTES_OUT_TOTAL, mib),
    }
}

/// Every resource that was read of every subject, in order of subjects; what the other side of a duet used is in the
/// trial of that side.
pub(crate) fn courses(evidence: &TrialEvidence) -> Vec<ResourceSeries> {
    let mut readings: BTreeMap<&Subject, BTreeMap<&str, ReadingsByTime>> = BTreeMap::new();
    for reading in evidence.probes.iter().filter(|one| !cpu::is_other_side(&one.subject)) {
        if reading.value.is_finite() {
            let of_subject = readings.entry(&reading.subject).or_default();
            of_subject.entry(&reading.series).or_default().insert(reading.at_ns, reading.value);
        }
    }
    let mut found = Vec::new();
    for (subject, of_subject) in readings {
        for resource in Resource::all() {
            let points = match read(resource) {
                ReadingKind::Grows(name, times) => of_subject.get(name).map(|course| growth(course, times)),
                ReadingKind::Level(name, other) => of_subject.get(name).or(of_subject.get(other)).map(levels),
            };
            if let Some(points) = points.filter(|points| !points.is_empty()) {
                found.push(ResourceSeries { subject: subject.clone(), resource, points });
            }
        }
    }
    found
}

fn levels(course: &ReadingsByTime) -> Vec<ResourcePoint> {
    course.iter().map(|(at_ns, value)| ResourcePoint { at_s: seconds(*at_ns), value: *value }).collect()
}

/// A counter that falls is another process's: that stretch has no point.
fn growth(course: &ReadingsByTime, times: f64) -> Vec<ResourcePoint> {
    let pairs = course.iter().zip(course.iter().skip(1)).filter(|(before, after)| after.1 >= before.1);
    let point = |((from_ns, before), (to_ns, after)): ((&i64, &f64), (&i64, &f64))| ResourcePoint {
        at_s: seconds(*to_ns),
        value: times * (after - before) / (seconds(*to_ns) - seconds(*from_ns)),
    };
    pairs.map(point).collect()
}

fn seconds(at_ns: i64) -> f64 {
    at_ns as f64 / NS_PER_S as f64
}
