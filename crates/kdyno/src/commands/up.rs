//! `kdyno up` and `kdyno down`: the system of a scenario, running without load.

use crate::cli::ScenarioArgs;
use crate::commands::{cluster, run};
use crate::environment::ProgramEnvironment;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use kdyno_model::plan::{Plan, TopicPlan};
use kdyno_plan::Choices;
use kdyno_testbed::cluster::PARTITION_REPLICAS_DEFAULT;
use kdyno_testbed::registry;

/// Starts the system of the scenario's first case alone, under the scenario's id.
pub(crate) fn up(args: &ScenarioArgs) -> CommandResult {
    let plan = plan(args)?;
    match plan.cases.first().and_then(|case| Some((case, case.system.cluster()?))) {
        Some((case, system)) => {
            if plan.cases.iter().any(|other| other.system != case.system) {
                out::note(&format!(
                    "the {} cases have different systems; only that of the first is started: {}",
                    plan.cases.len(),
                    case.label
                ));
            }
            let replicas = |topic: &TopicPlan| u64::from(topic.partitions) * u64::from(topic.replicas);
            let replicas = case.topics.values().map(replicas).sum::<u64>().max(PARTITION_REPLICAS_DEFAULT);
            cluster::stand(&plan.scenario, system, replicas, &ProgramEnvironment::read()?)
        }
        None => {
            Err(Failure::usage(format!("the scenario {} has no system that can be started", plan.scenario)))
        }
    }
}

fn plan(args: &ScenarioArgs) -> Result<Plan, Failure> {
    let ScenarioArgs { scenario, profile, set } = args;
    let choices = Choices { profile: profile.clone(), set: set.clone(), ..Choices::default() };
    Ok(run::plan_scenario(scenario, choices)?.plan)
}

/// What was named is no scenario, but may be a cluster that `kdyno cluster up` started.
fn meant_a_cluster(failure: Failure, named: &str, environment: &kdyno_testbed::Environment) -> Failure {
    let is_running = |running: Vec<registry::RunningCluster>| running.iter().any(|one| one.name == named);
    match registry::list(environment).is_ok_and(is_running) {
        true => failure.hint(format!("`kdyno cluster down {named}` ends the cluster of that name")),
        false => failure,
    }
}

/// Ends it.
pub(crate) fn down(args: &ScenarioArgs) -> CommandResult {
    let environment = ProgramEnvironment::read()?.testbed;
    let name = plan(args).map_err(|failure| meant_a_cluster(failure, &args.scenario, &environment))?.scenario;
    registry::down(&environment, &name)?;
    out::note(&format!("{name} is down, its data removed"));
    Ok(Exit::Done)
}
