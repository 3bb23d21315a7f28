//! What is read of logs and groups while a load goes on.

use crate::*;

const OFFSETS: i16 = m09_offset_fetch::API_KEY;
const GROUPS: i16 = m16_list_groups::API_KEY;
const LOG_DIRS: i16 = m35_describe_log_dirs::API_KEY;

/// A broker that leads two partitions of `t`, speaks OffsetFetch up to a version, and answers all else by a script.
fn observed(
    offset_fetch_max: i16,
    mut script: impl FnMut(i16, i16) -> BrokerReply + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let ports = [i32::from(address.port())];
    serve(listener, move |api_key, version| match api_key {
        m18_api_versions::API_KEY => {
            let ranges = [(2, 0, 5), (3, 0, 9), (9, 0, offset_fetch_max), (16, 0, 4), (18, 0, 3), (35, 0, 4)];
            let keys = ranges.map(|(key, min, max)| {
                let range = theirs::api_versions_response::ApiVersion::default();
                range.with_api_key(key).with_min_version(min).with_max_version(max)
            });
            let keys = theirs::ApiVersionsResponse::default().with_api_keys(keys.to_vec());
            BrokerReply::Body(encoded(&keys, version))
        }
        m03_metadata::API_KEY => metadata(version, &ports, 0, 0, &[0, 0]),
        _ => script(api_key, version),
    });
    address.to_string()
}

fn log_dirs(version: i16, error: ErrorCode, of_dir: ErrorCode, sizes: &[&[i64]]) -> BrokerReply {
    use theirs::describe_log_dirs_response as reply;
    let dir = |sizes: &&[i64]| {
        let partition = |size: &i64| reply::DescribeLogDirsPartition::default().with_partition_size(*size);
        let topic = reply::DescribeLogDirsTopic::default()
            .with_name(topic_name("t"))
            .with_partitions(sizes.iter().map(partition).collect());
        reply::DescribeLogDirsResult::default().with_error_code(of_dir.0).with_topics(vec![topic])
    };
    let all = theirs::DescribeLogDirsResponse::default().with_error_code(error.0);
    BrokerReply::Body(encoded(&all.with_results(sizes.iter().map(dir).collect()), version))
}

#[test]
fn log_sizes_add_up_over_directories_and_denial_is_reported() {
    let mut asked = 0;
    let broker = observed(8, move |api_key, version| {
        assert_eq!(api_key, LOG_DIRS);
        asked += 1;
        match asked {
            1 => log_dirs(version, ErrorCode::NONE, ErrorCode::NONE, &[&[10, 20], &[-1, 300]]),
            2 => log_dirs(version, ErrorCode::CLUSTER_AUTHORIZATION_FAILED, ErrorCode::NONE, &[]),
            3 => log_dirs(version, ErrorCode::NONE, ErrorCode::NONE, &[]),
            _ => log_dirs(version, ErrorCode::NONE, ErrorCode::CLUSTER_AUTHORIZATION_FAILED, &[&[1]]),
        }
    });
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let bytes = admin.log_bytes(0).unwrap().expect("directories");
    assert_eq!(bytes, BTreeMap::from([("t".to_owned(), 330)]));
    let refused = admin.log_bytes(0).unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    assert_eq!(admin.log_bytes(0).unwrap(), None, "before Kafka 3.0 it is not said");
    assert!(admin.log_bytes(0).is_err(), "a sum without one directory would be none");
}

#[test]
fn ends_of_logs_are_asked_at_once_and_missing_ones_are_left_out() {
    let broker = observed(8, |api_key, version| {
        assert_eq!(api_key, m02_list_offsets::API_KEY);
        let gone = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        offsets(version, &[(0, ErrorCode::NONE, 70), (1, gone, -1)])
    });
    let mut admin = connect(&[&broker], PATIENCE).unwrap();
    let topics = admin.topics(Some(&["t"])).unwrap();
    assert_eq!(admin.log_ends(&topics).unwrap(), BTreeMap::from([(("t".to_owned(), 0), 70)]));
}

/// Reports the offset 5 of partition 0 for as many groups as there are; for the second one that it may not be seen.
fn committed(version: i16, groups: &[&str]) -> BrokerReply {
    use theirs::offset_fetch_response as reply;
    let group = |name: &&str| {
        let group = reply::OffsetFetchResponseGroup::default().with_group_id(theirs::GroupId(text(name)));
        if *name == "secret" {
            return group.with_error_code(ErrorCode::GROUP_AUTHORIZATION_FAILED.0);
        }
        let partition = reply::OffsetFetchResponsePartitions::default().with_committed_offset(5);
        let topic = reply::OffsetFetchResponseTopics::default().with_name(topic_name("t"));
        group.with_topics(vec![topic.with_partitions(vec![partition])])
    };
    let answer = theirs::OffsetFetchResponse::default();
    if version >= 8 {
        return BrokerReply::Body(encoded(&answer.with_groups(groups.iter().map(group).collect()), version));
    }
    let partition = reply::OffsetFetchResponsePartition::default().with_committed_offset(5);
    let topic = reply::OffsetFetchResponseTopic::default().with_name(topic_name("t"));
    BrokerReply::Body(encoded(&answer.with_topics(vec![topic.with_partitions(vec![partition])]), version))
}

#[test]
fn groups_are_listed_with_offsets_in_one_answer_or_one_by_one() {
    for (version_max, requests) in [(8, 1), (7, 2)] {
        let asked = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&asked);
        let broker = observed(version_max, move |api_key, version| match api_key {
            GROUPS => {
                use theirs::list_groups_response as reply;
                let group = |name| reply::ListedGroup::default().with_group_id(theirs::GroupId(text(name)));
                let groups = ["open", "secret"].map(group).to_vec();
                BrokerReply::Body(encoded(
                    &theirs::ListGroupsResponse::default().with_groups(groups),
                    version,
                ))
            }
            OFFSETS => {
                *counted.lock().unwrap() += 1;
                committed(version, &["open", "secret"])
            }
            _ => BrokerReply::Close,
        });
        let mut admin = connect(&[&broker], PATIENCE).unwrap();
        let topics = admin.topics(Some(&["t"])).unwrap();
        let groups = admin.groups(0).unwrap();
        assert_eq!(groups, ["open", "secret"]);
        let reported = admin.committed(0, &groups, Some(&topics)).unwrap();
        assert_eq!(*asked.lock().unwrap(), requests, "up to version {version_max}");
        let names: Vec<&str> = reported.iter().map(|one| one.group.as_str()).collect();
        assert_eq!(names, groups);
        assert_eq!(reported[0].offsets, BTreeMap::from([(("t".to_owned(), 0), 5)]));
        let of_all_topics = admin.committed(0, &groups[..1], None).unwrap();
        assert_eq!(of_all_topics[0].offsets, reported[0].offsets);
        if version_max == 8 {
            assert_eq!(reported[1].error, ErrorCode::GROUP_AUTHORIZATION_FAILED);
            assert!(reported[1].offsets.is_empty());
        }
    }
}

#[test]
fn bytes_that_are_no_answer_are_an_error() {
    let broker = observed(8, |_, _| BrokerReply::Body(vec![0xff; 7]));
    let mut admin = connect(&[&broker], IMPATIENCE).unwrap();
    let topics = admin.topics(Some(&["t"])).unwrap();
    assert!(admin.log_bytes(0).is_err());
    assert!(admin.groups(0).is_err());
    assert!(admin.committed(0, &["g".to_owned()], Some(&topics)).is_err());
    assert!(admin.log_ends(&topics).is_err());
}
