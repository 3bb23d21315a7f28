//! Properties files of Java clients: what a target's clients do with them, and what is reported instead.

use kdyno_model::plan::{Protocol, Sasl, ScramHash, Store, StoreContent, TlsVersion};
use kdyno_model::secret::SecretRef;
use kdyno_scenario::client::ClientSide;
use kdyno_scenario::security::{ClientProperties, PropertiesCommand, PropertiesFile, client_properties};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// A producer of a command that sets nothing itself, and a consumer.
const PRODUCER: PropertiesCommand =
    PropertiesCommand { side: ClientSide::Produce, sets: &[], with_java: "; JAVA" };
const CONSUMER: PropertiesCommand = PropertiesCommand { side: ClientSide::Consume, ..PRODUCER };

const JAAS: &str = "sasl.jaas.config=org.apache.kafka.common.security";
const PASSWORD: &str = "hunter2";

/// First bytes of files by the ending of their names.
fn head(path: &Path) -> Result<Vec<u8>, String> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("jks") => Ok(vec![0xfe, 0xed, 0xfe, 0xed]),
        Some("jceks") => Ok(vec![0xce, 0xce, 0xce, 0xce]),
        Some("p12") => Ok(vec![0x30, 0x82, 0x0a, 0x01]),
        Some("pem") => Ok(b"-----BEGIN CERTIFICATE-----".to_vec()),
        Some("txt") => Ok(b"hello".to_vec()),
        _ => Err("could not be read: no such file".to_owned()),
    }
}

fn read_bytes(bytes: &[u8], given: &[(&str, SecretRef)]) -> Result<ClientProperties, String> {
    let given: BTreeMap<String, SecretRef> =
        given.iter().map(|(name, reference)| ((*name).to_owned(), reference.clone())).collect();
    let file = PropertiesFile { path: Path::new("client.properties"), bytes, head: &head };
    client_properties(file, &given)
        .map_err(|error| format!("{error} | {}", error.hint.clone().unwrap_or_default()))
}

fn read(text: &str) -> ClientProperties {
    read_bytes(text.as_bytes(), &[]).unwrap()
}

/// What is reported of a file that is refused; never a password.
fn refused(text: &str) -> String {
    let reported = read_bytes(text.as_bytes(), &[]).expect_err(text);
    assert!(!reported.contains(PASSWORD), "{reported}");
    reported
}

fn of_file(name: &str, option: Option<&str>) -> SecretRef {
    SecretRef::Property {
        file: "client.properties".into(),
        name: name.to_owned(),
        option: option.map(str::to_owned),
    }
}

#[test]
fn an_empty_file_is_plaintext() {
    let found = read("");
    assert_eq!(found, ClientProperties::default());
    assert!(found.security.is_plaintext());
    assert_eq!(read("bootstrap.servers = a:1, b:2 ,\n").bootstrap, ["a:1", "b:2"]);
}

#[test]
fn scram_over_tls_as_a_cluster_operator_hands_it_out() {
    let text = format!(
        "security.protocol=sasl_ssl\nsasl.mechanism=SCRAM-SHA-512\n\
         {JAAS}.scram.ScramLoginModule required \\\n  username=\"alice\" password=\"{PASSWORD}\";\n\
         ssl.truststore.location=ca.pem\nssl.truststore.type=PEM\n"
    );
    let found = read(&text);
    assert_eq!(found.security.protocol, Protocol::SaslSsl);
    let tls = found.security.tls.clone().unwrap();
    let content = StoreContent::PemFile("ca.pem".into());
    assert_eq!(tls.trust, Some(Store { content, password: None, key_password: None }));
    assert_eq!((tls.identity, tls.hostname_check), (None, true));
    assert_eq!(tls.versions, [TlsVersion::Tls12, TlsVersion::Tls13]);
    let Some(Sasl::Scram { hash: ScramHash::Sha512, username, password, is_delegation_token: false }) =
        found.security.sasl.clone()
    else {
        panic!("{:?}", found.security.sasl);
    };
    assert_eq!(username, "alice");
    assert_eq!(found.secrets[&password], of_file("sasl.jaas.config", Some("password")));
    assert!(!format!("{found:?}").contains(PASSWORD), "{found:?}");
}

