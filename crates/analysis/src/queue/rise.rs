//! Whether the records that are open become more for as long as a window lasts.

use crate::statistics::PairedMean;
use crate::steady::median;

/// Parts of a window, each with a level: the median of its seconds, which a pause of the brokers does not move.
const PARTS: usize = 8;
/// Fewest parts whose levels are judged; a part has two seconds at least.
const PARTS_MIN: usize = 5;
const PART_S_MIN: usize = 2;
/// Probability with which steps that sum to nothing are not taken for a rise.
const LEVEL: f64 = 0.99;

/// A rise of the open records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rise {
    /// Level of the window's first part, records.
    pub(super) from: f64,
    /// Level of its last part, records.
    pub(super) to: f64,
}

impl Rise {
    /// The rise of a course of one point per second; `None`: its steps from part to part do not differ from ones that go up as
    /// often and as far as down, or it is too short to determine.
    ///
    /// The steps of a level that comes back make up for each other, so that they differ from nothing less often than is
    /// allowed; those of a queue at a load of just what is carried are independent, and do as often.
    pub(super) fn of(open: &[u64]) -> Option<Self> {
        let parts = PARTS.min(open.len() / PART_S_MIN);
        if parts < PARTS_MIN {
            return None;
        }
        let size = open.len() / parts;
        // What makes no whole part is left out at the beginning, which is nearer to the warm-up.
        let levels: Option<Vec<f64>> = open[open.len() - parts * size..]
            .chunks_exact(size)
            .map(|part| median(&mut part.iter().map(|open| *open as f64).collect::<Vec<f64>>()))
            .collect();
        let levels = levels?;
        let steps: Vec<f64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // One-sided: a fall is no queue.
        let is_rise = PairedMean::of(&steps)?.interval(2.0 * (1.0 - LEVEL)).low > 0.0;
        is_rise.then_some(Self { from: *levels.first()?, to: *levels.last()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::seed::mix;

    /// Numbers of one seed.
    struct SeededNumbers(u64, u64);

    impl SeededNumbers {
        fn uniform(&mut self) -> f64 {
            self.1 += 1;
            ((mix(self.0, self.1) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        fn exponential(&mut self) -> f64 {
            -self.uniform().ln()
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }

    /// A link that carries 304 records/s, as the one of an overload that passed unseen does.
    const CARRIED_PER_S: f64 = 304.0;
    const WARMUP_S: u32 = 10;

    /// How a load is offered, and what varies.
    #[derive(Clone, Copy, Default)]
    struct SimulatedLoad {
        /// Share of what the link can do.
        load: f64,
        is_poisson: bool,
        /// The time of each record is exponential, not constant.
        is_exponential: bool,
        /// The link does nothing for so long every five seconds, s.
        pause_s: f64,
        /// Standard deviation of the logarithm of what it carries from second to second, with an autocorrelation of 0.9.
        wanders: f64,
    }

    impl SimulatedLoad {
        /// Open records at the end of each second of a window.
        fn course(self, seconds: u32, seed: u64) -> Vec<u64> {
            let mut random = SeededNumbers(seed, 0);
            let end_s = f64::from(WARMUP_S + seconds);
            let (mut arrives_s, mut free_s, mut wander, mut second) = (0.0_f64, 0.0_f64, 0.0, -1.0);
            let mut records: Vec<(f64, f64)> = Vec::new();
            loop {
                let apart = if self.is_poisson { random.exponential() } else { 1.0 };
                arrives_s += apart / (self.load * CARRIED_PER_S);
                if arrives_s >= end_s {
                    break;
                }
                if arrives_s.floor() > second {
                    second = arrives_s.floor();
                    wander = 0.9 * wander + (1.0_f64 - 0.81).sqrt() * self.wanders * random.normal();
                }
                let work = if self.is_exponential { random.exponential() } else { 1.0 };
                let mut starts_s = arrives_s.max(free_s);
                let pause_s = (starts_s / 5.0).floor() * 5.0;
                if starts_s < pause_s + self.pause_s {
                    starts_s = pause_s + self.pause_s;
                }
                free_s = starts_s + work / (CARRIED_PER_S * wander.exp());
                // An answer is under way for 5 ms.
                records.push((arrives_s, free_s + 0.005));
            }
            let before =
                |at_s: f64, of: fn(&(f64, f64)) -> f64| records.partition_point(|one| of(one) < at_s);
            let open = |second: u32| {
                let at_s = f64::from(second);
                (before(at_s, |one| one.0) - before(at_s, |one| one.1)) as u64
            };
            (WARMUP_S + 1..=WARMUP_S + seconds).map(open).collect()
        }

        /// In how many of so many windows open records rise by more than 50 ms of the load.
        fn seen(self, seconds: u32, windows: u64) -> u64 {
            let allowed = 0.05 * self.load * CARRIED_PER_S;
            let rises = |seed: &u64| {
                Rise::of(&self.course(seconds, 1_000 * u64::from(seconds) + seed))
                    .is_some_and(|rise| rise.to - rise.from > allowed)
            };
            (0..windows).filter(rises).count() as u64
        }
    }

    #[test]
    fn an_overload_of_one_percent_is_seen() {
        let even = SimulatedLoad { load: 1.01, ..SimulatedLoad::default() };
        let with_pauses = SimulatedLoad { load: 0.99, pause_s: 0.1, ..even };
        for seconds in [20, 40, 120] {
            assert_eq!(even.seen(seconds, 20), 20, "{seconds} s");
        }
        assert_eq!(with_pauses.seen(40, 20), 20, "it stands still for 2 % of the time");
        let poisson = SimulatedLoad { load: 1.05, is_poisson: true, ..SimulatedLoad::default() };
        let found = poisson.seen(40, 100);
        assert!(found >= 85, "5 % more than is carried is seen through the noise of arrivals: {found}");
    }

    /// Near what is carried a queue comes and goes, for seconds: the more of it there is, the longer.
    #[test]
    fn a_load_below_what_is_carried_is_no_overload() {
        let poisson = SimulatedLoad { load: 0.95, is_poisson: true, ..SimulatedLoad::default() };
        let worlds = [
            ("even, 95 %", SimulatedLoad { load: 0.95, ..SimulatedLoad::default() }, 0),
            ("even, 99 %", SimulatedLoad { load: 0.99, ..SimulatedLoad::default() }, 0),
            ("Poisson, 80 %", SimulatedLoad { load: 0.8, ..poisson }, 0),
            ("Poisson, 95 %", poisson, 2),
            ("Poisson, 95 %, exponential", SimulatedLoad { is_exponential: true, ..poisson }, 2),
            ("Poisson, 93 %, pauses", SimulatedLoad { load: 0.93, pause_s: 0.1, ..poisson }, 2),
            (
                "even, 85 %, capacity wanders by 5 %",
                SimulatedLoad { load: 0.85, wanders: 0.05, ..SimulatedLoad::default() },
                0,
            ),
            // Here it carries less than is offered for seconds on end, and a queue does grow.
            (
                "even, 95 %, capacity wanders by 5 %",
                SimulatedLoad { load: 0.95, wanders: 0.05, ..SimulatedLoad::default() },
                6,
            ),
            ("Poisson, 100 %", SimulatedLoad { load: 1.0, ..poisson }, 6),
        ];
        for (name, world, seen_max) in worlds {
            for (seconds, windows) in [(10, 100), (20, 100), (40, 100), (120, 40)] {
                let found = world.seen(seconds, windows);
                assert!(found <= seen_max, "{name}, {seconds} s: {found} of {windows}");
            }
        }
    }

    #[test]
    fn what_comes_back_or_falls_is_no_rise() {
        let steps = |of: &dyn Fn(u64) -> u64| Rise::of(&(0..40).map(of).collect::<Vec<u64>>());
        assert_eq!(steps(&|_| 36), None);
        assert_eq!(steps(&|at| 200 - 3 * at), None);
        assert_eq!(steps(&|at| if at < 20 { 36 } else { 104 }), None, "one step is not more and more");
        assert_eq!(steps(&|at| 36 + 10 * (at % 10)), None, "a sawtooth");
        assert_eq!(steps(&|at| 36 + 2 * at), Some(Rise { from: 40.0, to: 110.0 }));
        let with_pauses = steps(&|at| 36 + 2 * at + if at % 7 == 0 { 500 } else { 0 });
        assert!(with_pauses.is_some(), "a pause is no level");
        assert_eq!(Rise::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), None, "too short");
    }
}
