//! A producing stream that Kafka's Java client carries: schedules are kept here, records go to the Java process ahead of their
//! instants, and what became of them comes back.

use super::frames::{FrameError, FromJava, TaskRole, TransactionPace};
use super::ledger::AheadLimit;
use super::link::JavaLink;
use super::producer::{AHEAD_NS, JavaProducer, ProducerPace};
use super::readiness::Readiness;
use crate::connecting::Connect;
use crate::net::Net;
use crate::record_source::{batch_records_max, record_source};
use crate::recorder::Recorder;
use crate::records::RecordSource;
use crate::stream::{LoadClock, SocketReadiness, Stream, StreamContext, StreamError};
use crate::token_bucket::TokenBucket;
use crate::wakeups::Wakeups;
use kdyno_model::plan::{ProducePlan, Rate, VALUE_BYTES_MAX};
use kdyno_model::sample::{ClientTotals, Sample, StreamTotals, Timing};
use kdyno_model::worker::FromWorker;
use std::rc::Rc;

/// Most reasons for which records fail.
const REASONS_MAX: usize = 1_000;

/// Least and longest time between two releases of an open loop's records, ns. Between the two, one comes when the process has
/// woken up the worker anyway, which it does every 5 ms.
const RELEASE_AFTER_NS: u64 = AHEAD_NS * 2 / 5;
const RELEASE_AT_NS: u64 = AHEAD_NS * 3 / 5;

/// All clients of one producing load item on this worker, in a Java process.
pub(super) struct JavaProduceStream {
    link: JavaLink,
    context: StreamContext,
    plan: ProducePlan,
    clients: Vec<JavaProducer>,
    readiness: Readiness,
    /// What records are made of, once the topic's partitions are known, and of how many a full batch is.
    records: Option<(Rc<RecordSource>, u32)>,
    /// Why records fail, by the process's numbers from 1 on.
    reasons: Vec<String>,
    /// When each client's next record is to be handed over.
    due: Wakeups,
    token_bucket: TokenBucket,
    recorder: Option<Recorder>,
    clock: Option<LoadClock>,
    /// The client that is looked at first.
    first: usize,
    /// Last release of an open loop's records, ns.
    released_ns: u64,
    /// When the token bucket opens for what waits, ns.
    opens_ns: Option<u64>,
    has_task: bool,
    has_begun: bool,
    is_measuring: bool,
    /// Whether the end of the load was reached.
    is_flushing: bool,
}

impl JavaProduceStream {
    /// A stream whose process is not started yet.
    pub fn new(plan: ProducePlan, context: StreamContext, link: JavaLink) -> Result<Self, StreamError> {
        if plan.value_bytes > VALUE_BYTES_MAX {
            return Err(StreamError::ValueTooLong { value_bytes: plan.value_bytes, most: VALUE_BYTES_MAX });
        }
        let (count, first) = (context.task.client_count, context.task.client_first);
        let window = AheadLimit::of_each(count);
        let clients = (0..count).map(|index| JavaProducer::new((index, first + index), &plan, window));
        Ok(Self {
            link,
            clients: clients.collect(),
            readiness: Readiness::new(count as usize),
            records: None,
            reasons: Vec::new(),
            due: Wakeups::none(count as usize),
            token_bucket: TokenBucket::new(context.task.bytes_per_s_max),
            recorder: None,
            clock: None,
            first: 0,
            released_ns: 0,
            opens_ns: None,
            has_task: false,
            has_begun: false,
            is_measuring: false,
            is_flushing: false,
            context,
            plan,
        })
    }

    fn is_closed(&self) -> bool {
        matches!(self.plan.rate, Rate::Max { .. })
    }

    /// Sends the process what to do: at once, or where its clients come later when their time is there.
    fn say_task(&mut self) {
        if self.has_task || (self.context.is_late() && !self.has_begun) {
            return;
        }
        self.has_task = true;
        let settings = self.context.task.java.clone().map(|java| java.properties).unwrap_or_default();
        let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let stamps = self.is_closed().then_some(self.context.wall_offset_ns);
        let seed = self.context.transaction_seed(0);
        let transactions = self.plan.transactions.map(|plan| TransactionPace { plan, seed });
        let role = TaskRole::Produce { is_synchronous: self.plan.synchronous, stamps, transactions };
        self.link.say_task(&self.context, &settings, role);
    }

