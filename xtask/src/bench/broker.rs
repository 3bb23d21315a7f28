//! One real local broker for benchmarks, started by kdyno, and Kafka's own tools from its jars.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use procfs::process::Process;
use serde::Deserialize;

use super::process::{cpu_so_far_s, measured, tail, words};
use super::setup::Setup;

/// Kept of each partition, so that a long run cannot fill the disk.
const RETENTION_BYTES: u64 = 1 << 30;
/// Without a screen.
const HEADLESS: &str = "-Djava.awt.headless=true";
const SEGMENT_BYTES: u64 = 128 << 20;

/// A standing cluster that ends with this value.
pub struct StandingCluster {
    up: Up,
    bootstrap: String,
    /// Processes of the brokers, the first one first.
    pids: Vec<u32>,
    classpath: String,
    /// What Kafka's scripts give every JVM, of brokers and tools.
    jvm_options: Vec<String>,
    log_folder: PathBuf,
}

impl StandingCluster {
    /// Starts a cluster of so many brokers; what is read from its logs is of the first one.
    pub fn start(bench: &Setup, purpose: &str, brokers: u32) -> anyhow::Result<StandingCluster> {
        remove_left_overs(bench)?;
        let name = format!("bench-{purpose}-{}", std::process::id());
        let mut up = Command::new(&bench.kdyno);
        up.args(["cluster", "up", &name, "--brokers", &brokers.to_string(), "--heap", "1GiB"]);
        println!("  cluster: {}", words(&up));
        measured(&mut up)?;
        // From here on the cluster is ended also when something below fails.
        let up = Up { kdyno: bench.kdyno.clone(), name };
        let entry = standing(&bench.kdyno)?.into_iter().find(|cluster| cluster.name == up.name);
        let entry = entry.context("the cluster is not in kdyno's list")?;
        let brokers = entry.processes.iter().filter(|process| process.subject.starts_with("broker-"));
        let pids: Vec<u32> = brokers.map(|process| process.pid).collect();
        let first = pids.first().context("the list names no broker process")?;
        // Jars and data folder from the broker's own command line and settings, which cannot be out of date.
        let words = Process::new(i32::try_from(*first)?)?.cmdline()?;
        let flag =
            words.iter().position(|word| ["-cp", "-classpath", "--class-path"].contains(&word.as_str()));
        let classpath =
            flag.and_then(|at| words.get(at + 1)).context("the broker has no class path")?.clone();
        let settings = words.iter().find(|word| word.ends_with(".properties"));
        let settings = settings.context("the broker's command line names no settings")?;
        let log_folder = log_folder(&std::fs::read_to_string(settings)?)?;
        let is_option =
            |word: &String| word.starts_with("-XX:") || ["-server", HEADLESS].contains(&word.as_str());
        let jvm_options = words.into_iter().filter(is_option).collect();
        Ok(StandingCluster {
            up,
            bootstrap: entry.bootstrap.join(","),
            pids,
            classpath,
            jvm_options,
            log_folder,
        })
    }

    /// `host:port`.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// The first broker's process.
    pub fn pid(&self) -> u32 {
        self.pids[0]
    }

