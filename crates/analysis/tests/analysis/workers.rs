//! A load item on two workers: what both of them wrote is one item's.

use crate::fixture::{MS, PER_SECOND, READERS, TrialFixture, WRITERS, event, histogram};
use kdyno_analysis::latencies::measured_latencies;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::Value;
use kdyno_model::generator::LostWorkers;
use kdyno_model::plan::{WorkerPlan, WorkerShare};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::{Grain, Phase, StreamId, Timing, series};

/// The other worker's writers, under the number that the readers have on worker 0.
const OTHER: StreamId = StreamId { worker: 1, stream: READERS.stream };

/// A clean trial whose writers run on two workers alike, each with 1000 records per second.
fn two_workers() -> TrialFixture {
    with_worker(OTHER)
}

fn with_worker(other: StreamId) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let share = WorkerShare { item: "writers".into(), client_first: 2, client_count: 2 };
    let plan = WorkerPlan { worker: other.worker, shares: vec![share] };
    trial.start.trial.effective.workers.push(plan);
    let mut stream = trial.start.streams.iter().find(|stream| stream.id == WRITERS).unwrap().clone();
    stream.id = other;
    trial.start.streams.push(stream);
    let mut rows: Vec<_> = trial.samples.iter().filter(|row| row.id == WRITERS).cloned().collect();
    for row in &mut rows {
        row.id = other;
    }
    trial.samples.extend(rows);
    let mut readings: Vec<_> =
        trial.probes.iter().filter(|reading| reading.subject == Subject::Worker(0)).cloned().collect();
    for reading in &mut readings {
        reading.subject = Subject::Worker(1);
    }
    trial.probes.extend(readings);
    trial.take_totals();
    trial
}

#[test]
fn rows_of_two_workers_add_up() {
    let trial = two_workers();
    trial.is("writers.offered_per_s", 2000.0);
    trial.is("writers.acked_per_s", 2000.0);
    trial.is("writers.acked_per_s_sum_of_clients", 2000.0);
    trial.is("writers.clients_overlap_share", 1.0);
    trial.is("writers.response.mean", 4e6);
    trial.is("workers.cpu_percent", 60.0);
    trial.is("readers.fetched_per_s", 1000.0);
    assert_eq!(trial.caveats(), []);
    let course = kdyno_analysis::series::trial(&trial).unwrap();
    let writers = course.streams.iter().find(|stream| stream.name == "writers").unwrap();
    assert!(writers.seconds.iter().all(|point| point.acknowledged == 2 * PER_SECOND), "{writers:?}");
}

#[test]
fn latencies_of_two_workers_are_one_distribution() {
    let mut trial = two_workers();
    for row in trial.samples.iter_mut().filter(|row| row.id == OTHER && row.grain == Grain::Phase) {
        let slow = histogram(&[(40_000_000, 10_000)], 3);
        row.histograms.insert(Timing::Response, slow);
    }
    // The one half is at 4 ms, the other at 40.
    let at = |address: &str| match trial.value(address) {
        Value::Is(ns) => ns,
        other => panic!("{address} is {other:?}"),
    };
    assert!((4e6..4.01e6).contains(&at("writers.response.p50")));
    assert!((40e6..40.1e6).contains(&at("writers.response.p75")));
    for other in [OTHER, StreamId { worker: 1, ..WRITERS }] {
        let measured = measured_latencies(&with_worker(other), "writers", Timing::Response);
        assert_eq!(measured.unwrap().total(), 2 * 10 * PER_SECOND, "{other:?}");
    }
}

#[test]
fn totals_of_one_worker_are_not_those_of_the_item() {
    let mut trial = two_workers();
    trial.totals.retain(|totals| totals.id != OTHER);
    assert_eq!(trial.value("writers.acked_per_s_sum_of_clients"), Value::None);
    trial.is("writers.acked_per_s", 2000.0);
    let reason = "not every stream gave its totals".to_owned();
    let detail = reason.clone();
    assert_eq!(
        trial.caveats(),
        [
            (Severity::Warning, Caveat::CutShort { reason, measured_s: 9, planned_s: 10, went_on: false }),
            (Severity::Note, Caveat::LogNotChecked { topic: "perf".into(), detail })
        ]
    );
}