    fn read(&mut self, net: &mut dyn Net) {
        let Self { link, context, plan, clients, readiness, reasons, recorder, .. } = self;
        let has_transactions = plan.transactions.is_some();
        link.read(context, net, |frame, context| match frame {
            FromJava::Ready { client, began_ns, ready_ns, partitions } => {
                readiness.note(client, Connect { dialled_ns: began_ns, ready_ns }, partitions)
            }
            FromJava::Reason { number, name } => {
                if usize::from(number) != reasons.len() + 1 || reasons.len() == REASONS_MAX {
                    return Err(FrameError("reasons whose numbers do not follow one another"));
                }
                reasons.push(name.to_owned());
                Ok(())
            }
            FromJava::Outcomes { client, taken, outcomes } => {
                let client =
                    clients.get_mut(client as usize).ok_or(FrameError("a client that is not there"))?;
                let recorder = recorder.as_mut().ok_or(FrameError("outcomes before there were records"))?;
                if has_transactions && taken.iter().any(|taken| taken.accepted_ns > 0) {
                    client.in_transaction();
                }
                let ledger = client.ledger();
                taken.iter().try_for_each(|taken| ledger.taken(taken, reasons, recorder))?;
                outcomes.iter().try_for_each(|outcome| ledger.outcome(outcome, reasons, recorder))
            }
            FromJava::Transaction { client, ended } => {
                let client =
                    clients.get_mut(client as usize).ok_or(FrameError("a client that is not there"))?;
                let recorder =
                    recorder.as_mut().ok_or(FrameError("a transaction before there were records"))?;
                client.transaction_over(&ended, recorder, &mut context.events);
                Ok(())
            }
            _ => Err(FrameError("what only consumers say")),
        });
    }

    /// Notes what the instant brings for all clients.
    fn pass(&mut self, now_ns: u64, clock: LoadClock) {
        if !self.has_begun && clock.has_begun(now_ns) {
            self.has_begun = true;
            self.context.tell_began(now_ns);
        }
        self.is_measuring |= now_ns >= clock.measure_ns;
        let is_over = now_ns >= clock.load_end_ns;
        let is_exhausted = || self.clients.iter().all(JavaProducer::is_exhausted);
        if !self.is_flushing && (is_over || (self.is_measuring && self.has_begun && is_exhausted())) {
            self.is_flushing = true;
            self.context.tell_ended(now_ns, clock);
        }
    }

    /// Hands over what comes due within [`AHEAD_NS`], or what there is room for. What comes due after the death of the process
    /// is not handed over, but for what it had been handed before.
    fn hand_over(&mut self, now_ns: u64, clock: LoadClock, net: &dyn Net) {
        let (Some((records, batch)), Some(recorder)) = (&self.records, &mut self.recorder) else { return };
        if self.link.closed_ns().is_some() {
            return;
        }
        let is_release =
            now_ns >= self.released_ns.saturating_add(RELEASE_AFTER_NS) || now_ns >= clock.load_end_ns;
        if is_release {
            while let Some(client) = self.due.take_due(now_ns) {
                self.released_ns = now_ns;
                self.clients[client].release_now();
            }
        }
        self.opens_ns = None;
        // Where a cap lets few records through, who had some comes last the next time.
        let (first, count) = (self.first, self.clients.len());
        for index in (first..count).chain(0..first) {
            let client = &mut self.clients[index];
            if !client.has_something() {
                continue;
            }
            // What the clients before it took is this one's delay.
            let mut pace = ProducerPace {
                now_ns: net.now_ns(),
                clock,
                is_measuring: self.is_measuring,
                is_flushing: self.is_flushing,
                bucket: &mut self.token_bucket,
                opens_ns: &mut self.opens_ns,
            };
            let before = self.link.out().len();
            client.hand_over(records, *batch, &mut pace, recorder, self.link.out());
            if self.link.out().len() > before {
                self.first = (index + 1) % count;
            }
            self.due.set(index, client.next_release(clock));
        }
    }

    /// Once every record has an outcome, clients are closed.
    fn end_when_idle(&mut self, now_ns: u64) {
        let is_idle = || self.records.is_none() || self.clients.iter().all(JavaProducer::is_idle);
        if self.is_flushing && !self.link.is_ending() && is_idle() {
            self.link.end(now_ns);
        }
    }
}

impl Stream for JavaProduceStream {
    fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn is_connected(&self) -> Result<bool, StreamError> {
        if let Some(failure) = self.link.failure() {
            return Err(failure.clone());
        }
        Ok(if self.context.is_late() { self.readiness.is_any() } else { self.readiness.are_all() })
    }

    fn prepare(&mut self) -> Result<(), StreamError> {
        let source = record_source(&self.plan, self.readiness.partitions().max(1), false, &self.context)?;
        let source = source.building_each(self.context.seed);
        let batch = batch_records_max(&self.plan, &source);
        for client in &mut self.clients {
            client.prepare(&source, self.plan.records.partition, &self.context);
        }
        self.records = Some((Rc::new(source), batch));
        Ok(())
    }

