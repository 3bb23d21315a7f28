//! One trial's numbers, in its measure phase.
//!
//! - Rates count what was written (acknowledged, accepted, fetched) in the whole seconds of the window, see
//!   [`TrialEvidence::window`]; `offered_per_s` what was intended in them. `failed`, `unresolved` and
//!   latencies are of the records whose intended instant lies in the measure phase.
//! - `brokers` is all brokers together, without dedicated controllers and ZooKeeper nodes; `workers` all
//!   worker processes. A broker's processor time is divided by the records of the whole cluster, so the
//!   figures of single brokers add up to that of `brokers`.
//! - A metric that cannot be told from the evidence has no value; it is never left out.

use crate::caveats;
use crate::cpu;
pub use crate::evidence::TrialEvidence;
use crate::evidence::{Window, is_open_loop, produce};
use crate::histogram::{AnalysisError, Distribution};
use crate::tally::{self, ItemTally, ratio};
use kdyno_model::finding::{Caveat, Finding, Severity, Value};
use kdyno_model::metric::{self, Address, SubjectKind, Unit};
use kdyno_model::plan::{LoadPlan, SystemPlan};
use kdyno_model::sample::Timing;
use std::collections::BTreeMap;

/// Acknowledged ÷ offered from which a target rate counts as reached.
pub const TARGET_SHARE_MIN: f64 = 0.995;

const BYTES_PER_MIB: f64 = 1_048_576.0;
const US_PER_S: f64 = 1e6;

/// A load item with all that was made of its rows.
pub(crate) struct Item<'a> {
    pub(crate) name: &'a str,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) tally: ItemTally,
    pub(crate) latencies: BTreeMap<Timing, Distribution>,
}

/// Findings, and the reasons to doubt them with the heaviest first.
pub type Judged = (Vec<Finding>, Vec<(Severity, Caveat)>);

/// Every metric of every subject of a trial, and the reasons to doubt them.
///
/// Fails only when a stored histogram is damaged.
pub fn findings(evidence: &TrialEvidence<'_>) -> Result<Judged, AnalysisError> {
    let window = evidence.window();
    let items = items(evidence, window)?;
    let mut found = Vec::new();
    for item in &items {
        let kind = if produce(item.plan).is_some() { SubjectKind::Produce } else { SubjectKind::Consume };
        state(evidence, item.name, kind, &mut found, |name| item_value(item, window, name));
    }
    let records_per_s = window.map_or(0.0, |window| records(&items) as f64 / window.seconds());
    let mut process = |subject: &str, kind, members: &[String]| {
        state(evidence, subject, kind, &mut found, |name| {
            process_value(evidence, members, window, records_per_s, name)
        });
    };
    let brokers = brokers(evidence);
    process("brokers", SubjectKind::Broker, &brokers);
    for broker in &brokers {
        process(broker, SubjectKind::Broker, std::slice::from_ref(broker));
    }
    process("workers", SubjectKind::Worker, &cpu::subjects(evidence.probes, "worker-"));
    state(evidence, cpu::HOST, SubjectKind::Host, &mut found, |name| host_value(evidence, window, name));
    let caveats = caveats::of(evidence, window, &items);
    Ok((found, caveats))
}

fn items<'a>(evidence: &TrialEvidence<'a>, window: Option<Window>) -> Result<Vec<Item<'a>>, AnalysisError> {
    let item = |(name, plan)| {
        let tally = ItemTally::of(evidence, name, window);
        let mut latencies = BTreeMap::new();
        for timing in Timing::ALL {
            latencies.insert(timing, tally::measured_latencies(evidence, name, timing)?);
        }
        Ok(Item { name, plan, tally, latencies })
    };
    evidence.items().map(item).collect()
}

/// Adds a finding for every metric that a kind of subject has.
fn state(
    evidence: &TrialEvidence<'_>,
    subject: &str,
    kind: SubjectKind,
    found: &mut Vec<Finding>,
    value: impl Fn(&str) -> Value,
) {
    for name in metric::names(kind) {
        let unit = metric::find(kind, &name).map_or(Unit::Count, |known| known.unit);
        let value = value(&name);
        let of = Address { subject: subject.to_owned(), metric: name };
        found.push(Finding { trial: evidence.trial, of, unit, value });
    }
}

