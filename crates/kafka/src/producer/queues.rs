//! What waits: one queue of batches per partition.

use super::ProducerBatch;
use super::non_empty::NonEmptyPartitions;
use std::collections::VecDeque;

/// Batches that wait to be sent, oldest first. Only the last one of a partition may take further records.
#[derive(Debug)]
pub(super) struct Queues<M> {
    partitions: Vec<VecDeque<ProducerBatch<M>>>,
    /// The partitions in which something waits.
    waiting: NonEmptyPartitions,
}

impl<M> Queues<M> {
    /// Empty queues of so many partitions.
    pub(super) fn new(partitions: usize) -> Self {
        let queues = (0..partitions).map(|_| VecDeque::new()).collect();
        Self { partitions: queues, waiting: NonEmptyPartitions::none(partitions) }
    }

    /// How many partitions there are.
    pub(super) fn count(&self) -> usize {
        self.partitions.len()
    }

    /// Batches that wait in a partition.
    pub(super) fn length(&self, partition: usize) -> usize {
        self.partitions[partition].len()
    }

    pub(super) fn front(&self, partition: usize) -> Option<&ProducerBatch<M>> {
        self.partitions[partition].front()
    }

    pub(super) fn back(&self, partition: usize) -> Option<&ProducerBatch<M>> {
        self.partitions[partition].back()
    }

    pub(super) fn back_mut(&mut self, partition: usize) -> Option<&mut ProducerBatch<M>> {
        self.partitions[partition].back_mut()
    }

    /// A batch that was just begun.
    pub(super) fn push(&mut self, batch: ProducerBatch<M>) {
        let partition = batch.partition as usize;
        self.waiting.insert(partition);
        self.partitions[partition].push_back(batch);
    }

    /// A batch that was sent before: it goes to where its records belong.
    pub(super) fn put_back(&mut self, batch: ProducerBatch<M>) {
        let partition = batch.partition as usize;
        let queue = &mut self.partitions[partition];
        let at = queue.partition_point(|other| other.first < batch.first);
        queue.insert(at, batch);
        self.waiting.insert(partition);
    }

    pub(super) fn pop(&mut self, partition: usize) -> Option<ProducerBatch<M>> {
        let queue = &mut self.partitions[partition];
        let batch = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(partition);
        }
        batch
    }

    /// Takes a partition's last batch if it is such a one.
    pub(super) fn pop_back_if(
        &mut self,
        partition: usize,
        is_meant: impl Fn(&ProducerBatch<M>) -> bool,
    ) -> Option<ProducerBatch<M>> {
        let queue = &mut self.partitions[partition];
        let batch = queue.pop_back_if(|batch| is_meant(batch));
        if queue.is_empty() {
            self.waiting.remove(partition);
        }
        batch
    }

    /// The partitions in which something waits, in order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        self.waiting.iter()
    }

    /// The first partition from `partition` on in which something waits.
    pub(super) fn waiting_from(&self, partition: usize) -> Option<usize> {
        self.waiting.at_or_after(partition)
    }

    /// All batches of a partition.
    pub(super) fn of_mut(&mut self, partition: usize) -> impl Iterator<Item = &mut ProducerBatch<M>> {
        self.partitions[partition].iter_mut()
    }

    /// All batches of a partition.
    #[cfg(test)]
    pub(super) fn of(&self, partition: usize) -> impl Iterator<Item = &ProducerBatch<M>> {
        self.partitions[partition].iter()
    }

    /// All that is left, partition by partition.
    pub(super) fn into_batches(self) -> impl Iterator<Item = ProducerBatch<M>> {
        self.partitions.into_iter().flatten()
    }
}

/// How many batches wait in the partitions that records may go to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueLengths {
    pub(super) longest: usize,
    /// None of them has fewer.
    pub(super) shortest: usize,
}

impl QueueLengths {
    /// Queues in which something waits, and all that there are.
    pub(super) fn of(waiting: impl Iterator<Item = usize>, partitions: usize) -> Self {
        let (mut count, mut longest, mut shortest) = (0, 0, usize::MAX);
        for length in waiting {
            (longest, shortest) = (longest.max(length), shortest.min(length));
            count += 1;
        }
        Self { longest, shortest: if count == partitions { shortest } else { 0 } }
    }

    /// The weight of a partition in which so many wait.
    pub(super) fn weight(self, length: usize) -> u64 {
        ((self.longest + 1).saturating_sub(length) as u64).max(1)
    }
}
