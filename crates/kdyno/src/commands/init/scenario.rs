//! The scenario that `kdyno init` writes: few keys, each with what it is for.

use super::answers::Answers;
use super::producer::Producer;
use crate::cli::InitLoad;
use crate::commands::schema::modeline;
use crate::commands::written_scenario::lines;
use kdyno_scenario::input::listed;
use std::path::Path;

/// Name of the schema file next to the scenario.
pub(super) const SCHEMA: &str = "kdyno.schema.json";
/// Id of a scenario whose file's name gives none.
const ID: &str = "mine";
/// Longest id that is made of a file's name: an id may be longer.
const ID_CHARS_MAX: usize = 40;

/// What the scenario is written for.
pub(super) struct ScenarioFiles<'a> {
    /// Its own file.
    pub(super) file: &'a Path,
    /// The file of the target, whether it is there or not.
    pub(super) target: &'a Path,
    /// Replicas of each partition.
    pub(super) replicas: u32,
    /// The producer whose settings the load has.
    pub(super) producer: Option<&'a Producer>,
}

/// The scenario.
pub(super) fn text(answers: &Answers, ground: &ScenarioFiles<'_>) -> String {
    let Answers { rate, size, duration, load, .. } = answers;
    let (file, target, replicas) = (word(ground.file), word(ground.target), ground.replicas);
    let (readers, columns) = readers(*load);
    let is_local = answers.bootstrap.is_empty();
    let with_target = if is_local { String::new() } else { format!(" --target {target}") };
    let ways = ways(&file, &target, is_local);
    format!(
        "{modeline}
# Written by `kdyno init`. The schema of the first line has every key.
#
{ways}
#   kdyno run {file}{with_target} --set rate=2k/s            with another load
#   kdyno find {file}{with_target} --highest writers.rate --while 'writers.response.p99 <= 50ms'
kdyno: 1
id: {id}
question: How long do records wait until they are acknowledged at this load?

# What --set changes.
params: {{rate: {rate}, size: {size}, duration: {duration}, replicas: {replicas}}}

# The cluster that kdyno starts; with --target the section is not used.
system: {{kafka: newest, brokers: $replicas, limits: {{heap: 512MiB}}}}

topics:
  records: {{partitions: 3, replicas: $replicas}}

load:
  writers:
    produce: records
    # As many as the application has producers. The rate is that of all together.
    clients: 1
    rate: $rate
    # Without it records have no key.
    # key: {{zipf: {{of: 100k}}}}
    value: $size
{client}
{readers}
# The warm-up is not reported.
phases: {{warmup: 5s, measure: $duration, drain: 10s}}
# When this is true of a run, it ends with exit code 3.
# fail_if: [writers.response.p99 > 50ms]

show:
  columns:
    - writers.offered_per_s
    - writers.acked_per_s
    - writers.response.p50
    - writers.response.p99
    - writers.failed
{columns}",
        modeline = modeline(SCHEMA),
        id = id(ground.file),
        client = client(ground),
    )
}

/// How it is run, first on what it was written for.
fn ways(file: &str, target: &str, is_local: bool) -> String {
    let dry = "what it starts and sends, and how long it takes";
    if is_local {
        return format!(
            "#   kdyno run {file} --dry-run                  {dry}
#   kdyno run {file}                            on a cluster that kdyno starts on this host
#
# On your own cluster, once there is a target file for it:
#   (umask 077; kdyno target init --bootstrap-server HOST:9092 > {target})
#   kdyno run {file} --target {target}"
        );
    }
    format!(
        "#   kdyno run {file} --target {target} --dry-run     {dry}
#   kdyno run {file} --target {target}               on your own cluster
#   kdyno run {file}                            without --target: on a cluster that kdyno starts on this host"
    )
}

/// What consumes, and its columns.
fn readers(load: InitLoad) -> (&'static str, &'static str) {
    const COLUMNS: &str = "    - readers.fetched_per_s\n    - readers.end_to_end.p99\n";
    match load {
        InitLoad::Produce => ("", ""),
        InitLoad::ProduceAndConsume => {
            ("  # One consumer of all partitions.\n  readers: {consume: records}\n", COLUMNS)
        }
        InitLoad::Group => (
            "  # The members of one consumer group.\n  readers: {consume: records, group: readers, clients: 3}\n",
            COLUMNS,
        ),
    }
}

/// The settings of the producer, and what becomes of the rest of its properties file.
fn client(ground: &ScenarioFiles<'_>) -> String {
    const CLIENT: &str = "    client:\n";
    const ACKS: &str = "      acks: all";
    let Some(producer) = ground.producer else {
        return format!("    # Settings of the producer, as Kafka's Java client calls them.\n{CLIENT}{ACKS}");
    };
    let file = word(&producer.path);
    let left = match producer.left() {
        left if left.is_empty() => String::new(),
        left => format!("    # Not taken from it: {}\n", listed(left)),
    };
    let settings = match producer.settings() {
        settings if settings.is_empty() => ACKS.to_owned(),
        settings => lines(&settings),
    };
    format!(
        "    # Settings of {file}. How it reaches its cluster belongs to the target:
    # kdyno target init --command-config {file} > {target}
{left}{CLIENT}{settings}",
        target = word(ground.target)
    )
}

/// An id of the file's name.
fn id(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let allowed = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let id: String = stem.chars().map(allowed).take(ID_CHARS_MAX).collect();
    let id = id.trim_start_matches(|c: char| !c.is_ascii_lowercase()).trim_end_matches('-');
    if id.is_empty() { ID.to_owned() } else { id.to_owned() }
}

