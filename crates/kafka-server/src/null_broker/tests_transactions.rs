//! What the null broker says of transactions, against an independent codec.

use super::FetchAnswer;
use super::session::RequestSession;
use super::tests::{broker, talk};
use crate::codec::oracle::{request, response, topic};
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ApiKey, EndTxnRequest, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, TransactionalId,
};
use kafka_protocol::protocol::StrBytes;

/// It coordinates every transaction, and takes whatever it hears of one.
#[test]
fn transactions_in_every_version() {
    let (mut session, mut broker) = (RequestSession::new(), broker(FetchAnswer::Empty));
    let id = || TransactionalId(StrBytes::from_static_str("mine"));
    for version in 0..=4 {
        let mut body = FindCoordinatorRequest::default();
        match version {
            4 => body = body.with_coordinator_keys(vec![StrBytes::from_static_str("mine")]),
            _ => body = body.with_key(StrBytes::from_static_str("mine")),
        }
        if version > 0 {
            body = body.with_key_type(1);
        }
        let mut out = talk(&mut session, &mut broker, &request(ApiKey::FindCoordinator, version, 3, &body));
        let (_, answer) = response::<FindCoordinatorResponse>(&mut out, version);
        let seen = match answer.coordinators.first() {
            Some(found) => (found.key.as_str(), found.error_code, found.node_id.0),
            None => ("mine", answer.error_code, answer.node_id.0),
        };
        assert_eq!(seen, ("mine", 0, 0), "{version}");
    }
    for version in 0..=3 {
        let added = AddPartitionsToTxnTopic::default().with_name(topic("t")).with_partitions(vec![0, 2]);
        let body = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(id())
            .with_v3_and_below_topics(vec![added]);
        let mut out =
            talk(&mut session, &mut broker, &request(ApiKey::AddPartitionsToTxn, version, 3, &body));
        let (_, answer) = response::<AddPartitionsToTxnResponse>(&mut out, version);
        let results = &answer.results_by_topic_v3_and_below[0].results_by_partition;
        let seen: Vec<_> =
            results.iter().map(|one| (one.partition_index, one.partition_error_code)).collect();
        assert_eq!(seen, [(0, 0), (2, 0)], "{version}");
    }
    for version in 0..=4 {
        let body = EndTxnRequest::default().with_transactional_id(id()).with_committed(true);
        let mut out = talk(&mut session, &mut broker, &request(ApiKey::EndTxn, version, 3, &body));
        assert_eq!(response::<EndTxnResponse>(&mut out, version).1.error_code, 0, "{version}");
    }
}
