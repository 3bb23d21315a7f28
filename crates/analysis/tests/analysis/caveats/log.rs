//! Truth from the log.

use super::assert_caveats;
use crate::fixture::{S, TrialFixture, WRITERS, event};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::Mark;

/// Acknowledged by the clean trial: twelve seconds.
const ACKNOWLEDGED: u64 = 12_000;

fn reported(trial: &TrialFixture) -> Vec<Caveat> {
    let of_log = trial.reported(|found| {
        matches!(found, Caveat::Lost { .. } | Caveat::LogUnexplained { .. } | Caveat::LogNotChecked { .. })
    });
    of_log.into_iter().map(|found| found.caveat).collect()
}

#[test]
fn a_log_that_lacks_one_acknowledged_record_is_invalid_as_loss() {
    let mut trial = TrialFixture::clean();
    trial.log_grows(ACKNOWLEDGED - 1);
    let lost = Caveat::Lost { topic: "perf".into(), acknowledged: ACKNOWLEDGED, growth: ACKNOWLEDGED - 1 };
    assert_eq!(trial.caveats(), [(Severity::Invalid, lost)]);
    let findings = trial.findings();
    assert_eq!(trial.marked(Mark::Invalid).len(), findings.len(), "no figure may be used");
}

#[test]
fn what_was_refused_left_open_or_sent_again_may_be_there() {
    let with = |failed: u64, unresolved: u64, retried: u64, growth: u64| {
        let mut trial = TrialFixture::clean();
        let counts = &mut trial.totals[1].counts;
        counts.offered += failed + unresolved;
        counts.failed.insert("NOT_ENOUGH_REPLICAS_AFTER_APPEND".into(), failed);
        (counts.unresolved, counts.retried_records) = (unresolved, retried);
        trial.log_grows(growth);
        reported(&trial)
    };
    assert_eq!(with(0, 0, 0, ACKNOWLEDGED), []);
    assert_eq!(with(10, 5, 0, ACKNOWLEDGED + 15), []);
    let unexplained =
        |expected_max, growth| vec![Caveat::LogUnexplained { topic: "perf".into(), expected_max, growth }];
    assert_eq!(with(10, 5, 0, ACKNOWLEDGED + 16), unexplained(ACKNOWLEDGED + 15, ACKNOWLEDGED + 16));
    assert_eq!(with(0, 0, 0, ACKNOWLEDGED + 1), unexplained(ACKNOWLEDGED, ACKNOWLEDGED + 1));
    assert_eq!(with(0, 0, 2, ACKNOWLEDGED + 2), []);
    assert_eq!(with(0, 0, 2, ACKNOWLEDGED + 3), unexplained(ACKNOWLEDGED + 2, ACKNOWLEDGED + 3));
    // More than was offered is no excuse for less than was acknowledged.
    assert!(matches!(with(10, 5, 3, ACKNOWLEDGED - 1)[..], [Caveat::Lost { .. }]));
}

