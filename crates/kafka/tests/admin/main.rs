//! The admin client against scripted brokers on loopback sockets: what it does when brokers are absent, slow,
//! old, confused or refuse.

#[path = "../common/mod.rs"]
mod common;
mod observed;
mod rebootstrap;
mod settings;

use common::{encoded, text, topic_name};
use kafka_protocol::messages as theirs;
use kafka_protocol::messages::BrokerId;
use kdyno_kafka::admin::{Admin, AdminError, ConfigOf, OffsetAt, SettingSource};
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    m02_list_offsets, m03_metadata, m09_offset_fetch, m16_list_groups, m18_api_versions, m19_create_topics,
    m20_delete_topics, m32_describe_configs, m35_describe_log_dirs, write_frame,
};
use kdyno_kafka::wire::{Reader, Writer};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Long enough for any machine; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// For tests in which the time is meant to run out.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// What a scripted broker does with a request.
enum BrokerReply {
    /// Sends this body.
    Body(Vec<u8>),
    /// Hangs up.
    Close,
    /// Says nothing and keeps the connection.
    Silence,
}

/// API key, version → what to do. Called in the order in which requests come.
type ReplyScript = Box<dyn FnMut(i16, i16) -> BrokerReply + Send>;

/// Serves a script on a free port until the test ends; returns the address and its port.
fn broker(script: impl FnMut(i16, i16) -> BrokerReply + Send + 'static) -> (String, i32) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    serve(listener, script);
    (address.to_string(), i32::from(address.port()))
}

fn serve(listener: TcpListener, script: impl FnMut(i16, i16) -> BrokerReply + Send + 'static) {
    let script: Arc<Mutex<ReplyScript>> = Arc::new(Mutex::new(Box::new(script)));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = Arc::clone(&script);
            thread::spawn(move || converse(stream, &script));
        }
    });
}

/// Ends when the client hangs up, at the latest with the test's process.
fn converse(mut stream: TcpStream, script: &Mutex<ReplyScript>) -> Option<()> {
    loop {
        let mut prefix = [0; 4];
        stream.read_exact(&mut prefix).ok()?;
        let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
        stream.read_exact(&mut frame).ok()?;
        let mut reader = Reader::new(&frame);
        let (api_key, version) = (reader.i16().ok()?, reader.i16().ok()?);
        let correlation_id = reader.i32().ok()?;
        let answer = (script.lock().ok()?)(api_key, version);
        match answer {
            BrokerReply::Close => return None,
            BrokerReply::Silence => {}
            BrokerReply::Body(body) => {
                let mut reply = Vec::new();
                write_frame(&mut reply, |out| {
                    out.put_i32(correlation_id);
                    out.put_no_tags(has_tags(api_key, version));
                    out.put(&body);
                });
                stream.write_all(&reply).ok()?;
            }
        }
    }
}

fn has_tags(api_key: i16, version: i16) -> bool {
    match api_key {
        m03_metadata::API_KEY => m03_metadata::API.is_flexible(version),
        m02_list_offsets::API_KEY => m02_list_offsets::API.is_flexible(version),
        m09_offset_fetch::API_KEY => m09_offset_fetch::API.is_flexible(version),
        m16_list_groups::API_KEY => m16_list_groups::API.is_flexible(version),
        m35_describe_log_dirs::API_KEY => m35_describe_log_dirs::API.is_flexible(version),
        m19_create_topics::API_KEY => m19_create_topics::API.is_flexible(version),
        m20_delete_topics::API_KEY => m20_delete_topics::API.is_flexible(version),
        m32_describe_configs::API_KEY => m32_describe_configs::API.is_flexible(version),
        _ => false,
    }
}

/// All we need, in the versions of 2.7.
fn api_versions(version: i16) -> BrokerReply {
    api_versions_with(version, (32, 0, 4))
}

/// A broker with another range of DescribeConfigs.
fn api_versions_with(version: i16, describe_configs: (i16, i16, i16)) -> BrokerReply {
    let ranges = [(2, 0, 5), (3, 0, 9), (18, 0, 3), (19, 0, 6), (20, 0, 5), describe_configs];
    let keys = ranges.map(|(key, min, max)| {
        theirs::api_versions_response::ApiVersion::default()
            .with_api_key(key)
            .with_min_version(min)
            .with_max_version(max)
    });
    BrokerReply::Body(encoded(&theirs::ApiVersionsResponse::default().with_api_keys(keys.to_vec()), version))
}

