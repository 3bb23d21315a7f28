//! Accuracy tests of docs/benchmarks.md with simulated clock and link: known truth, exact, repeatable.

use crate::common::{Load, MS, Outcome, SECOND, T0, TOPIC, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, ServicePer, ServiceTime};
use kdyno_load::histo::{self, Histo};
use kdyno_load::schedule::Schedule;
use kdyno_model::plan::{Arrivals, Rate, RatePiece};
use kdyno_model::sample::Timing;
use kdyno_model::seed::mix;
use rand::{RngExt, SeedableRng};

fn cluster(service: Service) -> FakeCluster {
    FakeCluster::new(FakeConfig::new(1).topic(TOPIC, 1).service(service))
}

/// The instants a load intends, ns from T0.
fn arrivals(load: &Load) -> Vec<u64> {
    let Rate::Open { pieces, arrivals } = &load.plan.rate else { return Vec::new() };
    let mut schedule = Schedule::new(pieces, *arrivals, 0, 1, load.seed);
    schedule.measure_begins(load.warmup_seconds * SECOND);
    let end_ns = (load.seconds * SECOND as f64) as u64;
    let mut all = Vec::new();
    while schedule.peek() < end_ns {
        all.push(schedule.peek());
        schedule.advance();
    }
    all
}

/// Lindley's recursion: response times of a single server that serves in order and does nothing during
/// `[stall_ns, stall_ns + length_ns)`.
fn lindley(
    arrivals: &[u64],
    mut service_ns: impl FnMut(usize) -> u64,
    stall: Option<(u64, u64)>,
) -> Vec<u64> {
    let mut free_ns = 0;
    let serve = |(index, &arrival): (usize, &u64)| {
        let start_ns = arrival.max(free_ns);
        let mut end_ns = start_ns + service_ns(index);
        if let Some((stall_ns, length_ns)) = stall
            && end_ns > stall_ns
            && start_ns < stall_ns + length_ns
        {
            // What was left of the service at the stall, or all of it, comes after.
            end_ns += stall_ns + length_ns - start_ns.max(stall_ns);
        }
        free_ns = end_ns;
        end_ns - arrival
    };
    arrivals.iter().enumerate().map(serve).collect()
}

/// What belongs to records of the measure phase.
fn measured(load: &Load, arrivals: &[u64], of_each: Vec<u64>) -> Vec<u64> {
    let start_ns = load.warmup_seconds * SECOND;
    arrivals.iter().zip(of_each).filter(|(at, _)| **at >= start_ns).map(|(_, value)| value).collect()
}

