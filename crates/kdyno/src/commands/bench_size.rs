//! `kdyno bench-size` (hidden): what the tables of a run file take, for `make bench`.

use crate::cli::BenchSizeArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::out;
use kdyno_store::RunFile;
use serde_json::json;

/// Prints the bytes of each table, and for how long the probes of its trials were read, as JSON.
pub(crate) fn bench_size(args: &BenchSizeArgs) -> Outcome {
    let file = RunFile::open(&args.run)?;
    let mut probed_ns = 0;
    for start in file.trials()? {
        let probes = file.evidence(start.trial.id)?.probes;
        let instants = || probes.iter().map(|reading| reading.at_ns);
        if let (Some(first), Some(last)) = (instants().min(), instants().max()) {
            probed_ns += last - first;
        }
    }
    if probed_ns == 0 {
        return Err(Failure::tool("nothing was probed"));
    }
    out::json(&json!({ "probed_s": probed_ns as f64 / 1e9, "bytes": file.table_bytes()? }))?;
    Ok(Exit::Done)
}
