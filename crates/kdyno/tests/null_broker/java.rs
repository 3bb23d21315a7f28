//! Runs with Kafka's own Java client: whatever is wrong with it is reported in one sentence, what was measured
//! until then is kept, and nothing goes on. What a release refuses by itself, and what it costs, is tested on its worker
//! (`java_client.rs`).

use crate::common::{ProgramOutput, QUICKLY, RUN_DEADLINE, Running, TestFolder, one_line, ran, signal};
use kdyno_model::event::EventKind;
use kdyno_model::sample::{Counts, StreamId};
use kdyno_model::trial::TrialId;
use kdyno_model::version::Version;
use kdyno_store::RunFile;
use kdyno_testbed::{Environment, download};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The class of the Java process.
const DRIVER: &str = "kdyno.driver.Main";
/// Hides the system's installations of Java from processes of the same mount namespace.
const HIDE_JAVA: &str = "test ! -d /usr/lib/jvm || mount -t tmpfs none /usr/lib/jvm";

/// A run on a null broker of this load.
fn command(place: &TestFolder, load: &str, measure: &str) -> Command {
    let scenario = format!(
        "kdyno: 1\nid: java\nquestion: Does it say so?\nsystem: {{kafka: null-broker}}\n\
         topics: {{perf: {{partitions: 2}}}}\nload:\n{load}\
         phases: {{warmup: 0s, condition: none, measure: {measure}, drain: 5s}}\n\
         show: {{columns: [writers.acked_per_s]}}\n"
    );
    let path = place.file("java.yaml", &scenario);
    place.command(&["run", path.to_str().expect("plain path"), "--share", "--seed", "1"])
}

/// A load item that a Java client carries, of a release that other tests have fetched too unless `client` names another.
fn item(name: &str, load: &str, client: &str) -> String {
    let version = if client.contains("version:") { "" } else { "version: 4.1.1, " };
    format!("  {name}: {{produce: perf, {load}, client: {{driver: java, {version}{client}}}}}\n")
}

fn writers(client: &str) -> String {
    item("writers", "rate: 200/s, value: 100B", client)
}

/// The run was not begun, and this is why.
fn refused(place: &TestFolder, command: Command, sentence: &str, hint: &str) {
    let said = place.start(command).wait(QUICKLY);
    assert_eq!(said.code, Some(1), "{sentence}: {said:?}");
    let line =
        |start: &str| said.stderr.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
    assert!(line("error: ").contains(sentence), "{sentence}: {said:?}");
    assert!(line("hint: ").contains(hint), "{hint}: {said:?}");
    assert!(!place.path().join("kdyno-runs").exists(), "{sentence}: a run was begun");
    place.expect_no_processes();
}

#[test]
fn what_is_no_client_is_refused_before_anything_is_started() {
    let place = TestFolder::new();
    let text = place.file("text.jar", "no jar");
    // The end of an archive, of one that holds nothing.
    let empty = place.file("empty.jar", &format!("PK\u{5}\u{6}{}", "\0".repeat(18)));
    for (version, sentence, hint) in [
        (format!("{{jar: {}}}", text.display()), "text.jar is no jar: ", "name a jar of kafka-clients"),
        (
            format!("{{jar: {}}}", empty.display()),
            "empty.jar is no Kafka client: it has no org/apache/kafka/clients/producer/KafkaProducer.class",
            "name a jar of kafka-clients",
        ),
        (
            format!("{{home: {}}}", place.path().display()),
            "/libs has no kafka-clients-VERSION.jar",
            "`home` takes the folder of an unpacked Kafka",
        ),
    ] {
        let load = writers(&format!("version: {version}"));
        refused(&place, command(&place, &load, "2s"), sentence, hint);
    }
}

