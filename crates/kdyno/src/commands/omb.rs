//! `kdyno omb`: drivers and workloads of the OpenMessaging Benchmark as they are.
//!
//! Each workload with each driver becomes a scenario and is run as any other. Standard output has OMB's lines every 10 s and
//! then the run's own answer; a file has OMB's result. What a scenario cannot say is refused, and the others are run.

mod lines;
mod result;

#[cfg(test)]
mod tests;

use super::quick::abort_if;
use super::typed_cluster::{ask_cluster_id, attached, bootstrap};
use super::written_scenario::planned;
use crate::cli::OmbArgs;
use crate::execution::{PlannedExecution, TargetFiles, execute_with};
use crate::failure::{CommandResult, Exit, Failure};
use crate::scenario_source::{first_bytes_of_file, read_bytes};
use crate::target_source::with_properties;
use crate::{moment, out};
use kdyno_model::plan::GIVEN_BYTES_MAX;
use kdyno_plan::PlanQuestion;
use kdyno_scenario::input::{InputError, listed};
use kdyno_scenario::omb::{DELIMITER, OmbChoices, OmbDriver, OmbScenario, OmbWorkload, scenario};
use kdyno_scenario::security::{ClientProperties, client_properties};
use kdyno_scenario::target::Target;
use kdyno_scenario::yaml;
use lines::OmbLines;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the target.
const TARGET: &str = "omb";

/// A workload with a driver, as they were read and what they come to.
struct OmbRun {
    /// The workload file's name without its ending.
    stem: String,
    workload: OmbWorkload,
    driver: OmbDriver,
    scenario: OmbScenario,
}

/// Translates all, runs what can be run, and ends with the first exit code that is not 0.
pub(crate) fn omb(mut args: OmbArgs) -> CommandResult {
    let drivers = args.drivers.iter().map(|path| Ok((path.as_path(), driver(path)?)));
    let drivers = drivers.collect::<Result<Vec<_>, Failure>>()?;
    let mut exit = Exit::Done;
    let mut note = |failure: &Failure| {
        out::failure(failure);
        exit = if exit == Exit::Done { failure.exit } else { exit };
    };
    let mut runs = Vec::new();
    for path in sorted(&args.workloads) {
        match workload(path) {
            Ok(workload) => {
                let with = drivers.iter().map(|driver| translated((path, &workload), driver, &args));
                with.for_each(|run| run.map_or_else(|failure| note(&failure), |run| runs.push(run)));
            }
            Err(failure) => note(&failure),
        }
    }
    if args.print_scenario {
        let texts: Vec<&str> = runs.iter().map(|run| run.scenario.text.as_str()).collect();
        out::text(texts.join("---\n"))?;
        return Ok(exit);
    }
    let folder = output(&args, runs.len())?;
    // Lines of OMB take the place of ours.
    args.execution.no_progress = true;
    for run in &runs {
        let ended =
            target(&args, &run.driver).and_then(|target| measured(run, target, &args, folder.as_deref()));
        let ended = ended.unwrap_or_else(|failure| {
            out::failure(&failure);
            failure.exit
        });
        exit = if exit == Exit::Done { ended } else { exit };
        if ended == Exit::Interrupted {
            return Ok(ended);
        }
    }
    Ok(exit)
}

/// Workload files in the order of their names, as OMB runs them.
fn sorted(paths: &[PathBuf]) -> Vec<&Path> {
    let mut paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    paths.sort_by_key(|path| path.file_stem());
    paths
}