fn quantile(sorted: &[u64], q: f64) -> f64 {
    sorted[((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len()) - 1] as f64
}

/// Accuracy test 1: a stall of 2 s in 20 s, λ/μ = 0.3, 1 KiB × 60,000/s, so that the buffer fills and
/// records wait outside it. The tool whose `send` blocks calls this p95 65 ms.
#[test]
fn a_stall_is_met_by_every_record_that_was_due() {
    let per_s = 60_000.0;
    let service_ns = 5_000; // μ = 200,000/s
    let (warmup_seconds, measured_seconds) = (3, 20);
    let mut load = Load::open(per_s, Arrivals::Constant)
        .seconds((warmup_seconds + measured_seconds) as f64)
        .with(|plan| plan.value_bytes = 1024);
    (load.tick_ns, load.warmup_seconds) = (200_000, warmup_seconds);
    let service =
        Service::Queue { per: ServicePer::Record, time: ServiceTime::Constant { time_ns: service_ns } };
    let mut fake = cluster(service);
    let (stall_ns, length_ns) = (12 * SECOND, 2 * SECOND);
    fake.script().at(T0 + stall_ns).stall(0, length_ns);
    let outcome = simulate(&load, fake);
    outcome.assert_accounted();
    assert_eq!(outcome.counts().offered, 1_380_000);
    assert_eq!(outcome.counts().acknowledged, 1_380_000);
    let arrivals = arrivals(&load);
    let truth = lindley(&arrivals, |_| service_ns, Some((stall_ns, length_ns)));
    let mut truth = measured(&load, &arrivals, truth);
    assert_eq!(truth.len(), 1_200_000);
    truth.sort_unstable();
    let histogram = outcome.histogram(Timing::Response);
    for q in [0.95, 0.99, 0.999] {
        let (ours, truth) = (histogram.value_at_quantile(q) as f64, quantile(&truth, q));
        assert!((ours / truth - 1.0).abs() < 0.01, "p{q}: {ours} ns, Lindley says {truth} ns");
    }
    // The closed form of docs/benchmarks.md (Accuracy on real clocks): S − (1−q)·T·(1−λ/μ) = 1.3 s.
    let p95 = histogram.value_at_quantile(0.95) as f64;
    assert!((p95 / 1.3e9 - 1.0).abs() < 0.01, "p95 {p95} ns");
    assert!(outcome.histogram(Timing::Block).max() > SECOND, "the buffer filled and records waited outside");
    let service_p95 = outcome.histogram(Timing::Service).value_at_quantile(0.95) as f64;
    assert!(service_p95 < p95, "what a blocking client prints is less: {service_p95} ns");
}

/// Accuracy test 2: a fixed delay comes out as that delay, to the microsecond.
#[test]
fn a_fixed_delay_is_measured_exactly() {
    for delay_ns in [200_000, MS, 10 * MS, 100 * MS] {
        let load = Load::open(200.0, Arrivals::Poisson).single_records();
        let outcome = simulate(&load, cluster(Service::Fixed { delay_ns }));
        let records = u128::from(outcome.counts().acknowledged);
        assert!(records > 1_500);
        let mean_ns = outcome.sum_ns(Timing::Request) / records;
        assert!(mean_ns.abs_diff(u128::from(delay_ns)) <= 1_000, "request {mean_ns} ns, truth {delay_ns} ns");
        if delay_ns <= 10 * MS {
            // Five in flight carry 200/s for as long as the delay stays below 25 ms: nothing else waits.
            let response = outcome.histogram(Timing::Response);
            assert!(response.value_at_quantile(0.5).abs_diff(delay_ns) <= delay_ns / 1000 + 1_000);
        }
    }
}

/// Responses of a load whose records are served one by one for the given times, compared with Lindley's.
fn compare_with_lindley(load: &Load, times_ns: Vec<u64>) -> (Outcome, Vec<u64>) {
    let arrivals = arrivals(load);
    let truth = lindley(&arrivals, |index| times_ns[index % times_ns.len()], None);
    let time = ServiceTime::List(times_ns);
    let service = Service::Queue { per: ServicePer::Record, time };
    let config = FakeConfig::new(1).topic(TOPIC, 1).service(service).keep_traces();
    let outcome = simulate(load, FakeCluster::new(config));
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged as usize, truth.len());
    (outcome, truth)
}

/// Exact in the sum, hence in every record unless errors cancel; and bucket for bucket in the histogram.
fn assert_same_responses(outcome: &Outcome, truth: &[u64]) {
    assert_eq!(outcome.sum_ns(Timing::Response), truth.iter().map(|ns| u128::from(*ns)).sum::<u128>());
    let mut expected = Histo::default();
    truth.iter().for_each(|ns| expected.record(*ns, 1));
    let mut turned = histo::empty(histo::DIGITS);
    expected.add_to(&mut turned);
    assert_eq!(outcome.histogram(Timing::Response), turned);
}

fn exponential_times(count: usize, mean_ns: f64, seed: u64) -> Vec<u64> {
    let mut rng = rand_pcg::Pcg64::seed_from_u64(seed);
    (0..count).map(|_| (-(1.0 - rng.random::<f64>()).ln() * mean_ns) as u64).collect()
}

/// Accuracy test 3: every record of seeded arrivals at a seeded single server.
#[test]
fn every_record_agrees_with_lindley() {
    let mut load = Load::open(800.0, Arrivals::Poisson).single_records().seconds(65.0);
    load.warmup_seconds = 5;
    let (outcome, truth) = compare_with_lindley(&load, exponential_times(53_000, 1e6, 3));
    let of_measure_phase = measured(&load, &arrivals(&load), truth.clone());
    assert!(of_measure_phase.len() < truth.len());
    assert_same_responses(&outcome, &of_measure_phase);
}

