//! One direction of a link: when what enters it now comes out. Pure; time goes in.

use kdyno_model::plan::{JitterLaw, LinkPlan};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

const NS_PER_S: u128 = 1_000_000_000;
/// How much may wait in front of a link of limited bandwidth, ns of its time; what is beyond stays with its sender.
const QUEUE_NS: u64 = 1_000_000;
/// Most that is read at once, bytes.
pub(super) const READ_BYTES_MAX: usize = 64 << 10;
/// Least that is read at once from a slow link: about a packet.
const READ_BYTES_MIN: u64 = 1_448;
/// Rate by which what lies on a link without a limit is bounded, bytes/s: more than loopback carries here.
const UNLIMITED_BYTES_PER_S: u64 = 2 << 30;
/// What a connection may hold beyond what lies on its link, and all that it may.
const WINDOW_BYTES_MIN: u64 = 1 << 20;
const WINDOW_BYTES_MAX: u64 = 64 << 20;

/// A direction of a link, shared by all connections over it.
#[derive(Debug)]
pub(super) struct Direction {
    plan: LinkPlan,
    random: Pcg64,
    /// The link is taken up to this instant by what has entered it.
    free_at_ns: u64,
    /// What is left of dividing by the rate, so that no byte is lost on it.
    remainder: u128,
}

impl Direction {
    pub(super) fn new(plan: LinkPlan, seed: u64) -> Self {
        Self { plan, random: Pcg64::seed_from_u64(seed), free_at_ns: 0, remainder: 0 }
    }

    /// So many bytes enter at `now_ns`; when the last of them comes out. The order within a connection is the caller's to keep.
    pub(super) fn pass(&mut self, now_ns: u64, bytes: usize) -> u64 {
        let mut sent_ns = now_ns;
        if let Some(bytes_per_s) = self.plan.bytes_per_s {
            if self.free_at_ns < now_ns {
                (self.free_at_ns, self.remainder) = (now_ns, 0);
            }
            let rate = u128::from(bytes_per_s.max(1));
            let work = bytes as u128 * NS_PER_S + self.remainder;
            let taken_ns = u64::try_from(work / rate).unwrap_or(u64::MAX);
            self.remainder = work % rate;
            self.free_at_ns = self.free_at_ns.saturating_add(taken_ns);
            sent_ns = self.free_at_ns;
        }
        sent_ns.saturating_add(self.delay_ns())
    }

    /// From when on more may enter, where it may not now.
    pub(super) fn closed_until_ns(&self, now_ns: u64) -> Option<u64> {
        self.plan.bytes_per_s?;
        let open_ns = self.free_at_ns.saturating_sub(QUEUE_NS);
        (open_ns > now_ns).then_some(open_ns)
    }

    /// Most that is to enter at once, bytes: of a slow link what it carries in the time that may wait in front of it.
    pub(super) fn read_bytes_max(&self) -> usize {
        let Some(bytes_per_s) = self.plan.bytes_per_s else { return READ_BYTES_MAX };
        let in_queue = u128::from(bytes_per_s) * u128::from(QUEUE_NS) / NS_PER_S;
        let in_queue = u64::try_from(in_queue).unwrap_or(u64::MAX).max(READ_BYTES_MIN);
        usize::try_from(in_queue).unwrap_or(usize::MAX).min(READ_BYTES_MAX)
    }

    /// Most bytes that a connection may have on the link: its bandwidth times its delay, and some more.
    pub(super) fn window_bytes(&self) -> usize {
        let rate = self.plan.bytes_per_s.unwrap_or(UNLIMITED_BYTES_PER_S).min(UNLIMITED_BYTES_PER_S);
        let on_it = u128::from(rate) * u128::from(self.plan.longest_delay_ns()) / NS_PER_S;
        let bytes = u64::try_from(on_it).unwrap_or(u64::MAX).saturating_add(WINDOW_BYTES_MIN);
        usize::try_from(bytes.min(WINDOW_BYTES_MAX)).unwrap_or(usize::MAX)
    }