/// Brokers on these ports, with ids from 0 on, and one partition of topic `t` per leader given.
fn metadata(version: i16, ports: &[i32], controller: i32, topic_error: i16, leaders: &[i32]) -> BrokerReply {
    use theirs::metadata_response as reply;
    let brokers = ports.iter().zip(0..).map(|(port, id)| {
        reply::MetadataResponseBroker::default()
            .with_node_id(BrokerId(id))
            .with_host(text("127.0.0.1"))
            .with_port(*port)
    });
    let partitions = leaders.iter().zip(0..).map(|(leader, id)| {
        reply::MetadataResponsePartition::default()
            .with_partition_index(id)
            .with_leader_id(BrokerId(*leader))
            .with_replica_nodes(vec![BrokerId(0)])
            .with_isr_nodes(vec![BrokerId(0)])
    });
    let topic = reply::MetadataResponseTopic::default()
        .with_error_code(topic_error)
        .with_name(Some(topic_name("t")))
        .with_partitions(partitions.collect());
    let message = theirs::MetadataResponse::default()
        .with_brokers(brokers.collect())
        .with_controller_id(BrokerId(controller))
        .with_topics(vec![topic]);
    BrokerReply::Body(encoded(&message, version))
}

fn created(version: i16, error: ErrorCode) -> BrokerReply {
    use theirs::create_topics_response as reply;
    let topic = reply::CreatableTopicResult::default().with_name(topic_name("t")).with_error_code(error.0);
    BrokerReply::Body(encoded(&theirs::CreateTopicsResponse::default().with_topics(vec![topic]), version))
}

fn deleted(version: i16, error: ErrorCode) -> BrokerReply {
    use theirs::delete_topics_response as reply;
    let topic =
        reply::DeletableTopicResult::default().with_name(Some(topic_name("t"))).with_error_code(error.0);
    BrokerReply::Body(encoded(&theirs::DeleteTopicsResponse::default().with_responses(vec![topic]), version))
}

/// Settings of a broker: name, value, type.
fn configs(version: i16, settings: &[(&str, Option<&str>, i8)]) -> BrokerReply {
    use theirs::describe_configs_response as reply;
    let configs = settings.iter().map(|(name, value, value_type)| {
        reply::DescribeConfigsResourceResult::default()
            .with_name(text(name))
            .with_value(value.map(text))
            .with_config_type(if version >= 3 { *value_type } else { 0 })
    });
    let result =
        reply::DescribeConfigsResult::default().with_resource_type(4).with_configs(configs.collect());
    BrokerReply::Body(encoded(
        &theirs::DescribeConfigsResponse::default().with_results(vec![result]),
        version,
    ))
}

fn offsets(version: i16, answers: &[(i32, ErrorCode, i64)]) -> BrokerReply {
    use theirs::list_offsets_response as reply;
    let partitions = answers.iter().map(|(id, error, offset)| {
        reply::ListOffsetsPartitionResponse::default()
            .with_partition_index(*id)
            .with_error_code(error.0)
            .with_offset(*offset)
    });
    let topic = reply::ListOffsetsTopicResponse::default()
        .with_name(topic_name("t"))
        .with_partitions(partitions.collect());
    BrokerReply::Body(encoded(&theirs::ListOffsetsResponse::default().with_topics(vec![topic]), version))
}

/// A port on which nothing listens.
fn refused() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").to_string()
}

fn connect(addresses: &[&str], timeout: Duration) -> Result<Admin, AdminError> {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    Admin::connect(&addresses, "test", timeout)
}

/// A broker that is the whole cluster: answers ApiVersions, and metadata by `topic_error` and `leaders` of the
/// n-th metadata request; everything else goes to `script`.
fn single(
    mut topic: impl FnMut(usize) -> (i16, Vec<i32>) + Send + 'static,
    mut script: impl FnMut(i16, i16) -> BrokerReply + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let mut asked = 0;
    serve(listener, move |api_key, version| match api_key {
        m18_api_versions::API_KEY => api_versions(version),
        m03_metadata::API_KEY => {
            let (error, leaders) = topic(asked);
            asked += 1;
            metadata(version, &[i32::from(address.port())], 0, error, &leaders)
        }
        _ => script(api_key, version),
    });
    address.to_string()
}

#[test]
fn every_address_that_leads_nowhere_is_named() {
    let (first, second) = (refused(), refused());
    let error = connect(&[&first, &second], PATIENCE).unwrap_err().to_string();
    let expected = format!(
        "no broker could be reached: broker {first} refused the connection; broker {second} refused the connection"
    );
    assert_eq!(error, expected);
    assert_eq!(connect(&[], PATIENCE).unwrap_err().to_string(), "no bootstrap address was given");
}

#[test]
fn the_next_address_is_tried() {
    let broker = single(|_| (0, vec![0]), |_, _| BrokerReply::Close);
    let mut admin = connect(&[&refused(), &broker], PATIENCE).unwrap();
    let cluster = admin.cluster().unwrap();
    assert_eq!((cluster.controller_id, cluster.brokers.len()), (0, 1));
}

