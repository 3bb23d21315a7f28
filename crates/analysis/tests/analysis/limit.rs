//! What the limit was, on made-up trials that are at one.

mod delay;

use crate::fixture::{MS, PER_SECOND, S, TrialFixture, closed_loop};
use kdyno_model::conclusion::{Limit, LimitEvidence, LimitKind, of_kind};
use kdyno_model::event::Subject;
use kdyno_model::finding::Scope;
use kdyno_model::plan::{AttachedPlan, JitterLaw, LinkPlan, SystemPlan, TopicPlan, ZonesPlan};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::series;
use kdyno_model::trial::{TrialId, TrialReason};
use std::collections::BTreeMap;

fn limits(trial: &TrialFixture) -> Vec<Limit> {
    of_kind(&trial.judged().conclusions).cloned().collect()
}

pub fn limit(trial: &TrialFixture) -> Limit {
    let mut found = limits(trial);
    assert_eq!(found.len(), 1, "one item produces: {found:?}");
    let limit = found.remove(0);
    assert_eq!((limit.scope, limit.item.as_str()), (Scope::Trial(TrialId(1)), "writers"));
    limit
}

pub fn of(limit: &Limit, kind: LimitKind) -> &LimitEvidence {
    limit.evidence.iter().find(|one| one.kind == kind).unwrap()
}

pub fn close(found: Option<f64>, wanted: f64) {
    assert!(found.is_some_and(|found| (found - wanted).abs() < 1e-3), "{found:?} is not {wanted}");
}

/// A clean trial at the maximum rate: the host is busy for 45 %, the writers' thread for 30 %.
fn at_maximum() -> TrialFixture {
    let mut trial = TrialFixture::clean();
    trial.writers().rate = closed_loop();
    trial.threads([("writers", 0.3), ("readers", 0.9)]);
    trial
}

/// So much of the host's two processors is busy, by brokers or by others.
pub fn host_busy(trial: &mut TrialFixture, share: f64) {
    for reading in trial.probes.iter_mut().filter(|reading| reading.subject == Subject::Host) {
        let t = (reading.at_ns - 300_000_000) as f64 / S as f64 + 1.0;
        match reading.series.as_str() {
            series::CPU_USER_S_TOTAL => reading.value = 2.0 * share * t - 0.2 * t,
            series::CPU_IDLE_S_TOTAL => reading.value = (1.9 - 2.0 * share) * t,
            _ => {}
        }
    }
}

pub fn used_times(trial: &mut TrialFixture, times: f64, is_one: fn(&Subject) -> bool) {
    for reading in trial.probes.iter_mut().filter(|reading| is_one(&reading.subject)) {
        let used = [series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL];
        if used.contains(&reading.series.as_str()) {
            reading.value *= times;
        }
    }
}

#[test]
fn where_nothing_was_the_limit_the_schedule_was() {
    let mut trial = TrialFixture::clean();
    trial.threads([("writers", 0.3)]);
    let found = limit(&trial);
    assert_eq!((found.named, found.runner_up), (LimitKind::Schedule, Some(LimitKind::BrokerProcessors)));
    // The next one is the fullest of all, requests in flight among them.
    trial.stages([0, 0, MS, 0, 0, 1_000 * MS, 0]);
    let found = limit(&trial);
    close(of(&found, LimitKind::RequestsInFlight).used, 0.5);
    assert_eq!((found.named, found.runner_up), (LimitKind::Schedule, Some(LimitKind::RequestsInFlight)));
}

#[test]
fn what_queues_or_fails_was_not_carried() {
    let mut trial = TrialFixture::clean();
    for second in 2..12 {
        trial.counts(second).acknowledged = 900;
    }
    trial.late_acknowledgements(1_000, 13);
    trial.take_totals();
    let found = limit(&trial);
    assert_eq!((of(&found, LimitKind::Schedule).used, found.named), (None, LimitKind::Unknown));
    assert_eq!(found.runner_up, Some(LimitKind::BrokerProcessors));
    let with_failed = |records| {
        let mut trial = TrialFixture::clean();
        let counts = trial.counts(5);
        counts.acknowledged -= records;
        counts.failed.insert("NOT_ENOUGH_REPLICAS".into(), records);
        limit(&trial).named
    };
    assert_eq!((with_failed(50), with_failed(51)), (LimitKind::Schedule, LimitKind::Unknown));
}