/// A marker takes an offset and is no record: it hides no loss, and is not one.
#[test]
fn markers_of_transactions_are_taken_off() {
    let with = |markers: u64, unsure: u64, growth: u64| {
        let mut trial = TrialFixture::clean();
        let counts = &mut trial.totals[1].counts;
        (counts.markers, counts.markers_unsure) = (markers, unsure);
        trial.log_grows(growth);
        reported(&trial)
    };
    assert_eq!(with(40, 0, ACKNOWLEDGED + 40), []);
    assert_eq!(with(40, 2, ACKNOWLEDGED + 42), []);
    let (topic, acknowledged) = ("perf".to_owned(), ACKNOWLEDGED);
    let lost = Caveat::Lost { topic: topic.clone(), acknowledged, growth: ACKNOWLEDGED - 1 };
    assert_eq!(with(40, 2, ACKNOWLEDGED + 39), [lost]);
    let expected_max = ACKNOWLEDGED + 2;
    let unexplained = Caveat::LogUnexplained { topic, expected_max, growth: ACKNOWLEDGED + 3 };
    assert_eq!(with(40, 2, ACKNOWLEDGED + 43), [unexplained]);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let not_checked = |detail: &str| Caveat::LogNotChecked { topic: "perf".into(), detail: detail.into() };
    let unread = "its end offsets were not read before and after the load";
    assert_caveats([
        (
            |trial| {
                let topic = Subject::Topic("perf".into());
                trial.events = vec![event(EventKind::LogUnchecked, topic, "not authorised")];
                trial.log_grows(0);
            },
            Severity::Note,
            not_checked("not authorised"),
        ),
        (
            |trial| trial.probes.retain(|reading| reading.at_ns < 15 * S.cast_signed()),
            Severity::Note,
            not_checked(unread),
        ),
        (
            |trial| {
                let before = -S.cast_signed() / 2;
                trial.probes.retain(|reading| reading.at_ns != before);
            },
            Severity::Note,
            not_checked(unread),
        ),
    ]);
    // Where a broker died, records may well be lost, unseen.
    let dead = |kind, subject| {
        let mut trial = TrialFixture::clean();
        let unchecked = event(EventKind::LogUnchecked, Subject::Topic("perf".into()), "not authorised");
        trial.events = vec![unchecked, event(kind, subject, "broker 1 is gone")];
        trial.reported(|found| matches!(found, Caveat::LogNotChecked { .. }))[0].severity
    };
    assert_eq!(dead(EventKind::ProcessDied, Subject::Broker(1)), Severity::Warning);
    assert_eq!(dead(EventKind::BrokersChanged, Subject::Broker(1)), Severity::Warning);
    assert_eq!(dead(EventKind::ProcessDied, Subject::Controller(1)), Severity::Note);
    // Another topic's trouble is not this one's.
    let mut trial = TrialFixture::clean();
    trial.events = vec![event(EventKind::LogUnchecked, Subject::Topic("other".into()), "not authorised")];
    assert_eq!(reported(&trial), []);
    trial.totals.retain(|totals| totals.id != WRITERS);
    assert_eq!(reported(&trial), [not_checked("not every stream gave its totals")]);
}

#[test]
fn without_acknowledgements_the_log_is_reported_as_unchecked() {
    let mut trial = TrialFixture::clean();
    trial.log_grows(0);
    trial.writers().client.acks = 0;
    let written = Caveat::WrittenNotAppended { item: "writers".into() };
    assert_eq!(trial.caveats(), [(Severity::Warning, written)]);
    trial.writers().client.acks = 1;
    assert!(matches!(reported(&trial)[..], [Caveat::Lost { .. }]));
}

#[test]
fn missing_unacknowledged_records_are_reported_after_a_hang_up() {
    let mut trial = TrialFixture::clean();
    let written = ACKNOWLEDGED;
    trial.writers().client.acks = 0;
    let said = |trial: &TrialFixture| trial.reported(|found| matches!(found, Caveat::NotAppended { .. }));
    trial.log_grows(0);
    assert_eq!(said(&trial), [], "it may not have read what sockets held");
    trial.events =
        vec![event(EventKind::Disconnected, Subject::Item("writers".into()), "the connection ended")];
    for (growth, severity) in [(0, Severity::Invalid), (written - 1, Severity::Warning)] {
        trial.log_grows(growth);
        let found = said(&trial);
        assert_eq!(found[0].caveat, Caveat::NotAppended { item: "writers".into(), written, growth });
        assert_eq!((found.len(), found[0].severity), (1, severity));
    }
    trial.log_grows(written);
    assert_eq!(said(&trial), []);
}

#[test]
fn of_several_readings_the_last_on_either_side_count() {
    let mut trial = TrialFixture::clean();
    let mut earlier: Vec<_> =
        trial.probes.iter().filter(|reading| matches!(reading.subject, Subject::Topic(_))).cloned().collect();
    earlier[0].at_ns -= S.cast_signed();
    earlier[0].value = 5.0;
    earlier[1].at_ns -= S.cast_signed();
    earlier[1].value -= 100.0;
    trial.probes.extend(earlier);
    assert_eq!(reported(&trial), []);
}
