//! A comparison whose sides run at once.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder, one_line};
use crate::fixture::ended;
use kdyno_model::caveat::Caveat;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::{Phase, series};
use kdyno_model::trial::TrialReason;
use kdyno_store::RunFile;

const SCENARIO: &str = "\
kdyno: 1
id: duet
question: Does it work?
system: {kafka: 4.1.1, mode: kraft, brokers: 1, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, \
         config: {num.io.threads: 4}}
topics: {perf: {partitions: 2, replicas: 1}}
load:
  writers: {produce: perf, clients: 1, rate: 500/s, value: 100B}
  readers: {consume: perf, clients: 1}
phases: {warmup: 1s..2s, condition: 1s..2s, measure: 2s, drain: 2s}
";

/// A reading of the other side's measure phase, s.
fn other_s(of: &TrialEvidence, name: &str) -> f64 {
    let reported = of.probes.iter().find(|reading| reading.series == name);
    reported.filter(|reading| reading.subject == Subject::OtherSide(0)).expect("it is told").value
}

#[test]
fn both_sides_run_in_the_same_seconds_on_their_own_clusters() {
    let _turn = alone();
    let place = TestFolder::new();
    let path = place.file("duet.yaml", SCENARIO);
    let path = path.to_str().expect("plain path");
    let sides = ["--a", "system.config.num.io.threads=4", "--b", "system.config.num.io.threads=5"];
    // What other programs do to latencies must not lose a pair here.
    let judge = ["--judge", "brokers.cpu_us_per_record"];
    let rest = ["--quick", "--budget", "44s", "--share", "--yes", "--seed", "1"];
    let said = place
        .start(place.command(&[&["compare", path][..], &sides, &judge, &rest].concat()))
        .wait(RUN_DEADLINE);
    ended(&said, 0);
    place.expect_no_processes();
    let reported = one_line(&said.stderr);
    assert!(reported.contains("both sides at once, under the same arrivals"), "{reported}");
    assert!(said.stdout.contains("Both sides ran at once on this machine"), "{}", said.stdout);

    // In what the brokers of both sides say that they differ, and that this was requested, before any figure.
    let difference = "Requested: num.io.threads of brokers (4 → 5).";
    assert!(one_line(&said.stdout).contains("1 setting differs: requested: 1."), "{}", said.stdout);
    let words = one_line(&place.details());
    assert!(words.contains(difference) && !words.contains("Not requested"), "{words}");
    let config = place.kdyno(&["show", "latest", "--config"]);
    ended(&config, 0);
    let words = one_line(&config.stdout);
    assert!(words.contains(difference) && words.contains("num.io.threads of broker-0 (4 → 5)"), "{words}");

    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trials = file.trials().expect("trials");
    // Both are conditioned, and three pairs follow; on a busy host the budget ends after two.
    assert!([6, 8].contains(&trials.len()), "{}", said.stderr);
    for (place, pair) in trials.chunks(2).enumerate() {
        let reason = if place == 0 { TrialReason::Conditioning } else { TrialReason::Duet };
        let [a, b] = [0, 1].map(|at| file.evidence(pair[at].trial.id).expect("evidence"));
        assert_eq!(a.start.t0_monotonic_ns, b.start.t0_monotonic_ns);
        let span = |of: &TrialEvidence| of.span(Phase::Measure).expect("it was measured");
        assert_eq!((span(&a), span(&b).end_ns), (span(&b), span(&a).end_ns));
        assert_ne!(a.start.cluster.get("cluster_id"), b.start.cluster.get("cluster_id"));
        for (one, other) in [(&a, &b), (&b, &a)] {
            assert_eq!(one.start.trial.reason, reason);
            assert_ne!(one.start.trial.variant, other.start.trial.variant);
            assert_eq!(other_s(one, series::MEASURE_START_S), span(other).start_ns as f64 / 1e9);
            assert_eq!(other_s(one, series::MEASURE_END_S), span(other).end_ns as f64 / 1e9);
            let is_read = |subject: &Subject| {
                let cpu = |name: &str| name == series::CPU_USER_S_TOTAL;
                one.probes
                    .iter()
                    .filter(|reading| reading.subject == *subject && cpu(&reading.series))
                    .count()
                    > 2
            };
            // The other side's broker and worker.
            assert!(is_read(&Subject::OtherSide(0)) && is_read(&Subject::OtherSide(1)));
            assert!(is_read(&Subject::Broker(0)) && is_read(&Subject::Worker(0)));
            let counts = |of: fn(&kdyno_model::sample::Counts) -> u64| -> u64 {
                one.totals.iter().map(|totals| of(&totals.counts)).sum()
            };
            assert!(counts(|counts| counts.acknowledged) > 1_000);
            assert_eq!(counts(|counts| counts.offered), counts(|counts| counts.acknowledged));
            assert!(one.events.iter().all(|event| event.kind != EventKind::CutShort), "{:?}", one.events);
            assert_eq!(one.noise.len(), 1);
        }
    }
    let judgement = file.judgement().expect("what was concluded");
    let is_bad = |caveat: &Caveat| {
        matches!(caveat, Caveat::NotAtOnce { .. } | Caveat::PairsLost { .. } | Caveat::Unconditioned)
    };
    assert!(!judgement.caveats.iter().any(|found| is_bad(&found.caveat)), "{:#?}", judgement.caveats);
    let has_verdict = judgement.conclusions.iter().any(|one| matches!(one, Conclusion::Verdict(_)));
    assert!(has_verdict || trials.len() < 8, "{:#?}", judgement.conclusions);
}
