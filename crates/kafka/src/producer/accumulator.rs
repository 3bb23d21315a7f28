//! Records waiting to be sent: which batch takes them, and when it is ready.

use super::{CHOOSES_NEXT, Partitioner, Producer, ProducerBatch, RecordData, RecordShape};

impl<M: RecordData> Producer<M> {
    /// Takes up to `limit` records at `now_ns` and returns how many found room. `leader` names the connection of a
    /// partition's leader, if it has one; `each_run` is called for each run of records that join one batch, in order.
    pub fn admit(
        &mut self,
        limit: u64,
        now_ns: u64,
        leader: impl Fn(usize) -> Option<usize>,
        mut each_run: impl FnMut(&mut M, u32),
    ) -> u64 {
        if !self.takes_records() {
            return 0;
        }
        let timestamp_ms = self.timestamp_ms(now_ns);
        self.queue_lengths = None;
        let most = match self.config.partitioner {
            _ if self.turns.are_several() => 1,
            Partitioner::Sticky | Partitioner::One(_) => u32::MAX,
            Partitioner::RoundRobin => 1,
        };
        let limit = if self.config.is_synchronous { limit.min(1) } else { limit };
        let mut left = limit;
        while left > 0 {
            if self.is_move_due() {
                self.move_on(now_ns, &leader);
            }
            if self.config.fill_in_flight && !self.find_lean_partition(&leader) {
                break;
            }
            let wanted = left.min(u64::from(most)) as u32;
            let take = match self.room(wanted, timestamp_ms) {
                Some(0) => {
                    self.close_current();
                    continue;
                }
                Some(take) => take,
                // A record that is larger than `batch.size` has a batch of its own.
                None if self.begin_batch(now_ns, timestamp_ms) => {
                    self.room(wanted, timestamp_ms).unwrap_or(1).max(1)
                }
                None => break,
            };
            let Some(batch) = self.queues.back_mut(self.current) else { break };
            let bytes_before = batch.bytes();
            let delta_ms = (timestamp_ms - batch.base_timestamp_ms).max(0) as u64;
            batch.body_bytes += self.shape.run_bytes(batch.count, take, delta_ms);
            batch.count += take;
            self.current_bytes += batch.bytes() - bytes_before;
            self.next_numbers[self.current] += u64::from(take);
            each_run(&mut batch.user_data, take);
            left -= u64::from(take);
            if take < wanted && !self.is_move_due() {
                self.close_current();
            }
            if self.config.partitioner == Partitioner::RoundRobin {
                self.current_bytes = CHOOSES_NEXT;
            }
            self.turns.next(&mut self.current, &mut self.current_bytes);
        }
        if left < limit {
            self.begin_transaction(now_ns);
        }
        limit - left
    }

    /// A record that finds no room is what fills a batch; the partition may change with it.
    fn close_current(&mut self) {
        if let Some(batch) = self.queues.back_mut(self.current) {
            batch.is_closed = true;
        }
    }

    /// Takes one record of its own size at `now_ns`: into `partition`, which must be one of the topic whose turn it is, or where
    /// the partitioner has it. Returns what the caller keeps with the batch that it joined; `None`: it found no room.
    /// `leader` names the connection of a partition's leader, if it has one.
    pub fn admit_one(
        &mut self,
        record: RecordShape,
        partition: Option<usize>,
        now_ns: u64,
        leader: impl Fn(usize) -> Option<usize>,
    ) -> Option<&mut M> {
        if !self.takes_records() {
            return None;
        }
        let timestamp_ms = self.timestamp_ms(now_ns);
        self.is_blocked = false;
        let place = partition.map(|partition| self.turns.span().start + partition);
        let chosen = self.room_for_one(record, place, now_ns, timestamp_ms, leader)?;
        self.begin_transaction(now_ns);
        let batch = self.queues.back_mut(chosen)?;
        let bytes_before = batch.bytes();
        let delta_ms = (timestamp_ms - batch.base_timestamp_ms).max(0) as u64;
        batch.body_bytes += record.bytes_after(batch.count, delta_ms);
        batch.count += 1;
        self.next_numbers[chosen] += 1;
        if partition.is_none() {
            self.current_bytes = match self.config.partitioner {
                Partitioner::RoundRobin => CHOOSES_NEXT,
                _ => self.current_bytes + batch.bytes() - bytes_before,
            };
        }
        self.turns.next(&mut self.current, &mut self.current_bytes);
        Some(&mut batch.user_data)
    }