/// Accuracy test 3, with a tick: no record is earlier than Lindley says, none later than by one tick. What
/// was recorded is each record's response as the server's own log has it, exactly.
#[test]
fn with_a_tick_every_record_agrees_within_one_tick() {
    let mut load = Load::open(800.0, Arrivals::Poisson).single_records().seconds(65.0);
    (load.tick_ns, load.warmup_seconds) = (200_000, 5);
    let (mut outcome, truth) = compare_with_lindley(&load, exponential_times(53_000, 1e6, 3));
    // A single server in order of arrival: its n-th request is the n-th record.
    let traces = outcome.cluster.take_traces();
    assert_eq!(traces.len(), truth.len());
    let served = arrivals(&load).into_iter().zip(&traces);
    let responses: Vec<u64> = served.map(|(arrival, trace)| trace.completion_ns - T0 - arrival).collect();
    for (record, (ours, truth)) in responses.iter().zip(&truth).enumerate() {
        let late = *truth..=truth + load.tick_ns;
        assert!(late.contains(ours), "record {record}: {ours} ns, Lindley says {truth} ns");
    }
    assert_ne!(responses, truth, "the tick shows");
    assert_same_responses(&outcome, &measured(&load, &arrivals(&load), responses));
}

/// Accuracy tests 4 and 5: ten million arrivals at λ = 800/s, μ = 1000/s (`make accuracy`), or else a quarter of them: the
/// p99 then spreads twice as much, still well within 3 %.
fn queue_p99_ms(arrivals: Arrivals) -> f64 {
    let is_whole = std::env::var_os("KDYNO_ACCURACY").is_some_and(|value| value == "full");
    let seconds = if is_whole { 12_500.0 } else { 3_125.0 };
    let load = Load::open(800.0, arrivals).single_records().seconds(seconds);
    let time = ServiceTime::Exponential { mean_ns: 1e6 };
    let outcome = simulate(&load, cluster(Service::Queue { per: ServicePer::Record, time }));
    outcome.assert_accounted();
    let expected = 800.0 * seconds;
    assert!((outcome.counts().acknowledged as f64 - expected).abs() < 5.0 * expected.sqrt());
    outcome.histogram(Timing::Response).value_at_quantile(0.99) as f64 / 1e6
}

/// Accuracy test 4: M/M/1, p99 = ln 100 / (μ − λ) = 23.03 ms.
#[test]
fn poisson_arrivals_at_an_exponential_server_have_the_known_p99() {
    let p99 = queue_p99_ms(Arrivals::Poisson);
    assert!((p99 / 23.03 - 1.0).abs() < 0.03, "p99 {p99} ms, the law says 23.03 ms");
}

/// Accuracy test 5: D/M/1, p99 = ln 100 / (μ (1 − σ)) with σ = e^(−μ(1−σ)/λ) = 0.6286: 12.40 ms.
#[test]
fn constant_arrivals_at_an_exponential_server_match_known_p99() {
    let p99 = queue_p99_ms(Arrivals::Constant);
    assert!((p99 / 12.40 - 1.0).abs() < 0.03, "p99 {p99} ms, the law says 12.40 ms");
}

