//! Java clients on real brokers.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{
    client_properties, ended, evidences, figure, figure_of, is_matrix, ran, start_scenario, totals,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kdyno_model::sample::series;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How long a token is good, and how long records are sent: two tokens long and more.
const GOOD_S: u64 = 20;
const LOAD: &str = "\
kdyno: 1
id: small
question: Does it log in again?
topics: {perf: {partitions: 2, replicas: 1}}
load:
  java_writers: {produce: perf, rate: 100/s, value: 100B, client: {driver: java, version: 4.1.1}}
  java_readers: {consume: perf, client: {driver: java, version: 4.1.1}}
phases: {warmup: 1s, condition: none, measure: 50s, drain: 5s}
show: {columns: [java_writers.acked_per_s]}
";

/// One client since KIP-890 (`transaction.version` 2), and of the full table one before it, on brokers of either kind.
const TRANSACTIONS: &str = "\
kdyno: 1
id: transactions
question: Does it add up?
params: {kafka: 4.1.1, client: 4.1.1}
cases: [{kafka: 4.1.1, client: 4.1.1}OLDER]
system: {kafka: $kafka, mode: kraft, brokers: 1, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM, \
         config: {transaction.state.log.num.partitions: 3}}
topics: {perf: {partitions: 3, replicas: 1}}
load:
  writers: {produce: perf, clients: 2, rate: 500/s, value: 100B, transactions: {every: 100ms, abort: 20%}, \
            client: {driver: java, version: $client}}
  readers: {consume: perf, clients: 1}
  committed: {consume: perf, clients: 1, client: {driver: java, version: $client, isolation.level: read_committed}}
phases: {warmup: 1s, condition: none, measure: 5s, drain: 10s}
show: {rows: [kafka], columns: [writers.acked_per_s, writers.committed, writers.aborted, writers.commit.p99]}
";

/// The log grows by what was acknowledged and by the markers that the process reported, and readers of committed
/// records miss those that were aborted.
#[test]
fn transactions_of_java_clients_add_up_with_the_log() {
    let _turn = with_others();
    let place = TestFolder::new();
    let older = if is_matrix() { ", {kafka: 3.7.2, client: 3.9.2}" } else { "" };
    ran(&start_scenario(&place, &TRANSACTIONS.replace("OLDER", older)).wait(RUN_DEADLINE));
    let document = place.show();
    for (case, evidence) in evidences(&place).iter().enumerate() {
        let of = |metric: &str| figure_of(&document, case, &format!("writers.{metric}"));
        assert_eq!((of("failed"), of("unresolved")), (0.0, 0.0), "case {case}: {}", document["events"]);
        let (committed, aborted) = (of("committed"), of("aborted"));
        assert!((10.0..=102.0).contains(&(committed + aborted)), "{committed} {aborted}");
        assert!(aborted > 0.0 && aborted < committed, "{committed} {aborted}");
        assert!(of("commit.p50") > 0.0 && of("commit.p50") <= of("commit.max"));
        let [written, read, seen] =
            ["writers", "readers", "committed"].map(|item| &totals(evidence, item).counts);
        let readings = evidence.probes.iter().filter(|reading| reading.series == series::LOG_RECORDS_TOTAL);
        let ends: Vec<f64> = readings.map(|reading| reading.value).collect();
        assert_eq!(ends.len(), 2, "{ends:?}");
        assert_eq!(ends[1] - ends[0], (written.acknowledged + written.markers) as f64, "{written:?}");
        assert!(written.markers > written.committed && written.markers_unsure == 0, "{written:?}");
        assert_eq!((read.fetched, read.control_records), (written.acknowledged, written.markers), "{read:?}");
        assert!(seen.fetched > 0 && seen.fetched < written.acknowledged, "{seen:?}");
    }
    place.expect_no_processes();
}

/// A token without a signature, which the broker takes until it expires.
fn write_token(path: &Path) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let claims = format!("{{\"sub\":\"kdyno\",\"iat\":{now},\"exp\":{}}}", now + GOOD_S);
    let token = [r#"{"alg":"none"}"#, claims.as_str()].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let newer = path.with_extension("newer");
    std::fs::write(&newer, format!("{token}.")).expect("a file");
    std::fs::set_permissions(&newer, Permissions::from_mode(0o600)).expect("its owner's alone");
    std::fs::rename(newer, path).expect("in its place");
}

/// A broker lets a connection live as long as the token that it was opened with. Who had no newer one would be refused after the
/// first twenty seconds. It takes more than a minute, so with `make test-matrix` alone.
#[test]
fn java_clients_log_in_again_with_a_newer_token() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    let place = TestFolder::new();
    let up = ["cluster", "up", "sec", "--heap", "256MiB", "--protocol", "SASL_PLAINTEXT", "--sasl"];
    ended(&place.start(place.command(&[&up[..], &["OAUTHBEARER"]].concat())).wait(RUN_DEADLINE), 0);
    let path = client_properties(&place);
    let path = path.to_str().expect("plain path");
    let token = place.path().join("token");
    let text = std::fs::read_to_string(path).expect("the file");
    let others: Vec<&str> = text.lines().filter(|line| !line.starts_with("sasl.jaas.config")).collect();
    let login =
        "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;";
    let from = format!("sasl.oauthbearer.token.endpoint.url=file://{}", token.display());
    let own = place.file("own.properties", &[&others[..], &[login, &from, ""]].concat().join("\n"));
    let target = place.kdyno(&["cluster", "target", "sec"]).stdout;
    assert!(target.contains(path), "{target}");
    place.file("target.yaml", &target.replace(path, own.to_str().expect("plain path")));
    place.file("small.yaml", LOAD);

    let is_over = AtomicBool::new(false);
    write_token(&token);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            while !is_over.load(Ordering::Relaxed) && begin.elapsed() < RUN_DEADLINE {
                write_token(&token);
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let args = ["run", "small.yaml", "--target", "target.yaml", "--share", "--yes", "--seed", "1"];
        let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
        is_over.store(true, Ordering::Relaxed);
        said
    });
    ran(&said);
    let document = place.show();
    assert_eq!(figure(&document, "java_writers.failed"), 0.0, "{}", document["events"]);
    let evidence = evidences(&place);
    let [sent, read] = ["java_writers", "java_readers"].map(|item| &totals(&evidence[0], item).counts);
    assert_eq!((sent.offered, sent.unresolved), (sent.acknowledged, 0), "{sent:?}");
    assert_eq!(read.fetched, sent.acknowledged, "{read:?}");
    ended(&place.start(place.command(&["cluster", "down", "sec"])).wait(RUN_DEADLINE), 0);
    place.expect_no_processes();
}
