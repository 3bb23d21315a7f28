//! Verdicts of comparisons.

use crate::fixture::{
    CPU, P99, RATE, RunFixture, address, comparing, cut_short, invalid, late, queued, settings,
};
use kdyno_analysis::comparison::progress;
use kdyno_analysis::run::{AnalysedTrial, judge};
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{MetricRole, Says};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Interval, IntervalMethod, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::plan::{Better, Conditioning, Depth, EvidenceUnit, OnClusters};
use kdyno_model::run::Session;
use std::collections::{BTreeMap, BTreeSet};

/// Eight ratios around a centre, alike but for 1 ‰.
fn around(centre: f64) -> Vec<f64> {
    (0..8).map(|at| centre * (1.0 + 0.001 * f64::from(at - 4))).collect()
}

fn says(ratios: &[f64], better: Better) -> Says {
    let mut plan = comparing(&[P99], &[8], &[]);
    settings(&mut plan).judge[0].better = better;
    let mut run = RunFixture::default();
    run.pairs(P99, ratios);
    let mut verdicts = run.verdicts(&plan);
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0).says
}

#[test]
fn the_ratio_and_what_is_better_make_the_verdict() {
    let different = |material, worse| Says::Different { material, worse };
    assert_eq!(says(&around(1.2), Better::Lower), different(true, true));
    assert_eq!(says(&around(1.2), Better::Higher), different(true, false));
    assert_eq!(says(&around(0.8), Better::Lower), different(true, false));
    assert_eq!(says(&around(0.8), Better::Higher), different(true, true));
    assert_eq!(says(&around(1.05), Better::Lower), different(false, true));
    assert_eq!(says(&around(1.0), Better::Lower), Says::Equivalent);
    // The interval holds the margin's end.
    for (better, is_worse) in [(Better::Lower, true), (Better::Higher, false)] {
        match says(&around(1.1), better) {
            Says::MaybeMaterial { worse, more_needed: Some(9..) } => assert_eq!(worse, is_worse),
            other => panic!("{other:?}"),
        }
    }
    let noisy = [0.7, 1.4, 0.8, 1.3, 0.9, 1.5, 0.6, 1.2];
    assert!(matches!(says(&noisy, Better::Lower), Says::Inconclusive { more_needed: Some(9..) }));
}

#[test]
fn a_verdict_holds_the_numbers_that_it_rests_on() {
    let plan = comparing(&[P99], &[8, 16, 24], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.2));
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!((verdict.scope, verdict.n), (Scope::Comparison { case: 0 }, 8));
    assert_eq!((verdict.unit_of_evidence, verdict.role), (EvidenceUnit::Start, MetricRole::Judged));
    assert_eq!(verdict.a, Value::Is(450.0), "the median of 100, 200 … 800");
    let ratio = verdict.ratio.unwrap();
    assert!((ratio.estimate - 1.2).abs() < 0.001, "{ratio:?}");
    let Interval::Bounds { low, high, level, method } = ratio.interval else { panic!("{ratio:?}") };
    // The first look spends 1 %: of eight the smallest and the largest.
    assert_eq!((level, method), (1.0 - 2.0 / 256.0, IntervalMethod::SignedRank));
    assert!((low - 1.2 * 0.996).abs() < 1e-9 && (high - 1.2 * 1.003).abs() < 1e-9, "{low} {high}");
    assert_eq!(verdict.p, Some((2.0 / 256.0, 2.0 / 256.0)));
    let found = run.judged(&plan).findings;
    let finding = found.iter().find(|finding| finding.quantity == Quantity::RatioBToA).unwrap();
    assert_eq!((finding.estimate, finding.interval), (Value::Is(ratio.estimate), ratio.interval));
    let Some((Value::Is(least), Value::Is(most))) = finding.range else { panic!("{finding:?}") };
    assert!((least - low).abs() < 1e-12 && (most - high).abs() < 1e-12);
    // The case itself is side A.
    let case = found.iter().find(|finding| finding.scope == Scope::Case(0)).unwrap();
    assert_eq!((case.estimate, case.n), (Value::Is(450.0), 8));
}

