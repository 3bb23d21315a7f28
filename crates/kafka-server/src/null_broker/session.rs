//! One connection's conversation, without I/O: bytes in, answers out.
//!
//! Produce requests are never held: the parser walks from one length to the next, keeps the 61-byte head of
//! each batch and skips the rest, so that a caller can drop those bytes without even reading them
//! ([`RequestSession::skip_ahead`]). Other requests are small and collected whole.

use super::answer::{self, AnswerTime, SharedState};
use super::outbox::Outbox;
use super::topics::TopicId;
use crate::codec::batch::{BatchHead, HEAD_BYTES};
use crate::codec::produce::{ProduceResponse, ProduceStart};
use crate::codec::{ApiKind, RequestHead, TopicRef, code, raw_count, topic_name};
use kdyno_kafka::wire::{FRAME_BYTES_MAX, Reader, Result, WireError};

/// Longest piece of a produce request that must be seen in one go: two classic strings and some tags.
pub(super) const PIECE_BYTES_MAX: usize = 80 << 10;

/// Longest request of any other kind: metadata or fetch of ten thousands of partitions.
const COLLECTED_BYTES_MAX: usize = 512 << 10;

/// Topics and partitions in one produce request at most: the response to it is held until its end.
const ENTRIES_MAX: u64 = 16_384;

/// What comes next in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParseState {
    FrameLength,
    Header,
    Collect,
    ProduceStart,
    Topic,
    Partition,
    Batch,
    PartitionEnd,
    TopicEnd,
    ProduceEnd,
}

/// The produce request that is being walked.
#[derive(Debug)]
struct OpenProduce {
    response: ProduceResponse,
    answered: bool,
    topics_left: u32,
    partitions_left: u32,
    topic: Option<TopicId>,
    partition: i32,
    /// Bytes of the partition's record set that follow the present batch's head.
    set_left: usize,
    records: u64,
    entries: u64,
}

/// The conversation.
#[derive(Debug)]
pub(super) struct RequestSession {
    step: ParseState,
    head: Option<RequestHead>,
    /// Bytes of the present frame not consumed.
    frame_left: usize,
    /// Bytes to skip before the next step.
    skip: usize,
    collected: Vec<u8>,
    produce: Option<OpenProduce>,
    /// The response to the present produce request, as far as it is known.
    response: Vec<u8>,
    /// Whole answers that wait to be sent.
    pub outbox: Outbox,
    /// Set when the last answer in the outbox is held back and has to wait for that many milliseconds;
    /// nothing is consumed until it is taken.
    pub wait_ms: Option<u32>,
}

impl RequestSession {
    /// A fresh connection.
    pub fn new() -> Self {
        Self {
            step: ParseState::FrameLength,
            head: None,
            frame_left: 0,
            skip: 0,
            collected: Vec::new(),
            produce: None,
            response: Vec::new(),
            outbox: Outbox::default(),
            wait_ms: None,
        }
    }

    /// Record bytes that come next and mean nothing.
    pub fn skip_ahead(&self) -> usize {
        self.skip
    }

    /// Notes that `count` bytes, at most [`skip_ahead`](Self::skip_ahead), were dropped from the stream.
    pub fn skipped(&mut self, count: usize) {
        let count = count.min(self.skip);
        self.skip -= count;
        self.frame_left -= count;
    }

    /// True between requests, when nothing of one was consumed.
    pub fn is_between_requests(&self) -> bool {
        self.step == ParseState::FrameLength
    }

    /// True when [`feed`](Self::feed) consumes nothing because of answers that have to leave first.
    pub fn is_paused(&self) -> bool {
        self.wait_ms.is_some() || self.outbox.is_full()
    }

    /// Memory held, about.
    pub fn held_bytes(&self) -> usize {
        self.collected.len() + self.response.len() + self.outbox.unsent()
    }

