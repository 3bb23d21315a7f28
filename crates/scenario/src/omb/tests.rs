//! What files of OMB come to, and what is wrong with them.

use super::*;
use crate::Scenario;
use crate::input::InputError;

const DRIVER: &str = "\
name: Kafka
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 2
topicConfig: |
  min.insync.replicas=1
commonConfig: |
  bootstrap.servers=localhost:9092
  request.timeout.ms=1200000
  default.api.timeout.ms=1200000
producerConfig: |
  acks=all
  linger.ms=1
consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
  max.partition.fetch.bytes=10485760
";
const WORKLOAD: &str = "\
name: one
topics: 1
partitionsPerTopic: 4
messageSize: 200
useRandomizedPayloads: true
randomBytesRatio: 0.5
randomizedPayloadPoolSize: 100
subscriptionsPerTopic: 1
consumerPerSubscription: 2
producersPerTopic: 3
producerRate: 5000
consumerBacklogSizeGB: 0
testDurationMinutes: 5
";

fn translated(workload: &str, driver: &str) -> Result<OmbScenario, String> {
    let choices = OmbChoices {
        duration: None,
        warmup: None,
        payload: &|name, bytes| match name.starts_with('/') {
            true => Err("there is no such file".to_owned()),
            false => Ok(format!("/omb/{name}?{bytes}$")),
        },
    };
    let workload = OmbWorkload::read(workload).map_err(|error| error.to_string())?;
    let driver = OmbDriver::read(driver).map_err(|error| error.to_string())?;
    let made = scenario("One 1", &workload, &driver, &choices).map_err(|error| error.to_string())?;
    Scenario::parse(&made.text, "made").map_err(|error| format!("{error}\n{}", made.text))?;
    Ok(made)
}

fn changed(from: &str, to: &str) -> Result<OmbScenario, String> {
    assert!(WORKLOAD.contains(from), "{from}");
    translated(&WORKLOAD.replace(from, to), DRIVER)
}

#[test]
fn a_workload_becomes_a_scenario() {
    let made = translated(WORKLOAD, DRIVER).expect("a scenario");
    assert_eq!(made.id, "omb-one-1");
    for part in [
        "system: {brokers: 2}",
        "  topic: {partitions: 4, replicas: 2, config: {\"min.insync.replicas\": \"1\"}}",
        "  writers: {produce: topic, clients: 3, rate: 5000/s, arrivals: constant, value: 200B, client: {\
         \"request.timeout.ms\": \"1200000\", \"acks\": \"all\", \"linger.ms\": \"1\"}}",
        "  readers: {consume: topic, clients: 2, group: readers, from: earliest, client: {",
        "\"max.partition.fetch.bytes\": \"10485760\"",
        "phases: {warmup: \"1m\", measure: \"5m\", drain: auto}",
    ] {
        assert!(made.text.contains(part), "{part}\n{}", made.text);
    }
    for name in ["randomBytesRatio", "randomizedPayloadPoolSize", "enable.auto.commit"] {
        assert_eq!(
            made.notes.iter().filter(|note| note.contains(name)).count(),
            1,
            "{name}: {:?}",
            made.notes
        );
        assert!(made.text.contains(name), "{}", made.text);
    }
    assert!(!made.text.contains("localhost"), "{}", made.text);
}

#[test]
fn topics_share_the_rate_and_have_groups_of_their_own() {
    let three = changed("topics: 1\n", "topics: 3\n").expect("a scenario");
    for part in [
        "  topic: {count: 3, partitions: 4, replicas: 2,",
        "  writers: {produce: topic, clients: 3, rate: 5000/s,",
        "  readers: {consume: topic, clients: 2, group: readers,",
    ] {
        assert_eq!(three.text.matches(part).count(), 1, "{part}: {}", three.text);
    }
    let two = changed("subscriptionsPerTopic: 1", "subscriptionsPerTopic: 2").expect("a scenario");
    assert!(
        two.text.contains("readers-1: {consume: topic,") && two.text.contains("group: readers-2,"),
        "{}",
        two.text
    );
    let none = changed("consumerPerSubscription: 2", "consumerPerSubscription: 0").expect("a scenario");
    assert!(!none.text.contains("consume:"), "{}", none.text);
}