#[test]
fn mutual_tls_from_pkcs_12_stores_whose_type_is_left_out() {
    let found = read(
        "security.protocol=SSL\nssl.keystore.location=/etc/me.p12\nssl.keystore.password=hunter2\n\
         ssl.key.password=${env:KEY}\nssl.truststore.location=/etc/ca.p12\nssl.truststore.password=${file:/etc/pw:ca}\n\
         ssl.endpoint.identification.algorithm=\nssl.enabled.protocols=TLSv1.3, TLSv1.1\nssl.cipher.suites=A,B\n",
    );
    let tls = found.security.tls.unwrap();
    let (trust, identity) = (tls.trust.unwrap(), tls.identity.unwrap());
    assert_eq!(trust.content, StoreContent::Pkcs12File("/etc/ca.p12".into()));
    assert_eq!(identity.content, StoreContent::Pkcs12File("/etc/me.p12".into()));
    assert_eq!(found.secrets[&identity.password.unwrap()], of_file("ssl.keystore.password", None));
    assert_eq!(found.secrets[&identity.key_password.unwrap()], SecretRef::Env("KEY".to_owned()));
    let elsewhere = SecretRef::Property { file: "/etc/pw".into(), name: "ca".to_owned(), option: None };
    assert_eq!(found.secrets[&trust.password.unwrap()], elsewhere);
    assert!(!tls.hostname_check);
    assert_eq!((tls.versions.as_slice(), tls.ciphers.len()), (&[TlsVersion::Tls13][..], 2));
    assert!(found.notes[0].contains("`TLSv1.1` is not supported"), "{:?}", found.notes);
}

#[test]
fn certificates_may_stand_in_the_file_and_the_key_is_a_secret() {
    let found = read(
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates=-----BEGIN A\\nB\n\
         ssl.keystore.type=PEM\nssl.keystore.certificate.chain=-----BEGIN C\nssl.keystore.key=hunter2\n",
    );
    let tls = found.security.tls.unwrap();
    let text = "-----BEGIN A\nB".to_owned();
    assert_eq!(tls.trust.unwrap().content, StoreContent::Pem { certificates: text, key: None });
    let StoreContent::Pem { key: Some(key), .. } = tls.identity.unwrap().content else { panic!("PEM") };
    assert_eq!(found.secrets[&key], of_file("ssl.keystore.key", None));
}

/// As the properties of `ibm-*` have it: a context of TLS 1.2 speaks nothing newer, whatever is enabled.
#[test]
fn a_tls_context_of_1_2_speaks_no_1_3() {
    let versions = |said: &str| {
        let found = read(&format!("security.protocol=SSL\n{said}\n"));
        assert_eq!(found.notes, [""; 0], "{said}");
        found.security.tls.unwrap().versions
    };
    for said in ["ssl.protocol=TLSv1.2", "ssl.protocol=tlsv1.2\nssl.enabled.protocols=TLSv1.3,TLSv1.2"] {
        assert_eq!(versions(said), [TlsVersion::Tls12], "{said}");
    }
    for said in ["ssl.protocol=TLSv1.3", "ssl.protocol=TLS"] {
        assert_eq!(versions(said), [TlsVersion::Tls12, TlsVersion::Tls13], "{said}");
    }
    assert_eq!(versions("ssl.protocol=TLSv1.3\nssl.enabled.protocols=TLSv1.2"), [TlsVersion::Tls12]);
    for said in ["ssl.protocol=TLSv1.2\nssl.enabled.protocols=TLSv1.3", "ssl.protocol=TLSv1.1"] {
        let reported = refused(&format!("security.protocol=SSL\n{said}\n"));
        assert!(
            reported.contains("`ssl.protocol`: with `TLSv1.")
                && reported.contains("no version of TLS is left"),
            "{reported}"
        );
    }
}

/// A value ends with its line: where the lines of a key do not go on, they are where names would be.
#[test]
fn a_possible_part_of_a_secret_is_not_printed_as_a_name() {
    let lines = "ssl.keystore.type=PEM\nssl.keystore.certificate.chain=x\n\
                 ssl.keystore.key=-----BEGIN PRIVATE KEY-----\nMIGHAgEAhunter2/AgEGCCqGSM49\nhunter2==\n\
                 hunter2.Ab=\n-----END PRIVATE KEY-----\n";
    let reported = read(lines).of_load(&PRODUCER).warnings.join("\n");
    for line in 4..=7 {
        assert!(reported.contains(&format!("line {line} begins with no name of a setting")), "{reported}");
    }
    assert!(!reported.contains(PASSWORD), "{reported}");
    let reported = refused(&format!("security.protocol=SSL\n{lines}"));
    let why =
        "client.properties:4:1: `ssl.keystore.key` ends after the first line of its PEM text | end each";
    assert!(reported.starts_with(why), "{reported}");
    let chain = "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates=-----BEGIN CERTIFICATE-----\n";
    assert!(refused(chain).contains("`ssl.truststore.certificates` ends after the first line"));
}