#[test]
fn totals_are_compared_with_the_rows_of_all_workers() {
    let mut trial = two_workers();
    let lost = trial.samples.iter().position(|row| row.id == OTHER && row.t0_second == 5).unwrap();
    trial.samples.remove(lost);
    let (item, count) = ("writers".to_owned(), "acknowledged".to_owned());
    let difference = i64::try_from(PER_SECOND).unwrap();
    let found = trial.caveats();
    assert!(
        found.contains(&(Severity::Invalid, Caveat::SamplesMissing { item, count, difference })),
        "{found:?}"
    );
}

#[test]
fn a_stream_that_was_cut_off_gives_its_finer_rows() {
    let mut trial = two_workers();
    trial.samples.retain(|row| row.id != OTHER || row.grain != Grain::Phase);
    let measured = measured_latencies(&trial, "writers", Timing::Response);
    assert_eq!(measured.unwrap().total(), 2 * 10 * PER_SECOND);
}

#[test]
fn five_second_rows_and_later_seconds_count_each_record_once() {
    let mut trial = TrialFixture::clean();
    // Cut off in second 8, three seconds after five-second rows were last written.
    trial.samples.retain(|row| row.grain == Grain::Second && row.written_second < 8);
    trial.totals.clear();
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.written_second >= 5) {
        row.histograms.insert(Timing::Response, histogram(&[(3000 * MS, PER_SECOND)], 2));
    }
    let row = trial.push(WRITERS, Grain::FiveSeconds, Phase::Measure, 0, 4);
    for (timing, ns) in [(Timing::Response, 4 * MS), (Timing::Service, 3 * MS)] {
        row.histograms.insert(timing, histogram(&[(ns, 3 * PER_SECOND)], 3));
        row.sums_ns.insert(timing, u128::from(3 * PER_SECOND * ns));
    }
    let measured = |timing| measured_latencies(&trial, "writers", timing).unwrap();
    let response = measured(Timing::Response);
    assert_eq!(response.total(), 6 * PER_SECOND);
    let Value::Is(max_ns) = response.max() else { panic!("{:?}", response.max()) };
    assert!((3e9..3.03e9).contains(&max_ns), "at two digits, and not below the truth: {max_ns}");
    let Value::Is(p50_ns) = response.quantile(0.5) else { panic!("no median") };
    assert!((4e6..4.004e6).contains(&p50_ns), "at three digits: {p50_ns}");
    assert_eq!(measured(Timing::Service).total(), 3 * PER_SECOND, "rows of seconds hold the response alone");
    assert_eq!(trial.value("writers.response_over_service"), Value::None);
}

#[test]
fn the_window_ends_where_the_first_worker_was_cut_off() {
    let mut trial = two_workers();
    trial.samples.retain(|row| row.id != OTHER || (row.grain == Grain::Second && row.written_second <= 4));
    trial.totals.retain(|totals| totals.id != OTHER);
    trial.is("writers.acked_per_s", 2000.0);
    trial.is("writers.offered_per_s", 2000.0);
    let caveats = trial.caveats();
    let is_cut = |caveat: &Caveat| matches!(caveat, Caveat::CutShort { measured_s: 2, planned_s: 10, .. });
    assert!(
        matches!(&caveats[..], [(_, caveat), (_, Caveat::LogNotChecked { .. })] if is_cut(caveat)),
        "{caveats:?}"
    );
    // One that gave its totals has simply nothing more to do.
    let mut trial = two_workers();
    trial.samples.retain(|row| row.id != OTHER || row.written_second <= 4);
    trial.take_totals();
    trial.totals.retain(|totals| totals.id != WRITERS);
    // Seconds 2 to 10 of the one, 2 to 4 of the other.
    trial.is("writers.acked_per_s", (9000.0 + 3000.0) / 9.0);
}

