//! A consuming stream: its clients fetch, what they fetched is recorded.

mod application;
mod client;

use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{self, Clock, Ready, Stream, StreamContext, StreamError};
use crate::wakeups::Wakeups;
use client::ConsumeClient;
use kdyno_kafka::client::Client;
use kdyno_kafka::consumer::Consumer;
use kdyno_model::plan::ConsumePlan;
use kdyno_model::sample::{Counts, Sample, StreamTotals};

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
        let clients = (0..context.task.client_count).map(|index| ConsumeClient::new(plan, &context, index));
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
        self.clients.iter().map(ConsumeClient::lag_records).sum()
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
        self.recorder = Some(Recorder::of_consumer(self.context.id(), t0_ns, self.context.phases));
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
        let own = &mut self.clients[client];
        own.io.on_ready(&mut own.kafka, connection, ready, net);
        // A second may have ended while it read.
        let now_ns = net.now_ns();
        self.tick(now_ns);
        if let Some(recorder) = &mut self.recorder {
            self.clients[client].record(now_ns, recorder, &mut self.context.events);
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
            let Self { clients, recorder, context, has_begun, .. } = self;
            let next_ns = clients[index].turn(*has_begun, net, recorder.as_mut(), &mut context.events);
            self.wakeups.set(index, next_ns);
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
        self.clients.iter().all(|client| client.is_caught_up(settled_ns))
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
