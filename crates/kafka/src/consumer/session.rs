//! A fetch session with one broker: what was requested is remembered there, so that a request names only what has
//! changed since ([KIP-227](https://cwiki.apache.org/confluence/display/KAFKA/KIP-227%3A+Introduce+Incremental+FetchRequests+to+Increase+Partition+Scalability)).
//!
//! It also says which answers belong to a request: each partition of the session at most once, and all of them where
//! the request was a full one. A reply with another one comes from a broker that answers somebody else.

use crate::errors::ErrorCode;
use crate::messages::m01_fetch::{FetchReply, PartitionFetch, SessionStep};
use crate::wire::{Result, WireError};

/// The first step of a session; it names all partitions.
const FIRST_EPOCH: i32 = 0;

/// What a request to a broker says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FetchRequestData {
    pub session: SessionStep,
    /// Partitions that are new in the session or begin elsewhere than before.
    pub partitions: Vec<PartitionFetch>,
    /// Places that leave the session.
    pub forgotten: Vec<i32>,
}

/// A partition of the session, as the broker knows it.
#[derive(Debug, Clone, Copy)]
struct SessionPartition {
    ask: PartitionFetch,
    /// The request that it was answered to last.
    answered: u64,
}

/// What a broker remembers of us, and what was asked of it last.
#[derive(Debug, Default)]
pub(super) struct FetchSession {
    id: i32,
    /// Number of the next request.
    epoch: i32,
    /// By topic; all zero where one is not known.
    topic_ids: Vec<[u8; 16]>,
    /// By ascending place, which stands for the partition.
    members: Vec<SessionPartition>,
    /// Requests so far.
    requests: u64,
    /// Partitions that the last one's reply had.
    answers: usize,
}

impl FetchSession {
    /// The next request, for all of `wanted`, by ascending place, which stands for the partition.
    pub(super) fn next(&mut self, wanted: &[PartitionFetch], topic_ids: &[[u8; 16]]) -> FetchRequestData {
        if self.topic_ids != topic_ids {
            // What the broker remembers is of another topic.
            (self.topic_ids, self.epoch) = (topic_ids.to_vec(), FIRST_EPOCH);
        }
        (self.requests, self.answers) = (self.requests + 1, 0);
        let session = SessionStep { id: self.id, epoch: self.epoch };
        let before = std::mem::take(&mut self.members);
        self.members = wanted.iter().map(|ask| SessionPartition { ask: *ask, answered: 0 }).collect();
        if self.epoch == FIRST_EPOCH {
            return FetchRequestData { session, partitions: wanted.to_vec(), forgotten: Vec::new() };
        }
        let mut step = FetchRequestData { session, ..FetchRequestData::default() };
        let mut before = before.iter().map(|member| member.ask).peekable();
        for ask in wanted {
            while let Some(left) = before.next_if(|known| known.partition < ask.partition) {
                step.forgotten.push(left.partition);
            }
            if before.next_if(|known| known.partition == ask.partition) != Some(*ask) {
                step.partitions.push(*ask);
            }
        }
        step.forgotten.extend(before.map(|left| left.partition));
        step
    }

    /// The topic with this id, if the last request may have been for it.
    pub(super) fn topic_of(&self, topic_id: [u8; 16]) -> Option<usize> {
        self.topic_ids.iter().position(|own| *own == topic_id)
    }

    /// What was asked of a partition that the reply to the last request has.
    ///
    /// # Errors
    /// When it was not requested, or the reply had it before.
    pub(super) fn answered(&mut self, partition: i32) -> Result<PartitionFetch> {
        let found = self.members.binary_search_by_key(&partition, |member| member.ask.partition);
        let member = found.ok().map(|at| &mut self.members[at]);
        let member = member
            .ok_or(WireError::Invalid("a fetch was answered for a partition that was not requested"))?;
        if member.answered == self.requests {
            return Err(WireError::Invalid("a fetch was answered twice for a partition"));
        }
        member.answered = self.requests;
        self.answers += 1;
        Ok(member.ask)
    }

    /// The last request was answered; `Some`: with an error, to a full request or not.
    ///
    /// # Errors
    /// When the answer to a full request lacks partitions.
    pub(super) fn replied(&mut self, reply: &FetchReply) -> Result<Option<(ErrorCode, bool)>> {
        let is_full = self.epoch == FIRST_EPOCH;
        let error = ErrorCode(reply.error);
        if error.is_error() {
            self.lost();
            if error == ErrorCode::FETCH_SESSION_ID_NOT_FOUND {
                self.id = 0;
            }
            return Ok(Some((error, is_full)));
        }
        // A broker that throttles us answers at once, and without partitions.
        let is_throttled = self.answers == 0 && reply.throttle_ms > 0;
        if is_full && self.answers < self.members.len() && !is_throttled {
            return Err(WireError::Invalid("a full fetch was not answered for all requested partitions"));
        }
        (self.id, self.epoch) = match reply.session_id {
            _ if is_full && is_throttled => (0, FIRST_EPOCH),
            0 => (0, FIRST_EPOCH),
            id if is_full => (id, 1),
            _ => (self.id, self.epoch.checked_add(1).unwrap_or(1)),
        };
        Ok(None)
    }

