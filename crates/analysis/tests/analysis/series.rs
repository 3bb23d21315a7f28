//! A trial's course over time.

use crate::fixture::{Trial, WRITERS};
use kdyno_model::finding::Value;
use kdyno_model::sample::Phase;

#[test]
fn the_course_of_a_trial() {
    let mut trial = Trial::clean();
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
