//! One trial's numbers, in its measure phase.
//!
//! - Rates count what was written (acknowledged, accepted, fetched) in the window: the whole seconds of the
//!   measure phase in which every load item was at work, of one that comes or goes by plan those of its own; `offered_per_s` what was intended in them. `failed`,
//!   `unresolved` and latencies are of the records whose scheduled send time lies in the measure phase.
//! - `brokers` is all brokers together, without dedicated controllers and ZooKeeper nodes; `system` is these and
//!   brokers together; `workers` all worker processes. A broker's CPU time is divided by the records of the
//!   whole cluster, so the figures of single brokers add up to that of `brokers`.
//! - A metric that the evidence does not determine has no value; only the cost of written data is left out, where no
//!   price is declared, and figures of transactions, where there are none.

use crate::caveats;
use crate::collections;
use crate::commands;
use crate::components;
use crate::cost;
use crate::cpu;
use crate::end_to_end;
use crate::error::AnalysisError;
use crate::evidence::{NS_PER_S, Window, is_open_loop};
use crate::few_seconds;
use crate::group;
use crate::health;
use crate::imported;
use crate::inside::Inside;
use crate::java;
use crate::lag;
use crate::limit;
use crate::logs;
use crate::marks;
use crate::partitions;
use crate::processes;
use crate::queue::OpenLoopQueue;
use crate::relay;
use crate::rows::{ItemRows, TrialRows};
use crate::steadiness;
use crate::sums;
use crate::tally::{self, ratio, unfinished};
use crate::window_parts;
use kdyno_model::caveat::Caveat;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Value};
use kdyno_model::grouped::distinct;
use kdyno_model::metric::{self, Address, BROKER_ALLOCATED, SAMPLED_CPU_SHARE, SubjectKind, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::processes::MemoryCourse;
use kdyno_model::sample::{ProbeReading, Timing, series};
use std::collections::BTreeSet;

/// Acknowledged ÷ offered from which a target rate counts as reached.
const TARGET_SHARE_MIN: f64 = 0.995;

/// CPU time of a process in the window from which figures per record are made, s: two of the ticks of 10 ms in which
/// the kernel counts its user and its system time. With less they would show the ticks, not the process.
const USED_S_MIN: f64 = 0.02;

const BYTES_PER_MIB: f64 = 1_048_576.0;
const US_PER_S: f64 = 1e6;

/// Every metric of every subject of a trial that answers something, the caveats about them with the heaviest first, and
/// what they say.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn judge(evidence: &TrialEvidence) -> Result<Judgement, AnalysisError> {
    // It only warmed its cluster up: nothing is concluded from it.
    if evidence.start.trial.is_conditioning() {
        return Ok(Judgement::default());
    }
    let trial = TrialRows::new(evidence)?;
    let mut found = Vec::new();
    for item in &trial.items {
        trial.state(item.name, item.plan.role.kind().subject(), &mut found, |name| {
            trial.item_value(item, name)
        });
    }
    sums::state(&trial, &mut found, |item, name| trial.item_value(item, name));
    let brokers = trial.brokers();
    let workers = trial.workers();
    let inside = Inside::of(&trial);
    let reported = trial.reported_brokers(&inside);
    trial.state("brokers", SubjectKind::Broker, &mut found, |name| match name {
        metric::COST_PER_GB => Value::from(cost::per_gb(&trial)),
        metric::COST_PER_MILLION => Value::from(cost::per_million_records(&trial)),
        _ => trial.broker_value(&inside, &reported, name),
    });
    for broker in &reported {
        let one = std::slice::from_ref(broker);
        let value = |name: &str| trial.broker_value(&inside, one, name);
        trial.state(&broker.to_string(), SubjectKind::Broker, &mut found, value);
    }
    let mut processes = |subject: &str, kind, members: &[Subject]| {
        trial.state(subject, kind, &mut found, |name| trial.process_value(members, name));
    };
    processes("system", SubjectKind::Broker, &trial.system());
    processes("workers", SubjectKind::Worker, &workers);
    for named in cpu::subjects(trial.probes(), cpu::is_named) {
        let one = std::slice::from_ref(&named);
        processes(&named.to_string(), SubjectKind::Process, one);
    }
    trial.sampled_clients(&mut found);
    components::state(&trial, &mut found);
    for relay in cpu::subjects(trial.probes(), relay::is_relay) {
        trial.state(&relay.to_string(), SubjectKind::Relay, &mut found, |name| {
            Value::from(relay::value(trial.probes(), &relay, trial.window, name))
        });
    }
    found.extend(commands::findings(&trial));
    trial.memory(&reported, &mut found);
    trial.state("host", SubjectKind::Host, &mut found, |name| trial.host_value(name));
    let of_logs = logs::findings(&trial);
    let replicas = logs::under_replicated(&of_logs);
    found.extend(of_logs);
    let steadiness = steadiness::judge(&trial, &brokers, &mut found)?;
    let mut caveats = caveats::of(&trial);
    if steadiness.is_steady() {
        // The window itself says more of it than how the warm-up ended.
        caveats.retain(|found| !matches!(found.caveat, Caveat::WarmupNotSettled { .. }));
    }
    caveats.extend(steadiness.caveats);
    caveats.extend(few_seconds::judge(&trial, &mut found)?);
    // Stable: of one severity those of the rules come first.
    caveats.sort_by_key(|caveat| std::cmp::Reverse(caveat.severity));
    marks::few_records(&mut found, &trial);
    marks::backlog(&mut found, &caveats);
    marks::invalid(&mut found, &caveats);
    marks::invalid_behind(&mut found, &caveats, &trial);
    let mut conclusions = steadiness.conclusions;
    let limits = limit::of(&trial);
    conclusions.extend(health::of(&trial, &limits, (&inside, &reported), replicas).map(Conclusion::Health));
    conclusions.extend(processes::of(&trial).map(Conclusion::Processes));
    conclusions.extend(window_parts::of(&trial)?.map(Conclusion::WindowParts));
    conclusions.extend(limits.into_iter().map(Conclusion::Limit));
    let members = trial.items.iter().filter_map(|item| group::members(&trial, item));
    conclusions.extend(members.map(Conclusion::Members));
    found.extend(imported::findings(evidence));
    Ok(Judgement { findings: found, caveats, conclusions })
}

