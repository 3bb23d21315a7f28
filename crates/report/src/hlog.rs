//! Latencies as an HdrHistogram log (format 1.3): one interval per stream and second of the records' t0.
//!
//! Readable by the tools of HdrHistogram. Values are nanoseconds; the tag is the load item's name, and of end-to-end
//! latencies `NAME.end_to_end`. The log holds the latencies of records that were acknowledged, or handed over, only,
//! because a histogram has no place for "never", nor for what is below zero.

use crate::input::trial_name;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::histogram::{self, Damaged};
use kdyno_model::sample::{Grain, Phase, Sample, StreamId, Timing};
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// One trial's response times. Rows of the same load item and second are merged, whichever worker they are from.
///
/// # Errors
/// When a stored histogram cannot be decoded or a log line not be written.
pub fn response_log(evidence: &TrialEvidence) -> Result<String, String> {
    let streams: ItemsByStream<'_> =
        evidence.start.streams.iter().map(|stream| (stream.id, stream.name.as_str())).collect();
    let intervals = merged(&streams, &evidence.samples)?;
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let t0 = UNIX_EPOCH + Duration::from_nanos(evidence.start.t0_unix_ns);
    let version = &evidence.session.kdyno_version;
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("[Logged with kdyno {version}; response times in ns]"))
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(t0)
        .with_base_time(t0);
    let failed = |error: &dyn std::fmt::Display| format!("cannot write the histogram log: {error}");
    let mut writer = builder.begin_log_with(&mut out, &mut serializer).map_err(|error| failed(&error))?;
    writer
        .write_comment(
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"",
        )
        .map_err(|error| failed(&error))?;
    for comment in comments(evidence, &streams) {
        writer.write_comment(&comment).map_err(|error| failed(&error))?;
    }
    for ((second, name), histogram) in &intervals {
        let start = Duration::from_secs(u64::from(*second));
        let tag = tag_text(name);
        writer
            .write_histogram(histogram, start, Duration::from_secs(1), Tag::new(&tag))
            .map_err(|error| failed(&format!("{error:?}")))?;
    }
    drop(writer);
    String::from_utf8(out).map_err(|error| failed(&error))
}

/// Load items by stream.
type ItemsByStream<'a> = BTreeMap<StreamId, &'a str>;

/// What a reader of the log must know and histograms cannot say: which trial it is, where the phases lie, and which
/// records have no latency.
fn comments(evidence: &TrialEvidence, streams: &ItemsByStream<'_>) -> Vec<String> {
    let rows = || evidence.samples.iter().filter(|sample| sample.grain == Grain::Second);
    let mut phases: BTreeMap<Phase, (u32, u32)> = BTreeMap::new();
    let mut open: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in rows() {
        let (first, last) = phases.entry(row.phase).or_insert((row.t0_second, row.t0_second));
        (*first, *last) = ((*first).min(row.t0_second), (*last).max(row.t0_second));
        let Some(name) = streams.get(&row.id) else { continue };
        let (failed, unresolved) = open.entry(name).or_default();
        // Saturates, because a damaged file may hold anything.
        *failed = row.counts.failed.values().fold(*failed, |sum, records| sum.saturating_add(*records));
        *unresolved = unresolved.saturating_add(row.counts.unresolved);
    }
    let phases = phases.iter().map(|(phase, (first, last))| format!("{phase} {first}-{last}"));
    let name = one_line(&trial_name(&evidence.start.trial));
    let mut comments = vec![format!("[{name}; seconds: {}]", phases.collect::<Vec<_>>().join(", "))];
    let open = open.iter().filter(|(_, (failed, unresolved))| *failed > 0 || *unresolved > 0);
    comments.extend(open.map(|(name, (failed, unresolved))| {
        format!(
            "[{}: {failed} failed and {unresolved} unresolved records have no latency and are not in here; they \
             count as slower than every quantile]",
            tag_text(name)
        )
    }));
    comments
}

type IntervalHistograms = BTreeMap<(u32, String), Histogram<u64>>;

fn merged(streams: &ItemsByStream<'_>, samples: &[Sample]) -> Result<IntervalHistograms, String> {
    let mut intervals = IntervalHistograms::new();
    for sample in samples.iter().filter(|sample| sample.grain == Grain::Second) {
        let Some(name) = streams.get(&sample.id) else { continue };
        let damaged = |reason: Damaged| {
            let StreamId { worker, stream } = sample.id;
            let second = sample.t0_second;
            format!(
                "cannot read the histogram of stream {stream} of worker {worker} in second {second}: {reason}"
            )
        };
        for (timing, tag) in [(Timing::Response, ""), (Timing::EndToEnd, ".end_to_end")] {
            let Some(bytes) = sample.histograms.get(&timing) else { continue };
            let part = histogram::decode(bytes).map_err(damaged)?;
            match intervals.entry((sample.t0_second, format!("{name}{tag}"))) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(part);
                }
                std::collections::btree_map::Entry::Occupied(mut place) => {
                    histogram::merge(place.get_mut(), &part).map_err(damaged)?;
                }
            }
        }
    }
    Ok(intervals)
}

/// A comment is one line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}

/// A tag may hold neither commas nor white space.
fn tag_text(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}
