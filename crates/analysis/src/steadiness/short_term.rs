//! What a claim of sustained load would need and a window did not hold.

use crate::evidence::{NS_PER_S, Window};
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::conclusion::ShortTerm;
use kdyno_model::event::Subject;
use kdyno_model::plan::Storage;
use kdyno_model::sample::Timing;
use kdyno_model::trial::TrialReason;
use std::collections::BTreeMap;

/// Segments that each partition must have filled: until then no log is deleted, and files are created rather than
/// reused.
const SEGMENT_ROLLS: u32 = 2;

/// Times that the kernel's limit of dirty pages must have been written: until then memory takes the load, not the disk.
const FLUSH_CYCLES: u32 = 3;

/// Burst credits of rented machines and disks last so long at most, seconds, where their duration is not stated.
const BURST_CREDITS_S: u32 = 3600;

/// Kafka's default of `log.segment.bytes` (`segment.bytes` of a topic).
const SEGMENT_BYTES: f64 = 1_073_741_824.0;

/// Host fact: bytes of dirty pages from which the kernel writes them.
const DIRTY_BACKGROUND_BYTES: &str = "dirty_background_bytes";

/// What an item that produces would need. Bytes are those of its requests, as they go over the wire and into the logs.
pub(super) fn of(trial: &TrialRows<'_>, item: &ItemRows<'_>, window: Window) -> Vec<ShortTerm> {
    let effective = &trial.evidence.start.trial.effective;
    if item.plan.role.as_produce().is_none() || !effective.topics.contains_key(&item.plan.topic) {
        return Vec::new();
    }
    // It has no log: there is nothing that happens seldom.
    if !effective.system.is_kafka() {
        return Vec::new();
    }
    let counts = &item.tally.windowed;
    // The requests of a Java client are not seen: their values are most of them.
    let bytes =
        if item.plan.driver.shows_requests() { counts.request_bytes } else { counts.acknowledged_bytes }
            as f64;
    let mut short = Vec::new();
    // Each topic gets as much as the others, and the one that takes most to fill its segments rolls them last.
    let to_roll = item.plan.topics().filter_map(|name| {
        let topic = effective.topics.get(name)?;
        Some(f64::from(topic.partitions.max(1)) * segment_bytes(trial, name, &topic.config))
    });
    let to_roll = to_roll.reduce(f64::max).unwrap_or(SEGMENT_BYTES);
    let rolls = bytes / f64::from(item.plan.topic_count()) / to_roll;
    if rolls < f64::from(SEGMENT_ROLLS) {
        short.push(ShortTerm::SegmentRolls { seen: rolls, needed: SEGMENT_ROLLS });
    }
    // What lies in memory is never written back.
    if effective.system.cluster().is_some_and(|cluster| cluster.storage != Storage::Memory) {
        let dirty = trial.evidence.session.host_facts.get(DIRTY_BACKGROUND_BYTES);
        let dirty = dirty.and_then(|bytes| bytes.parse::<f64>().ok()).filter(|bytes| *bytes > 0.0);
        // All brokers are on this host, so it takes every replica.
        let cycles = dirty.map(|dirty| bytes * effective.replicas_mean(item.plan) / dirty);
        if let Some(seen) = cycles.filter(|cycles| *cycles < f64::from(FLUSH_CYCLES)) {
            short.push(ShortTerm::FlushCycles { seen, needed: FLUSH_CYCLES });
        }
    }
    if let Some(target) = effective.system.target() {
        let seen_s = window.end_second - window.first_second;
        let said_s = target.sustain_ns.map(|ns| u32::try_from(ns.div_ceil(NS_PER_S)).unwrap_or(u32::MAX));
        let needed_s = said_s.unwrap_or(BURST_CREDITS_S);
        if seen_s < needed_s {
            short.push(ShortTerm::BurstCredits { seen_s, needed_s });
        }
    }
    short
}

/// Whether a figure of an item may be another one in load that goes on, for what a window did not hold: writing back
/// dirty pages or the end of burst credits slows a maximum down and lengthens p99, filling a segment is seldom enough for
/// what lies beyond p99. `rates` are the metrics that a maximum has.
pub(super) fn concerns(short: &[ShortTerm], is_open_loop: bool, rates: &[&str], metric: &str) -> bool {
    let Some((timing, statistic)) = metric.split_once('.') else {
        let is_missing =
            |one: &ShortTerm| matches!(one, ShortTerm::FlushCycles { .. } | ShortTerm::BurstCredits { .. });
        return !is_open_loop && rates.contains(&metric) && short.iter().any(is_missing);
    };
    let is_generators = matches!(timing.parse(), Ok(Timing::ScheduleDelay | Timing::Callback));
    let (is_rare, is_p99) = (matches!(statistic, "p99.9" | "p99.99" | "max"), statistic == "p99");
    let is_missing = |one: &ShortTerm| match one {
        ShortTerm::SegmentRolls { .. } => is_rare,
        ShortTerm::FlushCycles { .. } | ShortTerm::BurstCredits { .. } => is_rare || is_p99,
    };
    is_open_loop && !is_generators && short.iter().any(is_missing)
}

/// Whether figures of a trial are marked. A comparison speaks of a difference between two windows that are as short.
pub(super) fn is_marked(trial: &TrialRows<'_>) -> bool {
    !matches!(trial.evidence.start.trial.reason, TrialReason::Pair | TrialReason::Duet)
}

/// What was in force for the topic, or for a broker; else what was requested, for the topic or the brokers, or Kafka's
/// own.
fn segment_bytes(trial: &TrialRows<'_>, name: &str, topic: &BTreeMap<String, String>) -> f64 {
    let start = &trial.evidence.start;
    let of = |subject: &Subject, setting| Some(start.settings.get(subject)?.get(setting)?.value.as_str());
    let in_force = of(&Subject::Topic(name.to_owned()), "segment.bytes").or_else(|| {
        let mut brokers = start.settings.keys().filter(|subject| subject.is_broker());
        brokers.find_map(|broker| of(broker, "log.segment.bytes"))
    });
    let asked = || {
        let brokers = start.trial.effective.system.broker_config();
        let brokers = brokers.and_then(|config| config.get("log.segment.bytes"));
        topic.get("segment.bytes").or(brokers).map(String::as_str)
    };
    let bytes = in_force.or_else(asked).and_then(|bytes| bytes.parse::<f64>().ok());
    bytes.filter(|bytes| *bytes > 0.0).unwrap_or(SEGMENT_BYTES)
}
