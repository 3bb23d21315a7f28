//! How the two trials of each pair run: one after the other, or both at once.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use crate::sides::{PlannedSides, is_elsewhere};
use kdyno_model::plan::{CasePlan, ComparePlan, OnClusters, PairDesign, PhasesPlan, Rate};
use kdyno_scenario::file::CompareFile;
use kdyno_scenario::input::{InputError, TextPosition};

/// The design that is requested, by hand or else by the scenario; without either a duet where one can be without
/// further clusters.
///
/// # Errors
/// A duet is requested and cannot be: why.
pub(crate) fn of(
    file: Option<&CompareFile>,
    by_hand: Option<PairDesign>,
    a: &[CasePlan],
    sides: &PlannedSides,
    reader: &CaseReader<'_>,
) -> Result<PairDesign, PlanError> {
    let typed = file.and_then(|file| file.design.as_ref());
    let asked: Option<(PairDesign, Option<TextPosition>)> = match (by_hand, typed) {
        (Some(design), _) => Some((design, None)),
        (None, Some(typed)) => match reader.word(typed, "design", &["turns", "duet"])?.as_str() {
            "duet" => Some((PairDesign::Duet, Some(typed.place))),
            _ => Some((PairDesign::Turns, Some(typed.place))),
        },
        (None, None) => None,
    };
    let against = against_duet(a, &sides.b, &sides.further);
    match (asked, against) {
        (Some((PairDesign::Duet, place)), Some(why)) => {
            let option = if place.is_some() { "" } else { "`--design duet`: " };
            let error = InputError::whole(format!("{option}both sides cannot run at once: {why}"));
            Err(InputError { place, ..error }.hint("`turns` runs them one after the other"))
        }
        (Some((design, _)), _) => Ok(design),
        (None, Some(_)) => Ok(PairDesign::Turns),
        (None, None) if shares_system(a, sides) => Ok(PairDesign::Turns),
        (None, None) => Ok(PairDesign::Duet),
    }
}

fn shares_system(a: &[CasePlan], sides: &PlannedSides) -> bool {
    a.iter().zip(&sides.b).any(|(a, b)| a.system == b.system)
}

/// Side B's cases, in a duet with clusters of their own where side A's are alike.
pub(crate) fn side_b(design: PairDesign, a: &[CasePlan], sides: &PlannedSides) -> Vec<CasePlan> {
    let apart = |(a, b): (&CasePlan, &CasePlan)| {
        let is_second = design == PairDesign::Duet && a.system == b.system;
        let mut b = b.clone();
        b.system.set_second(is_second);
        b
    };
    a.iter().zip(&sides.b).map(apart).collect()
}

/// Whether the sides could run at once, with clusters of their own.
pub(crate) fn may_be_duet(a: &[CasePlan], comparison: &ComparePlan) -> bool {
    against_duet(a, &comparison.b, &comparison.further).is_none()
}

/// How many pairs run on one start of the clusters, unless the scenario says it: to start and to condition them takes longer than
/// a pair of a duet (docs/benchmarks.md, Designs of pairs).
pub(crate) fn pairs_per_start(design: PairDesign) -> u32 {
    match design {
        PairDesign::Turns => 1,
        PairDesign::Duet => 2,
    }
}

/// Why the sides cannot run at once, if they cannot.
fn against_duet(a: &[CasePlan], b: &[CasePlan], further: &[OnClusters]) -> Option<String> {
    if !further.is_empty() {
        return Some("each side has several targets, which take turns".to_owned());
    }
    a.iter().zip(b).find_map(|(a, b)| {
        let of = if a.label.is_empty() { String::new() } else { format!(" of case {}", a.label) };
        let why = against_pair(a, b)?;
        Some(format!("{why}{of}"))
    })
}

fn against_pair(a: &CasePlan, b: &CasePlan) -> Option<String> {
    if is_elsewhere(a) || is_elsewhere(b) {
        return Some("the processes of brokers elsewhere are not seen, nor what else they do".to_owned());
    }
    let lengths = |of: &CasePlan| {
        let PhasesPlan { warmup_ns, warmup_auto, measure_ns, .. } = of.phases;
        (warmup_ns, warmup_auto.map(|auto| auto.least_ns), measure_ns)
    };
    if lengths(a) != lengths(b) {
        return Some("their phases differ in length".to_owned());
    }
    [a, b].into_iter().find_map(not_paced)
}

/// Why a case's load is not a given one that goes on for a given time.
fn not_paced(case: &CasePlan) -> Option<String> {
    let mut producers = case.load.iter().filter_map(|(name, item)| Some((name, item.role.as_produce()?)));
    if producers.clone().next().is_none() {
        return Some("nothing is produced, and consumers read as fast as they can".to_owned());
    }
    producers.find_map(|(name, produce)| match (&produce.rate, produce.records_max) {
        (Rate::Max { .. }, _) => {
            Some(format!("load item `{name}` has no rate, and each side would take what the other leaves"))
        }
        (Rate::Open { .. }, Some(_)) => {
            Some(format!("load item `{name}` ends by records, which need not be at the same instant"))
        }
        (Rate::Open { .. }, None) => None,
    })
}
