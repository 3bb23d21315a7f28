//! What pairs and starts differ by without any cause, where no run of its own shows it (docs/benchmarks.md says where
//! it was measured).

use kdyno_model::metric::{Address, CLIENT_ALLOCATED, CLIENT_CPU, CLIENT_THREADS_CPU};
use kdyno_model::plan::{ComparePlan, Depth, PairDesign, Plan};

/// sd of ln(B ÷ A) of pairs with a start each, in turns and in a duet.
pub fn pair_sds(metric: &str) -> [f64; 2] {
    match metric {
        "cpu_us_per_record" | "records_per_s_per_core" | "cpu_percent" => [0.1, 0.02],
        // For Java processes that are young, each trial's new ones; in a duet assumed.
        CLIENT_CPU => [0.13, 0.13],
        CLIENT_THREADS_CPU => [0.1, 0.1],
        CLIENT_ALLOCATED => [0.0025, 0.0025],
        name if name.ends_with(".p50") || name.ends_with("per_s") => [0.06, 0.03],
        _ => [0.4, 0.12],
    }
}

/// sd of ln of a figure from trial to trial, each on a start of its own. Of latencies that of tails of pairs in turns ÷ √2:
/// where little is sent medians differ nearly as much.
pub(crate) fn trials_sd(metric: &str) -> f64 {
    const RATES: f64 = 0.06;
    let [tails, _] = pair_sds("response.p99");
    if metric.ends_with("per_s") { RATES } else { tails / std::f64::consts::SQRT_2 }
}

/// The typical difference for a comparison's design.
pub fn pair_sd(of: &Address, settings: &ComparePlan) -> f64 {
    let [turns, duet] = pair_sds(&of.metric);
    match settings.design {
        PairDesign::Turns => turns,
        PairDesign::Duet => duet,
    }
}

/// sd of ln(B ÷ A) between starts, of a quick look whose sides have clusters of their own that are started for it: starts are
/// taken to differ as much as runs on one of them. `None` where one start is all there is, or the start is of both sides.
pub fn starts_sd(of: &Address, plan: &Plan, settings: &ComparePlan, case: u32) -> Option<f64> {
    let [a, b] = [&plan.cases, &settings.b].map(|side| side.get(case as usize).map(|case| &case.system));
    let is_started = a.is_some_and(|system| system.starts_brokers()) && a != b;
    let applies = plan.depth == Depth::Quick && is_started;
    applies.then(|| pair_sd(of, settings) / std::f64::consts::SQRT_2)
}
