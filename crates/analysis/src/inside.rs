//! What brokers report of themselves in a trial's window.
//!
//! Their metrics are read every 10 s, just before the window and at the ends of phases; in between counters are taken to grow
//! evenly. Where readings cover less than the window, as those of a Prometheus server do that scrapes seldom, what was seen
//! represents all of it.

use crate::cpu;
use crate::evidence::{NS_PER_S, ReadingsByTime, Window};
use crate::rows::TrialRows;
use kdyno_model::event::Subject;
use kdyno_model::inside::{
    self, NETWORK_PROCESSOR_IDLE, REQUEST_HANDLER_IDLE, RequestKind, RequestStage, stage_of,
};
use kdyno_model::sample::{BEFORE_WINDOW_NS, series};
use std::collections::BTreeMap;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Least share of the window that readings of a counter must cover.
const COVERED_SHARE_MIN: f64 = 0.5;

/// A reading that was requested at the window's end comes a little later.
const LATE_NS_MAX: i64 = NS_PER_S.cast_signed();

/// Idle share of request handlers above which it is that of two pools: those of a broker and of the controller in its process,
/// which releases before 4.2 add up. Two pools with a busy one of the broker lie below it too, so any two readings of
/// the trial that lie above it say that there are two.
const ONE_POOL_MAX: f64 = 1.2;

/// A share of one pool may lie a little above 1, since idle time is counted when it ends; above this it may be that of two.
const ONE_POOL_LIKELY_MAX: f64 = 1.02;

/// Least distance of two readings whose growth is a share of time, ns: over less, what was counted late weighs too much.
const SHARE_NS_MIN: i64 = 5 * NS_PER_S.cast_signed();

/// Brokers are asked at T0 for the first time; what is reported later than this holds too much of the trial's own load.
const FIRST_NS_MAX: i64 = 5 * NS_PER_S.cast_signed();

/// Series of brokers' own metrics, whole names and beginnings.
const SERIES: [&str; 13] = [
    series::BYTES_IN_TOTAL,
    series::BYTES_OUT_TOTAL,
    series::MESSAGES_IN_TOTAL,
    series::UNDER_REPLICATED_PARTITIONS,
    series::OFFLINE_PARTITIONS,
    series::ISR_SHRINKS_TOTAL,
    series::ISR_EXPANDS_TOTAL,
    series::PRODUCE_PURGATORY,
    series::FETCH_PURGATORY,
    series::LOG_FLUSHES_TOTAL,
    series::LOG_FLUSH_S_TOTAL,
    series::PROCESS_CPU_S_TOTAL,
    series::HEAP_USED_BYTES,
];
const SERIES_OF: [&str; 4] = [
    series::REQUESTS_TOTAL_OF,
    series::REQUEST_S_TOTAL_OF,
    series::NETWORK_PROCESSOR_IDLE_S_TOTAL_OF,
    // One of two whole names, and the other one.
    series::REQUEST_HANDLER_IDLE_S_TOTAL,
];

/// The readings of a trial, by whose they are and what of.
pub(crate) struct Inside<'a> {
    readings: BTreeMap<&'a Subject, BTreeMap<&'a str, ReadingsByTime>>,
    window: Option<Window>,
}

impl<'a> Inside<'a> {
    pub(crate) fn of(trial: &TrialRows<'a>) -> Self {
        let mut readings: BTreeMap<&Subject, BTreeMap<&str, ReadingsByTime>> = BTreeMap::new();
        let is_one = |name: &str| {
            SERIES.contains(&name)
                || [series::NETWORK_PROCESSOR_IDLE_SHARE, series::AGENT_ANSWERED_S_TOTAL].contains(&name)
                || SERIES_OF.iter().any(|begin| name.starts_with(begin))
        };
        for reading in trial.probes() {
            if reading.subject.is_broker() && reading.value.is_finite() && is_one(&reading.series) {
                let of_subject = readings.entry(&reading.subject).or_default();
                of_subject.entry(&reading.series).or_default().insert(reading.at_ns, reading.value);
            }
        }
        Self { readings, window: trial.window }
    }

