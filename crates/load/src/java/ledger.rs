//! The records of one client that were handed to its Java process: which of them it has taken, and which have an outcome.

use super::frames::{FrameError, RecordOutcome, TakenRecord};
use crate::recorder::{RecordInstants, Recorder};
use crate::records::Weight;
use kdyno_model::sample::ClientTotals;
use std::collections::VecDeque;

/// How much a client is handed ahead of what it has taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct AheadLimit {
    pub records: u64,
    /// Bytes of keys, values and headers. One record is handed over however large it is.
    pub bytes: u64,
}

impl AheadLimit {
    /// Most of one client, and of all of a process together.
    const RECORDS_MAX: u64 = 65_536;
    const BYTES_MAX: u64 = 8 << 20;
    const RECORDS_ALL: u64 = 131_072;
    const BYTES_ALL: u64 = 64 << 20;

    /// That of each of so many clients.
    pub fn of_each(clients: u32) -> Self {
        let clients = u64::from(clients.max(1));
        Self {
            records: (Self::RECORDS_ALL / clients).clamp(16, Self::RECORDS_MAX),
            bytes: (Self::BYTES_ALL / clients).clamp(16 << 10, Self::BYTES_MAX),
        }
    }
}

/// A record that was handed over.
#[derive(Debug, Clone, Copy)]
struct LedgerEntry {
    /// t0, ns; in a closed loop t1, once that is known.
    intended_ns: u64,
    /// t1, ns; 0: the client has not begun with it.
    handed_ns: u64,
    /// t2, ns; 0: it was not accepted.
    accepted_ns: u64,
    /// t6, ns; 0: not known.
    known_ns: u64,
    /// Bytes of its key, value and headers.
    bytes: u32,
    value_bytes: u32,
    reason: u16,
    has_header_trailer: bool,
    is_done: bool,
}

/// A record as it is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandedRecord {
    /// t0, ns; without meaning in a closed loop.
    pub intended_ns: u64,
    /// Bytes of its key, value and headers.
    pub bytes: u32,
    pub value_bytes: u32,
    pub has_header_trailer: bool,
}

/// A client's records that have no outcome yet.
#[derive(Debug)]
pub(super) struct Ledger {
    entries: VecDeque<LedgerEntry>,
    /// Number of the first of them.
    first: u64,
    /// Number of the next that the client takes.
    next: u64,
    waiting_bytes: u64,
    window: AheadLimit,
    /// t0 is t1.
    is_closed: bool,
    /// Records that it has yet to take before its steady state.
    warmup_left: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    acknowledged: u64,
}