    /// Takes what it can of `bytes`: how many bytes were consumed; the rest must be given again, with more
    /// behind it unless the session is paused.
    ///
    /// # Errors
    /// The bytes are no request that is spoken here; the connection is of no use any more.
    pub fn feed(&mut self, bytes: &[u8], broker: &mut SharedState) -> Result<usize> {
        let mut at = 0;
        while !self.is_paused() {
            let skip = self.skip.min(bytes.len() - at);
            self.skipped(skip);
            at += skip;
            if self.skip > 0 {
                break;
            }
            let rest = &bytes[at..];
            let in_frame = self.step != ParseState::FrameLength;
            let seen = if in_frame { &rest[..rest.len().min(self.frame_left)] } else { rest };
            let frame_is_cut = in_frame && seen.len() == self.frame_left;
            let mut reader = Reader::new(seen);
            match self.step(&mut reader, broker) {
                Ok(more) => {
                    let used = seen.len() - reader.remaining();
                    at += used;
                    if in_frame {
                        self.frame_left -= used;
                    }
                    if !more {
                        break;
                    }
                }
                Err(WireError::Short { .. }) if !frame_is_cut && seen.len() <= PIECE_BYTES_MAX => break,
                Err(error) => return Err(error),
            }
        }
        Ok(at)
    }

    /// One step: reads its piece whole or changes nothing. False when it waits for more bytes of its own.
    fn step(&mut self, reader: &mut Reader<'_>, broker: &mut SharedState) -> Result<bool> {
        match self.step {
            ParseState::FrameLength => self.frame_length(reader)?,
            ParseState::Header => self.header(reader)?,
            ParseState::Collect => return self.collect(reader, broker),
            ParseState::ProduceStart => self.produce_start(reader)?,
            ParseState::Topic => self.topic(reader, broker)?,
            ParseState::Partition => self.partition(reader)?,
            ParseState::Batch => self.batch(reader)?,
            ParseState::PartitionEnd => self.partition_end(reader, broker)?,
            ParseState::TopicEnd => self.topic_end(reader)?,
            ParseState::ProduceEnd => self.produce_end(reader, broker)?,
        }
        Ok(true)
    }

    fn frame_length(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let length = reader.i32()?;
        self.frame_left = usize::try_from(length)
            .ok()
            .filter(|length| *length <= FRAME_BYTES_MAX)
            .ok_or(WireError::Length { what: "frame", length: length.into() })?;
        self.step = ParseState::Header;
        Ok(())
    }

    fn header(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let before = reader.remaining();
        let head = RequestHead::read(reader, ApiKind::versions)?;
        let body = self.frame_left - (before - reader.remaining());
        self.step = if head.api == ApiKind::Produce { ParseState::ProduceStart } else { ParseState::Collect };
        if self.step == ParseState::Collect && body > COLLECTED_BYTES_MAX {
            return Err(WireError::Length { what: "request", length: body as i64 });
        }
        self.head = Some(head);
        Ok(())
    }

    fn collect(&mut self, reader: &mut Reader<'_>, broker: &mut SharedState) -> Result<bool> {
        let head = self.present_head()?;
        let whole = reader.remaining() == self.frame_left;
        let bytes = reader.take(reader.remaining())?;
        if !whole {
            self.collected.extend_from_slice(bytes);
            return Ok(false);
        }
        let position = self.outbox.position();
        let answered = if self.collected.is_empty() {
            answer::answer(&head, bytes, broker, self.outbox.end())?
        } else {
            self.collected.extend_from_slice(bytes);
            let collected = std::mem::take(&mut self.collected);
            answer::answer(&head, &collected, broker, self.outbox.end())?
        };
        if let AnswerTime::AfterMs(wait_ms) = answered {
            self.outbox.hold_from(position);
            self.wait_ms = Some(wait_ms);
        }
        broker.stats.requests += 1;
        self.step = ParseState::FrameLength;
        Ok(true)
    }

    fn produce_start(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let head = self.present_head()?;
        let start = ProduceStart::read(reader, head.flexible)?;
        let topics = raw_count(reader, head.flexible)?.unwrap_or(0);
        let entries = count_entries(0, topics)?;
        self.response.clear();
        self.produce = Some(OpenProduce {
            response: ProduceResponse::begin(&mut self.response, &head, topics as usize),
            answered: start.acks != 0,
            topics_left: topics,
            partitions_left: 0,
            topic: None,
            partition: 0,
            set_left: 0,
            records: 0,
            entries,
        });
        self.step = if topics == 0 { ParseState::ProduceEnd } else { ParseState::Topic };
        Ok(())
    }

