//! Packed columns: a row's counts, sums and histograms as one small [blob](crate::blob) of the private twins below; the
//! live types of `kdyno_model` stay free to change, the twins change only with the format version.

use crate::blob::{PackError, decode, open, plain, plain_bytes, seal};
use kdyno_model::event::Subject;
use kdyno_model::sample::{
    CaughtUp, ClientTotals, Counts, MemberTotals, PartitionTotals, ProbeReading, Sample, SteadyTotals,
    StreamId, StreamTotals, Timing,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest plain form of readings and of totals: a round of some thousand readings has 200 KB, totals of a hundred thousand
/// clients have 2 MB. In memory each byte may become thirty.
const SMALL_BYTES_MAX: usize = 4 << 20;
/// Longer than names as kdyno gives them, which are counted with the rest of their reading.
const NAME_BYTES: usize = 64;
/// Most memory that the readings of one blob may take: those of a round are some thousand, of 100 bytes each.
const READINGS_BYTES_MAX: u64 = 256 << 20;

/// What a sample row keeps in addition to its key.
#[derive(Serialize, Deserialize)]
struct PackedSample {
    counts: PackedCounts,
    timings: Vec<PackedTiming>,
}

#[derive(Serialize, Deserialize)]
struct PackedTiming {
    /// See [`timing_code`].
    timing: u8,
    sum_ns: Option<u128>,
    /// HdrHistogram V2 bytes; empty: none.
    histogram: Vec<u8>,
}

/// Counts that are one number are in the order of [`Counts::numbers`], without zeros at their end: a file from before one was
/// added is read with none of it.
#[derive(Serialize, Deserialize)]
struct PackedCounts {
    numbers: Vec<u64>,
    failed: BTreeMap<String, u64>,
    lag_records: Option<u64>,
    first_acknowledged_ns: Option<u64>,
    last_acknowledged_ns: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct PackedTotals {
    counts: PackedCounts,
    clients: Vec<PackedClient>,
    steady: Option<PackedSteady>,
    /// When it had caught up, ns from T0, and its records until then.
    caught_up: Option<(u64, u64)>,
    /// Records and bytes acknowledged of each partition in the measure phase, where they were counted.
    partitions: Vec<(u64, u64)>,
}

#[derive(Serialize, Deserialize)]
struct PackedClient {
    records: u64,
    began_ns: Option<u64>,
    span_ns: u64,
    /// Records, partitions, rebalances, losses of a member of a group.
    member: Option<(u64, u32, u32, u32)>,
}

/// Records, bytes of values, span and sum of service times in ns, and these as HdrHistogram V2 bytes.
type PackedSteady = (u64, u64, u64, u128, Vec<u8>);

/// Readings of one instant and subject together, so that their names are stored once.
#[derive(Serialize, Deserialize)]
struct PackedReadings {
    at_ns: i64,
    /// Its stored text.
    subject: Subject,
    values: Vec<(String, f64)>,
}

/// What [`unpack_sample`] gives back: counts, histograms, sums.
pub(crate) type SampleContent = (Counts, BTreeMap<Timing, Vec<u8>>, BTreeMap<Timing, u128>);

pub(crate) fn pack_sample(sample: &Sample) -> Result<Vec<u8>, PackError> {
    let timings = Timing::ALL
        .into_iter()
        .filter(|timing| sample.histograms.contains_key(timing) || sample.sums_ns.contains_key(timing))
        .map(|timing| PackedTiming {
            timing: timing_code(timing),
            sum_ns: sample.sums_ns.get(&timing).copied(),
            histogram: sample.histograms.get(&timing).cloned().unwrap_or_default(),
        })
        .collect();
    pack(&PackedSample { counts: PackedCounts::of(&sample.counts), timings })
}

pub(crate) fn unpack_sample(blob: &[u8]) -> Result<SampleContent, PackError> {
    let packed: PackedSample = unpack(blob)?;
    let mut histograms = BTreeMap::new();
    let mut sums_ns = BTreeMap::new();
    for entry in packed.timings {
        let timing = timing_of(entry.timing)?;
        if let Some(sum_ns) = entry.sum_ns {
            sums_ns.insert(timing, sum_ns);
        }
        if !entry.histogram.is_empty() {
            histograms.insert(timing, entry.histogram);
        }
    }
    Ok((packed.counts.counts()?, histograms, sums_ns))
}

pub(crate) fn pack_totals(totals: &StreamTotals) -> Result<Vec<u8>, PackError> {
    let member = |of: MemberTotals| (of.measured_records, of.partitions, of.rebalances, of.losses);
    let client = |client: &ClientTotals| PackedClient {
        records: client.records,
        began_ns: client.began_ns,
        span_ns: client.span_ns,
        member: client.member.map(member),
    };
    let steady = totals.steady.as_ref().map(|steady| {
        let SteadyTotals { records, value_bytes, span_ns, service, service_sum_ns } = steady;
        (*records, *value_bytes, *span_ns, *service_sum_ns, service.clone())
    });
    let partition = |PartitionTotals { records, bytes }: &PartitionTotals| (*records, *bytes);
    pack(&PackedTotals {
        counts: PackedCounts::of(&totals.counts),
        clients: totals.clients.iter().map(client).collect(),
        steady,
        caught_up: totals.caught_up.map(|CaughtUp { at_ns, records }| (at_ns, records)),
        partitions: totals.partitions.iter().map(partition).collect(),
    })
}

pub(crate) fn unpack_totals(id: StreamId, blob: &[u8]) -> Result<StreamTotals, PackError> {
    is_small(blob)?;
    let PackedTotals { counts, clients, steady, caught_up, partitions } = unpack(blob)?;
    let member = |(measured_records, partitions, rebalances, losses)| MemberTotals {
        measured_records,
        partitions,
        rebalances,
        losses,
    };
    let client = |PackedClient { records, began_ns, span_ns, member: of_group }| ClientTotals {
        records,
        began_ns,
        span_ns,
        member: of_group.map(member),
    };
    let steady = steady.map(|(records, value_bytes, span_ns, service_sum_ns, service)| SteadyTotals {
        records,
        value_bytes,
        span_ns,
        service,
        service_sum_ns,
    });
    let partition = |(records, bytes)| PartitionTotals { records, bytes };
    Ok(StreamTotals {
        id,
        counts: counts.counts()?,
        clients: clients.into_iter().map(client).collect(),
        steady,
        caught_up: caught_up.map(|(at_ns, records)| CaughtUp { at_ns, records }),
        partitions: partitions.into_iter().map(partition).collect(),
    })
}

pub(crate) fn pack_readings(readings: &[ProbeReading]) -> Result<Vec<u8>, PackError> {
    let mut groups: Vec<PackedReadings> = Vec::new();
    for reading in readings {
        let value = (reading.series.clone(), reading.value);
        match groups.last_mut() {
            Some(last) if last.at_ns == reading.at_ns && last.subject == reading.subject => {
                last.values.push(value);
            }
            _ => groups.push(PackedReadings {
                at_ns: reading.at_ns,
                subject: reading.subject.clone(),
                values: vec![value],
            }),
        }
    }
    pack(&groups)
}

/// About the memory that the readings of a group take: the subject's name is once in a blob, and comes with each of
/// them.
fn held_bytes(group: &PackedReadings) -> u64 {
    let beyond = |bytes: usize| bytes.saturating_sub(NAME_BYTES);
    let each = size_of::<ProbeReading>() + beyond(group.subject.to_string().len());
    let series: usize = group.values.iter().map(|(series, _)| beyond(series.len())).sum();
    (each.saturating_mul(group.values.len()) + series) as u64
}

/// The readings of a blob, and about the memory that they take.
pub(crate) fn unpack_readings(blob: &[u8]) -> Result<(Vec<ProbeReading>, u64), PackError> {
    is_small(blob)?;
    let groups: Vec<PackedReadings> = unpack(blob)?;
    let held = groups.iter().map(held_bytes).sum();
    if held > READINGS_BYTES_MAX {
        return Err(PackError::Content(format!("its readings take {held} bytes")));
    }
    let readings = groups.into_iter().flat_map(|group| {
        let PackedReadings { at_ns, subject, values } = group;
        values.into_iter().map(move |(series, value)| ProbeReading {
            at_ns,
            subject: subject.clone(),
            series,
            value,
        })
    });
    Ok((readings.collect(), held))
}

/// Looks at what a blob claims: another length is refused when it is opened.
fn is_small(blob: &[u8]) -> Result<(), PackError> {
    match plain_bytes(blob)? {
        0..=SMALL_BYTES_MAX => Ok(()),
        bytes => Err(PackError::Content(format!("it claims {bytes} bytes, more than {SMALL_BYTES_MAX}"))),
    }
}

fn pack<T: Serialize>(value: &T) -> Result<Vec<u8>, PackError> {
    seal(&plain(value)?)
}

fn unpack<T: DeserializeOwned>(blob: &[u8]) -> Result<T, PackError> {
    let plain = open(blob)?;
    let (value, rest) = decode(&plain)?;
    if rest.is_empty() { Ok(value) } else { Err(PackError::Length) }
}

impl PackedCounts {
    fn of(counts: &Counts) -> Self {
        let numbers = counts.numbers().map(|(_, number)| number);
        let length = numbers.iter().rposition(|number| *number > 0).map_or(0, |last| last + 1);
        Self {
            numbers: numbers[..length].to_vec(),
            failed: counts.failed.clone(),
            lag_records: counts.lag_records,
            first_acknowledged_ns: counts.first_acknowledged_ns,
            last_acknowledged_ns: counts.last_acknowledged_ns,
        }
    }

    fn counts(self) -> Result<Counts, PackError> {
        let Self { numbers, failed, lag_records, first_acknowledged_ns, last_acknowledged_ns } = self;
        if numbers.len() > Counts::NUMBERS {
            return Err(PackError::Length);
        }
        let mut counts =
            Counts { failed, lag_records, first_acknowledged_ns, last_acknowledged_ns, ..Counts::default() };
        for (place, number) in counts.numbers_mut().into_iter().zip(numbers) {
            *place = number;
        }
        Ok(counts)
    }
}

fn timing_code(timing: Timing) -> u8 {
    match timing {
        Timing::Response => 0,
        Timing::Service => 1,
        Timing::ScheduleDelay => 2,
        Timing::Block => 3,
        Timing::Linger => 4,
        Timing::SendWait => 5,
        Timing::Request => 6,
        Timing::Callback => 7,
        Timing::Retry => 8,
        Timing::WithoutGenerator => 9,
        Timing::Commit => 10,
        Timing::EndToEnd => 11,
        Timing::UntilFetched => 12,
        Timing::HandOver => 13,
        Timing::EndToEndBelowZero => 14,
        Timing::UntilFetchedBelowZero => 15,
        Timing::Connect => 18,
        Timing::OffsetCommit => 16,
        Timing::Rebalance => 17,
        Timing::WithoutOwner => 19,
    }
}

fn timing_of(code: u8) -> Result<Timing, PackError> {
    Timing::ALL.into_iter().find(|timing| timing_code(*timing) == code).ok_or(PackError::Timing(code))
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
