//! What brokers' answers mean for the partitions of a consuming client.
//!
//! An error is reported once, until the partition answers something else: a retry that fails in the same way is no
//! news. The rest of a reply that was not requested in this way is not believed, and the connection ends.

use super::aborted::Aborted;
use super::effects::Effects;
use super::places;
use super::position::{PartitionPosition, PartitionPositions, Preferred};
use super::reading::read_set;
use super::session::FetchSession;
use super::sink::RecordSink;
use super::types::{ConsumerConfig, FetchIsolation};
use crate::errors::ErrorCode;
use crate::messages::m01_fetch::{self, FetchPartitionReply, PartitionFetch, ReplyPiece, TopicName};
use crate::messages::{BrokerEndpoint, LeaderHint, Request as _, m02_list_offsets};
use crate::wire::{Result, WireError};

/// An answer that is taken in.
pub(super) struct FetchAnswers<'a, S> {
    pub config: &'a ConsumerConfig,
    pub positions: &'a mut PartitionPositions,
    pub session: &'a mut FetchSession,
    /// When it was read, ns.
    pub now_ns: u64,
    pub effects: &'a mut Effects,
    pub sink: &'a mut S,
}

/// The place of a partition that ListOffsets names.
fn place_of(config: &ConsumerConfig, topic: &str, partition: i32) -> Option<i32> {
    places::place(config.topic_of(topic)?, partition)
}

/// What ListOffsets answers of each partition, behind its topic's name.
fn each_answer(
    response: &m02_list_offsets::Response,
) -> impl Iterator<Item = (&str, &m02_list_offsets::ListOffsetsPartitionResponse)> {
    response
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(move |answer| (topic.name.as_str(), answer)))
}

