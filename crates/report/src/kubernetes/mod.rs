//! What ran locally as custom resources of Strimzi, for a cluster in Kubernetes. Nothing of it was run: it is a translation of
//! settings in force, and says so first, with what does not carry over.

mod notes;
mod resources;
mod settings;
mod yaml;

use crate::grid::{clean, wrap};
use crate::input::{ReportInput, trial_name};
use kdyno_model::plan::{ClusterPlan, SystemPlan};
use kdyno_model::run::TrialStart;
use kdyno_model::trial::TrialId;

/// The first line of every translation.
pub const NOT_RUN: &str = "# not run: a translation of what ran locally";
/// Columns of its notes.
const COLUMNS: usize = 118;

/// Why a trial has no translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untranslated {
    /// One lowercase sentence.
    pub message: String,
    /// What to do, where there is something.
    pub hint: Option<&'static str>,
}

/// The cluster and the topics of a trial.
///
/// # Errors
/// There is no such trial, or it did not run on a cluster of kdyno's own.
pub fn document(input: &ReportInput<'_>, trial: TrialId) -> Result<String, Untranslated> {
    let found = input.trials.iter().find(|start| start.trial.id == trial);
    let start = found.ok_or_else(|| Untranslated {
        message: format!("there is no trial {trial}: {} were started", input.trials.len()),
        hint: None,
    })?;
    let cluster = translated(&start.trial.effective.system)
        .map_err(|(what, hint)| Untranslated { message: format!("trial {trial} ran on {what}"), hint })?;
    let carried = settings::of_brokers(start, cluster);
    let mut out = format!("{NOT_RUN}\n#\n");
    comment(&mut out, &origin(input, start), 0);
    out.push_str("#\n# What does not carry over:\n");
    for note in notes::all(start, cluster, &carried) {
        comment(&mut out, &format!("- {note}."), 2);
    }
    let name = yaml::name_of(&input.plan().scenario);
    Ok(out + &resources::all(&name, start, cluster, &carried))
}

/// The cluster that kdyno started, or what a trial ran on instead, and what to do, where there is something.
fn translated(system: &SystemPlan) -> Result<&ClusterPlan, (String, Option<&'static str>)> {
    if let Some(cluster) = system.cluster() {
        return Ok(cluster);
    }
    let hint = "a target does not say what it is made of; a cluster that kdyno starts can be translated";
    Err(match (system.target(), system.is_kafka()) {
        (Some(target), _) => (format!("an existing cluster, {}", target.target), Some(hint)),
        (None, true) => (format!("{}, which is in Kubernetes already", system.name()), None),
        (None, false) => (format!("{}, which is no Kafka", system.name()), None),
    })
}

/// What it is a translation of.
fn origin(input: &ReportInput<'_>, start: &TrialStart) -> String {
    let header = input.header;
    let by = input.sessions.iter().find(|(session, _)| session.number == start.session);
    let by = by.map_or_else(String::new, |(session, _)| format!(" by kdyno {}", session.kdyno_version));
    format!(
        "Resources of Strimzi ({}: its release 0.49 and later) for the cluster and the topics of {} of the scenario {}, run \
         {:016x}{by}. Its figures are of the host that it ran on, and none of a cluster made of these.",
        resources::API,
        trial_name(&start.trial),
        header.plan.scenario,
        header.run_id,
    )
}

/// A text as lines that YAML does not read, those behind the first one so far in.
fn comment(out: &mut String, text: &str, indent: usize) {
    for line in wrap(&clean(text), COLUMNS, indent).lines() {
        out.push_str(&format!("# {line}\n"));
    }
}
