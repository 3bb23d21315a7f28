//! `end-to-end`: a probe of kdyno compared with Kafka's own `kafka-e2e-latency`, alternated on one idle broker: values
//! of the same size, one partition, `acks=all`. The tool sends a record when it has read the one before; the probe
//! sends at the rate that the tool came to, and at its own default.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::broker::StandingCluster;
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{SeriesOf, TextTable};

const TOOL: &str = "org.apache.kafka.tools.EndToEndLatency";
const VALUE_BYTES: u32 = 128;
/// A probe's own rate, records/s.
const LIGHT_PER_S: f64 = 200.0;
/// Most that it may take of a core at that, percent.
const CPU_PERCENT_MAX: f64 = 2.5;
const NAMES: [&str; 3] = ["kafka-e2e-latency", "kdyno's probe, as many/s", "kdyno's probe, 200/s"];

/// What one of them reported in one round: records/s, ms on average, p50, p99, median ms until a record was
/// acknowledged, percent of a core.
type RoundResult = [f64; 6];

/// The document of a `kdyno run … --json`. Figures that are invalid on a small machine are figures all the same (exit code 6).
fn document(command: &mut Command) -> anyhow::Result<Value> {
    command.args(["--share", "--yes", "--json", "--no-progress"]);
    let output = command.output().with_context(|| format!("cannot start {}", words(command)))?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: {}", words(command), String::from_utf8_lossy(&output.stderr)))
}

/// The value of a case's finding.
fn figure(document: &Value, address: &str) -> anyhow::Result<f64> {
    let is_it = |finding: &&Value| {
        let own = |name: &str| finding[name].as_str().unwrap_or_default();
        finding["scope"]["kind"] == "case" && format!("{}.{}", own("subject"), own("metric")) == address
    };
    let findings = document["findings"].as_array().context("a document without findings")?;
    let value = findings.iter().find(is_it).and_then(|finding| finding["value"].as_f64());
    value.with_context(|| format!("the run has no {address}"))
}

/// The last lines of Kafka's tool: average, and percentiles in whole milliseconds, rounded down.
fn parse(stdout: &str) -> anyhow::Result<(f64, f64, f64)> {
    let number = |before: &str| {
        let rest = stdout.split_once(before).with_context(|| format!("no `{before}` in: {stdout}"))?.1;
        let text = rest.split([' ', ',', '\n']).next().unwrap_or_default();
        text.parse::<f64>().with_context(|| format!("no number behind `{before}` in: {stdout}"))
    };
    Ok((number("Avg latency: ")?, number("50th = ")?, number(" 99th = ")?))
}

struct EndToEndContest<'a> {
    bench: &'a Setup,
    broker: &'a StandingCluster,
    folder: &'a Path,
}

impl EndToEndContest<'_> {
    fn tool_command(&self, topic: &str) -> Command {
        let records = if self.bench.options.quick { "3000" } else { "20000" };
        let mut command = self.broker.kafka_tool(TOOL);
        command.args([self.broker.bootstrap(), topic, records, "all", &VALUE_BYTES.to_string()]);
        command
    }

    fn tool(&self) -> anyhow::Result<RoundResult> {
        let topic = self.broker.topic("end-to-end", 1, 1)?;
        let finished = measured(&mut self.tool_command(&topic))?;
        self.broker.delete_topic(&topic)?;
        let (mean_ms, p50_ms, p99_ms) = parse(&finished.stdout)?;
        let cpu_percent = 100.0 * finished.cpu_s / finished.wall_s;
        // It does not report when records were acknowledged.
        Ok([1e3 / mean_ms, mean_ms, p50_ms, p99_ms, f64::NAN, cpu_percent])
    }

    fn probe_command(&self, per_s: f64) -> anyhow::Result<Command> {
        let (warmup, measure) = if self.bench.options.quick { (1, 3) } else { (5, 20) };
        let scenario = format!(
            "kdyno: 1\nid: end-to-end\nquestion: How long from end to end?\n\
             topics: {{probes: {{partitions: 1, replicas: 1}}}}\n\
             load: {{probe: {{end_to_end: probes, rate: {per_s:.0}/s, value: {VALUE_BYTES}B}}}}\n\
             phases: {{warmup: {warmup}s, measure: {measure}s}}\n"
        );
        let file = self.folder.join("end-to-end.yaml");
        std::fs::write(&file, scenario)?;
        let mut command = Command::new(&self.bench.kdyno);
        command.arg("run").arg(file).arg("--target").arg(self.folder.join("target.yaml"));
        command.current_dir(self.folder);
        Ok(command)
    }

    fn probe(&self, per_s: f64) -> anyhow::Result<RoundResult> {
        let document = document(&mut self.probe_command(per_s)?)?;
        let ms = |address: &str| figure(&document, address).map(|ns| ns / 1e6);
        let per_s = figure(&document, "probe.acked_per_s")?;
        Ok([
            per_s,
            ms("probe.end_to_end.mean")?,
            ms("probe.end_to_end.p50")?,
            ms("probe.end_to_end.p99")?,
            ms("probe.response.p50")?,
            figure(&document, "workers.cpu_us_per_record")? * per_s / 1e4,
        ])
    }
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let broker = StandingCluster::start(bench, "end-to-end")?;
    broker.write_target(&folder.path().join("target.yaml"), |target| Ok(target.to_owned()))?;
    let contest = EndToEndContest { bench, broker: &broker, folder: folder.path() };
    println!("  each: {}", broker.as_typed(&contest.tool_command("TOPIC")));
    println!("  beside: {}", words(&contest.probe_command(LIGHT_PER_S)?));
    let mut figures: [SeriesOf<6>; NAMES.len()] = Default::default();
    let mut tool_per_s = LIGHT_PER_S;
    // A broker that has just started answers late: the first round, which the tool begins, gives its rate alone.
    for round in 0..=bench.options.rounds {
        for turn in 0..NAMES.len() {
            let side = (round + turn) % NAMES.len();
            let reported = match side {
                0 => contest.tool()?,
                1 => contest.probe(tool_per_s)?,
                _ => contest.probe(LIGHT_PER_S)?,
            };
            if side == 0 {
                tool_per_s = reported[0];
            }
            if round > 0 {
                figures[side].push(reported);
            }
        }
    }
    print!("{}", table(&figures));
    let [[_, tool_mean_ms, ..], [_, mean_ms, ..], [.., light_cpu_percent]] =
        figures.each_ref().map(|all| &all.0);
    println!("  mean of the probe ÷ the tool's: {}", mean_ms.over(tool_mean_ms).show(2));
    let mark = if light_cpu_percent.median() > CPU_PERCENT_MAX { " ✗" } else { "" };
    println!(
        "  at 200/s the probe takes {} % of a core{mark}, at most {CPU_PERCENT_MAX}",
        light_cpu_percent.show(2)
    );
    Ok(())
}

fn table(figures: &[SeriesOf<6>; NAMES.len()]) -> TextTable {
    let mut table = TextTable::new(&[
        "end to end",
        "records/s",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "acknowledged p50 ms",
        "% of a core",
    ]);
    for (name, own) in NAMES.iter().zip(figures) {
        table.row(std::iter::once((*name).to_owned()).chain(own.show([0, 3, 3, 3, 3, 2])).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_the_tool_are_read() {
        let said =
            "0\t121.5\n1000\t0.75\nAvg latency: 0.9137 ms\nPercentiles: 50th = 1, 99th = 4, 99.9th = 12\n";
        assert_eq!(parse(said).expect("figures"), (0.9137, 1.0, 4.0));
        assert!(parse("0\t121.5\n").is_err());
    }
}