fn item_value(item: &Item<'_>, window: Option<Window>, name: &str) -> Value {
    if let Some((timing, statistic)) = name.split_once('.') {
        return latency_value(item, timing, statistic);
    }
    let tally = &item.tally;
    let windowed = &tally.windowed;
    let per_s = |count: u64| window.map(|window| count as f64 / window.seconds());
    let mib = |bytes: Option<f64>| bytes.map(|bytes| bytes / BYTES_PER_MIB);
    let produce = produce(item.plan);
    let found = match name {
        "clients" => Some(f64::from(item.plan.clients)),
        "offered_per_s" => per_s(tally.offered),
        "achieved_per_s" => per_s(windowed.achieved),
        "acked_per_s" => per_s(windowed.acknowledged),
        "acked_mib_per_s" => mib(per_s(windowed.acknowledged_bytes)),
        "acked_per_s_sum_of_clients" => tally.sum_of_client_rates_per_s(),
        "acked_mib_per_s_sum_of_clients" => {
            let rate = tally.sum_of_client_rates_per_s();
            mib(rate.zip(produce).map(|(rate, plan)| rate * f64::from(plan.value_bytes)))
        }
        "achieved_share" => tally.achieved_share(),
        "target_reached" => produce
            .filter(|plan| is_open_loop(plan))
            .and_then(|_| ratio(windowed.acknowledged, tally.offered))
            .map(|share| if share >= TARGET_SHARE_MIN { 1.0 } else { 0.0 }),
        "failed" => measured(item, window, tally::failed(&tally.measured)),
        "unresolved" => measured(item, window, tally.measured.unresolved),
        // One of the two is 0: an item produces or consumes.
        "records_per_batch" => {
            ratio(windowed.acknowledged.saturating_add(windowed.fetched), windowed.batches)
        }
        "bytes_per_request" => ratio(windowed.request_bytes, windowed.requests),
        "response_over_service" => response_over_service(item),
        "fetched_per_s" => per_s(windowed.fetched),
        "fetched_mib_per_s" => mib(per_s(windowed.fetched_bytes)),
        _ => None,
    };
    found.map_or(Value::None, Value::Is)
}

/// A count of the measure phase; of a trial that never got there, nothing is known.
fn measured(item: &Item<'_>, window: Option<Window>, count: u64) -> Option<f64> {
    (window.is_some() || item.tally.measured.offered > 0).then_some(count as f64)
}

/// Mean response ÷ mean service. Neither mean is defined once a record never came home.
fn response_over_service(item: &Item<'_>) -> Option<f64> {
    match (item.latencies.get(&Timing::Response)?.mean(), item.latencies.get(&Timing::Service)?.mean()) {
        (Value::Is(response), Value::Is(service)) if service > 0.0 => Some(response / service),
        _ => None,
    }
}

fn latency_value(item: &Item<'_>, timing: &str, statistic: &str) -> Value {
    let timing = metric::TIMINGS.iter().find(|(name, _)| *name == timing);
    let Some(latencies) = timing.and_then(|(_, timing)| item.latencies.get(timing)) else {
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

/// Records that the cluster served in the window: those acknowledged, or those fetched when nothing is
/// produced.
fn records(items: &[Item<'_>]) -> u64 {
    let produces = items.iter().any(|item| produce(item.plan).is_some());
    let served = |item: &Item<'_>| {
        let counts = &item.tally.windowed;
        if produces { counts.acknowledged } else { counts.fetched }
    };
    items.iter().fold(0, |sum, item| sum.saturating_add(served(item)))
}

/// The brokers of a local cluster, and any others that were probed.
fn brokers(evidence: &TrialEvidence<'_>) -> Vec<String> {
    let mut brokers = match &evidence.plan.system {
        SystemPlan::Local(cluster) => (0..cluster.brokers).map(|id| format!("broker-{id}")).collect(),
        SystemPlan::Attached(_) => Vec::new(),
    };
    for probed in cpu::subjects(evidence.probes, "broker-") {
        if !brokers.contains(&probed) {
            brokers.push(probed);
        }
    }
    brokers
}

/// A metric of several processes together: `None` unless each of them was probed.
fn process_value(
    evidence: &TrialEvidence<'_>,
    members: &[String],
    window: Option<Window>,
    records_per_s: f64,
    name: &str,
) -> Value {
    let Some(window) = window.filter(|_| !members.is_empty()) else { return Value::None };
    let sum = |of: &dyn Fn(&str) -> Option<f64>| -> Option<f64> { members.iter().map(|id| of(id)).sum() };
    let used_s = || sum(&|member| cpu::used_s(evidence.probes, member, window));
    let found = match name {
        "cpu_percent" => used_s().map(|used_s| 100.0 * used_s / window.seconds()),
        "cpu_us_per_record" => used_s()
            .filter(|_| records_per_s > 0.0)
            .map(|used_s| US_PER_S * used_s / window.seconds() / records_per_s),
        "memory_rss_bytes_max" => sum(&|member| cpu::memory_bytes_max(evidence.probes, member, window)),
        _ => None,
    };
    found.map_or(Value::None, Value::Is)
}

fn host_value(evidence: &TrialEvidence<'_>, window: Option<Window>, name: &str) -> Value {
    let found = window.and_then(|window| match name {
        "cpu_percent" => {
            cpu::used_s(evidence.probes, cpu::HOST, window).map(|used_s| 100.0 * used_s / window.seconds())
        }
        "steal_percent" => cpu::steal_percent(evidence.probes, window),
        _ => None,
    });
    found.map_or(Value::None, Value::Is)
}
