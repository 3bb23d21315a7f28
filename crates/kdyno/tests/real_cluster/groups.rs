//! Consumer groups on real brokers: each group is handed every record, whatever happens to its members.

use crate::common::turns::with_others;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder, signal};
use crate::fixture::{
    address, admin, caveats, event_kinds, evidences, figure, figure_of, is_matrix, ran, settings_of,
    start_kafka_tool, start_scenario, totals,
};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{MemberTotals, StreamTotals};
use rustix::process::Signal;

/// A scenario of one topic with six partitions; `cases`, the system and the load next to its writers are given.
fn scenario(cases: &str, system: &str, readers: &str) -> String {
    format!(
        "\
kdyno: 1
id: groups
question: Does it work?
params: {{kafka: 4.1.1, mode: kraft, protocol: classic}}
{cases}system: {{kafka: $kafka, mode: $mode, limits: {{heap: 256MiB}}, metrics: none, jvm: QUICK_JVM, {system}}}
topics: {{perf: {{partitions: 6, replicas: = min(3, brokers)}}}}
load:
  writers: {{produce: perf, clients: 2, rate: 500/s, value: 100B}}
{readers}phases: {{warmup: 1s, condition: none, measure: 6s, drain: 20s}}
show: {{rows: [kafka, protocol], columns: [writers.acked_per_s, readers.fetched_per_s, readers.rebalances, readers.duplicates]}}
"
    )
    .replace("min(3, brokers)", if system.contains("brokers: 3") { "3" } else { "1" })
}

/// The first member of a cluster waits for fifty partitions of the offsets' topic otherwise.
const QUICKLY_JOINED: &str = "config: {group.initial.rebalance.delay.ms: 0, offsets.topic.num.partitions: 3}";

fn members(totals: &StreamTotals) -> Vec<MemberTotals> {
    totals.clients.iter().map(|client| client.member.expect("a member")).collect()
}

/// Records that the item's members were handed, each counted once, against those acknowledged.
fn assert_conserved(evidence: &TrialEvidence, item: &str) {
    let (read, written) = (&totals(evidence, item).counts, &totals(evidence, "writers").counts);
    assert_eq!(written.acknowledged, written.offered, "{written:?}");
    assert_eq!(read.fetched - read.duplicates, written.acknowledged, "{item}: {read:?}");
}

#[test]
fn each_group_reads_every_record_by_any_protocol_and_release() {
    let _turn = with_others();
    let place = TestFolder::new();
    let few = "cases:\n  - {kafka: newest, protocol: consumer}\n";
    let more = "  - {kafka: 2.7.2, mode: zookeeper}\n  - {kafka: 3.7.2, mode: zookeeper}\n  - {kafka: 3.7.2}\n  - {kafka: 4.1.1}\n  - {kafka: 4.1.1, protocol: consumer}\n  - {kafka: newest}\n";
    let cases = if is_matrix() { format!("{few}{more}") } else { few.to_owned() };
    let readers = "  readers: {consume: perf, clients: 3, group: billing, client: {group.protocol: $protocol, auto.commit.interval.ms: 1000}}\n  \
                   audit: {consume: perf, clients: 2, group: audit, client: {partition.assignment.strategy: cooperative-sticky}}\n";
    let said = start_scenario(&place, &scenario(&cases, QUICKLY_JOINED, readers)).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    let all = evidences(&place);
    assert_eq!(all.len(), if is_matrix() { 7 } else { 1 });
    for (case, evidence) in all.iter().enumerate() {
        for item in ["readers", "audit"] {
            assert_conserved(evidence, item);
            assert_eq!(
                totals(evidence, item).counts.duplicates,
                0,
                "{item} of case {case}: nothing changed hands"
            );
        }
        let partitions: Vec<u32> =
            members(totals(evidence, "readers")).iter().map(|one| one.partitions).collect();
        assert_eq!(partitions, [2, 2, 2], "case {case}: shared out before the load began");
        assert!(figure_of(&document, case, "readers.offset_commits") >= 12.0, "three members, once a second");
        assert!(figure_of(&document, case, "readers.offset_commit.max") > 0.0);
        assert_eq!(figure_of(&document, case, "readers.rebalances"), 0.0);
        let cv = figure_of(&document, case, "readers.member_records_cv");
        assert!(cv < 1.0, "case {case}: {cv}");
    }
    assert!(!caveats(&document, "warning").contains(&"group-not-conserved"), "{}", document["caveats"]);
    assert!(event_kinds(&document).contains(&"group-rebalanced".to_owned()), "as they joined");
    place.expect_no_processes();
}

