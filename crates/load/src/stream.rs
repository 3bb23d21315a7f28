//! What every stream is to the event loop: something with connections, deadlines and an end.

use crate::groups::ReadGroups;
use crate::net::Net;
use crate::records::GivenBySource;
use crate::schedule::Schedule;
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::{ConnectionKey, ConnectionsConfig};
use kdyno_kafka::connection::PermanentError;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::group::GroupError;
use kdyno_kafka::security::{ConnectionSecurity, Hidden};
use kdyno_model::event::EventKind;
use kdyno_model::plan::{LoadSpan, PhasesPlan, Rate};
use kdyno_model::sample::{Sample, StreamId, StreamTotals};
use kdyno_model::seed::mix;
use kdyno_model::worker::{FromWorker, StreamTask, WorkerEvent};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Most events of one stream that are kept: a flapping connection must not fill the run file.
const EVENTS_MAX: u32 = 10_000;
/// Reasons for failed transactions that are reported: a Java client makes them up.
const REASONS_MAX: usize = 100;

/// Place of the first client's seed for its connections among those drawn from the stream's.
const CONNECTION_SEEDS: u64 = 1 << 40;
/// Seed of the client for its transactions.
const TRANSACTION_SEEDS: u64 = 2 << 40;
/// Seed of the client for its application's work.
const WORK_SEEDS: u64 = 3 << 40;
/// Seed of the client as a member of a consumer group.
const MEMBER_SEEDS: u64 = 4 << 40;

/// Why a stream cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StreamError {
    /// Records are to go to a partition that is not there.
    #[error("records are to go to partition {partition}, the topic has {partitions}, counted from 0")]
    NoSuchPartition {
        /// As planned.
        partition: u32,
        /// Partitions of the topic on the brokers.
        partitions: usize,
    },
    /// Keys choose among the partitions of topics that have from so many to so many.
    #[error(
        "one client's keys choose among equally many partitions of each topic, and these have {0} to {1}"
    )]
    UnequalTopics(usize, usize),
    /// Keys or values were to come before the task, and did not.
    #[error("what {0} holds was not given to the worker")]
    NotGiven(String),
    /// Values are larger than kdyno makes them.
    #[error("values of {value_bytes} bytes are above the limit of {most}")]
    ValueTooLong {
        /// Bytes of a value, as planned.
        value_bytes: u32,
        /// Most bytes of a value.
        most: u32,
    },
    /// The topics have more partitions than a stream keeps apart.
    #[error("the topic has {partitions} partitions, one stream sends to {most} at most")]
    TooManyPartitions {
        /// Partitions of its topics on the brokers.
        partitions: usize,
        /// Most partitions of one stream.
        most: usize,
    },
    /// The pool cannot be built.
    #[error("the payload pool cannot be built: {0}")]
    Pool(String),
    /// Transactional producers get no id.
    #[error("its producers get no id for transactions: {0}")]
    NoProducerId(ErrorCode),
    /// A client is not let into its group.
    #[error("a client cannot be a member: {0}")]
    NoMember(GroupError),
    /// The cluster will never serve the clients.
    #[error("the cluster refuses its clients: {0}")]
    Refused(#[from] PermanentError),
    /// The Java client cannot do what the plan wants of it; holds what.
    #[error(
        "the Java client does not support {0}: leave it out, or let kdyno's own client run the load item"
    )]
    NotByJava(&'static str),
    /// The task does not say how the Java client reaches the cluster.
    #[error("how the Java client reaches the cluster was not given to the worker")]
    NoJavaConnection,
    /// The Java process cannot be started.
    #[error("{program} cannot be started: {reason}")]
    JavaNotStarted {
        /// The program.
        program: String,
        /// What the operating system said.
        reason: String,
    },
    /// The Java process said nothing; holds the last lines that it wrote.
    #[error("the Java process has not answered within {seconds} s{lines}")]
    JavaSilent {
        /// How long it was waited for, s.
        seconds: u64,
        /// What it wrote last, in words.
        lines: String,
    },
    /// The Java process ended.
    #[error("the Java process ended {how}{lines}")]
    JavaEnded {
        /// Its exit status, in words.
        how: String,
        /// What it wrote last, in words.
        lines: String,
    },
    /// The Java client refuses one of its settings; holds its words.
    #[error("the Java client refuses a setting: {0}")]
    JavaSetting(String),
    /// The Java client cannot go on; holds its words.
    #[error("the Java client failed: {0}")]
    JavaFailed(String),
    /// The Java process said what it must not; a defect of kdyno.
    #[error("the Java process said what makes no sense: {0}")]
    JavaSaid(String),
}

