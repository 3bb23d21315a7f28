//! What README and the guides say to type works as it is written there.

use crate::common::{TestFolder, one_line};
use std::path::Path;

/// README and every guide, one text.
fn texts() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    let guides = std::fs::read_dir(root.join("docs/guide")).expect("the guides");
    files.extend(
        guides
            .map(|file| file.expect("a guide").path())
            .filter(|path| path.extension() == Some("md".as_ref())),
    );
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).expect("a text")).collect::<Vec<_>>().join("\n")
}

/// Their code blocks of one language; `""` for the plain ones.
fn blocks_of(language: &str) -> Vec<String> {
    let mut inside = None;
    let mut blocks: Vec<String> = Vec::new();
    for line in texts().lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(name), None) => {
                inside = Some(name == language);
                blocks.extend((name == language).then(String::new));
            }
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => blocks.last_mut().expect("a block").push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    blocks
}

/// The files that they show, where their commands look for them.
fn files_shown(place: &TestFolder) {
    for id in ["mine", "orders", "billing", "payments", "shop", "checkout"] {
        place.file(&format!("{id}.yaml"), &shown(&format!("id: {id}")));
    }
    place.file("my.yaml", &shown("id: checkout"));
    for target in ["staging", "dev"] {
        place.file(&format!("{target}.yaml"), &shown("target: staging"));
    }
    place.file("generators.yaml", "hosts: [{ssh: load@gen-1}]\n");
    let image = format!("registry.example/kdyno@sha256:{}", "0".repeat(64));
    place.file(
        "pods.yaml",
        &format!("kubernetes: {{namespace: load, image: '{image}', pods: 1, service_account: lab}}\n"),
    );
    place.file("staging.properties", "bootstrap.servers=127.0.0.1:9092\n");
    place.file("old.properties", "num.io.threads=8\n");
    place.file("new.properties", "num.io.threads=12\n");
}

/// Their lines.
fn blocks(language: &str) -> String {
    blocks_of(language).concat()
}

/// The file that they show and that has such a line.
fn shown(line: &str) -> String {
    let found = blocks_of("yaml").into_iter().find(|block| block.lines().any(|one| one == line));
    found.unwrap_or_else(|| panic!("no guide shows a file with the line {line:?}"))
}

#[test]
fn commands_that_start_nothing_run_as_written() {
    let place = TestFolder::new();
    files_shown(&place);
    let blocks = blocks("");
    let commands = blocks.lines().filter_map(|line| line.strip_prefix("kdyno "));
    let commands: Vec<&str> = commands.map(|line| line.split('#').next().unwrap_or("").trim()).collect();
    let harmless = |line: &&&str| line.ends_with("--dry-run") || line.starts_with("scenarios");
    assert_eq!(commands.iter().filter(harmless).count(), 10, "they show them: {commands:?}");
    for line in commands.iter().filter(harmless) {
        let said = place.kdyno(&words(line));
        assert_eq!(said.code, Some(0), "{line}: {said:?}");
        let named = words(line).get(1).and_then(|name| name.split('/').next_back()).unwrap_or("first-light");
        let named = named.trim_end_matches(".yaml");
        assert!(said.stdout.contains(named), "{line}: {said:?}");
    }
}

/// Every other command of theirs that measures is planned as it is written.
#[test]
fn commands_that_measure_are_planned_as_written() {
    let place = TestFolder::new();
    files_shown(&place);
    let blocks = blocks("");
    let commands = blocks.lines().filter_map(|line| line.strip_prefix("kdyno "));
    let commands = commands.map(|line| line.split('#').next().unwrap_or("").trim());
    let measures = |line: &&str| ["run ", "compare ", "find "].iter().any(|name| line.starts_with(name));
    let mut count = 0;
    for line in commands.filter(measures).filter(|line| !line.ends_with("--dry-run")) {
        let mut words = words(line);
        words.push("--dry-run");
        let said = place.kdyno(&words);
        assert_eq!(said.code, Some(0), "{line}: {said:?}");
        // An example to learn from can show what it asks.
        let own = ["mine.yaml", "orders.yaml", "billing.yaml", "payments.yaml", "shop.yaml"];
        let is_own = own.iter().any(|name| line.contains(name));
        assert!(!(is_own && said.stdout.contains("can hardly be shown")), "{line}: {said:?}");
        count += 1;
    }
    assert!(count >= 15, "they show how to measure: {count}");
}

