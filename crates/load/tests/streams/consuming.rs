//! Consumers in simulated time: what is stored is fetched once, to the record, and the stream ends when it has
//! everything.

use crate::common::{
    CONTROL_NS, Fetching, Load, MS, Outcome, SECOND, TOPIC, assert_all_fetched, fetch, filled, filled_as,
    stored,
};
use kdyno_fake_broker::FakeConfig;
use kdyno_model::plan::{Arrivals, ReadDepth, StartOffset, WorkPlan};
use kdyno_model::sample::{Counts, Grain};
use std::collections::BTreeMap;

#[test]
fn what_is_stored_is_fetched_once_by_any_number_of_clients() {
    for (brokers, partitions, clients) in [(1, 1, 1), (3, 6, 4), (2, 3, 5)] {
        let (cluster, now_ns) = filled(brokers, partitions);
        let fetching = Fetching { clients, ..Fetching::from(StartOffset::Earliest) };
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_all_fetched(&outcome, partitions);
        assert_eq!(outcome.totals.clients.len(), clients as usize);
        assert_eq!(outcome.events, Vec::<String>::new());
        let load_end_ns = now_ns + SECOND + fetching.seconds * SECOND;
        let ended = load_end_ns..load_end_ns + 2 * fetching.plan.fetch_wait_ns + SECOND;
        assert!(ended.contains(&outcome.ended_ns), "it ends with the load: {} ns", outcome.ended_ns);
    }
}

/// Brokers of before topics had ids, which take requests for them by name.
#[test]
fn what_is_stored_is_fetched_by_name_from_older_brokers() {
    let (cluster, now_ns) = filled_as(FakeConfig::new(3).without_topic_ids(), 6);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest), cluster, now_ns);
    assert_all_fetched(&outcome, 6);
    assert_eq!(outcome.events, Vec::<String>::new());
}

/// What is fetched counts from T0 on, so nothing is requested before it.
#[test]
fn nothing_is_fetched_before_the_load_begins() {
    let (cluster, now_ns) = filled(1, 1);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest), cluster, now_ns);
    assert_all_fetched(&outcome, 1);
    assert_eq!(outcome.requests_before_t0, 0);
}

/// Clients that work so many milliseconds do a thousand records in a second, whatever it fetches at once; what it has fetched
/// and not begun with is lag.
#[test]
fn applications_with_work_take_their_time_and_lag() {
    for (clients, poll_records_max) in [(1, 500), (2, 500), (1, 7)] {
        let (cluster, now_ns) = filled(2, 6);
        let mut fetching = Fetching { clients, ..Fetching::from(StartOffset::Earliest) };
        (fetching.plan.work, fetching.plan.poll_records_max) =
            (Some(WorkPlan::Constant { ns: u64::from(clients) * MS }), poll_records_max);
        (fetching.seconds, fetching.drain_seconds) = (2, 200);
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_all_fetched(&outcome, 6);
        let (records, _, _) = stored(&outcome.cluster, 6);
        let of = |second: u32, count: fn(&Counts) -> u64| -> u64 {
            let rows = outcome.samples.iter().filter(|row| row.grain == Grain::Second);
            rows.filter(|row| row.written_second == second).map(|row| count(&row.counts)).sum()
        };
        let per_s = 1_000;
        assert_eq!(of(1, |counts| counts.fetched), per_s, "{clients} clients");
        let done = of(0, |counts| counts.fetched) + per_s;
        assert_eq!(of(1, |counts| counts.lag_records.unwrap_or(0)), records - done, "{clients} clients");
        let needed_ns = records.div_ceil(per_s) * SECOND;
        assert!(outcome.ended_ns >= now_ns + SECOND + needed_ns.min(3 * SECOND), "{} ns", outcome.ended_ns);
        assert_eq!(outcome.events, Vec::<String>::new());
    }
}

