//! `kdyno bench-probes` (hidden): what kdyno's probes read of a process and of this host over some time, for `make accuracy`.

use crate::cli::BenchProbesArgs;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use kdyno_model::event::Subject;
use kdyno_model::probe::ProbeReading;
use kdyno_testbed::probe::ProbeSampler;
use kdyno_testbed::process::ProcessRef;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Prints by how much each counter grew per second, as JSON by subject and series.
pub(crate) fn bench_probes(args: &BenchProbesArgs) -> CommandResult {
    let process = ProcessRef::new(Subject::Process("watched".to_owned()), args.pid);
    let mut sampler = ProbeSampler::new(vec![process], true);
    let started = Instant::now();
    let before = by_name(sampler.sample(0));
    std::thread::sleep(Duration::from_secs(args.seconds));
    let seconds = started.elapsed().as_secs_f64();
    let after = by_name(sampler.sample(0));
    if !sampler.dead().is_empty() {
        return Err(Failure::tool(format!("process {} has ended", args.pid)));
    }
    let grown = after.iter().filter_map(|(name, now)| Some((name, (now - before.get(name)?) / seconds)));
    let grown: BTreeMap<&String, f64> = grown.filter(|(name, _)| name.contains("_total")).collect();
    out::json(&serde_json::json!({ "seconds": seconds, "per_s": grown }))?;
    Ok(Exit::Done)
}

fn by_name(readings: Vec<ProbeReading>) -> BTreeMap<String, f64> {
    let named = |one: ProbeReading| (format!("{} {}", one.subject, one.series), one.value);
    readings.into_iter().map(named).collect()
}
