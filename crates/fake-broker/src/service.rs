//! How long a produce request takes: the law, and seeded draws from it in whole nanoseconds.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::f64::consts::TAU;

/// How a broker serves produce requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// Each is answered that long after its arrival, however many there are.
    Fixed {
        /// Nanoseconds.
        delay_ns: u64,
    },
    /// One after the other in the order of arrival, each for as long as drawn: a single server, so that
    /// start = max(arrival, completion of the one before) and completion = start + time (Lindley).
    Queue {
        /// What a draw is for.
        per: ServicePer,
        /// What is drawn.
        time: ServiceTime,
    },
}

/// What a service time is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicePer {
    /// Each request.
    Request,
    /// Each record; a request takes the sum of its records' times.
    Record,
}

/// A law of service times. Draws are rounded to whole nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub enum ServiceTime {
    /// Always the same.
    Constant {
        /// Nanoseconds.
        time_ns: u64,
    },
    /// Exponential.
    Exponential {
        /// Nanoseconds.
        mean_ns: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Nanoseconds.
        median_ns: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of two times.
    Bimodal {
        /// The usual one, in nanoseconds.
        fast_ns: u64,
        /// The rare one, in nanoseconds.
        slow_ns: u64,
        /// Probability of the rare one.
        slow_share: f64,
    },
    /// These, in this order, again and again; an empty list is 0.
    List(Vec<u64>),
}

/// Draws service times.
#[derive(Debug, Clone)]
pub(super) struct ServiceTimes {
    random: Pcg64,
    drawn: usize,
}

impl ServiceTimes {
    /// Equal seeds give equal draws.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64::seed_from_u64(seed), drawn: 0 }
    }

    /// Time for a request of `records` records.
    pub fn time_ns(&mut self, per: ServicePer, time: &ServiceTime, records: u64) -> u64 {
        match (per, time) {
            (ServicePer::Request, _) => self.draw_ns(time),
            (ServicePer::Record, ServiceTime::Constant { time_ns }) => time_ns.saturating_mul(records),
            (ServicePer::Record, _) => {
                (0..records).fold(0, |sum: u64, _| sum.saturating_add(self.draw_ns(time)))
            }
        }
    }

    fn draw_ns(&mut self, time: &ServiceTime) -> u64 {
        let index = self.drawn;
        self.drawn = self.drawn.wrapping_add(1);
        match time {
            ServiceTime::Constant { time_ns } => *time_ns,
            ServiceTime::Exponential { mean_ns } => (-self.above_zero().ln() * mean_ns).round() as u64,
            ServiceTime::LogNormal { median_ns, sigma } => {
                let normal = (-2.0 * self.above_zero().ln()).sqrt() * (TAU * self.above_zero()).cos();
                (median_ns * (sigma * normal).exp()).round() as u64
            }
            ServiceTime::Bimodal { fast_ns, slow_ns, slow_share } => {
                if self.random.random::<f64>() < *slow_share { *slow_ns } else { *fast_ns }
            }
            ServiceTime::List(times) if times.is_empty() => 0,
            ServiceTime::List(times) => times[index % times.len()],
        }
    }

    /// Uniform in (0, 1].
    fn above_zero(&mut self) -> f64 {
        1.0 - self.random.random::<f64>()
    }
}
