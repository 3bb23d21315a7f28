//! `kdyno omb`: drivers and workloads of the OpenMessaging Benchmark as they are.
//!
//! Each workload with each driver becomes a scenario and is run as any other. Standard output has OMB's lines every 10 s and
//! then the run's own answer; a file has OMB's result. What a scenario cannot say is refused, and the others are run.

mod lines;
mod result;
mod translated;

#[cfg(test)]
mod tests;

use super::quick::abort_if;
use super::typed_cluster::{ask_cluster_id, attached, bootstrap};
use crate::cli::OmbArgs;
use crate::execution::execute_with;
use crate::failure::{CommandResult, Exit, Failure};
use crate::target_source::with_properties;
use crate::{moment, out};
use kdyno_scenario::input::{InputError, listed, quoted};
use kdyno_scenario::omb::OmbDriver;
use kdyno_scenario::security::{ClientProperties, client_properties};
use kdyno_scenario::target::Target;
use lines::OmbLines;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use translated::{OmbRun, driver, plan, stem, translated, workload};

/// Name of the target.
const TARGET: &str = "omb";

/// Translates all, runs what can be run, and ends with the first exit code that is not 0.
pub(crate) fn omb(mut args: OmbArgs) -> CommandResult {
    if args.execution.generators.is_some() {
        let message = "a result of OMB's has no way to say that end-to-end latencies are unknown, as they are where other \
                       hosts generate the load";
        return Err(
            Failure::usage(message).hint("--print-scenario writes what `kdyno run --generators` takes")
        );
    }
    let drivers = args.drivers.iter().map(|path| Ok((path.as_path(), driver(path)?)));
    let mut drivers = drivers.collect::<Result<Vec<_>, Failure>>()?;
    keep_apart(drivers.iter_mut().map(|(path, driver)| (*path, &mut driver.name)).collect())?;
    let mut exit = Exit::Done;
    let mut note = |failure: &Failure| {
        out::failure(failure);
        exit = if exit == Exit::Done { failure.exit } else { exit };
    };
    let mut workloads = Vec::new();
    for path in sorted(&args.workloads) {
        match workload(path) {
            Ok(workload) => workloads.push((path, workload)),
            Err(failure) => note(&failure),
        }
    }
    keep_apart(workloads.iter_mut().map(|(path, workload)| (*path, &mut workload.name)).collect())?;
    let mut runs = Vec::new();
    for (path, workload) in &workloads {
        let with = drivers.iter().map(|driver| translated((*path, workload), driver, &args));
        with.for_each(|run| run.map_or_else(|failure| note(&failure), |run| runs.push(run)));
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
            let is_stopped = failure.exit == Exit::Interrupted;
            unwritten(run, if is_stopped { "it was interrupted" } else { "it failed" }, failure.exit)
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

/// Adds the file's name to names that several files have: lines, names of results and charts go by them.
fn keep_apart(named: Vec<(&Path, &mut String)>) -> Result<(), Failure> {
    let known: Vec<(&Path, String)> = named.iter().map(|(path, name)| (*path, (*name).clone())).collect();
    for (path, name) in named {
        let is_other = |(other, known): &&(&Path, String)| known == name && *other != path;
        let others: Vec<&Path> = known.iter().filter(is_other).map(|(other, _)| *other).collect();
        if let Some(other) = others.iter().find(|other| other.file_stem() == path.file_stem()) {
            let message = format!(
                "{} and {} have one `name`, {}, and one file name: nothing would distinguish their results",
                path.display(),
                other.display(),
                quoted(name)
            );
            return Err(Failure::usage(message).hint("give one of them another `name`"));
        }
        if !others.is_empty() {
            *name = format!("{name} {}", stem(path));
        }
    }
    Ok(())
}

/// The folder of several results, where one is named. What is not there is made before anything runs.
fn output(args: &OmbArgs, runs: usize) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = &args.output else { return Ok(Some(PathBuf::new())) };
    let is_typed_as_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let is_free = !path.exists() && path.extension().is_none_or(|ending| ending != "json");
    match path.is_dir() || is_typed_as_folder || (runs > 1 && is_free) {
        true => {
            out::make_folder(path)?;
            Ok(Some(path.clone()))
        }
        false if runs > 1 => {
            let message =
                format!("--output: {runs} runs have as many results, and {} is no folder", path.display());
            Err(Failure::usage(message).hint("name a folder, or leave --output out"))
        }
        false => {
            out::make_folder(path.parent().unwrap_or(Path::new("")))?;
            Ok(None)
        }
    }
}

/// The cluster that was typed, asked who it is; none where a local one is to be started.
fn target(args: &OmbArgs, driver: &OmbDriver) -> Result<Option<Target>, Failure> {
    if args.bootstrap_server.is_empty() && args.command_config.is_none() {
        if let Some(addresses) = &driver.bootstrap {
            out::note_once(&format!(
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

/// Runs one, prints as OMB does, and writes its result.
fn measured(run: &OmbRun, target: Option<Target>, args: &OmbArgs, folder: Option<&Path>) -> CommandResult {
    if !args.execution.quiet {
        out::note(&format!("workload {}, driver {}", run.workload.name, run.driver.name));
        run.scenario.notes.iter().for_each(|note| out::note_once(note));
    }
    let planned = plan(run, target).map_err(|error| InputError { place: None, ..error })?;
    let mut lines = OmbLines::new(&run.workload, args.execution.quiet || args.execution.json);
    let (exit, file) = execute_with(planned, &args.execution, &mut |progress| lines.hear(progress))?;
    lines.failure()?;
    let Some(result) = result::of(run, &file)? else {
        let why = if run.workload.is_search() {
            "no load of the search was sustained"
        } else {
            "nothing was measured"
        };
        return Ok(unwritten(run, why, exit));
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

/// Says that a run has no result, which scripts wait for: it never ends with 0.
fn unwritten(run: &OmbRun, why: &str, exit: Exit) -> Exit {
    let exit = if exit == Exit::Done { Exit::Inconclusive } else { exit };
    let (workload, driver) = (&run.workload.name, &run.driver.name);
    out::note(&format!(
        "no result of OMB's is written of workload {workload}, driver {driver}: {why}; exit code {}",
        exit as u8
    ));
    exit
}

/// A name as a part of a file's name.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect()
}
