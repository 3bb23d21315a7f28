//! Clusters that start: what they report, what they look like from outside, that nothing stays.

use crate::scene::{
    PATIENCE, TestFolder, ensure, eventually, one_broker, plan, reports_unknown_settings, trial,
    with_odd_settings,
};
use kdyno_kafka::admin::{Access, Admin, OffsetAt};
use kdyno_kafka::errors::ErrorCode;
use kdyno_model::event::Subject;
use kdyno_model::plan::{AttachedPlan, KafkaSource, Mode, Storage};
use kdyno_model::sample::series;
use kdyno_model::version::NEWEST;
use kdyno_testbed::attach::Attached;
use kdyno_testbed::probe::ProbeSampler;
use kdyno_testbed::{LocalCluster, ProcessId, clean, distribution};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, Signal};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("one_combined_broker_from_start_to_end", one_combined_broker),
        trial("only_our_topics_are_cleaned_from_an_attached_cluster", attached),
        trial("an_unpacked_kafka_on_two_drives_pinned_and_racked", unpacked_on_drives),
        trial("a_built_checkout_in_memory", built_in_memory),
        trial("a_folder_that_somebody_else_made_is_not_taken", taken_folder),
    ]
}

fn one_combined_broker() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let cluster = scene.start(&with_odd_settings(one_broker()))?;
    reports_unknown_settings(&cluster)?;
    let facts = cluster.facts();
    ensure(facts["kafka"] == NEWEST && facts["jmx"] == "agent", format!("{facts:?}"))?;
    let mut admin = Admin::connect(&cluster.bootstrap(), "test", PATIENCE)?;
    let info = admin.cluster()?;
    ensure(info.cluster_id.as_deref() == Some(facts["cluster_id"].as_str()), format!("{info:?}"))?;
    admin.create_topic("t", 3, 1, &BTreeMap::new())?;
    ensure(admin.list_offsets("t", OffsetAt::Latest)?.len() == 3, "three partitions")?;
    let misspelt = BTreeMap::from([("retention.mss".to_string(), "1000".to_string())]);
    let refused = admin.create_topic("u", 1, 1, &misspelt).err().ok_or("a misspelt setting was accepted")?;
    ensure(refused.code() == Some(ErrorCode::INVALID_CONFIG), refused.to_string())?;
    ensure(refused.to_string().contains("retention.mss"), refused.to_string())?;

    let line = cluster.command_lines()[&Subject::Broker(0)].join(" ");
    let running = std::fs::read_to_string(format!("/proc/{}/cmdline", cluster.processes()[0].pid))?;
    ensure(
        running.trim_end_matches('\0').replace('\0', " ") == line,
        format!("{running:?} is not {line:?}"),
    )?;

    let mut sampler = ProbeSampler::new(cluster.processes(), false);
    let readings = sampler.sample(0);
    let value = |name: &str| readings.iter().find(|r| r.series == name).map_or(0.0, |r| r.value);
    ensure(value(series::CPU_USER_S_TOTAL) > 0.1, "a JVM's start takes CPU time")?;
    ensure(value(series::MEMORY_RSS_BYTES) > 5e7, "a JVM holds memory")?;

    ensure(
        !cluster.log_tail(&Subject::Broker(0)).is_empty() && cluster.dead().is_empty(),
        "it runs and logs",
    )?;
    kill(cluster.processes()[0].pid, Signal::KILL)?;
    eventually("the killed broker is reported", || cluster.dead() == [Subject::Broker(0)])?;
    eventually("the probe sees it too", || {
        sampler.sample(1);
        sampler.dead() == [Subject::Broker(0)]
    })?;
    ensure(cluster.ended()[&Subject::Broker(0)].contains("signal: 9"), format!("{:?}", cluster.ended()))?;
    cluster.stop()?;
    ensure(!scene.work_dir().exists(), "the folder is removed")
}

fn attached() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let cluster = scene.start(&one_broker())?;
    let mut admin = Admin::connect(&cluster.bootstrap(), "test", PATIENCE)?;
    let ours = "kdyno-00000000000000ab-perf-0";
    for name in [ours, "kdyno-orders", "orders"] {
        admin.create_topic(name, 1, 1, &BTreeMap::new())?;
    }
    let mut target = AttachedPlan {
        target: "here".to_string(),
        bootstrap: cluster.bootstrap(),
        cluster_id: cluster.facts()["cluster_id"].clone(),
        prefix: "kdyno-".to_string(),
        ..AttachedPlan::default()
    };
    let access = Access::plaintext(cluster.bootstrap());
    ensure(Attached::check(&target, &access)?.leftover_topics() == 1, "one topic of ours")?;
    ensure(clean::find(&target, &access, Some(0xcd))?.is_empty(), "none of another run")?;
    let found = clean::find(&target, &access, None)?;
    ensure(found == [ours], format!("{found:?}"))?;
    clean::delete(&target, &access, &found)?;
    let mut left: Vec<String> = admin.topics(None)?.into_iter().map(|topic| topic.name).collect();
    left.sort();
    ensure(left == ["kdyno-orders", "orders"], format!("{left:?}"))?;

    target.cluster_id = "another".to_string();
    let error = Attached::check(&target, &access).err().ok_or("a wrong id was accepted")?;
    ensure(error.to_string().contains("nothing was sent"), error.to_string())?;
    Ok(cluster.stop()?)
}

