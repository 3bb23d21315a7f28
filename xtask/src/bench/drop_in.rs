//! `drop-in`: `kdyno producer-perf-test` compared with Kafka's own tool: the same flags, one real broker, alternated,
//! each on a fresh topic. Figures are those of the tools' last lines. Where no rate is given a bare replay is compared
//! with both: requests built beforehand, as full as they can be, on one connection, which is the most that a client can
//! get acknowledged.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::broker::StandingCluster;
use super::contest::{Contest, Shown, UNBOUNDED};
use super::load::{BenchLoad, LoadResult};
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::Series;

const PARTITIONS: u32 = 6;

/// The flags of both.
struct DropInTerms {
    name: &'static str,
    records: u64,
    /// So many of these are left out of the figures, which are those of the line `steady state`.
    warmup_records: u64,
    record_bytes: u32,
    throughput: &'static str,
    properties: &'static [&'static str],
    /// Where no rate is given.
    unthrottled: Option<Unthrottled>,
}

impl DropInTerms {
    /// How many records are requested, and how many of these are warm-up.
    fn records(&self, bench: &Setup) -> (u64, u64) {
        let part = if bench.options.quick { 10 } else { 1 };
        (self.records / part, self.warmup_records / part)
    }
}

struct Unthrottled {
    /// How many times the tool's records/s kdyno's must be at least.
    least: f64,
    /// `batch.size` and `acks` of the replay: those that are in force for the tools.
    batch_bytes: u32,
    acks: &'static str,
}

const TERMS: [DropInTerms; 3] = [
    DropInTerms {
        name: "128 B, batch.size=112000 linger.ms=5, steady",
        records: 8_000_000,
        // Starting Java, connecting and the first metadata are in the tool's time, and not in ours.
        warmup_records: 2_000_000,
        record_bytes: 128,
        throughput: "-1",
        properties: &["acks=1", "batch.size=112000", "linger.ms=5"],
        unthrottled: Some(Unthrottled { least: 2.2, batch_bytes: 112_000, acks: "1" }),
    },
    DropInTerms {
        name: "128 B, defaults, steady",
        records: 4_000_000,
        warmup_records: 1_000_000,
        record_bytes: 128,
        throughput: "-1",
        properties: &[],
        unthrottled: Some(Unthrottled { least: 3.0, batch_bytes: 16_384, acks: "-1" }),
    },
    DropInTerms {
        name: "1 KiB at 20 000/s, steady",
        records: 400_000,
        // Ten seconds: a Java process that has just started answers late.
        warmup_records: 200_000,
        record_bytes: 1024,
        throughput: "20000",
        properties: &["acks=1"],
        unthrottled: None,
    },
];

/// How far average, p50 and p95 may lie apart at a given rate, ms, plus the tool's rounding.
const APART_MS_MAX: f64 = 1.0;

/// The figures of a tool's last line.
pub struct Total {
    /// Records per second.
    pub per_s: f64,
    average_ms: f64,
    p50_ms: f64,
    p95_ms: f64,
}

impl Total {
    /// From what Kafka's tool or kdyno's drop-in for it printed; fails where the line is of another number of records.
    pub fn parse(stdout: &str, wanted: u64) -> anyhow::Result<Total> {
        let line = stdout.lines().rfind(|line| line.contains(" 99.9th")).context("no total line")?;
        let before = |unit: &str| {
            let text = line.split(unit).next().unwrap_or_default();
            let number = text.rsplit([' ', '(']).next().unwrap_or_default();
            number.parse::<f64>().with_context(|| format!("nothing before `{unit}` in: {line}"))
        };
        let records = line.split(' ').next().unwrap_or_default();
        ensure!(records == wanted.to_string(), "{records} of {wanted} records were sent");
        Ok(Total {
            per_s: before(" records/sec")?,
            average_ms: before(" ms avg")?,
            p50_ms: before(" ms 50th")?,
            p95_ms: before(" ms 95th")?,
        })
    }
}

/// Both tools, and the replay where no rate is given.
struct DropIn<'a> {
    bench: &'a Setup,
    broker: &'a StandingCluster,
    folder: &'a Path,
    terms: &'a DropInTerms,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let broker = StandingCluster::start(bench, "drop-in")?;
    let folder = tempfile::tempdir()?;
    for terms in &TERMS {
        DropIn { bench, broker: &broker, folder: folder.path(), terms }.run()?;
    }
    Ok(())
}

