//! Clusters with listeners that ask who comes: each protocol and mechanism once, each wrong way in, and that nothing
//! secret lies about.

use crate::scene::{PATIENCE, TestFolder, ensure, plan, trial};
use kdyno_kafka::admin::{Access, Admin};
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::security::sasl::{Login, scram::Hash};
use kdyno_kafka::security::{ConnectionSecurity, Hidden};
use kdyno_model::plan::{ClientListener, ClusterPlan, Listeners, Mechanism, Mode, Protocol, TlsVersion};
use kdyno_model::version::{NEWEST, TESTED, Version};
use kdyno_testbed::LocalCluster;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const TOPIC: &str = "kdyno-t";

pub fn trials() -> Vec<Trial> {
    vec![
        trial("scram_over_tls_with_acls_and_mutual_tls_between_brokers", scram_over_tls),
        trial("client_certificates_and_acls_with_zookeeper", client_certificates),
        trial("plain_over_tls_1_2", plain_over_tls),
        trial("tokens_on_open_connections", tokens),
        trial("a_certificate_that_has_expired", expired_certificate),
    ]
}

/// For the matrix: TLS, SCRAM and ACLs in every tested release and mode that has them.
pub fn of_every_release() -> Vec<Trial> {
    let modes = [(Mode::Zookeeper { nodes: 1 }, "ZooKeeper"), (Mode::KraftCombined, "KRaft")];
    let mut trials = Vec::new();
    for (version, (mode, name)) in TESTED.iter().flat_map(|version| modes.map(|mode| (*version, mode))) {
        let listeners = with_all(version, mode).listeners;
        let has_all = Version::parse(version).is_ok_and(|version| {
            version.check_mode(mode, 1).is_ok() && version.check_listeners(mode, &listeners).is_ok()
        });
        if has_all {
            let name = format!("matrix: {version}, {name}, TLS, SCRAM and ACLs");
            trials.push(Trial::test(name, move || in_release(version, mode)));
        }
    }
    trials
}

fn with_all(version: &str, mode: Mode) -> ClusterPlan {
    let (plan, scram) = (plan(version, mode, 1), Some(Mechanism::ScramSha256));
    let mut plan = secured(plan, Protocol::SaslSsl, scram, &[TlsVersion::Tls12], Protocol::Ssl);
    plan.listeners.authorizer = true;
    plan
}

fn in_release(version: &str, mode: Mode) -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let cluster = scene.start(&with_all(version, mode))?;
    works(&cluster, 1)?;
    Ok(cluster.stop()?)
}

fn secured(
    mut plan: ClusterPlan,
    protocol: Protocol,
    mechanism: Option<Mechanism>,
    tls: &[TlsVersion],
    internal: Protocol,
) -> ClusterPlan {
    let clients = ClientListener { protocol, mechanism, tls: tls.to_vec(), client_certificates: false };
    plan.listeners = Listeners { clients, internal, authorizer: false };
    plan
}

/// What every client does.
fn works(cluster: &LocalCluster, replicas: i16) -> Result<(), Failed> {
    let mut admin = cluster.access().admin("kdyno-test", PATIENCE)?;
    admin.create_topic(TOPIC, 2, replicas, &BTreeMap::new())?;
    let topics = admin.topics(Some(&[TOPIC]))?;
    let in_sync = topics[0].partitions.iter().all(|partition| partition.isr.len() == replicas as usize);
    ensure(in_sync, format!("{topics:?}"))
}

/// The sentence that a way in ends with.
fn refused(cluster: &LocalCluster, security: ConnectionSecurity, sentence: &str) -> Result<(), Failed> {
    let access = Access { bootstrap: cluster.bootstrap()[..1].to_vec(), security };
    let reported = access.admin("kdyno-test", PATIENCE).err().ok_or("it was let in")?.to_string();
    ensure(reported.contains(sentence), format!("{reported:?} does not say {sentence:?}"))
}

fn hidden(text: &str) -> Hidden {
    Hidden::new(text.as_bytes().to_vec())
}

