//! `end-to-end`: a probe of kdyno compared with Kafka's own `kafka-e2e-latency`, alternated on one idle broker: values
//! of the same size, one partition, `acks=all`. The tool sends a record when it has read the one before; the probe
//! sends at the rate that the tool came to, and at its own default.

use std::process::Command;

use anyhow::Context;
use tempfile::TempDir;

use super::broker::StandingCluster;
use super::load::{BenchTarget, Run, scenario_command};
use super::process::{document, measured, words};
use super::setup::Setup;
use super::stats::{Series, TextTable};

const TOOL: &str = "org.apache.kafka.tools.EndToEndLatency";
const VALUE_BYTES: u32 = 128;
/// A probe's own rate, records/s.
const LIGHT_PER_S: f64 = 200.0;
/// Most that it may take of a core at that, percent.
const CPU_PERCENT_MAX: f64 = 2.5;
const NAMES: [&str; 3] = ["kafka-e2e-latency", "kdyno's probe, as many/s", "kdyno's probe, 200/s"];

/// What one of them says in one round, in the order of [`COLUMNS`].
type Shown = [Option<f64>; COLUMNS.len()];
/// Each with its decimals. Kafka's tool does not time acknowledgements.
const COLUMNS: [(&str, usize); 6] = [
    ("records/s", 0),
    ("mean ms", 3),
    ("p50 ms", 3),
    ("p99 ms", 3),
    ("acknowledged p50 ms", 3),
    ("% of a core", 2),
];
const PER_S: usize = 0;
const MEAN: usize = 1;
const CPU: usize = 5;

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
    target: BenchTarget,
    folder: TempDir,
}

impl EndToEndContest<'_> {
    fn tool_command(&self, topic: &str) -> Command {
        let records = if self.bench.options.quick { "3000" } else { "20000" };
        let mut command = self.broker.kafka_tool(TOOL);
        command.args([self.broker.bootstrap(), topic, records, "all", &VALUE_BYTES.to_string()]);
        command
    }

    fn tool(&self) -> anyhow::Result<Shown> {
        let topic = self.broker.topic("end-to-end", 1, 1)?;
        let finished = measured(&mut self.tool_command(&topic))?;
        self.broker.delete_topic(&topic)?;
        let (mean_ms, p50_ms, p99_ms) = parse(&finished.stdout)?;
        let cpu_percent = 100.0 * finished.cpu_s / finished.wall_s;
        Ok([Some(1e3 / mean_ms), Some(mean_ms), Some(p50_ms), Some(p99_ms), None, Some(cpu_percent)])
    }

    fn probe_command(&self, per_s: f64) -> anyhow::Result<Command> {
        let (warmup, measure) = if self.bench.options.quick { (1, 3) } else { (5, 20) };
        let scenario = format!(
            "kdyno: 1\nid: end-to-end\nquestion: How long from end to end?\n\
             topics: {{probes: {{partitions: 1, replicas: 1}}}}\n\
             load: {{probe: {{end_to_end: probes, rate: {per_s:.0}/s, value: {VALUE_BYTES}B}}}}\n\
             phases: {{warmup: {warmup}s, measure: {measure}s}}\n"
        );
        scenario_command(self.bench, &scenario, &self.target.file, self.folder.path(), &[])
    }

    fn probe(&self, per_s: f64) -> anyhow::Result<Shown> {
        let run = Run(document(&mut self.probe_command(per_s)?)?);
        let ms = |address: &str| run.figure(address).map(|ns| Some(ns / 1e6));
        let per_s = run.figure("probe.acked_per_s")?;
        Ok([
            Some(per_s),
            ms("probe.end_to_end.mean")?,
            ms("probe.end_to_end.p50")?,
            ms("probe.end_to_end.p99")?,
            ms("probe.response.p50")?,
            Some(run.figure("workers.cpu_us_per_record")? * per_s / 1e4),
        ])
    }
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let broker = StandingCluster::start(bench, "end-to-end")?;
    let contest =
        EndToEndContest { bench, broker: &broker, target: broker.target()?, folder: TempDir::new()? };
    println!("  each: {}", broker.as_typed(&contest.tool_command("TOPIC")));
    println!("  beside: {}", words(&contest.probe_command(LIGHT_PER_S)?));
    let mut figures: [[Series; COLUMNS.len()]; NAMES.len()] = Default::default();
    let mut tool_per_s = LIGHT_PER_S;
    // A broker that has just started answers late: the first round, which the tool begins, gives its rate alone.
    for round in 0..=bench.options.rounds {
        for turn in 0..NAMES.len() {
            let side = (round + turn) % NAMES.len();
            let shown = match side {
                0 => contest.tool()?,
                1 => contest.probe(tool_per_s)?,
                _ => contest.probe(LIGHT_PER_S)?,
            };
            if side == 0 {
                tool_per_s = shown[PER_S].unwrap_or(LIGHT_PER_S);
            }
            for (series, value) in figures[side].iter_mut().zip(shown).filter(|_| round > 0) {
                value.into_iter().for_each(|value| series.push(value));
            }
        }
    }
    print!("{}", table(&figures));
    let [tool, alike, light] = &figures;
    println!("  mean of the probe ÷ the tool's: {}", alike[MEAN].over(&tool[MEAN]).show(2));
    let mark = if light[CPU].median() > CPU_PERCENT_MAX { " ✗" } else { "" };
    println!(
        "  at 200/s the probe takes {} % of a core{mark}, at most {CPU_PERCENT_MAX}",
        light[CPU].show(2)
    );
    Ok(())
}

fn table(figures: &[[Series; COLUMNS.len()]; NAMES.len()]) -> TextTable {
    let mut heading = vec!["end to end"];
    heading.extend(COLUMNS.map(|(name, _)| name));
    let mut table = TextTable::new(&heading);
    for (name, own) in NAMES.iter().zip(figures) {
        let shown = own.iter().zip(COLUMNS).map(|(series, (_, decimals))| series.show(decimals));
        table.row(std::iter::once((*name).to_owned()).chain(shown).collect());
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
