//! Which caveats are printed as one: the same of many trials, and of many load items or topics.

use super::words::whom;
use kdyno_model::caveat::{Caveat, CaveatKind, ScopedCaveat, Severity};
use kdyno_model::finding::Scope;

/// Replaces a name, where only the rest of the sentence matters.
const ANY: &str = "";

/// Caveats that are printed as one.
pub(super) struct MergedCaveats<'a> {
    /// Whether they speak only of figures that no verdict is about.
    pub(super) is_elsewhere: bool,
    pub(super) severity: Severity,
    pub(super) kind: CaveatKind,
    pub(super) caveats: Vec<&'a ScopedCaveat>,
}

impl<'a> MergedCaveats<'a> {
    fn new(is_elsewhere: bool, caveat: &'a ScopedCaveat) -> Self {
        let kind = CaveatKind::from(&caveat.caveat);
        Self { is_elsewhere, severity: caveat.severity, kind, caveats: vec![caveat] }
    }

    fn is_like(&self, other: &Self) -> bool {
        let key = |of: &Self| (of.is_elsewhere, of.severity, of.kind);
        key(self) == key(other)
    }

    pub(super) fn caveats(&self) -> Vec<&'a Caveat> {
        self.caveats.iter().map(|one| &one.caveat).collect()
    }

    pub(super) fn scopes(&self) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = self.caveats.iter().map(|one| one.scope).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// What is said in addition to names and numbers, and in which scopes; `None`: it is of no single load item or
    /// topic.
    fn but_for_names(&self) -> Option<(Vec<Scope>, String, &'static str)> {
        let first = self.caveats.first().filter(|_| !self.kind.row().name.is_empty())?;
        let (of, remedy) = whom(&first.caveat, Some(ANY));
        Some((self.scopes(), of, remedy))
    }
}

/// Puts together what is said alike of several trials, then what differs in the name of a load item, or topic, alone. Each caveat
/// comes with whether it speaks only of figures that no verdict is about.
pub(super) fn together<'a>(
    caveats: impl Iterator<Item = (bool, &'a ScopedCaveat)>,
) -> Vec<MergedCaveats<'a>> {
    let each =
        caveats.map(|(is_elsewhere, one)| (MergedCaveats::new(is_elsewhere, one), whom(&one.caveat, None).0));
    let of_trials = merged(each, |a, b| a == b);
    let keyed = of_trials.into_iter().map(|reported| {
        let key = reported.but_for_names();
        (reported, key)
    });
    merged(keyed, |a, b| a.is_some() && a == b)
}

/// Puts together what is alike, in the order of the first of each.
fn merged<'a, K>(
    each: impl Iterator<Item = (MergedCaveats<'a>, K)>,
    is_same: fn(&K, &K) -> bool,
) -> Vec<MergedCaveats<'a>> {
    let mut merged: Vec<(MergedCaveats<'a>, K)> = Vec::new();
    for (reported, key) in each {
        match merged.iter_mut().find(|(known, own)| known.is_like(&reported) && is_same(own, &key)) {
            Some((known, _)) => known.caveats.extend(reported.caveats),
            None => merged.push((reported, key)),
        }
    }
    merged.into_iter().map(|(reported, _)| reported).collect()
}
