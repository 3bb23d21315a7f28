//! What a shell proposes for a word that is being typed: names of scenarios, runs, profiles, parameters and metrics. The
//! script of `kdyno completions` calls the program for it.

use crate::cli;
use crate::environment::{ENDING, runs_dir};
use crate::scenario_source::{self, BUNDLED, last_part};
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use kdyno_scenario::file::RoleFile;
use kdyno_scenario::{Scenario, metric_names};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variable by which a shell's script asks.
pub(crate) const VARIABLE: &str = "KDYNO_COMPLETE";

/// Runs that are proposed: the newest.
const RUNS_MAX: usize = 50;

/// What an argument takes.
type Proposed = fn(&str, &[OsString]) -> Vec<String>;

/// Arguments by their id, of whichever command they are, and whether they take files too.
const NAMES: &[(&str, Proposed, bool)] = &[
    ("scenario", scenarios, true),
    ("what", scenarios_and_runs, true),
    ("run", runs, true),
    ("runs", runs, true),
    ("resume", runs, true),
    ("before", runs, true),
    ("after", runs, true),
    ("profile", profiles, false),
    ("set", params, false),
    ("highest", varied, false),
    ("conditions", metrics, false),
    ("judge", metrics, false),
    ("course", metrics, false),
    ("fail_if", metrics, false),
];

/// Answers a shell that asks, and ends the program then.
pub(crate) fn answer() {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// The commands with what is proposed for their arguments.
fn command() -> Command {
    let command = cli::help::command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            let is_list = sub.get_name() == "scenarios";
            sub.mut_args(|arg| with_names(arg, is_list))
        })
    })
}

fn with_names(arg: Arg, is_list: bool) -> Arg {
    let id = arg.get_id().as_str();
    let known = NAMES.iter().find(|(known, ..)| *known == id).copied();
    let bundled = (is_list && id == "name").then_some(("name", scenarios as Proposed, false));
    let Some((_, names, with_files)) = known.or(bundled) else { return arg };
    arg.add(ArgValueCompleter::new(move |current: &OsStr| {
        let words: Vec<OsString> = std::env::args_os().collect();
        proposed(current, names(&current.to_string_lossy(), &words), with_files)
    }))
}

/// The names that begin with what is typed, and the files.
fn proposed(current: &OsStr, names: Vec<String>, with_files: bool) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let fits = names.into_iter().filter(|name| name.starts_with(&*typed));
    let mut all: Vec<CompletionCandidate> = fits.map(CompletionCandidate::new).collect();
    if with_files {
        let is_meant = |path: &Path| {
            path.extension()
                .is_some_and(|ending| ["yaml", "yml", ENDING].iter().any(|known| *known == ending))
        };
        all.extend(PathCompleter::any().filter(is_meant).complete(current));
    }
    all
}

fn scenarios(_: &str, _: &[OsString]) -> Vec<String> {
    BUNDLED.iter().map(|bundled| last_part(bundled.name).to_owned()).collect()
}

fn scenarios_and_runs(typed: &str, words: &[OsString]) -> Vec<String> {
    [scenarios(typed, words), runs(typed, words)].concat()
}

/// `latest`, and the names of run files, the newest first.
fn runs(_: &str, _: &[OsString]) -> Vec<String> {
    let files = runs_dir(None).ok().and_then(|folder| std::fs::read_dir(folder).ok());
    let paths = files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
    let is_run = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = paths.filter(is_run).filter_map(stem).collect();
    // They begin with the instant.
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.truncate(RUNS_MAX);
    names.insert(0, "latest".to_owned());
    names
}

fn profiles(_: &str, words: &[OsString]) -> Vec<String> {
    let scenario = scenario_of(words);
    let profiles = scenario.iter().flat_map(|scenario| &scenario.typed().profiles);
    profiles.map(|profile| profile.name.text.clone()).collect()
}

fn params(_: &str, words: &[OsString]) -> Vec<String> {
    let scenario = scenario_of(words);
    let params = scenario.iter().flat_map(|scenario| &scenario.typed().params);
    params.map(|(name, _)| format!("{}=", name.text)).collect()
}

/// What a search can raise.
fn varied(_: &str, words: &[OsString]) -> Vec<String> {
    let scenario = scenario_of(words);
    let items = scenario.iter().flat_map(|scenario| &scenario.typed().load);
    let producing = items.filter(|(_, item)| matches!(item.role, RoleFile::Produce(_)));
    producing.flat_map(|(name, _)| ["rate", "clients"].map(|key| format!("{}.{key}", name.text))).collect()
}

/// Metrics of the scenario; of a load item's many latencies only once the item is typed.
fn metrics(typed: &str, words: &[OsString]) -> Vec<String> {
    let Some(scenario) = scenario_of(words) else { return Vec::new() };
    let names = metric_names(scenario.typed());
    if typed.contains('.') {
        return names.collect();
    }
    let mut subjects: Vec<String> =
        names.filter_map(|name| Some(format!("{}.", name.split_once('.')?.0))).collect();
    subjects.dedup();
    subjects
}

/// The scenario that was typed.
fn scenario_of(words: &[OsString]) -> Option<Scenario> {
    let read = |word: &OsString| {
        let named = word.to_str()?;
        if let Ok(bundled) = scenario_source::bundled(named) {
            return Scenario::parse(bundled.text, named).ok();
        }
        let path = Path::new(named);
        let is_one = scenario_source::is_scenario_file(named) && path.is_file();
        let bytes = is_one.then(|| scenario_source::read_bytes(path, "scenario").ok()).flatten()?;
        Scenario::parse_bytes(&bytes, named).ok()
    };
    words.iter().skip(1).find_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    /// What is proposed for the last word.
    fn for_last(text: &str) -> Vec<String> {
        let words = words(text);
        let last = words.len() - 1;
        let found = clap_complete::engine::complete(&mut command(), words, last, None).expect("candidates");
        found.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn names_of_scenarios_and_runs_are_proposed() {
        assert_eq!(for_last("kdyno run first"), ["first-light"]);
        assert_eq!(for_last("kdyno scenarios first"), ["first-light"]);
        assert_eq!(for_last("kdyno show late"), ["latest"]);
        assert!(for_last("kdyno compare upgr").contains(&"upgrade-check".to_owned()));
        assert!(for_last("kdyno run --dry-r").contains(&"--dry-run".to_owned()));
    }

    #[test]
    fn what_belongs_to_a_scenario_is_that_of_the_one_that_was_typed() {
        let typed = words("kdyno run first-light --profile");
        assert!(profiles("", &typed).contains(&"laptop".to_owned()), "{:?}", profiles("", &typed));
        assert!(params("", &typed).iter().all(|name| name.ends_with('=')) && !params("", &typed).is_empty());
        let subjects = metrics("", &typed);
        assert!(subjects.contains(&"brokers.".to_owned()) && subjects.len() < 12, "{subjects:?}");
        let item = subjects.first().expect("a load item");
        assert!(metrics(item, &typed).contains(&format!("{item}response.p99")));
        assert_eq!(varied("", &typed), ["writers.rate", "writers.clients"]);
        let none = words("kdyno run no-such-scenario --profile");
        assert_eq!((profiles("", &none), metrics("", &none)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn every_argument_with_names_is_there() {
        let all = command();
        let ids: Vec<&str> =
            all.get_subcommands().flat_map(Command::get_arguments).map(|arg| arg.get_id().as_str()).collect();
        for (id, ..) in NAMES {
            assert!(ids.contains(id), "{id}");
        }
    }
}
