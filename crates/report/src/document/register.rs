//! The register: every trial of every run with how it ended, failed ones and those that only conditioned a cluster too.

use super::parts::DocumentRun;
use crate::figures::{FindingIndex, covers};
use crate::input::{ReportInput, is_cut_short};
use crate::table::Table;
use crate::units;
use kdyno_model::caveat::Severity;
use kdyno_model::run::TrialStart;
use kdyno_model::trial::Trial;

/// One row per trial, in the order in which they ran.
pub(super) fn table(runs: &[DocumentRun<'_>]) -> Table {
    let columns = [
        ("run", false),
        ("trial", true),
        ("scenario", false),
        ("profile", false),
        ("case", false),
        ("started", false),
        ("status", false),
    ];
    let rows = runs.iter().enumerate().flat_map(|(index, run)| {
        let input = run.input;
        let figures = FindingIndex::new(input.findings, input.caveats);
        let row = move |start: &TrialStart| {
            let plan = input.plan();
            vec![
                (index + 1).to_string().into(),
                start.trial.id.to_string().into(),
                plan.scenario.as_str().into(),
                plan.profile.as_str().into(),
                label(&start.trial).into(),
                units::instant(start.t0_unix_ns).into(),
                status(&input, &start.trial, &figures).into(),
            ]
        };
        input.trials.iter().map(row).collect::<Vec<_>>()
    });
    Table::new(&columns, rows.collect())
}

fn label(trial: &Trial) -> String {
    let side = trial.variant.as_ref().map(|side| format!("side {side}"));
    let label = Some(trial.label.clone()).filter(|label| !label.is_empty());
    let parts: Vec<String> = label.into_iter().chain(side).collect();
    if parts.is_empty() { units::NOTHING.to_owned() } else { parts.join(", ") }
}

/// How a trial ended.
fn status(input: &ReportInput<'_>, trial: &Trial, figures: &FindingIndex<'_>) -> String {
    if trial.is_conditioning() {
        return "conditioned the cluster, not reported".to_owned();
    }
    if is_cut_short(trial, input.caveats) {
        return "cut short".to_owned();
    }
    if !figures.has(trial.id) {
        return "without figures".to_owned();
    }
    let of = |severity| {
        let of_trial =
            input.caveats.iter().filter(|one| covers(one.scope, trial) && one.severity == severity);
        u32::try_from(of_trial.count()).unwrap_or(u32::MAX)
    };
    match (of(Severity::Invalid), of(Severity::Warning)) {
        (0, 0) => "complete".to_owned(),
        (0, warnings) => format!("complete, {}", units::plural(warnings, "warning")),
        (_, _) => "complete, some figures are invalid".to_owned(),
    }
}