#[test]
fn fewer_than_six_units_are_no_verdict() {
    let plan = comparing(&[P99], &[5], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &[1.2; 5]);
    let Says::Invalid { reason } = run.verdicts(&plan).remove(0).says else { panic!() };
    assert_eq!(reason, "5 starts can be used, a verdict needs 6 at least");
    let six = comparing(&[P99], &[6], &[]);
    run.pair(6, 6, [&[(P99, Value::Is(1.0))], &[(P99, Value::Is(1.2))]]);
    assert_eq!(run.verdicts(&six).remove(0).says, Says::Different { material: true, worse: true });
}

#[test]
fn a_pair_is_lost_with_one_of_its_trials() {
    let plan = comparing(&[P99], &[8], &[CPU]);
    let mut run = RunFixture::default();
    run.pairs(P99, &[around(1.2), vec![50.0; 4]].concat());
    cut_short(&mut run.outcomes[16]);
    invalid(&mut run.outcomes[19], Concern::Latencies { item: "writers".into() });
    run.outcomes[21].session = 2;
    // The last one has its first trial only.
    run.outcomes.pop();
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!((verdict.n, &verdict.says), (8, &Says::Different { material: true, worse: true }));
    let Value::Is(b) = verdict.b else { panic!("{verdict:?}") };
    assert!(b < 1000.0, "figures of lost pairs are left out: {b}");
    let caveats = run.judged(&plan).caveats;
    let first = "pair 9: trial 17 was cut short: a broker died".to_owned();
    let expected = Caveat::PairsLost { pairs: 3, first, likewise: 0, ended_after: None };
    assert_eq!(caveats.iter().map(|caveat| &caveat.caveat).collect::<Vec<_>>(), [&expected]);
    // An invalid latency of another item, or a caveat that speaks of higher quantiles, loses nothing.
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.2));
    invalid(&mut run.outcomes[0], Concern::Latencies { item: "readers".into() });
    let concerns =
        |quantile: &str| Concern::LatenciesFrom { item: "writers".into(), quantile: quantile.into() };
    invalid(&mut run.outcomes[2], concerns("p99.9"));
    assert_eq!(run.verdicts(&plan).remove(0).n, 8);
    invalid(&mut run.outcomes[2], concerns("p90"));
    assert_eq!(run.verdicts(&plan).remove(0).n, 7);
    invalid(&mut run.outcomes[5], concerns("p99"));
    assert_eq!(run.verdicts(&plan).remove(0).n, 6);
}

#[test]
fn a_side_that_does_not_sustain_the_load_does_not_win() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.0));
    let of_b = run.outcomes.iter_mut().find(|of| of.trial.variant.as_deref() == Some("B")).expect("a side B");
    let id = of_b.trial.id;
    queued(of_b);
    let says = run.verdicts(&plan).remove(0).says;
    let reason = format!("B did not keep up with the load in trial {id}, so {P99} is the time in a queue");
    assert_eq!(says, Says::Invalid { reason });
    // Nor by what an overload brings with it: a host that has no processor left for the load generator either.
    let of_b = run.outcomes.iter_mut().find(|of| of.trial.id == id).expect("the trial");
    late(of_b);
    assert_eq!(run.verdicts(&plan).remove(0).says, says);
    // A trial that is no evidence at all loses its pair, as any other.
    let of_b = run.outcomes.iter_mut().find(|of| of.trial.id == id).expect("the trial");
    invalid(of_b, Concern::Latencies { item: "writers".into() });
    assert_eq!(run.verdicts(&plan).remove(0).n, 7);
}

#[test]
fn a_pair_that_lost_a_broker_or_met_cold_ones_does_not_count() {
    let mut plan = comparing(&[P99], &[8], &[]);
    plan.conditioning = Some(Conditioning { least_ns: 1, most_ns: 2 });
    let with = |caveat: Caveat| {
        let mut run = RunFixture::default();
        run.pairs(P99, &around(1.2));
        let scope = Scope::Trial(run.outcomes[3].trial.id);
        let concerns = Concern::Everything;
        run.outcomes[3].caveats.push(ScopedCaveat { scope, severity: Severity::Warning, concerns, caveat });
        run.verdicts(&plan).remove(0).n
    };
    assert_eq!(with(Caveat::ProcessDied { subject: Subject::Broker(1) }), 7);
    assert_eq!(with(Caveat::ProcessDied { subject: Subject::Controller(1) }), 8);
    assert_eq!(with(Caveat::Unconditioned), 7);
    assert_eq!(with(Caveat::NotAtOnce { share: 0.9 }), 7);
    assert_eq!(with(Caveat::MemoryStorage), 8);
}

