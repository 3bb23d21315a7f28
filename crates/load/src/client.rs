//! One producing client: its schedule, its buffer, its connections.

mod drawn;
pub(crate) mod due;
mod limits;
mod release;
mod runs;
mod transaction_ends;
mod transactions;

pub use drawn::DrawnRecords;

use crate::connections_io::ConnectionsIo;
use crate::net::Net;
use crate::payload::BodyBuilder;
use crate::record_times::{Admission, RecordTimes};
use crate::recorder::{BatchInstants, Recorder};
use crate::schedule::{NEVER, Schedule};
use crate::stream::{Events, LoadClock, SocketReadiness, StreamContext};
use crate::token_bucket::TokenBucket;
use due::next_due;
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::ConnectionsConfig;
use kdyno_kafka::client::Client;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::producer::{
    Delivery, FinishedRequest, Producer, ProducerBatch, ProducerClient, ProducerConfig, RecordShape, Retries,
};
use kdyno_model::plan::{Fill, ProducePlan, Rate};
use kdyno_model::sample::ClientTotals;
use limits::AdmissionLimits;
use transaction_ends::TransactionEnds;

/// Reason of a record that found no room in the buffer within `max.block.ms`.
pub const MAX_BLOCK: &str = "max-block";

/// One producing client.
#[derive(Debug)]
pub struct ProduceClient {
    kafka: ProducerClient<RecordTimes>,
    io: ConnectionsIo,
    /// What its records carry; none before [`Self::prepare`].
    payloads: Option<BodyBuilder>,
    /// Where records differ: the next ones.
    drawn: Option<DrawnRecords>,
    finished: Vec<FinishedRequest>,
    outcomes: Vec<(ProducerBatch<RecordTimes>, Delivery)>,
    retries: Retries,
    schedule: Option<Schedule>,
    /// While the buffer is full: the schedule's place of what came due. `schedule` itself then stays at the first
    /// record that waits, so a backlog takes no memory however long it grows.
    due: Option<Schedule>,
    backlog: u64,
    /// When the buffer was last found full, ns.
    full_ns: u64,
    /// Records the measure phase still takes; `None`: any number.
    limit_left: Option<u64>,
    /// Records before the steady state and of a transaction, where the plan has such limits.
    limits: AdmissionLimits,
    max_block_ns: u64,
    /// Mean bytes of a record's key, value and headers.
    record_bytes: u64,
    fill_in_flight: bool,
    is_synchronous: bool,
    scratch: Vec<u64>,
    first_ns: Option<u64>,
    last_ns: u64,
    records: u64,
    /// Room came free, or a request left, in a closed loop: another turn is due at once.
    wants_turn: bool,
    /// `None`: it sends without transactions.
    transactions: Option<TransactionEnds>,
}

impl ProduceClient {
    /// A client that is not connected.
    pub fn new(index: u32, plan: &ProducePlan, context: &StreamContext) -> Self {
        let settings = &plan.client;
        let first_ns = settings.retry_backoff_ns;
        let retry_backoff =
            ExponentialBackoff { first_ns, max_ns: settings.retry_backoff_max_ns.max(first_ns) };
        let config = ConnectionsConfig {
            needs: match settings.enable_idempotence {
                _ if plan.transactions.is_some() => ProducerClient::<RecordTimes>::NEEDS_TRANSACTIONAL,
                true => ProducerClient::<RecordTimes>::NEEDS_IDEMPOTENT,
                false => ProducerClient::<RecordTimes>::NEEDS,
            },
            request_timeout_ns: settings.request_timeout_ns,
            metadata_max_age_ns: settings.metadata_max_age_ns,
            // Replies to produce requests are small; metadata of large clusters is not.
            frame_bytes_max: 16 << 20,
            ..context.connections_config(index, retry_backoff)
        };
        Self {
            kafka: ProducerClient::new(config),
            io: ConnectionsIo::new(index, &context.task),
            payloads: None,
            drawn: None,
            finished: Vec::new(),
            outcomes: Vec::new(),
            retries: Retries::default(),
            schedule: None,
            due: None,
            backlog: 0,
            full_ns: 0,
            limit_left: None,
            limits: AdmissionLimits::new(plan),
            max_block_ns: settings.max_block_ns,
            record_bytes: plan.record_bytes(),
            fill_in_flight: matches!(plan.rate, Rate::Max { fill: Fill::InFlight }),
            is_synchronous: plan.synchronous,
            scratch: Vec::new(),
            first_ns: None,
            last_ns: 0,
            records: 0,
            wants_turn: false,
            transactions: plan
                .transactions
                .map(|plan| TransactionEnds::new(plan, context.transaction_seed(index))),
        }
    }

