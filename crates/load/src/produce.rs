//! A producing stream: schedules come due, clients take records, batches go out, outcomes are known.

use crate::client::{DrawnRecords, ProduceClient};
use crate::connecting::Connecting;
use crate::net::Net;
use crate::payload::{BodyBuilder, BodyForm, BodyPool};
use crate::record_source::{batch_records_max, compression, compressor, record_source};
use crate::recorder::Recorder;
use crate::records::{Draws, RecordSource};
use crate::stream::{LoadClock, SocketReadiness, Stream, StreamContext, StreamError};
use crate::token_bucket::TokenBucket;
use crate::wakeups::Wakeups;
use kdyno_kafka::client::Client;
use kdyno_kafka::producer::{Partitioner, Producer, ProducerConfig, TransactionsConfig};
use kdyno_model::plan::{self, Fill, Payload, ProducePlan, Rate, VALUE_BYTES_MAX};
use kdyno_model::sample::{ClientTotals, Sample, StreamTotals, Timing};
use kdyno_model::seed::mix;
use std::rc::Rc;

/// Most partitions one stream sends to, of all its topics.
const PARTITIONS_MAX: usize = 10_000;

/// The clients that one turn is for.
#[derive(Debug, Default)]
struct Turns {
    clients: Vec<usize>,
    /// Per client: its turn releases what is due.
    releases: Vec<bool>,
    /// Per client: it will not take another record.
    is_exhausted: Vec<bool>,
    /// Clients that will take another record.
    active: usize,
}

/// All clients of one producing load item on this worker.
#[derive(Debug)]
pub struct ProduceStream {
    clients: Vec<ProduceClient>,
    connecting: Connecting,
    /// When each client's next record comes due; looked at once a tick.
    due: Wakeups,
    /// When each client has something else to do: a batch has lingered, a reply came, a time-out is near.
    wakeups: Wakeups,
    turns: Turns,
    token_bucket: TokenBucket,
    recorder: Option<Recorder>,
    context: StreamContext,
    plan: ProducePlan,
    pool: Option<Rc<BodyPool>>,
    /// What records are made of, once a client knows the partitions of each topic, and how many it knew.
    records: Option<(Rc<RecordSource>, Vec<usize>)>,
    clock: Option<LoadClock>,
    /// Last release of due records, ns: releases are at least a tick apart.
    released_ns: u64,
    /// Last turn of clients that time woke, ns: such turns are at least a tick apart too, or thousands of
    /// clients that linger would be as many timers.
    woken_ns: u64,
    /// Whether T0 is past.
    has_begun: bool,
    /// Whether the measure phase has begun: before it no client has sent all that it will.
    is_measuring: bool,
    /// Whether the end of the load was reached, so that batches go out without lingering.
    is_flushing: bool,
}

impl ProduceStream {
    /// A stream that is not connected yet.
    ///
    /// # Errors
    /// When the plan cannot be carried out, e.g. a value too long.
    pub fn new(plan: ProducePlan, context: StreamContext) -> Result<Self, StreamError> {
        if plan.value_bytes > VALUE_BYTES_MAX {
            return Err(StreamError::ValueTooLong { value_bytes: plan.value_bytes, most: VALUE_BYTES_MAX });
        }
        let count = context.task.client_count as usize;
        Ok(Self {
            clients: (0..count as u32).map(|index| ProduceClient::new(index, &plan, &context)).collect(),
            connecting: Connecting::new(count),
            due: Wakeups::none(count),
            wakeups: Wakeups::none(count),
            token_bucket: TokenBucket::new(context.task.bytes_per_s_max),
            turns: Turns {
                releases: vec![false; count],
                is_exhausted: vec![false; count],
                active: count,
                ..Turns::default()
            },
            recorder: None,
            context,
            plan,
            pool: None,
            records: None,
            clock: None,
            released_ns: 0,
            woken_ns: 0,
            has_begun: false,
            is_measuring: false,
            is_flushing: false,
        })
    }

    /// What its records are made of, for topics of so many partitions each.
    fn record_source(&self, partitions: &[usize]) -> Result<RecordSource, StreamError> {
        // As in Java: neither a partition that is stated nor the round-robin partitioner asks for the key.
        let is_keyed = self.plan.records.partition.is_none()
            && !self.plan.client.ignore_keys
            && self.plan.client.partitioner == plan::Partitioner::Sticky;
        let least = partitions.iter().min().copied().unwrap_or(1);
        let most = partitions.iter().max().copied().unwrap_or(1);
        if is_keyed && self.plan.records.key.is_some() && least < most {
            return Err(StreamError::UnequalTopics(least, most));
        }
        record_source(&self.plan, least, is_keyed, &self.context)
    }

