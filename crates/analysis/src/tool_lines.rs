//! What the lines of Kafka's own producer tool are made of, where a load item keeps it (`tool_lines`): records
//! acknowledged, their bytes and service times, by second, in the whole and of the steady state. The service time of Kafka's
//! own Java client is here what Kafka's tool sees of it: from the call of `send()` on (t6 − t1), not from its return.

use crate::error::AnalysisError;
use hdrhistogram::Histogram;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::histogram;
use kdyno_model::sample::{Grain, Timing};
use std::collections::BTreeMap;

/// Records acknowledged in a while, and their service times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Records.
    pub records: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// Exact sum of their service times, ns.
    pub service_sum_ns: u128,
    /// The highest of these, ns: never below the truth, above it by less than a unit of the last digit kept.
    pub service_ns_max: u64,
    /// Records accepted by the clients in the same while.
    pub accepted: u64,
}

/// What the lines call latency: the one of a Java client holds the time in `send()`.
fn latency(evidence: &TrialEvidence) -> Timing {
    let mut items = evidence.start.trial.effective.load.values();
    if items.any(|item| item.driver.as_java().is_some()) { Timing::WithoutGenerator } else { Timing::Service }
}

/// What was acknowledged in each second from T0, of all that produces; seconds without a row are left out.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn seconds(evidence: &TrialEvidence) -> Result<BTreeMap<u32, Acknowledged>, AnalysisError> {
    let latency = latency(evidence);
    let mut found = BTreeMap::<u32, Acknowledged>::new();
    for row in evidence.samples.iter().filter(|row| row.grain == Grain::Second) {
        let second = found.entry(row.written_second).or_default();
        second.records += row.counts.acknowledged;
        second.value_bytes += row.counts.acknowledged_bytes;
        second.accepted += row.counts.achieved;
        second.service_sum_ns += row.sums_ns.get(&latency).copied().unwrap_or(0);
        if let Some(bytes) = row.histograms.get(&latency) {
            let highest = highest_ns(&histogram::decode(bytes)?);
            second.service_ns_max = second.service_ns_max.max(highest);
        }
    }
    Ok(found)
}

/// What was acknowledged from the first record to the last, and the service times at some ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// All of it. What was accepted is not counted.
    pub acknowledged: Acknowledged,
    /// From the first record handed over to the last outcome, ns.
    pub span_ns: u64,
    /// Service times at the requested ranks, ns.
    pub at_ranks: Vec<u64>,
}

/// The whole run. `rank` says of how many records which one is wanted for each of `shares`, from 0 in the order of their
/// service times.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn whole(
    evidence: &TrialEvidence,
    shares: &[f64],
    rank: impl Fn(f64, u64) -> u64,
) -> Result<Whole, AnalysisError> {
    let latency = latency(evidence);
    let mut service: Option<Histogram<u64>> = None;
    let mut acknowledged = Acknowledged::default();
    for row in evidence.samples.iter().filter(|row| row.grain == Grain::Phase) {
        acknowledged.service_sum_ns += row.sums_ns.get(&latency).copied().unwrap_or(0);
        let Some(bytes) = row.histograms.get(&latency) else { continue };
        let more = histogram::decode(bytes)?;
        match &mut service {
            None => service = Some(more),
            Some(known) => histogram::merge(known, &more)?,
        }
    }
    for totals in &evidence.totals {
        acknowledged.records += totals.counts.acknowledged;
        acknowledged.value_bytes += totals.counts.acknowledged_bytes;
    }
    let spans = evidence.totals.iter().flat_map(|totals| &totals.clients).map(|client| client.span_ns);
    Ok(with_ranks(acknowledged, spans.max().unwrap_or(0), service.as_ref(), (shares, &rank)))
}

/// The records behind the first ones; none where no client came so far.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn steady(
    evidence: &TrialEvidence,
    shares: &[f64],
    rank: impl Fn(f64, u64) -> u64,
) -> Result<Option<Whole>, AnalysisError> {
    let Some(steady) = evidence.totals.iter().find_map(|totals| totals.steady.as_ref()) else {
        return Ok(None);
    };
    let acknowledged = Acknowledged {
        records: steady.records,
        value_bytes: steady.value_bytes,
        service_sum_ns: steady.service_sum_ns,
        ..Acknowledged::default()
    };
    let service = match steady.service.as_slice() {
        [] => None,
        bytes => Some(histogram::decode(bytes)?),
    };
    Ok(Some(with_ranks(acknowledged, steady.span_ns, service.as_ref(), (shares, &rank))))
}

fn with_ranks(
    mut acknowledged: Acknowledged,
    span_ns: u64,
    service: Option<&Histogram<u64>>,
    (shares, rank): (&[f64], &dyn Fn(f64, u64) -> u64),
) -> Whole {
    acknowledged.service_ns_max = service.map_or(0, highest_ns);
    let at = |share: &f64| service.map_or(0, |service| at_rank(service, rank(*share, service.len())));
    Whole { acknowledged, span_ns, at_ranks: shares.iter().map(at).collect() }
}

/// The service time of the record with this rank, from 0, ns.
fn at_rank(service: &Histogram<u64>, rank: u64) -> u64 {
    let mut seen = 0;
    let mut steps = service.iter_recorded();
    let found = steps.find(|step| {
        seen += step.count_at_value();
        seen > rank
    });
    found.map_or_else(|| highest_ns(service), |step| service.highest_equivalent(step.value_iterated_to()))
}

fn highest_ns(service: &Histogram<u64>) -> u64 {
    if service.is_empty() { 0 } else { service.highest_equivalent(service.max()) }
}