    /// T0 is past: brokers that cannot be reached since before are reported as what concerns the load.
    pub fn begins(&mut self, now_ns: u64) {
        self.kafka.connections_mut().begin(now_ns);
    }

    /// Its connections, and what is sent over them.
    pub fn kafka(&self) -> &ProducerClient<RecordTimes> {
        &self.kafka
    }

    /// Makes the client ready to take records for so many partitions of each topic; they are drawn one by one where they differ.
    pub fn prepare(
        &mut self,
        (config, partitions): (ProducerConfig, &[usize]),
        shape: RecordShape,
        payloads: BodyBuilder,
        drawn: Option<DrawnRecords>,
    ) {
        self.kafka.prepare(config, shape, partitions);
        // What values that are given have in the mean shows only now.
        self.record_bytes =
            [shape.key_bytes, shape.value_bytes, shape.headers_bytes].map(u64::from).iter().sum();
        self.payloads = Some(payloads);
        self.drawn = drawn;
    }

    /// Whether [`Self::prepare`] was called.
    pub fn is_prepared(&self) -> bool {
        self.payloads.is_some()
    }

    /// Open loop: the scheduled send times, relative to T0.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = Some(schedule);
    }

    /// The measure phase begins so much later than T0, or of an item that comes later its load, ns.
    pub fn measure_begins(&mut self, start_ns: u64) {
        self.schedule.iter_mut().chain(&mut self.due).for_each(|schedule| schedule.measure_begins(start_ns));
    }

    /// This client's share of a limit on the item's records.
    pub fn set_limit(&mut self, records_max: Option<u64>, client: u32, clients: u32) {
        let clients = u64::from(clients.max(1));
        self.limit_left = records_max.map(|all| all / clients + u64::from(u64::from(client) < all % clients));
    }

    /// Whether the client will not take another record.
    pub fn is_exhausted(&self) -> bool {
        let is_at_end = self.schedule.as_ref().is_some_and(|schedule| schedule.peek() == NEVER);
        (is_at_end || self.limit_left == Some(0) || self.ended_by().is_some()) && self.backlog == 0
    }

    /// Whether nothing waits and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.backlog == 0 && self.kafka.producer().is_none_or(Producer::is_idle)
    }

    /// Closed loop: takes as many records as there is room for.
    pub fn admit_at_once(&mut self, now_ns: u64, clock: LoadClock, recorder: &mut Recorder) {
        self.wants_turn = false;
        let is_limited = now_ns >= clock.measure_ns;
        let limit = if is_limited { self.limit_left.unwrap_or(u64::MAX) } else { u64::MAX };
        let limit = limit.min(self.limits.room(now_ns));
        if now_ns < clock.t0_ns || now_ns >= clock.load_end_ns || limit == 0 {
            return;
        }
        let taken = match &mut self.drawn {
            Some(drawn) => drawn.admit_at_once(&mut self.kafka, limit, now_ns),
            None => self.kafka.admit(limit, now_ns, |times, count| {
                times.push_run(count, now_ns, Admission::AtOnce);
            }),
        };
        if taken > 0 {
            self.first_ns.get_or_insert(now_ns);
            recorder.offered(now_ns, taken);
            recorder.achieved(now_ns, taken);
            self.wants_turn = self.limits.take(taken, now_ns, recorder);
        }
        if is_limited && let Some(left) = &mut self.limit_left {
            *left -= taken;
        }
    }

    /// Open loop: hands over what has come due by `due_ns`; what finds no room joins the backlog.
    pub fn release_due(&mut self, due_ns: u64, now_ns: u64, clock: LoadClock, recorder: &mut Recorder) {
        self.wants_turn = false;
        if self.drawn.is_some() && self.due.is_none() {
            self.release_drawn(due_ns, now_ns, clock, recorder);
        }
        while self.due.is_none() && self.drawn.is_none() && self.limits.room(now_ns) > 0 {
            // A client that came late waits for room until it is connected, as Java's does in `send`.
            let room = self.kafka.producer().map_or(0, |producer| producer.sure_room(now_ns));
            if room == 0 {
                // From here on the schedule stays at the first record that waits.
                self.due = self.schedule.clone();
                self.full_ns = now_ns;
                break;
            }
            let Some(schedule) = &mut self.schedule else { return };
            self.scratch.clear();
            let room = room.min(self.limits.room(now_ns));
            while (self.scratch.len() as u64) < room
                && let Some(t0) = next_due(schedule, due_ns, clock, &mut self.limit_left)
            {
                recorder.offered(t0, 1);
                recorder.achieved(t0, 1);
                self.scratch.push(t0);
            }
            if self.scratch.is_empty() {
                return;
            }
            self.first_ns.get_or_insert(now_ns);
            admit_scratch(&mut self.kafka, &self.scratch, now_ns, Admission::OnTick);
            self.wants_turn |= self.limits.take(self.scratch.len() as u64, now_ns, recorder);
        }
        if self.due.is_none() && self.limits.is_transaction_full() {
            // What comes due now waits until the transaction is over.
            self.due = self.schedule.clone();
            self.full_ns = now_ns;
        }
        if let Some(due) = &mut self.due {
            while let Some(t0) = next_due(due, due_ns, clock, &mut self.limit_left) {
                recorder.offered(t0, 1);
                self.backlog += 1;
            }
        }
        self.admit_backlog(now_ns, clock, recorder);
    }

    /// Between ticks: room that came free goes to the records that wait for it.
    pub fn admit_backlog(&mut self, now_ns: u64, clock: LoadClock, recorder: &mut Recorder) {
        self.wants_turn = false;
        let (t0_ns, since_ns, ended_by) = (clock.t0_ns, self.full_ns, self.ended_by());
        let Some(schedule) = &mut self.schedule else { return };
        if self.due.is_none() {
            return;
        }
        while self.backlog > 0
            && (ended_by.is_some() || (t0_ns + schedule.peek()).max(since_ns) + self.max_block_ns <= now_ns)
        {
            recorder.failed(t0_ns + schedule.peek(), 1, ended_by.map_or(MAX_BLOCK, ErrorCode::name));
            self.drawn.iter_mut().for_each(DrawnRecords::give_up);
            schedule.advance();
            self.backlog -= 1;
        }
        if self.drawn.is_some() {
            return self.admit_drawn_backlog(now_ns, clock, recorder);
        }
        while self.backlog > 0 {
            let room = self.kafka.producer().map_or(0, |producer| producer.sure_room(now_ns));
            let count = room.min(self.backlog).min(self.limits.room(now_ns));
            if count == 0 {
                return;
            }
            self.scratch.clear();
            for _ in 0..count {
                let t0 = t0_ns + schedule.peek();
                recorder.achieved(t0, 1);
                self.scratch.push(t0);
                schedule.advance();
            }
            self.first_ns.get_or_insert(now_ns);
            self.backlog -= count;
            admit_scratch(&mut self.kafka, &self.scratch, now_ns, Admission::Blocked { since_ns });
            self.wants_turn |= self.limits.take(count, now_ns, recorder);
        }
        self.due = None;
    }

    /// When the next record of an open loop comes due, ns.
    pub fn next_due(&self, clock: LoadClock) -> Option<u64> {
        let schedule = self.due.as_ref().or(self.schedule.as_ref())?;
        let at = clock.t0_ns.saturating_add(schedule.peek());
        let is_over = at >= clock.load_end_ns || (at >= clock.measure_ns && self.limit_left == Some(0));
        (!is_over).then_some(at)
    }

    /// Compresses batches that are full, and hands over what came due while Java's sender would have closed them: its
    /// application does not wait for that. Returns the instant of it.
    pub fn compress_full(
        &mut self,
        now_ns: u64,
        clock: LoadClock,
        net: &mut dyn Net,
        recorder: &mut Recorder,
    ) -> u64 {
        let Some(payloads) = &mut self.payloads else { return now_ns };
        let Some(share) = self.kafka.compress_full(payloads) else { return now_ns };
        let begun_ns = now_ns;
        let now_ns = net.now_ns();
        let due_ns = begun_ns + ((now_ns - begun_ns) as f64 * share) as u64;
        recorder.tick(now_ns);
        let wants_turn = self.wants_turn;
        self.release_due(due_ns, now_ns, clock, recorder);
        self.wants_turn |= wants_turn;
        now_ns
    }

    /// A connection has something to read, or takes writes again.
    pub fn on_ready(
        &mut self,
        connection: usize,
        ready: SocketReadiness,
        net: &mut dyn Net,
        recorder: Option<&mut Recorder>,
        events: &mut Events,
    ) {
        self.io.on_ready(&mut self.kafka, connection, ready, net);
        let now_ns = net.now_ns();
        self.kafka.retry_lost(now_ns);
        if let Some(recorder) = recorder {
            self.settle(now_ns, recorder, events);
        }
    }

    /// Sends what is ready and allowed, keeps the connections up.
    pub fn turn(
        &mut self,
        net: &mut dyn Net,
        now_ns: u64,
        is_flushing: bool,
        token_bucket: &mut TokenBucket,
        recorder: Option<&mut Recorder>,
        events: &mut Events,
    ) {
        self.end_transaction(now_ns, is_flushing);
        let is_flushing = self.flushes(is_flushing);
        self.kafka.wake_idle();
        self.io.keep_up(&mut self.kafka, net, now_ns, events);
        self.kafka.ask_id(now_ns);
        self.kafka.ask_coordinator(now_ns);
        let (Some(payloads), Some(recorder)) = (&mut self.payloads, recorder) else {
            return self.io.flush_all(self.kafka.connections_mut(), net);
        };
        self.kafka.retry_lost(now_ns);
        // What gave up has freed its room, which a closed loop fills at once.
        self.wants_turn |= self.kafka.expire(now_ns);
        self.kafka.note_availability(now_ns, is_flushing);
        let mut has_sent = false;
        for connection in self.kafka.in_turn() {
            while self.kafka.connections().is_up(connection) && token_bucket.opens_ns(now_ns) <= now_ns {
                let records = self.kafka.send_ready(connection, now_ns, is_flushing, payloads);
                if records == 0 {
                    break;
                }
                token_bucket.take(records * self.record_bytes);
                has_sent = true;
            }
            self.io.flush(self.kafka.connections_mut(), connection, net);
            if self.kafka.finish_unanswered(connection) {
                self.wants_turn |= self.schedule.is_none() || self.backlog > 0;
            }
        }
        self.wants_turn |= has_sent && self.fill_in_flight;
        self.kafka.retry_lost(now_ns);
        self.settle(net.now_ns(), recorder, events);
    }

    /// Whether what lingers is sent when the load is over: an application that waits for each record has none left to
    /// flush when it closes its producer, and each has lingered.
    fn flushes(&self, is_load_over: bool) -> bool {
        is_load_over && !self.is_synchronous
    }

    fn finish_requests(&mut self, recorder: &mut Recorder, events: &mut Events) {
        self.finished.extend(self.kafka.take_finished());
        for request in self.finished.drain(..) {
            recorder.request(request.at_ns, request.batches, request.bytes as u64);
            recorder.in_flight(request.at_ns, request.in_flight_ns);
            let by = self.kafka.connections().key(request.connection);
            if request.throttled_ns > 0 {
                recorder.throttled(request.at_ns, request.throttled_ns);
                events.throttled(request.at_ns, by, request.throttled_ns);
            }
            events.split(request.at_ns, by, request.split);
        }
    }

    /// Records the outcomes known by now.
    fn settle(&mut self, known_ns: u64, recorder: &mut Recorder, events: &mut Events) {
        recorder.tick(known_ns);
        self.finish_requests(recorder, events);
        self.settle_transactions(known_ns, recorder, events);
        let (Some(producer), Some(payloads)) = (self.kafka.producer_mut(), &mut self.payloads) else {
            return;
        };
        producer.take_outcomes(&mut self.outcomes);
        for (mut batch, outcome) in self.outcomes.drain(..) {
            match outcome {
                Delivery::Acknowledged { written_ns, received_ns } => {
                    let sealed_ns = batch.sealed_ns().unwrap_or(written_ns);
                    let sent_ns = batch.sent_ns();
                    let instants = BatchInstants { sealed_ns, sent_ns, written_ns, received_ns, known_ns };
                    let times = &batch.user_data;
                    recorder.acknowledged(times, instants, |range| payloads.weigh(times, range));
                    recorder.batch(known_ns, (batch.partition, batch.count), batch.record_bytes());
                    self.records += u64::from(batch.count);
                }
                Delivery::Failed { reason } => {
                    for t0 in batch.user_data.each_intended_ns() {
                        recorder.failed(t0, 1, reason);
                    }
                }
            }
            self.last_ns = known_ns;
            batch.user_data.clear();
            producer.recycle(batch, payloads);
        }
        let retries = producer.retries();
        if retries != self.retries {
            let Retries { batches, records } = self.retries;
            recorder.retried(known_ns, retries.batches - batches, retries.records - records);
            self.retries = retries;
        }
    }

    /// When the client has something to do by time alone, but for records that come due; 0: at once, since room
    /// came free. Nothing is sent before `opens_ns`.
    pub fn next_deadline(&self, is_flushing: bool, opens_ns: u64) -> Option<u64> {
        if self.wants_turn {
            return Some(0);
        }
        let is_blocked = self.backlog > 0 && self.is_prepared();
        let blocked = is_blocked.then(|| self.kafka.next_look_ns());
        let began_ns = self.kafka.producer().and_then(Producer::transaction_began_ns);
        let ends = began_ns.zip(self.transactions.as_ref()).map(|(began_ns, pace)| pace.ends_ns(began_ns));
        let kafka = self.kafka.next_deadline(self.flushes(is_flushing), opens_ns);
        kafka.into_iter().chain(blocked).chain(ends).min()
    }

    /// Ends: what is open is unresolved.
    pub fn finish(self, t0_ns: u64, now_ns: u64, recorder: &mut Recorder) -> ClientTotals {
        if let Some(mut schedule) = self.schedule {
            for _ in 0..self.backlog {
                recorder.unresolved(t0_ns + schedule.peek(), 1);
                schedule.advance();
            }
        }
        let left = self.kafka.producer().map(Producer::open_partitions).unwrap_or_default();
        recorder.transaction_left(now_ns, left);
        for batch in self.kafka.into_producer().into_iter().flat_map(Producer::into_unresolved) {
            for t0 in batch.user_data.each_intended_ns() {
                recorder.unresolved(t0, 1);
            }
        }
        let span_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        let began_ns = self.first_ns.map(|first_ns| first_ns.saturating_sub(t0_ns));
        ClientTotals { records: self.records, began_ns, span_ns, member: None }
    }
}

fn admit_scratch(
    kafka: &mut ProducerClient<RecordTimes>,
    intended_ns: &[u64],
    now_ns: u64,
    admission: Admission,
) {
    let mut rest = intended_ns;
    let taken = kafka.admit(intended_ns.len() as u64, now_ns, |times, count| {
        let (mine, others) = rest.split_at(count as usize);
        rest = others;
        times.push_run(count, now_ns, admission);
        times.intended_ns.extend_from_slice(mine);
    });
    debug_assert_eq!(taken, intended_ns.len() as u64, "sure_room promised room for each of them");
}