#[test]
fn the_rules_of_stores_are_kafkas() {
    for (text, why) in [
        (
            "ssl.truststore.password=hunter2",
            "`ssl.truststore.password` is there, but not `ssl.truststore.location`",
        ),
        (
            "ssl.keystore.password=hunter2",
            "`ssl.keystore.password` is there, but not `ssl.keystore.location`",
        ),
        ("ssl.keystore.location=me.p12", "`ssl.keystore.location` is there, but not `ssl.keystore.password`"),
        ("ssl.keystore.key=hunter2", "`ssl.keystore.key` is there, but not `ssl.keystore.certificate.chain`"),
        (
            "ssl.keystore.certificate.chain=x",
            "`ssl.keystore.certificate.chain` is there, but not `ssl.keystore.key`",
        ),
        ("ssl.truststore.certificates=x", "`ssl.truststore.certificates` needs `ssl.truststore.type=PEM`"),
        ("ssl.truststore.location=ca.pem", "write `ssl.truststore.type=PEM`"),
        ("ssl.truststore.location=ca.txt", "neither a PKCS#12 store nor a PEM file"),
        ("ssl.truststore.location=ca.p12\nssl.truststore.type=BKS", "`BKS` is none of"),
        ("ssl.truststore.location=ca.p12\nssl.truststore.type=PEM", "is no PEM file"),
        ("ssl.truststore.location=gone", "no such file"),
        (
            "ssl.truststore.location=ca.pem\nssl.truststore.type=PEM\nssl.truststore.password=hunter2",
            "no meaning",
        ),
        ("ssl.truststore.certificates=x\nssl.truststore.type=PEM\nssl.truststore.location=a.pem", "both"),
        ("ssl.endpoint.identification.algorithm=ldap", "neither `https` nor empty"),
        ("ssl.enabled.protocols=SSLv3", "names no version of TLS that is supported"),
        ("ssl.engine.factory.class=a.B", "is not supported"),
    ] {
        let reported = refused(&format!("security.protocol=SSL\n{text}\n"));
        assert!(reported.starts_with("client.properties:") && reported.contains(why), "{text}: {reported}");
    }
}

#[test]
fn a_store_that_only_java_reads_gets_the_line_that_converts_it() {
    let reported = refused(
        "security.protocol=SSL\nssl.keystore.location=/etc/my store.jks\nssl.keystore.password=hunter2\n",
    );
    assert!(reported.starts_with("client.properties:2:1: /etc/my store.jks is a JKS store"), "{reported}");
    let line = "`keytool -importkeystore -srckeystore '/etc/my store.jks' -srcstoretype JKS -destkeystore \
                '/etc/my store.p12' -deststoretype PKCS12`";
    assert!(reported.contains(line), "{reported}");
    assert!(
        reported.contains("`ssl.keystore.location=/etc/my store.p12` and `ssl.keystore.type=PKCS12`"),
        "{reported}"
    );
    let reported =
        refused("security.protocol=SSL\nssl.truststore.type=PKCS12\nssl.truststore.location=ca.jceks\n");
    assert!(reported.contains("-srcstoretype JCEKS -destkeystore ca.p12"), "{reported}");
}

