//! Clusters that ask who comes. Runs on them go as on others, and what opens them is in the files that are for it: neither in
//! what is printed nor in a log, a run file or the list of processes, whether the login is good, refused or cut off.

use crate::common::turns::with_others;
use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, signal};
use crate::fixture::{
    client_properties, ended, event_kinds, evidences, figure, files, kafka_tool, ran, start_scenario, totals,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::jaas;
use kdyno_model::properties::Properties;
use rustix::process::Signal;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The part of a load for targets, and what comes before it on a cluster of the run's own.
const LOAD: &str = "\
topics: {perf: {partitions: 2, replicas: 1}}
load:
  writers: {produce: perf, rate: 500/s, value: 100B}
  orders: {produce: perf, rate: 100/s, value: 100B, transactions: {every: 200ms}}
  readers: {consume: perf}
phases: {warmup: 1s, condition: none, measure: 5s, drain: 20s}
show: {columns: [writers.acked_per_s]}
";
/// The part of a load that Kafka's own Java client runs.
pub const JAVA: &str = "  \
  java_writers: {produce: perf, rate: 100/s, value: 100B, client: {driver: java, version: 4.1.1}}
  java_readers: {consume: perf, client: {driver: java, version: 4.1.1}}
";
pub const HEAD: &str = "kdyno: 1\nid: small\nquestion: Does it work?\n";
const SYSTEM: &str = "\
system:
  kafka: newest
  limits: {heap: 256MiB}
  jvm: QUICK_JVM
  config: {group.initial.rebalance.delay.ms: 0}
  listeners:
    clients: {protocol: SASL_SSL, sasl: PLAIN, certificates: required}
    internal: {protocol: SSL}
    authorizer: acls
";

/// A password that opens nothing.
const WRONG: &str = "hunter2-opens-nothing";

/// What must be found nowhere: as it is, and in base64, as which a worker gets it.
struct Secrets(Vec<String>);

impl Secrets {
    fn of(values: &[&str]) -> Self {
        let mut found = Vec::new();
        for value in values {
            // Each line of a key by itself: what repeats it may end its lines otherwise.
            let lines = value.lines().filter(|line| line.len() > 8 && !line.starts_with("-----"));
            found.extend(lines.map(str::to_owned));
            found.push(STANDARD.encode(value));
        }
        assert!(found.len() >= 2 * values.len(), "a value is too short to be looked for");
        Self(found)
    }

    fn are_not_in(&self, bytes: &[u8], what: &str) {
        // Secrets are ASCII, which stays as it is whatever surrounds it.
        let text = String::from_utf8_lossy(bytes);
        assert!(!self.0.iter().any(|secret| text.contains(secret.as_str())), "{what} has a secret");
    }

    /// Looks into every file of the place but these files and folders, which are for secrets.
    fn are_in_no_file(&self, place: &TestFolder, but: &[&Path]) {
        let mut folders = vec![place.path().to_owned()];
        while let Some(folder) = folders.pop() {
            // What brokers and SQLite have just removed says nothing.
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                if but.contains(&path.as_path()) {
                    continue;
                }
                match kind {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(kind) if kind.is_file() => {
                        let bytes = std::fs::read(&path).unwrap_or_default();
                        self.are_not_in(&bytes, &path.display().to_string());
                    }
                    _ => {}
                }
            }
        }
    }

    /// Looks at command line and environment of every process of the place but this one: brokers, guard, kdyno and its
    /// worker, Java clients.
    fn are_in_no_process(&self, place: &TestFolder, but: u32) {
        let processes = place.processes(but);
        for name in ["kafka.Kafka", " worker"] {
            assert!(processes.iter().any(|(_, line)| line.contains(name)), "no {name}: {processes:?}");
        }
        for (pid, line) in processes {
            for file in ["cmdline", "environ"] {
                let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                self.are_not_in(&bytes, &format!("{file} of {line}"));
            }
        }
    }
}

