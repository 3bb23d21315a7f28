//! What is printed of a search before it starts: how long it takes, what it writes, how far it goes.

use crate::*;

#[test]
fn how_long_it_takes_is_known_about_before() {
    let verdict = searched(find(Depth::Verdict));
    // 10, 16, 25.6, 41, 65.5 and 105 thousand: the middle of the range is 70.7 thousand.
    let ramp = 6 * 14;
    assert_eq!(estimate(&verdict).load_ns, (ramp + 9 * 67 + 3 * 110) * S);
    assert_eq!(upcoming(&verdict, 0).count(), 18);
    assert_eq!(upcoming(&verdict, 17).count(), 1);
    // At most: two of the ramp as one, thirteen that decide, three rounds that confirm, and a broker of one process.
    let longest_s = 2 * 14 + 13 * 67 + 9 * 110 + 24 * 4;
    assert_eq!(estimate(&verdict).longest_ns, longest_s * S + S * 9 / 2);
    let quick = estimate(&searched(find(Depth::Quick)));
    assert!(quick.expected_ns < quick.longest_ns && quick.longest_ns < 10 * 60 * S);
    // A ramp of long trials may never end.
    let mut long = find(Depth::Verdict);
    (long.ramp_ns, long.confirm_trials, long.trials_max) = (long.trial_ns, 0, 8);
    assert_eq!(estimate(&searched(long)).longest_ns, (16 * 71 + 4) * S + S / 2);
}

#[test]
fn no_search_takes_longer_or_writes_more_than_announced() {
    for depth in [Depth::Verdict, Depth::Quick] {
        let plan = searched(find(depth));
        let reported = estimate(&plan);
        // A curve that is passed now and failed then: no number of trials suffices.
        for seed in 0..30 {
            let outcomes = run(&plan, |trial| {
                let mixed = kdyno_model::seed::mix(seed, u64::from(trial.id.0));
                let excess = (mixed % 1000) as f64 / 500.0 - 1.0;
                let (_, load) = searched_load(&trial).unwrap();
                outcome(trial, Value::Is(2e7 * (load / TRUTH).powi(2) * excess.exp()))
            });
            let length_ns = |outcome: &TrialOutcome| {
                let phases = outcome.trial.effective.phases;
                phases.warmup_ns + phases.measure_ns + 4 * S
            };
            let taken_ns: u64 = outcomes.iter().map(length_ns).sum();
            assert!(taken_ns + 9 * S / 2 <= reported.longest_ns, "{depth:?} {seed}: {taken_ns}");
            let bytes = |outcome: &TrialOutcome| bytes_to_write_of_trial(&outcome.trial.effective).unwrap();
            assert!(outcomes.iter().map(bytes).sum::<u64>() <= reported.disk_bytes.unwrap());
        }
    }
}

#[test]
fn a_plan_is_described_by_its_first_trial() {
    let text = format!("{SCENARIO}find: {{highest: writers.rate, while: [writers.response.p99 <= 20ms]}}\n");
    let scenario = Scenario::parse(&text, "s.yaml").unwrap();
    let plan = plan(&scenario, &Choices::default()).unwrap();
    let phases = plan.cases[0].phases;
    assert_eq!((phases.warmup_ns, phases.warmup_auto, phases.measure_ns), (17 * S, None, 50 * S));
}

#[test]
fn a_targets_caps_hold_for_the_end_of_the_range() {
    let text = "kdyno: 1\ntarget: lab\ncluster_id: abc\nclient: {bootstrap: [\"h:9092\"]}\n\
                guard: {prefix: kdyno-, caps: {produce: 100MiB/s}, allow: [find], abort_if: [offline_brokers > 0]}\n";
    let target = TargetFile::parse(text, "t.yaml").unwrap().resolve(None).unwrap();
    let mut plan = searched(find(Depth::Verdict));
    for case in &mut plan.cases {
        case.system = kdyno_model::plan::SystemPlan::Attached(target.attached.clone());
    }
    let error = kdyno_plan::retarget(&mut plan, std::slice::from_ref(&target)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the search may go up to 488 MiB/s") && text.contains("100 MiB/s"), "{text}");
    assert_eq!(error.hint.as_deref(), Some("`to: 102400/s` at most"));
}
