//! A consuming stream that Kafka's Java client carries: the Java process polls, what it was handed is recorded here.

use super::consumer::JavaConsumer;
use super::frames::{self, FrameError, FromJava, TaskRole};
use super::link::JavaLink;
use super::readiness::Readiness;
use crate::connecting::Connect;
use crate::consume::ending::ConsumeEnding;
use crate::consume::group::GroupCourse;
use crate::groups::GroupReading;
use crate::net::Net;
use crate::recorder::Recorder;
use crate::stream::{LoadClock, SocketReadiness, Stream, StreamContext, StreamError};
use kdyno_model::plan::{ConsumePlan, StartOffset};
use kdyno_model::sample::{Counts, Sample, StreamTotals};
use kdyno_model::worker::FromWorker;
use std::sync::Arc;

/// How long before T0 members that have all partitions are waited for to share them evenly, ns.
const EVEN_WAIT_NS: u64 = 20_000_000_000;

/// All clients of one consuming load item on this worker, in a Java process.
pub(super) struct JavaConsumeStream {
    link: JavaLink,
    context: StreamContext,
    plan: ConsumePlan,
    clients: Vec<JavaConsumer>,
    readiness: Readiness,
    /// What the members of the group share; `None`: they are in none.
    reading: Option<Arc<GroupReading>>,
    course: GroupCourse,
    recorder: Option<Recorder>,
    clock: Option<LoadClock>,
    /// When nothing new will come any more, ns.
    settled_ns: Option<u64>,
    has_task: bool,
    /// Whether the clients fetch.
    has_begun: bool,
    /// The process knows that nothing new comes.
    is_catching_up: bool,
    even_until_ns: Option<u64>,
    is_even: bool,
    /// Where the load ends by what is there to be read.
    ending: ConsumeEnding,
    /// When the first client had been made, ns.
    made_ns: Option<u64>,
    /// The timeline knows that the clients begin.
    has_reported_begin: bool,
}

impl JavaConsumeStream {
    /// A stream whose process is not started yet.
    pub fn new(plan: ConsumePlan, context: StreamContext, link: JavaLink) -> Self {
        let task = &context.task;
        let group = plan.group.as_ref().and(task.group_id.as_ref());
        let reading = group.map(|group_id| context.groups.reading(group_id, &task.topic));
        let numbers = task.client_first..task.client_first + task.client_count;
        Self {
            clients: numbers.map(|number| JavaConsumer::new(number, reading.clone())).collect(),
            readiness: Readiness::new(task.client_count as usize),
            reading,
            course: GroupCourse::default(),
            recorder: None,
            clock: None,
            settled_ns: None,
            has_task: false,
            has_begun: false,
            is_catching_up: false,
            even_until_ns: None,
            is_even: false,
            ending: ConsumeEnding::new(&plan),
            made_ns: None,
            has_reported_begin: false,
            plan,
            link,
            context,
        }
    }

    /// Sends the process what to do: at once, or where its clients come later when their time is there.
    fn say_task(&mut self, is_time: bool) {
        if self.has_task || (self.context.is_late() && !is_time) {
            return;
        }
        self.has_task = true;
        let properties = self.context.task.java.clone().map(|java| java.properties).unwrap_or_default();
        let mut settings: Vec<_> =
            properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let group_id = self.context.task.group_id.clone();
        settings.extend(group_id.as_deref().map(|group_id| ("group.id", group_id)));
        let role = TaskRole::Consume {
            is_member: self.reading.is_some(),
            is_from_end: self.plan.from == StartOffset::Latest,
            run_id: self.context.run_id,
            records_max: self.plan.records_max,
        };
        self.link.say_task(&self.context, &settings, role);
    }

