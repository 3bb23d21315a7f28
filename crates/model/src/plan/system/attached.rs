//! An attached cluster: what it can do.

use super::kind::{Refusal, System};
use super::target::AttachedPlan;
use crate::plan::security::REDACTED;
use crate::plan::{ComponentPlan, Mechanism, Protocol, Sasl, TlsVersion};

impl System for AttachedPlan {
    fn target(&self) -> Option<&AttachedPlan> {
        Some(self)
    }

    fn target_mut(&mut self) -> Option<&mut AttachedPlan> {
        Some(self)
    }

    fn name(&self) -> &str {
        &self.target
    }

    fn kind(&self) -> String {
        format!("target {}", self.target)
    }

    fn runs_here(&self) -> bool {
        false
    }

    fn brokers(&self) -> Option<u32> {
        None
    }

    fn protocol(&self) -> (Protocol, Option<Mechanism>) {
        (self.security.protocol, self.security.sasl.as_ref().map(Sasl::mechanism))
    }

    fn tls(&self) -> &[TlsVersion] {
        self.security.tls.as_ref().map_or(&[], |tls| &tls.versions)
    }

    fn mbeans(&self) -> &[String] {
        self.metrics.as_ref().map_or(&[], |metrics| &metrics.mbeans)
    }

    fn refuses_proxy(&self, _proxy: &ComponentPlan) -> Option<Refusal> {
        Some((
            "no proxy is started before a target",
            "write `proxy: none`; the addresses of a running proxy can be a target's `bootstrap`",
        ))
    }

    fn without_zones(&self) -> &'static str {
        "a target's clients are where kdyno runs: leave `zone` out"
    }

    fn redact(&mut self) {
        self.bootstrap = vec![REDACTED.to_owned()];
        self.security.redact();
        self.metrics.iter_mut().for_each(|metrics| metrics.redact());
        self.topics.values_mut().for_each(|name| REDACTED.clone_into(name));
    }
}
