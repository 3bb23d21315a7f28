//! What happened to the cluster and to the trial as a whole.

use super::assert_caveats;
use crate::fixture::{TrialFixture, event};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::plan::PHASE_NS_MAX;

#[test]
fn each_event_that_makes_a_trial_doubtful_is_reported() {
    assert_caveats([
        (
            |trial| trial.events = vec![event(EventKind::ProcessDied, Subject::Broker(1), "exit 137"); 2],
            Severity::Warning,
            Caveat::ProcessDied { subject: Subject::Broker(1) },
        ),
        (
            |trial| {
                trial.events = vec![
                    event(
                        EventKind::UnknownSetting,
                        Subject::Setting("num.io.thread".into()),
                        "not known"
                    );
                    2
                ]
            },
            Severity::Warning,
            Caveat::UnknownSetting { setting: "num.io.thread".into(), detail: "not known".into() },
        ),
        (
            |trial| trial.events = vec![event(EventKind::HostShared, Subject::Host, "run 7"); 2],
            Severity::Warning,
            Caveat::HostShared { detail: "run 7".into() },
        ),
        (
            |trial| {
                trial.events = ["first", "second"]
                    .map(|d| event(EventKind::FetchError, Subject::Item("readers".into()), d))
                    .into();
                // Before T0 nothing is measured.
                let before_t0 = Event { at_ns: None, ..trial.events[0].clone() };
                trial.events.push(before_t0);
            },
            Severity::Warning,
            Caveat::FetchErrors { item: "readers".into(), events: 2, first: "first".into() },
        ),
        (
            |trial| {
                let item = || Subject::Item("writers".into());
                trial.events = ["it is fenced", "so is this one"]
                    .map(|detail| event(EventKind::ProducerEnded, item(), detail))
                    .into();
                // One that got no id has ended before T0.
                trial.events[0].at_ns = None;
            },
            Severity::Invalid,
            Caveat::ProducerEnded { item: "writers".into(), first: "it is fenced".into() },
        ),
        (
            |trial| {
                trial.events =
                    vec![event(EventKind::RecordsSkipped, Subject::Item("readers".into()), "5 records")]
            },
            Severity::Warning,
            Caveat::RecordsSkipped { item: "readers".into(), events: 1, first: "5 records".into() },
        ),
        (
            |trial| trial.events = vec![event(EventKind::CutShort, Subject::Kdyno, "interrupted")],
            Severity::Warning,
            Caveat::CutShort { reason: "interrupted".into(), measured_s: 9, planned_s: 10, went_on: false },
        ),
        (
            |trial| {
                // As long as can be: its end was not to come by time.
                trial.start.trial.effective.phases.measure_ns = PHASE_NS_MAX;
                trial.events = vec![event(EventKind::CutShort, Subject::Kdyno, "interrupted")];
            },
            Severity::Warning,
            Caveat::CutShort { reason: "interrupted".into(), measured_s: 9, planned_s: 0, went_on: false },
        ),
    ]);
}

#[test]
fn cluster_events_since_t0_are_reported_once_per_kind() {
    use EventKind::{
        BrokersChanged, IsrExpanded, IsrShrunk, LeaderMoved, Refused, Throttled, TransactionAborted,
        Unreachable,
    };
    for kind in [LeaderMoved, Unreachable, BrokersChanged, IsrShrunk, Throttled, TransactionAborted] {
        let at = |at_ns, detail| Event { at_ns, ..event(kind, Subject::Broker(1), detail) };
        let mut trial = TrialFixture::clean();
        trial.events = vec![at(None, "before"), at(Some(-1), "just before")];
        assert_eq!(trial.caveats(), [], "{kind}");
        trial.events.extend([at(Some(9), "second"), at(Some(0), "first")]);
        let changed = Caveat::ClusterChanged { event: kind.to_string(), events: 2, first: "first".into() };
        assert_eq!(trial.caveats(), [(Severity::Warning, changed)]);
    }
    for kind in [IsrExpanded, Refused] {
        let mut trial = TrialFixture::clean();
        trial.events = vec![event(kind, Subject::Broker(1), "x")];
        assert_eq!(trial.caveats(), [], "{kind}");
    }
}

#[test]
fn brokers_that_met_no_load_before_are_reported() {
    assert_caveats([(
        |trial| {
            let event = event(EventKind::Unconditioned, Subject::Brokers, "x");
            trial.events = vec![Event { at_ns: None, ..event }];
        },
        Severity::Warning,
        Caveat::Unconditioned,
    )]);
}
