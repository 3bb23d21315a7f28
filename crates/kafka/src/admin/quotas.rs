//! Quotas of clients.

use super::{Admin, Result};
use crate::messages::m49_alter_client_quotas as quotas;

/// Whom a quota binds where none of its own is set, by Kafka's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaDefault {
    /// Each client id.
    ClientId,
    /// Each user.
    User,
}

impl Admin {
    /// Sets quotas of the default client id or of the default user: Kafka's names, with values in Kafka's units.
    ///
    /// # Errors
    /// The cluster refuses, or does not answer in time.
    pub fn set_default_quotas(&mut self, of: QuotaDefault, limits: &[(&str, f64)]) -> Result<()> {
        let request = request(of, limits);
        self.retry(|admin, deadline| {
            let broker = admin.controller(deadline)?;
            let reply = broker.call(&request, deadline)?;
            let mut entries = reply.entries.iter();
            entries.try_for_each(|entry| {
                let message = entry.error_message.as_deref();
                broker.check(&quotas::API, " of quotas", entry.error_code, message)
            })
        })
    }
}

fn request(of: QuotaDefault, limits: &[(&str, f64)]) -> quotas::Request {
    let entity_type = match of {
        QuotaDefault::ClientId => "client-id",
        QuotaDefault::User => "user",
    };
    // Without a name it is the default.
    let entity = quotas::EntityData { entity_type: entity_type.to_owned(), entity_name: None };
    let set = |&(key, value): &(&str, f64)| quotas::OpData { key: key.to_owned(), value, remove: false };
    let entry = quotas::EntryData { entity: vec![entity], ops: limits.iter().map(set).collect() };
    quotas::Request { entries: vec![entry], validate_only: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_no_name() {
        for (of, wanted) in [(QuotaDefault::ClientId, "client-id"), (QuotaDefault::User, "user")] {
            let request = request(of, &[("producer_byte_rate", 400_000.0), ("request_percentage", 12.5)]);
            let [entry] = request.entries.as_slice() else { panic!("one entry: {request:?}") };
            let entity: Vec<_> = entry
                .entity
                .iter()
                .map(|one| (one.entity_type.as_str(), one.entity_name.as_deref()))
                .collect();
            assert_eq!(entity, [(wanted, None)]);
            let set: Vec<_> = entry.ops.iter().map(|op| (op.key.as_str(), op.value, op.remove)).collect();
            let all = [("producer_byte_rate", 400_000.0, false), ("request_percentage", 12.5, false)];
            assert_eq!(set, all);
            assert!(!request.validate_only);
        }
    }
}
