//! A bare replay: produce requests built beforehand, sent again and again with so many in flight. Nothing is scheduled, built,
//! timed or recorded while it sends, so no client that sends the same requests can have more of them acknowledged by the same
//! brokers.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use bytes::{Bytes, BytesMut};
use kdyno_kafka::admin::{Admin, BrokerInfo};
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{self, m00_produce};
use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, encode_record, record_bytes, write_batch_header,
};
use kdyno_kafka::wire::{FRAME_BYTES_MAX, Reader};

use super::pipe::filler;

/// Requests in flight on each connection.
const IN_FLIGHT: usize = 5;
/// Bytes of different requests that a connection sends before the first one comes again.
const POOL_BYTES: usize = 16 << 20;
/// How long a broker may take for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Version of the produce requests: the newest that names its topic, since the topic's id is not requested here.
const VERSION: i16 = m00_produce::BY_NAME_MAX;
/// Time before a partition whose broker does not serve it yet is sent its first batch again.
const LEADER_PAUSE: Duration = Duration::from_millis(20);
const CLIENT_ID: &str = "bench-replay";

/// What is sent.
pub struct Replay<'a> {
    pub bootstrap: &'a str,
    pub topic: &'a str,
    pub value_bytes: usize,
    /// `batch.size`, filled as far as records go.
    pub batch_bytes: usize,
    /// Record batches of one request.
    pub batches_per_request: usize,
    /// 1 or -1.
    pub acks: i16,
    /// Rounded up to whole batches.
    pub records: u64,
}

/// Builds the requests and sends them; records/s that were acknowledged.
pub fn per_s(replay: &Replay<'_>) -> anyhow::Result<f64> {
    let leaders = leaders(replay)?;
    let batch = ReplayBatch::new(replay)?;
    let left = AtomicI64::new(replay.records.div_ceil(batch.records).cast_signed());
    let connections = leaders
        .iter()
        .map(|(broker, partitions)| ReplayConnection::open(replay, broker, partitions, &batch))
        .collect::<anyhow::Result<Vec<_>>>()?;
    connections.iter().try_for_each(ReplayConnection::wait_until_led)?;
    let start = Instant::now();
    let sent = std::thread::scope(|scope| {
        let each: Vec<_> = connections.iter().map(|one| scope.spawn(|| one.run(&left))).collect();
        let joined =
            each.into_iter().map(|one| one.join().map_err(|_| anyhow!("a connection's thread panicked"))?);
        joined.sum::<anyhow::Result<u64>>()
    })?;
    Ok((sent * batch.records) as f64 / start.elapsed().as_secs_f64())
}

/// The topic's leaders, each with its partitions.
fn leaders(replay: &Replay<'_>) -> anyhow::Result<Vec<(BrokerInfo, Vec<i32>)>> {
    let bootstrap: Vec<String> = replay.bootstrap.split(',').map(str::to_owned).collect();
    let mut admin = Admin::connect(&bootstrap, CLIENT_ID, ANSWER_TIMEOUT)?;
    let brokers = admin.cluster()?.brokers;
    let topics = admin.topics(Some(&[replay.topic]))?;
    let mut led: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for partition in topics.iter().flat_map(|topic| &topic.partitions) {
        led.entry(partition.leader).or_default().push(partition.id);
    }
    let found: Vec<_> =
        brokers.into_iter().filter_map(|broker| Some((led.remove(&broker.id)?, broker))).collect();
    if found.is_empty() || !led.is_empty() {
        bail!("not every partition of {} has a leader", replay.topic);
    }
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
    fn new(replay: &Replay<'_>) -> anyhow::Result<Self> {
        let mut body = Vec::new();
        let mut count = 0;
        let pool = filler(replay.batch_bytes + replay.value_bytes);
        let mut values = pool.chunks_exact(replay.value_bytes).cycle();
        loop {
            let value = values.next().context("values have bytes")?;
            let next = record_bytes(count, 0, None, value.len());
            if count > 0 && HEADER_BYTES + body.len() + next > replay.batch_bytes {
                break;
            }
            encode_record(&mut body, count, 0, None, value);
            count += 1;
        }
        let mut header = [0; HEADER_BYTES];
        let now_ms = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        let plain = BatchHeader::plain(Compression::None, count, now_ms, now_ms);
        write_batch_header(&mut header, &plain, &BodySum::of(&body));
        Ok(Self { header, body: body.into(), records: u64::from(count.unsigned_abs()) })
    }
}

