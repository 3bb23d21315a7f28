//! Turns a scenario into an explicit, seeded plan. Pure.
//!
//! [`plan`] chooses a profile, lays params over each other, makes the cases, resolves every value of each
//! case, checks what only shows together (replicas against brokers, a rate against a target's caps) and
//! draws the order of the trials. After it nothing fills a default. [`next`] then names one trial after the other.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod budget;
mod cases;
mod choices;
mod claims;
mod client;
mod comparison;
mod estimate;
mod guard;
mod kafka;
mod load;
mod phases;
mod reader;
mod remarks;
mod repeats;
mod search;
mod set_overrides;
mod show;
mod sides;
mod strategy;
mod system;

pub use choices::{Ask, CaseTarget, Change, Choices, CompareChoices, FindChoices, PlanError, SideChoices};
pub use estimate::{
    bytes_to_write_of_trial, estimate, estimate_until_first_look, load_ns_after, volume_bytes,
};
pub use remarks::{Note, remarks};
pub use strategy::{Next, Upcoming, next, upcoming};

use budget::Budget;
use cases::Chosen;
use kdyno_model::plan::{CasePlan, Conditioning, Isolation, Plan, Strategy, SystemPlan};
use kdyno_model::secret::SecretRef;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::target::Target;
use kdyno_scenario::units;
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
    let b = match &mut plan.strategy {
        Strategy::Compare(compare) => compare.b.as_mut_slice(),
        Strategy::List(_) | Strategy::Find(_) => &mut [],
    };
    for case in plan.cases.iter_mut().chain(b) {
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
    guard::check(plan)
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

/// The cases of a scenario, planned, and what is the same for all of them.
#[derive(Debug)]
pub(crate) struct Planned {
    pub cases: Vec<CasePlan>,
    pub repeat: u64,
    pub isolation: Isolation,
    pub conditioning: Option<Conditioning>,
}

impl Planned {
    /// A reader of what does not depend on the case.
    pub fn reader<'a>(&self, scenario: &'a Scenario, chosen: &'a Chosen) -> Reader<'a> {
        Reader::new(scenario, &chosen.cases[0])
    }
}

fn make(scenario: &Scenario, choices: &Choices) -> Result<Plan, PlanError> {
    let sides = comparison::sides(scenario, choices)?;
    let (scenario, chosen, mut planned, sides) = match sides {
        Some((sides, planned)) => (sides.scenario.clone(), sides.chosen.clone(), planned, Some(sides)),
        None => {
            let chosen = cases::choose(scenario, choices, &[])?;
            let planned = plan_cases(scenario, choices, &chosen)?;
            (scenario.clone(), chosen, planned, None)
        }
    };
    let scenario = &scenario;
    let seed = choices.seed.unwrap_or_else(|| strategy::seed_of(scenario.id()));
    let budget = Budget::read(scenario, choices, &chosen)?;
    let mut depth = choices.depth;
    let mut judged = claims::Judged::default();
    let strategy = if let Some(sides) = &sides {
        comparison::strategy(scenario, choices, sides, &planned, budget)?
    } else if search::is_asked(scenario, choices) {
        let readers: Vec<Reader<'_>> = chosen.cases.iter().map(|case| Reader::new(scenario, case)).collect();
        let (strategy, reached) = search::strategy(scenario, choices, &mut planned, &readers, budget)?;
        depth = reached;
        strategy
    } else {
        judged = claims::judged(scenario, &chosen, &planned.cases)?;
        repeats::list(&planned, seed, budget)?
    };
    let plan = Plan {
        scenario: scenario.id().to_owned(),
        question: scenario.question().to_owned(),
        profile: chosen.profile.clone(),
        changed: chosen.changed.clone(),
        seed,
        strategy,
        isolation: planned.isolation,
        show: show::show(scenario, &chosen, &planned.cases)?,
        published: show::published(scenario, &chosen)?,
        depth,
        conditioning: planned.conditioning,
        claims: judged.claims,
        contrasts: judged.contrasts,
        cases: planned.cases,
    };
    check_question(&plan)?;
    guard::check(&plan)?;
    Ok(plan)
}

/// Plans every case.
pub(crate) fn plan_cases(
    scenario: &Scenario,
    choices: &Choices,
    chosen: &Chosen,
) -> Result<Planned, PlanError> {
    let typed = scenario.typed();
    let mut planned: Option<Planned> = None;
    for case in &chosen.cases {
        let reader = Reader::new(scenario, case);
        let repeat = reader.whole(&typed.repeat, "repeat", 1..=REPEAT_MAX)?;
        let isolation = read_isolation(&reader)?;
        let conditioning = phases::conditioning(&reader)?;
        let target = target_of(choices, case)?;
        if target.is_some() && isolation == Isolation::Cluster {
            let message = "`isolation: cluster` needs a cluster made for the run";
            return Err(
                InputError::at(typed.isolation.place, message).hint("use `isolation: topic` with a target")
            );
        }
        let case = case_plan(&reader, target)?;
        // Somebody else's cluster is not ours to load without saying so.
        let conditioning = conditioning.filter(|_| target.is_none());
        let planned = planned.get_or_insert(Planned { cases: Vec::new(), repeat, isolation, conditioning });
        if (repeat, isolation) != (planned.repeat, planned.isolation) {
            return Err(reader.wrong(&typed.repeat, "`repeat` and `isolation` must not differ between cases"));
        }
        if target.is_none() && conditioning != planned.conditioning {
            return Err(reader.wrong(&typed.phases.condition, "`condition` must not differ between cases"));
        }
        planned.cases.push(case);
    }
    let planned = planned.ok_or_else(|| InputError::whole("the scenario has no case"))?;
    if planned.cases.len() as u64 * planned.repeat > TRIALS_MAX {
        let (cases, repeat) = (planned.cases.len(), planned.repeat);
        let message = format!("{cases} cases × {repeat} repeats are more than {TRIALS_MAX} trials");
        return Err(InputError::at(typed.repeat.place, message));
    }
    Ok(planned)
}

/// The target of a case: the first that was named for such cases, else the one for all.
fn target_of<'c>(choices: &'c Choices, case: &cases::Case) -> Result<Option<&'c Target>, PlanError> {
    for CaseTarget { cases, target } in &choices.targets {
        let mut fits = true;
        for (name, value) in cases {
            let Some(own) = case.params.get(name) else {
                let known: Vec<&str> = case.params.keys().map(String::as_str).collect();
                let message = format!("target `{}`: {} is not a param", target.attached.target, quoted(name));
                return Err(InputError::whole(message).hint(known_hint(name, known)));
            };
            let quantity = |text: &str| units::parse(text);
            let own = own.to_string();
            fits &= own == *value || quantity(value).is_some() && quantity(value) == quantity(&own);
        }
        if fits {
            return Ok(Some(target));
        }
    }
    if choices.targets.is_empty() || choices.target.is_some() {
        return Ok(choices.target.as_ref());
    }
    let message = format!("no target was named for case {}", quoted(&case.label));
    Err(InputError::whole(message).hint("name one for it, or one without params for all that are left"))
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
    let phases = phases::phases(reader, &load)?;
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
