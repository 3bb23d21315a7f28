//! Who else had the processors, and what the host did with the load.

use super::found::FoundCaveat;
use crate::commands;
use crate::cpu;
use crate::evidence::Window;
use crate::java;
use crate::rows::TrialRows;
use kdyno_model::caveat::Caveat;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::plan::Storage;
use kdyno_model::sample::series;
use std::collections::BTreeSet;

/// Share of CPU time taken by the hypervisor from which it is worth a word.
const STEAL_SHARE_MAX: f64 = 0.01;

/// Share of all CPU time that programs outside the run may use.
const OTHER_LOAD_SHARE_MAX: f64 = 0.15;

/// The share of the time in which the brokers' threads were ready or running that they may wait.
const BROKERS_WAITED_SHARE_MAX: f64 = 0.2;

/// Below this share of the window brokers that waited had nothing to do.
const BROKERS_WAITED_S_MIN: f64 = 0.05;

/// Share of the window for which a limit on CPU time may hold a process.
const LIMITED_SHARE_MAX: f64 = 0.01;

/// Written to disk ÷ (bytes of requests × replicas) below which the page cache took the load.
const WRITTEN_SHARE_MIN: f64 = 0.5;

/// Whether the hypervisor had the processors.
pub(super) fn steal(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let share = trial.window.and_then(|window| cpu::steal_share(trial.probes(), window));
    let share = share.filter(|share| *share > STEAL_SHARE_MAX);
    share.map(|share| Caveat::Steal { share }.into()).into_iter().collect()
}

/// What the host's CPUs did in the window in addition to the run's own processes. The kernel's work for the
/// run, interrupts and network, is in it too, so the threshold leaves room for that. Brokers of an attached cluster on this
/// host that were not probed cannot be separated from other programs. What the hypervisor took no program used.
pub(super) fn other_load(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let are_brokers_unseen = trial.evidence.start.is_attached_here() && trial.brokers().is_empty();
    let Some(window) = trial.window.filter(|_| !are_brokers_unseen) else { return Vec::new() };
    let Some(host_s) = cpu::host_programs_s(trial.probes(), window) else { return Vec::new() };
    // What a worker or a Java client without readings used is not other load; of a duet those of the other side have none
    // here.
    let java = java::all_processes(trial);
    let of_other_side = !java.is_empty() && trial.evidence.start.trial.is_of_duet();
    let own: Vec<Subject> = trial.workers_here().into_iter().chain(java).collect();
    if of_other_side || cpu::used_by_all_s(trial.probes(), &own, window).is_none() {
        return Vec::new();
    }
    let own = cpu::subjects(trial.probes(), |one| cpu::is_own_process(one) && trial.is_here(one));
    let own_s = own.iter().filter_map(|process| cpu::used_s(trial.probes(), process, window));
    // For a command its use in all is reported, which is most of what it used in the window.
    let commands_s = commands::cpu_s(trial.evidence);
    let cpu_percent = 100.0 * (host_s - own_s.sum::<f64>() - commands_s) / window.seconds();
    let limit_percent = 100.0 * OTHER_LOAD_SHARE_MAX * f64::from(trial.evidence.session.processors);
    (cpu_percent > limit_percent).then(|| Caveat::OtherLoad { cpu_percent }.into()).into_iter().collect()
}

/// Brokers whose threads were ready and had no processor, all of them together.
pub(super) fn brokers_waited(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(window) = trial.window else { return Vec::new() };
    let brokers = trial.brokers();
    let waited_s = sum(&brokers, |broker| cpu::waited_s(trial.probes(), broker, window));
    let used_s = cpu::used_by_all_s(trial.probes(), &brokers, window);
    let Some((waited_s, used_s)) = waited_s.zip(used_s) else { return Vec::new() };
    let is_reported = waited_s > BROKERS_WAITED_S_MIN * window.seconds()
        && waited_s > BROKERS_WAITED_SHARE_MAX * (waited_s + used_s);
    let caveat = Caveat::WaitedForProcessor {
        who: Subject::Brokers.to_string(),
        share: waited_s / window.seconds(),
        share_of_ready: Some(waited_s / (waited_s + used_s)),
    };
    is_reported.then(|| caveat.into()).into_iter().collect()
}

