//! `kdyno cluster`: local clusters that outlive a run.

use crate::cli::{ClusterDownArgs, ClusterListArgs, ClusterTargetArgs, ClusterUpArgs};
use crate::environment::ProgramEnvironment;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{moment, out};
use kdyno_model::plan::{ClusterPlan, KafkaSource, Storage};
use kdyno_scenario::units::{self, Dimension};
use kdyno_testbed::cluster::{PARTITION_REPLICAS_DEFAULT, StartOptions};
use kdyno_testbed::registry::{self, RunningCluster};
use kdyno_testbed::{TestbedError, distribution, preflight};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Starts a cluster and leaves it running.
pub(crate) fn up(args: &ClusterUpArgs) -> CommandResult {
    let plan = plan(args)?;
    stand(&args.name, &plan, PARTITION_REPLICAS_DEFAULT, &ProgramEnvironment::read()?)
}

/// Starts what the plan says under this name, prints where it can be reached. It is to hold so many replicas of
/// partitions.
pub(crate) fn stand(
    name: &str,
    plan: &ClusterPlan,
    partition_replicas: u64,
    environment: &ProgramEnvironment,
) -> CommandResult {
    kdyno_testbed::cluster::check(plan)
        .map_err(|error| Failure::usage(&error).maybe_hint(error.hint().map(ToOwned::to_owned)))?;
    let folders = preflight::log_folders(
        &plan.storage,
        &registry::work_dir(&environment.testbed, name)?,
        &environment.testbed,
    );
    let bytes = partition_replicas.saturating_mul(preflight::least_replica_bytes(plan, &BTreeMap::new()));
    preflight::check_retained(&folders, partition_replicas, bytes)?;
    let free = kdyno_testbed::host::memory_available_bytes();
    let heaps = preflight::heap_bytes(plan);
    if let Some(warning) = free.and_then(|free| preflight::brokers_memory_warning(heaps, free)) {
        out::note(&format!("warning: {warning}"));
    }
    let tell = |step: &str| out::note(step);
    distribution::prepare(&environment.testbed, &plan.kafka, &tell)?;
    // The registry chooses the folder: it must find it again.
    let folder = PathBuf::new();
    let options = StartOptions {
        partition_replicas,
        ..StartOptions::new(&environment.testbed, environment.self_exe.clone(), folder, name, &tell)
    };
    out::note(&format!("starting {name} …"));
    let running = registry::up(name, plan, options)?;
    let seconds = running.facts.get("ready_ms").and_then(|ms| ms.parse::<f64>().ok()).map(|ms| ms / 1000.0);
    let after = seconds.map(|seconds| format!(" after {seconds:.1} s")).unwrap_or_default();
    out::note(&format!("{name} is running{after}; `kdyno cluster down {name}` ends it and removes its data"));
    out::note(&format!(
        "`kdyno cluster target {name} > {name}.yaml && chmod 600 {name}.yaml` makes a target file, with which `kdyno run` measures it"
    ));
    if let Some(path) = &running.client_properties {
        out::note(&format!(
            "what clients need to connect, secrets included, is in {}, for `--command-config` of `kdyno quick` and of Kafka's tools",
            path.display()
        ));
    }
    out::text(format!("{}\n", running.bootstrap.join(",")))?;
    Ok(Exit::Done)
}

