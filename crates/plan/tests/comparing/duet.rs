//! The same, with both sides of a pair at once.

use super::{Lab, comparing, pairs};
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{EvidenceUnit, PairDesign, Plan, Rate, RatePiece, Role, Strategy};
use kdyno_model::trial::{Trial, TrialId, TrialReason};
use kdyno_plan::{Next, bytes_to_write_of_case, estimate, load_ns_after, longest_ns, next, upcoming};
use std::collections::BTreeMap;

/// As [`comparing`], with both sides at once.
fn duet(looks: &[u32], pairs_per_start: u32) -> Plan {
    let mut plan = comparing(looks, pairs_per_start, EvidenceUnit::Start);
    let Strategy::Compare(settings) = &mut plan.strategy else { panic!("a comparison") };
    settings.design = PairDesign::Duet;
    plan
}

#[test]
fn the_two_of_a_duet_are_named_together_in_a_drawn_order() {
    let plan = duet(&[16], 2);
    let mut lab = Lab::new(&plan, &|_| 1.2);
    let mut first = BTreeMap::new();
    for start in 1..=16 {
        assert!(lab.step());
        assert!(newest_two(&lab).iter().all(|outcome| outcome.trial.is_conditioning()), "at once");
        for pair in [2 * start - 1, 2 * start] {
            let Next::Together(trials) = next(&plan, &lab.outcomes, 1) else { panic!("pair {pair}") };
            let [one, two] = &*trials;
            assert_eq!((one.start, two.start, one.seed), (start, start, two.seed));
            assert_eq!(two.id.0, one.id.0 + 1);
            assert_eq!([one, two].map(|trial| trial.pair.unwrap().place), [1, 2]);
            assert_eq!([one, two].map(|trial| trial.pair.unwrap().pair), [pair; 2]);
            assert!([one, two].iter().all(|trial| trial.reason == TrialReason::Duet));
            assert_ne!(one.variant, two.variant);
            assert_ne!(one.effective.system, two.effective.system);
            *first.entry(one.variant.clone().unwrap()).or_insert(0) += 1;
            assert!(lab.step());
        }
    }
    assert_eq!(first.len(), 2, "the order is drawn: {first:?}");
    assert!(!lab.step(), "the last look is reached");
    // The coin is that of sides that take turns.
    let turns = comparing(&[16], 2, EvidenceUnit::Start);
    let order = |trials: Vec<Trial>| trials.into_iter().map(|trial| trial.variant).collect::<Vec<_>>();
    let ran = lab.outcomes.into_iter().map(|outcome| outcome.trial).collect();
    assert_eq!(order(ran), order(Lab::new(&turns, &|_| 1.2).run()));
}

fn newest_two<'a>(lab: &'a Lab<'_>) -> &'a [TrialOutcome] {
    &lab.outcomes[lab.outcomes.len() - 2..]
}

#[test]
fn a_duet_is_conditioned_as_its_pairs_are_loaded() {
    let plan = duet(&[6], 2);
    let Next::Together(trials) = next(&plan, &[], 1) else { panic!("both sides at once") };
    assert_eq!(trials.each_ref().map(|trial| trial.id), [TrialId(1), TrialId(2)]);
    let Strategy::Compare(settings) = &plan.strategy else { panic!("a comparison") };
    for trial in trials.iter() {
        assert!(trial.is_conditioning() && trial.pair.is_none());
        let is_b = trial.variant.as_deref() == Some("B");
        let planned = if is_b { &settings.b[0] } else { &plan.cases[0] };
        assert_eq!((&trial.effective.load, &trial.effective.system), (&planned.load, &planned.system));
        assert_eq!(trial.effective.phases.warmup_ns, 20_000_000_000);
    }
    assert_ne!(trials[0].variant, trials[1].variant);
    // 1,000/s for 20 s at most: half of it is enough.
    let auto = trials.each_ref().map(|trial| trial.effective.phases.warmup_auto.unwrap().records_min);
    assert_eq!(auto, [10_000; 2]);
    // One after the other they get all that they take.
    let turns = comparing(&[6], 2, EvidenceUnit::Start);
    let Next::Trial(first) = next(&turns, &[], 1) else { panic!("one after the other") };
    assert!(first.is_conditioning() && first.effective.load != plan.cases[0].load);
}

#[test]
fn what_conditions_a_duet_goes_at_the_highest_rate_of_its_pairs() {
    let mut plan = duet(&[6], 1);
    let Role::Produce(writers) = &mut plan.cases[0].load.get_mut("writers").unwrap().role else { panic!() };
    let piece = |from_per_s, to_per_s| RatePiece { from_per_s, to_per_s, length_ns: 5_000_000_000 };
    let Rate::Open { pieces, .. } = &mut writers.rate else { panic!("a given rate") };
    *pieces = vec![piece(0.0, 0.0), piece(0.0, 800.0), piece(50.0, 50.0)];
    let trials = next(&plan, &[], 1).trials();
    let a = trials.iter().find(|trial| trial.variant.as_deref() == Some("A")).unwrap();
    let Role::Produce(writers) = &a.effective.load["writers"].role else { panic!() };
    let Rate::Open { pieces, .. } = &writers.rate else { panic!("a given rate") };
    assert_eq!(*pieces, [piece(800.0, 800.0)]);
    assert_eq!(a.effective.phases.warmup_auto.unwrap().records_min, 8_000);
}

