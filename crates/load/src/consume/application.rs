//! What the application of a consuming client does: it takes records in the order in which they came, at most so many with
//! each poll, and works on one after the other. While it works, its client sends no fetch.
//!
//! Work is time that passes, not CPU time. Its instants are computed, not waited for: a thread that looks up to a tick
//! late reports them as they would have been.

use super::polls::Polls;
use crate::recorder::{HandedOver, UNREPORTED};
use crate::stream::StreamContext;
use crate::trailer::TrailerReader;
use kdyno_kafka::consumer::RecordSink;
use kdyno_kafka::records::Record;
use kdyno_model::plan::{ConsumePlan, ReadDepth, WorkPlan};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1, Zipf};
use rand_pcg::Pcg64;
use std::collections::VecDeque;
use std::ops::Range;

/// A larger buffer of instants is given back once they are reported.
const INSTANTS_KEPT: usize = 1 << 16;
/// Records whose instants are kept until they are reported, 128 MiB of them. They take 40 bytes each at least before
/// they are compressed, and a client requests 50 MB: only answers that are made to burst have more.
const INSTANTS_MAX: usize = 1 << 24;

/// Records of one partition's answer that the application has not begun with.
#[derive(Debug)]
struct Chunk {
    partition: i32,
    /// When they came, ns.
    arrived_ns: u64,
    records: WaitingRecords,
}

/// Records that the application has not begun with, in the order of their offsets. Those that were intended at one instant, or do
/// not say when, take the place of one, so that an answer of many tiny records takes no more here than it does itself.
#[derive(Debug, Default)]
struct WaitingRecords {
    runs: VecDeque<OffsetRun>,
    records: usize,
}

/// Records with offsets one after the other and the same t0; each counts as large as their mean.
#[derive(Debug, Clone, Copy)]
struct OffsetRun {
    /// Offset of the first one.
    offset: i64,
    /// t0 of each, ns, or [`UNTOLD`].
    intended_ns: u64,
    /// Bytes of key and value of all.
    bytes: u64,
    records: u32,
}

impl OffsetRun {
    /// The bytes of the next record.
    fn mean_bytes(&self) -> u64 {
        self.bytes / u64::from(self.records.max(1))
    }
}

impl WaitingRecords {
    fn push(&mut self, (offset, intended_ns, bytes): (i64, u64, u32)) {
        self.records += 1;
        if let Some(last) = self.runs.back_mut() {
            let is_next = last.offset.checked_add(i64::from(last.records)) == Some(offset);
            if is_next && last.intended_ns == intended_ns && last.records < u32::MAX {
                last.records += 1;
                last.bytes += u64::from(bytes);
                return;
            }
        }
        self.runs.push_back(OffsetRun { offset, intended_ns, bytes: bytes.into(), records: 1 });
    }

    /// Takes the first one: its offset, t0 and bytes.
    fn pop(&mut self) -> Option<(i64, u64, u32)> {
        let first = self.runs.front_mut()?;
        let (offset, intended_ns, bytes) = (first.offset, first.intended_ns, first.mean_bytes());
        (first.offset, first.records) = (offset.saturating_add(1), first.records - 1);
        first.bytes -= bytes;
        if first.records == 0 {
            self.runs.pop_front();
        }
        self.records -= 1;
        Some((offset, intended_ns, u32::try_from(bytes).unwrap_or(u32::MAX)))
    }

    /// Keeps the first ones alone.
    fn truncate(&mut self, kept: usize) {
        while self.records > kept {
            let Some(last) = self.runs.back_mut() else { break };
            let surplus = (self.records - kept).min(last.records as usize);
            last.bytes -= last.mean_bytes() * surplus as u64;
            last.records -= surplus as u32;
            self.records -= surplus;
            if last.records == 0 {
                self.runs.pop_back();
            }
        }
    }
}

/// A record that the application begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct BegunRecord {
    pub offset: i64,
    /// When it came, ns.
    pub arrived_ns: u64,
    /// When the application begins with it, ns.
    pub at_ns: u64,
    /// t0, ns, or [`UNTOLD`].
    pub intended_ns: u64,
    /// Bytes of its key and value.
    pub bytes: u32,
}

