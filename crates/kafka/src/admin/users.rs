//! Users and what they may do: what the set-up of a secured cluster asks of it.

use super::{Admin, Deadline, Result, checked_text};
use crate::messages::{Api, m30_create_acls, m51_alter_user_scram_credentials};
use crate::security::Hidden;
use crate::security::sasl::scram::Hash;
use std::num::NonZeroU32;

const ALLOW: i8 = 3;
const ANY_HOST: &str = "*";

/// What a client may do with something, as an access control list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    /// `User:name`.
    pub principal: String,
    /// Kind of thing.
    pub resource: AclResource,
    /// Its name.
    pub name: String,
    /// Whether the name is the beginning of names.
    pub is_prefix: bool,
    /// What may be done.
    pub operation: Operation,
}

/// What access control lists are about, with Kafka's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
#[allow(missing_docs)]
pub enum AclResource {
    Topic = 2,
    Group = 3,
    Cluster = 4,
    TransactionalId = 5,
}

/// What may be done, with Kafka's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
#[allow(missing_docs)]
pub enum Operation {
    Read = 3,
    Write = 4,
    Create = 5,
    Delete = 6,
    Describe = 8,
    DescribeConfigs = 10,
    AlterConfigs = 11,
    IdempotentWrite = 12,
}

impl Admin {
    /// Lets a user log in by SCRAM with a password, which does not leave this process: what is sent is salted.
    ///
    /// # Errors
    /// The cluster refuses; one of KRaft before Kafka 3.5 cannot.
    pub fn set_scram_password(
        &mut self,
        user: &str,
        hash: Hash,
        password: &Hidden,
        (salt, iterations): (&[u8], NonZeroU32),
    ) -> Result<()> {
        checked_text("user", user)?;
        let api = &m51_alter_user_scram_credentials::API;
        let upsertion = m51_alter_user_scram_credentials::ScramCredentialUpsertion {
            name: user.to_owned(),
            mechanism: match hash {
                Hash::Sha256 => 1,
                Hash::Sha512 => 2,
            },
            iterations: iterations.get() as i32,
            salt: salt.to_vec(),
            salted_password: hash.salted_password(password.expose(), salt, iterations).expose().to_vec(),
        };
        let request =
            m51_alter_user_scram_credentials::Request { deletions: Vec::new(), upsertions: vec![upsertion] };
        self.retry(|admin, deadline| {
            let broker = admin.controller(deadline)?;
            let reply = broker.call(&request, deadline)?;
            let mut results = reply.results.iter();
            results.try_for_each(|one| {
                broker.check(api, " of a user", one.error_code, one.error_message.as_deref())
            })
        })
    }

    /// Adds access control lists.
    ///
    /// # Errors
    /// The cluster refuses, or has no authorizer.
    pub fn create_acls(&mut self, acls: &[Acl]) -> Result<()> {
        let api: &Api = &m30_create_acls::API;
        let creation = |acl: &Acl| m30_create_acls::AclCreation {
            resource_type: acl.resource as i8,
            resource_name: acl.name.clone(),
            resource_pattern_type: if acl.is_prefix { 4 } else { 3 },
            principal: acl.principal.clone(),
            host: ANY_HOST.to_owned(),
            operation: acl.operation as i8,
            permission_type: ALLOW,
        };
        let request = m30_create_acls::Request { creations: acls.iter().map(creation).collect() };
        self.retry(|admin, deadline: Deadline| {
            let broker = admin.controller(deadline)?;
            let reply = broker.call(&request, deadline)?;
            let mut results = reply.results.iter();
            results.try_for_each(|one| broker.check(api, "", one.error_code, one.error_message.as_deref()))
        })
    }
}
