//! Clusters that do not start: the message says why.

use crate::scene::{TestFolder, ensure, environment, one_broker, plan, trial};
use kdyno_model::plan::{ClusterPlan, KafkaSource, Mode};
use kdyno_model::version::{NEWEST, Version};
use kdyno_testbed::{LocalCluster, TestbedError, distribution, guard, java};
use libtest_mimic::{Failed, Trial};
use std::path::PathBuf;
use std::process::Command;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("an_invalid_setting_is_reported_in_the_brokers_words", invalid_setting),
        trial("an_unknown_jvm_option_is_named", unknown_jvm_option),
        trial("too_much_heap_is_a_matter_of_memory", too_much_heap),
        trial("impossible_plans_start_nothing", impossible),
        trial("what_is_cached_needs_no_maven_and_the_rest_says_so", cached_without_maven),
        trial("no_java_is_one_message", no_java),
        trial("an_unreachable_repository_and_an_unknown_version_are_told_apart", unreachable_or_unknown),
        trial("a_broker_is_not_launched_without_its_guard", no_guard),
    ]
}

/// The failure of a plan, with the folder gone.
fn failure(plan: &ClusterPlan) -> Result<TestbedError, Failed> {
    let scene = TestFolder::new()?;
    let error = scene.start(plan).err().ok_or("it started")?;
    ensure(!scene.work_dir().exists(), format!("the folder stayed after: {error}"))?;
    Ok(error)
}

pub fn contains(error: &TestbedError, words: &str) -> Result<(), Failed> {
    ensure(
        error.to_string().contains(words),
        format!("\"{words}\" is not in: {error}\n{}", error.log_tail().join("\n")),
    )
}

fn invalid_setting() -> Result<(), Failed> {
    let mut plan = one_broker();
    plan.config.insert("num.io.threads".to_string(), "many".to_string());
    let error = failure(&plan)?;
    contains(&error, "broker-0 ended while starting")?;
    contains(&error, "Invalid value many for configuration num.io.threads")?;
    ensure(!error.log_tail().is_empty(), "its log is shown")
}

fn unknown_jvm_option() -> Result<(), Failed> {
    let mut plan = one_broker();
    plan.jvm_options = vec!["-XX:+NoSuchOption".to_string()];
    contains(&failure(&plan)?, "NoSuchOption")
}

fn too_much_heap() -> Result<(), Failed> {
    let mut plan = one_broker();
    plan.heap_bytes = 64 << 40;
    contains(&failure(&plan)?, "not enough memory")
}

fn impossible() -> Result<(), Failed> {
    contains(&failure(&plan(NEWEST, Mode::Zookeeper { nodes: 1 }, 1))?, "no ZooKeeper mode")?;
    contains(&failure(&plan(NEWEST, Mode::KraftCombined, 0))?, "at least one broker")?;
    let mut ours = one_broker();
    ours.config.insert("log.dirs".to_string(), "/".to_string());
    contains(&failure(&ours)?, "log.dirs")
}

fn cached_without_maven() -> Result<(), Failed> {
    let mut scene = TestFolder::new()?;
    let newest = KafkaSource::Release(NEWEST.to_string());
    distribution::prepare(&scene.environment, &newest, &|_| {})?;
    let java = java::find(&scene.environment, &Version::parse(NEWEST)?)?;
    // Nothing on PATH but the Java that is known by its own folder.
    scene.environment.java_home = java.program.canonicalize()?.ancestors().nth(2).map(Into::into);
    scene.environment.path = vec![];
    distribution::prepare(&scene.environment, &newest, &|_| {})?;
    scene.environment.cache_dir = scene.folder.path().join("empty");
    let error =
        distribution::prepare(&scene.environment, &newest, &|_| {}).err().ok_or("no Maven, no cache")?;
    contains(&error, "no Maven found")
}

