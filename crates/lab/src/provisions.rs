//! What trials run on, kept from one trial to the next where the plan allows it: systems under test and topics.
//!
//! Trials of one system with the same number of a start run on one cluster. When a trial names another start, the
//! clusters of the one before are stopped first; so a list of trials has one cluster at a time, and a comparison those
//! of both sides. An attached cluster is not ours to stop: it stays.

use crate::error::{LabError, is_denied};
use crate::options::{RunOptions, RunProgress};
use crate::private::Private;
use crate::replicas::partition_replicas;
use crate::secrets::RunSecrets;
use crate::settings::{self, SystemInForce};
use crate::system::{self, SystemUnderTest};
use crate::topics::{TrialTopics, topic_name};
use kdyno_model::event::Subject;
use kdyno_model::plan::{Isolation, Plan, SystemPlan};
use kdyno_model::trial::Trial;
use std::collections::BTreeSet;

/// The systems that run now.
#[derive(Default)]
pub(crate) struct Provisions {
    standing: Vec<Provision>,
}

/// A system that runs, with what was made on it.
pub(crate) struct Provision {
    /// The start that it was provided for.
    start: u32,
    pub(crate) system: Box<dyn SystemUnderTest>,
    /// What it was provided for.
    plan: SystemPlan,
    /// Settings in force on it.
    pub(crate) in_force: SystemInForce,
    topics: Option<TrialTopics>,
    /// Whether a trial has run on it.
    pub(crate) has_carried_load: bool,
    /// Processes whose end has been reported.
    reported: BTreeSet<Subject>,
    /// Which settings are missing, as far as that was reported.
    reported_unread: BTreeSet<String>,
}

/// A process of a system that has ended while no trial ran on it.
#[derive(Debug, PartialEq)]
pub(crate) struct EndedProcess {
    pub(crate) subject: Subject,
    /// In words.
    pub(crate) how: String,
    /// The last lines it logged.
    pub(crate) log: Vec<String>,
}

impl Provisions {
    /// Makes sure that what the trial needs is there; addresses of a new system are added to what is private. The
    /// processes of a new system do not inherit the environment variables that hold secrets.
    pub(crate) fn stand(
        &mut self,
        plan: &Plan,
        trial: &Trial,
        run_id: u64,
        options: &mut RunOptions<'_>,
        private: &mut Private,
        secrets: &RunSecrets,
    ) -> Result<(), LabError> {
        self.stop_unfit(trial)?;
        let wanted = &trial.effective.system;
        if let Some(standing) = self.standing.iter_mut().find(|standing| standing.plan == *wanted) {
            standing.start = trial.start;
            standing.system.renew(&trial.effective)?;
            return Ok(());
        }
        let replicas = partition_replicas(plan, wanted);
        let system = system::provide(&trial.effective, (run_id, trial.id), replicas, secrets, options)?;
        private.add(system.private_addresses());
        let (access, is_attached) = (system.access(), wanted.target().is_some());
        let in_force = settings::read(&access, system.prefix(), is_attached, private);
        for unread in &in_force.unread {
            (options.progress)(RunProgress::Warning(unread.why.clone()));
        }
        self.standing.push(Provision {
            start: trial.start,
            system,
            plan: wanted.clone(),
            in_force,
            topics: None,
            has_carried_load: false,
            reported: BTreeSet::new(),
            reported_unread: BTreeSet::new(),
        });
        Ok(())
    }

    /// Stops the clusters of older starts, and one of the trial's own that has lost a process.
    fn stop_unfit(&mut self, trial: &Trial) -> Result<(), LabError> {
        let stays = |standing: &Provision| {
            let of = (standing.start, trial.start);
            let fits = standing.plan == trial.effective.system;
            standing.is_attached() || stays(of, standing.system.ended().is_empty(), fits)
        };
        let (kept, unfit): (Vec<_>, Vec<_>) = self.standing.drain(..).partition(stays);
        self.standing = kept;
        // Each is stopped, whatever becomes of another; the first thing that goes wrong is reported.
        unfit.into_iter().map(|standing| standing.system.stop()).fold(Ok(()), Result::and)
    }

    /// What is there for the trial, with the topics that were made for it.
    pub(crate) fn of(&self, trial: &Trial) -> Result<(&Provision, &TrialTopics), LabError> {
        let standing =
            self.standing.iter().find(|standing| standing.is_for(trial)).ok_or(LabError::NoSystem)?;
        standing.topics.as_ref().map(|topics| (standing, topics)).ok_or(LabError::NoSystem)
    }

    fn of_mut(&mut self, trial: &Trial) -> Result<&mut Provision, LabError> {
        self.standing.iter_mut().find(|standing| standing.is_for(trial)).ok_or(LabError::NoSystem)
    }

    /// Makes fresh topics on the trial's system, or keeps those of the trial before when nothing is isolated.
    pub(crate) fn make_topics(
        &mut self,
        plan: &Plan,
        trial: &Trial,
        run_id: u64,
        options: &mut RunOptions<'_>,
        private: &Private,
    ) -> Result<(), LabError> {
        let wanted = &trial.effective.topics;
        let standing = self.of_mut(trial)?;
        let kept = standing
            .topics
            .take()
            .filter(|topics| (plan.isolation == Isolation::None || topics.is_kept()) && topics.fit(wanted));
        let topics = match kept {
            Some(topics) => topics,
            None => {
                let existing = standing.system.existing_topics();
                if wanted.keys().any(|address| !existing.contains_key(address)) {
                    (options.progress)(RunProgress::Step("making topics".to_owned()));
                }
                let prefix = standing.system.prefix();
                let name = |address: &str| topic_name(prefix, run_id, address, trial.id);
                TrialTopics::create(&standing.system.access(), prefix, wanted, &existing, name)?
            }
        };
        standing.read_settings_of(&topics, private, options.progress);
        standing.topics = Some(topics);
        Ok(())
    }

