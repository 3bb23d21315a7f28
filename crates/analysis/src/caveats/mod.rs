//! The caveats about a trial: one rule for each, with its threshold, in [`RULES`] with its weight for each
//! question that a figure may answer (docs/METHOD.md, Caveats; all of them: docs/reference/caveats.md).

mod cluster;
mod duet;
mod found;
pub(crate) mod generator;
pub(crate) mod group;
pub(crate) mod host;
mod java;
pub(crate) mod load;
mod log;
mod relay;
mod stood_still;

use self::found::{Found, Question, asked_by_rate};
use crate::rows::Trial;
use kdyno_model::caveat::ScopedCaveat;
use kdyno_model::caveat::Severity::{self, Invalid, Note, Warning};
use kdyno_model::trial::TrialReason;
use std::cmp::Reverse;

/// Severity by question, in the order of [`Question`]; `None`: not told.
type Weight = [Option<Severity>; 4];

const NOTE: Weight = [Some(Note); 4];
const WARNING: Weight = [Some(Warning); 4];
const INVALID: Weight = [Some(Invalid); 4];
/// Of latencies of a given rate; those of a closed loop say nothing about the cluster anyway.
const LATENCY_WARNING: Weight = [Some(Warning), None, Some(Warning), Some(Warning)];
const LATENCY_INVALID: Weight = [Some(Invalid), None, Some(Invalid), Some(Invalid)];
/// Of how much the system carries.
const CAPACITY_WARNING: Weight = [Some(Note), Some(Warning), Some(Warning), Some(Note)];
const CAPACITY_INVALID: Weight = [Some(Note), Some(Invalid), Some(Invalid), Some(Warning)];
/// What comes with a saturated host.
const SATURATION: Weight = [Some(Warning), Some(Note), Some(Warning), Some(Warning)];
/// What both sides of a comparison have alike.
const BOTH_SIDES_ALIKE: Weight = [Some(Warning), Some(Warning), Some(Warning), Some(Note)];

/// The caveats of one kind that a trial gives cause for.
type Rule = fn(&Trial<'_>) -> Vec<Found>;

/// Every kind of caveat; of those with one severity the first is told first.
const RULES: &[(Rule, Weight)] = &[
    (log::lost, INVALID),
    (load::accounting_broken, INVALID),
    (load::samples_missing, INVALID),
    (cluster::producer_ended, INVALID),
    (cluster::command_failed, INVALID),
    (log::not_appended_at_all, INVALID),
    (load::queue_too_long, LATENCY_INVALID),
    (generator::mostly_late, LATENCY_INVALID),
    (generator::mostly_late_end_to_end, LATENCY_INVALID),
    (generator::calibration_short, CAPACITY_INVALID),
    (load::queue_long, LATENCY_WARNING),
    (load::stalled, WARNING),
    (load::nothing_acknowledged, WARNING),
    (load::failures, WARNING),
    (load::unresolved, WARNING),
    (cluster::requests_failed, WARNING),
    (load::retries, WARNING),
    (log::few_not_appended, WARNING),
    (log::unexplained, WARNING),
    (log::not_checked_after_a_death, WARNING),
    (load::consumer_behind, WARNING),
    (cluster::changed, WARNING),
    (generator::late, LATENCY_WARNING),
    (generator::late_end_to_end, LATENCY_WARNING),
    (stood_still::stood_still, LATENCY_WARNING),
    (load::written_not_appended, WARNING),
    (load::pooled_compression, WARNING),
    (load::random_values, WARNING),
    (load::compression_missed, WARNING),
    (load::small_batches, WARNING),
    (generator::thread_busy, WARNING),
    (generator::users_busy, WARNING),
    (generator::worker_busy, WARNING),
    (relay::late, LATENCY_WARNING),
    (relay::busy, WARNING),
    (generator::waited, SATURATION),
    (host::brokers_waited, SATURATION),
    (host::processor_limited, WARNING),
    (host::steal, WARNING),
    (host::other_load, WARNING),
    (host::shared_processors, BOTH_SIDES_ALIKE),
    (host::null_broker, WARNING),
    (host::memory_storage, WARNING),
    (host::page_cache, CAPACITY_WARNING),
    (cluster::process_died, WARNING),
    (cluster::unknown_setting, WARNING),
    (host::host_shared, WARNING),
    (cluster::fetch_errors, WARNING),
    (cluster::records_skipped, WARNING),
    (group::not_conserved, WARNING),
    (group::members_put_out, WARNING),
    (group::member_failed, WARNING),
    (java::full_gc, WARNING),
    (java::stacks_sampled, BOTH_SIDES_ALIKE),
    (java::agent_busy, BOTH_SIDES_ALIKE),
    (cluster::unconditioned, WARNING),
    (cluster::brokers_fresh, WARNING),
    (duet::not_at_once, WARNING),
    (cluster::warmup_not_settled, WARNING),
    (cluster::cut_short_by, WARNING),
    (load::probe_misses_leaders, WARNING),
    (log::not_checked, NOTE),
    (java::stacks_not_sampled, NOTE),
    (load::idempotent_retries, NOTE),
    (load::few_records, NOTE),
    (load::few_requests, NOTE),
    (load::assigned_not_group, NOTE),
    (load::closed_loop, NOTE),
];

/// All reasons, the heaviest first.
pub(crate) fn of(trial: &Trial<'_>) -> Vec<ScopedCaveat> {
    let scope = trial.scope();
    let found = RULES.iter().flat_map(|(rule, weight)| {
        rule(trial).into_iter().filter_map(|found| {
            let severity = severity(trial, found.question, weight)?;
            Some(ScopedCaveat { scope, severity, concerns: found.concerns, caveat: found.caveat })
        })
    });
    let mut found: Vec<ScopedCaveat> = found.collect();
    found.sort_by_key(|caveat| Reverse(caveat.severity));
    found
}

/// How heavy a caveat is in a trial: what the trial was chosen for decides, and where it was only listed, the rate of
/// the load.
fn severity(trial: &Trial<'_>, question: Option<Question>, weight: &Weight) -> Option<Severity> {
    let of = |question: Question| weight[question as usize];
    match &trial.evidence.start.trial.reason {
        TrialReason::Search { .. } => return of(Question::Find),
        TrialReason::Pair | TrialReason::Duet => return of(Question::Compare),
        TrialReason::Listed { .. } | TrialReason::Conditioning => {}
    }
    let producing = trial.items.iter().filter(|item| item.plan.role.as_produce().is_some());
    let asked = || producing.map(asked_by_rate).map(of).max().unwrap_or(of(Question::Max));
    question.map_or_else(asked, of)
}
