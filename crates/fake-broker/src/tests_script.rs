//! Each thing that a script can do.

use super::cluster::{ClusterOutput, FakeCluster};
use super::codec::code;
use super::tests::{answered, drain, fetch, frame};
use super::{FakeConfig, Hostile, Service, ServicePer, ServiceTime, StoredAnyway};
use crate::oracle::{request, response};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, FetchResponse, MetadataRequest, MetadataResponse,
};

const REQUEST_TIMED_OUT: i16 = 7;

/// Two brokers, two partitions, 10 ns for each request.
fn cluster() -> FakeCluster {
    let service = Service::Queue { per: ServicePer::Request, time: ServiceTime::Constant { time_ns: 10 } };
    FakeCluster::new(FakeConfig::new(2).topic("t", 2).service(service).keep_traces().keep_batches())
}

fn stored(cluster: &FakeCluster) -> u64 {
    (0..2).map(|partition| cluster.stored("t", partition).expect("partition").records).sum()
}

fn times(outputs: &[(u64, ClusterOutput)]) -> Vec<u64> {
    outputs.iter().map(|(at, _)| *at).collect()
}

#[test]
fn a_stall_delays_everything_and_catches_up_at_the_service_rate() {
    let mut cluster = cluster();
    cluster.script().at(100).stall(0, 1000);
    let (stalled, other) = (cluster.open(0, 0), cluster.open(1, 0));
    cluster.receive(stalled, &frame(0, 0, 1), 95);
    for id in 1..5 {
        cluster.receive(stalled, &frame(id, 0, 1), 200);
    }
    cluster.receive(stalled, &request(ApiKey::ApiVersions, 0, 9, &ApiVersionsRequest::default()), 200);
    cluster.receive(other, &frame(7, 1, 1), 200);
    // 5 of the first one's 10 ns were done when the stall began.
    assert_eq!(times(&drain(&mut cluster)), [210, 1105, 1115, 1125, 1135, 1145, 1145]);
    let starts: Vec<_> = cluster.take_traces().iter().map(|t| t.start_ns).collect();
    assert_eq!(starts, [200, 95, 1105, 1115, 1125, 1135]);
}

#[test]
fn overlapping_stalls_end_together_and_delay_control_requests() {
    let mut cluster = cluster();
    cluster.script().at(100).stall(0, 50).at(120).stall(0, 100).at(130).stall(0, 10);
    let conn = cluster.open(0, 0);
    cluster.receive(conn, &request(ApiKey::ApiVersions, 0, 1, &ApiVersionsRequest::default()), 110);
    cluster.receive(conn, &frame(2, 0, 1), 110);
    assert_eq!(times(&drain(&mut cluster)), [220, 230]);
    assert_eq!(cluster.take_traces()[0].start_ns, 220);
}

#[test]
fn a_stall_of_fixed_delays_lets_all_go_at_its_end() {
    let config = FakeConfig::new(1).topic("t", 1).service(Service::Fixed { delay_ns: 10 }).keep_traces();
    let mut cluster = FakeCluster::new(config);
    cluster.script().request(2).stall(0, 100);
    let conn = cluster.open(0, 0);
    for (id, at) in [(1, 0), (2, 50), (3, 60), (4, 200)] {
        cluster.receive(conn, &frame(id, 0, 1), at);
    }
    assert_eq!(drain(&mut cluster).len(), 4);
    let completions: Vec<_> = cluster.take_traces().iter().map(|t| t.completion_ns).collect();
    assert_eq!(completions, [10, 150, 150, 210]);
}