impl DropIn<'_> {
    fn run(&self) -> anyhow::Result<()> {
        println!("\n  {}: {}", self.terms.name, words(&self.command(0, "TOPIC")));
        let is_judged = !self.bench.options.quick;
        let least = self.terms.unthrottled.as_ref().filter(|_| is_judged).map_or(0.0, |terms| terms.least);
        let mut sides = vec![
            ("kdyno producer-perf-test".to_owned(), UNBOUNDED),
            ("kafka-producer-perf-test".to_owned(), least..=f64::INFINITY),
        ];
        if self.terms.unthrottled.is_some() {
            sides.push(("bare replay, whole run".to_owned(), UNBOUNDED));
        }
        let contest = Contest {
            heading: "tool",
            sides,
            figures: &[
                ("records/s", Shown::Spread(0)),
                ("kdyno ÷ it", Shown::FirstJudged(2)),
                ("average ms", Shown::Spread(2)),
                ("p50 ms", Shown::Spread(0)),
                ("p95 ms", Shown::Spread(0)),
                ("µs CPU per record, tool", Shown::Spread(2)),
                ("µs CPU per record, broker", Shown::Spread(2)),
                ("share of processors, whole run", Shown::Spread(2)),
            ],
            // The tools are compared with each other, the replay comes after both.
            group: 2,
            // A broker that has just started carries less.
            unmeasured: 1,
        };
        let figures = contest.run(&self.bench.options, |side, round| {
            let name = format!("drop-in-{}-{side}-{round}", self.terms.record_bytes);
            let topic = self.broker.topic(&name, PARTITIONS, 1)?;
            let figures = self.measure(side, &topic)?;
            self.broker.delete_topic(&topic)?;
            Ok(figures)
        })?;
        match (&self.terms.unthrottled, is_judged) {
            (_, false) => println!("  a tenth of the records: no judgement"),
            (Some(Unthrottled { least, .. }), true) => {
                println!("  records/s of kdyno at least {least} × Kafka's");
                let ratio = figures[2][0].over(&figures[1][0]);
                println!("  records/s of the bare replay ÷ Kafka's: {}", ratio.show(2));
            }
            (None, true) => judge_latencies(&figures[0][2..], &figures[1][2..]),
        }
        Ok(())
    }

    /// Kdyno's tool (0), Kafka's (1) or the bare replay (2).
    fn command(&self, side: usize, topic: &str) -> Command {
        let DropInTerms { record_bytes, throughput, properties, .. } = self.terms;
        let (records, warmup) = self.terms.records(self.bench);
        let mut command = match (side, &self.terms.unthrottled) {
            (0, _) => Command::new(&self.bench.kdyno),
            (2, Some(Unthrottled { batch_bytes, acks, .. })) => {
                let load = BenchLoad {
                    value_bytes: *record_bytes,
                    batch_bytes: *batch_bytes,
                    records: Some(records),
                    acks: *acks,
                    ..BenchLoad::at_max(self.broker.bootstrap(), topic, 0)
                };
                return load.replay(self.bench, PARTITIONS);
            }
            _ => self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance"),
        };
        if side == 0 {
            command.current_dir(self.folder).arg("producer-perf-test");
        }
        command.args(["--topic", topic, "--num-records", &records.to_string()]);
        command.args(["--record-size", &record_bytes.to_string(), "--throughput", throughput]);
        command.args(["--bootstrap-server", self.broker.bootstrap()]);
        command.args(["--warmup-records", &warmup.to_string()]);
        if !properties.is_empty() {
            command.arg("--command-property").args(*properties);
        }
        command
    }

    /// A figure for each heading; of the replay its rate alone.
    fn measure(&self, side: usize, topic: &str) -> anyhow::Result<Vec<f64>> {
        let broker_cpu_s = self.broker.cpu_s()?;
        let finished = measured(&mut self.command(side, topic))?;
        if side == 2 {
            let per_s = LoadResult::parse(&finished.stdout)?.number("acked_per_s")?;
            return Ok(vec![per_s, per_s]);
        }
        let broker_cpu_s = self.broker.cpu_s()? - broker_cpu_s;
        let (records, warmup) = self.terms.records(self.bench);
        let Total { per_s, average_ms, p50_ms, p95_ms } = Total::parse(&finished.stdout, records - warmup)?;
        let us = |cpu_s: f64| cpu_s * 1e6 / records as f64;
        let processors = std::thread::available_parallelism()?.get() as f64;
        let busy = (finished.cpu_s + broker_cpu_s) / finished.wall_s / processors;
        Ok(vec![per_s, per_s, average_ms, p50_ms, p95_ms, us(finished.cpu_s), us(broker_cpu_s), busy])
    }
}

fn judge_latencies(own: &[Series], theirs: &[Series]) {
    let rounded = [("average", 0.0), ("p50", 1.0), ("p95", 1.0)];
    for ((name, rounding_ms), (own, theirs)) in rounded.into_iter().zip(own.iter().zip(theirs)) {
        let apart_ms = (own.median() - theirs.median()).abs();
        let mark = if apart_ms > APART_MS_MAX + rounding_ms { " ✗" } else { "" };
        println!("  {name}: {apart_ms:.2} ms apart{mark}, at most {APART_MS_MAX} and the rounding");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_either_tool_is_read() {
        let total = "1000 records sent, 512.500000 records/sec (0.06 MB/sec), 1.25 ms avg latency, 2.00 ms max \
                     latency, 1 ms 50th, 3 ms 95th, 4 ms 99th, 5 ms 99.9th.\n";
        let read =
            Total::parse(&format!("10 records sent, 1.0 records/sec\n{total}"), 1000).expect("figures");
        assert_eq!((read.per_s, read.average_ms, read.p50_ms, read.p95_ms), (512.5, 1.25, 1.0, 3.0));
        assert!(Total::parse(total, 2000).is_err_and(|error| error.to_string().contains("1000 of 2000")));
        assert!(Total::parse("10 records sent, 1.0 records/sec (1.0 MB/sec)\n", 10).is_err());
    }
}