/// Where the load's turning points lie on the stream's clock, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadClock {
    /// T0: when the load begins, ns.
    pub t0_ns: u64,
    /// First instant of the measure phase, ns; until it is announced `u64::MAX`.
    pub measure_ns: u64,
    /// When the stream's clients begin, ns: T0, or where they come later a place in the measure phase, until that is
    /// announced `u64::MAX`.
    pub begin_ns: u64,
    /// No record is intended from here on and nothing new fetched, ns: the end of the measure phase, or where the clients
    /// go sooner a place in it; until that is announced `u64::MAX`.
    pub load_end_ns: u64,
    /// When the clients come and go.
    span: LoadSpan,
}

impl LoadClock {
    /// A clock that knows T0 alone, ns: the warm-up has no end yet.
    pub fn new(t0_ns: u64, span: LoadSpan) -> Self {
        let begin_ns = if span.is_late() { u64::MAX } else { t0_ns };
        Self { t0_ns, measure_ns: u64::MAX, begin_ns, load_end_ns: u64::MAX, span }
    }

    /// The measure phase begins `start_ns` after T0. A load that was stopped before stays so.
    pub fn measure_begins(&mut self, start_ns: u64, lengths: &PhasesPlan) {
        self.measure_ns = self.t0_ns.saturating_add(start_ns);
        let work = self.span.within(lengths.measure_ns);
        if self.span.is_late() {
            self.begin_ns = self.measure_ns.saturating_add(work.start);
        }
        self.load_end_ns = self.load_end_ns.min(self.measure_ns.saturating_add(work.end));
    }

    /// From T0 to where the schedule of the measure phase begins, ns: with it, or with the clients that come later.
    pub fn schedule_start_ns(&self) -> u64 {
        self.measure_ns.max(self.begin_ns).saturating_sub(self.t0_ns)
    }

    /// Whether the clients are to work at an instant; those that were stopped before they came never are.
    pub fn has_begun(&self, now_ns: u64) -> bool {
        now_ns >= self.begin_ns && (self.begin_ns == self.t0_ns || self.begin_ns < self.load_end_ns)
    }

    /// Whether the clients go by then although the measure phase goes on.
    pub fn goes_early(&self, now_ns: u64) -> bool {
        let until_ns = self.span.until_ns.map(|until_ns| self.measure_ns.saturating_add(until_ns));
        until_ns.is_some_and(|until_ns| now_ns >= until_ns)
    }
}

/// What a stream knows of its surroundings.
#[derive(Debug, Clone)]
pub struct StreamContext {
    /// Number of the worker, from 0.
    pub worker: u16,
    /// Identifies the run in unique payloads.
    pub run_id: u64,
    /// Seed of the stream.
    pub seed: u64,
    /// Brokers to ask first.
    pub bootstrap: Vec<(String, u16)>,
    /// Prefix of client ids.
    pub client_id_prefix: String,
    /// Wall clock minus monotonic clock, ns.
    pub wall_offset_ns: i64,
    /// Least time between two releases of due records, ns.
    pub tick_ns: u64,
    /// Lengths of the phases.
    pub phases: PhasesPlan,
    /// Whether any stream of the trial produces: consumers then go on until all of these have ended.
    pub has_producers: bool,
    /// What the lab wants of the stream.
    pub task: StreamTask,
    /// Keys and values that the lab gave.
    pub given: GivenBySource,
    /// What members of consumer groups on this worker know together.
    pub groups: ReadGroups,
    /// TLS and login of its clients.
    pub security: ConnectionSecurity,
    /// How the Java client reaches the cluster, as the text of a properties file.
    pub java_connection: Option<Hidden>,
    /// What happened, for the timeline.
    pub events: Events,
}

