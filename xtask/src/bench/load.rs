//! Calls of `kdyno-bench bench-load`: one worker process, spawned as the lab spawns it, without a scenario.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::process::{measured, words};
use super::setup::Setup;

/// Longer than any load; bounds what is made of a printed second.
const SECONDS_MAX: usize = 10_000;

/// One load: what `bench-load` is asked to do.
#[derive(Debug, Clone)]
pub struct BenchLoad {
    /// Broker to ask first.
    pub bootstrap: String,
    /// Topic, which must exist on a real broker.
    pub topic: String,
    /// `max`, or records per second.
    pub rate: String,
    /// Bytes of each value.
    pub value_bytes: u32,
    /// Unique payloads; pooled otherwise.
    pub unique: bool,
    /// `batch.size`.
    pub batch_bytes: u32,
    /// Length of the measured window.
    pub seconds: u32,
    /// End earlier, after so many records.
    pub records: Option<u64>,
    /// `linger.ms`.
    pub linger_ms: u32,
    /// `acks`: `1` or `-1`.
    pub acks: &'static str,
    /// Arguments that only some loads have.
    pub further: Vec<String>,
}

impl BenchLoad {
    /// The load most benchmarks vary: 128 B at the maximum rate, 112 000 B batches.
    pub fn at_max(bootstrap: &str, topic: &str, seconds: u32) -> BenchLoad {
        BenchLoad {
            bootstrap: bootstrap.to_owned(),
            topic: topic.to_owned(),
            rate: "max".to_owned(),
            value_bytes: 128,
            unique: false,
            batch_bytes: 112_000,
            seconds,
            records: None,
            linger_ms: 5,
            acks: "1",
            further: Vec::new(),
        }
    }

    /// The command line.
    pub fn command(&self, bench: &Setup) -> Command {
        let mut command = bench.helper("bench-load");
        if bench.helper.is_some() {
            command.arg("--kdyno").arg(&bench.kdyno);
        }
        command.args(["--bootstrap", &self.bootstrap, "--topic", &self.topic, "--rate", &self.rate]);
        command.args(["--value", &self.value_bytes.to_string(), "--batch", &self.batch_bytes.to_string()]);
        command.args(["--payload", if self.unique { "unique" } else { "pooled" }]);
        command.args(["--linger-ms", &self.linger_ms.to_string(), "--acks", self.acks]);
        command.args(["--seconds", &self.seconds.to_string()]);
        if let Some(records) = self.records {
            command.args(["--records", &records.to_string()]);
        }
        command.args(&self.further);
        command
    }

    /// A bare replay of as many records, in requests built beforehand of so many batches, five of them in flight.
    pub fn replay(&self, bench: &Setup, batches_per_request: u32) -> Command {
        let mut command = bench.helper("bench-replay");
        command.args(["--bootstrap", &self.bootstrap, "--topic", &self.topic]);
        command.args(["--value", &self.value_bytes.to_string(), "--batch", &self.batch_bytes.to_string()]);
        command.args(["--acks", self.acks, "--in-flight", "5"]);
        command.args(["--batches-per-request", &batches_per_request.to_string()]);
        command.args(["--records", &self.records.unwrap_or_default().to_string()]);
        command
    }

    /// Runs it to its end.
    pub fn run(&self, bench: &Setup) -> anyhow::Result<LoadResult> {
        let mut command = self.command(bench);
        let finished = measured(&mut command)?;
        let outcome = LoadResult::parse(&finished.stdout).with_context(|| words(&command))?;
        Ok(LoadResult { cpu_s: finished.cpu_s, ..outcome })
    }
}

/// What the worker did, as `bench-load` prints it.
#[derive(Debug, Clone)]
pub struct LoadResult {
    printed: Value,
    /// User plus system of the worker process from its start to its end, and of the small process
    /// that spawned it: more than the worker itself reports, and counted as for every peer.
    pub cpu_s: f64,
}

