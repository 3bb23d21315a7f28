//! Consumer groups on real brokers: each group is handed every record, whatever happens to its members.

use crate::common::turns::beside_others;
use crate::common::{Place, QUICKLY, RUN_DEADLINE, signal};
use crate::fixture::{
    caveats, event_kinds, evidences, figure, figure_of, is_matrix, ran, start_scenario, totals,
};
use kdyno_kafka::admin::Admin;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{MemberTotals, StreamTotals};
use rustix::process::Signal;

/// A scenario of one topic with six partitions; `cases`, the system and the load beside its writers are given.
fn scenario(cases: &str, system: &str, readers: &str) -> String {
    format!(
        "\
kdyno: 1
id: groups
question: Does it work?
params: {{kafka: 4.1.1, mode: kraft, protocol: classic}}
{cases}system: {{kafka: $kafka, mode: $mode, limits: {{heap: 256MiB}}, {system}}}
topics: {{perf: {{partitions: 6, replicas: = min(3, brokers)}}}}
load:
  writers: {{produce: perf, clients: 2, rate: 500/s, value: 100B}}
{readers}phases: {{warmup: 1s, condition: none, measure: 6s, drain: 20s}}
show: {{rows: [kafka, protocol], columns: [writers.acked_per_s, readers.fetched_per_s, readers.rebalances, readers.duplicates]}}
"
    )
    .replace("min(3, brokers)", if system.contains("brokers: 3") { "3" } else { "1" })
}

const QUICKLY_JOINED: &str = "config: {group.initial.rebalance.delay.ms: 0}";

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
fn each_group_is_handed_every_record_by_either_protocol_and_any_release() {
    let _turn = beside_others();
    let place = Place::new();
    let few = "cases:\n  - {kafka: 2.7.2, mode: zookeeper}\n  - {kafka: newest, protocol: consumer}\n";
    let more = "  - {kafka: 3.7.2}\n  - {kafka: 4.1.1}\n  - {kafka: 4.1.1, protocol: consumer}\n  - {kafka: newest}\n";
    let cases = if is_matrix() { format!("{few}{more}") } else { few.to_owned() };
    let readers = "  readers: {consume: perf, clients: 3, group: billing, client: {group.protocol: $protocol, auto.commit.interval.ms: 1000}}\n  \
                   audit: {consume: perf, clients: 2, group: audit, client: {partition.assignment.strategy: cooperative-sticky}}\n";
    let said = start_scenario(&place, &scenario(&cases, QUICKLY_JOINED, readers)).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    let all = evidences(&place);
    assert_eq!(all.len(), if is_matrix() { 6 } else { 2 });
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

#[test]
fn members_come_and_go_and_every_record_is_handed_over() {
    let _turn = beside_others();
    let place = Place::new();
    let client = "client: {partition.assignment.strategy: cooperative-sticky, heartbeat.interval.ms: 500, auto.commit.interval.ms: 1000}";
    let readers = format!(
        "  readers: {{consume: perf, clients: 2, group: g, {client}}}\n  \
         guests: {{consume: perf, clients: 2, group: g, at: 2s, until: 5s, work: 1ms, {client}}}\n"
    );
    let text = scenario("", QUICKLY_JOINED, &readers).replace("measure: 6s", "measure: 10s");
    ran(&start_scenario(&place, &text).wait(RUN_DEADLINE));
    let document = place.show();
    assert!(figure(&document, "readers.rebalances") >= 2.0, "one as they came, one as they went");
    assert!(figure(&document, "readers.rebalance.max") > 0.0);
    assert!(!caveats(&document, "warning").contains(&"group-not-conserved"), "{}", document["caveats"]);
    let all = evidences(&place);
    let [read, guests, written] =
        ["readers", "guests", "writers"].map(|item| totals(&all[0], item).counts.clone());
    assert!(guests.fetched > 0, "{guests:?}");
    let handed_over = read.fetched + guests.fetched - read.duplicates - guests.duplicates;
    assert_eq!(handed_over, written.acknowledged, "{read:?} {guests:?}");
    place.expect_no_processes();
}

/// While its application works, a slow consumer fetches nothing that would tell it how the log grows.
#[test]
fn a_slow_group_is_as_far_behind_as_what_was_written_and_not_handed_over() {
    let _turn = beside_others();
    let place = Place::new();
    let readers = "  readers: {consume: perf, clients: 1, group: g, work: 10ms}\n";
    let text = scenario("", QUICKLY_JOINED, readers).replace("drain: 20s", "drain: 1s");
    let text = text.replace("readers.rebalances,", "readers.rebalances, readers.lag_records,");
    ran(&start_scenario(&place, &text).wait(RUN_DEADLINE));
    let lag = figure(&place.show(), "readers.lag_records");
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

#[test]
fn a_member_that_stops_polling_loses_its_partitions_to_the_others() {
    let _turn = beside_others();
    let place = Place::new();
    // It works on its first record for longer than the load lasts, and has committed nothing when it loses its partitions:
    // from `latest` the others would skip what came meanwhile, as Java's do. The others learn of it by a heartbeat: often, and
    // with room in the window, since on a busy host both come late.
    let manner = "max.poll.interval.ms: 2s, heartbeat.interval.ms: 500";
    let readers = format!(
        "  readers: {{consume: perf, clients: 2, group: g, from: earliest, client: {{{manner}}}}}\n  \
         stuck: {{consume: perf, clients: 1, group: g, from: earliest, work: 16s, client: {{{manner}, max.poll.records: 1}}}}\n"
    );
    let text = scenario("", QUICKLY_JOINED, &readers).replace("measure: 6s", "measure: 10s");
    ran(&start_scenario(&place, &text).wait(RUN_DEADLINE));
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

/// The process that leads the one partition of the offsets topic.
fn coordinator(place: &Place) -> u32 {
    let processes = place.processes(0);
    let broker = |name: &str| {
        let file = format!("/{name}/server.properties");
        let of = |(pid, line): &(u32, String)| {
            let path = line.split_whitespace().find(|word| word.ends_with(&file))?;
            Some((*pid, path.to_owned()))
        };
        processes.iter().find_map(of).unwrap_or_else(|| panic!("no {name} among {processes:?}"))
    };
    let (_, settings) = broker("broker-0");
    let settings = std::fs::read_to_string(settings).expect("the settings of a broker");
    let listeners = settings.lines().find_map(|line| line.strip_prefix("advertised.listeners="));
    let address = listeners.and_then(|all| all.split(',').next()?.split("//").nth(1)).expect("an address");
    // Kafka's own tool would still be starting on a busy host when the load is over.
    let mut admin = Admin::connect(&[address.to_owned()], "test", QUICKLY).expect("a broker");
    let topics = admin.topics(Some(&["__consumer_offsets"])).expect("its topics");
    broker(&format!("broker-{}", topics[0].partitions[0].leader)).0
}

#[test]
fn a_group_goes_on_when_the_broker_that_coordinates_it_is_killed() {
    let _turn = beside_others();
    let place = Place::new();
    let system = "brokers: 3, config: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: 3, group.initial.rebalance.delay.ms: 0}";
    let readers = "  readers: {consume: perf, clients: 3, group: g, from: earliest, client: {partition.assignment.strategy: cooperative-sticky, auto.commit.interval.ms: 1000}}\n";
    let text = scenario("", system, readers).replace("measure: 6s", "measure: 15s");
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
