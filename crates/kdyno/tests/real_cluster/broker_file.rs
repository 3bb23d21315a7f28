//! Brokers with the settings of a company's own file.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder, one_line};
use crate::fixture::{ended, ran};
use serde_json::Value;

const SCENARIO: &str = "\
kdyno: 1
id: small
question: What do brokers run with?
system: {kafka: 4.1.1, limits: {heap: 256MiB}, metrics: none, config: {file: conf/server.properties, num.network.threads: 2}}
topics: {perf: {partitions: 1}}
load: {writers: {produce: perf, rate: 100/s, value: 100B}}
phases: {warmup: 1s, condition: none, measure: 2s, drain: 5s}
";

const SERVER: &str = "\
process.roles=broker,controller
node.id=7
listeners=SASL_SSL://broker-7.example:9092,CONTROLLER://broker-7.example:9093
controller.quorum.bootstrap.servers=broker-7.example:9093
log.dirs=/nowhere/hunter2
ssl.keystore.password=hunter2
authorizer.class.name=org.example.Authorizer
metric.reporters=org.example.Reporter
zookeeper.session.timeout.ms=6000
confluent.balancer.enable=true
num.network.threads=9
num.io.threads=5
log.cleaner.threads=2
";

#[test]
fn brokers_run_with_their_file_and_a_rerun_needs_no_file() {
    let _turn = with_others();
    let place = TestFolder::new();
    std::fs::create_dir(place.path().join("conf")).expect("a folder");
    let server = place.file("conf/server.properties", SERVER);
    place.file("small.yaml", SCENARIO);
    let first = place.start(place.command(&["run", "./small.yaml", "--share", "--yes"])).wait(RUN_DEADLINE);
    ran(&first);
    std::fs::remove_file(server).expect("removed");
    std::fs::remove_file(place.path().join("small.yaml")).expect("removed");
    let again = place.start(place.command(&["rerun", "latest", "--share"])).wait(RUN_DEADLINE);
    ran(&again);

    let said = place.kdyno(&["show", "latest", "--config", "--json"]);
    ended(&said, 0);
    let config: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let all = config[0]["settings"].as_array().expect("settings");
    let brokers = all.iter().find(|of| of["whose"] == "broker-0").expect("the broker's");
    for (name, value) in [("num.io.threads", "5"), ("log.cleaner.threads", "2"), ("num.network.threads", "2")]
    {
        let setting = &brokers["settings"][name];
        assert_eq!((&setting["value"], &setting["origin"]), (&value.into(), &"static".into()), "{name}");
    }
    let planned = place.kdyno(&["rerun", "latest", "--dry-run"]);
    ended(&planned, 0);
    let planned = one_line(&planned.stdout);
    for words in ["ignored of the brokers' file: ", "Kafka 4.0 removed it", "zookeeper.session.timeout.ms"] {
        assert!(planned.contains(words), "no {words:?} in: {planned}");
    }
    let details = place.details();
    assert!(!details.contains("unknown-setting"), "{details}");
    let details = one_line(&details);
    assert!(
        details.contains("Ignored of the brokers' file: ") && details.contains("Kafka 4.0 removed it"),
        "{details}"
    );
    for said in [&first, &again] {
        assert!(!format!("{said:?}").contains("hunter2"), "{said:?}");
    }
    for file in std::fs::read_dir(place.path().join("kdyno-runs")).expect("the runs") {
        let path = file.expect("a file").path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", path.display());
    }
    place.expect_no_processes();
}