/// While an application works its client asks for nothing, so that a poll of few records means many fetches of few bytes,
/// and no partition is fetched before its application has what came.
#[test]
fn a_client_with_working_applications_prefetches_as_java_does() {
    let (cluster, now_ns) = filled(1, 1);
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    fetching.plan.work = Some(WorkPlan::Constant { ns: 10 * MS });
    (fetching.seconds, fetching.drain_seconds) = (2, 0);
    let outcome = fetch(&fetching, cluster, now_ns);
    let counts = outcome.counts();
    let (records, batches, _) = stored(&outcome.cluster, 1);
    let per_batch = records as f64 / batches as f64;
    assert!((150..=200).contains(&counts.fetched), "100 a second: {}", counts.fetched);
    // One batch is worked on, and one was fetched meanwhile.
    let most = counts.fetched as f64 / per_batch + 3.0;
    assert!((counts.batches as f64) < 1.5 * most, "{} batches of {per_batch:.0}", counts.batches);
}

/// The lag at the end of each second is what is stored and was not fetched by then, once the first answer said how
/// much that is.
#[test]
fn the_lag_is_reported_for_the_end_of_every_second() {
    let (mut cluster, now_ns) = filled(2, 3);
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    (fetching.clients, fetching.seconds) = (2, 1);
    for broker in [0, 1] {
        // They have answered every client once by then, and none is through.
        cluster.script().at(now_ns + SECOND + 200 * MS).stall(broker, 2 * SECOND);
    }
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 3);
    let (records, _, _) = stored(&outcome.cluster, 3);
    let by_second = |of: fn(&Counts) -> u64| {
        let mut seconds = BTreeMap::<u32, u64>::new();
        for sample in outcome.samples.iter().filter(|sample| sample.grain == Grain::Second) {
            *seconds.entry(sample.written_second).or_default() += of(&sample.counts);
        }
        seconds
    };
    let (fetched, lag) =
        (by_second(|counts| counts.fetched), by_second(|counts| counts.lag_records.unwrap_or(0)));
    assert!(lag.len() > 1 && lag.keys().copied().eq(0..lag.len() as u32), "every second: {lag:?}");
    assert!(lag[&0] > 0, "it is behind at first: {lag:?}");
    let mut left = records;
    for (second, lag) in lag {
        left -= fetched.get(&second).copied().unwrap_or(0);
        assert_eq!(lag, left, "at the end of second {second}");
    }
    assert_eq!(left, 0);
}

#[test]
fn throttling_by_a_broker_is_counted_and_reported_once() {
    let (mut cluster, now_ns) = filled(2, 2);
    let t0_ns = now_ns + SECOND;
    cluster.script().at(t0_ns).throttle(1, 7).at(t0_ns + 2 * SECOND).throttle(1, 0);
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    fetching.clients = 3;
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 2);
    let throttled_ns = outcome.counts().throttled_ns;
    assert!(throttled_ns > 10 * 7 * MS && throttled_ns.is_multiple_of(7 * MS), "{throttled_ns} ns");
    let reported = "throttled: broker 1 throttles its clients, for 7 ms at first: a quota is exceeded";
    assert_eq!(outcome.events, [reported]);
}

#[test]
fn from_the_end_on_nothing_old_is_fetched() {
    let (cluster, now_ns) = filled(2, 4);
    let outcome = fetch(&Fetching::from(StartOffset::Latest), cluster, now_ns);
    assert_eq!(outcome.counts().fetched, 0);
    assert!(outcome.counts().requests > 0, "it asked: {:?}", outcome.counts());
}

/// A consumer that is behind when the load ends fetches on through the drain, and no longer than that.
#[test]
fn a_consumer_that_is_behind_catches_up_in_the_drain() {
    let (cluster, now_ns) = filled(1, 1);
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    fetching.seconds = 1;
    let (_, batches, _) = stored(&cluster, 1);
    let behind_ns = batches * CONTROL_NS;
    assert!(behind_ns > fetching.seconds * SECOND, "one fetch per batch takes longer than the load");
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 1);
    assert!(outcome.ended_ns >= now_ns + SECOND + behind_ns, "{} ns", outcome.ended_ns);

    let (cluster, now_ns) = filled(1, 1);
    (fetching.plan.fetch_wait_ns, fetching.drain_seconds) = (SECOND, 0);
    let cut = fetch(&fetching, cluster, now_ns);
    assert!((1..stored(&cut.cluster, 1).0).contains(&cut.counts().fetched), "{:?}", cut.counts());
}

