//! One caveat of several load items, or topics: it is printed once, with their names.

use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::finding::Scope;
use std::mem::discriminant;

/// Most names that a caveat lists; of more it says how many they are.
const NAMES_MAX: usize = 6;
/// In the place of a name, where only what is said besides matters.
const ANY: &str = "";

/// Caveats that are printed together, and whether they speak of figures that no verdict is about.
pub(super) type Group<'a> = (bool, Vec<&'a ScopedCaveat>);

/// What is said of a caveat besides its numbers: whom it is of, and what to do.
type Said = fn(&Caveat) -> (String, &'static str);

/// Puts groups into one that differ in the name of a load item, or topic, alone.
pub(super) fn merged(groups: Vec<Group<'_>>, said: Said) -> Vec<Group<'_>> {
    // Each group with its scopes as they were before any other was put into it.
    let mut merged: Vec<(Group<'_>, Vec<Scope>)> = Vec::new();
    for group in groups {
        let own = scopes(&group);
        let is_alike = |(known, of_known): &&mut (Group<'_>, Vec<Scope>)| {
            *of_known == own && known.0 == group.0 && is_same_but_for_names(&known.1, &group.1, said)
        };
        match merged.iter_mut().find(is_alike) {
            Some((known, _)) => known.1.extend(group.1),
            None => merged.push((group, own)),
        }
    }
    merged.into_iter().map(|(group, _)| group).collect()
}

fn scopes((_, group): &Group<'_>) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = group.iter().map(|one| one.scope).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

fn is_same_but_for_names(a: &[&ScopedCaveat], b: &[&ScopedCaveat], said: Said) -> bool {
    let (Some(a), Some(b)) = (a.first(), b.first()) else { return false };
    let said = |caveat: &Caveat| caveat.renamed(ANY).map(|(_, renamed)| said(&renamed));
    let kinds = discriminant(&a.caveat) == discriminant(&b.caveat);
    kinds && a.severity == b.severity && said(&a.caveat).is_some_and(|own| said(&b.caveat) == Some(own))
}

/// The caveats of a group, each with the names of all in the place of its own.
pub(super) fn named(group: &[&ScopedCaveat]) -> Vec<Caveat> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in group.iter().filter_map(|one| one.caveat.renamed(ANY)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let listed = list(&names);
    let of =
        |one: &&ScopedCaveat| one.caveat.renamed(&listed).map_or_else(|| one.caveat.clone(), |(_, all)| all);
    group.iter().map(of).collect()
}

fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= NAMES_MAX => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..NAMES_MAX].join(", "), names.len() - NAMES_MAX),
    }
}
