//! Recommended settings of hosts, disks, brokers, topics and clients, as data, and what of a system does not follow them.
//!
//! [`observed`] is what somebody looked up, [`examine`] holds it against the tables of [`rules`], and each
//! [`Advice`] says what is, what is recommended, why, who says so and how it is changed. [`text`], [`json`] and
//! [`script`] are the forms in which people get it. Nothing here looks anything up or changes anything.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod advice;
mod expect;
mod kafka_tool;
mod measured;
pub mod observed;
mod quote;
mod rules;
mod script;
mod text;

pub use advice::{Advice, AdviceDocument, AdviceSeverity, AdviceStatus, SettingChange, json_schema};
pub use measured::{
    DiskRound, MeasuredDisk, MeasuredNetwork, NetworkRound, measured_network_text, measured_text,
};
pub use observed::Observed;
pub use rules::host::{HostSource, LOOKED_UP};
pub use script::script;
pub use text::text;

/// Holds what was observed against every recommendation: those of the host first, then disks, brokers, topics, clients.
#[must_use]
pub fn examine(observed: &Observed) -> Vec<Advice> {
    let mut all = Vec::new();
    if let Some(host) = &observed.host {
        all.extend(rules::host::examine(host));
    }
    all.extend(rules::disks::examine(&observed.disks));
    let cluster = observed.cluster.as_ref();
    all.extend(rules::brokers::examine(&observed.brokers, cluster, observed.broker_memory_bytes));
    all.extend(rules::topics::examine(&observed.topics, observed.brokers.len(), cluster));
    all.extend(rules::clients::examine(&observed.clients, &observed.topics, observed.client_processors));
    all
}