#[test]
fn half_of_a_duet_is_never_completed_its_pair_is_lost() {
    let plan = duet(&[6], 2);
    let mut lab = Lab::new(&plan, &|_| 1.2);
    assert!(lab.step() && lab.step());
    // The second one of the first pair came to nothing.
    lab.outcomes.pop();
    let Next::Together(trials) = next(&plan, &lab.outcomes, 1) else { panic!("a pair") };
    assert_eq!(trials.each_ref().map(|trial| trial.pair.unwrap().pair), [2; 2]);
    // Another session takes the pair up under its number: the lab leaves halves out.
    lab.outcomes.truncate(2);
    lab.session = 2;
    assert!(lab.step());
    let Next::Together(trials) = next(&plan, &lab.outcomes, 2) else { panic!("a pair") };
    assert_eq!(trials.each_ref().map(|trial| (trial.pair.unwrap().pair, trial.start)), [(1, 2); 2]);
}

#[test]
fn one_of_a_duet_that_is_cut_short_loses_the_pair() {
    let plan = duet(&[6], 1);
    let mut lab = Lab::new(&plan, &|_| 1.2);
    // The second trial of the second start's pair.
    lab.cut = &|id| id == TrialId(8);
    let trials = lab.run();
    assert_eq!(pairs(&trials).len(), 7, "one lost, six whole");
    assert!(pairs(&trials).values().all(|trials| trials.len() == 2));
}

#[test]
fn a_duet_takes_the_time_of_one_trial() {
    let mut plan = duet(&[8], 1);
    let conditioning_s = 15.0 + 1.0;
    let load_s = |plan: &Plan| estimate(plan).load_ns as f64 / 1e9;
    assert!((load_s(&plan) - 8.0 * (conditioning_s + 15.0)).abs() < 1e-3, "{}", load_s(&plan));
    let foreseen: Vec<bool> = upcoming(&plan, 0).take(4).map(|trial| trial.is_concurrent).collect();
    assert_eq!(foreseen, [false, true, false, true]);
    assert_eq!(load_ns_after(&plan, 0) - load_ns_after(&plan, 4), estimate(&plan).load_ns / 8);
    // Both sides write, also what conditions them: 21 s and 15 s at 1,036 bytes a record.
    let turns = comparing(&[8], 1, EvidenceUnit::Start);
    let bytes = |plan: &Plan| estimate(plan).disk_bytes.unwrap();
    assert_eq!(bytes(&plan) - bytes(&turns), 2 * 8 * 21_000 * 1_036);
    let of_case = |plan: &Plan| bytes_to_write_of_case(plan, &plan.cases[0]).unwrap();
    assert_eq!((of_case(&plan), of_case(&turns)), (21_000 * 1_036, 15_000 * 1_036));
    let kept = |plan: &Plan| estimate(plan).kept_bytes.unwrap();
    assert_eq!(
        (kept(&plan), kept(&turns)),
        (2 * 21_000 * 1_036, 15_000 * 1_036),
        "of both at once, and of one"
    );
    let more_ns = estimate(&turns).expected_ns - estimate(&plan).expected_ns;
    assert!((more_ns as f64 / 1e9 - 8.0 * (19.0 + conditioning_s + 4.0)).abs() < 1e-3, "{more_ns}");

    // As in turns, but conditioning is 21 s and 4 s around it, and a pair 15 s and 4 s, once.
    let mut lab = Lab::new(&plan, &|_| 1.0);
    assert!(lab.step() && lab.step());
    let longest_ms =
        |at: usize| longest_ns(&plan, &lab.outcomes[..at], &lab.outcomes[at].trial, 1) / 1_000_000;
    assert_eq!([0, 2].map(longest_ms), [25_000 + 19_000 + 9_000, 19_000]);

    // Both pairs of a start are of use together alone.
    let of_two = duet(&[8], 2);
    let mut lab = Lab::new(&of_two, &|_| 1.0);
    assert!(lab.step() && lab.step() && lab.step());
    let longest_ms =
        |at: usize| longest_ns(&of_two, &lab.outcomes[..at], &lab.outcomes[at].trial, 1) / 1_000_000;
    assert_eq!([0, 2, 4].map(longest_ms), [25_000 + 2 * 19_000 + 9_000, 2 * 19_000, 19_000]);

    // The longer one counts, whichever is foreseen first.
    for is_b in [false, true] {
        let mut longer = duet(&[8], 1);
        let Strategy::Compare(settings) = &mut longer.strategy else { panic!("a comparison") };
        let case = if is_b { &mut settings.b[0] } else { &mut longer.cases[0] };
        case.phases.measure_ns += 7_000_000_000;
        assert!((load_s(&longer) - load_s(&plan) - 8.0 * 7.0).abs() < 1e-3, "{is_b}");
    }
    plan.strategy = Strategy::List(Vec::new());
    assert_eq!(load_ns_after(&plan, 0), 0);
}
