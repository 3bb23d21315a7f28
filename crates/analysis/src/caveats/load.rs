//! Caveats about records and how they fared, and about how the load was made.

use super::found::{FoundCaveat, of_items};
use crate::commands;
use crate::evidence::{cut_short, is_open_loop};
use crate::lag;
use crate::queue::OpenLoopQueue;
use crate::rows::{ItemRows, TrialRows};
use crate::stall::{self, Stall};
use crate::tally::{ratio, unfinished};
use kdyno_model::caveat::{Caveat, Concern, Stalled};
use kdyno_model::event::Subject;
use kdyno_model::metric;
use kdyno_model::plan::{CasePlan, Compression, command};
use kdyno_model::sample::{ProbeReading, Timing};

/// Records beyond a quantile below which it says little about the next run.
pub(crate) const RECORDS_BEYOND_MIN: u64 = 100;

/// Seconds of what is produced that a consumer may be behind when the window ends.
const BEHIND_S_MAX: f64 = 1.0;

/// Share of `batch.size` below which batches are not what was requested.
const BATCH_FILLED_SHARE_MIN: f64 = 0.5;

/// What a record takes in a batch in addition to its value, and a batch in addition to its records, bytes (record
/// format 2).
const RECORD_BYTES: f64 = 8.0;
const BATCH_BYTES: f64 = 61.0;
/// By how much a stated ratio of compression may be missed.
const RATIO_MISSED_MAX: f64 = 0.05;

/// Exact: every offered record has one outcome.
pub(super) fn accounting_broken(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let totals = item.tally.totals.as_ref().filter(|_| item.plan.role.as_produce().is_some())?;
        let difference =
            i128::from(totals.offered) - i128::from(totals.acknowledged) - i128::from(unfinished(totals));
        (difference != 0).then(|| Caveat::AccountingBroken {
            item: item.name.to_owned(),
            difference: saturate(difference),
        })
    })
}

/// Exact: the rows hold all that the totals count. A trial that was cut short may lack the last ones.
pub(super) fn samples_missing(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if cut_short(trial.evidence).is_some() {
        return Vec::new();
    }
    of_items(trial, |item| {
        let (count, difference) = item.tally.totals.as_ref()?.first_difference(&item.tally.all)?;
        let item = item.name.to_owned();
        Some(Caveat::SamplesMissing { item, count, difference: saturate(difference) })
    })
}

fn saturate(difference: i128) -> i64 {
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// The longest time of the window without an acknowledgement though records waited: longer than a record that waits out its
/// linger and is answered would explain.
pub(super) fn stalled(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let found = trial.items.iter().filter_map(|item| {
        let Stall { at_s, seconds } = stall::longest(trial.evidence, item, item.window?)?;
        Some(FoundCaveat::of(item, Caveat::Stalled(Stalled { item: item.name.to_owned(), seconds, at_s })))
    });
    found.collect()
}

/// A queue that makes latencies doubtful.
pub(super) fn queue_long(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    queues(trial, |queue| queue.is_long() && !queue.is_too_long())
}

/// A queue that determines latencies more than the system does.
pub(super) fn queue_too_long(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    queues(trial, OpenLoopQueue::is_too_long)
}

fn queues(trial: &TrialRows<'_>, is_reported: impl Fn(&OpenLoopQueue) -> bool) -> Vec<FoundCaveat> {
    let found = trial.items.iter().filter_map(|item| {
        let queue = OpenLoopQueue::of(item, item.window?).filter(&is_reported)?;
        let OpenLoopQueue { start_s, growth_s, allowed_s, .. } = queue;
        let item_name = || item.name.to_owned();
        let caveat = Caveat::QueueGrowth { item: item_name(), start_s, growth_s, allowed_s };
        Some(FoundCaveat::of(item, caveat).concerning(Concern::Latencies { item: item_name() }))
    });
    found.collect()
}

/// Records of the measure phase that failed, one caveat for each reason.
pub(super) fn failures(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let reasons = trial.items.iter().flat_map(|item| {
        let failed = item.tally.measured.failed.iter().filter(|(_, records)| **records > 0);
        failed.map(|(reason, records)| {
            let (name, reason) = (item.name.to_owned(), reason.clone());
            FoundCaveat::of(item, Caveat::Failures { item: name, reason, records: *records })
        })
    });
    reasons.collect()
}

/// Its rate of 0 is a figure like any other; that there was nothing else is reported.
pub(super) fn nothing_acknowledged(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        item.plan.role.as_produce()?;
        let records = unfinished(&item.tally.measured);
        // For a load that queues, what is acknowledged in the window may all be of the warm-up.
        let acknowledged = item.tally.measured.acknowledged + item.tally.windowed.acknowledged;
        let is_reported = records > 0 && acknowledged == 0;
        is_reported.then(|| Caveat::NothingAcknowledged { item: item.name.to_owned(), records })
    })
}

pub(super) fn unresolved(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let records = item.tally.measured.unresolved;
        (records > 0).then(|| Caveat::Unresolved { item: item.name.to_owned(), records })
    })
}

pub(super) fn retries(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    retries_of(trial, false)
}

/// Brokers keep the records of an idempotent producer from being stored twice.
pub(super) fn idempotent_retries(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    retries_of(trial, true)
}

fn retries_of(trial: &TrialRows<'_>, is_idempotent: bool) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let batches = item.tally.windowed.retries;
        let produce = item.plan.role.as_produce()?;
        let is_reported = batches > 0 && produce.client.enable_idempotence == is_idempotent;
        is_reported.then(|| Caveat::Retries { item: item.name.to_owned(), batches, is_idempotent })
    })
}