impl Ledger {
    /// A ledger with nothing handed over. `is_closed`: the load is a closed loop, in which t0 is t1.
    pub fn new(window: AheadLimit, is_closed: bool) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            next: 0,
            waiting_bytes: 0,
            window,
            is_closed,
            warmup_left: 0,
            first_ns: None,
            last_ns: 0,
            acknowledged: 0,
        }
    }

    /// A ledger with so many records before the client's steady state.
    pub fn with_warmup(self, records: u64) -> Self {
        Self { warmup_left: records, ..self }
    }

    /// Records that the client has not taken.
    pub fn waiting(&self) -> u64 {
        self.first + self.entries.len() as u64 - self.next
    }

    /// Whether another record may be handed over.
    pub fn has_room(&self) -> bool {
        let waiting = self.waiting();
        waiting == 0 || (waiting < self.window.records && self.waiting_bytes < self.window.bytes)
    }

    /// Whether so much room is free that it is worth a frame.
    pub fn has_much_room(&self) -> bool {
        self.waiting() <= self.window.records / 2 && self.waiting_bytes <= self.window.bytes / 2
    }

    /// Whether every record has an outcome.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A record was handed over.
    #[inline]
    pub fn push(&mut self, record: HandedRecord) {
        let HandedRecord { intended_ns, bytes, value_bytes, has_header_trailer } = record;
        self.waiting_bytes += u64::from(bytes);
        self.entries.push_back(LedgerEntry {
            intended_ns,
            handed_ns: 0,
            accepted_ns: 0,
            known_ns: 0,
            bytes,
            value_bytes,
            reason: 0,
            has_header_trailer,
            is_done: false,
        });
    }

    /// The client took its next record, or dropped it.
    #[inline]
    pub fn taken(
        &mut self,
        taken: TakenRecord,
        reasons: &[String],
        recorder: &mut Recorder,
    ) -> Result<(), FrameError> {
        let place = (self.next - self.first) as usize;
        let entry = self.entries.get_mut(place).ok_or(FrameError("a record was taken that is not there"))?;
        self.next += 1;
        self.waiting_bytes -= u64::from(entry.bytes);
        (entry.handed_ns, entry.accepted_ns) = (taken.handed_ns, taken.accepted_ns);
        if taken.handed_ns == 0 {
            if !self.is_closed {
                return Err(FrameError("a record was dropped that was due"));
            }
            entry.is_done = true;
            self.forget();
            return Ok(());
        }
        if self.is_closed {
            entry.intended_ns = taken.handed_ns;
            recorder.offered(entry.intended_ns, 1);
        }
        if taken.accepted_ns > 0 {
            recorder.achieved(entry.intended_ns, 1);
        }
        self.first_ns.get_or_insert(taken.handed_ns);
        if self.warmup_left > 0 {
            self.warmup_left -= 1;
            if self.warmup_left == 0 {
                // A client hands one record to `send()` after the other: the next one has a later t1.
                recorder.steady_after(taken.handed_ns);
            }
        }
        if entry.known_ns > 0 { self.settle(place, reasons, recorder) } else { Ok(()) }
    }

    /// What became of a record is known; it may be known before it is known when the client took it.
    #[inline]
    pub fn outcome(
        &mut self,
        outcome: RecordOutcome,
        reasons: &[String],
        recorder: &mut Recorder,
    ) -> Result<(), FrameError> {
        let place = outcome.number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let entry = place.and_then(|place| self.entries.get_mut(place));
        let entry = entry.filter(|entry| entry.known_ns == 0 && !entry.is_done && outcome.known_ns > 0);
        let entry = entry.ok_or(FrameError("the outcome of a record that is not open"))?;
        (entry.known_ns, entry.reason) = (outcome.known_ns, outcome.reason);
        if entry.handed_ns == 0 {
            return Ok(());
        }
        self.settle((outcome.number - self.first) as usize, reasons, recorder)
    }

    fn settle(
        &mut self,
        place: usize,
        reasons: &[String],
        recorder: &mut Recorder,
    ) -> Result<(), FrameError> {
        let entry = &mut self.entries[place];
        let (intended_ns, known_ns) = (entry.intended_ns, entry.known_ns);
        match entry.reason {
            0 if entry.accepted_ns == 0 => return Err(FrameError("a refused record was acknowledged")),
            0 => {
                // A callback may come before `send()` has returned.
                let accepted_ns = entry.accepted_ns.min(known_ns);
                let handed_ns = entry.handed_ns;
                let weight = Weight {
                    value_bytes: entry.value_bytes.into(),
                    header_trailers: entry.has_header_trailer.into(),
                };
                recorder.sent(RecordInstants { intended_ns, handed_ns, accepted_ns, known_ns }, weight);
                self.acknowledged += 1;
            }
            number => {
                let name = reasons.get(usize::from(number) - 1);
                recorder.failed(intended_ns, 1, name.ok_or(FrameError("an unknown reason"))?);
            }
        }
        entry.is_done = true;
        self.last_ns = self.last_ns.max(known_ns);
        self.forget();
        Ok(())
    }

    /// Forgets the first records, as far as they have an outcome.
    fn forget(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.is_done) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Ends: what has no outcome is unresolved; of a closed loop only what was handed to the client. `t0_ns`: once the load
    /// has begun.
    pub fn finish(self, t0_ns: Option<u64>, recorder: &mut Recorder) -> ClientTotals {
        let is_open = |entry: &&LedgerEntry| !(entry.is_done || self.is_closed && entry.handed_ns == 0);
        self.entries.iter().filter(is_open).for_each(|entry| recorder.unresolved(entry.intended_ns, 1));
        let span_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        let began_ns = self.first_ns.zip(t0_ns).map(|(first_ns, t0_ns)| first_ns.saturating_sub(t0_ns));
        ClientTotals { records: self.acknowledged, began_ns, span_ns, member: None }
    }
}
