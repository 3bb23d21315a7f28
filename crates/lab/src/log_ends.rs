//! How far the logs of a run's topics reach, as their leaders report: what was acknowledged must be in them.

use crate::clock::{monotonic_ns, relative_ns};
use crate::system::SystemUnderTest;
use kdyno_kafka::admin::{Admin, OffsetAt, PartitionInfo, Result};
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use std::collections::{BTreeMap, BTreeSet};
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
pub(crate) fn read(system: &dyn SystemUnderTest, topics: &BTreeMap<String, String>) -> Result<LogEnds> {
    let client_id = format!("{}admin", system.prefix());
    let mut admin = system.access().admin(&client_id, ANSWER_TIME_MAX)?;
    read_by(&mut admin, topics)
}

/// Reads them until they no longer move, no transaction is open, and every replica on a living broker is in sync, and
/// no other: until then the end that readers see, which is reported here, may lie before what the leader alone has
/// acknowledged, and markers may be missing that are taken off later. When that takes more than [`GROWTH_TIME_MAX`],
/// `Ok(None)`.
pub(crate) fn read_settled(
    system: &dyn SystemUnderTest,
    topics: &BTreeMap<String, String>,
) -> Result<Option<LogEnds>> {
    let client_id = format!("{}admin", system.prefix());
    let mut admin = system.access().admin(&client_id, ANSWER_TIME_MAX)?;
    let started = Instant::now();
    let mut before = read_by(&mut admin, topics)?;
    while started.elapsed() < GROWTH_TIME_MAX {
        std::thread::sleep(PAUSE);
        let now = read_by(&mut admin, topics)?;
        if now.records == before.records
            && in_sync(&mut admin, topics)?
            && ends(&mut admin, topics, OffsetAt::LastStable)? == now.records
        {
            return Ok(Some(now));
        }
        before = now;
    }
    Ok(None)
}

/// Whether the living replicas of the topics have all that their leaders have.
fn in_sync(admin: &mut Admin, topics: &BTreeMap<String, String>) -> Result<bool> {
    let names: Vec<&str> = topics.values().map(String::as_str).collect();
    let (cluster, reported) = admin.state(Some(&names))?;
    let living: BTreeSet<i32> = cluster.brokers.iter().map(|broker| broker.id).collect();
    let mut partitions = reported.iter().flat_map(|topic| &topic.partitions);
    Ok(partitions.all(|partition| is_in_sync(partition, &living)))
}

/// Whether the replicas in sync are those on living brokers. A dead one does not come back within a trial: to wait for it
/// would leave unchecked just what its death may have lost. While it still counts as in sync nothing moves on.
fn is_in_sync(partition: &PartitionInfo, living: &BTreeSet<i32>) -> bool {
    let in_sync: BTreeSet<i32> = partition.isr.iter().copied().collect();
    let alive: BTreeSet<i32> = partition.replicas.iter().copied().filter(|id| living.contains(id)).collect();
    in_sync == alive
}

/// What is said of logs that do not come to rest.
pub(crate) fn still_grew() -> String {
    let seconds = GROWTH_TIME_MAX.as_secs();
    format!(
        "{seconds} s after the drain the logs still grew, a transaction was open, or not every living replica was in sync"
    )
}

fn read_by(admin: &mut Admin, topics: &BTreeMap<String, String>) -> Result<LogEnds> {
    let records = ends(admin, topics, OffsetAt::Latest)?;
    Ok(LogEnds { read_ns: monotonic_ns(), records })
}

/// Offsets of all partitions added up, by the address of their topic.
fn ends(admin: &mut Admin, topics: &BTreeMap<String, String>, at: OffsetAt) -> Result<BTreeMap<String, i64>> {
    let mut records = BTreeMap::new();
    for (address, name) in topics {
        records.insert(address.clone(), admin.list_offsets(name, at)?.values().sum());
    }
    Ok(records)
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
    use kdyno_kafka::errors::ErrorCode;

    #[test]
    fn only_replicas_of_dead_brokers_are_not_waited_for() {
        let is_settled = |isr: &[i32], living: &[i32]| {
            let (leader, replicas) = (isr.first().copied().unwrap_or(-1), vec![0, 1, 2]);
            let partition =
                PartitionInfo { id: 0, leader, replicas, isr: isr.to_vec(), error: ErrorCode::NONE };
            is_in_sync(&partition, &living.iter().copied().collect())
        };
        assert!(is_settled(&[2, 1, 0], &[0, 1, 2, 3]));
        assert!(!is_settled(&[2, 1], &[0, 1, 2]), "one is behind");
        assert!(is_settled(&[2, 1], &[1, 2]), "one is dead");
        assert!(!is_settled(&[2], &[1, 2]), "one is dead, and another one is behind");
        assert!(!is_settled(&[0, 1, 2], &[1, 2]), "the leader still waits for the dead one");
        assert!(!is_settled(&[0], &[1, 2]), "the last one in sync is dead");
    }

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