    /// Settings of a client's producer.
    fn producer_config(&self, client: u32, records: &RecordSource) -> ProducerConfig {
        let settings = &self.plan.client;
        ProducerConfig {
            client_id: self.context.client_id(client),
            topics: self.context.topics(),
            acks: settings.acks,
            batch_bytes: settings.batch_bytes,
            linger_ns: settings.linger_ns,
            buffer_bytes: settings.buffer_bytes,
            fill_in_flight: matches!(self.plan.rate, Rate::Max { fill: Fill::InFlight }),
            is_synchronous: self.plan.synchronous,
            request_bytes_max: settings.request_bytes_max,
            in_flight_max: settings.in_flight_max,
            request_timeout_ns: settings.request_timeout_ns,
            delivery_timeout_ns: settings.delivery_timeout_ns,
            retry_backoff_ns: settings.retry_backoff_ns,
            retry_backoff_max_ns: settings.retry_backoff_max_ns,
            compression: compression(&self.plan),
            batch_records_max: batch_records_max(&self.plan, records),
            wall_offset_ns: self.context.wall_offset_ns,
            is_idempotent: settings.enable_idempotence,
            transactions: self.plan.transactions.map(|_| TransactionsConfig {
                transactional_id: self.context.transactional_id(client),
                timeout_ms: i32::try_from(settings.transaction_timeout_ns / 1_000_000).unwrap_or(i32::MAX),
            }),
            partitioner: match (self.plan.records.partition, settings.partitioner) {
                (Some(partition), _) => Partitioner::One(partition as usize),
                (None, plan::Partitioner::Sticky) => Partitioner::Sticky,
                (None, plan::Partitioner::RoundRobin) => Partitioner::RoundRobin,
            },
            adaptive_partitioning: settings.adaptive_partitioning,
            availability_timeout_ns: settings.availability_timeout_ns,
            seed: mix(self.context.seed, 0x5717 + u64::from(client)),
        }
    }

    fn payloads(&self, client: u32, records: &Rc<RecordSource>) -> BodyBuilder {
        let form = BodyForm {
            shape: records.shape(),
            records_max: batch_records_max(&self.plan, records),
            compressor: compressor(&self.plan),
            wall_offset_ns: self.context.wall_offset_ns,
        };
        let records = Rc::clone(records);
        match &self.pool {
            Some(pool) => BodyBuilder::pooled(form, records, Rc::clone(pool), client),
            None => BodyBuilder::unique(form, records, self.context.run_id, client),
        }
    }

    /// Makes a client that is connected ready to take records.
    fn prepare_client(&mut self, index: usize) {
        let Some((records, partitions)) = &self.records else { return };
        let kafka = self.clients[index].kafka();
        // One that has older metadata hears of the other partitions soon.
        let known: Vec<usize> = kafka.partition_counts().collect();
        if !kafka.connections().is_ready() || known.iter().zip(partitions).any(|(own, known)| own < known) {
            return;
        }
        // With several topics all clients have the same places for their partitions.
        let partitions = if known.len() == 1 { known } else { partitions.clone() };
        let client = self.context.task.client_first + index as u32;
        let config = self.producer_config(client, records);
        let payloads = self.payloads(client, records);
        let drawn = records.is_drawn().then(|| {
            let draws = Draws::new(self.context.seed, client, self.context.task.clients_total);
            DrawnRecords::new(Rc::clone(records), draws, partitions.len() == 1)
        });
        let shape = records.shape();
        self.clients[index].prepare((config, &partitions), shape, payloads, drawn);
    }

    /// Notes what the instant brings for all clients: the start, the measure phase, a tick, the end of the load.
    fn pass(&mut self, now_ns: u64, clock: LoadClock) {
        if !self.has_begun && clock.has_begun(now_ns) {
            self.has_begun = true;
            self.context.tell_began(now_ns);
            self.clients.iter_mut().for_each(|client| client.begins(now_ns));
            self.connecting.begin_all(&mut self.wakeups);
        }
        if !self.is_measuring && now_ns >= clock.measure_ns {
            self.is_measuring = true;
            self.wake_all();
        }
        let is_over = now_ns >= clock.load_end_ns;
        if now_ns >= self.released_ns.saturating_add(self.context.tick_ns) || is_over {
            while let Some(client) = self.due.take_due(now_ns) {
                self.released_ns = now_ns;
                self.turns.releases[client] = true;
                self.turns.clients.push(client);
            }
        }
        if !self.is_flushing && (is_over || self.turns.active == 0) {
            self.is_flushing = true;
            self.context.tell_ended(now_ns, clock);
            self.wake_all();
        }
    }