#[test]
fn without_conditioning_cold_pairs_count_and_that_is_reported() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.2));
    for outcome in &mut run.outcomes[2..] {
        let (scope, concerns) = (Scope::Trial(outcome.trial.id), Concern::Everything);
        let (severity, caveat) = (Severity::Warning, Caveat::Unconditioned);
        outcome.caveats.push(ScopedCaveat { scope, severity, concerns, caveat });
    }
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!((verdict.n, verdict.says), (8, Says::Different { material: true, worse: true }));
    let caveats = run.judged(&plan).caveats;
    let [reported] = caveats.as_slice() else { panic!("{caveats:?}") };
    assert_eq!((reported.severity, reported.scope), (Severity::Warning, Scope::Comparison { case: 0 }));
    assert_eq!(reported.caveat, Caveat::PairsUnconditioned { pairs: 7 });
}

#[test]
fn so_many_lost_pairs_end_a_comparison_with_what_it_has() {
    let plan = comparing(&[P99], &[8], &[]);
    for lost in [3, 5] {
        let mut run = RunFixture::default();
        run.pairs(P99, &[1.2; 10]);
        for pair in 0..lost {
            cut_short(&mut run.outcomes[2 * pair]);
        }
        let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
        let mut of_plan = plan.clone();
        let progress = progress(&plan, settings(&mut of_plan), 0, &trials);
        assert!(progress.is_exhausted && progress.units == 10 - lost as u32, "{progress:?}");
        let caveat = run.judged(&plan).caveats.remove(0).caveat;
        let Caveat::PairsLost { pairs, likewise, ended_after, .. } = caveat else { panic!("{caveat:?}") };
        assert_eq!((pairs, likewise, ended_after), (lost as u32, lost as u32 - 1, Some(10)));
        match run.verdicts(&plan).remove(0).says {
            Says::Different { material: true, worse: true } => assert_eq!(lost, 3, "seven are enough"),
            Says::Invalid { reason } => {
                assert_eq!(lost, 5);
                assert!(
                    reason.starts_with(
                        "5 starts can be used, a verdict needs 6 at least; 5 were lost, the first:"
                    ),
                    "{reason}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pairs_of_one_start_are_one_unit() {
    let mut plan = comparing(&[P99], &[6], &[]);
    settings(&mut plan).pairs_per_start = 2;
    let mut run = RunFixture::default();
    for pair in 1..=12 {
        // Within a start the ratios are 1 and 1.44: their logarithms' mean is that of 1.2.
        let ratio = if pair % 2 == 0 { 1.0 } else { 1.44 };
        run.pair(pair, pair.div_ceil(2), [&[(P99, Value::Is(5.0))], &[(P99, Value::Is(5.0 * ratio))]]);
    }
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!((verdict.n, verdict.says), (6, Says::Different { material: true, worse: true }));
    assert!((verdict.ratio.unwrap().estimate - 1.2).abs() < 1e-9);
    // The last start is not whole without its second pair.
    run.outcomes.truncate(22);
    assert_eq!(run.verdicts(&plan).remove(0).n, 5);
    // One that was left behind does not count: the mean of fewer pairs is another kind of unit.
    for outcome in &mut run.outcomes[20..] {
        outcome.trial.start = 7;
        outcome.trial.pair.as_mut().unwrap().pair = 13;
    }
    run.outcomes.drain(18..20);
    assert_eq!(run.verdicts(&plan).remove(0).n, 4, "nor does the seventh yet");
    let first = "start 5 ended before all of its pairs had run".to_owned();
    let lost = Caveat::PairsLost { pairs: 1, first, likewise: 0, ended_after: None };
    assert_eq!(run.judged(&plan).caveats[0].caveat, lost);
    // Nor does a start with one lost pair, though the other one is whole.
    cut_short(&mut run.outcomes[0]);
    assert_eq!(run.verdicts(&plan).remove(0).n, 3);
    let Caveat::PairsLost { pairs, first, .. } = &run.judged(&plan).caveats[0].caveat else {
        panic!("pairs were lost")
    };
    assert_eq!(*pairs, 3, "start 5, the pair, and its start");
    assert!(first.starts_with("pair 1: trial"), "{first}");
    run.outcomes[0].caveats.clear();
    // Pairs as units speak of these starts, and say so.
    settings(&mut plan).unit = EvidenceUnit::Pair;
    assert_eq!(run.verdicts(&plan).remove(0).n, 10);
    let starts = run.judged(&plan).caveats;
    assert!(starts.iter().any(|caveat| caveat.caveat == Caveat::TheseStartsOnly { starts: 6 }), "{starts:?}");
}

#[test]
fn pairs_of_one_cluster_are_one_unit_whenever_they_ran() {
    let mut plan = comparing(&[P99], &[6], &[]);
    let on = OnClusters { a: plan.cases.clone(), b: settings(&mut plan).b.clone() };
    let settings = settings(&mut plan);
    (settings.unit, settings.pairs_per_start, settings.further) = (EvidenceUnit::Cluster, 2, vec![on; 5]);
    let mut run = RunFixture::default();
    for pair in 1..=12 {
        // Once around at a ratio of 1, then at 1.44: of each cluster the logarithms' mean is that of 1.2.
        let ratio = if pair <= 6 { 1.0 } else { 1.44 };
        run.pair(pair, 1, [&[(P99, Value::Is(5.0))], &[(P99, Value::Is(5.0 * ratio))]]);
        let units = run.verdicts(&plan).first().map_or(0, |verdict| verdict.n);
        assert_eq!(units, pair.saturating_sub(6), "after {pair} pairs");
    }
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!(verdict.unit_of_evidence, EvidenceUnit::Cluster);
    assert_eq!(verdict.says, Says::Different { material: true, worse: true });
    assert!((verdict.ratio.unwrap().estimate - 1.2).abs() < 1e-9);
    assert_eq!(run.judged(&plan).caveats, [], "all on one start, which is none of theirs");
}

#[test]
fn a_cluster_with_a_lost_pair_counts_if_replaced_or_last() {
    let mut plan = comparing(&[P99], &[6], &[]);
    let on = OnClusters { a: plan.cases.clone(), b: settings(&mut plan).b.clone() };
    let of_plan = settings(&mut plan);
    (of_plan.unit, of_plan.pairs_per_start, of_plan.further) = (EvidenceUnit::Cluster, 2, vec![on; 5]);
    let of_plan = of_plan.clone();
    let mut run = RunFixture::default();
    let ran = |run: &RunFixture| {
        let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
        let now = progress(&plan, &of_plan, 0, &trials);
        (now.units, now.is_exhausted, now.next_pair)
    };
    let pair = |run: &mut RunFixture, pair: u32| run.pair(pair, 1, [&[(P99, Value::Is(5.0))]; 2]);
    (1..=12).for_each(|number| pair(&mut run, number));
    assert_eq!(ran(&run).0, 6);
    // Pair 9 is the third cluster's second one.
    cut_short(&mut run.outcomes[16]);
    assert_eq!(ran(&run), (5, false, 15));
    let lost_once = run.outcomes.clone();
    pair(&mut run, 15);
    assert_eq!(ran(&run), (6, true, 16), "replaced");
    run.outcomes = lost_once;
    for number in [15, 21, 27] {
        pair(&mut run, number);
        let last = run.outcomes.len() - 1;
        cut_short(&mut run.outcomes[last]);
    }
    let (units, is_exhausted, _) = ran(&run);
    assert_eq!(
        (units, is_exhausted),
        (6, true),
        "a quarter of twelve was replaced, so one counts with one pair"
    );
}

#[test]
fn pairs_that_each_have_a_start_speak_of_more_than_these() {
    let mut plan = comparing(&[P99], &[8], &[]);
    settings(&mut plan).unit = EvidenceUnit::Pair;
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.2));
    assert_eq!(run.judged(&plan).caveats, []);
    for outcome in &mut run.outcomes[14..] {
        outcome.trial.start = 7;
    }
    assert_eq!(run.judged(&plan).caveats[0].caveat, Caveat::TheseStartsOnly { starts: 7 });
}

#[test]
fn marks_of_either_side_are_next_to_the_ratio() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.2));
    run.outcomes[4].findings[0].marks.insert(Mark::Drifting);
    run.outcomes[9].findings[0].marks.insert(Mark::FewRecords);
    let found = run.judged(&plan).findings;
    let ratio = found.iter().find(|finding| finding.quantity == Quantity::RatioBToA).unwrap();
    assert_eq!(ratio.marks.iter().copied().collect::<Vec<_>>(), [Mark::Drifting, Mark::FewRecords]);
    // Each side has its own: pair 3 began with A, pair 5 ended with B.
    let of_sides = [Mark::Drifting, Mark::FewRecords].map(|mark| BTreeSet::from([mark]));
    assert_eq!(run.verdicts(&plan).remove(0).marks, of_sides);
}

