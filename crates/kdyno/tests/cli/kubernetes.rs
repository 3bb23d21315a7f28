//! What is printed for pods that carry load, without a cluster.

use crate::common::{TestFolder, one_line};
use serde_json::Value;

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn what_would_be_applied_is_printed_without_anything_secret() {
    let place = TestFolder::new();
    let pods = format!(
        "kubernetes: {{namespace: load, image: 'r.example/kdyno@sha256:{DIGEST}', pods: 3, cpu: 2}}\n"
    );
    let file = place.file("pods.yaml", &pods);
    let said = place.kdyno(&["kubernetes", "render", file.to_str().expect("plain path")]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let list: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let kinds: Vec<&str> =
        list["items"].as_array().expect("items").iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["Secret", "Job"]);
    assert_eq!(list["items"][0]["stringData"]["token"], "made for each run");
    assert_eq!(list["items"][1]["spec"]["completions"], 3);
    assert_eq!(list["items"][1]["metadata"]["namespace"], "load");
}

#[test]
fn a_file_without_pods_has_nothing_to_print() {
    let place = TestFolder::new();
    let file = place.file("hosts.yaml", "hosts: [{ssh: gen-1}]\n");
    let said = place.kdyno(&["kubernetes", "render", file.to_str().expect("plain path")]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("names no pods") && said.stderr.contains("kubernetes:"), "{said:?}");
}

#[test]
fn rights_are_those_of_the_namespace() {
    let place = TestFolder::new();
    let said = place.kdyno(&["kubernetes", "role", "--namespace", "load"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let list: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(list["items"][0]["kind"], "Role");
    assert_eq!(list["items"][0]["metadata"]["namespace"], "load");
    assert!(!said.stdout.contains("kafka"), "{said:?}");
    let said = place.kdyno(&["kubernetes", "role", "--namespace", "load", "--strimzi"]);
    assert!(said.stdout.contains("kafkanodepools") && said.stdout.contains("kafka.strimzi.io"), "{said:?}");
}

#[test]
fn the_pod_of_a_lab_is_printed_on_request() {
    let place = TestFolder::new();
    let pods = format!("kubernetes: {{image: 'r.example/kdyno@sha256:{DIGEST}', pods: 3, claim: runs}}\n");
    let file = place.file("pods.yaml", &pods);
    let said = place.kdyno(&["kubernetes", "render", "--lab", file.to_str().expect("plain path")]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let list: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let spec = &list["items"][1]["spec"];
    assert_eq!(spec["completions"], 1);
    let volume = &spec["template"]["spec"]["volumes"][2];
    assert_eq!(volume["persistentVolumeClaim"]["claimName"], "runs");
}

#[test]
fn a_lab_in_a_pod_needs_a_file_that_says_where() {
    let place = TestFolder::new();
    let hosts = place.file("hosts.yaml", "hosts: [{ssh: gen-1}]\n");
    let refused = |more: &[&str], words: &str| {
        let said = place.kdyno(&[&["run", "first-light", "--in", "kubernetes"][..], more].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    };
    let hosts = hosts.to_str().expect("plain path");
    refused(&[], "--generators");
    refused(&["--generators", hosts], "the generators name no pods");
    refused(&["--generators", hosts, "--probe", "postgres"], "--probe");
    let file = format!("kubernetes: {{image: 'r.example/kdyno@sha256:{DIGEST}', pods: 3}}\n");
    let pods = place.file("pods.yaml", &file);
    let args = ["kubernetes", "fetch", pods.to_str().expect("plain path"), "x.kdyno"];
    let said = place.kdyno(&args);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("names no `claim`"), "{said:?}");
    let file = file.replace("pods: 3", "pods: 3, claim: runs");
    let pods = place.file("pods.yaml", &file);
    let said = place.kdyno(&["kubernetes", "fetch", pods.to_str().expect("plain path"), "a/x.kdyno"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("a/x.kdyno is a path"), "{said:?}");
    assert!(!place.path().join("kdyno-runs").exists(), "no folder is made");
}

#[test]
fn a_lab_in_a_pod_needs_an_account_to_have_brokers_made() {
    let place = TestFolder::new();
    let refused = |strimzi: &str, account: &str, words: &str| {
        let text = format!(
            "kdyno: 1\nid: pods\nquestion: Why?\nsystem: {{strimzi: {{{strimzi}}}}}\ntopics: {{t: {{partitions: 1}}}}\n\
             load: {{w: {{produce: t, rate: 1/s, value: 100B}}}}\nphases: {{warmup: 1s, condition: none, measure: 1s}}\n"
        );
        let scenario = place.file("pods-scenario.yaml", &text);
        let text = format!("kubernetes: {{image: 'r.example/kdyno@sha256:{DIGEST}', pods: 3{account}}}\n");
        let pods = place.file("pods.yaml", &text);
        let (scenario, pods) = (scenario.to_str().expect("plain path"), pods.to_str().expect("plain path"));
        let said = place.kdyno(&["run", scenario, "--in", "kubernetes", "--generators", pods]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(one_line(&said.stderr).contains(words), "{words}: {said:?}");
    };
    refused("", "", "need a `service_account`");
    refused("context: there", ", service_account: lab", "a pod has no kubeconfig");
}
