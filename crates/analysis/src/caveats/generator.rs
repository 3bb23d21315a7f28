//! Whether the load generator is what was measured.

use super::found::FoundCaveat;
use crate::commands;
use crate::cpu;
use crate::end_to_end::clock_error_ns;
use crate::evidence::{Window, is_open_loop};
use crate::histogram::LatencyDistribution;
use crate::rows::{ItemRows, TrialRows};
use crate::tally::acknowledged_by;
use kdyno_model::caveat::{Caveat, ClocksDiffer, Concern};
use kdyno_model::event::Subject;
use kdyno_model::finding::Value;
use kdyno_model::metric;
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::{Timing, series};

/// Share of a core from which a thread of a worker may itself be the limit, and of the cores that all of its
/// event loop threads can use.
const WORKER_BUSY_SHARE_MAX: f64 = 0.75;

/// Share of the response at a quantile that the generator's own lateness may make up.
const LATE_SHARE_MAX: f64 = 0.1;

/// From this share on, more of the figure is the generator's than the system's: that is always printed.
const LATE_SHARE_INVALID: f64 = 0.5;

/// A smaller share is not printed below this many times what a bare sleep shows at the same quantile, in its quiet rounds on the same
/// host: less cannot be had there.
const LATE_SLEEPS_MIN: f64 = 3.0;

/// What the generator can do at all ÷ what it did, below which a maximum may be its own.
const CALIBRATION_MIN: f64 = 2.0;

/// Share of the window that a load item's thread may be ready without a processor.
const THREAD_WAITED_SHARE_MAX: f64 = 0.05;

/// Quantiles, and the mean, that are the generator's in part, or mostly where less cannot be had on this host.
pub(super) fn late(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    late_by(trial, GeneratorShare::is_some)
}

/// Figures that are mostly the generator's, and need not be.
pub(super) fn mostly_late(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    late_by(trial, GeneratorShare::is_most)
}

/// The part of a latency that is the load generator's.
#[derive(Debug, Clone, Copy)]
struct GeneratorShare {
    /// Share of the latency, 0 to 1.
    share: f64,
    /// Whether a sleep on this host is late by less.
    is_above_floor: bool,
}

impl GeneratorShare {
    /// Share at a quantile; `rank`: which, 0 to 1.
    fn new(trial: &TrialRows<'_>, rank: f64, late_ns: f64, latency_ns: f64) -> Self {
        // Without a sleep that was tried every lateness counts.
        let floor_ns = LATE_SLEEPS_MIN * trial.sleep_late_ns(rank).unwrap_or(0.0);
        Self { share: late_ns / latency_ns, is_above_floor: late_ns > floor_ns }
    }

    fn is_most(self) -> bool {
        self.share >= LATE_SHARE_INVALID && self.is_above_floor
    }

    fn is_some(self) -> bool {
        let is_printed =
            self.share > LATE_SHARE_MAX && self.is_above_floor || self.share >= LATE_SHARE_INVALID;
        is_printed && !self.is_most()
    }
}

/// The name of the mean among the statistics of a timing.
const MEAN: &str = "mean";

/// The quantile that is compared with the mean: that of waits that end by chance.
const MEAN_RANK: f64 = 0.632;

/// The lowest quantile of each item at which the generator's share is of the wanted size, and its mean if that share is.
fn late_by(trial: &TrialRows<'_>, is_wanted: fn(GeneratorShare) -> bool) -> Vec<FoundCaveat> {
    // A Java client's own delays, a collection or a `send()` that blocks, cannot be separated from the load
    // generator's.
    let judged =
        trial.items.iter().filter(|item| is_open_loop(item.plan) && item.plan.driver.shows_requests());
    let found = judged.flat_map(|item| {
        let of = |name: &'static str, rank: f64, statistic: &dyn Fn(&LatencyDistribution) -> Value| {
            let (late_ns, response_ns) = late_ns(item, statistic)?;
            let part = GeneratorShare::new(trial, rank, late_ns, response_ns);
            is_wanted(part).then(|| late_found(item, name, late_ns, response_ns))
        };
        let mut quantiles = metric::QUANTILES.iter();
        let lowest = quantiles.find_map(|(name, rank)| of(name, *rank, &|times| times.quantile(*rank)));
        lowest.into_iter().chain(of(MEAN, MEAN_RANK, &LatencyDistribution::mean))
    });
    found.collect()
}

/// Items whose end-to-end latencies hold that records were sent late, but not mostly. A probe's are judged with its response.
pub(super) fn late_end_to_end(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    end_to_end_by(trial, GeneratorShare::is_some)
}