#[test]
fn quantiles_that_are_not_judged_have_a_ratio_and_no_verdict() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    for (pair, ratio) in (1..).zip(around(1.2)) {
        let figures = |times: f64| {
            [P99, "writers.response.p50", "writers.service.p50"].map(|name| (name, Value::Is(100.0 * times)))
        };
        run.pair(pair, pair, [&figures(1.0), &figures(ratio)]);
    }
    let judged = run.judged(&plan);
    let ratios = judged.findings.iter().filter(|finding| finding.quantity == Quantity::RatioBToA);
    let ratios: Vec<(String, Interval)> = ratios.map(|one| (one.of.to_string(), one.interval)).collect();
    let [(judged_first, of_p99), (other, of_p50)] = &ratios[..] else { panic!("{ratios:?}") };
    assert_eq!((judged_first.as_str(), other.as_str()), (P99, "writers.response.p50"));
    assert_eq!(of_p99, of_p50, "the same ratios have the same interval");
    assert_eq!(run.verdicts(&plan).len(), 1);
}

#[test]
fn cpu_time_comes_first_and_unnamed_metrics_are_exploratory() {
    let plan = comparing(&[P99], &[8], &[RATE, CPU, "writers.failed"]);
    let mut run = RunFixture::default();
    for (pair, ratio) in (1..).zip(around(1.2)) {
        let side = |ratio: f64| {
            let value = |name, number: f64| (name, Value::Is(number));
            [
                value(P99, 5.0 * ratio),
                value(RATE, 1000.0 / ratio),
                value(CPU, 8.0),
                value("writers.failed", 0.0),
            ]
        };
        run.pair(pair, pair, [&side(1.0), &side(ratio)]);
    }
    let verdicts = run.verdicts(&plan);
    let reported: Vec<_> = verdicts.iter().map(|verdict| (verdict.of.clone(), verdict.role)).collect();
    use MetricRole::{Exploratory, Judged};
    assert_eq!(reported, [(address(CPU), Exploratory), (address(P99), Judged), (address(RATE), Exploratory)]);
    assert_eq!(verdicts[0].says, Says::Equivalent);
    assert_eq!(
        (verdicts[2].better, &verdicts[2].says),
        (Better::Higher, &Says::Different { material: true, worse: true })
    );
    // Two exploratory metrics: Benjamini and Hochberg double the smaller p.
    assert_eq!(verdicts[2].p, Some((2.0 / 256.0, 4.0 / 256.0)));
}

