//! What Java clients need to connect to a cluster, as Kafka's own tools and its client library read it.

use super::config::{ConfigValues, properties};
use super::secured::{LOGIN_MODULES, USER};
use kdyno_model::plan::{Sasl, Security, Store, StoreContent, Tls};
use kdyno_model::secret::Secret;

/// The class of the Java driver that hands out the newest token that its worker has given it.
const TOKEN_HANDLER: &str = "kdyno.driver.Token";

/// Who hands a login of OAUTHBEARER its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFrom {
    /// Kafka's own clients make an unsigned one, of the claim that is in the login: for clusters made for a run.
    Claim,
    /// The Java driver gives the one that its worker has; tokens expire, and these properties do not change with them.
    Driver,
}

/// A Java client's properties file: addresses, certificates, login. Values of secrets, which `value` gives by their names
/// in the plan, are in it as they are; one that has no value is empty there.
pub fn client_properties<'s>(
    bootstrap: &[String],
    security: &Security,
    value: &dyn Fn(&str) -> Option<&'s Secret>,
    tokens: TokenFrom,
) -> Secret {
    let value = |name: &str| value(name).map(text).unwrap_or_default();
    let mut settings = ConfigValues::new();
    let mut set = |name: &str, value: String| drop(settings.insert(name.to_string(), value));
    set("bootstrap.servers", bootstrap.join(","));
    set("security.protocol", security.protocol.to_string());
    if let Some(tls) = &security.tls {
        of_tls(tls, &value, &mut set);
    }
    if let Some(sasl) = &security.sasl {
        set("sasl.mechanism", sasl.mechanism().to_string());
        set("sasl.jaas.config", login(sasl, &value, tokens));
        if let (Sasl::OauthBearer { .. }, TokenFrom::Driver) = (sasl, tokens) {
            set("sasl.login.callback.handler.class", TOKEN_HANDLER.to_string());
            // The lab asks for the newer token after 70 % of its time. With these the client takes it after 80 to 85 %; by its
            // defaults it would take one that lasts less than 17 minutes before that.
            for name in ["sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds"] {
                set(name, "0".to_owned());
            }
        }
    }
    Secret::new(properties(&settings).into_bytes())
}

/// Passwords, keys and tokens are text.
fn text(secret: &Secret) -> String {
    String::from_utf8_lossy(secret.expose()).into_owned()
}

/// `ssl.*`.
fn of_tls(tls: &Tls, value: &dyn Fn(&str) -> String, set: &mut dyn FnMut(&str, String)) {
    if let Some(store) = &tls.trust {
        match &store.content {
            StoreContent::Pem { certificates, .. } => {
                set("ssl.truststore.type", "PEM".to_string());
                set("ssl.truststore.certificates", certificates.clone());
            }
            StoreContent::PemFile(_) | StoreContent::Pkcs12File(_) => {
                file("ssl.truststore", store, value, set)
            }
        }
    }
    if let Some(store) = &tls.identity {
        match &store.content {
            StoreContent::Pem { certificates, key } => {
                set("ssl.keystore.type", "PEM".to_string());
                set("ssl.keystore.certificate.chain", certificates.clone());
                if let Some(key) = key {
                    set("ssl.keystore.key", value(key));
                }
            }
            StoreContent::PemFile(_) | StoreContent::Pkcs12File(_) => file("ssl.keystore", store, value, set),
        }
        if let Some(password) = &store.key_password {
            set("ssl.key.password", value(password));
        }
    }
    let algorithm = if tls.hostname_check { "https" } else { "" };
    set("ssl.endpoint.identification.algorithm", algorithm.to_string());
    let versions: Vec<String> = tls.versions.iter().map(ToString::to_string).collect();
    set("ssl.enabled.protocols", versions.join(","));
    if !tls.ciphers.is_empty() {
        set("ssl.cipher.suites", tls.ciphers.join(","));
    }
}

/// A store in a file, with what opens it.
fn file(prefix: &str, store: &Store, value: &dyn Fn(&str) -> String, set: &mut dyn FnMut(&str, String)) {
    let (kind, path) = match &store.content {
        StoreContent::PemFile(path) => ("PEM", path),
        StoreContent::Pkcs12File(path) => ("PKCS12", path),
        StoreContent::Pem { .. } => return,
    };
    set(&format!("{prefix}.type"), kind.to_string());
    set(&format!("{prefix}.location"), path.display().to_string());
    if let Some(password) = &store.password {
        set(&format!("{prefix}.password"), value(password));
    }
}

/// `sasl.jaas.config`.
fn login(sasl: &Sasl, value: &dyn Fn(&str) -> String, tokens: TokenFrom) -> String {
    let user = |username: &str, password: &str| {
        format!(" username={} password={}", quoted(username), quoted(&value(password)))
    };
    let (module, options) = match sasl {
        Sasl::Plain { username, password } => ("plain.PlainLoginModule", user(username, password)),
        Sasl::Scram { username, password, is_delegation_token, .. } => {
            let kind = if *is_delegation_token { " tokenauth=\"true\"" } else { "" };
            ("scram.ScramLoginModule", user(username, password) + kind)
        }
        Sasl::OauthBearer { token, extensions } => {
            let extension = |(name, text): (&String, &String)| format!(" extension_{name}={}", quoted(text));
            let options = match tokens {
                // Java's clients make such a token themselves, of the claim; ours take the one that is there.
                TokenFrom::Claim => {
                    format!(" unsecuredLoginStringClaim_sub={} token={}", quoted(USER), quoted(&value(token)))
                }
                TokenFrom::Driver => extensions.iter().map(extension).collect(),
            };
            ("oauthbearer.OAuthBearerLoginModule", options)
        }
    };
    format!("{LOGIN_MODULES}.{module} required{options};")
}