#[test]
fn sasl_says_what_is_missing_and_what_is_spoken() {
    let plain = format!("{JAAS}.plain.PlainLoginModule required");
    for (text, why) in [
        ("", "`sasl.mechanism` is missing, for which Kafka's clients take GSSAPI"),
        ("sasl.mechanism=GSSAPI", "supported are `PLAIN`"),
        ("sasl.mechanism=SCRAM-SHA512", "did you mean `SCRAM-SHA-512`?"),
        ("sasl.mechanism=AWS_MSK_IAM", "use `OAUTHBEARER`"),
        ("sasl.mechanism=PLAIN", "`sasl.jaas.config` is missing"),
        (&format!("sasl.mechanism=PLAIN\n{plain} password=\"hunter2\";"), "has no `username`"),
        (&format!("sasl.mechanism=PLAIN\n{plain} username=\"a\";"), "has no `password`"),
        (
            &format!("sasl.mechanism=PLAIN\n{plain} username=\"a\" password=\"hunter2\""),
            "does not end with `;`",
        ),
        ("sasl.mechanism=PLAIN\nsasl.jaas.config=a.B required;", "login module `a.B` is not supported"),
        ("sasl.mechanism=OAUTHBEARER\nsasl.login.callback.handler.class=a.B", "is not supported as `a.B`"),
        (
            &format!("sasl.mechanism=OAUTHBEARER\n{JAAS}.oauthbearer.OAuthBearerLoginModule required;"),
            "nothing of where the token comes from",
        ),
        (
            &format!(
                "sasl.mechanism=OAUTHBEARER\n{JAAS}.oauthbearer.OAuthBearerLoginModule required;\n\
                 sasl.oauthbearer.token.endpoint.url=https://idp/token"
            ),
            "tokens are not fetched over HTTP",
        ),
    ] {
        let reported = refused(&format!("security.protocol=SASL_PLAINTEXT\n{text}\n"));
        assert!(reported.contains(why), "{text}: {reported}");
    }
}

/// As in Java, where SCRAM is spoken only once its login module was loaded, and PLAIN takes what either module was given.
#[test]
fn a_login_module_speaks_its_mechanism() {
    let of = |module: &str, mechanism: &str| {
        format!(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config=\
             org.apache.kafka.common.security.{module} required username=\"u\" password=\"p\";\n"
        )
    };
    let (plain, scram) = ("plain.PlainLoginModule", "scram.ScramLoginModule");
    for (module, mechanism) in [(plain, "PLAIN"), (scram, "PLAIN"), (scram, "SCRAM-SHA-512")] {
        read(&of(module, mechanism));
    }
    let said = refused(&of(plain, "SCRAM-SHA-256"));
    assert!(
        said.contains("PlainLoginModule does not speak SCRAM-SHA-256") && said.contains("ScramLoginModule"),
        "{said}"
    );
    assert!(refused(&of(scram, "OAUTHBEARER")).contains("does not speak OAUTHBEARER"));
}

#[test]
fn a_token_comes_from_a_file_or_from_a_secret_of_the_target() {
    let head = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n";
    let module = format!("{JAAS}.oauthbearer.OAuthBearerLoginModule required");
    let found = read(&format!("{head}{module};\nsasl.oauthbearer.token.endpoint.url=file:///run/token\n"));
    let Some(Sasl::OauthBearer { token, .. }) = &found.security.sasl else { panic!("a token") };
    assert_eq!(found.secrets[token], SecretRef::File("/run/token".into()));

    let given = SecretRef::Exec(vec!["token".to_owned()]);
    let text = format!("{head}{module} token=\"${{T}}\" extension_logicalCluster=\"lkc-1\";\n");
    let found = read_bytes(text.as_bytes(), &[("T", given.clone())]).unwrap();
    let Some(Sasl::OauthBearer { token, extensions }) = &found.security.sasl else { panic!("a token") };
    assert_eq!((&found.secrets[token], extensions["logicalCluster"].as_str()), (&given, "lkc-1"));
    assert!(found.used.contains("T"));
    let text = text.replace("${T}", "${TOKN}");
    let reported = read_bytes(text.as_bytes(), &[("TOKEN", given.clone())]).unwrap_err();
    assert!(reported.contains("refers to `TOKN`, which is no secret of the target"), "{reported}");
    let text = text.replace("${TOKN}", "${hunter2}");
    let reported = read_bytes(text.as_bytes(), &[("TOKEN", given)]).unwrap_err();
    assert!(
        reported.contains("refers to something, which is no secret") && !reported.contains(PASSWORD),
        "{reported}"
    );
}