#[test]
fn a_saturated_host_is_the_brokers_processors() {
    let mut trial = at_maximum();
    host_busy(&mut trial, 0.89);
    assert_eq!(limit(&trial).named, LimitKind::Unknown);
    host_busy(&mut trial, 0.91);
    let found = limit(&trial);
    assert_eq!((found.named, found.runner_up), (LimitKind::BrokerProcessors, Some(LimitKind::Generator)));
    close(of(&found, LimitKind::BrokerProcessors).used, 0.91);
    close(of(&found, LimitKind::Generator).used, 0.3);
    // Requests in flight are as full as they are because of it: they are not what comes next.
    trial.stages([0, 0, MS, 0, 0, 2_000 * MS, 0]);
    let found = limit(&trial);
    close(of(&found, LimitKind::RequestsInFlight).used, 1.0);
    assert_eq!((found.named, found.runner_up), (LimitKind::BrokerProcessors, Some(LimitKind::Generator)));
}

#[test]
fn a_host_that_others_fill_says_nothing_of_the_brokers() {
    let mut trial = at_maximum();
    host_busy(&mut trial, 0.95);
    close(of(&limit(&trial), LimitKind::BrokerProcessors).used, 0.95);
    // 1.9 processors in use: of these 0.24 by the brokers and 0.3 by the worker.
    used_times(&mut trial, 0.4, |subject| matches!(subject, Subject::Broker(_)));
    let found = limit(&trial);
    let brokers = of(&found, LimitKind::BrokerProcessors);
    assert_eq!((brokers.used, found.named), (None, LimitKind::Unknown));
    assert!(brokers.detail.starts_with("other programs used 1.36 of the 1.90 CPUs"), "{brokers:?}");
}

#[test]
fn a_host_that_both_sides_of_a_duet_use_says_nothing_of_one() {
    let mut trial = at_maximum();
    host_busy(&mut trial, 0.91);
    trial.start.trial.reason = TrialReason::Duet;
    let found = limit(&trial);
    assert_eq!(of(&found, LimitKind::BrokerProcessors).used, None);
    assert_eq!((found.named, found.runner_up), (LimitKind::Unknown, Some(LimitKind::Generator)));
    used_times(&mut trial, 4.0, |subject| matches!(subject, Subject::Worker(_)));
    close(of(&limit(&trial), LimitKind::Generator).used, 0.3);
}

#[test]
fn a_host_that_the_generator_fills_is_the_generators_limit() {
    let mut trial = at_maximum();
    host_busy(&mut trial, 0.95);
    used_times(&mut trial, 4.0, |subject| matches!(subject, Subject::Worker(_)));
    let found = limit(&trial);
    assert_eq!(found.named, LimitKind::Generator, "it had 1.2 cores, the brokers 0.6: {found:?}");
    close(of(&found, LimitKind::Generator).used, 0.95);
}

#[test]
fn a_thread_that_never_sleeps_is_the_generators_limit() {
    let mut trial = at_maximum();
    let delay = format!("{}writers", series::THREAD_RUN_DELAY_S_TOTAL_OF);
    trial.counter(Subject::Worker(0), &delay, 0.59);
    assert_eq!(limit(&trial).named, LimitKind::Unknown);
    let mut trial = at_maximum();
    trial.counter(Subject::Worker(0), &delay, 0.61);
    let found = limit(&trial);
    assert_eq!((found.named, found.runner_up), (LimitKind::Generator, Some(LimitKind::BrokerProcessors)));
    close(of(&found, LimitKind::Generator).used, 0.91);
}

