//! A null broker: ours, and no cluster. It does nothing, so that clients are measured alone.

use super::under_test::SystemUnderTest;
use crate::error::LabError;
use crate::null_broker::NullBroker;
use crate::options::{RunOptions, RunProgress};
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use kdyno_model::plan::{NullBrokerPlan, Security};
use kdyno_testbed::process::ProcessRef;
use std::collections::BTreeMap;

/// A null broker that runs. It ends when it is dropped.
pub(super) struct Null {
    access: Access,
    broker: NullBroker,
}

/// Starts one. Its topics are made as those of a cluster are.
///
/// # Errors
/// It does not get ready.
pub(super) fn start(
    plan: &NullBrokerPlan,
    hidden: &[String],
    options: &mut RunOptions<'_>,
) -> Result<Null, LabError> {
    (options.progress)(RunProgress::Step("starting a null broker …".to_owned()));
    let broker = NullBroker::start(&options.self_exe, 1, plan, hidden);
    let broker = broker.map_err(|why| LabError::System { why })?;
    let security = kdyno_credentials::security(broker.security(), &|_| None)?;
    Ok(Null { access: Access { bootstrap: vec![broker.address().to_owned()], security }, broker })
}

impl SystemUnderTest for Null {
    fn access(&self) -> Access {
        self.access.clone()
    }

    fn security(&self) -> Security {
        self.broker.security().clone()
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let protocol = self.broker.security().protocol.to_string();
        let facts = [("brokers", "1"), ("kafka", "null broker"), ("protocol", &protocol)];
        facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn processes(&self) -> Vec<ProcessRef> {
        vec![ProcessRef::new(Subject::Broker(0), self.broker.pid())]
    }

    fn ended(&self) -> BTreeMap<Subject, String> {
        self.broker.ended().map(|how| (Subject::Broker(0), how)).into_iter().collect()
    }
}
