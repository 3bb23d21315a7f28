//! Caveats in words: what happened and what it means for the figures, in which trials, and what to do about it.
//!
//! The same caveat of many trials is told once, with the range of its figures and the trials it concerns; so is that of many load
//! items or topics, whose names are listed. All that this crate knows of a kind of caveat stands in [`about`] and in the table of its group; its name is the run file's.

mod generator;
mod host;
mod items;
mod loss;
mod plan;
mod reach;
mod records;
mod trial;
mod words;

use crate::figures::covers;
use crate::input::{ReportInput, trial_name};
use kdyno_model::caveat::{Caveat, ScopedCaveat, Severity};
use kdyno_model::finding::Scope;
use kdyno_model::trial::Trial;
pub(crate) use reach::{elsewhere, is_told_with_verdicts, waited};
use std::cmp::Reverse;
use std::mem::discriminant;
pub(crate) use words::likewise;
use words::{Described, Numbers, Range};

/// One caveat, told once for all trials it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    /// Whether the figures may be used.
    pub severity: Severity,
    /// Acknowledged records are gone: told before anything else.
    pub is_loss: bool,
    /// It speaks only of figures that no verdict of the run is about.
    pub is_elsewhere: bool,
    /// What happened and what it means: a sentence that starts with a lower-case word and has no full stop.
    pub sentence: String,
    /// What to do about it; empty when there is nothing to do.
    pub remedy: &'static str,
    /// The trials concerned, e.g. `all trials` or `trial 3 (brokers=3 #2); brokers=6`; empty when there is one.
    pub concerns: String,
}

impl Worded {
    /// What stands before it: its severity, or that records are gone.
    pub fn label(&self) -> String {
        if self.is_loss { "data loss".to_owned() } else { self.severity.to_string() }
    }
}

/// Groups and words a run's caveats: first those that speak of what its verdicts are about, if it has any, and of these the
/// most severe first. What is told with the verdicts is left out.
pub fn worded(input: &ReportInput<'_>) -> Vec<Worded> {
    let mut groups: Vec<(bool, Vec<&ScopedCaveat>)> = Vec::new();
    for caveat in input.caveats.iter().filter(|one| !is_told_with_verdicts(input, one)) {
        let is_elsewhere = reach::is_elsewhere(input, caveat);
        let is_told_with = |(where_first, group): &&mut (bool, Vec<&ScopedCaveat>)| {
            *where_first == is_elsewhere && group.first().is_some_and(|first| is_same(first, caveat))
        };
        match groups.iter_mut().find(is_told_with) {
            Some((_, group)) => group.push(caveat),
            None => groups.push((is_elsewhere, vec![caveat])),
        }
    }
    let mut worded: Vec<(About, Worded)> = Vec::new();
    for (is_elsewhere, group) in items::merged(groups, said) {
        let caveats = items::named(&group);
        let caveats: Vec<&Caveat> = caveats.iter().collect();
        let (Some(first), Some(of_all)) = (group.first(), describe_all(&caveats)) else { continue };
        let scopes: Vec<Scope> = group.iter().map(|one| one.scope).collect();
        let concerns = concerns(input, &scopes);
        let Described { sentence, remedy, .. } = of_all;
        let about = about(&first.caveat);
        let (severity, is_loss) = (first.severity, about == About::Loss);
        worded.push((about, Worded { severity, is_loss, is_elsewhere, sentence, remedy, concerns }));
    }
    worded.sort_by_key(|(about, one)| (one.is_elsewhere, Reverse(one.severity), *about));
    worded.into_iter().map(|(_, worded)| worded).collect()
}

/// Severity and sentence of the caveats of one trial; those that differ in the name of a load item, or topic, alone are one.
pub fn of_trial<'a>(caveats: impl Iterator<Item = &'a ScopedCaveat>) -> Vec<(Severity, String)> {
    let groups = items::merged(caveats.map(|one| (false, vec![one])).collect(), said);
    let words = |group: &[&ScopedCaveat]| {
        let caveats = items::named(group);
        let described = describe_all(&caveats.iter().collect::<Vec<_>>())?;
        Some((group.first()?.severity, described.sentence))
    };
    groups.iter().filter_map(|(_, group)| words(group)).collect()
}

/// The sentence of one caveat alone, for a line about its trial.
pub fn sentence(caveat: &Caveat) -> String {
    describe_all(&[caveat]).map_or_else(String::new, |described| described.sentence)
}

/// What to do about a caveat; empty when there is nothing to do.
pub fn remedy(caveat: &Caveat) -> &'static str {
    describe(caveat, &Numbers::NONE).remedy
}

/// Whom a caveat is of, and what to do about it.
fn said(caveat: &Caveat) -> (String, &'static str) {
    let Described { of, remedy, .. } = describe(caveat, &Numbers::NONE);
    (of, remedy)
}

/// Whether two caveats say the same of different trials.
fn is_same(a: &ScopedCaveat, b: &ScopedCaveat) -> bool {
    let kinds = discriminant(&a.caveat) == discriminant(&b.caveat);
    let of = |caveat: &Caveat| describe(caveat, &Numbers::NONE).of;
    kinds && a.severity == b.severity && of(&a.caveat) == of(&b.caveat)
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
    let mut parts: Vec<String> = Vec::new();
    for trial in &concerned {
        let of_case = |trials: &[&Trial]| trials.iter().filter(|other| other.case == trial.case).count();
        let label = input.plan().cases.get(trial.case as usize).map_or("", |case| &case.label);
        let whole = !label.is_empty() && of_case(&concerned) == of_case(&all);
        let part = if whole { label.to_owned() } else { trial_name(trial) };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if parts.len() > NAMED_MAX {
        return format!("{} of {} trials", concerned.len(), all.len());
    }
    parts.join("; ")
}

/// What a caveat is about; also the order in which caveats of one severity are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// Records that were acknowledged and are gone.
    Loss,
    /// A defect of kdyno's own, or of its evidence.
    Accounting,
    /// The trial did not go as planned, or its cluster changed.
    Trial,
    /// Records and how they fared.
    Records,
    /// Whether the load generator, or a relay, is what was measured.
    Generator,
    /// Who else had the processors.
    Host,
    /// What the plan itself brings with it.
    Plan,
}

