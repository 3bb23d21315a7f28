//! Records that differ: they are drawn, and admitted in order, as a client's application hands them over.

use super::runs::ClientRuns;
use crate::record_times::{Admission, RecordTimes};
use crate::records::{DrawnRecord, Draws, RecordBlock, RecordSource};
use kdyno_kafka::producer::ProducerClient;
use std::rc::Rc;

/// The records that a client is about to send.
#[derive(Debug)]
pub struct DrawnRecords {
    source: Rc<RecordSource>,
    /// The next ones; the first of them may have found no room: it stays the next, since records keep their order.
    block: RecordBlock,
    runs: ClientRuns,
}

impl DrawnRecords {
    /// Draws of one client; `has_one_topic`: a partition is one of that topic's, where records of one size join runs.
    pub fn new(source: Rc<RecordSource>, draws: Draws, has_one_topic: bool) -> Self {
        let partitions = source.partitions_of_keys().filter(|_| has_one_topic && source.has_equal_sizes());
        let runs = ClientRuns::new(source.shape(), partitions.unwrap_or(0));
        Self { source, block: RecordBlock::new(draws), runs }
    }

    /// Takes the next record, if there is room for it, and returns whether there was. After the last one of an instant
    /// call [`Self::hand_over`].
    #[inline]
    pub(super) fn admit(
        &mut self,
        kafka: &mut ProducerClient<RecordTimes>,
        now_ns: u64,
        admission: Admission,
        intended_ns: Option<u64>,
    ) -> bool {
        let drawn = self.block.peek(&self.source);
        let has_room = self.runs.add(drawn, intended_ns)
            || self.admit_slowly(kafka, drawn, now_ns, admission, intended_ns);
        if has_room {
            self.block.take();
        }
        has_room
    }

    /// Looks for room for a record that is not sure of it.
    #[inline(never)]
    fn admit_slowly(
        &mut self,
        kafka: &mut ProducerClient<RecordTimes>,
        drawn: DrawnRecord,
        now_ns: u64,
        admission: Admission,
        intended_ns: Option<u64>,
    ) -> bool {
        if let (Some(producer), Some(partition)) = (kafka.producer_mut(), drawn.partition) {
            self.runs.renew(producer, partition, now_ns, admission);
            if self.runs.add(drawn, intended_ns) {
                return true;
            }
        }
        let partition = drawn.partition.map(|partition| partition as usize);
        let Some(times) = kafka.admit_one(self.source.shape_of(drawn.pick), partition, now_ns) else {
            return false;
        };
        times.push_drawn(&[drawn.pick], now_ns, admission, intended_ns.as_slice());
        if let Some(partition) = drawn.partition {
            self.runs.begin(partition);
        }
        true
    }

    /// Hands over what was admitted at an instant.
    pub(super) fn hand_over(
        &mut self,
        kafka: &mut ProducerClient<RecordTimes>,
        now_ns: u64,
        admission: Admission,
    ) {
        if let Some(producer) = kafka.producer_mut() {
            self.runs.end(producer, now_ns, admission);
        }
    }

    /// The next record will never find room.
    pub(super) fn give_up(&mut self) {
        self.block.peek(&self.source);
        self.block.take();
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
        self.hand_over(kafka, now_ns, Admission::AtOnce);
        taken
    }
}