#[test]
fn chosen_requests_fail_stored_or_not() {
    let mut cluster = cluster();
    cluster
        .script()
        .request(2)
        .fail(REQUEST_TIMED_OUT, StoredAnyway::Yes)
        .request(3)
        .fail(-1, StoredAnyway::No);
    let conn = cluster.open(0, 0);
    for id in 1..=4 {
        cluster.receive(conn, &frame(id, 0, 5), 0);
    }
    let answers: Vec<_> = drain(&mut cluster).iter().map(|(_, output)| answered(output)).collect();
    assert_eq!(answers, [(1, 0, 0), (2, REQUEST_TIMED_OUT, -1), (3, -1, -1), (4, 0, 10)]);
    assert_eq!(stored(&cluster), 15);
    assert_eq!(cluster.counts().acknowledged_records, 10);
}

#[test]
fn a_share_fails_and_the_counts_reconcile() {
    let mut cluster = cluster();
    cluster
        .script()
        .share(0.1)
        .fail(REQUEST_TIMED_OUT, StoredAnyway::No)
        .every(100)
        .fail(-1, StoredAnyway::Yes);
    let conn = cluster.open(0, 0);
    for id in 0..2000 {
        cluster.receive(conn, &frame(id, 0, 1), 0);
    }
    let answers: Vec<_> = drain(&mut cluster).iter().map(|(_, output)| answered(output).1).collect();
    let failed = answers.iter().filter(|error| **error == REQUEST_TIMED_OUT).count() as u64;
    let kept = answers.iter().filter(|error| **error == -1).count() as u64;
    // 200 expected, standard deviation 13: five of them.
    assert!((135..265).contains(&failed), "{failed}");
    assert!((10..=20).contains(&kept), "{kept}");
    assert_eq!(stored(&cluster), 2000 - failed);
    assert_eq!(cluster.counts().acknowledged_records, 2000 - failed - kept);
}

#[test]
fn a_share_can_be_limited_in_time() {
    let mut cluster = cluster();
    cluster.script().share_between(1.0, 100, 200).fail(-1, StoredAnyway::No);
    let conn = cluster.open(0, 0);
    for (id, at) in [(1, 99), (2, 100), (3, 199), (4, 200)] {
        cluster.receive(conn, &frame(id, 0, 1), at);
    }
    let errors: Vec<_> = drain(&mut cluster).iter().map(|(_, output)| answered(output).1).collect();
    assert_eq!(errors, [0, -1, -1, 0]);
    assert_eq!(stored(&cluster), 2);
}

#[test]
fn a_dropped_request_is_never_answered_nor_is_what_follows_it() {
    for (kept, records) in [(StoredAnyway::Yes, 3), (StoredAnyway::No, 2)] {
        let mut cluster = cluster();
        cluster.script().request(2).drop_request(kept);
        let (conn, other) = (cluster.open(0, 0), cluster.open(0, 0));
        cluster.receive(conn, &frame(1, 0, 1), 0);
        cluster.receive(conn, &frame(2, 0, 1), 0);
        cluster.receive(conn, &frame(3, 0, 1), 0);
        let outputs = drain(&mut cluster);
        assert_eq!(outputs.len(), 1);
        assert_eq!(answered(&outputs[0].1).0, 1);
        assert_eq!(stored(&cluster), records);
        assert_eq!(cluster.counts().acknowledged_records, 1);
        cluster.receive(other, &frame(4, 0, 1), 50);
        assert_eq!(drain(&mut cluster).len(), 1);
    }
}

#[test]
fn a_connection_closes_around_storing_and_its_queue_is_served() {
    for (kept, records) in [(StoredAnyway::Yes, 3), (StoredAnyway::No, 2)] {
        let mut cluster = cluster();
        cluster.script().request(2).close(kept);
        let conn = cluster.open(0, 0);
        for id in 1..=3 {
            cluster.receive(conn, &frame(id, 0, 1), 0);
        }
        let outputs = drain(&mut cluster);
        assert_eq!(answered(&outputs[0].1).0, 1);
        assert_eq!(outputs[1..], [(20, ClusterOutput::Close { conn })]);
        assert_eq!((stored(&cluster), cluster.counts().acknowledged_records), (records, 1));
        cluster.receive(conn, &frame(4, 0, 1), 100);
        assert_eq!(drain(&mut cluster), []);
    }
}

