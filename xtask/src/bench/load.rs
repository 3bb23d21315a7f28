//! Loads as anybody would ask for them: `kdyno run` of a scenario on a cluster that is there, whose JSON is read. Builds of
//! earlier commits understand the same words.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{Background, document};
use super::setup::Setup;

/// The load item of every load here.
pub const ITEM: &str = "writers";
/// Partitions of its topic.
pub const PARTITIONS: u32 = 6;
/// Longer than any load; bounds what is made of a printed second.
const SECONDS_MAX: usize = 10_000;
/// What a record of some hundred bytes takes of a batch beside its value: its length and that of the value (2 bytes each),
/// its place in the batch (2), and one byte each for attributes, time, key and headers.
const RECORD_BYTES_EXTRA: f64 = 10.0;
/// The id that a null broker answers with.
const NULL_CLUSTER_ID: &str = "kdyno-null-broker";
/// What a batch takes beside its records.
const BATCH_BYTES_EXTRA: f64 = 61.0;

/// One load.
#[derive(Debug, Clone)]
pub struct BenchLoad {
    /// `max`, or a rate and its arrivals: `20k/s, arrivals: constant`.
    pub rate: String,
    /// Bytes of each value.
    pub value_bytes: u32,
    /// Unique payloads; pooled otherwise.
    pub unique: bool,
    /// Settings of its producer.
    pub client: String,
    /// The measured window: a length, or a number of records.
    pub measure: String,
    /// Load before it, seconds.
    pub warmup_s: u32,
    /// Keys of its topic beside partitions and replicas, each behind a comma.
    pub topic: String,
    /// All chance follows from it.
    pub seed: u64,
}

impl BenchLoad {
    /// The load most benchmarks vary: 128 B at the maximum rate, in batches of so many bytes.
    pub fn at_max(batch_bytes: u32, seconds: u32) -> BenchLoad {
        BenchLoad {
            rate: "max".to_owned(),
            value_bytes: 128,
            unique: false,
            client: format!("acks: 1, enable.idempotence: false, batch.size: {batch_bytes}, linger.ms: 5"),
            measure: format!("{seconds}s"),
            warmup_s: 2,
            topic: String::new(),
            seed: 1,
        }
    }

    fn scenario(&self) -> String {
        let payload = if self.unique { "unique" } else { "pooled" };
        let BenchLoad { rate, value_bytes, client, measure, warmup_s, topic, .. } = self;
        format!(
            "kdyno: 1\nid: bench\nquestion: What does a load take?\n\
             topics: {{bench: {{partitions: {PARTITIONS}, replicas: 1{topic}}}}}\n\
             load: {{{ITEM}: {{produce: bench, rate: {rate}, value: {value_bytes}B, payload: {payload}, \
             client: {{{client}}}}}}}\n\
             phases: {{warmup: {warmup_s}s, measure: {measure}, drain: 30s}}\n"
        )
    }

    /// How it is asked for, with files in a folder.
    pub fn command(&self, side: &Setup, target: &Path, folder: &Path) -> anyhow::Result<Command> {
        let seed = self.seed.to_string();
        scenario_command(side, &self.scenario(), target, folder, &["--seed", &seed])
    }

    /// Runs it to its end, with files in a folder.
    pub fn run_in(&self, side: &Setup, target: &Path, folder: &Path) -> anyhow::Result<Run> {
        Ok(Run(document(&mut self.command(side, target, folder)?)?))
    }

    /// The same with files that go.
    pub fn run(&self, side: &Setup, target: &Path) -> anyhow::Result<Run> {
        self.run_in(side, target, TempDir::new()?.path())
    }

    /// The scenario, for who wants to repeat it.
    pub fn describe(&self) {
        println!("  each: kdyno run FILE --target TARGET, where FILE is");
        self.scenario().lines().for_each(|line| println!("    {line}"));
    }