#[test]
fn a_backlog_is_what_consumers_find_when_they_come() {
    let one = changed("consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 1").expect("a scenario");
    let readers = "group: readers, from: earliest, at: {backlog: 1073741824B}";
    assert!(one.text.contains(readers), "{}", one.text);
    // 1 MB/s: 1,074 s until it is there, and the file has 5 min.
    assert!(one.text.contains("measure: \"2148s\""), "{}", one.text);
    assert!(one.text.contains("readers.caught_up, readers.caught_up_per_s]"), "{}", one.text);
    for words in ["`consumerBacklogSizeGB`: consumers connect once", "`testDurationMinutes`: OMB goes on"] {
        assert!(one.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", one.notes);
    }
    // OMB counts it once for each group.
    let groups = WORKLOAD
        .replace("consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 1\nbacklogDrainRatio: 0.5")
        .replace("subscriptionsPerTopic: 1", "subscriptionsPerTopic: 2")
        .replace("topics: 1\n", "topics: 2\n")
        .replace("testDurationMinutes: 5", "testDurationMinutes: 60");
    let groups = translated(&groups, DRIVER).expect("a scenario");
    assert_eq!(groups.text.matches("at: {backlog: 536870912B}").count(), 2, "{}", groups.text);
    assert!(groups.text.contains("measure: \"60m\""), "{}", groups.text);
    assert!(groups.notes.iter().any(|note| note.starts_with("`backlogDrainRatio`")), "{:?}", groups.notes);
}

#[test]
fn rates_keys_and_payloads() {
    let search = changed("producerRate: 5000", "producerRate: 0").expect("a scenario");
    assert!(search.text.contains("find:\n  highest: writers.rate"), "{}", search.text);
    assert!(
        search.notes.iter().any(|note| note.contains("`producerRate: 0`: a search")),
        "{:?}",
        search.notes
    );
    let max = changed("producerRate: 5000", "producerRate: 10000000").expect("a scenario");
    assert!(max.text.contains("rate: max,") && !max.text.contains("find:"), "{}", max.text);
    let keys = changed("name: one", "keyDistributor: KEY_ROUND_ROBIN").expect("a scenario");
    assert!(keys.text.contains("key: {sequential: {of: 10000, size: 10B}}"), "{}", keys.text);
    let other = changed("name: one", "keyDistributor: OTHER").expect("a scenario");
    assert!(other.notes.iter().any(|note| note.contains("`keyDistributor`: `OTHER`")), "{:?}", other.notes);
    let driver = DRIVER.replace("  linger.ms=1\n", "  compression.type=lz4\n");
    let random = translated(WORKLOAD, &driver).expect("a scenario");
    assert!(random.text.contains("value: {size: 200B, compressible: 2.000}"), "{}", random.text);
    let file = WORKLOAD.replace("useRandomizedPayloads: true", "payloadFile: \"payload/a.data\"");
    let from_file = translated(&file, &driver).expect("a scenario");
    assert!(from_file.text.contains("name: \"/omb/payload/a.data?200$$\""), "{}", from_file.text);
    let missing = translated(&file.replace("payload/a", "/no/such"), &driver).expect_err("no file");
    assert_eq!(missing, "`payloadFile` `/no/such.data`: there is no such file");
    let unread = translated(&file.replace("payload/a", "/no/such"), DRIVER).expect("not needed");
    assert!(unread.notes.iter().any(|note| note.starts_with("`payloadFile`: without")), "{:?}", unread.notes);
}

#[test]
fn what_a_scenario_cannot_say_is_refused_in_one_sentence() {
    for (from, to, words) in [
        ("topics: 1\n", "topics: 1000\n", ":2:1: `topics`: 1000 with 1 consumer groups each"),
        ("topics: 1\n", "topics: 99999999999\n", "`topics`: `99999999999` is more than 2147483647"),
        ("topics: 1\n", "topics: many\n", "`topics`: `many` is no whole number"),
        ("topics: 1\n", "topics: [1]\n", "`topics` is a list, not a single value"),
        ("producersPerTopic: 3", "producersPerTopic: 0", "`producersPerTopic` is 0 or missing"),
        ("name: one", "consumerOnly: true", "`consumerOnly`: consumers of what was written before"),
        ("testDurationMinutes: 5", "", "`testDurationMinutes` is 0 or missing"),
        ("useRandomizedPayloads: true", "", "neither `payloadFile` nor"),
        ("randomBytesRatio: 0.5", "randomBytesRatio: 5", "`randomBytesRatio`: `5` is no number from 0 to 1"),
        ("name: one", "driverClass: x", "this is a driver file"),
    ] {
        let error = changed(from, to).expect_err(to);
        assert!(error.contains(words) && !error.contains('\n'), "{words}: {error}");
    }
    let backlog = WORKLOAD.replace("consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 1");
    for (from, to, words) in [
        ("producerRate: 5000", "producerRate: 0", ":12:1: `consumerBacklogSizeGB`: when it is there follows"),
        ("producerRate: 5000", "producerRate: 10000000", "is to be from 1 to 9999999"),
        ("consumerPerSubscription: 2", "consumerPerSubscription: 0", "has no consumers for which"),
    ] {
        let error = translated(&backlog.replace(from, to), DRIVER).expect_err(to);
        assert!(error.contains(words) && !error.contains('\n'), "{words}: {error}");
    }
    let searched =
        WORKLOAD.replace("topics: 1\n", "topics: 2\n").replace("producerRate: 5000", "producerRate: 0");
    let searched = translated(&searched, DRIVER).expect("a search over both");
    assert!(searched.text.contains("highest: writers.rate"), "{}", searched.text);
    for (text, words) in [
        ("- a\n- b\n", "a workload file is a map, and this is a list"),
        ("just words\n", "a workload file is a map, and this is a single value"),
        ("", "the file is empty"),
    ] {
        assert!(translated(text, DRIVER).expect_err(text).contains(words), "{text}");
    }
}

#[test]
fn a_driver_of_another_system_is_refused() {
    for (from, to, words) in [
        ("kafka.KafkaBenchmarkDriver", "pulsar.PulsarBenchmarkDriver", "is the driver of another system"),
        ("replicationFactor: 2\n", "", "`replicationFactor` is 0, and not from 1 to 64"),
        (
            "driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver\n",
            "",
            "has a `driverClass`",
        ),
        (
            "auto.offset.reset=earliest",
            "auto.offset.reset=none",
            "`auto.offset.reset` `none` is not followed",
        ),
        ("acks=all", "a=\\uZZZZ", "`producerConfig`: "),
    ] {
        assert!(DRIVER.contains(from), "{from}");
        let error = translated(WORKLOAD, &DRIVER.replace(from, to)).expect_err(to);
        assert!(error.contains(words), "{words}: {error}");
    }
    let workload_as_driver = translated(WORKLOAD, WORKLOAD).expect_err("no driver");
    assert!(workload_as_driver.contains("this is a workload file"), "{workload_as_driver}");
    let fork = DRIVER.replace("kafka.KafkaBenchmarkDriver", "redpanda.RedpandaBenchmarkDriver");
    let fork = format!("{fork}reset: true\nproducerConfigs: x\n");
    let made = translated(&format!("{WORKLOAD}consumerOnly: false\n"), &fork).expect("a scenario");
    for words in
        ["`reset`: ", "OMB has no such key, not used: `producerConfigs` (did you mean `producerConfig`?)"]
    {
        assert!(made.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", made.notes);
    }
}

#[test]
fn no_secret_of_a_driver_is_repeated() {
    let secret = "  security.protocol=SASL_SSL\n  sasl.jaas.config=x required password=\\\"hunter2\\\";\n  linger.ms=1\n";
    let driver = DRIVER.replace("  linger.ms=1\n", secret);
    let common = driver.replace("commonConfig: |\n", "commonConfig: |\n  ssl.key.password=hunter2\n");
    let made = translated(WORKLOAD, &common).expect("a scenario");
    assert!(!made.text.contains("hunter2") && !made.notes.concat().contains("hunter2"), "{}", made.text);
    assert!(made.notes.iter().any(|note| note.contains("`sasl.jaas.config`")), "{:?}", made.notes);
    let read = OmbDriver::read(&common).expect("a driver");
    assert_eq!(
        (read.reach, read.bootstrap.as_deref()),
        (vec!["ssl.key.password".to_owned()], Some("localhost:9092"))
    );
}

const RESULT: &str = r#"{
  "workload": "1 topic / 16 partitions $1", "driver": "Kafka: durable", "messageSize": 1024, "topics": 1, "partitions": 16,
  "producersPerTopic": 4, "consumersPerTopic": 2, "publishRate": [49990.25, 50010.25], "publishErrorRate": [0.0, 0.0],
  "consumeRate": [49980.0, 50020.0], "backlog": [10, 20], "aggregatedPublishLatencyAvg": 2.5,
  "aggregatedPublishLatency50pct": 2.125, "aggregatedPublishLatency99pct": 9.0001, "aggregatedPublishLatency999pct": 20.0,
  "aggregatedPublishLatencyMax": 99.0, "aggregatedEndToEndLatency99pct": 11.0, "aggregatedEndToEndLatencyMax": 120.0,
  "aggregatedPublishLatencyQuantiles": {"0.0": 1.0}, "of a fork": [{"a": null}]
}"#;

fn imported(from: &str, to: &str) -> Result<String, InputError> {
    assert!(RESULT.contains(from), "{from}");
    let made = published("my result", RESULT.replace(from, to).as_bytes())?;
    let read = Scenario::parse(&made.text, "made");
    assert!(read.is_ok(), "{read:?}\n{}", made.text);
    Ok(made.text)
}

#[test]
fn a_published_result_becomes_a_scenario_with_its_figures() {
    let text = imported("1 topic", "1 topic").expect("a scenario");
    for line in [
        "# Made by `kdyno import`.",
        "id: omb-my-result",
        "  topic: {partitions: 16, replicas: 1}",
        "  writers: {produce: topic, clients: 4, rate: 50000/s, arrivals: constant, value: 1024B}",
        "  readers: {consume: topic, clients: 2, group: readers, from: latest}",
        "phases: {warmup: 1m, measure: 20s, drain: auto}",
        "  source: {title: \"OMB's result my result: workload 1 topic / 16 partitions $1, driver Kafka: durable\", date: date unknown, \
         hardware: unknown hardware}",
        "  definition: \"as published; publish latency from the send, end-to-end latency from the record's timestamp\"",
        "    - {writers.acked_per_s: 50000.2, readers.fetched_per_s: 50000.0, writers.service.mean: 2.500ms, \
         writers.service.p50: 2.125ms, writers.service.p99: 9.000ms, writers.service.p99.9: 20.000ms, \
         writers.service.max: 99.000ms, readers.end_to_end.p99: 11.000ms, readers.end_to_end.max: 120.000ms}",
    ] {
        assert!(text.lines().any(|one| one == line), "no {line:?} in\n{text}");
    }
    let several = imported("\"topics\": 1", "\"topics\": 3").expect("a scenario");
    // One item goes over all topics, so its figures are those of all of them.
    for part in [
        "  topic: {count: 3, partitions: 16, replicas: 1}",
        "- {writers.acked_per_s: 50000.2, readers.fetched_per_s: 50000.0, writers.service.mean: 2.500ms",
    ] {
        assert!(several.contains(part) && several.contains("end_to_end.p99: 11.000ms"), "{part}: {several}");
    }
    let two_groups = imported("49980.0, 50020.0", "99980.0, 100020.0").expect("a scenario");
    assert!(two_groups.contains("sum.fetched_per_s: 100000.0, writers.service.mean"), "{two_groups}");
    assert!(
        two_groups.contains("readers-2: {consume") && !two_groups.contains("end_to_end.max"),
        "{two_groups}"
    );
    let unread = imported("49980.0, 50020.0", "0.0, 0.0").expect("a scenario");
    assert!(!unread.contains("consume:"), "{unread}");
    // OMB has 0 where no latency was above 0.
    let zero = imported("\"aggregatedEndToEndLatencyMax\": 120.0", "\"aggregatedEndToEndLatencyMax\": 0.0");
    assert!(!zero.expect("a scenario").contains("end_to_end.p99:"));
}

#[test]
fn a_foreign_result_is_refused_in_one_sentence() {
    for (from, to, words) in [
        ("\"messageSize\": 1024, ", "", "`messageSize` is missing, so the load is not known"),
        ("1024", "0", "`messageSize`: `0` is no whole number from 1 to 4294967295"),
        ("1024", "-5", "`messageSize`: `-5` is no whole number"),
        ("\"topics\": 1,", "\"topics\": 5000,", "`topics`: 5000 with 1 consumer groups each"),
        ("[49990.25, 50010.25]", "[]", "`publishRate` has no rate above 0"),
        ("[49990.25, 50010.25]", "7", "`publishRate`: `7` is no list of numbers"),
        ("49990.25", "\"NaN\"", "`publishRate`: `\"NaN\"` is no number from 0"),
        ("9.0001", "-1", "`aggregatedPublishLatency99pct`: `-1` is no number from 0"),
        ("999pct\": 20.0", "999pct\": 1e300", "`aggregatedPublishLatency999pct`: "),
        (
            "\"workload\": \"1 topic / 16 partitions $1\"",
            "\"workload\": 1",
            "`workload` is no text of 1 to 200",
        ),
        ("\"publishRate\"", "\"rate\"", "this is no result of OMB: there is no field `publishRate`"),
        ("{\n", "", "this is no result of OMB: "),
    ] {
        let error = imported(from, to).expect_err(to);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
    let endless = format!("{{\"publishRate\": {}", "[".repeat(100_000));
    assert!(
        published("x", endless.as_bytes()).expect_err("too deep").message.starts_with("this is no result")
    );
}
