//! Packed columns: a row's counts, sums and histograms as one small [blob](crate::blob) of the private twins below; the
//! live types of `kdyno_model` stay free to change, the twins change only with the format version.

use crate::behind::{PackedLater, ValueBasis};
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

#[derive(Serialize, Deserialize)]
struct PackedCounts {
    offered: u64,
    achieved: u64,
    acknowledged: u64,
    acknowledged_bytes: u64,
    failed: BTreeMap<String, u64>,
    unresolved: u64,
    requests: u64,
    request_bytes: u64,
    batches: u64,
    retries: u64,
    fetched: u64,
    fetched_bytes: u64,
    clamped: u64,
    /// 0: not known; otherwise one more than they are.
    lag_records: u64,
    throttled_ns: u64,
    retried_records: u64,
}

#[derive(Serialize, Deserialize)]
struct PackedTotals {
    counts: PackedCounts,
    /// Records and span_ns of each client.
    clients: Vec<(u64, u64)>,
}

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
    let (counts, behind) = counts_in(&sample.counts);
    pack_with(&PackedSample { counts, timings }, &behind)
}

pub(crate) fn unpack_sample(blob: &[u8]) -> Result<SampleContent, PackError> {
    let (packed, behind): (PackedSample, _) = unpack_with(blob)?;
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
    Ok((counts_out(packed.counts, &behind), histograms, sums_ns))
}

pub(crate) fn pack_totals(totals: &StreamTotals) -> Result<Vec<u8>, PackError> {
    let clients = totals.clients.iter().map(|client| (client.records, client.span_ns)).collect();
    let (counts, mut behind) = counts_in(&totals.counts);
    if totals.clients.iter().any(|client| client.member.is_some()) {
        let packed = |member: MemberTotals| (member.measured_records, member.partitions, member.rebalances);
        behind.members = totals.clients.iter().map(|client| client.member.map(packed)).collect();
        let losses = totals.clients.iter().map(|client| client.member.map_or(0, |member| member.losses));
        behind.losses = losses.collect();
        if behind.losses.iter().all(|losses| *losses == 0) {
            behind.losses.clear();
        }
    }
    if totals.clients.iter().any(|client| client.began_ns.is_some()) {
        let began = |client: &ClientTotals| client.began_ns.map_or(0, |ns| ns.saturating_add(1));
        behind.began = totals.clients.iter().map(began).collect();
    }
    behind.steady = totals.steady.as_ref().map(|steady| {
        let SteadyTotals { records, value_bytes, span_ns, service, service_sum_ns } = steady;
        (*records, *value_bytes, *span_ns, *service_sum_ns, service.clone())
    });
    behind.caught_up = totals.caught_up.map(|CaughtUp { at_ns, records }| (at_ns, records));
    let of_partition = |PartitionTotals { records, bytes }: &PartitionTotals| (*records, *bytes);
    behind.partitions = totals.partitions.iter().map(of_partition).collect();
    pack_with(&PackedTotals { counts, clients }, &behind)
}

