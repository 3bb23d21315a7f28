//! The reasons to doubt a trial: one rule for each, with its threshold, in [`RULES`] with its severity.
//!
//! `Invalid` means that the figures are wrong. `OfferedNotAchieved` is only a warning: in an open loop that
//! offers more than can be carried, latencies grow with the length of the trial and must not be used, but
//! the acknowledged rate is exactly what was carried; scenarios that ask for that rate offer too much on
//! purpose. A claim about latency is where it becomes invalid, and claims are judged elsewhere.

use crate::cpu;
use crate::evidence::{NS_PER_S, cut_short, is_open_loop, produce};
use crate::rows::{Item, Trial};
use crate::tally::unfinished;
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::Severity::{self, Invalid, Note, Warning};
use kdyno_model::finding::{Caveat, Concern, ScopedCaveat, Value};
use kdyno_model::plan::{Compression, Payload, Storage, SystemPlan};
use kdyno_model::sample::{Counts, Timing};
use std::collections::{BTreeMap, BTreeSet};

/// Carried ÷ offered of an open loop below which the offered rate was not the one applied.
const CARRIED_SHARE_MIN: f64 = 0.995;

/// Seconds' worth of load that may be open when the window begins: the queue of a warm-up in which fresh brokers
/// carried less than was offered is then part of every latency.
const QUEUED_S_MAX: f64 = 0.5;

/// Share of a core from which a thread of a worker may itself be the limit, and of the cores that all of its
/// event loop threads can use.
const WORKER_BUSY_SHARE_MAX: f64 = 0.75;

/// Share of the response's p99 that the generator's own schedule delay may make up.
const SCHEDULE_DELAY_SHARE_MAX: f64 = 0.1;

/// The schedule delay is never doubted below this many times what a bare sleep shows on the same host: less cannot
/// be had there.
const SCHEDULE_DELAY_SLEEPS_MIN: f64 = 3.0;

/// Share of processor time taken by the hypervisor from which it is worth a word.
const STEAL_SHARE_MAX: f64 = 0.01;

/// Share of all processor time that programs outside the run may use.
const OTHER_LOAD_SHARE_MAX: f64 = 0.15;

/// The caveats of one kind that a trial gives cause for.
type Rule = fn(&Trial<'_>) -> Vec<Caveat>;

/// Every kind of caveat, the heaviest first: the order in which they are told.
const RULES: &[(Severity, Rule)] = &[
    (Invalid, accounting_broken),
    (Invalid, samples_missing),
    (Warning, offered_not_achieved),
    (Warning, queue_at_start),
    (Warning, failures),
    (Warning, unresolved),
    (Warning, schedule_delay_large),
    (Warning, pooled_compression),
    (Warning, thread_busy),
    (Warning, worker_busy),
    (Warning, steal),
    (Warning, other_load),
    (Warning, shared_processors),
    (Warning, memory_storage),
    (Warning, process_died),
    (Warning, unknown_setting),
    (Warning, host_shared),
    (Warning, fetch_errors),
    (Warning, records_skipped),
    (Warning, cut_short_by),
    (Note, assigned_not_group),
    (Note, closed_loop),
];

/// All reasons, the heaviest first.
pub(crate) fn of(trial: &Trial<'_>) -> Vec<ScopedCaveat> {
    let scope = trial.scope();
    let found = RULES.iter().flat_map(|(severity, rule)| {
        rule(trial).into_iter().map(|caveat| ScopedCaveat {
            scope,
            severity: *severity,
            concerns: Concern::Everything,
            caveat,
        })
    });
    found.collect()
}

/// What a rule says of each load item.
fn of_items(trial: &Trial<'_>, rule: impl Fn(&Item<'_>) -> Option<Caveat>) -> Vec<Caveat> {
    trial.items.iter().filter_map(rule).collect()
}

/// Exact: every offered record has one outcome.
fn accounting_broken(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        let totals = item.tally.totals.as_ref().filter(|_| produce(item.plan).is_some())?;
        let difference =
            i128::from(totals.offered) - i128::from(totals.acknowledged) - i128::from(unfinished(totals));
        (difference != 0).then(|| Caveat::AccountingBroken {
            item: item.name.to_owned(),
            difference: saturate(difference),
        })
    })
}

/// Exact: the rows hold every record of the totals. Of a trial that was cut short the last ones may be missing.
fn samples_missing(trial: &Trial<'_>) -> Vec<Caveat> {
    if cut_short(trial.evidence).is_some() {
        return Vec::new();
    }
    let outcomes = |counts: &Counts| {
        i128::from(counts.acknowledged) + i128::from(counts.fetched) + i128::from(unfinished(counts))
    };
    of_items(trial, |item| {
        let missing = outcomes(item.tally.totals.as_ref()?) - outcomes(&item.tally.all);
        (missing != 0)
            .then(|| Caveat::SamplesMissing { item: item.name.to_owned(), records: saturate(missing) })
    })
}

