//! Counts and times every record of a stream and cuts the result into samples.
//!
//! Histograms are kept by the second of t0, because a stall belongs to the records that met it, and flushed
//! by the second in which the outcome came. Equal values are recorded once with a count: the records of a
//! run share all but t0, so one loop per batch does.

mod connects;
mod consumed;
mod groups;
mod partitions;
mod requests;
mod sent;
mod steady;
mod tool_lines;
mod transactions;

pub use consumed::{HandedOver, UNREPORTED};
pub use sent::RecordInstants;

use crate::histo::{self, Histo};
use crate::record_times::{AcceptedRecords, Admission, RecordTimes};
use crate::records::Weight;
use hdrhistogram::Histogram;
use kdyno_model::plan::PhasesPlan;
use kdyno_model::sample::{Counts, Grain, PartitionTotals, Phase, Sample, StreamId, Timing};
use kdyno_model::worker::{PhaseSpan, phase_spans};
use std::collections::BTreeMap;
use std::ops::Range;
use steady::Steady;

const NS_PER_S: u64 = 1_000_000_000;
/// Seconds covered by [`Grain::FiveSeconds`].
const FIVE: u32 = 5;

/// The instants of a batch that all its records share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchInstants {
    /// t3: when the batch was sealed, ns.
    pub sealed_ns: u64,
    /// t3′: when the request that was answered was begun, ns: t3 unless the batch was sent again.
    pub sent_ns: u64,
    /// t4: when the last byte of its request was written, ns.
    pub written_ns: u64,
    /// t5: when the response was there to be read, ns.
    pub received_ns: u64,
    /// t6: when its outcome was known, ns.
    pub known_ns: u64,
}

/// Records of one second of t0, within one phase.
#[derive(Debug)]
struct SecondSlot {
    second: u32,
    phase: Phase,
    start_ns: u64,
    end_ns: u64,
    /// Index of the five-second slot.
    five: usize,
    counts: Counts,
    /// Histograms of the recorder's headline, and its values below zero.
    headline: Histo,
    below_zero: Histo,
    /// Figures of a stream with tool lines.
    service: Option<Histo>,
}

/// Records of five seconds of t0, within one phase.
#[derive(Debug)]
struct FiveSlot {
    second: u32,
    phase: Phase,
    timings: [Histo; Timing::COUNT],
}

/// Everything of one phase.
#[derive(Debug, Default)]
struct PhaseSlot {
    timings: BTreeMap<Timing, Histogram<u64>>,
    sums_ns: [u128; Timing::COUNT],
}

/// Records a stream.
#[derive(Debug)]
pub struct Recorder {
    id: StreamId,
    /// What rows of seconds hold: the response, or the end-to-end latency.
    headline: Timing,
    t0_ns: u64,
    lengths: PhasesPlan,
    /// The phases' places as far as they are known; the last one holds what comes after it too.
    phases: Vec<PhaseSpan>,
    seconds: Vec<SecondSlot>,
    last_slot: usize,
    fives: Vec<FiveSlot>,
    totals_by_phase: BTreeMap<Phase, Box<PhaseSlot>>,
    totals: Counts,
    written_second: u32,
    sequence: u64,
    out: Vec<Sample>,
    spare: Vec<Histo>,
    /// The first and the last acknowledgement since samples were cut, ns from T0.
    acknowledged_ns: Option<(u64, u64)>,
    /// Where the plan has tool lines.
    steady: Option<Box<Steady>>,
    /// What was acknowledged of each partition in the measure phase.
    partitions: Vec<PartitionTotals>,
}

const fn at(timing: Timing) -> usize {
    timing as usize
}

impl Recorder {
    /// A recorder for a stream that sends and whose T0 is the instant `t0_ns` of the caller's clock; everything belongs
    /// to the warm-up until [`Self::measure_begins`].
    pub fn new(id: StreamId, t0_ns: u64, lengths: PhasesPlan) -> Self {
        Self::with_headline(Timing::Response, id, t0_ns, lengths)
    }

    /// A recorder for a stream that consumes.
    pub fn of_consumer(id: StreamId, t0_ns: u64, lengths: PhasesPlan) -> Self {
        Self::with_headline(Timing::EndToEnd, id, t0_ns, lengths)
    }

