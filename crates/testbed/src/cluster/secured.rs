//! What only a secured cluster needs and has: an authority, certificates, a user with a password and its
//! access control lists, made for one start and gone with the cluster.
//!
//! Nothing secret is on a command line: keys and passwords are in files of mode 0600 in the cluster's folder, and
//! SCRAM users are made by a request over the internal listener, which knows the brokers' own certificate, or is
//! PLAINTEXT on the loopback address.

use super::layout::ClusterLayout;
use crate::error::TestbedError;
use crate::secret_file;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kdyno_kafka::admin::{Access, Acl, AclResource, AdminError, ConfigOf, Operation};
use kdyno_kafka::security::Hidden;
use kdyno_kafka::security::sasl::scram::{Hash, ITERATIONS_MIN};
use kdyno_model::plan::{
    ClientListener, Listeners, Mechanism, Protocol, Sasl, ScramHash, Security, Store, StoreContent, Tls,
    TlsVersion,
};
use kdyno_model::secret::Secret;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Names of listeners, as they are in settings.
pub(super) const CLIENTS: &str = "CLIENTS";
pub(super) const INTERNAL: &str = "INTERNAL";
/// The user that clients are, and whom the certificates of clients and brokers name.
pub(super) const USER: &str = "kdyno";
/// Where Kafka's login modules are.
pub(super) const LOGIN_MODULES: &str = "org.apache.kafka.common.security";
const CLIENT_NAME: &str = "kdyno-client";
const BROKER_NAME: &str = "kdyno-broker";
/// Names of the two secrets in the plan of a worker.
const PASSWORD: &str = "local-password";
const KEY: &str = "local-key";
/// Bytes of chance in a password and in a salt.
const RANDOM_BYTES: usize = 32;
/// How long an unsigned token is good for, s: as long as the cluster, which may stay for months, and whose clients have it
/// in their file.
const TOKEN_LIFETIME_S: u64 = 10 * 365 * 24 * 3600;
/// How long users and lists may take to be known at every broker; a busy one takes some 100 ms.
const KNOWN_TIME_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// What brokers speak TLS to clients with: for a proxy before them.
pub struct ListenerTls {
    authority: String,
    certificate: String,
    key: Secret,
    /// The versions that clients may speak.
    pub versions: Vec<TlsVersion>,
}

/// The certificates as PEM files.
pub struct ListenerTlsFiles {
    /// Certificate of the authority that signed the brokers' certificates.
    pub authority: PathBuf,
    /// A certificate for `localhost` and 127.0.0.1.
    pub certificate: PathBuf,
    /// Its key, which only its owner may read.
    pub key: PathBuf,
}

impl ListenerTls {
    /// Writes it into files of a folder that has none of them.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<ListenerTlsFiles, TestbedError> {
        let public = |name: &str, text: &str| {
            let path = folder.join(name);
            let written = std::fs::write(&path, text).map_err(|e| TestbedError::io("cannot write", &path, e));
            written.map(|()| path)
        };
        Ok(ListenerTlsFiles {
            authority: public("authority.pem", &self.authority)?,
            certificate: public("certificate.pem", &self.certificate)?,
            key: secret_file::write(folder, "key.pem", &self.key)?,
        })
    }
}

/// What was made.
pub(super) struct Secured {
    listeners: Listeners,
    authority_pem: String,
    broker_certificate: String,
    broker_key: Secret,
    client_certificate: String,
    secrets: BTreeMap<String, Secret>,
}

