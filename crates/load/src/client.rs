//! One producing client: its schedule, its buffer, its connections.

use crate::connections_io::LinksIo;
use crate::net::Net;
use crate::payload::Payloads;
use crate::record_times::{Admission, RecordTimes};
use crate::recorder::{BatchInstants, Recorder};
use crate::schedule::{NEVER, Schedule};
use crate::stream::{Clock, Events, StreamContext};
use crate::token_bucket::TokenBucket;
use kdyno_kafka::broker_connections::{self, LinkState};
use kdyno_kafka::messages::m00_produce;
use kdyno_kafka::producer::{Batch, FollowUp, Outcome, Producer, ProducerConfig, RecordShape, Token};
use kdyno_model::plan::{Fill, ProducePlan, Rate};
use kdyno_model::sample::ClientTotals;

/// Reason of a record that found no room in the buffer within `max.block.ms`.
pub const MAX_BLOCK: &str = "max-block";

/// Least time between two looks for batches past `delivery.timeout.ms`, ns.
const EXPIRE_NS: u64 = 100_000_000;

/// One producing client.
#[derive(Debug)]
pub struct ProduceClient {
    /// Its connections.
    pub io: LinksIo<Token>,
    core: Option<Core>,
    schedule: Option<Schedule>,
    /// While the buffer is full: the schedule's place of what came due. `schedule` itself then stands at the
    /// first record that waits, so a backlog takes no memory however long it grows.
    due: Option<Schedule>,
    backlog: u64,
    /// When the buffer was last found full, ns.
    full_ns: u64,
    /// Records the measure phase still takes; `None`: any number.
    limit_left: Option<u64>,
    max_block_ns: u64,
    value_bytes: u32,
    fill_in_flight: bool,
    scratch: Vec<u64>,
    first_ns: Option<u64>,
    last_ns: u64,
    records: u64,
    expired_ns: u64,
    /// Room came free, or a request left, in a closed loop: another turn is due at once.
    wants_turn: bool,
}

/// What exists once the leaders are known.
#[derive(Debug)]
struct Core {
    producer: Producer<RecordTimes>,
    payloads: Payloads,
    outcomes: Vec<(Batch<RecordTimes>, Outcome)>,
    retries: u64,
}

impl ProduceClient {
    /// A client that is not connected.
    pub fn new(index: u32, plan: &ProducePlan, context: &StreamContext) -> Self {
        let settings = &plan.client;
        let config = broker_connections::ConnectionsConfig {
            client_id: context.client_id(context.task.client_first + index),
            topic: context.task.topic.clone(),
            bootstrap: context.bootstrap.clone(),
            request_timeout_ns: settings.request_timeout_ns,
            retry_backoff_ns: settings.retry_backoff_ns,
            metadata_max_age_ns: settings.metadata_max_age_ns,
            // Replies to produce requests are small; metadata of large clusters is not.
            frame_bytes_max: 16 << 20,
        };
        Self {
            io: LinksIo::new(config, index as usize, context.task.client_count as usize),
            core: None,
            schedule: None,
            due: None,
            backlog: 0,
            full_ns: 0,
            limit_left: None,
            max_block_ns: settings.max_block_ns,
            value_bytes: plan.value_bytes,
            fill_in_flight: matches!(plan.rate, Rate::Max { fill: Fill::InFlight }),
            scratch: Vec::new(),
            first_ns: None,
            last_ns: 0,
            records: 0,
            expired_ns: 0,
            wants_turn: false,
        }
    }

    /// Makes the client ready to take records.
    pub fn prepare(
        &mut self,
        config: ProducerConfig,
        shape: RecordShape,
        partitions: usize,
        payloads: Payloads,
    ) {
        let producer = Producer::new(config, shape, partitions);
        self.core = Some(Core { producer, payloads, outcomes: Vec::new(), retries: 0 });
    }

