//! One consuming client: its connections, what it fetches, and its application.

use super::application::{Application, BegunRecord, HandedRecords};
use super::group;
use crate::connections_io::ConnectionsIo;
use crate::groups::GroupReading;
use crate::net::Net;
use crate::recorder::{HandedOver, Recorder};
use crate::stream::{Events, StreamContext};
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::ConnectionsConfig;
use kdyno_kafka::client::Client;
use kdyno_kafka::consumer::{
    self, Consumer, ConsumerConfig, ConsumerEvent, FetchDepth, FetchIsolation, FetchTally, Fetched, OffsetAt,
    Partitions, RecordSink,
};
use kdyno_kafka::group::{GroupError, GroupEvent};
use kdyno_model::event::EventKind;
use kdyno_model::plan::{ConsumePlan, GroupProtocol, IsolationLevel, ReadDepth, StartOffset};
use kdyno_model::sample::{ClientTotals, MemberTotals};
use std::ops::Range;
use std::sync::Arc;

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
    /// What it shares with the other members of its group; `None`: it is in none.
    reading: Option<Arc<GroupReading>>,
    /// The measure phase, ns; empty before it is known.
    measure: Range<u64>,
    /// It failed as a member, and has no partitions any more.
    has_given_up: bool,
    /// Partitions that it has as a member.
    held: usize,
    /// Since when it has none that it should have, ns; `None`: it has some, or it is before T0.
    unassigned_since_ns: Option<u64>,
}

impl ConsumeClient {
    /// Client `index` of those that this stream has.
    pub(super) fn new(plan: &ConsumePlan, context: &StreamContext, index: u32) -> Self {
        let application = Application::new(plan, context, index);
        let connections = connections_config(plan, context, index);
        let kafka = Consumer::new(consumer_config(plan, context, index), connections, application);
        let group = group::group_config(plan, context, index);
        let reading =
            group.as_ref().map(|group| context.groups.reading(&group.group_id, &context.task.topic));
        Self {
            kafka: match group {
                Some(group) => kafka.in_group(group),
                None => kafka,
            },
            io: ConnectionsIo::new(index, &context.task),
            totals: ClientTotals {
                member: reading.as_ref().map(|_| MemberTotals::default()),
                ..Default::default()
            },
            number: context.task.client_first + index,
            first_ns: None,
            tick_ns: context.tick_ns,
            reading,
            measure: 0..0,
            has_given_up: false,
            held: 0,
            unassigned_since_ns: None,
        }
    }

    /// The measure phase begins and ends at these instants, ns.
    pub(super) fn measure_begins(&mut self, measure: Range<u64>) {
        self.measure = measure;
    }

    /// It comes now, later than T0.
    pub(super) fn comes(&mut self, now_ns: u64) {
        self.unassigned_since_ns = Some(now_ns);
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
        let has_polled = recorder.is_some_and(|recorder| self.work(now_ns, recorder));
        let is_polling = !self.kafka.sink().is_at_work(now_ns);
        if is_polling {
            self.kafka.poll_group(now_ns);
        }
        self.kafka.ask_group(now_ns);
        // As in Java: a poll sends fetches for partitions with nothing waiting, also where it has records to hand over.
        let is_fetching = is_fetching && (has_polled || is_polling) && self.failure().is_none();
        self.kafka.poll(now_ns, is_fetching);
        self.io.flush_all(self.kafka.connections_mut(), net);
        let work_ns = self.kafka.sink().next_deadline(now_ns);
        // Its instants are reckoned: it needs no turn for each record.
        let work_ns = work_ns.map(|at_ns| at_ns.max(now_ns + self.tick_ns));
        let group_ns = self.kafka.next_group_deadline(is_polling);
        self.kafka.next_deadline().into_iter().chain(work_ns).chain(group_ns).min()
    }

