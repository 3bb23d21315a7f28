//! What the plan makes of a system's listeners.

use kdyno_model::plan::{ClientListener, Listeners, Mechanism, Plan, Protocol, SystemPlan, TlsVersion};
use kdyno_plan::{Choices, plan};
use kdyno_scenario::Scenario;

fn made(head: &str, listeners: &str) -> Plan {
    let text = format!(
        "kdyno: 1\nid: secured\nquestion: what does it cost?\n{head}system: {{listeners: {listeners}}}\n\
         topics: {{t: {{partitions: 1}}}}\nload: {{writers: {{produce: t, rate: 1k/s, value: 1KiB}}}}\n\
         phases: {{warmup: 5s, measure: 10s}}\n"
    );
    plan(&Scenario::parse(&text, "s.yaml").unwrap(), &Choices::default()).unwrap()
}

fn listeners(plan: &Plan, case: usize) -> Listeners {
    let SystemPlan::Local(cluster) = &plan.cases[case].system else { panic!("a local cluster") };
    cluster.listeners.clone()
}

#[test]
fn every_word_has_its_meaning() {
    let plan = made(
        "",
        "{clients: {protocol: SASL_SSL, sasl: PLAIN, tls: 1.3, certificates: required}, \
         internal: {protocol: SSL}, authorizer: acls}",
    );
    let clients = ClientListener {
        protocol: Protocol::SaslSsl,
        mechanism: Some(Mechanism::Plain),
        tls: vec![TlsVersion::Tls13],
        client_certificates: true,
    };
    assert_eq!(listeners(&plan, 0), Listeners { clients, internal: Protocol::Ssl, authorizer: true });
}

#[test]
fn listener_features_that_a_release_lacks_are_refused_in_place() {
    let text = "kdyno: 1\nid: secured\nquestion: what does it cost?\n\
                system:\n  kafka: 3.4.1\n  listeners:\n    clients: {protocol: SASL_SSL}\n\
                topics: {t: {partitions: 1}}\nload: {writers: {produce: t, rate: 1k/s, value: 1KiB}}\n\
                phases: {warmup: 5s, measure: 10s}\n";
    let planned = |text: &str| plan(&Scenario::parse(text, "s.yaml").unwrap(), &Choices::default());
    let error = planned(text).unwrap_err().to_string();
    assert!(error.starts_with("s.yaml:7:25: Kafka 3.4 has no SCRAM users in its KRaft mode"), "{error}");
    planned(&text.replace("3.4.1\n", "3.4.1\n  mode: zookeeper\n")).unwrap();
    planned(&text.replace("SASL_SSL", "SASL_SSL, sasl: PLAIN")).unwrap();
}

#[test]
fn the_price_of_security_is_asked_for_by_one_param() {
    let head = "params: {protocol: PLAINTEXT}\ncases: [{protocol: PLAINTEXT}, {protocol: SASL_SSL}]\n";
    let plan = made(head, "{clients: {protocol: $protocol, tls: 1.2}}");
    assert!(listeners(&plan, 0).are_plain());
    let secured = listeners(&plan, 1).clients;
    assert_eq!(secured.mechanism, Some(Mechanism::ScramSha512));
    assert_eq!(secured.tls, [TlsVersion::Tls12]);
}
