//! How help is arranged: commands by what they are for, two examples before the options of a command, rare options last.

use super::Cli;
use clap::{Arg, ArgAction, Command, CommandFactory};

/// The commands that most begin with.
pub(crate) const FIRST: &str = "\
kdyno measures Apache Kafka. Begin with one of these:

  kdyno quick --bootstrap-server HOST:9092      a first figure of a running cluster
  kdyno run first-light                         three brokers on this machine, about 2.5 min
  kdyno compare upgrade-check --a kafka=3.7.2 --b kafka=4.4.0
                                                is one release slower than the other?
  kdyno init my.yaml                            a scenario of your own, by four questions

Usage: kdyno <COMMAND>; `kdyno --help` lists the commands
";

/// Every command that is not hidden, once.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Measure",
        &[
            "quick",
            "init",
            "run",
            "compare",
            "find",
            "rerun",
            "omb",
            "producer-perf-test",
            "consumer-perf-test",
        ],
    ),
    ("Look", &["show", "runs", "report", "serve", "export", "publish", "import"]),
    (
        "Clusters",
        &["target", "cluster", "up", "down", "doctor", "clean", "null-broker", "agent", "kubernetes"],
    ),
    ("Other", &["scenarios", "schema", "completions"]),
];

/// Two examples of each command whose options are not all there is to it.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "quick",
        "  kdyno quick --bootstrap-server host:9092
  kdyno quick --command-config client.properties --rate 20k/s --duration 1m",
    ),
    (
        "init",
        "  kdyno init my.yaml
  kdyno init my.yaml --from producer.properties --rate 20k/s --size 512B --duration 1m",
    ),
    (
        "run",
        "  kdyno run first-light
  kdyno run my.yaml --target staging.yaml --set rate=20k/s",
    ),
    (
        "compare",
        "  kdyno compare upgrade-check --a kafka=3.7.2 --b kafka=4.4.0
  kdyno compare my.yaml --a load.writers.client.linger.ms=0 --b load.writers.client.linger.ms=5",
    ),
    (
        "find",
        "  kdyno find my.yaml --highest writers.rate --while 'writers.response.p99 <= 20ms'
  kdyno find intel-sla --quick",
    ),
    (
        "omb",
        "  kdyno omb --drivers kafka-throughput.yaml workloads/1-topic-1-partition-1kb.yaml
  kdyno omb --drivers kafka-latency.yaml --bootstrap-server host:9092 --duration 1m workloads/simple.yaml",
    ),
    (
        "rerun",
        "  kdyno rerun latest
  kdyno rerun kdyno-runs/20261130-1200-mine.kdyno --trust",
    ),
    (
        "show",
        "  kdyno show latest
  kdyno show latest --details",
    ),
    (
        "runs",
        "  kdyno runs
  kdyno runs /data/kdyno-runs",
    ),
    (
        "report",
        "  kdyno report latest
  kdyno report first-light --out page.html",
    ),
    (
        "serve",
        "  kdyno serve
  kdyno serve /data/kdyno-runs",
    ),
    (
        "export",
        "  kdyno export latest --format series-csv
  kdyno export latest --format junit --out results.xml",
    ),
    (
        "doctor",
        "  kdyno doctor
  kdyno doctor --target staging.yaml",
    ),
    (
        "scenarios",
        "  kdyno scenarios
  kdyno scenarios first-light > mine.yaml",
    ),
];

/// Options that few runs need.
const ADVANCED: &[&str] = &[
    "seed",
    "generators",
    "lab_in",
    "sustain",
    "flame",
    "probe",
    "share",
    "wait",
    "metrics_listen",
    "metrics_host",
    "junit",
    "gate",
    "format",
    "no_progress",
    "may_differ",
    "design",
    "each",
    "within",
    "side",
    "partitions",
    "replicas",
    "serve",
];

/// The program's commands with help arranged so.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let template = template(&command);
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let arranged = names.iter().fold(command, |command, name| command.mut_subcommand(name, arranged));
    // Many tools print their version with a small v.
    let version = Arg::new("version").short('V').short_alias('v').long("version").action(ArgAction::Version);
    arranged.disable_version_flag(true).arg(version.help("Print version")).help_template(template)
}

/// A command with its examples before its options, and each option in few lines.
fn arranged(command: Command) -> Command {
    let examples = EXAMPLES.iter().find(|(name, _)| *name == command.get_name());
    let command = match examples {
        Some((_, lines)) => command.before_help(format!("Examples:\n{lines}")),
        None => command,
    };
    let is_rare = |arg: &Arg| ADVANCED.contains(&arg.get_id().as_str()) && !arg.is_required_set();
    let command = command.mut_args(|arg| if is_rare(&arg) { arg.help_heading("Advanced") } else { arg });
    if command.is_disable_help_flag_set() || command.has_subcommands() {
        return command;
    }
    // The short form has an option and its text side by side.
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Print help");
    command.disable_help_flag(true).arg(help)
}

/// The commands by groups, each with its line.
fn template(command: &Command) -> String {
    let about = |name: &str| {
        let sub = command.find_subcommand(name);
        sub.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    let groups = GROUPS.iter().map(|(title, names)| {
        let lines = names.iter().map(|name| format!("  {name:<19} {}\n", about(name)));
        format!("{title}:\n{}", lines.collect::<String>())
    });
    let groups = groups.collect::<Vec<_>>().join("\n");
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_help_has_every_command_once_and_fits_a_screen() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
        let shown: BTreeSet<&str> = shown.collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(listed.len(), shown.len());
        let text = super::command().render_help().to_string();
        assert!(text.lines().count() <= 50, "{} lines: {text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn examples_and_advanced_options_are_of_what_is_there() {
        let command = Cli::command();
        for line in EXAMPLES.iter().flat_map(|(_, lines)| lines.lines()) {
            let words = line.split(" > ").next().expect("a command").replace("'", "");
            let words: Vec<&str> = words.split_whitespace().take_while(|word| *word != "--while").collect();
            let parsed = super::command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
        let all: BTreeSet<&str> = command
            .get_subcommands()
            .flat_map(Command::get_arguments)
            .map(|arg| arg.get_id().as_str())
            .collect();
        for id in ADVANCED {
            assert!(all.contains(id), "{id}");
        }
    }

    #[test]
    fn commands_that_run_trials_say_what_their_exit_codes_mean() {
        let mut command = super::command();
        let has_gate = |sub: &&Command| sub.get_arguments().any(|arg| arg.get_id().as_str() == "gate");
        let mut running: Vec<String> =
            command.get_subcommands().filter(has_gate).map(|sub| sub.get_name().to_owned()).collect();
        running.sort();
        assert_eq!(running, ["compare", "find", "omb", "quick", "rerun", "run"]);
        for name in running {
            let help = command.find_subcommand_mut(&name).expect("a command").render_help().to_string();
            assert!(help.contains("Exit codes"), "{name}: {help}");
        }
    }

    #[test]
    fn what_is_typed_most_comes_before_what_is_typed_least() {
        let mut command = super::command();
        let compare = command.find_subcommand_mut("compare").expect("a command").render_help().to_string();
        let at = |word: &str| compare.find(word).unwrap_or_else(|| panic!("no {word} in {compare}"));
        assert!(at("Examples:") < at("--a <CHANGE>") && at("--a <CHANGE>") < at("Advanced:"), "{compare}");
        assert!(at("--budget") < at("Advanced:") && at("Advanced:") < at("--metrics-listen"), "{compare}");
        assert!(compare.lines().count() <= 110, "{} lines: {compare}", compare.lines().count());
    }
}
