//! The settings of clients as properties files of Kafka's own, for those who repeat a run with other tools. Addresses, users,
//! files, passwords and tokens are left out.

use crate::answer::verdict;
use crate::input::ReportInput;
use crate::units::milliseconds;
use kdyno_model::plan::{
    CasePlan, ClientListener, ConsumePlan, GroupProtocol, LoadPlan, Mechanism, Partitioner, ProducePlan,
    Role, Sasl, Security, Store, StoreContent, SystemPlan, Tls, TlsVersion,
};
use kdyno_model::version::Version;

/// A setting with its value.
type ClientProperty = (&'static str, String);

/// A file for each kind of client of each load item, under what it is of; cases with the same file are listed once.
pub(crate) fn all(input: &ReportInput<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<String>, String)> = Vec::new();
    for (case_name, case) in named_cases(input) {
        for (title, text) in case.load.iter().flat_map(|(name, load)| files(name, case, load)) {
            match found.iter_mut().find(|(of, _, other)| *of == title && *other == text) {
                Some((_, cases, _)) => cases.push(case_name.clone()),
                None => found.push((title, vec![case_name.clone()], text)),
            }
        }
    }
    let is_one_for_all = |title: &str| found.iter().filter(|(of, ..)| of == title).count() == 1;
    let reported = found.iter().map(|(title, cases, text)| match is_one_for_all(title) {
        true => (title.clone(), text.clone()),
        false => (format!("{title}; {}", cases.join("; ")), text.clone()),
    });
    reported.collect()
}

/// Every case with a name: in a comparison with its side.
fn named_cases<'a>(input: &ReportInput<'a>) -> Vec<(String, &'a CasePlan)> {
    let plan = input.plan();
    let Some(comparison) = plan.strategy.as_compare() else {
        return plan.cases.iter().map(|case| (case.label.clone(), case)).collect();
    };
    let labels = verdict::labels(input);
    let named = |label: &str, case: &CasePlan| match case.label.as_str() {
        "" => label.to_owned(),
        of => format!("{label}, {of}"),
    };
    let first = plan.cases.iter().map(|case| (named(&labels[0], case), case));
    first.chain(comparison.other_cases().map(|case| (named(&labels[1], case), case))).collect()
}

/// The files of a load item: a probe has two, a producer's and a consumer's.
fn files(name: &str, case: &CasePlan, load: &LoadPlan) -> Vec<(String, String)> {
    let security = security(&case.system);
    let file = |kind: &str, about: String, settings: Vec<ClientProperty>| {
        let mut text = format!("# {about}\nbootstrap.servers=<servers>\n");
        for (setting, value) in settings.iter().chain(&security) {
            text.push_str(&format!("{setting}={value}\n"));
        }
        (format!("{name}, {kind}"), text)
    };
    if let Some(java) = load.driver.as_java() {
        let kind = if load.role.as_consume().is_some() { "consumer" } else { "producer" };
        let mut of_java =
            file(kind, format!("driver {}, everything else as by default there", load.driver), Vec::new());
        of_java.1.extend(java.properties.iter().map(|(setting, value)| format!("{setting}={value}\n")));
        return vec![of_java];
    }
    let of_producer = |plan: &ProducePlan| {
        let about = format!("kdyno's client, with the defaults of Kafka {}", plan.client.defaults);
        file("producer", about, producer(plan))
    };
    let of_consumer = |plan: &ConsumePlan| {
        let about = match plan.group {
            None => {
                "kdyno's client, with Kafka's defaults, which are the same in every release, where a scenario says nothing"
            }
            Some(_) => {
                "kdyno's client, with the defaults of the release that the scenario names where it says nothing"
            }
        };
        file("consumer", about.to_owned(), consumer(plan))
    };
    match &load.role {
        Role::Produce(plan) => vec![of_producer(plan)],
        Role::Consume(plan) => vec![of_consumer(plan)],
        Role::EndToEnd(probe) => vec![of_producer(&probe.produce), of_consumer(&probe.consume)],
    }
}