#[test]
fn brokers_and_topics_of_one_moment_come_by_one_request() {
    let requests = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&requests);
    let broker = single(
        move |_| {
            *seen.lock().unwrap() += 1;
            (0, vec![0, -1])
        },
        |_, _| BrokerReply::Close,
    );
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let before = *requests.lock().unwrap();
    let (cluster, topics) = admin.state(Some(&["t"])).unwrap();
    assert_eq!(cluster.brokers.len(), 1);
    let leaders: Vec<i32> = topics[0].partitions.iter().map(|partition| partition.leader).collect();
    assert_eq!(leaders, [0, -1]);
    assert_eq!(*requests.lock().unwrap(), before + 1);
}

#[test]
fn a_silent_broker_costs_the_stated_time_and_no_more() {
    let (broker, _) = broker(|_, _| BrokerReply::Silence);
    let error = connect(&[&broker], IMPATIENCE).unwrap_err();
    assert_eq!(error.to_string(), format!("broker {broker} did not answer ApiVersions within 1s"));
}

#[test]
fn a_silent_first_address_leaves_time_for_the_second() {
    let (silent, _) = broker(|_, _| BrokerReply::Silence);
    let broker = single(|_| (0, vec![0]), |_, _| BrokerReply::Close);
    assert!(connect(&[&silent, &broker], Duration::from_secs(4)).is_ok());
}

#[test]
fn a_broker_that_hangs_up_differs_from_one_that_sends_nonsense() {
    let (closing, _) = broker(|_, _| BrokerReply::Close);
    let error = connect(&[&closing], PATIENCE).unwrap_err().to_string();
    assert!(error.starts_with(&format!("broker {closing} closed the connection instead of")), "{error}");
    let (confused, _) = broker(|_, _| BrokerReply::Body(b"HTTP/1.1 400 Bad Request".to_vec()));
    let error = connect(&[&confused], PATIENCE).unwrap_err().to_string();
    let expected = format!("broker {confused} answered ApiVersions with bytes that are no reply to it: ");
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_broker_that_refuses_api_versions_is_asked_in_the_oldest() {
    let versions = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&versions);
    let (old, port) = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let port = i32::from(address.port());
        serve(listener, move |api_key, version| {
            seen.lock().unwrap().push((api_key, version));
            match (api_key, version) {
                (m18_api_versions::API_KEY, 3) => BrokerReply::Body(vec![0, 35, 0, 0, 0, 0]),
                (m18_api_versions::API_KEY, _) => api_versions(version),
                _ => metadata(version, &[port], 0, 0, &[0]),
            }
        });
        (address.to_string(), port)
    };
    let mut admin = connect(&[&old], PATIENCE).unwrap();
    assert_eq!(admin.cluster().unwrap().brokers[0].port, port);
    assert_eq!(versions.lock().unwrap()[..3], [(18, 3), (18, 0), (3, 9)]);
}

#[test]
fn a_broker_without_a_common_version_is_refused_by_name() {
    let (alien, _) = broker(|_, version| {
        let key = theirs::api_versions_response::ApiVersion::default()
            .with_api_key(3)
            .with_min_version(20)
            .with_max_version(21);
        BrokerReply::Body(encoded(&theirs::ApiVersionsResponse::default().with_api_keys(vec![key]), version))
    });
    let error = connect(&[&alien], PATIENCE).unwrap_err().to_string();
    let expected = format!(
        "broker {alien}: no common version of Metadata: the broker speaks 20 to 21, we speak 4 to 13"
    );
    assert_eq!(error, expected);
}

#[test]
fn a_topic_is_created_once_its_partitions_have_leaders() {
    // Unknown at first, then without a leader, then complete.
    let states = |asked| match asked {
        0 | 1 => (3, vec![]),
        2 => (0, vec![0, -1]),
        _ => (0, vec![0, 0]),
    };
    let broker = single(states, |_, version| created(version, ErrorCode::NONE));
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    admin.create_topic("t", 2, 1, &BTreeMap::new()).unwrap();
    assert!(admin.topics(Some(&["t"])).unwrap()[0].partitions.iter().all(|p| p.leader == 0));
}

#[test]
fn a_topic_whose_leaders_never_come_is_an_error_that_says_so() {
    let broker = single(|_| (0, vec![0, -1]), |_, version| created(version, ErrorCode::NONE));
    let mut admin = connect(&[&broker], IMPATIENCE).unwrap();
    let error = admin.create_topic("t", 2, 1, &BTreeMap::new()).unwrap_err().to_string();
    let expected = "topic \"t\" was created, but after 1s partition 1 has leader -1 and 1 of 1 replicas in sync, \
                    says broker 0";
    assert_eq!(error, expected);
}