fn driver(path: &Path) -> Result<OmbDriver, Failure> {
    let (name, bytes) = (path.display().to_string(), read_bytes(path, "driver file")?);
    let text = yaml::decode(&bytes, &name)?;
    let mut driver = OmbDriver::read(text).map_err(|error| error.in_file(&name))?;
    if driver.name.is_empty() {
        driver.name = stem(path);
    }
    Ok(driver)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn workload(path: &Path) -> Result<OmbWorkload, Failure> {
    let (name, bytes) = (path.display().to_string(), read_bytes(path, "workload file")?);
    let text = yaml::decode(&bytes, &name)?;
    let mut workload = OmbWorkload::read(text).map_err(|error| error.in_file(&name))?;
    if workload.name.is_empty() {
        workload.name = stem(path);
    }
    Ok(workload)
}

/// What a workload comes to with a driver; what is wrong whatever the cluster is, is refused before anything is started.
fn translated(
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
fn payload(workload: &Path, named: &str, bytes: u32) -> Result<String, String> {
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

/// The folder of several results, where one is named.
fn output(args: &OmbArgs, runs: usize) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = &args.output else { return Ok(Some(PathBuf::new())) };
    match path.is_dir() {
        true => Ok(Some(path.clone())),
        false if runs > 1 => {
            let message =
                format!("--output: {runs} runs have as many results, and {} is no folder", path.display());
            Err(Failure::usage(message).hint("name a folder that is there, or leave --output out"))
        }
        false => Ok(None),
    }
}

/// The cluster that was typed, asked who it is; none where a local one is to be started.
fn target(args: &OmbArgs, driver: &OmbDriver) -> Result<Option<Target>, Failure> {
    if args.bootstrap_server.is_empty() && args.command_config.is_none() {
        if let Some(addresses) = &driver.bootstrap {
            out::note(&format!(
                "`bootstrap.servers` of the driver file is not used, and a local cluster is started: --bootstrap-server \
                 {addresses} measures that one"
            ));
        }
        return Ok(None);
    }
    let properties = match &args.command_config {
        None if !driver.reach.is_empty() => {
            let names = listed(driver.reach.iter().map(String::as_str));
            let message = format!(
                "the driver file says with {names} how its cluster is reached, which is not taken from there"
            );
            return Err(Failure::usage(message)
                .hint("write these lines into a file of their own and name it with --command-config"));
        }
        None => ClientProperties::default(),
        Some(path) => with_properties(path, |file| client_properties(file, &BTreeMap::new()))?,
    };
    let addresses = bootstrap(&args.bootstrap_server, args.command_config.as_deref(), &properties)?;
    let mut attached = attached(TARGET, addresses, &properties, BTreeMap::new());
    // The typed volume is intended, and above 1 GiB it is asked.
    attached.allow = ["rate-max", "find"].map(str::to_owned).to_vec();
    attached.abort_if = abort_if();
    ask_cluster_id(&mut attached, &properties.secrets, &|name| std::env::var_os(name))?;
    Ok(Some(Target { attached, secrets: properties.secrets, notes: Vec::new() }))
}

fn plan(run: &OmbRun, target: Option<Target>) -> Result<PlannedExecution, InputError> {
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

/// Runs one, prints as OMB does, and writes its result.
fn measured(run: &OmbRun, target: Option<Target>, args: &OmbArgs, folder: Option<&Path>) -> CommandResult {
    if !args.execution.quiet {
        out::note(&format!("workload {}, driver {}", run.workload.name, run.driver.name));
        run.scenario.notes.iter().for_each(|note| out::note(note));
    }
    let planned = plan(run, target).map_err(|error| InputError { place: None, ..error })?;
    let mut lines = OmbLines::new(run.workload.subscriptions, args.execution.quiet || args.execution.json);
    let (exit, file) = execute_with(planned, &args.execution, &mut |progress| lines.hear(progress))?;
    lines.failure()?;
    let Some(result) = result::of(run, &file)? else {
        out::note("no result of OMB's is written: no load of the search was sustained");
        return Ok(exit);
    };
    let name = || {
        format!("{}-{}-{}.json", run.stem, plain(&run.driver.name), moment::file_name(moment::now_unix_ns()))
    };
    let path = match (folder, &args.output) {
        (None, Some(path)) => path.clone(),
        (folder, _) => folder.unwrap_or(Path::new("")).join(name()),
    };
    let text = serde_json::to_string_pretty(&result).map_err(Failure::tool)?;
    out::file(&path, text + "\n")?;
    out::note(&format!("result  {}", path.display()));
    Ok(exit)
}

/// A name as a part of a file's name.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect()
}
