//! Whether the load generator is what was measured.

use super::assert_caveats;
use crate::fixture::{MS, TrialFixture, at_three_digits, closed_loop, histogram};
use kdyno_model::caveat::{Caveat, Concern, Severity};
use kdyno_model::event::Subject;
use kdyno_model::finding::Mark;
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::{Grain, NoiseReading, Phase, Timing, series};
use std::collections::BTreeSet;

/// What the generator can do against a broker that does nothing.
pub(super) fn calibrated(trial: &mut TrialFixture, per_s: f64) {
    let fact = (cluster_fact::generator_max_per_s("writers"), per_s.to_string());
    trial.start.cluster.extend([fact]);
}

/// Share of the window that the writers' thread waited for a processor.
pub(super) fn thread_waited(trial: &mut TrialFixture, share: f64) {
    let name = format!("{}writers", series::THREAD_RUN_DELAY_S_TOTAL_OF);
    trial.counter(Subject::Worker(0), &name, share);
}

#[test]
fn each_caveat_about_the_generator_is_named_by_what_causes_it() {
    assert_caveats([
        (
            |trial| {
                let used = [series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL];
                for reading in trial.probes.iter_mut().filter(|reading| reading.subject == Subject::Worker(0))
                {
                    if used.contains(&reading.series.as_str()) {
                        reading.value *= 6.0;
                    }
                }
            },
            Severity::Warning,
            Caveat::WorkerBusy { cpu_percent: 180.0, cores: 2 },
        ),
        (
            // One thread has all that the worker uses, the others are idle; a core for each would be enough.
            |trial| trial.threads([("writers", 0.8), ("readers", 0.1)]),
            Severity::Warning,
            Caveat::ThreadBusy { thread: "writers".into(), cpu_percent: 80.0 },
        ),
        (
            |trial| thread_waited(trial, 0.06),
            Severity::Warning,
            Caveat::WaitedForProcessor { who: "writers".into(), share: 0.06, share_of_ready: None },
        ),
        (
            |trial| calibrated(trial, 1_990.0),
            Severity::Note,
            Caveat::CalibrationShort { item: "writers".into(), ratio: 1.99, generator: None },
        ),
    ]);
    let mut trial = TrialFixture::clean();
    thread_waited(&mut trial, 0.05);
    calibrated(&mut trial, 2_000.0);
    trial.threads([("writers", 0.75)]);
    assert_eq!(trial.caveats(), []);
}

#[test]
fn a_maximum_of_the_generator_invalidates_only_that_items_rates() {
    let mut trial = TrialFixture::clean();
    trial.writers().rate = closed_loop();
    calibrated(&mut trial, 1_500.0);
    let found = trial.reported(|found| matches!(found, Caveat::CalibrationShort { .. }));
    assert_eq!(found[0].severity, Severity::Invalid);
    let rates = [
        "achieved_per_s",
        "acked_mib_per_s",
        "acked_mib_per_s_sum_of_clients",
        "acked_per_s",
        "acked_per_s_sum_of_clients",
        "offered_per_s",
    ];
    assert_eq!(trial.marked(Mark::Invalid), rates.map(|name| format!("writers.{name}")).into());
}

/// What is said of the generator at quantiles: severity, quantile, and which figures are marked.
fn late(trial: &TrialFixture) -> Vec<(Severity, String, BTreeSet<String>)> {
    let mut found = trial.reported(|found| matches!(found, Caveat::GeneratorLate { .. }));
    found.retain(|found| found.concerns != Concern::Mean { item: "writers".into() });
    let reported = found.into_iter().map(|found| {
        let Concern::LatenciesFrom { item, quantile } = found.concerns else { panic!("{found:?}") };
        assert_eq!(item, "writers");
        (found.severity, quantile, trial.marked(Mark::Invalid))
    });
    reported.collect()
}

/// Replaces one timing of the measured records.
fn timed(trial: &mut TrialFixture, timing: Timing, values: &[(u64, u64)]) {
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    row.unwrap().histograms.insert(timing, histogram(values, 3));
}

