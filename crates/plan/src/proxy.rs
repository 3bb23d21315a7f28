//! The proxy between clients and brokers, planned as the first component of its case.

use crate::choices::PlanError;
use crate::component::{STOP_NS, component};
use crate::reader::CaseReader;
use kdyno_model::plan::{
    ComponentKind, ComponentPlan, KROXYLICIOUS, PROXY, ProxyPlan, ReadyWhen, StopSignal, SystemPlan,
};
use kdyno_scenario::file::ProxyFile;
use kdyno_scenario::keys::PROXIES;
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// How long Kroxylicious may take until it listens: a JVM on a busy host.
const READY_WITHIN_NS: u64 = 60_000_000_000;

/// The proxy of the case, if it has one.
pub(crate) fn proxy(
    reader: &CaseReader<'_>,
    system: &SystemPlan,
) -> Result<Option<ComponentPlan>, PlanError> {
    let (typed, plan) = match &reader.scenario.typed().system.proxy {
        ProxyFile::Word(word) => match one_of(reader, word)?.as_str() {
            "none" => return Ok(None),
            _ => (word, kroxylicious()),
        },
        ProxyFile::Program(name, file) => {
            let mut plan = component(reader, name, file)?;
            if let ComponentKind::Command(words) = plan.kind {
                plan.kind = ComponentKind::Proxy(ProxyPlan::Command(words));
            }
            (name, plan)
        }
    };
    match system.refuses_proxy(&plan) {
        Some((why, hint)) => Err(reader.wrong(typed, format!("`proxy`: {why}")).hint(hint)),
        None => Ok(Some(plan)),
    }
}

/// The word, or what to write in its place.
fn one_of(reader: &CaseReader<'_>, word: &Scalar) -> Result<String, PlanError> {
    reader.word(word, "proxy", PROXIES).map_err(|error| {
        if error.hint.is_some() {
            return error;
        }
        error.hint("any other one is started by its command: `proxy: {command: …}`")
    })
}

fn kroxylicious() -> ComponentPlan {
    ComponentPlan {
        name: PROXY.to_owned(),
        kind: ComponentKind::Proxy(ProxyPlan::Kroxylicious(KROXYLICIOUS.to_owned())),
        environment: BTreeMap::new(),
        ready: ReadyWhen::Port,
        ready_within_ns: READY_WITHIN_NS,
        stop_signal: StopSignal::Term,
        stop_within_ns: STOP_NS,
    }
}
