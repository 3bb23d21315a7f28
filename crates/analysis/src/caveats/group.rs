//! What a consumer group was handed against what its topics were given.

use super::cluster::since_t0;
use super::found::{FoundCaveat, events};
use crate::evidence::cut_short;
use crate::java;
use crate::rows::{ItemRows, TrialRows};
use crate::tally::unfinished;
use kdyno_model::caveat::{Caveat, GroupNotConserved, MembersPutOut};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::plan::StartOffset;
use kdyno_model::sample::series;
use std::collections::BTreeSet;

/// For a topic that only this trial writes to, a group is handed each acknowledged record; others at most once.
///
/// Counted by the whole trial: records that members were handed, without those that one of them had been handed before.
/// Since no partition can give more different records than it was given, equal sums mean equal partitions.
pub(super) fn not_conserved(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let readers =
        || trial.items.iter().filter_map(|item| Some((item, item.plan.role.group()?.name.as_str())));
    let read: BTreeSet<(&str, &str)> =
        readers().map(|(item, group)| (group, item.plan.topic.as_str())).collect();
    let found = read.into_iter().filter_map(|(group, topic)| {
        let (least, most, handed_over) = sums(trial, group, topic)?;
        let (group, topic) = (group.to_owned(), topic.to_owned());
        let is_conserved = (least..=most).contains(&handed_over);
        let found = GroupNotConserved { group, topic, least, most, handed_over };
        (!is_conserved).then_some(Caveat::GroupNotConserved(found))
    });
    found.map(FoundCaveat::from).collect()
}

/// Whether the group of an item was handed what its topic was given; `None` where that cannot be judged.
pub(crate) fn is_conserved(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Option<bool> {
    let group = item.plan.role.group()?.name.as_str();
    let (least, most, handed_over) = sums(trial, group, &item.plan.topic)?;
    Some((least..=most).contains(&handed_over))
}

/// The fewest and the most records that a group can have been handed of a topic, and how many it was.
fn sums(trial: &TrialRows<'_>, group: &str, topic: &str) -> Option<(u64, u64, u64)> {
    let is_its = |item: &&ItemRows<'_>| {
        item.plan.role.group().is_some_and(|own| own.name == group) && item.plan.topic == topic
    };
    let members: Vec<&ItemRows<'_>> = trial.items.iter().filter(is_its).collect();
    let (least, most) = given(trial, topic, &members)?;
    Some((least, most, handed_over(&members)?))
}

/// Items whose members lost partitions without giving them up.
pub(super) fn members_put_out(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let of_item = |item: &ItemRows<'_>| {
        let group = item.plan.role.group()?;
        let members = item.tally.clients.iter().filter_map(|client| client.member);
        let losses: u64 = members.map(|member| u64::from(member.losses)).sum();
        let item = item.name.to_owned();
        let poll_interval_max_ns = group.poll_interval_max_ns;
        (losses > 0).then_some(Caveat::MembersPutOut(MembersPutOut { item, losses, poll_interval_max_ns }))
    };
    trial.items.iter().filter_map(of_item).map(FoundCaveat::from).collect()
}

/// Members of a group that are none any more, for good.
pub(super) fn member_failed(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let mut reported = BTreeSet::new();
    let first_of_item =
        events(trial, EventKind::MemberFailed).filter(|event| reported.insert(event.subject.to_string()));
    let caveat = |item, first: &str| Caveat::MemberFailed { item, first: first.to_owned() };
    first_of_item.map(|event| caveat(event.subject.to_string(), &event.detail).into()).collect()
}

/// Records that members were handed, each counted once.
fn handed_over(members: &[&ItemRows<'_>]) -> Option<u64> {
    let of = |item: &&ItemRows<'_>| {
        let totals = item.tally.totals.as_ref()?;
        Some(totals.fetched.saturating_sub(totals.duplicates))
    };
    members.iter().map(of).sum()
}

/// The fewest and the most different records of a topic that its consumers can be handed; `None` where that is not
/// known: for a topic that others write to, with writers that do not know what arrived, where records were reported as
/// gone, and for a group that comes late or goes early as a whole.
fn given(trial: &TrialRows<'_>, topic: &str, members: &[&ItemRows<'_>]) -> Option<(u64, u64)> {
    let effective = &trial.evidence.start.trial.effective;
    let is_others = members.iter().any(|item| effective.has_existing_topic(item.plan));
    let were_gone = since_t0(trial, EventKind::RecordsSkipped).next().is_some();
    // A group with no member before T0, or none at the end, is not meant to be handed everything.
    let lasts = |item: &&ItemRows<'_>| item.plan.span.until_ns.is_none();
    let is_early = |item: &&ItemRows<'_>| !item.plan.span.is_late() || is_from_earliest(item);
    let was_there = members.iter().any(lasts) && members.iter().any(is_early);
    // Nor is it known what Java's members were handed twice after a rebalance, or what its writers sent again.
    let writers = || trial.items.iter().filter(|item| item.plan.topic == topic);
    let is_unseen =
        members.iter().any(|item| !item.plan.driver.shows_requests()) || writers().any(java::may_repeat);
    if is_unseen || is_others || were_gone || !was_there || cut_short(trial.evidence).is_some() {
        return None;
    }
    let (mut least, mut most) = (0u64, 0u64);
    for writer in writers() {
        let Some(plan) = writer.plan.role.as_produce() else { continue };
        let totals = writer.tally.totals.as_ref().filter(|_| plan.client.acks != 0)?;
        if totals.aborted > 0 {
            return None;
        }
        let uncertain = unfinished(totals).saturating_add(totals.retried_records);
        least = least.saturating_add(totals.acknowledged);
        most = most.saturating_add(totals.acknowledged).saturating_add(uncertain);
    }
    // All items of several topics have the same ones.
    let held = || members.first()?.plan.topics().map(|topic| held_before(trial, topic)).sum::<Option<u64>>();
    let before = if members.iter().any(is_from_earliest) { held()? } else { 0 };
    Some((least, most.saturating_add(before)))
}

fn is_from_earliest(item: &&ItemRows<'_>) -> bool {
    item.plan.role.as_consume().is_some_and(|consume| consume.from == StartOffset::Earliest)
}

/// Records that a topic held at most before T0: trials may share it.
fn held_before(trial: &TrialRows<'_>, topic: &str) -> Option<u64> {
    let topic = Subject::Topic(topic.to_owned());
    let readings = trial.probes().iter().filter(|reading| reading.subject == topic && reading.at_ns < 0);
    let ends =
        readings.filter(|reading| reading.series == series::LOG_RECORDS_TOTAL && reading.value.is_finite());
    // Offsets are whole and far below 2⁵³.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    ends.max_by_key(|reading| reading.at_ns).map(|reading| reading.value.max(0.0).round() as u64)
}
