//! Users who may do little: the run goes on without what they may not, and says so.

use crate::common::{RUN_DEADLINE, TestFolder, ran};
use crate::{SCENARIO, files, run};
use kdyno_fake_broker::tcp::{FakeServer, spawn};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Right};
use kdyno_kafka::admin::Admin;

/// Name by which the fake cluster answers.
const CLUSTER_ID: &str = "kdyno-fake-cluster";

fn denying(rights: &[Right]) -> FakeServer {
    let config = FakeConfig::new(1).topic("team-a.load", 2);
    let config = rights.iter().fold(config, |config, right| config.deny(*right));
    spawn(FakeCluster::new(config)).expect("a fake cluster")
}

fn topics(server: &FakeServer) -> Vec<String> {
    let mut admin = Admin::connect(&server.bootstrap(), "test", RUN_DEADLINE).expect("a broker");
    admin.topics(None).expect("its topics").into_iter().map(|topic| topic.name).collect()
}

#[test]
fn without_topic_rights_an_existing_topic_is_used_instead() {
    let place = TestFolder::new();
    let server = denying(&[Right::CreateTopics, Right::DeleteTopics, Right::DescribeConfigs]);
    let files = files(&place, &server.bootstrap()[0], CLUSTER_ID);
    let said = run(&place, &files, &[]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    for reported in ["could not make topic `perf`", "TOPIC_AUTHORIZATION_FAILED", "`topics: {perf: NAME}`"] {
        assert!(said.stderr.contains(reported), "{reported}: {said:?}");
    }
    let target = std::fs::read_to_string(&files[2]).expect("the target");
    let target =
        target.replace("guard: {", "topics: {perf: team-a.load}\nguard: {allow: [existing-topics], ");
    place.file("target.yaml", &target);
    let said = run(&place, &files, &[]).wait(RUN_DEADLINE);
    ran(&said);
    let unseen = "the brokers' settings are not kept with the run: ";
    let reported = said.stderr.lines().find(|line| line.contains(unseen)).expect("it is told");
    assert!(reported.contains("CLUSTER_AUTHORIZATION_FAILED"), "{reported}");
    let config = place.kdyno(&["show", "latest", "--config"]);
    assert!(config.stdout.contains("the brokers' settings are not kept with the run: "), "{config:?}");
    assert_eq!(topics(&server), ["team-a.load"]);
    let files = std::fs::read_dir(place.path().join("kdyno-runs")).expect("a folder of runs");
    let kept: Vec<String> = files
        .map(|file| std::fs::read(file.expect("an entry").path()).expect("a run file"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    assert!(!kept.is_empty() && !kept.iter().any(|kept| kept.contains("team-a.load")), "names of theirs");
    place.expect_no_processes();
}

#[test]
fn topics_that_may_not_be_deleted_are_listed_and_used_again() {
    let place = TestFolder::new();
    let server = denying(&[Right::DeleteTopics]);
    let files = files(&place, &server.bootstrap()[0], CLUSTER_ID);
    place.file("small.yaml", &format!("{SCENARIO}repeat: 2\n"));
    let said = run(&place, &files, &[]).wait(RUN_DEADLINE);
    ran(&said);
    let topics = topics(&server);
    let ours: Vec<&String> = topics.iter().filter(|name| name.starts_with("kdyno-")).collect();
    assert_eq!(ours.len(), 1, "both trials have the same: {topics:?}");
    let reported = format!("the target does not let this user delete topics: {} stay", ours[0]);
    assert_eq!(said.stderr.matches(&reported).count(), 1, "{said:?}");
    place.expect_no_processes();
}
