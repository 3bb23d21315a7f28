//! What components did in the window: every one that was started, and what databases tell of themselves.

use crate::cpu;
use crate::rows::Trial;
use kdyno_model::component_metrics::{CONNECTIONS_MAX, ROLLED_BACK_SHARE, TRANSACTIONS_PER_S};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Value};
use kdyno_model::metric::SubjectKind;
use kdyno_model::plan::component::series;

/// Adds the figures of each component of the trial's case.
pub(crate) fn state(trial: &Trial<'_>, found: &mut Vec<Finding>) {
    for component in &trial.evidence.start.trial.effective.components {
        let of = [Subject::Component(component.name.clone())];
        let kind = match component.as_postgres() {
            Some(_) => SubjectKind::Database,
            None => SubjectKind::Component,
        };
        trial.state(&component.name, kind, found, |name| match database_value(trial, &of[0], name) {
            Value::None => trial.process_value(&of, name),
            known => known,
        });
    }
}

/// What a database tells of itself.
fn database_value(trial: &Trial<'_>, of: &Subject, name: &str) -> Value {
    let Some(window) = trial.window else { return Value::None };
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
    value.map_or(Value::None, Value::Is)
}
