//! The listeners of a local cluster: how clients reach it, and how its nodes reach each other.

use super::security::{Mechanism, Protocol, TlsVersion};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Listeners of a local cluster. Certificates, users and ACLs are made for each start, and gone with it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listeners {
    /// Where clients connect.
    pub clients: ClientListener,
    /// How brokers and controllers speak to each other: PLAINTEXT, or SSL with certificates at both ends.
    #[serde(default)]
    pub internal: Protocol,
    /// Whether an authorizer lets clients do only what their ACLs allow, which is what a run needs.
    #[serde(default)]
    pub authorizer: bool,
}

/// The listener where clients connect.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientListener {
    /// Its security protocol.
    pub protocol: Protocol,
    /// How clients log in; there exactly when [`Protocol::has_sasl`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<Mechanism>,
    /// Versions of TLS that it speaks; not empty when [`Protocol::has_tls`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<TlsVersion>,
    /// Whether clients must show a certificate (`ssl.client.auth=required`).
    #[serde(default)]
    pub client_certificates: bool,
}

impl Listeners {
    /// The names of protocols that the internal listener may have.
    pub const INTERNAL: [&str; 2] = [Protocol::NAMES[0], Protocol::NAMES[1]];

    /// Whether no client has to authenticate.
    pub fn are_plain(&self) -> bool {
        *self == Self::default()
    }

    /// What cannot be: one lowercase sentence.
    ///
    /// # Errors
    /// The first thing that does not go together.
    pub fn check(&self) -> Result<(), &'static str> {
        let ClientListener { protocol, mechanism, tls, client_certificates } = &self.clients;
        if self.internal.has_sasl() {
            return Err("the internal listener is PLAINTEXT or SSL: brokers are up before there are users");
        }
        if protocol.has_sasl() && mechanism.is_none() {
            return Err("SASL_PLAINTEXT and SASL_SSL need a login: `sasl` names its mechanism");
        }
        if mechanism.is_some() && !protocol.has_sasl() {
            return Err("a login (sasl) goes with SASL_PLAINTEXT and SASL_SSL, and with no other protocol");
        }
        if protocol.has_tls() == tls.is_empty() || (*client_certificates && !protocol.has_tls()) {
            return Err(
                "TLS versions and client certificates go with SSL and SASL_SSL, and with no other protocol",
            );
        }
        if self.authorizer && !protocol.has_sasl() && !client_certificates {
            return Err(
                "an authorizer needs authenticated clients: by a login (sasl), or by client certificates",
            );
        }
        Ok(())
    }
}

/// In words: protocols, login, versions of TLS.
impl fmt::Display for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClientListener { protocol, mechanism, tls, client_certificates } = &self.clients;
        write!(f, "clients {protocol}")?;
        mechanism.iter().try_for_each(|mechanism| write!(f, " {mechanism}"))?;
        tls.iter().try_for_each(|version| write!(f, " {version}"))?;
        f.write_str(if *client_certificates { " with client certificates" } else { "" })?;
        write!(f, ", internal {}{}", self.internal, if self.authorizer { ", ACLs" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incompatible_listener_settings_are_reported() {
        let secured = Listeners {
            clients: ClientListener {
                protocol: Protocol::SaslSsl,
                mechanism: Some(Mechanism::ScramSha512),
                tls: vec![TlsVersion::Tls12, TlsVersion::Tls13],
                client_certificates: true,
            },
            internal: Protocol::Ssl,
            authorizer: true,
        };
        assert_eq!((secured.check(), Listeners::default().check()), (Ok(()), Ok(())));
        assert_eq!(
            secured.to_string(),
            "clients SASL_SSL SCRAM-SHA-512 TLSv1.2 TLSv1.3 with client certificates, internal SSL, ACLs"
        );
        let reported = |change: &dyn Fn(&mut Listeners)| {
            let mut listeners = secured.clone();
            change(&mut listeners);
            listeners.check().expect_err("refused")
        };
        for name in Protocol::NAMES {
            let internal = name.parse().expect("a protocol");
            let is_allowed = Listeners { internal, ..secured.clone() }.check().is_ok();
            assert_eq!(is_allowed, Listeners::INTERNAL.contains(name), "{name}");
        }
        assert!(reported(&|it| it.internal = Protocol::SaslSsl).contains("before there are users"));
        assert!(reported(&|it| it.clients.mechanism = None).contains("need a login"));
        assert!(reported(&|it| it.clients.protocol = Protocol::Ssl).contains("a login (sasl)"));
        assert!(reported(&|it| it.clients.tls.clear()).contains("TLS versions"));
        assert!(reported(&|it| it.clients.protocol = Protocol::SaslPlaintext).contains("TLS versions"));
        let anonymous = |it: &mut Listeners| {
            it.clients.protocol = Protocol::Ssl;
            it.clients.mechanism = None;
            it.clients.client_certificates = false;
        };
        assert!(reported(&anonymous).contains("authenticated clients"));
    }
}
