//! How long a unit of evidence took, so that the cost of more of them can be stated as time.

use kdyno_model::conclusion::Conclusion;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{ComparePlan, EvidenceUnit};
use kdyno_model::run::TrialStart;
use kdyno_model::trial::Trial;
use std::collections::BTreeMap;

/// Gives each verdict how long its units took on average.
pub(crate) fn time_units(settings: &ComparePlan, starts: &[TrialStart], found: &mut Judgement) {
    let unit_ns = mean_length_ns(settings.unit, starts);
    for one in &mut found.conclusions {
        if let Conclusion::Verdict(verdict) = one {
            verdict.unit_ns = unit_ns;
        }
    }
}

/// From the first T0 of one unit to that of the next one of its session: clusters that start, conditioning, warm-ups and
/// pauses are in it, what lies between two sessions is not.
fn mean_length_ns(unit: EvidenceUnit, starts: &[TrialStart]) -> Option<u64> {
    let unit_of = |trial: &Trial| match unit {
        EvidenceUnit::Start => Some((0, trial.start)),
        EvidenceUnit::Pair => trial.pair.map(|place| (trial.case, place.pair)),
        // There are as many of these as there are.
        EvidenceUnit::Run | EvidenceUnit::Cluster => None,
    };
    // By session and unit.
    let mut begun: BTreeMap<u32, BTreeMap<(u32, u32), u64>> = BTreeMap::new();
    for start in starts {
        if let Some(unit) = unit_of(&start.trial) {
            let of_session = begun.entry(start.session).or_default();
            let first = of_session.entry(unit).or_insert(start.t0_monotonic_ns);
            *first = start.t0_monotonic_ns.min(*first);
        }
    }
    let (mut total_ns, mut units) = (0_u64, 0_u64);
    for of_session in begun.values() {
        let ends = of_session.values().min().zip(of_session.values().max());
        total_ns = total_ns.saturating_add(ends.map_or(0, |(first, last)| last - first));
        units += of_session.len() as u64 - 1;
    }
    total_ns.checked_div(units)
}
