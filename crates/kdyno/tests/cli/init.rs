//! `kdyno init` and `kdyno target init` without a cluster: what is written, what is refused, and that no secret is repeated.

use crate::common::{ProgramOutput, TestFolder, one_line};
use std::os::unix::fs::PermissionsExt;

/// A cluster that does not answer.
const PRODUCER: &str = "\
bootstrap.servers=127.0.0.1:1
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" password=\"hunter2\";
acks=1
linger.ms=20
compression.type=lz4
client.id=orders
value.serializer=io.acme.AvroSerializer
retries=0
";

fn text(place: &TestFolder, file: &str) -> String {
    std::fs::read_to_string(place.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn done(said: &ProgramOutput) {
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said:?}");
}

#[test]
fn a_scenario_is_written_that_runs_as_it_is() {
    let place = TestFolder::new();
    for (load, file) in [("produce", "a.yaml"), ("produce-and-consume", "b.yaml"), ("group", "c.yml")] {
        let said = place.kdyno(&["init", file, "--load", load, "--rate", "2000", "--size", "100"]);
        done(&said);
        assert!(said.stderr.contains(&format!("next     kdyno run {file} --dry-run")), "{said:?}");
        let planned = place.kdyno(&["run", file, "--dry-run", "--set", "duration=7s"]);
        assert_eq!(planned.code, Some(0), "{planned:?}");
        let plan = one_line(&planned.stdout);
        assert!(plan.contains("2,000/s") && plan.contains("measure 7 s"), "{plan}");
        assert!(text(&place, file).starts_with("# yaml-language-server: $schema=kdyno.schema.json\n"));
    }
    assert_eq!(text(&place, "kdyno.schema.json"), place.kdyno(&["schema"]).stdout);
    assert!(!place.path().join("a-target.yaml").exists(), "a local cluster has no target");
}

#[test]
fn what_is_there_is_not_overwritten() {
    let place = TestFolder::new();
    place.file("my.yaml", "mine");
    let said = place.kdyno(&["init"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("error: my.yaml exists\nhint: --force"), "{said:?}");
    assert_eq!(text(&place, "my.yaml"), "mine");
    done(&place.kdyno(&["init", "--force"]));
    assert!(text(&place, "my.yaml").contains("params: {rate: 1k/s, size: 1KiB, duration: 30s, replicas: 1}"));
    place.file("other-target.yaml", "mine");
    let said = place.kdyno(&["init", "other.yaml", "--bootstrap-server", "127.0.0.1:1"]);
    assert!(said.code == Some(2) && said.stderr.contains("other-target.yaml exists"), "{said:?}");
    assert!(!place.path().join("other.yaml").exists());
    let said = place.kdyno(&["init", "orders"]);
    assert!(said.code == Some(2) && said.stderr.contains("hint: name it orders.yaml"), "{said:?}");
    let said = place.kdyno(&["init", "x.yaml", "--rate", "5MB"]);
    assert!(said.code == Some(2) && said.stderr.contains("error: --rate: `5MB`"), "{said:?}");
}

#[test]
fn a_producers_settings_become_those_of_the_load() {
    let place = TestFolder::new();
    place.file("producer.properties", PRODUCER);
    let said = place.kdyno(&["init", "--from", "producer.properties"]);
    done(&said);
    let (scenario, target) = (text(&place, "my.yaml"), text(&place, "my-target.yaml"));
    assert!(
        scenario.contains("    client:\n      acks: 1\n      linger.ms: 20\n      compression.type: lz4\n"),
        "{scenario}"
    );
    let left = "`client.id`, `value.serializer`, `retries`";
    assert!(scenario.contains(&format!("    # Not taken from it: {left}\n")), "{scenario}");
    assert!(scenario.contains("kdyno target init --command-config producer.properties > my-target.yaml"));
    assert!(said.stderr.contains(&format!("not taken from producer.properties: {left}")), "{said:?}");
    assert!(said.stderr.contains("`retries` as `0` is not followed"), "{said:?}");
    for private in ["hunter2", "127.0.0.1", "sasl", "PLAIN"] {
        assert!(!scenario.contains(private), "{private}: {scenario}");
    }
    assert!(target.contains("/producer.properties\"}"), "{target}");
    assert!(!target.contains("hunter2") && !said.stderr.contains("hunter2"), "{target}{said:?}");
    // Nothing answered, so the user is to fill in the id; until then the target is refused.
    assert!(said.stderr.contains("warning: the cluster did not say its id"), "{said:?}");
    let mode = std::fs::metadata(place.path().join("my-target.yaml")).expect("a target").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let run = ["run", "my.yaml", "--target", "my-target.yaml", "--dry-run"];
    let planned = place.kdyno(&run);
    assert!(planned.code == Some(2) && planned.stderr.contains("lacks `cluster_id`"), "{planned:?}");
    place.file("my-target.yaml", &target.replace("# cluster_id: ID", "cluster_id: abc"));
    let planned = place.kdyno(&run);
    assert_eq!(planned.code, Some(0), "{planned:?}");
}

#[test]
fn a_properties_file_that_is_none_of_a_producer_is_refused() {
    let place = TestFolder::new();
    place.file("c.properties", "group.id=billing\nauto.offset.reset=earliest\n");
    let said = place.kdyno(&["init", "--local", "--from", "c.properties"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let names = "error: c.properties is a consumer's properties file: `group.id`, `auto.offset.reset`\n";
    assert!(
        said.stderr.contains(names) && said.stderr.contains("hint: name the producer's file"),
        "{said:?}"
    );
    place.file("p.properties", "linger.ms=5\nacks=maybe\n");
    let said = place.kdyno(&["init", "--local", "--from", "p.properties"]);
    assert!(said.code == Some(2) && said.stderr.contains("error: p.properties:2:1: `acks`"), "{said:?}");
    assert!(!place.path().join("my.yaml").exists(), "nothing is written that kdyno does not plan");
}

#[test]
fn a_load_beyond_the_targets_caps_is_not_written() {
    let place = TestFolder::new();
    let args = ["init", "--bootstrap-server", "127.0.0.1:1", "--rate", "1M/s"];
    let said = place.kdyno(&args);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("the target's cap is 20"), "{said:?}");
    assert!(!place.path().join("my.yaml").exists() && !place.path().join("my-target.yaml").exists());
}

#[test]
fn a_target_refers_to_the_secrets_and_copies_none() {
    let place = TestFolder::new();
    place.file("producer.properties", PRODUCER);
    let said =
        place.kdyno(&["target", "init", "--command-config", "producer.properties", "--name", "company"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("target: \"company\"\n") && said.stdout.contains("# cluster_id: ID"));
    assert!(!format!("{said:?}").contains("hunter2"), "{said:?}");
    assert!(said.stderr.contains("next: chmod 600 FILE"), "{said:?}");
    for (args, words) in [
        (&["target", "init"][..], "--bootstrap-server"),
        (&["target", "init", "--bootstrap-server", "host"], "is not HOST:PORT"),
        (&["target", "init", "--command-config", "none.properties"], "there is no properties file"),
        (&["target", "init", "--bootstrap-server", "h:1", "--name", "a b"], "expected letters"),
    ] {
        let said = place.kdyno(args);
        assert!(said.code == Some(2) && said.stderr.contains(words), "{args:?}: {said:?}");
    }
}
