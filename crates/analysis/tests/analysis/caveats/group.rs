//! Consumer groups: what their members were handed against what their topic was given.

use crate::attached::target;
use crate::fixture::{PER_SECOND, READERS, TrialFixture, event};
use kdyno_model::caveat::{Caveat, GroupNotConserved, Severity};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::finding::Value::Is;
use kdyno_model::plan::{ConsumePlan, GroupPlan, GroupProtocol, LoadSpan, Role, StartOffset, SystemPlan};
use kdyno_model::sample::{Grain, MemberTotals};

/// The load of twelve seconds.
const ACKNOWLEDGED: u64 = 12 * PER_SECOND;

/// A clean trial whose readers are a group.
fn grouped(change: impl Fn(&mut ConsumePlan)) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let Role::Consume(consume) = &mut trial.start.trial.effective.load.get_mut("readers").unwrap().role
    else {
        panic!("readers consume")
    };
    consume.group = Some(GroupPlan {
        name: "billing".into(),
        id: None,
        protocol: GroupProtocol::Consumer { assignor: None },
        instance_id: None,
        poll_interval_max_ns: 300_000_000_000,
        auto_commit_ns: None,
    });
    change(consume);
    trial
}

fn reported(trial: &TrialFixture) -> Vec<Caveat> {
    let found = trial
        .reported(|caveat| matches!(caveat, Caveat::GroupNotConserved(_) | Caveat::AssignedNotGroup { .. }));
    assert!(found.iter().all(|one| one.severity == Severity::Warning), "{found:?}");
    found.into_iter().map(|one| one.caveat).collect()
}

fn not_conserved(most: u64, handed_over: u64) -> Vec<Caveat> {
    let (group, topic) = ("billing".to_owned(), "perf".to_owned());
    vec![Caveat::GroupNotConserved(GroupNotConserved {
        group,
        topic,
        least: ACKNOWLEDGED,
        most,
        handed_over,
    })]
}

/// Changes what a stream's totals say.
fn with(
    mut trial: TrialFixture,
    item: &str,
    change: impl Fn(&mut kdyno_model::sample::Counts),
) -> TrialFixture {
    let stream = trial.start.streams.iter().find(|stream| stream.name == item).unwrap().id;
    change(&mut trial.totals.iter_mut().find(|totals| totals.id == stream).unwrap().counts);
    trial
}

#[test]
fn a_group_that_was_handed_everything_has_nothing_to_doubt() {
    assert_eq!(reported(&grouped(|_| {})), []);
    let again = with(grouped(|_| {}), "readers", |counts| {
        (counts.fetched, counts.duplicates) = (counts.fetched + 40, 40);
    });
    assert_eq!(reported(&again), [], "duplicates are left out");
    let before = with(grouped(|consume| consume.from = StartOffset::Earliest), "readers", |counts| {
        counts.fetched += 7000
    });
    assert_eq!(reported(&before), [], "what the topic held before");
}

#[test]
fn the_completeness_of_a_group_is_reported_with_its_figures() {
    grouped(|_| {}).is("readers.conserved", 1.0);
    with(grouped(|_| {}), "readers", |counts| counts.fetched -= 3).is("readers.conserved", 0.0);
    // What a transaction took back was acknowledged and must not be handed over: that cannot be judged.
    let aborted = with(grouped(|_| {}), "writers", |counts| counts.aborted = 7);
    for (trial, why) in [(aborted, "aborted"), (TrialFixture::clean(), "in no group")] {
        assert!(!trial.findings().iter().any(|found| found.of.metric == "conserved"), "{why}");
    }
}

#[test]
fn missing_and_surplus_records_are_reported() {
    let missing = with(grouped(|_| {}), "readers", |counts| counts.fetched -= 3);
    assert_eq!(reported(&missing), not_conserved(ACKNOWLEDGED, ACKNOWLEDGED - 3));
    let uncounted = with(grouped(|_| {}), "readers", |counts| counts.duplicates = 5);
    assert_eq!(reported(&uncounted), not_conserved(ACKNOWLEDGED, ACKNOWLEDGED - 5));
    let more = |retried_records| {
        let trial = with(grouped(|_| {}), "readers", |counts| counts.fetched += 2);
        with(trial, "writers", move |counts| counts.retried_records = retried_records)
    };
    assert_eq!(reported(&more(0)), not_conserved(ACKNOWLEDGED, ACKNOWLEDGED + 2));
    assert_eq!(reported(&more(2)), [], "records sent again may be there twice");
}

