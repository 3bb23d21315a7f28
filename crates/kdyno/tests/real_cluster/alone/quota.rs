//! A quota of the brokers is named as the limit and carries what it allows; of the full table, twice the quota carries twice
//! as much.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{collect_garbage, ended, is_matrix, ran, stand, take_down};
use kdyno_model::caveat::Caveat;
use kdyno_model::conclusion::{Conclusion, Limit, LimitKind, of_kind};
use kdyno_model::finding::{Finding, Value};
use kdyno_model::health::{Health, HealthRule};
use kdyno_model::sample::{ProbeReading, series};
use kdyno_store::RunFile;
use std::path::PathBuf;

const SCENARIO: &str = "\
kdyno: 1
id: quota
question: How much?
topics: {perf: {partitions: 2, replicas: 1}}
load: {writers: {produce: perf, rate: max, fill: in-flight, value: 1000B, client: {linger.ms: 0}}}
phases: {warmup: 5s, measure: 9s, drain: 10s}
";

#[test]
fn a_quota_is_the_limit_and_carries_what_it_allows() {
    let _turn = alone();
    let place = TestFolder::new();
    let scenario = place.file("quota.yaml", SCENARIO);
    let path = |path: &PathBuf| path.to_str().expect("plain path").to_owned();
    let mut carried = Vec::new();
    let quotas: &[u32] = if is_matrix() { &[400_000, 800_000] } else { &[400_000] };
    for (number, &bytes_per_s) in quotas.iter().enumerate() {
        // Quotas look back on few windows of a second.
        let system = format!(
            "kafka: 4.1.1, config: {{quota.window.num: 3}}, quotas: {{producer_byte_rate: {bytes_per_s}B/s}}"
        );
        stand(&place, "capped", &system);
        let target = place.kdyno(&["cluster", "target", "capped"]);
        ended(&target, 0);
        let target = place.file("target.yaml", &target.stdout);
        let runs = path(&place.path().join(format!("runs-{number}")));
        let args = ["run", &path(&scenario), "--target", &path(&target), "--out", &runs, "--share", "--yes"];
        let mut command = place.command(&args);
        command.env("XDG_CACHE_HOME", place.path().join("cache"));
        let mut running = place.start(command);
        running.wait_for("· measure");
        // So little is carried that by itself it has hardly any garbage.
        collect_garbage(&place);
        let said = running.wait(RUN_DEADLINE);
        ran(&said);
        let (per_s, limit, is_throttled) = read(&runs);
        assert_eq!(limit.named, LimitKind::Quota, "{limit:?}");
        assert!(is_throttled, "the caveat too: {said:?}");
        let details = place.kdyno(&["show", "latest", "--details", "--dir", &runs]);
        assert!(details.stdout.contains("Clients that brokers throttled"), "{}", details.stdout);
        // Records have a value of 1,000 B and little more; what is held back comes in bursts.
        let share = per_s * 1000.0 / f64::from(bytes_per_s);
        assert!((0.7..1.3).contains(&share), "{per_s} records/s are {share} of the quota");
        carried.push(per_s);
        take_down(&place, "capped");
    }
    for pair in carried.windows(2) {
        let ratio = pair[1] / pair[0];
        assert!((1.5..2.5).contains(&ratio), "twice the quota carried {ratio} times as much: {carried:?}");
    }
}

/// Acknowledged records/s, the limit, and whether the run doubts its figures for answers that were held back.
fn read(runs: &str) -> (f64, Limit, bool) {
    let mut files =
        std::fs::read_dir(runs).expect("a folder of runs").map(|entry| entry.expect("entry").path());
    let path =
        files.find(|path| path.extension().is_some_and(|ending| ending == "kdyno")).expect("a run file");
    let file = RunFile::open(&path).expect("the run file");
    let judgement = file.judgement().expect("what was concluded");
    let rate = judgement.findings.iter().find(|finding| finding.of.to_string() == "writers.acked_per_s");
    // The cluster is none of the run's own, and its broker is probed all the same: it runs on this host.
    let of_brokers = |finding: &&Finding| finding.of.to_string() == "brokers.cpu_percent";
    let used = judgement.findings.iter().find(of_brokers).map(|finding| finding.estimate);
    assert!(matches!(used, Some(Value::Is(percent)) if percent > 0.0), "{used:?}");
    let Some(Value::Is(per_s)) = rate.map(|finding| finding.estimate) else { panic!("no rate: {rate:?}") };
    let held_back = judgement.findings.iter().find(|one| one.of.to_string() == "writers.throttled_share");
    let held_back = held_back.map(|one| one.estimate);
    assert!(matches!(held_back, Some(Value::Is(share)) if share > 0.05), "{held_back:?}");
    assert_probed(&judgement.conclusions);
    let trial = file.trials().expect("its trials")[0].trial.id;
    assert_gc_log_was_read(&file.evidence(trial).expect("evidence").probes);
    let limit = of_kind::<Limit>(&judgement.conclusions).next().expect("a limit").clone();
    let is_throttled =
        |caveat: &Caveat| matches!(caveat, Caveat::ClusterChanged { event, .. } if event == "throttled");
    let reported = judgement.caveats.iter().any(|found| is_throttled(&found.caveat));
    (per_s, limit, reported)
}

/// The broker's log of garbage collection, the drives and kdyno's own cost were read.
fn assert_probed(conclusions: &[Conclusion]) {
    let checks: Vec<_> = of_kind::<Health>(conclusions).flat_map(|health| &health.checks).collect();
    for rule in [HealthRule::GcPause, HealthRule::Stopped, HealthRule::DriveBusy, HealthRule::ProbesBusy] {
        assert!(checks.iter().any(|check| check.rule == rule), "{rule} in {checks:?}");
    }
}

/// Pauses and safepoints of a real broker's log were understood: they grow, and are in every reading.
fn assert_gc_log_was_read(readings: &[ProbeReading]) {
    let of = |name: &str| -> Vec<f64> {
        readings.iter().filter(|reading| reading.series == name).map(|reading| reading.value).collect()
    };
    for name in [series::GC_PAUSES_TOTAL, series::GC_PAUSE_S_TOTAL, series::SAFEPOINT_S_TOTAL] {
        let reported = of(name);
        let grown = reported.last().zip(reported.first()).map(|(last, first)| last - first);
        assert!(grown.is_some_and(|grown| grown > 0.0), "{name}: {reported:?}");
        assert_eq!(reported.len(), of(series::GC_PAUSE_S_LONGEST).len(), "{name}: {reported:?}");
    }
}