impl<S: RecordSink> FetchAnswers<'_, S> {
    fn retry_ns(&self) -> u64 {
        self.now_ns.saturating_add(self.config.retry_backoff_ns)
    }

    /// Takes in an answer to ListOffsets.
    ///
    /// # Errors
    /// When the bytes are none.
    pub(super) fn on_offsets(self, version: i16, body: &[u8]) -> Result<()> {
        let response = m02_list_offsets::Request::decode_response(body, version)?;
        let retry_ns = self.retry_ns();
        for (topic, answer) in each_answer(&response) {
            let place = place_of(self.config, topic, answer.partition_index);
            let Some(position) = place.and_then(|place| self.positions.find_mut(place)) else { continue };
            if !std::mem::take(&mut position.is_listing) {
                continue;
            }
            if answer.error_code.is_error() {
                let what = format_args!("asking for its offsets failed: {}", answer.error_code);
                position.failed(answer.error_code, what, retry_ns, self.effects);
            } else {
                position.listed(answer.offset, self.effects);
            }
        }
        Ok(())
    }

    /// Takes in where the logs of held partitions end. A leader that could not say is asked again in its turn.
    ///
    /// # Errors
    /// When the bytes are none.
    pub(super) fn on_log_ends(self, version: i16, body: &[u8]) -> Result<()> {
        let response = m02_list_offsets::Request::decode_response(body, version)?;
        for (topic, answer) in each_answer(&response) {
            let place = place_of(self.config, topic, answer.partition_index);
            let Some(position) = place.and_then(|place| self.positions.find_mut(place)) else { continue };
            if answer.error_code.is_error() {
                self.effects.is_metadata_old |= answer.error_code.refreshes_metadata();
            } else if answer.offset > position.end {
                position.end = answer.offset;
            }
        }
        Ok(())
    }

    /// Takes in an answer to Fetch.
    ///
    /// # Errors
    /// When the bytes are none, or not one to what was asked; what stood before that is taken in.
    pub(super) fn on_fetch(mut self, version: i16, body: &[u8]) -> Result<()> {
        let mut topic = 0;
        let reply = m01_fetch::decode(body, version, |piece| {
            match piece {
                ReplyPiece::Topic(named) => topic = self.topic_of(named)?,
                ReplyPiece::Partition(reply) => {
                    let ask = self.session.answered(places::place(topic, reply.partition).unwrap_or(-1))?;
                    self.on_partition(ask, topic, &reply);
                }
                ReplyPiece::Endpoint(broker, host, port) if !self.effects.hints.leaders.is_empty() => {
                    BrokerEndpoint::add_to(&mut self.effects.hints.endpoints, broker, host, port);
                }
                ReplyPiece::Endpoint(..) => {}
            }
            Ok(())
        })?;
        self.effects.throttled_ns = u64::try_from(reply.throttle_ms).unwrap_or(0) * 1_000_000;
        if let Some((error, is_full)) = self.session.replied(&reply)? {
            self.on_refused(error, is_full);
        }
        Ok(())
    }

    fn topic_of(&self, topic: TopicName<'_>) -> Result<usize> {
        let found = match topic {
            TopicName::Name(name) => self.config.topics.iter().position(|own| own == name),
            TopicName::Id(id) => self.session.topic_of(id),
        };
        found.ok_or(WireError::Invalid("a fetch was answered for a topic that was not requested"))
    }

    /// The answer as a whole is an error. A broker may have forgotten a session, which is then started again.
    fn on_refused(&mut self, error: ErrorCode, is_full: bool) {
        self.effects.has_error = true;
        self.effects.is_metadata_old |= error == ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR;
        if !is_full {
            return;
        }
        self.effects.is_metadata_old = true;
        let retry_ns = self.retry_ns();
        for ask in self.session.asked() {
            if let Some(position) = self.positions.find_mut(ask.partition) {
                position.failed(error, format_args!("fetching failed: {error}"), retry_ns, self.effects);
            }
        }
    }

    fn on_partition(&mut self, ask: PartitionFetch, topic: usize, reply: &FetchPartitionReply<'_>) {
        let (retry_ns, error) = (self.retry_ns(), ErrorCode(reply.error));
        let is_served = error.is_error() || !reply.records.is_empty();
        let position = match is_served {
            true => self.positions.served(ask.partition),
            false => self.positions.find_mut(ask.partition),
        };
        // Fetching may go on elsewhere meanwhile, or not at all.
        let is_asked_for =
            |position: &&mut PartitionPosition| position.next == Some(ask.offset) && position.is_fetched();
        let Some(position) = position.filter(is_asked_for) else { return };
        if matches!(error, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH) {
            let topic = u32::try_from(topic).unwrap_or(u32::MAX);
            self.effects.hints.leaders.extend(reply.leader.map(|leader| LeaderHint { topic, ..leader }));
        }
        match error {
            ErrorCode::NONE => {
                let before = self.effects.tally.records;
                fetched(position, reply, self.config, (self.now_ns, retry_ns), (self.effects, self.sink));
                let records = self.effects.tally.records - before;
                let next = position.next.unwrap_or(ask.offset);
                self.sink.read(ask.partition, ask.offset..next, records);
                self.sink.end_of_answer(ask.partition, self.now_ns);
                position.is_held = self.config.holds_fetched && records > 0;
                if reply.preferred_replica >= 0 {
                    let until_ns = self.now_ns.saturating_add(self.config.metadata_max_age_ns);
                    let broker = reply.preferred_replica;
                    position.preferred = Some(Preferred { broker, until_ns, then: None });
                    self.effects.is_sent_on = true;
                }
            }
            ErrorCode::OFFSET_OUT_OF_RANGE => {
                self.effects.has_error = true;
                // A replica may be behind; the leader knows.
                if position.preferred.take().is_none() {
                    position.out_of_range(retry_ns);
                }
            }
            error => {
                position.failed(error, format_args!("fetching failed: {error}"), retry_ns, self.effects);
            }
        }
    }
}

/// Reads and counts the batches of an answer, up to the first that is damaged.
fn fetched<S: RecordSink>(
    position: &mut PartitionPosition,
    reply: &FetchPartitionReply<'_>,
    config: &ConsumerConfig,
    (now_ns, retry_ns): (u64, u64),
    (effects, sink): (&mut Effects, &mut S),
) {
    // −1: it does not know it yet.
    if reply.high_watermark >= 0 {
        position.high_watermark = reply.high_watermark;
    }
    let (end, mut aborted) = match config.isolation {
        FetchIsolation::ReadUncommitted => (reply.high_watermark, Aborted::default()),
        FetchIsolation::ReadCommitted => (reply.last_stable_offset, Aborted::of(&reply.aborted)),
    };
    if end >= 0 {
        (position.end, position.end_reported_ns) = (end, now_ns);
    }
    let Some(mut next) = position.next else { return };
    let set = (position.partition, reply.records);
    let read = read_set(set, &mut next, config.reading, &mut aborted, (&mut effects.tally, sink));
    let has_moved = position.next.replace(next) != Some(next);
    match read {
        Err(error) => {
            let what = format_args!("what was fetched is damaged: {error}");
            position.failed(ErrorCode::CORRUPT_MESSAGE, what, retry_ns, effects);
        }
        // Requested at once, it would come again and again.
        Ok(()) if !has_moved && !reply.records.is_empty() => {
            let bytes = reply.records.len();
            let what =
                format_args!("no whole batch at or behind offset {next} is in the {bytes} bytes fetched");
            position.failed(ErrorCode::CORRUPT_MESSAGE, what, retry_ns, effects);
        }
        Ok(()) => position.recovered(),
    }
}
