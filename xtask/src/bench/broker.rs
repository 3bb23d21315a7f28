//! One real local broker for benchmarks, started by kdyno, and Kafka's own tools from its jars.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use super::process::{cpu_so_far_s, measured, tail, words};
use super::setup::Setup;

/// Kept of each partition, so that a long run cannot fill the disk.
const RETENTION_BYTES: u64 = 1 << 30;
/// Without a screen.
const HEADLESS: &str = "-Djava.awt.headless=true";
const SEGMENT_BYTES: u64 = 128 << 20;

/// A standing cluster that ends with this value.
pub struct StandingCluster {
    kdyno: PathBuf,
    name: String,
    bootstrap: String,
    /// Addresses of the brokers, the first one first.
    pids: Vec<u32>,
    classpath: String,
    /// What Kafka's scripts give every JVM, of brokers and tools.
    jvm_options: Vec<String>,
    log_folder: PathBuf,
}

impl StandingCluster {
    /// Starts one broker.
    pub fn start(bench: &Setup, purpose: &str) -> anyhow::Result<StandingCluster> {
        StandingCluster::start_many(bench, purpose, 1)
    }

    /// Starts a cluster of so many brokers; what is read from its logs is of the first one.
    pub fn start_many(bench: &Setup, purpose: &str, brokers: u32) -> anyhow::Result<StandingCluster> {
        remove_left_overs(bench)?;
        let name = format!("bench-{purpose}-{}", std::process::id());
        let mut up = Command::new(&bench.kdyno);
        up.args(["cluster", "up", &name, "--brokers", &brokers.to_string(), "--heap", "1GiB"]);
        println!("  cluster: {}", words(&up));
        measured(&mut up)?;
        // From here on the value's Drop ends the cluster, also when something below fails.
        let mut broker = StandingCluster {
            kdyno: bench.kdyno.clone(),
            name,
            bootstrap: String::new(),
            pids: Vec::new(),
            classpath: String::new(),
            jvm_options: Vec::new(),
            log_folder: PathBuf::new(),
        };
        broker.look_up()?;
        Ok(broker)
    }

    /// Address and process from `kdyno cluster list`; jars and data folder from the broker's own
    /// command line and settings, which cannot be out of date.
    fn look_up(&mut self) -> anyhow::Result<()> {
        let clusters = standing(&self.kdyno)?;
        let entry = clusters.iter().find(|cluster| cluster["name"].as_str() == Some(&self.name));
        let entry = entry.context("the cluster is not in kdyno's list")?;
        self.bootstrap = match &entry["bootstrap"] {
            Value::String(one) => one.clone(),
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
            _ => bail!("the list names no bootstrap address"),
        };
        let processes = entry["processes"].as_array().context("the list names no processes")?;
        let brokers = processes.iter().filter(|process| {
            process["subject"].as_str().is_some_and(|subject| subject.starts_with("broker-"))
        });
        let pids = brokers.filter_map(|process| process["pid"].as_u64()).map(u32::try_from);
        self.pids = pids.collect::<Result<_, _>>()?;
        let first = self.pids.first().context("the list names no broker process")?;
        let command_line = std::fs::read(format!("/proc/{first}/cmdline"))?;
        let command_line = String::from_utf8_lossy(&command_line).into_owned();
        let words: Vec<&str> = command_line.split('\0').collect();
        let after = |flags: [&str; 3]| {
            let at = words.iter().position(|word| flags.contains(word))?;
            words.get(at + 1).map(|word| (*word).to_owned())
        };
        self.classpath =
            after(["-cp", "-classpath", "--class-path"]).context("the broker has no class path")?;
        let is_option = |word: &&&str| word.starts_with("-XX:") || ["-server", HEADLESS].contains(*word);
        self.jvm_options = words.iter().filter(is_option).map(|word| (*word).to_owned()).collect();
        let settings = words.iter().find(|word| word.ends_with(".properties"));
        let settings = settings.context("the broker's command line names no settings")?;
        self.log_folder = log_folder(&std::fs::read_to_string(settings)?)?;
        Ok(())
    }

    /// `host:port`.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// The first broker's process.
    pub fn pid(&self) -> u32 {
        self.pids[0]
    }

    /// Writes a target file for this cluster, with what `change` makes of what `kdyno cluster target` says.
    pub fn write_target(
        &self,
        path: &Path,
        change: impl FnOnce(&str) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let printed = measured(Command::new(&self.kdyno).args(["cluster", "target", &self.name]))?;
        let text = change(&printed.stdout)?;
        // Target files may hold secrets: others must not read them.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(file.write_all(text.as_bytes())?)
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

/// What `kdyno cluster list` knows.
fn standing(kdyno: &Path) -> anyhow::Result<Vec<Value>> {
    let list = measured(Command::new(kdyno).args(["cluster", "list", "--json"]))?;
    let list: Value = serde_json::from_str(&list.stdout).context("kdyno cluster list printed no JSON")?;
    list.as_array().or_else(|| list["clusters"].as_array()).cloned().context("no list of clusters")
}

/// Ends clusters of benchmarks that were killed: their names end with the process they served.
fn remove_left_overs(bench: &Setup) -> anyhow::Result<()> {
    for cluster in standing(&bench.kdyno)? {
        let name = cluster["name"].as_str().unwrap_or_default();
        let owner = name.strip_prefix("bench-").and_then(|rest| rest.rsplit('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            measured(Command::new(&bench.kdyno).args(["cluster", "down", name]))?;
        }
    }
    Ok(())
}

impl Drop for StandingCluster {
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
    fn the_data_folder_is_read_from_the_settings() {
        let found = log_folder("broker.id=1\nlog.dirs = data/a,data/b\n").expect("present");
        assert_eq!(found, Path::new("data/a"));
        assert!(log_folder("broker.id=1\n").is_err());
    }
}
