//! Which clients of a Java process are ready, and how long that took them.

use super::frames::FrameError;
use crate::connecting::Connect;

/// The clients of a process as they become ready.
#[derive(Debug)]
pub(super) struct Readiness {
    are_ready: Vec<bool>,
    count: usize,
    /// Least number of partitions of the topic that one of them knows.
    partitions: u32,
    /// What was not recorded yet.
    times: Vec<Connect>,
}

impl Readiness {
    /// None of so many is.
    pub fn new(clients: usize) -> Self {
        Self { are_ready: vec![false; clients], count: 0, partitions: u32::MAX, times: Vec::new() }
    }

    /// A client is ready.
    pub fn note(&mut self, client: u32, connect: Connect, partitions: u32) -> Result<(), FrameError> {
        let found = self.are_ready.get_mut(client as usize).filter(|is_ready| !**is_ready);
        *found.ok_or(FrameError("a client is ready that is not there, or was ready"))? = true;
        self.count += 1;
        self.partitions = self.partitions.min(partitions);
        self.times.push(connect);
        Ok(())
    }

    /// Whether all are.
    pub fn are_all(&self) -> bool {
        self.count == self.are_ready.len()
    }

    /// Whether one is.
    pub fn is_any(&self) -> bool {
        self.count > 0
    }

    /// Partitions of the topic, once a client knows it.
    pub fn partitions(&self) -> usize {
        if self.count == 0 { 0 } else { self.partitions as usize }
    }

    /// What it took those that are ready since the last call.
    pub fn take_times(&mut self) -> Vec<Connect> {
        std::mem::take(&mut self.times)
    }
}
