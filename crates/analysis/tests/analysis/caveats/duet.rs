//! Trials whose other side ran at once.

use super::host::{other, written};
use crate::fixture::{S, TrialFixture};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::Subject;
use kdyno_model::sample::{Phase, ProbeReading, series};
use kdyno_model::trial::TrialReason;

/// Half of a duet, measured from 2 s to 12 s, and the other one from and to these seconds.
fn half_of_a_duet(from_s: f64, to_s: f64) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    trial.start.trial.reason = TrialReason::Duet;
    for (name, value) in [(series::MEASURE_START_S, from_s), (series::MEASURE_END_S, to_s)] {
        trial.probes.push(ProbeReading {
            at_ns: (value * S as f64) as i64,
            subject: Subject::OtherSide(0),
            series: name.to_owned(),
            value,
        });
    }
    trial
}

fn share(trial: &TrialFixture) -> Option<f64> {
    let found = trial.reported(|caveat| matches!(caveat, Caveat::NotAtOnce { .. }));
    found.first().map(|found| match found.caveat {
        Caveat::NotAtOnce { share } if found.severity == Severity::Warning => (share * 1e6).round() / 1e6,
        _ => panic!("{found:?}"),
    })
}

#[test]
fn the_two_of_a_duet_are_measured_in_the_same_seconds() {
    for (from_s, to_s, reported) in [
        (2.0, 12.0, None),
        (0.0, 20.0, None),
        (2.5, 12.5, None),
        (2.51, 12.51, Some(0.949)),
        (1.0, 11.0, Some(0.9)),
        (12.0, 22.0, Some(0.0)),
        (20.0, 30.0, Some(0.0)),
    ] {
        assert_eq!(share(&half_of_a_duet(from_s, to_s)), reported, "{from_s} to {to_s}");
    }
    let mut unknown = half_of_a_duet(2.0, 12.0);
    unknown.probes.retain(|reading| reading.series != series::MEASURE_END_S);
    assert_eq!(share(&unknown), Some(0.0), "what was not told was not seen to be at once");
    unknown.start.trial.reason = TrialReason::Pair;
    assert_eq!(share(&unknown), None, "sides that take turns are not measured at once");
    let mut unmeasured = half_of_a_duet(20.0, 30.0);
    unmeasured.phases.retain(|span| span.phase != Phase::Measure);
    assert_eq!(share(&unmeasured), None, "that it was cut short is what is told");
    let mut killed = half_of_a_duet(20.0, 30.0);
    killed.totals.clear();
    assert_eq!(share(&killed), None, "so it is where nothing told when the other one was measured");
}

#[test]
fn what_the_other_side_used_is_no_other_program() {
    let used = |trial: &mut TrialFixture, cores: f64| {
        trial.counter(Subject::OtherSide(0), series::CPU_USER_S_TOTAL, cores / 2.0);
        trial.counter(Subject::OtherSide(1), series::CPU_USER_S_TOTAL, cores / 2.0);
        for number in 0..2 {
            trial.counter(Subject::OtherSide(number), series::CPU_SYSTEM_S_TOTAL, 0.0);
        }
    };
    let mut trial = half_of_a_duet(2.0, 12.0);
    other(&mut trial, 0.6);
    used(&mut trial, 0.6);
    assert_eq!(trial.caveats(), [], "all of it is the other side's");
    other(&mut trial, 0.5);
    let found = trial.caveats();
    let [(Severity::Warning, Caveat::OtherLoad { cpu_percent })] = found[..] else {
        panic!("expected one caveat: {found:?}")
    };
    assert!((cpu_percent - 50.0).abs() < 1e-6, "{cpu_percent}");
}

#[test]
fn drive_writes_are_compared_with_what_one_side_was_given() {
    let share = |bytes_per_s| {
        let mut trial = half_of_a_duet(2.0, 12.0);
        written(&mut trial, bytes_per_s);
        trial.reported(|caveat| matches!(caveat, Caveat::PageCacheAbsorbed { .. })).len()
    };
    // Given 150,000 × 2 replicas per second; the other side may write elsewhere, or less.
    assert_eq!((share(149_000.0), share(151_000.0)), (1, 0));
}

#[test]
fn what_the_other_side_used_is_drawn_with_its_own_trial() {
    let mut trial = half_of_a_duet(2.0, 12.0);
    trial.counter(Subject::OtherSide(0), series::CPU_USER_S_TOTAL, 0.5);
    trial.counter(Subject::OtherSide(0), series::CPU_SYSTEM_S_TOTAL, 0.1);
    let drawn = kdyno_analysis::series::trial(&trial).expect("whole rows").cpu;
    assert!(drawn.iter().any(|course| course.subject == Subject::Broker(0)));
    assert!(drawn.iter().all(|course| !matches!(course.subject, Subject::OtherSide(_))), "{drawn:?}");
}