    /// How many further records of one size, up to `most`, find room in a partition's open batch for certain at this
    /// instant, whatever other partitions take in between: perhaps fewer than do.
    pub fn sure_room_in(&self, partition: usize, record: RecordShape, most: u32, now_ns: u64) -> u32 {
        let waits = || self.queues.front(partition).is_some_and(ProducerBatch::is_full);
        if !self.takes_records() || (self.config.fill_in_flight && waits()) {
            return 0;
        }
        let Some(open) = self.queues.back(partition).filter(|batch| !batch.is_closed) else { return 0 };
        let delta_ms = (self.timestamp_ms(now_ns) - open.base_timestamp_ms).max(0) as u64;
        // None of them is larger than the last one.
        let record_bytes = record.bytes_after(open.count.saturating_add(most), delta_ms);
        let left_bytes = open.bytes_max.saturating_sub(open.bytes());
        let left_records = self.config.batch_records_max.saturating_sub(open.count);
        let mut room = most.min(left_records).min((left_bytes / record_bytes) as u32);
        // What does not compress is estimated above its size, and the last one must find room uncompressed.
        let body_bytes = |records: u32| open.body_bytes + u64::from(records) * record_bytes;
        while room > 0 && open.ratio.batch_bytes(body_bytes(room - 1)) + record_bytes > open.bytes_max {
            room /= 2;
        }
        room
    }

    /// Takes records of one size into a partition's open batch, up to as many as [`Self::sure_room_in`] has just said.
    /// Returns what the caller keeps with the batch.
    pub fn admit_run(
        &mut self,
        record: RecordShape,
        partition: usize,
        count: u32,
        now_ns: u64,
    ) -> Option<&mut M> {
        self.begin_transaction(now_ns);
        let timestamp_ms = self.timestamp_ms(now_ns);
        let batch = self.queues.back_mut(partition)?;
        let delta_ms = (timestamp_ms - batch.base_timestamp_ms).max(0) as u64;
        batch.body_bytes += record.run_bytes(batch.count, count, delta_ms);
        batch.count += count;
        self.next_numbers[partition] += u64::from(count);
        Some(&mut batch.user_data)
    }

    /// The partition whose last batch takes the record, which is begun where there is none.
    fn room_for_one(
        &mut self,
        record: RecordShape,
        partition: Option<usize>,
        now_ns: u64,
        timestamp_ms: i64,
        leader: impl Fn(usize) -> Option<usize>,
    ) -> Option<usize> {
        self.queue_lengths = None;
        loop {
            let chosen = match partition {
                Some(partition) => {
                    let waits = || self.queues.front(partition).is_some_and(ProducerBatch::is_full);
                    if self.config.fill_in_flight && waits() {
                        return None;
                    }
                    partition
                }
                None => {
                    if self.is_move_due() {
                        self.move_on(now_ns, &leader);
                    }
                    if self.config.fill_in_flight && !self.find_lean_partition(&leader) {
                        return None;
                    }
                    self.current
                }
            };
            let Some(open) = self.queues.back_mut(chosen).filter(|batch| !batch.is_closed) else {
                let cost_bytes = record.buffer_bytes(self.config.batch_bytes);
                self.is_blocked = !self.begin_batch_in(chosen, cost_bytes, now_ns, timestamp_ms);
                return (!self.is_blocked).then_some(chosen);
            };
            let delta_ms = (timestamp_ms - open.base_timestamp_ms).max(0) as u64;
            let bytes = open.ratio.batch_bytes(open.body_bytes) + record.bytes_after(open.count, delta_ms);
            if open.count < self.config.batch_records_max && bytes <= open.bytes_max {
                return Some(chosen);
            }
            // That is what fills a batch; the partition may change with it.
            open.is_closed = true;
        }
    }

    /// The timestamp of a record that is accepted now, ms since 1970.
    fn timestamp_ms(&self, now_ns: u64) -> i64 {
        (now_ns as i64 + self.config.wall_offset_ns) / 1_000_000
    }

    /// How many of the `wanted` records the current partition's open batch takes; `None`: there is none.
    fn room(&self, wanted: u32, timestamp_ms: i64) -> Option<u32> {
        let batch = self.queues.back(self.current).filter(|batch| !batch.is_closed)?;
        let delta_ms = (timestamp_ms - batch.base_timestamp_ms).max(0) as u64;
        if self.takes(batch, wanted, delta_ms) {
            return Some(wanted);
        }
        // The search begins at what a division says, which is off by a record or so: the sizes of records differ by a
        // byte or two, and ratios are rounded.
        let guess = self.guessed_room(batch, delta_ms).min(wanted - 1);
        let (mut taken, mut refused, mut step) = (0, wanted, 1);
        if guess == 0 || self.takes(batch, guess, delta_ms) {
            taken = guess;
            while taken + step < refused && self.takes(batch, taken + step, delta_ms) {
                taken += step;
                step *= 2;
            }
            refused = refused.min(taken + step);
        } else {
            refused = guess;
            while step < refused && !self.takes(batch, refused - step, delta_ms) {
                refused -= step;
                step *= 2;
            }
            taken = taken.max(refused.saturating_sub(step));
        }
        while refused - taken > 1 {
            let middle = taken + (refused - taken) / 2;
            if self.takes(batch, middle, delta_ms) {
                taken = middle;
            } else {
                refused = middle;
            }
        }
        Some(taken)
    }

