//! Each way into a cluster: what is written over it is all acknowledged and all read, by kdyno's own client and by
//! Kafka's.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{client_properties, ended, evidences, is_matrix, ran, start_scenario, totals};
use crate::secured::{HEAD, JAVA, assert_java_was_let_in};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::jaas;
use kdyno_model::properties::Properties;
use kdyno_model::sample::Counts;
use std::path::Path;

/// Items of kdyno's own client, then those of `more`.
fn load(more: &str) -> String {
    format!(
        "\
topics: {{perf: {{partitions: 2, replicas: 1}}}}
load:
  writers: {{produce: perf, clients: 2, rate: 500/s, value: 100B, client: {{enable.idempotence: true}}}}
  readers: {{consume: perf}}
{more}phases: {{warmup: 1s, condition: none, measure: 5s, drain: 20s}}
show: {{columns: [writers.acked_per_s]}}
"
    )
}

/// What `writers` offered was acknowledged, and `readers` were handed it, with what others wrote.
fn assert_all_went_through(evidence: &TrialEvidence, others: &[&str]) {
    let of = |item: &str| -> Counts { totals(evidence, item).counts.clone() };
    let (written, read) = (of("writers"), of("readers"));
    assert!(written.offered > 2_000, "{written:?}");
    assert_eq!(written.acknowledged, written.offered, "{written:?}");
    let others: u64 = others.iter().map(|item| of(item).acknowledged).sum();
    assert_eq!(read.fetched, written.acknowledged + others, "{read:?}");
}

/// SCRAM with certificates is part of another test (`secured`). Here a cluster for each, so with `make test-matrix` alone.
#[test]
fn java_clients_and_our_own_are_let_in_by_each_kind_of_listener() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    for clients in [
        "{protocol: SSL}",
        "{protocol: SSL, tls: 1.2, certificates: required}",
        "{protocol: SASL_SSL, sasl: PLAIN}",
        "{protocol: SASL_PLAINTEXT, sasl: PLAIN}",
        "{protocol: SASL_PLAINTEXT, sasl: SCRAM-SHA-256}",
        "{protocol: SASL_SSL, sasl: OAUTHBEARER}",
    ] {
        let place = TestFolder::new();
        let system = format!(
            "system: {{kafka: newest, limits: {{heap: 256MiB}}, jvm: QUICK_JVM, listeners: {{clients: {clients}}}}}\n"
        );
        let said = start_scenario(&place, &format!("{HEAD}{system}{}", load(JAVA))).wait(RUN_DEADLINE);
        assert!(matches!(said.code, Some(0 | 6)), "{clients}: {said:?}");
        assert_java_was_let_in(&place, &place.show());
        assert_all_went_through(&evidences(&place)[0], &["java_writers"]);
        place.expect_no_processes();
    }
}

/// A login of OAUTHBEARER, which is repeated on each open connection every few seconds.
#[test]
fn a_token_of_a_file_or_of_a_program_lets_in() {
    const LOGIN: &str = "sasl.jaas.config=\
        org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";
    let turn = with_others();
    let place = TestFolder::new();
    let up = ["cluster", "up", "tokens", "--heap", "256MiB", "--protocol", "SASL_PLAINTEXT"];
    let again = ["--sasl", "OAUTHBEARER", "--config", "connections.max.reauth.ms=4000"];
    ended(&place.start(place.command(&[&up[..], &again].concat())).wait(RUN_DEADLINE), 0);
    let _turn = turn.waits();
    let own = client_properties(&place);
    let target = place.kdyno(&["cluster", "target", "tokens"]).stdout;
    let own_path = own.to_str().expect("plain path");
    let all = Properties::parse(&std::fs::read(&own).expect("the file")).expect("properties");
    let login = jaas::parse(all.get("sasl.jaas.config").expect("a login")).expect("a login");
    let token = place.file("token", &login.options["token"]);
    let token = token.to_str().expect("plain path");
    let address = all.get("bootstrap.servers").expect("an address");
    let reach = format!(
        "bootstrap.servers={address}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
    );
    let by_file = format!("{reach}{LOGIN};\nsasl.oauthbearer.token.endpoint.url=file://{token}\n");
    let by_program = format!("{reach}{LOGIN} token=\"${{token}}\";\n");
    let asked = format!("secrets: {{token: {{exec: [cat, {token}]}}}}, properties: ");
    for (properties, client) in [(by_file, "properties: "), (by_program, asked.as_str())] {
        let properties = place.file("token.properties", &properties);
        let target = target.replace(own_path, properties.to_str().expect("plain path"));
        let target = place.file("target.yaml", &target.replace("properties: ", client));
        place.file("small.yaml", &format!("{HEAD}{}", load("")));
        assert_run_by(&place, &target);
        if !is_matrix() {
            break;
        }
    }
    ended(&place.start(place.command(&["cluster", "down", "tokens"])).wait(RUN_DEADLINE), 0);
    place.expect_no_processes();
}

/// Runs `small.yaml` against a target; its run file goes.
fn assert_run_by(place: &TestFolder, target: &Path) {
    let target = target.to_str().expect("plain path");
    let args = ["run", "small.yaml", "--target", target, "--share", "--yes", "--seed", "1"];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    assert_all_went_through(&evidences(place)[0], &[]);
    std::fs::remove_file(place.run_file()).expect("a run file");
}