    fn read(&mut self, net: &mut dyn Net) {
        let Self { link, context, clients, readiness, recorder, course, has_begun, ending, made_ns, .. } =
            self;
        link.read(context, net, |frame, context| {
            match frame {
                FromJava::Ready { client, began_ns, ready_ns, partitions } => {
                    readiness.note(client, Connect { dialled_ns: began_ns, ready_ns }, partitions)?;
                    made_ns.get_or_insert(began_ns);
                    if context.is_late() {
                        find(clients, client)?.comes(began_ns);
                    }
                }
                FromJava::Consumed { client: index, at_ns, records } => {
                    let recorder = recorder.as_mut().ok_or(FrameError("records before T0"))?;
                    find(clients, index)?.handed(at_ns, records, context.wall_offset_ns, recorder);
                    ending.handed(at_ns, records.iter().len() as u64);
                }
                FromJava::Lag { client, records } => find(clients, client)?.lag_is(records),
                FromJava::Assignment { client: index, at_ns, change, generation, partitions } => {
                    let client = find(clients, index)?;
                    let (number, topic) = (client.number(), &context.task.topic);
                    let reported =
                        client.assigned((at_ns, change), generation, &partitions, topic, *has_begun);
                    if let (Some(ns), Some(recorder)) = (client.take_unassigned(at_ns), recorder.as_mut()) {
                        recorder.assigned_after(at_ns, ns);
                    }
                    let without_ns = client.take_without_owner();
                    if let Some(recorder) = recorder.as_mut() {
                        without_ns.into_iter().for_each(|ns| recorder.owned_again(at_ns, ns));
                    }
                    course.note((index as usize, number), &[reported], recorder, &mut context.events);
                }
                FromJava::CaughtUp { client } => find(clients, client)?.caught_up(),
                _ => return Err(FrameError("what only producers say")),
            }
            Ok(())
        });
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
        let lag = self.clients.iter().map(JavaConsumer::lag).sum::<Option<u64>>();
        lag.filter(|_| self.are_owned())
    }

    /// Whether members of the group have all partitions; so have those of none.
    fn are_owned(&self) -> bool {
        let count = self.readiness.partitions();
        self.reading.as_ref().is_none_or(|reading| count > 0 && reading.are_owned(count))
    }

    /// Looks whether the group has shared out the partitions evenly, as every assignor has it in the end.
    fn look_at_shares(&mut self, now_ns: u64) {
        if self.is_even || !self.readiness.are_all() || !self.are_owned() {
            return;
        }
        let partitions = || self.clients.iter().map(JavaConsumer::partitions);
        let (least, most) = (partitions().min().unwrap_or(0), partitions().max().unwrap_or(0));
        let until_ns = *self.even_until_ns.get_or_insert(now_ns.saturating_add(EVEN_WAIT_NS));
        self.is_even = self.reading.is_none() || most - least <= 1 || now_ns >= until_ns;
    }

    /// Notes what the instant brings: the coming and going of the clients, the end of the load.
    fn pass(&mut self, now_ns: u64, clock: LoadClock) {
        if !self.has_begun && clock.has_begun(now_ns) {
            self.has_begun = true;
            self.ending.begins(now_ns);
            if !self.plan.ends_by_itself() {
                self.tell_began(now_ns);
            }
            self.say_task(true);
            frames::begin(self.link.out());
        }
        if !self.context.has_producers && now_ns >= clock.load_end_ns {
            self.settled_ns.get_or_insert(now_ns);
        }
        if !self.has_begun || self.link.is_ending() {
            return;
        }
        if clock.goes_early(now_ns) {
            // They stop where they are.
            self.context.tell_ended(now_ns, clock);
            return self.end(now_ns);
        }
        if self.settled_ns.is_none() {
            return;
        }
        if !self.is_catching_up {
            self.is_catching_up = true;
            frames::catch_up(self.link.out());
        }
        if self.are_owned() && self.clients.iter().all(JavaConsumer::has_caught_up) {
            self.end(now_ns);
        }
    }

    fn tell_began(&mut self, at_ns: u64) {
        if !std::mem::replace(&mut self.has_reported_begin, true) {
            self.context.tell_began(at_ns);
        }
    }

