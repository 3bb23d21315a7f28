//! A consuming stream: its clients fetch, what they fetched is recorded.

use crate::connections_io::ConnectionsIo;
use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{self, Clock, Events, Ready, Stream, StreamContext, StreamError};
use crate::wakeups::Wakeups;
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::ConnectionsConfig;
use kdyno_kafka::client::Client;
use kdyno_kafka::consumer::{
    Consumer, ConsumerConfig, ConsumerEvent, Fetched, Isolation, OffsetAt, Reading, Tally,
};
use kdyno_model::event::EventKind;
use kdyno_model::plan::{ConsumePlan, IsolationLevel, Read, StartOffset};
use kdyno_model::sample::{ClientTotals, Counts, Sample, StreamTotals};

/// `metadata.max.age.ms`, ns: the Java consumer's default.
const METADATA_MAX_AGE_NS: u64 = 300_000_000_000;

/// One consuming client.
#[derive(Debug)]
struct ConsumeClient {
    kafka: Consumer,
    io: ConnectionsIo,
    totals: ClientTotals,
    first_ns: Option<u64>,
}

/// All clients of one consuming load item on this worker.
#[derive(Debug)]
pub struct ConsumeStream {
    clients: Vec<ConsumeClient>,
    wakeups: Wakeups,
    context: StreamContext,
    recorder: Option<Recorder>,
    clock: Option<Clock>,
    /// When nothing new will come any more, ns: the end of the load, or of the trial's last producer.
    settled_ns: Option<u64>,
    /// Whether T0 is past: nothing is fetched before it.
    has_begun: bool,
}

impl ConsumeStream {
    /// A stream that is not connected yet.
    pub fn new(plan: &ConsumePlan, context: StreamContext) -> Self {
        let clients = (0..context.task.client_count).map(|index| ConsumeClient {
            kafka: Consumer::new(
                consumer_config(plan, &context, index),
                connections_config(plan, &context, index),
            ),
            io: ConnectionsIo::new(index, &context.task),
            totals: ClientTotals::default(),
            first_ns: None,
        });
        let clients = clients.collect();
        let mut wakeups = Wakeups::none(context.task.client_count as usize);
        wakeups.all_now();
        Self { clients, wakeups, context, recorder: None, clock: None, settled_ns: None, has_begun: false }
    }

    /// Cuts samples when a second is over, which has the lag at its end.
    fn tick(&mut self, now_ns: u64) {
        if self.recorder.as_ref().is_some_and(|recorder| recorder.next_deadline() <= now_ns) {
            let lag = self.lag_records();
            if let Some(recorder) = &mut self.recorder {
                recorder.lag(lag);
                recorder.tick(now_ns);
            }
        }
    }

    fn lag_records(&self) -> Option<u64> {
        self.clients.iter().map(|client| client.kafka.lag_records()).sum()
    }
}

fn connections_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> ConnectionsConfig {
    let retry_backoff =
        ExponentialBackoff { first_ns: plan.retry_backoff_ns, max_ns: ExponentialBackoff::RETRY_MAX_NS };
    ConnectionsConfig {
        needs: Consumer::NEEDS,
        request_timeout_ns: plan.request_timeout_ns,
        metadata_max_age_ns: METADATA_MAX_AGE_NS,
        // An answer holds what was asked for and, at worst, one batch more than that.
        frame_bytes_max: (plan.fetch_bytes_max as usize).max(1 << 20) + (100 << 20),
        ..context.connections_config(index, retry_backoff)
    }
}

fn consumer_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> ConsumerConfig {
    ConsumerConfig {
        topic: context.task.topic.clone(),
        first_partition: (context.task.client_first + index) as usize,
        clients: context.task.clients_total as usize,
        from: match plan.from {
            StartOffset::Earliest => OffsetAt::Earliest,
            StartOffset::Latest => OffsetAt::Latest,
        },
        fetch_wait_ms: (plan.fetch_wait_ns / 1_000_000) as i32,
        fetch_bytes_min: plan.fetch_bytes_min as i32,
        fetch_bytes_max: plan.fetch_bytes_max as i32,
        partition_bytes_max: plan.partition_bytes_max as i32,
        retry_backoff_ns: plan.retry_backoff_ns,
        isolation: match plan.isolation_level {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        },
        reading: match plan.read {
            Read::Header => Reading::Header,
            Read::Crc => Reading::Crc,
            Read::Decode => Reading::Decode,
        },
        rack: plan.rack.clone(),
        metadata_max_age_ns: METADATA_MAX_AGE_NS,
    }
}

