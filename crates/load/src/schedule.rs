//! Schedules: pure functions from a record's index and a seed to its scheduled send time.
//!
//! Warm-up and measure phase have a schedule each, and the measure phase's starts again with it: its arrivals follow
//! from the seed alone, however long the warm-up took, so that trials that share a seed share them.
//!
//! The measure phase's rate over time is a chain of linear pieces; in the warm-up the first rate holds, without end
//! until it is known when the measure phase begins. Λ(t), the rate's integral, is the number of records intended up to
//! t. With constant arrivals the record with index g is intended at Λ⁻¹(g); with Poisson arrivals at Λ⁻¹ of a sum of
//! unit exponentials, which is an (inhomogeneous) Poisson process. That has no memory, so at the seam the two are one
//! Poisson process still; constant arrivals come there at most one gap early.
//!
//! ```text
//!  rate                                     Λ
//!   │             ┌───────  to_per_s                 │          ╱
//!   │           ╱ │                                  │       ╱
//!   │         ╱   │                             ╱    │   ,╱
//!   │───────╱     │                           ╱      │_-'
//!   │       │     │                         ╱        │
//!   └───────┴─────┴──────── t               └────────┴───────── t
//!    warm-up piece 0  piece 1 (for ever)     warm-up  measure phase
//! ```
//!
//! Client k of n takes the records k, k+n, k+2n … of a constant schedule, and a stream of its own at a
//! rate of λ/n of a Poisson one: the superposition of the clients is the load item's schedule.

use crate::rate_profile::{NS_PER_S, ProfilePosition, RateProfile};
use kdyno_model::plan::{Arrivals, RatePiece};
use kdyno_model::seed::mix;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

pub use crate::rate_profile::NEVER;

/// Rates are kept in millionths of a record per second, so that constant instants are exact integers.
const RATE_SCALE: f64 = 1e6;

/// Place of the warm-up's seed among those drawn from the item's: the measure phase has the item's own.
const WARMUP_SEED: u64 = 0x3a57;

/// The scheduled send times of one client, in order, as ns from T0.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Instants of the phase that the next record lies in.
    law: ArrivalLaw,
    /// When that phase begins.
    begin_ns: u64,
    /// Instants of the measure phase, before a record of it is next.
    measure: Option<ArrivalLaw>,
    /// When the measure phase begins, once that is known.
    measure_ns: Option<u64>,
    next_ns: u64,
}

/// The instants of one phase, ns from its beginning.
#[derive(Debug, Clone)]
enum ArrivalLaw {
    /// One constant piece, constant arrivals: t = ⌊g · 10^15 / rate⌋ in exact integers, advanced by a
    /// quotient and a carried remainder because a 128-bit division per record costs more than sending it.
    Exact { next_ns: u64, step_ns: u64, step_rest: u64, rest: u64, divisor: u64 },
    /// Constant arrivals on several pieces: computed from the index, so nothing accumulates.
    Indexed { profile: RateProfile, index: u64, stride: u64 },
    /// Poisson arrivals: the position moves on by an exponential share of Λ.
    Poisson { profile: RateProfile, rng: Box<Pcg64>, at: ProfilePosition },
}

impl Schedule {
    /// The instants of client `client` of `clients` (at least 1) under a total rate.
    pub fn new(pieces: &[RatePiece], arrivals: Arrivals, client: u32, clients: u32, seed: u64) -> Self {
        let first_per_s = pieces.first().map_or(0.0, |piece| piece.from_per_s);
        let warmup = [RatePiece { from_per_s: first_per_s, to_per_s: first_per_s, length_ns: 0 }];
        let mut law = ArrivalLaw::new(&warmup, arrivals, client, clients, mix(seed, WARMUP_SEED));
        let measure = Some(ArrivalLaw::new(pieces, arrivals, client, clients, seed));
        let next_ns = law.next_ns();
        Self { law, begin_ns: 0, measure, measure_ns: None, next_ns }
    }