/// A text in quotes, as Java's StreamTokenizer reads it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '\\' | '"' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::super::secured::tests::made;
    use super::*;
    use kdyno_model::jaas;
    use kdyno_model::plan::{Mechanism, Protocol, ScramHash, TlsVersion};
    use kdyno_model::properties::Properties;
    use std::collections::BTreeMap;

    /// As a Java client reads them.
    fn read(mechanism: Option<Mechanism>, protocol: Protocol) -> (Properties, BTreeMap<String, Secret>) {
        let (layout, secured) = made(mechanism, protocol, Protocol::Ssl);
        let security = secured.clients();
        let (secrets, _) = secured.into_parts();
        let file =
            client_properties(&layout.bootstrap(), &security, &|name| secrets.get(name), TokenFrom::Claim);
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
    fn a_client_without_login_has_no_login_settings() {
        let (read, _) = read(None, Protocol::Ssl);
        assert_eq!((read.get("security.protocol"), read.get("sasl.jaas.config")), (Some("SSL"), None));
    }

    /// With what a target's file may say of files, passwords and logins.
    #[test]
    fn whatever_a_target_names_is_read_back_as_it_is() {
        let named = |name: &str| Some(name.to_owned());
        let tls = Tls {
            trust: Some(Store {
                password: named("opens"),
                ..Store::of(StoreContent::Pkcs12File("/c a/t.p12".into()))
            }),
            identity: Some(Store {
                key_password: named("key"),
                ..Store::of(StoreContent::PemFile("/c/id.pem".into()))
            }),
            hostname_check: false,
            versions: vec![TlsVersion::Tls12, TlsVersion::Tls13],
            ciphers: vec!["A".to_owned(), "B".to_owned()],
        };
        let values = BTreeMap::from([
            ("opens".to_owned(), Secret::new(b" =p\\#\xc3\xa9".to_vec())),
            ("key".to_owned(), Secret::new(b"k".to_vec())),
            ("word".to_owned(), Secret::new(b"a\"b\\c;d='e\nf".to_vec())),
            ("token".to_owned(), Secret::new(b"ey.J.x".to_vec())),
        ]);
        let read = |sasl: Sasl| {
            let security = Security { protocol: Protocol::SaslSsl, tls: Some(tls.clone()), sasl: Some(sasl) };
            let bootstrap = ["a:1".to_owned(), "b:2".to_owned()];
            let file = client_properties(&bootstrap, &security, &|name| values.get(name), TokenFrom::Driver);
            Properties::parse(file.expose()).expect("properties")
        };
        let scram = read(Sasl::Scram {
            hash: ScramHash::Sha256,
            username: "u\"1".to_owned(),
            password: "word".to_owned(),
            is_delegation_token: true,
        });
        for (name, wanted) in [
            ("bootstrap.servers", "a:1,b:2"),
            ("ssl.truststore.type", "PKCS12"),
            ("ssl.truststore.location", "/c a/t.p12"),
            ("ssl.truststore.password", " =p\\#\u{e9}"),
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.location", "/c/id.pem"),
            ("ssl.key.password", "k"),
            ("ssl.endpoint.identification.algorithm", ""),
            ("ssl.enabled.protocols", "TLSv1.2,TLSv1.3"),
            ("ssl.cipher.suites", "A,B"),
            ("sasl.mechanism", "SCRAM-SHA-256"),
        ] {
            assert_eq!(scram.get(name), Some(wanted), "{name}");
        }
        let login = jaas::parse(scram.get("sasl.jaas.config").unwrap_or_default()).expect("a login");
        let option = |name: &str| login.options.get(name).map(String::as_str);
        assert_eq!((option("username"), option("tokenauth")), (Some("u\"1"), Some("true")));
        assert_eq!(option("password"), Some("a\"b\\c;d='e\nf"));

        let extensions = BTreeMap::from([("lkc".to_owned(), "x".to_owned())]);
        let bearer = read(Sasl::OauthBearer { token: "token".to_owned(), extensions });
        assert_eq!(bearer.get("sasl.login.callback.handler.class"), Some("kdyno.driver.Token"));
        assert_eq!(bearer.get("sasl.login.refresh.buffer.seconds"), Some("0"));
        let login = bearer.get("sasl.jaas.config").unwrap_or_default();
        assert!(!login.contains("ey.J.x"), "the worker gives it");
        let login = jaas::parse(login).expect("a login");
        assert_eq!(login.options, BTreeMap::from([("extension_lkc".to_owned(), "x".to_owned())]));
    }
}
