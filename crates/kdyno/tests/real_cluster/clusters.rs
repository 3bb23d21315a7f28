//! Where clusters come from, and clusters that outlive a run.

use crate::common::turns::with_others;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder};
use crate::fixture::{ended, kafka_script, kafka_tool, program, scenario};
use serde_json::Value;
use std::process::Command;
use std::time::Instant;

/// What Maven itself says of such a release is tested with it (`crates/testbed/tests/clusters/failures.rs`); here it is said at
/// once.
#[test]
fn an_unknown_version_is_named_in_one_message() {
    let _turn = with_others();
    let place = TestFolder::new();
    let folder = place.path().join("bin");
    std::fs::create_dir(&folder).expect("a folder");
    let unknown = "Could not find artifact org.apache.kafka:kafka_2.13:jar:3.9.99 in central (https://x)";
    program(&folder.join("mvn"), &format!("echo '[ERROR] {unknown}'; exit 1"));
    let paths = std::env::var_os("PATH").expect("PATH");
    let paths = std::iter::once(folder).chain(std::env::split_paths(&paths));
    let mut command = place.command(&["cluster", "up", "new", "--kafka", "3.9.99"]);
    command.env("PATH", std::env::join_paths(paths).expect("folders"));
    let said = place.start(command).wait(RUN_DEADLINE);
    ended(&said, 1);
    let errors: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains("3.9.99"), "{}", said.stderr);
    assert!(said.stderr.contains("hint:"), "{}", said.stderr);
    place.expect_no_processes();
}

#[test]
fn without_maven_and_cached_release_one_message_says_so() {
    let _turn = with_others();
    let place = TestFolder::new();
    let path = place.file("small.yaml", &scenario(1, 2));
    // A Java, wherever the user has it, and nothing else.
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let path_of_user = std::env::var_os("PATH").expect("PATH");
    let mut javas = std::env::split_paths(&path_of_user).map(|folder| folder.join("java"));
    if let Some(java) = javas.find(|java| java.is_file()) {
        std::os::unix::fs::symlink(java.canonicalize().expect("a Java"), bin.join("java")).expect("a link");
    }
    let mut command = place.command(&["run", path.to_str().expect("plain path"), "--share"]);
    command.env("PATH", bin).env("XDG_CACHE_HOME", place.path().join("cache"));
    let said = place.start(command).wait(RUN_DEADLINE);
    ended(&said, 1);
    let errors: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains("no Maven found on PATH"), "{}", said.stderr);
    assert!(said.stderr.contains("hint: install it, e.g. `apt-get install maven`"), "{}", said.stderr);
    place.expect_no_processes();
}

#[test]
fn a_standing_cluster_is_listed_and_taken_down() {
    let _turn = with_others();
    let place = TestFolder::new();
    let up = ["cluster", "up", "mine", "--kafka", "4.1.1", "--heap", "256MiB"];
    let config = ["--config", "num.io.thread=4", "--config", "num.network.threads=2"];
    let said = place.start(place.command(&[&up[..], &config].concat())).wait(RUN_DEADLINE);
    ended(&said, 0);
    let warnings: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("warning:")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("`num.io.thread`"), "{}", said.stderr);
    assert!(said.stdout.contains("127.0.0.1:") || said.stdout.contains("localhost:"), "{said:?}");
    let list = place.kdyno(&["cluster", "list"]);
    assert!(list.stdout.contains("mine"), "{list:?}");
    doctor_sees_its_brokers(&place);
    its_changes_go_both_ways(&place);
    let again = place.start(place.command(&["cluster", "up", "mine"])).wait(RUN_DEADLINE);
    assert_ne!(again.code, Some(0), "the name is taken");
    let down = place.start(place.command(&["cluster", "down", "mine"])).wait(RUN_DEADLINE);
    ended(&down, 0);
    place.expect_no_processes();
    assert!(!place.kdyno(&["cluster", "list"]).stdout.contains("mine"));
}