/// When records were intended that came and were handed over at once: they are not kept beyond that.
#[derive(Debug, Default)]
struct AtOnce {
    intended_ns: Vec<u64>,
    /// Records without it, or more than are kept.
    unreported: u64,
    /// For each instant at which some came, ns, where they end.
    ends: Vec<(u64, usize)>,
    /// For each of these instants, bytes of keys and values.
    bytes: Vec<(u64, u64)>,
    /// Records of the answer that is being read.
    bytes_of_answer: u64,
}

/// The application of one client.
#[derive(Debug)]
pub struct Application {
    /// How long it works on a record; `None`: no time at all, and records are not kept.
    work: Option<ApplicationWork>,
    /// `max.poll.records`.
    poll_records_max: usize,
    /// How many records it is still handed, where its load ends by what is there to be read.
    polls: Option<Polls>,
    /// Whether it looks at each record.
    does_decode: bool,
    trailers: TrailerReader,
    /// Wall clock minus monotonic clock of those who made the trailers, ns.
    wall_offset_ns: i64,
    /// What came, in the order of its coming.
    chunks: VecDeque<Chunk>,
    /// End of the chunk that is being read.
    arriving: WaitingRecords,
    /// Where no time is taken over records.
    at_once: AtOnce,
    /// Records of its last poll that it has not begun with: the first ones of `chunks`.
    in_hand: usize,
    /// When it is done with the record it began with last, ns.
    free_ns: u64,
    /// Partitions without records left to take.
    released: Vec<i32>,
    /// It is a member's of a group, which has to know what was handed over.
    is_members: bool,
    /// What answers held, of an application that takes no time over it.
    read: Vec<HandedRecords>,
}

/// Records of a partition that were handed over one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandedRecords {
    pub partition: i32,
    /// They lie between these offsets.
    pub offsets: Range<i64>,
    pub records: u64,
}

impl Application {
    /// One that has nothing to do yet.
    pub(super) fn new(plan: &ConsumePlan, context: &StreamContext, index: u32) -> Self {
        Self {
            work: plan.work.map(|plan| ApplicationWork::new(plan, context.work_seed(index))),
            poll_records_max: plan.poll_records_max.max(1) as usize,
            polls: plan.ends_by_itself().then(|| Polls::new(plan.poll_records_max.max(1) as usize)),
            does_decode: plan.read == ReadDepth::Decode,
            trailers: TrailerReader::new(context.run_id),
            wall_offset_ns: context.wall_offset_ns,
            chunks: VecDeque::new(),
            arriving: WaitingRecords::default(),
            at_once: AtOnce::default(),
            in_hand: 0,
            free_ns: 0,
            released: Vec::new(),
            is_members: plan.group.is_some(),
            read: Vec::new(),
        }
    }

    /// Whether it takes time over records.
    pub(super) fn works(&self) -> bool {
        self.work.is_some()
    }

    /// Whether it works: it does not poll then.
    pub(super) fn is_at_work(&self, now_ns: u64) -> bool {
        self.in_hand > 0 || self.free_ns > now_ns
    }

