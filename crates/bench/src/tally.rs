//! `bench-tally`: how late a relay was by its own account, for `make accuracy`.

use anyhow::Context;
use clap::Args;
use kdyno_model::histogram;
use kdyno_testbed::relay;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct BenchTallyArgs {
    /// What the relay wrote
    file: PathBuf,
}

/// Quantiles over all seconds of a relay's file.
pub fn run(args: &BenchTallyArgs) -> anyhow::Result<Value> {
    let tallies = relay::read(&args.file);
    let mut all = None;
    for tally in &tallies {
        let late = tally.late()?;
        match &mut all {
            None => all = Some(late),
            Some(all) => histogram::merge(all, &late)?,
        }
    }
    let late = all.with_context(|| format!("{} has nothing that was passed on", args.file.display()))?;
    let late_ns = json!({"p50": late.value_at_quantile(0.5), "p99": late.value_at_quantile(0.99)});
    Ok(json!({ "late_ns": late_ns }))
}
