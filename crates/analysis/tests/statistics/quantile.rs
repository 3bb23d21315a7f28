//! Test 17: the interval of a p99 pooled over runs whose latencies come in bursts.

use crate::world::SEED;
use kdyno_analysis::statistics::clustered_quantile;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// What the interval says of itself.
const LEVEL: f64 = 0.9;
const EXPERIMENTS: u32 = 1_000;
const RECORDS: u32 = 5_000;
/// Share of records in bursts.
const BURSTS: f64 = 0.02;
/// Mean latency in a burst; otherwise 1.
const IN_BURST: f64 = 20.0;
/// What lies below is only counted.
const KEPT_ABOVE: f64 = 2.0;

/// Share of all records above a latency.
fn beyond(latency: f64) -> f64 {
    (1.0 - BURSTS) * (-latency).exp() + BURSTS * (-latency / IN_BURST).exp()
}

/// The latencies of a run that may matter.
fn run(random: &mut Pcg64, burst_records: f64) -> Vec<f64> {
    let ends = 1.0 / burst_records;
    let begins = ends * BURSTS / (1.0 - BURSTS);
    let mut is_burst = random.random::<f64>() < BURSTS;
    let mut kept = Vec::new();
    for _ in 0..RECORDS {
        let uniform = 1.0 - random.random::<f64>();
        let mean = if is_burst { IN_BURST } else { 1.0 };
        // Most need no logarithm.
        if is_burst || uniform < (-KEPT_ABOVE).exp() {
            kept.push(-mean * uniform.ln());
        }
        let changes = if is_burst { ends } else { begins };
        is_burst ^= random.random::<f64>() < changes;
    }
    kept.retain(|latency| *latency > KEPT_ABOVE);
    kept
}

/// What became of the experiments with so many runs, each with so many bursts on average.
struct Coverage {
    resolved: u32,
    /// Share of those resolved.
    held: u32,
    /// An interval that takes records for independent, of all experiments.
    held_by_records: u32,
}

fn coverage(runs: u64, bursts: f64, truth: f64) -> Coverage {
    let mut random = Pcg64::seed_from_u64(SEED + runs);
    let mut found = Coverage { resolved: 0, held: 0, held_by_records: 0 };
    for _ in 0..EXPERIMENTS {
        let burst_records = f64::from(RECORDS) * BURSTS / bursts;
        let latencies: Vec<Vec<f64>> = (0..runs).map(|_| run(&mut random, burst_records)).collect();
        let mut pooled: Vec<f64> = latencies.iter().flatten().copied().collect();
        pooled.sort_unstable_by(|a, b| b.total_cmp(a));
        let records = runs * u64::from(RECORDS);
        // The latency that a share of 1 − q of all records lies above.
        let at = |q: f64| pooled[((records as f64 * (1.0 - q)) as usize).min(pooled.len() - 1)];
        let holds = |low, high| u32::from((at(low)..=at(high)).contains(&truth));
        let half_width = 1.96 * (0.99 * 0.01 / records as f64).sqrt();
        found.held_by_records += holds(0.99 - half_width, 0.99 + half_width);
        let p99 = at(0.99);
        let beyond = |run: &Vec<f64>| run.iter().filter(|latency| **latency > p99).count();
        let shares: Vec<f64> = latencies.iter().map(|run| beyond(run) as f64 / f64::from(RECORDS)).collect();
        let Ok(bounds) = clustered_quantile(0.99, &shares, records) else { continue };
        assert_eq!(bounds.level, LEVEL);
        found.resolved += 1;
        found.held += holds(bounds.low, bounds.high);
    }
    println!(
        "p99 of {runs} runs, {bursts} bursts each: {:.1} % resolvable, of these {:.1} % hold the truth; by records {:.1} %",
        100.0 * f64::from(found.resolved) / f64::from(EXPERIMENTS),
        100.0 * f64::from(found.held) / f64::from(found.resolved),
        100.0 * f64::from(found.held_by_records) / f64::from(EXPERIMENTS)
    );
    found
}

#[test]
fn the_interval_of_a_pooled_p99_covers_it_as_often_as_it_says() {
    let (mut low, mut high) = (KEPT_ABOVE, 1000.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if beyond(middle) > 0.01 { low = middle } else { high = middle }
    }
    for (runs, bursts) in [(5, 10.0), (10, 10.0), (20, 10.0), (5, 4.0), (10, 4.0), (20, 4.0)] {
        let Coverage { resolved, held, held_by_records } = coverage(runs, bursts, high);
        let standard_error = (LEVEL * (1.0 - LEVEL) / f64::from(resolved)).sqrt();
        let share = f64::from(held) / f64::from(resolved);
        assert!(share >= LEVEL - 5.0 * standard_error, "{runs} runs, {bursts} bursts: {share}");
        // Neither is an interval that holds everything of any use.
        assert!(share <= 0.95 + 5.0 * standard_error, "{runs} runs, {bursts} bursts: {share}");
        assert!(held_by_records < EXPERIMENTS * 7 / 10, "bursts must matter: {held_by_records}");
    }
    // Ten bursts in all say little of how many come: often nothing can be determined.
    let few = coverage(5, 2.0, high);
    assert!(few.resolved < EXPERIMENTS * 7 / 10, "{}", few.resolved);
}
