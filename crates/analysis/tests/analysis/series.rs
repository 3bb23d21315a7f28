//! A trial's course over time.

use crate::fixture::{TrialFixture, WRITERS};
use kdyno_model::event::Subject;
use kdyno_model::finding::Value;
use kdyno_model::sample::{Phase, series};
use kdyno_model::series::{HeatMap, Outcomes, Resource};

#[test]
fn the_course_of_a_trial() {
    let mut trial = TrialFixture::clean();
    let late = trial.samples.iter_mut().find(|row| row.id == WRITERS && row.t0_second == 10).unwrap();
    late.written_second = 13;
    trial.counts(5).unresolved = 2000;
    let course = kdyno_analysis::series::trial(&trial).unwrap();
    assert_eq!(course.label, "brokers=2");
    let writers = course.streams.iter().find(|stream| stream.name == "writers").unwrap();
    let point = |second| writers.seconds.iter().find(|point| point.second == second).unwrap();
    assert_eq!(
        (point(1).phase, point(2).phase, point(13).phase),
        (Phase::Warmup, Phase::Measure, Phase::Drain)
    );
    assert_eq!((point(10).offered, point(10).acknowledged), (1000, 0));
    assert_eq!((point(13).offered, point(13).acknowledged), (0, 1000));
    assert!(matches!(point(10).response_ns_p50, Value::Is(_)));
    assert_eq!(point(13).response_ns_p50, Value::None);
    // A thousand were acknowledged, two thousand were not.
    assert!(matches!(point(5).response_ns_p50, Value::AtLeast(_)));
    let curve = &writers.percentiles;
    assert!(curve.windows(2).all(|pair| pair[0].quantile < pair[1].quantile), "{curve:?}");
    assert_eq!(curve.first().map(|point| point.quantile), Some(0.0));
    assert_eq!(curve.last().map(|point| point.quantile), Some(1.0));
    assert!(matches!(curve.last().unwrap().ns, Value::AtLeast(_)));
    let cpu: Vec<String> = course.cpu.iter().map(|series| series.subject.to_string()).collect();
    assert_eq!(cpu, ["broker-0", "broker-1", "host", "worker-0"]);
    assert!(course.cpu[0].points.iter().all(|point| (point.percent - 40.0).abs() < 1e-6));
}

#[test]
fn waiting_and_finished_records_are_reported() {
    let mut trial = TrialFixture::clean();
    let late = trial.samples.iter_mut().find(|row| row.id == WRITERS && row.t0_second == 10).unwrap();
    late.written_second = 13;
    let counts = trial.counts(5);
    counts.offered += 2_500;
    counts.unresolved = 2_000;
    counts.failed.insert("delivery-timeout".to_owned(), 500);
    let course = kdyno_analysis::series::trial(&trial).unwrap();
    let [readers, writers] = course.streams.as_slice() else { panic!("two items") };
    let open = |second| writers.seconds.iter().find(|point| point.second == second).unwrap().open_records;
    assert_eq!([open(9), open(10), open(11), open(13)], [Some(0), Some(1000), Some(1000), Some(0)]);
    assert!(readers.seconds.iter().all(|point| point.open_records.is_none()), "they offer nothing");
    assert_eq!(writers.outcomes, Outcomes { kept: 10_000, failed: 500, unseen: 2_000 });
    assert_eq!(readers.outcomes, Outcomes::default());
    let service = &writers.service_percentiles;
    assert_eq!(service.len(), writers.percentiles.len());
    assert_eq!(writers.end_to_end_percentiles, []);
}

#[test]
fn each_record_with_a_latency_is_in_the_heat_map_once() {
    let mut trial = TrialFixture::clean();
    trial.counts(5).unresolved = 30;
    let course = kdyno_analysis::series::trial(&trial).unwrap();
    let writers = course.streams.iter().find(|stream| stream.name == "writers").unwrap();
    let heat = &writers.heat;
    assert_eq!((heat.seconds, heat.columns.len()), (1, 12), "a column for each second, of all phases");
    let records: u64 = heat.columns.iter().flat_map(|column| &column.records).sum();
    assert_eq!(records, 12_000);
    assert_eq!(heat.columns.iter().map(|column| column.unfinished).collect::<Vec<_>>()[5], 30);
    // All took 4 ms.
    let row = heat.columns[3].records.iter().position(|records| *records == 1000).unwrap();
    assert!(heat.edges_ns[row] <= 4e6 && heat.edges_ns[row + 1] > 4e6, "{heat:?}");
    assert_eq!(writers.end_to_end_heat, HeatMap::default());
}

#[test]
fn resources_are_per_process_and_a_falling_counter_has_no_point() {
    let mut trial = TrialFixture::clean();
    let broker = Subject::Broker(7);
    trial.counter(broker.clone(), series::CPU_USER_S_TOTAL, 0.3);
    trial.counter(broker.clone(), series::DISK_WRITE_BYTES_TOTAL, 2.0 * 1_048_576.0);
    trial.counter(Subject::OtherSide(0), series::CPU_USER_S_TOTAL, 0.3);
    // Another process of that name from second 6 on.
    for reading in trial.probes.iter_mut().filter(|one| one.subject == broker && one.at_ns > 6_000_000_000) {
        reading.value /= 100.0;
    }
    let course = kdyno_analysis::series::trial(&trial).unwrap();
    let of = |resource| {
        let found = course.resources.iter().find(|one| one.subject == broker && one.resource == resource);
        found.map(|one| one.points.clone()).unwrap_or_default()
    };
    let user = of(Resource::CpuUser);
    assert_eq!(user.len(), 15, "one stretch is another process's: {user:?}");
    assert!(user.iter().all(|point| point.value > 0.0), "{user:?}");
    assert!((user[0].value - 30.0).abs() < 1e-6, "percent of a core: {user:?}");
    assert!((of(Resource::DiskWrite)[0].value - 2.0).abs() < 1e-6, "MiB/s");
    assert_eq!(of(Resource::Heap), []);
    assert!(!course.resources.iter().any(|one| matches!(one.subject, Subject::OtherSide(_))));
}