    fn start(&mut self, t0_ns: u64) {
        let task = &self.context.task;
        let clock = LoadClock::new(t0_ns, task.span);
        self.link.begins(t0_ns);
        self.clock = Some(clock);
        let recorder = Recorder::new(self.context.id(), t0_ns, self.context.phases);
        self.recorder = Some(recorder.with_tool_lines(self.plan.tool_lines, Timing::WithoutGenerator));
        for (index, client) in self.clients.iter_mut().enumerate() {
            let number = task.client_first + index as u32;
            let schedule = self.context.schedule(&self.plan.rate, number);
            client.start(schedule, self.plan.records_max, (number, task.clients_total));
            self.due.set(index, client.next_release(clock));
        }
        self.released_ns = 0;
    }

    fn measure_begins(&mut self, start_ns: u64) {
        let (Some(clock), Some(recorder)) = (&mut self.clock, &mut self.recorder) else { return };
        clock.measure_begins(start_ns, &self.context.phases);
        recorder.measure_begins(start_ns);
        for (index, client) in self.clients.iter_mut().enumerate() {
            client.measure_begins(clock.schedule_start_ns());
            self.due.set(index, client.next_release(*clock));
        }
    }

    fn on_ready(&mut self, _client: usize, _connection: usize, _ready: SocketReadiness, _net: &mut dyn Net) {
        self.link.on_ready();
    }

    fn turn(&mut self, net: &mut dyn Net) {
        let now_ns = net.now_ns();
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(now_ns);
            self.readiness.take_times().into_iter().for_each(|times| recorder.connected(times));
        }
        self.link.keep_up(&self.context, now_ns, net);
        if let Some(clock) = self.clock {
            self.pass(now_ns, clock);
        }
        self.say_task();
        self.read(net);
        if let Some(clock) = self.clock {
            if self.has_begun {
                self.hand_over(now_ns, clock, net);
            }
            self.end_when_idle(now_ns);
        }
        self.link.flush(net);
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        // Before the load begins and the topic is known nothing can be handed over, nor once the process has died.
        let is_there = self.link.closed_ns().is_none();
        let due = self.due.next().filter(|_| is_there && self.has_begun && self.records.is_some());
        let opens = self.opens_ns.filter(|_| is_there);
        let due = due.map(|due| due.max(self.released_ns.saturating_add(RELEASE_AT_NS)));
        let begin = self.clock.map(|clock| clock.begin_ns).filter(|_| !self.has_begun);
        let measure = self.clock.map(|clock| clock.measure_ns).filter(|_| !self.is_measuring);
        let end = self.clock.map(|clock| clock.load_end_ns).filter(|_| !self.is_flushing);
        let of_all = [recorder, due, begin, measure, end, opens, self.link.next_deadline()];
        of_all.into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        self.is_flushing && (self.link.has_ended() || !self.has_begun)
    }

    /// What was handed over is sent all the same, up to [`AHEAD_NS`] past the new end.
    fn stop(&mut self, now_ns: u64) {
        if let Some(clock) = &mut self.clock {
            clock.load_end_ns = clock.load_end_ns.min(now_ns);
        }
    }

    fn finish(&mut self, now_ns: u64) -> StreamTotals {
        let id = self.context.id();
        let Some(mut recorder) = self.recorder.take() else {
            let clients = vec![ClientTotals::default(); self.clients.len()];
            return StreamTotals { id, clients, ..StreamTotals::default() };
        };
        recorder.tick(now_ns);
        let until_ns = self.link.closed_ns().map_or(now_ns, |closed_ns| now_ns.min(closed_ns));
        let clock = self.clock.filter(|clock| clock.has_begun(until_ns));
        let partitions = self.readiness.partitions() as u32;
        let clients = self.clients.drain(..);
        let clients =
            clients.map(|client| client.finish(clock, until_ns, partitions, &mut recorder)).collect();
        let (counts, steady) = (recorder.finish(), recorder.steady());
        self.recorder = Some(recorder);
        StreamTotals { id, counts, clients, steady, ..StreamTotals::default() }
    }

    fn context(&mut self) -> &mut StreamContext {
        &mut self.context
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.recorder.as_mut().map_or_else(Vec::new, Recorder::take_samples)
    }

    fn take_messages(&mut self) -> Vec<FromWorker> {
        self.link.take_messages()
    }

    fn failure(&self) -> Option<StreamError> {
        self.link.failure().cloned()
    }
}
