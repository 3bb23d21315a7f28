//! Searches whose way is known trial by trial: ends of the range, trials without figures, generators that give up.

use crate::simulate::{Curve, Noise, TRUTH, normal, search};
use kdyno_analysis::search::{PointSoFar, SearchSettings, SearchStep, TrialAnswer, found_so_far, next_step};
use kdyno_model::conclusion::{Inversion, SearchOutcome};
use kdyno_model::trial::SearchStage;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const SETTINGS: SearchSettings = SearchSettings {
    from_per_s: 20_000.0,
    to_per_s: 1_000_000.0,
    within: 0.02,
    confirm_trials: 3,
    trials_max: 22,
    step_per_s: None,
};

fn complete(excess: f64) -> TrialAnswer {
    TrialAnswer::Complete { passed: excess <= 0.0, excess }
}

/// Trials without noise.
fn exact(curve: Curve) -> impl Fn(SearchStage, f64) -> TrialAnswer {
    move |_, load| complete(curve.excess(load))
}

fn stages(points: &[PointSoFar], stage: SearchStage) -> Vec<f64> {
    points.iter().filter(|point| point.stage == stage).map(|point| point.load_per_s).collect()
}

#[test]
fn without_noise_the_load_is_2_percent_below_the_crossing() {
    let (points, found) = search(&SETTINGS, exact(Curve::Straight(6.0)));
    let crossing = found.line.as_ref().unwrap().crossing.exp();
    assert!((crossing / TRUTH - 1.0).abs() < 1e-3, "{crossing}");
    assert!((found.line.as_ref().unwrap().slope - 6.0).abs() < 0.01);
    let SearchOutcome::Confirmed { load_per_s } = found.outcome else { panic!("{:?}", found.outcome) };
    assert!((load_per_s / crossing - 0.98).abs() < 1e-3);
    assert_eq!(stages(&points, SearchStage::Confirm), [load_per_s; 3]);
    let ramp = stages(&points, SearchStage::Ramp);
    assert!(ramp[0] == 20_000.0 && (ramp[1] / 32_000.0 - 1.0).abs() < 1e-3, "{ramp:?}");
    let failing = found.first_failing_per_s.unwrap();
    assert!(failing > TRUTH && failing < 1.1 * TRUTH, "{failing}");
    assert!(found.inversions.is_empty());
}

#[test]
fn an_sla_that_no_load_meets_ends_after_two_whole_trials_agree() {
    let (points, found) = search(&SETTINGS, |_, _| complete(2.0));
    assert_eq!(found.outcome, SearchOutcome::EveryLoadFails { lowest_per_s: 20_000.0 });
    assert_eq!((found.line, found.first_failing_per_s), (None, Some(20_000.0)));
    assert!(points.iter().all(|point| point.load_per_s == 20_000.0), "{points:?}");
    assert_eq!(points.len(), 2);
}

#[test]
fn a_first_trial_that_was_disturbed_does_not_end_the_search() {
    let curve = exact(Curve::Straight(6.0));
    let mut first = true;
    let (_, found) =
        search(
            &SETTINGS,
            |stage, load| {
                if std::mem::take(&mut first) { complete(3.0) } else { curve(stage, load) }
            },
        );
    assert!(matches!(found.outcome, SearchOutcome::Confirmed { load_per_s } if load_per_s > 0.97 * TRUTH));
}

/// Latency hardly rises until the load is near what the cluster carries. The two trials that settle a first load say nothing
/// of where that is.
#[test]
fn whole_trials_on_a_flat_curve_do_not_attract_the_search() {
    let curve = |load: f64| (0.55 + 0.45 * (load / TRUTH).powi(3)).ln();
    let mut first = true;
    let (points, found) = search(&SETTINGS, |_, load| {
        complete(curve(load) + if std::mem::take(&mut first) { 1.0 } else { 0.0 })
    });
    let at_first = stages(&points, SearchStage::Bisect).into_iter().filter(|load| *load < 0.5 * TRUTH);
    assert_eq!(at_first.collect::<Vec<_>>(), [20_000.0; 2]);
    let crossing = found.line.as_ref().unwrap().crossing.exp();
    assert!((crossing / TRUTH - 1.0).abs() < 0.05, "{crossing}");
    assert!(matches!(found.outcome, SearchOutcome::Confirmed { load_per_s } if load_per_s > 0.9 * TRUTH));
}

