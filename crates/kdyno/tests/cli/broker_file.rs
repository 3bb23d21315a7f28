//! A broker's own file in a scenario, as far as a dry run goes.

use crate::common::TestFolder;

const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
params: {file: server.properties}
system: {kafka: 4.1.1, config: {file: $file}}
topics: {perf: {partitions: 1}}
load: {writers: {produce: perf, rate: 100/s, value: 100B}}
phases: {warmup: 1s, measure: 2s}
";

fn place() -> TestFolder {
    let place = TestFolder::new();
    std::fs::create_dir(place.path().join("conf")).expect("a folder");
    place.file("conf/small.yaml", SCENARIO);
    place.file(
        "conf/server.properties",
        "node.id=1\nssl.key.password=hunter2\ncontrol.plane.listener.name=X\nnum.io.threads : 5\n",
    );
    place.file(
        "conf/wrong.properties",
        "num.io.threads=5\nlog.segment.bytes=1GiB\nlog.retention.ms=hunter2\n",
    );
    place.file(
        "compose.yaml",
        "services:\n  kafka:\n    image: apache/kafka\n    environment:\n      KAFKA_NUM_IO_THREADS: 6\n",
    );
    place
}

#[test]
fn a_dry_run_has_all_settings_and_a_note_for_each_ignored_one() {
    let place = place();
    let said = place.kdyno(&["run", "conf/small.yaml", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in [
        "broker settings: num.io.threads=5",
        "`node.id` of the brokers' file is ignored: kdyno sets it itself",
        "`ssl.key.password` of the brokers' file is ignored: its name is that of a secret",
        "`control.plane.listener.name` of the brokers' file is ignored: Kafka 4.0 removed it",
    ] {
        assert!(said.stdout.contains(words), "no {words:?} in: {}", said.stdout);
    }
    assert!(!said.stdout.contains("hunter2"), "{}", said.stdout);
    // Typed by hand it counts from the current folder.
    let sides =
        ["--a", "system.config.file=conf/server.properties", "--b", "system.config.file=compose.yaml"];
    let said = place.kdyno(&[&["compare", "conf/small.yaml", "--dry-run", "--json"], &sides[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let plan: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let config = &plan["cases"][0]["system"]["local"]["config"];
    assert_eq!(*config, serde_json::json!({"num.io.threads": "5"}));
    let other = &plan["strategy"]["compare"]["b"][0]["system"]["local"]["config"];
    assert_eq!(*other, serde_json::json!({"num.io.threads": "6"}));
}

#[test]
fn a_file_that_is_wrong_or_missing_is_refused_with_its_lines() {
    let place = place();
    for (file, words) in [
        ("wrong.properties", &["line 2 sets `log.segment.bytes`", "line 3 sets `log.retention.ms`"][..]),
        ("none.properties", &["the file `none.properties` could not be read"][..]),
        ("..", &["the file `..` is no regular file"][..]),
        ("../compose.yml", &["the file `../compose.yml` could not be read"][..]),
    ] {
        let said = place.kdyno(&["run", "conf/small.yaml", "--dry-run", "--set", &format!("file={file}")]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        for words in words {
            assert!(said.stderr.contains(words), "no {words:?} in: {}", said.stderr);
        }
        assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
    }
    place.expect_no_processes();
}
