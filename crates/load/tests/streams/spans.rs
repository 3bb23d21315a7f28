//! Clients that come and go in the measure phase.

use crate::common::{Fetching, Load, MS, SECOND, T0, TOPIC, fetch, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig};
use kdyno_model::plan::{Arrivals, Fill, LoadSpan, Payload, StartOffset, TransactionsPlan};
use kdyno_model::sample::{Grain, Phase, Timing};

/// How long a broker takes to answer what is no produce request.
const CONTROL_NS: u64 = 20 * MS;
const PER_S: u64 = 1_000;

fn cluster() -> FakeCluster {
    FakeCluster::new(FakeConfig::new(2).topic(TOPIC, 4).control_delay_ns(CONTROL_NS).keep_batches())
}

/// Three clients, two seconds of warm-up and eight that are measured.
fn load(span: LoadSpan) -> Load {
    let load = Load { clients: 3, warmup_seconds: 2, span, ..Load::open(PER_S as f64, Arrivals::Constant) };
    load.seconds(10.0)
}

fn span(at_s: Option<u64>, until_s: Option<u64>) -> LoadSpan {
    LoadSpan { at_ns: at_s.map(|s| s * SECOND), until_ns: until_s.map(|s| s * SECOND) }
}

/// They are there from then on and not a moment sooner, and their records are those of a schedule that begins there.
#[test]
fn late_clients_connect_late_and_their_records_wait_for_that() {
    let outcome = simulate(&load(span(Some(3), Some(6))), cluster());
    outcome.assert_accounted();
    assert_eq!(outcome.requests_before_t0, 0);
    let offered: Vec<(u32, u64)> = outcome.offered_by_second().into_iter().collect();
    assert_eq!(offered, [(5, PER_S), (6, PER_S), (7, PER_S)], "two seconds of warm-up, then three");
    assert_eq!(outcome.counts().acknowledged, 3 * PER_S);
    let began: Vec<u64> = outcome.totals.clients.iter().filter_map(|client| client.began_ns).collect();
    assert_eq!(began.len(), 3);
    let first = 5 * SECOND..5 * SECOND + 6 * CONTROL_NS;
    assert!(began.iter().all(|began_ns| first.contains(began_ns)), "from T0 on: {began:?}");
    assert_eq!(
        outcome.events,
        ["item-began: 3 clients: connecting begins", "item-ended: the load of 3 clients is over"]
    );
    // Two round trips to each broker before the first record can go: what came due until then waited for room.
    let blocked_ns = outcome.histogram(Timing::Block).max();
    assert!((2 * CONTROL_NS..6 * CONTROL_NS).contains(&blocked_ns), "{blocked_ns}");
    assert_eq!(outcome.sum_ns(Timing::ScheduleDelay), 0, "none of that is the generator's");
    let connects = outcome.histogram(Timing::Connect);
    assert_eq!(connects.len(), 3);
    assert!(connects.min() >= 2 * CONTROL_NS, "{}", connects.min());
    assert!(
        outcome.ended_ns < T0 + 8 * SECOND + 100 * MS,
        "it goes when its load is over: {}",
        outcome.ended_ns
    );
}

/// Clients that are connected at T0 took their time before it, and those that go do not wait for the others.
#[test]
fn clients_that_go_sooner_finish_what_is_in_flight_and_end() {
    let outcome = simulate(&load(span(None, Some(4))), cluster());
    outcome.assert_accounted();
    assert_eq!(outcome.offered_by_second().into_keys().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!((outcome.counts().acknowledged, outcome.counts().unresolved), (6 * PER_S, 0));
    assert_eq!(outcome.events, ["item-ended: the load of 3 clients is over"]);
    assert!(
        (T0 + 6 * SECOND..T0 + 6 * SECOND + 100 * MS).contains(&outcome.ended_ns),
        "{}",
        outcome.ended_ns
    );
    let connects: Vec<_> = outcome
        .samples
        .iter()
        .filter(|row| row.grain == Grain::Phase && row.sums_ns.contains_key(&Timing::Connect))
        .map(|row| row.phase)
        .collect();
    assert_eq!(connects, [Phase::Startup]);
}

/// With transactions a late client has more to ask before its first record, and a closed loop has nothing that waits.
#[test]
fn every_kind_of_producer_may_come_later() {
    let late = span(Some(1), None);
    let transactional = load(late).with(|plan| {
        plan.payload = Payload::Unique;
        plan.client.enable_idempotence = true;
        plan.transactions = Some(TransactionsPlan { every_ns: 50 * MS, records: None, abort_share: 0.0 });
    });
    let outcome = simulate(&transactional, cluster());
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, 7 * PER_S);
    assert!(outcome.counts().committed > 100, "{}", outcome.counts().committed);
    let max = Load { clients: 2, warmup_seconds: 2, span: late, ..Load::max(Fill::InFlight) };
    let service = kdyno_fake_broker::Service::Fixed { delay_ns: MS };
    let config = FakeConfig::new(1).topic(TOPIC, 2).service(service);
    let outcome = simulate(&max.seconds(4.0), FakeCluster::new(config));
    outcome.assert_accounted();
    assert_eq!(outcome.offered_by_second().into_keys().collect::<Vec<_>>(), [3]);
}

/// A late reader finds what was written before it came, in its own seconds; one that goes stops where it is.
#[test]
fn readers_come_and_go() {
    let filled = simulate(&load(LoadSpan::default()), cluster());
    let (stored, now_ns) = (filled.counts().acknowledged, filled.ended_ns);
    let late = Fetching { clients: 2, span: span(Some(3), None), ..Fetching::from(StartOffset::Earliest) };
    let outcome = fetch(&late, filled.cluster, now_ns);
    assert_eq!((outcome.requests_before_t0, outcome.counts().fetched), (0, stored));
    let first =
        outcome.samples.iter().filter(|row| row.counts.fetched > 0).map(|row| row.written_second).min();
    assert_eq!(first, Some(3));
    // Seconds in which nothing is left to read are no part of that.
    let caught_up = outcome.totals.caught_up.expect("it had all that there was");
    assert!((3 * SECOND..4 * SECOND).contains(&caught_up.at_ns), "{caught_up:?}");
    assert_eq!(caught_up.records, stored);
    assert_eq!(outcome.events, ["item-began: 2 clients: connecting begins"]);
    assert_eq!(outcome.histogram(Timing::Connect).len(), 2);
    let t0_ns = now_ns + SECOND;
    let ended_ns = outcome.ended_ns;
    assert!(
        (t0_ns + 5 * SECOND..t0_ns + 7 * SECOND).contains(&ended_ns),
        "with the measure phase: {ended_ns}"
    );
    // Batch by batch it would take longer than it is there.
    let mut brief = Fetching { span: span(None, Some(1)), ..Fetching::from(StartOffset::Earliest) };
    brief.plan.fetch_bytes_max = 1;
    let now_ns = outcome.ended_ns;
    let outcome = fetch(&brief.batch_by_batch(), outcome.cluster, now_ns);
    assert_eq!(outcome.totals.caught_up, None, "it was there from the beginning");
    assert!(outcome.counts().fetched < stored, "{} of {stored}", outcome.counts().fetched);
    assert_eq!(outcome.events, ["item-ended: the load of 1 client is over"]);
    let t0_ns = now_ns + SECOND;
    assert!((t0_ns + SECOND..t0_ns + SECOND + 100 * MS).contains(&outcome.ended_ns), "{}", outcome.ended_ns);
}