/// Prints and writes the newest run in every form that there is.
fn tell_all(place: &TestFolder) {
    ended(&place.kdyno(&["show", "latest"]), 0);
    for more in [&["--json"][..], &["--logs"], &["--format", "markdown"]] {
        ended(&place.kdyno(&[&["show", "latest"][..], more].concat()), 0);
    }
    for format in ["json", "csv", "series-csv", "markdown", "junit"] {
        ended(&place.kdyno(&["export", "latest", "--format", format]), 0);
    }
    ended(&place.kdyno(&["report", "latest", "-o", "report.html"]), 0);
}

/// A cluster that stays, and the file that its clients need.
struct SecuredCluster<'a> {
    place: &'a TestFolder,
    path: PathBuf,
    text: String,
    target: String,
}

impl<'a> SecuredCluster<'a> {
    fn up(place: &'a TestFolder) -> Self {
        let up = ["cluster", "up", "sec", "--heap", "256MiB", "--protocol", "SASL_SSL", "--internal-tls"];
        // A login is good for so long: a run that does not log in again loses its connections.
        let sessions = ["--config", "connections.max.reauth.ms=4000"];
        let args = [&up[..], &["--client-certificates", "--acls"], &sessions].concat();
        let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
        ended(&said, 0);
        let path = client_properties(place);
        assert!(said.stderr.contains(&*path.to_string_lossy()), "it is told: {}", said.stderr);
        let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let target = place.kdyno(&["cluster", "target", "sec"]);
        ended(&target, 0);
        let text = std::fs::read_to_string(&path).expect("the file");
        Self { place, path, text, target: target.stdout }
    }

    fn property(&self, name: &str) -> String {
        let properties = Properties::parse(self.text.as_bytes()).expect("properties");
        properties.get(name).expect(name).to_owned()
    }

    /// The line of a property as it is in the file, without its name.
    fn typed(&self, name: &str) -> &str {
        let lines = self.text.lines();
        lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).next().expect(name)
    }

    /// Starts a run of this load by a properties file.
    fn run(&self, load: &str, properties: &Path) -> Running<'a> {
        let own = self.path.to_str().expect("plain path");
        assert!(self.target.contains(own), "{}", self.target);
        let target = self.target.replace(own, properties.to_str().expect("plain path"));
        self.place.file("target.yaml", &target);
        self.place.file("small.yaml", &format!("{HEAD}{load}"));
        let args = ["run", "small.yaml", "--target", "target.yaml", "--share", "--yes", "--seed", "1"];
        self.place.start(self.place.command(&args))
    }

    /// What comes of a run where the file says something else.
    fn run_by(&self, text: &str) -> ProgramOutput {
        self.run(LOAD, &self.place.file("private/wrong.properties", text)).wait(RUN_DEADLINE)
    }

    /// Opens the cluster with the drop-in commands, to which everything of its file is typed. So secrets are on the command
    /// line of the user's own, and on no other.
    fn open_by_drop_ins(&self, secrets: &Secrets) {
        const RECORDS: &str = "6000";
        let all = Properties::parse(self.text.as_bytes()).expect("properties");
        let typed: Vec<String> =
            all.properties.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
        let topic = ["--topic", "kdyno-mine", "--num-records", RECORDS];
        let paced = ["--record-size", "100", "--throughput", "3000", "--command-property"];
        let mut produce = [&["producer-perf-test"][..], &topic, &paced].concat();
        produce.extend(typed.iter().map(String::as_str));
        let address = self.property("bootstrap.servers");
        let group = ["--bootstrap-server", &address, "--group", "kdyno-mine"];
        let mut consume = [&["consumer-perf-test"][..], &topic, &group].concat();
        // Each tool has its own flag.
        typed.iter().for_each(|one| consume.extend(["--command-property", one.as_str()]));
        for args in [produce, consume] {
            let mut running = self.place.start(self.place.command(&args));
            running.wait_for_process(" worker");
            secrets.are_in_no_process(self.place, running.pid());
            let said = running.wait(RUN_DEADLINE);
            ended(&said, 0);
            let last = said.stdout.lines().last().unwrap_or_default();
            let is_all = last.starts_with("6000 records sent, ") || last.split(", ").nth(4) == Some(RECORDS);
            assert!(is_all, "{said:?}");
        }
    }
}

