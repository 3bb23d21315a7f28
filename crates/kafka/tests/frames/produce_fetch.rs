//! Produce, Fetch and the record batches inside them, compared with the `kafka-protocol` crate in every version
//! we speak.

use crate::common::{Material, material};
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::records as their_records;
use kdyno_kafka::messages::{BrokerEndpoint, LeaderHint, LeaderHints, m00_produce, m01_fetch};
use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, batches, encode_record, write_batch_header,
};
use proptest::prelude::*;

type KeyValue = (Option<Vec<u8>>, Vec<u8>);

fn key_values() -> impl Strategy<Value = Vec<KeyValue>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..100);
    prop::collection::vec((prop::option::of(bytes()), bytes()), 1..20)
}

/// Header and body of an uncompressed batch; one millisecond between records.
fn batch(records: &[KeyValue], base_timestamp_ms: i64) -> ([u8; HEADER_BYTES], Vec<u8>) {
    let mut body = Vec::new();
    for (index, (key, value)) in records.iter().enumerate() {
        encode_record(&mut body, index as i32, index as i64, key.as_deref(), value);
    }
    let count = records.len() as i32;
    let last = base_timestamp_ms + i64::from(count) - 1;
    let header = BatchHeader::plain(Compression::None, count, base_timestamp_ms, last);
    let mut head = [0; HEADER_BYTES];
    write_batch_header(&mut head, &header, &BodySum::of(&body));
    (head, body)
}

/// How a request names topic `t` with an id of sevens.
fn named_or_by_id(version: i16, by_name_max: i16) -> (&'static str, [u8; 16]) {
    if version <= by_name_max { ("t", [0; 16]) } else { ("", [7; 16]) }
}

/// What a response made of this material says of leaders. A leader and epoch of −1 are the field's default, which
/// is not sent.
fn reported_leaders(material: &Material, has_leaders: bool, has_endpoints: bool) -> LeaderHints {
    let (number, names) = (material.number, &material.names);
    let leader = |id: &i32| LeaderHint { topic: 0, partition: *id, leader: number, epoch: number };
    let endpoint = |host: &String| BrokerEndpoint { broker: number, host: host.clone(), port: number };
    let leaders = names.iter().flat_map(|_| material.ids.iter().map(leader));
    LeaderHints {
        leaders: leaders.filter(|_| has_leaders && number != -1).collect(),
        endpoints: names.iter().map(endpoint).filter(|_| has_endpoints).collect(),
    }
}

