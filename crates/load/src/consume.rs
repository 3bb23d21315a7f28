//! A consuming stream: fetches by assignment; partition p belongs to client p mod clients.
//!
//! Each client keeps one fetch per leader in flight, as the Java consumer does, and looks at batch headers
//! and checksums only: records are counted, not unpacked.

mod answers;

use crate::connections_io::{AskedFacts, LinksIo};
use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{Clock, Events, Stream, StreamContext, StreamError};
use crate::wakeups::Wakeups;
use answers::{Effects, Position, on_fetch, on_offsets};
use kdyno_kafka::broker_connections::{ConnectionsConfig, LinkState, RequestKind};
use kdyno_kafka::messages::{self, Message as _, m01_fetch, m02_list_offsets};
use kdyno_model::plan::{ConsumePlan, StartOffset};
use kdyno_model::sample::{ClientTotals, Sample, StreamTotals};

/// `metadata.max.age.ms`, ns: the Java consumer's default.
const METADATA_MAX_AGE_NS: u64 = 300_000_000_000;

/// What was asked of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchToken {
    Offsets { version: i16 },
    Fetch { version: i16 },
}

#[derive(Debug)]
struct ConsumeClient {
    io: LinksIo<FetchToken>,
    positions: Vec<Position>,
    /// Per link: a request of ours is in flight.
    is_busy: Vec<bool>,
    /// Per link: when the last request was sent, ns.
    asked_ns: Vec<u64>,
    /// Per link: when the last request was sent to which the answer was empty, ns.
    quiet_ns: Vec<u64>,
    totals: ClientTotals,
    first_ns: Option<u64>,
}

/// All clients of one consuming load item on this worker.
#[derive(Debug)]
pub struct ConsumeStream {
    clients: Vec<ConsumeClient>,
    wakeups: Wakeups,
    plan: ConsumePlan,
    context: StreamContext,
    recorder: Option<Recorder>,
    clock: Option<Clock>,
    /// When nothing new will come any more, ns: the end of the load, or of the last producer of this worker.
    settled_ns: Option<u64>,
}

impl ConsumeStream {
    /// A stream that is not connected yet.
    pub fn new(plan: ConsumePlan, context: StreamContext) -> Self {
        let clients = (0..context.task.client_count)
            .map(|index| ConsumeClient {
                io: LinksIo::new(
                    links_config(&plan, &context, index),
                    index as usize,
                    context.task.client_count as usize,
                ),
                positions: Vec::new(),
                is_busy: Vec::new(),
                asked_ns: Vec::new(),
                quiet_ns: Vec::new(),
                totals: ClientTotals::default(),
                first_ns: None,
            })
            .collect();
        let mut wakeups = Wakeups::none(context.task.client_count as usize);
        wakeups.all_now();
        Self { clients, wakeups, plan, context, recorder: None, clock: None, settled_ns: None }
    }
}

fn links_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> ConnectionsConfig {
    ConnectionsConfig {
        client_id: context.client_id(context.task.client_first + index),
        topic: context.task.topic.clone(),
        bootstrap: context.bootstrap.clone(),
        request_timeout_ns: plan.request_timeout_ns,
        retry_backoff_ns: plan.retry_backoff_ns,
        metadata_max_age_ns: METADATA_MAX_AGE_NS,
        // An answer holds what was asked for and, at worst, one batch more than that.
        frame_bytes_max: (plan.fetch_bytes_max as usize).max(1 << 20) + (100 << 20),
    }
}

impl ConsumeClient {
    /// Keeps the connections up and knows its partitions: every `clients`-th of the topic, from `number` on.
    fn keep_up(
        &mut self,
        number: usize,
        clients: usize,
        now_ns: u64,
        net: &mut dyn Net,
        events: &mut Events,
    ) {
        self.io.keep_up(net, now_ns, events);
        if !self.io.take_lost().is_empty() {
            // Which link was lost is seen from its empty queue.
            for (link, busy) in self.is_busy.iter_mut().enumerate() {
                *busy &= self.io.links.links()[link].connection.in_flight() > 0;
            }
        }
        if self.positions.is_empty() {
            let mine = (number..self.io.links.partition_count()).step_by(clients.max(1));
            self.positions = mine.map(|partition| Position::new(partition as i32)).collect();
        }
    }

