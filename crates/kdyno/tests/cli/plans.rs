//! Every bundled scenario can be planned, in every profile that it names.

use crate::common::TestFolder;

#[test]
fn every_bundled_scenario_is_listed_printed_and_planned() {
    let place = TestFolder::new();
    let list = place.kdyno(&["scenarios"]);
    assert_eq!(list.code, Some(0));
    let names: Vec<&str> = list.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"first-light") && names.len() >= 5, "{names:?}");
    let image = format!("registry.example/kdyno@sha256:{}", "0".repeat(64));
    let pods = place.file("pods.yaml", &format!("kubernetes: {{image: '{image}', pods: 1}}\n"));
    let in_pods = ["--generators", pods.to_str().expect("plain path")];
    for name in names {
        let text = place.kdyno(&["scenarios", name]);
        assert!(text.stdout.starts_with("kdyno: 1") || text.stdout.contains("\nkdyno: 1"), "{name}");
        // Its commands run in pods.
        let more: &[&str] = if name.ends_with("-jobs") { &in_pods } else { &[] };
        let run = || place.kdyno(&[&["run", name, "--dry-run", "--seed", "7"][..], more].concat());
        let said = run();
        assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
        // What is free on the host may change between the two.
        let plan = |said: &str| said.split_once("\nOn this host\n").expect("the host's part").0.to_owned();
        let again = run();
        assert_eq!(plan(&said.stdout), plan(&again.stdout), "{name}: the same seed gives the same plan");
    }
    place.expect_no_processes();
    assert!(!place.path().join("kdyno-runs").exists(), "a dry run leaves nothing");
}

#[test]
fn a_dry_run_says_what_the_host_has_and_what_would_stop_the_run() {
    let place = TestFolder::new();
    place.file("taken", "");
    let said = place.kdyno(&["run", "first-light", "--dry-run", "--out", "taken/runs"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in [
        "disk: per trial each broker writes",
        " free in ",
        "memory: heaps of ",
        "warning: files cannot be made in",
    ] {
        assert!(said.stdout.contains(words), "no {words:?} in: {}", said.stdout);
    }
    let said = place.kdyno(&["run", "first-light", "--dry-run", "--json", "--out", "taken/runs"]);
    assert!(serde_json::from_str::<serde_json::Value>(&said.stdout).is_ok(), "{said:?}");
    assert!(said.stderr.contains("warning: files cannot be made in"), "{said:?}");
    // The run itself finds the same before it starts or fetches anything.
    let said = place.kdyno(&["run", "first-light", "--out", "taken/runs"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("error: files cannot be made in"), "{said:?}");
    place.expect_no_processes();
}

#[test]
fn a_folder_without_kafka_ends_a_dry_run() {
    let place = TestFolder::new();
    let ask = ["compare", "upgrade-check", "--b", "home=nowhere/kafka", "--dry-run"];
    for json in [&[][..], &["--json"]] {
        let said = place.kdyno(&[&ask[..], json].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
        assert!(said.stderr.contains("error: cannot find folder nowhere/kafka"), "{said:?}");
    }
}

#[test]
fn the_reports_have_laptop_and_published_profiles() {
    let place = TestFolder::new();
    for name in ["ibm-payload", "ibm-resilient", "ibm-fast", "huawei-rate"] {
        for profile in ["laptop", "published"] {
            let said = place.kdyno(&["run", name, "--profile", profile, "--dry-run", "--json"]);
            assert_eq!(said.code, Some(0), "{name} {profile}: {}", said.stderr);
            let plan: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
            assert_eq!(plan["profile"], profile, "{name}");
            assert!(plan["published"]["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{name}");
        }
    }
}
