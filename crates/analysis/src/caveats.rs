//! The reasons to doubt a trial, each with its threshold and weight.
//!
//! `Invalid` means that the figures are wrong. `OfferedNotAchieved` is only a `Caveat`: in an open loop that
//! offers more than can be carried, latencies grow with the length of the trial and must not be used, but
//! the acknowledged rate is exactly what was carried; scenarios that ask for that rate offer too much on
//! purpose. A claim about latency is where it becomes invalid, and claims are judged elsewhere.

use crate::cpu;
use crate::evidence::{TrialEvidence, Window, is_open_loop, produce};
use crate::tally::{failed, unfinished};
use crate::trial::Item;
use kdyno_model::finding::{Caveat, Value, Weight};
use kdyno_model::plan::{Compression, Payload, Storage, SystemPlan};
use kdyno_model::run::event_kind;
use kdyno_model::sample::{Counts, Timing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Achieved ÷ offered of an open loop below which the offered rate was not the one applied.
pub const ACHIEVED_SHARE_MIN: f64 = 0.995;

/// Share of its event loop threads' time from which a worker may itself be the limit.
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
) -> Vec<(Weight, Caveat)> {
    let mut found = Vec::new();
    for item in items {
        accounting(evidence, item, &mut found);
        outcomes(item, &mut found);
        generator(evidence, item, &mut found);
        by_design(item, &mut found);
    }
    system(evidence, window, &mut found);
    // Stable, so that within a weight the order stays that of the checks.
    found.sort_by_key(|(weight, _)| Reverse(*weight));
    found
}

