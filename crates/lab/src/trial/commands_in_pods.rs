//! Commands that pods run.

use super::Execution;
use super::variables::of_any_place;
use crate::clock::monotonic_ns;
use crate::command::EndCommand;
use crate::command_pods;
use kdyno_kubernetes::command_job::{CommandJob, SCRATCH};
use kdyno_model::plan::{CommandPlan, CommandPods};
use std::collections::BTreeMap;

/// How much longer than the measure phase its job may last, s: pods come late, and the lab deletes them.
const MARGIN_S: u64 = 60;

impl Execution<'_> {
    /// Makes the job. Gives the instant, CLOCK_MONOTONIC, ns, and what ends it.
    pub(super) fn start_in_pods(
        &self,
        item: &str,
        plan: &CommandPlan,
        pods: &CommandPods,
    ) -> Result<(u64, EndCommand), String> {
        let (context, case) = (self.context, &self.context.trial.effective);
        let like = context.generators.planned_pods();
        let pods = pods.like(like.ok_or("no generators with `kubernetes` say where its pods are made")?);
        let (_, end_ns) = self.measured_ns().unwrap_or_default();
        let left_ns = end_ns.saturating_sub(monotonic_ns()).min(plan.timeout_ns);
        // Kafka's scripts make a folder next to their program otherwise.
        let mut environment = BTreeMap::from([("LOG_DIR".to_owned(), SCRATCH.to_owned())]);
        environment.extend(of_any_place(context, &self.components.bootstrap(context.system)));
        environment.insert("KDYNO_ITEM".to_owned(), item.to_owned());
        environment.extend(plan.environment.clone());
        let job = CommandJob {
            deadline_s: left_ns / 1_000_000_000 + pods.wait_s + MARGIN_S,
            pods,
            run_id: context.run_id,
            trial: context.trial.id.0,
            place: case.commands.keys().position(|name| name == item).unwrap_or(0),
            run: plan.run.clone(),
            environment,
        };
        command_pods::start(item, &job, plan, self.inbox.sender())
    }
}
