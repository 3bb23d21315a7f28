//! A local cluster: what it can do.

use super::cluster::ClusterPlan;
use super::kind::{Refusal, System};
use crate::plan::{ClientListener, ComponentPlan, Mechanism, Protocol, TlsVersion};

impl System for ClusterPlan {
    fn cluster(&self) -> Option<&ClusterPlan> {
        Some(self)
    }

    fn cluster_mut(&mut self) -> Option<&mut ClusterPlan> {
        Some(self)
    }

    fn name(&self) -> &str {
        "a local cluster"
    }

    fn kind(&self) -> String {
        "local cluster".to_owned()
    }

    fn runs_here(&self) -> bool {
        true
    }

    fn brokers(&self) -> Option<u32> {
        Some(self.brokers)
    }

    fn protocol(&self) -> (Protocol, Option<Mechanism>) {
        (self.listeners.clients.protocol, self.listeners.clients.mechanism)
    }

    fn tls(&self) -> &[TlsVersion] {
        &self.listeners.clients.tls
    }

    fn listener(&self) -> Option<ClientListener> {
        Some(self.listeners.clients.clone())
    }

    fn refuses_proxy(&self, proxy: &ComponentPlan) -> Option<Refusal> {
        if self.zones.is_some() {
            return Some(("a proxy and `zones` are not there together", "leave one of them out"));
        }
        let certificate = (
            "Kroxylicious cannot hand on the certificate of a client",
            "write `certificates: none`: a login passes through it",
        );
        (self.listeners.clients.client_certificates && proxy.is_kdynos_own()).then_some(certificate)
    }

    fn without_zones(&self) -> &'static str {
        "write e.g. `zones: {brokers: [a], clients: [b], delay: 0.5ms}` in `system`"
    }

    fn set_second(&mut self, is_second: bool) {
        self.is_second = is_second;
    }
}