/// Requests that commands reported.
pub(super) fn few_requests(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let few = |one: &ProbeReading| {
        let Subject::Item(item) = &one.subject else { return None };
        let beyond = |quantile| commands::beyond(one.value, quantile);
        let mut quantiles = metric::QUANTILES.iter().map(|(name, quantile)| (name, beyond(*quantile)));
        let (name, beyond) = quantiles.find(|(_, beyond)| *beyond < RECORDS_BEYOND_MIN)?;
        let (item, quantile) = (item.clone(), (*name).to_owned());
        let concerns = Concern::LatenciesFrom { item: item.clone(), quantile: quantile.clone() };
        Some(FoundCaveat { concerns, ..Caveat::FewRecords { item, quantile, beyond }.into() })
    };
    let responses = trial.probes().iter().filter(|one| one.series == command::series::RESPONSES);
    responses.filter_map(few).collect()
}

/// Once per item, with the lowest quantile of its response that too few records lie beyond.
pub(super) fn few_records(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let response = item.latencies.get(&Timing::Response).filter(|response| response.total() > 0)?;
        let beyond = |quantile| (quantile, response.beyond(quantile));
        let mut quantiles = metric::QUANTILES.iter().map(|(name, quantile)| (name, beyond(*quantile)));
        let (name, (_, beyond)) = quantiles.find(|(_, (_, beyond))| *beyond < RECORDS_BEYOND_MIN)?;
        Some(Caveat::FewRecords { item: item.name.to_owned(), quantile: (*name).to_owned(), beyond })
    })
}

pub(super) fn consumer_behind(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let lag::Lag { records, seconds, .. } = lag::of(trial, item)?;
        let has_grown = || item.tally.lag_records.0.is_some_and(|before| records > before);
        let is_behind = seconds.map_or_else(has_grown, |seconds| seconds > BEHIND_S_MAX);
        let item = item.name.to_owned();
        is_behind.then_some(Caveat::ConsumerBehind { item, records, seconds })
    })
}

pub(super) fn written_not_appended(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let acks = item.plan.role.as_produce()?.client.acks;
        (acks == 0).then(|| Caveat::WrittenNotAppended { item: item.name.to_owned() })
    })
}

pub(super) fn pooled_compression(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    compression(trial, |caveat| matches!(caveat, Caveat::PooledCompression { .. }))
}

pub(super) fn random_values(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    compression(trial, |caveat| matches!(caveat, Caveat::RandomValues { .. }))
}

fn compression(trial: &TrialRows<'_>, is_it: impl Fn(&Caveat) -> bool) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        Caveat::of_compression(item.name, item.plan.role.as_produce()?).filter(|caveat| is_it(caveat))
    })
}

/// Where values were to compress to a stated ratio and did not.
pub(super) fn compression_missed(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let plan = item.plan.role.as_produce().filter(|plan| plan.client.compression != Compression::None)?;
        let stated = plan.records.compressible?;
        let counts = &item.tally.windowed;
        let reached = ratio(counts.record_bytes, counts.sent_bytes)?;
        let is_near = (reached / stated - 1.0).abs() <= RATIO_MISSED_MAX;
        (!is_near).then(|| Caveat::CompressionMissed { item: item.name.to_owned(), stated, reached })
    })
}

/// Where the trial's case is one of several sizes of batches.
pub(super) fn small_batches(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    if !compares_batch_sizes(&trial.evidence.start.trial.effective) {
        return Vec::new();
    }
    of_items(trial, |item| {
        let plan = item.plan.role.as_produce().filter(|_| item.tally.windowed.batches > 0)?;
        let counts = &item.tally.windowed;
        let records = counts.acknowledged as f64 / counts.batches as f64;
        let bytes = BATCH_BYTES
            + match counts.sent_bytes {
                0 => records * (f64::from(plan.value_bytes) + RECORD_BYTES),
                sent_bytes => sent_bytes as f64 / counts.batches as f64,
            };
        let share = bytes / f64::from(plan.client.batch_bytes);
        // A batch that can hold one record holds one.
        let is_small = share < BATCH_FILLED_SHARE_MIN && counts.acknowledged > 0;
        is_small.then(|| Caveat::SmallBatches { item: item.name.to_owned(), share })
    })
}

/// Whether a parameter of that meaning is among those in which the cases differ.
fn compares_batch_sizes(case: &CasePlan) -> bool {
    let about_batches = case.params.keys().filter(|name| name.to_lowercase().contains("batch"));
    let mut distinguished = about_batches
        .filter(|name| case.label.split([' ', ',']).any(|part| part.starts_with(&format!("{name}="))));
    distinguished.next().is_some()
}

pub(super) fn assigned_not_group(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let is_assigned = item.plan.role.as_produce().is_none() && item.plan.role.group().is_none();
        is_assigned.then(|| Caveat::AssignedNotGroup { item: item.name.to_owned() })
    })
}

pub(super) fn closed_loop(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item: &ItemRows<'_>| {
        let produce = item.plan.role.as_produce()?;
        // With one record at a time nothing waits in the client.
        (!produce.synchronous && !is_open_loop(item.plan))
            .then(|| Caveat::ClosedLoop { item: item.name.to_owned() })
    })
}

/// Probes that some brokers lead nothing for.
pub(super) fn probe_misses_leaders(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    of_items(trial, |item| {
        let (partitions, brokers) = trial.evidence.start.trial.effective.leaders_missed(item.plan)?;
        Some(Caveat::ProbeMissesLeaders { item: item.name.to_owned(), partitions, brokers })
    })
}