#[test]
fn a_reference_that_is_only_part_of_a_secret_is_refused() {
    let plain = format!("{JAAS}.plain.PlainLoginModule required");
    let (ssl, sasl) = ("security.protocol=SSL\n", "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n");
    for (text, what) in [
        ("bootstrap.servers=${env:BROKERS}".to_owned(), "`bootstrap.servers`"),
        (format!("{ssl}ssl.truststore.location=${{env:HOME}}/ca.p12"), "`ssl.truststore.location`"),
        (
            format!("{ssl}ssl.truststore.location=/ca.p12\nssl.truststore.password=hunter2${{env:PW}}"),
            "`ssl.truststore.password`",
        ),
        (
            format!("{ssl}ssl.truststore.location=/ca.p12\nssl.truststore.password=${{env:A}}${{env:B}}"),
            "`ssl.truststore.password`",
        ),
        (
            format!("{sasl}{plain} username=\"${{env:ME}}\" password=\"hunter2\";"),
            "`username` in `sasl.jaas.config`",
        ),
    ] {
        let reported = refused(&format!("{text}\n"));
        assert!(reported.contains(&format!("{what} has `${{…}}` in it")), "{text}: {reported}");
    }
    read("ssl.truststore.location=${env:HOME}/ca.p12\n");
}

#[test]
fn settings_without_effect_warn_and_misspelt_ones_are_refused() {
    let found = read(
        "ssl.truststore.location=x\nssl.provider=x\nmetric.reporters=x\nacks=1\nschema.registry.url=x\n",
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("with `security.protocol` PLAINTEXT these have no effect"))
    );
    assert!(
        found.notes.iter().any(|note| note.contains("`ssl.provider` has no effect here")),
        "{:?}",
        found.notes
    );
    let taken = found.of_load(&PRODUCER);
    let reported = taken.warnings;
    let names: Vec<&str> = taken.settings.iter().map(|property| property.name.as_str()).collect();
    assert_eq!(names, ["metric.reporters", "acks"]);
    assert!(
        reported.iter().any(|note| note.starts_with("`schema.registry.url` is no setting")),
        "{reported:?}"
    );
    let reported = found.of_load(&CONSUMER).facts;
    assert!(reported.iter().any(|note| note.contains("are not taken: `acks`")), "{reported:?}");
    let reported = refused("ssl.truststore.locaton=x\n");
    assert!(reported.contains("did you mean `ssl.truststore.location`?"), "{reported}");
    assert!(refused("security.protokol=SSL\n").contains("did you mean `security.protocol`?"));
    assert!(refused("security.protocol=TLS\n").contains("is none of `PLAINTEXT`, `SSL`"));
    let many: String = (0..1000).map(|n| format!("zz{n}=\n")).collect();
    assert!(read(&many).of_load(&PRODUCER).warnings.len() < 50);
}

/// A newer release or a fork may know what no table has; what sounds like a secret would be stored.
#[test]
fn a_java_client_also_takes_settings_that_no_table_has() {
    let found = read(
        "linger.ms=5\nsend.buffer.bytes=1\nfetch.min.bytes=2\nfork.speed.up=yes\nmy.reporter.password=hunter2\nBASE64==\n\
         my.passphrase=hunter2\nmy.passwd=hunter2\nmy.signing.key=hunter2\nmy.private.pem=hunter2\nmy.api$v2=hunter2\n",
    );
    let taken = found.of_java_load(&PRODUCER);
    let names: Vec<&str> = taken.settings.iter().map(|property| property.name.as_str()).collect();
    assert_eq!(names, ["linger.ms", "send.buffer.bytes", "fork.speed.up"]);
    let reported = [taken.facts, taken.warnings].concat().join("\n");
    assert!(
        reported.contains("`my.reporter.password` is no setting") && !reported.contains("fork.speed.up"),
        "{reported}"
    );
    assert!(
        reported.contains("are not taken: `fetch.min.bytes`") && !reported.contains("hunter2"),
        "{reported}"
    );
}

/// As AWS has them in its guides.
#[test]
fn the_four_lines_of_msks_iam_lead_to_what_is_spoken_instead() {
    let reported = refused(
        "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n\
         sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required;\n\
         sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler\n",
    );
    assert!(
        reported.starts_with("client.properties:2:1: `sasl.mechanism` AWS_MSK_IAM is not supported here"),
        "{reported}"
    );
    assert!(reported.contains("use `OAUTHBEARER`") && reported.contains("token="), "{reported}");
}