    /// Records that came and that it has not begun with.
    pub(super) fn waiting(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.records.records).sum()
    }

    /// When it is to be [advanced](Self::advance) by time alone, ns.
    pub(super) fn next_deadline(&self, now_ns: u64) -> Option<u64> {
        (self.in_hand > 0 || self.free_ns > now_ns).then_some(self.free_ns)
    }

    /// Goes on until now with what it has in hand: `begin` gets the partition of each record that it begins with, and
    /// the record's number.
    pub(super) fn advance(&mut self, now_ns: u64, mut begin: impl FnMut(i32, BegunRecord)) {
        let Some(mut work) = self.work.take() else { return };
        while self.free_ns <= now_ns && self.in_hand > 0 {
            let Some(first) = self.chunks.front_mut() else { break };
            let (partition, arrived_ns) = (first.partition, first.arrived_ns);
            if let Some((offset, intended_ns, bytes)) = first.records.pop() {
                begin(partition, BegunRecord { offset, arrived_ns, at_ns: self.free_ns, intended_ns, bytes });
            }
            if first.records.records == 0 {
                self.chunks.pop_front();
            }
            self.in_hand -= 1;
            self.free_ns = self.free_ns.saturating_add(work.draw_ns());
        }
        self.work = Some(work);
    }

    /// Takes the next records, if there are any, as soon as it is free and they are there. Partitions with nothing left
    /// then are released. Returns whether it has some in hand.
    pub(super) fn poll(&mut self) -> bool {
        let Some(first) = self.chunks.front() else { return false };
        self.free_ns = self.free_ns.max(first.arrived_ns);
        for chunk in self.chunks.iter().take_while(|chunk| chunk.arrived_ns <= self.free_ns) {
            let room = self.poll_records_max - self.in_hand;
            self.in_hand += chunk.records.records.min(room);
            if chunk.records.records > room {
                break;
            }
            self.released.push(chunk.partition);
        }
        true
    }

    /// Where its load ends after so many records: it is still to have so many. Not for one that takes time over records.
    pub(super) fn set_left(&mut self, left: u64) {
        if let Some(polls) = &mut self.polls {
            polls.set_left(left);
        }
    }

    /// Takes how many records came and were not handed over, since it had enough.
    pub(super) fn take_left_over(&mut self) -> u64 {
        self.polls.as_mut().map_or(0, Polls::take_left_over)
    }

    /// Reports the records that came since the last call, where no time is taken over them: it has them at `now_ns`.
    /// Returns for how many more the scheduled send time is unknown.
    pub(super) fn take_at_once(&mut self, now_ns: u64, mut taken: impl FnMut(HandedOver<'_>)) -> u64 {
        let mut begin = 0;
        for (fetched_ns, end) in self.at_once.ends.drain(..) {
            let intended_ns = &self.at_once.intended_ns[begin..end];
            taken(HandedOver { fetched_ns: Some(fetched_ns), handed_ns: now_ns, intended_ns });
            begin = end;
        }
        self.polls.iter_mut().for_each(Polls::end_poll);
        self.at_once.intended_ns.clear();
        self.at_once.intended_ns.shrink_to(INSTANTS_KEPT);
        std::mem::take(&mut self.at_once.unreported)
    }

    /// Takes bytes of keys and values of the records that came and were handed over at once, each with their instant, ns.
    pub(super) fn take_bytes(&mut self) -> impl Iterator<Item = (u64, u64)> {
        self.at_once.bytes.drain(..)
    }

    /// The t0 of a record, ns of the monotonic clock that all workers share.
    #[inline]
    fn intended_ns(&self, record: &Record<'_>) -> u64 {
        let wall_ns = self.trailers.intended_wall_ns(record);
        let intended_ns = wall_ns.and_then(|wall_ns| wall_ns.checked_sub(self.wall_offset_ns));
        intended_ns.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(UNREPORTED)
    }

    /// Takes what it was handed, of an application that takes no time over it.
    pub(super) fn take_read(&mut self) -> Vec<HandedRecords> {
        std::mem::take(&mut self.read)
    }

    /// It begins with nothing more.
    pub(super) fn stop(&mut self) {
        self.chunks.clear();
        self.in_hand = 0;
    }

    /// Takes the partitions without records left.
    pub(super) fn take_released(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.released)
    }
}

impl RecordSink for Application {
    fn wants_records(&self) -> bool {
        self.does_decode
    }

    #[inline]
    fn record(&mut self, partition: i32, record: &Record<'_>) {
        let bytes = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        if self.work.is_some() {
            let (offset, intended_ns) = (record.offset, self.intended_ns(record));
            // Lengths of records have 31 bits.
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.arriving.push((offset, intended_ns, bytes));
            return;
        }
        if self.polls.as_mut().is_none_or(|polls| polls.takes(partition, record.offset)) {
            let intended_ns = self.intended_ns(record);
            if intended_ns == UNREPORTED || self.at_once.intended_ns.len() >= INSTANTS_MAX {
                self.at_once.unreported += 1;
            } else {
                self.at_once.intended_ns.push(intended_ns);
            }
            self.at_once.bytes_of_answer += bytes as u64;
        }
    }

