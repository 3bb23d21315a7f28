//! Latencies as an HdrHistogram log (format 1.3): one interval per stream and second of the records' t0.
//!
//! Readable by the tools of HdrHistogram. Values are nanoseconds; the tag is the load item's name. The log
//! holds the latencies of acknowledged records only, because a histogram has no place for "never".

use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
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
        /// What the decoder says.
        reason: String,
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
        *failed += row.counts.failed.values().sum::<u64>();
        *unresolved += row.counts.unresolved;
    }
    let phases = phases
        .iter()
        .map(|(phase, (first, last))| format!("{phase:?}").to_lowercase() + &format!(" {first}-{last}"));
    let mut comments = vec![format!("[Seconds: {}]", phases.collect::<Vec<_>>().join(", "))];
    let open = open.iter().filter(|(_, (failed, unresolved))| failed + unresolved > 0);
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
    let mut decoder = Deserializer::new();
    let mut intervals = Intervals::new();
    for sample in samples.iter().filter(|sample| sample.grain == Grain::Second) {
        let (Some(bytes), Some(name)) =
            (sample.histograms.get(&Timing::Response), streams.get(&sample.stream))
        else {
            continue;
        };
        let damaged =
            |reason: String| HlogError::Histogram { stream: sample.stream, second: sample.t0_second, reason };
        let part: Histogram<u64> =
            decoder.deserialize(&mut bytes.as_slice()).map_err(|error| damaged(error.to_string()))?;
        match intervals.entry((sample.t0_second, name.as_str())) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(part);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                place.get_mut().add(&part).map_err(|error| damaged(error.to_string()))?;
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
        let mut damaged = sample(0, 3, &[1_000]);
        damaged.histograms.insert(Timing::Response, vec![1, 2, 3]);
        let streams = BTreeMap::from([(0, "writers".to_owned())]);
        let error = response_log(&streams, &[damaged], 0, "0.1.0").expect_err("damaged");
        assert!(
            error.to_string().starts_with("cannot read the histogram of stream 0 in second 3"),
            "{error}"
        );
    }
}
