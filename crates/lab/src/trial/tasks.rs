//! The tasks of those around a trial: its workers, and the watch of its cluster.

use super::TrialContext;
use crate::cluster_watch::WatchOptions;
use crate::logs_watch::WatchedLogs;
use crate::task::{self, TICK_NS};
use crate::topics::topic_name;
use kdyno_model::plan::{ConsumePlan, Role, WorkerPlan};
use kdyno_model::worker::WorkerTask;

impl TrialContext<'_> {
    /// What a worker of the trial is to do; `bootstrap` is what its clients ask first.
    pub(super) fn worker_task(&self, planned: &WorkerPlan, bootstrap: Vec<String>) -> WorkerTask {
        let case = &self.trial.effective;
        // As with topics: no other trial's group can be meant.
        let id = |name: &str| topic_name(self.system.prefix(), self.run_id, name, self.trial.id);
        let streams = task::in_groups(task::streams(self.trial, planned, self.topics), id);
        let mut streams = self.drivers.carry(case, streams);
        for stream in &mut streams {
            let zone = case.load.get(&stream.name).and_then(|item| item.zone.as_deref());
            stream.bootstrap = zone.and_then(|zone| self.system.bootstrap_of(zone)).unwrap_or_default();
        }
        WorkerTask {
            worker: planned.worker,
            run_id: self.run_id,
            wall_offset_ns: self.wall_offset_ns,
            bootstrap,
            security: self.system.security(),
            client_id_prefix: self.system.prefix().to_owned(),
            phases: case.phases,
            has_producers: !task::producing(self.trial).is_empty(),
            tick_ns: TICK_NS,
            streams,
        }
    }

    /// What the watch of the cluster has to know.
    pub(super) fn watched(&self) -> WatchOptions {
        WatchOptions {
            access: self.system.access(),
            prefix: self.system.prefix().to_owned(),
            topics: self.topics.clone(),
            abort: self.system.abort_watch(),
        }
    }

    /// What the reader of logs and groups has to know.
    pub(super) fn watched_logs(&self) -> WatchedLogs {
        // Where the clients of an item are spread over several topics each has a group of its own: they are not watched.
        let load = self.trial.effective.load.values().filter(|item| item.stream_count() == 1);
        let groups = load.filter_map(|item| match &item.role {
            Role::Consume(ConsumePlan { group: Some(group), .. }) if group.id.is_none() => Some(&group.name),
            _ => None,
        });
        let id = |name: &String| topic_name(self.system.prefix(), self.run_id, name, self.trial.id);
        let target = self.trial.effective.system.target();
        WatchedLogs {
            access: self.system.access(),
            prefix: self.system.prefix().to_owned(),
            topics: self.topics.clone(),
            groups: groups.map(|name| (id(name), name.clone())).collect(),
            named: target.map_or_else(Vec::new, |target| target.groups.clone()),
        }
    }
}
