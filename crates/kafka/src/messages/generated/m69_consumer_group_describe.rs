//! ConsumerGroupDescribe (key 69), from `ConsumerGroupDescribeRequest.json` and `ConsumerGroupDescribeResponse.json`.
//! Made by `cargo xtask messages --write` from kafka-clients 4.4.0.

use crate::errors::ErrorCode;
use crate::messages::message;

message! {
    ConsumerGroupDescribe = 69, versions 0..=1, flexible 0..;

    Request {
        group_ids: Vec<String> [0..],
        include_authorized_operations: bool [0..],
    }

    Response {
        throttle_time_ms: i32 [0..],
        groups: Vec<DescribedGroup> [0..],
    }

    DescribedGroup {
        error_code: ErrorCode [0..],
        error_message: Option<String> [0..],
        group_id: String [0..],
        group_state: String [0..],
        group_epoch: i32 [0..],
        assignment_epoch: i32 [0..],
        assignor_name: String [0..],
        members: Vec<Member> [0..],
        authorized_operations: i32 [0..] = -2147483648,
    }

    Member {
        member_id: String [0..],
        instance_id: Option<String> [0..],
        rack_id: Option<String> [0..],
        member_epoch: i32 [0..],
        client_id: String [0..],
        client_host: String [0..],
        subscribed_topic_names: Vec<String> [0..],
        subscribed_topic_regex: Option<String> [0..],
        assignment: Assignment [0..],
        target_assignment: Assignment [0..],
        member_type: i8 [1..] = -1,
    }

    TopicPartitions {
        topic_id: [u8; 16] [0..],
        topic_name: String [0..],
        partitions: Vec<i32> [0..],
    }

    Assignment {
        topic_partitions: Vec<TopicPartitions> [0..],
    }
}