/// Worker 1 is lost in second 6; what is left of the load is ten times slower from then on, and a tenth of it fails.
#[test]
fn no_figure_is_of_a_load_that_has_lost_a_part() {
    let mut trial = two_workers();
    let generators = &mut trial.start.trial.effective.generators;
    generators.hosts = vec!["one".to_owned(), "two".to_owned()];
    generators.lost_workers = LostWorkers::Report;
    trial.samples.retain(|row| row.id != OTHER || (row.grain == Grain::Second && row.written_second <= 6));
    trial.totals.retain(|totals| totals.id != OTHER);
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.t0_second >= 6) {
        row.histograms.insert(Timing::Response, histogram(&[(40 * MS, PER_SECOND)], 2));
        if row.grain == Grain::Second {
            row.counts.failed.insert("timeout".to_owned(), PER_SECOND / 10);
        }
    }
    trial.counts(3).failed.insert("timeout".to_owned(), 8);
    trial.events.push(event(EventKind::WorkerEnded, Subject::Worker(1), "worker 1 ended"));
    for went_on in [true, false] {
        if !went_on {
            trial.events.push(event(EventKind::CutShort, Subject::Kdyno, "stopped"));
        }
        // Seconds 2 to 5 of both.
        trial.is("writers.offered_per_s", 2000.0);
        let response = measured_latencies(&trial, "writers", Timing::Response).unwrap();
        assert_eq!(response.total(), 8 * PER_SECOND + 8);
        let Value::Is(p99_ns) = response.quantile(0.99) else { panic!("{:?}", response.quantile(0.99)) };
        assert!((4e6..4.05e6).contains(&p99_ns), "{p99_ns}");
        let service = measured_latencies(&trial, "writers", Timing::Service).unwrap();
        assert_eq!(service.total(), 0, "rows of seconds do not have it");
        for (count, wanted) in [("failed", 8.0), ("failed_share", 0.001), ("unresolved", 0.0)] {
            trial.is(&format!("writers.{count}"), wanted);
        }
        let course = kdyno_analysis::series::trial(&trial).unwrap();
        let writers = course.streams.iter().find(|stream| stream.name == "writers").unwrap();
        assert_eq!((writers.outcomes.kept, writers.outcomes.failed), (8 * PER_SECOND, 8));
        let caveats = trial.judged().caveats;
        let found = caveats.iter().find_map(|found| match &found.caveat {
            Caveat::CutShort { measured_s, went_on, .. } => Some((*measured_s, *went_on)),
            _ => None,
        });
        assert_eq!(found, Some((4, went_on)));
    }
}

#[test]
fn a_record_limit_is_reached_by_all_workers_together() {
    let mut trial = two_workers();
    let end = |id| if id == OTHER { 8 } else { 6 };
    trial
        .samples
        .retain(|row| row.id == READERS || row.grain != Grain::Second || row.t0_second < end(row.id));
    trial.take_totals();
    // Measured from second 2: four thousand of the one, six of the other.
    trial.writers().records_max = Some(10_000);
    trial.is("writers.offered_per_s", 9000.0 / 5.0);
}

#[test]
fn workers_are_busy_together() {
    let mut trial = two_workers();
    for reading in &mut trial.probes {
        if matches!(reading.subject, Subject::Worker(_)) && reading.series != series::MEMORY_RSS_BYTES {
            reading.value *= 3.0;
        }
    }
    let found = trial.caveats();
    let [(Severity::Warning, Caveat::WorkerBusy { cpu_percent, cores: 2 })] = found[..] else {
        panic!("{found:?}")
    };
    assert!((cpu_percent - 180.0).abs() < 1e-6, "{cpu_percent}");
}

