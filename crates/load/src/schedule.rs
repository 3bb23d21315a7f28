//! Schedules: pure functions from a record's index and a seed to its intended instant.
//!
//! The rate over time is a chain of linear pieces; Λ(t), its integral, is the number of records intended
//! up to t. With constant arrivals the record with global index g is intended at Λ⁻¹(g); with Poisson
//! arrivals at Λ⁻¹ of a sum of unit exponentials, which is an (inhomogeneous) Poisson process.
//!
//! ```text
//!  rate                              Λ
//!   │      ┌───────  to_per_s        │            ╱
//!   │    ╱ │                         │         ╱
//!   │  ╱   │                         │     ,╱
//!   │╱     │                         │__,-'
//!   └──────┴──────── t               └──────┴──────── t
//!    piece 0  piece 1 (for ever)
//! ```
//!
//! Client k of n takes the records k, k+n, k+2n … of a constant schedule, and a stream of its own at a
//! rate of λ/n of a Poisson one: the superposition of the clients is the load item's schedule.

use kdyno_model::plan::{Arrivals, RatePiece};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

/// Ends a schedule: no further record is intended.
pub const NEVER: u64 = u64::MAX;

const NS_PER_S: f64 = 1e9;

/// Rates are kept in millionths of a record per second, so that constant instants are exact integers.
const RATE_SCALE: f64 = 1e6;

/// The intended instants of one client, in order, as ns from T0.
#[derive(Debug, Clone)]
pub struct Schedule {
    law: Law,
    next_ns: u64,
}

#[derive(Debug, Clone)]
enum Law {
    /// One constant piece, constant arrivals: t = ⌊g · 10^15 / rate⌋ in exact integers, advanced by a
    /// quotient and a carried remainder because a 128-bit division per record costs more than sending it.
    Exact { step_ns: u64, step_rest: u64, rest: u64, divisor: u64 },
    /// Constant arrivals on several pieces: computed from the index, so nothing accumulates.
    Indexed { profile: RateProfile, index: u64, stride: u64 },
    /// Poisson arrivals: the position moves on by an exponential share of Λ.
    Poisson { profile: RateProfile, rng: Box<Pcg64>, at: Position },
}

/// A place on the profile: a piece, and the time since its start. The fraction of a nanosecond is kept, so
/// gaps do not lose what rounding cuts off.
#[derive(Debug, Clone, Copy)]
struct Position {
    piece: usize,
    since_ns: u64,
    fraction_ns: f64,
}

/// The profile of a rate over time.
#[derive(Debug, Clone)]
struct RateProfile {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    start_ns: u64,
    from_per_ns: f64,
    /// Change of the rate per ns.
    slope: f64,
    /// Λ at the start of the piece.
    area_before: f64,
    /// Λ over the piece.
    area: f64,
}

impl RateProfile {
    fn new(pieces: &[RatePiece], share: f64) -> Self {
        let mut profile = Vec::with_capacity(pieces.len() + 1);
        let (mut start_ns, mut area_before) = (0u64, 0.0);
        for (number, piece) in pieces.iter().enumerate() {
            let is_last = number + 1 == pieces.len();
            let from_per_ns = piece.from_per_s * share / NS_PER_S;
            let to_per_ns = piece.to_per_s * share / NS_PER_S;
            if is_last && piece.from_per_s == piece.to_per_s {
                break;
            }
            let length = piece.length_ns as f64;
            let area = (from_per_ns + to_per_ns) / 2.0 * length;
            let slope = if piece.length_ns == 0 { 0.0 } else { (to_per_ns - from_per_ns) / length };
            profile.push(Piece { start_ns, from_per_ns, slope, area_before, area });
            start_ns += piece.length_ns;
            area_before += area;
        }
        let from_per_ns = pieces.last().map_or(0.0, |piece| piece.to_per_s * share / NS_PER_S);
        let area = if from_per_ns > 0.0 { f64::INFINITY } else { 0.0 };
        profile.push(Piece { start_ns, from_per_ns, slope: 0.0, area_before, area });
        Self { pieces: profile }
    }

    /// Λ⁻¹(area) in ns.
    fn instant(&self, area: f64) -> u64 {
        let piece = self.pieces.iter().find(|piece| area < piece.area_before + piece.area);
        match piece {
            Some(piece) => piece.start_ns + piece.time_for(0.0, area - piece.area_before) as u64,
            None => NEVER,
        }
    }

    /// Moves on by `area` of Λ; `None` at the end of a profile that ends with rate 0.
    fn advance(&self, at: &mut Position, mut area: f64) -> Option<u64> {
        loop {
            let piece = &self.pieces[at.piece];
            let since = at.since_ns as f64 + at.fraction_ns;
            let left = piece.area - piece.area_until(since);
            if area < left || left.is_nan() {
                let gap_ns = piece.time_for(since, area) + at.fraction_ns;
                let whole_ns = gap_ns as u64;
                at.since_ns += whole_ns;
                at.fraction_ns = gap_ns - whole_ns as f64;
                return Some(piece.start_ns + at.since_ns);
            }
            if at.piece + 1 == self.pieces.len() {
                return None;
            }
            area -= left;
            *at = Position { piece: at.piece + 1, since_ns: 0, fraction_ns: 0.0 };
        }
    }
}

