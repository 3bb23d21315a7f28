//! What a target allows: a plan above one of its caps is refused before anything is sent.

use crate::choices::PlanError;
use crate::estimate::estimate;
use crate::search::allowed_per_s;
use crate::strategy::{Upcoming, at_most, heaviest};
use kdyno_model::plan::{AttachedPlan, CasePlan, FindPlan, Isolation, Plan, Strategy, TopicPlan};
use kdyno_model::units::{bytes as shown, duration};
use kdyno_scenario::input::InputError;

/// Permission for a closed loop.
const RATE_MAX: &str = "rate-max";

/// Permission for a search, whose loads are found out by going beyond what the cluster carries.
const FIND: &str = "find";

/// Permission for commands, whose load is not known and which no cap holds for.
const COMMANDS: &str = "commands";

/// Checks the plan against every target that it uses.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    let targets = plan.targets();
    let search = match &plan.strategy {
        Strategy::Find(search) => Some(search),
        Strategy::List(_) | Strategy::Compare(_) => None,
    };
    if search.is_some() {
        targets.iter().try_for_each(|target| may_search(target))?;
    }
    for case in heaviest(plan) {
        if let Some(target) = case.system.target() {
            rates(&case, search, target)?;
            connections(&case, target)?;
            may_run_commands(&case, target)?;
        }
    }
    targets.into_iter().try_for_each(|target| whole_run(plan, target))
}

/// A search needs to be allowed and must know when to stop.
fn may_search(target: &AttachedPlan) -> Result<(), PlanError> {
    if !target.allow.iter().any(|allowed| allowed == FIND) {
        let message = "a search raises the load until conditions break, which the target does not allow";
        return Err(refused(target, message.to_owned()).hint("name `find` under `guard.allow`"));
    }
    if target.abort_if.is_empty() {
        let message = "a search needs to know when to stop: the target has no `abort_if`";
        return Err(refused(target, message.to_owned())
            .hint("e.g. `abort_if: [offline_partitions > 0, under_replicated > 0 for 10s]` under `guard`"));
    }
    Ok(())
}

/// What a command does to a target is its own affair, so it needs to be allowed.
fn may_run_commands(case: &CasePlan, target: &AttachedPlan) -> Result<(), PlanError> {
    let is_allowed = target.allow.iter().any(|allowed| allowed == COMMANDS);
    let command = case.commands.keys().map(|item| (item, "command")).next();
    let component = case.components.iter().map(|component| (&component.name, "component")).next();
    match command.or(component).filter(|_| !is_allowed) {
        None => Ok(()),
        Some((name, what)) => {
            let message =
                format!("`{name}` is a {what}, which no cap holds for and the target does not allow");
            Err(refused(target, message).hint("name `commands` under `guard.allow`"))
        }
    }
}

