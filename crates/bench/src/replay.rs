//! `bench-replay`: produce requests built beforehand, sent again and again with so many in flight.
//!
//! For `make bench`: nothing is scheduled, built, timed or recorded while it sends, so no client that sends the same
//! requests can have more of them acknowledged by the same brokers.

use crate::args::ProduceArgs;
use anyhow::{Context, anyhow, bail, ensure};
use bytes::{Bytes, BytesMut};
use clap::Args;
use kdyno_kafka::admin::{Admin, BrokerInfo};
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{self, m00_produce};
use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, encode_record, record_bytes, write_batch_header,
};
use kdyno_kafka::wire::{FRAME_BYTES_MAX, Reader};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of different requests that a connection sends before the first one comes again.
const POOL_BYTES: usize = 16 << 20;
/// How long a broker may take for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Version of the produce requests: the newest that names its topic, since the topic's id is not requested here.
const VERSION: i16 = m00_produce::BY_NAME_MAX;
/// Time before a partition whose broker does not serve it yet is sent its first batch again.
const LEADER_PAUSE: Duration = Duration::from_millis(20);
const CLIENT_ID: &str = "kdyno-bench-replay";
const UNWRITTEN: &str = "could not write a request";
const UNREAD: &str = "could not read an answer";

/// What `make bench` asks of a replay of requests.
#[derive(Debug, Args)]
pub struct BenchReplayArgs {
    #[command(flatten)]
    produce: ProduceArgs,
    /// Record batches of one request
    #[arg(long, default_value_t = 1)]
    batches_per_request: u32,
    /// Records in all, rounded up to whole batches
    #[arg(long)]
    records: u64,
}

/// Builds the requests, sends them, reports how many records were acknowledged in which time.
pub fn run(args: &BenchReplayArgs) -> anyhow::Result<Value> {
    let leaders = leaders(args)?;
    let batch = ReplayBatch::new(args);
    let left = AtomicI64::new(args.records.div_ceil(batch.records).cast_signed());
    let connections = leaders
        .iter()
        .map(|(broker, partitions)| Replay::open(args, broker, partitions, &batch))
        .collect::<anyhow::Result<Vec<_>>>()?;
    connections.iter().try_for_each(Replay::wait_until_led)?;
    let start = Instant::now();
    let sent = std::thread::scope(|scope| {
        let each: Vec<_> = connections.iter().map(|one| scope.spawn(|| one.run(&left))).collect();
        each.into_iter()
            .map(|one| one.join().unwrap_or_else(|_| Err(anyhow!("a connection's thread panicked"))))
            .sum::<anyhow::Result<u64>>()
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let records = sent * batch.records;
    Ok(json!({"acknowledged": records, "seconds": seconds, "acked_per_s": records as f64 / seconds}))
}

/// The topic's leaders, each with its partitions.
fn leaders(args: &BenchReplayArgs) -> anyhow::Result<Vec<(BrokerInfo, Vec<i32>)>> {
    let mut admin = Admin::connect(&args.produce.bootstrap, CLIENT_ID, ANSWER_TIMEOUT)?;
    let brokers = admin.cluster()?.brokers;
    let topics = admin.topics(Some(&[&args.produce.topic]))?;
    let mut led: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for partition in topics.iter().flat_map(|topic| &topic.partitions) {
        led.entry(partition.leader).or_default().push(partition.id);
    }
    let found: Vec<_> =
        brokers.into_iter().filter_map(|broker| Some((led.remove(&broker.id)?, broker))).collect();
    ensure!(
        !found.is_empty() && led.is_empty(),
        "not every partition of {} has a leader",
        args.produce.topic
    );
    Ok(found.into_iter().map(|(partitions, broker)| (broker, partitions)).collect())
}

/// The one record batch that is sent to every partition.
struct ReplayBatch {
    header: [u8; HEADER_BYTES],
    body: Bytes,
    records: u64,
}

impl ReplayBatch {
    /// As many records as fit into `batch.size`, their values random enough that nothing compresses them on the way.
    fn new(args: &BenchReplayArgs) -> Self {
        let mut body = Vec::new();
        let mut count = 0;
        let mut seed = 1;
        let mut value = vec![0; args.produce.value as usize];
        loop {
            let next = record_bytes(count, 0, None, value.len());
            if count > 0 && HEADER_BYTES + body.len() + next > args.produce.batch as usize {
                break;
            }
            for byte in &mut value {
                seed = kdyno_model::seed::mix(seed, 1);
                *byte = b'A' + (seed % 26) as u8;
            }
            encode_record(&mut body, count, 0, None, &value);
            count += 1;
        }
        let mut header = [0; HEADER_BYTES];
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(since_epoch.as_millis()).unwrap_or_default();
        let plain = BatchHeader::plain(Compression::None, count, now_ms, now_ms);
        write_batch_header(&mut header, &plain, &BodySum::of(&body));
        Self { header, body: body.into(), records: u64::from(count.unsigned_abs()) }
    }
}

/// One connection with its requests.
struct Replay {
    stream: TcpStream,
    requests: Vec<Vec<u8>>,
    /// How many of them, from the first on, have a batch for each partition.
    once_round: usize,
    batches_per_request: usize,
    in_flight: usize,
}

impl Replay {
    fn open(
        args: &BenchReplayArgs,
        broker: &BrokerInfo,
        partitions: &[i32],
        batch: &ReplayBatch,
    ) -> anyhow::Result<Self> {
        let stream =
            TcpStream::connect((broker.host.as_str(), u16::try_from(broker.port).unwrap_or_default()))
                .and_then(|stream| {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
                    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
                    Ok(stream)
                })
                .with_context(|| format!("could not connect to broker {}", broker.id))?;
        let batches_per_request = (args.batches_per_request as usize).clamp(1, partitions.len());
        let request_bytes = batches_per_request * (HEADER_BYTES + batch.body.len());
        // Every partition is served as often as every other: the pool is a whole number of rounds over them.
        let rounds = (POOL_BYTES / request_bytes / partitions.len()).max(1);
        let requests = (0..rounds * partitions.len()).map(|number| {
            let batches: Vec<_> = (0..batches_per_request)
                .map(|place| m00_produce::PartitionBatch {
                    topic: 0,
                    partition: partitions[(number * batches_per_request + place) % partitions.len()],
                    header: batch.header,
                    body: batch.body.clone(),
                })
                .collect();
            request(args, i32::try_from(number).unwrap_or_default(), &batches)
        });
        Ok(Self {
            stream,
            requests: requests.collect(),
            once_round: partitions.len().div_ceil(batches_per_request),
            batches_per_request,
            in_flight: args.produce.in_flight as usize,
        })
    }

    /// Sends each partition a batch, again until it is acknowledged: metadata names the leader of a new topic before
    /// that broker serves it. These batches are not counted.
    fn wait_until_led(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let (mut stream, mut frame) = (&self.stream, Vec::new());
        for request in &self.requests[..self.once_round] {
            loop {
                stream.write_all(request).context(UNWRITTEN)?;
                let reply = read_reply(stream, &mut frame)?;
                let error =
                    reply.refused.as_ref().map_or(ErrorCode::NONE, |refused| ErrorCode(refused.error));
                if !error.is_retriable() || Instant::now() > deadline {
                    reply.acknowledged()?;
                    break;
                }
                std::thread::sleep(LEADER_PAUSE);
            }
        }
        Ok(())
    }

    /// Sends until all batches are taken, waits for the last answer; returns how many batches were acknowledged.
    fn run(&self, left: &AtomicI64) -> anyhow::Result<u64> {
        // The reader takes a permit before its answer comes, so one more is in flight than the channel holds.
        let (sent, answered) = sync_channel(self.in_flight - 1);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.read(answered));
            let written = self.write(sent, left);
            let read = reader.join().unwrap_or_else(|_| Err(anyhow!("a reading thread panicked")));
            // What the reader says is more useful than that the writer's channel was closed.
            let batches = read?;
            written.map(|()| batches)
        })
    }

    fn write(&self, sent: SyncSender<()>, left: &AtomicI64) -> anyhow::Result<()> {
        let taken = i64::try_from(self.batches_per_request).unwrap_or(i64::MAX);
        let mut stream = &self.stream;
        for request in self.requests.iter().cycle() {
            if left.fetch_sub(taken, Ordering::Relaxed) <= 0 {
                return Ok(());
            }
            // Waits while so many requests are in flight; fails when the reader has given up.
            ensure!(sent.send(()).is_ok(), "the broker's answers could not be read");
            stream.write_all(request).context(UNWRITTEN)?;
        }
        Ok(())
    }

    fn read(&self, answered: Receiver<()>) -> anyhow::Result<u64> {
        let mut batches = 0;
        let mut frame = Vec::new();
        while answered.recv().is_ok() {
            batches += read_reply(&self.stream, &mut frame)?.acknowledged()?;
        }
        Ok(batches)
    }
}