impl ConsumeClient {
    /// Records what was fetched.
    fn record(&mut self, recorder: &mut Recorder, events: &mut Events) {
        let fetched: Vec<Fetched> = self.kafka.take_fetched().collect();
        for fetched in fetched {
            let now_ns = fetched.received_ns;
            if fetched.throttled_ns > 0 {
                recorder.throttled(now_ns, fetched.throttled_ns);
                let by = self.kafka.connections().key(fetched.connection);
                events.throttled(now_ns, by, fetched.throttled_ns);
            }
            let Tally { batches, bytes, records, aborted_records, control_records, missing_offsets } =
                fetched.tally;
            recorder.request(now_ns, batches, fetched.response_bytes as u64);
            recorder.fetched(now_ns, records, bytes);
            recorder.passed_over(now_ns, aborted_records, control_records, missing_offsets);
            self.totals.records += records;
            if records > 0 {
                self.totals.span_ns = now_ns - *self.first_ns.get_or_insert(now_ns);
            }
        }
    }
}

impl Stream for ConsumeStream {
    fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn is_connected(&self) -> Result<bool, StreamError> {
        stream::are_connected(self.clients.iter().map(|client| &client.kafka), Consumer::is_ready)
    }

    fn prepare(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn start(&mut self, t0_ns: u64) {
        self.clock = Some(Clock::new(t0_ns, self.context.task.span));
        self.recorder = Some(Recorder::new(self.context.id(), t0_ns, self.context.phases));
    }

    fn measure_begins(&mut self, start_ns: u64) {
        if let (Some(clock), Some(recorder)) = (&mut self.clock, &mut self.recorder) {
            clock.measure_begins(start_ns, &self.context.phases);
            recorder.measure_begins(start_ns);
        }
    }

    fn on_ready(&mut self, client: usize, connection: usize, ready: Ready, net: &mut dyn Net) {
        if client >= self.clients.len() {
            return;
        }
        self.wakeups.now(client);
        self.tick(net.now_ns());
        let (number, index) = (self.context.task.client_first + client as u32, client);
        let client = &mut self.clients[index];
        client.io.on_ready(&mut client.kafka, connection, ready, net);
        // A second may have ended while it read.
        self.tick(net.now_ns());
        let client = &mut self.clients[index];
        if let Some(recorder) = &mut self.recorder {
            client.record(recorder, &mut self.context.events);
        }
        for (at_ns, event) in client.kafka.take_events() {
            let (kind, detail) = match event {
                ConsumerEvent::FetchError(detail) => (EventKind::FetchError, detail),
                ConsumerEvent::RecordsSkipped(detail) => (EventKind::RecordsSkipped, detail),
            };
            self.context.events.push(at_ns, kind, format!("client {number}: {detail}"));
        }
    }

    fn turn(&mut self, net: &mut dyn Net) {
        let now_ns = net.now_ns();
        self.tick(now_ns);
        if !self.has_begun && self.clock.is_some_and(|clock| now_ns >= clock.t0_ns) {
            self.has_begun = true;
            for client in &mut self.clients {
                // What cannot be reached since before T0 concerns the load now.
                client.kafka.connections_mut().begin(now_ns);
            }
            self.wakeups.all_now();
        }
        if let Some(clock) = self.clock
            && !self.context.has_producers
            && now_ns >= clock.load_end_ns
        {
            self.settled_ns.get_or_insert(now_ns);
        }
        // All first: a client that is due again at once waits for the next turn.
        let awake: Vec<usize> = std::iter::from_fn(|| self.wakeups.take_due(now_ns)).collect();
        for index in awake {
            let client = &mut self.clients[index];
            client.io.keep_up(&mut client.kafka, net, now_ns, &mut self.context.events);
            client.kafka.poll(now_ns, self.has_begun);
            client.io.flush_all(client.kafka.connections_mut(), net);
            self.wakeups.set(index, client.kafka.next_deadline());
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        let begin = self.clock.map(|clock| clock.t0_ns).filter(|_| !self.has_begun);
        let end = self.clock.map(|clock| clock.load_end_ns);
        let end = end.filter(|_| self.settled_ns.is_none() && !self.context.has_producers);
        self.wakeups.next().into_iter().chain(recorder).chain(begin).chain(end).min()
    }

    fn is_done(&self) -> bool {
        let settled_ns = self.settled_ns.unwrap_or(u64::MAX);
        self.clients.iter().all(|client| client.kafka.is_caught_up(settled_ns))
    }

    fn stop(&mut self, now_ns: u64) {
        self.settled_ns.get_or_insert(now_ns);
    }

    fn finish(&mut self, now_ns: u64) -> StreamTotals {
        let id = self.context.id();
        self.tick(now_ns);
        let lag = self.lag_records();
        let counts = self.recorder.as_mut().map_or_else(Counts::default, |recorder| {
            recorder.lag(lag);
            recorder.finish()
        });
        StreamTotals { id, counts, clients: self.clients.iter().map(|client| client.totals).collect() }
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.recorder.as_mut().map_or_else(Vec::new, Recorder::take_samples)
    }

    fn context(&mut self) -> &mut StreamContext {
        &mut self.context
    }
}