    /// Records what came with answers and, where no time is taken over records, is in the application's hands now.
    pub(super) fn record(&mut self, handed_ns: u64, recorder: &mut Recorder, events: &mut Events) {
        let mut fetched: Vec<Fetched> = self.kafka.take_fetched().collect();
        let mut left_over = self.kafka.sink_mut().take_left_over();
        for last in fetched.iter_mut().rev() {
            let of_this = left_over.min(last.tally.records);
            last.tally.records -= of_this;
            left_over -= of_this;
        }
        let works = self.kafka.sink().works();
        for fetched in fetched {
            let now_ns = fetched.received_ns;
            if fetched.throttled_ns > 0 {
                recorder.throttled(now_ns, fetched.throttled_ns);
                let by = self.kafka.connections().key(fetched.connection);
                events.throttled(now_ns, by, fetched.throttled_ns);
            }
            let FetchTally { batches, bytes, records, aborted_records, control_records, missing_offsets } =
                fetched.tally;
            recorder.request(now_ns, batches, fetched.response_bytes as u64);
            recorder.fetched_bytes(now_ns, bytes);
            recorder.passed_over(now_ns, aborted_records, control_records, missing_offsets);
            if records > 0 && !works {
                self.handed_over(now_ns, records, recorder);
            }
            let read = self.kafka.sink_mut().take_read();
            self.count_again(now_ns, &read, recorder);
        }
        self.kafka
            .sink_mut()
            .take_bytes()
            .for_each(|(at_ns, bytes)| recorder.handed_over_bytes(at_ns, bytes));
        let unreported =
            self.kafka.sink_mut().take_at_once(handed_ns, |records| recorder.end_to_end(records));
        recorder.unreported(handed_ns, unreported);
        for (at_ns, event) in self.kafka.take_events() {
            let (kind, detail) = match event {
                ConsumerEvent::FetchError(detail) => (EventKind::FetchError, detail),
                ConsumerEvent::RecordsSkipped(detail) => (EventKind::RecordsSkipped, detail),
            };
            events.push(at_ns, kind, format!("client {}: {detail}", self.number));
        }
    }

    /// Its application goes on until now, and polls whenever it has worked on what it took. Returns whether a poll gave it
    /// something.
    fn work(&mut self, now_ns: u64, recorder: &mut Recorder) -> bool {
        let mut has_polled = false;
        if !self.kafka.sink().works() {
            return has_polled;
        }
        loop {
            self.begin_records(now_ns, recorder);
            if self.kafka.sink().is_at_work(now_ns) {
                break;
            }
            self.kafka.poll_group(now_ns);
            if !self.kafka.sink_mut().poll() {
                break;
            }
            has_polled = true;
        }
        let released = self.kafka.sink_mut().take_released();
        released.into_iter().for_each(|partition| self.kafka.release(partition));
        has_polled
    }

    /// It begins with those records that it has in hand.
    fn begin_records(&mut self, now_ns: u64, recorder: &mut Recorder) {
        let Self { kafka, first_ns, totals, reading, measure, .. } = self;
        let mut runs: Vec<(u64, HandedRecords)> = Vec::new();
        kafka.sink_mut().advance(now_ns, |partition, begun| {
            let BegunRecord { offset, at_ns, arrived_ns, intended_ns, bytes } = begun;
            recorder.handed_over(at_ns, 1);
            recorder.handed_over_bytes(at_ns, bytes.into());
            let intended_ns = &[intended_ns];
            let fetched_ns = Some(arrived_ns);
            recorder.end_to_end(HandedOver { fetched_ns, handed_ns: at_ns, intended_ns });
            totals.records += 1;
            totals.span_ns = at_ns - *first_ns.get_or_insert(at_ns);
            if let Some(member) = &mut totals.member {
                member.measured_records += u64::from(measure.contains(&at_ns));
            }
            match runs.last_mut() {
                _ if reading.is_none() => {}
                Some((_, run)) if run.partition == partition => {
                    run.offsets.end = offset + 1;
                    run.records += 1;
                }
                _ => runs.push((at_ns, HandedRecords { partition, offsets: offset..offset + 1, records: 1 })),
            }
        });
        for (at_ns, run) in runs {
            self.count_again(at_ns, &[run], recorder);
        }
    }

