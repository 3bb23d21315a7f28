//! On which hosts the evidence of a comparison was collected, and how often they were started.

use crate::analysed::AnalysedTrial;
use crate::comparison::pairs::CasePairs;
use kdyno_model::caveat::{Caveat, Degree, ScopedCaveat};
use kdyno_model::finding::Scope;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{ComparePlan, Plan};
use kdyno_model::run::Session;
use kdyno_model::units;
use std::collections::{BTreeMap, BTreeSet};

/// Facts of `kdyno_testbed::host` that differ between kinds of machines.
const FACTS: [&str; 4] = ["cpu_model", "memory_bytes", "architecture", "virtualisation"];

/// What distinguishes hosts, as far as runs keep it.
pub(super) fn host(session: &Session) -> String {
    let facts = session.host_facts.iter().filter(|(name, _)| FACTS.contains(&name.as_str()));
    let facts = facts.map(|(name, value)| format!("{name} {value}"));
    let all = facts.chain([units::processors(f64::from(session.processors))]);
    all.collect::<Vec<_>>().join(" · ")
}

/// A caveat for each case whose pairs ran on several hosts, or on several boots of one, which a resumed run may do: the
/// two of a pair never did, so each ratio is valid, but what all of them say together is a mean over these. `sessions`
/// are those of the run.
pub fn hosts(
    plan: &Plan,
    settings: &ComparePlan,
    trials: &[AnalysedTrial<'_>],
    sessions: &[Session],
) -> Judgement {
    let mut found = Judgement::default();
    for case in plan.case_numbers() {
        let mut pairs: BTreeMap<String, u32> = BTreeMap::new();
        let mut boots: BTreeSet<&str> = BTreeSet::new();
        for pair in CasePairs::of(plan, settings, case, trials).whole {
            let of_pair = |session: &&Session| session.number == pair.sides[0].session;
            if let Some(session) = sessions.iter().find(of_pair) {
                *pairs.entry(host(session)).or_default() += 1;
                boots.insert(&session.boot_id);
            }
        }
        let detail = if pairs.len() > 1 {
            let each = pairs.iter().map(|(host, pairs)| format!("{pairs} on {host}"));
            let each = each.collect::<Vec<_>>().join(", ");
            format!(
                "the pairs ran on {} different hosts ({each}): the ratio is a mean over them",
                pairs.len()
            )
        } else if boots.len() > 1 {
            format!(
                "between the pairs the host was restarted, or another of its kind took its place: {} boots",
                boots.len()
            )
        } else {
            continue;
        };
        let (scope, caveat) = (Scope::Comparison { case }, Caveat::EvidenceOfRuns { detail });
        found.caveats.extend(ScopedCaveat::compared(scope, Degree::Usual, caveat));
    }
    found
}
