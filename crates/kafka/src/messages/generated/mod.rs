//! Made by `cargo xtask messages --write` from the specifications in kafka-clients 4.4.0.

#![allow(missing_docs, reason = "names are Kafka's own, whose specifications say what they mean")]

pub mod m02_list_offsets;
pub mod m03_metadata;
pub mod m08_offset_commit;
pub mod m09_offset_fetch;
pub mod m10_find_coordinator;
pub mod m11_join_group;
pub mod m12_heartbeat;
pub mod m13_leave_group;
pub mod m14_sync_group;
pub mod m15_describe_groups;
pub mod m16_list_groups;
pub mod m17_sasl_handshake;
pub mod m18_api_versions;
pub mod m19_create_topics;
pub mod m20_delete_topics;
pub mod m22_init_producer_id;
pub mod m23_offset_for_leader_epoch;
pub mod m24_add_partitions_to_txn;
pub mod m25_add_offsets_to_txn;
pub mod m26_end_txn;
pub mod m28_txn_offset_commit;
pub mod m29_describe_acls;
pub mod m30_create_acls;
pub mod m31_delete_acls;
pub mod m32_describe_configs;
pub mod m35_describe_log_dirs;
pub mod m36_sasl_authenticate;
pub mod m37_create_partitions;
pub mod m42_delete_groups;
pub mod m43_elect_leaders;
pub mod m44_incremental_alter_configs;
pub mod m48_describe_client_quotas;
pub mod m49_alter_client_quotas;
pub mod m50_describe_user_scram_credentials;
pub mod m51_alter_user_scram_credentials;
pub mod m60_describe_cluster;
pub mod m68_consumer_group_heartbeat;
pub mod m69_consumer_group_describe;

/// Calls a macro of the tests with every module and the names of its messages.
#[cfg(test)]
macro_rules! for_each_message {
    ($call:ident) => {
        $call! { m02_list_offsets: ListOffsetsRequest => ListOffsetsResponse }
        $call! { m03_metadata: MetadataRequest => MetadataResponse }
        $call! { m08_offset_commit: OffsetCommitRequest => OffsetCommitResponse }
        $call! { m09_offset_fetch: OffsetFetchRequest => OffsetFetchResponse }
        $call! { m10_find_coordinator: FindCoordinatorRequest => FindCoordinatorResponse }
        $call! { m11_join_group: JoinGroupRequest => JoinGroupResponse }
        $call! { m12_heartbeat: HeartbeatRequest => HeartbeatResponse }
        $call! { m13_leave_group: LeaveGroupRequest => LeaveGroupResponse }
        $call! { m14_sync_group: SyncGroupRequest => SyncGroupResponse }
        $call! { m15_describe_groups: DescribeGroupsRequest => DescribeGroupsResponse }
        $call! { m16_list_groups: ListGroupsRequest => ListGroupsResponse }
        $call! { m17_sasl_handshake: SaslHandshakeRequest => SaslHandshakeResponse }
        $call! { m18_api_versions: ApiVersionsRequest => ApiVersionsResponse }
        $call! { m19_create_topics: CreateTopicsRequest => CreateTopicsResponse }
        $call! { m20_delete_topics: DeleteTopicsRequest => DeleteTopicsResponse }
        $call! { m22_init_producer_id: InitProducerIdRequest => InitProducerIdResponse }
        $call! { m23_offset_for_leader_epoch: OffsetForLeaderEpochRequest => OffsetForLeaderEpochResponse }
        $call! { m24_add_partitions_to_txn: AddPartitionsToTxnRequest => AddPartitionsToTxnResponse }
        $call! { m25_add_offsets_to_txn: AddOffsetsToTxnRequest => AddOffsetsToTxnResponse }
        $call! { m26_end_txn: EndTxnRequest => EndTxnResponse }
        $call! { m28_txn_offset_commit: TxnOffsetCommitRequest => TxnOffsetCommitResponse }
        $call! { m29_describe_acls: DescribeAclsRequest => DescribeAclsResponse }
        $call! { m30_create_acls: CreateAclsRequest => CreateAclsResponse }
        $call! { m31_delete_acls: DeleteAclsRequest => DeleteAclsResponse }
        $call! { m32_describe_configs: DescribeConfigsRequest => DescribeConfigsResponse }
        $call! { m35_describe_log_dirs: DescribeLogDirsRequest => DescribeLogDirsResponse }
        $call! { m36_sasl_authenticate: SaslAuthenticateRequest => SaslAuthenticateResponse }
        $call! { m37_create_partitions: CreatePartitionsRequest => CreatePartitionsResponse }
        $call! { m42_delete_groups: DeleteGroupsRequest => DeleteGroupsResponse }
        $call! { m43_elect_leaders: ElectLeadersRequest => ElectLeadersResponse }
        $call! { m44_incremental_alter_configs: IncrementalAlterConfigsRequest => IncrementalAlterConfigsResponse }
        $call! { m48_describe_client_quotas: DescribeClientQuotasRequest => DescribeClientQuotasResponse }
        $call! { m49_alter_client_quotas: AlterClientQuotasRequest => AlterClientQuotasResponse }
        $call! { m50_describe_user_scram_credentials: DescribeUserScramCredentialsRequest => DescribeUserScramCredentialsResponse }
        $call! { m51_alter_user_scram_credentials: AlterUserScramCredentialsRequest => AlterUserScramCredentialsResponse }
        $call! { m60_describe_cluster: DescribeClusterRequest => DescribeClusterResponse }
        $call! { m68_consumer_group_heartbeat: ConsumerGroupHeartbeatRequest => ConsumerGroupHeartbeatResponse }
        $call! { m69_consumer_group_describe: ConsumerGroupDescribeRequest => ConsumerGroupDescribeResponse }
    };
}
#[cfg(test)]
pub(super) use for_each_message;
