//! A consuming stream: its clients fetch, what they fetched is recorded.

mod application;
mod client;

use crate::connecting::Connecting;
use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{Clock, Ready, Stream, StreamContext, StreamError};
use crate::wakeups::Wakeups;
use application::Application;
use client::ConsumeClient;
use kdyno_kafka::client::Client;
use kdyno_kafka::consumer::Consumer;
use kdyno_model::plan::ConsumePlan;
use kdyno_model::sample::{Counts, Sample, StreamTotals};

/// All clients of one consuming load item on this worker.
#[derive(Debug)]
pub struct ConsumeStream {
    clients: Vec<ConsumeClient>,
    connecting: Connecting,
    wakeups: Wakeups,
    context: StreamContext,
    recorder: Option<Recorder>,
    clock: Option<Clock>,
    /// When nothing new will come any more, ns: the end of the load, or of the trial's last producer.
    settled_ns: Option<u64>,
    /// Whether T0, or the instant at which the clients come, is past: nothing is fetched before it.
    has_begun: bool,
    /// Whether the clients have gone before the measure phase ended.
    is_gone: bool,
}

impl ConsumeStream {
    /// A stream that is not connected yet.
    pub fn new(plan: &ConsumePlan, context: StreamContext) -> Self {
        let clients = (0..context.task.client_count).map(|index| ConsumeClient::new(plan, &context, index));
        let count = context.task.client_count as usize;
        Self {
            clients: clients.collect(),
            connecting: Connecting::new(count),
            wakeups: Wakeups::none(count),
            context,
            recorder: None,
            clock: None,
            settled_ns: None,
            has_begun: false,
            is_gone: false,
        }
    }

    /// Notes what the instant brings for all clients: their coming and going, the end of the load.
    fn pass(&mut self, now_ns: u64, clock: Clock) {
        if !self.has_begun && clock.has_begun(now_ns) {
            self.has_begun = true;
            self.context.tell_began(now_ns);
            for client in &mut self.clients {
                // What cannot be reached since before T0 concerns the load now.
                client.kafka.connections_mut().begin(now_ns);
            }
            self.connecting.begin_all(&mut self.wakeups);
        }
        if !self.is_gone && clock.goes_early(now_ns) {
            // They stop where they are: what is asked for comes to nobody.
            self.is_gone = true;
            self.context.tell_ended(now_ns, clock);
        }
        if !self.context.has_producers && now_ns >= clock.load_end_ns {
            self.settled_ns.get_or_insert(now_ns);
        }
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

    /// Whether its clients go before the measure phase ends.
    fn goes_early(&self) -> bool {
        self.context.task.span.until_ns.is_some()
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
        if self.context.is_late() {
            return Ok(self.connecting.is_any_ready()?);
        }
        let is_up = |kafka: &Consumer<Application>| kafka.connections().is_ready() && kafka.is_ready();
        Ok(self.connecting.are_all_ready()? && self.clients.iter().all(|client| is_up(&client.kafka)))
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
        let own = &mut self.clients[client];
        own.io.on_ready(&mut own.kafka, connection, ready, net);
        // A second may have ended while it read.
        self.tick(net.now_ns());
        if let Some(recorder) = &mut self.recorder {
            self.clients[client].record(recorder, &mut self.context.events);
        }
    }

    fn turn(&mut self, net: &mut dyn Net) {
        let now_ns = net.now_ns();
        self.tick(now_ns);
        if let Some(recorder) = &mut self.recorder {
            self.connecting.take_times().into_iter().for_each(|times| recorder.connected(times));
        }
        match self.clock {
            Some(clock) => self.pass(now_ns, clock),
            None if self.context.is_late() => {}
            None => self.connecting.begin_some(now_ns, &mut self.wakeups),
        }
        if self.is_gone {
            return;
        }
        // All first: a client that is due again at once waits for the next turn.
        let awake: Vec<usize> = std::iter::from_fn(|| self.wakeups.take_due(now_ns)).collect();
        for index in awake {
            let Self { clients, connecting, recorder, context, has_begun, wakeups, .. } = self;
            connecting.dials(index, now_ns);
            let client = &mut clients[index];
            let next_ns = client.turn(*has_begun, net, recorder.as_mut(), &mut context.events);
            wakeups.set(index, next_ns);
            connecting.look(index, net.now_ns(), &client.kafka, || client.kafka.is_ready(), wakeups);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        let begin = self.clock.map(|clock| clock.begin_ns).filter(|_| !self.has_begun);
        let end = self.clock.map(|clock| clock.load_end_ns);
        let is_at_end = self.settled_ns.is_none() && (!self.context.has_producers || self.goes_early());
        let end = end.filter(|_| is_at_end && !self.is_gone);
        let wave = self.connecting.next_wave_ns().filter(|_| self.clock.is_none() && !self.context.is_late());
        self.wakeups.next().into_iter().chain(wave).chain(recorder).chain(begin).chain(end).min()
    }

    fn is_done(&self) -> bool {
        let Some(settled_ns) = self.settled_ns else { return self.is_gone };
        // Of what a client has to fetch it knows once it was connected; those that were stopped before they came never are.
        let is_ready = !self.has_begun || self.connecting.are_all_ready() == Ok(true);
        self.is_gone || (is_ready && self.clients.iter().all(|client| client.is_caught_up(settled_ns)))
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
