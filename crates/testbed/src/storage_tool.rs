//! Runs Kafka's own storage formatter for what only it can know: the features a new cluster begins with.
//!
//! The checkpoint it writes holds no node or cluster id, so one copy per release serves every
//! controller of every cluster, and no broker start waits for a second JVM. `meta.properties` we write ourselves.

use crate::error::TestbedError;
use crate::folder::{create_folder, remove_folder};
use crate::java::JavaInstallation;
use kdyno_model::version::Version;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the checkpoint is kept as.
pub(crate) const CHECKPOINT: &str = "bootstrap.checkpoint";
/// Where it lies beneath a controller's data folder when it is the first snapshot of the metadata log.
const FIRST_SNAPSHOT: &str = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint";
/// Any valid id: it does not get into the checkpoint.
const CLUSTER_ID: &str = "kdynokdynokdynokdynoAA";

/// Where a controller of this release looks for the checkpoint, beneath its first data folder.
pub(crate) fn checkpoint_place(version: &Version) -> &'static str {
    if version.bootstraps_in_log() { FIRST_SNAPSHOT } else { CHECKPOINT }
}

/// Formats `scratch` as a controller with the given further settings, and keeps the checkpoint as `to`.
///
/// # Errors
/// The tool cannot be run or refuses the settings: its own message is shown.
pub(crate) fn make_checkpoint(
    java: &JavaInstallation,
    classpath: &str,
    version: &Version,
    scratch: &Path,
    settings: &[(&str, &str)],
    to: &Path,
) -> Result<(), TestbedError> {
    create_folder(scratch)?;
    let data = scratch.join("data");
    let mut text = format!(
        "process.roles=broker,controller\nnode.id=0\ncontroller.quorum.voters=0@127.0.0.1:9093\n\
         listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n\
         log.dirs={}\n",
        data.display()
    );
    for (key, value) in settings {
        text.push_str(&format!("{key}={value}\n"));
    }
    let config = scratch.join("format.properties");
    std::fs::write(&config, text).map_err(|e| TestbedError::io("cannot write", &config, e))?;
    let output = Command::new(&java.program)
        .args(["-Xmx256M", "-Djava.awt.headless=true", "-cp", classpath, "kafka.tools.StorageTool", "format"])
        .args(["-t", CLUSTER_ID, "-c"])
        .arg(&config)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| TestbedError::io("cannot run", &java.program, e))?;
    if !output.status.success() {
        let log_tail: Vec<String> = [output.stdout, output.stderr]
            .iter()
            .flat_map(|bytes| String::from_utf8_lossy(bytes).lines().map(str::to_string).collect::<Vec<_>>())
            .collect();
        let cause = crate::cluster::diagnose::cause(&log_tail);
        return Err(TestbedError::Failed {
            message: format!("Kafka {} could not format its storage: {}", version.text, cause.message),
            hint: cause.hint,
            log_tail,
        });
    }
    std::fs::copy(data.join(checkpoint_place(version)), to)
        .map_err(|e| TestbedError::io("cannot keep", to, e))?;
    remove_folder(scratch)
}