    /// CPU of all brokers so far.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        self.pids.iter().map(|pid| cpu_so_far_s(*pid)).sum()
    }

    /// A command of Kafka's own tools.
    pub fn kafka_tool(&self, class: &str) -> Command {
        let mut command = Command::new("java");
        command.arg("-Xmx512M").args(&self.jvm_options).args(["-cp", &self.classpath, class]);
        command
    }

    /// Kafka's producer tool, or kdyno's drop-in for it, which leaves its run file in that folder.
    pub fn producer_tool(&self, own: Option<&Path>) -> Command {
        let Some(folder) = own else {
            return self.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
        };
        let mut command = Command::new(&self.up.kdyno);
        command.arg("producer-perf-test").current_dir(folder);
        command
    }

    /// A command of Kafka's own tools as one would type it; the class path of 90 jars is shortened.
    pub fn as_typed(&self, command: &Command) -> String {
        words(command).replace(&self.classpath, "kafka-jars/*")
    }

    /// A fresh topic; returns its name.
    pub fn topic(&self, name: &str, partitions: u32, replicas: u32) -> anyhow::Result<String> {
        let mut create = self.topics();
        create.args(["--create", "--topic", name, "--partitions", &partitions.to_string()]);
        create.args(["--replication-factor", &replicas.to_string()]);
        create.args(["--config", &format!("retention.bytes={RETENTION_BYTES}")]);
        create.args(["--config", &format!("segment.bytes={SEGMENT_BYTES}")]);
        measured(&mut create)?;
        Ok(name.to_owned())
    }

    /// Removes a topic, so that the next run finds the disk as this one did.
    pub fn delete_topic(&self, name: &str) -> anyhow::Result<()> {
        measured(self.topics().args(["--delete", "--topic", name])).map(|_| ())
    }

    fn topics(&self) -> Command {
        let mut command = self.kafka_tool("org.apache.kafka.tools.TopicCommand");
        command.args(["--bootstrap-server", &self.bootstrap]);
        command
    }

    /// Records per batch as they are in the topic's log: one method for every client. Without those that begin in the
    /// first `share` of each partition's records.
    pub fn records_per_batch_behind(&self, share: f64, topic: &str) -> anyhow::Result<f64> {
        super::log::records_per_batch_behind(share, &self.log_folder, topic)
    }
}

/// What `kdyno cluster list` knows of a cluster.
#[derive(Deserialize)]
struct Standing {
    name: String,
    bootstrap: Vec<String>,
    processes: Vec<StandingProcess>,
}

#[derive(Deserialize)]
struct StandingProcess {
    subject: String,
    pid: u32,
}

fn standing(kdyno: &Path) -> anyhow::Result<Vec<Standing>> {
    let list = measured(Command::new(kdyno).args(["cluster", "list", "--json"]))?;
    serde_json::from_str(&list.stdout).context("kdyno cluster list printed no list of clusters")
}

/// Ends clusters of benchmarks that were killed: their names end with the process they served.
fn remove_left_overs(bench: &Setup) -> anyhow::Result<()> {
    for Standing { name, .. } in standing(&bench.kdyno)? {
        let owner = name.strip_prefix("bench-").and_then(|rest| rest.rsplit('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            measured(Command::new(&bench.kdyno).args(["cluster", "down", &name]))?;
        }
    }
    Ok(())
}

/// A cluster's name; the cluster ends with it.
struct Up {
    kdyno: PathBuf,
    name: String,
}

impl Drop for Up {
    fn drop(&mut self) {
        // Also once a signal has come.
        match Command::new(&self.kdyno).args(["cluster", "down", &self.name]).output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr);
                println!("  could not end the cluster {}: {}", self.name, tail(&why));
            }
            Err(error) => println!("  could not end the cluster {}: {error}", self.name),
        }
    }
}

/// The first data folder in a broker's settings.
fn log_folder(settings: &str) -> anyhow::Result<PathBuf> {
    let value = |key: &str| {
        settings.lines().find_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix('='))
    };
    let folders = value("log.dirs").or_else(|| value("log.dir")).context("the settings name no log.dirs")?;
    Ok(Path::new(folders.split(',').next().unwrap_or_default().trim()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_read_from_the_list() {
        let listed = r#"[{"name": "a", "bootstrap": ["h:1", "h:2"], "since_unix_ns": 1, "facts": {},
                          "processes": [{"subject": "broker-1", "pid": 7, "start": 5}]}]"#;
        let clusters: Vec<Standing> = serde_json::from_str(listed).expect("a list");
        assert_eq!(
            (clusters[0].bootstrap.join(","), clusters[0].processes[0].pid),
            ("h:1,h:2".to_owned(), 7)
        );
    }

    #[test]
    fn the_data_folder_is_read_from_the_settings() {
        let found = log_folder("broker.id=1\nlog.dirs = data/a,data/b\n").expect("present");
        assert_eq!(found, Path::new("data/a"));
        assert!(log_folder("broker.id=1\n").is_err());
    }
}