/// Bytes of a value of the item: by its plan, or where values differ of those that were acknowledged, in the mean.
fn mean_value_bytes(item: &ItemRows<'_>) -> Option<f64> {
    let plan = item.plan.role.as_produce()?;
    if plan.records.has_equal_values() {
        return Some(f64::from(plan.value_bytes));
    }
    let totals = item.tally.totals.as_ref()?;
    ratio(totals.acknowledged_bytes, totals.acknowledged)
}

impl<'a> TrialRows<'a> {
    /// Adds a finding for every metric that a kind of subject has; for those that may be left out where there is one.
    pub(crate) fn state(
        &self,
        subject: &str,
        kind: SubjectKind,
        found: &mut Vec<Finding>,
        value: impl Fn(&str) -> Value,
    ) {
        for name in metric::names(kind) {
            let estimate = value(&name);
            if metric::may_be_left_out(&name) && estimate == Value::None {
                continue;
            }
            let unit = metric::find(kind, &name).map_or(Unit::Count, |known| known.unit);
            found.push(self.stated(subject, &name, unit, estimate));
        }
    }

    /// One figure.
    pub(crate) fn stated(&self, subject: &str, name: &str, unit: Unit, estimate: Value) -> Finding {
        let (n, reason) = match estimate {
            Value::None => (0, NotResolvable::NoValue),
            Value::Is(_) | Value::AtLeast(_) => (1, NotResolvable::OneTrial),
        };
        Finding {
            scope: self.scope(),
            quantity: Quantity::Value,
            unit,
            estimate,
            n,
            range: None,
            interval: Interval::NotResolvable(reason),
            marks: BTreeSet::new(),
            of: Address { subject: subject.to_owned(), metric: name.to_owned() },
        }
    }

    /// Adds how much of its CPU time the stacks of each Java client hold that was sampled.
    fn sampled_clients(&self, found: &mut Vec<Finding>) {
        for client in cpu::subjects(self.probes(), cpu::is_java_client) {
            let share = cpu::sampled_share(self.probes(), std::slice::from_ref(&client), self.window);
            let of = client.to_string();
            found.extend(
                share.map(|share| self.stated(&of, SAMPLED_CPU_SHARE, Unit::Ratio, Value::Is(share))),
            );
        }
    }

