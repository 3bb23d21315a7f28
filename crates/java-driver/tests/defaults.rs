//! The tables of defaults, and of the releases that know a setting, against what each release's own clients say. With
//! `KDYNO_MATRIX=full` (`make test-matrix`) against all releases that are known, else against two.

use kdyno_java_driver::{JavaSource, resolve};
use kdyno_model::plan::{Compression, GroupAssignor, JavaClient, JavaDriver, ReadDepth, StartOffset};
use kdyno_model::version::{KNOWN, NEWEST, Version};
use kdyno_scenario::client::{
    CONSUMER, ClientKind, OTHERS, PRODUCER, SupportedSetting, consumer_defaults, group_defaults,
    producer_defaults, removed_in, since,
};
use kdyno_testbed::Environment;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const MAIN: [JavaSource; 1] = [("kdyno/driver/Main.java", include_str!("defaults/Main.java"))];

/// One that differs from all later ones of its line, and the newest.
const ALWAYS: [&str; 2] = ["3.1.0", NEWEST];

/// Values by whose they are (`P`, `C`, `idempotent`) and the setting's name.
type ReportedDefaults = BTreeMap<(String, String), String>;

/// What a release's clients say. The jars are the user's, what is compiled is not.
fn said(version: &str, folder: &Path) -> ReportedDefaults {
    let mut environment = Environment::from_lookup(&|name| std::env::var_os(name)).expect("a home");
    let releases = environment.cache_dir.join("kafka-clients");
    std::fs::create_dir_all(&releases).expect("the user's cache");
    environment.cache_dir = folder.join(version);
    std::fs::create_dir_all(&environment.cache_dir).expect("a cache");
    std::os::unix::fs::symlink(releases, environment.cache_dir.join("kafka-clients")).expect("a link");
    let client = JavaClient::Version(version.to_owned());
    let driver = JavaDriver { client, jvm: Vec::new(), properties: BTreeMap::new() };
    let resolved = resolve(&environment, &driver, &MAIN, &|_| {}).expect(version);
    let (program, arguments) = resolved.task.command.split_first().expect("a program");
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{version}: {output:?}");
    let lines = String::from_utf8(output.stdout).expect("text");
    let fields = lines.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    fields
        .filter_map(|fields| <[String; 3]>::try_from(fields).ok())
        .map(|[whose, name, value]| ((whose, name), value))
        .collect()
}

/// A value of ours as Java prints it.
fn as_java(name: &str, value: &str) -> String {
    match name {
        "acks" if value == "all" => "-1".to_owned(),
        "partition.assignment.strategy" => {
            let class = |one| format!("class {}", GroupAssignor::of(one).expect("one of Kafka's").class());
            format!("[{}]", value.split(',').map(class).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_owned(),
    }
}

/// What of our tables is otherwise there, each as a sentence.
fn wrong(text: &str, said: &ReportedDefaults) -> Vec<String> {
    let version = Version::of_client(text).expect("known");
    let own = producer_defaults(&version);
    let mut producer = own.named();
    for codec in [Compression::Gzip, Compression::Lz4, Compression::Zstd] {
        producer.extend(codec.levels().map(|levels| (levels.setting, levels.default.to_string())));
    }
    let mut consumer = consumer_defaults(StartOffset::Latest, ReadDepth::Decode);
    consumer.group = Some(group_defaults(&version, "group".to_owned()));
    let ours = producer.into_iter().map(|one| ("P", one));
    let ours = ours.chain(consumer.named().into_iter().map(|one| ("C", one)));
    let mut wrong = Vec::new();
    for (whose, (name, value)) in ours {
        let key = match name {
            "enable.idempotence" => ("idempotent".to_owned(), String::new()),
            _ => (whose.to_owned(), name.to_owned()),
        };
        let java = said.get(&key);
        if java.is_some_and(|java| *java != as_java(name, &value)) {
            wrong.push(format!("{text}: {whose} {name} is {value} here and {java:?} there"));
        }
    }
    wrong
}

/// What we say of the releases that know a setting, and is otherwise there.
fn unknown(text: &str, said: &ReportedDefaults) -> Vec<String> {
    let version = Version::of_client(text).expect("known");
    let mut wrong = Vec::new();
    for (whose, client, acted_on) in
        [("P", ClientKind::Producer, PRODUCER), ("C", ClientKind::Consumer, CONSUMER)]
    {
        let acted_on =
            acted_on.iter().map(|SupportedSetting { name, .. }| *name).filter(|name| *name != "defaults");
        let others = OTHERS.iter().filter(|row| row.of.contains(&client)).map(|row| row.name);
        // The table is by name, and of consumers it is older.
        let is_reported = |name: &&str| !(whose == "P" && *name == "client.rack");
        for name in acted_on.chain(others).filter(is_reported) {
            let has_come = since(name).is_none_or(|(major, minor)| version.at_least(major, minor));
            let is_gone = removed_in(name).is_some_and(|(major, minor)| version.at_least(major, minor));
            let is_there = said.contains_key(&(whose.to_owned(), name.to_owned()));
            if is_there != (has_come && !is_gone) {
                wrong.push(format!("{text}: {whose} {name} is there: {is_there}"));
            }
        }
    }
    wrong
}

#[test]
fn defaults_are_those_of_each_releases_own_clients() {
    let is_matrix = std::env::var_os("KDYNO_MATRIX").is_some_and(|value| value == "full");
    let releases: &[&str] = if is_matrix { KNOWN } else { &ALWAYS };
    let temp = tempfile::tempdir().expect("temp");
    let mut all = Vec::new();
    for release in releases {
        let said = said(release, temp.path());
        assert!(said.len() > 100, "{release}: {said:?}");
        all.extend(wrong(release, &said));
        all.extend(unknown(release, &said));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