    fn topic(&mut self, reader: &mut Reader<'_>, broker: &mut SharedState) -> Result<()> {
        let flexible = self.present_head()?.flexible;
        let name = topic_name(reader, flexible)?;
        let partitions = raw_count(reader, flexible)?.unwrap_or(0);
        let produce = self.produce.as_mut().ok_or(OUT_OF_STEP)?;
        produce.entries = count_entries(produce.entries, partitions)?;
        produce.topics_left -= 1;
        produce.partitions_left = partitions;
        produce.topic = broker.topics.id_or_new(name);
        produce.response.topic(&mut self.response, TopicRef::named(name), partitions as usize);
        self.step = if partitions == 0 { ParseState::TopicEnd } else { ParseState::Partition };
        Ok(())
    }

    fn partition(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let flexible = self.present_head()?.flexible;
        let before = reader.remaining();
        let partition = reader.i32()?;
        // A record set is prefixed as an array is.
        let set = raw_count(reader, flexible)?.unwrap_or(0) as usize;
        let frame_left = self.frame_left - (before - reader.remaining());
        if set > frame_left {
            return Err(WireError::Length { what: "record set", length: set as i64 });
        }
        let produce = self.produce.as_mut().ok_or(OUT_OF_STEP)?;
        produce.partitions_left -= 1;
        produce.partition = partition;
        produce.records = 0;
        produce.set_left = set;
        self.step = if set == 0 { ParseState::PartitionEnd } else { ParseState::Batch };
        Ok(())
    }

    fn batch(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let produce = self.produce.as_mut().ok_or(OUT_OF_STEP)?;
        if produce.set_left < HEAD_BYTES {
            return Err(WireError::Length { what: "record set", length: produce.set_left as i64 });
        }
        let batch = BatchHead::read(reader)?;
        produce.set_left = produce
            .set_left
            .checked_sub(batch.bytes)
            .ok_or(WireError::Length { what: "record batch", length: batch.bytes as i64 })?;
        produce.records += u64::from(batch.records);
        self.skip = batch.bytes - HEAD_BYTES;
        if produce.set_left == 0 {
            self.step = ParseState::PartitionEnd;
        }
        Ok(())
    }

    fn partition_end(&mut self, reader: &mut Reader<'_>, broker: &mut SharedState) -> Result<()> {
        reader.skip_tags(self.present_head()?.flexible)?;
        let produce = self.produce.as_mut().ok_or(OUT_OF_STEP)?;
        let index = produce.partition;
        let base = produce.topic.and_then(|id| broker.topics.append(id, index, produce.records));
        let (error, offset) = match base {
            Some(base) => (code::NONE, base),
            None => (code::UNKNOWN_TOPIC_OR_PARTITION, -1),
        };
        produce.response.partition(&mut self.response, index, (error, offset), &[]);
        if base.is_some() {
            broker.stats.records = broker.stats.records.saturating_add(produce.records);
        }
        self.step = if produce.partitions_left == 0 { ParseState::TopicEnd } else { ParseState::Partition };
        Ok(())
    }

    fn topic_end(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        reader.skip_tags(self.present_head()?.flexible)?;
        let produce = self.produce.as_mut().ok_or(OUT_OF_STEP)?;
        produce.response.end_topic(&mut self.response);
        self.step = if produce.topics_left == 0 { ParseState::ProduceEnd } else { ParseState::Topic };
        Ok(())
    }

    fn produce_end(&mut self, reader: &mut Reader<'_>, broker: &mut SharedState) -> Result<()> {
        let before = reader.remaining();
        reader.skip_tags(self.present_head()?.flexible)?;
        let left = self.frame_left - (before - reader.remaining());
        if left > 0 {
            return Err(WireError::LeftOver(left));
        }
        let produce = self.produce.take().ok_or(OUT_OF_STEP)?;
        produce.response.end(&mut self.response, 0, &[]);
        if produce.answered {
            self.outbox.end().extend_from_slice(&self.response);
        }
        broker.stats.requests += 1;
        broker.stats.produce_requests += 1;
        self.step = ParseState::FrameLength;
        Ok(())
    }

    fn present_head(&self) -> Result<RequestHead> {
        self.head.ok_or(OUT_OF_STEP)
    }
}

/// Cannot come from any input: the steps set what later steps read.
const OUT_OF_STEP: WireError = WireError::Invalid("request parser is out of step");

fn count_entries(entries: u64, more: u32) -> Result<u64> {
    let entries = entries + u64::from(more);
    if entries > ENTRIES_MAX {
        return Err(WireError::Length { what: "produce request", length: entries as i64 });
    }
    Ok(entries)
}
