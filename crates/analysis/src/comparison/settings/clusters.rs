//! The clusters on which pairs ran, and what was in force there.

use kdyno_model::event::Subject;
use kdyno_model::plan::{ClusterPlan, ComparePlan, Plan, SystemPlan};
use kdyno_model::run::{SettingsInForce, TrialStart, cluster_fact};
use std::collections::BTreeMap;

/// Settings of some kind of subject by its name, of side A and of side B.
pub(super) type OfBoth<'a> = [BTreeMap<&'a str, &'a SettingsInForce>; 2];

/// One cluster of each side, on which pairs run in turn.
pub(super) struct Clusters<'a> {
    pub(super) systems: [&'a SystemPlan; 2],
    /// Side A and side B: whether a trial ran there.
    pub(super) has_run: [bool; 2],
    /// What its brokers reported: the first, and those with other settings.
    pub(super) in_force: [Vec<(&'a Subject, &'a SettingsInForce)>; 2],
    /// A trial of each side, those that count first.
    trials: [Option<&'a TrialStart>; 2],
}

impl<'a> Clusters<'a> {
    pub(super) fn of(
        plan: &'a Plan,
        compared: &'a ComparePlan,
        case: u32,
        turn: u32,
        trials: &[&'a TrialStart],
    ) -> Option<Self> {
        let system = |side| Some(&compared.effective(&plan.cases, side, case, turn + 1)?.system);
        // What conditions clusters is of no pair: it runs on those of the first turn.
        let of_turn =
            |start: &TrialStart| start.trial.pair.map_or(0, |place| compared.turn(place.pair)) == turn;
        let of_side = |side: &'static str| {
            let trials = trials.iter().copied().filter(move |start| of_turn(start));
            trials.filter(move |start| start.trial.variant.as_deref() == Some(side))
        };
        let counts = |start: &&TrialStart| !start.trial.is_conditioning();
        Some(Self {
            systems: [system(0)?, system(1)?],
            has_run: ComparePlan::SIDES.map(|side| of_side(side).any(|start| counts(&start))),
            in_force: ComparePlan::SIDES.map(|side| of_side(side).find_map(in_force).unwrap_or_default()),
            trials: ComparePlan::SIDES.map(|side| of_side(side).find(counts)),
        })
    }

    /// The settings of a side's first broker; `None`: none were reported.
    pub(super) fn of_side(&self, side: usize) -> Option<&'a SettingsInForce> {
        self.in_force[side].first().map(|(_, settings)| *settings)
    }

    pub(super) fn name(&self, side: usize) -> &str {
        self.systems[side].name()
    }

    /// The version of Kafka that runs on each side, as far as a target declares it, or it was found out; `None` of a local
    /// cluster, whose plan says it.
    pub(super) fn versions(&self) -> [Option<&'a str>; 2] {
        [0, 1].map(|side| {
            let found = || self.trials[side]?.cluster.get(cluster_fact::KAFKA_VERSION).map(String::as_str);
            self.systems[side].target()?.version().or_else(found)
        })
    }

    /// Whether the targets of both sides run another version; `None`: unknown. What was found out has no patch number
    /// (`4.1`), so compared with a declared `4.1.1` it says only whether the line is another one.
    pub(super) fn runs_another_version(&self) -> Option<bool> {
        let [Some(a), Some(b)] = self.versions() else { return None };
        let line = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
        let is_line = |version: &str| version.split('.').count() <= 2;
        match (a == b, line(a) == line(b)) {
            (true, _) => Some(false),
            (false, true) if is_line(a) || is_line(b) => None,
            _ => Some(true),
        }
    }

    /// Whether both sides run another version, mode or number of brokers, or are reached by other listeners or over other links: of targets
    /// another version alone is known.
    pub(super) fn are_other(&self) -> bool {
        let Some([a, b]) = self.local() else { return self.runs_another_version() == Some(true) };
        let versions = a.kafka != b.kafka || a.mode != b.mode || a.brokers != b.brokers;
        versions || a.listeners != b.listeners || a.zones != b.zones
    }

    /// Whether both sides are targets, and not the same one.
    pub(super) fn are_other_targets(&self) -> bool {
        let [a, b] = self.systems.map(|system| system.target());
        a.zip(b).is_some_and(|(a, b)| a.cluster_id != b.cluster_id)
    }

    /// The clusters that kdyno starts, where both sides have one.
    pub(super) fn local(&self) -> Option<[&'a ClusterPlan; 2]> {
        let [a, b] = self.systems;
        Some([a.cluster()?, b.cluster()?])
    }

    /// A trial of each side.
    pub(super) fn trials(&self) -> Option<[&'a TrialStart; 2]> {
        let [Some(a), Some(b)] = self.trials else { return None };
        Some([a, b])
    }

    /// What clients reported of both sides, by load item.
    pub(super) fn of_clients(&self) -> OfBoth<'a> {
        self.of_subjects(|subject| match subject {
            Subject::Item(name) => Some(name),
            _ => None,
        })
    }

    /// What was reported of topics of both sides, by their names in the scenario.
    pub(super) fn of_topics(&self) -> OfBoth<'a> {
        self.of_subjects(|subject| match subject {
            Subject::Topic(name) => Some(name),
            _ => None,
        })
    }

    fn of_subjects(&self, name: fn(&Subject) -> Option<&str>) -> OfBoth<'a> {
        self.trials.map(|start| {
            let reported = start.into_iter().flat_map(|start| &start.settings);
            reported.filter_map(|(subject, settings)| Some((name(subject)?, settings))).collect()
        })
    }
}

/// The settings of the brokers that reported any; `None`: none did. A broker with the settings of the first one reports
/// none.
fn in_force(start: &TrialStart) -> Option<Vec<(&Subject, &SettingsInForce)>> {
    let reported = start.settings.iter().filter(|(_, settings)| !settings.is_empty());
    let reported: Vec<_> = reported.filter(|(subject, _)| subject.is_broker()).collect();
    (!reported.is_empty()).then_some(reported)
}