    /// A schedule without a warm-up: before [`Self::measure_begins`] no record is intended.
    pub fn without_warmup(self) -> Self {
        Self { next_ns: NEVER, ..self }
    }

    /// The next record's scheduled send time, ns from T0; [`NEVER`] when there is none.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.next_ns
    }

    /// Goes on to the next record. After a last one, or while the rate is 0, it stays where it is.
    #[inline]
    pub fn advance(&mut self) {
        if self.next_ns == NEVER {
            return;
        }
        self.next_ns = self.begin_ns.saturating_add(self.law.next_ns());
        if self.measure.is_some() {
            self.enter_measure_phase();
        }
    }

    /// The measure phase begins at this instant, ns from T0, which no record taken from the schedule has reached. The
    /// instants are then those of a schedule that knew so at once, to the last bit.
    pub fn measure_begins(&mut self, start_ns: u64) {
        self.measure_ns = Some(start_ns);
        self.enter_measure_phase();
    }

    /// Where no further record of the warm-up lies before the measure phase, the first of that is next.
    fn enter_measure_phase(&mut self) {
        let Some(start_ns) = self.measure_ns.filter(|start_ns| *start_ns <= self.next_ns) else { return };
        if let Some(law) = self.measure.take() {
            (self.law, self.begin_ns) = (law, start_ns);
            self.next_ns = start_ns.saturating_add(self.law.next_ns());
        }
    }
}

impl ArrivalLaw {
    fn new(pieces: &[RatePiece], arrivals: Arrivals, client: u32, clients: u32, seed: u64) -> Self {
        let clients = clients.max(1);
        match arrivals {
            Arrivals::Constant => match pieces {
                [piece] if piece.from_per_s == piece.to_per_s && piece.from_per_s > 0.0 => {
                    Self::exact(piece.from_per_s, client, clients)
                }
                _ => Self::Indexed {
                    profile: RateProfile::new(pieces, 1.0),
                    index: u64::from(client),
                    stride: u64::from(clients),
                },
            },
            Arrivals::Poisson => Self::Poisson {
                profile: RateProfile::new(pieces, 1.0 / f64::from(clients)),
                rng: Box::new(Pcg64::seed_from_u64(mix(seed, u64::from(client)))),
                at: ProfilePosition::default(),
            },
        }
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
        Self::Exact { next_ns, step_ns, step_rest, rest, divisor }
    }