/// Jars of the newest release, fetched if need be.
fn jars(scene: &TestFolder) -> Result<PathBuf, Failed> {
    let source = KafkaSource::Release(NEWEST.to_string());
    let kafka = distribution::prepare(&scene.environment, &source, &|_| {})?;
    Ok(PathBuf::from(kafka.classpath[0].trim_end_matches("/*")))
}

fn unpacked_on_drives() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let home = scene.folder.path().join("unpacked");
    std::fs::create_dir(&home)?;
    std::os::unix::fs::symlink(jars(&scene)?, home.join("libs"))?;
    let drives = ["d1", "d2"].map(|name| scene.folder.path().join(name));
    let mut plan = plan(NEWEST, Mode::KraftCombined, 1);
    plan.kafka = KafkaSource::Home(home);
    plan.storage = Storage::Dirs(drives.to_vec());
    plan.pinned_to = vec![vec![0]];
    plan.racks = vec!["r1".to_string()];
    plan.jvm_options = vec!["-Dkdyno.test=yes".to_string()];
    let cluster = scene.start(&plan)?;
    let mut admin = Admin::connect(&cluster.bootstrap(), "test", PATIENCE)?;
    ensure(admin.cluster()?.brokers[0].rack.as_deref() == Some("r1"), "the rack is known")?;
    let pid = cluster.processes()[0].pid;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    ensure(status.contains("Cpus_allowed_list:\t0\n"), "pinned to CPU 0")?;
    ensure(
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))?.contains("-Dkdyno.test=yes"),
        "the user's option",
    )?;
    let folders =
        || drives.iter().filter(|drive| drive.read_dir().is_ok_and(|mut list| list.next().is_some())).count();
    ensure(folders() == 2, "both drives are used")?;
    let made = drives.iter().filter_map(|drive| drive.read_dir().ok()?.next()?.ok().map(|made| made.path()));
    for folder in made.chain([scene.work_dir()]) {
        let mode = folder.metadata()?.permissions().mode() & 0o777;
        ensure(mode == 0o700, format!("{} is its owner's alone: {mode:o}", folder.display()))?;
    }
    cluster.stop()?;
    ensure(folders() == 0, "both drives are empty again")
}

/// Another user of the host who foretells the name of a cluster's folder would own what brokers write.
fn taken_folder() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let theirs = scene.work_dir().join("theirs");
    std::fs::create_dir_all(&theirs)?;
    let error = scene.start(&one_broker()).err().ok_or("it started in somebody else's folder")?;
    ensure(error.to_string().contains("is there already"), error.to_string())?;
    ensure(theirs.exists(), "what is somebody else's is not removed")
}

fn built_in_memory() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let checkout = scene.folder.path().join("checkout");
    let (own, others) =
        (checkout.join("core/build/libs"), checkout.join("core/build/dependant-libs-2.13.18"));
    for folder in [&own, &others] {
        std::fs::create_dir_all(folder)?;
    }
    for jar in jars(&scene)?.read_dir()? {
        let jar = jar?;
        let core = jar.file_name().to_string_lossy().starts_with("kafka_2.13-");
        std::os::unix::fs::symlink(jar.path(), if core { &own } else { &others }.join(jar.file_name()))?;
    }
    let mut plan = one_broker();
    plan.kafka = KafkaSource::Source(checkout);
    plan.storage = Storage::Memory;
    let cluster: LocalCluster = scene.start(&plan)?;
    let in_memory = || scene.environment.memory_dir.read_dir().is_ok_and(|mut list| list.next().is_some());
    ensure(in_memory() && cluster.facts()["storage"] == "memory", "its data lies there")?;
    let broker = ProcessId::of(cluster.processes()[0].pid).ok_or("it runs")?;
    drop(cluster);
    ensure(!broker.is_alive() && !in_memory(), "dropping ends and removes")
}

pub fn kill(pid: u32, signal: Signal) -> Result<(), Failed> {
    let pid = Pid::from_raw(i32::try_from(pid)?).ok_or("no process 0")?;
    Ok(rustix::process::kill_process(pid, signal)?)
}