#[test]
fn a_rate_near_that_of_a_null_broker_is_the_generators_limit() {
    let calibrated = |per_s: &str| {
        let mut trial = at_maximum();
        let fact = (cluster_fact::generator_max_per_s("writers"), per_s.to_owned());
        trial.start.cluster.extend([fact]);
        limit(&trial)
    };
    assert_eq!(calibrated("1100").named, LimitKind::Generator);
    assert_eq!(calibrated("1200").named, LimitKind::Unknown);
    for garbage in ["0", "-5", "nan", "fast"] {
        close(of(&calibrated(garbage), LimitKind::Generator).used, 0.3);
    }
}

#[test]
fn full_requests_in_flight_with_nothing_saturated_are_the_limit() {
    let with = |request_ms: u64, acks: i16, busy: f64| {
        let mut trial = at_maximum();
        // 10 requests/s; two clients may have 5 in flight at each of two brokers.
        trial.stages([0, 0, MS, 0, 0, request_ms * MS, 0]);
        trial.writers().client.acks = acks;
        host_busy(&mut trial, busy);
        limit(&trial)
    };
    let found = with(1_700, 1, 0.45);
    assert_eq!(found.named, LimitKind::RequestsInFlight);
    close(of(&found, LimitKind::RequestsInFlight).used, 0.85);
    assert_eq!(of(&found, LimitKind::Replication).used, None, "no follower is waited for");
    assert_eq!(found.runner_up, Some(LimitKind::BrokerProcessors));
    assert_eq!(with(1_500, 1, 0.45).named, LimitKind::Unknown, "0.75 of them");
    assert_eq!(with(1_700, -1, 0.45).named, LimitKind::Replication);
    assert_eq!(with(1_700, -1, 0.55).named, LimitKind::RequestsInFlight, "the brokers are not idle");
    assert_eq!(of(&with(1_700, 0, 0.45), LimitKind::RequestsInFlight).used, None);
    // With 10 requests/s two clients that wait for each of theirs have two in flight at most.
    let mut one_by_one = at_maximum();
    one_by_one.stages([0, 0, MS, 0, 0, 180 * MS, 0]);
    close(of(&limit(&one_by_one), LimitKind::RequestsInFlight).used, 0.09);
    one_by_one.writers().synchronous = true;
    close(of(&limit(&one_by_one), LimitKind::RequestsInFlight).used, 0.9);
    let mut alone = at_maximum();
    alone.stages([0, 0, MS, 0, 0, 1_700 * MS, 0]);
    alone.start.trial.effective.topics.get_mut("perf").unwrap().replicas = 1;
    assert_eq!(limit(&alone).named, LimitKind::RequestsInFlight, "there is no follower");
}

/// Little's law is of requests: a mean over records is that of the large ones, which wait longest.
#[test]
fn requests_count_alike_however_many_records_each_has() {
    let mut trial = at_maximum();
    // The records of the largest requests wait for 2.2 s; half of the requests have few records and wait for 0.2 s.
    trial.stages([0, 0, MS, 0, 0, 2_200 * MS, 0]);
    for row in trial.samples.iter_mut().filter(|row| row.counts.in_flight_ns > 0) {
        row.counts.in_flight_ns = 10 * 1_200 * MS;
        row.counts.buffered_ns = 20 * 1_300 * MS;
    }
    trial.writers().client.buffer_bytes = 300_000;
    let found = limit(&trial);
    close(of(&found, LimitKind::RequestsInFlight).used, 0.6);
    close(of(&found, LimitKind::Replication).used, 0.6);
    assert!(of(&found, LimitKind::Replication).detail.contains("took 1.20 s"), "{found:?}");
    close(of(&found, LimitKind::ClientBuffer).used, 20.0 * 1.3 * 16_384.0 / 600_000.0);
    // A worker, or a file, that does not say for how long.
    for row in &mut trial.samples {
        (row.counts.in_flight_ns, row.counts.buffered_ns) = (0, 0);
    }
    let found = limit(&trial);
    for kind in [LimitKind::RequestsInFlight, LimitKind::Replication, LimitKind::ClientBuffer] {
        assert_eq!(of(&found, kind).used, None, "{kind}");
    }
}

