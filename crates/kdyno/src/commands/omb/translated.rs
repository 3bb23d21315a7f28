//! A workload and a driver as they are read from files, the scenario that they come to, and its plan.

use super::lines;
use crate::cli::OmbArgs;
use crate::commands::written_scenario::planned;
use crate::execution::{PlannedExecution, TargetFiles};
use crate::failure::Failure;
use crate::scenario_source::{first_bytes_of_file, read_bytes};
use kdyno_model::plan::GIVEN_BYTES_MAX;
use kdyno_plan::PlanQuestion;
use kdyno_scenario::input::InputError;
use kdyno_scenario::omb::{DELIMITER, OmbChoices, OmbDriver, OmbScenario, OmbWorkload, scenario};
use kdyno_scenario::target::Target;
use kdyno_scenario::yaml;
use std::path::{Path, PathBuf};

/// A workload with a driver, as they were read and what they come to.
pub(super) struct OmbRun {
    /// The workload file's name without its ending.
    pub(super) stem: String,
    pub(super) workload: OmbWorkload,
    pub(super) driver: OmbDriver,
    pub(super) scenario: OmbScenario,
}

/// Reads a driver file.
pub(super) fn driver(path: &Path) -> Result<OmbDriver, Failure> {
    let (name, bytes) = (path.display().to_string(), read_bytes(path, "driver file")?);
    let text = yaml::decode(&bytes, &name)?;
    let mut driver = OmbDriver::read(text).map_err(|error| error.in_file(&name))?;
    if driver.name.is_empty() {
        driver.name = stem(path);
    }
    Ok(driver)
}

/// A file's name without its ending.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a workload file.
pub(super) fn workload(path: &Path) -> Result<OmbWorkload, Failure> {
    let (name, bytes) = (path.display().to_string(), read_bytes(path, "workload file")?);
    let text = yaml::decode(&bytes, &name)?;
    let mut workload = OmbWorkload::read(text).map_err(|error| error.in_file(&name))?;
    if workload.name.is_empty() {
        workload.name = stem(path);
    }
    Ok(workload)
}

/// What a workload comes to with a driver; what is wrong whatever the cluster is, is refused before anything is started.
pub(super) fn translated(
    (path, workload): (&Path, &OmbWorkload),
    (driver_path, driver): &(&Path, OmbDriver),
    args: &OmbArgs,
) -> Result<OmbRun, Failure> {
    let both = || format!("{} with {}", path.display(), driver_path.display());
    let choices = OmbChoices {
        duration: args.duration.as_deref(),
        warmup: args.warmup.as_deref(),
        payload: &|named, bytes| payload(path, named, bytes),
    };
    let stem = stem(path);
    let scenario = scenario(&stem, workload, driver, &choices).map_err(|error| error.in_file(&both()))?;
    let run = OmbRun { stem, workload: workload.clone(), driver: driver.clone(), scenario };
    plan(&run, None).map_err(|error| InputError { file: both(), place: None, ..error })?;
    Ok(run)
}

/// The whole path of a payload file, which OMB looks up where it is started; here also next to the workload and above it.
pub(super) fn payload(workload: &Path, named: &str, bytes: u32) -> Result<String, String> {
    let folder = workload.parent().unwrap_or(Path::new(""));
    let places = [PathBuf::from(named), folder.join(named), folder.join("..").join(named)];
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        return Err("there is no such file here, next to the workload or in the folder above it".to_owned());
    };
    let content = first_bytes_of_file(path, GIVEN_BYTES_MAX + 1)?;
    if content.len() as u64 != u64::from(bytes) {
        return Err(format!("the file has {} bytes, and `messageSize` is {bytes}", content.len()));
    }
    if content.windows(DELIMITER.len()).any(|part| part == DELIMITER.as_bytes()) {
        return Err("the file has kdyno's own delimiter in it".to_owned());
    }
    let path = path.canonicalize().map_err(|error| format!("could not be read: {error}"))?;
    path.to_str().map(str::to_owned).ok_or_else(|| "the path is not UTF-8".to_owned())
}

/// Plans it for a cluster, or for a local one.
pub(super) fn plan(run: &OmbRun, target: Option<Target>) -> Result<PlannedExecution, InputError> {
    let OmbScenario { id, text, .. } = &run.scenario;
    let (mut plan, remarks) = planned((text, id), target, &[], PlanQuestion::Scenario)?;
    lines::keep_service(&mut plan);
    Ok(PlannedExecution {
        plan,
        scenario_text: text.clone(),
        scenario_path: id.clone(),
        target_files: TargetFiles::new(),
        remarks,
        resumed: None,
    })
}
