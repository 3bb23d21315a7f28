//! Made by `cargo xtask messages --write` from the specifications in kafka-clients 4.3.1.

#![allow(missing_docs, reason = "names are Kafka's own, whose specifications say what they mean")]

pub mod m02_list_offsets;
pub mod m03_metadata;
pub mod m18_api_versions;
pub mod m19_create_topics;
pub mod m20_delete_topics;
pub mod m32_describe_configs;

/// All of them, by key.
pub(super) const APIS: [super::Api; 6] = [
    m02_list_offsets::API,
    m03_metadata::API,
    m18_api_versions::API,
    m19_create_topics::API,
    m20_delete_topics::API,
    m32_describe_configs::API,
];

/// Calls a macro of the tests with every module and the names of its messages.
#[cfg(test)]
macro_rules! for_each_message {
    ($call:ident) => {
        $call!(m02_list_offsets, ListOffsetsRequest, ListOffsetsResponse);
        $call!(m03_metadata, MetadataRequest, MetadataResponse);
        $call!(m18_api_versions, ApiVersionsRequest, ApiVersionsResponse);
        $call!(m19_create_topics, CreateTopicsRequest, CreateTopicsResponse);
        $call!(m20_delete_topics, DeleteTopicsRequest, DeleteTopicsResponse);
        $call!(m32_describe_configs, DescribeConfigsRequest, DescribeConfigsResponse);
    };
}
#[cfg(test)]
pub(super) use for_each_message;
