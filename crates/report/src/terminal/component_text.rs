//! A component, in words: what is started, when it is ready, how it is ended.

use kdyno_model::plan::{ComponentKind, ComponentPlan, ProxyPlan};
use kdyno_model::units::length;

/// What is started, and until when what comes after it waits; further lines say with what.
pub(super) fn component_lines(component: &ComponentPlan) -> Vec<String> {
    let within = length(component.ready_within_ns);
    let (name, ready) = (&component.name, component.ready.described());
    let mut lines = match &component.kind {
        ComponentKind::Command(_) => vec![
            format!("{name}: ready when {ready}, within {within}; it is a program of this host, run as you"),
            format!("  {}", component.line()),
        ],
        ComponentKind::Proxy(ProxyPlan::Command(_)) => vec![
            format!(
                "{name}: clients are sent to it; ready when {ready}, within {within}; it is a program of this host, run as you"
            ),
            format!("  {}", component.line()),
        ],
        ComponentKind::Proxy(ProxyPlan::Kroxylicious(_)) => {
            vec![format!("{name}: clients are sent to it: {}; ready within {within}", component.line())]
        }
        ComponentKind::Postgres(plan) => {
            let settings = plan.settings.iter().map(|(name, value)| format!(" {name}={value}"));
            let settings: String = settings.collect();
            let comma = if settings.is_empty() { "" } else { "," };
            vec![format!("{name}: {}{comma}{settings}; ready within {within}", component.line())]
        }
    };
    if !component.environment.is_empty() {
        let set = component.environment.iter().map(|(name, value)| format!("{name}={value}"));
        lines.push(format!("  with {}", set.collect::<Vec<_>>().join(" ")));
    }
    let within = length(component.stop_within_ns);
    lines.push(format!("  ended by SIG{}, killed {within} later", component.stop_signal));
    lines
}
