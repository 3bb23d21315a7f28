//! Who waited for whom: each instant of a record is where docs/METHOD.md puts it, with sockets that take only so
//! much, a clock that moves while the stream works, a process that is stopped, and brokers that refuse.

use crate::common::{Load, MS, Machine, Outcome, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway};
use kdyno_model::plan::Arrivals;
use kdyno_model::sample::{Counts, Timing};

const REQUEST_TIMED_OUT: i16 = 7;
const DELAY_NS: u64 = MS;

fn cluster() -> FakeCluster {
    FakeCluster::new(FakeConfig::new(1).topic(TOPIC, 1).service(Service::Fixed { delay_ns: DELAY_NS }))
}

/// What holds for any stamps that follow each other, and only for such: all of it in integers.
fn assert_adds_up(outcome: &Outcome) {
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered, "{:?}", outcome.counts());
    let sum = |timings: &[Timing]| timings.iter().map(|timing| outcome.sum_ns(*timing)).sum::<u128>();
    let response = outcome.sum_ns(Timing::Response);
    assert_eq!(sum(&Timing::STAGES), response);
    assert_eq!(sum(&[Timing::ScheduleDelay, Timing::WithoutGenerator, Timing::Callback]), response);
    assert_eq!(sum(&[Timing::ScheduleDelay, Timing::Block, Timing::Service]), response);
}

/// t4 is when the last byte was written: after the first 64 KiB of a request the socket is full until these are
/// delivered, and only then takes the rest.
#[test]
fn a_request_is_written_when_the_socket_has_taken_its_last_byte() {
    let (window, byte_ns) = (64 << 10, 10);
    let mut load = Load::open(200.0, Arrivals::Constant).single_records().with(|plan| {
        plan.value_bytes = 100_000;
    });
    load.machine = Machine { send_window: Some((window, byte_ns)), ..Machine::default() };
    let outcome = simulate(&load, cluster());
    assert_adds_up(&outcome);
    let Counts { acknowledged, requests, request_bytes, .. } = *outcome.counts();
    assert_eq!((acknowledged, requests), (2_000, 2_000));
    let full_ns = window as u64 * byte_ns;
    assert_eq!(outcome.sum_ns(Timing::SendWait), u128::from(requests * full_ns));
    let rest_ns = (request_bytes - requests * window as u64) * byte_ns;
    assert_eq!(outcome.sum_ns(Timing::Request), u128::from(rest_ns + requests * DELAY_NS));
    assert_eq!(outcome.sum_ns(Timing::Callback), 0);
}

/// Requests that wait behind others for the same socket wait for the connection, not for the broker.
#[test]
fn a_socket_that_is_full_holds_up_what_comes_after() {
    let mut load = Load::open(2_000.0, Arrivals::Poisson).single_records().seconds(2.0).with(|plan| {
        (plan.value_bytes, plan.client.buffer_bytes) = (100_000, 1 << 20);
    });
    // 5 ns a byte and 2,000 · 100 KB a second: the link is full all the time.
    load.machine = Machine { send_window: Some((64 << 10, 5)), ..Machine::default() };
    let outcome = simulate(&load, cluster());
    assert_adds_up(&outcome);
    let waits = outcome.histogram(Timing::SendWait).max();
    assert!(waits > 64 * 1024 * 5, "{waits} ns: longer than for its own first part");
    assert!(outcome.histogram(Timing::Block).max() > 10 * MS, "and the buffer fills");
}

/// A process that is stopped releases late what came due and reads late what was answered. Both are its own: without
/// them the cluster took what it always takes.
#[test]
fn what_a_stopped_process_did_not_do_is_its_own_delay() {
    let stop_ns = 150 * MS;
    let mut load = Load::open(5_000.0, Arrivals::Constant);
    load.tick_ns = 200_000;
    let quiet = simulate(&load, cluster());
    load.machine.stop = Some((T0 + 4 * SECOND + 77_000, stop_ns));
    let stopped = simulate(&load, cluster());
    for outcome in [&quiet, &stopped] {
        assert_adds_up(outcome);
    }
    let quantile = |outcome: &Outcome, timing, q| outcome.histogram(timing).value_at_quantile(q);
    assert!(quantile(&quiet, Timing::Response, 0.999) < 2 * MS);
    assert!(quantile(&stopped, Timing::Response, 0.999) > 130 * MS, "the stop shows in what is printed");
    // The records of the stop go out at once, in more requests than may be in flight.
    let rest = quantile(&stopped, Timing::WithoutGenerator, 0.999);
    assert!(rest <= 3 * DELAY_NS, "{rest} ns are not the generator's");
    for own in [Timing::ScheduleDelay, Timing::Callback] {
        let longest = quantile(&stopped, own, 1.0);
        assert!((stop_ns - MS..stop_ns + MS).contains(&longest), "{own}: {longest} ns");
    }
    // Answers came in the stop; the broker took no longer for them.
    assert!(quantile(&stopped, Timing::Request, 1.0) <= DELAY_NS + DELAY_NS / 1_000);
    assert!(quantile(&quiet, Timing::Callback, 1.0) == 0);
}

