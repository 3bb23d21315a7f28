//! What was meant by a command or an option that is none of ours. Looking alike is no guide for words of other tools.

use crate::{cli, scenario_source};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::path::Path;

/// Words, and what does the same here.
type Meant = (&'static [&'static str], &'static str);

/// Commands of other tools.
const COMMANDS: &[Meant] = &[
    (&["list", "ls", "history"], "`kdyno runs` lists runs, `kdyno scenarios` the bundled scenarios"),
    (&["new", "create", "generate"], "`kdyno init FILE` writes a scenario of your own"),
    (
        &["validate", "check", "lint", "plan", "verify"],
        "`kdyno run FILE --dry-run` checks a scenario and says what would be done; `compare` and `find` take it too",
    ),
    (
        &["bench", "benchmark", "test", "perf", "measure", "start"],
        "`kdyno quick` measures a running cluster, `kdyno run SCENARIO` a scenario",
    ),
    (&["diff"], "`kdyno compare` compares two sides of a scenario, or two stored runs"),
    (&["stop"], "`kdyno down SCENARIO` ends what `kdyno up` started, `kdyno cluster down` a local cluster"),
    (
        &["open", "ui", "web", "dashboard"],
        "`kdyno serve` shows all runs in a browser, `kdyno report RUN` writes the page of one",
    ),
];

/// Where nothing looks alike.
const ALL: &str = "`kdyno --help` lists the commands, `kdyno scenarios` what `kdyno run` takes";

/// Options that set params of these names.
const OF_PARAMS: &[&str] = &["--rate", "--duration", "--size"];

/// Options of other commands or tools.
const OPTIONS: &[Meant] = &[
    (&["--throughput"], "`kdyno run` and `kdyno quick` take `--rate`"),
    (&["--record-size", "--message-size", "--value-size"], "`kdyno run` and `kdyno quick` take `--size`"),
    (&["--time", "--length"], "`kdyno run` and `kdyno quick` take `--duration`"),
    (
        &["--bootstrap-server", "--bootstrap-servers", "--broker-list", "--command-config"],
        "`kdyno quick` takes --bootstrap-server and --command-config; a scenario runs on a cluster with `--target FILE`",
    ),
    (
        &["-v", "--verbose"],
        "progress is printed unless --no-progress is typed; `kdyno show latest --details` prints everything",
    ),
];

/// The error with a tip that names what was meant, where that is known. `first` is what was typed behind the program's name.
pub(crate) fn with_what_was_meant(mut usage: Error, first: &str) -> Error {
    let word = |kind| match usage.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let tip = match usage.kind() {
        // `kdyno cluster ls` means something else.
        ErrorKind::InvalidSubcommand => {
            let typed = word(ContextKind::InvalidSubcommand).filter(|word| *word == first);
            let is_alike = usage.get(ContextKind::SuggestedSubcommand).is_some();
            typed.and_then(|typed| command(typed).or_else(|| (!is_alike).then(|| ALL.to_owned())))
        }
        ErrorKind::UnknownArgument => word(ContextKind::InvalidArg).and_then(|typed| {
            let is_alike = word(ContextKind::SuggestedArg).is_some();
            if OF_PARAMS.contains(&typed) {
                return Some(option_of_param(typed, first));
            }
            of(OPTIONS, typed).or_else(|| param(typed, first).filter(|_| !is_alike))
        }),
        _ => None,
    };
    if let Some(tip) = tip {
        usage.remove(ContextKind::SuggestedSubcommand);
        usage.remove(ContextKind::SuggestedArg);
        // It shows the option that was suggested.
        usage.remove(ContextKind::Usage);
        usage.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    usage
}

fn of(words: &'static [Meant], typed: &str) -> Option<String> {
    let meant = words.iter().find(|(words, _)| words.contains(&typed));
    meant.map(|(_, instead)| (*instead).to_owned())
}

/// What was meant by a word in the place of a command.
fn command(typed: &str) -> Option<String> {
    if scenario_source::is_run(typed) {
        return Some(format!("`kdyno show {typed}` prints a run"));
    }
    let is_file = scenario_source::is_scenario_file(typed) && Path::new(typed).is_file();
    if is_file || scenario_source::bundled(typed).is_ok() {
        return Some(format!("`kdyno run {typed}` runs a scenario"));
    }
    let of_file = || Some(format!("`kdyno run ./{}` runs a scenario", scenario_source::file_meant(typed)?));
    of(COMMANDS, typed).or_else(of_file)
}

/// What does the same as one of [`OF_PARAMS`] where a command does not take it.
fn option_of_param(typed: &str, command: &str) -> String {
    let other = || match command {
        "rerun" => "a stored plan runs as it is",
        _ => "`kdyno run`, `compare`, `find`, `quick` and `init` take it",
    };
    param(typed, command).unwrap_or_else(|| other().to_owned())
}

/// How a command sets a parameter that has the name of an option.
fn param(typed: &str, command: &str) -> Option<String> {
    let name = typed.strip_prefix("--").filter(|name| !name.is_empty())?;
    let all = cli::help::command();
    let sets_params = all.find_subcommand(command)?.get_arguments().any(|arg| arg.get_id() == "set");
    sets_params.then(|| format!("if `{name}` is a parameter of the scenario: `--set {name}=VALUE`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_none_of_ours() {
        let ours = cli::help::command();
        for word in COMMANDS.iter().flat_map(|(words, _)| *words) {
            assert!(ours.find_subcommand(word).is_none(), "{word}");
        }
        let run = ours.find_subcommand("run").expect("a command");
        let own: Vec<&str> = run.get_arguments().filter_map(|arg| arg.get_long()).collect();
        for word in OPTIONS.iter().flat_map(|(words, _)| *words) {
            assert!(!own.contains(&word.trim_start_matches('-')), "{word}");
        }
    }

    #[test]
    fn an_option_of_a_scenario_is_set_where_params_are() {
        let tip = "if `brokers` is a parameter of the scenario: `--set brokers=VALUE`";
        assert_eq!(param("--brokers", "run").as_deref(), Some(tip));
        assert_eq!(param("--brokers", "show"), None);
        assert_eq!(param("-b", "run"), None);
        assert!(command("first-light").is_some_and(|tip| tip.contains("`kdyno run first-light`")));
        assert_eq!(command("fnd"), None);
    }

    #[test]
    fn what_looks_alike_is_no_tip_where_something_else_is_meant() {
        let usage = |words: &[&str]| -> Error {
            let words = std::iter::once("kdyno").chain(words.iter().copied());
            cli::help::command().try_get_matches_from(words).expect_err("wrong")
        };
        let text = |words: &[&str]| with_what_was_meant(usage(words), words[0]).to_string();
        assert_eq!(text(&["fnd"]), usage(&["fnd"]).to_string());
        assert!(text(&["xyzzy"]).contains(ALL), "{}", text(&["xyzzy"]));
        let rerun = text(&["rerun", "latest", "--rate", "5"]);
        assert!(rerun.contains("a stored plan runs as it is") && !rerun.contains("--gate"), "{rerun}");
        let run = text(&["run", "first-light", "--profil", "ci"]);
        assert!(run.contains("--profile") && !run.contains("parameter of the scenario"), "{run}");
    }
}
