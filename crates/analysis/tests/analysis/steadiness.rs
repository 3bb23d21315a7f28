//! What is concluded of a window whose course is known, what is marked, and when a warm-up is seen to have ended.

use crate::fixture::{MS, READERS, S, TrialFixture, WRITERS, closed_loop, event, histogram};
use kdyno_analysis::trial::judge;
use kdyno_analysis::warmup::{WarmupBounds, WarmupProgress, progress};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::{Conclusion, Steadiness, SteadyState, of_kind};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::Mark;
use kdyno_model::metric::Address;
use kdyno_model::plan::{PhasesPlan, Rate, WarmupAuto};
use kdyno_model::sample::{ClientTotals, Counts, Grain, Phase, ProbeReading, Timing, series};
use kdyno_model::trial::TrialReason;
use kdyno_model::worker::PhaseSpan;
use std::collections::BTreeSet;

mod short_term;

/// First second of the window.
const FIRST: u32 = 2;

/// What a trial did in each second of its warm-up of 2 s and its window.
struct TrialSeconds {
    seconds: u32,
    per_s: fn(u32) -> u64,
    p50_ns: fn(u32) -> u64,
    cpu_us: fn(u32) -> u64,
}

const STEADY: TrialSeconds =
    TrialSeconds { seconds: 22, per_s: |second| about(1000, second), p50_ns: |_| 4 * MS, cpu_us: |_| 60 };

/// Within 2 % of a number, as if by chance.
fn about(number: u64, second: u32) -> u64 {
    number - number / 50 + number * (u64::from(second) * 7919 % 101) / 2500
}

impl TrialSeconds {
    /// Acknowledged, fetched and timed in the second of their intent; two brokers share the CPU time.
    fn trial(&self) -> TrialFixture {
        let mut trial = TrialFixture::clean();
        trial.samples.clear();
        trial.probes.clear();
        let end_ns = u64::from(self.seconds) * S;
        trial.phases[1].end_ns = end_ns;
        trial.phases[2] = PhaseSpan { phase: Phase::Drain, start_ns: end_ns, end_ns: end_ns + 3 * S };
        let mut used_s = 0.0;
        for second in 0..self.seconds {
            let (records, p50_ns) = ((self.per_s)(second), (self.p50_ns)(second));
            let phase = if second < FIRST { Phase::Warmup } else { Phase::Measure };
            let row = trial.push(WRITERS, Grain::Second, phase, second, second);
            row.counts = Counts {
                offered: records,
                achieved: records,
                acknowledged: records,
                acknowledged_bytes: 128 * records,
                request_bytes: 130 * records,
                requests: 10,
                batches: 20,
                ..Counts::default()
            };
            row.histograms.insert(Timing::Response, histogram(&[(p50_ns, records)], 2));
            let row = trial.push(READERS, Grain::Second, phase, second, second);
            row.counts = Counts { fetched: records, batches: 50, ..Counts::default() };
            trial.reading(second, used_s);
            used_s += records as f64 * (self.cpu_us)(second) as f64 / 1e6;
        }
        trial.reading(self.seconds, used_s);
        trial.take_totals();
        trial
    }
}

impl TrialFixture {
    fn reading(&mut self, second: u32, used_s: f64) {
        for broker in [0, 1] {
            for name in [series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL] {
                self.probes.push(ProbeReading {
                    at_ns: i64::from(second) * S.cast_signed(),
                    subject: Subject::Broker(broker),
                    series: name.to_owned(),
                    value: used_s / 4.0,
                });
            }
        }
    }

    /// What is said of the steadiness of each item.
    fn judged_items(&self) -> Vec<Steadiness> {
        of_kind(&judge(self).unwrap().conclusions).cloned().collect()
    }

    fn steadiness(&self, item: &str) -> Steadiness {
        let mut of = self.judged_items();
        of.retain(|of| of.item == item);
        assert_eq!(of.len(), 1, "{item}: {of:?}");
        of.remove(0)
    }

