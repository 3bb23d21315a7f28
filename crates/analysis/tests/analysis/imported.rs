//! Series that somebody else measured, on a trial's time line.

use crate::fixture::{S, TrialFixture};
use kdyno_analysis::imported::{self, ImportOptions, ImportedColumn};
use kdyno_model::event::Subject;
use kdyno_model::finding::Value;
use kdyno_model::metric::Unit;
use kdyno_model::sample::ProbeReading;
use std::collections::BTreeMap;

const T0_S: i64 = 1_772_874_300;

fn subject() -> Subject {
    Subject::Imported("cloudwatch".to_owned())
}

/// A trial whose load began then.
fn trial() -> TrialFixture {
    let mut trial = TrialFixture::clean();
    trial.start.t0_unix_ns = T0_S as u64 * S;
    trial
}

fn columns(text: &str) -> Vec<ImportedColumn> {
    let how = ImportOptions {
        time: "time".to_owned(),
        zone: None,
        unit: "percent".to_owned(),
        units: BTreeMap::new(),
        columns: Vec::new(),
    };
    imported::read(text.as_bytes(), &how).expect("columns").columns
}

#[test]
fn imports_have_a_mean_over_the_window_and_a_chart_of_the_trial() {
    // The window is from 2 to 12 s; at 7 s nothing was read.
    let rows = [(-100, "9"), (1, "80"), (2, "10"), (7, ""), (8, "30"), (12, "90"), (200, "9")];
    let text: String = rows.iter().map(|(s, value)| format!("{},{value}\n", T0_S + s)).collect();
    let mut trial = trial();
    trial.probes = imported::readings(&trial, &subject(), &columns(&format!("time,CPU\n{text}")));
    let at: Vec<i64> = trial.probes.iter().map(|reading| reading.at_ns / S as i64).collect();
    assert_eq!(at, [1, 2, 8, 12], "what lies elsewhere is left out, a gap is no reading");
    let findings = imported::findings(&trial);
    let [cpu] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(cpu.of.to_string(), "imported-cloudwatch.CPU");
    assert_eq!((cpu.unit, cpu.n, cpu.range), (Unit::Percent, 2, Some((Value::Is(10.0), Value::Is(30.0)))));
    assert!(matches!(cpu.estimate, Value::Is(mean) if (mean - 20.0).abs() < 1e-9), "{cpu:?}");
    let series = kdyno_analysis::series::trial(&trial).expect("series");
    let [drawn] = &series.imported[..] else { panic!("{:?}", series.imported) };
    assert_eq!((drawn.name.as_str(), drawn.points.len(), drawn.points[0].at_s), ("CPU", 4, 1.0));
    // They are among what is said of a trial that is judged again.
    let judged = kdyno_analysis::trial::judge(&trial).expect("judged");
    assert!(judged.findings.iter().any(|one| one.of == cpu.of));
}

#[test]
fn an_mbean_that_the_plan_names_is_a_series_of_its_broker() {
    const LEADERS: &str = "mbean:kafka.server:type=ReplicaManager,name=LeaderCount/Value";
    let mut trial = trial();
    let reading = |at_s: u64, value| ProbeReading {
        at_ns: (at_s * S) as i64,
        subject: Subject::Broker(1),
        series: LEADERS.to_owned(),
        value,
    };
    trial.probes = vec![reading(0, 9.0), reading(3, 12.0), reading(8, 14.0)];
    let findings = imported::findings(&trial);
    let [leaders] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((leaders.of.subject.as_str(), leaders.of.metric.as_str()), ("broker-1", LEADERS));
    assert!(matches!(leaders.estimate, Value::Is(mean) if (mean - 13.0).abs() < 1e-9), "{leaders:?}");
    let series = kdyno_analysis::series::trial(&trial).expect("series");
    assert_eq!(series.imported.first().map(|one| one.points.len()), Some(3), "{:?}", series.imported);
}

#[test]
fn a_series_without_a_reading_in_the_window_has_no_mean() {
    let mut trial = trial();
    trial.probes = imported::readings(&trial, &subject(), &columns(&format!("time,CPU\n{T0_S},5\n")));
    assert_eq!((trial.probes.len(), imported::findings(&trial)), (1, Vec::new()));
}

#[test]
fn what_a_scenario_declares_is_a_limit_of_a_cluster_of_our_own() {
    use kdyno_model::conclusion::{Conclusion, LimitKind};
    let share = |fact: Option<&str>| {
        let mut trial = TrialFixture::clean();
        let facts = fact.map(|limit| ("declared.disk.limit".to_owned(), limit.to_owned()));
        trial.start.cluster.extend(facts);
        let judged = kdyno_analysis::trial::judge(&trial).expect("judged");
        let disk = judged.conclusions.iter().find_map(|one| match one {
            Conclusion::Limit(limit) => limit.evidence.iter().find(|of| of.kind == LimitKind::Disk),
            _ => None,
        });
        disk.expect("it is always told").used
    };
    assert_eq!(share(None), None);
    assert!(share(Some("1MiB/s")).is_some_and(|used| used > 0.0));
}