impl Secured {
    /// Makes it; `None` for listeners without authentication.
    pub(super) fn make(listeners: &Listeners) -> Result<Option<Self>, TestbedError> {
        if listeners.are_plain() {
            return Ok(None);
        }
        kdyno_credentials::close_memory();
        let failed =
            |error: rcgen::Error| TestbedError::Impossible(format!("no certificate could be made: {error}"));
        let authority = Authority::new().map_err(failed)?;
        let (broker_certificate, key) =
            authority.leaf(BROKER_NAME, &["localhost", "127.0.0.1"]).map_err(failed)?;
        let broker_key = Secret::new(key.into_bytes());
        let (client_certificate, client_key) = authority.leaf(CLIENT_NAME, &[]).map_err(failed)?;
        let mut secrets = BTreeMap::from([(KEY.to_string(), Secret::new(client_key.into_bytes()))]);
        let password = match listeners.clients.mechanism {
            Some(Mechanism::OauthBearer) => unsigned_token(),
            _ => {
                let mut random = [0; RANDOM_BYTES];
                super::random::fill_random(&mut random)?;
                URL_SAFE_NO_PAD.encode(random)
            }
        };
        secrets.insert(PASSWORD.to_string(), Secret::new(password.into_bytes()));
        Ok(Some(Self {
            listeners: listeners.clone(),
            authority_pem: authority.pem,
            broker_certificate,
            broker_key,
            client_certificate,
            secrets,
        }))
    }