#[test]
fn a_full_link_is_the_limit_and_not_the_requests_in_flight() {
    let with = |carried: f64, bandwidth: Option<u64>, zone: &str| {
        let mut trial = at_maximum();
        trial.stages([0, 0, MS, 0, 0, 2_000 * MS, 0]);
        let link = LinkPlan {
            delay_ns: 20 * MS,
            jitter_ns: 0,
            jitter_law: JitterLaw::Uniform,
            bytes_per_s: bandwidth,
        };
        let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!() };
        let named = |name: &str| vec![name.to_owned()];
        cluster.zones =
            Some(ZonesPlan { brokers: named("a"), clients: named("c"), link, between_brokers: false });
        trial.start.trial.effective.load.get_mut("writers").unwrap().zone = Some(zone.to_owned());
        let way = |way: &str| format!("{}{way}", series::RELAYED_BYTES_TOTAL_OF);
        trial.counter(Subject::Relay(0), &way("a>c"), 5e6);
        trial.counter(Subject::Relay(0), &way("c>a"), carried);
        limit(&trial)
    };
    let found = with(4.99e6, Some(5_000_000), "c");
    assert_eq!((found.named, found.runner_up), (LimitKind::Link, Some(LimitKind::BrokerProcessors)));
    close(of(&found, LimitKind::Link).used, 0.998);
    assert_eq!(
        of(&found, LimitKind::Link).detail,
        "the link from c to a carried 4.76 MiB/s, of 4.77 MiB/s declared"
    );
    let in_flight = &of(&found, LimitKind::RequestsInFlight).detail;
    assert!(
        in_flight.ends_with("; each took 2.00 s, 40.0 ms of that by the declared `delay`"),
        "{in_flight}"
    );
    assert_eq!(with(4.4e6, Some(5_000_000), "c").named, LimitKind::Replication, "88 % of it");
    let is_candidate = |found: &Limit| found.evidence.iter().any(|one| one.kind == LimitKind::Link);
    assert!(!is_candidate(&with(4.99e6, None, "c")), "it carries as much as it can");
    assert!(!is_candidate(&with(4.99e6, Some(5_000_000), "a")), "no request goes over it");
}

#[test]
fn a_synchronous_client_that_lingers_is_reported_as_such() {
    // Shares of the time of two clients with one record under way each.
    let with = |linger: f64, request: f64| {
        let mut trial = at_maximum();
        let ns = |share: f64| (share * 2.0 * S as f64 / PER_SECOND as f64) as u64;
        // A request for each record.
        trial.samples.iter_mut().for_each(|row| row.counts.requests = row.counts.acknowledged);
        trial.stages([0, 0, ns(linger), 0, 0, ns(request), 0]);
        trial.writers().synchronous = true;
        trial.writers().client.linger_ns = 5 * MS;
        trial
    };
    let found = limit(&with(0.7, 0.2));
    assert_eq!(found.named, LimitKind::Linger, "{found:?}");
    close(of(&found, LimitKind::Linger).used, 0.7);
    assert_ne!(limit(&with(0.5, 0.2)).named, LimitKind::Linger, "they do nothing for a third of the time");
    assert_ne!(limit(&with(0.3, 0.6)).named, LimitKind::Linger, "their answers take longer");
    let is_candidate =
        |trial: &TrialFixture| limit(trial).evidence.iter().any(|one| one.kind == LimitKind::Linger);
    let mut asynchronous = with(0.7, 0.2);
    asynchronous.writers().synchronous = false;
    assert!(!is_candidate(&asynchronous), "batches fill meanwhile");
    let mut at_once = with(0.7, 0.2);
    at_once.writers().client.linger_ns = 0;
    assert!(!is_candidate(&at_once));
}

