//! What reports say of the system under test: what only one kind has to say is in its file.

mod attached;
mod local;
mod null_broker;
mod words;

use kdyno_model::plan::SystemPlan;
pub(crate) use words::SystemWords;

/// Who speaks for a system.
pub(crate) fn shown(system: &SystemPlan) -> &dyn SystemWords {
    match system {
        SystemPlan::Local(cluster) => cluster,
        SystemPlan::Attached(target) => target,
        SystemPlan::NullBroker(broker) => broker,
    }
}
