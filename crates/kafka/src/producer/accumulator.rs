//! Records waiting to be sent: one queue of batches per partition, one buffer for all.

use super::batch::Batch;
use super::{Partitioner, Producer};
use rand::RngExt;

impl<M: Default> Producer<M> {
    /// Takes up to `limit` records at `now_ns` and returns how many found room. `each_run` is called for each
    /// run of records that join one batch, in order.
    pub fn admit(&mut self, limit: u64, now_ns: u64, mut each_run: impl FnMut(&mut M, u32)) -> u64 {
        let mut left = limit;
        while left > 0 {
            if self.sticky_left_bytes <= 0 {
                self.next_partition();
            }
            let Some(room) = self.room(now_ns) else { break };
            let mut take = u64::from(room).min(left) as u32;
            if self.config.partitioner == Partitioner::RoundRobin {
                take = 1;
            }
            let queue = &mut self.partitions[self.sticky];
            let Some(batch) = queue.batches.back_mut() else { break };
            let before = self.shape.body_bytes(batch.count);
            batch.count += take;
            self.sticky_left_bytes -= (self.shape.body_bytes(batch.count) - before) as i64;
            if batch.count == self.batch_records_max || self.config.partitioner == Partitioner::RoundRobin {
                self.sticky_left_bytes = 0;
            }
            queue.next += u64::from(take);
            each_run(&mut batch.user_data, take);
            left -= u64::from(take);
        }
        limit - left
    }

    /// Records the current partition's open batch can still take; opens one when there is none. `None` when
    /// the buffer has no room for another.
    fn room(&mut self, now_ns: u64) -> Option<u32> {
        if self.config.fill_in_flight && !self.find_lean_partition() {
            return None;
        }
        let queue = &mut self.partitions[self.sticky];
        if let Some(batch) = queue.batches.back()
            && batch.sealed_ns.is_none()
            && batch.count < self.batch_records_max
        {
            return Some(self.batch_records_max - batch.count);
        }
        if self.used_bytes > 0 && self.used_bytes + self.batch_cost_bytes > self.config.buffer_bytes {
            return None;
        }
        self.used_bytes += self.batch_cost_bytes;
        self.waiting.insert(self.sticky);
        queue.batches.push_back(Batch {
            partition: self.sticky as i32,
            first: queue.next,
            count: 0,
            created_ns: now_ns,
            sealed_ns: None,
            sent_ns: 0,
            user_data: self.free_user_data.pop().unwrap_or_default(),
            sealed: None,
            attempts: 0,
            not_before_ns: 0,
        });
        Some(self.batch_records_max)
    }

    /// Moves to a partition in which no full batch waits, if there is one.
    fn find_lean_partition(&mut self) -> bool {
        for _ in 0..self.partitions.len() {
            let batches = &self.partitions[self.sticky].batches;
            if batches.front().is_none_or(|batch| batch.count < self.batch_records_max) {
                return true;
            }
            self.sticky = (self.sticky + 1) % self.partitions.len();
        }
        false
    }

    pub(super) fn next_partition(&mut self) {
        let count = self.partitions.len();
        self.sticky = match self.config.partitioner {
            Partitioner::RoundRobin => (self.sticky + 1) % count,
            Partitioner::Sticky => self.rng.random_range(0..count),
        };
        self.sticky_left_bytes = i64::from(self.config.batch_bytes.max(1));
    }

    /// Records for which there is room for certain: what the current batch still takes, and one for each batch
    /// that can be begun, since a record begins one at most.
    pub fn sure_room(&self) -> u64 {
        let cost = self.batch_cost_bytes;
        let free = self.config.buffer_bytes.saturating_sub(self.used_bytes) / cost;
        let begun = free.max(u64::from(self.used_bytes == 0));
        if self.sticky_left_bytes <= 0 {
            return begun;
        }
        let open = self.partitions[self.sticky].batches.back().filter(|batch| batch.sealed_ns.is_none());
        begun + open.map_or(0, |batch| u64::from(self.batch_records_max - batch.count))
    }

    /// Whether the buffer is so full that a further batch finds no room: then every batch is ready, however
    /// short it lingered, as in the Java client.
    pub(super) fn is_exhausted(&self) -> bool {
        self.used_bytes + self.batch_cost_bytes > self.config.buffer_bytes
    }

    /// When the front batch of a partition may be sent; `None` when nothing waits there.
    pub(super) fn ready_ns(&self, partition: usize, is_flushing: bool) -> Option<u64> {
        let queue = &self.partitions[partition].batches;
        let batch = queue.front()?;
        let is_closed = queue.len() > 1 || batch.count >= self.batch_records_max || batch.attempts > 0;
        if is_closed || is_flushing {
            return Some(batch.not_before_ns);
        }
        Some(batch.not_before_ns.max(batch.created_ns + self.config.linger_ns))
    }
}