#[test]
fn a_moved_leader_is_refused_by_the_old_and_named_by_metadata() {
    let mut cluster = cluster();
    cluster.script().at(5).move_leader("t", 0, 1);
    let (old, new) = (cluster.open(0, 0), cluster.open(1, 0));
    cluster.receive(old, &frame(1, 0, 1), 0); // Queued before the move, served after it.
    // From version 11 on a replica answers consumers too.
    cluster.receive(old, &fetch(10, 0, 0, 10_000), 0);
    let outputs = drain(&mut cluster);
    assert_eq!(answered(&outputs[0].1), (1, code::NOT_LEADER_OR_FOLLOWER, -1));
    let ClusterOutput::Bytes { bytes, .. } = &outputs[1].1 else { panic!("closed") };
    let (_, fetched) = response::<FetchResponse>(&mut bytes.clone(), 10);
    assert_eq!(fetched.responses[0].partitions[0].error_code, code::NOT_LEADER_OR_FOLLOWER);
    assert!(outputs[1].0 < 1000, "the fetch waited on although it had failed");

    let metadata = request(ApiKey::Metadata, 9, 2, &MetadataRequest::default().with_topics(None));
    cluster.receive(old, &metadata, 50);
    let outputs = drain(&mut cluster);
    let ClusterOutput::Bytes { bytes, .. } = &outputs[0].1 else { panic!("closed") };
    let (_, answer) = response::<MetadataResponse>(&mut bytes.clone(), 9);
    let partition = &answer.topics[0].partitions[0];
    assert_eq!((partition.leader_id.0, partition.leader_epoch), (1, 1));
    cluster.receive(new, &frame(3, 0, 1), 60);
    assert_eq!(answered(&drain(&mut cluster)[0].1), (3, 0, 0));
}

#[test]
fn a_removed_broker_loses_queue_and_leadership_and_can_return() {
    let mut cluster = cluster();
    cluster.script().at(15).remove_broker(0).at(1000).add_broker(0);
    let conn = cluster.open(0, 0);
    for id in 1..=3 {
        cluster.receive(conn, &frame(id, 0, 1), 0);
    }
    let outputs = cluster.poll(500);
    assert_eq!(outputs.len(), 2);
    assert_eq!(outputs[1], ClusterOutput::Close { conn });
    assert_eq!((stored(&cluster), cluster.leader("t", 0)), (1, Some(1)));
    let refused = cluster.open(0, 600);
    assert_eq!(cluster.poll(600), [ClusterOutput::Close { conn: refused }]);
    cluster.poll(1000);
    assert_eq!(cluster.broker_ids(), [0, 1]);
    let conn = cluster.open(0, 1000);
    cluster.receive(conn, &frame(1, 0, 1), 1000);
    assert_eq!(answered(&drain(&mut cluster)[0].1).1, code::NOT_LEADER_OR_FOLLOWER);
}

#[test]
fn the_last_broker_gone_leaves_no_leader_until_one_comes() {
    let mut cluster = FakeCluster::new(FakeConfig::new(1).topic("t", 1));
    cluster.script().at(10).remove_broker(0).at(20).add_broker(5).at(30).lose_leader("t", 0);
    cluster.poll(10);
    assert_eq!(cluster.leader("t", 0), None);
    cluster.poll(20);
    assert_eq!(cluster.leader("t", 0), Some(5));
    cluster.poll(30);
    let conn = cluster.open(5, 30);
    cluster.receive(conn, &frame(1, 0, 1), 30);
    assert_eq!(answered(&drain(&mut cluster)[0].1).1, code::NOT_LEADER_OR_FOLLOWER);
}

