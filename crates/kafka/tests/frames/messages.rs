//! What the requests of this client say to the `kafka-protocol` crate, and what its replies say here, by the
//! names of the fields. That all bytes agree is tested next to the messages themselves.

use crate::common::{material, text, topic_name};
use bytes::{Buf, Bytes};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::Decodable;
use kdyno_kafka::consumer::OffsetAt;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    EARLIEST_TIMESTAMP, Message as _, RESOURCE_TYPE_BROKER, Request, m02_list_offsets, m03_metadata,
    m18_api_versions, m19_create_topics, m20_delete_topics, m32_describe_configs, request_header,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Decodes with their decoder; nothing may be left over.
fn decoded<T: Decodable>(bytes: Vec<u8>, version: i16) -> T {
    let mut bytes = Bytes::from(bytes);
    let message = T::decode(&mut bytes, version).expect("a request they can read");
    assert_eq!(bytes.remaining(), 0, "version {version}");
    message
}

/// A request of ours as they read it in the highest version we speak.
fn read_by_them<Ours: Request, Theirs: Decodable>(request: &Ours) -> Theirs {
    let mut out = Vec::new();
    request.encode(Ours::API.version_max, &mut out);
    decoded(out, Ours::API.version_max)
}

proptest! {
    #[test]
    fn request_headers(material in material(), flexible: bool) {
        let client = material.text.unwrap_or_default();
        let mut out = Vec::new();
        request_header(&mut out, 3, 9, flexible, material.number, &client);
        let header: theirs::RequestHeader = decoded(out, 1 + i16::from(flexible));
        let expected = theirs::RequestHeader::default()
            .with_request_api_key(3)
            .with_request_api_version(9)
            .with_correlation_id(material.number)
            .with_client_id(Some(text(&client)));
        prop_assert_eq!(header, expected);
    }

    #[test]
    fn metadata_replies_of_every_version(material in material()) {
        for version in m03_metadata::API.version_min..=m03_metadata::API.version_max {
            let reply = m03_metadata::Request::decode_response(&material.metadata(version), version).unwrap();
            prop_assert_eq!((reply.controller_id, &reply.cluster_id), (material.number, &material.text));
            prop_assert_eq!(reply.brokers.len(), material.names.len());
            for (broker, name) in reply.brokers.iter().zip(&material.names) {
                prop_assert_eq!((broker.node_id, &broker.host, &broker.rack), (material.number, name, &material.text));
            }
            prop_assert_eq!(reply.topics.len(), material.names.len());
            for (topic, name) in reply.topics.iter().zip(&material.names) {
                prop_assert_eq!((topic.error_code, &topic.name), (ErrorCode(material.error), &Some(name.clone())));
                prop_assert_eq!(topic.is_internal, material.flag);
                let ids: Vec<_> = topic.partitions.iter().map(|p| p.partition_index).collect();
                prop_assert_eq!(&ids, &material.ids);
                for partition in &topic.partitions {
                    let epoch = if version >= 7 { material.number } else { -1 };
                    prop_assert_eq!((partition.leader_id, partition.leader_epoch), (material.number, epoch));
                    prop_assert_eq!((&partition.replica_nodes, &partition.isr_nodes), (&material.ids, &material.ids));
                }
            }
        }
    }
}

#[test]
fn the_requests_of_this_client_say_what_they_should() {
    let request = m02_list_offsets::Request::of_topic("t", &[4, 7], EARLIEST_TIMESTAMP);
    let read: theirs::ListOffsetsRequest = read_by_them(&request);
    assert_eq!(
        (read.replica_id.0, read.isolation_level),
        (-1, 0),
        "a consumer that reads uncommitted records"
    );
    let [topic] = &read.topics[..] else { panic!("{read:?}") };
    assert_eq!(topic.name, topic_name("t"));
    let asked: Vec<_> =
        topic.partitions.iter().map(|p| (p.partition_index, p.timestamp, p.current_leader_epoch)).collect();
    assert_eq!(asked, [(4, -2, -1), (7, -2, -1)]);
    // 1 is Kafka's `read_committed`.
    for (at, timestamp, isolation_level) in
        [(OffsetAt::Earliest, -2, 0), (OffsetAt::Latest, -1, 0), (OffsetAt::LastStable, -1, 1)]
    {
        assert_eq!((at.timestamp(), at.isolation_level()), (timestamp, isolation_level), "{at:?}");
    }

    for names in [None, Some(&[][..]), Some(&["a", "b"][..])] {
        let read: theirs::MetadataRequest = read_by_them(&m03_metadata::Request::of_topics(names));
        let asked = read.topics.map(|topics| topics.into_iter().map(|topic| topic.name).collect::<Vec<_>>());
        assert_eq!(asked, names.map(|names| names.iter().map(|name| Some(topic_name(name))).collect()));
        assert!(!read.allow_auto_topic_creation && !read.include_topic_authorized_operations);
    }

    let read: theirs::ApiVersionsRequest = read_by_them(&m18_api_versions::Request::of_this_client());
    assert_eq!(read.client_software_name.as_str(), "kdyno");
    assert_eq!(read.client_software_version.as_str(), env!("CARGO_PKG_VERSION"));

    let config = BTreeMap::from([("retention.ms".to_owned(), "1".to_owned())]);
    let read: theirs::CreateTopicsRequest =
        read_by_them(&m19_create_topics::Request::of_topic("t", 12, 3, &config, 7));
    assert_eq!((read.timeout_ms, read.validate_only), (7, false));
    let [topic] = &read.topics[..] else { panic!("{read:?}") };
    assert_eq!((&topic.name, topic.num_partitions, topic.replication_factor), (&topic_name("t"), 12, 3));
    assert!(topic.assignments.is_empty());
    let set: Vec<_> = topic.configs.iter().map(|c| (c.name.as_str(), c.value.as_deref())).collect();
    assert_eq!(set, [("retention.ms", Some("1"))]);

    let read: theirs::DeleteTopicsRequest = read_by_them(&m20_delete_topics::Request::of_topics(&["t"], 7));
    assert_eq!((read.timeout_ms, read.topic_names), (7, vec![topic_name("t")]));

    let request = m32_describe_configs::Request::of_resource(RESOURCE_TYPE_BROKER, "7");
    let read: theirs::DescribeConfigsRequest = read_by_them(&request);
    let [resource] = &read.resources[..] else { panic!("{read:?}") };
    assert_eq!((resource.resource_type, resource.resource_name.as_str()), (4, "7"));
    assert_eq!(resource.configuration_keys, None, "all of them");
    assert!(read.include_synonyms && !read.include_documentation);
}

#[test]
fn a_setting_without_type_differs_from_an_unknown_one() {
    for (version, config_type) in [(2, -1), (3, 0)] {
        let mut bytes = Vec::new();
        let setting =
            m32_describe_configs::DescribeConfigsResourceResult { config_type: 0, ..Default::default() };
        let result =
            m32_describe_configs::DescribeConfigsResult { configs: vec![setting], ..Default::default() };
        let reply = m32_describe_configs::Response { results: vec![result], ..Default::default() };
        reply.encode(version, &mut bytes);
        let reply = m32_describe_configs::Request::decode_response(&bytes, version).unwrap();
        assert_eq!(reply.results[0].configs[0].config_type, config_type, "version {version}");
    }
}