impl Piece {
    /// Rate `since` ns after the piece's start.
    fn rate(&self, since: f64) -> f64 {
        self.from_per_ns + self.slope * since
    }

    /// Λ from the piece's start to `since`.
    fn area_until(&self, since: f64) -> f64 {
        if self.area.is_infinite() { 0.0 } else { (self.from_per_ns + self.slope / 2.0 * since) * since }
    }

    /// Time from `since` on in which `area` accrues: the root of s/2·x² + r·x = area, in the form that
    /// loses no digits when the slope s is small.
    fn time_for(&self, since: f64, area: f64) -> f64 {
        let rate = self.rate(since);
        if self.slope == 0.0 {
            return area / rate;
        }
        2.0 * area / (rate + (rate * rate + 2.0 * self.slope * area).max(0.0).sqrt())
    }
}

impl Schedule {
    /// The instants of client `client` of `clients` (at least 1) under a total rate.
    pub fn new(pieces: &[RatePiece], arrivals: Arrivals, client: u32, clients: u32, seed: u64) -> Self {
        let clients = clients.max(1);
        let law = match arrivals {
            Arrivals::Constant => match pieces {
                [piece] if piece.from_per_s == piece.to_per_s && piece.from_per_s > 0.0 => {
                    return Self::exact(piece.from_per_s, client, clients);
                }
                _ => Law::Indexed {
                    profile: RateProfile::new(pieces, 1.0),
                    index: u64::from(client),
                    stride: u64::from(clients),
                },
            },
            Arrivals::Poisson => Law::Poisson {
                profile: RateProfile::new(pieces, 1.0 / f64::from(clients)),
                rng: Box::new(Pcg64::seed_from_u64(mix(seed, u64::from(client)))),
                at: Position { piece: 0, since_ns: 0, fraction_ns: 0.0 },
            },
        };
        let mut schedule = Self { law, next_ns: 0 };
        match &schedule.law {
            Law::Indexed { profile, index, .. } => schedule.next_ns = profile.instant(*index as f64),
            _ => schedule.advance(),
        }
        schedule
    }

    fn exact(per_s: f64, client: u32, clients: u32) -> Self {
        let divisor = ((per_s * RATE_SCALE).round() as u64).max(1);
        let scaled = (NS_PER_S * RATE_SCALE) as u128;
        let at = |index: u64| {
            let product = u128::from(index) * scaled;
            ((product / u128::from(divisor)) as u64, (product % u128::from(divisor)) as u64)
        };
        let (step_ns, step_rest) = at(u64::from(clients));
        let (next_ns, rest) = at(u64::from(client));
        Self { law: Law::Exact { step_ns, step_rest, rest, divisor }, next_ns }
    }

    /// The next record's intended instant, ns from T0; [`NEVER`] when there is none.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.next_ns
    }

    /// Goes on to the next record.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.law {
            Law::Exact { step_ns, step_rest, rest, divisor } => {
                self.next_ns = self.next_ns.saturating_add(*step_ns);
                *rest += *step_rest;
                if *rest >= *divisor {
                    *rest -= *divisor;
                    self.next_ns += 1;
                }
            }
            Law::Indexed { profile, index, stride } => {
                *index += *stride;
                self.next_ns = profile.instant(*index as f64);
            }
            Law::Poisson { profile, rng, at } => {
                let unit: f64 = Exp1.sample(rng.as_mut());
                self.next_ns = profile.advance(at, unit).unwrap_or(NEVER);
            }
        }
    }
}

