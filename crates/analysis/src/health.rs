//! Whether the system under test and the host were healthy in a trial's window: the figure for each rule of
//! [`HealthRule`] that the evidence has.

use crate::collections;
use crate::cpu;
use crate::evidence::{NS_PER_S, Window, ended_processes};
use crate::inside::Inside;
use crate::rows::TrialRows;
use kdyno_model::conclusion::{Limit, LimitKind};
use kdyno_model::event::Subject;
use kdyno_model::health::{Health, HealthCheck, HealthRule, HealthThreshold};
use kdyno_model::inside::{NETWORK_PROCESSOR_IDLE, REQUEST_HANDLER_IDLE};
use kdyno_model::sample::series;

/// Mean share of the host's CPUs up to which a single full one is noticed.
const MEAN_SHARE_MAX: f64 = 0.8;

/// Operations of a drive in the window below which their mean time says nothing.
const OPERATIONS_MIN: f64 = 50.0;

/// TCP segments sent in the window below which the share of those sent again says nothing.
const SEGMENTS_MIN: f64 = 1000.0;

/// Every check that the evidence of a trial allows; `None`: no probe reported anything. `limits` are those of its load
/// items; the shares of limits are taken from them, so that both have one figure. `replicas`: partitions of the run's
/// topics with replicas out of sync, as metadata says, for brokers that report nothing of themselves.
pub(crate) fn of(
    trial: &TrialRows<'_>,
    limits: &[Limit],
    (inside, brokers): (&Inside<'_>, &[Subject]),
    replicas: Option<f64>,
) -> Option<Health> {
    let mut checks = of_limits(limits);
    if let Some(window) = trial.window {
        let host = HostWindow { trial, window };
        checks.extend(host.one_processor());
        checks.extend(host.drives());
        checks.extend(held_up(trial, window));
        checks.extend(ended(trial));
        checks.extend(of_brokers(inside, brokers));
        if checks.iter().all(|one| one.rule != HealthRule::UnderReplicated) {
            checks.extend(replicas.and_then(|count| check(HealthRule::UnderReplicated, "brokers", count)));
        }
        checks.extend(host.network());
        checks.extend(host.memory());
        checks.extend(host.probes());
    }
    checks.sort_by_key(|check| check.rule);
    (!checks.is_empty()).then(|| Health { scope: trial.scope(), checks })
}

fn check(rule: HealthRule, of: impl Into<String>, value: f64) -> Option<HealthCheck> {
    let is_broken = rule.text().threshold.is_broken_by(value);
    value.is_finite().then(|| HealthCheck { rule, of: of.into(), value, is_broken })
}

/// The most that any load item used of what can be saturated.
fn of_limits(limits: &[Limit]) -> Vec<HealthCheck> {
    let rules = [
        (LimitKind::Generator, HealthRule::GeneratorBusy, "workers"),
        (LimitKind::BrokerProcessors, HealthRule::BrokerProcessors, "brokers"),
        (LimitKind::Disk, HealthRule::DiskBandwidth, "brokers"),
        (LimitKind::Network, HealthRule::NetworkBandwidth, "brokers"),
    ];
    let most = |kind: LimitKind| {
        let evidence = limits.iter().flat_map(|limit| &limit.evidence);
        evidence.filter(|one| one.kind == kind).filter_map(|one| one.used).reduce(f64::max)
    };
    rules.into_iter().filter_map(|(kind, rule, of)| check(rule, of, most(kind)?)).collect()
}

/// What brokers report of themselves, by the one that is worst off.
fn of_brokers(inside: &Inside<'_>, brokers: &[Subject]) -> Vec<HealthCheck> {
    let rules = [
        (HealthRule::RequestHandlersIdle, REQUEST_HANDLER_IDLE),
        (HealthRule::NetworkProcessorsIdle, NETWORK_PROCESSOR_IDLE),
        (HealthRule::OfflinePartitions, "offline_partitions"),
        (HealthRule::UnderReplicated, "under_replicated_partitions"),
        (HealthRule::IsrShrinks, "isr_shrinks"),
    ];
    let worst = |(rule, name): (HealthRule, &str)| {
        let one = |broker| Some((broker, inside.value(std::slice::from_ref(broker), name)?));
        let reported = brokers.iter().filter_map(one);
        let is_worse = |value: f64, than: f64| match rule.text().threshold {
            HealthThreshold::Above(_) => value > than,
            HealthThreshold::Below(_) => value < than,
        };
        let (broker, value) =
            reported.reduce(|worst, one| if is_worse(one.1, worst.1) { one } else { worst })?;
        check(rule, broker.to_string(), value)
    };
    rules.into_iter().filter_map(worst).collect()
}

/// How many of the brokers that were probed ended. Their other figures are of the time before that.
fn ended(trial: &TrialRows<'_>) -> Option<HealthCheck> {
    let brokers = trial.brokers();
    let ended = ended_processes(trial.evidence).into_iter().filter(|one| brokers.contains(one)).count();
    check(HealthRule::BrokersEnded, "brokers", ended as f64).filter(|_| !brokers.is_empty())
}

/// How garbage collection and safepoints held up the brokers, by that broker which they held up most.
fn held_up(trial: &TrialRows<'_>, window: Window) -> Vec<HealthCheck> {
    let probes = trial.probes();
    let brokers = trial.brokers();
    let most = |rule: HealthRule, of: &dyn Fn(&Subject) -> Option<f64>| {
        let reported = brokers.iter().filter_map(|broker| Some((broker, of(broker)?)));
        let (broker, value) = reported.reduce(|best, one| if one.1 > best.1 { one } else { best })?;
        check(rule, broker.to_string(), value)
    };
    let checks = [
        most(HealthRule::GcPause, &|broker| collections::longest_pause_ns(trial, broker, window)),
        most(HealthRule::Stopped, &|broker| collections::stopped_share(trial, broker, window)),
        most(HealthRule::HeapAfterGc, &|broker| {
            cpu::smallest(probes, broker, series::HEAP_AFTER_GC_SHARE, window)
        }),
    ];
    checks.into_iter().flatten().collect()
}

/// The host in the window of a trial.
struct HostWindow<'a> {
    trial: &'a TrialRows<'a>,
    window: Window,
}

