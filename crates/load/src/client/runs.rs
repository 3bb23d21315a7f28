//! Runs: records of one size that join an open batch at one instant are handed over together, as long as they are sure of
//! room there. What was sure of it is in the batch whatever becomes of the records of other partitions, so a run ends
//! in what the same records would have come to one by one.

use crate::record_times::{Admission, RecordTimes};
use crate::records::{DrawnRecord, Pick};
use kdyno_kafka::producer::{Producer, RecordShape};

/// Most records of a run, and most runs at a time: what they take of a client's memory is bounded, and stays in a cache.
const RECORDS_MAX: u32 = 128;
const RUNS_MAX: usize = 64;

/// Records of one partition that are to be handed over.
#[derive(Debug, Default)]
struct PartitionRun {
    partition: usize,
    /// How many are sure of room, these among them.
    room: usize,
    picks: Vec<Pick>,
    /// t0 of each, where it is its own, ns.
    intended_ns: Vec<u64>,
}

/// The runs of one client at one instant.
#[derive(Debug)]
pub(super) struct ClientRuns {
    shape: RecordShape,
    /// By partition the number of its run, 0 for none; nothing where records have sizes of their own, or no partition.
    numbers: Box<[u8]>,
    /// By number. The first one never has room.
    runs: Vec<PartitionRun>,
    /// How many of them are in use, the first one among them.
    used: usize,
}

impl ClientRuns {
    /// Runs of records of one size for so many partitions; 0: there will be none.
    pub(super) fn new(shape: RecordShape, partitions: usize) -> Self {
        Self { shape, numbers: vec![0; partitions].into(), runs: vec![PartitionRun::default()], used: 1 }
    }

    /// Adds a record to the run of its partition. Returns whether it is sure of room there.
    #[inline]
    pub(super) fn add(&mut self, drawn: DrawnRecord, intended_ns: Option<u64>) -> bool {
        let Some(partition) = drawn.partition else { return false };
        let Some(&number) = self.numbers.get(partition as usize) else { return false };
        let run = &mut self.runs[usize::from(number)];
        if run.picks.len() >= run.room {
            return false;
        }
        run.picks.push(drawn.pick);
        run.intended_ns.extend(intended_ns);
        true
    }

    /// Hands over the run of a partition, and looks for room for further records: those that come next there.
    pub(super) fn renew(
        &mut self,
        producer: &mut Producer<RecordTimes>,
        partition: u32,
        now_ns: u64,
        admission: Admission,
    ) {
        let number = self.numbers.get(partition as usize).copied().unwrap_or(0);
        if number > 0 {
            let run = &mut self.runs[usize::from(number)];
            run.hand_over(producer, self.shape, now_ns, admission);
            run.room = producer.sure_room_in(run.partition, self.shape, RECORDS_MAX, now_ns) as usize;
        }
    }

    /// A partition took a record by itself at this instant: further ones of it become a run.
    pub(super) fn begin(&mut self, partition: u32) {
        let Some(number) = self.numbers.get_mut(partition as usize).filter(|number| **number == 0) else {
            return;
        };
        if self.used > RUNS_MAX {
            return;
        }
        if self.used == self.runs.len() {
            self.runs.push(PartitionRun::default());
        }
        self.runs[self.used].partition = partition as usize;
        *number = self.used as u8;
        self.used += 1;
    }

    /// Hands over all runs: the instant is over, or how records are admitted at it.
    pub(super) fn end(&mut self, producer: &mut Producer<RecordTimes>, now_ns: u64, admission: Admission) {
        for run in &mut self.runs[1..self.used] {
            run.hand_over(producer, self.shape, now_ns, admission);
            run.room = 0;
            self.numbers[run.partition] = 0;
        }
        self.used = 1;
    }
}

impl PartitionRun {
    fn hand_over(
        &mut self,
        producer: &mut Producer<RecordTimes>,
        shape: RecordShape,
        now_ns: u64,
        admission: Admission,
    ) {
        if self.picks.is_empty() {
            return;
        }
        let count = self.picks.len() as u32;
        let times = producer.admit_run(shape, self.partition, count, now_ns);
        debug_assert!(times.is_some(), "sure_room_in promised room in an open batch");
        if let Some(times) = times {
            times.push_drawn(&self.picks, now_ns, admission, &self.intended_ns);
        }
        self.picks.clear();
        self.intended_ns.clear();
    }
}