/// Two readers are there from the beginning, two guests of their group come in the middle and go again: by a cooperative assignor,
/// and where the brokers assign.
#[test]
fn members_come_and_go_and_each_group_is_handed_every_record() {
    let few = "cases:\n  - {kafka: 4.1.1}\n";
    let more = "  - {kafka: 2.7.2, mode: zookeeper}\n  - {kafka: 3.7.2, mode: zookeeper}\n  - {kafka: 3.7.2}\n  - {kafka: newest}\n";
    let cases = if is_matrix() { format!("{few}{more}") } else { few.to_owned() };
    let client = "partition.assignment.strategy: cooperative-sticky, heartbeat.interval.ms: 500";
    members_come_and_go(&cases, QUICKLY_JOINED, client);
    if is_matrix() {
        let short_heartbeats = "config: {group.consumer.heartbeat.interval.ms: 500, group.consumer.min.heartbeat.interval.ms: 500}";
        let cases = "cases:\n  - {kafka: 4.1.1}\n  - {kafka: newest}\n";
        members_come_and_go(cases, short_heartbeats, "group.protocol: consumer");
    }
}

fn members_come_and_go(cases: &str, system: &str, client: &str) {
    let _turn = with_others();
    let place = TestFolder::new();
    let client = format!("client: {{{client}, auto.commit.interval.ms: 1000}}");
    let readers = format!(
        "  readers: {{consume: perf, clients: 2, group: g, {client}}}\n  \
         guests: {{consume: perf, clients: 2, group: g, at: 2s, until: 5s, work: 1ms, {client}}}\n"
    );
    let text = scenario(cases, system, &readers).replace("measure: 6s", "measure: 10s");
    let mut running = start_scenario(&place, &text);
    running.wait_for("· measure");
    ran(&running.wait(RUN_DEADLINE));
    let document = place.show();
    assert!(!caveats(&document, "warning").contains(&"group-not-conserved"), "{}", document["caveats"]);
    let all = evidences(&place);
    assert_eq!(all.len(), cases.matches("kafka:").count());
    for (case, evidence) in all.iter().enumerate() {
        let rebalances = figure_of(&document, case, "readers.rebalances");
        assert!(rebalances >= 2.0, "case {case}: {rebalances}: one as they came, one as they went");
        assert!(figure_of(&document, case, "readers.rebalance.max") > 0.0);
        // The guests took partitions from the readers, and gave them back as they went.
        assert!(figure_of(&document, case, "readers.without_owner.max") > 0.0);
        assert!((figure_of(&document, case, "readers.conserved") - 1.0).abs() < f64::EPSILON);
        let [read, guests, written] =
            ["readers", "guests", "writers"].map(|item| totals(evidence, item).counts.clone());
        assert!(guests.fetched > 0, "case {case}: {guests:?}");
        assert_eq!(written.acknowledged, written.offered, "case {case}: {written:?}");
        let handed_over = read.fetched + guests.fetched - read.duplicates - guests.duplicates;
        assert_eq!(handed_over, written.acknowledged, "case {case}: {read:?} {guests:?}");
    }
    place.expect_no_processes();
}

/// While its application works, a slow consumer fetches nothing that would show it how the log grows.
#[test]
fn a_slow_group_lags_by_what_was_written_and_not_handed_over() {
    let _turn = with_others();
    let place = TestFolder::new();
    let readers = "  readers: {consume: perf, clients: 1, group: g, work: 10ms}\n";
    let text = scenario("", QUICKLY_JOINED, readers).replace("drain: 20s", "drain: 1s");
    let text = text.replace("readers.rebalances,", "readers.rebalances, readers.lag,");
    ran(&start_scenario(&place, &text).wait(RUN_DEADLINE));
    let lag = figure(&place.show(), "readers.lag");
    let all = evidences(&place);
    let of = |item| totals(&all[0], item).counts.clone();
    let (written, handed) = (of("writers").acknowledged, of("readers").fetched);
    // Some more are handed over in the drain, and the last second's lag is that of an end of the log a moment before: two
    // seconds of load on a host that answers late.
    let least = (written - handed) as f64 - 1_000.0;
    assert!(least > 1_000.0, "{written} written, {handed} handed over");
    assert!((least..=written as f64).contains(&lag), "{lag} behind; {written} written, {handed} handed over");
    place.expect_no_processes();
}

/// In the full table: what the member does is tested in simulated time (`kafka`, `group`), what is reported of it in `load`.
#[test]
fn a_member_that_stops_polling_loses_its_partitions() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    let place = TestFolder::new();
    // It works on its first record for longer than the load lasts, and has committed nothing when it loses its partitions:
    // from `latest` the others would skip what came meanwhile, as Java's do. The others learn of it by a heartbeat: often, and
    // with room in the window, since on a busy host both come late.
    let manner = "max.poll.interval.ms: 2s, heartbeat.interval.ms: 500";
    let readers = format!(
        "  readers: {{consume: perf, clients: 2, group: g, from: earliest, client: {{{manner}}}}}\n  \
         stuck: {{consume: perf, clients: 1, group: g, from: earliest, work: 16s, client: {{{manner}, max.poll.records: 1}}}}\n"
    );
    let text = scenario("", QUICKLY_JOINED, &readers).replace("measure: 6s", "measure: 10s");
    let mut running = start_scenario(&place, &text);
    running.wait_for("· measure");
    ran(&running.wait(RUN_DEADLINE));
    let document = place.show();
    let kinds = event_kinds(&document);
    assert!(kinds.contains(&"partitions-lost".to_owned()), "{kinds:?}");
    assert!(figure(&document, "readers.rebalances") >= 1.0, "{}", document["timeline"]);
    assert!(figure(&document, "readers.rebalance.max") > 0.0);
    let all = evidences(&place);
    let stuck = totals(&all[0], "stuck");
    assert!(stuck.clients[0].records <= 3, "{stuck:?}");
    let read = totals(&all[0], "readers");
    assert!(read.counts.fetched >= totals(&all[0], "writers").counts.acknowledged - 1, "{read:?}");
    place.expect_no_processes();
}

