//! A target's cap on `produce` holds at the network, whatever piled up behind a stall.

use crate::common::{Load, Outcome, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, ServicePer, ServiceTime};
use kdyno_model::plan::{Arrivals, HeaderPlan, Payload};
use kdyno_model::sample::Grain;

const RATE_PER_S: u64 = 2_000;
/// Bytes of each record's value and header together.
const RECORD_BYTES: u64 = 1_000;
const CAP_BYTES_PER_S: u64 = 3_000_000;

/// 12 s of load on a broker that does nothing from 5 s to 8 s and is fast otherwise; so much of each record is a
/// header.
fn run(bytes_per_s_max: Option<u64>, header_bytes: u32) -> Outcome {
    let time = ServiceTime::Constant { time_ns: 1_000 };
    let config = FakeConfig::new(1).topic(TOPIC, 2).service(Service::Queue { per: ServicePer::Record, time });
    let mut cluster = FakeCluster::new(config);
    cluster.script().at(T0 + 5 * SECOND).stall(0, 3 * SECOND);
    let mut load = Load::open(RATE_PER_S as f64, Arrivals::Constant).seconds(12.0).with(|plan| {
        plan.value_bytes = RECORD_BYTES as u32 - header_bytes;
        if header_bytes > 0 {
            plan.payload = Payload::Unique;
            plan.records.headers = vec![HeaderPlan { name: "h".to_owned(), bytes: header_bytes }];
        }
    });
    load.clients = 3;
    load.bytes_per_s_max = bytes_per_s_max;
    let outcome = simulate(&load, cluster);
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, 12 * RATE_PER_S, "nothing is lost by waiting");
    outcome
}

/// Acknowledged bytes by the second in which they were.
fn bytes_by_second(outcome: &Outcome) -> Vec<u64> {
    let mut bytes = vec![0; 60];
    for sample in outcome.samples.iter().filter(|sample| sample.grain == Grain::Second) {
        bytes[sample.written_second as usize] += sample.counts.acknowledged * RECORD_BYTES;
    }
    bytes
}

#[test]
fn a_backlog_goes_out_no_faster_than_the_cap() {
    let most = |outcome: &Outcome, seconds: usize| {
        let bytes = bytes_by_second(outcome);
        bytes.windows(seconds).map(|window| window.iter().sum::<u64>()).max().unwrap_or(0)
    };
    for header_bytes in [0, 900] {
        let free = run(None, header_bytes);
        assert!(most(&free, 1) > 2 * CAP_BYTES_PER_S, "without a cap the backlog comes at once");
        let capped = run(Some(CAP_BYTES_PER_S), header_bytes);
        for seconds in [1, 2, 4] {
            // The bucket's second, and the requests of one instant.
            let allowed = CAP_BYTES_PER_S * (seconds as u64 + 1) + (1 << 20);
            let sent = most(&capped, seconds);
            assert!(sent <= allowed, "{sent} bytes in {seconds} s, {allowed} allowed");
        }
        assert!(bytes_by_second(&capped)[9] >= CAP_BYTES_PER_S * 9 / 10, "it catches up as fast as it may");
    }
}

#[test]
fn a_cap_above_the_load_changes_nothing_but_the_catching_up() {
    let (free, capped) = (run(None, 0), run(Some(CAP_BYTES_PER_S), 0));
    assert_eq!(bytes_by_second(&free)[..5], bytes_by_second(&capped)[..5]);
}
