//! What the application of a consuming client does: it takes records in the order in which they came, at most so many with
//! each poll, and works on one after the other. While it works, its client asks for nothing.
//!
//! Work is time that passes, not processor time. Its instants are reckoned, not waited for: a thread that looks up to a
//! tick late tells them as they would have been.

use kdyno_kafka::consumer::RecordSink;
use kdyno_kafka::records::Record;
use kdyno_model::plan::{ConsumePlan, WorkPlan};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1, Zipf};
use rand_pcg::Pcg64;
use std::collections::VecDeque;

/// Records of one partition's answer that the application has not begun with.
#[derive(Debug)]
struct Chunk {
    partition: i32,
    /// When they came, ns.
    arrived_ns: u64,
    offsets: VecDeque<i64>,
}

/// The application of one client.
#[derive(Debug)]
pub struct Application {
    /// How long it works on a record; `None`: no time at all, and records are not kept.
    work: Option<Work>,
    /// `max.poll.records`.
    poll_records_max: usize,
    /// What came, in the order of its coming.
    chunks: VecDeque<Chunk>,
    /// Of the chunk that is being read.
    arriving: VecDeque<i64>,
    /// Records of its last poll that it has not begun with: the first ones of `chunks`.
    in_hand: usize,
    /// When it is done with the record it began with last, ns.
    free_ns: u64,
    /// Partitions of which it has everything that came.
    released: Vec<i32>,
}

impl Application {
    /// One that has nothing to do yet.
    pub(super) fn new(plan: &ConsumePlan, seed: u64) -> Self {
        Self {
            work: plan.work.map(|plan| Work::new(plan, seed)),
            poll_records_max: plan.poll_records_max.max(1) as usize,
            chunks: VecDeque::new(),
            arriving: VecDeque::new(),
            in_hand: 0,
            free_ns: 0,
            released: Vec::new(),
        }
    }

    /// Whether it takes time over records.
    pub(super) fn works(&self) -> bool {
        self.work.is_some()
    }

    /// Whether it works: it does not poll then.
    pub(super) fn is_at_work(&self, now_ns: u64) -> bool {
        self.in_hand > 0 || self.free_ns > now_ns
    }

    /// Records that came and that it has not begun with.
    pub(super) fn waiting(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.offsets.len()).sum()
    }

    /// When it is to be [advanced](Self::advance) by time alone, ns.
    pub(super) fn next_deadline(&self, now_ns: u64) -> Option<u64> {
        (self.in_hand > 0 || self.free_ns > now_ns).then_some(self.free_ns)
    }

    /// Goes on until now: `begin` is told the partition of each record that it begins with, and the instant, ns.
    pub(super) fn advance(&mut self, now_ns: u64, mut begin: impl FnMut(i32, u64)) {
        let Some(mut work) = self.work.take() else { return };
        while self.free_ns <= now_ns && (self.in_hand > 0 || self.poll()) {
            let Some(first) = self.chunks.front_mut() else { break };
            first.offsets.pop_front();
            begin(first.partition, self.free_ns);
            if first.offsets.is_empty() {
                self.chunks.pop_front();
            }
            self.in_hand -= 1;
            self.free_ns = self.free_ns.saturating_add(work.draw_ns());
        }
        self.work = Some(work);
    }

    /// Takes the next records, if there are any, as soon as it is free and they are there. Partitions of which nothing is left
    /// then are released.
    fn poll(&mut self) -> bool {
        let Some(first) = self.chunks.front() else { return false };
        self.free_ns = self.free_ns.max(first.arrived_ns);
        for chunk in self.chunks.iter().take_while(|chunk| chunk.arrived_ns <= self.free_ns) {
            let room = self.poll_records_max - self.in_hand;
            self.in_hand += chunk.offsets.len().min(room);
            if chunk.offsets.len() > room {
                break;
            }
            self.released.push(chunk.partition);
        }
        true
    }

    /// Takes the partitions of which it has everything that came.
    pub(super) fn take_released(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.released)
    }
}

impl RecordSink for Application {
    fn wants_records(&self) -> bool {
        self.works()
    }

    fn record(&mut self, _partition: i32, record: &Record<'_>) {
        self.arriving.push_back(record.offset);
    }

    fn end_of_answer(&mut self, partition: i32, now_ns: u64) {
        if !self.arriving.is_empty() {
            let offsets = std::mem::take(&mut self.arriving);
            self.chunks.push_back(Chunk { partition, arrived_ns: now_ns, offsets });
        }
    }
}

/// How long an application works on each record.
#[derive(Debug)]
struct Work {
    law: Law,
    random: Pcg64,
}

#[derive(Debug)]
enum Law {
    Constant(u64),
    Exponential { mean_ns: f64 },
    Zipf { least_ns: f64, law: Zipf<f64> },
}

impl Work {
    fn new(plan: WorkPlan, seed: u64) -> Self {
        let law = match plan {
            WorkPlan::Constant { ns } => Law::Constant(ns),
            WorkPlan::Exponential { mean_ns } => Law::Exponential { mean_ns: mean_ns as f64 },
            WorkPlan::Zipf { least_ns, exponent, .. } => match Zipf::new(plan.multiples() as f64, exponent) {
                Ok(law) => Law::Zipf { least_ns: least_ns as f64, law },
                // The plan has refused it.
                Err(_) => Law::Constant(least_ns),
            },
        };
        Self { law, random: Pcg64::seed_from_u64(seed) }
    }

    fn draw_ns(&mut self) -> u64 {
        let random = &mut self.random;
        match &self.law {
            Law::Constant(ns) => *ns,
            Law::Exponential { mean_ns } => {
                let share: f64 = Exp1.sample(random);
                (mean_ns * share) as u64
            }
            Law::Zipf { least_ns, law } => (least_ns * law.sample(random)) as u64,
        }
    }
}

#[cfg(test)]
mod tests;