    /// About how many further records of the producer's one size an open batch takes, and this partition.
    fn guessed_room(&self, batch: &ProducerBatch<M>, delta_ms: u64) -> u32 {
        let record_bytes = self.shape.bytes_after(batch.count, delta_ms);
        let left_bytes = batch.bytes_max.saturating_sub(batch.bytes());
        if left_bytes < record_bytes {
            return 0;
        }
        let of_turn = self.most_bytes_in_turn().saturating_sub(self.current_bytes + 1);
        // All but the last one count as they are expected to compress.
        let others = batch.ratio.records_in(of_turn.min(left_bytes - record_bytes), record_bytes);
        others.saturating_add(1).min(self.config.batch_records_max.saturating_sub(batch.count))
    }

    /// Whatever the state of its batches, the next partition has its turn after so many bytes.
    pub(super) fn most_bytes_in_turn(&self) -> u64 {
        2 * u64::from(self.config.batch_bytes.max(1))
    }

    /// Whether the last of so many further records still joins a batch, and this partition: it does as long as the
    /// batch, as it is estimated before it, and the record itself, uncompressed, are not above `batch.size`.
    fn takes(&self, batch: &ProducerBatch<M>, further: u32, delta_ms: u64) -> bool {
        let Some(before) = batch.count.checked_add(further - 1) else { return false };
        if before >= self.config.batch_records_max {
            return false;
        }
        let joined_bytes = self.shape.run_bytes(batch.count, further - 1, delta_ms);
        let bytes = batch.ratio.batch_bytes(batch.body_bytes + joined_bytes);
        let record_bytes = self.shape.bytes_after(before, delta_ms);
        let current_bytes = self.current_bytes + bytes - batch.bytes();
        let is_moving = further > 1 && current_bytes >= self.most_bytes_in_turn();
        bytes + record_bytes <= batch.bytes_max && !is_moving
    }

    /// Begins a batch in the current partition. Returns whether the buffer has room for it.
    pub(super) fn begin_batch(&mut self, now_ns: u64, timestamp_ms: i64) -> bool {
        self.begin_batch_in(self.current, self.batch_cost_bytes, now_ns, timestamp_ms)
    }

    fn begin_batch_in(&mut self, partition: usize, cost_bytes: u64, now_ns: u64, timestamp_ms: i64) -> bool {
        if self.used_bytes > 0 && self.used_bytes + cost_bytes > self.config.buffer_bytes {
            return false;
        }
        self.used_bytes += cost_bytes;
        self.batches += 1;
        self.queues.push(ProducerBatch {
            partition: partition as i32,
            first: self.next_numbers[partition],
            count: 0,
            created_ns: now_ns,
            base_timestamp_ms: timestamp_ms,
            body_bytes: 0,
            user_data: self.free_user_data.pop().unwrap_or_default(),
            bytes_max: cost_bytes,
            ratio: self.ratio,
            is_closed: false,
            is_part: false,
            sending: None,
        });
        let length = self.queues.length(partition);
        if let Some(lengths) = &mut self.queue_lengths {
            lengths.longest = lengths.longest.max(length);
        }
        true
    }

    /// Records for which there is room for certain at this instant: what the current batch still takes, and one for
    /// each batch that can be begun, since a record begins one at most. With several topics one: the next record is another
    /// topic's.
    pub fn sure_room(&self, now_ns: u64) -> u64 {
        if !self.takes_records() {
            return 0;
        }
        if self.config.is_synchronous {
            return 1;
        }
        let most = if self.turns.are_several() { 1 } else { u64::MAX };
        let free = self.config.buffer_bytes.saturating_sub(self.used_bytes) / self.batch_cost_bytes;
        let begun = free.max(u64::from(self.used_bytes == 0));
        if begun >= most || self.is_move_due() {
            return begun.min(most);
        }
        let open = self.room(u32::MAX, self.timestamp_ms(now_ns));
        (begun + u64::from(open.unwrap_or(0))).min(most)
    }

    /// Whether the buffer is so full that a further batch finds no room: then every batch is ready, however
    /// short it lingered, as in the Java client.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_blocked || self.used_bytes + self.batch_cost_bytes > self.config.buffer_bytes
    }

    /// When the front batch of a partition may be sent over the connection to its leader; `None` when nothing waits
    /// there.
    pub(super) fn ready_ns(&self, partition: usize, is_flushing: bool, connection: usize) -> Option<u64> {
        let batch = self.queues.front(partition)?;
        if batch.attempts() > 0 {
            return Some(batch.pauses_until_ns(connection));
        }
        if is_flushing || batch.is_full() || self.queues.length(partition) > 1 {
            return Some(0);
        }
        Some(batch.created_ns + self.config.linger_ns)
    }
}
