//! Records that differ: they are drawn and admitted one by one, as a client's application hands them over.

use crate::record_times::{Admission, RecordTimes};
use crate::records::{Drawn, Draws, RecordSource};
use kdyno_kafka::producer::ProducerClient;
use std::rc::Rc;

/// The records that a client is about to send.
#[derive(Debug)]
pub struct DrawnRecords {
    source: Rc<RecordSource>,
    draws: Draws,
    /// The one that found no room: it is the next, since records keep their order.
    waiting: Option<Drawn>,
}

impl DrawnRecords {
    /// Those of one client.
    pub fn new(source: Rc<RecordSource>, draws: Draws) -> Self {
        Self { source, draws, waiting: None }
    }

    /// Hands over the next record. Returns whether it found room.
    #[inline]
    pub(super) fn admit(
        &mut self,
        kafka: &mut ProducerClient<RecordTimes>,
        now_ns: u64,
        admission: Admission,
        intended_ns: Option<u64>,
    ) -> bool {
        let drawn = self.waiting.take().unwrap_or_else(|| self.draws.draw(&self.source));
        match kafka.admit_one(drawn.shape, drawn.partition, now_ns) {
            Some(times) => {
                times.push_drawn(drawn.pick, now_ns, admission, intended_ns);
                true
            }
            None => {
                self.waiting = Some(drawn);
                false
            }
        }
    }

    /// The record that waits will never find room.
    pub(super) fn give_up(&mut self) {
        self.waiting = None;
    }

    /// Hands over up to `limit` records of a closed loop, and returns how many found room.
    pub(super) fn admit_at_once(
        &mut self,
        kafka: &mut ProducerClient<RecordTimes>,
        limit: u64,
        now_ns: u64,
    ) -> u64 {
        let mut taken = 0;
        while taken < limit && self.admit(kafka, now_ns, Admission::AtOnce, None) {
            taken += 1;
        }
        taken
    }
}