    fn handed_over(&mut self, now_ns: u64, records: u64, recorder: &mut Recorder) {
        recorder.handed_over(now_ns, records);
        self.totals.records += records;
        self.totals.span_ns = now_ns - *self.first_ns.get_or_insert(now_ns);
        if let Some(member) = &mut self.totals.member {
            member.measured_records += if self.measure.contains(&now_ns) { records } else { 0 };
        }
    }

    /// Counts what a member of the group had been handed before.
    fn count_again(&self, now_ns: u64, handed: &[HandedRecords], recorder: &mut Recorder) {
        let Some(reading) = &self.reading else { return };
        for HandedRecords { partition, offsets, records } in handed {
            let again = reading.handed_over(*partition, offsets.clone(), *records);
            if again > 0 {
                recorder.handed_over_again(now_ns, again);
            }
        }
    }

    /// Takes what happened to it as a member; `has_begun`: T0 is past.
    pub(super) fn take_group_events(
        &mut self,
        has_begun: bool,
        recorder: &mut Option<Recorder>,
    ) -> Vec<(u64, GroupEvent)> {
        let reported = self.kafka.take_group_events();
        let Some(reading) = &self.reading else { return reported };
        for (at_ns, event) in &reported {
            match event {
                GroupEvent::Assigned(rebalanced) => {
                    for place in rebalanced.added.iter().filter_map(|one| self.kafka.place(one)) {
                        let without_ns = reading.gained(place, *at_ns);
                        owned_again(recorder.as_mut(), *at_ns, without_ns);
                    }
                    if let Some(member) = self.totals.member.as_mut().filter(|_| has_begun) {
                        member.rebalances += 1;
                    }
                    self.held = rebalanced.assigned;
                    let since_ns = self.unassigned_since_ns.take_if(|_| rebalanced.assigned > 0);
                    if let (Some(since_ns), Some(recorder)) = (since_ns, recorder.as_mut()) {
                        recorder.assigned_after(*at_ns, at_ns.saturating_sub(since_ns));
                    }
                }
                GroupEvent::Revoked(all) | GroupEvent::Lost(all) => {
                    for place in all.iter().filter_map(|one| self.kafka.place(one)) {
                        let without_ns = reading.lost(place, *at_ns);
                        owned_again(recorder.as_mut(), *at_ns, without_ns);
                    }
                    let is_lost = matches!(event, GroupEvent::Lost(_)) && has_begun;
                    if let Some(member) = self.totals.member.as_mut().filter(|_| is_lost) {
                        member.losses += 1;
                    }
                    self.held = self.held.saturating_sub(all.len());
                    if self.held == 0 {
                        self.unassigned_since_ns.get_or_insert(*at_ns);
                    }
                }
                _ => {}
            }
        }
        reported
    }

    /// Its place among the clients of the load item.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Why it is no member of its group any more, for good.
    pub(super) fn failure(&self) -> Option<&GroupError> {
        self.kafka.member()?.failure()
    }

    /// A member that is none any more, for good, has no partitions: the group gives them to others.
    pub(super) fn give_up_if_failed(&mut self, now_ns: u64) {
        let Some(member) = self.kafka.member().filter(|member| member.failure().is_some()) else { return };
        if std::mem::replace(&mut self.has_given_up, true) {
            return;
        }
        let own: Vec<i32> = member.assigned().iter().filter_map(|one| self.kafka.place(one)).collect();
        for partition in own {
            self.kafka.remove(partition);
            self.kafka.sink_mut().forget(partition);
            if let Some(reading) = &self.reading {
                reading.lost(partition, now_ns);
            }
        }
    }

    /// Notes how many partitions it has, now that the load is over.
    pub(super) fn note_partitions(&mut self) {
        if let (Some(totals), Some(member)) = (&mut self.totals.member, self.kafka.member()) {
            totals.partitions = u32::try_from(member.assigned().len()).unwrap_or(u32::MAX);
        }
    }

