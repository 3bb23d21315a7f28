//! What the cluster reports of logs and groups agrees with what was written, of groups of others too.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{
    GUARD_OF_CLUSTER, bootstrap, ended, evidences, figure, kafka_tool, ran, stand, take_down,
};
use kdyno_model::event::Subject;
use kdyno_model::sample::series;
use serde_json::Value;

const LOAD: &str = "\
kdyno: 1
id: small
question: Does it work?
topics: {perf: {partitions: 2, replicas: 1}}
load:
  writers: {produce: perf, clients: 2, rate: 500/s, value: 200B}
  readers: {consume: perf, group: g}
phases: {warmup: 2s, condition: none, measure: 12s, drain: 20s}
show: {columns: [writers.acked_per_s]}
";

#[test]
fn logs_grow_by_what_is_written_and_a_foreign_group_lags_by_it() {
    let turn = with_others();
    let place = TestFolder::new();
    stand(&place, "theirs", "kafka: newest, config: {auto.create.topics.enable: true}");
    let address = bootstrap(&place);
    let address = address.as_str();
    read_a_part(&place, address, ("orders", "1000"), ("strangers", "300"));
    read_a_part(&place, address, ("bills", "100"), ("billing", "40"));

    let _turn = turn.waits();
    let said = place.kdyno(&["cluster", "target", "theirs"]);
    ended(&said, 0);
    let allowed = "topics: {perf: orders}\ngroups: [billing, nosuch]\nguard: {prefix: kdyno-, allow: [existing-topics]}";
    let target = said.stdout.replace(GUARD_OF_CLUSTER, allowed);
    let target = place.file("target.yaml", &target);
    place.file("small.yaml", LOAD);
    let target = target.to_str().expect("plain path");
    let args = ["run", "small.yaml", "--target", target, "--share", "--yes", "--seed", "1"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    let events = document["events"].as_array().expect("events");
    let unread: Vec<&str> = events
        .iter()
        .filter(|one| one["kind"] == "logs-not-read")
        .filter_map(|one| one["detail"].as_str())
        .collect();
    let missing = "the lag of group nosuch cannot be read: no broker lists it; it is not there, or the user may not describe it";
    assert_eq!(unread, [missing]);
    // It reads a topic that the run does not know.
    for at in ["start", "end"] {
        let lag = figure(&document, &format!("group:billing.committed_lag_at_{at}"));
        assert!((60.0..=100.0).contains(&lag), "it read 40 of 100: {lag}");
    }
    let imported = document["series"][0]["imported"].as_array().expect("series");
    let course = imported.iter().find(|one| one["subject"] == "group:billing").expect("its course");
    assert!(course["value"].as_array().expect("values").len() >= 3, "{course}");

    let at_start = figure(&document, "group:strangers.committed_lag_at_start");
    let at_end = figure(&document, "group:strangers.committed_lag_at_end");
    assert!(at_start >= 700.0, "1000 were there, and it read 300: {at_start}");
    let behind_per_s = (at_end - at_start) / 12.0;
    let acked_per_s = figure(&document, "writers.acked_per_s");
    // Both ends are read in the second before: half a second more or less on a busy host.
    assert!((behind_per_s / acked_per_s - 1.0).abs() < 0.1, "{behind_per_s} and {acked_per_s} per s");
    let evidence = &evidences(&place)[0];
    let of = |group: &str, name: &str| {
        let subject = Subject::Group(group.to_owned());
        let rows = evidence.probes.iter().filter(|one| one.subject == subject && one.series == name);
        rows.map(|one| one.value).collect::<Vec<f64>>()
    };
    assert!(of("strangers", series::COMMITTED_LAG_S).is_empty(), "it is behind since before the run");
    assert!(of("strangers", series::COMMITTED_LAG_S_AT_LEAST).last().is_some_and(|s| *s > 11.0));
    // It commits every 5 s.
    assert!(figure(&document, "group:g.committed_lag_at_end") < 8.0 * acked_per_s);
    assert!(of("g", series::COMMITTED_LAG_S).iter().all(|s| *s < 12.0));

    is_fresh(&document);
    let growth = figure(&document, "brokers.run_log_growth_mib_per_s");
    let bytes_in = figure(&document, "brokers.bytes_in_mib_per_s");
    assert!((growth / bytes_in - 1.0).abs() < 0.1, "grew by {growth} MiB/s, {bytes_in} MiB/s came in");
    assert!(figure(&document, "brokers.log_bytes") > figure(&document, "brokers.run_log_bytes"));
    assert_eq!(figure(&document, "brokers.run_under_replicated_partitions"), 0.0);
    assert_eq!(figure(&document, "brokers.run_in_sync_replicas_least"), 1.0);
    let shown = place.kdyno(&["show", "latest", "--details"]).stdout;
    assert!(shown.contains("Committed lag of consumer groups") && shown.contains("strangers"), "{shown}");
    take_down(&place, "theirs");
}

/// Writes so many records to a topic, of which a group reads some.
fn read_a_part(
    place: &TestFolder,
    address: &str,
    (topic, written): (&str, &str),
    (group, read): (&str, &str),
) {
    let what = ["producer-perf-test", "--topic", topic, "--num-records", written, "--record-size", "100"];
    let how = ["--throughput", "-1", "--bootstrap-server", address];
    ended(&place.start(place.command(&[&what[..], &how].concat())).wait(RUN_DEADLINE), 0);
    std::fs::remove_file(place.run_file()).expect("a run file");
    let what = ["--topic", topic, "--from-beginning", "--group", group, "--max-messages", read];
    let args = [&["--bootstrap-server", address][..], &what].concat();
    ended(&kafka_tool(place, "org.apache.kafka.tools.consumer.ConsoleConsumer", &args), 0);
}

/// The cluster was started for this test, and a thousand records are two seconds of this load.
fn is_fresh(document: &Value) {
    let caveats = document["caveats"].as_array().expect("caveats");
    let fresh = caveats.iter().find(|one| one["kind"] == "brokers-fresh");
    let reported = fresh.and_then(|one| one["message"].as_str()).unwrap_or_default();
    assert!(reported.starts_with("brokers are cold: 1,"), "{caveats:?}");
}