    fn unsteady(&self) -> Vec<(String, String)> {
        let reported = judge(self).unwrap().caveats.into_iter().filter_map(|found| match found.caveat {
            Caveat::Unsteady { item, detail } => {
                assert_eq!(found.severity, Severity::Warning);
                Some((item, detail))
            }
            _ => None,
        });
        reported.collect()
    }
}

fn is_marked(marked: &BTreeSet<String>, wanted: &[&str], not: &[&str]) {
    for address in wanted {
        assert!(marked.contains(*address), "{address} is not among {marked:?}");
    }
    for address in not {
        assert!(!marked.contains(*address), "{address} is among {marked:?}");
    }
}

const MARKS: [Mark; 3] = [Mark::Drifting, Mark::SeveralLevels, Mark::TooShortToTell];

#[test]
fn a_steady_window_carries_no_mark() {
    let trial = STEADY.trial();
    for item in ["writers", "readers", "brokers"] {
        let steadiness = trial.steadiness(item);
        assert_eq!(steadiness.state, SteadyState::Steady, "{item}");
        assert!(steadiness.smallest_step.is_some_and(|step| (0.03..0.12).contains(&step)), "{steadiness:?}");
    }
    assert!(MARKS.iter().all(|mark| trial.marked(*mark).is_empty()));
    assert_eq!(trial.unsteady(), []);
}

#[test]
fn a_rate_that_triples_in_the_window_marks_figures_made_of_it() {
    let per_s = |second| about(if second < 12 { 50_000 } else { 170_000 }, second);
    let mut trial = TrialSeconds { per_s, ..STEADY }.trial();
    trial.writers().rate = closed_loop();
    let SteadyState::SeveralLevels { of, levels } = trial.steadiness("writers").state else { panic!() };
    assert_eq!(of.to_string(), "writers.acked_per_s");
    assert_eq!(
        levels.iter().map(|level| (level.from_s, level.to_s)).collect::<Vec<_>>(),
        [(2, 12), (12, 22)]
    );
    assert!((levels[1].value / levels[0].value - 3.4).abs() < 0.1, "{levels:?}");
    let marked = trial.marked(Mark::SeveralLevels);
    let rates =
        ["writers.acked_per_s", "writers.acked_mib_per_s", "writers.achieved_per_s", "readers.fetched_per_s"];
    let per_record =
        ["brokers.cpu_us_per_record", "brokers.records_per_s_per_core", "broker-1.cpu_us_per_record"];
    is_marked(&marked, &[rates, ["writers.response.p50"; 4]].concat(), &[]);
    is_marked(&marked, &per_record, &["writers.clients", "writers.failed", "brokers.cpu_percent"]);
    let reported = trial.unsteady();
    assert_eq!(reported.iter().map(|(item, _)| item.as_str()).collect::<Vec<_>>(), ["readers", "writers"]);
    assert!(
        reported[1].1.starts_with("writers.acked_per_s stayed at 2 levels, the highest 3.4"),
        "{reported:?}"
    );
    // What was not timed has nothing to mark.
    is_marked(&marked, &[], &["writers.service.p50"]);
    // In an open loop latencies are not what the rate makes them.
    let trial = TrialSeconds { per_s, ..STEADY }.trial();
    let SteadyState::SeveralLevels { of, .. } = trial.steadiness("writers").state else { panic!() };
    assert_eq!(of.to_string(), "writers.acked_per_s");
    is_marked(&trial.marked(Mark::SeveralLevels), &rates, &["writers.response.p50"]);
}