/// What all trials on the target come to.
fn whole_run(plan: &Plan, target: &AttachedPlan) -> Result<(), PlanError> {
    let caps = &target.caps;
    let estimate = estimate(plan);
    let here = |trial: &Upcoming<'_>| trial.case.system.target() == Some(target);
    let of_trials = at_most(plan)
        .filter(here)
        .map(|trial| made(&trial.case, target).map(|topic| u64::from(topic.partitions)).sum::<u64>());
    // A trial's topics are deleted before the next one makes its own, unless nothing is isolated.
    let partitions = match plan.isolation {
        Isolation::Topic | Isolation::Cluster => of_trials.max().unwrap_or(0),
        Isolation::None => of_trials.sum(),
    };
    if let Some(cap) = caps.partitions.filter(|cap| partitions > u64::from(*cap)) {
        let message = format!("the run has {partitions} partitions at once; the target's cap is {cap}");
        return Err(refused(target, message).hint("fewer partitions, or `isolation: topic`"));
    }
    if let Some(cap) = caps.disk_bytes {
        match estimate.disk_bytes {
            None => {
                let message = "what `rate: max` or a command writes is not known before, so the target's cap on `disk` cannot hold";
                return Err(refused(target, message.to_owned()).hint("give a rate"));
            }
            Some(bytes) if bytes > cap => {
                let message = format!(
                    "the run writes about {}; the target's cap is {}",
                    shown(bytes as f64),
                    shown(cap as f64)
                );
                let hint = match plan.strategy {
                    Strategy::Find(_) => {
                        "a lower `to`, fewer or shorter trials: each may run at the highest load"
                    }
                    Strategy::List(_) | Strategy::Compare(_) => "a lower rate or shorter phases",
                };
                return Err(refused(target, message).hint(hint));
            }
            Some(_) => {}
        }
    }
    let expected_ns = estimate.expected_ns;
    if let Some(cap) = caps.time_ns.filter(|cap| expected_ns > *cap) {
        let message =
            format!("the run takes about {}; the target's cap is {}", duration(expected_ns), duration(cap));
        return Err(refused(target, message).hint("shorter phases, fewer cases or repeats"));
    }
    Ok(())
}

/// The topics of a case that are made on the target.
fn made<'a>(case: &'a CasePlan, target: &'a AttachedPlan) -> impl Iterator<Item = &'a TopicPlan> {
    let all = case.topics.iter().filter(|(address, _)| !target.topics.contains_key(*address));
    all.map(|(_, topic)| topic)
}

fn refused(target: &AttachedPlan, message: String) -> PlanError {
    InputError::whole(format!("target `{}`: {message}", target.target))
}

/// What the heaviest load of a case sends stays below the target's cap.
fn rates(case: &CasePlan, search: Option<&FindPlan>, target: &AttachedPlan) -> Result<(), PlanError> {
    let mut bytes_per_s = 0.0;
    for (name, item) in &case.load {
        let Some(produce) = item.role.as_produce() else { continue };
        let Some(peak) = produce.rate.peak_per_s() else {
            if !target.allow.iter().any(|allowed| allowed == RATE_MAX) {
                let message = format!("`{name}` has `rate: max`, which the target does not allow");
                return Err(
                    refused(target, message).hint("give a rate, or name `rate-max` under `guard.allow`")
                );
            }
            if target.caps.produce_bytes_per_s.is_some() {
                let message =
                    format!("`{name}` has `rate: max`, so the target's cap on `produce` cannot hold");
                return Err(refused(target, message).hint("give a rate, or remove `caps.produce`"));
            }
            continue;
        };
        bytes_per_s += peak * produce.record_bytes() as f64;
    }
    match target.caps.produce_bytes_per_s {
        Some(cap) if bytes_per_s > cap as f64 => {
            let (most, cap) = (shown(bytes_per_s), shown(cap as f64));
            let allowed = search.and_then(|search| allowed_per_s(case, &search.item));
            Err(match allowed {
                Some(per_s) => {
                    let message = format!("the search may go up to {most}/s; the target's cap is {cap}/s");
                    refused(target, message).hint(format!("`to: {per_s}/s` at most"))
                }
                None => {
                    let message = format!("the load produces up to {most}/s; the target's cap is {cap}/s");
                    refused(target, message).hint("a lower rate or smaller records")
                }
            })
        }
        _ => Ok(()),
    }
}

/// Each client has at least one connection; once the brokers are known the bound is clients × brokers.
fn connections(case: &CasePlan, target: &AttachedPlan) -> Result<(), PlanError> {
    let clients: u64 = case.load.values().map(|item| u64::from(item.clients)).sum();
    match target.caps.connections {
        Some(cap) if clients > u64::from(cap) => {
            let message = format!("the load has {clients} clients; the target's cap is {cap} connections");
            Err(refused(target, message)
                .hint("fewer clients, or raise `guard.caps.connections` in the target file"))
        }
        _ => Ok(()),
    }
}