#[test]
fn when_every_load_passes_the_end_of_the_range_is_confirmed() {
    let settings = SearchSettings { to_per_s: 60_000.0, ..SETTINGS };
    let (points, found) = search(&settings, |_, _| complete(-0.4));
    assert_eq!(found.outcome, SearchOutcome::EveryLoadPasses { highest_per_s: 60_000.0 });
    assert_eq!(stages(&points, SearchStage::Ramp), [20_000.0, 32_000.0, 51_200.0, 60_000.0]);
    assert_eq!(stages(&points, SearchStage::Bisect), [60_000.0; 2]);
    assert_eq!(stages(&points, SearchStage::Confirm), [60_000.0; 3]);
    assert_eq!((found.line, found.first_failing_per_s), (None, None));
}

#[test]
fn without_confirmation_the_highest_passed_load_is_unconfirmed() {
    let settings = SearchSettings { confirm_trials: 0, trials_max: 15, ..SETTINGS };
    let (points, found) = search(&settings, exact(Curve::Straight(6.0)));
    assert!(stages(&points, SearchStage::Confirm).is_empty());
    let SearchOutcome::NotConfirmed { highest_passed_per_s } = found.outcome else { panic!() };
    assert!(highest_passed_per_s > 0.95 * TRUTH && highest_passed_per_s <= TRUTH);
}

/// The trials that confirm see a curve of their own, so much lower.
fn confirmed_lower(settings: &SearchSettings, confirmed_at: f64) -> (Vec<f64>, SearchOutcome) {
    let curve = Curve::Straight(6.0);
    let (points, found) = search(settings, |stage, load| {
        let lower = if stage == SearchStage::Confirm { TRUTH / confirmed_at } else { 1.0 };
        complete(curve.excess(load * lower))
    });
    (stages(&points, SearchStage::Confirm), found.outcome)
}

#[test]
fn confirming_goes_down_until_a_load_holds_by_steps_that_grow() {
    let (loads, outcome) = confirmed_lower(&SETTINGS, 0.92 * TRUTH);
    let SearchOutcome::Confirmed { load_per_s } = outcome else { panic!("{outcome:?} {loads:?}") };
    assert!(load_per_s <= 0.92 * TRUTH && load_per_s > 0.8 * TRUTH, "{loads:?}");
    assert_eq!(loads[loads.len() - 3..], [load_per_s; 3]);
    let steps: Vec<f64> =
        loads.windows(2).map(|pair| 1.0 - pair[1] / pair[0]).filter(|step| *step > 0.0).collect();
    assert!(steps.len() == 2 && steps[0] >= 0.029 && steps[1] > 1.5 * steps[0], "{steps:?}");
}

#[test]
fn what_no_trials_are_left_to_confirm_is_not_begun() {
    // Far below what the search saw: three rounds are not enough.
    let (loads, outcome) = confirmed_lower(&SETTINGS, 0.3 * TRUTH);
    let SearchOutcome::NotConfirmed { highest_passed_per_s } = outcome else { panic!("{outcome:?}") };
    // Each load fails in its first trial; with two of nine left there is no third.
    assert_eq!(loads.len(), 7, "{loads:?}");
    // What held lies below each of them, though higher loads had passed.
    assert!(loads.iter().all(|load| highest_passed_per_s < *load), "{highest_passed_per_s} {loads:?}");
    // A quick look of two keeps six.
    let quick = SearchSettings { confirm_trials: 2, trials_max: 16, ..SETTINGS };
    assert_eq!(confirmed_lower(&quick, 0.3 * TRUTH).0.len(), 5);
}

#[test]
fn two_trials_of_the_ramp_count_as_one() {
    use SearchStage::{Bisect, Confirm, Ramp};
    let counted = |stages: &[SearchStage]| SearchSettings::counted(stages.iter().copied());
    assert_eq!(counted(&[]), 0);
    assert_eq!(counted(&[Ramp]), 1);
    assert_eq!(counted(&[Ramp, Bisect, Ramp, Confirm]), 3);
    assert_eq!(counted(&[Ramp, Ramp, Ramp, Bisect]), 3);
    // A long ramp leaves trials to decide, and those that confirm are kept.
    let settings =
        SearchSettings { from_per_s: TRUTH / 500.0, confirm_trials: 2, trials_max: 16, ..SETTINGS };
    let (points, found) = search(&settings, exact(Curve::Straight(6.0)));
    assert_eq!(stages(&points, Ramp).len(), 15);
    assert!(matches!(found.outcome, SearchOutcome::Confirmed { .. }), "{found:?}");
}

