//! What a relay says of itself: a line each second, and how such a file is read.

use crate::error::TestbedError;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::histogram;
use kdyno_model::sample::{LATENCY_NS_MAX, LATENCY_NS_MIN};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Digits of the histograms: an error of an error below a hundredth.
const DIGITS: u8 = 2;
/// Most that is read of a file, its end: a line is below 2 KiB, so that of nine hours.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a relay did in a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayTally {
    /// The end of that second, ns on CLOCK_MONOTONIC.
    pub until_ns: u64,
    /// Bytes passed on since it started, by direction: from end 0 to end 1 of its links, and back.
    pub bytes: [u64; 2],
    /// Connections that it did not take since it started, for it has as many as it may. Relays of before did not count them.
    #[serde(default)]
    pub refused: u64,
    /// How late each stretch of bytes was passed on, ns: an HdrHistogram (V2) as base64 text.
    late: String,
}

impl RelayTally {
    /// One with these.
    #[must_use]
    pub fn of(until_ns: u64, bytes: [u64; 2], late_ns: &[u64]) -> Self {
        let mut late = empty();
        late_ns.iter().for_each(|late_ns| late.saturating_record((*late_ns).max(LATENCY_NS_MIN)));
        Self { until_ns, bytes, refused: 0, late: text(&late) }
    }

    /// How late each stretch of bytes was passed on, ns.
    ///
    /// # Errors
    /// The text is no histogram of ours.
    pub fn late(&self) -> Result<Histogram<u64>, histogram::Damaged> {
        use base64::{Engine, engine::general_purpose::STANDARD};
        histogram::decode(&STANDARD.decode(&self.late).unwrap_or_default())
    }
}

/// Counts, and writes what it has counted.
pub(super) struct Tallies {
    file: File,
    late: Histogram<u64>,
    bytes: [u64; 2],
    refused: u64,
}

impl Tallies {
    pub(super) fn new(path: &Path) -> Result<Self, TestbedError> {
        let file = File::create(path).map_err(|e| TestbedError::io("cannot create", path, e))?;
        Ok(Self { file, late: empty(), bytes: [0; 2], refused: 0 })
    }

    /// So many bytes were passed on in a direction.
    pub(super) fn passed(&mut self, direction: usize, bytes: usize) {
        self.bytes[direction] += bytes as u64;
    }

    /// A connection was not taken.
    pub(super) fn refused(&mut self) {
        self.refused += 1;
    }

    /// A stretch of bytes was passed on so late.
    pub(super) fn late(&mut self, late_ns: u64) {
        self.late.saturating_record(late_ns.max(LATENCY_NS_MIN));
    }

    /// Writes a line, and starts again.
    pub(super) fn write(&mut self, until_ns: u64) -> Result<(), TestbedError> {
        let failed = |e: &dyn std::fmt::Display| TestbedError::Relay(format!("cannot write its tally: {e}"));
        let tally = RelayTally { until_ns, bytes: self.bytes, refused: self.refused, late: text(&self.late) };
        self.late.clear();
        let mut line = serde_json::to_string(&tally).map_err(|e| failed(&e))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|e| failed(&e))
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, DIGITS)
        .expect("the latency range and two digits are valid bounds")
}

fn text(late: &Histogram<u64>) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut v2 = Vec::new();
    V2Serializer::new()
        .serialize(late, &mut v2)
        .expect("writing a histogram of bounded range to memory cannot fail");
    STANDARD.encode(v2)
}

/// What a relay has written so far, the oldest first. A line that is not whole yet, or damaged, is left out.
#[must_use]
pub fn read(path: &Path) -> Vec<RelayTally> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let length = file.metadata().map_or(0, |found| found.len());
    if file.seek(SeekFrom::Start(length.saturating_sub(FILE_BYTES_MAX))).is_err() {
        return Vec::new();
    }
    let lines = BufReader::new(file.take(FILE_BYTES_MAX)).lines().map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_comes_back_and_half_a_line_does_not() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("tally");
        let mut tallies = Tallies::new(&path).expect("made");
        tallies.passed(1, 500);
        [100, 60_000, 2_000_000].into_iter().for_each(|late_ns| tallies.late(late_ns));
        tallies.write(7).expect("written");
        tallies.passed(0, 9);
        tallies.late(50);
        tallies.refused();
        tallies.write(8).expect("written");
        let mut file = File::options().append(true).open(&path).expect("there");
        file.write_all(b"{\"until_ns\": 9, \"bytes\"").expect("written");
        let read = read(&path);
        assert_eq!(
            read.iter().map(|tally| (tally.until_ns, tally.bytes, tally.refused)).collect::<Vec<_>>(),
            [(7, [0, 500], 0), (8, [9, 500], 1)]
        );
        let late = read[0].late().expect("a histogram");
        assert_eq!(late.len(), 3);
        assert!((59_000..=61_000).contains(&late.value_at_quantile(0.5)), "{late:?}");
        assert_eq!(read[1].late().expect("a histogram").len(), 1);
        assert!(super::read(&temp.path().join("none")).is_empty());
    }
}
