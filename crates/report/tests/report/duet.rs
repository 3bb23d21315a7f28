//! Comparisons whose two sides ran at once.

use crate::fixture::{ComparisonEnd, RunFixture, caveat, comparison};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::plan::{Depth, Estimate, PairDesign, Strategy};
use kdyno_model::sample::Phase;
use kdyno_model::series::LiveFigures;
use kdyno_model::trial::TrialId;
use kdyno_report::markdown;
use kdyno_report::terminal::{
    LiveState, PlanDetail, TextOptions, live_line_of_pair, plan_text, run_summary, run_table,
};

const WIDE: TextOptions = TextOptions { width: 300, colour: false };

/// What is printed of the plan beforehand, and of the run.
fn printed(design: PairDesign, depth: Depth) -> (String, [String; 2]) {
    let mut run = comparison(ComparisonEnd::Worse, depth);
    let Strategy::Compare(compare) = &mut run.header.plan.strategy else { panic!("a comparison") };
    compare.design = design;
    let estimate = Estimate { expected_ns: 1, longest_ns: 1, load_ns: 1, disk_bytes: None, kept_bytes: None };
    let plan = plan_text(&run.header.plan, &estimate, PlanDetail::Full, &WIDE);
    (plan, [run_table(&run.input(), &WIDE), markdown::block(&run.input())])
}

#[test]
fn a_duet_is_named_before_the_run_and_in_its_answer() {
    for depth in [Depth::Verdict, Depth::Quick] {
        let (plan, answers) = printed(PairDesign::Duet, depth);
        assert!(plan.contains("both sides at once, under the same arrivals"), "{plan}");
        for answer in answers {
            assert!(
                answer.contains("Both sides ran at once on this machine, so only their ratio"),
                "{answer}"
            );
        }
        let (plan, answers) = printed(PairDesign::Turns, depth);
        assert!(!plan.contains("at once"), "{plan}");
        assert!(answers.iter().all(|answer| !answer.contains("at once")), "{answers:?}");
    }
}

/// A duet with a trial of each side whose brokers waited so long, by what they did or by the window.
fn waiting(shares: [Option<f64>; 2], is_of_ready: bool) -> RunFixture {
    let mut run = comparison(ComparisonEnd::Worse, Depth::Verdict);
    let Strategy::Compare(compare) = &mut run.header.plan.strategy else { panic!("a comparison") };
    compare.design = PairDesign::Duet;
    let mut b = run.trials[0].clone();
    (b.trial.id, b.trial.variant) = (TrialId(2), Some("B".to_owned()));
    run.trials.push(b);
    run.caveats.clear();
    for (trial, share) in (1..).zip(shares) {
        let Some(share) = share else { continue };
        let who = "brokers".to_owned();
        let share_of_ready = is_of_ready.then_some(share);
        let waited =
            Caveat::WaitedForProcessor { who, share: if is_of_ready { 9.0 } else { share }, share_of_ready };
        run.caveats.push(caveat(trial, Severity::Warning, waited));
    }
    run
}

#[test]
fn waiting_brokers_are_reported_once_with_a_duets_verdicts() {
    for (shares, is_of_ready, reported) in [
        (
            [Some(0.583), Some(0.694)],
            true,
            "Brokers of both sides waited for a CPU, those of kafka=3.7.2 for 58 %, those of kafka=4.3.1 for 69 % of \
             their runnable time; so the ratio is that of brokers that wait, ",
        ),
        (
            [Some(0.583), Some(1.02)],
            false,
            "Brokers of both sides waited for a CPU, those of kafka=3.7.2 for 58 %, those of kafka=4.3.1 for 102 % of \
             the window (sum of threads); so the ratio is that of brokers that wait, ",
        ),
        (
            [None, Some(0.31)],
            true,
            "Brokers waited for a CPU on one side alone, those of kafka=4.3.1 for 31 % of their runnable \
             time; so a part of the difference may be that wait: ",
        ),
    ] {
        let run = waiting(shares, is_of_ready);
        for text in [run_table(&run.input(), &WIDE).replace("\n  ", " "), markdown::block(&run.input())] {
            let (verdict, waited) = (text.find("is worse than"), text.find(reported));
            assert!(waited.is_some() && verdict < waited, "{text}");
            assert!(text.contains("--design turns"), "{text}");
            // Markdown has it among its caveats and in its details.
            let times = 1 + text.matches("<details>").count();
            assert_eq!(text.matches("waited for a CPU").count(), times, "{text}");
        }
        let short = run_summary(&run.input(), &WIDE);
        assert!(short.contains("\n! CPU contention: threads of brokers waited for a CPU up to "), "{short}");
        assert!(!short.contains(reported) && !short.contains("--design turns"), "{short}");
    }
    let run = waiting([None, None], true);
    assert!(!run_table(&run.input(), &WIDE).contains("waited"));
}

#[test]
fn in_turns_waiting_brokers_are_reported_for_their_trials() {
    let mut run = waiting([Some(0.58), Some(0.61)], true);
    let Strategy::Compare(compare) = &mut run.header.plan.strategy else { panic!("a comparison") };
    compare.design = PairDesign::Turns;
    let text = run_table(&run.input(), &WIDE);
    let reported =
        "CPU contention: threads of brokers waited for a CPU 58.0 % to 61.0 % of their runnable time";
    assert!(text.contains(reported) && !text.contains("both sides waited"), "{text}");
}

fn state(trial: u32, label: &str, acknowledged_per_s: u64, p99_ns: Option<u64>) -> LiveState {
    LiveState {
        elapsed_ns: 23_000_000_000,
        phase: Phase::Measure,
        trial: TrialId(trial),
        trials: None,
        label: label.to_owned(),
        figures: LiveFigures {
            offered_per_s: 20_000,
            achieved_per_s: 20_000,
            acknowledged_per_s,
            fetched_per_s: None,
            lag_records: None,
            response_ns_p50: Some(1_100_000),
            response_ns_p99: p99_ns,
            open_records: 10,
            failed: u64::from(p99_ns.is_none()) * 7,
            brokers_cpu_percent: Some(40.0),
            workers_cpu_percent: Some(10.0),
            java_cpu_percent: None,
        },
        remaining_ns: Some(95_000_000_000),
    }
}

#[test]
fn one_line_shows_the_state_of_both_sides() {
    let pair =
        [state(7, "kafka=4.3.1 #3", 20_010, Some(4_200_000)), state(8, "kafka=3.7.2 #3", 19_000, None)];
    let line = live_line_of_pair(&pair, &WIDE);
    let reported = "7 and 8 · measure 23 s · kafka=4.3.1 #3: 20,010/s p99 4.20 ms · kafka=3.7.2 #3: 19,000/s p99 – failed 7 · \
                1 min 35 s left";
    assert_eq!(line, reported);
    for width in 60..140 {
        assert!(live_line_of_pair(&pair, &TextOptions { width, colour: false }).chars().count() <= width);
    }
}
