//! What a short window does not show, and which figures say so.

use super::{STEADY, is_marked};
use crate::fixture::{TrialFixture, closed_loop};
use kdyno_model::conclusion::ShortTerm;
use kdyno_model::finding::Mark;
use kdyno_model::plan::{Storage, SystemPlan};
use kdyno_model::trial::TrialReason;

#[test]
fn sustained_load_fills_segments_and_dirty_pages() {
    let short_term = |trial: &TrialFixture| trial.steadiness("writers").short_term;
    // 130 bytes of about 1000 records/s for 20 s into four partitions: 650 kB each, 5.2 MB of two replicas.
    let mut trial = STEADY.trial();
    let [ShortTerm::SegmentRolls { seen, needed: 2 }] = short_term(&trial)[..] else { panic!() };
    assert!((seen * f64::from(1 << 30) / 650_000.0 - 1.0).abs() < 0.05, "{seen}");
    let mut of_brokers = trial.clone();
    let SystemPlan::Local(cluster) = &mut of_brokers.start.trial.effective.system else { panic!() };
    cluster.config.insert("log.segment.bytes".to_owned(), "300000".to_owned());
    assert_eq!(short_term(&of_brokers), []);
    let topic = trial.start.trial.effective.topics.get_mut("perf").unwrap();
    topic.config.insert("segment.bytes".to_owned(), "300000".to_owned());
    assert_eq!(short_term(&trial), []);
    let mut dirty = |bytes: &str| {
        trial.session.host_facts.insert("dirty_background_bytes".to_owned(), bytes.to_owned());
        short_term(&trial)
    };
    let [ShortTerm::FlushCycles { seen, needed: 3 }] = dirty("2000000")[..] else { panic!() };
    assert!((seen - 2.6).abs() < 0.1, "{seen}");
    assert_eq!(dirty("1500000"), []);
    assert_eq!(trial.steadiness("readers").short_term, []);
}

/// Each of several topics gets as many records, and has segments and replicas of its own.
#[test]
fn segments_and_replicas_of_each_topic_count() {
    let mut trial = STEADY.trial();
    let effective = &mut trial.start.trial.effective;
    let mut second = effective.topics["perf"].clone();
    second.replicas = 4;
    let first = effective.topics.get_mut("perf").unwrap();
    first.config.insert("segment.bytes".to_owned(), "300000".to_owned());
    effective.topics.insert("second".to_owned(), second);
    for item in effective.load.values_mut() {
        (item.more_topics, item.shared_topics) = (vec!["second".to_owned()], true);
    }
    // 325 kB into each partition; 7.8 MB of three replicas in the mean.
    trial.session.host_facts.insert("dirty_background_bytes".to_owned(), "2000000".to_owned());
    let found = trial.steadiness("writers").short_term;
    let [ShortTerm::SegmentRolls { seen, needed: 2 }] = found[..] else { panic!("{found:?}") };
    assert!((seen * f64::from(1 << 30) / 325_000.0 - 1.0).abs() < 0.05, "{seen}");
}

#[test]
fn what_a_short_window_does_not_show_is_marked_short_term() {
    let with = |dirty: Option<&str>, change: &dyn Fn(&mut TrialFixture)| {
        let mut trial = STEADY.trial();
        let fact = dirty.map(|bytes| ("dirty_background_bytes".to_owned(), bytes.to_owned()));
        trial.session.host_facts.extend(fact);
        change(&mut trial);
        trial.marked(Mark::ShortTerm)
    };
    let is_closed = |trial: &mut TrialFixture| trial.writers().rate = closed_loop();
    let has_small_segments = |trial: &mut TrialFixture| {
        let topic = trial.start.trial.effective.topics.get_mut("perf").unwrap();
        topic.config.insert("segment.bytes".to_owned(), "300000".to_owned());
    };
    let (rare, p99) = ("writers.response.p99.9", "writers.response.p99");
    let never = ["writers.response.p50", "brokers.cpu_us_per_record", "readers.fetched_per_s"];
    // Too few segments, dirty pages not known: only what lies beyond p99 of a given rate.
    let marked = with(None, &|_| ());
    is_marked(
        &marked,
        &[rare, "writers.response.max"],
        &[&never[..], &[p99, "writers.acked_per_s"]].concat(),
    );
    assert!(with(None, &is_closed).is_empty(), "a maximum does not change for segments");
    assert!(with(None, &has_small_segments).is_empty());
    // Too few dirty pages written: p99, or a maximum.
    let marked = with(Some("2000000"), &has_small_segments);
    is_marked(&marked, &[rare, p99], &[&never[..], &["writers.acked_per_s"]].concat());
    let marked = with(Some("2000000"), &is_closed);
    is_marked(
        &marked,
        &["writers.acked_per_s", "writers.acked_mib_per_s"],
        &[&never[..], &[rare, p99]].concat(),
    );
    assert!(with(Some("1500000"), &is_closed).is_empty(), "three times as much was written");
    // Logs in memory are not written; the sides of a comparison are as short; a target has its own minimum.
    let in_memory = |trial: &mut TrialFixture| {
        let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!() };
        cluster.storage = Storage::Memory;
        trial.writers().rate = closed_loop();
    };
    assert!(with(Some("2000000"), &in_memory).is_empty());
    let in_a_pair = |trial: &mut TrialFixture| trial.start.trial.reason = TrialReason::Pair;
    assert!(with(Some("2000000"), &in_a_pair).is_empty());
    // How late the generator was has nothing to do with it.
    let marked = TrialFixture::clean().marked(Mark::ShortTerm);
    let own = ["writers.schedule_delay.max", "writers.callback.p99.9"];
    is_marked(&marked, &["writers.request.max", "writers.service.p99.9"], &own);
}
