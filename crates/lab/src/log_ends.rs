//! How far the logs of a run's topics reach, as their leaders tell: what was acknowledged must be in them.

use crate::clock::{monotonic_ns, relative_ns};
use crate::system::System;
use kdyno_kafka::admin::{Admin, OffsetAt, Result};
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for the answers to one reading.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a log may go on growing after the drain: requests that wait at a broker when a worker gives them up are
/// appended all the same, and leaders learn a little later how far the replicas are.
const GROWTH_TIME_MAX: Duration = Duration::from_secs(10);

/// Distance of readings that are compared. A follower fetches again within some ms.
const PAUSE: Duration = Duration::from_millis(250);

/// Records in the log of each topic, by its address, and when that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogEnds {
    /// CLOCK_MONOTONIC, ns.
    read_ns: u64,
    records: BTreeMap<String, i64>,
}

/// Reads the ends of the topics' logs. `topics` maps addresses to real names.
pub(crate) fn read(system: &System, topics: &BTreeMap<String, String>) -> Result<LogEnds> {
    let client_id = format!("{}admin", system.prefix());
    let mut admin = system.access().admin(&client_id, ANSWER_TIME_MAX)?;
    read_by(&mut admin, topics)
}

/// Reads them until they stand still and every replica is in sync: until then the end that readers see, which is told
/// here, may lie before what the leader alone has acknowledged. When that takes more than [`GROWTH_TIME_MAX`], `Ok(None)`.
pub(crate) fn read_settled(system: &System, topics: &BTreeMap<String, String>) -> Result<Option<LogEnds>> {
    let client_id = format!("{}admin", system.prefix());
    let mut admin = system.access().admin(&client_id, ANSWER_TIME_MAX)?;
    let started = Instant::now();
    let mut before = read_by(&mut admin, topics)?;
    while started.elapsed() < GROWTH_TIME_MAX {
        std::thread::sleep(PAUSE);
        let now = read_by(&mut admin, topics)?;
        if now.records == before.records && in_sync(&mut admin, topics)? {
            return Ok(Some(now));
        }
        before = now;
    }
    Ok(None)
}

/// Whether every replica of the topics has all that its leader has.
fn in_sync(admin: &mut Admin, topics: &BTreeMap<String, String>) -> Result<bool> {
    let names: Vec<&str> = topics.values().map(String::as_str).collect();
    let told = admin.topics(Some(&names))?;
    let mut partitions = told.iter().flat_map(|topic| &topic.partitions);
    Ok(partitions.all(|partition| partition.isr.len() >= partition.replicas.len()))
}

/// What is said of logs that do not come to rest.
pub(crate) fn still_grew() -> String {
    let seconds = GROWTH_TIME_MAX.as_secs();
    format!("{seconds} s after the drain the logs still grew, or not every replica was in sync")
}

fn read_by(admin: &mut Admin, topics: &BTreeMap<String, String>) -> Result<LogEnds> {
    let mut records = BTreeMap::new();
    for (address, name) in topics {
        let ends = admin.list_offsets(name, OffsetAt::Latest)?;
        records.insert(address.clone(), ends.values().sum());
    }
    Ok(LogEnds { read_ns: monotonic_ns(), records })
}

impl LogEnds {
    /// As readings of a trial that began at `t0_ns` on CLOCK_MONOTONIC.
    pub(crate) fn readings(&self, t0_ns: u64) -> Vec<ProbeReading> {
        let reading = |(address, records): (&String, &i64)| ProbeReading {
            at_ns: relative_ns(self.read_ns, t0_ns),
            subject: Subject::Topic(address.clone()),
            series: series::LOG_RECORDS_TOTAL.to_owned(),
            value: *records as f64,
        };
        self.records.iter().map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_before_t0_lies_before_it() {
        let ends = LogEnds { read_ns: 7, records: BTreeMap::from([("perf".to_owned(), 12)]) };
        let readings = ends.readings(10);
        assert_eq!(readings.len(), 1);
        assert_eq!((readings[0].at_ns, readings[0].value), (-3, 12.0));
        assert_eq!(readings[0].subject, Subject::Topic("perf".to_owned()));
        assert_eq!(readings[0].series, "log_records_total");
    }
}
