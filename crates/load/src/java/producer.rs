//! One producing client of a Java process: what it is handed ahead, what it has room for, and the frames that its records go
//! in.

use super::frames::{self, TransactionHow, TransactionOver};
use super::ledger::{AheadLimit, HandedRecord, Ledger};
use crate::client::due::{peek_due, take_due};
use crate::recorder::Recorder;
use crate::records::{Builder, Draws, Pick, RecordBlock, RecordSource};
use crate::schedule::{NEVER, Schedule};
use crate::stream::{Events, LoadClock, StreamContext};
use crate::token_bucket::TokenBucket;
use crate::trailer::{Trailer, TrailerBytes};
use kdyno_kafka::producer::{EndedTransaction, TransactionEnd, TransactionPartitions};
use kdyno_model::plan::{ProducePlan, Rate, TRAILER_HEADER};
use kdyno_model::sample::ClientTotals;

/// A frame of records that has so many bytes is ended.
const FRAME_BYTES: usize = 256 << 10;

/// How long before it is due a record of an open loop is handed over, ns: the process waits for its instant, so that the
/// worker need not wake up for each. Less than an announced measure phase is ahead.
pub(super) const AHEAD_NS: u64 = 20_000_000;

/// What an instant allows.
pub(super) struct ProducerPace<'a> {
    pub now_ns: u64,
    pub clock: LoadClock,
    pub is_measuring: bool,
    pub is_flushing: bool,
    pub bucket: &'a mut TokenBucket,
    /// When the bucket opens for somebody who waits for it, ns.
    pub opens_ns: &'a mut Option<u64>,
}

/// What a client's records are made of.
#[derive(Debug)]
struct Making {
    builder: Builder,
    /// Where records differ: the next ones.
    block: Option<RecordBlock>,
    trailer: Trailer,
    /// Number of the next record in its trailer.
    sequence: u64,
    partition: i32,
    wall_offset_ns: i64,
}

/// One producing client.
#[derive(Debug)]
pub(super) struct JavaProducer {
    /// Its place in the process.
    index: u32,
    number: u32,
    ledger: Ledger,
    making: Option<Making>,
    is_closed: bool,
    schedule: Option<Schedule>,
    /// While there is no room: the schedule's place of what would have been handed over. `schedule` itself then stays
    /// at the first record that waits.
    due: Option<Schedule>,
    backlog: u64,
    /// Records the measure phase still takes; `None`: any number.
    limit_left: Option<u64>,
    is_limited: bool,
    /// Its next turn hands over what comes due within [`AHEAD_NS`].
    is_releasing: bool,
    /// From when on the process drops what it has not begun with, as requested, ns.
    until_ns: u64,
    is_flushed: bool,
    /// It has taken a record behind the last transaction whose end it reported.
    is_in_transaction: bool,
}

impl JavaProducer {
    /// Client `index` of a process, which has this number among all of the item's.
    pub fn new((index, number): (u32, u32), plan: &ProducePlan, window: AheadLimit) -> Self {
        let is_closed = matches!(plan.rate, Rate::Max { .. });
        Self {
            index,
            number,
            ledger: Ledger::new(window, is_closed)
                .with_warmup(plan.tool_lines.map_or(0, |lines| lines.warmup_records)),
            making: None,
            is_closed,
            schedule: None,
            due: None,
            backlog: 0,
            limit_left: None,
            is_limited: plan.records_max.is_some(),
            is_releasing: false,
            until_ns: u64::MAX,
            is_flushed: false,
            is_in_transaction: false,
        }
    }

    /// Makes it ready to hand over records.
    pub fn prepare(&mut self, source: &RecordSource, partition: Option<u32>, context: &StreamContext) {
        let draws = || Draws::new(context.seed, self.number, context.task.clients_total);
        // Before the client has chosen one the partition is unknown.
        let partition = partition.and_then(|partition| i32::try_from(partition).ok()).unwrap_or(-1);
        self.making = Some(Making {
            builder: Builder::new(source, self.number),
            block: source.is_drawn().then(|| RecordBlock::new(draws())),
            trailer: Trailer::new(context.run_id, self.number, partition),
            sequence: 0,
            partition,
            wall_offset_ns: context.wall_offset_ns,
        });
    }

