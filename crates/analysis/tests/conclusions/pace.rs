//! How long a unit of evidence took.

use crate::fixture::{P99, RunFixture, comparing, settings, start};
use kdyno_analysis::run::{AnalysedTrial, judge};
use kdyno_model::conclusion::{Verdict, of_kind};
use kdyno_model::finding::Value;
use kdyno_model::plan::EvidenceUnit;
use kdyno_model::run::TrialStart;

const S: u64 = 1_000_000_000;

/// Two sessions of two starts with two pairs each, both trials of a pair at the same T0, s.
const T0_S: [(u32, u64); 8] =
    [(1, 50), (1, 150), (1, 350), (1, 450), (2, 10_000), (2, 10_100), (2, 10_200), (2, 10_300)];

fn reported(unit: EvidenceUnit, pairs: usize) -> Option<u64> {
    let mut plan = comparing(&[P99], &[8], &[]);
    settings(&mut plan).pairs_per_start = 2;
    settings(&mut plan).unit = unit;
    let mut run = RunFixture::default();
    for pair in 1..=u32::try_from(pairs).unwrap() {
        let figures = [(P99, Value::Is(100.0))];
        run.pair(pair, pair.div_ceil(2), [&figures, &figures]);
    }
    let pairs = run.outcomes.chunks(2).zip(T0_S);
    let starts: Vec<TrialStart> = pairs
        .flat_map(|(pair, (session, t0_s))| pair.iter().map(move |of| start(of, session, t0_s * S)))
        .collect();
    let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
    let found = judge(&plan, &trials, &starts, &[], false);
    of_kind::<Verdict>(&found.conclusions).next().unwrap().unit_ns
}

#[test]
fn a_unit_lasts_from_its_t0_to_the_next_one_of_its_session() {
    // 300 s in the first session, 200 s in the second one; what lies between them counts nowhere.
    assert_eq!(reported(EvidenceUnit::Start, 8), Some(250 * S));
    assert_eq!(reported(EvidenceUnit::Pair, 8), Some((400 + 300) * S / 6));
}

#[test]
fn of_a_single_start_and_of_clusters_it_is_not_known() {
    assert_eq!(reported(EvidenceUnit::Start, 2), None);
    assert_eq!(reported(EvidenceUnit::Cluster, 8), None);
}
