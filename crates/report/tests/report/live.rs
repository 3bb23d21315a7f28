//! The line that says how a run stands.

use kdyno_model::sample::Phase;
use kdyno_model::series::LiveFigures;
use kdyno_model::trial::TrialId;
use kdyno_report::terminal::{LiveState, TextOptions, live_line};

fn live() -> LiveState {
    LiveState {
        elapsed_ns: 23_000_000_000,
        phase: Phase::Measure,
        trial: TrialId(2),
        trials: Some(4),
        label: "brokers=6".to_owned(),
        figures: LiveFigures {
            offered_per_s: 60_000,
            achieved_per_s: 57_400,
            acknowledged_per_s: 55_204,
            fetched_per_s: Some(55_190),
            lag_records: Some(55_190),
            response_ns_p50: Some(6_100_000),
            response_ns_p99: Some(1_400_000_000),
            open_records: 8_412,
            failed: 120,
            brokers_cpu_percent: Some(143.2),
            workers_cpu_percent: Some(24.0),
            java_cpu_percent: None,
        },
        remaining_ns: Some(95_000_000_000),
    }
}

#[test]
fn the_live_line_leaves_out_what_does_not_fit() {
    let at = |width| live_line(&live(), &TextOptions { width, colour: false });
    insta::assert_snapshot!([204, 120, 100, 80, 60].map(at).join("\n"));
    for width in 60..200 {
        assert!(at(width).chars().count() <= width);
    }
}

/// What is behind by less than a second keeps up, as far as a second's figures tell.
#[test]
fn the_live_line_tells_how_far_consumers_are_behind() {
    let line = |lag_records| {
        let figures = LiveFigures { lag_records, ..live().figures };
        live_line(&LiveState { figures, ..live() }, &TextOptions { width: 240, colour: false })
    };
    assert!(
        line(Some(1_204_000)).contains(" · handed over 55,190/s · lag 1,204,000 · "),
        "{}",
        line(Some(1_204_000))
    );
    assert!(!line(Some(55_190)).contains("lag") && !line(None).contains("lag"));
}

#[test]
fn the_live_line_tells_what_java_clients_use() {
    let figures = LiveFigures { java_cpu_percent: Some(53.2), ..live().figures };
    let line = live_line(&LiveState { figures, ..live() }, &TextOptions { width: 240, colour: false });
    assert!(line.contains(" · brokers 143 workers 24 java 53 % of one core · "), "{line}");
}

#[test]
fn the_live_line_of_a_drain_tells_its_longest_time_as_a_bound() {
    let line = |trial| {
        let state = LiveState { phase: Phase::Drain, trial: TrialId(trial), ..live() };
        live_line(&state, &TextOptions { width: 240, colour: false })
    };
    assert!(line(4).ends_with(" · at most 1 min 35 s left"), "{}", line(4));
    assert!(line(2).contains(" · drain 23 s · ") && !line(2).contains("left"), "{}", line(2));
}

#[test]
fn the_live_line_of_a_start_states_no_rate() {
    let line =
        live_line(&LiveState { phase: Phase::Startup, ..live() }, &TextOptions { width: 80, colour: false });
    assert_eq!(line, "2/4 · brokers=6 · startup 23 s");
}