/// What Maven itself says of such a release is tested with it (`kdyno-java-driver`); here it is said at once.
#[test]
fn a_missing_release_is_refused_and_leaves_the_cache_empty() {
    let place = TestFolder::new();
    let folder = place.path().join("bin");
    std::fs::create_dir(&folder).expect("a folder");
    let reported =
        "[ERROR] Could not find artifact org.apache.kafka:kafka-clients:jar:4.1.99 in central (https://x)";
    let maven = place.file("bin/mvn", &format!("#!/bin/sh\necho '{reported}'\nexit 1\n"));
    std::fs::set_permissions(&maven, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(folder).chain(std::env::split_paths(&paths));
    let mut command = command(&place, &writers("version: 4.1.99"), "2s");
    command.env("PATH", std::env::join_paths(paths).expect("folders"));
    command.env("XDG_CACHE_HOME", place.path().join("cache"));
    let sentence = "Kafka 4.1.99 is unknown: Maven's repositories have no such release";
    refused(&place, command, sentence, "nearest known: 4.1.");
    assert!(!place.path().join("cache/kdyno/kafka-clients/4.1.99").exists(), "nothing half done stays");
}

#[test]
fn without_a_jdk_the_run_is_not_begun() {
    let probe = Command::new("unshare").args(["-rm", "sh", "-c", HIDE_JAVA]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!(
            "skipped: the system's Java cannot be hidden from one process here (needs user namespaces)"
        );
        return;
    }
    let place = TestFolder::new();
    let nothing = place.path().join("nothing");
    std::fs::create_dir(&nothing).expect("a folder");
    let kdyno = command(&place, &writers("acks: all"), "2s");
    let mut hidden = Command::new("unshare");
    let script = format!("{HIDE_JAVA} && exec env -u JAVA_HOME PATH=\"$0\" \"$@\"");
    hidden.args(["-rm", "sh", "-c", &script]).arg(&nothing).arg(kdyno.get_program()).args(kdyno.get_args());
    hidden.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(place.path());
    let sentence = "a Java compiler (javac) of version 11 or newer is needed once; found no Java";
    refused(&place, hidden, sentence, "install a JDK");
}

/// Runs git in a folder; what it says.
fn git(folder: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args).current_dir(folder);
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git on PATH");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// A checkout in which a client was built, a release's, and a jar by itself: both carry records to the end, and the run keeps
/// which ones they were, the commit and whether something was changed there.
#[test]
fn clients_of_a_checkout_or_jar_run_and_store_their_commit() {
    let place = TestFolder::new();
    let environment = Environment::from_lookup(&|name| std::env::var_os(name)).expect("an environment");
    let release = Version::parse("4.1.1").expect("a release");
    let libs = download::clients(&environment, &release, &|_| {}).expect("its client");
    let (built, jar) = (place.path().join("kafka/clients/build/libs"), "kafka-clients-4.1.1.jar");
    std::fs::create_dir_all(&built).expect("folders");
    std::fs::copy(libs.join(jar), built.join(jar)).expect("its jar");
    let checkout = place.path().join("kafka");
    // As in Kafka's own: what was built is no change.
    std::fs::write(checkout.join(".gitignore"), "build/\n").expect("a file");
    git(&checkout, &["init"]);
    git(&checkout, &["add", ".gitignore"]);
    git(&checkout, &["commit", "-m", "a"]);
    std::fs::write(checkout.join("changed"), "1").expect("a file");
    let of = |name: &str, version: String| {
        item(name, "rate: 200/s, value: 100B", &format!("version: {{{version}}}"))
    };
    let load = of("writers", format!("source: {}", checkout.display()))
        + &of("others", format!("jar: {}", built.join(jar).display()));
    let said = place.start(command(&place, &load, "2s")).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    assert_eq!(document["status"], "completed");
    let facts = &document["trials"][0]["cluster"];
    let fact = |item: &str, what: &str| {
        facts[format!("java_client.{item}.{what}")].as_str().unwrap_or("").to_owned()
    };
    let head = git(&checkout, &["rev-parse", "HEAD"]);
    assert_eq!(
        (fact("writers", "checkout_commit"), fact("writers", "checkout_dirty")),
        (head.clone(), "yes".to_owned())
    );
    assert_eq!(
        (fact("others", "checkout_commit"), fact("others", "checkout_dirty")),
        (String::new(), String::new())
    );
    for item in ["writers", "others"] {
        assert_eq!(
            (fact(item, "version").as_str(), fact(item, "jar_sha256").len()),
            ("4.1.1", 64),
            "{facts}"
        );
    }
    assert_eq!(fact("writers", "jar_sha256"), fact("others", "jar_sha256"));
    assert!(!facts.to_string().contains(place.path().to_str().expect("plain path")), "{facts}");
    // The release was built elsewhere.
    let warning = format!(
        "warning: kafka-clients 4.1.1 was built at commit {}, and its checkout is at {head}: an older build",
        fact("writers", "commit")
    );
    assert!(said.stderr.contains(&warning), "{warning}: {said:?}");
    let evidence =
        RunFile::open(&place.run_file()).and_then(|file| file.evidence(TrialId(1))).expect("evidence");
    for stream in &evidence.start.streams {
        let totals = evidence.totals.iter().find(|totals| totals.id == stream.id).expect("its totals");
        assert!(totals.counts.acknowledged > 200, "{}: {:?}", stream.name, totals.counts);
    }
    place.expect_no_processes();
}

/// Waits for the one Java process of this run that is none of `others`. Just after its start a process has no command
/// line for a moment, so that a single look may find none.
fn the_only_java(running: &Running, others: &[u32]) -> Vec<u32> {
    let end = Instant::now() + RUN_DEADLINE;
    loop {
        let java = running.processes(DRIVER);
        if java.len() == 1 && java != others {
            return java;
        }
        assert!(Instant::now() < end, "no Java process of its own: {java:?}, before {others:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn each_trial_has_a_java_process_of_its_own() {
    let place = TestFolder::new();
    let command = command(&place, &writers("acks: all"), "3s");
    let path = place.path().join("java.yaml");
    let scenario = std::fs::read_to_string(&path).expect("the scenario");
    std::fs::write(&path, scenario + "repeat: 2\n").expect("written again");
    let mut running = place.start(command);
    let first = the_only_java(&running, &[]);
    running.wait_for("trial 2 of 2");
    the_only_java(&running, &first);
    ran(&running.wait(RUN_DEADLINE));
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let events = file.events().expect("its events");
    let started = events.iter().filter(|(_, event)| event.kind == EventKind::ClientStarted);
    let of_trials: Vec<Option<TrialId>> = started.map(|(trial, _)| *trial).collect();
    assert_eq!(of_trials, [Some(TrialId(1)), Some(TrialId(2))]);
    place.expect_no_processes();
}

#[test]
fn a_java_client_ends_transactions_by_records_and_with_the_load() {
    let place = TestFolder::new();
    let load = item(
        "writers",
        "clients: 2, rate: 400/s, value: 100B, transactions: {records: 20, abort: 30%}",
        "acks: all",
    );
    ran(&place.start(command(&place, &load, "4s")).wait(RUN_DEADLINE));
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let counts = file.evidence(TrialId(1)).expect("evidence").totals[0].counts.clone();
    // Each of two clients ends its last one with the load.
    let least = counts.offered.div_ceil(20);
    assert!((least..=least + 1).contains(&(counts.committed + counts.aborted)), "{counts:?}");
    assert!(counts.aborted > 0 && counts.committed > counts.aborted, "{counts:?}");
    assert!(counts.markers >= counts.committed + counts.aborted && counts.markers_unsure == 0, "{counts:?}");
    assert_eq!((counts.offered, counts.unresolved), (counts.acknowledged, 0), "{counts:?}");
    let kept = file.logs().expect("its logs");
    let metrics = kept.iter().find(|(subject, _)| subject.starts_with("client-metrics ")).expect("metrics");
    assert!(metrics.1.contains("txn-commit-time-ns-total"), "{}", metrics.1);
    place.expect_no_processes();
}

#[test]
fn full_collections_and_unknown_settings_are_reported() {
    let place = TestFolder::new();
    // One that is gone since 4.0, and one that never was. With its option Java collects the whole heap when it is asked
    // what its threads do.
    let client = "jvm: [-XX:+PrintClassHistogram], auto.include.jmx.reporter: true, lingr.ms: 5";
    let mut running = place.start(command(&place, &writers(client), "4s"));
    running.wait_for("· measure");
    let java = running.processes(DRIVER);
    assert_eq!(java.len(), 1, "one Java process");
    signal(java[0], Signal::QUIT);
    let said = running.wait(RUN_DEADLINE);
    assert!(matches!(said.code, Some(0 | 6)), "on a busy host figures may be invalid: {said:?}");
    for note in [
        "`auto.include.jmx.reporter` of `writers`: Kafka's clients do not know it any more from 4.0 on",
        "warning: `lingr.ms` of `writers` is no setting of Kafka's clients that kdyno knows: it is passed on as it is; did \
         you mean `linger.ms`?",
    ] {
        assert!(said.stderr.contains(note), "{note}: {said:?}");
    }
    let events = RunFile::open(&place.run_file()).and_then(|file| file.events()).expect("its events");
    let warning = events.iter().find(|(_, event)| event.kind == EventKind::ClientWarning);
    let (_, warning) = warning.expect("the client's own word");
    assert_eq!(warning.detail, "this client does not know auto.include.jmx.reporter, lingr.ms");

    let document = place.show();
    let caveats = document["caveats"].as_array().expect("caveats");
    let full_gc = caveats.iter().find(|caveat| caveat["kind"] == "full-gc");
    let full_gc = full_gc.unwrap_or_else(|| panic!("no full collection: {caveats:?}"));
    assert_eq!(full_gc["severity"], "warning", "{full_gc}");
    let words = "writers: full garbage collections of its Java client in the window: ";
    let message = full_gc["message"].as_str().expect("a sentence");
    assert!(message.starts_with(words) && message.contains("for the whole heap"), "{message}");
    assert!(one_line(&place.details()).contains(words.trim()), "{}", said.stdout);
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("a page");
    assert!(page.contains(words), "the page");
    place.expect_no_processes();
}

#[test]
fn a_java_process_that_is_killed_ends_the_run_with_all_others() {
    let place = TestFolder::new();
    let of_item =
        |name: &str| item(name, "rate: 200/s, value: 100B", &format!("jvm: [-Dkdyno.test.item={name}]"));
    let load = format!("{}{}", of_item("writers"), of_item("others"));
    let mut running = place.start(command(&place, &load, "60s"));
    running.wait_for("· measure");
    assert_eq!(running.processes(DRIVER).len(), 2, "one Java process for each");
    let java = running.processes("-Dkdyno.test.item=writers");
    assert_eq!(java.len(), 1);
    signal(java[0], Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    let sentence = "worker 0 failed: stream writers: the Java process ended by signal 9 (SIGKILL): somebody killed it, or the \
                    host was out of memory";
    let counts = kept(&place, &said, sentence);
    assert!(counts.acknowledged > 0, "{counts:?}");
}

#[test]
fn a_java_process_without_memory_ends_the_run_and_says_so() {
    let place = TestFolder::new();
    // A record is larger than the heap.
    let client = "jvm: [-Xmx24m], max.request.size: 64MiB, buffer.memory: 128MiB";
    let load = item("writers", "rate: 2/s, value: 30MiB", client);
    let said = place.start(command(&place, &load, "60s")).wait(RUN_DEADLINE);
    let counts = kept(&place, &said, "worker 0 failed: stream writers: the Java ");
    assert!(said.stderr.contains("out of memory"), "{said:?}");
    assert_eq!(counts.acknowledged, 0, "{counts:?}");
}

/// The run failed with this sentence, and nothing of it goes on. Its file says why it was cut short, and holds what was
/// counted of the writers until then: each record that was offered has an outcome, or is unresolved.
fn kept(place: &TestFolder, said: &ProgramOutput, sentence: &str) -> Counts {
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains(&format!("error: {sentence}")), "{said:?}");
    assert!(said.stderr.contains("what was measured until then is kept in "), "{said:?}");
    place.expect_no_processes();
    assert_eq!(place.show()["status"], "failed");
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let events = file.events().expect("its events");
    let cut_short = events.iter().find(|(_, event)| event.kind == EventKind::CutShort);
    let (_, cut_short) = cut_short.expect("it was cut short");
    assert!(cut_short.detail.contains(sentence), "{cut_short:?}");
    let evidence = file.evidence(TrialId(1)).expect("evidence");
    let own = evidence.start.streams.iter().filter(|stream| stream.name == "writers");
    let ids: Vec<StreamId> = own.map(|stream| stream.id).collect();
    let mut counts = Counts::default();
    let rows = evidence.samples.iter().filter(|row| ids.contains(&row.id));
    rows.for_each(|row| counts.add(&row.counts));
    let failed: u64 = counts.failed.values().sum();
    assert!(counts.offered > 0, "{counts:?}");
    assert_eq!(counts.offered, counts.acknowledged + failed + counts.unresolved, "{counts:?}");
    counts
}
