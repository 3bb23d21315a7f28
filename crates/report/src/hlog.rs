//! Latencies as an HdrHistogram log (format 1.3): one interval per stream and second of the records' t0.
//!
//! Readable by the tools of HdrHistogram. Values are nanoseconds; the tag is the load item's name. The log
//! holds the latencies of acknowledged records only, because a histogram has no place for "never".

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use kdyno_model::histogram::{self, Damaged};
use kdyno_model::sample::{Grain, Phase, Sample, Timing};
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// Why a log could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HlogError {
    /// A stored histogram is damaged.
    #[error("cannot read the histogram of stream {stream} in second {second}: {reason}")]
    Histogram {
        /// Stream number.
        stream: u16,
        /// Second of the records' t0.
        second: u32,
        /// What is wrong with it.
        reason: Damaged,
    },
    /// A histogram could not be written.
    #[error("cannot write the histogram log: {0}")]
    Write(String),
}

/// One trial's response times. `streams` gives each stream number its load item's name; samples of the
/// same item and second are merged. `t0_unix_ns` is the trial's T0 on the wall clock.
///
/// # Errors
/// When a stored histogram cannot be decoded or a log line not be written.
pub fn response_log(
    streams: &BTreeMap<u16, String>,
    samples: &[Sample],
    t0_unix_ns: u64,
    kdyno_version: &str,
) -> Result<String, HlogError> {
    let intervals = merged(streams, samples)?;
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let t0 = UNIX_EPOCH + Duration::from_nanos(t0_unix_ns);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("[Logged with kdyno {kdyno_version}; response times in ns]"))
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(t0)
        .with_base_time(t0);
    let failed = |error: &dyn std::fmt::Display| HlogError::Write(error.to_string());
    let mut writer = builder.begin_log_with(&mut out, &mut serializer).map_err(|error| failed(&error))?;
    writer
        .write_comment(
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"",
        )
        .map_err(|error| failed(&error))?;
    for comment in comments(streams, samples) {
        writer.write_comment(&comment).map_err(|error| failed(&error))?;
    }
    for ((second, name), histogram) in &intervals {
        let start = Duration::from_secs(u64::from(*second));
        let tag = tag_text(name);
        writer
            .write_histogram(histogram, start, Duration::from_secs(1), Tag::new(&tag))
            .map_err(|error| HlogError::Write(format!("{error:?}")))?;
    }
    drop(writer);
    String::from_utf8(out).map_err(|error| failed(&error))
}

/// What a reader of the log must know and histograms cannot say: where the phases lie, and which records have
/// no latency.
fn comments(streams: &BTreeMap<u16, String>, samples: &[Sample]) -> Vec<String> {
    let rows = || samples.iter().filter(|sample| sample.grain == Grain::Second);
    let mut phases: BTreeMap<Phase, (u32, u32)> = BTreeMap::new();
    let mut open: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in rows() {
        let (first, last) = phases.entry(row.phase).or_insert((row.t0_second, row.t0_second));
        (*first, *last) = ((*first).min(row.t0_second), (*last).max(row.t0_second));
        let Some(name) = streams.get(&row.stream) else { continue };
        let (failed, unresolved) = open.entry(name).or_default();
        // Saturates, because a damaged file may hold anything.
        *failed = row.counts.failed.values().fold(*failed, |sum, records| sum.saturating_add(*records));
        *unresolved = unresolved.saturating_add(row.counts.unresolved);
    }
    let phases = phases
        .iter()
        .map(|(phase, (first, last))| format!("{phase:?}").to_lowercase() + &format!(" {first}-{last}"));
    let mut comments = vec![format!("[Seconds: {}]", phases.collect::<Vec<_>>().join(", "))];
    let open = open.iter().filter(|(_, (failed, unresolved))| *failed > 0 || *unresolved > 0);
    comments.extend(open.map(|(name, (failed, unresolved))| {
        format!(
            "[{}: {failed} failed and {unresolved} unresolved records have no latency and are not in here; they \
             lie above every quantile]",
            tag_text(name)
        )
    }));
    comments
}

type Intervals<'a> = BTreeMap<(u32, &'a str), Histogram<u64>>;