#[test]
fn connections_close_together_and_an_instant_picks_the_request() {
    let mut cluster = cluster();
    cluster.script().at(10).close_connections(0).at(20).fail(-1, StoredAnyway::No);
    let (a, b, c) = (cluster.open(0, 0), cluster.open(0, 0), cluster.open(1, 0));
    assert_eq!(cluster.poll(10), [ClusterOutput::Close { conn: a }, ClusterOutput::Close { conn: b }]);
    for (id, at) in [(1, 19), (2, 25), (3, 26)] {
        cluster.receive(c, &frame(id, 1, 1), at);
    }
    let errors: Vec<_> = drain(&mut cluster).iter().map(|(_, output)| answered(output).1).collect();
    assert_eq!(errors, [0, -1, 0]);
}

#[test]
fn service_can_change_on_the_way() {
    let mut cluster = cluster();
    cluster.script().at(100).set_service(0, Service::Fixed { delay_ns: 3 });
    let conn = cluster.open(0, 0);
    cluster.receive(conn, &frame(1, 0, 1), 50);
    cluster.receive(conn, &frame(2, 0, 1), 200);
    assert_eq!(drain(&mut cluster).len(), 2);
    let completions: Vec<_> = cluster.take_traces().iter().map(|t| t.completion_ns).collect();
    assert_eq!(completions, [60, 203]);
}

#[test]
fn hostile_answers_are_what_they_are_called() {
    let mut true_answer = Vec::new();
    let kinds = [
        None,
        Some(Hostile::Garbage { bytes: 33 }),
        Some(Hostile::Truncated),
        Some(Hostile::HugeFrame),
        Some(Hostile::NegativeFrame),
        Some(Hostile::HugeArray),
        Some(Hostile::WrongCorrelation),
    ];
    for kind in kinds {
        let mut cluster = cluster();
        if let Some(hostile) = kind {
            cluster.script().request(1).answer_hostile(hostile);
        }
        let conn = cluster.open(0, 0);
        cluster.receive(conn, &frame(1, 0, 1), 0);
        let outputs = drain(&mut cluster);
        let ClusterOutput::Bytes { bytes, .. } = &outputs[0].1 else { panic!("closed") };
        let claimed = i64::from(i32::from_be_bytes(bytes[..4].try_into().expect("four")));
        match kind {
            None => true_answer = bytes.clone(),
            Some(Hostile::Garbage { bytes: count }) => assert_eq!(bytes.len(), count),
            Some(Hostile::Truncated) => {
                assert_eq!(*bytes, true_answer[..true_answer.len() / 2]);
                assert_eq!(outputs[1].1, ClusterOutput::Close { conn });
            }
            Some(Hostile::HugeFrame) => assert_eq!(claimed, i64::from(i32::MAX)),
            Some(Hostile::NegativeFrame) => assert!(claimed < 0),
            Some(Hostile::HugeArray) => {
                // Length, correlation id, no tags, then 2³² − 2 topics.
                assert_eq!(bytes[4..], [0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f]);
            }
            Some(Hostile::WrongCorrelation) => {
                assert_eq!(bytes[8..], true_answer[8..]);
                assert_ne!(bytes[4..8], true_answer[4..8]);
            }
        }
        assert_eq!(stored(&cluster), 1);
        assert_eq!(cluster.counts().acknowledged_records, u64::from(kind.is_none()));
    }
}

#[test]
fn unrequested_bytes() {
    let mut cluster = cluster();
    cluster
        .script()
        .at(10)
        .send_hostile(0, Hostile::Garbage { bytes: 20 })
        .at(20)
        .send_hostile(0, Hostile::HugeArray)
        .at(30)
        .send_hostile(0, Hostile::WrongCorrelation);
    let conn = cluster.open(0, 0);
    let outputs = drain(&mut cluster);
    assert_eq!(times(&outputs), [10, 20, 30]);
    assert!(
        outputs
            .iter()
            .all(|(_, output)| matches!(output, ClusterOutput::Bytes { conn: to, .. } if *to == conn))
    );
}