/// The quantiles that are mostly that.
pub(super) fn mostly_late_end_to_end(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    end_to_end_by(trial, GeneratorShare::is_most)
}

/// For each item that is handed what others send the lowest quantile at which the share is of the wanted size. No
/// record is in its hands sooner after its scheduled send time than it was sent late: the quantiles of the one are never
/// below those of the other, and what they have in common is the load generator's.
fn end_to_end_by(trial: &TrialRows<'_>, is_wanted: fn(GeneratorShare) -> bool) -> Vec<FoundCaveat> {
    let readers = trial.items.iter().filter(|item| item.plan.role.as_produce().is_none());
    let found = readers.filter_map(|item| {
        let sends_to_it =
            |one: &&ItemRows<'_>| one.plan.topic == item.plan.topic && one.plan.role.as_produce().is_some();
        let senders: Vec<&ItemRows<'_>> = trial.items.iter().filter(sends_to_it).collect();
        // How late they were must be known for all of them, and for the same records.
        let lasts = |one: &ItemRows<'_>| !one.plan.span.is_late() && one.plan.span.until_ns.is_none();
        let is_known =
            |one: &&ItemRows<'_>| is_open_loop(one.plan) && one.plan.driver.shows_requests() && lasts(one);
        if !senders.iter().all(is_known) || !lasts(item) {
            return None;
        }
        let at = |item: &ItemRows<'_>, timing, quantile| match item.latencies.get(&timing)?.quantile(quantile)
        {
            Value::Is(ns) if ns > 0.0 => Some(ns),
            _ => None,
        };
        metric::QUANTILES.iter().find_map(|(name, quantile)| {
            let end_to_end_ns = at(item, Timing::EndToEnd, *quantile)?;
            // With several that send to it the least late one: that much is true of the records of all.
            let late_ns = senders.iter().map(|one| at(one, Timing::ScheduleDelay, *quantile));
            let late_ns = late_ns.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)))??;
            let part = GeneratorShare::new(trial, *quantile, late_ns, end_to_end_ns);
            // What is asked is asked of the rate at which the records are sent.
            let sender = senders.first().filter(|_| is_wanted(part))?;
            Some(late_end_to_end_found(sender, item, name, late_ns, end_to_end_ns))
        })
    });
    found.collect()
}

fn late_end_to_end_found(
    sender: &ItemRows<'_>,
    item: &ItemRows<'_>,
    quantile: &str,
    late_ns: f64,
    end_to_end_ns: f64,
) -> FoundCaveat {
    let (name, quantile) = (item.name.to_owned(), quantile.to_owned());
    let concerns = Concern::LatenciesFrom { item: name.clone(), quantile: quantile.clone() };
    // Both are far below 2⁵³ ns.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let (late_ns, end_to_end_ns) = (late_ns as u64, end_to_end_ns as u64);
    let caveat = Caveat::LateEndToEnd { item: name, quantile, late_ns, end_to_end_ns };
    FoundCaveat::of(sender, caveat).concerning(concerns)
}

fn late_found(item: &ItemRows<'_>, statistic: &str, late_ns: f64, response_ns: f64) -> FoundCaveat {
    let (item_name, quantile) = (item.name.to_owned(), statistic.to_owned());
    let concerns = match statistic {
        MEAN => Concern::Mean { item: item_name.clone() },
        _ => Concern::LatenciesFrom { item: item_name.clone(), quantile: quantile.clone() },
    };
    // Both are far below 2⁵³ ns.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let (late_ns, response_ns) = (late_ns as u64, response_ns as u64);
    let caveat = Caveat::GeneratorLate { item: item_name, quantile, late_ns, response_ns };
    FoundCaveat::of(item, caveat).concerning(concerns)
}

/// How much of a statistic of the response is the generator's, and the response, ns: what the same statistic is lower by
/// without schedule delay and callback. Means come from exact sums, so theirs is the mean of both.
fn late_ns(item: &ItemRows<'_>, statistic: impl Fn(&LatencyDistribution) -> Value) -> Option<(f64, f64)> {
    let of = |timing| item.latencies.get(&timing);
    // For a stream that was cut off they are not of the same records.
    if of(Timing::Response)?.finished() != of(Timing::WithoutGenerator)?.finished() {
        return None;
    }
    // Among records that were never acknowledged the generator's share is not known.
    let at = |timing| statistic(of(timing)?).exact();
    let response_ns = at(Timing::Response).filter(|ns| *ns > 0.0)?;
    Some(((response_ns - at(Timing::WithoutGenerator)?).max(0.0), response_ns))
}