    /// Open loop: the intended instants, relative to T0.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = Some(schedule);
    }

    /// This client's share of a limit on the item's records.
    pub fn set_limit(&mut self, records_max: Option<u64>, client: u32, clients: u32) {
        let clients = u64::from(clients.max(1));
        self.limit_left = records_max.map(|all| all / clients + u64::from(u64::from(client) < all % clients));
    }

    /// Whether the client will not take another record.
    pub fn is_exhausted(&self) -> bool {
        let is_at_end = self.schedule.as_ref().is_some_and(|schedule| schedule.peek() == NEVER);
        (is_at_end || self.limit_left == Some(0)) && self.backlog == 0
    }

    /// Whether nothing waits and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.backlog == 0 && self.core.as_ref().is_none_or(|core| core.producer.is_idle())
    }

    /// Closed loop: takes as many records as there is room for.
    pub fn admit_at_once(&mut self, now_ns: u64, clock: Clock, recorder: &mut Recorder) {
        self.wants_turn = false;
        let Some(core) = &mut self.core else { return };
        let is_limited = now_ns >= clock.measure_ns;
        let limit = if is_limited { self.limit_left.unwrap_or(u64::MAX) } else { u64::MAX };
        if now_ns < clock.t0_ns || now_ns >= clock.load_end_ns || limit == 0 {
            return;
        }
        let taken = core.producer.admit(limit, now_ns, |marks, count| {
            marks.push_run(count, now_ns, Admission::AtOnce);
        });
        if taken > 0 {
            self.first_ns.get_or_insert(now_ns);
            recorder.offered(now_ns, taken);
            recorder.achieved(now_ns, taken);
        }
        if is_limited && let Some(left) = &mut self.limit_left {
            *left -= taken;
        }
    }

    /// Open loop: hands over what has come due; what finds no room joins the backlog.
    pub fn release_due(&mut self, now_ns: u64, clock: Clock, recorder: &mut Recorder) {
        self.wants_turn = false;
        while self.due.is_none() {
            let Some(core) = &mut self.core else { return };
            let room = core.producer.sure_room();
            if room == 0 {
                // From here on the schedule stays at the first record that waits.
                self.due = self.schedule.clone();
                self.full_ns = now_ns;
                break;
            }
            let Some(schedule) = &mut self.schedule else { return };
            self.scratch.clear();
            while (self.scratch.len() as u64) < room
                && let Some(t0) = next_due(schedule, now_ns, clock, &mut self.limit_left)
            {
                recorder.offered(t0, 1);
                recorder.achieved(t0, 1);
                self.scratch.push(t0);
            }
            if self.scratch.is_empty() {
                return;
            }
            self.first_ns.get_or_insert(now_ns);
            admit_scratch(core, &self.scratch, now_ns, Admission::OnTick);
        }
        if let Some(due) = &mut self.due {
            while let Some(t0) = next_due(due, now_ns, clock, &mut self.limit_left) {
                recorder.offered(t0, 1);
                self.backlog += 1;
            }
        }
        self.admit_backlog(now_ns, clock, recorder);
    }

    /// Between ticks: room that came free goes to the records that wait for it.
    pub fn admit_backlog(&mut self, now_ns: u64, clock: Clock, recorder: &mut Recorder) {
        self.wants_turn = false;
        let (t0_ns, since_ns) = (clock.t0_ns, self.full_ns);
        let (Some(core), Some(schedule)) = (&mut self.core, &mut self.schedule) else { return };
        if self.due.is_none() {
            return;
        }
        while self.backlog > 0 && (t0_ns + schedule.peek()).max(since_ns) + self.max_block_ns <= now_ns {
            recorder.failed(t0_ns + schedule.peek(), 1, MAX_BLOCK);
            schedule.advance();
            self.backlog -= 1;
        }
        while self.backlog > 0 {
            let count = core.producer.sure_room().min(self.backlog);
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
            admit_scratch(core, &self.scratch, now_ns, Admission::Blocked { since_ns });
        }
        self.due = None;
    }

    /// When the next record of an open loop comes due, ns.
    pub fn next_due(&self, clock: Clock) -> Option<u64> {
        let schedule = self.due.as_ref().or(self.schedule.as_ref())?;
        let at = clock.t0_ns.saturating_add(schedule.peek());
        let is_over = at >= clock.load_end_ns || (at >= clock.measure_ns && self.limit_left == Some(0));
        (!is_over).then_some(at)
    }

    /// A connection has something to say.
    pub fn on_ready(
        &mut self,
        link: usize,
        is_writable: bool,
        net: &mut dyn Net,
        recorder: Option<&mut Recorder>,
        events: &mut Events,
    ) {
        let Some(recorder) = recorder else {
            self.io.on_ready(link, is_writable, net, events, |_, _, _, _| Ok(()));
            return;
        };
        let Some(core) = &mut self.core else { return };
        let version = produce_version(&self.io, link);
        let now_ns = net.now_ns();
        let mut refresh = false;
        self.io.on_ready(link, is_writable, net, events, |token, asked, frame, received_ns| {
            let body = broker_connections::body(frame, &m00_produce::API, version)?;
            let FollowUp { refresh_metadata, batches } =
                core.producer.on_reply(token, version, body, asked.written_ns, received_ns)?;
            recorder.request(received_ns, batches, asked.bytes as u64);
            refresh |= refresh_metadata;
            Ok(())
        });
        if refresh {
            self.io.links.want_metadata();
        }
        for token in self.io.take_lost() {
            core.producer.on_lost(token, now_ns);
        }
        self.settle(net.now_ns(), recorder);
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
        self.io.keep_up(net, now_ns, events);
        let (Some(core), Some(recorder)) = (&mut self.core, recorder) else {
            self.io.flush_all(net, events);
            return;
        };
        for token in self.io.take_lost() {
            core.producer.on_lost(token, now_ns);
        }
        if now_ns >= self.expired_ns + EXPIRE_NS {
            self.expired_ns = now_ns;
            // What gave up has freed its room, which a closed loop fills at once.
            self.wants_turn |= core.producer.expire(now_ns);
        }
        let mut has_sent = false;
        for link in 0..self.io.links.links().len() {
            if self.io.links.links()[link].state != LinkState::Up {
                self.io.flush(link, net, events);
                continue;
            }
            let version = produce_version(&self.io, link);
            while token_bucket.opens_ns(now_ns) <= now_ns {
                let (links, payloads) = (&mut self.io.links, &mut core.payloads);
                let (connection, leads) = links.connection_and_leads(link);
                let records =
                    core.producer.send_ready(connection, version, now_ns, is_flushing, leads, payloads);
                if records == 0 {
                    break;
                }
                token_bucket.take(records * u64::from(self.value_bytes));
                has_sent = true;
            }
            self.io.flush(link, net, events);
            while let Some(request) = self.io.links.link_mut(link).connection.take_unanswered() {
                let broker_connections::RequestKind::User(token) = request.token else { continue };
                let written_ns = request.written_ns.unwrap_or(now_ns);
                let follow_up = core.producer.on_written(token, written_ns);
                recorder.request(written_ns, follow_up.batches, request.bytes as u64);
                self.wants_turn = self.schedule.is_none() || self.backlog > 0;
            }
        }
        self.wants_turn |= has_sent && self.fill_in_flight;
        for token in self.io.take_lost() {
            core.producer.on_lost(token, now_ns);
        }
        self.settle(net.now_ns(), recorder);
    }

    /// Records the outcomes known by now.
    fn settle(&mut self, known_ns: u64, recorder: &mut Recorder) {
        let Some(core) = &mut self.core else { return };
        core.producer.take_outcomes(&mut core.outcomes);
        for (mut batch, outcome) in core.outcomes.drain(..) {
            match outcome {
                Outcome::Acknowledged { written_ns, received_ns } => {
                    let sealed_ns = batch.sealed_ns.unwrap_or(written_ns);
                    let instants = BatchInstants { sealed_ns, written_ns, received_ns, known_ns };
                    recorder.acknowledged(&batch.marks, instants, self.value_bytes);
                    self.records += u64::from(batch.count);
                }
                Outcome::Failed { reason } => {
                    for t0 in batch.marks.each_intended_ns() {
                        recorder.failed(t0, 1, reason);
                    }
                }
            }
            self.last_ns = known_ns;
            batch.marks.clear();
            core.producer.recycle(batch, &mut core.payloads);
        }
        let retries = core.producer.retries();
        if retries > core.retries {
            recorder.retried(known_ns, retries - core.retries);
            core.retries = retries;
        }
    }

    /// When the client has something to do by time alone, but for records that come due; 0: at once, since room
    /// came free. Nothing is sent before `opens_ns`.
    pub fn next_deadline(&self, is_flushing: bool, opens_ns: u64) -> Option<u64> {
        if self.wants_turn {
            return Some(0);
        }
        let io = self.io.next_deadline();
        let producer = self.core.as_ref().and_then(|core| {
            let in_flight_max = core.producer.config().in_flight_max as usize;
            let cannot = |partition| match self.io.links.leader_link(partition) {
                Some(link) => self.io.links.links()[link].connection.in_flight() >= in_flight_max,
                None => true,
            };
            let ready = core.producer.next_ready(is_flushing, cannot).map(|at| at.max(opens_ns));
            let expiry = core.producer.next_expiry().map(|at| at.max(self.expired_ns + EXPIRE_NS));
            ready.into_iter().chain(expiry).min()
        });
        let blocked = (self.backlog > 0).then(|| self.expired_ns + EXPIRE_NS);
        io.into_iter().chain(producer).chain(blocked).min()
    }

    /// Ends: what is open is unresolved.
    pub fn finish(self, t0_ns: u64, recorder: &mut Recorder) -> ClientTotals {
        if let Some(mut schedule) = self.schedule {
            for _ in 0..self.backlog {
                recorder.unresolved(t0_ns + schedule.peek(), 1);
                schedule.advance();
            }
        }
        for batch in self.core.into_iter().flat_map(|core| core.producer.into_unresolved()) {
            for t0 in batch.marks.each_intended_ns() {
                recorder.unresolved(t0, 1);
            }
        }
        let span_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        ClientTotals { records: self.records, span_ns }
    }
}

/// The next record that is due by `now_ns`, as an instant of the stream's clock.
fn next_due(schedule: &mut Schedule, now_ns: u64, clock: Clock, limit_left: &mut Option<u64>) -> Option<u64> {
    let t0 = clock.t0_ns.saturating_add(schedule.peek());
    if t0 > now_ns || t0 >= clock.load_end_ns {
        return None;
    }
    if t0 >= clock.measure_ns
        && let Some(left) = limit_left
    {
        *left = left.checked_sub(1)?;
    }
    schedule.advance();
    Some(t0)
}

fn admit_scratch(core: &mut Core, intended_ns: &[u64], now_ns: u64, handed: Admission) {
    let mut rest = intended_ns;
    let taken = core.producer.admit(intended_ns.len() as u64, now_ns, |marks, count| {
        let (mine, others) = rest.split_at(count as usize);
        rest = others;
        marks.push_run(count, now_ns, handed);
        marks.intended_ns.extend_from_slice(mine);
    });
    debug_assert_eq!(taken, intended_ns.len() as u64, "sure_room promised room for each of them");
}

fn produce_version(io: &LinksIo<Token>, link: usize) -> i16 {
    io.version(link, &m00_produce::API).unwrap_or(m00_produce::API.version_min)
}
