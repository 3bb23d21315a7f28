//! What happened to the cluster and to the trial as a whole.

use super::found::{FoundCaveat, events};
use crate::commands;
use crate::evidence::{NS_PER_S, cut_short, ended_processes, lost_and_gone_on};
use crate::inside::Inside;
use crate::rows::TrialRows;
use kdyno_model::caveat::Caveat;
use kdyno_model::event::{Event, EventKind};
use kdyno_model::generator::LostWorkers;
use kdyno_model::plan::PHASE_NS_MAX;
use std::collections::BTreeMap;

/// What clients and the lab saw of the cluster that changes what is measured.
const CHANGES: [EventKind; 6] = [
    EventKind::LeaderMoved,
    EventKind::Unreachable,
    EventKind::BrokersChanged,
    EventKind::IsrShrunk,
    EventKind::Throttled,
    EventKind::TransactionAborted,
];

/// One for each process.
pub(super) fn process_died(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let died = ended_processes(trial.evidence);
    died.into_iter().map(|subject| Caveat::ProcessDied { subject: subject.clone() }.into()).collect()
}

/// One for each setting.
pub(super) fn unknown_setting(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let settings: BTreeMap<String, &str> = events(trial, EventKind::UnknownSetting)
        .map(|event| (event.subject.to_string(), event.detail.as_str()))
        .collect();
    settings
        .into_iter()
        .map(|(setting, detail)| Caveat::UnknownSetting { setting, detail: detail.to_owned() }.into())
        .collect()
}

pub(super) fn fetch_errors(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let items = by_item(trial, EventKind::FetchError).into_iter();
    items.map(|(item, (events, first))| Caveat::FetchErrors { item, events, first }.into()).collect()
}

pub(super) fn records_skipped(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let items = by_item(trial, EventKind::RecordsSkipped).into_iter();
    items.map(|(item, (events, first))| Caveat::RecordsSkipped { item, events, first }.into()).collect()
}

/// Also before T0: a producer that got no id sends nothing.
pub(super) fn producer_ended(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let mut items: BTreeMap<String, &str> = BTreeMap::new();
    for event in events(trial, EventKind::ProducerEnded) {
        items.entry(event.subject.to_string()).or_insert(&event.detail);
    }
    let caveat = |(item, first): (String, &str)| Caveat::ProducerEnded { item, first: first.to_owned() };
    items.into_iter().map(|found| caveat(found).into()).collect()
}

/// Each load item's number of events since T0 and what the first one says.
fn by_item(trial: &TrialRows<'_>, kind: EventKind) -> BTreeMap<String, (u64, String)> {
    let mut items = BTreeMap::new();
    for event in since_t0(trial, kind) {
        items.entry(event.subject.to_string()).or_insert_with(|| (0, event.detail.clone())).0 += 1;
    }
    items
}

/// One for each kind of change.
pub(super) fn changed(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let found = CHANGES.into_iter().filter_map(|kind| {
        let first = since_t0(trial, kind).min_by_key(|event| event.at_ns)?.detail.clone();
        let events = since_t0(trial, kind).count() as u64;
        Some(Caveat::ClusterChanged { event: kind.to_string(), events, first }.into())
    });
    found.collect()
}

/// Before T0 nothing is measured: a topic that has just been made has no leader for a moment.
pub(super) fn since_t0<'a>(trial: &TrialRows<'a>, kind: EventKind) -> impl Iterator<Item = &'a Event> {
    events(trial, kind).filter(|event| event.at_ns.is_some_and(|at_ns| at_ns >= 0))
}

pub(super) fn unconditioned(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let event = events(trial, EventKind::Unconditioned).next();
    event.map(|_| Caveat::Unconditioned.into()).into_iter().collect()
}

/// Brokers that took less than what this load brings in so long count as fresh: the least for which a local cluster is
/// conditioned.
const FRESH_S: f64 = 20.0;

/// The start of a target was not seen here; its brokers count what they have taken since.
pub(super) fn brokers_fresh(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if trial.evidence.start.trial.effective.system.target().is_none() {
        return Vec::new();
    }
    let taken = Inside::of(trial).taken_before();
    let fresh = taken.map(|(records, per_s)| (records, records / per_s));
    let fresh = fresh.filter(|(_, load_s)| *load_s < FRESH_S);
    // A count, not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let caveat = |(records, load_s): (f64, f64)| Caveat::BrokersFresh { records: records as u64, load_s };
    fresh.map(|found| caveat(found).into()).into_iter().collect()
}

pub(super) fn warmup_not_settled(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let event = events(trial, EventKind::WarmupNotSettled).next();
    event.map(|event| Caveat::WarmupNotSettled { detail: event.detail.clone() }.into()).into_iter().collect()
}

pub(super) fn cut_short_by(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if has_lost_generator(trial) { Vec::new() } else { ended_early(trial) }
}

/// A part of a load that several hosts carry was lost: what is left is not the load that was asked for.
pub(super) fn generator_lost(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if has_lost_generator(trial) { ended_early(trial) } else { Vec::new() }
}

/// Whether the worker of another host ended without its totals, and the trial was to end with it.
fn has_lost_generator(trial: &TrialRows<'_>) -> bool {
    let case = &trial.evidence.start.trial.effective;
    let has_ended = |worker: u16| trial.evidence.totals.iter().any(|totals| totals.id.worker == worker);
    let is_meant = !case.generators.is_empty() && case.generators.lost_workers == LostWorkers::End;
    is_meant && !case.workers.iter().all(|planned| has_ended(planned.worker))
}

fn ended_early(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(reason) = cut_short(trial.evidence) else { return Vec::new() };
    let measured_s = trial.window.map_or(0, |window| window.end_second - window.first_second);
    let planned_ns = trial.evidence.start.trial.effective.phases.measure_ns;
    // The longest phase that there is counts where no length is given.
    let planned_s = match planned_ns {
        PHASE_NS_MAX => 0,
        ns => u32::try_from(ns / NS_PER_S).unwrap_or(u32::MAX),
    };
    let went_on = lost_and_gone_on(trial.evidence).is_some();
    vec![Caveat::CutShort { reason, measured_s, planned_s, went_on }.into()]
}

/// One for each command with failed requests: a refusal mostly comes sooner than an answer.
pub(super) fn requests_failed(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let items = trial.evidence.start.trial.effective.commands.keys();
    let found = items.filter_map(|item| {
        let (errors, share) = commands::failed_requests(trial.evidence, item)?;
        let caveat = Caveat::RequestsFailed { item: item.clone(), errors: errors as u64, share };
        Some(FoundCaveat::of_command(trial.evidence, item, caveat))
    });
    found.collect()
}

/// One for each command that did not do what it was to.
pub(super) fn command_failed(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let failed = commands::failures(trial.evidence);
    failed
        .map(|(item, event)| {
            let caveat = Caveat::CommandFailed { item: item.to_owned(), first: event.detail.clone() };
            FoundCaveat::of_command(trial.evidence, item, caveat)
        })
        .collect()
}