    /// It leaves its group.
    pub(super) fn leave(&mut self, now_ns: u64) {
        self.note_partitions();
        self.kafka.leave_group(now_ns);
        self.kafka.sink_mut().stop();
    }

    /// Whether it is in no group, or not any more.
    pub(super) fn has_left(&self) -> bool {
        self.kafka.member().is_none_or(|member| member.has_left() || member.failure().is_some())
    }

    /// How many partitions it has as a member.
    pub(super) fn partitions(&self) -> usize {
        self.kafka.member().map_or(0, |member| member.assigned().len())
    }

    /// Whether members of its group have all partitions; so have those of none.
    pub(super) fn are_owned(&self) -> bool {
        let connections = self.kafka.connections();
        let counts = (0..connections.topic_count()).map(|topic| connections.partition_count(topic));
        let count = counts.map(|count| Some(count).filter(|count| *count > 0)).sum::<Option<usize>>();
        self.reading.as_ref().is_none_or(|reading| count.is_some_and(|count| reading.are_owned(count)))
    }

    /// Records between it and the end of the log; `None`: a leader has not reported yet where that is.
    pub(super) fn lag_records(&self) -> Option<u64> {
        self.kafka.lag_records().map(|left| left + self.kafka.sink().waiting() as u64)
    }

    /// Whether its application has everything that there was at `end_ns`.
    pub(super) fn is_caught_up(&self, end_ns: u64) -> bool {
        let has_all = || self.kafka.sink().waiting() == 0 && self.kafka.is_caught_up(end_ns);
        self.failure().is_some() || has_all()
    }
}

fn connections_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> ConnectionsConfig {
    let retry_backoff =
        ExponentialBackoff { first_ns: plan.retry_backoff_ns, max_ns: ExponentialBackoff::RETRY_MAX_NS };
    ConnectionsConfig {
        needs: match plan.group.as_ref().map(|group| &group.protocol) {
            None => consumer::NEEDS,
            Some(GroupProtocol::Classic { .. }) => consumer::NEEDS_CLASSIC,
            Some(GroupProtocol::Consumer { .. }) => consumer::NEEDS_CONSUMER,
        },
        request_timeout_ns: plan.request_timeout_ns,
        metadata_max_age_ns: METADATA_MAX_AGE_NS,
        // An answer holds what was requested and, at worst, one batch more than that.
        frame_bytes_max: (plan.fetch_bytes_max as usize).max(1 << 20) + (100 << 20),
        ..context.connections_config(index, retry_backoff)
    }
}

fn consumer_config(plan: &ConsumePlan, context: &StreamContext, index: u32) -> ConsumerConfig {
    // Clients among whom the partitions of these topics are shared out.
    let clients = context.task.topic_clients.unwrap_or(context.task.clients_total).max(1);
    ConsumerConfig {
        topics: context.topics(),
        partitions: match plan.group {
            Some(_) => Partitions::Told,
            None => Partitions::Share {
                first: ((context.task.client_first + index) % clients) as usize,
                clients: clients as usize,
            },
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
            IsolationLevel::ReadUncommitted => FetchIsolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => FetchIsolation::ReadCommitted,
        },
        reading: match plan.read {
            ReadDepth::Header => FetchDepth::Header,
            ReadDepth::Crc => FetchDepth::Crc,
            ReadDepth::Decode => FetchDepth::Decode,
        },
        holds_fetched: plan.work.is_some(),
        rack: plan.rack.clone(),
        metadata_max_age_ns: METADATA_MAX_AGE_NS,
    }
}
/// A partition has an owner again, where it had had none.
fn owned_again(recorder: Option<&mut Recorder>, now_ns: u64, without_ns: Option<u64>) {
    if let (Some(recorder), Some(without_ns)) = (recorder, without_ns) {
        recorder.owned_again(now_ns, without_ns);
    }
}