#[test]
fn without_the_readings_of_one_worker_nothing_is_said_of_all() {
    let mut trial = two_workers();
    trial.probes.retain(|reading| reading.subject != Subject::Worker(1));
    for reading in &mut trial.probes {
        let is_user = reading.series == series::CPU_USER_S_TOTAL;
        match reading.subject {
            // Busy enough for the two of them, and the host with what the other one used.
            Subject::Worker(0) if is_user => reading.value *= 8.0,
            Subject::Host if is_user => reading.value *= 5.0,
            _ => {}
        }
    }
    for metric in ["cpu_percent", "cpu_us_per_record", "memory_rss_bytes_max"] {
        assert_eq!(trial.value(&format!("workers.{metric}")), Value::None, "{metric}");
    }
    assert_eq!(trial.caveats(), []);
}

#[test]
fn below_the_kernels_ticks_there_is_no_cost_per_record() {
    let mut trial = TrialFixture::clean();
    for reading in &mut trial.probes {
        let is_cpu =
            [series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL].contains(&reading.series.as_str());
        if is_cpu && matches!(reading.subject, Subject::Worker(_)) {
            reading.value *= 0.001;
        }
    }
    for metric in ["cpu_us_per_record", "records_per_s_per_core"] {
        assert_eq!(trial.value(&format!("workers.{metric}")), Value::None, "{metric}");
        assert!(matches!(trial.value(&format!("brokers.{metric}")), Value::Is(_)), "{metric}");
    }
    let Value::Is(percent) = trial.value("workers.cpu_percent") else { panic!("no share of a core") };
    assert!(percent > 0.0 && percent < 0.1, "{percent}");
}

#[test]
fn the_order_in_which_evidence_is_stored_changes_no_finding() {
    let mut trial = two_workers();
    for (index, totals) in trial.totals.iter_mut().enumerate() {
        for client in &mut totals.clients {
            client.span_ns += 1_234_567 * (index as u64 + 1);
        }
    }
    let before = kdyno_analysis::trial::judge(&trial).unwrap();
    trial.samples.reverse();
    trial.totals.reverse();
    trial.probes.reverse();
    assert_eq!(kdyno_analysis::trial::judge(&trial).unwrap(), before);
}

/// Each of two hosts has 1000 records per second.
#[test]
fn what_generators_can_do_is_judged_by_the_worst_one_by_name() {
    let short = |of_hosts: [&str; 2]| {
        let mut trial = two_workers();
        let hosts = ["one", "two"];
        trial.start.trial.effective.generators.hosts = hosts.map(str::to_owned).into();
        // What the lab's host can do says nothing of them.
        trial.start.cluster.insert(cluster_fact::generator_max_per_s("writers"), "1".to_owned());
        let fact = |(host, per_s): (&str, &str)| {
            (cluster_fact::generator(host, &cluster_fact::max_per_s("writers")), per_s.to_owned())
        };
        trial
            .start
            .cluster
            .extend(hosts.into_iter().zip(of_hosts).filter(|(_, fact)| !fact.is_empty()).map(fact));
        let found = trial.reported(|caveat| matches!(caveat, Caveat::CalibrationShort { .. }));
        found.into_iter().map(|found| found.caveat).collect::<Vec<_>>()
    };
    let of = |ratio: f64, name: &str| {
        vec![Caveat::CalibrationShort { item: "writers".to_owned(), ratio, generator: Some(name.to_owned()) }]
    };
    assert_eq!(short(["9000", "1500"]), of(1.5, "two"));
    assert_eq!(short(["1250", "1500"]), of(1.25, "one"));
    assert_eq!(short(["", "1500"]), of(1.5, "two"), "the other one was not measured");
    // Together they did 2000 records per second, and none of them more than half of what it can.
    assert_eq!(short(["2000", "2000"]), []);
    assert_eq!(short(["", "fast"]), []);
}