    /// The load begins: an open loop has a schedule; a limit on records is shared by all clients.
    pub fn start(
        &mut self,
        schedule: Option<Schedule>,
        records_max: Option<u64>,
        (client, clients): (u32, u32),
    ) {
        self.schedule = schedule;
        let (client, clients) = (u64::from(client), u64::from(clients.max(1)));
        self.limit_left = records_max.map(|all| all / clients + u64::from(client < all % clients));
    }

    /// The measure phase begins so much later than T0, ns.
    pub fn measure_begins(&mut self, start_ns: u64) {
        self.schedule.iter_mut().chain(&mut self.due).for_each(|schedule| schedule.measure_begins(start_ns));
    }

    /// Its records that are with the process.
    pub fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// It is time to hand over its next record: its next turn does, with all that come due within [`AHEAD_NS`].
    pub fn release_now(&mut self) {
        self.is_releasing = true;
    }

    /// When the next record of an open loop is to be handed over, ns.
    pub fn next_release(&self, clock: LoadClock) -> Option<u64> {
        let schedule = self.due.as_ref().or(self.schedule.as_ref())?;
        let at = clock.t0_ns.saturating_add(schedule.peek());
        let is_over = at >= clock.load_end_ns || (at >= clock.measure_ns && self.limit_left == Some(0));
        (!is_over).then_some(at.saturating_sub(AHEAD_NS))
    }

    /// Whether it will not take another record.
    pub fn is_exhausted(&self) -> bool {
        let is_at_end = self.schedule.as_ref().is_some_and(|schedule| schedule.peek() == NEVER);
        (is_at_end || self.limit_left == Some(0)) && self.backlog == 0
    }

    /// Whether every record has an outcome, and none will come.
    pub fn is_idle(&self) -> bool {
        self.is_flushed && self.ledger.is_empty() && !self.is_in_transaction
    }

    /// It has taken a record of a transaction.
    pub fn in_transaction(&mut self) {
        self.is_in_transaction = true;
    }

    /// Its transaction is over.
    pub fn transaction_over(
        &mut self,
        over: &TransactionOver<'_>,
        recorder: &mut Recorder,
        events: &mut Events,
    ) {
        self.is_in_transaction = false;
        let end = match over.how {
            TransactionHow::Committed => TransactionEnd::Committed,
            TransactionHow::Aborted => TransactionEnd::Aborted,
            TransactionHow::Failed(why) => {
                events.transaction_failed(over.asked_ns, why);
                TransactionEnd::Failed("reported by the Java client")
            }
        };
        let TransactionOver { asked_ns, ended_ns, partitions, .. } = *over;
        recorder.transaction(&EndedTransaction { end, asked_ns, ended_ns, partitions });
    }

    /// Whether a turn is for it.
    pub fn has_something(&self) -> bool {
        !self.is_flushed
    }

    /// Hands over what its turn is for, as far as there is room, and says when nothing more comes.
    pub fn hand_over(
        &mut self,
        source: &RecordSource,
        batch_records: u32,
        pace: &mut ProducerPace<'_>,
        recorder: &mut Recorder,
        out: &mut Vec<u8>,
    ) {
        let mut records = RecordsFrame { begin: None, count: 0, share: None };
        match self.is_closed {
            true => self.hand_over_at_once(source, batch_records, pace, out, &mut records),
            false => self.release(source, batch_records, pace, recorder, out, &mut records),
        }
        records.end(out);
        if pace.is_flushing && self.backlog == 0 {
            self.is_flushed = true;
            frames::flush(out, self.index);
        }
    }

