//! What Java clients themselves brought about, and what looking into Java processes costs them.

use super::found::{FoundCaveat, events};
use crate::cpu;
use crate::java;
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::caveat::{Caveat, FullGc};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::metric::CLIENT_GC;
use kdyno_model::sample::series;
use std::collections::BTreeMap;

/// Share of the brokers' CPU time above which their agents are reported: less than what most comparisons can detect.
const AGENT_SHARE_MAX: f64 = 0.03;

/// Full garbage collections of an item's Java processes in its window.
pub(super) fn full_gc(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    trial.items.iter().filter(|item| java::is_java(item)).filter_map(|item| of_item(trial, item)).collect()
}

fn of_item(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Option<FoundCaveat> {
    let (start_ns, end_ns) = item.window?.ends_ns();
    let processes = java::processes(trial, item);
    let is_its = |subject: &Subject| {
        matches!(subject, Subject::Item(name) if name == item.name) || processes.contains(subject)
    };
    let is_in_window = |event: &&Event| {
        is_its(&event.subject) && event.at_ns.is_some_and(|at_ns| (start_ns..end_ns).contains(&at_ns))
    };
    let found = || events(trial, EventKind::FullGc).filter(is_in_window);
    let first = found().min_by_key(|event| event.at_ns)?.detail.clone();
    // A time below 2⁵³ ns, not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let all_ns = java::value(trial, item, CLIENT_GC).map(|ns| ns.round() as u64);
    let collections = found().count() as u64;
    let full_gc = FullGc { item: item.name.to_owned(), collections, all_ns, first };
    Some(FoundCaveat::of(item, Caveat::FullGc(full_gc)))
}

/// Sampling is not free.
pub(super) fn stacks_sampled(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let event = events(trial, EventKind::StacksSampled).next();
    let share = || cpu::sampled_share(trial.probes(), &cpu::sampled_processes(trial.probes()), trial.window);
    let caveat = |event: &Event| Caveat::StacksSampled { of: event.detail.clone(), share: share() };
    event.map(|event| caveat(event).into()).into_iter().collect()
}

/// An answer of an agent that lasts longer than this waited: what it has to do takes a tenth of it, also in a broker that has
/// just started.
const ANSWER_S_MAX: f64 = 1.0;

/// The agents of the brokers are in their processes: what they use is in the brokers' CPU time.
pub(super) fn agent_busy(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(window) = trial.window else { return Vec::new() };
    let (probes, brokers) = (trial.probes(), trial.brokers());
    let answered = |broker| cpu::counter_s(probes, broker, series::AGENT_ANSWERED_S_TOTAL, window);
    // An answer takes its broker's processor for as long as it lasts, at most; one that lasts very long waited for something
    // else, such as a broker that stood still.
    let waited = |broker: &&Subject| {
        let counted = probes
            .iter()
            .filter(|one| one.subject == **broker && one.series == series::AGENT_ANSWERED_S_TOTAL);
        let mut counted: Vec<(i64, f64)> = counted.map(|one| (one.at_ns, one.value)).collect();
        counted.sort_by_key(|(at_ns, _)| *at_ns);
        counted.windows(2).any(|two| two[1].1 - two[0].1 > ANSWER_S_MAX)
    };
    let answered_s: f64 = brokers.iter().filter(|broker| !waited(broker)).filter_map(answered).sum();
    let used_s = cpu::used_by_all_s(probes, &brokers, window);
    let share = used_s.filter(|used_s| *used_s > 0.0).map(|used_s| answered_s / used_s);
    let share = share.filter(|share| *share > AGENT_SHARE_MAX);
    share.map(|share| Caveat::AgentBusy { share }.into()).into_iter().collect()
}

/// One for each process.
pub(super) fn stacks_not_sampled(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let mut processes: BTreeMap<&Subject, &str> = BTreeMap::new();
    for event in events(trial, EventKind::StacksNotSampled) {
        processes.entry(&event.subject).or_insert(&event.detail);
    }
    let caveat = |(subject, detail): (&Subject, &str)| {
        Caveat::StacksNotSampled { subject: subject.clone(), detail: detail.to_owned() }.into()
    };
    processes.into_iter().map(caveat).collect()
}
