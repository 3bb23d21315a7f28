//! One consuming client: its connections, what it fetches, and its application.

use super::application::Application;
use crate::connections_io::ConnectionsIo;
use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{Events, StreamContext};
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::ConnectionsConfig;
use kdyno_kafka::client::Client;
use kdyno_kafka::consumer::{
    self, Consumer, ConsumerConfig, ConsumerEvent, Fetched, Isolation, OffsetAt, Partitions, Reading, Tally,
};
use kdyno_model::event::EventKind;
use kdyno_model::plan::{ConsumePlan, IsolationLevel, Read, StartOffset};
use kdyno_model::sample::ClientTotals;

/// `metadata.max.age.ms`, ns: the Java consumer's default.
const METADATA_MAX_AGE_NS: u64 = 300_000_000_000;

/// One consuming client.
#[derive(Debug)]
pub(super) struct ConsumeClient {
    pub kafka: Consumer<Application>,
    pub io: ConnectionsIo,
    pub totals: ClientTotals,
    /// The client's number among all of the load item's.
    number: u32,
    first_ns: Option<u64>,
    tick_ns: u64,
}

impl ConsumeClient {
    /// Client `index` of those that this stream has.
    pub(super) fn new(plan: &ConsumePlan, context: &StreamContext, index: u32) -> Self {
        let application = Application::new(plan, context.work_seed(index));
        let connections = connections_config(plan, context, index);
        Self {
            kafka: Consumer::new(consumer_config(plan, context, index), connections, application),
            io: ConnectionsIo::new(index, &context.task),
            totals: ClientTotals::default(),
            number: context.task.client_first + index,
            first_ns: None,
            tick_ns: context.tick_ns,
        }
    }

    /// Does what is due: connects, works, asks. Returns when to be called next by time alone, ns.
    pub(super) fn turn(
        &mut self,
        is_fetching: bool,
        net: &mut dyn Net,
        recorder: Option<&mut Recorder>,
        events: &mut Events,
    ) -> Option<u64> {
        let now_ns = net.now_ns();
        self.io.keep_up(&mut self.kafka, net, now_ns, events);
        if let Some(recorder) = recorder {
            self.work(now_ns, recorder);
        }
        let is_polling = !self.kafka.sink().is_at_work(now_ns);
        self.kafka.poll(now_ns, is_fetching && is_polling);
        self.io.flush_all(self.kafka.connections_mut(), net);
        let work_ns = self.kafka.sink().next_deadline(now_ns);
        // Its instants are reckoned: it needs no turn for each record.
        let work_ns = work_ns.map(|at_ns| at_ns.max(now_ns + self.tick_ns));
        self.kafka.next_deadline().into_iter().chain(work_ns).min()
    }

    /// Records what came with answers.
    pub(super) fn record(&mut self, recorder: &mut Recorder, events: &mut Events) {
        let fetched: Vec<Fetched> = self.kafka.take_fetched().collect();
        let works = self.kafka.sink().works();
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
            recorder.fetched_bytes(now_ns, bytes);
            recorder.passed_over(now_ns, aborted_records, control_records, missing_offsets);
            if records > 0 && !works {
                self.handed_over(now_ns, records, recorder);
            }
        }
        for (at_ns, event) in self.kafka.take_events() {
            let (kind, detail) = match event {
                ConsumerEvent::FetchError(detail) => (EventKind::FetchError, detail),
                ConsumerEvent::RecordsSkipped(detail) => (EventKind::RecordsSkipped, detail),
            };
            events.push(at_ns, kind, format!("client {}: {detail}", self.number));
        }
    }

    /// Its application goes on until now.
    fn work(&mut self, now_ns: u64, recorder: &mut Recorder) {
        let application = self.kafka.sink_mut();
        if !application.works() {
            return;
        }
        let (mut begun, mut last_ns) = (0, 0);
        let first_ns = &mut self.first_ns;
        application.advance(now_ns, |_, at_ns| {
            first_ns.get_or_insert(at_ns);
            recorder.handed_over(at_ns, 1);
            (begun, last_ns) = (begun + 1, at_ns);
        });
        let released = application.take_released();
        released.into_iter().for_each(|partition| self.kafka.release(partition));
        if begun > 0 {
            self.totals.records += begun;
            self.totals.span_ns = last_ns - self.first_ns.unwrap_or(last_ns);
        }
    }

    fn handed_over(&mut self, now_ns: u64, records: u64, recorder: &mut Recorder) {
        recorder.handed_over(now_ns, records);
        self.totals.records += records;
        self.totals.span_ns = now_ns - *self.first_ns.get_or_insert(now_ns);
    }

    /// Records between it and the end of the log; `None`: a leader has not told yet where that is.
    pub(super) fn lag_records(&self) -> Option<u64> {
        self.kafka.lag_records().map(|left| left + self.kafka.sink().waiting() as u64)
    }

    /// Whether its application has everything that there was at `end_ns`.
    pub(super) fn is_caught_up(&self, end_ns: u64) -> bool {
        self.kafka.sink().waiting() == 0 && self.kafka.is_caught_up(end_ns)
    }
}

fn connections_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> ConnectionsConfig {
    let retry_backoff =
        ExponentialBackoff { first_ns: plan.retry_backoff_ns, max_ns: ExponentialBackoff::RETRY_MAX_NS };
    ConnectionsConfig {
        needs: consumer::NEEDS,
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
        partitions: Partitions::Share {
            first: (context.task.client_first + index) as usize,
            clients: context.task.clients_total as usize,
        },
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
        holds_fetched: plan.work.is_some(),
        rack: plan.rack.clone(),
        metadata_max_age_ns: METADATA_MAX_AGE_NS,
    }
}
