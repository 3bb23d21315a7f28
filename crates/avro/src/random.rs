//! Random numbers for values: the generator that records are drawn with, without the crate that also reads them from the
//! operating system.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Where the numbers begin: a schema gives the same values in every run.
const SEED: u64 = 0x4156_524f;

/// Random numbers, the same from every beginning.
#[derive(Debug)]
pub(crate) struct Random(Pcg64);

impl Random {
    /// From the beginning.
    pub(crate) fn new() -> Self {
        Self(Pcg64::seed_from_u64(SEED))
    }

    /// Below a number above 0, each but for 2⁻⁶⁴ of it with the same probability.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// From one number to another.
    pub(crate) fn whole(&mut self, min: i64, max: i64) -> i64 {
        match max.abs_diff(min).checked_add(1) {
            Some(bound) => min.wrapping_add_unsigned(self.below(bound)),
            None => self.0.next_u64() as i64,
        }
    }

    /// From 0 on, below 1.
    pub(crate) fn part(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// 128 bits.
    pub(crate) fn bits(&mut self) -> u128 {
        u128::from(self.0.next_u64()) << 64 | u128::from(self.0.next_u64())
    }

    /// Fills with random bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}
