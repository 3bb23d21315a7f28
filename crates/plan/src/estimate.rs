//! How long a plan takes and how much it writes, before it runs.

use crate::planned::PlannedCases;
use crate::strategy::{
    ConditioningPace, TrialBasis, Upcoming, at_most, conditioned_by, until_first_look, up_to, upcoming,
};
use crate::volume::records;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{
    CasePlan, ComparePlan, Estimate, EvidenceUnit, Isolation, LoadSpan, PairDesign, Plan, ProducePlan, Rate,
    Strategy, SystemPlan,
};
use kdyno_model::trial::Trial;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Around each trial: the noise probe (1 s), topics made and removed, clients connected, the outcome of
/// what is in flight.
const TRIAL_EXTRA_S: f64 = 4.0;
/// The time on a null broker, which makes no files and answers at once.
const NULL_BROKER_TRIAL_EXTRA_S: f64 = 2.0;
/// From the first process to a cluster that answers; each broker adds to it.
const CLUSTER_S: f64 = 3.0;
/// What each process of a cluster adds on a small machine.
const PROCESS_S: f64 = 1.5;
/// Until a cluster by Strimzi is ready, whose operator makes services, certificates and pods one after the other.
const STRIMZI_S: f64 = 120.0;
/// From the start of a Java client's process to its first connection.
const JAVA_CLIENT_S: f64 = 1.5;
/// What a record adds to its key, value and headers on disk, about.
const RECORD_BYTES_EXTRA: f64 = 12.0;

/// Where between its bounds a warm-up that ends by evidence usually ends (docs/reference/planning.md, Lengths).
const SETTLED_AFTER: f64 = 0.75;

/// What running the plan takes. Starts of clusters are typical ones, each trial has one short drain, and a window by
/// records is taken at its upper bound only when no rate ends it sooner. The longest time and the bytes of a search are
/// those of its longest course, every trial at the highest load.
pub fn estimate(plan: &Plan) -> Estimate {
    let longest_ns = of_trials(at_most(plan)).longest_ns;
    let usual = of_trials(upcoming(plan, 0));
    let disk_bytes = over_trials(plan, bytes_to_write_of_trial);
    Estimate { longest_ns, disk_bytes, kept_bytes: disk_bytes.and_then(|all| kept_bytes(plan, all)), ..usual }
}

/// The most of `all` bytes that lie there at a time; `None` when that is not known.
fn kept_bytes(plan: &Plan, all: u64) -> Option<u64> {
    let are_kept = plan.every_case().any(CasePlan::has_existing_topics);
    if plan.isolation == Isolation::None || are_kept {
        return Some(all);
    }
    let (mut most, mut last) = (0, 0);
    for trial in at_most(plan).filter(|trial| is_counted(plan, trial)) {
        let bytes = bytes_to_write_of_trial(&trial.case)?;
        most = most.max(if trial.is_concurrent { bytes.saturating_add(last) } else { bytes });
        last = bytes;
    }
    Some(most)
}

/// What a comparison takes until its first look, which is when it ends at the earliest. `None`: the plan compares
/// nothing.
pub fn estimate_until_first_look(plan: &Plan) -> Option<Estimate> {
    until_first_look(plan).map(of_trials)
}

/// How long so many units of evidence of a comparison take when every trial takes its longest, ns.
pub(crate) fn units_longest_ns(plan: &ComparePlan, planned: &PlannedCases, units: u32) -> u64 {
    of_trials(up_to(TrialBasis::of(planned), plan, units)).longest_ns
}

/// For trials that follow each other: all but the bytes that are written.
pub(crate) fn of_trials<'a>(trials: impl Iterator<Item = Upcoming<'a>>) -> Estimate {
    let mut load = Loads::default();
    let mut extra_s = 0.0;
    let mut standing: Vec<(u32, SystemPlan)> = Vec::new();
    for Upcoming { case, start, is_concurrent, .. } in trials {
        standing.retain(|(of, _)| *of == start);
        if !standing.iter().any(|(_, system)| *system == case.system) {
            extra_s += cluster_seconds(&case.system);
            standing.push((start, case.system.clone()));
        }
        load.add(trial_length(&case), is_concurrent);
        extra_s += if is_concurrent { 0.0 } else { trial_extra_seconds(&case) + java_seconds(&case) };
    }
    let (load, extra_ns) = (load.all, (extra_s * 1e9) as u64);
    Estimate {
        expected_ns: load.usual_ns.saturating_add(extra_ns),
        longest_ns: load.most_ns.saturating_add(extra_ns),
        load_ns: load.usual_ns,
        disk_bytes: None,
        kept_bytes: None,
    }
}

/// How long the loads of all trials after the first `done` usually take, ns, as far as these are known.
pub fn load_ns_after(plan: &Plan, done: usize) -> u64 {
    let mut loads = Loads::default();
    upcoming(plan, done).for_each(|trial| loads.add(trial_length(&trial.case), trial.is_concurrent));
    loads.all.usual_ns
}