impl StreamContext {
    /// Whose samples and totals are those of the stream.
    pub fn id(&self) -> StreamId {
        StreamId { worker: self.worker, stream: self.task.stream }
    }

    /// The topics that each of its clients has.
    pub(crate) fn topics(&self) -> Vec<String> {
        std::iter::once(&self.task.topic).chain(&self.task.more_topics).cloned().collect()
    }

    /// `client.id` of the item's client `client`.
    pub fn client_id(&self, client: u32) -> String {
        format!("{}{}-{client}", self.client_id_prefix, self.task.name)
    }

    /// `transactional.id` of the item's client `client`: no other run's, or its producer would be fenced.
    pub fn transactional_id(&self, client: u32) -> String {
        format!("{}{:016x}-{}-{client}", self.client_id_prefix, self.run_id, self.task.name)
    }

    /// Whether its clients come only in the measure phase: the start does not wait for them before T0.
    pub fn is_late(&self) -> bool {
        self.task.span.is_late()
    }

    /// Reports to the timeline that clients that come in the measure phase begin.
    pub(crate) fn tell_began(&mut self, now_ns: u64) {
        if self.is_late() {
            self.events.push(now_ns, EventKind::ItemBegan, format!("{}: connecting begins", self.clients()));
        }
    }

    /// Reports to the timeline that the load of clients that go in the measure phase is over.
    pub(crate) fn tell_ended(&mut self, now_ns: u64, clock: LoadClock) {
        if clock.goes_early(now_ns) {
            self.events.push(now_ns, EventKind::ItemEnded, format!("the load of {} is over", self.clients()));
        }
    }

    /// Reports to the timeline that the load is over by itself, and why, as the end of a sentence.
    pub(crate) fn tell_over(&mut self, now_ns: u64, why: &str) {
        self.events.push(
            now_ns,
            EventKind::ItemEnded,
            format!("the load of {} is over: {why}", self.clients()),
        );
    }

    /// Its clients on this worker, in words.
    fn clients(&self) -> String {
        let count = self.task.client_count;
        if count == 1 { "1 client".to_owned() } else { format!("{count} clients") }
    }

    /// The schedule of the item's client `client`; a closed loop has none.
    pub(crate) fn schedule(&self, rate: &Rate, client: u32) -> Option<Schedule> {
        let Rate::Open { pieces, arrivals } = rate else { return None };
        let schedule = Schedule::new(pieces, *arrivals, client, self.task.clients_total, self.seed);
        Some(if self.is_late() { schedule.without_warmup() } else { schedule })
    }

    /// Seed of what becomes of the transactions of the stream's client `index`.
    pub(crate) fn transaction_seed(&self, index: u32) -> u64 {
        mix(self.seed, TRANSACTION_SEEDS + u64::from(self.task.client_first + index))
    }

    /// Seed of how long the application of the stream's client `index` works on its records.
    pub(crate) fn work_seed(&self, index: u32) -> u64 {
        mix(self.seed, WORK_SEEDS + u64::from(self.task.client_first + index))
    }

    /// Seed of the stream's client `index` as a member of a consumer group: no two of a run should have the same, since
    /// it makes the client's id.
    pub(crate) fn member_seed(&self, index: u32) -> u64 {
        mix(mix(self.seed, self.run_id), MEMBER_SEEDS + u64::from(self.task.client_first + index))
    }

    /// Settings of the connections of the stream's client `index`, but for what its role decides: what brokers
    /// must speak, time-outs, the age of metadata and the largest response.
    pub(crate) fn connections_config(
        &self,
        index: u32,
        retry_backoff: ExponentialBackoff,
    ) -> ConnectionsConfig {
        let client = self.task.client_first + index;
        ConnectionsConfig {
            client_id: self.client_id(client),
            topics: self.topics(),
            bootstrap: self.bootstrap.clone(),
            needs: &[],
            security: self.security.clone(),
            request_timeout_ns: 0,
            retry_backoff,
            reconnect_backoff: ExponentialBackoff::RECONNECT,
            setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
            idle_ns: ConnectionsConfig::IDLE_NS,
            metadata_max_age_ns: 0,
            frame_bytes_max: 0,
            seed: mix(self.seed, CONNECTION_SEEDS + u64::from(client)),
        }
    }
}

