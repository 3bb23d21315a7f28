//! What was acknowledged against what the logs hold.
//!
//! For a topic whose producers all request acknowledgements: the growth of its end offsets between before T0 and after
//! the drain, less the markers of transactions, is at least what was acknowledged, and at most that and records
//! sent again, failed and unresolved, and unconfirmed markers. Offsets are taken by records, and by one marker
//! per transaction and partition.

use super::cluster::since_t0;
use super::found::{FoundCaveat, events};
use crate::java;
use crate::rows::{ItemRows, TrialRows};
use crate::tally::unfinished;
use kdyno_model::caveat::{Caveat, Concern};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::sample::{ProbeReading, series};
use std::collections::BTreeSet;

/// Share of what was written with acks=0 below which the rate is another one than reported.
const APPENDED_SHARE_MIN: f64 = 0.9;

/// What a topic's log says of the records that were acknowledged.
enum LogAccount {
    Lost { acknowledged: u64, growth: u64 },
    Unexplained { expected_max: u64, growth: u64 },
    NotChecked(String),
    Agrees,
}

/// Acknowledged records that the log does not hold.
pub(super) fn lost(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_topics(trial, |topic, says| match says {
        LogAccount::Lost { acknowledged, growth } => Some(Caveat::Lost { topic, acknowledged, growth }),
        _ => None,
    })
}

/// More than can have been written.
pub(super) fn unexplained(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_topics(trial, |topic, says| match says {
        LogAccount::Unexplained { expected_max, growth } => {
            Some(Caveat::LogUnexplained { topic, expected_max, growth })
        }
        _ => None,
    })
}

/// It cannot be determined, and nothing happened that loses records.
pub(super) fn not_checked(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if has_lost_a_broker(trial) { Vec::new() } else { unchecked(trial) }
}

/// It cannot be determined, where a broker died or left the cluster.
pub(super) fn not_checked_after_a_death(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if has_lost_a_broker(trial) { unchecked(trial) } else { Vec::new() }
}

fn unchecked(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_topics(trial, |topic, says| match says {
        LogAccount::NotChecked(detail) => Some(Caveat::LogNotChecked { topic, detail }),
        _ => None,
    })
}

fn has_lost_a_broker(trial: &TrialRows<'_>) -> bool {
    let gone = since_t0(trial, EventKind::ProcessDied).chain(since_t0(trial, EventKind::BrokersChanged));
    gone.map(|event| &event.subject).any(|subject| subject.is_broker())
}

fn of_topics(
    trial: &TrialRows<'_>,
    reported: impl Fn(String, LogAccount) -> Option<Caveat>,
) -> Vec<FoundCaveat> {
    let written = trial.items.iter().filter(|item| item.plan.role.as_produce().is_some());
    let topics: BTreeSet<&str> = written.map(|item| item.plan.topic.as_str()).collect();
    let found = topics.into_iter().filter_map(|topic| reported(topic.to_owned(), says(trial, topic)?));
    found.map(FoundCaveat::from).collect()
}