    /// Wakes all clients, unless they have yet to come.
    fn wake_all(&mut self) {
        if self.has_begun {
            self.wakeups.all_now();
        }
    }

    /// Gives a turn to clients that are to be woken by `now_ns`; 0: those that have something to do at once.
    /// Returns whether there were any.
    fn wake(&mut self, now_ns: u64) -> bool {
        let mut is_woken = false;
        while let Some(client) = self.wakeups.take_due(now_ns) {
            is_woken = true;
            if !self.turns.releases[client] {
                self.turns.clients.push(client);
            }
        }
        is_woken
    }

    /// Lets a client take records, send and keep its connections up. It has a reading of the clock of its own: what
    /// the clients before it took is this one's delay.
    fn turn_client(&mut self, index: usize, net: &mut dyn Net) {
        let mut now_ns = net.now_ns();
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(now_ns);
        }
        if !self.clients[index].is_prepared() {
            self.prepare_client(index);
        }
        self.connecting.dials(index, now_ns);
        let client = &mut self.clients[index];
        let releases = std::mem::take(&mut self.turns.releases[index]);
        if let (Some(clock), Some(recorder)) = (self.clock, &mut self.recorder) {
            if matches!(self.plan.rate, Rate::Max { .. }) {
                client.admit_at_once(now_ns, clock, recorder);
            } else if releases {
                client.release_due(now_ns, now_ns, clock, recorder);
            } else {
                client.admit_backlog(now_ns, clock, recorder);
            }
            // With the maximum rate nothing comes due, and the buffer is full.
            if !matches!(self.plan.rate, Rate::Max { .. }) {
                now_ns = client.compress_full(now_ns, clock, net, recorder);
            }
        }
        let (token_bucket, recorder) = (&mut self.token_bucket, self.recorder.as_mut());
        client.turn(net, now_ns, self.is_flushing, token_bucket, recorder, &mut self.context.events);
        self.wakeups.set(index, client.next_deadline(self.is_flushing, token_bucket.opens_ns(now_ns)));
        self.connecting.look(index, net.now_ns(), client.kafka(), || true, &mut self.wakeups);
        if let Some(clock) = self.clock {
            self.due.set(index, client.next_due(clock));
            self.turns.note(index, self.is_measuring && client.is_exhausted());
        }
    }
}

impl Turns {
    /// Notes whether a client takes further records.
    fn note(&mut self, client: usize, is_exhausted: bool) {
        let was_exhausted = std::mem::replace(&mut self.is_exhausted[client], is_exhausted);
        self.active = self.active + usize::from(was_exhausted) - usize::from(is_exhausted);
    }
}

impl Stream for ProduceStream {
    fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn is_connected(&self) -> Result<bool, StreamError> {
        if self.context.is_late() {
            return Ok(self.connecting.is_any_ready()?);
        }
        let are_up = || self.clients.iter().all(|client| client.kafka().connections().is_ready());
        Ok(self.connecting.are_all_ready()? && are_up())
    }

    fn prepare(&mut self) -> Result<(), StreamError> {
        // Where a topic has just got more of them, keys choose among those that every client knows.
        let ready =
            self.clients.iter().map(ProduceClient::kafka).filter(|kafka| kafka.connections().is_ready());
        let mut partitions = vec![usize::MAX; 1 + self.context.task.more_topics.len()];
        for kafka in ready {
            let of_topics = partitions.iter_mut().zip(kafka.partition_counts());
            of_topics.for_each(|(least, own)| *least = own.min(*least));
        }
        partitions.iter_mut().filter(|least| matches!(**least, 0 | usize::MAX)).for_each(|least| *least = 1);
        let all: usize = partitions.iter().sum();
        if all > PARTITIONS_MAX {
            return Err(StreamError::TooManyPartitions { partitions: all, most: PARTITIONS_MAX });
        }
        let records = Rc::new(self.record_source(&partitions)?);
        let shape = records.shape();
        if let Payload::Pooled { pool_bytes } = self.plan.payload {
            let count = batch_records_max(&self.plan, &records);
            let pool = BodyPool::build(shape, count, pool_bytes, compression(&self.plan), self.context.seed);
            self.pool = Some(Rc::new(pool.map_err(|error| StreamError::Pool(error.to_string()))?));
        }
        self.records = Some((records, partitions));
        (0..self.clients.len()).for_each(|index| self.prepare_client(index));
        // An idempotent producer asks for its id before there is a load.
        self.wakeups.all_now();
        Ok(())
    }

