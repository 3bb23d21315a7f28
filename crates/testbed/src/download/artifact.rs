//! One artifact by Maven, without what it needs.

use super::maven;
use crate::environment::Environment;
use crate::error::TestbedError;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pinned, as the goal that fetches releases.
const GOAL: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/// Copies the jar of `GROUP:NAME:VERSION` into a folder, in which a log is left.
///
/// # Errors
/// No Maven, or it could not fetch it; its own first error is quoted.
pub(crate) fn fetch(environment: &Environment, coordinates: &str, folder: &Path) -> Result<(), TestbedError> {
    let program = environment.find_program("mvn").ok_or_else(|| TestbedError::Maven {
        message: format!("no Maven found on PATH; it is needed once to fetch {coordinates}"),
        hint: "install it, e.g. `apt-get install maven`".to_string(),
    })?;
    let log = folder.join("maven.log");
    let output = File::create(&log).map_err(|e| TestbedError::io("cannot create", &log, e))?;
    let errors = output.try_clone().map_err(|e| TestbedError::io("cannot share", &log, e))?;
    let mut command = Command::new(&program);
    command.args(["-q", "-B", GOAL]).arg(format!("-Dartifact={coordinates}"));
    command.arg(maven::define("outputDirectory", folder));
    if let Some(repository) = &environment.maven_repository {
        command.arg(maven::define("maven.repo.local", repository));
    }
    command.current_dir(folder).stdin(Stdio::null()).stdout(output).stderr(errors);
    if maven::run(command, &program, maven::AGENT_TIME_MAX)? {
        return Ok(());
    }
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let first = text
        .lines()
        .find_map(|line| line.split_once("[ERROR]"))
        .map_or("it printed no error", |(_, why)| why.trim());
    Err(TestbedError::Maven {
        message: format!("Maven could not fetch {coordinates}: {}", maven::shorten(first)),
        hint: "check the network and the proxy or mirror in the Maven settings; what was fetched once works offline"
            .to_string(),
    })
}