pub(crate) fn unpack_totals(id: StreamId, blob: &[u8]) -> Result<StreamTotals, PackError> {
    is_small(blob)?;
    let (packed, behind): (PackedTotals, _) = unpack_with(blob)?;
    let losses = behind.losses.iter().copied().chain(std::iter::repeat(0));
    let member = |(one, losses): (&Option<(u64, u32, u32)>, u32)| {
        one.map(|(measured_records, partitions, rebalances)| MemberTotals {
            measured_records,
            partitions,
            rebalances,
            losses,
        })
    };
    let members = behind.members.iter().zip(losses).map(member).chain(std::iter::repeat(None));
    let began = behind.began.iter().map(|began| began.checked_sub(1)).chain(std::iter::repeat(None));
    let clients = packed.clients.iter().zip(members).zip(began);
    let clients = clients
        .map(|((&(records, span_ns), member), began_ns)| ClientTotals { records, began_ns, span_ns, member })
        .collect();
    let steady = behind.steady.clone().map(|(records, value_bytes, span_ns, service_sum_ns, service)| {
        SteadyTotals { records, value_bytes, span_ns, service, service_sum_ns }
    });
    let caught_up = behind.caught_up.map(|(at_ns, records)| CaughtUp { at_ns, records });
    let partitions = behind.partitions.iter();
    let partitions = partitions.map(|&(records, bytes)| PartitionTotals { records, bytes }).collect();
    let counts = counts_out(packed.counts, &behind);
    Ok(StreamTotals { id, counts, clients, steady, caught_up, partitions })
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

/// A value, and behind it what came later.
fn pack_with<T: Serialize>(value: &T, behind: &ValueBasis) -> Result<Vec<u8>, PackError> {
    let mut bytes = plain(value)?;
    behind.append(&mut bytes)?;
    seal(&bytes)
}

fn unpack<T: DeserializeOwned>(blob: &[u8]) -> Result<T, PackError> {
    let plain = open(blob)?;
    let (value, rest) = decode(&plain)?;
    if rest.is_empty() { Ok(value) } else { Err(PackError::Length) }
}

fn unpack_with<T: DeserializeOwned>(blob: &[u8]) -> Result<(T, ValueBasis), PackError> {
    let plain = open(blob)?;
    let (value, rest) = decode(&plain)?;
    Ok((value, ValueBasis::read(rest)?))
}

fn later_in(counts: &Counts) -> PackedLater {
    PackedLater {
        committed: counts.committed,
        aborted: counts.aborted,
        markers: counts.markers,
        markers_unsure: counts.markers_unsure,
        record_bytes: counts.record_bytes,
        sent_bytes: counts.sent_bytes,
        header_trailers: counts.header_trailers,
        aborted_records: counts.aborted_records,
        control_records: counts.control_records,
        missing_offsets: counts.missing_offsets,
    }
}

fn counts_in(counts: &Counts) -> (PackedCounts, ValueBasis) {
    let Counts {
        offered,
        achieved,
        acknowledged,
        acknowledged_bytes,
        failed,
        unresolved,
        requests,
        request_bytes,
        batches,
        retries,
        fetched,
        fetched_bytes,
        clamped,
        lag_records,
        throttled_ns,
        retried_records,
        committed: _,
        aborted: _,
        markers: _,
        markers_unsure: _,
        record_bytes: _,
        sent_bytes: _,
        header_trailers: _,
        aborted_records: _,
        control_records: _,
        missing_offsets: _,
        end_to_end,
        discarded,
        rebalances,
        offset_commits,
        duplicates,
        handed_over_bytes,
        unassigned_ns,
        in_flight_ns,
        buffered_ns,
        first_acknowledged_ns,
        last_acknowledged_ns,
    } = counts.clone();
    let packed = PackedCounts {
        offered,
        achieved,
        acknowledged,
        acknowledged_bytes,
        failed,
        unresolved,
        requests,
        request_bytes,
        batches,
        retries,
        fetched,
        fetched_bytes,
        clamped,
        lag_records: lag_records.map_or(0, |records| records.saturating_add(1)),
        throttled_ns,
        retried_records,
    };
    let of_groups = [end_to_end, discarded, rebalances, offset_commits, duplicates];
    let mut latest =
        [&of_groups[..], &[handed_over_bytes, unassigned_ns, in_flight_ns, buffered_ns]].concat();
    // 0: not known; otherwise one more than they are, the last as what it lies behind the first.
    let instant = |ns: Option<u64>| ns.map_or(0, |ns| ns.saturating_add(1));
    let behind_first =
        last_acknowledged_ns.map(|last| last.saturating_sub(first_acknowledged_ns.unwrap_or(0)));
    latest.extend([instant(first_acknowledged_ns), instant(behind_first)]);
    latest.truncate(latest.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
    (packed, ValueBasis { later: later_in(counts), latest, ..ValueBasis::default() })
}

fn counts_out(packed: PackedCounts, ValueBasis { later, latest, .. }: &ValueBasis) -> Counts {
    let latest = |place: usize| latest.get(place).copied().unwrap_or(0);
    Counts {
        offered: packed.offered,
        achieved: packed.achieved,
        acknowledged: packed.acknowledged,
        acknowledged_bytes: packed.acknowledged_bytes,
        failed: packed.failed,
        unresolved: packed.unresolved,
        requests: packed.requests,
        request_bytes: packed.request_bytes,
        batches: packed.batches,
        retries: packed.retries,
        fetched: packed.fetched,
        fetched_bytes: packed.fetched_bytes,
        clamped: packed.clamped,
        lag_records: packed.lag_records.checked_sub(1),
        throttled_ns: packed.throttled_ns,
        retried_records: packed.retried_records,
        committed: later.committed,
        aborted: later.aborted,
        markers: later.markers,
        markers_unsure: later.markers_unsure,
        record_bytes: later.record_bytes,
        sent_bytes: later.sent_bytes,
        header_trailers: later.header_trailers,
        aborted_records: later.aborted_records,
        control_records: later.control_records,
        missing_offsets: later.missing_offsets,
        end_to_end: latest(0),
        discarded: latest(1),
        rebalances: latest(2),
        offset_commits: latest(3),
        duplicates: latest(4),
        handed_over_bytes: latest(5),
        unassigned_ns: latest(6),
        in_flight_ns: latest(7),
        buffered_ns: latest(8),
        first_acknowledged_ns: latest(9).checked_sub(1),
        last_acknowledged_ns: latest(10)
            .checked_sub(1)
            .map(|ns| ns.saturating_add(latest(9).saturating_sub(1))),
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