#[test]
fn names_of_other_clients_lead_to_kafkas() {
    let found = read(
        "message.timeout.ms=5000\nqueue.buffering.max.ms=5\nlinger_ms=5\ndebug=all\nschema.registry.url=x\n",
    );
    for warnings in [found.of_load(&PRODUCER).warnings, found.of_java_load(&PRODUCER).warnings] {
        let [timeout, linger, spelt, debug, registry] = &warnings[..] else { panic!("{warnings:#?}") };
        assert_eq!(
            timeout,
            "`message.timeout.ms` is no setting of Kafka's clients, but of librdkafka, and is not taken; Kafka's clients call \
             it `delivery.timeout.ms`"
        );
        assert!(linger.ends_with("call it `linger.ms`") && spelt.ends_with("call it `linger.ms`"), "{spelt}");
        assert!(debug.contains("has no such setting"), "{debug}");
        assert!(registry.contains("but of the schema registry's serializers"), "{registry}");
    }
    let reported = refused(
        "security.protocol=SASL_SSL\nsasl.mechanisms=PLAIN\nsasl.username=me\nsasl.password=hunter2\n",
    );
    assert!(
        reported.contains("but of librdkafka") && reported.contains("call it `sasl.mechanism`"),
        "{reported}"
    );
    let reported = refused("security.protocol=SSL\nssl.ca.location=ca.pem\n");
    assert!(reported.contains("`ssl.truststore.type=PEM`"), "{reported}");
}

/// Lines that applications have, and Kafka's own tools take.
#[test]
fn kafkas_properties_are_accepted_and_ignored_ones_warn() {
    let found = read(
        "value.serializer=io.acme.AvroSerializer\nretries=0\nconnections.max.idle.ms=180000\nreconnect.backoff.ms=500\n\
         client.dns.lookup=resolve_canonical_bootstrap_servers_only\nsend.buffer.bytes=1048576\nlinger.ms=5\n\
         transactional.id=me\nconnections.max.idle.ms.typo=1\n",
    );
    let names = |settings: &[&kdyno_model::properties::Property]| -> Vec<String> {
        settings.iter().map(|property| property.name.clone()).collect()
    };
    let tool = PropertiesCommand { sets: &["value.serializer"], ..PRODUCER };
    let own = found.of_load(&tool);
    assert_eq!(names(&own.settings), ["linger.ms"]);
    let [retries, idle, pause, names_of_hosts, buffer, id, typo] = &own.warnings[..] else {
        panic!("{:#?}", own.warnings)
    };
    assert_eq!(
        retries,
        "`retries` as `0` is not followed: a record is sent again until `delivery.timeout.ms`, and idempotence stays as it is, \
         which Java's producer gives up with `0` unless `enable.idempotence` is set; JAVA"
    );
    assert!(
        idle.starts_with("`connections.max.idle.ms` as `180000` is not followed") && idle.ends_with("; JAVA")
    );
    assert!(
        pause.contains("`reconnect.backoff.ms` as `500`") && names_of_hosts.contains("`client.dns.lookup`")
    );
    assert!(buffer.contains("`send.buffer.bytes` as `1048576`"), "{buffer}");
    assert!(id.contains("`transactional.id`") && !id.contains("JAVA"), "kdyno gives it itself: {id}");
    assert!(typo.contains("is no setting of Kafka's clients"), "{typo}");
    assert!(
        own.facts[0].ends_with("does not take them from the properties: `value.serializer`"),
        "{:?}",
        own.facts
    );
    // Kafka's own client follows what it has; without the command's serializer there is a warning as well.
    let java = found.of_java_load(&PRODUCER);
    assert_eq!(java.settings.len(), 7, "{:?}", names(&java.settings));
    assert_eq!(java.warnings.len(), 2, "{:#?}", java.warnings);
    // What Kafka cannot parse is left to be refused.
    assert_eq!(names(&read("retries=many\n").of_load(&tool).settings), ["retries"]);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes(&bytes, &[]);
    }

    #[test]
    fn no_text_of_settings_makes_it_panic_or_print_a_password(
        lines in proptest::collection::vec(
            ("(security\\.protocol|sasl\\.mechanism|sasl\\.jaas\\.config|ssl\\.keystore\\.(key|type|location|password)|ssl\\.key\\.password)",
             "(SSL|SASL_SSL|PLAIN|PEM|a\\.pem|b\\.jks|x required( [a-z]{1,4}=.{0,6})?;?)?"),
            0..8,
        ),
    ) {
        let mut text: String = lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        text.push_str("ssl.truststore.password=hunter2\n");
        let reported = match read_bytes(text.as_bytes(), &[]) {
            Ok(found) => format!("{found:?}"),
            Err(reported) => reported,
        };
        prop_assert!(!reported.contains(PASSWORD), "{}", reported);
    }
}