/// The longest time from now until a trial is of use, with everything around it, ns. For the first of a pair it
/// includes that of the second, which is one length where both run at once, and where a start with all of its pairs is
/// the unit of evidence also those that it still lacks; for one that conditions a cluster it includes what the cluster
/// is conditioned for; and it includes the start of each cluster that does not run yet. `outcomes` and `session` as for
/// [`crate::next`], which named the trial.
pub fn longest_ns(plan: &Plan, outcomes: &[TrialOutcome], trial: &Trial, session: u32) -> u64 {
    let of_start = outcomes.iter().filter(|ran| (ran.session, ran.trial.start) == (session, trial.start));
    let ran: Vec<&CasePlan> = of_start.clone().map(|ran| &ran.trial.effective).collect();
    let on_start =
        |(case, is_concurrent)| Upcoming { case, start: trial.start, is_conditioning: false, is_concurrent };
    let before = || ran.iter().map(|case| on_start((Cow::Borrowed(*case), false)));
    let pairs = of_start.filter_map(|ran| ran.trial.pair).chain(trial.pair).map(|place| place.pair);
    let pairs: BTreeSet<u32> = pairs.collect();
    let coming = until_of_use(plan, &ran, trial, pairs.len()).into_iter().map(on_start);
    of_trials(before().chain(coming)).longest_ns.saturating_sub(of_trials(before()).longest_ns)
}

/// The trial and those without which it is of no use, each with whether it runs at once with the one before it; `ran`
/// have run on its start of the clusters, which has begun so many `pairs` with this trial's.
fn until_of_use<'a>(
    plan: &'a Plan,
    ran: &[&CasePlan],
    trial: &'a Trial,
    pairs: usize,
) -> Vec<(Cow<'a, CasePlan>, bool)> {
    let own = (Cow::Borrowed(&trial.effective), false);
    let after = |case: &'a CasePlan| (Cow::Borrowed(case), false);
    let Strategy::Compare(comparison) = &plan.strategy else {
        let conditioned_for = plan.cases.get(trial.case as usize).filter(|_| trial.is_conditioning());
        return [own].into_iter().chain(conditioned_for.map(after)).collect();
    };
    let is_duet = comparison.design == PairDesign::Duet;
    let pair = trial.pair.map_or(1, |place| place.pair);
    let is_a = trial.variant.as_deref() == Some(ComparePlan::SIDES[0]);
    let of_side = |side| comparison.effective(&plan.cases, side, trial.case, pair);
    let other = of_side(usize::from(is_a));
    let second = |case: &'a CasePlan| (Cow::Borrowed(case), is_duet);
    let a_pair = || of_side(0).map(after).into_iter().chain(of_side(1).map(second));
    let wanted = match comparison.unit {
        EvidenceUnit::Start => comparison.pairs_on_a_start() as usize,
        EvidenceUnit::Pair | EvidenceUnit::Run | EvidenceUnit::Cluster => 1,
    };
    let lacking = (pairs.max(1)..wanted).flat_map(|_| a_pair());
    let further: Vec<(Cow<'_, CasePlan>, bool)> = match trial.pair {
        Some(place) if place.place == 1 => other.into_iter().map(second).collect(),
        Some(_) => Vec::new(),
        None => {
            let is_running = |case: &CasePlan| {
                case.system == trial.effective.system || ran.iter().any(|ran| ran.system == case.system)
            };
            let fresh = other.filter(|other| !is_running(other));
            let how = plan.conditioning.zip(fresh);
            let conditions =
                how.and_then(|(how, other)| conditioned_by(how, other, ConditioningPace::of_plan(plan)));
            let conditions = conditions.map(|case| (Cow::Owned(case), is_duet));
            conditions.into_iter().chain(a_pair()).collect()
        }
    };
    [own].into_iter().chain(further).chain(lacking).collect()
}

/// The lengths of loads one after the other; some run at once with the one before.
#[derive(Debug, Default)]
struct Loads {
    all: Length,
    last: Length,
}

impl Loads {
    /// One that runs at once with the last one makes it longer by what it lasts longer.
    fn add(&mut self, length: Length, is_concurrent: bool) {
        let more = if is_concurrent { length.beyond(self.last) } else { length };
        self.all = self.all.and(more);
        self.last = if is_concurrent { self.last.and(more) } else { length };
    }
}

/// A length of time that depends on what is seen.
#[derive(Debug, Clone, Copy, Default)]
struct Length {
    usual_ns: u64,
    most_ns: u64,
}

impl Length {
    fn and(self, other: Self) -> Self {
        Self {
            usual_ns: self.usual_ns.saturating_add(other.usual_ns),
            most_ns: self.most_ns.saturating_add(other.most_ns),
        }
    }

