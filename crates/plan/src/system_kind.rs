//! The kinds of systems: by what the scenario says which one is planned, and what a stored one may be.

use crate::choices::PlanError;
use crate::null_broker::{VALUE_BYTES_MAX, null_broker};
use crate::reader::CaseReader;
use crate::stored::refusal::{KeyPath, Passed};
use crate::stored::system as stored;
use crate::system::cluster;
use kdyno_model::plan::{NullBrokerPlan, PHASE_NS_MAX, SystemPlan, TlsVersion};
use kdyno_scenario::file::KafkaFile;
use kdyno_scenario::keys::NULL_BROKER;
use kdyno_scenario::target::Target;

/// The target, or else what the `system` section describes.
pub(crate) fn system(reader: &CaseReader<'_>, target: Option<&Target>) -> Result<SystemPlan, PlanError> {
    // The section is read with a target too: an error in it must not wait for another run to show.
    let KafkaFile { key, value } = &reader.scenario.typed().system.kafka;
    let own = match key.as_str() {
        "null_broker" => SystemPlan::NullBroker(null_broker(reader, Some(value))?),
        "kafka" if reader.text(value)? == NULL_BROKER => SystemPlan::NullBroker(null_broker(reader, None)?),
        _ => match &reader.scenario.typed().system.strimzi {
            Some(typed) => SystemPlan::Strimzi(crate::strimzi::strimzi(reader, typed)?),
            None => SystemPlan::Local(cluster(reader)?),
        },
    };
    Ok(target.map_or(own, |target| SystemPlan::Attached(target.attached.clone())))
}

/// The gate of a stored system.
pub(crate) fn gate(at: &KeyPath<'_>, system: &SystemPlan) -> Passed {
    match system {
        SystemPlan::Local(of) => stored::cluster(at, of),
        SystemPlan::NullBroker(NullBrokerPlan { tls, fetch_value_bytes, is_second: _ }) => {
            at.key("tls").within(tls.len(), 0..=TlsVersion::ALL.len())?;
            let bytes = fetch_value_bytes.map(u64::from);
            at.key("fetch_value_bytes").may_be_within(bytes, 0..=VALUE_BYTES_MAX)
        }
        // A file of the user's takes its place, or the run is not started; how long its windows are to be stays.
        SystemPlan::Attached(of) => at.key("sustain_ns").may_be_within(of.sustain_ns, 1..=PHASE_NS_MAX),
        // Pods and volumes, in whatever cluster is the user's current context.
        SystemPlan::Strimzi(_) => at.holds(false, "makes brokers in your Kubernetes cluster"),
    }
}