/// What happened in a stream.
#[derive(Debug, Clone, Default)]
pub struct Events {
    kept: Vec<(u64, WorkerEvent)>,
    count: u32,
    /// What the stream's clients and brokers agreed upon, as far as it was reported.
    sessions: BTreeSet<String>,
    /// Brokers whose throttling has been reported.
    throttling: Vec<ConnectionKey>,
    /// Whether it was reported that batches were split.
    has_reported_splits: bool,
    /// Who leads a partition, as reported last: its clients hear of it one after the other.
    leaders: BTreeMap<(String, i32), i32>,
    /// What was reported last of a topic that the brokers do not describe, or that is another one, likewise.
    topics: BTreeMap<String, String>,
    /// Why transactions failed, and why producers send nothing any more, as far as it was reported.
    failures: BTreeSet<String>,
    ended_by: BTreeSet<&'static str>,
}

impl Events {
    /// Notes an event at an instant of the stream's clock.
    pub fn push(&mut self, now_ns: u64, kind: EventKind, detail: String) {
        self.count = self.count.saturating_add(1);
        let (kind, detail) = match self.count {
            0..EVENTS_MAX => (kind, detail),
            EVENTS_MAX => {
                (EventKind::EventsDropped, format!("more than {EVENTS_MAX} events: the rest is dropped"))
            }
            _ => return,
        };
        self.kept.push((now_ns, WorkerEvent { at_ns: 0, stream: None, kind, detail }));
    }

    /// Notes upon what a client and a broker agreed for their session, unless others have agreed upon the same.
    pub fn secured(&mut self, now_ns: u64, with: ConnectionKey, agreed: String) {
        if !self.sessions.contains(&agreed) {
            self.push(now_ns, EventKind::Secured, format!("{agreed}, first with {with}"));
            self.sessions.insert(agreed);
        }
    }

    /// Notes that a broker throttles the stream's clients; each broker is reported once.
    pub fn throttled(&mut self, now_ns: u64, by: ConnectionKey, throttled_ns: u64) {
        if !self.throttling.contains(&by) {
            self.throttling.push(by);
            let ms = throttled_ns / 1_000_000;
            let detail = format!("{by} throttles its clients, for {ms} ms at first: a quota is exceeded");
            self.push(now_ns, EventKind::Throttled, detail);
        }
    }

    /// Notes that batches were split, if any were; it is reported once.
    pub fn split(&mut self, now_ns: u64, by: ConnectionKey, batches: u32) {
        if batches > 0 && !std::mem::replace(&mut self.has_reported_splits, true) {
            let detail = format!(
                "{by} takes no batch as large as one that it got (MESSAGE_TOO_LARGE): it is split, as others may be later"
            );
            self.push(now_ns, EventKind::BatchSplit, detail);
        }
    }

    /// Notes that a partition has another leader (−1: none), unless another client has noted it.
    pub fn leader_moved(&mut self, now_ns: u64, (topic, partition): (String, i32), from: i32, to: i32) {
        if self.leaders.insert((topic, partition), to) == Some(to) {
            return;
        }
        let broker = |id: i32| if id < 0 { "no broker".to_owned() } else { format!("broker {id}") };
        let detail = match (from, to) {
            (..0, ..0) => format!("partition {partition} has no leader as the load begins"),
            _ => format!("partition {partition} is led by {} now, by {} before", broker(to), broker(from)),
        };
        self.push(now_ns, EventKind::LeaderMoved, detail);
    }

    /// Notes what clients hear of a topic instead of its leaders, unless another client has noted the same.
    pub fn topic_troubled(&mut self, now_ns: u64, topic: String, detail: String) {
        let is_news = self.topics.get(&topic) != Some(&detail);
        if is_news {
            self.push(now_ns, EventKind::MetadataError, detail.clone());
            self.topics.insert(topic, detail);
        }
    }

    /// A client hears of the topic's leaders again: what comes after that is news.
    pub fn topic_recovered(&mut self, topic: &str) {
        self.topics.remove(topic);
    }