#[test]
fn a_closed_loop_that_stalls_most_of_the_window_is_unsteady() {
    let stalled = TrialSeconds { per_s: |second| if second < 8 { about(1000, second) } else { 0 }, ..STEADY };
    let mut trial = stalled.trial();
    trial.writers().rate = closed_loop();
    is_marked(&trial.marked(Mark::SeveralLevels), &["writers.acked_per_s", "writers.response.p99"], &[]);
    let reported =
        trial.reported(|found| matches!(found, Caveat::Unsteady { item, .. } if item == "writers"));
    assert_eq!((reported.len(), reported[0].severity), (1, Severity::Warning));
    // A record every third second is a slow load, and no stall.
    let slow = TrialSeconds { per_s: |second| u64::from(second % 3 == 0), ..STEADY };
    let mut trial = slow.trial();
    trial.writers().rate = closed_loop();
    assert_eq!(
        trial.reported(|found| matches!(found, Caveat::Unsteady { item, .. } if item == "writers")),
        []
    );
}

#[test]
fn latencies_that_rise_are_marked_and_rates_stand() {
    let p50_ns = |second| 4 * MS + u64::from(second) * MS / 5;
    let trial = TrialSeconds { p50_ns, ..STEADY }.trial();
    let SteadyState::Drifting { of, per_minute } = trial.steadiness("writers").state else { panic!() };
    assert_eq!(of.to_string(), "writers.response.p50");
    // 0.2 ms of 6.3 ms each second.
    assert!((per_minute - 60.0 * 0.2 / 6.3).abs() < 0.1, "{per_minute}");
    let marked = trial.marked(Mark::Drifting);
    let not = ["writers.acked_per_s", "brokers.cpu_us_per_record", "readers.fetched_per_s"];
    is_marked(&marked, &["writers.response.p50", "writers.response.p99", "writers.response.max"], &not);
    let reported = trial.unsteady();
    assert_eq!(reported.len(), 1);
    assert!(reported[0].1.starts_with("writers.response.p50 changed by +1"), "{reported:?}");
}

/// Most records of an overload are open when the trial ends, those of a later second for a second less each.
#[test]
fn an_end_that_cuts_waiting_short_is_no_drift_of_latency() {
    let mut trial = STEADY.trial();
    let mut open = Vec::new();
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS) {
        let acknowledged = row.counts.acknowledged * 4 / 10;
        open.push((row.t0_second, row.counts.acknowledged - acknowledged));
        row.counts.acknowledged = acknowledged;
        row.histograms.insert(Timing::Response, histogram(&[(4 * MS, acknowledged)], 2));
    }
    for (second, unresolved) in open {
        let row = trial.push(WRITERS, Grain::Second, Phase::Measure, second, STEADY.seconds + 3);
        row.counts = Counts { unresolved, ..Counts::default() };
    }
    trial.take_totals();
    assert_eq!(trial.steadiness("writers").state, SteadyState::Steady);
    assert!(trial.marked(Mark::Drifting).is_empty());
    // What they do to the latencies is reported.
    let is_reported =
        judge(&trial).unwrap().caveats.iter().any(|found| matches!(found.caveat, Caveat::Unresolved { .. }));
    assert!(is_reported);
}

#[test]
fn processor_time_that_falls_is_marked_alone() {
    let cpu_us = |second| 45 - u64::from(second);
    let trial = TrialSeconds { cpu_us, ..STEADY }.trial();
    let SteadyState::Drifting { of, per_minute } = trial.steadiness("brokers").state else { panic!() };
    assert_eq!(of, Address::parse("brokers.cpu_us_per_record").unwrap());
    assert!((per_minute + 60.0 / 33.5).abs() < 0.1, "{per_minute}");
    assert_eq!(trial.steadiness("writers").state, SteadyState::Steady);
    let marked = trial.marked(Mark::Drifting);
    is_marked(
        &marked,
        &["brokers.cpu_us_per_record", "broker-0.records_per_s_per_core"],
        &["writers.acked_per_s", "brokers.cpu_percent", "workers.cpu_us_per_record"],
    );
    assert_eq!(trial.unsteady().len(), 1);
}