#[test]
fn what_the_generator_cannot_offer_is_no_failure_of_the_cluster() {
    let limit = 70_000.0;
    let (points, found) =
        search(&SETTINGS, |_, load| if load > limit { TrialAnswer::GeneratorLimit } else { complete(-0.4) });
    assert_eq!(found.outcome, SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(51_200.0) });
    // Once more, in case something else kept the generator up.
    assert_eq!(stages(&points, SearchStage::Ramp).iter().filter(|load| **load > limit).count(), 2);
    let (_, found) = search(&SETTINGS, |_, _| TrialAnswer::GeneratorLimit);
    assert_eq!(found.outcome, SearchOutcome::GeneratorLimit { highest_passed_per_s: None });
}

#[test]
fn a_generator_that_was_late_once_limits_nothing() {
    let curve = exact(Curve::Straight(6.0));
    let mut count = 0;
    let (_, found) = search(&SETTINGS, |stage, load| {
        count += 1;
        if count == 2 { TrialAnswer::GeneratorLimit } else { curve(stage, load) }
    });
    assert!(matches!(found.outcome, SearchOutcome::Confirmed { load_per_s } if load_per_s > 0.97 * TRUTH));
}

#[test]
fn below_the_generators_limit_the_search_goes_on() {
    let curve = exact(Curve::Straight(6.0));
    let (_, found) =
        search(
            &SETTINGS,
            |stage, load| {
                if load > 1.2 * TRUTH { TrialAnswer::GeneratorLimit } else { curve(stage, load) }
            },
        );
    // The highest load that was judged is 81,920/s: the crossing above it is out of reach.
    assert!(matches!(
        found.outcome,
        SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(load) } if (load / 81_920.0 - 1.0).abs() < 1e-3
    ));
}

#[test]
fn trials_without_figures_are_repeated_once() {
    let curve = exact(Curve::Straight(6.0));
    let mut count = 0;
    let (points, found) = search(&SETTINGS, |stage, load| {
        count += 1;
        if count == 3 || count == 9 { TrialAnswer::Nothing } else { curve(stage, load) }
    });
    assert!(matches!(found.outcome, SearchOutcome::Confirmed { .. }));
    assert_eq!((points[2].load_per_s, points[2].stage), (points[3].load_per_s, points[3].stage));
    let (points, found) = search(&SETTINGS, |_, _| TrialAnswer::Nothing);
    let none = SearchOutcome::NoFigures { load_per_s: 20_000.0, highest_passed_per_s: None };
    assert_eq!((found.outcome, points.len()), (none, 2));
    // What is known by then is reported.
    let mut count = 0;
    let (_, found) = search(&SETTINGS, |stage, load| {
        count += 1;
        if count > 6 { TrialAnswer::Nothing } else { curve(stage, load) }
    });
    let SearchOutcome::NoFigures { load_per_s, highest_passed_per_s: Some(held) } = found.outcome else {
        panic!("{:?}", found.outcome)
    };
    assert!((81_920.0..TRUTH).contains(&held) && load_per_s > held, "{found:?}");
    assert!(found.first_failing_per_s.is_some());
}

#[test]
fn trials_that_are_repeated_use_up_none_of_those_that_confirm() {
    let curve = exact(Curve::Straight(6.0));
    for first in 0..4 {
        for limit in [TrialAnswer::Nothing, TrialAnswer::GeneratorLimit] {
            // From then on every load that decides has a figure in its second trial only.
            let (mut whole, mut is_second) = (0, false);
            let (points, found) = search(&SETTINGS, |stage, load| {
                whole += usize::from(stage == SearchStage::Bisect);
                is_second = stage == SearchStage::Bisect && whole > first && !is_second;
                if is_second { limit } else { curve(stage, load) }
            });
            let others =
                points.iter().map(|point| point.stage).filter(|stage| *stage != SearchStage::Confirm);
            assert_eq!(SearchSettings::counted(others), SETTINGS.search_trials_max(), "{first}: {points:?}");
            assert!(matches!(found.outcome, SearchOutcome::Confirmed { .. }), "{first}: {found:?}");
        }
    }
}

