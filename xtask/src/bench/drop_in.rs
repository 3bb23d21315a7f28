//! `drop-in`: `kdyno producer-perf-test` compared with Kafka's own tool: the same flags, one real broker, alternated,
//! each on a fresh topic. Figures are those of the tools' last lines. Where no rate is given a bare replay is compared
//! with both: requests built beforehand, as full as they can be, on one connection, which is the most that a client can
//! get acknowledged.

use std::process::Command;

use anyhow::{Context, ensure};

use super::broker::StandingCluster;
use super::load::{BenchLoad, LoadResult};
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, SeriesOf, TextTable};

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

/// The figures of one tool over the rounds: records/s, ms on average, p50, p95, µs of CPU per record of the tool and of the
/// broker, share of all processors that both had together.
type DropInSeries = SeriesOf<7>;

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let broker = StandingCluster::start(bench, "drop-in")?;
    for terms in &TERMS {
        contest(bench, &broker, terms)?;
    }
    Ok(())
}

fn contest(bench: &Setup, broker: &StandingCluster, terms: &DropInTerms) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let own = || {
        let mut command = Command::new(&bench.kdyno);
        command.current_dir(folder.path()).arg("producer-perf-test");
        command
    };
    let theirs = || broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
    let mut typed = own();
    flags(&mut typed, bench, broker, terms, "TOPIC");
    println!("\n  {}: {}", terms.name, words(&typed));
    let (mut kdyno, mut kafka, mut replayed) =
        (DropInSeries::default(), DropInSeries::default(), Series::default());
    let processors = std::thread::available_parallelism()?.get() as f64;
    // A broker that has just started carries less: the first round is not counted.
    for round in 0..=bench.options.rounds {
        for turn in 0..2 {
            let is_own = (round + turn) % 2 == 0;
            let topic =
                broker.topic(&format!("drop-in-{}-{round}-{turn}", terms.record_bytes), PARTITIONS, 1)?;
            let mut command = if is_own { own() } else { theirs() };
            let (records, steady) = flags(&mut command, bench, broker, terms, &topic);
            let broker_cpu_s = broker.cpu_s()?;
            let finished = measured(&mut command)?;
            let broker_cpu_s = broker.cpu_s()? - broker_cpu_s;
            broker.delete_topic(&topic)?;
            let Total { per_s, average_ms, p50_ms, p95_ms } = Total::parse(&finished.stdout, steady)?;
            let us = |cpu_s: f64| cpu_s * 1e6 / records as f64;
            let busy = (finished.cpu_s + broker_cpu_s) / finished.wall_s / processors;
            if round > 0 {
                let figures = if is_own { &mut kdyno } else { &mut kafka };
                let cpu_us = (us(finished.cpu_s), us(broker_cpu_s));
                figures.push([per_s, average_ms, p50_ms, p95_ms, cpu_us.0, cpu_us.1, busy]);
            }
        }
        if let Some(unthrottled) = &terms.unthrottled {
            let per_s = replay(bench, broker, terms, unthrottled, round)?;
            if round > 0 {
                replayed.push(per_s);
            }
        }
    }
    print!("{}", table(&kdyno, &kafka, &replayed));
    if bench.options.quick {
        println!("  a tenth of the records: no judgement");
    } else {
        judge(terms, &kdyno, &kafka, &replayed);
    }
    Ok(())
}

/// The flags, the same for both; how many records they ask for, and of these behind the warm-up.
fn flags(
    command: &mut Command,
    bench: &Setup,
    broker: &StandingCluster,
    terms: &DropInTerms,
    topic: &str,
) -> (u64, u64) {
    let (records, warmup) = terms.records(bench);
    command.args(["--topic", topic, "--num-records", &records.to_string()]);
    command.args(["--record-size", &terms.record_bytes.to_string(), "--throughput", terms.throughput]);
    command.args(["--bootstrap-server", broker.bootstrap()]);
    command.args(["--warmup-records", &warmup.to_string()]);
    if !terms.properties.is_empty() {
        command.arg("--command-property").args(terms.properties);
    }
    (records, records - warmup)
}

/// Records/s that a bare replay gets acknowledged: in each request a batch for each partition, five of them in flight.
fn replay(
    bench: &Setup,
    broker: &StandingCluster,
    terms: &DropInTerms,
    unthrottled: &Unthrottled,
    round: usize,
) -> anyhow::Result<f64> {
    let topic =
        broker.topic(&format!("drop-in-replay-{}-{round}", unthrottled.batch_bytes), PARTITIONS, 1)?;
    let load = BenchLoad {
        value_bytes: terms.record_bytes,
        batch_bytes: unthrottled.batch_bytes,
        records: Some(terms.records(bench).0),
        acks: unthrottled.acks,
        ..BenchLoad::at_max(broker.bootstrap(), &topic, 0)
    };
    let finished = measured(&mut load.replay(bench, PARTITIONS))?;
    broker.delete_topic(&topic)?;
    LoadResult::parse(&finished.stdout)?.number("acked_per_s")
}

fn table(kdyno: &DropInSeries, kafka: &DropInSeries, replayed: &Series) -> TextTable {
    let mut table = TextTable::new(&[
        "tool",
        "records/s",
        "average ms",
        "p50 ms",
        "p95 ms",
        "µs CPU per record, tool",
        "µs CPU per record, broker",
        "share of processors, whole run",
    ]);
    for (name, figures) in [("kdyno producer-perf-test", kdyno), ("kafka-producer-perf-test", kafka)] {
        table.row(std::iter::once(name.to_owned()).chain(figures.show([0, 2, 0, 0, 2, 2, 2])).collect());
    }
    if !replayed.is_empty() {
        let mut row = vec![String::new(); 8];
        (row[0], row[1]) = ("bare replay, whole run".to_owned(), replayed.show(0));
        table.row(row);
    }
    table
}

fn judge(terms: &DropInTerms, kdyno: &DropInSeries, kafka: &DropInSeries, replayed: &Series) {
    let [own_per_s, own_average, own_p50, own_p95, ..] = &kdyno.0;
    let [their_per_s, their_average, their_p50, their_p95, ..] = &kafka.0;
    if let Some(Unthrottled { least, .. }) = terms.unthrottled {
        let ratio = own_per_s.over(their_per_s);
        let mark = if ratio.median() < least { " ✗" } else { "" };
        println!("  records/s of kdyno ÷ Kafka's: {}{mark}, at least {least}", ratio.show(2));
        println!("  records/s of kdyno ÷ bare replay's: {}", own_per_s.over(replayed).show(2));
        println!("  records/s of the bare replay ÷ Kafka's: {}", replayed.over(their_per_s).show(2));
        return;
    }
    for (name, own, theirs, rounding_ms) in [
        ("average", own_average, their_average, 0.0),
        ("p50", own_p50, their_p50, 1.0),
        ("p95", own_p95, their_p95, 1.0),
    ] {
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
