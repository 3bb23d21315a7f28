//! What kept a load item from going faster, with the evidence for and against each candidate (docs/METHOD.md, What
//! was the limit; docs/reference/limits.md).

mod candidates;
mod network;
mod pinned;
mod pipeline;

use crate::evidence::{Window, is_open_loop};
use crate::queue::OpenLoopQueue;
use crate::rows::{ItemRows, TrialRows};
use crate::stall::{self, Stall};
use crate::tally::{ratio, unfinished};
use kdyno_model::conclusion::{Limit, LimitEvidence, LimitKind};
use kdyno_model::plan::RoleKind;
use std::collections::BTreeMap;

/// Share of a processor, disk, network or quota from which it is the limit: what queues before it takes the rest.
pub(crate) const SATURATED_SHARE: f64 = 0.9;

/// Share of the requests in flight, or of the client's buffer, from which they are the limit: they are filled and
/// emptied a batch at a time, so their mean stays below the whole.
pub(crate) const FULL_SHARE: f64 = 0.8;

/// Share of records without a good outcome from which not everything offered was carried.
const UNFINISHED_SHARE_MAX: f64 = 0.005;

/// What can be saturated. The first of two that are equally near comes first.
pub(crate) const RESOURCES: [LimitKind; 6] = [
    LimitKind::Quota,
    LimitKind::Generator,
    LimitKind::BrokerProcessors,
    LimitKind::Disk,
    LimitKind::Network,
    LimitKind::Link,
];

/// The limit of each item that produces, which a probe is not for; load that conditions a cluster has no such question.
pub(crate) fn of(trial: &TrialRows<'_>) -> Vec<Limit> {
    let is_asked = !trial.evidence.start.trial.is_conditioning();
    let has_acknowledged = |item: &&ItemRows<'_>| {
        item.plan.role.kind() == RoleKind::Produce && item.tally.windowed.acknowledged > 0
    };
    let asked = trial.items.iter().filter(|_| is_asked).filter(has_acknowledged);
    asked.filter_map(|item| Some(of_item(trial, item, item.window?))).collect()
}

fn of_item(trial: &TrialRows<'_>, item: &ItemRows<'_>, window: Window) -> Limit {
    let mut evidence = candidates::of(trial, item, window);
    if is_open_loop(item.plan) {
        evidence.insert(0, schedule(trial, item, window));
    }
    let named = named(&evidence);
    let runner_up = runner_up(named, &evidence);
    let waits = matches!(named, LimitKind::RequestsInFlight | LimitKind::Replication);
    let next = runner_up.and_then(|kind| Some((kind, used(&evidence, kind)?)));
    let delay = if waits { pipeline::delay(trial, item, window, next) } else { None };
    Limit { scope: trial.scope(), item: item.name.to_owned(), named, runner_up, delay, evidence }
}

/// Whether everything that was offered was carried in time.
fn schedule(trial: &TrialRows<'_>, item: &ItemRows<'_>, window: Window) -> LimitEvidence {
    let waits = OpenLoopQueue::of(item, window).is_some_and(|queue| queue.is_long());
    let share = ratio(unfinished(&item.tally.measured), item.tally.measured.offered);
    let fails = share.is_some_and(|share| share > UNFINISHED_SHARE_MAX);
    let stalled = stall::longest(trial.evidence, item, window);
    let (used, detail) = match (waits, fails, stalled) {
        (true, ..) => (None, "more was offered than was handled: it queued".to_owned()),
        (_, true, _) => (None, "records failed or stayed unresolved".to_owned()),
        (.., Some(Stall { at_s, seconds })) => {
            (None, format!("from second {at_s:.1} on nothing was acknowledged for {seconds:.2} s"))
        }
        _ => (Some(1.0), "everything offered was handled in time".to_owned()),
    };
    LimitEvidence { kind: LimitKind::Schedule, used, shares: BTreeMap::new(), others: None, detail }
}

fn used(evidence: &[LimitEvidence], kind: LimitKind) -> Option<f64> {
    evidence.iter().find(|one| one.kind == kind)?.used
}

/// The fullest of some candidates, the first of equals.
fn fullest(
    evidence: &[LimitEvidence],
    kinds: impl IntoIterator<Item = LimitKind>,
) -> Option<(LimitKind, f64)> {
    let judged = kinds.into_iter().filter_map(|kind| Some((kind, used(evidence, kind)?)));
    judged.reduce(|best, one| if one.1 > best.1 { one } else { best })
}

/// The schedule where nothing was; else what is saturated; else what is full while nothing is saturated. Requests in
/// flight fill up before anything that is saturated, so they are asked last.
fn named(evidence: &[LimitEvidence]) -> LimitKind {
    if used(evidence, LimitKind::Schedule).is_some() {
        return LimitKind::Schedule;
    }
    if let Some((kind, _)) = fullest(evidence, RESOURCES).filter(|(_, used)| *used >= SATURATED_SHARE) {
        return kind;
    }
    // A client that sends one record at a time lingers, then waits for its answer: together they are its time.
    let waits = used(evidence, LimitKind::RequestsInFlight).unwrap_or(0.0);
    if used(evidence, LimitKind::Linger)
        .is_some_and(|lingers| lingers >= waits && lingers + waits >= FULL_SHARE)
    {
        return LimitKind::Linger;
    }
    let is_full = |kind| used(evidence, kind).is_some_and(|used| used >= FULL_SHARE);
    if is_full(LimitKind::RequestsInFlight) {
        let is_idle = used(evidence, LimitKind::BrokerProcessors)
            .is_some_and(|brokers| brokers < candidates::IDLE_SHARE);
        let waits_for_followers = is_idle && is_full(LimitKind::Replication);
        return if waits_for_followers { LimitKind::Replication } else { LimitKind::RequestsInFlight };
    }
    if is_full(LimitKind::ClientBuffer) { LimitKind::ClientBuffer } else { LimitKind::Unknown }
}

/// The next one. While something is the limit, requests in flight and the buffer are as full as they are because of
/// it: they say nothing about what comes after it, and only resources are asked.
fn runner_up(named: LimitKind, evidence: &[LimitEvidence]) -> Option<LimitKind> {
    let others = RESOURCES.into_iter().filter(|kind| *kind != named);
    let pipeline = (named == LimitKind::Schedule).then_some(LimitKind::RequestsInFlight);
    fullest(evidence, others.chain(pipeline)).map(|(kind, _)| kind)
}
