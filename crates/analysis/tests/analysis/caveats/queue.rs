//! Queue seconds of an open loop.

use crate::fixture::{MS, PER_SECOND, S, TrialFixture, WRITERS, closed_loop, histogram};
use kdyno_model::caveat::{Caveat, Concern, Severity};
use kdyno_model::finding::{Mark, Value};
use kdyno_model::plan::Rate;
use kdyno_model::sample::{Counts, Grain, Phase, Timing};

/// Records in flight of the clean trial: 1000/s × (1.5 ms of linger + 2 × 2.39 ms of request + 0.01 ms).
const EXPLAINED: f64 = 6.29;

pub(super) fn is_one(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::QueueGrowth { .. })
}

/// Fresh brokers carry less in the last second before the window; what they owe comes in its first.
pub(super) fn at_start(trial: &mut TrialFixture, records: u64) {
    trial.counts(1).acknowledged -= records;
    trial.counts(2).acknowledged += records;
}

/// What is said of the queue of a trial: severity, seconds at the start, their growth and what is allowed.
fn said(trial: &TrialFixture) -> Option<(Severity, [f64; 3])> {
    let found = trial.reported(is_one);
    assert!(found.len() <= 1, "{found:?}");
    let found = found.into_iter().next()?;
    assert_eq!(found.concerns, Concern::Latencies { item: "writers".into() });
    let Caveat::QueueGrowth { start_s, growth_s, allowed_s, .. } = found.caveat else { return None };
    Some((found.severity, [start_s, growth_s, allowed_s]))
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
}

#[test]
fn a_queue_at_the_windows_start_is_judged_by_its_seconds() {
    let at = |records| {
        let mut trial = TrialFixture::clean();
        at_start(&mut trial, records);
        said(&trial)
    };
    // 6.29 records are explained; 50 ms of load are 50 records, five times that 250.
    assert_eq!(at(56), None);
    let (severity, [start_s, growth_s, allowed_s]) = at(57).unwrap();
    assert_eq!(severity, Severity::Warning);
    close(start_s, (57.0 - EXPLAINED) / 1000.0);
    assert_eq!(growth_s, 0.0);
    close(allowed_s, 0.05);
    assert_eq!(at(256).unwrap().0, Severity::Warning);
    assert_eq!(at(257).unwrap().0, Severity::Invalid);
}

#[test]
fn a_long_p99_allows_a_tenth_of_it() {
    let mut trial = TrialFixture::clean();
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    row.unwrap().histograms.insert(Timing::Response, histogram(&[(2000 * MS, 10_000)], 3));
    at_start(&mut trial, 206);
    assert_eq!(said(&trial), None, "0.2 s are a tenth of 2 s");
    at_start(&mut trial, 2);
    assert!(said(&trial).is_some());
}

/// Records wait while a transaction is committed.
#[test]
fn the_time_of_commits_is_allowed() {
    let mut trial = TrialFixture::clean();
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    row.unwrap().histograms.insert(Timing::Commit, histogram(&[(200 * MS, 100)], 3));
    at_start(&mut trial, 206);
    assert_eq!(said(&trial), None);
    at_start(&mut trial, 2);
    assert!(said(&trial).is_some());
}

/// A trial of so many measured seconds that offers 1000/s and carries a share less.
fn overloaded(seconds: u32, missing_per_s: u64) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let end = 2 + seconds;
    trial.phases[1].end_ns = u64::from(end) * S;
    trial.phases[2].start_ns = u64::from(end) * S;
    trial.phases[2].end_ns = u64::from(end + 3) * S;
    for second in 12..end {
        trial.second(second, second);
    }
    let mut open = 0;
    for second in 2..end {
        let counts = trial.counts(second);
        counts.acknowledged -= missing_per_s;
        open += missing_per_s;
    }
    let row = trial.push(WRITERS, Grain::Second, Phase::Measure, end - 1, end + 1);
    row.counts = Counts { acknowledged: open, ..Counts::default() };
    let measured: u64 = u64::from(seconds) * PER_SECOND;
    let waited = open * 1_000_000_000 / PER_SECOND;
    let row = trial.samples.iter_mut().find(|row| row.grain == Grain::Phase && row.phase == Phase::Measure);
    row.unwrap().histograms.insert(
        Timing::Response,
        histogram(&[(4 * MS, measured / 2), (waited.max(4 * MS), measured / 2)], 3),
    );
    trial.take_totals();
    trial
}

#[test]
fn an_overload_of_0_4_percent_for_five_minutes_is_no_figure() {
    let (severity, [start_s, growth_s, allowed_s]) = said(&overloaded(300, 4)).unwrap();
    // 4 records/s for 299 s: what came in the last second may still be in flight.
    assert_eq!(severity, Severity::Invalid);
    assert_eq!(start_s, 0.0);
    close(growth_s, (1196.0 - EXPLAINED) / 1000.0);
    close(allowed_s, 0.12);
    assert_eq!(said(&overloaded(300, 0)), None, "everything offered is carried");
}