    /// Takes the next record's instant; [`NEVER`] where none is left.
    fn next_ns(&mut self) -> u64 {
        match self {
            Self::Exact { next_ns, step_ns, step_rest, rest, divisor } => {
                let taken_ns = *next_ns;
                *next_ns = next_ns.saturating_add(*step_ns);
                *rest += *step_rest;
                if *rest >= *divisor {
                    *rest -= *divisor;
                    *next_ns = next_ns.saturating_add(1);
                }
                taken_ns
            }
            Self::Indexed { profile, index, stride } => {
                let taken_ns = profile.instant(*index as f64);
                *index += *stride;
                taken_ns
            }
            Self::Poisson { profile, rng, at } => {
                profile.advance(at, Exp1.sample(rng.as_mut())).unwrap_or(NEVER)
            }
        }
    }
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
                schedule.measure_begins(0);
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
    fn a_profile_that_ends_at_rate_zero_ends() {
        let pieces = vec![
            RatePiece { from_per_s: 100.0, to_per_s: 100.0, length_ns: 1_000_000_000 },
            RatePiece { from_per_s: 0.0, to_per_s: 0.0, length_ns: 0 },
        ];
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let mut schedule = Schedule::new(&pieces, arrivals, 0, 1, 3);
            schedule.measure_begins(0);
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

    /// The instants before `end_ns` of a schedule that hears at `heard_ns` that the measure phase begins at
    /// `start_ns`; until then nothing beyond `heard_ns` is taken.
    fn heard(mut schedule: Schedule, heard_ns: u64, start_ns: u64, end_ns: u64) -> Vec<u64> {
        let mut instants = Vec::new();
        let mut take = |schedule: &mut Schedule, until_ns: u64| {
            while schedule.peek() < until_ns {
                instants.push(schedule.peek());
                schedule.advance();
            }
        };
        take(&mut schedule, heard_ns);
        schedule.measure_begins(start_ns);
        take(&mut schedule, end_ns);
        instants
    }

    const S: u64 = 1_000_000_000;

    /// The instants from the measure phase's beginning on, as ns from it.
    fn measured(instants: &[u64], start_ns: u64) -> Vec<u64> {
        instants.iter().filter(|at| **at >= start_ns).map(|at| at - start_ns).collect()
    }

    /// Trials that share a seed share the arrivals of their windows: they are those of a trial without warm-up.
    #[test]
    fn the_measure_phases_arrivals_do_not_depend_on_the_warm_up() {
        let ramp = RatePiece { from_per_s: 100.0, to_per_s: 900.0, length_ns: 10 * S };
        // A rate at which no second begins with a record: constant arrivals too start again.
        for pieces in [constant(333.3), vec![ramp]] {
            for (arrivals, client) in
                [(Arrivals::Constant, 1), (Arrivals::Poisson, 1), (Arrivals::Poisson, 2)]
            {
                let schedule = Schedule::new(&pieces, arrivals, client, 3, 9);
                let at_once = heard(schedule.clone(), 0, 0, 20 * S);
                assert!(at_once.len() > 2_000, "{}", at_once.len());
                for warmup_s in [3, 7, 30] {
                    let start_ns = warmup_s * S;
                    let instants = heard(schedule.clone(), start_ns - S, start_ns, start_ns + 20 * S);
                    assert_eq!(measured(&instants, start_ns), at_once, "{arrivals:?} after {warmup_s} s");
                }
            }
        }
        let of_seed = |seed| heard(Schedule::new(&[ramp], Arrivals::Poisson, 1, 3, seed), 0, 0, 20 * S);
        assert_ne!(of_seed(9), of_seed(10));
    }

    /// The first rate holds until then; the window's arrivals are no copy of the warm-up's.
    #[test]
    fn a_warm_up_holds_the_first_rate_with_arrivals_of_its_own() {
        let ramp = RatePiece { from_per_s: 600.0, to_per_s: 900.0, length_ns: 10 * S };
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let instants = heard(Schedule::new(&[ramp], arrivals, 2, 3, 9), 40 * S, 50 * S, 60 * S);
            let warmup: Vec<u64> = instants.iter().copied().filter(|at| *at < 50 * S).collect();
            let slack = if arrivals == Arrivals::Constant { 1 } else { 500 };
            assert!(warmup.len().abs_diff(10_000) <= slack, "{arrivals:?}: {}", warmup.len());
            if arrivals == Arrivals::Poisson {
                assert_ne!(measured(&instants, 50 * S)[..10], warmup[..10]);
            }
        }
    }

    /// At the seam two processes meet. Over 4,000 Poisson schedules the gaps that span it have the mean of a gap that
    /// spans a given instant, two mean gaps, and the records right after it come at the rate.
    #[test]
    fn poisson_arrivals_have_neither_burst_nor_gap_at_the_seam() {
        let (start_ns, schedules) = (3 * S, 4_000u32);
        let (mut spanning, mut after) = (0.0, 0u32);
        for seed in 0..u64::from(schedules) {
            let schedule = Schedule::new(&constant(10.0), Arrivals::Poisson, 0, 1, mix(20_261_122, seed));
            let instants = heard(schedule, 2 * S, start_ns, 9 * S);
            let first = instants.partition_point(|at| *at < start_ns);
            spanning += (instants[first] - instants[first - 1]) as f64 / S as f64 * 10.0;
            after += instants.iter().filter(|at| (start_ns..start_ns + S / 10).contains(*at)).count() as u32;
        }
        let n = f64::from(schedules);
        // A spanning gap is the sum of two unit exponentials: variance 2.
        assert!((spanning / n - 2.0).abs() < 5.0 * (2.0 / n).sqrt(), "{} mean gaps", spanning / n);
        assert!(
            (f64::from(after) / n - 1.0).abs() < 5.0 / n.sqrt(),
            "{} in a mean gap",
            f64::from(after) / n
        );
    }

