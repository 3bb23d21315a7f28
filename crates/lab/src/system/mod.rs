//! The system under test as a run sees it: a local cluster that it owns, an attached one it is a guest of, a null broker, or a
//! cluster that Strimzi makes for it.

mod attached;
mod local;
mod null_broker;
mod strimzi;
mod under_test;

use crate::error::LabError;
use crate::options::RunOptions;
use crate::secrets::RunSecrets;
use kdyno_model::plan::{CasePlan, SystemPlan};
use kdyno_model::trial::TrialId;
pub use strimzi::strimzi_properties;
pub(crate) use under_test::SystemUnderTest;

/// Starts the system of a case, or makes sure that the one named is the one that answers. `partition_replicas` is how many
/// a local cluster will hold at once, so that its retention fits the disk; its processes do not inherit the environment
/// variables that hold secrets.
///
/// # Errors
/// It does not start, or another cluster answers.
pub(crate) fn provide(
    case: &CasePlan,
    (run_id, trial): (u64, TrialId),
    partition_replicas: u64,
    secrets: &RunSecrets,
    options: &mut RunOptions<'_>,
) -> Result<Box<dyn SystemUnderTest>, LabError> {
    Ok(match &case.system {
        SystemPlan::Local(plan) => {
            Box::new(local::start(plan, trial, partition_replicas, &secrets.variables(), options)?)
        }
        SystemPlan::Attached(plan) => Box::new(attached::attach(plan, case, trial, secrets, options)?),
        SystemPlan::NullBroker(plan) => Box::new(null_broker::start(plan, &secrets.variables(), options)?),
        SystemPlan::Strimzi(plan) => Box::new(strimzi::start(plan, (run_id, trial), options)?),
    })
}