    /// Notes that a transaction was aborted because something of it had failed; each reason is reported once.
    pub fn transaction_failed(&mut self, now_ns: u64, reason: &str) {
        if !self.failures.contains(reason) && self.failures.len() < REASONS_MAX {
            self.failures.insert(reason.to_owned());
            let detail = format!("a transaction was aborted: {reason}");
            self.push(now_ns, EventKind::TransactionAborted, detail);
        }
    }

    /// Notes that a transactional producer sends nothing any more; each reason is reported once for a stream.
    pub fn producer_ended(&mut self, now_ns: u64, client_id: &str, error: ErrorCode) {
        if self.ended_by.insert(error.name()) {
            let why = match error {
                ErrorCode::PRODUCER_FENCED => {
                    "another producer took its transactional id, or its transaction took longer than \
                     transaction.timeout.ms"
                }
                _ => "its transactions cannot go on",
            };
            let detail = format!("{client_id} sends nothing any more ({}): {why}", error.name());
            self.push(now_ns, EventKind::ProducerEnded, detail);
        }
    }

    /// Takes the events, as of T0 and the stream's number.
    pub fn take(&mut self, t0_ns: u64, stream: u16) -> Vec<WorkerEvent> {
        let kept = std::mem::take(&mut self.kept);
        let place = |(now_ns, event): (u64, WorkerEvent)| WorkerEvent {
            at_ns: now_ns as i64 - t0_ns as i64,
            stream: Some(stream),
            ..event
        };
        kept.into_iter().map(place).collect()
    }
}

/// What a socket is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketReadiness {
    /// It takes writes again, or is connected; it may have something to read in any case.
    pub is_writable: bool,
    /// From when on it was the event loop's own delay that nothing was read, ns; see
    /// [`told_ns`](crate::event_loop::told_ns).
    pub reported_ns: u64,
}

/// A load item's clients on this worker. Sockets are numbered `connection · client_count + client`.
pub trait Stream {
    /// How many clients it has.
    fn client_count(&self) -> usize;
    /// Whether every client can send to, or fetch from, every leader; where the clients come only in the measure phase,
    /// whether one of them can.
    ///
    /// # Errors
    /// When a client never will.
    fn is_connected(&self) -> Result<bool, StreamError>;
    /// Builds what is needed before the start; called once, when connected.
    ///
    /// # Errors
    /// When the plan cannot be carried out.
    fn prepare(&mut self) -> Result<(), StreamError>;
    /// Whether it can start, once it is prepared.
    ///
    /// # Errors
    /// When it never will.
    fn is_ready(&self) -> Result<bool, StreamError> {
        Ok(true)
    }
    /// The load begins at this instant, T0, ns; the warm-up lasts until [`Self::measure_begins`].
    fn start(&mut self, t0_ns: u64);
    /// The measure phase begins so much later than T0, ns, on a whole second that no turn has reached.
    fn measure_begins(&mut self, start_ns: u64);
    /// A connection has something to read, or takes writes again.
    fn on_ready(&mut self, client: usize, connection: usize, ready: SocketReadiness, net: &mut dyn Net);
    /// Does everything that is due.
    fn turn(&mut self, net: &mut dyn Net);
    /// When [`Self::turn`] is to be called next, ns; it may lie in the past.
    fn next_deadline(&self) -> Option<u64>;
    /// Whether the load is over and nothing is in flight.
    fn is_done(&self) -> bool;
    /// Ends the load now, before the measure phase too; what is in flight is answered.
    fn stop(&mut self, now_ns: u64);
    /// Ends: what is still open is unresolved. Samples are to be taken once more after it.
    fn finish(&mut self, now_ns: u64) -> StreamTotals;
    /// Samples cut since the last call.
    fn take_samples(&mut self) -> Vec<Sample>;
    /// What else the lab is to hear since the last call.
    fn take_messages(&mut self) -> Vec<FromWorker> {
        Vec::new()
    }
    /// Why it cannot go on, whatever it does.
    fn failure(&self) -> Option<StreamError> {
        None
    }
    /// What it knows of its surroundings.
    fn context(&mut self) -> &mut StreamContext;
}
