//! Looks before anything is started: is the host free, is there a Kafka with a Java to run it, is there room?

use crate::error::LabError;
use crate::options::{Progress, RunOptions};
use kdyno_model::plan::{AttachedPlan, CasePlan, ClusterPlan, KafkaSource, Plan, SystemPlan};
use kdyno_testbed::attach::Attached;
use kdyno_testbed::lock::HostLock;
use kdyno_testbed::{distribution, leftovers, preflight};
use std::cell::RefCell;

/// Takes the host for this run and makes sure that the plan's systems can be made. The lock holds until it
/// is dropped.
pub(crate) fn check(plan: &Plan, options: &mut RunOptions<'_>) -> Result<HostLock, LabError> {
    let lock = HostLock::acquire(&options.environment, &plan.scenario, options.share)?;
    if let Some(parent) = options.work_dir.parent() {
        leftovers::sweep(parent);
    }
    leftovers::sweep(&options.environment.memory_dir);
    attached_fit(plan, options)?;
    for (case, cluster) in local(plan) {
        let folders = preflight::log_folders(&cluster.storage, &options.work_dir, &options.environment);
        // A maximum rate writes what it can; the brokers' retention is then what bounds it.
        if let Some(bytes) = kdyno_plan::bytes_to_write_of_trial(case) {
            preflight::check_room(&folders, bytes)?;
        }
    }
    let progress = RefCell::new(&mut *options.progress);
    let tell = |step: &str| (progress.borrow_mut())(Progress::Step(step.to_owned()));
    let mut ready: Vec<&KafkaSource> = Vec::new();
    for (_, cluster) in local(plan) {
        if !ready.contains(&&cluster.kafka) {
            distribution::prepare(&options.environment, &cluster.kafka, &tell)?;
            ready.push(&cluster.kafka);
        }
    }
    Ok(lock)
}

/// Makes sure that each attached cluster is the one meant and can carry its cases.
fn attached_fit(plan: &Plan, options: &mut RunOptions<'_>) -> Result<(), LabError> {
    let mut known: Option<(&AttachedPlan, Attached)> = None;
    for case in &plan.cases {
        let SystemPlan::Attached(target) = &case.system else {
            continue;
        };
        let attached = match known.take().filter(|(plan, _)| *plan == target) {
            Some((_, attached)) => attached,
            None => {
                let attached = Attached::check(target)?;
                if attached.leftover_topics() > 0 {
                    let step = format!(
                        "{} topics of earlier runs are still on {}; `kdyno clean` removes them",
                        attached.leftover_topics(),
                        target.target
                    );
                    (options.progress)(Progress::Step(step));
                }
                attached
            }
        };
        attached.check_case(case)?;
        known = Some((target, attached));
    }
    Ok(())
}

/// Cases with a cluster of our own.
fn local(plan: &Plan) -> impl Iterator<Item = (&CasePlan, &ClusterPlan)> {
    plan.cases.iter().filter_map(|case| match &case.system {
        SystemPlan::Local(cluster) => Some((case, cluster)),
        SystemPlan::Attached(_) => None,
    })
}