    /// Settings of a broker or controller other than those of its addresses; its key is among them.
    pub(super) fn settings(&self, kraft: bool) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        let mut set = |key: &str, value: &str| settings.insert(key.to_string(), value.to_string());
        let Listeners { clients, internal, authorizer } = &self.listeners;
        if clients.protocol.has_tls() || internal.has_tls() {
            // As values: a file with a key that has no password is refused before 3.3 (KAFKA-12703).
            set("ssl.keystore.type", "PEM");
            set("ssl.keystore.certificate.chain", &self.broker_certificate);
            set("ssl.keystore.key", &String::from_utf8_lossy(self.broker_key.expose()));
            set("ssl.truststore.type", "PEM");
            set("ssl.truststore.certificates", &self.authority_pem);
        }
        if internal.has_tls() {
            set("listener.name.internal.ssl.client.auth", "required");
            set("listener.name.controller.ssl.client.auth", "required");
        }
        if clients.protocol.has_tls() {
            let auth = if clients.client_certificates { "required" } else { "none" };
            set("listener.name.clients.ssl.client.auth", auth);
            let versions: Vec<String> = clients.tls.iter().map(ToString::to_string).collect();
            set("listener.name.clients.ssl.enabled.protocols", &versions.join(","));
        }
        if let Some(mechanism) = clients.mechanism {
            set("listener.name.clients.sasl.enabled.mechanisms", &mechanism.to_string());
            let key =
                format!("listener.name.clients.{}.sasl.jaas.config", mechanism.to_string().to_lowercase());
            set(&key, &self.jaas(mechanism));
        }
        if *authorizer {
            let class = match kraft {
                true => "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                false => "kafka.security.authorizer.AclAuthorizer",
            };
            set("authorizer.class.name", class);
            set("super.users", &format!("User:{}", self.brokers_principal()));
        }
        settings
    }

    /// Whom nodes are to each other.
    fn brokers_principal(&self) -> String {
        if self.listeners.internal.has_tls() { format!("CN={BROKER_NAME}") } else { "ANONYMOUS".to_string() }
    }

    /// Whom clients are to brokers.
    fn clients_principal(&self) -> String {
        match self.listeners.clients.mechanism {
            Some(_) => format!("User:{USER}"),
            None => format!("User:CN={CLIENT_NAME}"),
        }
    }

    /// Who may log in, as a broker reads it.
    fn jaas(&self, mechanism: Mechanism) -> String {
        match mechanism {
            Mechanism::Plain => {
                // Letters, digits, `-` and `_`.
                let password = self.secrets.get(PASSWORD).map(Secret::expose).unwrap_or_default();
                let password = String::from_utf8_lossy(password);
                format!("{LOGIN_MODULES}.plain.PlainLoginModule required user_{USER}=\"{password}\";")
            }
            Mechanism::ScramSha256 | Mechanism::ScramSha512 => {
                format!("{LOGIN_MODULES}.scram.ScramLoginModule required;")
            }
            Mechanism::OauthBearer => format!(
                "{LOGIN_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"{USER}\";"
            ),
        }
    }

    /// How clients connect, with names of secrets.
    pub(super) fn clients(&self) -> Security {
        let ClientListener { protocol, mechanism, tls, client_certificates } = &self.listeners.clients;
        let (username, password) = (USER.to_string(), PASSWORD.to_string());
        let scram = |hash| Sasl::Scram {
            hash,
            username: username.clone(),
            password: password.clone(),
            is_delegation_token: false,
        };
        let sasl = mechanism.map(|mechanism| match mechanism {
            Mechanism::Plain => Sasl::Plain { username: username.clone(), password: password.clone() },
            Mechanism::ScramSha256 => scram(ScramHash::Sha256),
            Mechanism::ScramSha512 => scram(ScramHash::Sha512),
            Mechanism::OauthBearer => {
                Sasl::OauthBearer { token: password.clone(), extensions: BTreeMap::new() }
            }
        });
        let identity = client_certificates.then(|| StoreContent::Pem {
            certificates: self.client_certificate.clone(),
            key: Some(KEY.to_string()),
        });
        let tls = protocol.has_tls().then(|| self.tls(identity.map(Store::of), tls.clone()));
        Security { protocol: *protocol, tls, sasl }
    }

    fn tls(&self, identity: Option<Store>, versions: Vec<TlsVersion>) -> Tls {
        let trust = StoreContent::Pem { certificates: self.authority_pem.clone(), key: None };
        Tls { identity, ..Tls::trusting(trust, versions) }
    }

    /// Values of the secrets that [`Self::clients`] names, and what brokers speak TLS to clients with.
    pub(super) fn into_parts(self) -> (BTreeMap<String, Secret>, Option<ListenerTls>) {
        let clients = self.listeners.clients;
        let tls = clients.protocol.has_tls().then_some(ListenerTls {
            authority: self.authority_pem,
            certificate: self.broker_certificate,
            key: self.broker_key,
            versions: clients.tls,
        });
        (self.secrets, tls)
    }

    /// How clients connect to the brokers.
    pub(super) fn access(&self, layout: &ClusterLayout) -> Result<Access, TestbedError> {
        let security = kdyno_credentials::security(&self.clients(), &|name| self.secrets.get(name));
        let security = security.map_err(|e| TestbedError::Impossible(e.to_string()))?;
        Ok(Access { bootstrap: layout.bootstrap(), security })
    }

    /// How brokers connect to each other, and the client that makes users.
    pub(super) fn internal_access(&self, layout: &ClusterLayout) -> Result<Access, TestbedError> {
        let security = match self.listeners.internal.has_tls() {
            false => Security::default(),
            true => {
                let certificates = self.broker_certificate.clone();
                let identity = StoreContent::Pem { certificates, key: Some(KEY.to_string()) };
                let tls = self.tls(Some(Store::of(identity)), TlsVersion::ALL.to_vec());
                Security { protocol: Protocol::Ssl, tls: Some(tls), sasl: None }
            }
        };
        let security =
            kdyno_credentials::security(&security, &|name| (name == KEY).then_some(&self.broker_key));
        let security = security.map_err(|e| TestbedError::Impossible(e.to_string()))?;
        Ok(Access { bootstrap: layout.internal_addresses(), security })
    }

    /// Makes the user and what it may do, on a cluster that is up, and waits until every broker knows both.
    pub(super) fn make_user(&self, layout: &ClusterLayout, prefix: &str) -> Result<(), TestbedError> {
        let internal = self.internal_access(layout)?;
        let failed = |what: &'static str| {
            move |error: AdminError| TestbedError::failed(format!("the cluster is up, but {what}: {error}"))
        };
        let hash = match self.listeners.clients.mechanism {
            Some(Mechanism::ScramSha256) => Some(Hash::Sha256),
            Some(Mechanism::ScramSha512) => Some(Hash::Sha512),
            _ => None,
        };
        let mut admin = internal
            .admin("kdyno-testbed", KNOWN_TIME_MAX)
            .map_err(failed("its internal listener cannot be reached"))?;
        if let Some(hash) = hash {
            let mut salt = [0; RANDOM_BYTES];
            super::random::fill_random(&mut salt)?;
            let password = self.secrets.get(PASSWORD).map(Secret::expose).unwrap_or_default();
            let iterations = NonZeroU32::new(ITERATIONS_MIN).unwrap_or(NonZeroU32::MIN);
            let made =
                admin.set_scram_password(USER, hash, &Hidden::new(password.to_vec()), (&salt, iterations));
            made.map_err(failed("its SCRAM user cannot be made (KRaft has them since Kafka 3.5)"))?;
        }
        if self.listeners.authorizer {
            admin
                .create_acls(&acls(&self.clients_principal(), prefix))
                .map_err(failed("it takes no ACLs"))?;
        }
        let clients = self.access(layout)?;
        for address in &clients.bootstrap {
            let one = Access { bootstrap: vec![address.clone()], security: clients.security.clone() };
            let begun = Instant::now();
            while let Err(error) = let_in(&one, self.listeners.authorizer) {
                if begun.elapsed() > KNOWN_TIME_MAX {
                    return Err(failed("a broker does not let its user in")(error));
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

/// Whether brokers let us in and, where there are ACLs, know these: metadata is open to all, settings of brokers only
/// to those who may see them.
fn let_in(access: &Access, has_acls: bool) -> Result<(), AdminError> {
    let mut admin = access.admin("kdyno-testbed", ANSWER_TIME_MAX)?;
    if has_acls {
        for broker in admin.cluster()?.brokers {
            admin.describe_configs(ConfigOf::Broker(broker.id))?;
        }
    }
    Ok(())
}

/// What a run does, and no more.
fn acls(principal: &str, prefix: &str) -> Vec<Acl> {
    use Operation::{AlterConfigs, Create, Delete, Describe, DescribeConfigs, IdempotentWrite, Read, Write};
    let of = |resource, name: &str, is_prefix, operations: &[Operation]| {
        let acl = |operation: &Operation| Acl {
            principal: principal.to_string(),
            resource,
            name: name.to_string(),
            is_prefix,
            operation: *operation,
        };
        operations.iter().map(acl).collect::<Vec<_>>()
    };
    [
        of(
            AclResource::Topic,
            prefix,
            true,
            &[Read, Write, Create, Delete, Describe, DescribeConfigs, AlterConfigs],
        ),
        of(AclResource::Group, prefix, true, &[Read, Describe, Delete]),
        of(AclResource::TransactionalId, prefix, true, &[Write, Describe]),
        of(AclResource::Cluster, "kafka-cluster", false, &[Describe, DescribeConfigs, IdempotentWrite]),
    ]
    .concat()
}

/// An unsigned token that says who we are: what a broker accepts whose OAUTHBEARER is not set up.
fn unsigned_token() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let claims = format!("{{\"sub\":\"{USER}\",\"iat\":{now},\"exp\":{}}}", now + TOKEN_LIFETIME_S);
    format!("{}.{}.", URL_SAFE_NO_PAD.encode("{\"alg\":\"none\"}"), URL_SAFE_NO_PAD.encode(claims))
}

/// Signs the certificates of one cluster; its key is kept nowhere.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Result<Self, rcgen::Error> {
        let mut params = named("kdyno-authority", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// Certificate and key, as PEM.
    fn leaf(&self, name: &str, hosts: &[&str]) -> Result<(String, String), rcgen::Error> {
        let mut params = named(name, hosts)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?.pem(), key.serialize_pem()))
    }
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(hosts.iter().map(|&host| host.to_string()).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::layout::tests::{layout, plan};
    use super::*;
    use kdyno_model::plan::Mode;

    pub(in super::super) fn made(
        mechanism: Option<Mechanism>,
        protocol: Protocol,
        internal: Protocol,
    ) -> (ClusterLayout, Secured) {
        let tls = if protocol.has_tls() { vec![TlsVersion::Tls12] } else { Vec::new() };
        let clients = ClientListener { protocol, mechanism, tls, client_certificates: false };
        let listeners = Listeners { clients, internal, authorizer: mechanism.is_some() };
        let mut plan = plan(Mode::KraftCombined, 1);
        plan.listeners = listeners.clone();
        (layout(&plan), Secured::make(&listeners).expect("made").expect("not plain"))
    }

    #[test]
    fn a_token_outlives_a_cluster_that_stays() {
        let token = unsigned_token();
        let claims = token.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
        let claims: serde_json::Value = serde_json::from_slice(&claims.expect("base64")).expect("JSON");
        let seconds = |name: &str| claims[name].as_u64().expect("seconds");
        assert!(seconds("exp") - seconds("iat") > 365 * 24 * 3600, "{claims}");
        assert_eq!(claims["sub"], USER);
    }

    #[test]
    fn a_proxy_before_the_brokers_gets_their_tls_files() {
        let (_, plain) = made(Some(Mechanism::Plain), Protocol::SaslPlaintext, Protocol::Ssl);
        assert!(plain.into_parts().1.is_none(), "clients speak no TLS");
        let (_, secured) = made(None, Protocol::Ssl, Protocol::Plaintext);
        let settings = secured.settings(true);
        let (secrets, tls) = secured.into_parts();
        let tls = tls.expect("clients speak TLS");
        let temp = tempfile::tempdir().expect("a folder");
        let files = tls.write(temp.path()).expect("written");
        let text = |path: &Path| std::fs::read_to_string(path).expect("there");
        assert_eq!(text(&files.certificate), settings["ssl.keystore.certificate.chain"]);
        assert_eq!(text(&files.key), settings["ssl.keystore.key"]);
        assert_eq!(text(&files.authority), settings["ssl.truststore.certificates"]);
        assert_ne!(text(&files.key).as_bytes(), secrets[KEY].expose(), "that is the clients' own");
        assert!(tls.write(temp.path()).is_err(), "a key is written over nothing");
    }

    #[test]
    fn plain_listeners_need_nothing() {
        assert!(Secured::make(&Listeners::default()).expect("nothing to do").is_none());
    }

    #[test]
    fn certificates_fit_the_settings_of_both_ends() {
        let (layout, secured) = made(Some(Mechanism::ScramSha512), Protocol::SaslSsl, Protocol::Ssl);
        secured.access(&layout).expect("clients");
        secured.internal_access(&layout).expect("brokers");
        let settings = secured.settings(true);
        assert_eq!(settings["listener.name.clients.ssl.enabled.protocols"], "TLSv1.2");
        assert_eq!(settings["listener.name.clients.ssl.client.auth"], "none");
        assert_eq!(settings["listener.name.internal.ssl.client.auth"], "required");
        assert_eq!(settings["super.users"], "User:CN=kdyno-broker");
        assert!(settings["ssl.keystore.key"].starts_with("-----BEGIN PRIVATE KEY-----\n"));
    }

    #[test]
    fn only_a_brokers_file_has_the_password_and_only_for_plain() {
        for mechanism in [Mechanism::Plain, Mechanism::ScramSha256] {
            let (_, secured) = made(Some(mechanism), Protocol::SaslPlaintext, Protocol::Plaintext);
            let settings = secured.settings(false);
            let password = String::from_utf8_lossy(secured.secrets[PASSWORD].expose()).into_owned();
            assert!(password.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "no quotes");
            let reported = settings.values().any(|value| value.contains(&password));
            assert_eq!(reported, mechanism == Mechanism::Plain);
            assert!(!format!("{:?}", secured.clients()).contains(&password));
            assert_eq!(settings["super.users"], "User:ANONYMOUS");
            assert!(!settings.contains_key("ssl.keystore.key"));
        }
    }
}