fn producer(plan: &ProducePlan) -> Vec<ClientProperty> {
    let client = &plan.client;
    // Settings that the release has not yet are left out where they ask for what it does.
    let knows = |major, minor| knows(&client.defaults, (major, minor));
    let mut found = client.named();
    found.retain(|(setting, _)| match *setting {
        "retry.backoff.max.ms" => knows(3, 7) || client.retry_backoff_max_ns != client.retry_backoff_ns,
        "partitioner.adaptive.partitioning.enable" | "partitioner.availability.timeout.ms" => {
            client.partitioner == Partitioner::Sticky && (knows(3, 3) || client.adaptive_partitioning)
        }
        "partitioner.ignore.keys" => client.ignore_keys && knows(3, 3),
        _ => true,
    });
    if client.ignore_keys && !knows(3, 3) {
        found.push(("partitioner.class", Partitioner::UNIFORM_STICKY_CLASS.to_owned()));
    }
    if plan.transactions.is_some() {
        found.push(("transactional.id", "<each client its own>".to_owned()));
        found.push(("transaction.timeout.ms", milliseconds(client.transaction_timeout_ns)));
    }
    found
}

/// Whether clients of a release, such as `4.1`, have what came with another; one that is not known is taken for a new one.
fn knows(defaults: &str, since: (u32, u32)) -> bool {
    Version::of_client(defaults).ok().is_none_or(|release| release.at_least(since.0, since.1))
}

fn consumer(plan: &ConsumePlan) -> Vec<ClientProperty> {
    let mut found = vec![("auto.offset.reset", plan.from.to_string())];
    found.extend(plan.written());
    let Some(group) = &plan.group else { return found };
    found.push(("group.id", group.id.clone().unwrap_or_else(|| format!("<group {}>", group.name))));
    found.extend(group.settings().into_iter().map(|(setting, value)| match &group.protocol {
        // Its name among members; a properties file has classes.
        GroupProtocol::Classic { assignors, .. } if setting == "partition.assignment.strategy" => {
            let classes: Vec<&str> = assignors.iter().map(|assignor| assignor.class()).collect();
            (setting, classes.join(","))
        }
        _ => (setting, value),
    }));
    found
}

/// How clients connect.
fn security(system: &SystemPlan) -> Vec<ClientProperty> {
    match system.target() {
        Some(target) => of_target(&target.security),
        None => system.listener().as_ref().map(of_listener).unwrap_or_default(),
    }
}

/// kdyno makes the certificates and the user of what it starts.
fn of_listener(listener: &ClientListener) -> Vec<ClientProperty> {
    let protocol = listener.protocol;
    let mut found = vec![("security.protocol", protocol.to_string())];
    if protocol.has_tls() {
        found.extend(tls(&listener.tls, Some("PEM"), listener.client_certificates.then_some("PEM")));
    }
    found.extend(listener.mechanism.into_iter().flat_map(|mechanism| login(mechanism, false)));
    found
}

fn of_target(security: &Security) -> Vec<ClientProperty> {
    let mut found = vec![("security.protocol", security.protocol.to_string())];
    if let Some(Tls { trust, identity, hostname_check, versions, ciphers }) = &security.tls {
        found.extend(tls(versions, trust.as_ref().map(form), identity.as_ref().map(form)));
        if !hostname_check {
            found.push(("ssl.endpoint.identification.algorithm", String::new()));
        }
        if !ciphers.is_empty() {
            found.push(("ssl.cipher.suites", ciphers.join(",")));
        }
    }
    if let Some(sasl) = &security.sasl {
        let is_token = matches!(sasl, Sasl::Scram { is_delegation_token: true, .. });
        found.extend(login(sasl.mechanism(), is_token));
    }
    found
}

/// `ssl.truststore.type`.
fn form(store: &Store) -> &'static str {
    match store.content {
        StoreContent::PemFile(_) | StoreContent::Pem { .. } => "PEM",
        StoreContent::Pkcs12File(_) => "PKCS12",
    }
}