#[test]
fn a_kept_secured_cluster_is_measured_and_one_file_opens_it() {
    let _turn = with_others();
    let place = TestFolder::new();
    let cluster = SecuredCluster::up(&place);
    let login = jaas::parse(&cluster.property("sasl.jaas.config")).expect("a login");
    let (password, key) = (login.options["password"].as_str(), cluster.property("ssl.keystore.key"));
    let secrets = Secrets::of(&[password, &key, WRONG]);

    let load = LOAD.replace("phases:", &format!("{JAVA}phases:")).replace("measure: 5s", "measure: 12s");
    let mut running = cluster.run(&load, &cluster.path);
    running.wait_for("· measure");
    assert_eq!(running.processes("kdyno.driver.Main").len(), 2, "Java clients of two items");
    secrets.are_in_no_process(&place, 0);
    ran(&running.wait(RUN_DEADLINE));
    let document = place.show();
    // Coordinators ask who comes, too, and have ACLs of their own. A busy host needs the whole window for the first
    // transaction of a cluster.
    let evidence = evidences(&place);
    let all = ["writers", "orders", "readers"].map(|item| &totals(&evidence[0], item).counts);
    assert!(all[0].acknowledged > 0 && all[1].committed > 0 && all[2].fetched > 0, "{all:?}");
    assert_java_was_let_in(&place, &document);
    assert_eq!(["writers.failed", "orders.failed"].map(|failed| figure(&document, failed)), [0.0, 0.0]);
    let kinds = event_kinds(&document);
    assert!(!kinds.contains(&"refused".to_owned()), "{kinds:?}");
    for item in ["writers", "orders", "readers"] {
        assert_logged_in_again(&evidence[0], item);
    }
    tell_all(&place);

    let private = place.path().join("private");
    std::fs::create_dir(&private).expect("a folder");
    let (text, mechanism) = (&cluster.text, "SCRAM-SHA-512");
    let certificates = cluster.typed("ssl.truststore.certificates");
    let own = cluster.typed("ssl.keystore.certificate.chain");
    let in_the_open = |protocol: &str| text.replace("=SASL_SSL\n", &format!("={protocol}\n"));
    let address = cluster.property("bootstrap.servers");
    let elsewhere = text.replace(&address, &another_address(&address));
    let plain = text.replace(mechanism, "PLAIN").replace("scram.ScramLogin", "plain.PlainLogin");
    for (wrong, sentence) in [
        (text.replace(password, WRONG), "the broker refused the login by SCRAM-SHA-512: "),
        (plain, "takes no login by PLAIN, only by SCRAM-SHA-512"),
        (
            text.replace(certificates, own),
            "no trusted authority signed the broker's certificate (ssl.truststore.location)",
        ),
        (elsewhere, "the host \"127.0.0.2\" that was dialled"),
        (in_the_open("SSL"), "its listener may ask for a login"),
        (in_the_open("PLAINTEXT"), "SSL or SASL_SSL"),
    ] {
        assert_ne!(wrong, *text, "the test means something that is there: {sentence}");
        let said = cluster.run_by(&wrong);
        ended(&said, 1);
        assert!(said.stderr.contains(sentence), "no {sentence:?}: {}", said.stderr);
    }
    secrets.are_in_no_file(&place, &[&cluster.path, &private]);

    let path = cluster.path.to_str().expect("plain path");
    let java =
        ["--bootstrap-server", &address, "--command-config", path, "--create", "--topic", "kdyno-mine"];
    ended(&kafka_tool(&place, "org.apache.kafka.tools.TopicCommand", &java), 0);
    cluster.open_by_drop_ins(&secrets);
    let quick = ["quick", "--command-config", path, "--duration", "2s", "--share"];
    ran(&place.start(place.command(&quick)).wait(RUN_DEADLINE));
    ended(&place.start(place.command(&["cluster", "down", "sec"])).wait(RUN_DEADLINE), 0);
    assert!(!cluster.path.exists(), "it goes with the cluster");
    secrets.are_in_no_file(&place, &[&private]);
    place.expect_no_processes();
}

