//! What a declared delay has to do with full requests in flight.

use super::{at_maximum, close, host_busy, limit};
use crate::fixture::{MS, TrialFixture};
use kdyno_model::conclusion::LimitKind;
use kdyno_model::plan::{JitterLaw, LinkPlan, SystemPlan, ZonesPlan};

/// At a link with 20 ms each way, or another delay, between clients in `c` and brokers in these zones.
fn behind_a_link(delay_ms: u64, brokers: &[&str], between_brokers: bool) -> TrialFixture {
    let mut trial = at_maximum();
    let link =
        LinkPlan { delay_ns: delay_ms * MS, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
    let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!() };
    let brokers = brokers.iter().map(|zone| (*zone).to_owned()).collect();
    cluster.zones = Some(ZonesPlan { brokers, clients: vec!["c".to_owned()], link, between_brokers });
    trial.start.trial.effective.load.get_mut("writers").unwrap().zone = Some("c".to_owned());
    trial
}

/// 10 requests/s by two clients that wait for each of theirs.
#[test]
fn a_declared_delay_predicts_what_passes_without_it() {
    let with = |request_ms: u64, delay_ms: u64, busy: f64| {
        let mut trial = behind_a_link(delay_ms, &["a"], false);
        trial.stages([0, 0, MS, 0, 0, request_ms * MS, 0]);
        trial.writers().synchronous = true;
        trial.writers().client.acks = 1;
        host_busy(&mut trial, busy);
        limit(&trial)
    };
    let found = with(200, 60, 0.1);
    assert_eq!(found.named, LimitKind::RequestsInFlight);
    let delay = found.delay.unwrap();
    assert_eq!((delay.round_trip_ns, delay.request_ns, delay.then), (120 * MS, 200e6, None));
    close(delay.times, 200.0 / 80.0);
    assert!(delay.is_most());
    // The brokers' processors are busy for 45 %.
    let delay = with(200, 60, 0.45).delay.unwrap();
    assert_eq!(delay.then, Some(LimitKind::BrokerProcessors));
    close(delay.times, 1.0 / 0.45);
    // A delay that is all of it.
    close(with(200, 100, 0.45).delay.unwrap().times, 1.0 / 0.45);
    let little = with(200, 20, 0.1).delay.unwrap();
    assert!(!little.is_most());
    close(little.times, 200.0 / 160.0);
    // What is not full is no limit, and has no delay to lift.
    assert_eq!(with(150, 60, 0.1).delay, None);
}

#[test]
fn a_delay_that_is_not_in_every_request_alike_predicts_nothing() {
    let with = |brokers: &[&str], between_brokers, acks: i16| {
        let mut trial = behind_a_link(20, brokers, between_brokers);
        trial.stages([0, 0, MS, 0, 0, 2_000 * MS, 0]);
        trial.writers().client.acks = acks;
        let found = limit(&trial);
        assert!(matches!(found.named, LimitKind::RequestsInFlight | LimitKind::Replication), "{found:?}");
        found.delay.is_some()
    };
    assert!(with(&["a"], true, -1) && with(&["a", "b"], false, -1) && with(&["a", "b"], true, 1));
    assert!(!with(&["a", "b"], true, -1), "followers fetch over the link too");
    assert!(!with(&["a", "c"], false, 1), "a broker is near");
    assert!(!with(&["c"], false, 1), "all of them are");
}

/// Of several topics one whose followers fetch over the link is enough.
#[test]
fn followers_of_any_topic_may_be_behind_the_link() {
    let mut trial = behind_a_link(20, &["a", "b"], true);
    trial.stages([0, 0, MS, 0, 0, 2_000 * MS, 0]);
    trial.writers().client.acks = -1;
    let effective = &mut trial.start.trial.effective;
    effective.topics.insert("second".to_owned(), effective.topics["perf"].clone());
    effective.topics.get_mut("perf").unwrap().replicas = 1;
    let writers = effective.load.get_mut("writers").unwrap();
    (writers.more_topics, writers.shared_topics) = (vec!["second".to_owned()], true);
    let found = limit(&trial);
    assert!(matches!(found.named, LimitKind::RequestsInFlight | LimitKind::Replication), "{found:?}");
    assert_eq!(found.delay, None);
}