#[test]
fn a_too_short_or_noisy_window_says_how_long_would_suffice() {
    let trial = TrialSeconds { seconds: 11, ..STEADY }.trial();
    let steadiness = trial.steadiness("writers");
    assert_eq!((steadiness.state, steadiness.smallest_step), (SteadyState::TooShort { needed_s: 20 }, None));
    is_marked(
        &trial.marked(Mark::TooShortToTell),
        &["writers.acked_per_s", "brokers.cpu_us_per_record"],
        &[],
    );
    assert_eq!(trial.unsteady(), []);
    let per_s = |second| about(1000, second) * (1 + u64::from(second) * 7919 % 5);
    let trial = TrialSeconds { per_s, ..STEADY }.trial();
    let SteadyState::TooShort { needed_s } = trial.steadiness("readers").state else { panic!() };
    assert!(needed_s > 40, "{needed_s}");
    is_marked(&trial.marked(Mark::TooShortToTell), &["writers.acked_per_s"], &["brokers.cpu_us_per_record"]);
}

#[test]
fn an_unsettled_warm_up_is_a_caveat_unless_the_window_is_steady() {
    let reported = |course: TrialSeconds| {
        let mut trial = course.trial();
        trial.events = vec![event(EventKind::WarmupNotSettled, Subject::Kdyno, "the rate rose")];
        trial.reported(|found| matches!(found, Caveat::WarmupNotSettled { .. })).len()
    };
    assert_eq!(reported(STEADY), 0);
    assert_eq!(reported(TrialSeconds { per_s: |second| 1000 + 100 * u64::from(second), ..STEADY }), 1);
    assert_eq!(reported(TrialSeconds { cpu_us: |second| 100 + 20 * u64::from(second), ..STEADY }), 1);
}

#[test]
fn where_the_load_is_meant_to_change_nothing_is_judged() {
    let mut trial = TrialSeconds { per_s: |second| 1000 + 100 * u64::from(second), ..STEADY }.trial();
    assert!(!trial.unsteady().is_empty());
    let Rate::Open { pieces, .. } = &mut trial.writers().rate else { panic!() };
    pieces[0].to_per_s = 3000.0;
    assert_eq!((trial.unsteady(), trial.judged_items()), (vec![], vec![]));
    // Nor of a trial that ended before it measured.
    let mut trial = STEADY.trial();
    trial.phases.truncate(1);
    assert_eq!(trial.judged_items(), []);
    // Nor of one that conditions a cluster.
    let mut trial = STEADY.trial();
    trial.start.trial.reason = TrialReason::Conditioning;
    assert_eq!(trial.judged_items(), []);
}

#[test]
fn without_readings_of_every_broker_their_time_is_not_judged() {
    let mut trial = STEADY.trial();
    trial.probes.retain(|reading| reading.subject != Subject::Broker(1));
    let items: Vec<String> = trial.judged_items().into_iter().map(|of| of.item).collect();
    assert_eq!(items, ["readers", "writers"]);
}

#[test]
fn a_few_seconds_without_readings_do_no_harm() {
    // Four of the window's 20 s are missing, or five.
    let from = |second: i64| {
        let mut trial = STEADY.trial();
        trial.probes.retain(|reading| reading.at_ns >= second * S.cast_signed());
        trial
    };
    assert_eq!(from(6).steadiness("brokers").state, SteadyState::Steady);
    assert_eq!(tested(&from(7)), 2);
}

/// How many items' steadiness something is said of.
fn tested(trial: &TrialFixture) -> usize {
    let conclusions = judge(trial).unwrap().conclusions;
    conclusions.iter().filter(|conclusion| matches!(conclusion, Conclusion::Steadiness(_))).count()
}

#[test]
fn a_schedule_that_comes_back_to_its_first_rate_has_left_it() {
    let mut trial = STEADY.trial();
    assert_eq!(tested(&trial), 3);
    let Rate::Open { pieces, .. } = &mut trial.writers().rate else { panic!() };
    let mut falling = pieces[0];
    falling.from_per_s *= 2.0;
    pieces.push(falling);
    assert_eq!(tested(&trial), 0);
}