    /// The brokers that reported anything.
    pub(crate) fn brokers(&self) -> impl Iterator<Item = &'a Subject> {
        self.readings.keys().copied()
    }

    /// A metric of several brokers together: no value unless each of them reported it.
    pub(crate) fn value(&self, brokers: &[Subject], name: &str) -> Option<f64> {
        let window = self.window.filter(|_| !brokers.is_empty())?;
        let sum = |of: &dyn Fn(&Subject) -> Option<f64>| brokers.iter().map(of).sum::<Option<f64>>();
        let grown = |series: &str| sum(&|broker| self.grown(broker, series));
        let most = |series: &str| sum(&|broker| self.seen(broker, series)?.reduce(f64::max));
        let mib_per_s = |series: &str| Some(grown(series)? / BYTES_PER_MIB / window.seconds());
        let requests = |kind: RequestKind| grown(&format!("{}{kind}", series::REQUESTS_TOTAL_OF));
        if let Some((kind, stage)) = stage_of(name) {
            return self.stage_ns(brokers, kind, stage);
        }
        match name {
            inside::BYTES_IN => mib_per_s(series::BYTES_IN_TOTAL),
            "bytes_out_mib_per_s" => mib_per_s(series::BYTES_OUT_TOTAL),
            "messages_in_per_s" => Some(grown(series::MESSAGES_IN_TOTAL)? / window.seconds()),
            "produce_requests" => requests(RequestKind::Produce),
            "fetch_requests" => requests(RequestKind::Fetch),
            "follower_fetch_requests" => requests(RequestKind::FollowerFetch),
            REQUEST_HANDLER_IDLE => least(brokers, |broker| self.handlers_idle(broker)),
            NETWORK_PROCESSOR_IDLE => least(brokers, |broker| self.network_idle(broker)),
            "under_replicated_partitions" => most(series::UNDER_REPLICATED_PARTITIONS),
            // The active controller alone reports them.
            "offline_partitions" => {
                let reported =
                    brokers.iter().filter_map(|broker| self.seen(broker, series::OFFLINE_PARTITIONS));
                reported.flatten().reduce(f64::max)
            }
            "isr_shrinks" => grown(series::ISR_SHRINKS_TOTAL),
            "isr_expands" => grown(series::ISR_EXPANDS_TOTAL),
            "produce_purgatory_max" => most(series::PRODUCE_PURGATORY),
            "fetch_purgatory_max" => most(series::FETCH_PURGATORY),
            "log_flushes" => grown(series::LOG_FLUSHES_TOTAL),
            "log_flush_mean" => self.mean_ns(brokers, series::LOG_FLUSHES_TOTAL, series::LOG_FLUSH_S_TOTAL),
            "heap_used_bytes_max" => most(series::HEAP_USED_BYTES),
            _ => None,
        }
    }

    /// Records that all brokers together report to have taken, since they started, when the load of the trial began,
    /// and how many of them they took in a second of the window; `None` where one of them does not report it, or
    /// nothing was taken.
    pub(crate) fn taken_before(&self) -> Option<(f64, f64)> {
        let brokers: Vec<Subject> = self.brokers().cloned().collect();
        let first = |broker: &Subject| {
            let (at_ns, count) =
                self.readings.get(broker)?.get(series::MESSAGES_IN_TOTAL)?.first_key_value()?;
            (*at_ns <= FIRST_NS_MAX).then_some(*count)
        };
        let records = brokers.iter().map(first).sum::<Option<f64>>()?;
        let per_s = self.value(&brokers, "messages_in_per_s").filter(|per_s| *per_s > 0.0)?;
        Some((records, per_s))
    }

    /// CPU time that a broker says that it used in the window, seconds.
    pub(crate) fn cpu_s(&self, broker: &Subject) -> Option<f64> {
        self.grown(broker, series::PROCESS_CPU_S_TOTAL)
    }

    /// Share of the window for which its request handlers were idle, 0 to 1.
    fn handlers_idle(&self, broker: &Subject) -> Option<f64> {
        let share = |series: &str| Some(self.grown(broker, series)? / self.window?.seconds());
        let idle = match share(series::REQUEST_HANDLER_IDLE_S_TOTAL) {
            Some(share) if self.has_two_pools(broker) => share - 1.0,
            Some(share) if share > ONE_POOL_LIKELY_MAX => return None,
            Some(share) => share,
            // The handlers of the controller work for changes of metadata alone: they were idle.
            None => share(series::REQUEST_HANDLER_IDLE_S_TOTAL_OF_BOTH)? - 1.0,
        };
        Some(idle.clamp(0.0, 1.0))
    }

    /// Whether its handlers' idle time grew faster at some time in the trial than that of one pool can. A broker that took long
    /// to answer, since it was stopped for instance, reported its values at some instant of that time.
    fn has_two_pools(&self, broker: &Subject) -> bool {
        let of = |name: &str| self.readings.get(broker).and_then(|of| of.get(name));
        let readings: Vec<(&i64, &f64)> =
            of(series::REQUEST_HANDLER_IDLE_S_TOTAL).into_iter().flatten().collect();
        let answered_s = of(series::AGENT_ANSWERED_S_TOTAL);
        let answered_until = |at_ns: i64| -> f64 {
            let before = answered_s.and_then(|course| course.range(..=at_ns).next_back());
            before.map_or(0.0, |(_, seconds)| *seconds)
        };
        readings.windows(2).any(|two| {
            let [(from_ns, before), (to_ns, now)] = two else { return false };
            let span_ns = **to_ns - **from_ns;
            let unsure_s = answered_until(**to_ns) - answered_until(**from_ns - 1);
            let span_s = span_ns as f64 / NS_PER_S as f64 + unsure_s;
            span_ns >= SHARE_NS_MIN && **now - **before > ONE_POOL_MAX * span_s
        })
    }

    /// The idle time of the network processors of its busiest listener; where totals are not reported, of all of them.
    fn network_idle(&self, broker: &Subject) -> Option<f64> {
        let seconds = self.window?.seconds();
        let names = self.readings.get(broker)?.keys();
        let mut listeners =
            names.filter(|name| name.starts_with(series::NETWORK_PROCESSOR_IDLE_S_TOTAL_OF)).peekable();
        let idle = if listeners.peek().is_some() {
            listeners.filter_map(|name| Some(self.grown(broker, name)? / seconds)).reduce(f64::min)?
        } else {
            let (sum, count) = self
                .seen(broker, series::NETWORK_PROCESSOR_IDLE_SHARE)?
                .fold((0.0, 0.0), |(sum, count), share| (sum + share, count + 1.0));
            (count > 0.0).then(|| sum / count)?
        };
        Some(idle.clamp(0.0, 1.0))
    }

    fn stage_ns(&self, brokers: &[Subject], kind: RequestKind, stage: RequestStage) -> Option<f64> {
        let count = format!("{}{kind}", series::REQUESTS_TOTAL_OF);
        self.mean_ns(brokers, &count, &format!("{}{kind}.{stage}", series::REQUEST_S_TOTAL_OF))
    }

    /// Mean time of what was counted in the window, ns; `None` where nothing was.
    fn mean_ns(&self, brokers: &[Subject], count: &str, time: &str) -> Option<f64> {
        let mut sums = [0.0, 0.0];
        for broker in brokers {
            let of_broker = self.readings.get(broker)?;
            let grown = grown_together([of_broker.get(count)?, of_broker.get(time)?], self.window?)?;
            sums = [sums[0] + grown[0], sums[1] + grown[1]];
        }
        let [count, seconds] = sums;
        (count > 0.0).then(|| seconds / count * NS_PER_S as f64)
    }

    /// By how much a counter of a broker grew in the window.
    fn grown(&self, broker: &Subject, series: &str) -> Option<f64> {
        let course = self.readings.get(broker)?.get(series)?;
        grown_together([course], self.window?).map(|[grown]| grown)
    }

    /// The values of a series of a broker in the window; `None` where it has none at all.
    fn seen(&self, broker: &Subject, series: &str) -> Option<impl Iterator<Item = f64>> {
        let (start_ns, end_ns) = self.window?.ends_ns();
        let course = self.readings.get(broker)?.get(series)?;
        // The first reading of it is one just before it begins.
        let from_ns = start_ns - BEFORE_WINDOW_NS.cast_signed();
        Some(course.range(from_ns..=end_ns + LATE_NS_MAX).map(|(_, value)| *value))
    }
}

