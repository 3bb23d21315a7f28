//! Looks before anything is started: is the host free, is there a Kafka with a Java to run it, is there room?

use crate::error::LabError;
use crate::options::{Progress, RunOptions};
use kdyno_model::plan::{AttachedPlan, CasePlan, ClusterPlan, KafkaSource, Plan, SystemPlan};
use kdyno_testbed::attach::Attached;
use kdyno_testbed::lock::HostLock;
use kdyno_testbed::{Environment, TestbedError, distribution, leftovers, preflight};
use std::cell::RefCell;
use std::path::Path;

/// Takes the host for this run and makes sure that the plan's systems can be made. The lock holds until it
/// is dropped.
pub(crate) fn check(plan: &Plan, options: &mut RunOptions<'_>) -> Result<HostLock, LabError> {
    preflight::check_writable(options.run_file.parent().unwrap_or(Path::new(".")))?;
    let lock = HostLock::acquire(&options.environment, &plan.scenario, options.share)?;
    if let Some(parent) = options.work_dir.parent() {
        leftovers::sweep(parent);
    }
    leftovers::sweep(&options.environment.memory_dir);
    attached_fit(plan, options)?;
    for (case, cluster) in local(plan) {
        room(case, cluster, &options.work_dir, &options.environment)?;
    }
    if let Some(doubt) = heaps(plan).and_then(|(heaps, free)| preflight::memory_doubt(heaps, free)) {
        (options.progress)(Progress::Warning(doubt));
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

/// Is there room for what a trial of the case writes?
pub(crate) fn room(
    case: &CasePlan,
    cluster: &ClusterPlan,
    work_dir: &Path,
    environment: &Environment,
) -> Result<(), TestbedError> {
    let folders = preflight::log_folders(&cluster.storage, work_dir, environment);
    // A maximum rate writes what it can; the brokers' retention is then what bounds it.
    match kdyno_plan::bytes_to_write_of_trial(case) {
        Some(bytes) => preflight::check_room(&folders, bytes),
        None => Ok(()),
    }
}

/// Heaps of the plan's largest cluster and the host's free memory, bytes; `None` without a cluster of our own.
pub(crate) fn heaps(plan: &Plan) -> Option<(u64, u64)> {
    let largest = local(plan).map(|(_, cluster)| preflight::heap_bytes(cluster)).max()?;
    Some((largest, kdyno_testbed::host::memory_available_bytes()?))
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
pub(crate) fn local(plan: &Plan) -> impl Iterator<Item = (&CasePlan, &ClusterPlan)> {
    plan.cases.iter().filter_map(|case| match &case.system {
        SystemPlan::Local(cluster) => Some((case, cluster)),
        SystemPlan::Attached(_) => None,
    })
}