#[test]
fn connections_are_to_the_brokers_that_lead() {
    let mut trial = at_maximum();
    trial.stages([0, 0, MS, 0, 0, 900 * MS, 0]);
    close(of(&limit(&trial), LimitKind::RequestsInFlight).used, 0.45);
    trial.start.trial.effective.topics.get_mut("perf").unwrap().partitions = 1;
    close(of(&limit(&trial), LimitKind::RequestsInFlight).used, 0.9);
}

#[test]
fn a_buffer_that_is_full_before_requests_in_flight_is_the_limit() {
    let with = |buffer_bytes| {
        let mut trial = at_maximum();
        // 20 batches/s of 16 KiB that are held for a second.
        trial.stages([0, 0, 998 * MS, 0, 0, 2 * MS, 0]);
        trial.writers().client.buffer_bytes = buffer_bytes;
        limit(&trial)
    };
    let found = with(200_000);
    assert_eq!(found.named, LimitKind::ClientBuffer);
    close(of(&found, LimitKind::ClientBuffer).used, 327_680.0 / 400_000.0);
    assert_eq!(with(210_000).named, LimitKind::Unknown);
    let mut both = at_maximum();
    both.stages([0, 0, MS, 0, 0, 2_000 * MS, 0]);
    both.writers().client.buffer_bytes = 1;
    both.writers().client.acks = 1;
    assert_eq!(limit(&both).named, LimitKind::RequestsInFlight);
}

#[test]
fn answers_that_were_held_back_are_a_quotas() {
    let with = |throttled_ms: u64| {
        let mut trial = at_maximum();
        for second in 2..12 {
            trial.counts(second).throttled_ns = throttled_ms * MS;
        }
        limit(&trial)
    };
    // Two clients, each for 5 % of the time.
    assert_eq!(with(99).named, LimitKind::Unknown);
    let found = with(101);
    assert_eq!((found.named, found.runner_up), (LimitKind::Quota, Some(LimitKind::BrokerProcessors)));
}

#[test]
fn broker_throttling_is_a_share_of_client_time_in_the_window() {
    let mut trial = at_maximum();
    trial.is("writers.throttled_share", 0.0);
    // Two clients; what came in the warm-up is not reported.
    trial.counts(1).throttled_ns = 1_000 * MS;
    for second in 2..7 {
        trial.counts(second).throttled_ns = 500 * MS;
    }
    trial.is("writers.throttled_share", 0.125);
}

/// A cluster elsewhere of two brokers, with what its target file declares.
pub fn elsewhere(facts: &[(&str, &str)]) -> TrialFixture {
    let mut trial = at_maximum();
    let facts = facts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    trial.start.trial.effective.system = SystemPlan::Attached(AttachedPlan {
        target: "elsewhere".into(),
        prefix: "kdyno-".into(),
        facts: facts.collect::<BTreeMap<_, _>>(),
        ..AttachedPlan::default()
    });
    trial.start.cluster.insert("brokers".into(), "2".into());
    trial
}

#[test]
fn disk_and_network_are_judged_against_what_is_declared() {
    let found = limit(&elsewhere(&[]));
    for kind in [LimitKind::Disk, LimitKind::Network, LimitKind::BrokerProcessors, LimitKind::Quota] {
        assert_eq!(of(&found, kind).used, None, "{kind}");
    }
    assert_eq!((found.named, found.runner_up), (LimitKind::Unknown, Some(LimitKind::Generator)));
    // 150,000 bytes/s × 2 replicas on two brokers.
    let found = limit(&elsewhere(&[("disk.limit", "160kB/s")]));
    assert_eq!(found.named, LimitKind::Disk);
    close(of(&found, LimitKind::Disk).used, 0.9375);
    // Sent: 150,000 to followers and 140,000 to consumers; received: 300,000.
    let found = limit(&elsewhere(&[("network.limit", "1.25Mbit/s")]));
    close(of(&found, LimitKind::Network).used, 0.96);
    assert_eq!(found.named, LimitKind::Network);
    let mut read_more = elsewhere(&[("network.limit", "1MB/s")]);
    read_more.samples.iter_mut().for_each(|row| row.counts.fetched_bytes *= 10);
    close(of(&limit(&read_more), LimitKind::Network).used, 0.775);
    assert_eq!(of(&limit(&elsewhere(&[("disk.limit", "fast")])), LimitKind::Disk).used, None);
    // Half of it goes to a topic with one replica.
    let mut fewer = elsewhere(&[("disk.limit", "160kB/s")]);
    let effective = &mut fewer.start.trial.effective;
    effective.topics.insert("second".into(), TopicPlan { replicas: 1, ..effective.topics["perf"].clone() });
    let writers = effective.load.get_mut("writers").unwrap();
    (writers.more_topics, writers.shared_topics) = (vec!["second".into()], true);
    close(of(&limit(&fewer), LimitKind::Disk).used, 0.9375 * 0.75);
}