#[test]
fn leaders_that_move_or_are_lost_cost_no_record_and_double_none() {
    let (mut cluster, now_ns) = filled(3, 3);
    let t0_ns = now_ns + SECOND;
    let leader = cluster.leader(TOPIC, 0).expect("a leader");
    let other = (leader + 1) % 3;
    cluster.script().at(t0_ns + 100 * MS).move_leader(TOPIC, 0, other);
    cluster.script().at(t0_ns + 200 * MS).lose_leader(TOPIC, 1);
    cluster.script().at(t0_ns + 900 * MS).move_leader(TOPIC, 1, other);
    cluster.script().at(t0_ns + 300 * MS).close_connections(other);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest).batch_by_batch(), cluster, now_ns);
    assert_all_fetched(&outcome, 3);
    let moved = format!("leader-moved: partition 0 is led by broker {other} now, by broker {leader} before");
    assert!(outcome.events.contains(&moved), "{:?}", outcome.events);
    // The broker that led before follows now, and knows of the election.
    let refused = "fetch-error: client 0: partition 0: fetching failed: FENCED_LEADER_EPOCH";
    let reported = outcome.events.iter().filter(|event| *event == refused).count();
    assert_eq!(reported, 1, "the reason of an error is told once: {:?}", outcome.events);
    assert!(outcome.events.iter().any(|event| event.starts_with("disconnected")), "{:?}", outcome.events);
}

/// Brokers may forget what a client fetches, end the session, or keep none.
#[test]
fn sessions_that_are_forgotten_or_refused_cost_no_record() {
    let (mut cluster, now_ns) = filled(2, 5);
    let mut script = cluster.script();
    for ms in (100..2_000).step_by(70) {
        script = script.at(now_ns + SECOND + ms * MS).forget_fetch_sessions();
    }
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    fetching.clients = 2;
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 5);
    assert_eq!(outcome.events, Vec::<String>::new(), "it is no error of a partition");

    let config = || FakeConfig::new(2);
    let requests = |config| {
        let (cluster, now_ns) = filled_as(config, 5);
        let outcome = fetch(&Fetching::from(StartOffset::Earliest).batch_by_batch(), cluster, now_ns);
        assert_all_fetched(&outcome, 5);
        outcome.counts().requests
    };
    assert_eq!(requests(config()), requests(config().without_fetch_sessions()), "each brings the same");
}

/// What was compacted away is no record, and what is counted is the same however far it is read.
#[test]
fn of_a_compacted_topic_the_records_that_are_left_are_counted() {
    for read in [ReadDepth::Header, ReadDepth::Crc, ReadDepth::Decode] {
        let (mut cluster, now_ns) = filled(2, 3);
        let ends: u64 = (0..3).map(|at| cluster.stored(TOPIC, at).expect("a partition").records).sum();
        for partition in 0..3 {
            cluster.compact(TOPIC, partition, |offset| offset % 7 == 3 || offset > 900).expect("compacted");
        }
        let mut fetching = Fetching::from(StartOffset::Earliest);
        fetching.plan.read = read;
        let outcome = fetch(&fetching, cluster, now_ns);
        assert_all_fetched(&outcome, 3);
        let (records, _, _) = stored(&outcome.cluster, 3);
        assert!(records > 500 && records < ends, "{records} of {ends}");
        assert_eq!(outcome.counts().missing_offsets, ends - records, "{read:?}");
    }
}

