//! When consumers that come late have caught up.

use crate::fixture::{MS, READERS, S, TrialFixture};
use kdyno_model::finding::Value;
use kdyno_model::plan::LoadSpan;
use kdyno_model::sample::{CaughtUp, Grain};

/// Readers that come `at_ns` into the measure phase, which begins 2 s after T0; in each second from the fifth on they are so far
/// behind at its end, and 1000 records are written in each.
fn late(at_ns: u64, lags: [Option<u64>; 7]) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let span = LoadSpan { at_ns: Some(at_ns), until_ns: None };
    trial.start.trial.effective.load.get_mut("readers").unwrap().span = span;
    trial.samples.retain(|row| row.id != READERS || row.written_second >= 5);
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second) {
        row.counts.lag_records = lags[row.written_second as usize - 5];
    }
    trial.take_totals();
    trial
}

fn reported(trial: &TrialFixture, metric: &str) -> Option<Value> {
    let mut findings = trial.findings().into_iter();
    findings.find(|one| one.of.to_string() == format!("readers.{metric}")).map(|one| one.estimate)
}

fn caught_up(trial: &TrialFixture) -> Option<Value> {
    reported(trial, "caught_up")
}

/// A late reader of 21,000 records that had all of them 430 ms after it came, and was idle from then on.
fn quick() -> TrialFixture {
    let mut trial = late(3 * S, [Some(0); 7]);
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second) {
        row.counts.fetched = if row.written_second == 5 { 21_000 } else { 0 };
    }
    trial.take_totals();
    let totals = trial.totals.iter_mut().find(|totals| totals.id == READERS).expect("the readers' totals");
    totals.caught_up = Some(CaughtUp { at_ns: 5_430 * MS, records: 21_000 });
    trial
}

#[test]
fn the_drain_rate_ends_when_it_had_caught_up() {
    let trial = quick();
    assert_eq!(caught_up(&trial), Some(Value::Is(430e6)));
    assert_eq!(reported(&trial, "caught_up_per_s"), Some(Value::Is(21_000.0 / 0.43)));
    assert_eq!(reported(&trial, "fetched_per_s"), Some(Value::Is(3_000.0)), "of all 7 s of its window");
    // What is on a topic that the trial does not write is read as well.
    let mut trial = quick();
    trial.start.trial.effective.load.get_mut("writers").unwrap().topic = "other".into();
    assert_eq!(reported(&trial, "caught_up_per_s"), Some(Value::Is(21_000.0 / 0.43)));
}

#[test]
fn without_its_own_word_the_drain_rate_is_of_whole_seconds() {
    let fetched = |trial: &mut TrialFixture| {
        for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second) {
            row.counts.fetched = 5_000;
        }
        trial.take_totals();
    };
    let mut trial = late(3 * S, [4_000, 2_500, 1_001, 1_000, 0, 0, 0].map(Some));
    fetched(&mut trial);
    assert_eq!(reported(&trial, "caught_up_per_s"), Some(Value::Is(5_000.0)), "20,000 in 4 s");
    let mut trial = late(3 * S, [Some(1_001); 7]);
    fetched(&mut trial);
    assert_eq!(
        reported(&trial, "caught_up_per_s"),
        Some(Value::Is(5_000.0)),
        "it never had: to the window's end"
    );
    assert_eq!(reported(&TrialFixture::clean(), "caught_up_per_s"), None, "it was there from the beginning");
}

/// It had nothing left by chance, long after it had caught up but for what came in a second.
#[test]
fn a_lag_of_nothing_that_comes_late_is_not_waited_for() {
    let mut trial = late(3 * S, [4_000, 2_500, 1_001, 1_000, 900, 900, 0].map(Some));
    let totals = trial.totals.iter_mut().find(|totals| totals.id == READERS).expect("the readers' totals");
    totals.caught_up = Some(CaughtUp { at_ns: 11_500 * MS, records: 7 });
    assert_eq!(caught_up(&trial), Some(Value::Is(4e9)));
}

#[test]
fn a_late_client_has_caught_up_once_it_lags_by_one_second() {
    let lags = [4_000, 2_500, 1_001, 1_000, 3_000, 0, 0].map(Some);
    // The second that ends 9 s after T0, and they came 5 s after it.
    assert_eq!(caught_up(&late(3 * S, lags)), Some(Value::Is(4e9)));
    assert_eq!(caught_up(&late(3_500 * MS, lags)), Some(Value::Is(3.5e9)));
    // A second of records is what was acknowledged in it.
    let mut trial = late(3 * S, lags);
    trial.counts(8).acknowledged = 999;
    assert_eq!(caught_up(&trial), Some(Value::Is(6e9)));
}

#[test]
fn who_never_catches_up_has_not_for_as_long_as_it_was_there() {
    assert_eq!(caught_up(&late(3 * S, [Some(1_001); 7])), Some(Value::AtLeast(7e9)));
    let mut trial = late(3 * S, [Some(1_001); 7]);
    trial.start.trial.effective.load.get_mut("readers").unwrap().span.until_ns = Some(8 * S);
    assert_eq!(caught_up(&trial), Some(Value::AtLeast(5e9)));
}

/// While a consumer does not know where the log ends, it is unknown how far behind it is.
#[test]
fn who_does_not_know_the_logs_end_has_not_caught_up_yet() {
    let lags = [None, None, Some(1_500), None, Some(200), Some(0), Some(0)];
    assert_eq!(caught_up(&late(3 * S, lags)), Some(Value::Is(5e9)));
}

#[test]
fn clients_from_the_start_or_of_other_topics_need_no_catch_up() {
    assert_eq!(caught_up(&TrialFixture::clean()), None);
    let mut trial = late(3 * S, [Some(0); 7]);
    assert_eq!(caught_up(&trial), Some(Value::Is(1e9)));
    trial.start.trial.effective.load.get_mut("writers").unwrap().topic = "other".into();
    assert_eq!(caught_up(&trial), None);
}