/// Threads of workers that may themselves be the limit.
pub(super) fn thread_busy(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(window) = trial.window else { return Vec::new() };
    let workers = trial.workers();
    let threads = workers.iter().flat_map(|worker| cpu::threads_s(trial.probes(), worker, window));
    threads
        .map(|(thread, used_s)| (thread, 100.0 * used_s / window.seconds()))
        .filter(|(_, percent)| *percent > 100.0 * WORKER_BUSY_SHARE_MAX)
        .map(|(thread, cpu_percent)| Caveat::ThreadBusy { thread: thread.to_owned(), cpu_percent }.into())
        .collect()
}

/// Users of an item are all sent by one thread, in a process of its own.
pub(super) fn users_busy(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let items = trial.evidence.start.trial.effective.commands.keys();
    let found = items.filter_map(|item| {
        let cpu_percent = commands::users_cpu_percent(trial.evidence, item)?;
        let caveat = Caveat::ThreadBusy { thread: item.clone(), cpu_percent };
        (cpu_percent > 100.0 * WORKER_BUSY_SHARE_MAX)
            .then(|| FoundCaveat::of_command(trial.evidence, item, caveat))
    });
    found.collect()
}

/// All workers of this host together, or the one of another host that is nearest to its limit; not said again where a single thread
/// is busy.
pub(super) fn worker_busy(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(window) = trial.window.filter(|_| thread_busy(trial).is_empty()) else { return Vec::new() };
    let start = &trial.evidence.start;
    let elsewhere = trial.workers().into_iter().filter(|worker| !trial.is_here(worker)).map(|one| vec![one]);
    let hosts = elsewhere.chain([trial.workers_here()]).filter(|workers| !workers.is_empty());
    let of_host = |workers: Vec<Subject>| {
        let cpu_percent = 100.0 * cpu::used_by_all_s(trial.probes(), &workers, window)? / window.seconds();
        // Each stream of a worker has an event loop thread of its own.
        let has = |worker: u16| workers.contains(&Subject::Worker(worker));
        let streams = start.streams.iter().filter(|stream| has(stream.id.worker)).count();
        let processors = match workers[0] {
            Subject::Worker(worker) => {
                start.processors_elsewhere(worker).filter(|_| start.is_elsewhere(worker))
            }
            _ => None,
        };
        let processors = processors.unwrap_or(trial.evidence.session.processors);
        Some((cpu_percent, u32::try_from(streams).unwrap_or(u32::MAX).min(processors)))
    };
    let busy =
        hosts.filter_map(of_host).max_by(|a, b| (a.0 / f64::from(a.1)).total_cmp(&(b.0 / f64::from(b.1))));
    let is_busy =
        |(cpu_percent, cores): &(f64, u32)| *cpu_percent > 100.0 * WORKER_BUSY_SHARE_MAX * f64::from(*cores);
    let caveat = |(cpu_percent, cores)| Caveat::WorkerBusy { cpu_percent, cores }.into();
    busy.filter(is_busy).map(caveat).into_iter().collect()
}

/// Threads of load items that were ready and had no processor: what is due then is late.
pub(super) fn waited(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(window) = trial.window else { return Vec::new() };
    let workers = trial.workers();
    let threads = workers.iter().flat_map(|worker| cpu::threads_waited_s(trial.probes(), worker, window));
    threads
        .map(|(thread, waited_s)| (thread, waited_s / window.seconds()))
        .filter(|(_, share)| *share > THREAD_WAITED_SHARE_MAX)
        .map(|(thread, share)| {
            Caveat::WaitedForProcessor { who: thread.to_owned(), share, share_of_ready: None }.into()
        })
        .collect()
}

/// Items whose records are sent and read by clocks that are not one: from one to the other no time is known.
pub(super) fn clocks_differ(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let start = &trial.evidence.start;
    let of = |name: &'static str| trial.probes().iter().filter(move |reading| reading.series == name);
    let before = of(series::CLOCK_BOUND_S).filter(|reading| reading.at_ns == 0);
    let bound_ns = (1e9 * before.map(|reading| reading.value).fold(0.0, f64::max)) as u64;
    let workers = &start.trial.effective.workers;
    let (others, own): (Vec<_>, Vec<_>) =
        workers.iter().partition(|planned| start.has_own_clock(planned.worker));
    let drifts: Vec<f64> = of(series::CLOCK_DRIFT_PPM).map(|reading| reading.value).collect();
    // An unknown clock may drift by any amount. The lab's own has no drift.
    let is_known = drifts.len() == others.len();
    let all = || drifts.iter().copied().chain((!own.is_empty()).then_some(0.0));
    let apart = all().fold(f64::NEG_INFINITY, f64::max) - all().fold(f64::INFINITY, f64::min);
    let drift_ns_per_s = is_known.then_some((apart * 1e3).round() as u64);
    let is_meant = |item: &&ItemRows<'_>| {
        start.trial.effective.has_end_to_end(item.plan) && start.is_between_clocks(item.name)
    };
    let found = trial.items.iter().filter(is_meant).map(|item| {
        let error_ns = clock_error_ns(trial.evidence, item.name);
        let differ = ClocksDiffer { item: item.name.to_owned(), bound_ns, drift_ns_per_s, error_ns };
        FoundCaveat::of(item, Caveat::ClocksDiffer(differ))
    });
    found.collect()
}