    /// The connection or an answer is lost: what the broker remembers is unknown, so the next request is a full one,
    /// which also ends the old session.
    pub(super) fn lost(&mut self) {
        self.epoch = FIRST_EPOCH;
    }

    /// The partitions of the last request, with the requested offset of each.
    pub(super) fn asked(&self) -> impl Iterator<Item = PartitionFetch> {
        self.members.iter().map(|member| member.ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(partition: i32, offset: i64) -> PartitionFetch {
        PartitionFetch { topic: 0, partition, leader_epoch: 3, offset }
    }

    fn reply(session_id: i32) -> FetchReply {
        FetchReply { error: 0, throttle_ms: 0, session_id }
    }

    /// A session of partitions 0 to 2, whose first request was answered.
    fn begun() -> FetchSession {
        let mut session = FetchSession::default();
        let wanted = [ask(0, 5), ask(1, 6), ask(2, 7)];
        let step = session.next(&wanted, &[]);
        assert_eq!(step.session, SessionStep { id: 0, epoch: 0 });
        assert_eq!((step.partitions.as_slice(), step.forgotten.len()), (&wanted[..], 0));
        for partition in 0..3 {
            assert_eq!(session.answered(partition), Ok(ask(partition, 5 + i64::from(partition))));
        }
        assert_eq!(session.replied(&reply(9)), Ok(None));
        session
    }

    #[test]
    fn a_session_that_goes_on_names_what_has_changed() {
        let mut session = begun();
        let wanted = [ask(0, 5), ask(2, 70), ask(4, 1)];
        let step = session.next(&wanted, &[]);
        assert_eq!(step.session, SessionStep { id: 9, epoch: 1 });
        assert_eq!((step.partitions, step.forgotten), (vec![ask(2, 70), ask(4, 1)], vec![1]));
        assert_eq!(session.answered(2), Ok(ask(2, 70)));
        assert_eq!(session.replied(&reply(9)), Ok(None), "the others had nothing");
        let step = session.next(&wanted, &[]);
        assert_eq!((step.session.epoch, step.partitions, step.forgotten), (2, vec![], vec![]));
        assert_eq!(session.answered(0), Ok(ask(0, 5)), "it was asked for before");
        // Another election is a change, and what comes last may leave too.
        let moved = PartitionFetch { leader_epoch: 4, ..ask(0, 5) };
        let step = session.next(&[moved], &[]);
        assert_eq!((step.partitions, step.forgotten), (vec![moved], vec![2, 4]));
    }

    #[test]
    fn answers_that_were_not_asked_for_are_refused() {
        let mut session = begun();
        session.next(&[ask(0, 5), ask(2, 70)], &[]);
        assert!(session.answered(1).is_err(), "it has left");
        assert!(session.answered(7).is_err() && session.answered(-1).is_err());
        assert!(session.answered(2).is_ok() && session.answered(2).is_err(), "twice");
        session.lost();
        session.next(&[ask(0, 5), ask(2, 70)], &[]);
        assert!(session.answered(2).is_ok());
        assert!(session.replied(&reply(9)).is_err(), "a full one is answered for all");
    }

    #[test]
    fn after_an_error_or_a_loss_everything_is_named_again() {
        for (error, id) in [
            (ErrorCode::FETCH_SESSION_ID_NOT_FOUND, 0),
            (ErrorCode::INVALID_FETCH_SESSION_EPOCH, 9),
            (ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR, 9),
        ] {
            let mut session = begun();
            session.next(&[ask(0, 5)], &[]);
            assert_eq!(session.replied(&FetchReply { error: error.0, ..reply(0) }), Ok(Some((error, false))));
            let step = session.next(&[ask(0, 5)], &[]);
            assert_eq!((step.session, step.partitions.len()), (SessionStep { id, epoch: 0 }, 1));
            assert_eq!(session.replied(&FetchReply { error: error.0, ..reply(0) }), Ok(Some((error, true))));
        }
        let mut session = begun();
        session.lost();
        assert_eq!(session.next(&[ask(0, 5)], &[]).session, SessionStep { id: 9, epoch: 0 });
        let mut session = begun();
        let step = session.next(&[ask(0, 5)], &[[1; 16]]);
        assert_eq!((step.session.epoch, step.partitions.len()), (0, 1), "the topic was made anew");
    }

    #[test]
    fn a_broker_may_end_a_session_keep_none_or_throttle_instead() {
        let mut session = begun();
        session.next(&[ask(0, 5)], &[]);
        assert_eq!(session.replied(&reply(0)), Ok(None), "it has ended it");
        assert_eq!(session.next(&[ask(0, 5)], &[]).session, SessionStep { id: 0, epoch: 0 });
        let throttled = FetchReply { throttle_ms: 7, ..reply(0) };
        assert_eq!(session.replied(&throttled), Ok(None), "nothing is said of the partitions");
        assert_eq!(session.next(&[ask(0, 5)], &[]).session, SessionStep { id: 0, epoch: 0 });
    }
}
