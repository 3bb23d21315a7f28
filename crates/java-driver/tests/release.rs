//! From a release to a Java process: fetched once, compiled once, run.

use kdyno_java_driver::{JavaSource, Resolved, resolve};
use kdyno_model::plan::{JavaClient, JavaDriver};
use kdyno_testbed::{Environment, TestbedError};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Plays the driver: it says what it was compiled against and what its process was given, and warns.
const MAIN: &str = r#"package kdyno.driver;

public final class Main {
    public static void main(String[] args) throws Exception {
        String version = org.apache.kafka.common.utils.AppInfoParser.getVersion();
        long heap = Runtime.getRuntime().maxMemory() >> 20;
        System.out.println(version + " " + heap + " " + System.getProperty("kdyno.test"));
        org.slf4j.LoggerFactory.getLogger(Main.class).warn("this is a warning");
        org.slf4j.LoggerFactory.getLogger(Main.class).info("this is chatter");
    }
}
"#;

/// The user's own caches and programs, but for the folder of the classes.
fn environment() -> Environment {
    Environment::from_lookup(&|name| std::env::var_os(name)).expect("a home")
}

/// In a cache of its own: the release is the user's.
fn environment_in(folder: &Path) -> Environment {
    let mut environment = environment();
    let releases = environment.cache_dir.join("kafka-clients");
    std::fs::create_dir_all(&releases).expect("the user's cache");
    environment.cache_dir = folder.join("cache");
    std::fs::create_dir_all(&environment.cache_dir).expect("a cache");
    std::os::unix::fs::symlink(releases, environment.cache_dir.join("kafka-clients")).expect("a link");
    environment
}

fn resolved(environment: &Environment, main: &'static str, jvm: &[&str]) -> Result<Resolved, TestbedError> {
    let driver = JavaDriver {
        client: JavaClient::Version("4.1.1".to_owned()),
        jvm: jvm.iter().map(|option| (*option).to_owned()).collect(),
        properties: BTreeMap::from([("acks".to_owned(), "1".to_owned())]),
    };
    let sources: [JavaSource; 1] = [("kdyno/driver/Main.java", main)];
    resolve(environment, &driver, &sources, &|_| {})
}

fn run(resolved: &Resolved) -> (String, String) {
    let (program, arguments) = resolved.task.command.split_first().expect("a program");
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let said = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{said:?}");
    said
}

