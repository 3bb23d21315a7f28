//! What a relay between zones did, and when that is a reason to doubt.

use super::assert_caveats;
use crate::fixture::TrialFixture;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::Subject;
use kdyno_model::plan::{JitterLaw, LinkPlan, SystemPlan, ZonesPlan};
use kdyno_model::sample::{ProbeReading, series};

/// A link with a delay of so many µs, over which a relay was so many µs late at p99.
fn late(trial: &mut TrialFixture, delay_us: u64, late_us: f64) {
    let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!("local") };
    let link = LinkPlan {
        delay_ns: delay_us * 1000,
        jitter_ns: 0,
        jitter_law: JitterLaw::Uniform,
        bytes_per_s: None,
    };
    let named = |name: &str| vec![name.to_owned()];
    cluster.zones =
        Some(ZonesPlan { brokers: named("a"), clients: named("b"), link, between_brokers: false });
    trial.probes.push(ProbeReading {
        at_ns: 0,
        subject: Subject::Relay(0),
        series: format!("{}p99", series::RELAY_DELAY_ERROR_S_OF),
        value: late_us / 1e6,
    });
}

/// It uses so many seconds of CPU time per second.
fn busy(trial: &mut TrialFixture, per_s: f64) {
    trial.counter(Subject::Relay(0), series::CPU_USER_S_TOTAL, per_s);
    trial.counter(Subject::Relay(0), series::CPU_SYSTEM_S_TOTAL, 0.0);
}

#[test]
fn a_relay_is_doubted_by_what_its_link_is_declared_to_be() {
    assert_caveats([(
        |trial| late(trial, 10_000, 1_100.0),
        Severity::Warning,
        Caveat::RelayLate { subject: Subject::Relay(0), late_s: 0.0011, delay_s: 0.01 },
    )]);
    let mut trial = TrialFixture::clean();
    late(&mut trial, 20_000, 1_100.0);
    assert_eq!(trial.caveats(), [], "a twentieth of the delay");
    let mut trial = TrialFixture::clean();
    late(&mut trial, 0, 1.0);
    assert_eq!(trial.caveats(), [], "no later than a sleep on this host");
}

#[test]
fn delays_of_a_relay_are_next_to_its_cost() {
    let mut trial = TrialFixture::clean();
    late(&mut trial, 20_000, 50.0);
    busy(&mut trial, 0.5);
    let way = |way: &str| format!("{}{way}", series::RELAYED_BYTES_TOTAL_OF);
    trial.counter(Subject::Relay(0), &way("a>b"), 1_048_576.0);
    trial.counter(Subject::Relay(0), &way("b>a"), 3.0 * 1_048_576.0);
    trial.is("relay-0.relayed_mib_per_s", 4.0);
    trial.is("relay-0.relayed_mib_per_s_per_core", 8.0);
    trial.is("relay-0.cpu_percent", 50.0);
    trial.is("relay-0.delay_error.p99", 50_000.0);
    let is_one = |found: &Caveat| matches!(found, Caveat::RelayBusy { .. });
    assert!(trial.reported(is_one).is_empty());
    let mut trial = TrialFixture::clean();
    late(&mut trial, 20_000, 50.0);
    busy(&mut trial, 0.8);
    let reported = trial.reported(is_one);
    assert_eq!(reported.len(), 1, "one thread is all it has");
}
