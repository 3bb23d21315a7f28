//! What a trial stands on, kept from one trial to the next where the plan's isolation allows it: a system under
//! test and topics.

use crate::error::LabError;
use crate::options::{Progress, RunOptions};
use crate::preflight::partition_replicas;
use crate::private::Private;
use crate::system::System;
use crate::topics::{Topics, topic_name};
use kdyno_model::plan::{Isolation, Plan};
use kdyno_model::trial::Trial;

/// The system and the topics that stand now.
#[derive(Default)]
pub(crate) struct Provisions {
    system: Option<System>,
    topics: Option<Topics>,
}

impl Provisions {
    /// The system that the trial asks for: the one that stands if it fits, else a new one, whose addresses are
    /// added to what is private.
    pub(crate) fn system(
        &mut self,
        plan: &Plan,
        trial: &Trial,
        options: &mut RunOptions<'_>,
        private: &mut Private,
    ) -> Result<&System, LabError> {
        let wanted = &trial.effective.system;
        let isolated = plan.isolation == Isolation::Cluster;
        let fits = |system: &System| !isolated && system.fits(wanted) && system.ended().is_empty();
        let system = match self.system.take() {
            Some(system) if fits(&system) => system,
            other => {
                self.topics = None;
                other.map_or(Ok(()), System::stop)?;
                let replicas = partition_replicas(plan, wanted);
                let system = System::provide(wanted, trial.id, replicas, options)?;
                private.add(system.private_addresses());
                system
            }
        };
        Ok(self.system.insert(system))
    }

    /// Fresh topics on the system that stands, or those of the trial before when nothing is isolated.
    pub(crate) fn topics(
        &mut self,
        plan: &Plan,
        trial: &Trial,
        run_id: u64,
        options: &mut RunOptions<'_>,
    ) -> Result<(&System, &Topics), LabError> {
        let wanted = &trial.effective.topics;
        let kept =
            self.topics.take().filter(|topics| plan.isolation == Isolation::None && topics.fit(wanted));
        let system = self.system.as_ref().ok_or(LabError::NoSystem)?;
        let topics = match kept {
            Some(topics) => topics,
            None => {
                (options.progress)(Progress::Step("making topics".to_owned()));
                let name = |address: &str| topic_name(system.prefix(), run_id, address, trial.id);
                Topics::create(&system.bootstrap(), system.prefix(), wanted, name)?
            }
        };
        Ok((system, self.topics.insert(topics)))
    }

    /// After a trial: deletes its topics, unless the next one is to have them.
    pub(crate) fn retire_topics(&mut self, plan: &Plan) -> Result<(), LabError> {
        match plan.isolation {
            Isolation::None => Ok(()),
            Isolation::Topic | Isolation::Cluster => self.drop_topics(),
        }
    }

    /// Deletes the topics. On a local cluster that has lost a broker this may fail; the cluster is then
    /// replaced before the next trial and takes its topics with it.
    pub(crate) fn drop_topics(&mut self) -> Result<(), LabError> {
        let (Some(system), Some(topics)) = (&self.system, self.topics.take()) else {
            return Ok(());
        };
        match topics.delete(&system.bootstrap()) {
            Err(error) if system.is_attached() => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes everything down that is the run's own; the first thing that goes wrong is told.
    pub(crate) fn take_down(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), LabError> {
        if self.system.as_ref().is_some_and(|system| !system.is_attached()) {
            progress(Progress::Step("taking the system down".to_owned()));
        }
        let topics = self.drop_topics();
        topics.and(self.system.take().map_or(Ok(()), System::stop))
    }
}
