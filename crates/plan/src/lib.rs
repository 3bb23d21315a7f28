//! Turns a scenario into an explicit, seeded plan. Pure.
//!
//! [`plan`] chooses a profile, lays params over each other, makes the cases, resolves every value of each
//! case, checks what only shows together (replicas against brokers, a rate against a target's caps) and
//! draws the order of the trials. After it nothing fills a default.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod cases;
mod client;
mod describe;
mod estimate;
mod guard;
mod kafka;
mod load;
mod order;
mod reader;
mod replaced;
mod set_overrides;
mod show;
mod system;

pub use describe::describe;
pub use estimate::{bytes_to_write, bytes_to_write_of_trial, expected_seconds, trials_seconds, volume_bytes};
pub use replaced::{Replaced, replaced};

use kdyno_model::plan::{CasePlan, Isolation, Plan, SystemPlan};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;
use kdyno_scenario::target::Target;
use reader::Reader;

/// The one error of planning; it names file, line and column, or the option, and what is allowed.
pub type PlanError = InputError;

/// Most trials of one plan.
const TRIALS_MAX: u64 = 10_000;
/// Most trials per case.
const REPEAT_MAX: u64 = 1_000;

/// What the user chose beside the scenario.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// Profile by name; none takes `laptop` where there is one (with a target `attached` before it).
    pub profile: Option<String>,
    /// Params set by hand, in order.
    pub set: Vec<(String, String)>,
    /// Seed; none derives one from the scenario's id, so that planning stays a pure function.
    pub seed: Option<u64>,
    /// The existing cluster to use instead of a local one.
    pub target: Option<Target>,
}

/// Makes the plan.
///
/// # Errors
/// The first thing that is wrong or impossible, with its place and what is allowed. What a value set by hand
/// has brought about is named by its option.
pub fn plan(scenario: &Scenario, choices: &Choices) -> Result<Plan, PlanError> {
    make(scenario, choices).map_err(|error| {
        set_overrides::attribute_error(error, scenario, choices).in_file(scenario.file_name())
    })
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
    }
    guard::check(plan, wanted)
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
    let seed = choices.seed.unwrap_or_else(|| order::seed_of(scenario.id()));
    let plan = Plan {
        scenario: scenario.id().to_owned(),
        question: scenario.question().to_owned(),
        profile: chosen.profile.clone(),
        changed: chosen.changed.clone(),
        seed,
        order: order::order(&cases, u32::try_from(repeat).unwrap_or(u32::MAX), isolation, seed),
        isolation,
        show: show::show(scenario, &chosen, &cases)?,
        published: show::published(scenario, &chosen)?,
        cases,
    };
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
        load,
        phases,
    })
}