fn saturate(difference: i128) -> i64 {
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

fn offered_not_achieved(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        let window = trial.window.filter(|_| is_open_loop(item.plan))?;
        let share = item.tally.carried_share(window).filter(|share| *share < CARRIED_SHARE_MIN)?;
        Some(Caveat::OfferedNotAchieved { item: item.name.to_owned(), share })
    })
}

fn queue_at_start(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        let window = trial.window.filter(|_| is_open_loop(item.plan))?;
        let seconds = item.tally.queued_s(window);
        let (item, records) = (item.name.to_owned(), item.tally.queued);
        (seconds > QUEUED_S_MAX).then_some(Caveat::QueueAtStart { item, records, seconds })
    })
}

/// Records of the measure phase that failed, one caveat for each reason.
fn failures(trial: &Trial<'_>) -> Vec<Caveat> {
    let reasons = trial.items.iter().flat_map(|item| {
        let failed = item.tally.measured.failed.iter().filter(|(_, records)| **records > 0);
        failed.map(|(reason, records)| Caveat::Failures {
            item: item.name.to_owned(),
            reason: reason.clone(),
            records: *records,
        })
    });
    reasons.collect()
}

fn unresolved(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        let records = item.tally.measured.unresolved;
        (records > 0).then(|| Caveat::Unresolved { item: item.name.to_owned(), records })
    })
}

/// Whether the load generator was late itself.
fn schedule_delay_large(trial: &Trial<'_>) -> Vec<Caveat> {
    let sleeps_ns = trial.evidence.noise.iter().map(|noise| noise.sleep_late_ns_p99);
    let sleep_ns = sleeps_ns.max().unwrap_or(0) as f64;
    of_items(trial, |item| {
        let p99 = |timing| match item.latencies.get(&timing)?.quantile(0.99) {
            Value::Is(ns) | Value::AtLeast(ns) => Some(ns),
            Value::None => None,
        };
        let delay_ns = p99(Timing::ScheduleDelay).filter(|_| is_open_loop(item.plan))?;
        let response_ns = p99(Timing::Response)?;
        let is_large = delay_ns > SCHEDULE_DELAY_SHARE_MAX * response_ns
            && delay_ns > SCHEDULE_DELAY_SLEEPS_MIN * sleep_ns;
        // Both come from whole numbers of ns far below 2⁵³.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        is_large.then(|| Caveat::ScheduleDelayLarge {
            item: item.name.to_owned(),
            schedule_delay_ns_p99: delay_ns as u64,
            response_ns_p99: response_ns as u64,
        })
    })
}

fn pooled_compression(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        let plan = produce(item.plan)?;
        let is_pooled = matches!(plan.payload, Payload::Pooled { .. });
        (is_pooled && plan.client.compression != Compression::None)
            .then(|| Caveat::PooledCompression { item: item.name.to_owned() })
    })
}

/// Threads of workers that may themselves be the limit.
fn thread_busy(trial: &Trial<'_>) -> Vec<Caveat> {
    let Some(window) = trial.window else { return Vec::new() };
    let workers = trial.workers();
    let threads = workers.iter().flat_map(|worker| cpu::threads_s(trial.probes(), worker, window));
    threads
        .map(|(thread, used_s)| (thread, 100.0 * used_s / window.seconds()))
        .filter(|(_, percent)| *percent > 100.0 * WORKER_BUSY_SHARE_MAX)
        .map(|(thread, cpu_percent)| Caveat::ThreadBusy { thread: thread.to_owned(), cpu_percent })
        .collect()
}

/// All workers together; not said again where a single thread is busy.
fn worker_busy(trial: &Trial<'_>) -> Vec<Caveat> {
    let Some(window) = trial.window.filter(|_| thread_busy(trial).is_empty()) else { return Vec::new() };
    let workers = trial.workers();
    let used_s =
        workers.iter().map(|worker| cpu::used_s(trial.probes(), worker, window)).sum::<Option<f64>>();
    let Some(cpu_percent) = used_s.map(|used_s| 100.0 * used_s / window.seconds()) else { return Vec::new() };
    // Each stream of a worker has an event loop thread of its own.
    let threads = u32::try_from(trial.evidence.start.streams.len()).unwrap_or(u32::MAX);
    let cores = threads.min(trial.evidence.session.processors);
    let is_busy = cpu_percent > 100.0 * WORKER_BUSY_SHARE_MAX * f64::from(cores);
    is_busy.then_some(Caveat::WorkerBusy { cpu_percent, cores }).into_iter().collect()
}

/// Whether the hypervisor had the processors.
fn steal(trial: &Trial<'_>) -> Vec<Caveat> {
    let share = trial.window.and_then(|window| cpu::steal_share(trial.probes(), window));
    share.filter(|share| *share > STEAL_SHARE_MAX).map(|share| Caveat::Steal { share }).into_iter().collect()
}

