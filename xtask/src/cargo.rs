//! What Cargo reports of this workspace.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// The platform that this compiler builds for.
pub fn host(root: &Path) -> anyhow::Result<String> {
    let said = output(root, "rustc", &["-vV"])?;
    let host =
        said.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    Ok(host.to_owned())
}

/// Packages and what they need on a platform. `further`: arguments, e.g. `--locked`.
pub fn metadata(root: &Path, host: &str, further: &[&str]) -> anyhow::Result<Value> {
    let asked = ["metadata", "--format-version=1", "--filter-platform", host];
    let text = cargo(root, &[&asked[..], further].concat())?;
    serde_json::from_str(&text).context("cargo metadata printed no JSON")
}

/// What Cargo prints.
pub fn cargo(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    output(root, &cargo, arguments)
}

fn output(root: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).current_dir(root).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