/// One request as bytes.
fn request(args: &BenchReplayArgs, correlation_id: i32, batches: &[m00_produce::PartitionBatch]) -> Vec<u8> {
    let head = m00_produce::ProduceHead {
        version: VERSION,
        correlation_id,
        client_id: CLIENT_ID,
        transactional_id: None,
        acks: args.produce.acks,
        timeout_ms: 30_000,
        topics: std::slice::from_ref(&args.produce.topic),
        topic_ids: &[], // Not sent in this version.
    };
    let mut segments: Vec<Bytes> = Vec::new();
    m00_produce::encode(&head, batches, &mut BytesMut::new(), &mut segments);
    segments.concat()
}

/// What a broker answers to a request.
struct ReplayReply {
    batches: u64,
    /// The last partition of it that was refused.
    refused: Option<m00_produce::ProducePartitionReply>,
}

impl ReplayReply {
    /// Batches that it acknowledges; an error of any partition ends the replay.
    fn acknowledged(self) -> anyhow::Result<u64> {
        match self.refused {
            Some(reply) => bail!("partition {} was refused: {}", reply.partition, ErrorCode(reply.error)),
            None => Ok(self.batches),
        }
    }
}

/// Reads the next answer, through `frame`.
fn read_reply(mut stream: &TcpStream, frame: &mut Vec<u8>) -> anyhow::Result<ReplayReply> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).context(UNREAD)?;
    frame.resize(messages::frame_length(prefix, FRAME_BYTES_MAX)?, 0);
    stream.read_exact(frame).context(UNREAD)?;
    let mut reader = Reader::new(frame);
    let flexible = m00_produce::API.is_flexible(VERSION);
    messages::response_header(&mut reader, m00_produce::API.key, flexible)?;
    let body = &frame[frame.len() - reader.remaining()..];
    let mut reply = ReplayReply { batches: 0, refused: None };
    m00_produce::decode(body, VERSION, |_, partition| {
        reply.batches += 1;
        if partition.error != 0 {
            reply.refused = Some(partition);
        }
    })?;
    Ok(reply)
}
