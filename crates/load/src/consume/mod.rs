//! A consuming stream: its clients fetch, what they fetched is recorded.

mod application;
mod client;
pub(crate) mod ending;
pub(crate) mod group;
mod polls;

use crate::connecting::Connecting;
use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{LoadClock, SocketReadiness, Stream, StreamContext, StreamError};
use crate::wakeups::Wakeups;
use client::ConsumeClient;
use ending::ConsumeEnding;
use group::GroupCourse;
use kdyno_kafka::client::Client;
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
    clock: Option<LoadClock>,
    /// When nothing new will come any more, ns: the end of the load, or of the trial's last producer.
    settled_ns: Option<u64>,
    /// Whether T0, or the instant at which the clients come, is past: nothing is fetched before it.
    has_begun: bool,
    /// Whether the clients have gone before the measure phase ended.
    is_gone: bool,
    /// Where the load ends by what is there to be read.
    ending: ConsumeEnding,
    /// What becomes of the clients' group.
    course: GroupCourse,
    /// The clients have everything, or go, and leave their group.
    is_leaving: bool,
    /// Until when it is waited for members to have equal shares, ns, once all partitions have an owner.
    even_until_ns: Option<u64>,
    /// They have, or it was waited for long enough.
    is_even: bool,
}

/// How long before T0 members that have all partitions are waited for to share them evenly, ns: brokers that assign (KIP-848)
/// move them with heartbeats, five seconds apart by default, one member after the other.
const EVEN_WAIT_NS: u64 = 20_000_000_000;

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
            ending: ConsumeEnding::new(plan),
            course: GroupCourse::default(),
            is_leaving: false,
            even_until_ns: None,
            is_even: false,
        }
    }

    /// Notes what the instant brings for all clients: their coming and going, the end of the load.
    fn pass(&mut self, now_ns: u64, clock: LoadClock) {
        if !self.has_begun && clock.has_begun(now_ns) {
            self.has_begun = true;
            self.context.tell_began(now_ns);
            self.ending.begins(now_ns);
            for client in &mut self.clients {
                // What cannot be reached since before T0 concerns the load now.
                client.kafka.connections_mut().begin(now_ns);
                if self.context.is_late() {
                    client.comes(now_ns);
                }
            }
            self.connecting.begin_all(&mut self.wakeups);
        }
        if !self.is_gone && clock.goes_early(now_ns) {
            // They stop where they are: requests on the way are dropped. Members leave their group.
            self.is_gone = true;
            self.context.tell_ended(now_ns, clock);
            self.leave(now_ns);
        }
        if !self.context.has_producers && now_ns >= clock.load_end_ns {
            self.settled_ns.get_or_insert(now_ns);
        }
    }

    /// Ends the load if its clients have had enough records, or none for long enough: they stop where they are, and members
    /// leave their group.
    fn end_if_over(&mut self, now_ns: u64) {
        let Some(why) = self.ending.over(now_ns).filter(|_| !self.is_gone) else { return };
        self.is_gone = true;
        self.settled_ns.get_or_insert(now_ns);
        // What is on its way is dropped.
        self.clients.iter_mut().for_each(|client| client.kafka.sink_mut().set_left(0));
        self.context.tell_over(now_ns, &why);
        self.leave(now_ns);
    }

    /// Looks whether clients that came late have read all that there was.
    fn look_whether_caught_up(&mut self, now_ns: u64) {
        if self.context.is_late() && !self.is_gone && self.ending.is_look_due(now_ns) {
            let lag = self.lag_records();
            self.ending.look(now_ns, lag);
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

    /// Notes what happened to a client as a member of its group.
    fn note_group(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        let number = client.number();
        let reported = client.take_group_events(self.has_begun, &mut self.recorder);
        self.course.note((index, number), &reported, &mut self.recorder, &mut self.context.events);
        client.give_up_if_failed(now_ns);
        if let Some(failure) = client.failure() {
            self.course.failed((index, number), failure, now_ns, &mut self.context.events);
        }
    }

    /// Whether all partitions have an owner and every client knows where to begin.
    fn is_settled(&self) -> bool {
        let are_owned = self.clients.first().is_none_or(ConsumeClient::are_owned);
        are_owned && self.clients.iter().all(|client| client.kafka.is_ready())
    }

    /// Looks whether the group has shared out the partitions evenly, as every assignor has it in the end.
    fn look_at_shares(&mut self, now_ns: u64) {
        if self.even_until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.is_even = true;
        }
        if self.is_even || !self.is_settled() {
            return;
        }
        let partitions = || self.clients.iter().map(ConsumeClient::partitions);
        let (least, most) = (partitions().min().unwrap_or(0), partitions().max().unwrap_or(0));
        let until_ns = *self.even_until_ns.get_or_insert(now_ns.saturating_add(EVEN_WAIT_NS));
        // Assignors that share out each topic by itself give the same members one more of each.
        let topics = 1 + self.context.task.more_topics.len();
        self.is_even = most - least <= topics || now_ns >= until_ns;
    }

    /// Once nothing is left to fetch, members leave: all at once, for what one gives up is another's to read otherwise.
    fn leave_when_done(&mut self, now_ns: u64) {
        if self.has_begun && self.settled_ns.is_some() && self.has_everything() {
            self.leave(now_ns);
        }
    }

    fn leave(&mut self, now_ns: u64) {
        if !self.is_leaving {
            self.is_leaving = true;
            self.clients.iter_mut().for_each(|client| client.leave(now_ns));
            self.wakeups.all_now();
        }
    }

    /// Whether its clients go before the measure phase ends.
    fn goes_early(&self) -> bool {
        self.context.task.span.until_ns.is_some()
    }

    /// Whether the clients have everything that there was when nothing new came any more.
    fn has_everything(&self) -> bool {
        let settled_ns = self.settled_ns.unwrap_or(u64::MAX);
        let is_any_left = || self.clients.iter().any(|client| client.failure().is_none());
        let are_owned = self.clients.first().is_none_or(ConsumeClient::are_owned) || !is_any_left();
        // What a client has to fetch it knows once it was connected.
        let are_ready = self.connecting.are_all_ready() == Ok(true);
        are_ready && are_owned && self.clients.iter().all(|client| client.is_caught_up(settled_ns))
    }

    fn lag_records(&self) -> Option<u64> {
        // The lag of a partition without an owner counts for no client, until it has an owner again.
        let are_owned = self.clients.first().is_none_or(ConsumeClient::are_owned);
        self.clients.iter().map(ConsumeClient::lag_records).sum::<Option<u64>>().filter(|_| are_owned)
    }
}

