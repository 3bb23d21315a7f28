//! Caveats in words: what happened and what it means for the figures, in which trials, and what to do about it.
//!
//! A caveat of many trials is reported once, with the range of its figures and the trials it concerns; so is that of
//! many load items or topics, whose names are listed. The words are those of its row ([`kdyno_model::caveat::CaveatRow`]);
//! its name is the run file's.

mod reach;
mod together;
mod words;

use crate::figures::covers;
use crate::input::{ReportInput, trial_name};
use kdyno_model::caveat::{Caveat, CaveatGroup, CaveatKind, ScopedCaveat, Severity};
use kdyno_model::finding::Scope;
use kdyno_model::grouped::distinct;
use kdyno_model::trial::Trial;
pub(crate) use reach::{ALL_FIGURES, elsewhere, is_shown_with_verdicts, waited};
use std::cmp::Reverse;
use together::together;
use words::{said, short};

/// One caveat, reported once for all trials it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    /// Whether the figures may be used.
    pub severity: Severity,
    /// Acknowledged records are gone: reported before anything else.
    pub is_loss: bool,
    /// It speaks only of figures that no verdict of the run is about.
    pub is_elsewhere: bool,
    /// Which figures are invalid for it; empty where none is, or none that the answer rests on.
    pub invalid: String,
    /// Which kind it is.
    pub kind: CaveatKind,
    /// The caveat in one line.
    pub short: String,
    /// What happened and what it means: a sentence that starts with a lower-case word and has no full stop.
    pub sentence: String,
    /// What to do about it; empty when there is nothing to do.
    pub remedy: &'static str,
    /// The trials concerned, e.g. `all trials` or `trial 3 (brokers=3 #2); brokers=6`; empty when there is one.
    pub concerns: String,
}

impl Worded {
    /// Its prefix: its severity, or that records are gone.
    pub fn label(&self) -> String {
        if self.is_loss { "data loss".to_owned() } else { self.severity.to_string() }
    }
}

/// Groups and words a run's caveats for a first screen: first those that speak of what its verdicts are about, if it has any,
/// and among these the most severe first.
pub fn all(input: &ReportInput<'_>) -> Vec<Worded> {
    grouped(input, input.caveats.iter())
}

/// Caveats that details list by themselves: what they report with the verdicts is left out.
pub fn worded(input: &ReportInput<'_>) -> Vec<Worded> {
    grouped(input, input.caveats.iter().filter(|one| !is_shown_with_verdicts(input, one)))
}

fn grouped<'a>(input: &ReportInput<'_>, caveats: impl Iterator<Item = &'a ScopedCaveat>) -> Vec<Worded> {
    let mut worded: Vec<Worded> = Vec::new();
    for described in together(caveats.map(|one| (reach::is_elsewhere(input, one), one))) {
        let caveats = described.caveats();
        let kind = described.kind;
        let (sentence, remedy) = said(&caveats);
        let concerns = concerns(input, &described.scopes());
        let (severity, is_elsewhere, is_loss) =
            (described.severity, described.is_elsewhere, kind.row().group == CaveatGroup::Loss);
        let short = short(&caveats);
        let invalid = reach::invalid(input, &described.caveats);
        worded.push(Worded {
            severity,
            is_loss,
            is_elsewhere,
            invalid,
            kind,
            short,
            sentence,
            remedy,
            concerns,
        });
    }
    worded.sort_by_key(|one| (one.is_elsewhere, Reverse(one.severity), one.kind.row().group));
    worded
}

/// A caveat of a trial that has just ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialCaveat {
    /// Whether the figures may be used.
    pub severity: Severity,
    /// Which kind it is.
    pub kind: CaveatKind,
    /// The caveat in one line.
    pub short: String,
}

/// The caveats of one trial; those that differ in the name of a load item, or topic, alone are one.
pub fn of_trial<'a>(caveats: impl Iterator<Item = &'a ScopedCaveat>) -> Vec<TrialCaveat> {
    let together = together(caveats.map(|one| (false, one)));
    let of_group = |described: &together::MergedCaveats<'_>| {
        let kind = described.kind;
        TrialCaveat { severity: described.severity, kind, short: short(&described.caveats()) }
    };
    together.iter().map(of_group).collect()
}

/// The sentence of one caveat alone, for a line about its trial.
pub fn sentence(caveat: &Caveat) -> String {
    said(&[caveat]).0
}

/// What to do about a caveat; empty when there is nothing to do.
pub fn remedy(caveat: &Caveat) -> &'static str {
    caveat.row().words_of(&[caveat]).remedy
}

/// Most trials that a caveat names; of more it says how many they are.
const NAMED_MAX: usize = 6;

/// Which trials, in as few words as are exact.
fn concerns(input: &ReportInput<'_>, scopes: &[Scope]) -> String {
    let is_concerned = |trial: &&Trial| scopes.iter().any(|scope| covers(*scope, trial));
    let reported = input.trials.iter().map(|start| &start.trial).filter(|trial| !trial.is_conditioning());
    let all: Vec<&Trial> = reported.collect();
    let concerned: Vec<&Trial> = all.iter().copied().filter(is_concerned).collect();
    if all.len() <= 1 {
        return String::new();
    }
    if concerned.len() == all.len() {
        return "all trials".to_owned();
    }
    let part = |trial: &&Trial| {
        let of_case = |trials: &[&Trial]| trials.iter().filter(|other| other.case == trial.case).count();
        let label = input.plan().cases.get(trial.case as usize).map_or("", |case| &case.label);
        let whole = !label.is_empty() && of_case(&concerned) == of_case(&all);
        if whole { label.to_owned() } else { trial_name(trial) }
    };
    let parts = distinct(concerned.iter().map(part));
    if parts.len() > NAMED_MAX {
        return format!("{} of {} trials", concerned.len(), all.len());
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests;
