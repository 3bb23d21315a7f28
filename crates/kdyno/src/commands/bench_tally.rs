//! `kdyno bench-tally` (hidden): how late a relay was by its own account, for `make accuracy`.

use crate::cli::BenchTallyArgs;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use kdyno_model::histogram;
use kdyno_testbed::relay;

/// Prints quantiles over all seconds of a relay's file, as JSON.
pub(crate) fn bench_tally(args: &BenchTallyArgs) -> CommandResult {
    let tallies = relay::read(&args.file);
    let mut all = None;
    for tally in &tallies {
        let late = tally.late().map_err(Failure::tool)?;
        match &mut all {
            None => all = Some(late),
            Some(all) => histogram::merge(all, &late).map_err(Failure::tool)?,
        }
    }
    let Some(late) = all else {
        return Err(Failure::tool(format!("{} has nothing that was passed on", args.file.display())));
    };
    let late_ns = serde_json::json!({
        "p50": late.value_at_quantile(0.5), "p99": late.value_at_quantile(0.99), "max": late.max(),
    });
    out::json(&serde_json::json!({ "passed_on": late.len(), "late_ns": late_ns }))?;
    Ok(Exit::Done)
}