    fn read(&mut self, partition: i32, mut offsets: Range<i64>, mut records: u64) {
        if self.works() {
            return;
        }
        if let Some(polls) = &mut self.polls {
            if !self.does_decode {
                polls.takes_answer(partition, offsets.start, records);
            }
            (offsets.end, records) = polls.of_answer(partition, offsets.end, records);
        }
        if self.is_members {
            self.read.push(HandedRecords { partition, offsets, records });
        }
    }

    fn first_waiting(&self, partition: i32) -> Option<i64> {
        if let Some(first) = self.polls.as_ref().and_then(|polls| polls.first_left(partition)) {
            return Some(first);
        }
        // With an ordinary poll nothing is in hand. Who leaves at work has not begun with what is.
        let chunk = self.chunks.iter().find(|chunk| chunk.partition == partition)?;
        chunk.records.runs.front().map(|first| first.offset)
    }

    fn forget(&mut self, partition: i32) {
        let mut taken = self.in_hand;
        for chunk in &mut self.chunks {
            let kept = taken.min(chunk.records.records);
            taken -= kept;
            if chunk.partition == partition {
                chunk.records.truncate(kept);
            }
        }
        self.chunks.retain(|chunk| chunk.records.records > 0);
    }

    fn end_of_answer(&mut self, partition: i32, now_ns: u64) {
        if self.arriving.records > 0 {
            let records = std::mem::take(&mut self.arriving);
            self.chunks.push_back(Chunk { partition, arrived_ns: now_ns, records });
        }
        let AtOnce { intended_ns, unreported: _, ends, bytes, bytes_of_answer } = &mut self.at_once;
        match (bytes.last_mut(), std::mem::take(bytes_of_answer)) {
            (_, 0) => {}
            (Some((at_ns, sum)), more) if *at_ns == now_ns => *sum += more,
            (_, more) => bytes.push((now_ns, more)),
        }
        match ends.last_mut() {
            Some((at_ns, end)) if *at_ns == now_ns => *end = intended_ns.len(),
            Some((_, end)) if *end == intended_ns.len() => {}
            None if intended_ns.is_empty() => {}
            _ => ends.push((now_ns, intended_ns.len())),
        }
    }
}

/// How long an application works on each record.
#[derive(Debug)]
struct ApplicationWork {
    law: WorkLaw,
    random: Pcg64,
}

#[derive(Debug)]
enum WorkLaw {
    Constant(u64),
    Exponential { mean_ns: f64 },
    Zipf { least_ns: f64, law: Zipf<f64> },
}

impl ApplicationWork {
    fn new(plan: WorkPlan, seed: u64) -> Self {
        let law = match plan {
            WorkPlan::Constant { ns } => WorkLaw::Constant(ns),
            WorkPlan::Exponential { mean_ns } => WorkLaw::Exponential { mean_ns: mean_ns as f64 },
            WorkPlan::Zipf { least_ns, exponent, .. } => match Zipf::new(plan.multiples() as f64, exponent) {
                Ok(law) => WorkLaw::Zipf { least_ns: least_ns as f64, law },
                // The plan has refused it.
                Err(_) => WorkLaw::Constant(least_ns),
            },
        };
        Self { law, random: Pcg64::seed_from_u64(seed) }
    }

    fn draw_ns(&mut self) -> u64 {
        let random = &mut self.random;
        match &self.law {
            WorkLaw::Constant(ns) => *ns,
            WorkLaw::Exponential { mean_ns } => {
                let share: f64 = Exp1.sample(random);
                (mean_ns * share) as u64
            }
            WorkLaw::Zipf { least_ns, law } => (least_ns * law.sample(random)) as u64,
        }
    }
}

#[cfg(test)]
mod tests;
