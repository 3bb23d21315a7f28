//! The caveats about a trial: one rule for each, with its threshold, in [`RULES`]. How heavy one is says its row
//! ([`kdyno_model::caveat::CaveatRow`]).

mod cluster;
mod duet;
pub(crate) mod found;
pub(crate) mod generator;
pub(crate) mod group;
pub(crate) mod host;
mod java;
pub(crate) mod load;
mod log;
mod relay;
mod stood_still;

use self::found::FoundCaveat;
use crate::rows::TrialRows;
use kdyno_model::caveat::Degree::{self, Grave, Usual};
use kdyno_model::caveat::ScopedCaveat;
use std::cmp::Reverse;

/// The caveats of one kind that a trial gives cause for.
type CaveatRule = fn(&TrialRows<'_>) -> Vec<FoundCaveat>;

/// Every rule, with the grade of what it finds; among caveats of one severity the first is reported first.
const RULES: &[(CaveatRule, Degree)] = &[
    (log::lost, Usual),
    (load::accounting_broken, Usual),
    (load::samples_missing, Usual),
    (cluster::producer_ended, Usual),
    (cluster::command_failed, Usual),
    (cluster::generator_lost, Grave),
    (log::not_appended_at_all, Grave),
    (load::queue_too_long, Grave),
    (generator::mostly_late, Grave),
    (generator::mostly_late_end_to_end, Grave),
    (generator::calibration_short, Usual),
    (load::queue_long, Usual),
    (load::stalled, Usual),
    (load::nothing_acknowledged, Usual),
    (load::failures, Usual),
    (load::unresolved, Usual),
    (cluster::requests_failed, Usual),
    (load::retries, Grave),
    (log::few_not_appended, Usual),
    (log::unexplained, Usual),
    (log::not_checked_after_a_death, Grave),
    (load::consumer_behind, Usual),
    (cluster::changed, Usual),
    (generator::late, Usual),
    (generator::late_end_to_end, Usual),
    (generator::clocks_differ, Usual),
    (stood_still::stood_still, Usual),
    (load::written_not_appended, Usual),
    (load::pooled_compression, Usual),
    (load::random_values, Usual),
    (load::compression_missed, Usual),
    (load::small_batches, Usual),
    (generator::thread_busy, Usual),
    (generator::users_busy, Usual),
    (generator::worker_busy, Usual),
    (relay::late, Usual),
    (relay::busy, Usual),
    (generator::waited, Usual),
    (host::brokers_waited, Usual),
    (host::processor_limited, Usual),
    (host::steal, Usual),
    (host::other_load, Usual),
    (host::shared_processors, Usual),
    (host::null_broker, Usual),
    (host::memory_storage, Usual),
    (host::page_cache, Usual),
    (cluster::process_died, Usual),
    (cluster::unknown_setting, Usual),
    (host::host_shared, Usual),
    (cluster::fetch_errors, Usual),
    (cluster::records_skipped, Usual),
    (group::not_conserved, Usual),
    (group::members_put_out, Usual),
    (group::member_failed, Usual),
    (java::full_gc, Usual),
    (java::stacks_sampled, Usual),
    (java::agent_busy, Usual),
    (cluster::unconditioned, Usual),
    (cluster::brokers_fresh, Usual),
    (duet::not_at_once, Usual),
    (cluster::warmup_not_settled, Usual),
    (cluster::cut_short_by, Usual),
    (load::probe_misses_leaders, Usual),
    (log::not_checked, Usual),
    (java::stacks_not_sampled, Usual),
    (load::idempotent_retries, Usual),
    (load::few_records, Usual),
    (load::few_requests, Usual),
    (load::assigned_not_group, Usual),
    (load::closed_loop, Usual),
];

/// All reasons, the heaviest first.
pub(crate) fn of(trial: &TrialRows<'_>) -> Vec<ScopedCaveat> {
    let found = RULES
        .iter()
        .flat_map(|(rule, degree)| rule(trial).into_iter().filter_map(|found| found.scoped(trial, *degree)));
    let mut found: Vec<ScopedCaveat> = found.collect();
    found.sort_by_key(|caveat| Reverse(caveat.severity));
    found
}