    fn with_headline(headline: Timing, id: StreamId, t0_ns: u64, lengths: PhasesPlan) -> Self {
        Self {
            id,
            headline,
            t0_ns,
            lengths,
            phases: phase_spans(&lengths, None),
            seconds: Vec::new(),
            last_slot: 0,
            fives: Vec::new(),
            totals_by_phase: BTreeMap::new(),
            totals: Counts::default(),
            written_second: 0,
            sequence: 0,
            out: Vec::new(),
            spare: Vec::new(),
            acknowledged_ns: None,
            steady: None,
            partitions: Vec::new(),
        }
    }

    /// The measure phase begins at this whole second, ns from T0. Nothing has been recorded in it yet: no slot
    /// straddles it.
    pub fn measure_begins(&mut self, start_ns: u64) {
        self.phases = phase_spans(&self.lengths, Some(start_ns));
    }

    /// Records whose scheduled send time is `intended_ns` came due.
    pub fn offered(&mut self, intended_ns: u64, records: u64) {
        self.slot(intended_ns).counts.offered += records;
    }

    /// They were accepted by the client.
    pub fn achieved(&mut self, intended_ns: u64, records: u64) {
        self.slot(intended_ns).counts.achieved += records;
    }

    /// They failed, for this reason.
    pub fn failed(&mut self, intended_ns: u64, records: u64, reason: &str) {
        let failed = &mut self.slot(intended_ns).counts.failed;
        match failed.get_mut(reason) {
            Some(count) => *count += records,
            None => {
                failed.insert(reason.to_owned(), records);
            }
        }
    }

    /// Their outcome stayed open.
    pub fn unresolved(&mut self, intended_ns: u64, records: u64) {
        self.slot(intended_ns).counts.unresolved += records;
    }

    /// A batch was acknowledged; `weigh` says what some of its records come to, by their places.
    pub fn acknowledged(
        &mut self,
        times: &RecordTimes,
        batch: BatchInstants,
        weigh: impl Fn(Range<usize>) -> Weight,
    ) {
        self.note_acknowledged(batch.known_ns);
        let mut own = times.intended_ns.as_slice();
        let mut place = 0;
        let mut next = |count: usize| {
            place += count;
            weigh(place - count..place)
        };
        for run in &times.runs {
            if run.admission == Admission::AtOnce {
                let weight = next(run.count as usize);
                self.group(run, run.accepted_ns, (run.count, weight), batch);
                let response_ns = batch.known_ns - run.accepted_ns;
                self.seconds[self.last_slot].headline.record(response_ns, run.count);
                continue;
            }
            let (mut mine, rest) = own.split_at(run.count as usize);
            own = rest;
            while let Some(&first) = mine.first() {
                let end_ns = self.slot(first).end_ns;
                let same = mine.iter().position(|&t0| t0 >= end_ns).unwrap_or(mine.len());
                let weight = next(same);
                self.group(run, first, (same as u32, weight), batch);
                self.each_own(run, &mine[..same], batch);
                mine = &mine[same..];
            }
        }
        if let Some(first) = times.runs.first() {
            self.seconds[self.last_slot].counts.buffered_ns += batch.known_ns - first.accepted_ns;
        }
    }

    /// Something was acknowledged at this instant.
    fn note_acknowledged(&mut self, known_ns: u64) {
        let since_ns = known_ns.saturating_sub(self.t0_ns);
        let (first, last) = self.acknowledged_ns.get_or_insert((since_ns, since_ns));
        (*first, *last) = ((*first).min(since_ns), (*last).max(since_ns));
    }

    /// The timings that each record has for itself.
    fn each_own(&mut self, run: &AcceptedRecords, intended_ns: &[u64], batch: BatchInstants) {
        let slot = &mut self.seconds[self.last_slot];
        let timings = &mut self.fives[slot.five].timings;
        for &t0 in intended_ns {
            slot.headline.record(batch.known_ns - t0, 1);
            match run.admission {
                Admission::Blocked { since_ns } => {
                    let handed_ns = t0.max(since_ns);
                    timings[at(Timing::ScheduleDelay)].record(handed_ns - t0, 1);
                    timings[at(Timing::Block)].record(run.accepted_ns - handed_ns, 1);
                    timings[at(Timing::WithoutGenerator)].record(batch.received_ns - handed_ns, 1);
                }
                Admission::OnTick | Admission::AtOnce => {
                    timings[at(Timing::ScheduleDelay)].record(run.accepted_ns - t0, 1);
                }
            }
        }
    }

