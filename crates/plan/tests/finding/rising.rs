//! A load that is not carried shows in a response time that goes on to rise, whatever its figures are.

use crate::*;
use kdyno_model::conclusion::Level;

/// Whether a trial whose figures meet the conditions passes, in whose window this was so of a metric.
fn passed(metric: &str, state: impl Fn(Address) -> SteadyState) -> Option<bool> {
    let plan = searched(find(Depth::Quick));
    let Next::Trial(trial) = next(&plan, &[], SESSION) else { panic!() };
    let mut outcome = outcome(*trial, Value::Is(1e6));
    outcome.conclusions.push(Conclusion::Steadiness(Steadiness {
        scope: Scope::Trial(outcome.trial.id),
        item: "writers".into(),
        state: state(Address::parse(metric).unwrap()),
        smallest_step: None,
        short_term: Vec::new(),
    }));
    concluded(&plan, &[outcome]).0.points[0].passed
}

#[test]
fn a_response_time_that_rises_throughout_the_window_fails() {
    let drifting = |metric, per_minute| passed(metric, |of| SteadyState::Drifting { of, per_minute });
    assert_eq!(drifting("writers.response.p50", 0.5), Some(false));
    assert_eq!(drifting("writers.response.p50", -0.5), Some(true));
    assert_eq!(drifting("writers.acked_per_s", 0.5), Some(true));
    assert_eq!(drifting("probe.response.p50", 0.5), Some(true));
}

/// 307/s on a link that carries 304/s: 139 ms, then 240, then 342.
#[test]
fn levels_that_rise_are_a_rise() {
    let levels = |metric, values: &[f64]| {
        let level = |(from_s, value): (u32, &f64)| Level { from_s, to_s: from_s + 1, value: *value };
        let levels = || (0..).zip(values).map(level).collect();
        passed(metric, |of| SteadyState::SeveralLevels { of, levels: levels() })
    };
    let p50 = "writers.response.p50";
    assert_eq!(levels(p50, &[139e6, 240e6, 342e6]), Some(false));
    assert_eq!(levels(p50, &[139e6, 342e6]), Some(false));
    assert_eq!(levels(p50, &[139e6, 342e6, 141e6]), Some(true), "it came back");
    assert_eq!(levels(p50, &[342e6, 139e6]), Some(true));
    assert_eq!(levels(p50, &[139e6, 180e6]), Some(true), "one step by a third is no rise");
    assert_eq!(levels("writers.acked_per_s", &[1.0, 2.0]), Some(true));
    assert_eq!(levels("probe.response.p50", &[139e6, 342e6]), Some(true));
}