impl HostWindow<'_> {
    /// By how much a counter grew.
    fn grown(&self, counter: &str) -> Option<f64> {
        cpu::counter_s(self.trial.probes(), &Subject::Host, counter, self.window)
    }

    /// A check for each of several, with the part of its name that says which.
    fn grown_of_each(&self, prefix: &str) -> impl Iterator<Item = (&str, f64)> {
        cpu::grown_of_each(self.trial.probes(), &Subject::Host, prefix, self.window).into_iter()
    }

    fn least(&self, series: &str) -> Option<f64> {
        cpu::smallest(self.trial.probes(), &Subject::Host, series, self.window)
    }

    /// The busiest processor, unless all are about as busy.
    fn one_processor(&self) -> Option<HealthCheck> {
        let mean = cpu::host_busy_share(self.trial.probes(), self.window)?;
        let each = self.grown_of_each(series::CPU_BUSY_S_TOTAL_OF);
        let (number, busy_s) = each.reduce(|best, one| if one.1 > best.1 { one } else { best })?;
        let share = busy_s / self.window.seconds();
        let found = check(HealthRule::OneProcessorFull, format!("CPU {number}"), share);
        found.filter(|_| mean < MEAN_SHARE_MAX)
    }

    /// Use of each drive, and the mean time of its operations where there were enough.
    fn drives(&self) -> Vec<HealthCheck> {
        let mut checks = Vec::new();
        for (drive, busy_s) in self.grown_of_each(series::DISK_BUSY_S_TOTAL_OF) {
            let of = || format!("drive {drive}");
            checks.extend(check(HealthRule::DriveBusy, of(), busy_s / self.window.seconds()));
            let mean_ns = |time: &str, operations: &str| {
                let done =
                    self.grown(&format!("{operations}{drive}")).filter(|done| *done >= OPERATIONS_MIN)?;
                Some(self.grown(&format!("{time}{drive}"))? / done * NS_PER_S as f64)
            };
            let write_ns = mean_ns(series::DISK_WRITE_S_TOTAL_OF, series::DISK_WRITES_TOTAL_OF);
            let read_ns = mean_ns(series::DISK_READ_S_TOTAL_OF, series::DISK_READS_TOTAL_OF);
            checks.extend(write_ns.and_then(|ns| check(HealthRule::DriveWriteTime, of(), ns)));
            checks.extend(read_ns.and_then(|ns| check(HealthRule::DriveReadTime, of(), ns)));
        }
        checks
    }

    fn network(&self) -> Vec<HealthCheck> {
        let sent = self.grown(series::TCP_SEGMENTS_SENT_TOTAL).filter(|sent| *sent >= SEGMENTS_MIN);
        let again = self.grown(series::TCP_SEGMENTS_RETRANSMITTED_TOTAL);
        // The kernel counts those sent again apart (RFC 4022: tcpOutSegs excludes them).
        let share = sent.zip(again).map(|(sent, again)| again / (sent + again));
        let dropped = self.grown(series::NET_RECEIVE_DROPPED_TOTAL);
        let per_s = dropped.map(|dropped| dropped / self.window.seconds());
        let checks = [
            share.and_then(|share| check(HealthRule::Retransmits, "host", share)),
            per_s.and_then(|per_s| check(HealthRule::PacketsDropped, "host", per_s)),
        ];
        checks.into_iter().flatten().collect()
    }

    /// What the probes themselves cost.
    fn probes(&self) -> Option<HealthCheck> {
        let (probes, counter) = (self.trial.probes(), series::PROBES_CPU_S_TOTAL);
        let used_s = cpu::counter_s(probes, &Subject::Kdyno, counter, self.window)?;
        check(HealthRule::ProbesBusy, "kdyno", used_s / self.window.seconds())
    }

    fn memory(&self) -> Vec<HealthCheck> {
        let waited_s = self.grown(series::MEMORY_PRESSURE_S_TOTAL);
        let pressure = waited_s.map(|waited_s| waited_s / self.window.seconds());
        let all = self.least(series::MEMORY_TOTAL_BYTES).filter(|all| *all > 0.0);
        let available = self.least(series::MEMORY_AVAILABLE_BYTES).zip(all).map(|(least, all)| least / all);
        let checks = [
            pressure.and_then(|share| check(HealthRule::MemoryPressure, "host", share)),
            available.and_then(|share| check(HealthRule::MemoryAvailable, "host", share)),
        ];
        checks.into_iter().flatten().collect()
    }
}