/// A path as a shell takes it, in one line.
pub(super) fn word(path: &Path) -> String {
    let text = path.display().to_string().replace(char::is_control, "?");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ',');
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::Role;
    use kdyno_plan::Choices;
    use kdyno_scenario::Scenario;
    use kdyno_scenario::target::TargetFile;

    const TARGET: &str = "kdyno: 1\ntarget: t\ncluster_id: x\nclient: {bootstrap: ['h:1']}\n\
                          guard: {prefix: kdyno-, allow: [rate-max]}\n";

    fn answers(load: InitLoad, [rate, size, duration]: [&str; 3]) -> Answers {
        let [rate, size, duration] = [rate, size, duration].map(str::to_owned);
        Answers { bootstrap: Vec::new(), load, rate, size, duration }
    }

    fn written(answers: &Answers, file: &str, replicas: u32) -> String {
        let target = Path::new("my-target.yaml");
        text(answers, &ScenarioFiles { file: Path::new(file), target, replicas, producer: None })
    }

    #[test]
    fn all_combinations_of_answers_are_planned_here_and_on_a_target() {
        let target = TargetFile::parse(TARGET, "t").and_then(|file| file.resolve(None)).expect("a target");
        for load in [InitLoad::Produce, InitLoad::ProduceAndConsume, InitLoad::Group] {
            for rate in ["1/s", "0.5/s", "1k/s", "1M/s", "60/min", "max"] {
                for (size, duration) in [("1B", "1s"), ("1KiB", "90s"), ("1MB", "1h")] {
                    for replicas in [1, 3] {
                        let text = written(&answers(load, [rate, size, duration]), "my.yaml", replicas);
                        let scenario = Scenario::parse(&text, "my.yaml").expect(&text);
                        for target in [None, Some(target.clone())] {
                            let choices = Choices { seed: Some(1), target, ..Choices::default() };
                            let plan = kdyno_plan::plan(&scenario, &choices);
                            let plan = plan.unwrap_or_else(|error| panic!("{error}: {text}"));
                            assert_eq!(plan.cases.len(), 1);
                            assert_eq!(plan.cases[0].load.len(), 1 + usize::from(load != InitLoad::Produce));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_answers_are_params_that_the_load_has() {
        let text = written(&answers(InitLoad::Produce, ["2k/s", "100B", "7s"]), "my.yaml", 1);
        assert!(text.starts_with("# yaml-language-server: $schema=kdyno.schema.json\n"), "{text}");
        let scenario = Scenario::parse(&text, "my.yaml").expect("a scenario");
        let set = [("rate", "5k/s"), ("size", "1KiB"), ("duration", "9s")];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let choices = Choices { seed: Some(1), set, ..Choices::default() };
        let plan = kdyno_plan::plan(&scenario, &choices).expect("a plan");
        let Role::Produce(produce) = &plan.cases[0].load["writers"].role else { panic!("it produces") };
        assert_eq!((produce.rate.peak_per_s(), produce.record_bytes()), (Some(5_000.0), 1024));
        assert_eq!(produce.client.acks, -1);
    }

    #[test]
    fn the_lines_in_comments_are_planned_too() {
        let text = written(&answers(InitLoad::Produce, ["2k/s", "100B", "7s"]), "my.yaml", 1);
        let plan = |text: &str| {
            let scenario = Scenario::parse(text, "my.yaml").expect(text);
            kdyno_plan::plan(&scenario, &Choices { seed: Some(1), ..Choices::default() }).expect(text)
        };
        assert_eq!(plan(&text).claims.len(), 0);
        let more = text.replace("    # key: ", "    key: ").replace("# fail_if: ", "fail_if: ");
        assert_eq!(plan(&more).claims.len(), 1);
        assert_ne!(plan(&more).cases[0].load, plan(&text).cases[0].load, "the records have keys");
    }

    #[test]
    fn the_commands_begin_with_the_cluster_that_was_named() {
        let own = answers(InitLoad::Produce, ["1/s", "1B", "1s"]);
        let local = written(&own, "my.yaml", 1);
        let own = written(&Answers { bootstrap: vec!["h:1".to_owned()], ..own }, "my.yaml", 1);
        let first = |text: &str| text.lines().find(|line| line.contains("kdyno run ")).map(str::to_owned);
        assert!(
            first(&local).is_some_and(|line| line.starts_with("#   kdyno run my.yaml --dry-run ")),
            "{local}"
        );
        let line = "#   kdyno run my.yaml --target my-target.yaml --dry-run ";
        assert!(first(&own).is_some_and(|first| first.starts_with(line)), "{own}");
        assert!(own.contains("kdyno run my.yaml --target my-target.yaml --set rate=2k/s "), "{own}");
        assert!(own.contains("kdyno find my.yaml --target my-target.yaml --highest writers.rate "), "{own}");
    }

    #[test]
    fn a_files_name_makes_an_id_and_no_line_of_its_own() {
        for (file, expected) in [
            ("my.yaml", "my"),
            ("dir/Orders_v2.yaml", "orders-v2"),
            ("2026-é.yml", "mine"),
            ("-.yaml", "mine"),
        ] {
            assert_eq!(id(Path::new(file)), expected, "{file}");
        }
        let text = written(&answers(InitLoad::Produce, ["1/s", "1B", "1s"]), "a b'\nkdyno: 2.yaml", 1);
        assert!(Scenario::parse(&text, "x").is_ok(), "{text}");
        assert!(text.contains(r"kdyno run 'a b'\''?kdyno: 2.yaml' --dry-run"), "{text}");
    }
}
