//! Quotas of clients, set at a cluster that is ready.

use crate::error::TestbedError;
use kdyno_kafka::admin::{Access, QuotaDefault};
use kdyno_model::plan::{QuotaEach, QuotasPlan};
use std::time::Duration;

/// How long it may take; a quiet cluster needs some 10 ms.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Sets them. Topics and clients come later: brokers learn of the quotas before them.
pub(super) fn set(access: &Access, quotas: &QuotasPlan) -> Result<(), TestbedError> {
    let of = match quotas.each {
        QuotaEach::Client => QuotaDefault::ClientId,
        QuotaEach::User => QuotaDefault::User,
    };
    let admin = access.admin("kdyno-testbed", ANSWER_TIME_MAX);
    let set = admin.and_then(|mut admin| admin.set_default_quotas(of, &quotas.by_name()));
    set.map_err(|error| TestbedError::failed(format!("the cluster is up, but takes no quotas: {error}")))
}