#[test]
fn what_cannot_be_known_is_not_judged() {
    let mut gone = with(grouped(|_| {}), "readers", |counts| counts.fetched -= 3);
    gone.events = vec![event(EventKind::RecordsSkipped, Subject::Item("readers".into()), "3 records")];
    assert_eq!(reported(&gone), []);
    let mut cut = with(grouped(|_| {}), "readers", |counts| counts.fetched -= 3);
    cut.events = vec![event(EventKind::CutShort, Subject::Kdyno, "interrupted")];
    assert_eq!(reported(&cut), []);
    for (at_ns, until_ns) in [(Some(1), None), (None, Some(1))] {
        let mut away = with(grouped(|_| {}), "readers", |counts| counts.fetched -= 3);
        let item = away.start.trial.effective.load.get_mut("readers").unwrap();
        item.span = LoadSpan { at_ns, until_ns };
        assert_eq!(reported(&away), [], "{at_ns:?} {until_ns:?}");
    }
    let aborted = with(grouped(|_| {}), "writers", |counts| counts.aborted = 1);
    assert_eq!(reported(&with(aborted, "readers", |counts| counts.fetched -= 3)), []);
    // Others may write to the second topic of each client.
    let mut second = with(grouped(|_| {}), "readers", |counts| counts.fetched += 3);
    let effective = &mut second.start.trial.effective;
    let mut system = target(None);
    if let SystemPlan::Attached(target) = &mut system {
        target.topics.insert("second".to_owned(), "team-a.load".to_owned());
    }
    effective.system = system;
    effective.topics.insert("second".to_owned(), effective.topics["perf"].clone());
    for item in effective.load.values_mut() {
        (item.more_topics, item.shared_topics) = (vec!["second".to_owned()], true);
    }
    assert_eq!(reported(&second), []);
}

#[test]
fn members_that_were_put_out_are_counted_with_the_setting() {
    let mut trial = grouped(|_| {});
    let found = |trial: &TrialFixture| trial.reported(|caveat| matches!(caveat, Caveat::MembersPutOut(_)));
    assert_eq!(found(&trial), [], "none was");
    for totals in trial.totals.iter_mut().filter(|totals| totals.counts.fetched > 0) {
        for (client, losses) in totals.clients.iter_mut().zip([2, 1]) {
            client.member = Some(MemberTotals { losses, ..MemberTotals::default() });
        }
    }
    let found = found(&trial);
    let Caveat::MembersPutOut(put_out) = &found[0].caveat else { panic!("{found:?}") };
    assert_eq!(
        (put_out.item.as_str(), put_out.losses, put_out.poll_interval_max_ns),
        ("readers", 3, 300_000_000_000)
    );
}

#[test]
fn a_failed_member_is_reported_with_the_first_reason() {
    let mut trial = grouped(|_| {});
    let failed = |detail| event(EventKind::MemberFailed, Subject::Item("readers".into()), detail);
    trial.events = vec![failed("client 1: it is fenced"), failed("client 2: so is this one")];
    let found = trial.reported(|caveat| matches!(caveat, Caveat::MemberFailed { .. }));
    let expected = Caveat::MemberFailed { item: "readers".into(), first: "client 1: it is fenced".into() };
    assert_eq!(found.into_iter().map(|one| one.caveat).collect::<Vec<_>>(), [expected]);
}

#[test]
fn figures_of_members_are_those_of_the_measure_phase() {
    let mut trial = grouped(|_| {});
    let of = |measured_records| Some(MemberTotals { measured_records, ..MemberTotals::default() });
    for totals in trial.totals.iter_mut().filter(|totals| totals.counts.fetched > 0) {
        totals.clients[0].member = of(100);
        totals.clients[1].member = of(300);
    }
    let mut rows = trial.samples.iter_mut().filter(|row| row.id == READERS && row.grain == Grain::Second);
    rows.find(|row| row.t0_second == 5).unwrap().counts.offset_commits = 4;
    let figure = |name: &str| {
        let found = trial.findings().into_iter().find(|finding| finding.of.to_string() == name);
        found.map(|finding| finding.estimate)
    };
    assert_eq!(figure("readers.member_records_least"), Some(Is(100.0)));
    assert_eq!(figure("readers.member_records_most"), Some(Is(300.0)));
    assert_eq!(figure("readers.member_records_cv"), Some(Is(0.5)));
    assert_eq!(
        (figure("readers.offset_commits"), figure("readers.rebalances")),
        (Some(Is(4.0)), Some(Is(0.0)))
    );
    assert_eq!(figure("readers.rebalance.max"), None, "there was none");
    let without = TrialFixture::clean().findings();
    assert!(without.iter().all(|finding| finding.of.metric != "offset_commits"), "a reader without a group");
}