proptest! {
    #[test]
    fn they_read_our_record_batches(records in key_values(), base_timestamp_ms in 0..1i64 << 50) {
        let (head, body) = batch(&records, base_timestamp_ms);
        let mut bytes = Bytes::from([head.as_slice(), &body].concat());
        let read = their_records::RecordBatchDecoder::decode(&mut bytes).expect("a batch they can read").records;
        prop_assert_eq!(bytes.remaining(), 0);
        prop_assert_eq!(read.len(), records.len());
        for ((record, (key, value)), index) in read.iter().zip(&records).zip(0..) {
            prop_assert_eq!(record.key.as_deref(), key.as_deref());
            prop_assert_eq!(record.value.as_deref(), Some(value.as_slice()));
            prop_assert_eq!((record.offset, record.timestamp), (index, base_timestamp_ms + index));
            prop_assert_eq!((record.producer_id, record.producer_epoch), (-1, -1));
            prop_assert!(record.headers.is_empty());
        }
    }

    #[test]
    fn we_read_their_record_batches(records in key_values(), base in 0..1i64 << 50, headers in 0..4usize) {
        let named = |n: usize| (crate::common::text(&format!("header {n}")), Some(Bytes::from_static(b"value")));
        let theirs: Vec<_> = records.iter().zip(0..).map(|((key, value), index)| their_records::Record {
            transactional: false,
            control: false,
            delete_horizon: false,
            partition_leader_epoch: 0,
            producer_id: -1,
            producer_epoch: -1,
            timestamp_type: their_records::TimestampType::Creation,
            offset: base + index,
            sequence: -1,
            timestamp: base + 3 * index,
            key: key.clone().map(Bytes::from),
            value: Some(Bytes::from(value.clone())),
            headers: (0..headers).map(named).collect(),
        }).collect();
        let mut out = BytesMut::new();
        let options = their_records::RecordEncodeOptions { version: 2, compression: their_records::Compression::None };
        their_records::RecordBatchEncoder::encode(&mut out, &theirs, &options).expect("records they can write");

        let (mut scratch, mut expected) = (Vec::new(), theirs.iter());
        for batch in batches(&out) {
            let batch = batch.unwrap();
            prop_assert_eq!(batch.verify_crc(), Ok(()));
            for record in batch.records(&mut scratch, 0).unwrap() {
                let (record, expected) = (record.unwrap(), expected.next().unwrap());
                prop_assert_eq!((record.offset, record.timestamp_ms), (expected.offset, expected.timestamp));
                prop_assert_eq!((record.key, record.value), (expected.key.as_deref(), expected.value.as_deref()));
            }
        }
        prop_assert!(expected.next().is_none());
    }

    #[test]
    fn produce(material in material(), records in key_values()) {
        use m00_produce::*;
        for version in API.version_min..=API.version_max {
            let (header, body) = batch(&records, 7);
            let of = |topic, id: i32| PartitionBatch { topic, partition: id, header, body: Bytes::from(body.clone()) };
            // The second topic has nothing.
            let mut parts: Vec<_> = [5].iter().chain(&material.ids).map(|id| of(0, *id)).collect();
            parts.extend([of(2, 6), of(2, 7)]);
            let topics = ["t", "u", "v"].map(str::to_owned);
            let head = ProduceHead {
                version,
                correlation_id: material.number,
                client_id: "me",
                transactional_id: material.ids.first().map(|_| "mine"),
                acks: -1,
                timeout_ms: 9,
                topics: &topics,
                topic_ids: &[[7; 16], [8; 16], [9; 16]],
            };
            let mut segments: Vec<Bytes> = Vec::new();
            let total = encode(&head, &parts, &mut BytesMut::new(), &mut segments);
            let mut frame = Bytes::from(segments.concat());
            prop_assert_eq!(frame.len(), total);
            prop_assert_eq!(frame.get_i32() as usize, frame.remaining());
            let header_version = if API.is_flexible(version) { 2 } else { 1 };
            let read = theirs::RequestHeader::decode(&mut frame, header_version).expect("a header they can read");
            prop_assert_eq!((read.request_api_key, read.request_api_version), (API.key, version));
            prop_assert_eq!(read.correlation_id, material.number);
            let read = theirs::ProduceRequest::decode(&mut frame, version).expect("a request they can read");
            prop_assert_eq!(frame.remaining(), 0);
            prop_assert_eq!((read.acks, read.timeout_ms), (-1, 9));
            let transactional_id = read.transactional_id.map(|id| id.to_string());
            prop_assert_eq!(transactional_id.as_deref(), head.transactional_id);
            let (name, id) = (read.topic_data[0].name.to_string(), read.topic_data[0].topic_id);
            prop_assert_eq!((name.as_str(), *id.as_bytes()), named_or_by_id(version, BY_NAME_MAX));
            let sent = [header.as_slice(), &body].concat();
            let of_topics: Vec<_> = read.topic_data.iter().map(|topic| topic.partition_data.len()).collect();
            prop_assert_eq!(of_topics, [parts.len() - 2, 2]);
            let (name, id) = (read.topic_data[1].name.to_string(), *read.topic_data[1].topic_id.as_bytes());
            prop_assert_eq!((name.as_str(), id), if version <= BY_NAME_MAX { ("v", [0; 16]) } else { ("", [9; 16]) });
            for (read, part) in read.topic_data.iter().flat_map(|topic| &topic.partition_data).zip(&parts) {
                prop_assert_eq!(read.index, part.partition);
                prop_assert_eq!(read.records.as_deref(), Some(sent.as_slice()));
            }

            let mut replies = Vec::new();
            let mut topics = Vec::new();
            let each = |topic: m01_fetch::TopicName<'_>, reply| {
                topics.push(match topic {
                    m01_fetch::TopicName::Name(name) => name.to_owned(),
                    m01_fetch::TopicName::Id(id) => format!("{id:?}"),
                });
                replies.push(reply);
            };
            let throttle = decode(&material.produce(version), version, each).unwrap();
            prop_assert_eq!(throttle, material.number);
            let reply = |id: &i32| ProducePartitionReply { partition: *id, error: material.error, base_offset: material.long };
            let expected: Vec<_> = material.names.iter().flat_map(|_| material.ids.iter().map(reply)).collect();
            prop_assert_eq!(&replies, &expected);
            let named = |name: &String| match version {
                ..=BY_NAME_MAX => name.clone(),
                _ => format!("{:?}", [0; 16]),
            };
            let each = |name: &String| vec![named(name); material.ids.len()];
            prop_assert_eq!(topics, material.names.iter().flat_map(each).collect::<Vec<_>>());
            let hints = leader_hints(&material.produce(version), version, |_| Some(0)).unwrap();
            prop_assert_eq!(hints, reported_leaders(&material, version >= 10, version >= 10));

            // What other makers' brokers put behind a response is nothing to us, as to the Java client.
            let longer = [material.produce(version), vec![0x7f; 9]].concat();
            replies.clear();
            decode(&longer, version, |_, reply| replies.push(reply)).unwrap();
            prop_assert_eq!(replies, expected);
        }
    }

    #[test]
    fn fetch_requests(material in material()) {
        use m01_fetch::*;
        for version in API.version_min..=API.version_max {
            let ask = |topic, id: i32| PartitionFetch {
                topic,
                partition: id,
                leader_epoch: material.number,
                offset: material.long,
            };
            let mut partitions: Vec<_> = material.ids.iter().map(|id| ask(0, *id)).collect();
            // Named again, as in a turn of partitions: brokers take a topic in several pieces.
            partitions.extend([ask(1, 5), ask(1, 6), ask(0, 7)]);
            let forgotten: Vec<_> = material.ids.iter().map(|id| (0, *id)).chain([(1, 8)]).collect();
            let topics = ["t", "u"].map(str::to_owned);
            let request = Request {
                wait_ms: 1,
                bytes_min: 2,
                bytes_max: 3,
                partition_bytes_max: 4,
                isolation_level: 1,
                session: SessionStep { id: 5, epoch: 6 },
                topics: &topics,
                topic_ids: &[[7; 16], [8; 16]],
                partitions: &partitions,
                forgotten: &forgotten,
                rack: "r",
            };
            let mut out = Vec::new();
            encode(&request, version, &mut out);
            let mut out = Bytes::from(out);
            let read = theirs::FetchRequest::decode(&mut out, version).expect("a request they can read");
            prop_assert_eq!(out.remaining(), 0);
            prop_assert_eq!((read.max_wait_ms, read.min_bytes, read.max_bytes), (1, 2, 3));
            prop_assert_eq!((read.replica_id.0, read.isolation_level), (-1, 1));
            let (session, rack) = (version >= SESSIONS_FROM, version >= RACKS_FROM);
            prop_assert_eq!((read.session_id, read.session_epoch), if session { (5, 6) } else { (0, -1) });
            prop_assert_eq!(read.rack_id.as_str(), if rack { "r" } else { "" });
            let named = |topic: usize| match version {
                ..=BY_NAME_MAX => (topics[topic].clone(), [0; 16]),
                _ => (String::new(), request.topic_ids[topic]),
            };
            let left = read.forgotten_topics_data.iter().flat_map(|topic| {
                let name = (topic.topic.to_string(), *topic.topic_id.as_bytes());
                topic.partitions.iter().map(move |partition| (name.clone(), *partition))
            });
            let expected = forgotten.iter().filter(|_| session).map(|(topic, id)| (named(*topic), *id));
            prop_assert_eq!(left.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            let epoch = if version >= 9 { material.number } else { -1 };
            let asked = read.topics.iter().flat_map(|topic| {
                let name = (topic.topic.to_string(), *topic.topic_id.as_bytes());
                let of = |p: &theirs::fetch_request::FetchPartition| (p.partition, p.current_leader_epoch, p.fetch_offset);
                topic.partitions.iter().map(move |p| (name.clone(), of(p)))
            });
            let expected = partitions.iter().map(|ask| (named(ask.topic), (ask.partition, epoch, ask.offset)));
            prop_assert_eq!(asked.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            prop_assert!(read.topics.iter().flat_map(|topic| &topic.partitions).all(|p| p.partition_max_bytes == 4));
        }
    }

    #[test]
    fn fetch_replies(material in material()) {
        use m01_fetch::*;
        for version in API.version_min..=API.version_max {
            let bytes = material.fetch(version);
            let (number, long) = (material.number, material.long);
            // What other makers' brokers put behind a response is nothing to us, as to the Java client.
            for bytes in [bytes.clone(), [bytes, vec![0x7f; 9]].concat()] {
                let (mut answers, mut topics, mut hints) = (Vec::new(), Vec::new(), LeaderHints::default());
                let said = decode(&bytes, version, |piece| {
                    match piece {
                        ReplyPiece::Topic(TopicName::Name(name)) => topics.push(name.to_owned()),
                        ReplyPiece::Topic(TopicName::Id(id)) => topics.push(format!("{id:?}")),
                        ReplyPiece::Partition(reply) => answers.push(reply),
                        ReplyPiece::Endpoint(broker, host, port) => {
                            hints.endpoints.push(BrokerEndpoint { broker, host: host.to_owned(), port });
                        }
                    }
                    Ok(())
                })
                .unwrap();
                let error = if version >= SESSIONS_FROM { material.error } else { 0 };
                let session_id = if version >= SESSIONS_FROM { number } else { 0 };
                prop_assert_eq!(said, FetchReply { error, throttle_ms: number, session_id });
                let named = |name: &String| match version {
                    ..=BY_NAME_MAX => name.clone(),
                    _ => format!("{:?}", [0; 16]),
                };
                prop_assert_eq!(topics, material.names.iter().map(named).collect::<Vec<_>>());
                let ids: Vec<i32> = material.names.iter().flat_map(|_| &material.ids).copied().collect();
                prop_assert_eq!(answers.iter().map(|answer| answer.partition).collect::<Vec<_>>(), ids);
                let aborted: Vec<_> = material.ids.iter().map(|id| (i64::from(*id), long)).collect();
                for answer in &answers {
                    prop_assert_eq!((answer.error, answer.high_watermark), (material.error, long));
                    prop_assert_eq!(answer.last_stable_offset, long);
                    prop_assert_eq!(answer.preferred_replica, if version >= RACKS_FROM { number } else { -1 });
                    prop_assert_eq!(answer.records, material.text.as_deref().unwrap_or_default().as_bytes());
                    let reported: Vec<_> = answer.aborted.iter().collect();
                    prop_assert_eq!(answer.aborted.count(), reported.len());
                    prop_assert_eq!(reported.as_slice(), if material.flag { aborted.as_slice() } else { &[] });
                }
                hints.leaders.extend(answers.iter().filter_map(|answer| answer.leader));
                prop_assert_eq!(hints, reported_leaders(&material, version >= 12, version >= 16));
            }
        }
    }
}