    /// Adds how memory went, of each process that is reported by itself: brokers, the only worker, components, and
    /// those that were named.
    fn memory(&self, brokers: &[Subject], found: &mut Vec<Finding>) {
        let Some(window) = self.window else { return };
        let mut add = |of: &str, name: &str, course: Option<MemoryCourse>| {
            found.extend(course.map(|course| Finding {
                scope: self.scope(),
                quantity: Quantity::Value,
                unit: Unit::MibPerMin,
                estimate: Value::Is(course.mib_per_min),
                n: 1,
                range: None,
                interval: course.interval,
                marks: processes::mark(&course).into_iter().collect(),
                of: Address { subject: of.to_owned(), metric: name.to_owned() },
            }));
        };
        let rss = |one: &Subject| processes::memory(self.probes(), one, window);
        for broker in brokers {
            add(&broker.to_string(), metric::MEMORY_GROWTH, rss(broker));
            add(&broker.to_string(), metric::HEAP_GROWTH, processes::heap(self.probes(), broker, window));
        }
        if let [worker] = &self.workers()[..] {
            add("workers", metric::MEMORY_GROWTH, rss(worker));
        }
        let is_reported = |subject: &Subject| cpu::is_named(subject) || cpu::is_component(subject);
        for named in cpu::subjects(self.probes(), is_reported) {
            add(&named.to_string(), metric::MEMORY_GROWTH, rss(&named));
        }
    }

    fn item_value(&self, item: &ItemRows<'_>, name: &str) -> Value {
        if let Some((timing, statistic)) = name.split_once('.') {
            return latency_value(item, timing, statistic);
        }
        if let Some(value) = lag::value(self, item, name) {
            return value;
        }
        if java::is_unseen(item, name) {
            return Value::None;
        }
        let tally = &item.tally;
        let windowed = &tally.windowed;
        let per_s = |count: u64| item.window.map(|window| count as f64 / window.seconds());
        let mib = |bytes: Option<f64>| bytes.map(|bytes| bytes / BYTES_PER_MIB);
        let has_transactions = item.plan.role.as_produce().is_some_and(|plan| plan.transactions.is_some());
        let of_transactions = |count: u64| item.window.filter(|_| has_transactions).map(|_| count as f64);
        let is_reported = || end_to_end::is_reported(self.evidence, item.name);
        let found = match name {
            "clients" => Some(f64::from(item.plan.clients)),
            "offered_per_s" => per_s(tally.offered),
            "achieved_per_s" => per_s(windowed.achieved),
            "acked_per_s" => per_s(windowed.acknowledged),
            "acked_mib_per_s" => mib(per_s(windowed.acknowledged_bytes)),
            "acked_per_s_sum_of_clients" => tally.sum_of_client_rates_per_s(),
            "acked_mib_per_s_sum_of_clients" => {
                let rate = tally.sum_of_client_rates_per_s();
                mib(rate.zip(mean_value_bytes(item)).map(|(rate, bytes)| rate * bytes))
            }
            metric::CLIENTS_OVERLAP_SHARE => {
                tally.totals.as_ref().and_then(|_| tally::overlap_share(&tally.clients))
            }
            "achieved_share" => tally.achieved_share(),
            "target_reached" => ratio(windowed.acknowledged, tally.offered)
                .filter(|_| is_open_loop(item.plan))
                .map(|share| if share >= TARGET_SHARE_MIN { 1.0 } else { 0.0 }),
            "failed" => self.measured(item, tally::failed(&tally.measured)),
            "failed_share" => ratio(unfinished(&tally.measured), tally.measured.offered),
            "retries" => item.window.map(|_| windowed.retries as f64),
            "committed" => of_transactions(windowed.committed),
            "aborted" => of_transactions(windowed.aborted),
            "queue" => {
                let queue = item.window.and_then(|window| OpenLoopQueue::of(item, window));
                queue.map(|queue| queue.end_s * NS_PER_S as f64)
            }
            "lag" => lag::of(self, item).map(|lag| lag.records as f64),
            "unresolved" => self.measured(item, tally.measured.unresolved),
            // What was handed over is not what was fetched while an application is behind.
            "records_per_batch" if item.plan.role.as_consume().is_some_and(|plan| plan.work.is_some()) => {
                None
            }
            // One of the two is 0: an item produces or consumes.
            "records_per_batch" => {
                ratio(windowed.acknowledged.saturating_add(windowed.fetched), windowed.batches)
            }
            "bytes_per_request" => ratio(windowed.request_bytes, windowed.requests),
            "compression_ratio" => ratio(windowed.record_bytes, windowed.sent_bytes),
            "throttled_share" => item.window.map(|window| item.throttled_share(window)),
            "header_trailers" => item.window.map(|_| windowed.header_trailers as f64),
            "response_over_service" => response_over_service(item),
            "fetched_per_s" => per_s(windowed.fetched),
            "fetched_wire_mib_per_s" => mib(per_s(windowed.fetched_bytes)),
            "aborted_records" => item.window.map(|_| windowed.aborted_records as f64),
            "control_records" => item.window.map(|_| windowed.control_records as f64),
            "end_to_end" => is_reported().then_some(tally.measured.end_to_end as f64),
            "discarded" => item.window.filter(|_| is_reported()).map(|_| windowed.discarded as f64),
            "conserved" => caveats::group::is_conserved(self, item).map(|is_it| f64::from(u8::from(is_it))),
            "censored" => item.censored.map(|records| records as f64),
            "missing_offsets" => item.window.map(|_| windowed.missing_offsets as f64),
            _ => self.value_of_some(item, name),
        };
        Value::from(found)
    }

