//! For tests: requests as an independent codec writes them, and responses as it reads them.

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiKey, ProduceRequest, RequestHeader, ResponseHeader, TopicName, TransactionalId,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};

/// A whole request frame.
pub(crate) fn request<R: Encodable + HeaderVersion>(
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    body: &R,
) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    RequestHeader::default()
        .with_request_api_key(key as i16)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(StrBytes::from_static_str("oracle")))
        .encode(&mut bytes, R::header_version(version))
        .expect("header");
    body.encode(&mut bytes, version).expect("body");
    let mut frame = (bytes.len() as i32).to_be_bytes().to_vec();
    frame.extend_from_slice(&bytes);
    frame
}

/// The first response frame in `bytes`, which is taken off: its correlation id and body, read to its end.
pub(crate) fn response<R: Decodable + HeaderVersion>(bytes: &mut Vec<u8>, version: i16) -> (i32, R) {
    let length = i32::from_be_bytes(bytes[..4].try_into().expect("length")) as usize;
    let frame: Vec<u8> = bytes.drain(..length + 4).skip(4).collect();
    let mut frame = Bytes::from(frame);
    let header = ResponseHeader::decode(&mut frame, R::header_version(version)).expect("header");
    let body = R::decode(&mut frame, version).expect("body");
    assert!(!frame.has_remaining(), "{} bytes left over", frame.remaining());
    (header.correlation_id, body)
}

/// A topic's name as the other codec wants it.
pub(crate) fn topic(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

/// A produce request of one topic; each partition with its record set.
pub(crate) fn produce(acks: i16, name: &str, partitions: &[(i32, Vec<u8>)]) -> ProduceRequest {
    let data = partitions.iter().map(|(index, records)| {
        PartitionProduceData::default().with_index(*index).with_records(Some(Bytes::from(records.clone())))
    });
    ProduceRequest::default()
        .with_transactional_id(None::<TransactionalId>)
        .with_acks(acks)
        .with_timeout_ms(30_000)
        .with_topic_data(vec![
            TopicProduceData::default().with_name(topic(name)).with_partition_data(data.collect()),
        ])
}