/// An address of this host that no certificate of the cluster names, at which the broker is reached as well: what comes there
/// is handed on, and back, as long as the test lasts.
fn another_address(broker: &str) -> String {
    let listener = TcpListener::bind("127.0.0.2:0").expect("another address of this host");
    let (address, broker) = (listener.local_addr().expect("its address").to_string(), broker.to_owned());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&broker) else { return };
            for (mut from, mut to) in [(&client, &server), (&server, &client)]
                .map(|(from, to)| (from.try_clone().expect("a socket"), to.try_clone().expect("a socket")))
            {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}

/// One that never logged in again would lose its connection with each session of four seconds, at least three times. A
/// session whose last fifth of a second passes on a busy host is another matter.
fn assert_logged_in_again(evidence: &TrialEvidence, item: &str) {
    let is_lost = |event: &&Event| {
        event.kind == EventKind::Disconnected && event.subject == Subject::Item(item.to_owned())
    };
    let lost = evidence.events.iter().filter(is_lost).count();
    assert!(lost < 3, "{item}: {:?}", evidence.events);
}

/// Its clients wrote and read as others do, and knew all that they were given.
pub fn assert_java_was_let_in(place: &TestFolder, document: &serde_json::Value) {
    let evidence = evidences(place);
    let all = ["java_writers", "java_readers"].map(|item| &totals(&evidence[0], item).counts);
    assert!(all[0].acknowledged > 0 && all[1].fetched > 0, "{all:?}");
    assert_eq!(figure(document, "java_writers.failed"), 0.0);
    let kinds = event_kinds(document);
    assert!(!kinds.contains(&"client-warning".to_owned()), "{}", document["events"]);
}

/// Everything that was offered was acknowledged, and the member of the group was handed each record once.
fn assert_all_arrived(place: &TestFolder) {
    let evidence = evidences(place);
    let [written, ordered, read] =
        ["writers", "orders", "readers"].map(|item| &totals(&evidence[0], item).counts);
    assert_eq!((written.offered, ordered.offered), (written.acknowledged, ordered.acknowledged));
    assert!(written.offered > 0 && ordered.committed > 0 && ordered.aborted == 0, "{ordered:?}");
    assert_eq!(read.fetched - read.duplicates, written.acknowledged + ordered.acknowledged, "{read:?}");
}

#[test]
fn generated_secrets_appear_nowhere_after_a_good_or_cut_off_run() {
    let _turn = with_others();
    for is_cut_off in [false, true] {
        let place = TestFolder::new();
        // Members of a group need an ACL of their own. However long it takes to look everywhere, a run that is cut off is still
        // in its measure phase.
        let load = LOAD.replace("{consume: perf}", "{consume: perf, group: billing}");
        let load = load.replace("measure: 5s", if is_cut_off { "measure: 5m" } else { "measure: 6s" });
        let mut running = start_scenario(&place, &format!("{HEAD}{SYSTEM}{load}"));
        running.wait_for("· measure");
        let settings = files(&place, "server.properties");
        let settings = settings.first().expect("settings of a broker");
        let text = std::fs::read_to_string(settings).expect("settings");
        let (_, password) = text.split_once("user_kdyno=\"").expect("a password");
        let (password, _) = password.split_once('"').expect("a password");
        let all = Properties::parse(text.as_bytes()).expect("properties");
        let key = all.get("ssl.keystore.key").expect("a key");
        assert_eq!(std::fs::metadata(settings).expect("there").permissions().mode() & 0o777, 0o600);
        let secrets = Secrets::of(&[password, key]);
        secrets.are_in_no_process(&place, 0);
        secrets.are_in_no_file(&place, &[settings]);
        if is_cut_off {
            running.processes("kafka.Kafka").into_iter().for_each(|pid| signal(pid, Signal::KILL));
        }
        let said = running.wait(RUN_DEADLINE);
        if is_cut_off {
            ended(&said, 1)
        } else {
            ran(&said);
            assert_all_arrived(&place);
        }
        tell_all(&place);
        secrets.are_in_no_file(&place, &[]);
        place.expect_no_processes();
    }
}
