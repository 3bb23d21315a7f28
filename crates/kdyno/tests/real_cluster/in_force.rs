//! What was really in force on an attached cluster, its topics and the clients, without a question to the user.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{ended, ran, stand, take_down};
use serde_json::Value;

const SCENARIO: &str = "\
kdyno: 1
id: small
question: What is in force?
topics:
  perf: {partitions: 2, replicas: 1, config: {segment.bytes: 104857600}}
load:
  writers: {produce: perf, clients: 1, rate: 200/s, value: 100B, client: {linger.ms: 7}}
  javas: {produce: perf, clients: 1, rate: 200/s, value: 100B, client: {driver: java, version: 4.1.1, acks: 1}}
phases: {warmup: 1s, measure: 3s, drain: 5s}
";

/// A setting of somebody in the document of `--config --json`.
fn setting<'a>(config: &'a Value, whose: &str, name: &str) -> &'a Value {
    let all = config[0]["settings"].as_array().expect("settings");
    let of = all.iter().find(|of| of["whose"] == whose).unwrap_or_else(|| panic!("{whose} in {config:#}"));
    &of["settings"][name]
}

#[test]
fn what_brokers_topics_and_clients_run_with_is_kept_and_shown() {
    let _turn = with_others();
    let place = TestFolder::new();
    stand(&place, "mine", "kafka: 4.1.1, metrics: none, config: {num.network.threads: 2}");
    let target = place.kdyno(&["cluster", "target", "mine"]);
    place.file("mine.yaml", &target.stdout);
    place.file("small.yaml", SCENARIO);
    let run = ["run", "./small.yaml", "--target", "mine.yaml", "--share", "--yes", "--seed", "1"];
    ran(&place.start(place.command(&run)).wait(RUN_DEADLINE));

    let said = place.kdyno(&["show", "--config", "--json"]);
    ended(&said, 0);
    let config: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(config.as_array().map(Vec::len), Some(1), "one trial: {config:#}");
    let threads = setting(&config, "broker-0", "num.network.threads");
    assert_eq!(
        *threads,
        serde_json::json!({"value": "2", "origin": "static", "default": "3"}),
        "beside the default of its version"
    );
    let segment = setting(&config, "perf", "segment.bytes");
    assert_eq!((&segment["value"], &segment["origin"]), (&"104857600".into(), &"topic".into()));
    assert_eq!(setting(&config, "perf", "partitions")["value"], "2");
    let linger = setting(&config, "writers", "linger.ms");
    assert_eq!((&linger["value"], &linger["default"]), (&"7".into(), &"5".into()));
    // As Kafka's own client reports it, what it was given and what it made of that.
    let acks = setting(&config, "javas", "acks");
    assert_eq!(*acks, serde_json::json!({"value": "1", "origin": "client", "default": "all"}));
    assert_eq!(setting(&config, "javas", "buffer.memory")["origin"], "default");
    assert_eq!(setting(&config, "javas", "bootstrap.servers"), &Value::Null);
    let kafka = config[0]["kafka"].as_str().expect("a version");
    assert!(kafka.contains("4.1, by the highest level of metadata.version"), "{kafka}");
    let java = &config[0]["java"][0];
    assert!(java["whose"].as_str().is_some_and(|whose| whose == "javas (kafka-clients 4.1.1)"), "{java}");

    let text = place.kdyno(&["show", "latest", "--config"]);
    ended(&text, 0);
    assert!(text.stdout.contains("num.network.threads"), "{}", text.stdout);
    assert!(!text.stdout.contains("127.0.0.1"), "{}", text.stdout);
    let translated = place.kdyno(&["export", "latest", "--format", "kubernetes"]);
    ended(&translated, 2);
    assert!(translated.stderr.contains("trial 1 ran on an existing cluster, mine"), "{translated:?}");
    take_down(&place, "mine");
}