/// Retention is faster than the consumer: it goes on where the log begins now, and what it missed is reported.
#[test]
fn records_deleted_before_the_fetch_are_counted() {
    let (mut cluster, now_ns) = filled(1, 1);
    let all = cluster.stored(TOPIC, 0).expect("a partition").records;
    cluster.script().at(now_ns + SECOND + 300 * MS).delete_records(TOPIC, 0, all as i64 - 100);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest).batch_by_batch(), cluster, now_ns);
    let fetched = outcome.counts().fetched;
    let [skipped] = outcome.events.as_slice() else { panic!("{:?}", outcome.events) };
    let gone: u64 = skipped
        .strip_prefix("records-skipped: client 0: partition 0: offset ")
        .and_then(|rest| rest.split(' ').nth(3)?.parse().ok())
        .unwrap_or_else(|| panic!("{skipped}"));
    assert!(gone > 100, "{skipped}");
    assert_eq!(fetched + gone, all, "{skipped}");
}

/// Partition p belongs to client p mod 3 and is led by broker p mod 3: each client needs one broker.
#[test]
fn clients_connect_to_the_leaders_of_their_own_partitions_alone() {
    let (cluster, now_ns) = filled(3, 6);
    let before = cluster.counts().connections;
    let fetching = Fetching { clients: 3, ..Fetching::from(StartOffset::Earliest) };
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 6);
    assert_eq!(
        outcome.cluster.counts().connections - before,
        6,
        "of each a bootstrap connection and its leader's"
    );
}

/// A replica in the client's rack is read from, where the leader says so, and left when it is gone.
#[test]
fn a_client_reads_from_the_replica_in_its_rack_while_it_lives() {
    let config = || FakeConfig::new(3).rack(0, "a").rack(1, "b").rack(2, "c");
    let mut fetching = Fetching::from(StartOffset::Earliest).batch_by_batch();
    let from_followers = |rack: &str, fetching: &mut Fetching, removes: bool| {
        let (mut cluster, now_ns) = filled_as(config(), 3);
        if removes {
            cluster.script().at(now_ns + SECOND + 150 * MS).remove_broker(1);
        }
        fetching.plan.rack = rack.to_owned();
        let outcome = fetch(fetching, cluster, now_ns);
        assert_all_fetched(&outcome, 3);
        (outcome.cluster.counts().follower_batches, stored(&outcome.cluster, 3).1)
    };
    let (followed, all) = from_followers("b", &mut fetching, false);
    assert!(followed > all / 2 && followed < all, "all but those that broker 1 leads: {followed} of {all}");
    assert_eq!(from_followers("", &mut fetching, false).0, 0);
    assert_eq!(from_followers("elsewhere", &mut fetching, false).0, 0);
    let (followed, all) = from_followers("b", &mut fetching, true);
    assert!(followed > 0 && followed < all / 2, "{followed} of {all}");
}

#[test]
fn a_lost_leader_loses_and_doubles_no_record() {
    let (mut cluster, now_ns) = filled(3, 3);
    cluster.script().at(now_ns + SECOND + 200 * MS).remove_broker(1);
    let outcome = fetch(&Fetching::from(StartOffset::Earliest).batch_by_batch(), cluster, now_ns);
    assert_all_fetched(&outcome, 3);
    let moved = "leader-moved: partition 1 is led by broker 2 now, by broker 1 before".to_owned();
    assert!(outcome.events.contains(&moved), "{:?}", outcome.events);
}