    /// The timings and counts that records of one run and one second share.
    fn group(
        &mut self,
        run: &AcceptedRecords,
        first_ns: u64,
        (count, weight): (u32, Weight),
        batch: BatchInstants,
    ) {
        let slot = self.slot(first_ns);
        slot.counts.acknowledged += u64::from(count);
        slot.counts.acknowledged_bytes += weight.value_bytes;
        slot.counts.header_trailers += weight.header_trailers;
        let five = slot.five;
        self.note_service(run.accepted_ns, batch.known_ns, (count, weight.value_bytes));
        let timings = &mut self.fives[five].timings;
        let accepted_ns = run.accepted_ns;
        timings[at(Timing::Service)].record(batch.known_ns - accepted_ns, count);
        timings[at(Timing::Linger)].record(batch.sealed_ns - accepted_ns, count);
        timings[at(Timing::Retry)].record(batch.sent_ns - batch.sealed_ns, count);
        timings[at(Timing::SendWait)].record(batch.written_ns - batch.sent_ns, count);
        timings[at(Timing::Request)].record(batch.received_ns - batch.written_ns, count);
        timings[at(Timing::Callback)].record(batch.known_ns - batch.received_ns, count);
        // Where t1 is not t2, what counts from it is each record's own.
        if !matches!(run.admission, Admission::Blocked { .. }) {
            timings[at(Timing::Block)].record(0, count);
            timings[at(Timing::WithoutGenerator)].record(batch.received_ns - accepted_ns, count);
        }
        if run.admission == Admission::AtOnce {
            timings[at(Timing::ScheduleDelay)].record(0, count);
        }
    }

    /// The slot of an instant, made when it is new.
    #[inline]
    fn slot(&mut self, instant_ns: u64) -> &mut SecondSlot {
        let is_last = self
            .seconds
            .get(self.last_slot)
            .is_some_and(|slot| (slot.start_ns..slot.end_ns).contains(&instant_ns));
        if !is_last {
            self.last_slot = self.find_slot(instant_ns);
        }
        &mut self.seconds[self.last_slot]
    }

    fn find_slot(&mut self, instant_ns: u64) -> usize {
        let known = self.seconds.iter().rposition(|slot| (slot.start_ns..slot.end_ns).contains(&instant_ns));
        if let Some(slot) = known {
            return slot;
        }
        let since_ns = instant_ns.saturating_sub(self.t0_ns);
        let second = (since_ns / NS_PER_S) as u32;
        let span = self.phases.iter().find(|span| since_ns < span.end_ns).or(self.phases.last());
        let span = *span.expect("phase_spans gives the warm-up or the drain at least");
        let is_past = since_ns >= span.end_ns;
        let start_ns = (u64::from(second) * NS_PER_S).max(if is_past { span.end_ns } else { span.start_ns });
        let end_ns = (u64::from(second + 1) * NS_PER_S).min(if is_past { u64::MAX } else { span.end_ns });
        let five_second = second / FIVE * FIVE;
        let five = self.fives.iter().position(|five| five.second == five_second && five.phase == span.phase);
        let five = five.unwrap_or_else(|| {
            let timings = std::array::from_fn(|_| self.spare.pop().unwrap_or_default());
            self.fives.push(FiveSlot { second: five_second, phase: span.phase, timings });
            self.fives.len() - 1
        });
        self.seconds.push(SecondSlot {
            second,
            phase: span.phase,
            start_ns: self.t0_ns + start_ns,
            end_ns: self.t0_ns.saturating_add(end_ns),
            five,
            counts: Counts::default(),
            headline: self.spare.pop().unwrap_or_default(),
            below_zero: self.spare.pop().unwrap_or_default(),
            service: self.steady.is_some().then(|| self.spare.pop().unwrap_or_default()),
        });
        self.seconds.len() - 1
    }

    /// Cuts samples when a second, or five, are over. To be called at least once a second.
    pub fn tick(&mut self, now_ns: u64) {
        let second = (now_ns.saturating_sub(self.t0_ns) / NS_PER_S) as u32;
        if second == self.written_second {
            return;
        }
        self.flush_seconds();
        if second / FIVE != self.written_second / FIVE {
            self.flush_fives();
        }
        self.written_second = second;
    }

