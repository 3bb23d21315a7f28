//! Turns a scenario into an explicit, seeded plan. Pure.
//!
//! [`plan`] chooses a profile, lays params over each other, makes the cases, resolves every value of each
//! case, checks what only shows together (replicas against brokers, a rate against a target's caps) and
//! draws the order of the trials. After it nothing fills a default. [`next`] then names one trial after the other.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod backlog;
mod broker_file;
mod budget;
mod cases;
mod choices;
mod claims;
mod client;
mod clusters;
mod command;
mod comparison;
mod component;
mod component_address;
mod conditions;
mod consume;
mod driver;
mod estimate;
mod flame;
mod given;
mod group;
mod guard;
mod http_load;
mod in_force;
mod internal_topics;
mod item_topics;
mod kafka;
mod load;
mod null_broker;
mod pair_design;
mod phases;
mod planned;
mod prices;
mod probe;
mod proxy;
mod quotas;
mod ratios;
mod reader;
mod records;
mod remarks;
mod repeats;
mod search;
mod set_overrides;
mod show;
mod sides;
mod spans;
mod stored;
mod strategy;
mod strimzi;
mod sustained;
mod system;
mod system_kind;
mod topic_settings;
mod topics;
mod transactions;
mod volume;
mod workers;
mod zones;

pub use choices::{
    CaseTarget, Choices, CompareChoices, FileReader, FindChoices, FoundFile, PathCheck, PlanError,
    PlanQuestion, Schemas, SideChange, SideChoices, UnusableSchema, ValuesOfSchema,
};
pub use command::check_commands_in_pods;
pub use estimate::{
    bytes_to_write_of_case, bytes_to_write_of_trial, estimate, estimate_until_first_look, load_ns_after,
    longest_ns, volume_bytes,
};
pub use in_force::clients_in_force;
pub use remarks::{Remark, of_existing_topics, remarks};
pub use stored::{check as check_stored, check_trusted as check_trusted_stored};
pub use strategy::{Next, Upcoming, next, upcoming};
pub use workers::on_generators;

use budget::Budget;
use cases::Chosen;
use kdyno_model::plan::{Plan, Strategy};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;
use kdyno_scenario::target::Target;
use planned::{PlannedCases, plan_cases};
use reader::CaseReader;

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

/// Makes a stored plan that used one existing cluster one of another, before it is given its addresses: the cluster id
/// that it had. `None`: it used this one, none or several, and stays as it is.
pub fn move_to(plan: &mut Plan, target: &Target) -> Option<String> {
    let there = &target.attached.cluster_id;
    let mut used: Vec<String> = plan.targets().into_iter().map(|target| target.cluster_id.clone()).collect();
    used.dedup();
    let [before] = used.as_slice() else { return None };
    if before == there {
        return None;
    }
    for attached in plan.every_case_mut().filter_map(|case| case.system.target_mut()) {
        attached.cluster_id.clone_from(there);
    }
    used.pop()
}

/// Puts a stored plan, whose addresses were redacted, on the targets that it was made for; its cluster's id says which
/// of them a case is of.
///
/// # Errors
/// The plan is of local clusters or of another target, or of one target fewer, a target's caps have become too small for
/// it, a target names a group that the plan has, or has one topic for two of a client.
pub fn retarget(plan: &mut Plan, targets: &[Target]) -> Result<(), PlanError> {
    let used: Vec<String> = plan.targets().into_iter().map(|target| target.cluster_id.clone()).collect();
    if used.is_empty() {
        let message = "the run used a cluster of its own, not a target";
        return Err(InputError::whole(message).hint(
            "leave the target out; or `kdyno export RUN --format scenario > FILE`, and `kdyno run FILE --target` on it",
        ));
    }
    let id_of = |target: &Target| target.attached.cluster_id.clone();
    if let Some(other) = targets.iter().find(|target| !used.contains(&id_of(target))) {
        let (used, id) = (used.join(" and "), id_of(other));
        let message = format!("the run used cluster id {used}, target `{}` has {id}", other.attached.target);
        return Err(InputError::whole(message));
    }
    for case in plan.every_case_mut() {
        // The other side may run on a cluster of the run's own.
        let Some(attached) = case.system.target_mut() else { continue };
        let Some(wanted) = targets.iter().find(|target| id_of(target) == attached.cluster_id) else {
            let message =
                format!("the run also used target `{}`, cluster id {}", attached.target, attached.cluster_id);
            return Err(InputError::whole(message).hint("name its file too, each with a --target of its own"));
        };
        // How long windows are is the plan's, not the target's.
        let sustain_ns = attached.sustain_ns;
        attached.clone_from(&wanted.attached);
        attached.sustain_ns = sustain_ns;
        case.secrets.clone_from(&wanted.secrets);
        group::check_on_target(case)?;
        let mut items = case.load.values();
        if let Some(message) = items.find_map(|item| item_topics::one_on_target(&case.system, item)) {
            return Err(InputError::whole(message).hint("map them to two topics in the target's file"));
        }
    }
    guard::check(plan)
}

