//! Values of a topic's records, looked at in many places of its log and without a group.

use super::address::Deadline;
use super::error::Result;
use super::{Admin, OffsetAt, checked_text};
use crate::errors::ErrorCode;
use crate::messages::{m01_fetch, m03_metadata};
use crate::records;
use std::collections::BTreeMap;

/// Most places at which a topic is looked at, each a request.
const PLACES_MAX: usize = 64;
/// Most bytes of a batch that is decompressed; a larger one is passed over.
const BATCH_BYTES_MAX: usize = 64 << 20;

/// How much of a topic is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleBounds {
    /// Most bytes of all values together.
    pub bytes_max: usize,
    /// Larger values are left out.
    pub value_bytes_max: usize,
}

impl Admin {
    /// Values of a topic's records, of places spread evenly over its log, in no order. Null values are left out, and
    /// what cannot be read; of an empty topic there are none.
    ///
    /// # Errors
    /// When the topic does not exist or may not be read, or a partition has no leader that answers in time.
    pub fn sample(&mut self, topic: &str, bounds: SampleBounds) -> Result<Vec<Vec<u8>>> {
        checked_text("topic name", topic)?;
        let deadline = Deadline::after(self.timeout);
        let mut offsets =
            |at| self.retry_until(deadline, |admin, deadline| admin.list_offsets_once(topic, at, deadline));
        let (first, end) = (offsets(OffsetAt::Earliest)?, offsets(OffsetAt::Latest)?);
        let places = places(&first, &end);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut left = bounds.bytes_max;
        for (done, place) in places.iter().enumerate() {
            // What one place leaves over is for those behind it.
            let here = SampleBounds { bytes_max: left / (places.len() - done), ..bounds };
            let values =
                self.retry_until(deadline, |admin, deadline| admin.values_at(topic, *place, here, deadline))?;
            left -= values.iter().map(Vec::len).sum::<usize>();
            found.extend(values);
        }
        Ok(found)
    }

    fn values_at(
        &mut self,
        topic: &str,
        (partition, offset): (i32, i64),
        bounds: SampleBounds,
        deadline: Deadline,
    ) -> Result<Vec<Vec<u8>>> {
        let subject = format!(" of {topic}-{partition}");
        let known = self.metadata(None, Some(&[topic]), deadline)?;
        let mut partitions = known.topics.iter().flat_map(|topic| &topic.partitions);
        let leader = partitions.find(|found| found.partition_index == partition).map(|found| found.leader_id);
        let Some(leader) = leader.filter(|leader| *leader >= 0) else {
            let asked = self.broker(None, deadline)?;
            asked.check(&m03_metadata::API, &subject, ErrorCode::LEADER_NOT_AVAILABLE, None)?;
            return Ok(Vec::new());
        };
        let bytes_max = i32::try_from(bounds.bytes_max).unwrap_or(i32::MAX);
        let request = m01_fetch::Request {
            wait_ms: 100,
            bytes_min: 1,
            bytes_max,
            partition_bytes_max: bytes_max,
            topics: &[topic.to_owned()],
            partitions: &[m01_fetch::PartitionFetch { topic: 0, partition, leader_epoch: -1, offset }],
            ..m01_fetch::Request::default()
        };
        let (mut error, mut values) = (ErrorCode::NONE, Vec::new());
        let broker = self.broker(Some(leader), deadline)?;
        broker.call_by_hand(
            (m01_fetch::API, m01_fetch::BY_NAME_MAX),
            deadline,
            |version, out| m01_fetch::encode(&request, version, out),
            |version, body| {
                let reply = m01_fetch::decode(body, version, |piece| {
                    if let m01_fetch::ReplyPiece::Partition(answer) = piece
                        && answer.partition == partition
                    {
                        error = ErrorCode(answer.error);
                        take_values(answer.records, bounds, &mut values);
                    }
                    Ok(())
                })?;
                if reply.error != 0 {
                    error = ErrorCode(reply.error);
                }
                Ok(())
            },
        )?;
        // What was there a moment ago may have been deleted since, by age or by size.
        if error != ErrorCode::OFFSET_OUT_OF_RANGE {
            broker.check(&m01_fetch::API, &subject, error, None)?;
        }
        Ok(values)
    }
}