/// What the host's processors did in the window beside the run's own processes. The kernel's work for the
/// run, interrupts and network, is in it too, so the threshold leaves room for that. The brokers of an attached
/// cluster are no processes of the run, but they may be on this host.
fn other_load(trial: &Trial<'_>) -> Vec<Caveat> {
    let Some(window) = trial.window.filter(|_| !trial.evidence.start.is_attached_here()) else {
        return Vec::new();
    };
    let Some(host_s) = cpu::used_s(trial.probes(), &Subject::Host, window) else { return Vec::new() };
    // What a worker without readings used is not other load.
    if trial.workers().iter().any(|worker| cpu::used_s(trial.probes(), worker, window).is_none()) {
        return Vec::new();
    }
    let own = cpu::subjects(trial.probes(), cpu::is_own_process);
    let own_s = own.iter().filter_map(|process| cpu::used_s(trial.probes(), process, window));
    let cpu_percent = 100.0 * (host_s - own_s.sum::<f64>()) / window.seconds();
    let limit_percent = 100.0 * OTHER_LOAD_SHARE_MAX * f64::from(trial.evidence.session.processors);
    (cpu_percent > limit_percent).then_some(Caveat::OtherLoad { cpu_percent }).into_iter().collect()
}

fn shared_processors(trial: &Trial<'_>) -> Vec<Caveat> {
    let start = &trial.evidence.start;
    let is_shared = matches!(start.trial.effective.system, SystemPlan::Local(_)) || start.is_attached_here();
    let processors = trial.evidence.session.processors;
    is_shared.then_some(Caveat::SharedProcessors { processors }).into_iter().collect()
}

fn memory_storage(trial: &Trial<'_>) -> Vec<Caveat> {
    let system = &trial.evidence.start.trial.effective.system;
    let is_memory = matches!(system, SystemPlan::Local(cluster) if cluster.storage == Storage::Memory);
    is_memory.then_some(Caveat::MemoryStorage).into_iter().collect()
}

fn events<'a>(trial: &Trial<'a>, kind: EventKind) -> impl Iterator<Item = &'a Event> {
    trial.evidence.events.iter().filter(move |event| event.kind == kind)
}

/// The same process told twice is no further doubt.
fn process_died(trial: &Trial<'_>) -> Vec<Caveat> {
    let died: BTreeSet<&Subject> =
        events(trial, EventKind::ProcessDied).map(|event| &event.subject).collect();
    died.into_iter().map(|subject| Caveat::ProcessDied { subject: subject.clone() }).collect()
}

/// One for each setting.
fn unknown_setting(trial: &Trial<'_>) -> Vec<Caveat> {
    let settings: BTreeMap<String, &str> = events(trial, EventKind::UnknownSetting)
        .map(|event| (event.subject.to_string(), event.detail.as_str()))
        .collect();
    settings
        .into_iter()
        .map(|(setting, detail)| Caveat::UnknownSetting { setting, detail: detail.to_owned() })
        .collect()
}

/// One for each other run.
fn host_shared(trial: &Trial<'_>) -> Vec<Caveat> {
    let others: BTreeSet<&str> =
        events(trial, EventKind::HostShared).map(|event| event.detail.as_str()).collect();
    others.into_iter().map(|detail| Caveat::HostShared { detail: detail.to_owned() }).collect()
}

fn fetch_errors(trial: &Trial<'_>) -> Vec<Caveat> {
    let items = by_item(trial, EventKind::FetchError).into_iter();
    items.map(|(item, (events, first))| Caveat::FetchErrors { item, events, first }).collect()
}

fn records_skipped(trial: &Trial<'_>) -> Vec<Caveat> {
    let items = by_item(trial, EventKind::RecordsSkipped).into_iter();
    items.map(|(item, (events, first))| Caveat::RecordsSkipped { item, events, first }).collect()
}

/// Each load item's number of events since T0 and what the first one says. Before T0 nothing is measured: a topic
/// that has just been made has no leader for a moment.
fn by_item(trial: &Trial<'_>, kind: EventKind) -> BTreeMap<String, (u64, String)> {
    let mut items = BTreeMap::new();
    for event in events(trial, kind).filter(|event| event.at_ns.is_some()) {
        items.entry(event.subject.to_string()).or_insert_with(|| (0, event.detail.clone())).0 += 1;
    }
    items
}

fn cut_short_by(trial: &Trial<'_>) -> Vec<Caveat> {
    let Some(reason) = cut_short(trial.evidence) else { return Vec::new() };
    let measured_s = trial.window.map_or(0, |window| window.end_second - window.first_second);
    let planned_ns = trial.evidence.start.trial.effective.phases.measure_ns;
    let planned_s = u32::try_from(planned_ns / NS_PER_S).unwrap_or(u32::MAX);
    vec![Caveat::CutShort { reason, measured_s, planned_s }]
}

fn assigned_not_group(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        produce(item.plan).is_none().then(|| Caveat::AssignedNotGroup { item: item.name.to_owned() })
    })
}

fn closed_loop(trial: &Trial<'_>) -> Vec<Caveat> {
    of_items(trial, |item| {
        (produce(item.plan).is_some() && !is_open_loop(item.plan))
            .then(|| Caveat::ClosedLoop { item: item.name.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_come_first() {
        assert!(RULES.is_sorted_by_key(|(severity, _)| std::cmp::Reverse(*severity)));
    }
}
