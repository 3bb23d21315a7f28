//! `kdyno init` and `kdyno target init` against a cluster that answers: what they write runs as it is.

use crate::common::{RUN_DEADLINE, TestFolder, ran};
use crate::{CLUSTER_ID, NullBroker, files, run};
use rustix::process::Signal;

#[test]
fn a_written_scenario_runs_on_its_written_target() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let config = format!("bootstrap.servers={}\nacks=1\nlinger.ms=20\nclient.id=me\n", broker.address);
    place.file("producer.properties", &config);
    let init = ["init", "--from", "producer.properties", "--rate", "500", "--size", "100", "--duration", "2"];
    let said = place.start(place.command(&init)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stderr.contains("next     kdyno run my.yaml --target my-target.yaml"), "{said:?}");
    let text = |file: &str| std::fs::read_to_string(place.path().join(file)).expect("a file");
    assert!(text("my.yaml").contains("replicas: 1}"), "as many as brokers: {}", text("my.yaml"));
    assert!(!text("my.yaml").contains(&broker.address), "addresses are private");
    assert!(text("my-target.yaml").contains(&format!("cluster_id: \"{CLUSTER_ID}\"\n")));
    let run = ["run", "my.yaml", "--target", "my-target.yaml", "--share", "--set", "rate=300/s"];
    let said = place.start(place.command(&run)).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    let findings = document["findings"].as_array().expect("findings");
    let offered = findings.iter().find(|finding| finding["metric"] == "offered_per_s");
    let offered = offered.and_then(|finding| finding["value"].as_f64()).expect("a rate");
    assert!((200.0..400.0).contains(&offered), "{offered}");
    // `target init` prints that target; without the properties file it has the addresses.
    let printed = place.kdyno(&["target", "init", "--command-config", "producer.properties"]);
    assert_eq!((printed.code, &printed.stdout), (Some(0), &text("my-target.yaml")));
    let printed = place.kdyno(&["target", "init", "--bootstrap-server", &broker.address]);
    assert!(printed.stdout.contains(&format!("client: {{bootstrap: [\"{}\"]}}\n", broker.address)));
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_search_of_quick_goes_up_to_its_cap() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    // Its volume is not agreed to, so that nothing is sent.
    let args = ["quick", "--bootstrap-server", &broker.address, "--find", "p99 <= 50ms"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("--yes says that this is meant"), "{said:?}");
    let seen = broker.stop();
    assert!(seen.stderr.contains("0 records"), "{seen:?}");
}

#[test]
fn a_run_serves_its_page_when_it_has_ended() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let mut running = run(&place, &files(&place, &broker.address, CLUSTER_ID), &["--serve"]);
    running.wait_for("serving the runs of");
    assert!(place.run_file().with_extension("html").exists(), "the run has ended");
    running.signal(Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stdout.contains("\nhttp://127.0.0.1:"), "{said:?}");
    broker.stop();
    place.expect_no_processes();
}
