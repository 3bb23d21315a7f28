//! librdkafka's own benchmark program, built from the source that the published `rdkafka-sys` crate
//! carries. Everything stays below target/.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::process::measured;
use super::setup::Setup;

/// One exact version, so that figures of two days mean the same peer.
const CRATE: &str = "=4.10.0";

/// Neither TLS nor codecs are measured; without them the build needs nothing but a C compiler.
const CONFIGURE: &str = "--disable-ssl --disable-sasl --disable-gssapi --disable-zlib --disable-zstd --disable-lz4-ext \
                         --disable-curl";

/// The built program; builds it the first time (about a minute).
pub fn program(bench: &Setup) -> anyhow::Result<PathBuf> {
    let folder = bench.folder.join("librdkafka");
    let program = folder.join("examples/rdkafka_performance");
    if program.exists() {
        return Ok(program);
    }
    println!("  building librdkafka (crate rdkafka-sys {CRATE})");
    let source = source(bench)?;
    // A build that was cut off leaves files that the next one would trust.
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&bench.folder)?;
    measured(Command::new("cp").arg("-r").args([&source, &folder]))?;
    measured(Command::new("chmod").args(["-R", "u+w"]).arg(&folder))?;
    measured(Command::new("./configure").args(CONFIGURE.split(' ')).current_dir(&folder))?;
    measured(make(&folder).args(["-j2", "libs"]))?;
    measured(make(&folder).args(["-C", "examples", "rdkafka_performance"]))?;
    ensure!(program.exists(), "the build made no {}", program.display());
    Ok(program)
}

/// A plain `make`: this one may itself run below `make bench`, whose job server is not for it.
fn make(folder: &Path) -> Command {
    let mut command = Command::new("make");
    command.current_dir(folder).env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS");
    command
}

/// Where Cargo has unpacked the crate: a throwaway manifest makes it fetch it.
fn source(bench: &Setup) -> anyhow::Result<PathBuf> {
    let folder = bench.folder.join("librdkafka-fetch");
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"peer\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nrdkafka-sys = \"{CRATE}\"\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let metadata =
        measured(Command::new(cargo).args(["metadata", "--format-version=1"]).current_dir(&folder))?;
    let metadata: Value = serde_json::from_str(&metadata.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let package = packages.iter().find(|package| package["name"].as_str() == Some("rdkafka-sys"));
    let manifest = package.and_then(|package| package["manifest_path"].as_str()).context("no rdkafka-sys")?;
    Ok(Path::new(manifest).parent().context("a manifest lies in a folder")?.join("librdkafka"))
}

/// Seconds from the program's start of the clock to the last delivery, by its last summary line; failed records void it.
pub fn reported_s(stdout: &str) -> anyhow::Result<f64> {
    let line = stdout.lines().rfind(|line| line.contains(" delivered ")).context("no summary line")?;
    let before = line.split("ms: ").next().unwrap_or_default();
    let time = before.rsplit(' ').next().unwrap_or_default();
    ensure!(line.contains(", 0 failed)"), "records failed: {line}");
    let ms: f64 = time.parse().with_context(|| format!("no time in: {line}"))?;
    Ok(ms / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_the_last_summary() {
        let line = |ms: u32, failed: u32| {
            format!(
                "% 10 messages produced (1280 bytes), 10 delivered (offset 3, {failed} failed) in {ms}ms: \
                 2000 msgs/s and 1.00 MB/s, 0 produce failures, 0 in queue, no compression\n"
            )
        };
        let found_s = reported_s(&format!("{}{}", line(1, 0), line(2500, 0))).expect("a time");
        assert!((found_s - 2.5).abs() < 1e-9);
        assert!(reported_s(&line(5, 1)).is_err(), "failed records void the figure");
        assert!(reported_s("").is_err());
    }
}