#[test]
fn a_stopped_worker_does_not_pass_its_tail_off_as_the_clusters() {
    let mut trial = TrialFixture::clean();
    // 50 of 10,000 records were late by up to 136 ms, for the worker was.
    timed(&mut trial, Timing::Response, &[(4 * MS, 9_950), (140 * MS, 50)]);
    timed(&mut trial, Timing::WithoutGenerator, &[(3_950_000, 9_950), (4 * MS, 50)]);
    let marked = ["p99.9", "p99.99", "max"].map(|name| format!("writers.response.{name}"));
    let reported = (Severity::Invalid, "p99.9".to_owned(), marked.into());
    assert_eq!(late(&trial), [reported], "p99 and below are the cluster's");
    let Caveat::GeneratorLate { late_ns, response_ns, .. } =
        trial.reported(|found| matches!(found, Caveat::GeneratorLate { .. }))[0].caveat.clone()
    else {
        panic!("no such caveat")
    };
    assert_eq!(late_ns as f64, at_three_digits(140 * MS) - at_three_digits(4 * MS));
    assert_eq!(response_ns as f64, at_three_digits(140 * MS));
}

/// They lie above every quantile of both, so that those of the response and of what it is without the generator are of the same
/// records.
#[test]
fn records_that_failed_make_no_generator_late() {
    let mut trial = TrialFixture::clean();
    // 9,000 of 12,000 are 75 %: those are among the slow ones, as 7,500 of 10,000 are not.
    for timing in [Timing::Response, Timing::WithoutGenerator] {
        timed(&mut trial, timing, &[(4 * MS, 7_600), (700 * MS, 2_400)]);
    }
    for second in 2..12 {
        trial.counts(second).failed.insert("delivery-timeout".into(), 200);
    }
    trial.is("writers.response.p75", at_three_digits(700 * MS));
    assert_eq!(late(&trial), []);
}

/// What is said of the generator in the mean, of a response whose mean is 36 ms.
fn late_in_the_mean(late_us: u64) -> Vec<(Severity, [u64; 2], BTreeSet<String>)> {
    let mut trial = TrialFixture::clean();
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    let row = row.unwrap();
    // 10,000 records.
    row.sums_ns.insert(Timing::Response, 360_000 * u128::from(MS));
    row.sums_ns.insert(Timing::WithoutGenerator, u128::from(36_000 - late_us) * 10_000_000);
    let found = trial.reported(|found| matches!(found, Caveat::GeneratorLate { .. })).into_iter();
    let reported = found.map(|found| {
        let Caveat::GeneratorLate { quantile, late_ns, response_ns, .. } = found.caveat else { panic!() };
        assert_eq!(quantile, "mean");
        (found.severity, [late_ns, response_ns], trial.marked(Mark::Invalid))
    });
    reported.collect()
}

/// A worker that is stopped for 2 s of 60 touches few records, each of which waits for a second: no quantile up to p95
/// shows it, and most of the mean does.
#[test]
fn a_mean_that_the_generator_made_is_not_the_clusters() {
    let marked = ["writers.response.mean", "writers.response_over_service"].map(str::to_owned);
    assert_eq!(late_in_the_mean(33_000), [(Severity::Invalid, [33 * MS, 36 * MS], marked.into())]);
    assert_eq!(late_in_the_mean(17_900), [(Severity::Warning, [17_900_000, 36 * MS], BTreeSet::new())]);
    assert_eq!(late_in_the_mean(3_600), [], "a tenth");
}

#[test]
fn a_tail_that_is_there_without_the_generator_is_the_clusters() {
    let mut trial = TrialFixture::clean();
    timed(&mut trial, Timing::Response, &[(4 * MS, 9_950), (140 * MS, 50)]);
    timed(&mut trial, Timing::WithoutGenerator, &[(3_950_000, 9_950), (139 * MS, 50)]);
    // Other records were late: the two tails are not of the same ones.
    timed(&mut trial, Timing::ScheduleDelay, &[(50_000, 9_950), (136 * MS, 50)]);
    assert_eq!(late(&trial), []);
}

#[test]
fn shares_of_records_without_an_outcome_are_unknown() {
    let mut trial = TrialFixture::clean();
    timed(&mut trial, Timing::Response, &[(4 * MS, 9_950)]);
    trial.counts(5).unresolved = 50;
    timed(&mut trial, Timing::WithoutGenerator, &[(3_950_000, 9_940), (10_000, 10)]);
    assert_eq!(late(&trial), []);
}

#[test]
fn a_tenth_is_a_caveat_and_half_is_no_figure() {
    let with = |late_ns: u64| {
        let mut trial = TrialFixture::clean();
        timed(&mut trial, Timing::Response, &[(10 * MS, 10_000)]);
        timed(&mut trial, Timing::WithoutGenerator, &[(10 * MS - late_ns, 10_000)]);
        late(&trial).into_iter().map(|(severity, quantile, _)| (severity, quantile)).collect::<Vec<_>>()
    };
    let at_p50 = |severity| vec![(severity, "p50".to_owned())];
    assert_eq!(with(990_000), []);
    assert_eq!(with(1_010_000), at_p50(Severity::Warning));
    assert_eq!(with(4_900_000), at_p50(Severity::Warning));
    assert_eq!(with(5_100_000), at_p50(Severity::Invalid));
}