    /// Sends what is due to each leader that is not busy; fetches only once the load has begun.
    fn ask(&mut self, plan: &ConsumePlan, topic: &str, now_ns: u64, has_begun: bool) {
        let count = self.io.links.links().len();
        self.is_busy.resize(count, false);
        self.asked_ns.resize(count, 0);
        self.quiet_ns.resize(count, 0);
        for link in 0..count {
            if self.is_busy[link] || self.io.links.links()[link].state != LinkState::Up {
                continue;
            }
            let links = &self.io.links;
            let due = |position: &&Position| {
                position.not_before_ns <= now_ns
                    && links.leader_link(position.partition as usize) == Some(link)
            };
            let unknown: Vec<i32> = self
                .positions
                .iter()
                .filter(due)
                .filter(|position| position.next.is_none())
                .map(|position| position.partition)
                .collect();
            let known: Vec<(i32, i64)> = self
                .positions
                .iter()
                .filter(due)
                .filter_map(|position| Some((position.partition, position.next?)))
                .collect();
            for position in &mut self.positions {
                if position.not_before_ns <= now_ns {
                    position.not_before_ns = 0;
                }
            }
            self.asked_ns[link] = now_ns;
            self.is_busy[link] = if !unknown.is_empty() {
                self.ask_offsets(link, plan, topic, &unknown, now_ns)
            } else if has_begun && !known.is_empty() {
                self.ask_fetch(link, plan, topic, &known, now_ns)
            } else {
                false
            };
        }
    }

    fn ask_offsets(
        &mut self,
        link: usize,
        plan: &ConsumePlan,
        topic: &str,
        partitions: &[i32],
        now_ns: u64,
    ) -> bool {
        let api = &m02_list_offsets::API;
        let Some(version) = self.io.version(link, api) else { return false };
        let timestamp = match plan.from {
            StartOffset::Earliest => messages::EARLIEST_TIMESTAMP,
            StartOffset::Latest => messages::LATEST_TIMESTAMP,
        };
        let request = m02_list_offsets::Request::of_topic(topic, partitions, timestamp);
        let token = RequestKind::User(FetchToken::Offsets { version });
        self.io.links.ask(link, token, now_ns, api, version, |out| request.encode(version, out));
        true
    }

    fn ask_fetch(
        &mut self,
        link: usize,
        plan: &ConsumePlan,
        topic: &str,
        partitions: &[(i32, i64)],
        now_ns: u64,
    ) -> bool {
        let api = &m01_fetch::API;
        let Some(version) = self.io.version(link, api) else { return false };
        let request = m01_fetch::Request {
            wait_ms: (plan.fetch_wait_ns / 1_000_000) as i32,
            bytes_min: plan.fetch_bytes_min as i32,
            bytes_max: plan.fetch_bytes_max as i32,
            partition_bytes_max: plan.partition_bytes_max as i32,
            topic,
            partitions,
        };
        let token = RequestKind::User(FetchToken::Fetch { version });
        self.io.links.ask(link, token, now_ns, api, version, |out| {
            m01_fetch::encode(&request, version, out);
        });
        true
    }

    /// When the client has something to do by time alone: its connections, or partitions that wait after an
    /// error.
    fn next_deadline(&self) -> Option<u64> {
        let waiting = self.positions.iter().filter(|position| position.not_before_ns > 0);
        let free = waiting.filter(|position| self.is_free(position.partition));
        free.map(|position| position.not_before_ns).chain(self.io.next_deadline()).min()
    }

    /// Whether a partition's leader could be asked now.
    fn is_free(&self, partition: i32) -> bool {
        let link = self.io.links.leader_link(partition as usize);
        link.is_some_and(|link| !self.is_busy.get(link).copied().unwrap_or(false))
    }

    /// Whether everything there was at `settled_ns` has been fetched: each leader was asked after it and had
    /// nothing within `fetch.max.wait.ms`.
    fn is_caught_up(&self, settled_ns: u64) -> bool {
        self.positions.iter().all(|position| {
            let link = self.io.links.leader_link(position.partition as usize);
            let is_asked = position.next.is_some() && position.not_before_ns == 0;
            let quiet_ns = link.and_then(|link| self.quiet_ns.get(link));
            is_asked && quiet_ns.is_some_and(|quiet_ns| *quiet_ns >= settled_ns)
        })
    }
}

impl Stream for ConsumeStream {
    fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn is_connected(&self) -> bool {
        self.clients.iter().all(|client| client.io.links.is_ready())
            && self
                .clients
                .iter()
                .flat_map(|client| &client.positions)
                .all(|position| position.next.is_some())
    }