fn merged<'a>(streams: &'a BTreeMap<u16, String>, samples: &[Sample]) -> Result<Intervals<'a>, HlogError> {
    let mut intervals = Intervals::new();
    for sample in samples.iter().filter(|sample| sample.grain == Grain::Second) {
        let (Some(bytes), Some(name)) =
            (sample.histograms.get(&Timing::Response), streams.get(&sample.stream))
        else {
            continue;
        };
        let damaged =
            |reason| HlogError::Histogram { stream: sample.stream, second: sample.t0_second, reason };
        let part = histogram::decode(bytes).map_err(damaged)?;
        match intervals.entry((sample.t0_second, name.as_str())) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(part);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                histogram::merge(place.get_mut(), &part).map_err(damaged)?;
            }
        }
    }
    Ok(intervals)
}

/// A tag may hold neither commas nor white space.
fn tag_text(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use kdyno_model::sample::{Counts, LATENCY_NS_MAX, LATENCY_NS_MIN};

    fn sample(stream: u16, second: u32, latencies_ns: &[u64]) -> Sample {
        let mut histogram =
            Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 2).expect("valid bounds");
        latencies_ns.iter().for_each(|ns| histogram.record(*ns).expect("within range"));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("a vector takes all");
        Sample {
            worker: 0,
            stream,
            sequence: 0,
            grain: Grain::Second,
            phase: Phase::Measure,
            t0_second: second,
            written_second: second,
            counts: Counts::default(),
            histograms: BTreeMap::from([(Timing::Response, bytes)]),
            sums_ns: BTreeMap::new(),
        }
    }

    #[test]
    fn rows_of_one_item_and_second_become_one_readable_interval() {
        let streams = BTreeMap::from([(0, "the writers".to_owned()), (1, "the writers".to_owned())]);
        let samples = [sample(0, 3, &[1_000, 2_000]), sample(1, 3, &[5_000_000]), sample(0, 4, &[7_000])];
        let log = response_log(&streams, &samples, 1_700_000_000_000_000_000, "0.1.0").expect("a log");
        let intervals: Vec<_> = IntervalLogIterator::new(log.as_bytes())
            .filter_map(|entry| match entry.expect("readable") {
                LogEntry::Interval(interval) => Some((interval.start_timestamp(), interval.max())),
                _ => None,
            })
            .collect();
        assert_eq!(intervals.len(), 2, "{log}");
        assert_eq!(intervals[0].0, Duration::from_secs(3));
        assert!(intervals[0].1 >= 5_000_000.0, "{log}");
        assert!(log.contains("Tag=the_writers,"), "{log}");
        assert!(log.starts_with('#') && log.contains("[Histogram log format version 1.3]"), "{log}");
    }

    #[test]
    fn a_damaged_histogram_is_an_error() {
        let whole = sample(0, 3, &[1_000]).histograms[&Timing::Response].clone();
        // Seven digits up to 2⁶³ would take gigabytes; three times 2⁶³ records cannot be counted.
        let mut greedy = whole.clone();
        (greedy[15], greedy[24]) = (7, 0x7f);
        let mut countless = whole[..40].to_vec();
        countless.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff].repeat(3));
        countless[7] = 27;
        let streams = BTreeMap::from([(0, "writers".to_owned())]);
        for (bytes, reason) in [
            (vec![1, 2, 3], "it is cut off"),
            (greedy, "its range or precision is not one of ours"),
            (countless, "the counts overflow"),
        ] {
            let mut damaged = sample(0, 3, &[]);
            damaged.histograms.insert(Timing::Response, bytes);
            let error = response_log(&streams, &[damaged], 0, "0.1.0").expect_err(reason);
            let told = format!("cannot read the histogram of stream 0 in second 3: {reason}");
            assert_eq!(error.to_string(), told);
        }
    }

    #[test]
    fn counts_of_a_damaged_file_do_not_overflow() {
        let mut rows = [sample(0, 3, &[1_000]), sample(0, 4, &[1_000])];
        for row in &mut rows {
            row.counts.failed = BTreeMap::from([("a".to_owned(), u64::MAX), ("b".to_owned(), 1)]);
            row.counts.unresolved = u64::MAX;
        }
        let streams = BTreeMap::from([(0, "writers".to_owned())]);
        let log = response_log(&streams, &rows, 0, "0.1.0").expect("a log");
        assert!(log.contains(&format!("{} failed and {} unresolved", u64::MAX, u64::MAX)), "{log}");
    }
}
