//! Looks before anything is started: is the host free, is there a Kafka with a Java to run it, is there room?

use crate::connections;
use crate::error::LabError;
use crate::heaps::heaps;
use crate::options::{RunOptions, RunProgress};
use crate::replicas::{replicas, topics_at_once};
use crate::secrets::RunSecrets;
use kdyno_model::plan::{
    AttachedPlan, CasePlan, ClusterPlan, CommandBegins, ComponentKind, KafkaSource, PairDesign, Plan,
    ProxyPlan, Strategy, TopicPlan,
};
use kdyno_model::trial::Trial;
use kdyno_model::units;
use kdyno_testbed::attach::Attached;
use kdyno_testbed::capacity::Capacity;
use kdyno_testbed::command::find;
use kdyno_testbed::lock::HostLock;
use kdyno_testbed::{
    Environment, TestbedError, cpu_limit, distribution, folder, leftovers, postgres, preflight,
};
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often it is looked whether the host is free.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Takes the host, once no other run has it, or until the wait for it is over.
fn take_host(plan: &Plan, options: &mut RunOptions<'_>) -> Result<HostLock, LabError> {
    let begun = Instant::now();
    let mut reported: Option<String> = None;
    let RunOptions { environment, share, wait, stop, progress, .. } = options;
    let most = units::duration(wait.as_nanos().try_into().unwrap_or(u64::MAX));
    let is_stopped = || stop.load(Ordering::Relaxed);
    let taken = HostLock::acquire_patiently(environment, &plan.scenario, *share, |message| {
        if begun.elapsed() >= *wait || is_stopped() {
            return false;
        }
        // It names the holder and its minutes, so it is another one each minute and with each holder.
        if reported.as_deref() != Some(message) {
            let waiting = format!("{message}; waiting for it, {most} at most");
            progress(match reported.replace(message.to_owned()) {
                None => RunProgress::Warning(waiting),
                Some(_) => RunProgress::Step(waiting),
            });
        }
        std::thread::sleep(LOOK_EVERY);
        true
    });
    match taken {
        Err(_) if is_stopped() => Err(LabError::Interrupted),
        Err(TestbedError::Busy { message, hint }) if reported.is_some() => {
            Err(TestbedError::Busy { message: format!("{message}; waited {most}"), hint }.into())
        }
        taken => Ok(taken?),
    }
}

/// Takes the host for this run and makes sure that the plan's systems can be made. What needs no host to itself is checked before
/// it is waited for. The lock holds until it is dropped.
pub(crate) fn check(
    plan: &Plan,
    secrets: &RunSecrets,
    options: &mut RunOptions<'_>,
) -> Result<HostLock, LabError> {
    preflight::check_writable(options.run_file.parent().unwrap_or(Path::new(".")))?;
    commands(plan, &options.environment)?;
    folder_names(plan, &options.work_dir, &options.environment)?;
    if !options.wait.is_zero() {
        // It does not wait for what cannot run. Topics of the run that has the host are no leftovers, so nothing is reported yet.
        attached_fit(plan, secrets, &mut |_| ())?;
    }
    let lock = take_host(plan, options)?;
    if let Some(parent) = options.work_dir.parent() {
        leftovers::sweep(parent);
    }
    leftovers::sweep(&options.environment.memory_dir);
    cpu_limit::sweep();
    let capacity = Capacity::read();
    plan.every_case().try_for_each(|case| connections::check(plan, case, &capacity))?;
    attached_fit(plan, secrets, &mut *options.progress)?;
    for (case, cluster) in local(plan) {
        room(plan, case, cluster, &options.work_dir, &options.environment)?;
        cluster.cpu_limit.map_or(Ok(()), cpu_limit::check)?;
    }
    if let Some(warning) = heaps(plan).and_then(|(heaps, free)| heaps.warning(free)) {
        (options.progress)(RunProgress::Warning(warning));
    }
    let progress = RefCell::new(&mut *options.progress);
    let tell = |step: &str| (progress.borrow_mut())(RunProgress::Step(step.to_owned()));
    let mut ready: Vec<&KafkaSource> = Vec::new();
    for (_, cluster) in local(plan) {
        if !ready.contains(&&cluster.kafka) {
            distribution::prepare(&options.environment, &cluster.kafka, &tell)?;
            ready.push(&cluster.kafka);
        }
    }
    Ok(lock)
}

/// Can brokers be given the names of their folders?
pub(crate) fn folder_names(plan: &Plan, work_dir: &Path, environment: &Environment) -> Result<(), LabError> {
    for (_, cluster) in local(plan) {
        for name in preflight::folders(&cluster.storage, work_dir, environment) {
            folder::check_name(&name)?;
        }
    }
    Ok(())
}

/// Is there room for what a trial of the case writes, or what conditions its cluster at a given rate?
pub(crate) fn room(
    plan: &Plan,
    case: &CasePlan,
    cluster: &ClusterPlan,
    work_dir: &Path,
    environment: &Environment,
) -> Result<(), TestbedError> {
    let folders = preflight::log_folders(&cluster.storage, work_dir, environment);
    let of_case = |case: &CasePlan| kdyno_plan::bytes_to_write_of_case(plan, case);
    if let Some(bytes) = of_case(case) {
        let other = other_side(plan, case).filter(|other| {
            other.system.cluster().is_some_and(|of_other| of_other.storage == cluster.storage)
        });
        let of_other = other.and_then(of_case).unwrap_or(0);
        return preflight::check_room(&folders, bytes.saturating_add(of_other));
    }
    // A maximum rate writes what it can; the brokers' retention is then what bounds it.
    let times = topics_at_once(plan);
    let each = |topic: &TopicPlan| replicas(topic) * preflight::least_replica_bytes(cluster, &topic.config);
    let bytes: u64 = case.topics.values().map(each).sum();
    let replicas: u64 = case.topics.values().map(replicas).sum();
    preflight::check_retained(&folders, replicas * times, bytes * times)
}

