//! What shows the state of a run: a line, and on a terminal the lines that are redrawn.

use kdyno_model::sample::Phase;
use kdyno_model::series::LiveFigures;
use kdyno_model::trial::TrialId;
use kdyno_report::terminal::{LiveCourse, LiveState, TextOptions, live_line, live_view, live_view_of_pair};

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
    insta::assert_snapshot!([212, 120, 100, 80, 60].map(at).join("\n"));
    for width in 60..200 {
        assert!(at(width).chars().count() <= width);
    }
}

/// What is behind by less than a second keeps up, as far as a second's figures show.
#[test]
fn the_live_line_shows_how_far_consumers_are_behind() {
    let line = |lag_records| {
        let figures = LiveFigures { lag_records, ..live().figures };
        live_line(&LiveState { figures, ..live() }, &TextOptions { width: 240, colour: false })
    };
    assert!(
        line(Some(1_204_000)).contains(" · consumed 55,190/s · lag 1,204,000 · "),
        "{}",
        line(Some(1_204_000))
    );
    assert!(!line(Some(55_190)).contains("lag") && !line(None).contains("lag"));
}

#[test]
fn a_live_line_of_users_and_jobs_alone_has_no_record_rate() {
    let figures = LiveFigures { brokers_cpu_percent: Some(57.2), ..LiveFigures::default() };
    let state = LiveState { figures, ..live() };
    let line = live_line(&state, &TextOptions { width: 120, colour: false });
    assert_eq!(line, "2/4 · brokers=6 · measure 23 s · CPU of one core: brokers 57 % · 1 min 35 s left");
}

#[test]
fn the_live_line_of_consumers_alone_shows_handed_over_records() {
    let figures = LiveFigures {
        offered_per_s: 0,
        achieved_per_s: 0,
        acknowledged_per_s: 0,
        lag_records: None,
        ..live().figures
    };
    let state = LiveState { figures, ..live() };
    let line = live_line(&state, &TextOptions { width: 60, colour: false });
    assert!(line.contains("· consumed 55,190/s ·") && !line.contains("0 of 0"), "{line}");
    let mut course = LiveCourse::default();
    course.push(3, &figures);
    let lines = live_view(&state, &course, &TextOptions { width: 100, colour: false }, 24);
    assert!(lines[1].starts_with("rate █ ") && lines[1].contains("highest 55,190/s"), "{lines:?}");
}

#[test]
fn the_live_line_shows_what_java_clients_use() {
    let figures = LiveFigures { java_cpu_percent: Some(53.2), ..live().figures };
    let line = live_line(&LiveState { figures, ..live() }, &TextOptions { width: 240, colour: false });
    assert!(line.contains(" · CPU of one core: brokers 143 %, workers 24 %, java 53 % · "), "{line}");
}

#[test]
fn the_live_line_of_a_drain_shows_its_longest_time_as_a_bound() {
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

/// Half a minute: the rate rises, falls to nothing for a second, and there a latency is high.
fn course() -> LiveCourse {
    let mut course = LiveCourse::default();
    for second in 1..=30_u32 {
        let is_gap = second == 20;
        let acknowledged_per_s = if is_gap { 0 } else { u64::from(second.min(10)) * 6_000 };
        let response_ns_p99 = (!is_gap).then_some(if second == 21 { 1_400_000_000 } else { 12_000_000 });
        course.push(second, &LiveFigures { acknowledged_per_s, response_ns_p99, ..live().figures });
    }
    course
}

fn lines(width: usize, rows: usize) -> Vec<String> {
    live_view(&live(), &course(), &TextOptions { width, colour: false }, rows)
}

#[test]
fn the_live_view_has_a_picture_of_the_trial_so_far() {
    insta::assert_snapshot!([160, 120, 80, 60].map(|width| lines(width, 24).join("\n")).join("\n\n"));
    for width in 1..200 {
        let is_within = |line: &String| line.chars().count() <= width.max(20);
        assert!(lines(width, 24).iter().all(is_within), "{width}: {:?}", lines(width, 24));
    }
}

#[test]
fn on_a_small_terminal_or_at_a_start_the_live_view_is_one_line() {
    let line = |width| vec![live_line(&live(), &TextOptions { width, colour: false })];
    assert_eq!((lines(59, 24), lines(120, 5)), (line(59), line(120)));
    let state = LiveState { phase: Phase::Startup, ..live() };
    let options = TextOptions { width: 120, colour: false };
    assert_eq!(live_view(&state, &LiveCourse::default(), &options, 24), ["2/4 · brokers=6 · startup 23 s"]);
    assert_eq!(live_view(&live(), &LiveCourse::default(), &options, 24).len(), 3, "before the first second");
}

#[test]
fn a_second_is_in_the_picture_once_and_a_gap_is_seen() {
    let mut again = course();
    again.push(30, &live().figures);
    again.push(12, &live().figures);
    assert_eq!(again, course());
    // Thirty seconds in fifteen signs: of the two that share one the gap counts, and of latencies the highest.
    let lines = lines(60, 24);
    let picture = |line: &str| line.chars().skip(5).take(15).collect::<String>();
    assert_eq!(picture(&lines[1]).chars().nth(9), Some('▁'), "{lines:?}");
    assert_eq!(picture(&lines[2]).chars().nth(10), Some('█'), "{lines:?}");
}

#[test]
fn the_live_view_of_a_pair_has_the_rate_of_each() {
    let other = LiveState { trial: TrialId(3), label: "kafka=4.3.1".to_owned(), ..live() };
    let courses = [course(), LiveCourse::default()];
    let options = TextOptions { width: 100, colour: false };
    let pair = [live(), other];
    let lines = live_view_of_pair(&pair, &courses, &options, 24);
    let [head, first, second] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(head, "2 and 3/4 · measure 23 s · 1 min 35 s left");
    assert!(
        first.starts_with("2    ▁▃▄▅▅") && first.ends_with("  55,204/s p99 1.40 s failed 120 · brokers=6"),
        "{first}"
    );
    assert!(second.starts_with("3     ") && second.ends_with("· kafka=4.3.1"), "{second}");
    assert_eq!(live_view_of_pair(&pair, &courses, &options, 5).len(), 1);
}
