//! How garbage collection and safepoints held up brokers in a trial's window, as their JVMs logged it.

use crate::cpu;
use crate::evidence::{NS_PER_S, Window};
use crate::rows::TrialRows;
use kdyno_model::event::Subject;
use kdyno_model::inside::{GC_PAUSE_MAX, STOPPED_SHARE};
use kdyno_model::sample::series;

/// The longest pause of a collection, ns.
pub(crate) fn longest_pause_ns(trial: &TrialRows<'_>, broker: &Subject, window: Window) -> Option<f64> {
    let longest_s = cpu::largest_span(trial.probes(), broker, series::GC_PAUSE_S_LONGEST, window)?;
    Some(longest_s * NS_PER_S as f64)
}

/// Share of the window in which a JVM was stopped; where it reports no safepoints, for collections.
pub(crate) fn stopped_share(trial: &TrialRows<'_>, broker: &Subject, window: Window) -> Option<f64> {
    let grown = |counter: &str| cpu::counter_s(trial.probes(), broker, counter, window);
    let stopped_s = grown(series::SAFEPOINT_S_TOTAL).or_else(|| grown(series::GC_PAUSE_S_TOTAL))?;
    Some(stopped_s / window.seconds())
}

/// A metric of these brokers: that of the one that was held up most.
pub(crate) fn value(trial: &TrialRows<'_>, brokers: &[Subject], name: &str) -> Option<f64> {
    let window = trial.window?;
    let most = |of: &dyn Fn(&Subject) -> Option<f64>| brokers.iter().filter_map(of).reduce(f64::max);
    match name {
        GC_PAUSE_MAX => most(&|broker| longest_pause_ns(trial, broker, window)),
        STOPPED_SHARE => most(&|broker| stopped_share(trial, broker, window)),
        _ => None,
    }
}
