//! A null broker: what it is made of, and what it can do.

use super::kind::{Refusal, System};
use crate::plan::{ClientListener, ComponentPlan, Mechanism, Protocol, Role, TlsVersion};
use crate::units;
use serde::{Deserialize, Serialize};

/// A null broker: one process of this host, started and ended with the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NullBrokerPlan {
    /// Versions of TLS that it speaks, each once; empty: it is spoken to in PLAINTEXT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<TlsVersion>,
    /// Bytes of each value that fetches are answered with, from logs without end; `None`: they are answered with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_value_bytes: Option<u32>,
    /// The second of two alike, as of [`ClusterPlan`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_second: bool,
}

impl System for NullBrokerPlan {
    fn name(&self) -> &str {
        "a null broker"
    }

    fn kind(&self) -> String {
        "null broker".to_owned()
    }

    fn peculiarity(&self) -> Option<&'static str> {
        Some("keeps nothing")
    }

    fn lines(&self) -> Vec<String> {
        let versions: Vec<String> = self.tls.iter().map(ToString::to_string).collect();
        let protocol = if versions.is_empty() { "PLAINTEXT".to_owned() } else { versions.join(" ") };
        let mut lines = vec![format!(
            "null broker, {protocol}: no Kafka; it acknowledges everything and keeps nothing, so figures are of the client \
             alone"
        )];
        let value = self.fetch_value_bytes.map(|bytes| units::size(u64::from(bytes)));
        lines.extend(value.map(|value| format!("consumers read made-up values of {value} without end")));
        lines
    }

    fn is_kafka(&self) -> bool {
        false
    }

    fn runs_here(&self) -> bool {
        true
    }

    fn brokers(&self) -> Option<u32> {
        Some(1)
    }

    fn protocol(&self) -> (Protocol, Option<Mechanism>) {
        (if self.tls.is_empty() { Protocol::Plaintext } else { Protocol::Ssl }, None)
    }

    fn tls(&self) -> &[TlsVersion] {
        &self.tls
    }

    fn listener(&self) -> Option<ClientListener> {
        let (protocol, tls) = (Protocol::Ssl, self.tls.clone());
        (!tls.is_empty()).then(|| ClientListener { protocol, tls, ..ClientListener::default() })
    }

    // It keeps no record: what is read from it is made up, and it knows nothing of groups.
    fn refuses_role(&self, role: &Role) -> Option<Refusal> {
        match role {
            Role::Produce(_) => None,
            Role::Consume(consume) if consume.group.is_some() => {
                Some(("is a group, and a null broker coordinates none", "leave `group` out"))
            }
            Role::Consume(_) if self.fetch_value_bytes.is_some() => None,
            Role::Consume(_) => Some((
                "reads, and a null broker has nothing to be read",
                "write `kafka: {null_broker: 1KiB}`: its logs then have no end, and values of that size",
            )),
            Role::EndToEnd(_) => Some((
                "reads what it has sent, and a null broker keeps no record",
                "take the probe out, or name a release of Kafka",
            )),
        }
    }

    fn refuses_proxy(&self, _proxy: &ComponentPlan) -> Option<Refusal> {
        Some(("a null broker cannot be behind a proxy", "write `proxy: none`, or name a release of Kafka"))
    }

    fn without_zones(&self) -> &'static str {
        "a null broker is near its clients: leave `zone` out"
    }

    fn set_second(&mut self, is_second: bool) {
        self.is_second = is_second;
    }
}