/// Partitions and offsets, spread over all that is there.
fn places(first: &BTreeMap<i32, i64>, end: &BTreeMap<i32, i64>) -> Vec<(i32, i64)> {
    let spans =
        first.iter().filter_map(|(partition, first)| Some((*partition, *first, *end.get(partition)?)));
    let spans: Vec<(i32, i64, i64)> = spans.filter(|(_, first, end)| first < end).collect();
    let each = (PLACES_MAX / spans.len().max(1)).max(1) as i64;
    let step = spans.len().div_ceil(PLACES_MAX).max(1);
    let mut found = Vec::new();
    for (partition, first, end) in spans.into_iter().step_by(step) {
        let length = end.saturating_sub(first);
        let mut last = None;
        for place in 0..each.min(length) {
            let offset =
                first + (i128::from(length) * i128::from(place) / i128::from(each.min(length))) as i64;
            if last.replace(offset) != Some(offset) {
                found.push((partition, offset));
            }
        }
    }
    found
}

/// Takes the values of fetched batches, up to the first one that finds no room: to go on with those that do would make
/// a sample of small ones.
fn take_values(record_set: &[u8], bounds: SampleBounds, values: &mut Vec<Vec<u8>>) {
    let mut left = bounds.bytes_max;
    let mut scratch = Vec::new();
    for batch in records::batches(record_set).map_while(std::result::Result::ok) {
        if batch.is_control() || batch.verify_crc().is_err() {
            continue;
        }
        let Ok(records) = batch.records(&mut scratch, BATCH_BYTES_MAX) else { continue };
        let of_records = records.map_while(std::result::Result::ok).filter_map(|record| record.value);
        for value in of_records.filter(|value| value.len() <= bounds.value_bytes_max) {
            let Some(rest) = left.checked_sub(value.len()) else { return };
            left = rest;
            values.push(value.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{
        BatchHeader, BodySum, Compression, HEADER_BYTES, compress, encode_record, write_batch_header,
    };

    #[test]
    fn places_are_spread_over_what_is_there() {
        let of = |spans: &[(i32, i64, i64)]| {
            let first = spans.iter().map(|(partition, first, _)| (*partition, *first)).collect();
            let end = spans.iter().map(|(partition, _, end)| (*partition, *end)).collect();
            places(&first, &end)
        };
        assert!(of(&[(0, 5, 5), (1, 0, 0)]).is_empty(), "nothing is there");
        assert_eq!(of(&[(0, 5, 8), (1, 7, 7)]), [(0, 5), (0, 6), (0, 7)], "each record once");
        let long = of(&[(0, 100, i64::MAX), (1, 0, 64_000)]);
        assert_eq!((long.len(), long[0], long[33]), (64, (0, 100), (1, 2_000)));
        let wide: Vec<_> = (0..1_000).map(|partition| (partition, 0, 10)).collect();
        let wide = of(&wide);
        assert!(wide.len() <= PLACES_MAX && wide.iter().all(|(_, offset)| *offset == 0), "{wide:?}");
        assert!(wide.last().is_some_and(|(partition, _)| *partition > 900), "{wide:?}");
    }

    #[test]
    fn values_are_taken_up_to_the_bounds() {
        let batch = |attributes: i16, values: &[&[u8]]| {
            let mut body = Vec::new();
            for (delta, value) in (0..).zip(values) {
                encode_record(&mut body, delta, 0, None, value);
            }
            let mut out = Vec::new();
            compress(Compression::Lz4, &body, &mut out).expect("compressed");
            let plain = BatchHeader::plain(Compression::Lz4, values.len() as i32, 0, 0);
            let header = BatchHeader { attributes: plain.attributes | attributes, ..plain };
            let mut head = [0; HEADER_BYTES];
            write_batch_header(&mut head, &header, &BodySum::of(&out));
            [head.as_slice(), &out].concat()
        };
        const CONTROL: i16 = 0x20;
        let mut broken = batch(0, &[b"broken"]);
        broken[70] ^= 1;
        let set =
            [batch(0, &[b"one", b"larger", b"two"]), batch(CONTROL, &[b"c"]), broken, batch(0, &[b"three"])]
                .concat();
        let taken = |bytes_max, value_bytes_max| {
            let mut values = Vec::new();
            take_values(&set, SampleBounds { bytes_max, value_bytes_max }, &mut values);
            values.into_iter().map(|value| String::from_utf8(value).expect("text")).collect::<Vec<_>>()
        };
        assert_eq!(taken(1_000, 1_000), ["one", "larger", "two", "three"]);
        assert_eq!(taken(1_000, 5), ["one", "two", "three"]);
        assert_eq!(taken(6, 5), ["one", "two"], "six bytes");
        assert_eq!(taken(8, 1_000), ["one"], "nothing smaller in the place of what finds no room");
    }
}