fn no_java() -> Result<(), Failed> {
    let mut scene = TestFolder::new()?;
    (scene.environment.java_home, scene.environment.path, scene.environment.java_folders) =
        (None, vec![], vec![]);
    let error = scene.start(&one_broker()).err().ok_or("it started without Java")?;
    contains(&error, "no Java found")?;
    ensure(error.hint().is_some_and(|hint| hint.contains("JAVA_HOME")), "the hint names JAVA_HOME")
}

/// Runs Maven with a closed port for its repository, then with one that answers and has no such release.
fn unreachable_or_unknown() -> Result<(), Failed> {
    let mut scene = TestFolder::new()?;
    let fetched = fetched_by_maven(&scene);
    scene.environment.cache_dir = scene.folder.path().join("empty");
    scene.environment.maven_repository = Some(scene.folder.path().join("repository"));
    let user_path = scene.environment.path.clone();
    let unknown = KafkaSource::Release("3.7.99".to_string());

    let closed = maven_with_mirror(&scene, "closed", "http://127.0.0.1:1/")?;
    scene.environment.path = std::iter::once(closed).chain(user_path.iter().cloned()).collect();
    let error =
        distribution::prepare(&scene.environment, &unknown, &|_| {}).err().ok_or("nothing to reach")?;
    contains(&error, "cannot reach its repository")?;

    scene.environment.path = user_path;
    if let Some(fetched) = fetched {
        let open = maven_with_mirror(&scene, "open", &format!("file://{}", fetched.display()))?;
        scene.environment.path.insert(0, open);
    }
    let error =
        distribution::prepare(&scene.environment, &unknown, &|_| {}).err().ok_or("there is no 3.7.99")?;
    contains(&error, "Kafka 3.7.99 is unknown")?;
    let hint = error.hint().unwrap_or_default();
    ensure(hint.contains("3.7.2"), format!("the nearest is named: {hint}"))?;
    ensure(!scene.environment.cache_dir.join("kafka/3.7.99").exists(), "nothing half done stays")
}

/// The folder in which Maven keeps what it fetched. It is laid out as repositories are, so it serves as one that
/// needs no network and has every part of Maven's own. `None`: it is not in its usual place, and the user's own
/// repositories have to answer.
pub fn fetched_by_maven(scene: &TestFolder) -> Option<PathBuf> {
    let usual = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".m2/repository"));
    let folder = scene.environment.maven_repository.clone().or(usual)?;
    folder.join("org/apache/maven/plugins/maven-dependency-plugin").is_dir().then_some(folder)
}

/// A folder with an `mvn` that is found before the real one and sends it to `url` for everything.
pub fn maven_with_mirror(scene: &TestFolder, name: &str, url: &str) -> Result<PathBuf, Failed> {
    let maven = environment(scene.folder.path())?.find_program("mvn").ok_or("these tests need Maven")?;
    let bin = scene.folder.path().join(name);
    std::fs::create_dir(&bin)?;
    let settings = bin.join("settings.xml");
    let mirror = format!("<mirror><id>{name}</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror>");
    std::fs::write(&settings, format!("<settings><mirrors>{mirror}</mirrors></settings>"))?;
    let wrapper = bin.join("mvn");
    let script = format!("#!/bin/sh\nexec {} -s {} \"$@\"\n", maven.display(), settings.display());
    std::fs::write(&wrapper, script)?;
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(bin)
}

fn no_guard() -> Result<(), Failed> {
    let spec = r#"{"guard_pid":1,"cpus":[],"command_line":["true"]}"#;
    let output = Command::new(std::env::current_exe()?).args([guard::EXEC_COMMAND, spec]).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure(!output.status.success() && text.contains("guard"), format!("{text}"))?;
    let scene = TestFolder::new()?;
    let options = kdyno_testbed::StartOptions {
        exe: "/bin/false".into(),
        ..crate::scene::options(&scene.environment, scene.work_dir())
    };
    let error = LocalCluster::start(&one_broker(), &options).err().ok_or("false is no guard")?;
    contains(&error, "guard process")
}
