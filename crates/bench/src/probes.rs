//! `bench-probes`: what kdyno's probes read of a process and of this host over some time, for `make accuracy`.

use anyhow::ensure;
use clap::Args;
use kdyno_model::event::Subject;
use kdyno_model::probe::ProbeReading;
use kdyno_testbed::probe::ProbeSampler;
use kdyno_testbed::process::ProcessRef;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What `make accuracy` has read.
#[derive(Debug, Args)]
pub struct BenchProbesArgs {
    /// The process
    #[arg(long)]
    pid: u32,
    /// For how long
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
}

/// By how much each counter grew per second, by subject and series.
pub fn run(args: &BenchProbesArgs) -> anyhow::Result<Value> {
    let process = ProcessRef::new(Subject::Process("watched".to_owned()), args.pid);
    let mut sampler = ProbeSampler::new(vec![process], true);
    let started = Instant::now();
    let before = by_name(sampler.sample(0));
    std::thread::sleep(Duration::from_secs(args.seconds));
    let seconds = started.elapsed().as_secs_f64();
    let after = by_name(sampler.sample(0));
    ensure!(sampler.dead().is_empty(), "process {} has ended", args.pid);
    let grown = after.iter().filter_map(|(name, now)| Some((name, (now - before.get(name)?) / seconds)));
    let grown: BTreeMap<&String, f64> = grown.filter(|(name, _)| name.contains("_total")).collect();
    Ok(json!({ "seconds": seconds, "per_s": grown }))
}

fn by_name(readings: Vec<ProbeReading>) -> BTreeMap<String, f64> {
    let named = |one: ProbeReading| (format!("{} {}", one.subject, one.series), one.value);
    readings.into_iter().map(named).collect()
}
