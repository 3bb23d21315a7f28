//! The small responses, appended to a buffer as whole frames.

use super::{Api, RequestHead, begin_frame, code, end_frame};
use kdyno_kafka::wire::Writer;

/// A broker as metadata names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokerView {
    pub id: i32,
    pub host: String,
    pub port: u16,
}

/// A partition as metadata describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartitionView {
    pub index: i32,
    pub error: i16,
    /// -1: none.
    pub leader: i32,
    pub leader_epoch: i32,
    pub replicas: Vec<i32>,
}

/// A topic as metadata describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicView<'a> {
    pub name: &'a str,
    pub error: i16,
    pub partitions: Vec<PartitionView>,
}

/// ApiVersions: everything that [`Api`] speaks.
pub(crate) fn api_versions(out: &mut Vec<u8>, head: &RequestHead) {
    let start = begin_frame(out, head);
    out.put_i16(if head.unsupported { code::UNSUPPORTED_VERSION } else { code::NONE });
    out.put_array_length(Api::ALL.len(), head.flexible);
    for api in Api::ALL {
        let (first, last) = api.versions();
        out.put_i16(api.key());
        out.put_i16(first);
        out.put_i16(last);
        out.put_no_tags(head.flexible);
    }
    if head.version >= 1 {
        out.put_i32(0); // throttle time
    }
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}

/// Begins metadata: everything before the topics. Then [`metadata_topic`] for each, then [`end_metadata`].
pub(crate) fn begin_metadata(
    out: &mut Vec<u8>,
    head: &RequestHead,
    cluster_id: &str,
    controller: i32,
    brokers: &[BrokerView],
    topics: usize,
) -> usize {
    let (version, flexible) = (head.version, head.flexible);
    let start = begin_frame(out, head);
    if version >= 3 {
        out.put_i32(0); // throttle time
    }
    out.put_array_length(brokers.len(), flexible);
    for broker in brokers {
        out.put_i32(broker.id);
        out.put_string(&broker.host, flexible);
        out.put_i32(broker.port.into());
        if version >= 1 {
            out.put_nullable_string(None, flexible); // rack
        }
        out.put_no_tags(flexible);
    }
    if version >= 2 {
        out.put_nullable_string(Some(cluster_id), flexible);
    }
    if version >= 1 {
        out.put_i32(controller);
    }
    out.put_array_length(topics, flexible);
    start
}

/// One topic of metadata.
pub(crate) fn metadata_topic(out: &mut Vec<u8>, head: &RequestHead, topic: &TopicView<'_>) {
    let (version, flexible) = (head.version, head.flexible);
    out.put_i16(topic.error);
    out.put_string(topic.name, flexible);
    if version >= 1 {
        out.put_bool(false); // internal
    }
    out.put_array_length(topic.partitions.len(), flexible);
    for partition in &topic.partitions {
        out.put_i16(partition.error);
        out.put_i32(partition.index);
        out.put_i32(partition.leader);
        if version >= 7 {
            out.put_i32(partition.leader_epoch);
        }
        // Replicas, then those in sync: here all are.
        for _ in 0..2 {
            out.put_array_length(partition.replicas.len(), flexible);
            for replica in &partition.replicas {
                out.put_i32(*replica);
            }
        }
        if version >= 5 {
            out.put_array_length(0, flexible); // offline replicas
        }
        out.put_no_tags(flexible);
    }
    if version >= 8 {
        out.put_i32(i32::MIN); // authorized operations: not asked for
    }
    out.put_no_tags(flexible);
}

/// Ends metadata begun at `start`.
pub(crate) fn end_metadata(out: &mut Vec<u8>, head: &RequestHead, start: usize) {
    if head.version >= 8 {
        out.put_i32(i32::MIN); // authorized operations: not asked for
    }
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}

/// Index, error and offset of a partition.
pub(crate) type OffsetFound = (i32, i16, i64);

/// ListOffsets.
pub(crate) fn list_offsets(out: &mut Vec<u8>, head: &RequestHead, topics: &[(&str, Vec<OffsetFound>)]) {
    let start = begin_frame(out, head);
    if head.version >= 2 {
        out.put_i32(0); // throttle time
    }
    out.put_array_length(topics.len(), head.flexible);
    for (name, partitions) in topics {
        out.put_string(name, head.flexible);
        out.put_array_length(partitions.len(), head.flexible);
        for (index, error, offset) in partitions {
            out.put_i32(*index);
            out.put_i16(*error);
            out.put_i64(-1); // timestamp
            out.put_i64(*offset);
            if head.version >= 4 {
                out.put_i32(-1); // leader epoch
            }
            out.put_no_tags(head.flexible);
        }
        out.put_no_tags(head.flexible);
    }
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}

/// A topic that was to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Created<'a> {
    pub name: &'a str,
    pub error: i16,
    pub partitions: i32,
    pub replicas: i16,
}

/// CreateTopics.
pub(crate) fn create_topics(out: &mut Vec<u8>, head: &RequestHead, topics: &[Created<'_>]) {
    let start = begin_frame(out, head);
    out.put_i32(0); // throttle time
    out.put_array_length(topics.len(), head.flexible);
    for topic in topics {
        out.put_string(topic.name, head.flexible);
        out.put_i16(topic.error);
        out.put_nullable_string(None, head.flexible);
        if head.version >= 5 {
            out.put_i32(if topic.error == 0 { topic.partitions } else { -1 });
            out.put_i16(if topic.error == 0 { topic.replicas } else { -1 });
            out.put_array_length(0, true); // configuration
        }
        out.put_no_tags(head.flexible);
    }
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}

/// DeleteTopics: name and error of each.
pub(crate) fn delete_topics(out: &mut Vec<u8>, head: &RequestHead, topics: &[(&str, i16)]) {
    let start = begin_frame(out, head);
    out.put_i32(0); // throttle time
    out.put_array_length(topics.len(), head.flexible);
    for (name, error) in topics {
        out.put_string(name, head.flexible);
        out.put_i16(*error);
        out.put_no_tags(head.flexible);
    }
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}

/// DescribeConfigs: every resource exists and has no settings of its own.
pub(crate) fn describe_configs(out: &mut Vec<u8>, head: &RequestHead, resources: &[(i8, &str)]) {
    let start = begin_frame(out, head);
    out.put_i32(0); // throttle time
    out.put_array_length(resources.len(), head.flexible);
    for (kind, name) in resources {
        out.put_i16(code::NONE);
        out.put_nullable_string(None, head.flexible);
        out.put_i8(*kind);
        out.put_string(name, head.flexible);
        out.put_array_length(0, head.flexible);
        out.put_no_tags(head.flexible);
    }
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}

/// InitProducerId.
pub(crate) fn init_producer_id(out: &mut Vec<u8>, head: &RequestHead, producer_id: i64) {
    let start = begin_frame(out, head);
    out.put_i32(0); // throttle time
    out.put_i16(code::NONE);
    out.put_i64(producer_id);
    out.put_i16(0); // epoch
    out.put_no_tags(head.flexible);
    end_frame(out, start);
}