#[test]
fn a_refusal_is_final_and_keeps_the_brokers_code() {
    let broker =
        single(|_| (0, vec![0]), |_, version| created(version, ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let error = admin.create_topic("t", 1, 1, &BTreeMap::new()).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    let expected = format!(
        "broker {broker} answered CreateTopics of topic \"t\" with an error CLUSTER_AUTHORIZATION_FAILED"
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_brokers_message_is_reported_in_one_short_line() {
    let broker = single(
        |_| (0, vec![0]),
        |_, version| {
            use theirs::create_topics_response as reply;
            let topic = reply::CreatableTopicResult::default()
                .with_name(topic_name("t"))
                .with_error_code(ErrorCode::INVALID_CONFIG.0)
                .with_error_message(Some(text(&format!("no\u{1b}[2J\n{}", "x".repeat(30_000)))));
            let message = theirs::CreateTopicsResponse::default().with_topics(vec![topic]);
            BrokerReply::Body(encoded(&message, version))
        },
    );
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let error = admin.create_topic("t", 1, 1, &BTreeMap::new()).unwrap_err().to_string();
    let (_, words) = error.split_once("INVALID_CONFIG: ").expect("the broker's words");
    assert_eq!(words, format!("no [2J {}…", "x".repeat(293)));
}

#[test]
fn an_unanswered_creation_counts_when_the_topic_exists() {
    let mut tries = 0;
    let broker = single(
        |_| (0, vec![0]),
        move |_, version| {
            tries += 1;
            if tries == 1 { BrokerReply::Close } else { created(version, ErrorCode::TOPIC_ALREADY_EXISTS) }
        },
    );
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    admin.create_topic("t", 1, 1, &BTreeMap::new()).unwrap();
}

#[test]
fn a_topic_that_was_there_before_is_an_error() {
    let broker = single(|_| (0, vec![0]), |_, version| created(version, ErrorCode::TOPIC_ALREADY_EXISTS));
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let error = admin.create_topic("t", 1, 1, &BTreeMap::new()).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
}

#[test]
fn a_moved_controller_is_followed() {
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let addresses = [0, 1].map(|i: usize| listeners[i].local_addr().expect("its address"));
    let ports = addresses.map(|address| i32::from(address.port()));
    // Both name broker 0 until it has said that it is the controller no more.
    let controller = Arc::new(Mutex::new(0));
    for (listener, id) in listeners.into_iter().zip(0..) {
        let controller = Arc::clone(&controller);
        serve(listener, move |api_key, version| {
            let mut controller = controller.lock().unwrap();
            match api_key {
                m18_api_versions::API_KEY => api_versions(version),
                m03_metadata::API_KEY => metadata(version, &ports, *controller, 0, &[0]),
                _ if id == 1 => created(version, ErrorCode::NONE),
                _ => {
                    *controller = 1;
                    created(version, ErrorCode::NOT_CONTROLLER)
                }
            }
        });
    }
    let mut admin = connect(&[&addresses[0].to_string()], PATIENCE).unwrap();
    admin.create_topic("t", 1, 1, &BTreeMap::new()).unwrap();
    assert_eq!(admin.cluster().unwrap().controller_id, 1);
}

#[test]
fn a_topic_is_deleted_once_no_broker_knows_it() {
    let gone = |asked| if asked < 3 { (0, vec![0]) } else { (3, vec![]) };
    let broker = single(gone, |_, version| deleted(version, ErrorCode::NONE));
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    admin.delete_topics(&["t"]).unwrap();
    assert_eq!(admin.topics(Some(&["t"])).unwrap()[0].error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn offsets_are_asked_again_while_a_leader_is_new() {
    let mut tries = 0;
    let broker = single(
        |_| (0, vec![0, 0]),
        move |_, version| {
            tries += 1;
            let second =
                if tries < 3 { (1, ErrorCode::NOT_LEADER_OR_FOLLOWER, -1) } else { (1, ErrorCode::NONE, 8) };
            offsets(version, &[(0, ErrorCode::NONE, 5), second])
        },
    );
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    assert_eq!(admin.list_offsets("t", OffsetAt::Latest).unwrap(), BTreeMap::from([(0, 5), (1, 8)]));
}

#[test]
fn an_offset_left_out_is_an_error() {
    let broker = single(|_| (0, vec![0, 0]), |_, version| offsets(version, &[(0, ErrorCode::NONE, 5)]));
    let mut admin = connect(&[&broker], IMPATIENCE).unwrap();
    let error = admin.list_offsets("t", OffsetAt::Earliest).unwrap_err();
    assert_eq!(error.to_string(), "no broker returned the offset of t-1");
}

#[test]
fn names_too_long_for_the_protocol_are_refused_before_sending() {
    let broker = single(|_| (0, vec![0]), |_, _| BrokerReply::Close);
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let long = "x".repeat(40_000);
    let error = admin.describe_configs(ConfigOf::Topic(&long)).unwrap_err();
    assert_eq!(error.to_string(), "topic name has 40000 bytes, kafka allows 32767");
}