/// When a load ends that is to have so many records: with the poll in which it has them.
#[test]
fn a_load_of_n_records_ends_with_the_poll_that_brings_the_last() {
    // All in one answer, from which polls are taken until there are enough.
    for (wanted, polled, expected) in [(1_200, 500, 1_500), (1_000, 500, 1_000), (1, 1, 1), (0, 500, 0)] {
        let (cluster, now_ns) = filled(1, 1);
        let mut fetching = Fetching::from(StartOffset::Earliest);
        (fetching.plan.records_max, fetching.plan.poll_records_max) = (Some(wanted), polled);
        fetching.plan.partition_bytes_max = fetching.plan.fetch_bytes_max;
        let outcome = fetch(&fetching, cluster, now_ns);
        let counts = outcome.counts();
        assert_eq!(counts.fetched, expected, "of {wanted}");
        let value_bytes = u64::from(Load::open(1.0, Arrivals::Poisson).plan.value_bytes);
        assert_eq!(counts.handed_over_bytes, expected * value_bytes, "keys and values of those alone");
        assert_eq!(outcome.totals.clients[0].records, expected);
        let over = format!("item-ended: the load of 1 client is over: it consumed {expected} records");
        assert_eq!(outcome.events, [over]);
        assert!(outcome.ended_ns < now_ns + 2 * SECOND, "at once: {}", outcome.ended_ns);
    }
}

/// What comes in many answers is counted answer by answer, whichever client gets it.
#[test]
fn a_load_of_n_records_ends_when_its_clients_have_them_together() {
    for clients in [1, 3] {
        let (cluster, now_ns) = filled(1, 3);
        let (records, batches, _) = stored(&cluster, 3);
        let mut fetching = Fetching { clients, ..Fetching::from(StartOffset::Earliest).batch_by_batch() };
        fetching.plan.records_max = Some(records / 2);
        let outcome = fetch(&fetching, cluster, now_ns);
        let fetched = outcome.counts().fetched;
        // The largest batch is far below ten of them in the mean, one of each partition in an answer.
        let most = records / 2 + 30 * (records / batches);
        assert!((records / 2..most).contains(&fetched), "{fetched} of {records}");
        let in_rows: u64 = outcome.samples.iter().map(|sample| sample.counts.fetched).sum();
        assert_eq!(in_rows, fetched);
    }
}

#[test]
fn a_load_ends_when_no_record_came_for_long_enough() {
    let idle_ns = 2 * SECOND;
    let (cluster, now_ns) = filled(1, 1);
    let mut fetching = Fetching { seconds: 60, ..Fetching::from(StartOffset::Earliest).batch_by_batch() };
    fetching.plan.idle_ns = Some(idle_ns);
    let span_ns = |outcome: &Outcome| outcome.totals.clients[0].span_ns;
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 1);
    assert_eq!(outcome.events, ["item-ended: the load of 1 client is over: no record came for 2000 ms"]);
    let waited_ns = outcome.ended_ns - (now_ns + SECOND) - span_ns(&outcome);
    assert!((idle_ns..idle_ns + 200 * MS).contains(&waited_ns), "{waited_ns}");

    // A broker that is silent for less than that ends nothing, and one that is silent for longer does.
    for (silent_ns, is_all) in [(idle_ns - 300 * MS, true), (idle_ns + 300 * MS, false)] {
        let (mut cluster, now_ns) = filled(1, 1);
        cluster.script().at(now_ns + SECOND + 300 * MS).stall(0, silent_ns);
        let outcome = fetch(&fetching, cluster, now_ns);
        let (records, _, _) = stored(&outcome.cluster, 1);
        let fetched = outcome.counts().fetched;
        assert_eq!(fetched == records, is_all, "{fetched} of {records}");
        assert!(fetched > 0, "some came before it");
    }
}

/// A load that may end by itself ends with the measure phase all the same.
#[test]
fn a_load_that_never_has_enough_ends_with_the_measure_phase() {
    let (cluster, now_ns) = filled(1, 1);
    let mut fetching = Fetching::from(StartOffset::Earliest);
    (fetching.plan.records_max, fetching.plan.idle_ns) = (Some(u64::MAX), Some(60 * SECOND));
    let outcome = fetch(&fetching, cluster, now_ns);
    assert_all_fetched(&outcome, 1);
    assert_eq!(outcome.events, Vec::<String>::new());
    assert!(outcome.ended_ns >= now_ns + SECOND + fetching.seconds * SECOND, "{}", outcome.ended_ns);
}
