//! From a planned case to a worker's task: the phases on the time line, the streams, the seed. Pure.

use kdyno_load::schedule::mix;
use kdyno_model::plan::{CasePlan, PhasesPlan, Role, TrialRef};
use kdyno_model::sample::Phase;
use kdyno_model::worker::{PhaseSpan, StreamRole, StreamTask};
use std::collections::BTreeMap;

/// Distance of the worker's releases of due records, ns (docs/METHOD.md, tick).
pub(crate) const TICK_NS: u64 = 200_000;

/// The phases, gapless from T0. A phase without length is left out, but for the drain.
pub(crate) fn phase_spans(phases: &PhasesPlan) -> Vec<PhaseSpan> {
    let lengths = [
        (Phase::Warmup, phases.warmup_ns),
        (Phase::Measure, phases.measure_ns),
        (Phase::Drain, phases.drain_ns),
    ];
    let mut start_ns = 0;
    let mut spans = Vec::with_capacity(lengths.len());
    for (phase, length_ns) in lengths {
        if length_ns == 0 && phase != Phase::Drain {
            continue;
        }
        let end_ns = start_ns + length_ns;
        spans.push(PhaseSpan { phase, start_ns, end_ns });
        start_ns = end_ns;
    }
    spans
}

/// The phase that `at_ns` after T0 lies in; before it, start-up, and behind the last one, the drain.
pub(crate) fn phase_at(spans: &[PhaseSpan], at_ns: i64) -> Phase {
    let Ok(at_ns) = u64::try_from(at_ns) else {
        return Phase::Startup;
    };
    spans.iter().find(|span| at_ns < span.end_ns).map_or(Phase::Drain, |span| span.phase)
}

/// What is left of a trial `elapsed_ns` after T0: the load, or once that is over the drain, ns.
pub(crate) fn left_ns(phases: &PhasesPlan, phase: Phase, elapsed_ns: u64) -> u64 {
    let load_ns = phases.warmup_ns + phases.measure_ns;
    let end_ns = if phase == Phase::Drain { load_ns + phases.drain_ns } else { load_ns };
    end_ns.saturating_sub(elapsed_ns)
}

/// Every load item as one stream of the one local worker. `topics` maps a topic's address in the scenario
/// to its real name; the producing items share `bytes_per_s_max` as their schedules need it.
pub(crate) fn streams(
    case: &CasePlan,
    topics: &BTreeMap<String, String>,
    bytes_per_s_max: Option<u64>,
) -> Vec<StreamTask> {
    let peaks_per_s: f64 = case.load.values().map(|item| peak_bytes_per_s(&item.role)).sum();
    case.load
        .iter()
        .zip(0u16..)
        .map(|((name, item), stream)| StreamTask {
            stream,
            name: name.clone(),
            topic: topics.get(&item.topic).cloned().unwrap_or_else(|| item.topic.clone()),
            client_first: 0,
            client_count: item.clients,
            clients_total: item.clients,
            bytes_per_s_max: bytes_per_s_max
                .map(|cap| (cap as f64 * peak_bytes_per_s(&item.role) / peaks_per_s.max(1.0)) as u64),
            role: match &item.role {
                Role::Produce(produce) => StreamRole::Produce(produce.clone()),
                Role::Consume(consume) => StreamRole::Consume(consume.clone()),
            },
        })
        .collect()
}

/// The most value bytes per second that a load item's schedule asks for.
fn peak_bytes_per_s(role: &Role) -> f64 {
    match role {
        Role::Produce(produce) => produce.rate.peak_per_s().unwrap_or(0.0) * f64::from(produce.value_bytes),
        Role::Consume(_) => 0.0,
    }
}

/// A trial's seed, drawn from the plan's: the same plan gives the same seed, two trials different ones.
pub(crate) fn trial_seed(plan_seed: u64, trial: TrialRef) -> u64 {
    let place = (u64::from(trial.case) << 32) | u64::from(trial.repeat);
    mix(plan_seed, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SECOND: u64 = 1_000_000_000;

    fn phases(warmup_s: u64, measure_s: u64, drain_s: u64) -> PhasesPlan {
        PhasesPlan {
            warmup_ns: warmup_s * SECOND,
            measure_ns: measure_s * SECOND,
            drain_ns: drain_s * SECOND,
        }
    }

    #[test]
    fn phases_are_gapless_and_end_with_the_drain() {
        let spans = phase_spans(&phases(2, 5, 30));
        assert_eq!(spans.len(), 3);
        assert_eq!(spans[0].start_ns, 0);
        assert!(spans.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        assert_eq!(spans[2].phase, Phase::Drain);
        assert_eq!(spans[2].end_ns, 37 * SECOND);
    }

    #[test]
    fn a_phase_without_length_is_left_out_but_not_the_drain() {
        let spans = phase_spans(&phases(0, 5, 0));
        let names: Vec<_> = spans.iter().map(|span| span.phase).collect();
        assert_eq!(names, [Phase::Measure, Phase::Drain]);
        assert_eq!(spans[0].start_ns, 0);
    }

    #[test]
    fn an_instant_belongs_to_the_phase_that_begins_there() {
        let spans = phase_spans(&phases(2, 5, 30));
        let second = SECOND as i64;
        assert_eq!(phase_at(&spans, -1), Phase::Startup);
        assert_eq!(phase_at(&spans, 0), Phase::Warmup);
        assert_eq!(phase_at(&spans, 2 * second), Phase::Measure);
        assert_eq!(phase_at(&spans, 7 * second), Phase::Drain);
        assert_eq!(phase_at(&spans, 999 * second), Phase::Drain);
    }

    #[test]
    fn what_is_left_is_the_load_and_then_the_drain() {
        let left = |phase, seconds: u64| left_ns(&phases(2, 5, 30), phase, seconds * SECOND) / SECOND;
        assert_eq!(left(Phase::Warmup, 1), 6);
        assert_eq!(left(Phase::Measure, 6), 1);
        assert_eq!(left(Phase::Drain, 7), 30);
        assert_eq!(left(Phase::Drain, 36), 1);
        assert_eq!(left(Phase::Drain, 99), 0);
    }

    #[test]
    fn seeds_repeat_for_the_same_plan_and_differ_between_trials() {
        let mut seen = BTreeSet::new();
        for case in 0..20 {
            for repeat in 0..20 {
                let trial = TrialRef { case, repeat };
                assert_eq!(trial_seed(7, trial), trial_seed(7, trial));
                assert!(seen.insert(trial_seed(7, trial)));
                assert!(seen.insert(trial_seed(8, trial)));
            }
        }
    }
}
