//! Requests and replies compared with the `kafka-protocol` crate, in every version we speak: what we encode
//! must decode there to equal values, what it encodes we must decode.

mod common;

use bytes::{Buf, Bytes};
use common::{Material, material, text, topic_name};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::Decodable;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    m02_list_offsets, m03_metadata, m18_api_versions, m19_create_topics, m20_delete_topics,
    m32_describe_configs, request_header,
};
use proptest::prelude::*;

/// Decodes a request of ours with their decoder; nothing may be left over.
fn decoded<T: Decodable>(bytes: Vec<u8>, version: i16) -> T {
    let mut bytes = Bytes::from(bytes);
    let message = T::decode(&mut bytes, version).expect("a request they can read");
    assert_eq!(bytes.remaining(), 0, "version {version}");
    message
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
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
    fn api_versions(material in material()) {
        use m18_api_versions::*;
        for version in VERSION_MIN..=VERSION_MAX {
            let mut out = Vec::new();
            let request = Request { software_name: "kdyno", software_version: "0.1" };
            encode(&request, version, &mut out);
            let request: theirs::ApiVersionsRequest = decoded(out, version);
            if version >= 3 {
                prop_assert_eq!(request.client_software_name.as_str(), "kdyno");
                prop_assert_eq!(request.client_software_version.as_str(), "0.1");
            }

            let material = Material { error: if material.error == 35 { 0 } else { material.error }, ..material.clone() };
            let reply = Response::decode(&material.api_versions(version), version).unwrap();
            prop_assert_eq!(reply.error, ErrorCode(material.error));
            let apis: Vec<_> = reply.apis.iter().map(|api| (api.api_key, api.version_min, api.version_max)).collect();
            let expected: Vec<_> = material.ids.iter().map(|id| (*id as i16, material.error, (*id >> 16) as i16)).collect();
            prop_assert_eq!(apis, expected);
        }
    }

    #[test]
    fn metadata(material in material()) {
        use m03_metadata::*;
        for version in VERSION_MIN..=VERSION_MAX {
            let names = strs(&material.names);
            let mut out = Vec::new();
            let topics = material.flag.then_some(names.as_slice());
            encode(&Request { topics, create_missing: material.flag }, version, &mut out);
            let request: theirs::MetadataRequest = decoded(out, version);
            prop_assert_eq!(request.allow_auto_topic_creation, material.flag);
            let asked = request.topics.map(|topics| topics.into_iter().map(|topic| topic.name).collect::<Vec<_>>());
            let expected = topics.map(|names| names.iter().map(|name| Some(topic_name(name))).collect());
            prop_assert_eq!(asked, expected);

            let partition = |id: &i32| Partition {
                error: ErrorCode(material.error),
                id: *id,
                leader: material.number,
                leader_epoch: if version >= 7 { material.number } else { -1 },
                replicas: material.ids.clone(),
                isr: material.ids.clone(),
            };
            let topic = |name: &String| Topic {
                error: ErrorCode(material.error),
                name: Some(name.clone()),
                topic_id: [0; 16],
                internal: material.flag,
                partitions: material.ids.iter().map(partition).collect(),
            };
            let broker = |name: &String| Broker {
                id: material.number,
                host: name.clone(),
                port: material.number,
                rack: material.text.clone(),
            };
            let expected = Response {
                brokers: material.names.iter().map(broker).collect(),
                cluster_id: material.text.clone(),
                controller_id: material.number,
                topics: material.names.iter().map(topic).collect(),
            };
            prop_assert_eq!(Response::decode(&material.metadata(version), version), Ok(expected));
        }
    }

    #[test]
    fn list_offsets(material in material()) {
        use m02_list_offsets::*;
        for version in VERSION_MIN..=VERSION_MAX {
            let mut out = Vec::new();
            let request = Request { topic: "t", partitions: &material.ids, timestamp_ms: material.long };
            encode(&request, version, &mut out);
            let request: theirs::ListOffsetsRequest = decoded(out, version);
            prop_assert_eq!((request.replica_id.0, request.isolation_level), (-1, 0));
            prop_assert_eq!(&request.topics[0].name, &topic_name("t"));
            let asked: Vec<_> = request.topics[0].partitions.iter().map(|p| (p.partition_index, p.timestamp)).collect();
            let expected: Vec<_> = material.ids.iter().map(|id| (*id, material.long)).collect();
            prop_assert_eq!(asked, expected);

            let partition = |id: &i32| Partition { id: *id, error: ErrorCode(material.error), offset: material.long };
            let topic = |name: &String| Topic {
                name: name.clone(),
                partitions: material.ids.iter().map(partition).collect(),
            };
            let expected = Response { topics: material.names.iter().map(topic).collect() };
            prop_assert_eq!(Response::decode(&material.list_offsets(version), version), Ok(expected));
        }
    }

    #[test]
    fn create_topics(material in material()) {
        use m19_create_topics::*;
        for version in VERSION_MIN..=VERSION_MAX {
            let config: Vec<_> = material.names.iter().map(|name| (name.as_str(), "1")).collect();
            let mut out = Vec::new();
            let request =
                Request { name: "t", partitions: material.number, replicas: 3, config: &config, timeout_ms: 7 };
            encode(&request, version, &mut out);
            let request: theirs::CreateTopicsRequest = decoded(out, version);
            prop_assert_eq!((request.timeout_ms, request.validate_only), (7, false));
            let topic = &request.topics[0];
            prop_assert_eq!((topic.num_partitions, topic.replication_factor), (material.number, 3));
            prop_assert_eq!(&topic.name, &topic_name("t"));
            prop_assert!(topic.assignments.is_empty());
            let set: Vec<_> = topic.configs.iter().map(|c| (c.name.as_str(), c.value.as_deref().unwrap())).collect();
            prop_assert_eq!(set, config);

            let topic = |name: &String| Topic {
                name: name.clone(),
                error: ErrorCode(material.error),
                message: material.text.clone(),
            };
            let expected = Response { topics: material.names.iter().map(topic).collect() };
            prop_assert_eq!(Response::decode(&material.create_topics(version), version), Ok(expected));
        }
    }

    #[test]
    fn delete_topics(material in material()) {
        use m20_delete_topics::*;
        for version in VERSION_MIN..=VERSION_MAX {
            let names = strs(&material.names);
            let mut out = Vec::new();
            encode(&Request { names: &names, timeout_ms: 7 }, version, &mut out);
            let request: theirs::DeleteTopicsRequest = decoded(out, version);
            prop_assert_eq!(request.timeout_ms, 7);
            prop_assert_eq!(request.topic_names, names.iter().map(|name| topic_name(name)).collect::<Vec<_>>());

            let topic = |name: &String| Topic {
                name: name.clone(),
                error: ErrorCode(material.error),
                message: if version >= 5 { material.text.clone() } else { None },
            };
            let expected = Response { topics: material.names.iter().map(topic).collect() };
            prop_assert_eq!(Response::decode(&material.delete_topics(version), version), Ok(expected));
        }
    }

    #[test]
    fn describe_configs(material in material()) {
        use m32_describe_configs::*;
        for version in VERSION_MIN..=VERSION_MAX {
            let mut out = Vec::new();
            encode(&Request { resource_type: BROKER, resource_name: "7" }, version, &mut out);
            let request: theirs::DescribeConfigsRequest = decoded(out, version);
            let resource = &request.resources[0];
            prop_assert_eq!((resource.resource_type, resource.resource_name.as_str()), (4, "7"));
            prop_assert_eq!(&resource.configuration_keys, &None);
            prop_assert!(!request.include_synonyms && !request.include_documentation);

            let setting = |name: &String| Setting {
                name: name.clone(),
                value: material.text.clone(),
                source: material.error as i8,
                sensitive: material.flag,
                value_type: (version >= 3).then_some(material.number as i8),
            };
            let resource = Resource {
                error: ErrorCode(material.error),
                message: material.text.clone(),
                resource_type: TOPIC,
                resource_name: material.names.first().cloned().unwrap_or_default(),
                settings: material.names.iter().map(setting).collect(),
            };
            let expected = Response { resources: vec![resource] };
            prop_assert_eq!(Response::decode(&material.describe_configs(version), version), Ok(expected));
        }
    }
}
