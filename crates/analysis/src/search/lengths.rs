//! How long the trials of a search are, and how many of them fit into its time (the arithmetic is in
//! docs/reference/searches.md, Time).

use super::question::reserved;
use kdyno_model::metric::QUANTILES;
use kdyno_model::plan::{Condition, Depth};

const S: u64 = 1_000_000_000;
/// Longest time that a trial settles at its load before its window, ns.
const SETTLE_NS_MAX: u64 = 20 * S;
/// Conditions on a higher quantile need more records, thus longer and fewer trials.
const QUANTILE_LONG: f64 = 0.99;

/// The default trials of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Measured window of a trial of the ramp, ns.
    pub ramp_ns: u64,
    /// Measured window of a trial that decides, ns.
    pub trial_ns: u64,
    /// Measured window of a trial that confirms, ns.
    pub confirm_ns: u64,
    /// How many of these must pass; 0: none is run.
    pub confirm_trials: u32,
    /// Most trials in all; two of the ramp count as one.
    pub trials_max: u32,
}

/// Lengths that keep a quick look on a small machine below 10 minutes and a verdict below 35, whatever its trials show.
pub fn settings_for(depth: Depth, conditions: &[Condition]) -> Lengths {
    let is_long = conditions.iter().any(|condition| {
        let statistic = condition.of.metric.split_once('.').map_or("", |(_, statistic)| statistic);
        QUANTILES.iter().any(|(name, quantile)| *name == statistic && *quantile > QUANTILE_LONG)
    });
    let (ramp_s, trial_s, search_trials) = match (depth, is_long) {
        (Depth::Quick, false) => (6, 20, 10),
        (Depth::Quick, true) => (6, 24, 8),
        (Depth::Verdict, false) => (10, 50, 14),
        (Depth::Verdict, true) => (10, 60, 12),
    };
    let (confirm_s, confirm_trials) = match depth {
        Depth::Quick => (trial_s, 2),
        Depth::Verdict => (90, 3),
    };
    Lengths {
        ramp_ns: ramp_s * S,
        trial_ns: trial_s * S,
        confirm_ns: confirm_s * S,
        confirm_trials,
        trials_max: search_trials + reserved(confirm_trials),
    }
}

/// How long a trial settles at its load before its window: a third of it, in whole seconds.
pub fn settle_ns(window_ns: u64) -> u64 {
    (window_ns / 3).div_ceil(S).saturating_mul(S).min(SETTLE_NS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::metric::Address;
    use kdyno_model::plan::LimitSide;

    fn p(quantile: &str) -> Condition {
        let of = Address::parse(&format!("writers.response.{quantile}")).unwrap();
        Condition { of, must_be: LimitSide::AtMost, limit: 2e7, text: String::new() }
    }

    /// Seconds of the longest search: two ramp trials, all others as long as they get; 5 s around each trial
    /// (docs/reference/searches.md, Time). More of the ramp take less, for two of them are shorter than the whole one
    /// that they replace.
    fn worst_s(depth: Depth, conditions: &[Condition], cluster_s: u64) -> u64 {
        let lengths = settings_for(depth, conditions);
        let whole_s = |window_ns| (window_ns + settle_ns(window_ns)) / S + 5;
        assert!(2 * whole_s(lengths.ramp_ns) < whole_s(lengths.trial_ns));
        let confirming = u64::from(reserved(lengths.confirm_trials));
        let deciding = u64::from(lengths.trials_max) - confirming - 1;
        2 * whole_s(lengths.ramp_ns)
            + deciding * whole_s(lengths.trial_ns)
            + confirming * whole_s(lengths.confirm_ns)
            + cluster_s
    }

    #[test]
    fn a_quick_look_and_a_verdict_keep_to_their_time() {
        // Three brokers and a controller, and the longest conditioning load.
        let cluster_s = 75;
        assert_eq!(worst_s(Depth::Verdict, &[p("p99")], cluster_s), 2084);
        assert_eq!(worst_s(Depth::Quick, &[p("p99")], cluster_s), 581);
        for conditions in [vec![p("p99"), p("p99.9")], vec![p("p99.99")]] {
            assert!(worst_s(Depth::Verdict, &conditions, cluster_s) <= 35 * 60);
            assert!(worst_s(Depth::Quick, &conditions, cluster_s) <= 10 * 60);
            assert_eq!(settings_for(Depth::Verdict, &conditions).trial_ns, 60 * S);
        }
        assert_eq!(settings_for(Depth::Quick, &[]).confirm_trials, 2);
    }
}
