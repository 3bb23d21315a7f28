//! Turns a scenario into an explicit, seeded plan. Pure.
//!
//! [`plan`] chooses a profile, lays params over each other, makes the cases, resolves every value of each
//! case, checks what only shows together (replicas against brokers, a rate against a target's caps) and
//! draws the order of the trials. After it nothing fills a default. [`next`] then names one trial after the other.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod cases;
mod choices;
mod client;
mod estimate;
mod guard;
mod kafka;
mod load;
mod reader;
mod remarks;
mod set_overrides;
mod show;
mod strategy;
mod system;

pub use choices::{Choices, PlanError};
pub use estimate::{bytes_to_write_of_trial, estimate, load_ns_after, volume_bytes};
pub use remarks::{Note, remarks};
pub use strategy::{Next, Upcoming, next, upcoming};

use kdyno_model::plan::{CasePlan, Depth, Isolation, Plan, SystemPlan};
use kdyno_model::secret::SecretRef;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, quoted};
use kdyno_scenario::target::Target;
use reader::Reader;
use std::collections::BTreeMap;

/// Most trials of one plan.
const TRIALS_MAX: u64 = 10_000;
/// Most trials per case.
const REPEAT_MAX: u64 = 1_000;

/// Makes the plan.
///
/// # Errors
/// The first thing that is wrong or impossible, with its place and what is allowed. What a value set by hand
/// has brought about is named by its option.
pub fn plan(scenario: &Scenario, choices: &Choices) -> Result<Plan, PlanError> {
    let file = scenario.file_name();
    make(scenario, choices).map_err(|error| {
        set_overrides::attribute_error(error, file, choices, |fewer| make(scenario, fewer)).in_file(file)
    })
}

/// Refuses a question that no trial can answer, such as a search whose range is empty.
///
/// # Errors
/// What is wrong, and what would do.
pub fn check_question(plan: &Plan) -> Result<(), PlanError> {
    strategy::check(plan)
}

/// Puts a stored plan, whose addresses were redacted, on the target that it was made for.
///
/// # Errors
/// The plan is of a local cluster or of another target, or the target's caps have become too small for it.
pub fn retarget(plan: &mut Plan, target: &Target) -> Result<(), PlanError> {
    let wanted = &target.attached;
    for case in &mut plan.cases {
        let SystemPlan::Attached(attached) = &mut case.system else {
            let message = "the run used a cluster of its own, not a target";
            return Err(InputError::whole(message).hint("leave the target out"));
        };
        if attached.cluster_id != wanted.cluster_id {
            let message = format!(
                "the run used cluster id {}, target `{}` has {}",
                attached.cluster_id, wanted.target, wanted.cluster_id
            );
            return Err(InputError::whole(message));
        }
        attached.clone_from(wanted);
        // Those that count are the target's, and a target names none.
        case.secrets.clear();
    }
    guard::check(plan, wanted)
}

/// Refuses a stored plan that would have a file read or a program started: a run file may come from anybody, and only
/// what a user wrote or chose may name such things.
///
/// # Errors
/// A secret comes from outside the run.
pub fn check_stored(plan: &Plan) -> Result<(), PlanError> {
    let mut secrets = plan.cases.iter().flat_map(|case| &case.secrets);
    match secrets.find(|(_, reference)| **reference != SecretRef::Made) {
        Some((name, reference)) => {
            let kind = match reference {
                SecretRef::Env(_) => "an environment variable",
                SecretRef::File(_) => "a file",
                SecretRef::Exec(_) | SecretRef::Made => "a command",
            };
            let message = format!("the stored plan takes secret {} from {kind}", quoted(name));
            Err(InputError::whole(message)
                .hint("run the scenario again: such references of a run file are not followed"))
        }
        None => Ok(()),
    }
}

fn make(scenario: &Scenario, choices: &Choices) -> Result<Plan, PlanError> {
    let typed = scenario.typed();
    let chosen = cases::choose(scenario, choices)?;
    let mut repeat = 1;
    let mut isolation = Isolation::Topic;
    let mut cases = Vec::new();
    for case in &chosen.cases {
        let reader = Reader::new(scenario, case);
        let case_repeat = reader.whole(&typed.repeat, "repeat", 1..=REPEAT_MAX)?;
        let case_isolation = read_isolation(&reader)?;
        if !cases.is_empty() && (case_repeat, case_isolation) != (repeat, isolation) {
            return Err(reader.wrong(&typed.repeat, "`repeat` and `isolation` must not differ between cases"));
        }
        (repeat, isolation) = (case_repeat, case_isolation);
        cases.push(case_plan(&reader, choices.target.as_ref())?);
    }
    if cases.len() as u64 * repeat > TRIALS_MAX {
        let message = format!("{} cases × {repeat} repeats are more than {TRIALS_MAX} trials", cases.len());
        return Err(InputError::at(typed.repeat.place, message));
    }
    if choices.target.is_some() && isolation == Isolation::Cluster {
        return Err(InputError::at(
            typed.isolation.place,
            "`isolation: cluster` needs a cluster made for the run",
        )
        .hint("use `isolation: topic` with a target"));
    }
    let seed = choices.seed.unwrap_or_else(|| strategy::seed_of(scenario.id()));
    let plan = Plan {
        scenario: scenario.id().to_owned(),
        question: scenario.question().to_owned(),
        profile: chosen.profile.clone(),
        changed: chosen.changed.clone(),
        seed,
        strategy: strategy::list(&cases, u32::try_from(repeat).unwrap_or(u32::MAX), isolation, seed),
        isolation,
        show: show::show(scenario, &chosen, &cases)?,
        published: show::published(scenario, &chosen)?,
        depth: Depth::Verdict,
        conditioning: None,
        claims: Vec::new(),
        contrasts: Vec::new(),
        cases,
    };
    check_question(&plan)?;
    if let Some(target) = &choices.target {
        guard::check(&plan, &target.attached)?;
    }
    Ok(plan)
}

fn read_isolation(reader: &Reader<'_>) -> Result<Isolation, PlanError> {
    let typed = &reader.scenario.typed().isolation;
    Ok(match reader.word(typed, "isolation", &["topic", "cluster", "none"])?.as_str() {
        "cluster" => Isolation::Cluster,
        "none" => Isolation::None,
        _ => Isolation::Topic,
    })
}

fn case_plan(reader: &Reader<'_>, target: Option<&Target>) -> Result<CasePlan, PlanError> {
    // The section is read with a target too: an error in it must not wait for another run to show.
    let cluster = system::cluster(reader)?;
    let system = match target {
        Some(target) => SystemPlan::Attached(target.attached.clone()),
        None => SystemPlan::Local(cluster),
    };
    let topics = system::topics(reader, &system)?;
    let load = load::load(reader, &system, &topics)?;
    let phases = load::phases(reader, &load)?;
    Ok(CasePlan {
        label: reader.case.label.clone(),
        params: reader.case.params.clone(),
        system,
        topics,
        workers: load::workers(&load),
        load,
        phases,
        secrets: BTreeMap::new(),
    })
}