    /// CPU seconds per GB (10⁹ bytes) of batches.
    pub fn cpu_s_per_gb(&self, run: &Run) -> anyhow::Result<f64> {
        let of_batch = BATCH_BYTES_EXTRA / run.figure("writers.records_per_batch")?;
        let record_bytes = f64::from(self.value_bytes) + RECORD_BYTES_EXTRA + of_batch;
        Ok(run.figure("workers.cpu_us_per_record")? * 1e3 / record_bytes)
    }
}

/// `kdyno run` of a scenario, which is written into a folder, where its run file goes too.
pub fn scenario_command(
    side: &Setup,
    scenario: &str,
    target: &Path,
    folder: &Path,
    further: &[&str],
) -> anyhow::Result<Command> {
    let file = folder.join("bench.yaml");
    std::fs::write(&file, scenario).with_context(|| file.display().to_string())?;
    let mut command = Command::new(&side.kdyno);
    command.arg("run").arg(file).arg("--target").arg(target).arg("--out").arg(folder).args(further);
    Ok(command)
}

/// What a run with one trial printed.
#[derive(Debug, Clone)]
pub struct Run(pub Value);

impl Run {
    /// A figure by its address. A figure that is invalid on a small machine is a figure all the same.
    pub fn figure(&self, address: &str) -> anyhow::Result<f64> {
        let found = self.found(address).or_else(|| {
            // Builds of earlier commits call it so.
            self.found(&address.replace(".schedule_delay.", ".lag."))
        });
        found.with_context(|| format!("the run has no {address}"))
    }

    fn found(&self, address: &str) -> Option<f64> {
        let is_it = |finding: &&Value| {
            let own = |name: &str| finding[name].as_str().unwrap_or_default();
            format!("{}.{}", own("subject"), own("metric")) == address
        };
        self.0["findings"].as_array()?.iter().find(is_it)?["value"].as_f64()
    }

    /// Records that failed, or of which the end was not seen.
    pub fn lost(&self) -> anyhow::Result<f64> {
        Ok(self.figure("writers.failed")? + self.figure("writers.unresolved")?)
    }

    /// One figure of every second since T0, in order: `offered`, `achieved` or `acknowledged`; a second
    /// without a row is 0.
    pub fn per_second(&self, name: &str) -> anyhow::Result<Vec<u64>> {
        let item = &self.0["series"][0]["items"][0];
        let of = |list: &str| {
            item[list].as_array().with_context(|| format!("the run has no {list} by the second"))
        };
        let mut seconds = Vec::new();
        for (second, value) in of("second")?.iter().zip(of(name)?) {
            let second = second.as_u64().and_then(|second| usize::try_from(second).ok());
            let second = second.filter(|second| *second <= SECONDS_MAX).context("a second without number")?;
            if seconds.len() <= second {
                seconds.resize(second + 1, 0);
            }
            seconds[second] = value.as_u64().with_context(|| format!("a second without {name}"))?;
        }
        Ok(seconds)
    }

    /// What became of the records of the measure phase: acknowledged, failed, unresolved.
    pub fn outcomes(&self) -> anyhow::Result<[u64; 3]> {
        let outcomes = &self.0["series"][0]["items"][0]["outcomes"];
        let count =
            |name: &str| outcomes[name].as_u64().with_context(|| format!("no {name} among the outcomes"));
        Ok([count("kept")?, count("failed")?, count("unseen")?])
    }
}

/// A target file.
pub struct BenchTarget {
    pub file: PathBuf,
    _folder: TempDir,
}

impl BenchTarget {
    /// A cluster by an address and its id, with the properties of a client where it needs some.
    pub fn new(bootstrap: &str, cluster_id: &str, properties: &str) -> anyhow::Result<BenchTarget> {
        let further = if properties.is_empty() { "" } else { ", properties: client.properties" };
        let target = BenchTarget::of(&format!(
            "kdyno: 1\ntarget: bench\ncluster_id: {cluster_id}\n\
             client: {{bootstrap: [\"{bootstrap}\"]{further}}}\n\
             guard: {{prefix: kdyno-, allow: [rate-max]}}\n"
        ))?;
        std::fs::write(target.file.with_file_name("client.properties"), properties)?;
        Ok(target)
    }