fn sum(subjects: &[Subject], of: impl Fn(&Subject) -> Option<f64>) -> Option<f64> {
    subjects.iter().map(of).sum()
}

/// The process of the run that a limit on CPU time held longest; processes of one group are held together.
pub(super) fn processor_limited(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let Some(window) = trial.window else { return Vec::new() };
    let share = |process: &Subject| {
        let held_s = cpu::counter_s(trial.probes(), process, series::CPU_THROTTLED_S_TOTAL, window)?;
        Some(held_s / window.seconds())
    };
    let processes = cpu::subjects(trial.probes(), cpu::is_own_process);
    let longest = processes.iter().filter_map(share).reduce(f64::max);
    let share = longest.filter(|share| *share > LIMITED_SHARE_MAX);
    share.map(|share| Caveat::ProcessorLimited { share }.into()).into_iter().collect()
}

pub(super) fn shared_processors(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    // Brokers alone share nothing with workers that are all elsewhere.
    let is_load_here = trial.workers().is_empty() || !trial.workers_here().is_empty();
    let is_shared = trial.evidence.start.is_on_this_host() && is_load_here;
    let processors = trial.evidence.session.processors;
    is_shared.then(|| Caveat::SharedProcessors { processors }.into()).into_iter().collect()
}

pub(super) fn memory_storage(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    is_in_memory(trial).then(|| Caveat::MemoryStorage.into()).into_iter().collect()
}

fn is_in_memory(trial: &TrialRows<'_>) -> bool {
    let cluster = trial.evidence.start.trial.effective.system.cluster();
    cluster.is_some_and(|cluster| cluster.storage == Storage::Memory)
}

/// There was no Kafka: whatever is measured is the client's.
pub(super) fn null_broker(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let is_kafka = trial.evidence.start.trial.effective.system.is_kafka();
    (!is_kafka).then(|| Caveat::NullBroker.into()).into_iter().collect()
}

/// One for each other run.
pub(super) fn host_shared(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let others: BTreeSet<&str> =
        super::found::events(trial, EventKind::HostShared).map(|event| event.detail.as_str()).collect();
    others.into_iter().map(|detail| Caveat::HostShared { detail: detail.to_owned() }.into()).collect()
}

/// What the drives with the data of our own brokers have written, compared with what these brokers were given. A
/// process's own counter would not show it: it counts when a page is made dirty, not when it is written.
pub(super) fn page_cache(trial: &TrialRows<'_>) -> Vec<FoundCaveat> {
    let is_local = trial.evidence.start.trial.effective.system.cluster().is_some();
    let Some(window) = trial.window.filter(|_| is_local && !is_in_memory(trial)) else { return Vec::new() };
    let written = cpu::counter_s(trial.probes(), &Subject::Host, series::DISK_WRITE_BYTES_TOTAL, window);
    // The other side of a duet may have the same drives: what they wrote is then at most what this side's brokers were given.
    let given =
        given_bytes_per_s(trial, window).map(|per_s| per_s * window.seconds()).filter(|given| *given > 0.0);
    let Some(share) = written.zip(given).map(|(written, given)| written / given) else { return Vec::new() };
    (share < WRITTEN_SHARE_MIN).then(|| Caveat::PageCacheAbsorbed { share }.into()).into_iter().collect()
}

/// Bytes per second that all brokers together had to write in the window: those of produce requests × replicas. `None`:
/// those of a Java client are not seen.
pub(crate) fn given_bytes_per_s(trial: &TrialRows<'_>, window: Window) -> Option<f64> {
    let effective = &trial.evidence.start.trial.effective;
    let producing = || trial.items.iter().filter(|item| item.plan.role.as_produce().is_some());
    if producing().any(java::is_java) {
        return None;
    }
    let of_item =
        producing().map(|item| item.tally.windowed.request_bytes as f64 * effective.replicas_mean(item.plan));
    Some(of_item.sum::<f64>() / window.seconds())
}
