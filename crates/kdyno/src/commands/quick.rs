//! `kdyno quick`: a first figure from a cluster, without a file.
//!
//! It writes the scenario and the target that a careful user would, and runs them as any other: one topic
//! of its own, one producer at a modest constant rate, limits that protect the cluster.

use crate::cli::QuickArgs;
use crate::execution::{Planned, TargetFiles, random_u64};
use crate::failure::Failure;
use kdyno_kafka::admin::Admin;
use kdyno_model::address::is_address;
use kdyno_model::plan::{AttachedPlan, Caps, Security};
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::quoted;
use kdyno_scenario::target::{ADDRESS_FORM, Target};
use kdyno_scenario::units::{self, Dimension};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the first connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Caps of a quick look: what a shared cluster bears without anybody noticing.
const CAPS: Caps = Caps {
    produce_bytes_per_s: Some(20 << 20),
    connections: Some(50),
    partitions: Some(60),
    disk_bytes: Some(10 << 30),
    time_ns: Some(10 * 60 * 1_000_000_000),
};

/// Begins the names of topics and client ids.
const PREFIX: &str = "kdyno-";

/// Replicas unless another number is asked for, where there are that many brokers.
const REPLICAS: u32 = 3;

/// Looks at the cluster, writes the scenario, plans it.
pub(crate) fn plan(args: &QuickArgs) -> Result<Planned, Failure> {
    check(args)?;
    let (target, brokers) = look(&args.bootstrap_server)?;
    let text = scenario_text(args, args.replicas.unwrap_or(REPLICAS.min(brokers)));
    let scenario = Scenario::parse(&text, "quick")?;
    let choices = Choices { seed: Some(random_u64()), target: Some(target), ..Choices::default() };
    let plan = kdyno_plan::plan(&scenario, &choices)?;
    Ok(Planned {
        plan,
        scenario_text: text,
        scenario_path: "quick".to_owned(),
        target_files: TargetFiles::new(),
        remarks: Vec::new(),
        resumed: None,
    })
}

/// Longest measured window: a quick look is no endurance test.
const DURATION_NS_MAX: u64 = 5 * 60 * 1_000_000_000;

/// Reads addresses and quantities here, where the message can name the option; the scenario reads them again.
fn check(args: &QuickArgs) -> Result<(), Failure> {
    let option = |name: &str| {
        let name = name.to_owned();
        move |why: String| Failure::usage(format!("--{name}: {why}"))
    };
    if let Some(wrong) = args.bootstrap_server.iter().find(|address| !is_address(address)) {
        return Err(Failure::usage(format!("--bootstrap-server: {} is not HOST:PORT", quoted(wrong)))
            .hint(ADDRESS_FORM));
    }
    units::parse_as(&args.rate, Dimension::PerS).map_err(option("rate"))?;
    units::whole(&args.size, Dimension::Bytes).map_err(option("size"))?;
    let duration_ns = units::whole(&args.duration, Dimension::Ns).map_err(option("duration"))?;
    if duration_ns > DURATION_NS_MAX {
        return Err(Failure::usage(format!("--duration: {} is more than 5m", args.duration))
            .hint("a scenario and a target file run for as long as you like"));
    }
    Ok(())
}

/// Asks the cluster who it is, and how many brokers it has.
fn look(bootstrap: &[String]) -> Result<(Target, u32), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::tool(error).hint("is this the address of a plaintext listener that this host can reach?")
    };
    let client_id = format!("{PREFIX}admin");
    let mut admin =
        Admin::connect(bootstrap, &client_id, CONNECT_DEADLINE).map_err(|error| failed(&error))?;
    let cluster = admin.cluster().map_err(|error| failed(&error))?;
    let attached = AttachedPlan {
        target: "quick".to_owned(),
        bootstrap: bootstrap.to_vec(),
        cluster_id: cluster.cluster_id.unwrap_or_default(),
        security: Security::default(),
        prefix: PREFIX.to_owned(),
        caps: CAPS,
        allow: Vec::new(),
        abort_if: Vec::new(),
        facts: BTreeMap::new(),
        price: None,
        sustain_ns: None,
    };
    let brokers = u32::try_from(cluster.brokers.len()).unwrap_or(u32::MAX).max(1);
    Ok((Target { attached, ignored_properties: Vec::new() }, brokers))
}

/// The scenario, as one would type it. What the user gave is quoted, so that it stays a value.
fn scenario_text(args: &QuickArgs, replicas: u32) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (rate, value) = (quoted(&args.rate), quoted(&args.size));
    let (duration, acks) = (quoted(&args.duration), quoted(&args.acks));
    format!(
        "kdyno: 1
id: quick
question: How soon does this cluster acknowledge a modest, constant load?
topics:
  quick: {{partitions: {partitions}, replicas: {replicas}}}
load:
  writers: {{produce: quick, clients: 1, rate: {rate}, value: {value}, client: {{acks: {acks}}}}}
phases: {{warmup: 3s, measure: {duration}, drain: auto}}
show:
  columns: [writers.offered_per_s, writers.acked_per_s, writers.response.p50, writers.response.p99, writers.failed]
",
        partitions = args.partitions,
    )
}
