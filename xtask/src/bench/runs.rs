//! Runs of kdyno that benchmarks make, and what these found.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::process::words;

/// The document of a `kdyno run … --json`. Figures that are invalid on a small machine are figures all the same (exit code 6).
pub fn document(command: &mut Command) -> anyhow::Result<Value> {
    command.args(["--share", "--yes", "--json", "--no-progress"]);
    let output = command.output().with_context(|| format!("cannot start {}", words(command)))?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: {}", words(command), String::from_utf8_lossy(&output.stderr)))
}

/// The value of a case's finding.
pub fn figure(document: &Value, address: &str) -> anyhow::Result<f64> {
    let is_it = |finding: &&Value| {
        let own = |name: &str| finding[name].as_str().unwrap_or_default();
        finding["scope"]["kind"] == "case" && format!("{}.{}", own("subject"), own("metric")) == address
    };
    let findings = document["findings"].as_array().context("a document without findings")?;
    let value = findings.iter().find(is_it).and_then(|finding| finding["value"].as_f64());
    value.with_context(|| format!("the run has no {address}"))
}