/// Spreads a seed over streams (the finaliser of SplitMix64), so that neighbours share nothing.
pub fn mix(seed: u64, stream: u64) -> u64 {
    let mut z = seed.wrapping_add(stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn constant(per_s: f64) -> Vec<RatePiece> {
        vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }]
    }

    /// Accuracy test 8: index → instant, exact, no drift.
    #[test]
    fn constant_instants_are_exact_at_any_index() {
        for (per_s, clients) in [(20_000.0, 1u32), (3.0, 2), (1_234_567.0, 7), (0.5, 1)] {
            for client in [0, clients - 1] {
                let mut schedule = Schedule::new(&constant(per_s), Arrivals::Constant, client, clients, 1);
                for i in 0..200_000u64 {
                    let global = u128::from(i * u64::from(clients) + u64::from(client));
                    let exact = global * 1_000_000_000_000_000 / (per_s * 1e6) as u128;
                    assert_eq!(u128::from(schedule.peek()), exact, "record {i} of client {client}");
                    schedule.advance();
                }
            }
        }
    }

    /// Accuracy test 8: 10^10 records at 3,000,000 per second end within the nanosecond they should. The steps
    /// are taken as whole strides of 100,000 clients, which visit the same recurrence.
    #[test]
    fn ten_thousand_million_records_do_not_drift() {
        let clients = 100_000;
        let mut schedule = Schedule::new(&constant(3_000_000.0), Arrivals::Constant, 0, clients, 1);
        for _ in 0..100_000 {
            schedule.advance();
        }
        assert_eq!(schedule.peek(), 10_000_000_000 * 1_000 / 3);
    }

    /// Accuracy test 7: 10^7 gaps are exponential: mean, variance, index of dispersion, lag-1 correlation.
    #[test]
    fn poisson_gaps_are_exponential_and_independent() {
        let n = 10_000_000u64;
        let per_s = 1_000_000.0;
        let mut schedule = Schedule::new(&constant(per_s), Arrivals::Poisson, 0, 1, 20_261_121);
        let (mut last, mut sum, mut squares, mut products, mut previous) = (0u64, 0.0, 0.0, 0.0, 0.0);
        let window_ns = 1_000_000; // 1,000 records on average
        let (mut counts, mut in_window, mut window_end) = (Vec::new(), 0u64, window_ns);
        for _ in 0..n {
            let at = schedule.peek();
            while at >= window_end {
                counts.push(in_window as f64);
                in_window = 0;
                window_end += window_ns;
            }
            in_window += 1;
            let gap = (at - last) as f64 / 1_000.0; // in mean gaps
            sum += gap;
            squares += gap * gap;
            products += (gap - 1.0) * (previous - 1.0);
            previous = gap;
            last = at;
            schedule.advance();
        }
        let n = n as f64;
        let mean = sum / n;
        assert!((mean - 1.0).abs() < 5.0 / n.sqrt(), "mean gap {mean}");
        let variance = squares / n - mean * mean;
        assert!((variance - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "variance {variance}");
        let correlation = products / n;
        assert!(correlation.abs() < 5.0 / n.sqrt(), "lag-1 correlation {correlation}");
        let windows = counts.len() as f64;
        let count_mean = counts.iter().sum::<f64>() / windows;
        let dispersion =
            counts.iter().map(|c| (c - count_mean).powi(2)).sum::<f64>() / (windows - 1.0) / count_mean;
        assert!((dispersion - 1.0).abs() < 5.0 * (2.0 / windows).sqrt(), "index of dispersion {dispersion}");
    }

    #[test]
    fn ramps_and_steps_offer_the_area_under_the_rate() {
        let pieces = vec![
            RatePiece { from_per_s: 0.0, to_per_s: 1_000.0, length_ns: 10_000_000_000 },
            RatePiece { from_per_s: 200.0, to_per_s: 200.0, length_ns: 5_000_000_000 },
            RatePiece { from_per_s: 50.0, to_per_s: 50.0, length_ns: 0 },
        ];
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let mut total = [0u64; 3];
            for client in 0..4 {
                let mut schedule = Schedule::new(&pieces, arrivals, client, 4, 7);
                while schedule.peek() < 25_000_000_000 {
                    let slot = match schedule.peek() {
                        0..10_000_000_000 => 0,
                        10_000_000_000..15_000_000_000 => 1,
                        _ => 2,
                    };
                    total[slot] += 1;
                    schedule.advance();
                }
            }
            for (count, expected) in total.iter().zip([5_000.0f64, 1_000.0, 500.0]) {
                let slack = if arrivals == Arrivals::Constant { 2.0 } else { 5.0 * expected.sqrt() };
                assert!((*count as f64 - expected).abs() <= slack, "{arrivals:?}: {total:?}");
            }
        }
    }

    #[test]
    fn a_course_that_ends_at_rate_zero_ends() {
        let pieces = vec![
            RatePiece { from_per_s: 100.0, to_per_s: 100.0, length_ns: 1_000_000_000 },
            RatePiece { from_per_s: 0.0, to_per_s: 0.0, length_ns: 0 },
        ];
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let mut schedule = Schedule::new(&pieces, arrivals, 0, 1, 3);
            let mut records = 0;
            while schedule.peek() != NEVER {
                records += 1;
                assert!(schedule.peek() <= 1_000_000_000);
                schedule.advance();
            }
            assert!((50..200).contains(&records), "{records}");
            schedule.advance();
            assert_eq!(schedule.peek(), NEVER);
        }
    }

    proptest! {
        #[test]
        fn instants_never_go_back(from in 0.0f64..1e6, to in 0.0f64..1e6, seed: u64, poisson: bool) {
            let pieces = [RatePiece { from_per_s: from, to_per_s: to, length_ns: 50_000_000 }];
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut schedule = Schedule::new(&pieces, arrivals, 0, 1, seed);
            let mut last = 0;
            for _ in 0..1000 {
                prop_assert!(schedule.peek() >= last);
                last = schedule.peek();
                schedule.advance();
            }
        }
    }
}