#[test]
fn a_release_is_fetched_and_compiled_once_with_its_options() {
    let temp = tempfile::tempdir().expect("temp");
    let environment = environment_in(temp.path());
    let first = resolved(&environment, MAIN, &["-Dkdyno.test=here"]).expect("a client");
    let (stdout, stderr) = run(&first);
    assert_eq!(stdout, "4.1.1 512 here\n");
    assert!(stderr.contains("this is a warning") && !stderr.contains("chatter"), "{stderr}");
    assert_eq!(first.facts["version"], "4.1.1");
    assert_eq!(first.facts["jar_sha256"].len(), 64);
    assert!(first.facts["commit"].len() >= 8, "{:?}", first.facts);
    assert_eq!(
        first.facts["options"],
        "-Djava.awt.headless=true -XX:+ExitOnOutOfMemoryError -Xmx512M -XX:+UseG1GC -Dkdyno.test=here"
    );
    assert_eq!(first.task.properties["acks"], "1");

    // Nothing is compiled again: there is no compiler any more, as on a host where only Java itself is.
    let java = Path::new(&first.task.command[0]).canonicalize().expect("Java");
    let mut without = environment.clone();
    let bin = temp.path().join("jre/bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::fs::write(bin.join("java"), format!("#!/bin/sh\nexec {} \"$@\"\n", java.display())).expect("java");
    std::fs::set_permissions(bin.join("java"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("mode");
    without.java_home = None;
    without.path = vec![bin];
    without.java_folders.clear();
    let again = resolved(&without, MAIN, &["-Xmx64m"]).expect("the same classes");
    assert_eq!(run(&again).0, "4.1.1 64 null\n");
    let error = resolved(&without, "package kdyno.driver; class Main {}", &[]).expect_err("no compiler");
    assert!(error.to_string().contains("without a compiler"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("openjdk-17-jdk")), "{error}");
}

/// A release's jar plays one that was built there: what is reported of the checkout comes from git.
#[test]
fn a_checkout_reports_its_commit_and_local_changes() {
    let temp = tempfile::tempdir().expect("temp");
    let mut environment = environment_in(temp.path());
    let java = resolved(&environment, MAIN, &[]).expect("the release").task.command.remove(0);
    let jar = "kafka-clients-4.1.1.jar";
    let release = environment.cache_dir.join("kafka-clients/4.1.1/libs").join(jar);
    let (checkout, built) = (temp.path().join("kafka"), temp.path().join("kafka/clients/build/libs"));
    std::fs::create_dir_all(&built).expect("folders");
    std::fs::copy(release, built.join(jar)).expect("its jar");
    std::fs::write(checkout.join(".gitignore"), "build/\n").expect("a file");
    let resolved = |environment: &Environment| {
        let client = JavaClient::Source(checkout.clone());
        let driver = JavaDriver { client, jvm: Vec::new(), properties: BTreeMap::new() };
        let resolved =
            resolve(environment, &driver, &[("kdyno/driver/Main.java", MAIN)], &|_| {}).expect("a client");
        let fact = |name: &str| resolved.facts.get(name).cloned();
        (fact("checkout_commit"), fact("checkout_dirty").expect("a fact"), resolved.warning)
    };
    let (no_commit, unknown) = (None, "unknown".to_owned());
    assert_eq!(resolved(&environment), (no_commit, unknown.clone(), None), "no repository");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args).current_dir(&checkout);
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git on PATH");
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    git(&["init"]);
    git(&["add", ".gitignore"]);
    git(&["commit", "-m", "a"]);
    let head = Some(git(&["rev-parse", "HEAD"]));
    let (commit, is_dirty, warning) = resolved(&environment);
    assert_eq!((&commit, is_dirty.as_str()), (&head, "no"));
    assert!(
        warning.is_some_and(|warning| warning.contains("an older build")),
        "the release was built elsewhere"
    );
    std::fs::write(checkout.join("changed"), "1").expect("a file");
    let (commit, is_dirty, _) = resolved(&environment);
    assert_eq!((&commit, is_dirty.as_str()), (&head, "yes"));
    environment.java_home =
        Path::new(&java).canonicalize().expect("Java").parent().and_then(Path::parent).map(Path::to_owned);
    environment.path.clear();
    let (commit, is_dirty, _) = resolved(&environment);
    assert_eq!((commit, is_dirty), (head, unknown), "without git nobody can say");
}

#[test]
fn a_source_that_does_not_compile_leaves_nothing_and_says_why() {
    let temp = tempfile::tempdir().expect("temp");
    let environment = environment_in(temp.path());
    let error =
        resolved(&environment, "package kdyno.driver; class Main { Nothing x; }", &[]).expect_err("no class");
    let reported = error.to_string();
    assert!(reported.contains("does not compile against kafka-clients 4.1.1"), "{reported}");
    assert!(reported.contains("kdyno/driver/Main.java:1: error"), "{reported}");
    assert!(!reported.contains(&*temp.path().to_string_lossy()), "{reported}");
    let left = environment.cache_dir.join("java-driver").read_dir().expect("the cache");
    let left: Vec<_> = left.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
}

/// Maven runs on Java: asked first, it would only say that it cannot be run.
#[test]
fn without_java_nothing_is_fetched_and_a_jdk_is_asked_for() {
    let temp = tempfile::tempdir().expect("temp");
    let environment = Environment::in_folder(temp.path());
    let error = resolved(&environment, MAIN, &[]).expect_err("no Java");
    let reported = "a Java compiler (javac) of version 11 or newer is needed once; found no Java";
    assert_eq!(error.to_string(), reported);
    assert!(error.hint().is_some_and(|hint| hint.contains("install a JDK")), "{error}");
    assert!(!environment.cache_dir.exists(), "nothing was begun");
}

#[test]
fn a_release_that_does_not_exist_names_the_nearest() {
    let temp = tempfile::tempdir().expect("temp");
    let environment = environment_in(temp.path());
    let driver = JavaDriver {
        client: JavaClient::Version("4.1.99".to_owned()),
        jvm: Vec::new(),
        properties: BTreeMap::new(),
    };
    let error = resolve(&environment, &driver, &[], &|_| {}).expect_err("no such release");
    assert_eq!(error.to_string(), "Kafka 4.1.99 is unknown: Maven's repositories have no such release");
    assert!(error.hint().is_some_and(|hint| hint.contains("nearest known: 4.1.2")), "{error}");
}