    /// Closed loop: fills the window, unless the process has yet to drop what belongs to the warm-up.
    fn hand_over_at_once(
        &mut self,
        source: &RecordSource,
        batch_records: u32,
        pace: &mut ProducerPace<'_>,
        out: &mut Vec<u8>,
        records: &mut RecordsFrame,
    ) {
        let clock = pace.clock;
        // The measure phase counts its records from the first one on.
        let is_bounded_warmup = self.is_limited && !pace.is_measuring;
        let until_ns =
            if is_bounded_warmup { clock.measure_ns.min(clock.load_end_ns) } else { clock.load_end_ns };
        if until_ns != self.until_ns {
            let is_turn = self.is_limited && pace.is_measuring && self.until_ns == clock.measure_ns;
            if is_turn && self.ledger.waiting() > 0 {
                return;
            }
            self.until_ns = until_ns;
            frames::until(out, self.index, until_ns);
        }
        if pace.is_flushing || pace.now_ns >= until_ns || !self.ledger.has_much_room() {
            return;
        }
        while self.ledger.has_room() && self.has_quota(pace) {
            if pace.is_measuring
                && let Some(left) = &mut self.limit_left
            {
                match left.checked_sub(1) {
                    Some(less) => *left = less,
                    None => return,
                }
            }
            self.put(source, batch_records, pace.now_ns, pace, out, records);
        }
    }

    /// Open loop: hands over what comes due within [`AHEAD_NS`]; what finds no room joins the backlog.
    fn release(
        &mut self,
        source: &RecordSource,
        batch_records: u32,
        pace: &mut ProducerPace<'_>,
        recorder: &mut Recorder,
        out: &mut Vec<u8>,
        records: &mut RecordsFrame,
    ) {
        let (until_ns, clock) = (pace.now_ns.saturating_add(AHEAD_NS), pace.clock);
        if std::mem::take(&mut self.is_releasing) {
            while self.due.is_none() {
                let Some(schedule) = &self.schedule else { return };
                let Some(t0) = peek_due(schedule, until_ns, clock, self.limit_left) else { break };
                if !self.ledger.has_room() || !self.has_quota(pace) {
                    // From here on the schedule stays at the first record that waits.
                    self.due = self.schedule.clone();
                    break;
                }
                if let Some(schedule) = &mut self.schedule {
                    take_due(schedule, t0, clock, &mut self.limit_left);
                }
                recorder.offered(t0, 1);
                self.put(source, batch_records, t0, pace, out, records);
            }
            if let Some(due) = &mut self.due {
                while let Some(t0) = peek_due(due, until_ns, clock, self.limit_left) {
                    take_due(due, t0, clock, &mut self.limit_left);
                    recorder.offered(t0, 1);
                    self.backlog += 1;
                }
            }
        }
        while self.backlog > 0 && self.ledger.has_room() && self.has_quota(pace) {
            let Some(schedule) = &mut self.schedule else { return };
            let t0 = clock.t0_ns + schedule.peek();
            schedule.advance();
            self.backlog -= 1;
            self.put(source, batch_records, t0, pace, out, records);
        }
        if self.backlog == 0 {
            self.due = None;
        }
    }

    /// Whether the cap allows another record; otherwise when it does is noted.
    fn has_quota(&self, pace: &mut ProducerPace<'_>) -> bool {
        let opens_ns = pace.bucket.opens_ns(pace.now_ns);
        if opens_ns <= pace.now_ns {
            return true;
        }
        *pace.opens_ns = Some(pace.opens_ns.map_or(opens_ns, |before_ns| before_ns.min(opens_ns)));
        false
    }