    /// A load that ends by itself begins when its clients have been made: by then an application like that of Kafka's own tool
    /// looks at the clock first. It ends where its clients have had enough records, or none for long enough: they stop where
    /// they are, and members leave their group.
    fn end_if_over(&mut self, now_ns: u64) {
        if !self.has_begun || !self.plan.ends_by_itself() || self.link.is_ending() {
            return;
        }
        if let Some(made_ns) = self.made_ns.filter(|_| !self.has_reported_begin) {
            self.ending.began(made_ns);
            self.tell_began(made_ns);
        }
        let Some(why) = self.ending.over(now_ns) else { return };
        let over_ns = self.ending.over_ns(now_ns);
        // There may be no client yet.
        self.tell_began(over_ns);
        self.settled_ns.get_or_insert(now_ns);
        self.context.tell_over(over_ns, &why);
        self.end(now_ns);
    }

    /// All close at once: what one gives up is another's to read otherwise.
    fn end(&mut self, now_ns: u64) {
        self.clients.iter_mut().for_each(JavaConsumer::ends);
        self.link.end(now_ns);
    }
}

fn find(clients: &mut [JavaConsumer], index: u32) -> Result<&mut JavaConsumer, FrameError> {
    clients.get_mut(index as usize).ok_or(FrameError("a client that is not there"))
}

impl Stream for JavaConsumeStream {
    fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn is_connected(&self) -> Result<bool, StreamError> {
        if let Some(failure) = self.link.failure() {
            return Err(failure.clone());
        }
        Ok(if self.context.is_late() { self.readiness.is_any() } else { self.is_even })
    }

    fn prepare(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn start(&mut self, t0_ns: u64) {
        self.link.begins(t0_ns);
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

    fn on_ready(&mut self, _client: usize, _connection: usize, _ready: SocketReadiness, _net: &mut dyn Net) {
        self.link.on_ready();
    }

    fn turn(&mut self, net: &mut dyn Net) {
        let now_ns = net.now_ns();
        self.tick(now_ns);
        if let Some(recorder) = &mut self.recorder {
            self.readiness.take_times().into_iter().for_each(|times| recorder.connected(times));
        }
        self.link.keep_up(&self.context, now_ns, net);
        self.say_task(false);
        self.read(net);
        match self.clock {
            Some(clock) => self.pass(now_ns, clock),
            None => self.look_at_shares(now_ns),
        }
        self.end_if_over(now_ns);
        self.link.flush(net);
    }

    fn next_deadline(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().map(Recorder::next_deadline);
        let begin = self.clock.map(|clock| clock.begin_ns).filter(|_| !self.has_begun);
        let is_at_end = !self.context.has_producers || self.context.task.span.until_ns.is_some();
        let end = self.clock.map(|clock| clock.load_end_ns);
        let end = end.filter(|_| is_at_end && self.settled_ns.is_none() && !self.link.is_ending());
        let even = self.even_until_ns.filter(|_| !self.is_even && self.clock.is_none());
        let idle = self.ending.deadline().filter(|_| !self.link.is_ending());
        let of_all = [recorder, begin, end, even, idle, self.link.next_deadline()];
        of_all.into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        // Clients that were stopped before they came have nothing to fetch.
        let never_came = self.settled_ns.is_some() && !self.has_begun;
        never_came || (self.link.is_ending() && self.link.has_ended())
    }

    fn stop(&mut self, now_ns: u64) {
        self.settled_ns.get_or_insert(now_ns);
    }

    fn finish(&mut self, now_ns: u64) -> StreamTotals {
        let id = self.context.id();
        self.clients.iter_mut().for_each(JavaConsumer::ends);
        self.tick(now_ns);
        let lag = self.lag_records();
        let counts = self.recorder.as_mut().map_or_else(Counts::default, |recorder| {
            recorder.lag(lag);
            recorder.finish()
        });
        let clients = self.clients.iter().map(JavaConsumer::totals).collect();
        StreamTotals { id, counts, clients, ..StreamTotals::default() }
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