/// What the other side of a duet runs at once with a case.
fn other_side<'a>(plan: &'a Plan, case: &CasePlan) -> Option<&'a CasePlan> {
    let Strategy::Compare(comparison) = &plan.strategy else { return None };
    let mut pairs = plan.cases.iter().zip(&comparison.b).filter(|_| comparison.design == PairDesign::Duet);
    pairs.find_map(|(a, b)| match (a == case, b == case) {
        (true, _) => Some(b),
        (false, true) => Some(a),
        (false, false) => None,
    })
}

/// Is there room for what a trial of a search writes? Which loads it tries is not known before it begins.
pub(crate) fn room_for_trial(
    plan: &Plan,
    trial: &Trial,
    work_dir: &Path,
    environment: &Environment,
) -> Result<(), TestbedError> {
    if !matches!(plan.strategy, Strategy::Find(_)) || trial.is_conditioning() {
        return Ok(());
    }
    connections::check(plan, &trial.effective, &Capacity::read())?;
    let cluster = trial.effective.system.cluster();
    cluster.map_or(Ok(()), |cluster| room(plan, &trial.effective, cluster, work_dir, environment))
}

/// JVMs of the clusters that run at once, where these are most; `None` without a cluster of our own.
pub(crate) fn jvms(plan: &Plan) -> Option<u64> {
    most_at_once(plan, |cluster| u64::from(cluster.brokers) + u64::from(cluster.mode.nodes_without_broker()))
}

/// What the clusters that run at once add up to, where that is most; `None` without a cluster of our own. In a
/// comparison those of both sides of a case run together; sides with the same system share one.
fn most_at_once(plan: &Plan, of: impl Fn(&ClusterPlan) -> u64) -> Option<u64> {
    let of_case = |case: &CasePlan| case.system.cluster().map(&of);
    match &plan.strategy {
        Strategy::Compare(comparison) => {
            let of_pair = |(a, b): (&CasePlan, &CasePlan)| {
                let other = of_case(b).filter(|_| a.system != b.system);
                of_case(a).into_iter().chain(other).reduce(|sum, one| sum.saturating_add(one))
            };
            plan.cases.iter().zip(&comparison.b).filter_map(of_pair).max()
        }
        Strategy::List(_) | Strategy::Find(_) => plan.every_case().filter_map(of_case).max(),
    }
}

/// Makes sure that each attached cluster is the one meant and can carry its cases.
fn attached_fit(
    plan: &Plan,
    secrets: &RunSecrets,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<(), LabError> {
    let mut known: Option<(&AttachedPlan, Attached)> = None;
    let mut reported: Vec<String> = Vec::new();
    for case in plan.every_case() {
        let Some(target) = case.system.target() else { continue };
        let attached = match known.take().filter(|(plan, _)| *plan == target) {
            Some((_, attached)) => attached,
            None => {
                let attached = Attached::check(target, &secrets.access(target, case)?)?;
                if attached.leftover_topics() > 0 {
                    let step = format!(
                        "{} topics of earlier runs are still on {}; `kdyno clean` removes them",
                        attached.leftover_topics(),
                        target.target
                    );
                    progress(RunProgress::Step(step));
                }
                attached
            }
        };
        attached.check_case(case)?;
        for difference in attached.differences(case) {
            if !reported.contains(&difference) {
                progress(RunProgress::Warning(difference.clone()));
                reported.push(difference);
            }
        }
        known = Some((target, attached));
    }
    Ok(())
}

/// Cases with a cluster of our own.
pub(crate) fn local(plan: &Plan) -> impl Iterator<Item = (&CasePlan, &ClusterPlan)> {
    plan.every_case().filter_map(|case| Some((case, case.system.cluster()?)))
}

/// Whether the programs of all commands and components are there, and what users and jobs are made of; those that begin after
/// another may be made by that.
///
/// # Errors
/// The first one that is not.
pub(crate) fn commands(plan: &Plan, environment: &Environment) -> Result<(), LabError> {
    let commands = plan.every_case().flat_map(|case| &case.commands);
    for (item, command) in commands.filter(|(_, command)| matches!(command.begins, CommandBegins::At(_))) {
        let wrong = |why: String| LabError::Command { item: item.clone(), why };
        if let Some(http) = &command.http {
            kdyno_http_load::check(http).map_err(|error| wrong(error.to_string()))?;
        }
        // The program of a pod is in its image.
        let here = command.run.first().filter(|_| command.pods.is_none());
        let Some(name) = here else { continue };
        find(name, environment).map_err(wrong)?;
    }
    for component in plan.every_case().flat_map(|case| &case.components) {
        let found = match &component.kind {
            ComponentKind::Command(words) | ComponentKind::Proxy(ProxyPlan::Command(words)) => {
                words.first().map_or(Ok(()), |name| find(name, environment).map(drop))
            }
            // It is fetched after the preflight.
            ComponentKind::Proxy(ProxyPlan::Kroxylicious(_)) => Ok(()),
            ComponentKind::Postgres(database) => postgres::find(database.version).map(drop),
        };
        found.map_err(|why| LabError::Component { name: component.name.clone(), why, in_trial: false })?;
    }
    Ok(())
}