#[test]
fn cpu_time_is_per_acknowledged_record_of_producers() {
    let mut trial = STEADY.trial();
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.written_second >= 12) {
        row.counts.fetched = 1;
    }
    assert!(matches!(trial.steadiness("readers").state, SteadyState::SeveralLevels { .. }));
    assert_eq!(trial.steadiness("brokers").state, SteadyState::Steady);
}

/// Moves the writers' histograms to rows of their own, of records intended and written in other seconds.
fn timed_in(trial: &mut TrialFixture, seconds: impl Fn(u32) -> (u32, u32)) {
    let rows = trial.samples.iter_mut().filter(|row| row.id == WRITERS);
    let moved: Vec<_> = rows.map(|row| (row.written_second, std::mem::take(&mut row.histograms))).collect();
    for (second, histograms) in moved {
        let (t0, written) = seconds(second);
        trial.push(WRITERS, Grain::Second, Phase::Measure, t0, written).histograms = histograms;
    }
}

#[test]
fn latencies_are_of_the_intended_second_in_warm_up_the_last() {
    // All outcomes come late: the p50 of each second is known, and it is what an open loop's figures are about.
    let mut trial = STEADY.trial();
    timed_in(&mut trial, |second| (second, second.max(12)));
    let smallest = trial.steadiness("writers").smallest_step.unwrap();
    assert!((smallest - 0.1).abs() < 1e-9, "{smallest} is not the least that matters of a latency");
    // What is acknowledged was intended ever longer ago.
    let mut trial = warming(&STEADY);
    timed_in(&mut trial, |second| (second / 2, second));
    assert_eq!(progress(&trial, 22).unwrap(), Some(WarmupProgress::Settled));
}

#[test]
fn a_record_limit_ends_the_window_before_the_stragglers() {
    let mut trial = STEADY.trial();
    let offered: u64 = (FIRST..22).map(STEADY.per_s).sum();
    trial.writers().records_max = Some(offered);
    let totals = trial.totals.iter_mut().find(|totals| totals.id == WRITERS).unwrap();
    totals.clients = vec![
        ClientTotals { records: 0, began_ns: None, span_ns: 0, member: None },
        ClientTotals { records: 9000, began_ns: None, span_ns: 15 * S + S / 2, member: None },
        ClientTotals { records: 9000, began_ns: None, span_ns: 21 * S, member: None },
    ];
    // From second 2 until the first client was done, in second 15.
    let rate: u64 = (FIRST..15).map(STEADY.per_s).sum();
    trial.is("writers.acked_per_s", rate as f64 / 13.0);
    // One that never reached its limit was at work all the time.
    trial.writers().records_max = Some(offered + 1);
    trial.is("writers.acked_per_s", offered as f64 / 20.0);
}

/// A trial in its warm-up of 15 s at least and 60 s at most.
fn warming(course: &TrialSeconds) -> TrialFixture {
    let mut trial = course.trial();
    trial.phases.truncate(1);
    trial.start.trial.effective.phases = PhasesPlan {
        warmup_ns: 60 * S,
        warmup_auto: Some(WarmupAuto { least_ns: 15 * S, records_min: 0 }),
        measure_ns: 30 * S,
        drain_ns: 3 * S,
    };
    trial
}

