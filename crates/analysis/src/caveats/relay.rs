//! Whether a relay between two zones was what its link is declared to be.

use super::found::FoundCaveat;
use crate::cpu;
use crate::relay;
use crate::rows::TrialRows;
use kdyno_model::caveat::Caveat;

/// Share of the declared delay by which a relay may be late at p99.
const LATE_SHARE_MAX: f64 = 0.1;
/// Nor is one doubted below this many times what a bare sleep showed on this host just before: less cannot be had.
const LATE_SLEEPS_MIN: f64 = 3.0;
/// What is taken for that where no sleep was tried, s.
const SLEEP_LATE_S: f64 = 100e-6;
/// Percent of a core above which its one thread may be what limits a link.
const BUSY_PERCENT: f64 = 75.0;

/// It was late by more than matters.
pub(super) fn late(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(zones) = trial.evidence.start.trial.effective.system.zones() else { return Vec::new() };
    let delay_s = zones.link.delay_ns as f64 / 1e9;
    let sleep_s = trial.sleep_late_ns(0.99).map_or(SLEEP_LATE_S, |late_ns| late_ns / 1e9);
    let limit_s = (LATE_SHARE_MAX * delay_s).max(LATE_SLEEPS_MIN * sleep_s);
    let caveat = |subject| {
        let late_s = relay::late_s(trial.probes(), &subject, "p99").filter(|late_s| *late_s > limit_s)?;
        Some(Caveat::RelayLate { subject, late_s, delay_s }.into())
    };
    cpu::subjects(trial.probes(), relay::is_relay).into_iter().filter_map(caveat).collect()
}

/// Its thread was busy.
pub(super) fn busy(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let caveat = |subject| {
        let percent = relay::value(trial.probes(), &subject, trial.window, "cpu_percent");
        let cpu_percent = percent.filter(|percent| *percent > BUSY_PERCENT)?;
        Some(Caveat::RelayBusy { subject, cpu_percent }.into())
    };
    cpu::subjects(trial.probes(), relay::is_relay).into_iter().filter_map(caveat).collect()
}
