//! PostgreSQL as a component: data, port and password of its own, loaded by a command, read by what it counts.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder, ran, signal};
use crate::document::Document;
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;

const HEAD: &str = "\
kdyno: 1
id: databases
question: What does the database do?
system: {kafka: null-broker}
topics: {perf: {partitions: 2}}
components: {database: {postgres: {database: library, settings: {max_connections: 30}}}}
";

/// A place that the user whom root starts the server as may enter.
fn place() -> TestFolder {
    let place = TestFolder::new();
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(place.path(), open).expect("opened");
    place
}

fn started(place: &TestFolder, scenario: &str) -> Vec<String> {
    let path = place.file("databases.yaml", &format!("{HEAD}{scenario}"));
    ["run", path.to_str().expect("plain path"), "--share", "--json"].map(str::to_owned).into()
}

fn run(place: &TestFolder, scenario: &str) -> ProgramOutput {
    let args = started(place, scenario);
    place.start(place.command(&args.iter().map(String::as_str).collect::<Vec<_>>())).wait(RUN_DEADLINE)
}

#[test]
fn a_database_is_loaded_by_address_and_its_counters_are_read() {
    let place = place();
    let scenario = r#"load:
  bench:
    command: 'set -e; psql -X "$$KDYNO_URL_database" -Atc "show max_connections" > told.txt; env | grep KDYNO_PASSWORD; pgbench -q -i "$$KDYNO_URL_database"; pgbench -c 3 -T 4 "$$KDYNO_URL_database"'
phases: {warmup: 0s, measure: {until: bench, within: 3m}}
show: {columns: [bench.duration, database.cpu_percent, database.connections_max, database.transactions_per_s]}
fail_if: [database.transactions_per_s <= 1/s]
"#;
    let said = run(&place, scenario);
    ran(&said);
    place.expect_no_processes();
    let document = Document::of(&said);
    let figure = |subject: &str, metric: &str| document.figure(subject, metric);
    assert_eq!(figure("bench", "succeeded"), Some(1.0), "{said:?}");
    let reported = std::fs::read_to_string(place.path().join("told.txt")).expect("what it asked");
    assert_eq!(reported.trim(), "30", "its own settings");
    assert!(figure("database", "transactions_per_s").is_some_and(|per_s| per_s > 5.0), "{said:?}");
    assert!(figure("database", "connections_max").is_some_and(|most| (1.0..=30.0).contains(&most)));
    // The backends do the work, and the server's own process next to nothing.
    assert!(figure("database", "cpu_percent").is_some_and(|percent| percent > 1.0), "{said:?}");
    assert!(figure("database", "memory_rss_bytes_max").is_some_and(|bytes| bytes > 5e6));
    let shown = place.kdyno(&["show", "latest", "--logs"]);
    assert!(shown.stdout.contains("ready to accept connections"), "{shown:?}");
    assert!(shown.stdout.contains("KDYNO_PASSWORD_database=PASSWORD"), "no output tells it: {shown:?}");
    let details = place.details();
    assert!(details.contains("database") && details.contains("transactions"), "{details}");
}

/// One client, for whom the server starts a worker of its own.
#[test]
fn workers_of_the_server_are_no_connections_of_clients() {
    let place = place();
    let scenario = r#"load:
  query:
    command: 'psql -X "$$KDYNO_URL_database" -v ON_ERROR_STOP=1 -f parallel.sql'
phases: {warmup: 0s, measure: {until: query, within: 3m}}
"#;
    // It has had its name since 16; both are tried, and one of them works.
    let sql = "\\set ON_ERROR_STOP off\nSET debug_parallel_query = on;\nSET force_parallel_mode = on;\n\
               \\set ON_ERROR_STOP on\nSELECT pg_sleep(4);\n\
               EXPLAIN SELECT pg_sleep(4);\n";
    place.file("parallel.sql", sql);
    let said = run(&place, scenario);
    ran(&said);
    let shown = place.kdyno(&["show", "latest", "--logs"]);
    assert!(shown.stdout.contains("Gather"), "it had a worker: {shown:?}");
    assert_eq!(Document::of(&said).figure("database", "connections_max"), Some(1.0), "{said:?}");
}

#[test]
fn a_killed_server_is_reported_and_a_killed_kdyno_leaves_none() {
    let scenario =
        "load: {writers: {produce: perf, rate: 50/s, value: 10B}}\nphases: {warmup: 0s, measure: 6s}\n";
    for whom in ["server", "kdyno"] {
        let place = place();
        let args = started(&place, scenario);
        let mut running = place.start(place.command(&args.iter().map(String::as_str).collect::<Vec<_>>()));
        running.wait_for("· measure");
        let servers = running.processes("bin/postgres -D data");
        assert_eq!(servers.len(), 1, "{:?}", place.processes(0));
        if whom == "kdyno" {
            running.signal(Signal::KILL);
        } else {
            signal(servers[0], Signal::KILL);
            let said = running.wait(RUN_DEADLINE);
            ran(&said);
            let words = "database ended in the middle of the trial: signal 9";
            assert!(said.stderr.contains(words), "{}", said.stderr);
        }
        place.expect_no_processes();
    }
}