/// Accuracy test 6: injected delays come back as their own quantiles.
#[test]
fn injected_delays_come_back_as_their_quantiles() {
    let mut rng = rand_pcg::Pcg64::seed_from_u64(6);
    let mut normal = || {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let log_normal: Vec<u64> = (0..20_000).map(|_| (2e6 * normal().exp()).min(9e8) as u64).collect();
    let bimodal: Vec<u64> = (0..20_000).map(|i| if i % 50 == 0 { 80 * MS } else { 700_000 + i }).collect();
    for times in [log_normal, bimodal] {
        // One record a second, none served longer than that: the response is the service.
        let load = Load::open(1.0, Arrivals::Constant).single_records().seconds(20_000.0);
        let (outcome, _) = compare_with_lindley(&load, times.clone());
        assert_same_responses(&outcome, &times);
        let mut sorted = times;
        sorted.sort_unstable();
        let histogram = outcome.histogram(Timing::Response);
        for q in [0.5, 0.9, 0.99, 0.999] {
            let (ours, truth) = (histogram.value_at_quantile(q) as f64, quantile(&sorted, q));
            assert!((ours / truth - 1.0).abs() <= 0.002, "p{q}: {ours} ns, injected {truth} ns");
        }
    }
}

/// Accuracy test 11: the stages sum to the response, so do service, schedule delay and block, and the responses sum to the
/// area under the number of records in flight, all in integers.
#[test]
fn stages_and_area_are_identities() {
    for (tick_ns, linger_ns, value_bytes) in [(0, 0, 100), (200_000, 5 * MS, 1000), (MS, MS, 10_000)] {
        let mut load = Load::open(5_000.0, Arrivals::Poisson).seconds(4.0).with(|plan| {
            plan.value_bytes = value_bytes;
            plan.client.linger_ns = linger_ns;
            plan.client.buffer_bytes = 256 << 10;
        });
        load.tick_ns = tick_ns;
        let time = ServiceTime::Exponential { mean_ns: 150_000.0 };
        let config = FakeConfig::new(1)
            .topic(TOPIC, 3)
            .service(Service::Queue { per: ServicePer::Record, time })
            .keep_traces();
        let mut outcome = simulate(&load, FakeCluster::new(config));
        outcome.assert_accounted();
        assert_eq!(outcome.counts().acknowledged, outcome.counts().offered);
        let stages: u128 = Timing::STAGES.iter().map(|stage| outcome.sum_ns(*stage)).sum();
        let response = outcome.sum_ns(Timing::Response);
        assert_eq!(stages, response);
        let parts: u128 = [Timing::Service, Timing::ScheduleDelay, Timing::Block]
            .map(|part| outcome.sum_ns(part))
            .iter()
            .sum();
        assert_eq!(parts, response, "service is what is left of the response after t2");
        assert_eq!(response, area_in_flight(&arrivals(&load), &mut outcome.cluster));
    }
}

/// ∫ records in flight dt, stepped from event to event.
fn area_in_flight(arrivals: &[u64], cluster: &mut FakeCluster) -> u128 {
    let mut steps: Vec<(u64, i64)> = arrivals.iter().map(|at| (T0 + at, 1)).collect();
    steps.extend(cluster.take_traces().iter().map(|trace| (trace.completion_ns, -(trace.records as i64))));
    steps.sort_unstable();
    let (mut area, mut in_flight, mut last_ns) = (0i128, 0i64, T0);
    for (at_ns, change) in steps {
        area += i128::from(at_ns - last_ns) * i128::from(in_flight);
        in_flight += change;
        last_ns = at_ns;
    }
    assert_eq!(in_flight, 0);
    area as u128
}

/// Several clients together offer the item's rate, and one seed gives one outcome.
#[test]
fn clients_share_the_rate_and_a_seed_repeats() {
    let run = |seed| {
        let mut load = Load::open(3_000.0, Arrivals::Poisson).seconds(5.0);
        (load.clients, load.seed) = (7, seed);
        simulate(&load, cluster(Service::Fixed { delay_ns: MS }))
    };
    let (first, again, other) = (run(mix(1, 1)), run(mix(1, 1)), run(mix(1, 2)));
    assert!(first.counts().offered.abs_diff(15_000) < 5 * 123);
    assert_eq!(first.samples, again.samples);
    assert_ne!(first.samples, other.samples);
    let pieces = [RatePiece { from_per_s: 3_000.0, to_per_s: 3_000.0, length_ns: 0 }];
    let alone = Schedule::new(&pieces, Arrivals::Constant, 6, 7, 0).peek();
    assert_eq!(alone, 2 * MS, "client 6 of 7 takes the seventh record");
}