    fn prepare(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn start(&mut self, clock: Clock) {
        self.clock = Some(clock);
        self.wakeups.all_now();
        let (worker, stream) = (self.context.worker, self.context.task.stream);
        self.recorder = Some(Recorder::new(worker, stream, clock.t0_ns, self.context.phases.clone()));
    }

    fn on_ready(&mut self, client: usize, link: usize, is_writable: bool, net: &mut dyn Net) {
        if client >= self.clients.len() {
            return;
        }
        self.wakeups.now(client);
        let number = client;
        let client = &mut self.clients[client];
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(net.now_ns());
        }
        let retry_backoff_ns = self.plan.retry_backoff_ns;
        let mut refresh = false;
        let mut happened = Vec::new();
        let ConsumeClient { io, positions, is_busy, asked_ns, quiet_ns, totals, first_ns } = client;
        let recorder = &mut self.recorder;
        io.on_ready(
            link,
            is_writable,
            net,
            &mut self.context.events,
            |token, _: AskedFacts, frame, now_ns| {
                let mut effects = Effects::default();
                let retry_ns = now_ns + retry_backoff_ns;
                if let Some(busy) = is_busy.get_mut(link) {
                    *busy = false;
                }
                match token {
                    FetchToken::Offsets { version } => {
                        on_offsets(positions, version, frame, retry_ns, &mut effects)?
                    }
                    FetchToken::Fetch { version } => {
                        on_fetch(positions, version, frame, retry_ns, &mut effects)?
                    }
                }
                refresh |= effects.refresh;
                happened.extend(effects.events.into_iter().map(|(kind, detail)| (now_ns, kind, detail)));
                let is_quiet = effects.records == 0 && !effects.refresh && !effects.has_error;
                if matches!(token, FetchToken::Fetch { .. }) && is_quiet {
                    quiet_ns[link] = asked_ns[link];
                }
                if let Some(recorder) = recorder
                    && matches!(token, FetchToken::Fetch { .. })
                {
                    recorder.request(now_ns, effects.batches, frame.len() as u64);
                    recorder.fetched(now_ns, effects.records, effects.bytes);
                    totals.records += effects.records;
                    if effects.records > 0 {
                        totals.span_ns = now_ns - *first_ns.get_or_insert(now_ns);
                    }
                }
                Ok(())
            },
        );
        for (now_ns, kind, detail) in happened {
            self.context.events.push(now_ns, kind, format!("client {number}: {detail}"));
        }
        if refresh {
            io.links.want_metadata();
        }
    }

    fn turn(&mut self, net: &mut dyn Net) {
        let now_ns = net.now_ns();
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(now_ns);
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
            let (task, events) = (&self.context.task, &mut self.context.events);
            let client = &mut self.clients[index];
            client.keep_up(
                task.client_first as usize + index,
                task.clients_total as usize,
                now_ns,
                net,
                events,
            );
            let wants_offsets = client.positions.iter().any(|position| position.next.is_none());
            if self.clock.is_some() || wants_offsets {
                client.ask(&self.plan, &task.topic, now_ns, self.clock.is_some());
            }
            client.io.flush_all(net, events);
            self.wakeups.set(index, client.next_deadline());
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        let end = self.clock.map(|clock| clock.load_end_ns);
        let end = end.filter(|_| self.settled_ns.is_none() && !self.context.has_producers);
        self.wakeups.next().into_iter().chain(recorder).chain(end).min()
    }

    fn is_done(&self) -> bool {
        let settled_ns = self.settled_ns.unwrap_or(u64::MAX);
        self.clients.iter().all(|client| client.is_caught_up(settled_ns))
    }

    fn stop(&mut self, now_ns: u64) {
        self.settled_ns.get_or_insert(now_ns);
    }

    fn finish(&mut self, now_ns: u64) -> StreamTotals {
        let stream = self.context.task.stream;
        let Some(recorder) = &mut self.recorder else {
            return StreamTotals { stream, ..StreamTotals::default() };
        };
        recorder.tick(now_ns);
        let counts = recorder.finish();
        StreamTotals { stream, counts, clients: self.clients.iter().map(|client| client.totals).collect() }
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.recorder.as_mut().map_or_else(Vec::new, Recorder::take_samples)
    }

    fn context(&mut self) -> &mut StreamContext {
        &mut self.context
    }
}