/// How near an item came to what the load generator can do at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headroom<'a> {
    /// The host on which it came nearest, where others than the lab's carry load.
    pub(crate) generator: Option<&'a str>,
    /// Records/s that were acknowledged there.
    pub(crate) per_s: f64,
    /// Records/s that it reaches against a broker that does nothing.
    pub(crate) max_per_s: f64,
}

impl Headroom<'_> {
    /// Share of what it can do.
    pub(crate) fn used(&self) -> f64 {
        self.per_s / self.max_per_s
    }
}

/// The headroom of an item that produces; of several hosts that of the worst, for the others cannot do its part. `None`: what it
/// can do was not measured.
pub(crate) fn headroom<'a>(
    trial: &TrialRows<'a>,
    item: &ItemRows<'_>,
    window: Window,
) -> Option<Headroom<'a>> {
    let acked_per_s = acked_per_s(item, window)?;
    let evidence = trial.evidence;
    let max_per_s = |fact: String| {
        let per_s: f64 = evidence.start.cluster.get(&fact)?.parse().ok()?;
        (per_s.is_finite() && per_s > 0.0).then_some(per_s)
    };
    let hosts = &evidence.start.trial.effective.generators.hosts;
    if hosts.is_empty() {
        let max_per_s = max_per_s(cluster_fact::generator_max_per_s(item.name))?;
        return Some(Headroom { generator: None, per_s: acked_per_s, max_per_s });
    }
    let of_host = |(worker, host): (u16, &'a String)| {
        let max_per_s = max_per_s(cluster_fact::generator(host, &cluster_fact::max_per_s(item.name)))?;
        let acknowledged = acknowledged_by(evidence, item.name, worker, window);
        let per_s = acknowledged as f64 / window.seconds();
        Some(Headroom { generator: Some(host), per_s, max_per_s })
    };
    let all = (0..).zip(hosts).filter_map(of_host);
    all.max_by(|a, b| a.used().total_cmp(&b.used()))
}

/// Whether the rate lies so near to what the generator can do that it may be its own.
pub(super) fn calibration_short(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let found = trial.items.iter().filter_map(|item| {
        let headroom = headroom(trial, item, item.window?).filter(|headroom| headroom.per_s > 0.0)?;
        let ratio = headroom.max_per_s / headroom.per_s;
        let name = || item.name.to_owned();
        let generator = headroom.generator.map(str::to_owned);
        let caveat = Caveat::CalibrationShort { item: name(), ratio, generator };
        let found = || FoundCaveat::of(item, caveat).concerning(Concern::Rates { item: name() });
        (ratio < CALIBRATION_MIN).then(found)
    });
    found.collect()
}

/// Acknowledged records per second of an item that produces.
fn acked_per_s(item: &ItemRows<'_>, window: Window) -> Option<f64> {
    item.plan.role.as_produce()?;
    Some(item.tally.windowed.acknowledged as f64 / window.seconds())
}

/// What the name of a load item's thread is: the kernel keeps fifteen bytes of it, and a second thread of that name has
/// a number.
pub(crate) fn is_thread_of(thread: &str, item: &str) -> bool {
    const KEPT: usize = 15;
    let kept = item.char_indices().map(|(at, one)| at + one.len_utf8()).take_while(|end| *end <= KEPT).last();
    let base = thread.rsplit_once('#').map_or(thread, |(base, _)| base);
    kept.is_some_and(|end| base == &item[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_items_name_as_the_kernel_keeps_it() {
        assert!(is_thread_of("writers", "writers") && is_thread_of("writers#2", "writers"));
        assert!(is_thread_of("a-rather-long-n", "a-rather-long-name"));
        assert!(!is_thread_of("write", "writers") && !is_thread_of("writers", "write"));
    }
}