/// No file of the cluster but those named, and no command line, has one of its secrets.
fn nothing_lies_about(cluster: &LocalCluster, folder: &Path, but: &[&str]) -> Result<(), Failed> {
    let secrets: Vec<&[u8]> = cluster.secrets().values().map(|secret| secret.expose()).collect();
    let has_one = |bytes: &[u8]| {
        secrets.iter().any(|secret| bytes.windows(secret.len()).any(|window| window == *secret))
    };
    for process in cluster.processes() {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid))?;
        ensure(!has_one(&line), format!("the command line of {} has a secret", process.subject))?;
    }
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let (path, kind) = (entry.as_ref().map(|e| e.path()), entry.as_ref().map(|e| e.file_type()));
            let (Ok(path), Ok(Ok(kind))) = (path, kind) else { continue };
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if kind.is_dir() {
                folders.push(path);
            } else if !but.contains(&name.as_str()) {
                // A file that the broker has just removed says nothing.
                let bytes = std::fs::read(&path).unwrap_or_default();
                ensure(!has_one(&bytes), format!("{} has a secret", path.display()))?;
            }
        }
    }
    Ok(())
}

fn scram_over_tls() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let tls = [TlsVersion::Tls12, TlsVersion::Tls13];
    let mut plan = secured(
        plan(NEWEST, Mode::KraftCombined, 2),
        Protocol::SaslSsl,
        Some(Mechanism::ScramSha512),
        &tls,
        Protocol::Ssl,
    );
    plan.listeners.authorizer = true;
    let cluster = scene.start(&plan)?;
    let reported = &cluster.facts()["listeners"];
    ensure(
        reported == "clients SASL_SSL SCRAM-SHA-512 TLSv1.2 TLSv1.3, internal SSL, ACLs",
        reported.as_str(),
    )?;
    works(&cluster, 2)?;
    let mut admin = cluster.access().admin("kdyno-test", PATIENCE)?;
    let foreign = admin.create_topic("orders", 1, 1, &BTreeMap::new()).err().ok_or("no ACL allows that")?;
    ensure(foreign.code() == Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED), foreign.to_string())?;

    let tls = cluster.access().security.sessions.clone();
    let with = |login: Login| ConnectionSecurity { sessions: tls.clone(), login: Some(Arc::new(login)) };
    let wrong = Login::scram(Hash::Sha512, "kdyno", hidden("hunter2"), false)?;
    refused(&cluster, with(wrong), "the broker refused the login by SCRAM-SHA-512: ")?;
    let unknown_user = Login::scram(Hash::Sha512, "nobody", hidden("hunter2"), false)?;
    refused(&cluster, with(unknown_user), "the broker refused the login by SCRAM-SHA-512: ")?;
    let other = Login::plain("kdyno", hidden("hunter2"))?;
    refused(&cluster, with(other), "takes no login by PLAIN, only by SCRAM-SHA-512")?;
    let silent = ConnectionSecurity { sessions: tls.clone(), login: None };
    refused(&cluster, silent, "its listener may ask for a login")?;
    let open = ConnectionSecurity { sessions: None, login: cluster.access().security.login.clone() };
    refused(&cluster, open, "(security.protocol)")?;
    let plain =
        Admin::connect(&cluster.bootstrap(), "kdyno-test", PATIENCE).err().ok_or("let in")?.to_string();
    ensure(plain.contains("SSL or SASL_SSL"), plain)?;
    nothing_lies_about(&cluster, &scene.work_dir(), &[])?;
    Ok(cluster.stop()?)
}

fn client_certificates() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let plan = plan("2.7.2", Mode::Zookeeper { nodes: 1 }, 1);
    let mut plan = secured(plan, Protocol::Ssl, None, &[TlsVersion::Tls12, TlsVersion::Tls13], Protocol::Ssl);
    (plan.listeners.clients.client_certificates, plan.listeners.authorizer) = (true, true);
    let cluster = scene.start(&plan)?;
    let made_by_brokers = cluster.facts().get("cluster_id").is_some_and(|id| id.len() == 22);
    ensure(made_by_brokers, "a target needs its id")?;
    works(&cluster, 1)?;
    let mut without = cluster.security().clone();
    without.tls.as_mut().ok_or("TLS")?.identity = None;
    let none = kdyno_credentials::security(&without, &|_| None)?;
    refused(&cluster, none, "client certificate")?;
    without.tls.as_mut().ok_or("TLS")?.trust = None;
    let platform = kdyno_credentials::security(&without, &|_| None);
    if let Ok(platform) = platform {
        refused(
            &cluster,
            platform,
            "no trusted authority signed the broker's certificate (ssl.truststore.location)",
        )?;
    }
    nothing_lies_about(&cluster, &scene.work_dir(), &[])?;
    Ok(cluster.stop()?)
}

