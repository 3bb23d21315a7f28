//! Quotas of clients, from a scenario's text to the plan.

use crate::common::as_written;
use kdyno_model::plan::{Plan, QuotaEach, QuotasPlan, SystemPlan};

fn planned(params: &str, system: &str) -> Result<Plan, String> {
    let text = format!(
        "kdyno: 1\nid: capped\nquestion: How much?\n{params}system: {{{system}}}\ntopics: {{t: {{partitions: 3}}}}\n\
         load: {{writers: {{produce: t, rate: 10/s, value: 100B}}}}\nphases: {{warmup: 5s, measure: 10s}}\n"
    );
    as_written(&text)
}

fn quotas(plan: &Plan, case: usize) -> Option<QuotasPlan> {
    let SystemPlan::Local(cluster) = &plan.cases[case].system else { panic!("a local cluster") };
    cluster.quotas
}

#[test]
fn quotas_are_swept_like_anything_else() {
    let plan = planned(
        "params: {cap: 1MiB/s}\nvary: {cap: [400KB/s, 1MiB/s]}\n",
        "quotas: {producer_byte_rate: $cap, request_percentage: 12.5}",
    )
    .expect("a plan");
    let of_clients = |bytes| QuotasPlan {
        each: QuotaEach::Client,
        producer_bytes_per_s: Some(bytes),
        consumer_bytes_per_s: None,
        request_percent: Some(12.5),
    };
    assert_eq!(
        [0, 1].map(|case| quotas(&plan, case)),
        [400_000, 1 << 20].map(|bytes| Some(of_clients(bytes)))
    );
    let of_users = planned("", "quotas: {each: user, consumer_byte_rate: 1MB/s}").expect("a plan");
    let found = quotas(&of_users, 0).expect("quotas");
    assert_eq!((found.each, found.consumer_bytes_per_s), (QuotaEach::User, Some(1_000_000)));
    assert_eq!(quotas(&planned("", "brokers: 1").expect("a plan"), 0), None);
}

#[test]
fn what_no_quota_can_be_is_refused_in_place() {
    for (system, words) in [
        ("quotas: {}", "`quotas` limits nothing"),
        ("quotas: {each: user}", "`quotas` limits nothing"),
        ("quotas: {producer_byte_rate: 10MiB}", "not a size per second | e.g. `10MiB/s`"),
        ("quotas: {consumer_byte_rate: 1B/s}", "`consumer_byte_rate`: `1B/s` is outside 1000B/s to 1TiB/s"),
        ("quotas: {request_percentage: 0}", "`request_percentage`: `0` is outside"),
        ("quotas: {request_percentage: 5%}", "`request_percentage`"),
        ("quotas: {producer_byte_rates: 1MiB/s}", "did you mean `producer_byte_rate`?"),
        ("quotas: {each: topic, producer_byte_rate: 1MiB/s}", "`each`"),
        (
            "kafka: null-broker, quotas: {producer_byte_rate: 1MiB/s}",
            "a null broker has no quotas (`quotas`)",
        ),
    ] {
        let error = planned("", system).expect_err(system);
        assert!(error.starts_with("s.yaml:") && error.contains(words), "{system}: {error}");
    }
}