#[test]
fn several_judged_metrics_share_the_error() {
    let plan = comparing(&[P99, RATE], &[6], &[]);
    let mut run = RunFixture::default();
    for (pair, rate) in (1..).zip([1.01, 0.99, 1.02, 0.98, 1.03, 0.97]) {
        let side = |p99, rate| [(P99, Value::Is(p99)), (RATE, Value::Is(rate))];
        run.pair(pair, pair, [&side(1.0, 1.0), &side(1.2 + 0.01 * f64::from(pair), rate)]);
    }
    let verdicts = run.verdicts(&plan);
    // Alone 2 of 64 flips are as extreme; with the rate's signs 4 are, which is more than 5 %.
    assert_eq!(verdicts[0].p, Some((2.0 / 64.0, 4.0 / 64.0)));
    let alone = Says::DifferentAlone { worse: true, together: 2, more_needed: Some(1) };
    assert_eq!(verdicts[0].says, alone, "its own interval excludes 1");
    assert!(matches!(verdicts[1].says, Says::Equivalent));
}

#[test]
fn a_figure_without_a_ratio_is_no_verdict() {
    let reason = |value: Value| {
        let plan = comparing(&[P99], &[8], &[]);
        let mut run = RunFixture::default();
        run.pairs(P99, &around(1.2));
        run.outcomes[3].findings[0].estimate = value;
        match run.verdicts(&plan).remove(0).says {
            Says::Invalid { reason } => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason(Value::Is(0.0)), format!("{P99} of trial 4 is 0: there is no ratio"));
    assert_eq!(
        reason(Value::AtLeast(9.0)),
        format!("{P99} of trial 4 lies among records that were not acknowledged")
    );
    assert_eq!(reason(Value::None), format!("{P99} of trial 4 has no value"));
}

#[test]
fn pairs_of_several_hosts_or_boots_are_kept_apart() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    run.pairs(P99, &around(1.2));
    for outcome in &mut run.outcomes[10..] {
        outcome.session = 2;
    }
    let session = |number, boot: &str, processors| Session {
        number,
        started_unix_ns: 0,
        kdyno_version: String::new(),
        git_head: None,
        command_line: Vec::new(),
        boot_id: boot.to_owned(),
        processors,
        host_facts: BTreeMap::from([("cpu_model".to_owned(), "Xeon".to_owned())]),
    };
    let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
    let reported = |sessions: &[Session]| {
        let found = judge(&plan, &trials, &[], sessions, false).caveats;
        assert!(found.iter().all(|one| one.scope == Scope::Comparison { case: 0 }), "{found:?}");
        let detail = |one: ScopedCaveat| match one.caveat {
            Caveat::EvidenceOfRuns { detail } if one.severity == Severity::Warning => detail,
            other => panic!("{other:?}"),
        };
        found.into_iter().map(detail).collect::<Vec<_>>()
    };
    assert!(reported(&[session(1, "a", 2), session(2, "a", 2)]).is_empty());
    // A third one ended before it had a pair.
    let boots = reported(&[session(1, "a", 2), session(2, "b", 2), session(3, "c", 64)]);
    assert!(boots[0].ends_with("its place: 2 boots"), "{boots:?}");
    let hosts = reported(&[session(1, "a", 2), session(2, "b", 64)]);
    let each = "5 on cpu_model Xeon · 2 CPUs, 3 on cpu_model Xeon · 64 CPUs";
    assert_eq!(
        hosts,
        [format!("the pairs ran on 2 different hosts ({each}): the ratio is a mean over them")]
    );
}