    /// When [`Self::tick`] has something to do next.
    pub fn next_deadline(&self) -> u64 {
        self.t0_ns + u64::from(self.written_second + 1) * NS_PER_S
    }

    /// Samples cut since the last call.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.out)
    }

    /// Cuts everything that is left and gives the stream's totals.
    pub fn finish(&mut self) -> Counts {
        self.flush_seconds();
        self.flush_fives();
        for (phase, slot) in std::mem::take(&mut self.totals_by_phase) {
            let end_ns = self.phases.iter().find(|span| span.phase == phase).map_or(0, |span| span.end_ns);
            // A warm-up that nothing followed ends now.
            let end_second = u32::try_from(end_ns / NS_PER_S).unwrap_or(self.written_second);
            let mut sample = self.sample(Grain::Phase, phase, end_second);
            sample.written_second = sample.t0_second;
            for (timing, histogram) in slot.timings {
                sample.histograms.insert(timing, histo::encode(&histogram));
                sample.sums_ns.insert(timing, slot.sums_ns[at(timing)]);
            }
            self.hand_out(sample);
        }
        self.totals.clone()
    }

    fn hand_out(&mut self, sample: Sample) {
        self.out.push(Sample { sequence: self.sequence, ..sample });
        self.sequence += 1;
    }

    fn sample(&self, grain: Grain, phase: Phase, t0_second: u32) -> Sample {
        Sample {
            id: self.id,
            sequence: 0,
            grain,
            phase,
            t0_second,
            written_second: self.written_second,
            counts: Counts::default(),
            histograms: BTreeMap::new(),
            sums_ns: BTreeMap::new(),
        }
    }

    fn flush_seconds(&mut self) {
        let headlines = [Some(self.headline), self.headline.below_zero()];
        for slot in std::mem::take(&mut self.seconds) {
            let SecondSlot { second, phase, five, mut counts, headline, below_zero, service, .. } = slot;
            let mut sample = self.sample(Grain::Second, phase, second);
            counts.clamped += headline.clamped() + below_zero.clamped();
            self.totals.add(&counts);
            if counts.acknowledged > 0
                && let Some((first, last)) = self.acknowledged_ns.take()
            {
                (counts.first_acknowledged_ns, counts.last_acknowledged_ns) = (Some(first), Some(last));
            }
            sample.counts = counts;
            for (timing, mut histo) in headlines.into_iter().zip([headline, below_zero]) {
                if let (Some(timing), Some(bytes)) = (timing, histo.encode(histo::DIGITS_COARSE)) {
                    sample.histograms.insert(timing, bytes);
                    sample.sums_ns.insert(timing, histo.sum_ns());
                    self.fives[five].timings[at(timing)].merge(&histo);
                }
                histo.clear();
                self.spare.push(histo);
            }
            self.add_service(&mut sample, service);
            self.hand_out(sample);
        }
    }

    /// Only after [`Self::flush_seconds`]: the slots of seconds point at these.
    fn flush_fives(&mut self) {
        for five in std::mem::take(&mut self.fives) {
            let mut sample = self.sample(Grain::FiveSeconds, five.phase, five.second);
            let total = self.totals_by_phase.entry(five.phase).or_default();
            for timing in Timing::ALL {
                let histo = &five.timings[at(timing)];
                if let Some(bytes) = histo.encode(digits_of(timing)) {
                    sample.histograms.insert(timing, bytes);
                    sample.sums_ns.insert(timing, histo.sum_ns());
                    let whole = total.timings.entry(timing).or_insert_with(|| histo::empty(histo::DIGITS));
                    histo.add_to(whole);
                    total.sums_ns[at(timing)] += histo.sum_ns();
                }
            }
            if !sample.histograms.is_empty() {
                self.hand_out(sample);
            }
            self.spare.extend(five.timings.into_iter().map(|mut histo| {
                histo.clear();
                histo
            }));
        }
        // Catching up after a stall needs many slots for a moment; they are not kept for ever.
        self.spare.truncate(32);
    }
}

/// Digits kept of five seconds.
fn digits_of(timing: Timing) -> u8 {
    match timing {
        Timing::Response | Timing::Service | Timing::EndToEnd | Timing::EndToEndBelowZero => histo::DIGITS,
        _ => histo::DIGITS_COARSE,
    }
}

#[cfg(test)]
mod tests;