    /// One with this text.
    pub fn of(text: &str) -> anyhow::Result<BenchTarget> {
        let folder = TempDir::new()?;
        let file = folder.path().join("target.yaml");
        write_privately(&file, text)?;
        Ok(BenchTarget { file, _folder: folder })
    }
}

/// Writes a target file: it may hold secrets, so others must not read it.
pub fn write_privately(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// A null broker in a process of its own, which ends with this value.
pub struct NullBrokerProcess {
    pub target: BenchTarget,
    _process: Background,
}

impl NullBrokerProcess {
    /// One in the open.
    pub fn start(bench: &Setup) -> anyhow::Result<NullBrokerProcess> {
        let process = Background::start(&mut NullBrokerProcess::command(bench, PARTITIONS))?;
        let target = BenchTarget::new(process.first_line(), NULL_CLUSTER_ID, "")?;
        Ok(NullBrokerProcess { target, _process: process })
    }

    /// One that speaks TLS 1.3 with one suite.
    pub fn secured(bench: &Setup, suite: &str) -> anyhow::Result<NullBrokerProcess> {
        let mut command = NullBrokerProcess::command(bench, PARTITIONS);
        command.args(["--tls", "1.3", "--cipher", suite]);
        let process = Background::start_until(&mut command, |line| line.starts_with("-----END CERTIFICATE"))?;
        let (_, certificate) =
            process.said.split_once('\n').context("the null broker prints no certificate")?;
        // The value of a property is one line.
        let certificate = certificate.trim_end().replace('\n', "\\n");
        let properties = format!(
            "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates={certificate}\n"
        );
        let target = BenchTarget::new(process.first_line(), NULL_CLUSTER_ID, &properties)?;
        Ok(NullBrokerProcess { target, _process: process })
    }

    /// Its command line.
    pub fn command(bench: &Setup, partitions: u32) -> Command {
        let mut command = Command::new(&bench.kdyno);
        command.args(["null-broker", "--port", "0", "--partitions", &partitions.to_string()]);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> Run {
        let finding = |subject: &str, metric: &str, value: f64| json!({"subject": subject, "metric": metric, "value": value});
        Run(json!({
            "findings": [
                finding("workers", "cpu_us_per_record", 0.138),
                finding("writers", "records_per_batch", 61e6),
                finding("writers", "schedule_delay.p99", 900.0),
                finding("writers", "failed", 2.0),
                finding("writers", "unresolved", 1.0),
            ],
            "series": [{"items": [{
                "second": [1, 3, 4], "acknowledged": [4, 5, 6], "outcomes": {"kept": 9, "failed": 2, "unseen": 1},
            }]}],
        }))
    }

    #[test]
    fn figures_are_read_by_their_addresses() {
        let run = run();
        assert_eq!(run.figure("writers.schedule_delay.p99").expect("present"), 900.0);
        let earlier =
            Run(serde_json::from_str(&run.0.to_string().replace("schedule_delay", "lag")).expect("JSON"));
        assert_eq!(earlier.figure("writers.schedule_delay.p99").expect("by its old name"), 900.0);
        assert_eq!(run.lost().expect("counts"), 3.0);
        let error = run.figure("writers.response.p99").expect_err("not measured").to_string();
        assert!(error.contains("writers.response.p99"), "{error}");
        // 138 bytes with what a record takes: a nanosecond a byte.
        let cost = BenchLoad::at_max(16_384, 1).cpu_s_per_gb(&run).expect("a cost");
        assert!((cost - 1.0).abs() < 1e-6, "{cost}");
    }

    #[test]
    fn seconds_without_a_row_are_empty_ones() {
        let run = run();
        assert_eq!(run.per_second("acknowledged").expect("present"), [0, 4, 0, 5, 6]);
        assert!(run.per_second("offered").is_err());
        assert_eq!(run.outcomes().expect("counts"), [9, 2, 1]);
    }
}
