//! One broker's produce server: when each request starts and completes, with stalls.

use super::service::{Service, ServiceTimes};
use std::collections::{BTreeMap, VecDeque};

/// A request in the hands of a server.
#[derive(Debug)]
pub(super) struct Job<T> {
    pub arrival_ns: u64,
    pub start_ns: u64,
    pub completion_ns: u64,
    pub request: T,
}

/// The server.
#[derive(Debug)]
pub(super) struct RequestServer<T> {
    service: Service,
    source: ServiceTimes,
    stalled_until_ns: u64,
    /// In service, one at a time.
    busy: Option<Job<T>>,
    /// Waiting for service, each with the time it will take.
    waiting: VecDeque<(Job<T>, u64)>,
    /// Served side by side, by instant of completion and order of arrival.
    parallel: BTreeMap<(u64, u64), Job<T>>,
    arrivals: u64,
}

impl<T> RequestServer<T> {
    /// An idle server.
    pub fn new(service: Service, seed: u64) -> Self {
        Self {
            service,
            source: ServiceTimes::new(seed),
            stalled_until_ns: 0,
            busy: None,
            waiting: VecDeque::new(),
            parallel: BTreeMap::new(),
            arrivals: 0,
        }
    }

    /// Serves what arrives from now on in another way.
    pub fn set_service(&mut self, service: Service) {
        self.service = service;
    }

    /// When the server works again, if it is stalled.
    pub fn stalled_until_ns(&self, now_ns: u64) -> Option<u64> {
        (self.stalled_until_ns > now_ns).then_some(self.stalled_until_ns)
    }

    /// A request of `records` records arrives.
    pub fn arrive(&mut self, now_ns: u64, records: u64, request: T) {
        self.arrivals += 1;
        match &self.service {
            Service::Fixed { delay_ns } => {
                let completion_ns = now_ns.saturating_add(*delay_ns);
                let job = Job { arrival_ns: now_ns, start_ns: now_ns, completion_ns, request };
                self.parallel.insert((completion_ns, self.arrivals), job);
            }
            Service::Queue { per, time } => {
                let time_ns = self.source.time_ns(*per, time, records);
                let job = Job { arrival_ns: now_ns, start_ns: 0, completion_ns: 0, request };
                self.waiting.push_back((job, time_ns));
                self.start_next(now_ns);
            }
        }
    }

    /// No work is done for `duration_ns` from now on; what is in service goes on afterwards where it was.
    pub fn stall(&mut self, now_ns: u64, duration_ns: u64) {
        let from_ns = self.stalled_until_ns.max(now_ns);
        let until_ns = self.stalled_until_ns.max(now_ns.saturating_add(duration_ns));
        let shift_ns = until_ns - from_ns;
        self.stalled_until_ns = until_ns;
        if let Some(job) = &mut self.busy {
            if job.start_ns > now_ns {
                job.start_ns = job.start_ns.saturating_add(shift_ns);
            }
            job.completion_ns = job.completion_ns.saturating_add(shift_ns);
        }
    }

    /// When the next request completes.
    pub fn next_completion_ns(&self) -> Option<u64> {
        let parallel = self.parallel.keys().next().map(|(at, _)| (*at).max(self.stalled_until_ns));
        let busy = self.busy.as_ref().map(|job| job.completion_ns);
        [parallel, busy].into_iter().flatten().min()
    }

    /// Takes the request that completes now, if one does.
    pub fn complete(&mut self, now_ns: u64) -> Option<Job<T>> {
        if self.busy.as_ref().is_some_and(|job| job.completion_ns <= now_ns) {
            let done = self.busy.take()?;
            self.start_next(done.completion_ns);
            return Some(done);
        }
        let (at_ns, _) = *self.parallel.keys().next()?;
        let completion_ns = at_ns.max(self.stalled_until_ns);
        if completion_ns > now_ns {
            return None;
        }
        let (_, mut done) = self.parallel.pop_first()?;
        done.completion_ns = completion_ns;
        Some(done)
    }

    fn start_next(&mut self, now_ns: u64) {
        if self.busy.is_some() {
            return;
        }
        if let Some((mut job, time_ns)) = self.waiting.pop_front() {
            job.start_ns = now_ns.max(self.stalled_until_ns);
            job.completion_ns = job.start_ns.saturating_add(time_ns);
            self.busy = Some(job);
        }
    }
}