fn why(trial: &TrialFixture, seconds: u32) -> String {
    match progress(trial, seconds).unwrap() {
        Some(WarmupProgress::NotYet { why }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_warm_up_ends_when_all_that_is_watched_has_settled() {
    let trial = warming(&STEADY);
    assert_eq!(why(&trial, 14), "it lasts 15 s at least");
    assert_eq!(progress(&trial, 20).unwrap(), Some(WarmupProgress::Settled));
    // The newest second's readings are not there yet.
    assert_eq!(progress(&trial, 22).unwrap(), Some(WarmupProgress::Settled));
    let mut early = trial.clone();
    early.probes.retain(|reading| reading.at_ns <= 21 * S.cast_signed());
    assert_eq!(progress(&early, 22).unwrap(), Some(WarmupProgress::Settled));
    let mut fixed = trial.clone();
    fixed.start.trial.effective.phases.warmup_auto = None;
    assert_eq!(
        (progress(&fixed, 20).unwrap(), WarmupBounds::of(&STEADY.trial().start.trial.effective.phases)),
        (None, None)
    );
    let mut many = trial.clone();
    let auto = many.start.trial.effective.phases.warmup_auto.as_mut().unwrap();
    auto.records_min = 50_000;
    // Written and read.
    let served: u64 = 2 * (0..20).map(STEADY.per_s).sum::<u64>();
    assert_eq!(why(&many, 20), format!("{served} of at least 50000 records"));
}

#[test]
fn each_of_what_is_watched_holds_a_warm_up() {
    let falling = TrialSeconds { cpu_us: |second| 90 - 3 * u64::from(second), ..STEADY };
    assert!(why(&warming(&falling), 22).starts_with("brokers.cpu_us_per_record changed by -"));
    let rising = TrialSeconds { per_s: |second| about(1000 + 60 * u64::from(second), second), ..STEADY };
    assert!(why(&warming(&rising), 22).starts_with("readers.fetched_per_s changed by +"));
    let mut alone = warming(&rising);
    alone.samples.retain(|row| row.id == WRITERS);
    assert!(why(&alone, 22).starts_with("writers.acked_per_s changed by +"));
    let slower = TrialSeconds { p50_ns: |second| 4 * MS + u64::from(second) * MS / 3, ..STEADY };
    assert!(why(&warming(&slower), 22).starts_with("writers.response.p50 changed by +"));
    // In a closed loop latencies are what the rate makes them.
    let mut closed = warming(&slower);
    closed.writers().rate = closed_loop();
    assert_eq!(progress(&closed, 22).unwrap(), Some(WarmupProgress::Settled));
    let nothing = TrialSeconds { per_s: |_| 0, ..STEADY };
    assert_eq!(why(&warming(&nothing), 22), "writers.acked_per_s is 0");
}

#[test]
fn a_queue_of_the_cold_start_must_have_drained() {
    // 400 records of the first second are acknowledged 20 a second from second 5 on: gone in second 25.
    let queued = || {
        let mut trial = warming(&TrialSeconds { seconds: 50, ..STEADY });
        trial.counts(0).acknowledged -= 400;
        for second in 5..25 {
            trial.counts(second).acknowledged += 20;
        }
        trial
    };
    assert!(why(&queued(), 20).starts_with("the open records of writers changed by -0.1"));
    assert_eq!(progress(&queued(), 45).unwrap(), Some(WarmupProgress::Settled));
    // At its longest time it ends whatever is missing.
    let mut rising = warming(&TrialSeconds {
        seconds: 60,
        per_s: |second| about(1000 + 60 * u64::from(second), second),
        ..STEADY
    });
    assert!(matches!(progress(&rising, 59).unwrap(), Some(WarmupProgress::NotYet { .. })));
    assert!(matches!(progress(&rising, 60).unwrap(), Some(WarmupProgress::NotSettled { .. })));
    rising.start.trial.effective.phases.warmup_ns = 60 * S + 1;
    assert!(matches!(progress(&rising, 60).unwrap(), Some(WarmupProgress::NotYet { .. })));
}

/// Only some of the medians are worked out, and levels are found in means of many seconds; they are reported in
/// seconds.
#[test]
fn a_long_window_is_looked_at_more_coarsely() {
    let p50_ns = |second| if second < 902 { 4 * MS } else { 5 * MS };
    let trial = TrialSeconds { seconds: 1502, p50_ns, ..STEADY }.trial();
    let SteadyState::SeveralLevels { of, levels } = trial.steadiness("writers").state else { panic!() };
    assert_eq!((of.to_string().as_str(), levels.len()), ("writers.response.p50", 2));
    assert_eq!((levels[0].from_s, levels[1].to_s), (2, 1502));
    assert!(levels[0].to_s.abs_diff(902) <= 15, "{levels:?}");
    assert!((levels[1].value / levels[0].value - 1.25).abs() < 0.02, "{levels:?}");
}