impl Stream for ConsumeStream {
    fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn is_connected(&self) -> Result<bool, StreamError> {
        if let Some(failure) = self.clients.iter().find_map(ConsumeClient::failure) {
            return Err(StreamError::NoMember(failure.clone()));
        }
        if self.context.is_late() {
            return Ok(self.connecting.is_any_ready()?);
        }
        Ok(self.connecting.are_all_ready()? && self.is_settled() && self.is_even)
    }

    fn prepare(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn start(&mut self, t0_ns: u64) {
        self.clock = Some(LoadClock::new(t0_ns, self.context.task.span));
        self.recorder = Some(Recorder::of_consumer(self.context.id(), t0_ns, self.context.phases));
    }

    fn measure_begins(&mut self, start_ns: u64) {
        if let (Some(clock), Some(recorder)) = (&mut self.clock, &mut self.recorder) {
            clock.measure_begins(start_ns, &self.context.phases);
            let measure = clock.measure_ns..clock.load_end_ns;
            self.clients.iter_mut().for_each(|client| client.measure_begins(measure.clone()));
            recorder.measure_begins(start_ns);
        }
    }

    fn on_ready(&mut self, client: usize, connection: usize, ready: SocketReadiness, net: &mut dyn Net) {
        if client >= self.clients.len() {
            return;
        }
        self.wakeups.now(client);
        self.tick(net.now_ns());
        let own = &mut self.clients[client];
        let before = own.totals.records;
        if let Some(left) = self.ending.left().filter(|_| !self.is_gone) {
            own.kafka.sink_mut().set_left(left);
        }
        own.io.on_ready(&mut own.kafka, connection, ready, net);
        // A second may have ended while it read.
        let now_ns = net.now_ns();
        self.tick(now_ns);
        if let Some(recorder) = &mut self.recorder {
            self.clients[client].record(now_ns, recorder, &mut self.context.events);
        }
        self.ending.handed(now_ns, self.clients[client].totals.records - before);
        self.look_whether_caught_up(now_ns);
        self.end_if_over(now_ns);
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
        if self.is_done() {
            return;
        }
        // All first: a client that is due again at once waits for the next turn.
        let awake: Vec<usize> = std::iter::from_fn(|| self.wakeups.take_due(now_ns)).collect();
        for index in awake {
            let Self { clients, connecting, recorder, context, wakeups, ending, .. } = self;
            connecting.dials(index, now_ns);
            let client = &mut clients[index];
            let before = client.totals.records;
            let is_fetching = self.has_begun && !self.is_gone;
            let next_ns = client.turn(is_fetching, net, recorder.as_mut(), &mut context.events);
            wakeups.set(index, next_ns);
            ending.handed(now_ns, client.totals.records - before);
            connecting.look(index, net.now_ns(), &client.kafka, || client.kafka.is_ready(), wakeups);
            self.note_group(index, now_ns);
        }
        self.look_whether_caught_up(now_ns);
        self.end_if_over(now_ns);
        self.look_at_shares(now_ns);
        self.leave_when_done(now_ns);
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        let begin = self.clock.map(|clock| clock.begin_ns).filter(|_| !self.has_begun);
        let end = self.clock.map(|clock| clock.load_end_ns);
        let is_at_end = self.settled_ns.is_none() && (!self.context.has_producers || self.goes_early());
        let end = end.filter(|_| is_at_end && !self.is_gone);
        let even = self.even_until_ns.filter(|_| !self.is_even);
        let wave = self.connecting.next_wave_ns().filter(|_| self.clock.is_none() && !self.context.is_late());
        let idle = self.ending.deadline().filter(|_| !self.is_gone);
        let of_all = [recorder, begin, end, even, wave, idle];
        self.wakeups.next().into_iter().chain(of_all.into_iter().flatten()).min()
    }

    fn is_done(&self) -> bool {
        let have_left = || self.clients.iter().all(ConsumeClient::has_left);
        if self.is_leaving {
            return have_left();
        }
        // Clients that were stopped before they came have nothing to fetch.
        self.settled_ns.is_some() && (!self.has_begun || (have_left() && self.has_everything()))
    }

    fn stop(&mut self, now_ns: u64) {
        self.settled_ns.get_or_insert(now_ns);
    }

    fn finish(&mut self, now_ns: u64) -> StreamTotals {
        let id = self.context.id();
        if !self.is_leaving {
            self.clients.iter_mut().for_each(ConsumeClient::note_partitions);
        }
        self.tick(now_ns);
        let lag = self.lag_records();
        let counts = self.recorder.as_mut().map_or_else(Counts::default, |recorder| {
            recorder.lag(lag);
            recorder.finish()
        });
        let clients = self.clients.iter().map(|client| client.totals).collect();
        let caught_up = self.clock.and_then(|clock| self.ending.caught_up(clock.t0_ns));
        StreamTotals { id, counts, clients, caught_up, ..StreamTotals::default() }
    }

    fn take_samples(&mut self) -> Vec<Sample> {
        self.recorder.as_mut().map_or_else(Vec::new, Recorder::take_samples)
    }

    fn context(&mut self) -> &mut StreamContext {
        &mut self.context
    }
}