fn least(brokers: &[Subject], of: impl Fn(&Subject) -> Option<f64>) -> Option<f64> {
    let all = brokers.iter().map(of).collect::<Option<Vec<f64>>>()?;
    all.into_iter().reduce(f64::min)
}

/// Growth of counters in the window that were read together. When the first one falls the process is another one, and all of
/// them count from zero. None shrinks otherwise: a sum that is reported as mean and count may seem to, when these were
/// not reported at quite the same instant.
fn grown_together<const N: usize>(courses: [&ReadingsByTime; N], window: Window) -> Option<[f64; N]> {
    let mut grown: [Vec<(i64, f64)>; N] = std::array::from_fn(|_| Vec::new());
    let mut sums = [0.0; N];
    let mut before: Option<[f64; N]> = None;
    for at_ns in courses[0].keys() {
        let mut now = [0.0; N];
        let is_whole = courses.iter().zip(&mut now).all(|(course, now)| match course.get(at_ns) {
            Some(value) => {
                *now = *value;
                true
            }
            None => false,
        });
        if !is_whole {
            continue;
        }
        if let Some(before) = before {
            let is_new = now[0] < before[0];
            for (sum, (now, before)) in sums.iter_mut().zip(now.iter().zip(before)) {
                *sum += if is_new { now.max(0.0) } else { (now - before).max(0.0) };
            }
        }
        for (grown, sum) in grown.iter_mut().zip(sums) {
            grown.push((*at_ns, sum));
        }
        before = Some(now);
    }
    let (start_ns, end_ns) = window.ends_ns();
    let from_ns = start_ns.max(grown[0].first()?.0);
    let to_ns = end_ns.min(grown[0].last()?.0);
    let covered = (to_ns - from_ns) as f64 / (end_ns - start_ns) as f64;
    if covered < COVERED_SHARE_MIN {
        return None;
    }
    let mut found = [0.0; N];
    for (found, grown) in found.iter_mut().zip(&grown) {
        *found = (cpu::at(grown, to_ns)? - cpu::at(grown, from_ns)?) / covered;
    }
    Some(found)
}