    fn beyond(self, other: Self) -> Self {
        Self {
            usual_ns: self.usual_ns.saturating_sub(other.usual_ns),
            most_ns: self.most_ns.saturating_sub(other.most_ns),
        }
    }
}

fn trial_extra_seconds(case: &CasePlan) -> f64 {
    if case.system.is_kafka() { TRIAL_EXTRA_S } else { NULL_BROKER_TRIAL_EXTRA_S }
}

/// Clients of a case start all at once.
fn java_seconds(case: &CasePlan) -> f64 {
    if case.load.values().all(|item| item.driver.as_java().is_none()) { 0.0 } else { JAVA_CLIENT_S }
}

fn cluster_seconds(system: &SystemPlan) -> f64 {
    let Some(cluster) = system.cluster() else {
        return if system.starts_brokers() { STRIMZI_S } else { 0.0 };
    };
    let others = cluster.mode.nodes_without_broker();
    CLUSTER_S + PROCESS_S * f64::from(cluster.brokers + others)
}

/// Warm-up and window; a window by records ends with the slowest item that has a rate.
fn trial_length(case: &CasePlan) -> Length {
    let phases = case.phases;
    let ends = producers(case).map(|(produce, ..)| match (&produce.rate, produce.records_max) {
        (Rate::Open { pieces, .. }, Some(records)) => {
            let rate = pieces.last().map_or(0.0, |piece| piece.to_per_s);
            if rate > 0.0 { (records as f64 / rate * 1e9) as u64 } else { phases.measure_ns }
        }
        _ => phases.measure_ns,
    });
    let window_ns = ends.max().unwrap_or(phases.measure_ns).min(phases.measure_ns);
    let most_ns = phases.measure_start_ns();
    let usual_ns = phases.warmup_auto.map_or(most_ns, |auto| {
        let least_ns = auto.least_ns.min(most_ns);
        least_ns + ((most_ns - least_ns) as f64 * SETTLED_AFTER) as u64
    });
    Length { usual_ns: usual_ns + window_ns, most_ns: most_ns + window_ns }
}

/// How records are sent, when the item comes and goes, and how many replicas its topics have at most.
fn producers(case: &CasePlan) -> impl Iterator<Item = (&ProducePlan, LoadSpan, u32)> {
    case.load.values().filter_map(|item| Some((item.role.as_produce()?, item.span, case.replicas_max(item))))
}

/// Bytes one trial writes to the brokers' disks, replicas included; `None` when `rate: max`, a command or a component leaves it open. A null broker
/// writes nothing.
pub fn bytes_to_write_of_trial(case: &CasePlan) -> Option<u64> {
    if !case.system.is_kafka() {
        return Some(0);
    }
    if case.has_others_writing() {
        return None;
    }
    let bytes = producers(case).map(|(produce, span, replicas)| {
        let each = (produce.record_bytes() as f64 + RECORD_BYTES_EXTRA) * f64::from(replicas);
        records(produce, span, &case.phases).map(|records| records * each)
    });
    bytes.sum::<Option<f64>>().map(|bytes| bytes.ceil() as u64)
}

/// Bytes of the trials of a case and of the one that conditions its cluster, whichever writes most: that of a duet may
/// last longer than those of its pairs. One that is as fast as it goes is not in it.
pub fn bytes_to_write_of_case(plan: &Plan, case: &CasePlan) -> Option<u64> {
    let own = bytes_to_write_of_trial(case)?;
    let how = plan.conditioning.filter(|_| plan.unpaced_conditioning().is_none());
    match how.and_then(|how| conditioned_by(how, case, ConditioningPace::Planned)) {
        Some(conditioning) => bytes_to_write_of_trial(&conditioning).map(|bytes| bytes.max(own)),
        None => Some(own),
    }
}

/// Bytes of keys, values and headers the clients send over the whole run; `None` when `rate: max` leaves it open. Above a stated
/// volume the program asks before it loads a target.
pub fn volume_bytes(plan: &Plan) -> Option<u64> {
    over_trials(plan, |case| {
        let bytes = producers(case).map(|(produce, span, _)| {
            records(produce, span, &case.phases).map(|records| records * produce.record_bytes() as f64)
        });
        bytes.sum::<Option<f64>>().map(|bytes| bytes.ceil() as u64)
    })
}

/// Whether what a trial writes is known beforehand: not of one that conditions a cluster as fast as it goes, for a bounded
/// time.
fn is_counted(plan: &Plan, trial: &Upcoming<'_>) -> bool {
    !trial.is_conditioning || plan.unpaced_conditioning().is_none()
}

/// Over all trials for which it is known.
fn over_trials(plan: &Plan, of: impl Fn(&CasePlan) -> Option<u64>) -> Option<u64> {
    let mut bytes = at_most(plan).filter(|trial| is_counted(plan, trial)).map(|trial| of(&trial.case));
    bytes.try_fold(0, |sum: u64, bytes| Some(sum.saturating_add(bytes?)))
}