/// A member whose process is killed does not leave: the others get its partitions when its session is over. The
/// load's own members end with their worker, and the run with that, so it is a consumer of Kafka's own that joins their group
/// and is killed. It commits nothing: what it had been handed, they are handed too.
#[test]
fn a_member_that_is_killed_leaves_its_partitions_to_the_others() {
    let turn = with_others();
    let place = TestFolder::new();
    let system = "config: {group.initial.rebalance.delay.ms: 0, group.min.session.timeout.ms: 1000, offsets.topic.num.partitions: 3}";
    let readers = "  readers: {consume: perf, clients: 2, group: g, from: earliest, client: {partition.assignment.strategy: cooperative-sticky, heartbeat.interval.ms: 500, auto.commit.interval.ms: 1000}}\n";
    let text = scenario("", system, readers).replace("measure: 6s", "measure: 24s");
    let mut running = start_scenario(&place, &text);
    running.wait_for("· measure");
    let topics = admin(&place).topics(None).expect("the topics");
    let topic = &topics.iter().find(|topic| topic.name.contains("-perf-")).expect("the load's topic").name;
    // Groups are named as topics are.
    let group = topic.replace("-perf-", "-g-");
    let bootstrap = address(&place);
    let mut args = vec!["--bootstrap-server", &bootstrap, "--topic", topic, "--group", &group];
    for property in [
        "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        "enable.auto.commit=false",
        "auto.offset.reset=earliest",
        "session.timeout.ms=2000",
        "heartbeat.interval.ms=500",
    ] {
        args.extend(["--consumer-property", property]);
    }
    let mut java = start_kafka_tool(&place, "org.apache.kafka.tools.consumer.ConsoleConsumer", &args);
    java.wait_for_line();
    java.signal(Signal::KILL);
    assert_eq!(java.wait(QUICKLY).code, None, "killed");
    let _turn = turn.waits();
    ran(&running.wait(RUN_DEADLINE));
    let document = place.show();
    let rebalances = figure(&document, "readers.rebalances");
    assert!(rebalances >= 2.0, "{rebalances}: one as it came, one as its session was over");
    assert!(!caveats(&document, "warning").contains(&"group-not-conserved"), "{}", document["caveats"]);
    assert_conserved(&evidences(&place)[0], "readers");
    place.expect_no_processes();
}

/// The process that leads the one partition of the offsets topic.
fn coordinator(place: &TestFolder) -> u32 {
    let topics = admin(place).topics(Some(&["__consumer_offsets"])).expect("its topics");
    let leader = u32::try_from(topics[0].partitions[0].leader).expect("a leader");
    settings_of(place, leader).1
}

/// In the full table: the same happens in simulated time (`crates/load/tests/streams/consuming_groups.rs`).
#[test]
fn a_group_continues_when_its_coordinator_is_killed() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    let place = TestFolder::new();
    // Controllers count a broker as dead after five seconds, not nine.
    let system = "brokers: 3, config: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: 3, \
                  group.initial.rebalance.delay.ms: 0, broker.session.timeout.ms: 5000}";
    let readers = "  readers: {consume: perf, clients: 3, group: g, from: earliest, client: {partition.assignment.strategy: cooperative-sticky, auto.commit.interval.ms: 1000}}\n";
    let text = scenario("", system, readers).replace("measure: 6s", "measure: 11s");
    let mut running = start_scenario(&place, &text);
    running.wait_for("· measure");
    signal(coordinator(&place), Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    let kinds = event_kinds(&document);
    assert!(kinds.contains(&"coordinator-lost".to_owned()), "{kinds:?}");
    assert!(!kinds.contains(&"member-failed".to_owned()), "{}", document["events"]);
    assert!(!caveats(&document, "warning").contains(&"group-not-conserved"), "{}", document["caveats"]);
    let all = evidences(&place);
    let (read, written) = (&totals(&all[0], "readers").counts, &totals(&all[0], "writers").counts);
    assert!(read.fetched - read.duplicates >= written.acknowledged, "{read:?} {written:?}");
    place.expect_no_processes();
}
