//! Which partition records go to whose key does not say so, as in the Java client (KIP-794).
//!
//! *Sticky*: one partition until `batch.size` bytes went to it and no batch of it is left half full, then another
//! one by chance. Partitions without a leader are left out. With adaptive partitioning the chance of each is
//! `longest queue + 1 − its own queue` in batches, so that a slow broker's partitions get fewer records; with
//! `partitioner.availability.timeout.ms` those in which batches wait for a broker that takes none are left out.

use super::queues::QueueLengths;
use super::{Partitioner, Producer, RecordData};
use rand::RngExt;
use rand_pcg::Pcg64;

/// Draws at random before all partitions are looked at: with most of them left out, luck takes long.
const DRAWS_MAX: u32 = 32;

/// A partition by chance, each as likely as its weight; no weight is above `weight_max`; none when all are 0.
fn choose(
    rng: &mut Pcg64,
    partitions: usize,
    weight_max: u64,
    weight: impl Fn(usize) -> u64,
) -> Option<usize> {
    // One number is drawn for both: its upper half says which partition, its lower half is compared with the weight.
    // That prefers no partition by more than one in 2³² and needs no division.
    let part = |half: u64, of: u64| (half * of) >> 32;
    for _ in 0..DRAWS_MAX {
        let draw = rng.random::<u64>();
        let partition = part(draw >> 32, partitions as u64) as usize;
        if part(draw & u64::from(u32::MAX), weight_max) < weight(partition) {
            return Some(partition);
        }
    }
    let total: u64 = (0..partitions).map(&weight).sum();
    let mut left = if total == 0 { return None } else { rng.random_range(0..total) };
    (0..partitions).find(|&partition| {
        let own = weight(partition);
        let is_here = left < own;
        left = left.saturating_sub(own);
        is_here
    })
}

impl<M: RecordData> Producer<M> {
    /// Notes which of the brokers that batches wait for take requests; `leader` names a partition's connection and
    /// whether it does. What waits for an earlier batch of its own partition is not the broker's fault.
    pub(super) fn note_availability(
        &mut self,
        now_ns: u64,
        is_flushing: bool,
        leader: impl Fn(usize) -> Option<(usize, bool)>,
    ) {
        if self.config.availability_timeout_ns == 0 {
            return;
        }
        for partition in self.queues.waiting() {
            if let Some((connection, takes)) = leader(partition)
                && !self.is_muted(partition)
                && self.ready_ns(partition, is_flushing, connection).is_some_and(|at| at <= now_ns)
            {
                self.availability.note(connection, takes, now_ns);
            }
        }
    }

    /// Whether the current partition has had its share: `batch.size` bytes and no batch half full, or twice as much.
    pub(super) fn is_move_due(&self) -> bool {
        let share = u64::from(self.config.batch_bytes.max(1));
        let is_any_open = self.queues.back(self.current).is_some_and(|batch| !batch.is_full());
        self.current_bytes >= self.most_bytes_in_turn() || (self.current_bytes >= share && !is_any_open)
    }

    /// Goes on to the next partition. `leader` names the connection of a partition's leader, if it has one.
    pub(super) fn move_on(&mut self, now_ns: u64, leader: &impl Fn(usize) -> Option<usize>) {
        let (span, current) = (self.turns.span(), self.current);
        let behind = |step: usize| span.start + (current - span.start + step) % span.len();
        self.current = match self.config.partitioner {
            Partitioner::RoundRobin => {
                let mut in_turn = (1..=span.len()).map(behind);
                in_turn.find(|&next| leader(next).is_some()).unwrap_or(behind(1))
            }
            Partitioner::Sticky => self.by_chance(now_ns, leader),
            Partitioner::One(partition) => span.start + partition,
        };
        self.current_bytes = 0;
    }

    fn by_chance(&mut self, now_ns: u64, leader: &impl Fn(usize) -> Option<usize>) -> usize {
        let (config, queues, availability) = (&self.config, &self.queues, &self.availability);
        let timeout_ns = config.availability_timeout_ns;
        let is_available = |partition: usize| {
            leader(partition).is_some_and(|connection| {
                timeout_ns == 0
                    || queues.length(partition) == 0
                    || availability.blocked_ns(connection, now_ns) <= timeout_ns
            })
        };
        let span = self.turns.span();
        let (first, count) = (span.start, span.len());
        let is_adaptive = config.adaptive_partitioning && count > 1;
        let found = || {
            let waiting = queues.waiting().filter(|partition| span.contains(partition));
            let available = waiting.filter(|&partition| is_available(partition));
            QueueLengths::of(available.map(|partition| queues.length(partition)), count)
        };
        let lengths = match is_adaptive {
            // They are of one topic.
            true if self.turns.are_several() => found(),
            true => *self.queue_lengths.get_or_insert_with(found),
            false => QueueLengths::default(),
        };
        let weight = |partition: usize| match is_available(partition) {
            false => 0,
            true if !is_adaptive => 1,
            true => lengths.weight(queues.length(partition)),
        };
        let weight_max = lengths.weight(lengths.shortest);
        let rng = &mut self.rng;
        // Where none is available any leader will do, and without one any partition: there records wait.
        let chosen = choose(rng, count, weight_max, |partition| weight(first + partition))
            .or_else(|| choose(rng, count, 1, |partition| u64::from(leader(first + partition).is_some())))
            .unwrap_or_else(|| rng.random_range(0..count));
        first + chosen
    }

    /// Goes on to a partition with a leader in which no full batch waits, from the current one on. Returns whether
    /// there is one.
    pub(super) fn find_lean_partition(&mut self, leader: &impl Fn(usize) -> Option<usize>) -> bool {
        let (span, current) = (self.turns.span(), self.current);
        let is_lean = |partition: usize| {
            leader(partition).is_some() && self.queues.front(partition).is_none_or(|batch| !batch.is_full())
        };
        // A partition that was chosen for all records is not left for another.
        let steps = if matches!(self.config.partitioner, Partitioner::One(_)) { 1 } else { span.len() };
        let mut in_turn = (0..steps).map(|step| span.start + (current - span.start + step) % span.len());
        let Some(found) = in_turn.find(|&partition| is_lean(partition)) else { return false };
        if found != self.current {
            (self.current, self.current_bytes) = (found, 0);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Both ways of choosing have the same law; the second one is what is left when luck fails.
    #[test]
    fn weights_are_followed_also_with_most_partitions_left_out() {
        let mut rng = Pcg64::seed_from_u64(20_261_122);
        let weights = |partition: usize| match partition {
            7 => 30u64,
            9_000 => 10,
            _ => 0,
        };
        let draws = 20_000;
        let hits = (0..draws).filter(|_| choose(&mut rng, 10_000, 100, weights) == Some(7)).count();
        // A share of 3/4 with a standard error of 0.3 %.
        let share = hits as f64 / f64::from(draws);
        assert!((share - 0.75).abs() < 5.0 * 0.0031, "{share}");
        assert_eq!(choose(&mut rng, 10, 5, |_| 0), None);
    }
}