    /// After a trial, which has reported the processes that ended in it.
    pub(crate) fn has_run(&mut self, trial: &Trial) -> Result<(), LabError> {
        let standing = self.of_mut(trial)?;
        standing.has_carried_load = true;
        standing.reported.extend(standing.system.ended().into_keys());
        Ok(())
    }

    /// Processes that have ended since the last trial on their system; each is reported once.
    pub(crate) fn ended_between(&mut self) -> Vec<EndedProcess> {
        let mut found = Vec::new();
        for standing in &mut self.standing {
            for (subject, how) in standing.system.ended() {
                if standing.reported.insert(subject.clone()) {
                    let log = standing.system.log_tail(&subject);
                    found.push(EndedProcess { subject, how, log });
                }
            }
        }
        found
    }

    /// After a trial: deletes its topics, unless the next one is to have them.
    pub(crate) fn retire_topics(
        &mut self,
        plan: &Plan,
        trial: &Trial,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        match plan.isolation {
            Isolation::None => Ok(()),
            Isolation::Topic | Isolation::Cluster => self.of_mut(trial)?.drop_topics(progress),
        }
    }

    /// Takes everything down that is the run's own, and returns what the run ends with: the first thing that went wrong,
    /// which is what did `before`, if anything. All else is only reported, so that it is known what stays.
    pub(crate) fn take_down(
        &mut self,
        before: Option<LabError>,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Option<LabError> {
        if self.standing.iter().any(|standing| !standing.is_attached()) {
            progress(RunProgress::Step("taking the system down".to_owned()));
        }
        let mut failure = before;
        for mut standing in self.standing.drain(..) {
            let topics = standing.drop_topics(progress);
            for error in [topics, standing.system.stop()].into_iter().filter_map(Result::err) {
                failure = Some(first_of(failure, error, progress));
            }
        }
        failure
    }
}

/// What went wrong before, if anything; what is not the first is reported.
fn first_of(before: Option<LabError>, error: LabError, progress: &mut dyn FnMut(RunProgress)) -> LabError {
    let Some(before) = before else { return error };
    progress(RunProgress::Warning(error.in_passing()));
    before
}

/// Whether a cluster of one start stays when a trial of another, or of the same, comes. One that has lost a process
/// stays until a trial asks for it: on a cluster of the same start the load of another side goes on undisturbed.
fn stays((of_cluster, of_trial): (u32, u32), is_whole: bool, fits: bool) -> bool {
    of_cluster == of_trial && (is_whole || !fits)
}

impl Provision {
    /// Whether the trial runs on it.
    fn is_for(&self, trial: &Trial) -> bool {
        self.start == trial.start && self.plan == trial.effective.system
    }

    /// Whether it is somebody else's.
    fn is_attached(&self) -> bool {
        self.plan.target().is_some()
    }

    /// Reads the settings in force on topics of it; what is missing is reported once. A null broker has none.
    fn read_settings_of(
        &mut self,
        topics: &TrialTopics,
        private: &Private,
        progress: &mut dyn FnMut(RunProgress),
    ) {
        if !self.plan.is_kafka() {
            return;
        }
        let (settings, unread) =
            settings::of_topics(&self.system.access(), self.system.prefix(), &topics.names, private);
        self.in_force.topics = settings;
        for one in unread.iter().filter(|one| self.reported_unread.insert(one.why.clone())) {
            progress(RunProgress::Warning(one.why.clone()));
        }
        self.in_force.unread_topics = unread;
    }

    /// Deletes the topics. On a local cluster that has lost a broker this may fail; the cluster is then
    /// replaced before the next trial and takes its topics with it.
    /// A user who may make topics and not delete them loads the same ones again.
    fn drop_topics(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let Some(mut topics) = self.topics.take() else { return Ok(()) };
        match topics.delete(&self.system.access()) {
            Err(LabError::Admin { source, .. }) if self.is_attached() && is_denied(&source) => {
                if !topics.is_kept() {
                    let names = topics.made().join(", ");
                    progress(RunProgress::Warning(format!(
                        "the target does not let this user delete topics: {names} stay, and later trials are put on them"
                    )));
                    topics.keep();
                }
                self.topics = Some(topics);
                Ok(())
            }
            Err(error) if self.is_attached() => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_one_start_coexist_and_older_ones_are_stopped() {
        assert!(stays((2, 2), true, true));
        assert!(stays((2, 2), true, false), "that of the other side");
        assert!(!stays((1, 2), true, true), "the same system, started anew");
        assert!(!stays((1, 2), true, false));
    }

    #[test]
    fn a_run_ends_with_its_first_error_and_reports_the_others() {
        let error = || LabError::System { why: "it has no port".to_owned() };
        let mut reported = Vec::new();
        let mut progress = |progress| match progress {
            RunProgress::Warning(words) => reported.push(words),
            _ => panic!("a warning"),
        };
        assert!(matches!(first_of(None, error(), &mut progress), LabError::System { .. }));
        let first = first_of(Some(LabError::NoBrokerLeft), error(), &mut progress);
        assert!(matches!(first, LabError::NoBrokerLeft));
        assert_eq!(reported, ["it has no port"]);
    }

    #[test]
    fn a_cluster_that_lost_a_process_is_replaced_on_request() {
        assert!(!stays((2, 2), false, true));
        assert!(stays((2, 2), false, false));
    }
}