#[test]
fn a_cut_off_search_is_unfinished_and_keeps_its_findings() {
    let (points, _) = search(&SETTINGS, exact(Curve::Straight(6.0)));
    let found = found_so_far(&SETTINGS, &points[..points.len() - 1]);
    assert_eq!(found.outcome, SearchOutcome::Unfinished);
    assert!(found.line.is_some() && found.first_failing_per_s.is_some());
}

#[test]
fn a_generator_at_its_limit_has_lower_loads_confirmed() {
    let curve = exact(Curve::Straight(6.0));
    let (_, found) = search(&SETTINGS, |stage, load| match stage {
        SearchStage::Confirm if load > 0.9 * TRUTH => TrialAnswer::GeneratorLimit,
        _ => curve(stage, load),
    });
    let SearchOutcome::Confirmed { load_per_s } = found.outcome else { panic!("{:?}", found.outcome) };
    assert!(load_per_s <= 0.9 * TRUTH, "{load_per_s}");
}

#[test]
fn out_of_trials_the_generators_limit_is_not_the_range_end() {
    // Five of the ramp and one whole trial: the rest is kept for confirming.
    let settings = SearchSettings { confirm_trials: 2, trials_max: 10, ..SETTINGS };
    let (points, found) =
        search(
            &settings,
            |_, load| if load > 70_000.0 { TrialAnswer::GeneratorLimit } else { complete(-0.4) },
        );
    assert_eq!(
        (stages(&points, SearchStage::Bisect).len(), stages(&points, SearchStage::Confirm).len()),
        (1, 2)
    );
    assert_eq!(found.outcome, SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(51_200.0) });
}

#[test]
fn trials_that_were_cut_short_fail_and_are_left_out_of_the_line() {
    let (_, found) = search(&SETTINGS, |_, load| {
        // The figure of an aborted trial would be far off; there is none.
        if load > 1.02 * TRUTH { TrialAnswer::Failed } else { complete(Curve::Straight(6.0).excess(load)) }
    });
    let crossing = found.line.unwrap().crossing.exp();
    assert!((crossing / TRUTH - 1.0).abs() < 0.005, "{crossing}");
}

#[test]
fn conditions_without_a_measure_of_failure_end_with_a_bracket() {
    let (_, found) = search(&SETTINGS, |_, load| TrialAnswer::Complete {
        passed: load <= TRUTH,
        excess: if load <= TRUTH { f64::NEG_INFINITY } else { f64::INFINITY },
    });
    assert_eq!(found.line, None);
    let SearchOutcome::Confirmed { load_per_s } = found.outcome else { panic!("{:?}", found.outcome) };
    assert!(load_per_s > 0.97 * TRUTH && load_per_s <= TRUTH, "{load_per_s}");
    assert!(found.first_failing_per_s.unwrap() < 1.03 * TRUTH);
}

#[test]
fn a_curve_that_comes_down_again_is_flagged() {
    // 20, 32 and 51.2 thousand; the last lies on the bump, and 81.9 thousand passes.
    let (points, found) = search(&SETTINGS, exact(Curve::Bump(6.0)));
    let ramp = stages(&points, SearchStage::Ramp);
    assert!(ramp.len() == 4, "{ramp:?}");
    let seen = Inversion { passed_per_s: ramp[3], failed_per_s: ramp[2] };
    assert!(found.inversions.contains(&seen), "{:?}", found.inversions);
    // What is confirmed lies below the load that two trials saw fail.
    let SearchOutcome::Confirmed { load_per_s } = found.outcome else { panic!("{:?}", found.outcome) };
    assert!(load_per_s < ramp[2], "{load_per_s}");
}

