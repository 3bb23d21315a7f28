//! The reasons to doubt a trial, each with its threshold and severity.
//!
//! `Invalid` means that the figures are wrong. `OfferedNotAchieved` is only a `Caveat`: in an open loop that
//! offers more than can be carried, latencies grow with the length of the trial and must not be used, but
//! the acknowledged rate is exactly what was carried; scenarios that ask for that rate offer too much on
//! purpose. A claim about latency is where it becomes invalid, and claims are judged elsewhere.

use crate::cpu;
use crate::evidence::{TrialEvidence, Window, is_open_loop, produce};
use crate::tally::{failed, unfinished};
use crate::trial::Item;
use kdyno_model::finding::{Caveat, Severity, Value};
use kdyno_model::plan::{Compression, Payload, Storage, SystemPlan};
use kdyno_model::run::{Event, event_kind};
use kdyno_model::sample::{Counts, Timing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Carried ÷ offered of an open loop below which the offered rate was not the one applied.
pub const CARRIED_SHARE_MIN: f64 = 0.995;

/// Seconds' worth of load that may be open when the window begins: the queue of a warm-up in which fresh brokers
/// carried less than was offered is then part of every latency.
pub const QUEUED_S_MAX: f64 = 0.5;

/// Share of a core from which a thread of a worker may itself be the limit, and of the cores that all of its
/// event loop threads can use.
pub const WORKER_BUSY_SHARE_MAX: f64 = 0.75;

/// Share of the response's p99 that the generator's own lag may make up.
pub const LAG_SHARE_MAX: f64 = 0.1;

/// The lag is never doubted below this many times what a bare sleep shows on the same host: less cannot be
/// had there.
pub const LAG_FLOOR_SLEEPS: f64 = 3.0;

/// Share of processor time taken by the hypervisor from which it is worth a word.
pub const STEAL_SHARE_MAX: f64 = 0.01;

/// Share of all processor time that programs outside the run may use.
pub const OTHER_LOAD_SHARE_MAX: f64 = 0.15;

/// All reasons, the heaviest first.
pub(crate) fn of(
    evidence: &TrialEvidence<'_>,
    window: Option<Window>,
    items: &[Item<'_>],
) -> Vec<(Severity, Caveat)> {
    let mut found = Vec::new();
    for item in items {
        accounting(evidence, item, &mut found);
        outcomes(window, item, &mut found);
        generator(evidence, item, &mut found);
        by_design(item, &mut found);
    }
    if let Some(window) = window {
        processors(evidence, window, &mut found);
    }
    system(evidence, &mut found);
    events(evidence, &mut found);
    // Stable, so that within a severity the order stays that of the checks.
    found.sort_by_key(|(severity, _)| Reverse(*severity));
    found
}

/// Exact: every offered record has one outcome, and the rows hold every record of the accounts.
fn accounting(evidence: &TrialEvidence<'_>, item: &Item<'_>, found: &mut Vec<(Severity, Caveat)>) {
    let Some(totals) = &item.tally.totals else { return };
    let name = item.name.to_owned();
    if produce(item.plan).is_some() {
        let difference = i128::from(totals.offered) - i128::from(totals.acknowledged) - open_end(totals);
        if difference != 0 {
            let difference = saturate(difference);
            found.push((Severity::Invalid, Caveat::AccountingBroken { item: name.clone(), difference }));
        }
    }
    if evidence.cut_short().is_none() {
        let outcomes =
            |counts: &Counts| i128::from(counts.acknowledged) + i128::from(counts.fetched) + open_end(counts);
        let missing = outcomes(totals) - outcomes(&item.tally.all);
        if missing != 0 {
            let records = saturate(missing);
            found.push((Severity::Invalid, Caveat::SamplesMissing { item: name, records }));
        }
    }
}

fn open_end(counts: &Counts) -> i128 {
    i128::from(unfinished(counts))
}

fn saturate(difference: i128) -> i64 {
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// Records of the measure phase that did not come home, and load that was not carried.
fn outcomes(window: Option<Window>, item: &Item<'_>, found: &mut Vec<(Severity, Caveat)>) {
    let name = || item.name.to_owned();
    let open_loop = produce(item.plan).is_some_and(is_open_loop);
    if let Some(share) = window.filter(|_| open_loop).and_then(|window| item.tally.carried_share(window))
        && share < CARRIED_SHARE_MIN
    {
        found.push((Severity::Warning, Caveat::OfferedNotAchieved { item: name(), share }));
    }
    let queued_s = window.filter(|_| open_loop).map_or(0.0, |window| item.tally.queued_s(window));
    if queued_s > QUEUED_S_MAX {
        let caveat = Caveat::QueueAtStart { item: name(), records: item.tally.queued, seconds: queued_s };
        found.push((Severity::Warning, caveat));
    }
    let measured = &item.tally.measured;
    if failed(measured) > 0 {
        let reasons = measured.failed.iter().filter(|(_, records)| **records > 0);
        found.extend(reasons.map(|(reason, records)| {
            let caveat = Caveat::Failures { item: name(), reason: reason.clone(), records: *records };
            (Severity::Warning, caveat)
        }));
    }
    if measured.unresolved > 0 {
        let caveat = Caveat::Unresolved { item: name(), records: measured.unresolved };
        found.push((Severity::Warning, caveat));
    }
}

/// Whether the load generator was late itself.
fn generator(evidence: &TrialEvidence<'_>, item: &Item<'_>, found: &mut Vec<(Severity, Caveat)>) {
    if !produce(item.plan).is_some_and(is_open_loop) {
        return;
    }
    let p99 = |timing| match item.latencies.get(&timing)?.quantile(0.99) {
        Value::Is(ns) | Value::AtLeast(ns) => Some(ns),
        Value::None => None,
    };
    let Some((schedule_delay_ns, response_ns)) = p99(Timing::ScheduleDelay).zip(p99(Timing::Response)) else {
        return;
    };
    let sleep_ns = evidence.noise.iter().map(|noise| noise.sleep_late_ns_p99).max().unwrap_or(0);
    if schedule_delay_ns > LAG_SHARE_MAX * response_ns
        && schedule_delay_ns > LAG_FLOOR_SLEEPS * sleep_ns as f64
    {
        // Both come from whole numbers of ns far below 2⁵³.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (schedule_delay_ns_p99, response_ns_p99) = (schedule_delay_ns as u64, response_ns as u64);
        let caveat =
            Caveat::ScheduleDelayLarge { item: item.name.to_owned(), schedule_delay_ns_p99, response_ns_p99 };
        found.push((Severity::Warning, caveat));
    }
}

/// What the plan asks for and the reader should know.
fn by_design(item: &Item<'_>, found: &mut Vec<(Severity, Caveat)>) {
    let name = || item.name.to_owned();
    let Some(plan) = produce(item.plan) else {
        found.push((Severity::Note, Caveat::AssignedNotGroup { item: name() }));
        return;
    };
    if !is_open_loop(plan) {
        found.push((Severity::Note, Caveat::ClosedLoop { item: name() }));
    }
    if plan.client.compression != Compression::None && matches!(plan.payload, Payload::Pooled { .. }) {
        found.push((Severity::Warning, Caveat::PooledCompression { item: name() }));
    }
}

/// What the host's processors did in the window beside the run's own processes. The kernel's work for the
/// run, interrupts and network, is in it too, so the threshold leaves room for that.
fn other_load(evidence: &TrialEvidence<'_>, window: Window) -> Option<Caveat> {
    let own = ["broker-", "controller-", "zookeeper-", "worker-"];
    let own = own.into_iter().flat_map(|prefix| cpu::subjects(evidence.probes, prefix));
    let own_s = own.chain(["kdyno".to_owned()]).filter_map(|s| cpu::used_s(evidence.probes, &s, window));
    let other_s = cpu::used_s(evidence.probes, cpu::HOST, window)? - own_s.sum::<f64>();
    let cpu_percent = 100.0 * other_s / window.seconds();
    let limit_percent = 100.0 * OTHER_LOAD_SHARE_MAX * f64::from(evidence.processors);
    (cpu_percent > limit_percent).then_some(Caveat::OtherLoad { cpu_percent })
}

/// Whether the load generator, the hypervisor or other programs had the processors.
fn processors(evidence: &TrialEvidence<'_>, window: Window, found: &mut Vec<(Severity, Caveat)>) {
    let mut doubt = |caveat: Caveat| found.push((Severity::Warning, caveat));
    let percent = |used_s: f64| 100.0 * used_s / window.seconds();
    let workers = cpu::subjects(evidence.probes, "worker-");
    let threads = workers.iter().flat_map(|worker| cpu::threads_s(evidence.probes, worker, window));
    let busy = threads.filter(|(_, used_s)| percent(*used_s) > 100.0 * WORKER_BUSY_SHARE_MAX);
    let mut is_busy = false;
    for (thread, used_s) in busy {
        is_busy = true;
        doubt(Caveat::ThreadBusy { thread: thread.to_owned(), cpu_percent: percent(used_s) });
    }
    let used_s = workers.iter().filter_map(|worker| cpu::used_s(evidence.probes, worker, window));
    let cpu_percent = percent(used_s.sum());
    let cores = evidence.worker_threads.min(evidence.processors);
    if !is_busy && cpu_percent > 100.0 * WORKER_BUSY_SHARE_MAX * f64::from(cores) {
        doubt(Caveat::WorkerBusy { cpu_percent, cores });
    }
    if let Some(share) = cpu::steal_share(evidence.probes, window).filter(|share| *share > STEAL_SHARE_MAX) {
        doubt(Caveat::Steal { share });
    }
    // The brokers of an attached cluster are no processes of the run, but they may be on this host.
    if let Some(caveat) = other_load(evidence, window).filter(|_| !evidence.attached_here) {
        doubt(caveat);
    }
}

/// What the plan, and where it is, say of the system under test.
fn system(evidence: &TrialEvidence<'_>, found: &mut Vec<(Severity, Caveat)>) {
    let mut doubt = |caveat: Caveat| found.push((Severity::Warning, caveat));
    let local = match &evidence.plan.system {
        SystemPlan::Local(cluster) => Some(cluster),
        SystemPlan::Attached(_) => None,
    };
    if local.is_some() || evidence.attached_here {
        doubt(Caveat::SharedProcessors { processors: evidence.processors });
    }
    if local.is_some_and(|cluster| cluster.storage == Storage::Memory) {
        doubt(Caveat::MemoryStorage);
    }
}

/// What happened in the trial. The same said again is no further doubt.
fn events(evidence: &TrialEvidence<'_>, found: &mut Vec<(Severity, Caveat)>) {
    let of = |kind| evidence.events.iter().filter(move |event| event.kind == kind);
    let mut doubt = |caveat: Caveat| found.push((Severity::Warning, caveat));
    let died: BTreeSet<&str> = of(event_kind::PROCESS_DIED).map(|event| event.subject.as_str()).collect();
    for subject in died {
        doubt(Caveat::ProcessDied { subject: subject.to_owned() });
    }
    let unknown: BTreeMap<&str, &str> = of(event_kind::UNKNOWN_SETTING)
        .map(|event| (event.subject.as_str(), event.detail.as_str()))
        .collect();
    for (setting, detail) in unknown {
        doubt(Caveat::UnknownSetting { setting: setting.to_owned(), detail: detail.to_owned() });
    }
    let shared: BTreeSet<&str> = of(event_kind::HOST_SHARED).map(|event| event.detail.as_str()).collect();
    for detail in shared {
        doubt(Caveat::HostShared { detail: detail.to_owned() });
    }
    // Before T0 nothing is measured: a topic that has just been made has no leader for a moment.
    let since_t0 = |kind| of(kind).filter(|event| event.at_ns.is_some());
    for (item, (events, first)) in by_item(since_t0(event_kind::FETCH_ERROR)) {
        doubt(Caveat::FetchErrors { item: item.to_owned(), events, first: first.to_owned() });
    }
    for (item, (events, first)) in by_item(since_t0(event_kind::RECORDS_SKIPPED)) {
        doubt(Caveat::RecordsSkipped { item: item.to_owned(), events, first: first.to_owned() });
    }
    if let Some(reason) = evidence.cut_short() {
        doubt(Caveat::CutShort { reason });
    }
}

/// Each load item's number of events and what the first one says.
fn by_item<'a>(events: impl Iterator<Item = &'a Event>) -> BTreeMap<&'a str, (u64, &'a str)> {
    let mut items = BTreeMap::new();
    for event in events {
        items.entry(event.subject.as_str()).or_insert((0, event.detail.as_str())).0 += 1;
    }
    items
}