#[test]
fn a_quick_look_says_what_these_pairs_showed() {
    let mut plan = comparing(&[P99], &[8], &[]);
    plan.depth = Depth::Quick;
    // One cluster of both sides: what its start has of its own is in both.
    let system = plan.cases[0].system.clone();
    settings(&mut plan).b[0].system = system;
    settings(&mut plan).unit = EvidenceUnit::Pair;
    let mut run = RunFixture::default();
    run.pairs(P99, &[1.2]);
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!(verdict.ratio.unwrap().interval, Interval::NotResolvable(NotResolvable::OneTrial));
    assert_eq!((verdict.depth, verdict.says), (Depth::Quick, Says::Inconclusive { more_needed: None }));
    run.outcomes.clear();
    run.pairs(P99, &[1.2, 1.21, 1.22]);
    let verdict = run.verdicts(&plan).remove(0);
    let Interval::Bounds { method, .. } = verdict.ratio.unwrap().interval else { panic!("{verdict:?}") };
    assert_eq!(method, IntervalMethod::StudentT);
    assert_eq!(verdict.says, Says::Different { material: true, worse: true });
    run.outcomes.clear();
    run.pairs(P99, &[1.2, 1.21, 1.22, 1.19, 1.18, 1.17]);
    let verdict = run.verdicts(&plan).remove(0);
    let Interval::Bounds { method, .. } = verdict.ratio.unwrap().interval else { panic!("{verdict:?}") };
    assert_eq!(method, IntervalMethod::SignedRank);
}