#[test]
fn an_empty_range_and_numbers_that_are_no_loads_are_refused() {
    let refused = |settings: &SearchSettings| settings.check().unwrap_err();
    let above = SearchSettings { from_per_s: 2e6, ..SETTINGS };
    assert_eq!(refused(&above), "the search would begin at 2000000/s, above its end at 1000000/s");
    let zero = SearchSettings { from_per_s: 0.0, ..SETTINGS };
    assert_eq!(refused(&zero), "`from` is 0; a load is above zero");
    let endless = SearchSettings { to_per_s: f64::INFINITY, ..SETTINGS };
    assert_eq!(refused(&endless), "`to` is inf; a load is above zero");
    let coarse = SearchSettings { from_per_s: 10.0, to_per_s: 12.0, step_per_s: Some(7.0), ..SETTINGS };
    assert_eq!(refused(&coarse), "no whole multiple of 7/s lies between 10/s and 12/s");
    let no_step = SearchSettings { step_per_s: Some(0.0), ..SETTINGS };
    assert_eq!(refused(&no_step), "`step` is 0; a load is above zero");
    let narrow = refused(&SearchSettings { within: 0.0, ..SETTINGS });
    assert_eq!(narrow, "`within` is 0; it lies between 0.001 (0.1 %) and 0.5 (50 %)");
    let few = SearchSettings { trials_max: 12, ..SETTINGS };
    assert_eq!(refused(&few), "12 trials are too few for a search; it takes at least 13");
    for wrong in [above, zero, endless, few, coarse, no_step] {
        let SearchStep::Done(found) = next_step(&wrong, &[]) else { panic!("{wrong:?}") };
        assert_eq!(found.outcome, SearchOutcome::Unfinished);
    }
}

#[test]
fn whole_clients_are_added() {
    let settings = SearchSettings { from_per_s: 5_000.0, step_per_s: Some(5_000.0), ..SETTINGS };
    let (points, found) = search(&settings, exact(Curve::Straight(6.0)));
    assert!(points.iter().all(|point| point.load_per_s % 5_000.0 == 0.0), "{points:?}");
    let ramp = stages(&points, SearchStage::Ramp);
    assert!(ramp.is_sorted() && ramp[..3] == [5_000.0, 10_000.0, 15_000.0], "{ramp:?}");
    let SearchOutcome::Confirmed { load_per_s } = found.outcome else { panic!("{:?}", found.outcome) };
    assert!((90_000.0..=100_000.0).contains(&load_per_s), "{load_per_s}");
}

#[test]
fn confirming_by_whole_clients_does_not_repeat_a_failed_load() {
    // The crossing lies at 100,000/s, between seven clients and eight, and nearer to eight.
    let settings = SearchSettings { from_per_s: 13_000.0, step_per_s: Some(13_000.0), ..SETTINGS };
    let (points, found) = search(&settings, exact(Curve::Straight(6.0)));
    assert_eq!(found.outcome, SearchOutcome::Confirmed { load_per_s: 91_000.0 });
    let confirming = stages(&points, SearchStage::Confirm);
    assert!(confirming.iter().all(|load| *load < 100_000.0), "{confirming:?}");
}

/// Whatever trials say, a search stays in its range and within its number of trials, and the same trials lead to the
/// same next one.
#[test]
fn no_readings_lead_a_search_astray() {
    let mut random = Pcg64::seed_from_u64(20_261_122);
    for _ in 0..300 {
        let settings = SearchSettings {
            confirm_trials: random.random_range(0..4),
            step_per_s: random.random::<bool>().then_some(7_000.0),
            ..SETTINGS
        };
        let curve = Curve::Queue(random.random_range(0.5..15.0));
        let (points, found) = search(&settings, |stage, load| match random.random_range(0..20) {
            0 => TrialAnswer::Nothing,
            1 => TrialAnswer::GeneratorLimit,
            2 => TrialAnswer::Failed,
            3 => complete([f64::INFINITY, f64::NEG_INFINITY][random.random_range(0..2)]),
            4 => complete(3.0 * normal(&mut random)),
            _ => Noise { sd: 0.3, disturbed: 0.2 }.reading(curve, stage, load, &mut random),
        });
        let range = settings.from_per_s..=settings.to_per_s;
        assert!(points.iter().all(|point| range.contains(&point.load_per_s)), "{points:?}");
        assert!(found.line.is_none_or(|line| line.crossing.is_finite() && line.slope > 0.0));
    }
}