/// The words of a line, a quoted one whole.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

#[test]
fn the_target_file_shown_is_read() {
    let place = TestFolder::new();
    let target = place.file("staging.yaml", &shown("target: staging"));
    place.file("staging.properties", "bootstrap.servers=127.0.0.1:9092\n");
    let scenario = place.file(
        "mine.yaml",
        "kdyno: 1\nid: mine\nquestion: Does it work?\nsystem: {kafka: newest, brokers: 1}\n\
         topics: {perf: {partitions: 2, replicas: 1}}\n\
         load: {writers: {produce: perf, rate: 100/s, value: 100B}}\nphases: {measure: 5s, drain: 5s}\n",
    );
    let (target, scenario) = (target.display().to_string(), scenario.display().to_string());
    let said = place.kdyno(&["run", &scenario, "--target", &target, "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("staging"), "{said:?}");
    let sla = ["--highest", "writers.rate", "--while", "writers.response.p99 <= 20ms"];
    let said = place.kdyno(&[&["find", &scenario, "--target", &target, "--dry-run"], &sla[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = one_line(&said.stdout);
    assert!(text.contains("the rate of writers from 100/s to 209,715/s"), "{said:?}");
    // What README compares on clusters of its own can be compared within the caps shown.
    let linger = ["--a", "load.events.client.linger.ms=0", "--b", "load.events.client.linger.ms=5"];
    let said =
        place.kdyno(&[&["compare", "upgrade-check", "--target", &target, "--dry-run"], &linger[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("pairs in drawn order"), "{said:?}");
}

#[test]
fn the_scenario_shown_asks_what_is_said_of_it() {
    let place = TestFolder::new();
    place.file("mine.yaml", &shown("id: mine"));
    let said = place.kdyno(&["compare", "./mine.yaml", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = one_line(&said.stdout);
    assert!(text.contains("comparison: A is 1 GiB of heap, B is 512 MiB"), "{text}");
    assert!(text.contains("writers.response.p99 (lower is better, 10 % matters)"), "{text}");
}

/// The load shown with Kafka's own Java client, with the rest of a scenario around it.
#[test]
fn the_load_with_a_java_client_is_planned_as_written() {
    let place = TestFolder::new();
    let load = blocks_of("yaml").into_iter().find(|block| block.contains("driver: java")).expect("a load");
    let scenario = format!(
        "kdyno: 1\nid: java\nquestion: Does it work?\nsystem: {{kafka: newest}}\ntopics: {{orders: {{partitions: 2}}}}\n\
         {load}phases: {{measure: 5s}}\n"
    );
    place.file("java.yaml", &scenario);
    let said = place.kdyno(&["run", "./java.yaml", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("java 4.1.1"), "{said:?}");
}

/// Users and jobs of kdyno's own, in place of the load of the scenario that is shown before them.
#[test]
fn users_and_jobs_are_planned_as_written() {
    let place = TestFolder::new();
    let load = blocks_of("yaml").into_iter().find(|block| block.contains("users: 25")).expect("a load");
    place.file("records.mrc", "a record");
    let scenario = format!(
        "kdyno: 1\nid: users\nquestion: Does it work?\nsystem: {{kafka: newest}}\ntopics: {{orders: {{partitions: 2}}}}\n\
         components: {{inventory: {{command: [sleep, \"60\"]}}}}\n{load}"
    );
    place.file("users.yaml", &scenario);
    let said = place.kdyno(&["run", "./users.yaml", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in [
        "25 users of inventory",
        "1.00 s to 3.00 s between two turns",
        "check-out: all of them together",
        "/status is COMPLETED",
    ] {
        assert!(said.stdout.contains(words), "{words}: {said:?}");
    }
}