fn plain_over_tls() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let plan = plan(NEWEST, Mode::KraftControllers { controllers: 1 }, 1);
    let plan =
        secured(plan, Protocol::SaslSsl, Some(Mechanism::Plain), &[TlsVersion::Tls12], Protocol::Plaintext);
    let cluster = scene.start(&plan)?;
    works(&cluster, 1)?;
    let tls = cluster.access().security.sessions.clone();
    let wrong = ConnectionSecurity {
        sessions: tls,
        login: Some(Arc::new(Login::plain("kdyno", hidden("hunter2"))?)),
    };
    refused(&cluster, wrong, "the broker refused the login by PLAIN: ")?;
    let mut newer = cluster.security().clone();
    newer.tls.as_mut().ok_or("TLS")?.versions = vec![TlsVersion::Tls13];
    let newer = kdyno_credentials::security(&newer, &|name| cluster.secrets().get(name))?;
    refused(&cluster, newer, "none of the versions of TLS that we may speak (ssl.enabled.protocols)")?;
    // The one file that a broker of PLAIN reads it from.
    nothing_lies_about(&cluster, &scene.work_dir(), &["server.properties"])?;
    Ok(cluster.stop()?)
}

fn tokens() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let plan = plan(NEWEST, Mode::KraftCombined, 1);
    let plan = secured(plan, Protocol::SaslPlaintext, Some(Mechanism::OauthBearer), &[], Protocol::Plaintext);
    let cluster = scene.start(&plan)?;
    works(&cluster, 1)?;
    let wrong = Login::oauth_bearer(hidden("no.token.at-all"), BTreeMap::new())?;
    let wrong = ConnectionSecurity { sessions: None, login: Some(Arc::new(wrong)) };
    refused(&cluster, wrong, "the broker refused the login by OAUTHBEARER: ")?;
    let mut in_tls = cluster.security().clone();
    in_tls.protocol = Protocol::Ssl;
    let versions = vec![TlsVersion::Tls13];
    in_tls.tls = Some(kdyno_model::plan::Tls {
        trust: Some(kdyno_model::plan::Store {
            content: kdyno_model::plan::StoreContent::Pem { certificates: authority()?, key: None },
            password: None,
            key_password: None,
        }),
        identity: None,
        hostname_check: true,
        versions,
        ciphers: Vec::new(),
    });
    let in_tls = kdyno_credentials::security(&in_tls, &|name| cluster.secrets().get(name))?;
    refused(&cluster, in_tls, "its listener is probably PLAINTEXT or SASL_PLAINTEXT")?;
    nothing_lies_about(&cluster, &scene.work_dir(), &[])?;
    Ok(cluster.stop()?)
}

/// If a broker's certificate for clients has expired, the client that makes its user notices first.
fn expired_certificate() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let versions = [TlsVersion::Tls12, TlsVersion::Tls13];
    let plan = plan(NEWEST, Mode::KraftCombined, 1);
    let mut plan = secured(plan, Protocol::Ssl, None, &versions, Protocol::Plaintext);
    let key = rcgen::KeyPair::generate()?;
    let mut leaf = rcgen::CertificateParams::new(vec!["localhost".to_owned()])?;
    leaf.not_before = rcgen::date_time_ymd(2019, 1, 1);
    leaf.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let certificate = leaf.self_signed(&key)?.pem();
    for (setting, value) in
        [("type", "PEM".to_owned()), ("certificate.chain", certificate), ("key", key.serialize_pem())]
    {
        plan.config.insert(format!("listener.name.clients.ssl.keystore.{setting}"), value);
    }
    let reported = scene.start(&plan).err().ok_or("it was let in")?.to_string();
    let sentence = "the broker's certificate, or one it rests on, expired ";
    ensure(reported.contains(sentence), format!("{reported:?} does not say {sentence:?}"))
}

/// Some certificate to trust.
fn authority() -> Result<String, Failed> {
    let key = rcgen::KeyPair::generate()?;
    Ok(rcgen::CertificateParams::new(Vec::<String>::new())?.self_signed(&key)?.pem())
}