    /// Metrics of groups, of Java clients and of topics with several partitions.
    fn value_of_some(&self, item: &ItemRows<'_>, name: &str) -> Option<f64> {
        let others = || java::value(self, item, name).or_else(|| partitions::value(&item.tally, name));
        group::value(item, name).or_else(others)
    }

    /// A count of the measure phase; of a trial that never got there, nothing is known.
    fn measured(&self, item: &ItemRows<'_>, count: u64) -> Option<f64> {
        (item.window.is_some() || item.tally.measured.offered > 0).then_some(count as f64)
    }

    /// Records per second that the cluster served in the window: those acknowledged, or those fetched when nothing
    /// is produced.
    fn records_per_s(&self, window: Window) -> f64 {
        let produces = self.items.iter().any(|item| item.plan.role.as_produce().is_some());
        let served = |item: &ItemRows<'_>| {
            let counts = &item.tally.windowed;
            if produces { counts.acknowledged } else { counts.fetched }
        };
        self.items.iter().fold(0u64, |sum, item| sum.saturating_add(served(item))) as f64 / window.seconds()
    }

    /// The brokers of a local cluster, and any others that were probed.
    pub(crate) fn brokers(&self) -> Vec<Subject> {
        brokers_of(self.evidence)
    }

    /// All processes of the system under test: its brokers, dedicated controllers and ZooKeeper nodes.
    fn system(&self) -> Vec<Subject> {
        let mut all = self.brokers();
        let Some(mode) = self.evidence.start.trial.effective.system.mode() else { return all };
        let probed = cpu::subjects(self.probes(), |subject| {
            matches!(subject, Subject::Controller(_) | Subject::Zookeeper(_))
        });
        // One that was not probed leaves the whole unknown.
        if probed.len() < mode.nodes_without_broker() as usize {
            return Vec::new();
        }
        all.extend(probed);
        all
    }

    /// Those, and any others that report of themselves.
    fn reported_brokers(&self, inside: &Inside<'_>) -> Vec<Subject> {
        let mut all = self.brokers();
        all.extend(inside.brokers().cloned());
        all.sort();
        all.dedup();
        all
    }

    /// A metric of brokers, from outside or from inside. Brokers elsewhere report their CPU time themselves.
    fn broker_value(&self, inside: &Inside<'_>, brokers: &[Subject], name: &str) -> Value {
        let of_themselves = inside.value(brokers, name).or_else(|| collections::value(self, brokers, name));
        match of_themselves {
            Some(value) => Value::Is(value),
            None => self.value_by(brokers, name, &|broker| {
                cpu::used_s(self.probes(), broker, self.window?).or_else(|| inside.cpu_s(broker))
            }),
        }
    }

    /// A metric of several processes together: no value unless each of them was probed.
    pub(crate) fn process_value(&self, members: &[Subject], name: &str) -> Value {
        self.value_by(members, name, &|member| cpu::used_s(self.probes(), member, self.window?))
    }

    /// The mean by the CPU time of each in the window, seconds.
    fn value_by(&self, members: &[Subject], name: &str, used: &dyn Fn(&Subject) -> Option<f64>) -> Value {
        let Some(window) = self.window.filter(|_| !members.is_empty()) else { return Value::None };
        let sum = |of: &dyn Fn(&Subject) -> Option<f64>| -> Option<f64> { members.iter().map(of).sum() };
        let used_s = || sum(used);
        let seen_s = || used_s().filter(|used_s| *used_s >= USED_S_MIN * members.len() as f64);
        let records_per_s = self.records_per_s(window);
        Value::from(match name {
            "cpu_percent" => used_s().map(|used_s| 100.0 * used_s / window.seconds()),
            "cpu_us_per_record" => seen_s()
                .filter(|_| records_per_s > 0.0)
                .map(|used_s| US_PER_S * used_s / window.seconds() / records_per_s),
            "records_per_s_per_core" => seen_s().map(|used_s| records_per_s * window.seconds() / used_s),
            BROKER_ALLOCATED => {
                let series = series::ALLOCATED_BYTES_PER_S_SAMPLED;
                let bytes_per_s = sum(&|member| cpu::sampled(self.probes(), member, series));
                bytes_per_s.filter(|_| records_per_s > 0.0).map(|bytes_per_s| bytes_per_s / records_per_s)
            }
            SAMPLED_CPU_SHARE => cpu::sampled_share(self.probes(), members, self.window),
            "memory_rss_bytes_max" => sum(&|member| cpu::memory_bytes_max(self.probes(), member, window)),
            _ => None,
        })
    }

    fn host_value(&self, name: &str) -> Value {
        Value::from(self.window.and_then(|window| {
            match name {
                "cpu_percent" => cpu::used_s(self.probes(), &Subject::Host, window)
                    .map(|used_s| 100.0 * used_s / window.seconds()),
                "steal_percent" => cpu::steal_percent(self.probes(), window),
                _ => None,
            }
        }))
    }
}