    /// One draw of the delay.
    fn delay_ns(&mut self) -> u64 {
        let LinkPlan { delay_ns, jitter_ns, jitter_law, .. } = self.plan;
        if jitter_ns == 0 {
            return delay_ns;
        }
        match jitter_law {
            JitterLaw::Uniform => {
                let least = delay_ns.saturating_sub(jitter_ns);
                self.random.random_range(least..=delay_ns.saturating_add(jitter_ns))
            }
            JitterLaw::Normal => {
                let drawn: f64 = StandardNormal.sample(&mut self.random);
                let offset = drawn.min(3.0) * jitter_ns as f64;
                // Below 2⁵³ ns, and cut off at 0.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let delay = (delay_ns as f64 + offset).max(0.0) as u64;
                delay
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn plan(delay_ns: u64, bytes_per_s: Option<u64>) -> LinkPlan {
        LinkPlan { delay_ns, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s }
    }

    #[test]
    fn without_a_limit_everything_takes_the_delay() {
        let mut link = Direction::new(plan(2 * MS, None), 1);
        assert_eq!(link.pass(10 * MS, 64 << 10), 12 * MS);
        assert_eq!(link.pass(10 * MS, 64 << 10), 12 * MS);
        assert_eq!(link.closed_until_ns(10 * MS), None);
        assert_eq!(link.window_bytes(), (1 << 20) + 4_294_967);
    }

    #[test]
    fn a_limited_link_carries_its_rate_to_the_byte() {
        let mut link = Direction::new(plan(0, Some(3_000_000)), 1);
        // 1,000 bytes take 333 µs and a third, which must add up.
        let last = (0..3_000).map(|_| link.pass(0, 1_000)).last().expect("passed");
        assert_eq!(last, 1_000 * MS);
        assert_eq!(link.closed_until_ns(0), Some(999 * MS));
        assert_eq!(link.closed_until_ns(999 * MS), None);
        // After a pause nothing is made up for.
        assert_eq!(link.pass(5_000 * MS, 3_000), 5_001 * MS);
        assert_eq!(link.read_bytes_max(), 3_000);
        assert_eq!(Direction::new(plan(0, Some(1_000)), 1).read_bytes_max(), 1_448);
    }

    #[test]
    fn jitter_is_as_it_is_stated_and_the_same_for_a_seed() {
        let (delay_ns, jitter_ns) = (10 * MS, MS);
        let draws = |jitter_law, seed| {
            let plan = LinkPlan { delay_ns, jitter_ns, jitter_law, bytes_per_s: None };
            let mut link = Direction::new(plan, seed);
            (0..10_000).map(|_| link.pass(0, 1) as f64 / MS as f64).collect::<Vec<f64>>()
        };
        let moments = |draws: &[f64]| {
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            (mean, variance.sqrt())
        };
        let even = draws(JitterLaw::Uniform, 7);
        let (mean, deviation) = moments(&even);
        assert!(
            (mean - 10.0).abs() < 0.02 && (deviation - 1.0 / 3f64.sqrt()).abs() < 0.01,
            "{mean} {deviation}"
        );
        assert!(even.iter().all(|x| (9.0..=11.0).contains(x)));
        let normal = draws(JitterLaw::Normal, 7);
        let (mean, deviation) = moments(&normal);
        assert!((mean - 10.0).abs() < 0.04 && (deviation - 1.0).abs() < 0.03, "{mean} {deviation}");
        assert!(normal.iter().all(|x| (0.0..=13.0).contains(x)));
        assert_eq!(normal, draws(JitterLaw::Normal, 7));
        assert_ne!(normal, draws(JitterLaw::Normal, 8));
    }

    #[test]
    fn what_a_connection_may_hold_is_bounded() {
        assert_eq!(Direction::new(plan(1_000 * MS, None), 1).window_bytes(), 64 << 20);
        assert_eq!(Direction::new(plan(10 * MS, Some(1_000_000)), 1).window_bytes(), (1 << 20) + 10_000);
    }
}
