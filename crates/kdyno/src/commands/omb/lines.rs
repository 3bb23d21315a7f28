//! Lines every 10 s of the measured window, in OMB's form, and one of the seconds that are left: each is an entry of OMB's
//! result. Its publish latency is the service time here; in the place of its delay until the send, whose rows are not there yet
//! while the load goes on, they have the response.

use crate::failure::Failure;
use crate::out;
use kdyno_analysis::LatencyDistribution;
use kdyno_analysis::live::RECENT_S;
use kdyno_analysis::periods::{Period, periods};
use kdyno_lab::{LiveTrial, RunProgress};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::{Plan, Role, ToolLines};
use kdyno_model::sample::Phase;
use kdyno_scenario::omb::OmbWorkload;

/// Seconds of a line, and of an entry of OMB's result.
pub(super) const PERIOD_S: u32 = 10;
const MIB: f64 = 1_048_576.0;
const NS_PER_S: u64 = 1_000_000_000;

/// Has rows of seconds hold the service time too.
pub(super) fn keep_service(plan: &mut Plan) {
    for item in plan.every_case_mut().flat_map(|case| case.load.values_mut()) {
        if let Role::Produce(produce) = &mut item.role {
            produce.tool_lines = Some(ToolLines { warmup_records: 0 });
        }
    }
}

/// The lines of a run.
pub(super) struct OmbLines {
    groups: u32,
    /// Bytes of a record's key, which OMB does not count.
    key_bytes: u32,
    quiet: bool,
    /// Whether the trial that runs is one that OMB would print.
    is_measured: bool,
    /// How many lines the trial has so far.
    printed: u32,
    /// The seconds after those of its last line.
    period: Period,
    /// What went wrong, reported when the run is over.
    failure: Option<Failure>,
}

impl OmbLines {
    /// None yet, of this workload.
    pub(super) fn new(workload: &OmbWorkload, quiet: bool) -> Self {
        let (groups, key_bytes) = (workload.subscriptions, workload.key_bytes());
        Self {
            groups,
            key_bytes,
            quiet,
            is_measured: false,
            printed: 0,
            period: Period::default(),
            failure: None,
        }
    }

    /// Takes one piece of news.
    pub(super) fn hear(&mut self, progress: &RunProgress) {
        if self.quiet {
            return;
        }
        match progress {
            RunProgress::Step(step) => out::note(step),
            RunProgress::TrialStarted { trial, .. } => {
                (self.printed, self.period) = (0, Period::default());
                self.is_measured = !trial.is_conditioning();
                let label = if trial.label.is_empty() { String::new() } else { format!(": {}", trial.label) };
                out::note(&format!("trial {}{label}", trial.id));
            }
            RunProgress::Live(live) if self.is_measured => {
                let printed = self.live(live);
                self.keep(printed);
            }
            RunProgress::TrialEnded(_, evidence) if self.is_measured => {
                let printed = self.rest(evidence);
                self.keep(printed);
            }
            _ => {}
        }
    }

    fn keep(&mut self, printed: Result<(), Failure>) {
        if let Err(failure) = printed {
            self.failure.get_or_insert(failure);
        }
    }

    /// What went wrong with standard output or a row.
    pub(super) fn failure(&mut self) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn live(&mut self, live: &LiveTrial) -> Result<(), Failure> {
        let Some(window) = live.recent.span(Phase::Measure) else { return Ok(()) };
        let second = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
        let first = second(window.start_ns.div_ceil(NS_PER_S));
        let next = first.saturating_add(self.printed * PERIOD_S + self.period.seconds);
        if live.complete_until > next.saturating_add(RECENT_S) {
            // Rows between are not among the newest any more; the trial's end has them.
            return Ok(());
        }
        for next in next..live.complete_until.min(second(window.end_ns / NS_PER_S)) {
            self.period.add(&live.recent, next..next + 1).map_err(Failure::tool)?;
            if self.period.seconds == PERIOD_S {
                let sent = live.counted.acknowledged.saturating_mul(self.groups.into());
                self.period.backlog = sent.saturating_sub(live.counted.fetched);
                self.printed += 1;
                out::line(&line(&std::mem::take(&mut self.period), self.key_bytes))?;
            }
        }
        Ok(())
    }

    /// Lines of what is left: rows of the last seconds are there only when the trial is over.
    fn rest(&self, evidence: &TrialEvidence) -> Result<(), Failure> {
        let periods = periods(evidence, PERIOD_S, self.groups).map_err(Failure::tool)?;
        let mut left = periods.iter().skip(self.printed as usize);
        left.try_for_each(|period| out::line(&line(period, self.key_bytes)))
    }
}

/// A line of OMB, whose bytes are those of values.
pub(super) fn line(period: &Period, key_bytes: u32) -> String {
    let seconds = f64::from(period.seconds.max(1));
    let per_s = |count: u64| count as f64 / seconds;
    let counts = &period.counts;
    let keys = counts.fetched.saturating_mul(key_bytes.into());
    format!(
        "Pub rate {:>7.1} msg/s / {:>4.1} MB/s | Pub err {:>7.1} err/s | Cons rate {:>7.1} msg/s / {:>4.1} MB/s | Backlog: {:>4.1} K \
         | Pub Latency (ms) {} | Response (ms) {}",
        per_s(counts.acknowledged),
        per_s(counts.acknowledged_bytes) / MIB,
        per_s(failed(period)),
        per_s(counts.fetched),
        per_s(counts.handed_over_bytes.saturating_sub(keys)) / MIB,
        period.backlog as f64 / 1_000.0,
        latencies(&period.service),
        latencies(&period.response)
    )
}

/// Records that failed, or were written off.
pub(super) fn failed(period: &Period) -> u64 {
    period.counts.failed.values().sum::<u64>().saturating_add(period.counts.unresolved)
}

fn latencies(of: &LatencyDistribution) -> String {
    let ms = |ns: f64| format!("{:>4.1}", ns / 1e6);
    let at = |quantile: f64| ms(at_ns(of, quantile));
    format!(
        "avg: {} - 50%: {} - 99%: {} - 99.9%: {} - Max: {}",
        ms(of.mean_of_finished().unwrap_or(0.0)),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    )
}

/// A latency, ns; 0 without any, as OMB's histograms have it.
pub(super) fn at_ns(of: &LatencyDistribution, quantile: f64) -> f64 {
    of.quantile(quantile).least().unwrap_or(0.0)
}