    /// Appends the next record, which is intended at `t0`.
    fn put(
        &mut self,
        source: &RecordSource,
        batch_records: u32,
        t0: u64,
        pace: &mut ProducerPace<'_>,
        out: &mut Vec<u8>,
        records: &mut RecordsFrame,
    ) {
        let Some(making) = &mut self.making else { return };
        let pick = match &mut making.block {
            None => source.usual(),
            Some(block) => {
                let drawn = block.peek(source);
                block.take();
                drawn.pick
            }
        };
        if records.begin.is_none() {
            records.begin = Some(frames::begin_records(out, self.index));
        }
        let share = *records.share.get_or_insert_with(|| making.builder.random_share(source, batch_records));
        let due_ns = if self.is_closed { 0 } else { t0 };
        frames::put_due(out, due_ns);
        making.append(source, pick, t0, share, out);
        let shape = source.shape_of(pick);
        let bytes = shape.key_bytes + shape.value_bytes + shape.headers_bytes;
        pace.bucket.take(bytes.into());
        self.ledger.push(HandedRecord {
            intended_ns: t0,
            bytes,
            value_bytes: shape.value_bytes,
            has_header_trailer: source.has_header_trailer(pick),
        });
        records.count += 1;
        records.end_if_full(out);
    }

    /// Ends: what is open is unresolved; so is what came due without a process to take it. `clock`: once the load has
    /// begun. A transaction whose end was not reported may have left a marker in any of so many partitions.
    pub fn finish(
        self,
        clock: Option<LoadClock>,
        now_ns: u64,
        partitions: u32,
        recorder: &mut Recorder,
    ) -> ClientTotals {
        if self.is_in_transaction {
            recorder.transaction_left(now_ns, TransactionPartitions { sure: 0, unsure: partitions });
        }
        let Self { ledger, making, schedule, backlog, mut limit_left, .. } = self;
        if let (Some(mut schedule), Some(clock)) = (schedule, clock) {
            for _ in 0..backlog {
                recorder.unresolved(clock.t0_ns + schedule.peek(), 1);
                schedule.advance();
            }
            while making.is_none()
                && let Some(t0) = peek_due(&schedule, now_ns, clock, limit_left)
            {
                take_due(&mut schedule, t0, clock, &mut limit_left);
                recorder.offered(t0, 1);
                recorder.unresolved(t0, 1);
            }
        }
        ledger.finish(clock.map(|clock| clock.t0_ns), recorder)
    }
}

impl Making {
    /// Appends a record as frames have it after its instant.
    #[inline]
    fn append(&mut self, source: &RecordSource, pick: Pick, t0: u64, share: u32, out: &mut Vec<u8>) {
        let trailer = *self.trailer.stamp(self.sequence, t0 as i64 + self.wall_offset_ns);
        self.sequence += 1;
        out.extend_from_slice(&self.partition.to_be_bytes());
        frames::put_bytes(out, self.builder.key(source, pick));
        let is_in_header = source.has_header_trailer(pick);
        if source.has_null_value(pick) {
            frames::put_bytes(out, None);
        } else {
            let begin = out.len();
            out.extend_from_slice(&[0; 4]);
            self.builder.append_value(source, out, pick, share);
            let length = (out.len() - begin - 4) as i32;
            out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
            if !is_in_header {
                let end = out.len();
                out[end - trailer.len()..].copy_from_slice(&trailer);
            }
        }
        put_headers(source, is_in_header.then_some(&trailer), out);
    }
}

fn put_headers(source: &RecordSource, trailer: Option<&TrailerBytes>, out: &mut Vec<u8>) {
    let own = source.named_headers();
    out.push((own.len() + usize::from(trailer.is_some())) as u8);
    own.iter().for_each(|(name, value)| frames::put_header(out, name, value));
    if let Some(trailer) = trailer {
        frames::put_header(out, TRAILER_HEADER, trailer);
    }
}

/// A frame of records that is being written.
struct RecordsFrame {
    begin: Option<usize>,
    count: u32,
    /// Which share of values is random, where they compress to a stated ratio.
    share: Option<u32>,
}

impl RecordsFrame {
    fn end(&mut self, out: &mut [u8]) {
        if let Some(begin) = self.begin.take() {
            frames::end_records(out, begin, self.count);
            self.count = 0;
        }
    }

    fn end_if_full(&mut self, out: &mut [u8]) {
        if self.begin.is_some_and(|begin| out.len() - begin >= FRAME_BYTES) {
            self.end(out);
        }
    }
}