/// A stop across the end of a second: what was answered in it is acknowledged when it is known, in the next second.
#[test]
fn what_is_known_after_a_second_counts_in_the_next() {
    let stop_ns = T0 + 1_900 * MS;
    let mut load = Load::open(5_000.0, Arrivals::Constant).seconds(4.0);
    (load.tick_ns, load.machine.stop) = (200_000, Some((stop_ns, 150 * MS)));
    let config = FakeConfig::new(1).topic(TOPIC, 1).service(Service::Fixed { delay_ns: DELAY_NS });
    let mut outcome = simulate(&load, FakeCluster::new(config.keep_traces()));
    assert_adds_up(&outcome);
    let known = outcome.samples.iter().filter(|row| row.written_second < 2);
    let known: u64 = known.map(|row| row.counts.acknowledged).sum();
    let answered = outcome.cluster.take_traces().into_iter().filter(|trace| trace.completion_ns < stop_ns);
    assert_eq!(known, answered.map(|trace| trace.records).sum::<u64>());
}

/// Fifty clients come due at one tick and are answered at one instant; each is served after the one before it. What
/// the others took is not counted as its request or its wait for a connection.
#[test]
fn clients_served_in_turn_wait_for_each_other_and_report_it() {
    const CLIENTS: u32 = 50;
    let reading_ns = 1_000;
    let mut load = Load::open(f64::from(CLIENTS) * 10.0, Arrivals::Constant).seconds(3.0);
    (load.clients, load.tick_ns) = (CLIENTS, 100 * MS);
    load.machine.reading_ns = reading_ns;
    let mut stalled = cluster();
    stalled.script().at(T0 + SECOND).stall(0, 150 * MS);
    let (clear, stalled) = (simulate(&load, cluster()), simulate(&load, stalled));
    for outcome in [&clear, &stalled] {
        assert_adds_up(outcome);
        // From sealing to writing a client reads the clock a few times, the fifty together hundreds of times.
        let sending = outcome.histogram(Timing::SendWait).max();
        assert!((1..20 * reading_ns).contains(&sending), "{sending} ns");
    }
    // The answers that the stall held back come at once: the last one is read after the forty-nine before it.
    let longest = |outcome: &Outcome| outcome.histogram(Timing::Callback).max();
    let in_turn_ns = u64::from(CLIENTS - 1) * reading_ns;
    assert!(longest(&stalled) > in_turn_ns, "{} ns", longest(&stalled));
    let late = stalled.histogram(Timing::Request).max();
    assert!(late < 151 * MS, "{late} ns: when it was told, not when it was read");
    // So do those who are released: the last of a tick is later by what the others took.
    let handed = |outcome: &Outcome| outcome.sum_ns(Timing::ScheduleDelay);
    load.machine.reading_ns = 0;
    let ideal = simulate(&load, cluster());
    let later = handed(&clear) - handed(&ideal);
    let each_tick = u128::from(CLIENTS * (CLIENTS - 1) / 2) * u128::from(reading_ns);
    assert!(later > 25 * each_tick, "{later} ns later, at least {each_tick} in each of 30 ticks");
}

/// With records of one second each, a batch that is refused twice.
#[test]
fn attempts_that_came_to_nothing_are_a_stage_and_counted() {
    let mut fake = cluster();
    for request in [3, 4] {
        fake.script().request(request).fail(REQUEST_TIMED_OUT, StoredAnyway::No);
    }
    // Ten records in each batch, one batch a second.
    let load = Load::open(10.0, Arrivals::Constant).with(|plan| {
        plan.client.linger_ns = 950 * MS;
        plan.client.retry_backoff_max_ns = plan.client.retry_backoff_ns; // without growth and jitter
    });
    let outcome = simulate(&load, fake);
    assert_adds_up(&outcome);
    let counts = outcome.counts();
    assert_eq!((counts.acknowledged, counts.requests), (100, 12));
    assert_eq!((counts.retries, counts.retried_records), (2, 20));
    let attempt_ns = DELAY_NS + load.plan.client.retry_backoff_ns;
    assert_eq!(outcome.sum_ns(Timing::Retry), u128::from(10 * 2 * attempt_ns));
    assert_eq!(outcome.sum_ns(Timing::SendWait), 0);
    assert_eq!(outcome.sum_ns(Timing::Request), u128::from(100 * DELAY_NS), "of the attempt that succeeded");
}
