//! What components did in the window: every one that was started, and what databases report of themselves.

use crate::cpu;
use crate::evidence::{NS_PER_S, Window};
use crate::rows::TrialRows;
use kdyno_model::component_metrics::{CONNECTIONS_MAX, ROLLED_BACK_SHARE, TRANSACTIONS_PER_S};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::{Finding, Value};
use kdyno_model::metric::SubjectKind;
use kdyno_model::plan::ComponentKind;
use kdyno_model::plan::component::series;
use kdyno_model::sample::series as sample_series;

/// Adds the figures of each component of the trial's case.
pub(crate) fn state(trial: &TrialRows<'_>, found: &mut Vec<Finding>) {
    for component in &trial.evidence.start.trial.effective.components {
        let of = [Subject::Component(component.name.clone())];
        let kind = match &component.kind {
            ComponentKind::Command(_) => SubjectKind::Component,
            ComponentKind::Postgres(_) => SubjectKind::Database,
            ComponentKind::Proxy(_) => SubjectKind::Proxy,
        };
        let is_read = trial
            .window
            .is_some_and(|window| is_read_through(trial, &of[0], sample_series::CPU_USER_S_TOTAL, window));
        trial.state(&component.name, kind, found, |name| match database_value(trial, &of[0], name) {
            Value::None if !is_read && OF_PROCESSORS.contains(&name) => Value::None,
            Value::None => trial.process_value(&of, name),
            known => known,
        });
    }
}

/// What is made of the CPU time of the whole window: one that died in it has none.
const OF_PROCESSORS: [&str; 3] = ["cpu_percent", "cpu_us_per_record", "records_per_s_per_core"];

/// How far from the window's ends one may have been read first and last: it is read once per second.
const GAP_NS_MAX: i64 = 3 * NS_PER_S.cast_signed();

/// What a database reports of itself.
fn database_value(trial: &TrialRows<'_>, of: &Subject, name: &str) -> Value {
    let is_read = |window: &Window| is_read_through(trial, of, series::COMMITTED_TOTAL, *window);
    let Some(window) = trial.window.filter(is_read) else { return Value::None };
    let grown = |series: &str| cpu::counter_s(trial.probes(), of, series, window);
    let ended = || Some((grown(series::COMMITTED_TOTAL)?, grown(series::ROLLED_BACK_TOTAL)?));
    let value = match name {
        CONNECTIONS_MAX => cpu::largest(trial.probes(), of, series::CONNECTIONS, window),
        TRANSACTIONS_PER_S => ended().map(|(done, undone)| (done + undone) / window.seconds()),
        ROLLED_BACK_SHARE => ended()
            .filter(|(done, undone)| done + undone > 0.0)
            .map(|(done, undone)| undone / (done + undone)),
        _ => None,
    };
    value.into()
}

/// Whether it lived through the window and was read from one end of it to the other. One that dies, and a server that
/// starts again after a crash of one of its processes, lose their readers: what was counted until then is not what they
/// did in the window.
fn is_read_through(trial: &TrialRows<'_>, of: &Subject, counter: &str, window: Window) -> bool {
    let own = trial.probes().iter().filter(|one| one.series == counter && one.subject == *of);
    let (start_ns, end_ns) = window.ends_ns();
    let read_ns = || own.clone().map(|one| one.at_ns);
    let (first_ns, last_ns) = (read_ns().min(), read_ns().max());
    let is_end = |event: &Event| {
        event.kind == EventKind::ProcessDied && event.at_ns.is_none_or(|at_ns| at_ns < end_ns)
    };
    !trial.evidence.events.iter().any(|event| event.subject == *of && is_end(event))
        && first_ns.is_some_and(|first_ns| first_ns <= start_ns.saturating_add(GAP_NS_MAX))
        && last_ns.is_some_and(|last_ns| last_ns >= end_ns.saturating_sub(GAP_NS_MAX))
}