/// Forms of the truststore and of the client's own certificate, as far as there are any.
fn tls(versions: &[TlsVersion], trust: Option<&str>, own: Option<&str>) -> Vec<ClientProperty> {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    let mut found = vec![("ssl.enabled.protocols", versions.join(","))];
    let stores = [
        (trust, ["ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password"]),
        (own, ["ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password"]),
    ];
    for (form, [kind, location, password]) in stores {
        let Some(form) = form else { continue };
        found.extend([(kind, form.to_owned()), (location, "<file>".to_owned())]);
        if form != "PEM" {
            found.push((password, "<secret>".to_owned()));
        }
    }
    found
}

fn login(mechanism: Mechanism, is_delegation_token: bool) -> [ClientProperty; 2] {
    let module = match mechanism {
        Mechanism::Plain => "plain.PlainLoginModule",
        Mechanism::ScramSha256 | Mechanism::ScramSha512 => "scram.ScramLoginModule",
        Mechanism::OauthBearer => "oauthbearer.OAuthBearerLoginModule",
    };
    let options = match mechanism {
        Mechanism::OauthBearer => "",
        _ if is_delegation_token => r#" username="<user>" password="<secret>" tokenauth="true""#,
        _ => r#" username="<user>" password="<secret>""#,
    };
    let jaas = format!("org.apache.kafka.common.security.{module} required{options};");
    [("sasl.mechanism", mechanism.to_string()), ("sasl.jaas.config", jaas)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::{Protocol, ScramHash};

    fn text(settings: &[ClientProperty]) -> String {
        settings.iter().map(|(setting, value)| format!("{setting}={value}\n")).collect()
    }

    #[test]
    fn a_target_is_reached_as_its_file_says_and_not_printed() {
        let store = |content| Some(Store { content, password: Some("pw".to_owned()), key_password: None });
        let security = Security {
            protocol: Protocol::SaslSsl,
            tls: Some(Tls {
                trust: store(StoreContent::Pkcs12File("trust.p12".into())),
                identity: store(StoreContent::PemFile("own.pem".into())),
                hostname_check: false,
                versions: vec![TlsVersion::Tls12],
                ciphers: vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned()],
            }),
            sasl: Some(Sasl::Scram {
                hash: ScramHash::Sha512,
                username: "alice".to_owned(),
                password: "pw".to_owned(),
                is_delegation_token: false,
            }),
        };
        assert_eq!(
            text(&of_target(&security)),
            "security.protocol=SASL_SSL\n\
             ssl.enabled.protocols=TLSv1.2\n\
             ssl.truststore.type=PKCS12\n\
             ssl.truststore.location=<file>\n\
             ssl.truststore.password=<secret>\n\
             ssl.keystore.type=PEM\n\
             ssl.keystore.location=<file>\n\
             ssl.endpoint.identification.algorithm=\n\
             ssl.cipher.suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n\
             sasl.mechanism=SCRAM-SHA-512\n\
             sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username=\"<user>\" \
             password=\"<secret>\";\n"
        );
    }

    #[test]
    fn a_setting_is_written_for_releases_that_have_it() {
        let since = |release| knows(release, (3, 7));
        assert_eq!(["2.8", "3.6", "3.7", "3.10", "4.0"].map(since), [false, false, true, true, true]);
    }

    #[test]
    fn clients_of_a_listener_need_what_it_asks_for() {
        let plain = text(&of_listener(&ClientListener::default()));
        assert_eq!(plain, "security.protocol=PLAINTEXT\n");
        let mutual = ClientListener {
            protocol: Protocol::Ssl,
            tls: TlsVersion::ALL.to_vec(),
            client_certificates: true,
            ..ClientListener::default()
        };
        let text = text(&of_listener(&mutual));
        let asked = [
            "ssl.enabled.protocols=TLSv1.2,TLSv1.3\n",
            "ssl.truststore.type=PEM\n",
            "ssl.keystore.type=PEM\n",
        ];
        assert!(asked.iter().all(|line| text.contains(line)) && !text.contains("sasl"), "{text}");
    }
}