/// Lists what is running.
pub(crate) fn list(args: &ClusterListArgs) -> CommandResult {
    let running = registry::list(&ProgramEnvironment::read()?.testbed)?;
    if args.json {
        let list = serde_json::to_value(&running)
            .map_err(|e| Failure::tool(format!("could not write the list as JSON: {e}")))?;
        out::json(&list)?;
    } else if running.is_empty() {
        out::note("no cluster is running");
    } else {
        out::text(running.iter().map(line).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// Prints what `kdyno run --target` needs to measure a running cluster.
pub(crate) fn target(args: &ClusterTargetArgs) -> CommandResult {
    let running = registry::find(&ProgramEnvironment::read()?.testbed, &args.name)?;
    out::data(target_text(&running))?;
    Ok(Exit::Done)
}

/// Ends one, or all.
pub(crate) fn down(args: &ClusterDownArgs) -> CommandResult {
    let environment = ProgramEnvironment::read()?.testbed;
    let names = match args.all {
        true => registry::list(&environment)?.into_iter().map(|running| running.name).collect(),
        false => vec![args.name.clone()],
    };
    for name in names {
        registry::down(&environment, &name)?;
        out::note(&format!("{name} is down, its data removed"));
    }
    Ok(Exit::Done)
}

/// What may be done to a local cluster. A search has to know when to stop: only where nothing could be written any more, since
/// it has no other user to protect.
const GUARD: &str =
    "guard: {prefix: kdyno-, allow: [rate-max, find], abort_if: [offline_partitions > 0 for 1m]}";

/// A target file for a running cluster. It is the user's own, so nothing is capped, and `rate: max` and a search are allowed.
fn target_text(running: &RunningCluster) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let client = match &running.client_properties {
        Some(path) => format!("properties: {}", quoted(&path.to_string_lossy())),
        None => {
            let addresses: Vec<String> = running.bootstrap.iter().map(|address| quoted(address)).collect();
            format!("bootstrap: [{}]", addresses.join(", "))
        }
    };
    format!(
        "kdyno: 1\ntarget: {}\ncluster_id: {}\nclient: {{{client}}}\n{GUARD}\n",
        quoted(&running.name),
        quoted(running.facts.get("cluster_id").map_or("?", String::as_str)),
    )
}

fn line(running: &RunningCluster) -> String {
    let fact = |name: &str| running.facts.get(name).map_or("?", String::as_str);
    let dead = running.dead();
    let dead = if dead.is_empty() {
        String::new()
    } else {
        format!("  ended: {}", dead.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    };
    let properties = running.client_properties.as_ref();
    let properties =
        properties.map(|path| format!("  client properties {}", path.display())).unwrap_or_default();
    format!(
        "{}  Kafka {}  {}  brokers {}  since {}  {}  cluster id {}{properties}{dead}\n",
        running.name,
        fact("kafka"),
        fact("mode"),
        fact("brokers"),
        moment::readable(running.since_unix_ns),
        running.bootstrap.join(","),
        fact("cluster_id"),
    )
}

fn plan(args: &ClusterUpArgs) -> Result<ClusterPlan, Failure> {
    let kafka = match (&args.home, &args.source) {
        (Some(home), _) => KafkaSource::Home(home.clone()),
        (None, Some(source)) => KafkaSource::Source(source.clone()),
        (None, None) => KafkaSource::Release(args.kafka.clone()),
    };
    Ok(ClusterPlan {
        cpu_limit: None,
        kafka,
        mode: args.mode,
        brokers: args.brokers,
        heap_bytes: units::whole(&args.heap, Dimension::Bytes)
            .map_err(|why| Failure::usage(format!("--heap {}: {why}", args.heap)))?,
        jvm_options: Vec::new(),
        config: args.config.iter().cloned().collect(),
        pinned_to: Vec::new(),
        racks: Vec::new(),
        storage: Storage::Disk,
        metrics: Default::default(),
        mbeans: Vec::new(),
        listeners: args.listeners.listeners(),
        zones: None,
        ignored: BTreeMap::new(),
        quotas: None,
        is_second: false,
    })
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        let exit = match error {
            TestbedError::Impossible(_) => Exit::Usage,
            _ => Exit::ToolFailed,
        };
        let hint = error.hint().map(ToOwned::to_owned);
        Self::new(exit, &error).maybe_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_scenario::target::TargetFile;
    use kdyno_testbed::process::ProcessId;

    #[test]
    fn what_is_printed_is_a_target_file() {
        let running = RunningCluster {
            name: "007".to_owned(),
            bootstrap: vec!["127.0.0.1:9092".to_owned(), "127.0.0.1:9093".to_owned()],
            facts: BTreeMap::from([("cluster_id".to_owned(), "-Bx_1".to_owned())]),
            since_unix_ns: 0,
            processes: vec![],
            command_lines: BTreeMap::new(),
            guard: ProcessId::current(),
            metrics: vec![],
            work_dir: PathBuf::new(),
            client_properties: None,
        };
        let file = TargetFile::parse(&target_text(&running), "printed").expect("a target file");
        let target = file.resolve(None).expect("a target").attached;
        assert_eq!((target.target.as_str(), target.cluster_id.as_str()), ("007", "-Bx_1"));
        assert_eq!(target.bootstrap, running.bootstrap);
        assert_eq!((target.allow.join(" "), target.abort_if.len()), ("rate-max find".to_owned(), 1));
        let path = PathBuf::from("/state/clusters/007/client.properties");
        let secured = RunningCluster { client_properties: Some(path), ..running };
        let file = TargetFile::parse(&target_text(&secured), "printed").expect("a target file");
        assert_eq!(file.properties(), Some("/state/clusters/007/client.properties"));
    }
}