/// The group of each kind of caveat: without a catch-all, so that no kind goes unworded.
#[allow(clippy::too_many_lines, reason = "a table with a row for each kind")]
fn about(caveat: &Caveat) -> About {
    match caveat {
        Caveat::Lost { .. } => About::Loss,
        Caveat::AccountingBroken { .. }
        | Caveat::SamplesMissing { .. }
        | Caveat::LogUnexplained { .. }
        | Caveat::LogNotChecked { .. } => About::Accounting,
        Caveat::ProcessDied { .. }
        | Caveat::CommandFailed { .. }
        | Caveat::CutShort { .. }
        | Caveat::UnknownSetting { .. }
        | Caveat::ClusterChanged { .. }
        | Caveat::Unsteady { .. }
        | Caveat::WarmupNotSettled { .. }
        | Caveat::Unconditioned
        | Caveat::BrokersFresh { .. }
        | Caveat::StacksSampled { .. }
        | Caveat::AgentBusy { .. }
        | Caveat::StacksNotSampled { .. }
        | Caveat::NotAtOnce { .. }
        | Caveat::TheseStartsOnly { .. }
        | Caveat::PairsUnconditioned { .. }
        | Caveat::PairsLost { .. }
        | Caveat::PairsTied { .. }
        | Caveat::UndeclaredDifference { .. }
        | Caveat::ClustersDiffer { .. }
        | Caveat::BrokersDiffer { .. }
        | Caveat::RunsUnpaired
        | Caveat::EvidenceOfRuns { .. } => About::Trial,
        Caveat::QueueGrowth { .. }
        | Caveat::Stalled(_)
        | Caveat::Failures { .. }
        | Caveat::NothingAcknowledged { .. }
        | Caveat::NotAppended { .. }
        | Caveat::RequestsFailed { .. }
        | Caveat::Unresolved { .. }
        | Caveat::Retries { .. }
        | Caveat::FewRecords { .. }
        | Caveat::FewSeconds(_)
        | Caveat::ConsumerBehind { .. }
        | Caveat::FetchErrors { .. }
        | Caveat::ProducerEnded { .. }
        | Caveat::GroupNotConserved(_)
        | Caveat::MembersPutOut(_)
        | Caveat::MemberFailed { .. }
        | Caveat::RecordsSkipped { .. } => About::Records,
        Caveat::ThreadBusy { .. }
        | Caveat::WorkerBusy { .. }
        | Caveat::GeneratorLate { .. }
        | Caveat::LateEndToEnd { .. }
        | Caveat::StoodStill(_)
        | Caveat::FullGc(_)
        | Caveat::RelayLate { .. }
        | Caveat::RelayBusy { .. }
        | Caveat::CalibrationShort { .. } => About::Generator,
        Caveat::HostShared { .. }
        | Caveat::Steal { .. }
        | Caveat::OtherLoad { .. }
        | Caveat::WaitedForProcessor { .. }
        | Caveat::ProcessorLimited { .. }
        | Caveat::SharedProcessors { .. } => About::Host,
        Caveat::ClosedLoop { .. }
        | Caveat::WrittenNotAppended { .. }
        | Caveat::PageCacheAbsorbed { .. }
        | Caveat::SmallBatches { .. }
        | Caveat::RandomValues { .. }
        | Caveat::CompressionMissed { .. }
        | Caveat::MemoryStorage
        | Caveat::NullBroker
        | Caveat::PooledCompression { .. }
        | Caveat::ProbeMissesLeaders { .. }
        | Caveat::AssignedNotGroup { .. } => About::Plan,
    }
}

/// Words several caveats that are the same, each number as its range.
fn describe_all(group: &[&Caveat]) -> Option<Described> {
    let numbers: Vec<Vec<f64>> =
        group.iter().map(|caveat| describe(caveat, &Numbers::NONE).numbers).collect();
    let range = |index: usize| {
        let each = numbers.iter().filter_map(|of_one| of_one.get(index).copied());
        each.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)))
    };
    let ranges: Vec<Range> = (0..numbers.first()?.len()).map(range).collect();
    let numbers = Numbers { ranges: &ranges, together: group.len() };
    group.first().map(|first| describe(first, &numbers))
}

/// Everything said of a caveat, with these numbers in its sentence.
fn describe(caveat: &Caveat, numbers: &Numbers<'_>) -> Described {
    let entry = match about(caveat) {
        About::Loss => loss::words(caveat, numbers),
        About::Accounting => loss::accounting(caveat, numbers),
        About::Trial => trial::words(caveat, numbers),
        About::Records => records::words(caveat, numbers),
        About::Generator => generator::words(caveat, numbers),
        About::Host => host::words(caveat, numbers),
        About::Plan => plan::words(caveat, numbers),
    };
    // Each table has every kind of its group (a test goes through all); what it lacks would still be told by name.
    let unworded = || Described {
        of: String::new(),
        numbers: Vec::new(),
        sentence: crate::names::name_of(caveat),
        remedy: "",
    };
    entry.unwrap_or_else(unworded)
}

#[cfg(test)]
mod tests;
