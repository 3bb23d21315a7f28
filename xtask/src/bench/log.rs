//! Reads batch headers from a topic's log segments: how many records each client put into a batch,
//! counted where they ended up rather than where each client says so.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, ensure};

/// Base offset, length, leader epoch, magic, checksum, attributes, last offset delta.
const HEADER_BYTES: usize = 27;

/// Bytes before the part that `length` counts: base offset and length itself.
const LENGTH_END: i64 = 12;

/// Smallest and largest length that a batch of this format can state.
const LENGTH_RANGE: std::ops::RangeInclusive<i32> = 49..=(1 << 30);

/// Mean over the batches that retention has left of a topic, without those that begin in the first `share` of the records of
/// each partition.
pub fn records_per_batch_behind(share: f64, log_folder: &Path, topic: &str) -> anyhow::Result<f64> {
    let (mut records, mut batches) = (0_u64, 0_u64);
    let unreadable = || format!("cannot read {}", log_folder.display());
    for partition in std::fs::read_dir(log_folder).with_context(unreadable)?.flatten() {
        let name = partition.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix(topic).and_then(|rest| rest.strip_prefix('-'));
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let paths = std::fs::read_dir(partition.path())?.flatten().map(|file| file.path());
        let mut segments: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect();
        // They are called by their first offset.
        segments.sort();
        let mut counts = Vec::new();
        for segment in segments {
            count(&mut File::open(segment)?, &mut counts)?;
        }
        let skipped = (counts.iter().sum::<u64>() as f64 * share) as u64;
        let mut before = 0;
        for count in counts {
            if before >= skipped {
                records += count;
                batches += 1;
            }
            before += count;
        }
    }
    ensure!(batches > 0, "no batch of {topic} in {}", log_folder.display());
    Ok(records as f64 / batches as f64)
}

/// Appends the records of each batch of one segment; a batch cut off at its end is not counted.
fn count(segment: &mut (impl Read + Seek), counts: &mut Vec<u64>) -> anyhow::Result<()> {
    let mut header = [0; HEADER_BYTES];
    loop {
        match segment.read_exact(&mut header) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let number =
            |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let length = number(8);
        if !LENGTH_RANGE.contains(&length) {
            // Preallocated zeros behind the last batch.
            return Ok(());
        }
        ensure!(header[16] == 2, "a batch of format {}", header[16]);
        counts.push(u64::try_from(number(23))? + 1);
        segment.seek(SeekFrom::Current(LENGTH_END + i64::from(length) - HEADER_BYTES as i64))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(records: i32, body_bytes: i32) -> Vec<u8> {
        let mut bytes = 0_i64.to_be_bytes().to_vec();
        bytes.extend((49 + body_bytes).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
        bytes.extend((records - 1).to_be_bytes());
        bytes.resize((12 + 49 + body_bytes) as usize, 0);
        bytes
    }

    #[test]
    fn batches_of_all_partitions_and_segments_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        for (partition, file, bytes) in [
            ("t-0", "10.log", batch(12, 0)),
            ("t-0", "00.log", [batch(10, 100), batch(20, 7)].concat()),
            ("t-0", "00.index", vec![1; 30]),
            ("t-1", "00.log", [batch(30, 0), vec![0; 64]].concat()),
            ("t-other-0", "00.log", batch(1000, 0)),
        ] {
            std::fs::create_dir_all(folder.path().join(partition)).expect("a partition");
            std::fs::write(folder.path().join(partition).join(file), bytes).expect("a segment");
        }
        let mean = |share| records_per_batch_behind(share, folder.path(), "t").expect("batches");
        assert_eq!([0.0, 0.2, 0.5].map(mean), [18.0, 16.0, 12.0], "the batch of 30 begins in the first half");
        assert!(records_per_batch_behind(0.0, folder.path(), "none").is_err());
    }
}