/// `kdyno doctor --target`: what its broker runs with, by its own words, and whether somebody changed it since its start.
fn doctor_sees_its_brokers(place: &TestFolder) {
    let target = place.kdyno(&["cluster", "target", "mine"]);
    ended(&target, 0);
    place.file("mine.yaml", &target.stdout);
    let advice = advice(place);
    let of_broker = |setting: &str| of_broker(&advice, setting);
    assert_eq!(of_broker("num.network.threads")["current"], "2");
    assert_eq!(of_broker("heap (-Xms = -Xmx)")["current"], "256 MiB", "by the command line of its process");
    let heaps =
        advice.iter().find(|one| one["setting"] == "heaps against the host's memory").expect("a rule");
    assert_eq!(heaps["verdict"], "followed", "{heaps}");
    let fetchers = of_broker("num.replica.fetchers");
    assert_eq!((&fetchers["current"], &fetchers["verdict"]), (&"1".into(), &"not_followed".into()));
    let undo = fetchers["change"]["undo"].as_str().expect("a way back");
    assert!(undo.ends_with("--delete-config num.replica.fetchers"), "nobody had set it: {undo}");
}

/// All advice on the cluster.
fn advice(place: &TestFolder) -> Vec<Value> {
    let said = place.start(place.command(&["doctor", "--target", "mine.yaml", "--json"])).wait(RUN_DEADLINE);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
    document["advice"].as_array().expect("a list").clone()
}

fn of_broker<'a>(advice: &'a [Value], setting: &str) -> &'a Value {
    let is_it = |one: &&Value| one["of"] == "broker 0" && one["setting"] == setting;
    advice.iter().find(is_it).unwrap_or_else(|| panic!("{setting} in {advice:#?}"))
}

/// The script of changes, run with Kafka's own tool: what is recommended is in force after it, and after the way back what was
/// before, on the level on which it was set. The host's programs are replaced by ones that do nothing.
fn its_changes_go_both_ways(place: &TestFolder) {
    const SETTINGS: [&str; 4] =
        ["num.replica.fetchers", "num.io.threads", "num.network.threads", "unclean.leader.election.enable"];
    let programs = place.path().join("programs");
    std::fs::create_dir(&programs).expect("a folder");
    for name in ["sysctl", "mount", "tuned-adm"] {
        program(&programs.join(name), "exit 0");
    }
    program(&programs.join("tee"), "exec /bin/cat > /dev/null");
    kafka_script(place, &programs.join("kafka-configs.sh"), "kafka.admin.ConfigCommand");
    let target = std::fs::read_to_string(place.path().join("mine.yaml")).expect("the target");
    let address =
        target.split('"').find(|part| part.contains(':') && !part.contains(' ')).expect("an address");
    let alter = |options: &[&str]| {
        let start = ["--bootstrap-server", address, "--alter", "--entity-type", "brokers"];
        ended(&kafka_tool(place, "kafka.admin.ConfigCommand", &[&start, options].concat()), 0);
    };
    // One is set for this broker, one for all.
    alter(&["--entity-name", "0", "--add-config", "unclean.leader.election.enable=true"]);
    alter(&["--entity-default", "--add-config", "num.io.threads=12"]);
    let before = advice(place);
    let said = place.kdyno(&["doctor", "--target", "mine.yaml", "--script"]);
    ended(&said, 0);
    let script = place.file("changes.sh", &said.stdout);
    let run = |what: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.arg(&script).arg(what).env("PATH", &programs).current_dir(place.path());
        ended(&place.start(shell).wait(RUN_DEADLINE), 0);
    };
    run("apply");
    // A broker hears of a change soon after the tool has ended.
    let when = |is_there: &dyn Fn(&[Value]) -> bool| {
        let deadline = Instant::now() + QUICKLY;
        loop {
            let now = advice(place);
            if is_there(&now) {
                return;
            }
            assert!(Instant::now() < deadline, "before: {before:#?}\nnow: {now:#?}");
        }
    };
    when(&|now| SETTINGS.iter().all(|setting| of_broker(now, setting)["verdict"] == "followed"));
    // Kafka lets threads go by half at a time: to few processors there are several steps.
    assert_eq!(of_broker(&before, "num.io.threads")["current"], "12");
    run("undo");
    when(&|now| SETTINGS.iter().all(|setting| of_broker(now, setting) == of_broker(&before, setting)));
}
