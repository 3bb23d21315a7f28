//! Load over TLS, with a login by SCRAM and access control lists, on every release and mode that the client is tested with: in
//! the full table. The newest one carries such a load, with another login, where secrets are looked for (`secured`).

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{event_kinds, evidences, figure_of, is_matrix, ran, start_scenario, totals};
use kdyno_model::evidence::TrialEvidence;

const SCENARIO: &str = "\
kdyno: 1
id: secured
question: Does it work?
params: {kafka: newest, mode: kraft}
cases:
  - {kafka: newest}
  - {kafka: 2.7.2, mode: zookeeper}
  - {kafka: 3.7.2, mode: zookeeper}
  - {kafka: 3.7.2}
  - {kafka: 4.1.1}
system:
  kafka: $kafka
  mode: $mode
  limits: {heap: 256MiB}
  jvm: QUICK_JVM
  config: {group.initial.rebalance.delay.ms: 0}
  listeners:
    clients: {protocol: SASL_SSL, sasl: SCRAM-SHA-256}
    internal: {protocol: SSL}
    authorizer: acls
topics: {perf: {partitions: 6, replicas: 1}}
load:
  writers: {produce: perf, clients: 2, rate: 500/s, value: 100B, client: {enable.idempotence: true}}
  orders: {produce: perf, clients: 2, rate: 100/s, value: 100B, transactions: {every: 200ms}}
  readers:
    consume: perf
    clients: 3
    group: billing
    client: {partition.assignment.strategy: cooperative-sticky, auto.commit.interval.ms: 1000}
phases: {warmup: 1s, condition: none, measure: 6s, drain: 20s}
show: {rows: [kafka, mode], columns: [writers.acked_per_s, orders.committed, readers.fetched_per_s, readers.duplicates]}
";

/// Before and after SCRAM users and access control lists moved out of ZooKeeper.
#[test]
fn each_release_carries_secured_load_and_nothing_of_it_is_lost() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    let place = TestFolder::new();
    let said = start_scenario(&place, SCENARIO).wait(RUN_DEADLINE);
    ran(&said);
    let (document, all) = (place.show(), evidences(&place));
    assert_eq!(all.len(), 5);
    for (case, evidence) in all.iter().enumerate() {
        let reported = &document["trials"][case]["cluster"]["listeners"];
        let reported = reported.as_str().unwrap_or_else(|| panic!("{}", document["trials"][case]["cluster"]));
        assert!(
            reported.starts_with("clients SASL_SSL SCRAM-SHA-256 ") && reported.ends_with(", ACLs"),
            "{reported}"
        );
        assert_conserved(evidence);
        assert!(figure_of(&document, case, "orders.committed") > 0.0, "case {case}");
        assert!(figure_of(&document, case, "readers.offset_commits") > 0.0, "case {case}");
    }
    let kinds = event_kinds(&document);
    for bad in ["refused", "member-failed", "transaction-aborted", "producer-ended"] {
        assert!(!kinds.contains(&bad.to_owned()), "{}", document["events"]);
    }
    place.expect_no_processes();
}

/// Everything that was offered was acknowledged, and members of the group were handed each record once.
fn assert_conserved(evidence: &TrialEvidence) {
    let [written, ordered, read] =
        ["writers", "orders", "readers"].map(|item| &totals(evidence, item).counts);
    for counts in [written, ordered] {
        assert!(counts.offered > 0, "{counts:?}");
        assert_eq!(counts.acknowledged, counts.offered, "{counts:?}");
    }
    assert_eq!((ordered.aborted, ordered.committed > 0), (0, true), "{ordered:?}");
    assert_eq!(read.fetched - read.duplicates, written.acknowledged + ordered.acknowledged, "{read:?}");
}