/// `None` where a producer requests no acknowledgements: what arrived is unknown.
fn says(trial: &TrialRows<'_>, topic: &str) -> Option<LogAccount> {
    let writers = || trial.items.iter().filter(|item| item.plan.topic == topic);
    if writers().any(|item| item.plan.role.as_produce().is_some_and(|plan| plan.client.acks == 0)) {
        return None;
    }
    // All items of several topics have the same ones.
    let plan = writers().next()?.plan;
    let topics: Vec<Subject> = plan.topics().map(|topic| Subject::Topic(topic.to_owned())).collect();
    let was_there_before = || trial.evidence.start.trial.effective.has_existing_topic(plan);
    let mut unchecked = events(trial, EventKind::LogUnchecked);
    if let Some(event) = unchecked.find(|event| topics.contains(&event.subject)) {
        return Some(LogAccount::NotChecked(event.detail.clone()));
    }
    let growth = topics.iter().map(|topic| growth(trial.probes(), topic)).sum::<Option<u64>>();
    let Some(growth) = growth else {
        return Some(LogAccount::NotChecked(
            "its end offsets were not read before and after the load".to_owned(),
        ));
    };
    let (mut sums, mut markers) = ((0u64, 0u64), 0u64);
    for item in writers().filter(|item| item.plan.role.as_produce().is_some()) {
        let Some(totals) = &item.tally.totals else {
            return Some(LogAccount::NotChecked("not every stream gave its totals".to_owned()));
        };
        let uncertain = unfinished(totals).saturating_add(totals.retried_records);
        let uncertain = uncertain.saturating_add(totals.markers_unsure);
        markers = markers.saturating_add(totals.markers);
        sums = (sums.0.saturating_add(totals.acknowledged), sums.1.saturating_add(uncertain));
    }
    let growth = growth.saturating_sub(markers);
    let (acknowledged, expected_max) = (sums.0, sums.0.saturating_add(sums.1));
    Some(if growth < acknowledged {
        LogAccount::Lost { acknowledged, growth }
    } else if growth > expected_max && was_there_before() {
        let more = growth - expected_max;
        LogAccount::NotChecked(format!(
            "the topic was there before the run, and others wrote {more} records to it"
        ))
    } else if growth > expected_max && writers().any(java::may_repeat) {
        let more = growth - expected_max;
        LogAccount::NotChecked(format!(
            "it holds {more} records more, which a Java client without idempotence may have sent again: that is not seen"
        ))
    } else if growth > expected_max {
        LogAccount::Unexplained { expected_max, growth }
    } else {
        LogAccount::Agrees
    })
}

/// With acks=0, records that were written and are not in the log: few of them.
pub(super) fn few_not_appended(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    not_appended(trial, |share| share >= APPENDED_SHARE_MIN)
}

/// So many of them that the rate is another one.
pub(super) fn not_appended_at_all(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    not_appended(trial, |share| share < APPENDED_SHARE_MIN)
}

/// Where no broker closed a connection the end offsets were read before it had taken what sockets still held.
fn not_appended(trial: &TrialRows<'_>, is_reported: impl Fn(f64) -> bool) -> Vec<FoundCaveat> {
    let found = trial.items.iter().filter_map(|item| {
        item.plan.role.as_produce().filter(|plan| plan.client.acks == 0)?;
        let own = Subject::Item(item.name.to_owned());
        since_t0(trial, EventKind::Disconnected).find(|event| event.subject == own)?;
        let topics = item.plan.topics().map(|topic| Subject::Topic(topic.to_owned()));
        let growth = topics.map(|topic| growth(trial.probes(), &topic)).sum::<Option<u64>>()?;
        let others = trial.items.iter().filter(|other| other.plan.topic == item.plan.topic);
        let others = others.filter(|other| other.plan.role.as_produce().is_some() && other.name != item.name);
        // Markers of transactions take an offset each.
        let of_other = |other: &ItemRows<'_>| {
            let totals = other.tally.totals.as_ref()?;
            Some(totals.acknowledged.saturating_add(totals.markers))
        };
        let of_others = others.map(of_other).sum::<Option<u64>>()?;
        let written = item.tally.totals.as_ref()?.acknowledged;
        let growth = growth.saturating_sub(of_others);
        let caveat = Caveat::NotAppended { item: item.name.to_owned(), written, growth };
        let found =
            || FoundCaveat::of(item, caveat).concerning(Concern::Rates { item: item.name.to_owned() });
        (growth < written && is_reported(growth as f64 / written as f64)).then(found)
    });
    found.collect()
}

/// By how much the end offsets grew; `None` unless they were read on both sides of the load.
fn growth(probes: &[ProbeReading], topic: &Subject) -> Option<u64> {
    let readings = || {
        let of_topic = probes.iter().filter(|reading| reading.subject == *topic);
        of_topic.filter(|reading| reading.series == series::LOG_RECORDS_TOTAL && reading.value.is_finite())
    };
    let before = readings().filter(|reading| reading.at_ns < 0).max_by_key(|reading| reading.at_ns)?;
    let after = readings().filter(|reading| reading.at_ns > 0).max_by_key(|reading| reading.at_ns)?;
    // Offsets are whole and far below 2⁵³; those of a topic that was created again in between are smaller.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some((after.value - before.value).max(0.0).round() as u64)
}