    fn is_ready(&self) -> Result<bool, StreamError> {
        if self.plan.transactions.is_none() {
            return Ok(true);
        }
        let mut producers = self.clients.iter().filter_map(|client| client.kafka().producer());
        if let Some(error) = producers.clone().find_map(Producer::ended_by) {
            return Err(StreamError::NoProducerId(error));
        }
        Ok(producers.all(Producer::takes_records))
    }

    fn start(&mut self, t0_ns: u64) {
        let task = &self.context.task;
        let clock = LoadClock::new(t0_ns, task.span);
        self.clock = Some(clock);
        let partitions = self.records.as_ref().map_or(0, |(_, partitions)| partitions.iter().sum());
        let recorder =
            Recorder::new(self.context.id(), t0_ns, self.context.phases).with_partitions(partitions);
        self.recorder = Some(recorder.with_tool_lines(self.plan.tool_lines, Timing::Service));
        for (index, client) in self.clients.iter_mut().enumerate() {
            let number = task.client_first + index as u32;
            if let Some(schedule) = self.context.schedule(&self.plan.rate, number) {
                client.set_schedule(schedule);
            }
            client.set_limit(self.plan.records_max, number, task.clients_total);
            self.due.set(index, client.next_due(clock));
        }
        self.released_ns = 0;
    }

    fn measure_begins(&mut self, start_ns: u64) {
        let (Some(clock), Some(recorder)) = (&mut self.clock, &mut self.recorder) else { return };
        clock.measure_begins(start_ns, &self.context.phases);
        recorder.measure_begins(start_ns);
        for (index, client) in self.clients.iter_mut().enumerate() {
            client.measure_begins(clock.schedule_start_ns());
            self.due.set(index, client.next_due(*clock));
        }
    }

    fn on_ready(&mut self, client: usize, connection: usize, ready: SocketReadiness, net: &mut dyn Net) {
        if client >= self.clients.len() {
            return;
        }
        self.wakeups.now(client);
        let (recorder, events) = (self.recorder.as_mut(), &mut self.context.events);
        self.clients[client].on_ready(connection, ready, net, recorder, events);
    }

    fn turn(&mut self, net: &mut dyn Net) {
        let now_ns = net.now_ns();
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(now_ns);
            self.connecting.take_times().into_iter().for_each(|times| recorder.connected(times));
        }
        match self.clock {
            Some(clock) => self.pass(now_ns, clock),
            None if self.context.is_late() => {}
            None => self.connecting.begin_some(now_ns, &mut self.wakeups),
        }
        self.wake(0);
        if now_ns >= self.woken_ns.saturating_add(self.context.tick_ns) || self.released_ns == now_ns {
            let is_woken = self.wake(now_ns);
            self.woken_ns = if is_woken { now_ns } else { self.woken_ns };
        }
        let mut clients = std::mem::take(&mut self.turns.clients);
        for client in clients.drain(..) {
            self.turn_client(client, net);
        }
        self.turns.clients = clients;
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        let tick_ns = self.context.tick_ns;
        let due = self.due.next().map(|due| due.max(self.released_ns.saturating_add(tick_ns)));
        let woken = self.wakeups.next().map(|at| match at {
            0 => 0,
            at => at.max(self.woken_ns.saturating_add(tick_ns)),
        });
        let begin = self.clock.map(|clock| clock.begin_ns).filter(|_| !self.has_begun);
        let measure = self.clock.map(|clock| clock.measure_ns).filter(|_| !self.is_measuring);
        // Once no client takes another record that is at once.
        let end = self.clock.map(|clock| if self.turns.active == 0 { 0 } else { clock.load_end_ns });
        let end = end.filter(|_| !self.is_flushing);
        let wave = self.connecting.next_wave_ns().filter(|_| self.clock.is_none() && !self.context.is_late());
        woken.into_iter().chain(wave).chain(recorder).chain(due).chain(begin).chain(measure).chain(end).min()
    }

    fn is_done(&self) -> bool {
        self.is_flushing && self.clients.iter().all(ProduceClient::is_idle)
    }

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
        let t0_ns = self.clock.map_or(now_ns, |clock| clock.t0_ns);
        let clients: Vec<ClientTotals> =
            self.clients.drain(..).map(|client| client.finish(t0_ns, now_ns, &mut recorder)).collect();
        let (counts, steady) = (recorder.finish(), recorder.steady());
        let partitions = recorder.take_partitions();
        self.recorder = Some(recorder);
        StreamTotals { id, counts, clients, steady, caught_up: None, partitions }
    }

    fn context(&mut self) -> &mut StreamContext {
        &mut self.context
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.recorder.as_mut().map_or_else(Vec::new, Recorder::take_samples)
    }
}
