//! How the brokers of a cluster are reached.

use super::{Admin, Result};
use crate::security::ConnectionSecurity;
use std::time::Duration;

/// Addresses of a cluster, and how connections to them are secured.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `host:port` to ask first.
    pub bootstrap: Vec<String>,
    /// TLS and login.
    pub security: ConnectionSecurity,
}

impl Access {
    /// Without TLS and login.
    pub fn plaintext(bootstrap: Vec<String>) -> Self {
        Self { bootstrap, security: ConnectionSecurity::default() }
    }

    /// As [`Admin::connect`], in this way.
    ///
    /// # Errors
    /// As [`Admin::connect`].
    pub fn admin(&self, client_id: &str, timeout: Duration) -> Result<Admin> {
        Admin::connect_by(self.security.clone(), &self.bootstrap, client_id, timeout)
    }
}