/// The case that passed: 307/s on a link that carries 304/s, all of it in flight, where the mean request time explains what
/// is open at any instant.
#[test]
fn an_overload_that_waits_in_requests_is_seen() {
    let with = |missing_per_s: u64, open: u64| {
        let mut trial = overloaded(40, missing_per_s);
        trial.counts(1).acknowledged -= open;
        trial.late_acknowledgements(open, 44);
        trial.take_totals();
        trial.stages([0, 0, 0, 0, 0, (open + 20 * missing_per_s) * MS, 0]);
        trial
    };
    let trial = with(5, 100);
    let (severity, [start_s, growth_s, allowed_s]) = said(&trial).expect("a queue");
    assert_eq!((severity, start_s), (Severity::Invalid, 0.0));
    // From the median of the first five seconds, 115 records, to that of the last ones, 290.
    close(growth_s, 0.175);
    close(allowed_s, 0.05);
    trial.is("writers.queue", 0.175e9);
    // Where that is less than half of what was open, it is said, and latencies remain valid.
    assert_eq!(said(&with(5, 400)).map(|said| said.0), Some(Severity::Warning));
    assert_eq!(said(&with(0, 150)), None, "as many are open all the time");
    // What a schedule raises is no queue.
    let mut trial = with(5, 100);
    let Rate::Open { pieces, .. } = &mut trial.writers().rate else { panic!("an open loop") };
    pieces[0].to_per_s *= 2.0;
    assert_eq!(said(&trial), None);
}

#[test]
fn a_stall_that_falls_on_the_windows_end_is_no_growing_queue() {
    let mut trial = TrialFixture::clean();
    trial.counts(11).acknowledged -= 400;
    trial.late_acknowledgements(400, 12);
    trial.take_totals();
    assert_eq!(said(&trial), None);
    // What was there a second before as well is one.
    trial.counts(10).acknowledged -= 400;
    trial.late_acknowledgements(400, 12);
    trial.take_totals();
    assert_eq!(said(&trial).unwrap().0, Severity::Invalid);
}

#[test]
fn records_that_a_broker_refused_do_not_queue() {
    let mut trial = TrialFixture::clean();
    for second in 2..12 {
        let counts = trial.counts(second);
        counts.acknowledged -= 100;
        counts.failed.insert("MESSAGE_TOO_LARGE".into(), 100);
    }
    assert_eq!(said(&trial), None);
}

#[test]
fn what_batches_linger_longer_than_they_are_set_to_is_queueing() {
    let linger = |linger_ns: u64| {
        let mut trial = TrialFixture::clean();
        trial.stages([0, 0, 200 * MS, 0, 0, 2 * MS, 0]);
        trial.writers().client.linger_ns = linger_ns;
        // 200 ms of load are open all the time.
        at_start(&mut trial, 200);
        said(&trial).is_some()
    };
    assert!(!linger(200 * MS), "they linger as long as they shall");
    assert!(linger(5 * MS), "they wait for a request to come free");
}

#[test]
fn without_stages_the_quickest_responses_say_what_is_no_queue() {
    let at = |records| {
        let mut trial = TrialFixture::clean();
        trial.samples.retain(|row| row.grain != Grain::Phase);
        at_start(&mut trial, records);
        said(&trial).is_some()
    };
    // 4 ms × 1000/s, and 50 ms.
    assert!(!at(53));
    assert!(at(56));
}

#[test]
fn latencies_that_hold_a_queue_are_marked_and_rates_are_not() {
    let mut trial = TrialFixture::clean();
    assert!(trial.marked(Mark::Invalid).is_empty());
    at_start(&mut trial, 400);
    let marked = trial.marked(Mark::Invalid);
    for of in ["writers.response.p50", "writers.response.mean", "writers.service.p99", "writers.block.max"] {
        assert!(marked.contains(of), "{of}");
    }
    assert!(marked.contains("writers.response_over_service"));
    assert!(marked.iter().all(|of| of.contains('.') && of.starts_with("writers.")), "{marked:?}");
    for of in ["writers.acked_per_s", "writers.queue", "brokers.cpu_us_per_record", "readers.lag_time"] {
        assert!(!marked.contains(of), "{of}");
    }
}

#[test]
fn the_queue_is_a_metric_in_time() {
    let mut trial = TrialFixture::clean();
    trial.is("writers.queue", 0.0);
    trial.counts(11).acknowledged -= 406;
    trial.late_acknowledgements(406, 13);
    trial.take_totals();
    // With fewer acknowledgements Little's law explains less.
    trial.is("writers.queue", (406.0 - EXPLAINED * 0.9594) * 1e6);
}

#[test]
fn a_closed_loop_has_no_queue() {
    let mut trial = TrialFixture::clean();
    at_start(&mut trial, 900);
    trial.writers().rate = closed_loop();
    assert_eq!(trial.caveats(), [(Severity::Note, Caveat::ClosedLoop { item: "writers".into() })]);
    assert_eq!(trial.value("writers.queue"), Value::None);
}
