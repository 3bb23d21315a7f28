//! What those around a trial are told: its workers, and the watch of its cluster.

use super::TrialContext;
use crate::cluster_watch::Watched;
use crate::task::{self, TICK_NS};
use crate::topics::topic_name;
use kdyno_model::plan::WorkerPlan;
use kdyno_model::worker::WorkerTask;

/// What a worker of the trial is to do.
pub(super) fn worker_task(context: &TrialContext<'_>, planned: &WorkerPlan) -> WorkerTask {
    let case = &context.trial.effective;
    // As with topics: no other trial's group can be meant.
    let id = |name: &str| topic_name(context.system.prefix(), context.run_id, name, context.trial.id);
    let streams = task::in_groups(task::streams(context.trial, planned, context.topics), id);
    let streams = context.java_clients.carry(case, streams);
    WorkerTask {
        worker: planned.worker,
        run_id: context.run_id,
        wall_offset_ns: context.wall_offset_ns,
        bootstrap: context.system.access().bootstrap,
        security: context.system.security(),
        client_id_prefix: context.system.prefix().to_owned(),
        phases: case.phases,
        has_producers: !task::producing(context.trial).is_empty(),
        tick_ns: TICK_NS,
        streams,
    }
}

/// What the watch of the cluster has to know.
pub(super) fn watched(context: &TrialContext<'_>) -> Watched {
    Watched {
        access: context.system.access(),
        prefix: context.system.prefix().to_owned(),
        topics: context.topics.clone(),
        abort: context.system.abort_watch(),
    }
}