/// The brokers of a local cluster, and any others whose processes were probed.
pub(crate) fn brokers_of(evidence: &TrialEvidence) -> Vec<Subject> {
    let planned = evidence.start.trial.effective.system.brokers().unwrap_or(0);
    let planned = (0..planned).map(Subject::Broker);
    // One that is elsewhere may report of itself; what it used was not of this host.
    let is_probed = |reading: &&ProbeReading| reading.series == series::CPU_USER_S_TOTAL;
    let probed = evidence.probes.iter().filter(is_probed).filter(|reading| reading.subject.is_broker());
    distinct(planned.chain(probed.map(|reading| reading.subject.clone())))
}

/// Mean response ÷ mean service. Neither mean is defined once a record has no acknowledgement, and of a stream that was cut
/// off the service of the last records is not known.
fn response_over_service(item: &ItemRows<'_>) -> Option<f64> {
    let (response, service) = (item.latencies.get(&Timing::Response)?, item.latencies.get(&Timing::Service)?);
    if response.total() != service.total() {
        return None;
    }
    match (response.mean(), service.mean()) {
        (Value::Is(response), Value::Is(service)) if service > 0.0 => Some(response / service),
        _ => None,
    }
}

fn latency_value(item: &ItemRows<'_>, timing: &str, statistic: &str) -> Value {
    let timing = timing.parse::<Timing>().ok();
    let Some(latencies) = timing.and_then(|timing| item.latencies.get(&timing)) else {
        return Value::None;
    };
    match statistic {
        "mean" => latencies.mean(),
        "max" => latencies.max(),
        _ => metric::QUANTILES
            .iter()
            .find(|(name, _)| *name == statistic)
            .map_or(Value::None, |(_, quantile)| latencies.quantile(*quantile)),
    }
}