#[test]
fn an_item_may_be_doubtful_and_invalid_from_different_quantiles() {
    let mut trial = TrialFixture::clean();
    timed(&mut trial, Timing::Response, &[(10 * MS, 9_000), (12 * MS, 950), (24 * MS, 50)]);
    timed(&mut trial, Timing::WithoutGenerator, &[(10 * MS, 10_000)]);
    let reported: Vec<_> =
        late(&trial).into_iter().map(|(severity, quantile, _)| (severity, quantile)).collect();
    assert_eq!(reported, [(Severity::Invalid, "p99.9".to_owned()), (Severity::Warning, "p95".to_owned())]);
}

#[test]
fn lateness_is_not_doubted_where_a_bare_sleep_is_as_late() {
    let with = |sleep_late_ns_p50: u64| {
        let mut trial = TrialFixture::clean();
        trial.stages([1_050_000, 0, 500_000, 0, 50_000, 2_390_000, 10_000]);
        trial.noise = vec![slept([sleep_late_ns_p50, 400_000])];
        late(&trial).into_iter().map(|(severity, quantile, _)| (severity, quantile)).collect::<Vec<_>>()
    };
    // 1.06 ms of schedule delay and callback, to three digits, against three times the sleep.
    assert_eq!(with(355_000), []);
    assert_eq!(with(352_000), [(Severity::Warning, "p50".to_owned())]);
}

/// What a bare sleep showed on the host before the trial: how late its median and its p99 were.
fn slept([sleep_late_ns_p50, sleep_late_ns_p99]: [u64; 2]) -> NoiseReading {
    NoiseReading {
        spin_per_us: 400.0,
        spin_worst_ratio: 1.1,
        sleep_late_ns_p50,
        sleep_late_ns_p99,
        loopback_ns_p50: 9_000,
        loopback_ns_p99: 30_000,
        steal_share: 0.0,
    }
}

/// A jittery host: its sleeps are late by 2.5 ms at p99 and by 60 µs at the median, so its jitter excuses nothing at p50.
#[test]
fn a_sleep_excuses_the_generator_at_its_own_quantile_alone() {
    let mut trial = TrialFixture::clean();
    timed(&mut trial, Timing::Response, &[(10 * MS, 9_000), (23 * MS, 1_000)]);
    timed(&mut trial, Timing::WithoutGenerator, &[(9_000_000 - 100_000, 9_000), (16 * MS, 1_000)]);
    trial.noise = vec![slept([60_000, 2_500_000])];
    let reported: Vec<_> =
        late(&trial).into_iter().map(|(severity, quantile, _)| (severity, quantile)).collect();
    assert_eq!(reported, [(Severity::Warning, "p50".to_owned())]);
    // At p95 7 ms are less than 3 × the sleep there; at p50 the generator was late by less than a tenth.
    timed(&mut trial, Timing::WithoutGenerator, &[(9_500_000, 9_000), (16 * MS, 1_000)]);
    trial.noise = vec![slept([60_000, 4_000_000])];
    assert_eq!(late(&trial), []);
}

#[test]
fn half_of_a_figure_warns_and_spoils_it_where_a_smaller_exists() {
    let mut trial = TrialFixture::clean();
    timed(&mut trial, Timing::Response, &[(400_000, 10_000)]);
    timed(&mut trial, Timing::WithoutGenerator, &[(150_000, 10_000)]);
    for (sleep_ns, severity) in [(90_000, Severity::Warning), (70_000, Severity::Invalid)] {
        trial.noise = vec![slept([sleep_ns, sleep_ns])];
        let reported: Vec<_> =
            late(&trial).into_iter().map(|(severity, quantile, _)| (severity, quantile)).collect();
        assert_eq!(reported, [(severity, "p50".to_owned())]);
    }
}

#[test]
fn at_the_maximum_rate_no_record_is_due() {
    let mut trial = TrialFixture::clean();
    trial.stages([3_050_000, 0, 500_000, 0, 50_000, 390_000, 10_000]);
    trial.writers().rate = closed_loop();
    assert_eq!(late(&trial), []);
}