/// Exact: every offered record has one outcome, and the rows hold every record of the accounts.
fn accounting(evidence: &TrialEvidence<'_>, item: &Item<'_>, found: &mut Vec<(Weight, Caveat)>) {
    let Some(totals) = &item.tally.totals else { return };
    let name = item.name.to_owned();
    if produce(item.plan).is_some() {
        let difference = i128::from(totals.offered) - i128::from(totals.acknowledged) - open_end(totals);
        if difference != 0 {
            let difference = saturate(difference);
            found.push((Weight::Invalid, Caveat::AccountingBroken { item: name.clone(), difference }));
        }
    }
    if evidence.cut_short().is_none() {
        let outcomes =
            |counts: &Counts| i128::from(counts.acknowledged) + i128::from(counts.fetched) + open_end(counts);
        let missing = outcomes(totals) - outcomes(&item.tally.all);
        if missing != 0 {
            let records = saturate(missing);
            found.push((Weight::Invalid, Caveat::SamplesMissing { item: name, records }));
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
fn outcomes(item: &Item<'_>, found: &mut Vec<(Weight, Caveat)>) {
    let name = || item.name.to_owned();
    let open_loop = produce(item.plan).is_some_and(is_open_loop);
    if let Some(share) = item.tally.achieved_share().filter(|_| open_loop)
        && share < ACHIEVED_SHARE_MIN
    {
        found.push((Weight::Caveat, Caveat::OfferedNotAchieved { item: name(), share }));
    }
    let measured = &item.tally.measured;
    if failed(measured) > 0 {
        let reasons = measured.failed.iter().filter(|(_, records)| **records > 0);
        found.extend(reasons.map(|(reason, records)| {
            let caveat = Caveat::Failures { item: name(), reason: reason.clone(), records: *records };
            (Weight::Caveat, caveat)
        }));
    }
    if measured.unresolved > 0 {
        let caveat = Caveat::Unresolved { item: name(), records: measured.unresolved };
        found.push((Weight::Caveat, caveat));
    }
}

/// Whether the load generator was late itself.
fn generator(evidence: &TrialEvidence<'_>, item: &Item<'_>, found: &mut Vec<(Weight, Caveat)>) {
    if !produce(item.plan).is_some_and(is_open_loop) {
        return;
    }
    let p99 = |timing| match item.latencies.get(&timing)?.quantile(0.99) {
        Value::Is(ns) | Value::AtLeast(ns) => Some(ns),
        Value::None => None,
    };
    let Some((lag_ns, response_ns)) = p99(Timing::Lag).zip(p99(Timing::Response)) else { return };
    let sleep_ns = evidence.noise.iter().map(|noise| noise.sleep_late_ns_p99).max().unwrap_or(0);
    if lag_ns > LAG_SHARE_MAX * response_ns && lag_ns > LAG_FLOOR_SLEEPS * sleep_ns as f64 {
        // Both come from whole numbers of ns far below 2⁵³.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (lag_ns_p99, response_ns_p99) = (lag_ns as u64, response_ns as u64);
        let caveat = Caveat::LagLarge { item: item.name.to_owned(), lag_ns_p99, response_ns_p99 };
        found.push((Weight::Caveat, caveat));
    }
}

/// What the plan asks for and the reader should know.
fn by_design(item: &Item<'_>, found: &mut Vec<(Weight, Caveat)>) {
    let name = || item.name.to_owned();
    let Some(plan) = produce(item.plan) else {
        found.push((Weight::Note, Caveat::AssignedNotGroup { item: name() }));
        return;
    };
    if !is_open_loop(plan) {
        found.push((Weight::Note, Caveat::ClosedLoop { item: name() }));
    }
    if plan.client.compression != Compression::None && matches!(plan.payload, Payload::Pooled { .. }) {
        found.push((Weight::Caveat, Caveat::PooledCompression { item: name() }));
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

/// Workers, host and the system under test.
fn system(evidence: &TrialEvidence<'_>, window: Option<Window>, found: &mut Vec<(Weight, Caveat)>) {
    if let Some(window) = window {
        let workers = cpu::subjects(evidence.probes, "worker-");
        let used_s = workers.iter().filter_map(|worker| cpu::used_s(evidence.probes, worker, window));
        let cpu_percent = 100.0 * used_s.sum::<f64>() / window.seconds();
        let threads = evidence.worker_threads;
        if cpu_percent > 100.0 * WORKER_BUSY_SHARE_MAX * f64::from(threads) {
            found.push((Weight::Caveat, Caveat::WorkerBusy { cpu_percent, threads }));
        }
        let steal = cpu::steal_share(evidence.probes, window).filter(|share| *share > STEAL_SHARE_MAX);
        found.extend(steal.map(|share| (Weight::Caveat, Caveat::Steal { share })));
        found.extend(other_load(evidence, window).map(|caveat| (Weight::Caveat, caveat)));
    }
    if let SystemPlan::Local(cluster) = &evidence.plan.system {
        let processors = evidence.processors;
        found.push((Weight::Caveat, Caveat::SharedProcessors { processors }));
        if cluster.storage == Storage::Memory {
            found.push((Weight::Caveat, Caveat::MemoryStorage));
        }
    }
    let died: BTreeSet<&str> = evidence
        .events
        .iter()
        .filter(|event| event.kind == event_kind::PROCESS_DIED)
        .map(|event| event.subject.as_str())
        .collect();
    found.extend(
        died.into_iter().map(|subject| (Weight::Caveat, Caveat::ProcessDied { subject: subject.to_owned() })),
    );
    let unknown: BTreeMap<&str, &str> = evidence
        .events
        .iter()
        .filter(|event| event.kind == event_kind::UNKNOWN_SETTING)
        .map(|event| (event.subject.as_str(), event.detail.as_str()))
        .collect();
    found.extend(unknown.into_iter().map(|(setting, detail)| {
        let caveat = Caveat::UnknownSetting { setting: setting.to_owned(), detail: detail.to_owned() };
        (Weight::Caveat, caveat)
    }));
    if let Some(reason) = evidence.cut_short() {
        found.push((Weight::Caveat, Caveat::CutShort { reason }));
    }
}
