//! Which records never came to the application's hands: what was acknowledged, less what was handed over.

use crate::evidence::{items, streams_of, whole_until};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::{ConsumePlan, IsolationLevel, LoadPlan, StartOffset};
use kdyno_model::sample::{Counts, Grain, Phase, ProbeReading, Sample, StreamId, series};
use std::collections::BTreeMap;

/// Whether an item is handed records that say when they were intended, and looked at them: consumers of earlier versions
/// did not.
pub(crate) fn is_reported(evidence: &TrialEvidence, item: &str) -> bool {
    // A record's way from one clock to another one is kept only where its error is little.
    if evidence.start.is_between_clocks(item) && clock_error_ns(evidence, item).is_none() {
        return false;
    }
    let Some((plan, _)) = consuming(evidence, item) else { return false };
    let own = streams_of(evidence, item);
    let mut all = Counts::default();
    seconds(evidence).filter(|row| own.contains(&row.id)).for_each(|row| all.add(&row.counts));
    let has_looked = all.fetched == 0 || all.end_to_end > 0 || all.discarded > 0;
    has_looked && evidence.start.trial.effective.has_end_to_end(plan)
}

/// How far the end-to-end latencies of an item between two clocks may be from the truth, ns; `None`: they were not kept.
pub(crate) fn clock_error_ns(evidence: &TrialEvidence, item: &str) -> Option<u64> {
    let is_it = |reading: &&ProbeReading| {
        reading.series == series::CLOCK_ERROR_S && reading.subject == Subject::Item(item.to_owned())
    };
    evidence.probes.iter().find(is_it).map(|reading| (reading.value * 1e9).round() as u64)
}

/// Records of the measure phase that were acknowledged on the topic of an item that consumes and never handed over to
/// it, by second of their t0. `None`: unknown, since records of transactions that were aborted are kept from it,
/// since it came when some had been written, or went before all were, since other items are members of its group, or since
/// its group was handed some twice. Records that were due when a part of the load had been lost are not among them.
///
/// The numbers of each second's records are compared: what a producer counts as failed and the log has all the same
/// takes the place of another one that is missing, and so does what the log has twice. Then these are fewer than they
/// were.
pub(crate) fn censored(evidence: &TrialEvidence, item: &str) -> Option<BTreeMap<u32, u64>> {
    let (plan, consume) = consuming(evidence, item)?;
    let (own, writers) = (streams_of(evidence, item), writers(evidence, plan));
    let has_aborts = seconds(evidence).any(|row| writers.contains(&row.id) && row.counts.aborted > 0);
    let is_missing_some = plan.span.is_late() && consume.from == StartOffset::Latest;
    // What a group's members were handed twice takes the place of what they were not.
    let has_duplicates = seconds(evidence).any(|row| own.contains(&row.id) && row.counts.duplicates > 0);
    if has_aborts && consume.isolation_level == IsolationLevel::ReadCommitted
        || is_missing_some
        || has_duplicates
        || evidence.start.trial.effective.shares_group(item)
        || plan.span.until_ns.is_some()
    {
        return None;
    }
    let mut missing: BTreeMap<u32, u64> = BTreeMap::new();
    let end = whole_until(evidence);
    let is_measured =
        |row: &&Sample| row.phase == Phase::Measure && end.is_none_or(|end| row.t0_second < end);
    let measured = || seconds(evidence).filter(is_measured);
    for row in measured().filter(|row| writers.contains(&row.id)) {
        let second = missing.entry(row.t0_second).or_default();
        *second = second.saturating_add(row.counts.acknowledged);
    }
    for row in measured().filter(|row| own.contains(&row.id)) {
        if let Some(second) = missing.get_mut(&row.t0_second) {
            *second = second.saturating_sub(row.counts.end_to_end);
        }
    }
    missing.retain(|_, records| *records > 0);
    Some(missing)
}

/// The last second in which an item wrote rows: before it, nothing of what is missing had come.
pub(crate) fn last_written(evidence: &TrialEvidence, item: &str) -> u32 {
    let own = streams_of(evidence, item);
    let rows = seconds(evidence).filter(|row| own.contains(&row.id));
    rows.map(|row| row.written_second).max().unwrap_or(0)
}

fn consuming<'a>(evidence: &'a TrialEvidence, item: &str) -> Option<(&'a LoadPlan, &'a ConsumePlan)> {
    let (_, plan) = items(evidence).find(|(name, _)| *name == item)?;
    Some((plan, plan.role.as_consume()?))
}

fn seconds(evidence: &TrialEvidence) -> impl Iterator<Item = &Sample> {
    evidence.samples.iter().filter(|row| row.grain == Grain::Second)
}

/// The streams whose records on the topic carry when they were intended.
fn writers(evidence: &TrialEvidence, reader: &LoadPlan) -> Vec<StreamId> {
    let is_writer = |item: &LoadPlan| item.topic == reader.topic && item.role.carries_intended();
    let of_topic = items(evidence).filter(|(_, item)| is_writer(item));
    of_topic.flat_map(|(name, _)| streams_of(evidence, name)).collect()
}