#[test]
fn pinned_brokers_are_judged_by_everything_on_their_cpus() {
    // Brokers at 40 and 20 % of a processor, the host's two processors at 45 %.
    let used = |cpus: &[&[u32]], busy: f64| {
        let mut trial = at_maximum();
        host_busy(&mut trial, busy);
        let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!() };
        cluster.pinned_to = cpus.iter().map(|own| own.to_vec()).collect();
        let found = limit(&trial);
        (found.named, of(&found, LimitKind::BrokerProcessors).used)
    };
    close(used(&[&[0], &[1]], 0.45).1, 0.4);
    close(used(&[&[0]], 0.45).1, 0.6);
    close(used(&[&[0, 1], &[1]], 0.25).1, 0.3);
    // The worker and others, pinned to nothing, fill the host: there is nowhere else than on the brokers' processors.
    let (named, full) = used(&[&[0], &[1]], 0.99);
    close(full, 0.98);
    assert_eq!(named, LimitKind::BrokerProcessors);
    close(used(&[&[0, 1]], 0.99).1, 0.99);
    // On a host of sixteen processors it may all be elsewhere.
    let mut large = at_maximum();
    large.session.processors = 16;
    host_busy(&mut large, 0.99);
    let SystemPlan::Local(cluster) = &mut large.start.trial.effective.system else { panic!() };
    cluster.pinned_to = vec![vec![0], vec![1]];
    close(of(&limit(&large), LimitKind::BrokerProcessors).used, 0.4);
}

#[test]
fn of_brokers_with_a_limit_the_busiest_is_held_against_it() {
    // Brokers at 40 and 20 % of a processor.
    let used = |processors: f64| {
        let mut trial = at_maximum();
        let SystemPlan::Local(cluster) = &mut trial.start.trial.effective.system else { panic!() };
        cluster.cpu_limit = Some(processors);
        let found = limit(&trial);
        (found.named, of(&found, LimitKind::BrokerProcessors).used)
    };
    close(used(0.8).1, 0.5);
    let (named, full) = used(0.4);
    close(full, 1.0);
    assert_eq!(named, LimitKind::BrokerProcessors);
    // Brokers that may use more than there is fill their host all the same.
    let without = limit(&at_maximum());
    let of_host = of(&without, LimitKind::BrokerProcessors).used;
    assert_eq!(used(8.0), (without.named, of_host));
    assert!(of_host.is_some_and(|share| share > 0.4 / 8.0), "{of_host:?}");
}

#[test]
fn without_window_acknowledgement_or_question_no_limit_is_named() {
    let mut trial = TrialFixture::clean();
    trial.samples.retain(|row| row.written_second < 2);
    assert_eq!(limits(&trial), []);
    let mut trial = TrialFixture::clean();
    for second in 0..12 {
        trial.counts(second).acknowledged = 0;
    }
    assert_eq!(limits(&trial), []);
    let mut trial = TrialFixture::clean();
    trial.start.trial.reason = TrialReason::Conditioning;
    assert_eq!(limits(&trial), []);
}