impl LoadResult {
    /// Reads the one JSON document on standard output.
    pub fn parse(stdout: &str) -> anyhow::Result<LoadResult> {
        let mut value: Value = serde_json::from_str(stdout.trim()).context("bench-load printed no JSON")?;
        // Programs of earlier commits call it so.
        if let Some(delay) = value.get("lag_ns").cloned() {
            value["schedule_delay_ns"] = delay;
        }
        let outcome = LoadResult { printed: value, cpu_s: f64::NAN };
        for name in ["acknowledged", "seconds", "acked_per_s"] {
            outcome.number(name)?;
        }
        Ok(outcome)
    }

    /// A figure by its JSON name; `response_ns.p99` reaches into an object.
    pub fn number(&self, name: &str) -> anyhow::Result<f64> {
        let found = name.split('.').try_fold(&self.printed, |value, part| value.get(part));
        found.and_then(Value::as_f64).with_context(|| format!("bench-load reported no {name}"))
    }

    /// Whatever is printed by a name, as JSON.
    pub fn text(&self, name: &str) -> String {
        self.printed[name].to_string()
    }

    /// One figure of every second since T0, in order: `offered`, `achieved` or `acknowledged`; a second
    /// without a row is 0.
    pub fn per_second(&self, name: &str) -> anyhow::Result<Vec<u64>> {
        let rows = self.printed["per_second"].as_array().context("bench-load reported no seconds")?;
        let mut seconds = Vec::new();
        for row in rows {
            let second = row["second"].as_u64().and_then(|second| usize::try_from(second).ok());
            let second = second.filter(|second| *second <= SECONDS_MAX).context("a second without number")?;
            if seconds.len() <= second {
                seconds.resize(second + 1, 0);
            }
            seconds[second] = row[name].as_u64().with_context(|| format!("a second without {name}"))?;
        }
        Ok(seconds)
    }

    /// CPU per GB (10⁹ bytes) of requests, in TLS counted before they are sealed.
    pub fn cpu_s_per_gb(&self) -> anyhow::Result<f64> {
        Ok(self.cpu_s / (self.number("request_bytes")? / 1e9))
    }

    /// CPU per acknowledged record.
    pub fn cpu_us_per_record(&self) -> anyhow::Result<f64> {
        Ok(self.cpu_s * 1e6 / self.number("acknowledged")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_by_name_and_missing_ones_are_named() {
        let text = r#"{"acknowledged": 2000000, "seconds": 2.0, "acked_per_s": 1e6,
                       "schedule_delay_ns": {"p50": 100, "p99": 900}}"#;
        let outcome = LoadResult { cpu_s: 0.5, ..LoadResult::parse(text).expect("a good document") };
        let earlier =
            LoadResult::parse(&text.replace("schedule_delay_ns", "lag_ns")).expect("an earlier one");
        assert!((earlier.number("schedule_delay_ns.p99").expect("by its old name") - 900.0).abs() < 1e-9);
        assert!((outcome.cpu_us_per_record().expect("both") - 0.25).abs() < 1e-12);
        assert!((outcome.number("schedule_delay_ns.p99").expect("present") - 900.0).abs() < 1e-9);
        assert!(outcome.number("response_ns.p99").is_err());
        assert!(outcome.per_second("offered").is_err());
        let error = LoadResult::parse("{\"acknowledged\": 1}").expect_err("figures are missing").to_string();
        assert!(error.contains("seconds"), "{error}");
    }

    #[test]
    fn seconds_without_a_row_are_empty_ones() {
        let text = r#"{"acknowledged": 9, "seconds": 2.0, "acked_per_s": 4.5, "per_second":
                       [{"second": 1, "acknowledged": 4}, {"second": 3, "acknowledged": 5}]}"#;
        let outcome = LoadResult::parse(text).expect("a good document");
        assert_eq!(outcome.per_second("acknowledged").expect("present"), [0, 4, 0, 5]);
        assert!(outcome.per_second("offered").is_err(), "a figure that is not there is no zero");
    }
}