/// The cases of what compares nothing: of a search on a scenario that does, those of one of its sides.
fn one_system(scenario: &Scenario, choices: &Choices) -> Result<(Scenario, Chosen, PlannedCases), PlanError> {
    if let PlanQuestion::Find(by_hand) = &choices.ask
        && let Some(side) = sides::searched(scenario, choices, by_hand.side.as_deref())?
    {
        return Ok(side);
    }
    let chosen = cases::choose(scenario, choices, &[])?;
    let planned = plan_cases(scenario, choices, &chosen)?;
    Ok((scenario.clone(), chosen, planned))
}

fn make(scenario: &Scenario, choices: &Choices) -> Result<Plan, PlanError> {
    let sides = comparison::sides(scenario, choices)?;
    let (scenario, chosen, mut planned, sides) = match sides {
        Some((sides, planned)) => (sides.scenario.clone(), sides.chosen.clone(), planned, Some(sides)),
        None => {
            let (scenario, chosen, planned) = one_system(scenario, choices)?;
            (scenario, chosen, planned, None)
        }
    };
    let scenario = &scenario;
    let seed = choices.seed.unwrap_or_else(|| strategy::seed_of(scenario.id()));
    let budget = Budget::read(scenario, choices, &chosen)?;
    let mut depth = choices.depth;
    let mut judged = claims::PlannedClaims::default();
    let mut budget_ns = budget.map(|budget| budget.ns);
    let strategy = if let Some(sides) = &sides {
        let (strategy, bound) = comparison::strategy(scenario, choices, sides, &planned, budget)?;
        budget_ns = bound.map(|budget| budget.ns);
        strategy
    } else if search::is_asked(scenario, choices) {
        let readers: Vec<CaseReader<'_>> =
            chosen.cases.iter().map(|case| CaseReader::new(scenario, case)).collect();
        let (strategy, reached, bound_ns) =
            search::strategy(scenario, choices, &mut planned, &readers, budget)?;
        (depth, budget_ns) = (reached, bound_ns);
        strategy
    } else {
        judged = claims::judged(scenario, choices, &chosen, &planned.cases)?;
        repeats::list(&mut planned, seed, budget)?
    };
    if !matches!(strategy, Strategy::List(_)) {
        claims::refuse_thresholds(scenario, choices)?;
    }
    let mut show = show::show(scenario, &chosen, &planned.cases)?;
    ratios::add_columns(&mut show, &planned.cases, &strategy);
    prices::add_column(&mut show, &planned.cases, &strategy)?;
    let mut plan = Plan {
        scenario: scenario.id().to_owned(),
        question: scenario.question().to_owned(),
        profile: chosen.profile.clone(),
        changed: chosen.changed.clone(),
        seed,
        strategy,
        isolation: planned.isolation,
        show,
        published: show::published(scenario, &chosen)?,
        depth,
        conditioning: planned.conditioning,
        budget_ns,
        claims: judged.claims,
        contrasts: judged.contrasts,
        flame: flame::asked(scenario, choices, &chosen)?,
        environment: scenario.typed().environment.clone(),
        probe: Vec::new(),
        cases: planned.cases,
    };
    flame::add_options(&mut plan)?;
    check_question(&plan)?;
    guard::check(&plan)?;
    Ok(plan)
}
