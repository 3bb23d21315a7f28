//! What clients of a secured cluster need to connect, as Kafka's own tools read it.

use super::config::{Settings, properties};
use super::secured::{LOGIN_MODULES, USER};
use kdyno_model::plan::{Sasl, Security, Store, StoreContent};
use kdyno_model::secret::Secret;
use std::collections::BTreeMap;

/// A Java client's properties: addresses, certificates, login. Values of secrets stand in it as they are.
pub(super) fn client_properties(
    bootstrap: &[String],
    security: &Security,
    secrets: &BTreeMap<String, Secret>,
) -> Secret {
    // Letters, digits and PEM: what is made for a cluster is text.
    let value = |name: &str| secrets.get(name).map(text).unwrap_or_default();
    let mut settings = Settings::new();
    let mut set = |name: &str, value: String| settings.insert(name.to_string(), value);
    set("bootstrap.servers", bootstrap.join(","));
    set("security.protocol", security.protocol.to_string());
    let tls = security.tls.as_ref();
    if let Some((certificates, _)) = tls.and_then(|tls| pem(tls.trust.as_ref())) {
        set("ssl.truststore.type", "PEM".to_string());
        set("ssl.truststore.certificates", certificates.to_string());
    }
    if let Some((certificates, Some(key))) = tls.and_then(|tls| pem(tls.identity.as_ref())) {
        set("ssl.keystore.type", "PEM".to_string());
        set("ssl.keystore.certificate.chain", certificates.to_string());
        set("ssl.keystore.key", value(key));
    }
    if let Some(sasl) = &security.sasl {
        set("sasl.mechanism", sasl.mechanism().to_string());
        set("sasl.jaas.config", login(sasl, &value));
    }
    Secret::new(properties(&settings).into_bytes())
}

fn text(secret: &Secret) -> String {
    String::from_utf8_lossy(secret.expose()).into_owned()
}

/// The certificates of a store, and the name of its key.
fn pem(store: Option<&Store>) -> Option<(&str, Option<&str>)> {
    match &store?.content {
        StoreContent::Pem { certificates, key } => Some((certificates, key.as_deref())),
        StoreContent::PemFile(_) | StoreContent::Pkcs12File(_) => None,
    }
}

/// `sasl.jaas.config`.
fn login(sasl: &Sasl, value: &dyn Fn(&str) -> String) -> String {
    let (module, options) = match sasl {
        Sasl::Plain { username, password } => {
            ("plain.PlainLoginModule", format!("username=\"{username}\" password=\"{}\"", value(password)))
        }
        Sasl::Scram { username, password, .. } => {
            ("scram.ScramLoginModule", format!("username=\"{username}\" password=\"{}\"", value(password)))
        }
        // Java's clients make such a token themselves, of the claim; ours take the one that is there.
        Sasl::OauthBearer { token, .. } => (
            "oauthbearer.OAuthBearerLoginModule",
            format!("unsecuredLoginStringClaim_sub=\"{USER}\" token=\"{}\"", value(token)),
        ),
    };
    format!("{LOGIN_MODULES}.{module} required {options};")
}

#[cfg(test)]
mod tests {
    use super::super::secured::tests::made;
    use super::*;
    use kdyno_model::jaas;
    use kdyno_model::plan::{Mechanism, Protocol};
    use kdyno_model::properties::Properties;

    /// As a Java client reads them.
    fn read(mechanism: Option<Mechanism>, protocol: Protocol) -> (Properties, BTreeMap<String, Secret>) {
        let (layout, secured) = made(mechanism, protocol, Protocol::Ssl);
        let security = secured.clients();
        let secrets = secured.into_secrets();
        let file = client_properties(&layout.bootstrap(), &security, &secrets);
        (Properties::parse(file.expose()).expect("properties"), secrets)
    }

    #[test]
    fn a_client_finds_addresses_certificates_and_login() {
        let (read, secrets) = read(Some(Mechanism::ScramSha512), Protocol::SaslSsl);
        let password = text(secrets.values().next_back().expect("the password"));
        assert_eq!(read.get("security.protocol"), Some("SASL_SSL"));
        assert!(read.get("bootstrap.servers").is_some_and(|text| text.starts_with("127.0.0.1:")));
        assert_eq!(read.get("ssl.truststore.type"), Some("PEM"));
        let trusted = read.get("ssl.truststore.certificates").unwrap_or_default();
        assert!(trusted.starts_with("-----BEGIN CERTIFICATE-----\n"), "{trusted}");
        assert_eq!(read.get("sasl.mechanism"), Some("SCRAM-SHA-512"));
        let login = format!(
            "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"kdyno\" password=\"{password}\";"
        );
        assert_eq!(read.get("sasl.jaas.config"), Some(login.as_str()));
        assert_eq!(read.get("ssl.keystore.key"), None, "nobody asks for a certificate");
    }

    #[test]
    fn each_login_is_read_back_with_its_secret() {
        for (mechanism, module, option) in [
            (Mechanism::Plain, "PlainLoginModule", "password"),
            (Mechanism::ScramSha256, "ScramLoginModule", "password"),
            (Mechanism::OauthBearer, "OAuthBearerLoginModule", "token"),
        ] {
            let (read, secrets) = read(Some(mechanism), Protocol::SaslPlaintext);
            let secret = text(secrets.values().next_back().expect("the secret"));
            let login = jaas::parse(read.get("sasl.jaas.config").unwrap_or_default()).expect("a login");
            assert_eq!((login.name(), login.options.get(option)), (module, Some(&secret)));
            assert_eq!(read.get("ssl.truststore.type"), None, "nobody speaks TLS");
        }
    }

    #[test]
    fn a_client_without_login_is_told_of_none() {
        let (read, _) = read(None, Protocol::Ssl);
        assert_eq!((read.get("security.protocol"), read.get("sasl.jaas.config")), (Some("SSL"), None));
    }
}
