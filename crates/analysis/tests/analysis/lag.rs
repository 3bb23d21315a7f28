//! When consumers that come late have caught up.

use crate::fixture::{MS, READERS, S, Trial};
use kdyno_model::finding::Value;
use kdyno_model::plan::LoadSpan;
use kdyno_model::sample::Grain;

/// Readers that come `at_ns` into the measure phase, which begins 2 s after T0; in each second from the fifth on they are so far
/// behind at its end, and 1000 records are written in each.
fn late(at_ns: u64, lags: [Option<u64>; 7]) -> Trial {
    let mut trial = Trial::clean();
    let span = LoadSpan { at_ns: Some(at_ns), until_ns: None };
    trial.start.trial.effective.load.get_mut("readers").unwrap().span = span;
    trial.samples.retain(|row| row.id != READERS || row.written_second >= 5);
    for row in trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second) {
        row.counts.lag_records = lags[row.written_second as usize - 5];
    }
    trial.take_totals();
    trial
}

fn caught_up(trial: &Trial) -> Option<Value> {
    let mut findings = trial.findings().into_iter();
    findings.find(|one| one.of.to_string() == "readers.caught_up").map(|one| one.estimate)
}

#[test]
fn who_comes_late_has_caught_up_at_the_end_of_the_first_second_at_most_one_second_behind() {
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

/// While a consumer has not been told where the log ends, nobody knows how far behind it is.
#[test]
fn who_does_not_know_the_logs_end_has_not_caught_up_yet() {
    let lags = [None, None, Some(1_500), None, Some(200), Some(0), Some(0)];
    assert_eq!(caught_up(&late(3 * S, lags)), Some(Value::Is(5e9)));
}

#[test]
fn who_is_there_from_the_beginning_or_reads_what_others_wrote_has_nothing_to_catch_up_with() {
    assert_eq!(caught_up(&Trial::clean()), None);
    let mut trial = late(3 * S, [Some(0); 7]);
    assert_eq!(caught_up(&trial), Some(Value::Is(1e9)));
    trial.start.trial.effective.load.get_mut("writers").unwrap().topic = "other".into();
    assert_eq!(caught_up(&trial), None);
}