/// One connection with its requests.
struct ReplayConnection {
    stream: TcpStream,
    requests: Vec<Vec<u8>>,
    /// How many of them, from the first on, have a batch for each partition.
    once_round: usize,
    batches_per_request: usize,
}

impl ReplayConnection {
    fn open(
        replay: &Replay<'_>,
        broker: &BrokerInfo,
        partitions: &[i32],
        batch: &ReplayBatch,
    ) -> anyhow::Result<Self> {
        let port = u16::try_from(broker.port).unwrap_or_default();
        let stream = TcpStream::connect((broker.host.as_str(), port))
            .with_context(|| format!("could not connect to broker {}", broker.id))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let batches_per_request = replay.batches_per_request.clamp(1, partitions.len());
        let request_bytes = batches_per_request * (HEADER_BYTES + batch.body.len());
        // Every partition is served as often as every other: the pool is a whole number of rounds over them.
        let rounds = (POOL_BYTES / request_bytes / partitions.len()).max(1);
        let requests = (0..rounds * partitions.len()).map(|number| {
            let batches: Vec<_> = (0..batches_per_request)
                .map(|place| m00_produce::PartitionBatch {
                    partition: partitions[(number * batches_per_request + place) % partitions.len()],
                    header: batch.header,
                    body: batch.body.clone(),
                })
                .collect();
            request(replay, i32::try_from(number).unwrap_or_default(), &batches)
        });
        let requests = requests.collect();
        Ok(Self {
            stream,
            requests,
            once_round: partitions.len().div_ceil(batches_per_request),
            batches_per_request,
        })
    }

    /// Sends each partition a batch, again until it is acknowledged: metadata names the leader of a new topic before
    /// that broker serves it. These batches are not counted.
    fn wait_until_led(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let (mut stream, mut frame) = (&self.stream, Vec::new());
        for request in &self.requests[..self.once_round] {
            loop {
                stream.write_all(request).context("could not write")?;
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
        let (sent, answered) = sync_channel(IN_FLIGHT - 1);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.read(answered));
            let written = self.write(sent, left);
            let read = reader.join().map_err(|_| anyhow!("a reading thread panicked"))?;
            // What the reader says tells more than that the writer's channel was closed.
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
            if sent.send(()).is_err() {
                bail!("the broker's answers could not be read");
            }
            stream.write_all(request).context("could not write")?;
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
fn request(replay: &Replay<'_>, correlation_id: i32, batches: &[m00_produce::PartitionBatch]) -> Vec<u8> {
    let head = m00_produce::ProduceHead {
        version: VERSION,
        correlation_id,
        client_id: CLIENT_ID,
        transactional_id: None,
        acks: replay.acks,
        timeout_ms: 30_000,
        topic: replay.topic,
        topic_id: Default::default(), // Not sent in this version.
    };
    let mut segments: Vec<Bytes> = Vec::new();
    m00_produce::encode(&head, batches, &mut BytesMut::new(), &mut segments);
    segments.concat()
}

/// What a broker answers to a request.
struct Reply {
    batches: u64,
    /// The last partition of it that was refused.
    refused: Option<m00_produce::ProducePartitionReply>,
}

impl Reply {
    /// Batches that it acknowledges; an error of any partition ends the replay.
    fn acknowledged(self) -> anyhow::Result<u64> {
        match self.refused {
            Some(reply) => bail!("partition {} was refused: {}", reply.partition, ErrorCode(reply.error)),
            None => Ok(self.batches),
        }
    }
}

/// Reads the next answer, through `frame`.
fn read_reply(mut stream: &TcpStream, frame: &mut Vec<u8>) -> anyhow::Result<Reply> {
    const BROKEN: &str = "could not read an answer";
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).context(BROKEN)?;
    frame.resize(messages::frame_length(prefix, FRAME_BYTES_MAX)?, 0);
    stream.read_exact(frame).context(BROKEN)?;
    let mut reader = Reader::new(frame);
    let flexible = m00_produce::API.is_flexible(VERSION);
    messages::response_header(&mut reader, m00_produce::API.key, flexible)?;
    let body = &frame[frame.len() - reader.remaining()..];
    let mut reply = Reply { batches: 0, refused: None };
    m00_produce::decode(body, VERSION, |partition| {
        reply.batches += 1;
        if partition.error != 0 {
            reply.refused = Some(partition);
        }
    })?;
    Ok(reply)
}