    /// Arrivals of all clients together.
    #[test]
    fn constant_arrivals_meet_at_the_seam_within_one_gap() {
        let of = |client| {
            heard(Schedule::new(&constant(7.3), Arrivals::Constant, client, 3, 5), 10 * S, 17 * S, 100 * S)
        };
        let mut instants: Vec<u64> = (0..3).flat_map(of).collect();
        instants.sort_unstable();
        let gap_ns = (S as f64 / 7.3) as u64 + 1;
        let gaps = instants.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.clone().all(|gap| gap <= gap_ns), "{instants:?}");
        assert_eq!(gaps.filter(|gap| *gap < gap_ns - 1).count(), 1, "only at the seam");
    }

    /// Slow rates: the record that is next lies far beyond the instant that is announced.
    #[test]
    fn a_next_record_beyond_the_warm_up_is_placed_again() {
        let pieces =
            [0.01, 1_000.0].map(|per_s| RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: S });
        let silence_first = [RatePiece { from_per_s: 0.0, to_per_s: 1_000.0, length_ns: 2 * S }];
        for pieces in [pieces.as_slice(), silence_first.as_slice()] {
            for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
                let schedule = Schedule::new(pieces, arrivals, 1, 2, 4);
                assert!(schedule.peek() > 10 * S, "{arrivals:?}: {}", schedule.peek());
                let late = heard(schedule.clone(), 3 * S, 4 * S, 10 * S);
                assert_eq!(late, heard(schedule, 0, 4 * S, 10 * S));
                assert!(late.len() > 500 && late[0] >= 4 * S, "{arrivals:?}: {} records", late.len());
            }
        }
    }

    proptest! {
        #[test]
        fn an_announcement_gives_the_same_instants_early_and_late(
            rates in prop::collection::vec((0.0f64..300.0, 0.0f64..300.0, 0u64..3), 1..4),
            start_s in 0u64..6,
            heard_share in 0.0f64..=1.0,
            clients in 1u32..4,
            seed: u64,
            poisson: bool,
        ) {
            let piece = |&(from_per_s, to_per_s, s): &(f64, f64, u64)| {
                RatePiece { from_per_s, to_per_s, length_ns: s * S }
            };
            let pieces: Vec<RatePiece> = rates.iter().map(piece).collect();
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let schedule = Schedule::new(&pieces, arrivals, clients - 1, clients, seed);
            let (start_ns, end_ns) = (start_s * S, (start_s + 8) * S);
            let heard_ns = (start_ns as f64 * heard_share) as u64;
            let planned = heard(schedule.clone(), 0, start_ns, end_ns);
            prop_assert_eq!(heard(schedule, heard_ns, start_ns, end_ns), planned);
        }

        #[test]
        fn instants_never_go_back(from in 0.0f64..1e6, to in 0.0f64..1e6, seed: u64, poisson: bool) {
            let pieces = [RatePiece { from_per_s: from, to_per_s: to, length_ns: 50_000_000 }];
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut schedule = Schedule::new(&pieces, arrivals, 0, 1, seed);
            schedule.measure_begins(0);
            let mut last = 0;
            for _ in 0..1000 {
                prop_assert!(schedule.peek() >= last);
                last = schedule.peek();
                schedule.advance();
            }
        }
    }
}
