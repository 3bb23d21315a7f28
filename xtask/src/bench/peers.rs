//! `peers` and `drop-in`: kdyno's worker and its `producer-perf-test` compared with librdkafka's tool, Kafka's own and a
//! bare replay, on real brokers, alternated: same records, partitions, batch, linger, acks and requests in flight, each on
//! a fresh topic. The replay sends requests built beforehand, as full as they can be, on one connection, which is the most
//! that a client can get acknowledged.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::broker::StandingCluster;
use super::contest::{Contest, Shown};
use super::librdkafka;
use super::load::{BenchLoad, LoadResult};
use super::process::{Finished, measured};
use super::setup::Setup;
use super::stats::Series;

const PARTITIONS: u32 = 6;

/// Time for the brokers to finish what the last client left (deleting its topic's files).
const SETTLE: Duration = Duration::from_secs(2);

/// Long enough for any machine: the number of records ends the load.
const LOAD_SECONDS_MAX: u32 = 600;

/// What a record of 128 B takes in a batch, about.
const RECORD_BYTES: f64 = 136.0;

/// How far average, p50 and p95 of both tools may lie apart at a given rate, ms, plus their rounding.
const APART_MS_MAX: f64 = 1.0;

/// The settings of librdkafka that correspond to `buffer.memory=32 MiB` and five requests in flight, as all others
/// have them. The number of messages must not be the limit.
const ALIKE: [&str; 3] = [
    "queue.buffering.max.kbytes=32768",
    "queue.buffering.max.messages=10000000",
    "max.in.flight.requests.per.connection=5",
];

/// What its own documentation recommends for throughput: all the memory it asks for, its own limit of requests.
const TUNED: [&str; 3] = [
    "queue.buffering.max.kbytes=1048576",
    "queue.buffering.max.messages=10000000",
    "batch.num.messages=100000",
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum PeerClient {
    Kdyno,
    DropIn,
    LibrdkafkaAlike,
    LibrdkafkaTuned,
    Java,
    Replay,
}

use PeerClient::{DropIn, Java, Kdyno, LibrdkafkaAlike, LibrdkafkaTuned, Replay};

impl PeerClient {
    fn name(self) -> &'static str {
        match self {
            Kdyno => "kdyno, unique payloads",
            DropIn => "kdyno producer-perf-test",
            LibrdkafkaAlike => "librdkafka, limits as kdyno's",
            LibrdkafkaTuned => "librdkafka, tuned",
            Java => "Kafka ProducerPerformance",
            Replay => "bare replay of built requests",
        }
    }
}

/// The task of all clients of one table.
struct PeerTerms {
    name: &'static str,
    brokers: u32,
    acks: &'static str,
    batch_bytes: u32,
    /// Settings of Kafka's tool and of the drop-in for it.
    properties: &'static [&'static str],
    throughput: &'static str,
    record_bytes: u32,
    /// The number for all: each is busy for seconds even where it is fastest.
    records: u64,
    /// So many of these are left out of what both tools report: starting Java, connecting and the first metadata are in the
    /// time of Kafka's. 0: what one record takes is left out.
    warmup_records: u64,
    /// Rounds before the first one that counts: brokers that have just started run code that is not compiled yet, three
    /// of them on shared processors for longer than one.
    unmeasured: usize,
    /// Kdyno first, and how many times each client's rate its own must be at least.
    clients: &'static [(PeerClient, f64)],
    /// So many of these begin in turn.
    group: usize,
}

const ONE_BROKER: PeerTerms = PeerTerms {
    name: "one broker, acks=1",
    brokers: 1,
    acks: "1",
    batch_bytes: 112_000,
    properties: &["acks=1", "linger.ms=5", "batch.size=112000"],
    throughput: "-1",
    record_bytes: 128,
    records: 20_000_000,
    warmup_records: 0,
    unmeasured: 1,
    clients: &[(Kdyno, 0.0), (LibrdkafkaAlike, 1.2), (LibrdkafkaTuned, 0.0), (Java, 2.2), (Replay, 0.95)],
    group: 5,
};

static PEERS: [PeerTerms; 2] = [
    ONE_BROKER,
    PeerTerms {
        name: "three brokers, replication factor 3, acks=all",
        brokers: 3,
        acks: "-1",
        properties: &["acks=-1", "linger.ms=5", "batch.size=112000"],
        records: 3_000_000,
        unmeasured: 2,
        clients: &[(Kdyno, 0.0), (LibrdkafkaAlike, 1.5), (LibrdkafkaTuned, 0.0), (Java, 0.0), (Replay, 0.95)],
        ..ONE_BROKER
    },
];

static DROP_INS: [PeerTerms; 3] = [
    PeerTerms {
        name: "128 B, batch.size=112000 linger.ms=5, steady",
        records: 8_000_000,
        warmup_records: 2_000_000,
        clients: &[(DropIn, 0.0), (Java, 2.2), (Replay, 0.0)],
        group: 2,
        ..ONE_BROKER
    },
    PeerTerms {
        name: "128 B, defaults, steady",
        acks: "-1",
        batch_bytes: 16_384,
        properties: &[],
        records: 4_000_000,
        warmup_records: 1_000_000,
        clients: &[(DropIn, 0.0), (Java, 3.0), (Replay, 0.0)],
        group: 2,
        ..ONE_BROKER
    },
    PeerTerms {
        name: "1 KiB at 20 000/s, steady",
        properties: &["acks=1"],
        throughput: "20000",
        record_bytes: 1024,
        records: 400_000,
        // Ten seconds: a Java process that has just started answers late.
        warmup_records: 200_000,
        clients: &[(DropIn, 0.0), (Java, 0.0)],
        group: 2,
        ..ONE_BROKER
    },
];

/// Latencies and the share are of both tools, on their own lines.
static FIGURES: [(&str, Shown); 10] = [
    ("records/s", Shown::Median),
    ("lowest–highest", Shown::Range),
    ("kdyno ÷ it", Shown::FirstJudged(2)),
    ("records/batch", Shown::Median),
    ("client µs/record", Shown::Spread(3)),
    ("brokers' µs/record", Shown::Spread(3)),
    ("average ms", Shown::Spread(2)),
    ("p50 ms", Shown::Spread(0)),
    ("p95 ms", Shown::Spread(0)),
    ("share of processors, whole run", Shown::Spread(2)),
];

/// Where the first latency is.
const AVERAGE: usize = 6;

/// What one client's run showed.
struct Shot {
    /// By its own clock, and the records of these seconds.
    seconds: f64,
    records: f64,
    /// Average, p50 and p95 of both tools.
    latencies_ms: [f64; 3],
    process: Finished,
}

/// Where the clients send, and their task.
struct Peers<'a> {
    bench: &'a Setup,
    broker: &'a StandingCluster,
    terms: &'static PeerTerms,
    librdkafka: Option<PathBuf>,
    records: u64,
    warmup_records: u64,
    /// Record batches in a request of kdyno's last run, for the replay.
    batches_per_request: Cell<u32>,
    /// For run files of the drop-in.
    folder: TempDir,
}

/// The benchmark `peers`.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let librdkafka = librdkafka::program(bench);
    let librdkafka = librdkafka.map_err(|error| println!("  librdkafka could not be built: {error:#}")).ok();
    for terms in &PEERS {
        let broker = StandingCluster::start(bench, "peers", terms.brokers)?;
        Peers::new(bench, &broker, terms, librdkafka.clone())?.run()?;
    }
    println!(
        "  records per batch are counted in the log. Every clock runs from the first send to the last \
         acknowledgement: of the peers' own time, what one record takes is subtracted (connecting, metadata).\n  \
         What each does besides sending: kdyno builds every record and records eight histograms; rdkafka_performance \
         copies one payload and counts callbacks; ProducerPerformance draws a payload and keeps latencies of a sample; \
         the replay nothing."
    );
    Ok(())
}

/// The benchmark `drop-in`.
pub fn drop_in(bench: &Setup) -> anyhow::Result<()> {
    let broker = StandingCluster::start(bench, "drop-in", 1)?;
    for terms in &DROP_INS {
        let figures = Peers::new(bench, &broker, terms, None)?.run()?;
        let (own, theirs) = (&figures[0], &figures[1]);
        if let Some(replay) = figures.get(2) {
            println!("  records/s of the bare replay ÷ Kafka's: {}", replay[0].over(&theirs[0]).show(2));
        } else if !bench.options.quick {
            judge_latencies(&own[AVERAGE..], &theirs[AVERAGE..]);
        }
    }
    Ok(())
}

fn judge_latencies(own: &[Series], theirs: &[Series]) {
    let rounded = [("average", 0.0), ("p50", 1.0), ("p95", 1.0)];
    for ((name, rounding_ms), (own, theirs)) in rounded.into_iter().zip(own.iter().zip(theirs)) {
        let apart_ms = (own.median() - theirs.median()).abs();
        let mark = if apart_ms > APART_MS_MAX + rounding_ms { " ✗" } else { "" };
        println!("  {name}: {apart_ms:.2} ms apart{mark}, at most {APART_MS_MAX} and the rounding");
    }
}

/// Measures any program on a real broker of `bench`, each time on a fresh topic: records/s, µs of CPU per record of the
/// client and of the broker.
pub fn of_program(bench: &Setup) -> anyhow::Result<impl FnMut(&Setup) -> anyhow::Result<Vec<f64>>> {
    let broker = StandingCluster::start(bench, "peers", 1)?;
    let measure = move |side: &Setup, topic: &str| {
        let figures = Peers::new(bench, &broker, &PEERS[0], None)?.shot(Kdyno, side, topic)?;
        anyhow::Ok(vec![figures[0], figures[4], figures[5]])
    };
    // The first client meets a broker whose code is not compiled yet.
    measure(bench, "bench-unmeasured")?;
    let mut shots = 0;
    Ok(move |side: &Setup| -> anyhow::Result<Vec<f64>> {
        shots += 1;
        measure(side, &format!("bench-{shots}"))
    })
}

impl<'a> Peers<'a> {
    fn new(
        bench: &'a Setup,
        broker: &'a StandingCluster,
        terms: &'static PeerTerms,
        librdkafka: Option<PathBuf>,
    ) -> anyhow::Result<Peers<'a>> {
        let part = if bench.options.quick { 10 } else { 1 };
        Ok(Peers {
            bench,
            broker,
            terms,
            librdkafka,
            records: terms.records / part,
            warmup_records: terms.warmup_records / part,
            batches_per_request: Cell::new(PARTITIONS / terms.brokers),
            folder: TempDir::new()?,
        })
    }

    /// All clients in turn, round after round. One that fails is out.
    fn run(&self) -> anyhow::Result<Vec<Vec<Series>>> {
        println!("\n  {}, {PARTITIONS} partitions", self.terms.name);
        let is_librdkafka = |client| [LibrdkafkaAlike, LibrdkafkaTuned].contains(&client);
        let mut clients = self.terms.clients.to_vec();
        clients.retain(|(client, _)| self.librdkafka.is_some() || !is_librdkafka(*client));
        for (client, _) in &clients {
            let command = self.command(*client, self.bench, "TOPIC", self.records);
            println!("  {}", self.broker.as_typed(&command));
        }
        let least = |least: f64| if self.bench.options.quick { 0.0 } else { least };
        let side =
            |(client, goal): &(PeerClient, f64)| (client.name().to_owned(), least(*goal)..=f64::INFINITY);
        let contest = Contest {
            heading: "client",
            sides: clients.iter().map(side).collect(),
            figures: if self.terms.warmup_records > 0 { &FIGURES } else { &FIGURES[..AVERAGE] },
            group: self.terms.group.min(clients.len()),
            unmeasured: self.terms.unmeasured,
        };
        let mut out = vec![false; clients.len()];
        let figures = contest.run(&self.bench.options, |side, round| {
            let client = clients[side].0;
            if out[side] {
                return Ok(Vec::new());
            }
            let topic = format!("bench-{}-{client:?}-{round}", self.terms.records).to_lowercase();
            Ok(self.shot(client, self.bench, &topic).unwrap_or_else(|error| {
                println!("  {} is out: {error:#}", client.name());
                out[side] = true;
                Vec::new()
            }))
        })?;
        if self.bench.options.quick {
            println!("  a tenth of the records: no judgement");
        }
        for (client, least) in clients.iter().filter(|(_, least)| *least > 0.0) {
            println!("  kdyno at least {least} × {}", client.name());
        }
        ensure!(!out[0], "kdyno itself did not finish");
        Ok(figures)
    }

    /// One client, kdyno that of `side`, on a topic of this name: a value for each of [`FIGURES`].
    fn shot(&self, client: PeerClient, side: &Setup, topic: &str) -> anyhow::Result<Vec<f64>> {
        let topic = self.broker.topic(topic, PARTITIONS, self.terms.brokers)?;
        sleep(SETTLE);
        // Connecting and metadata, which a peer's clock counts and kdyno's does not.
        let is_left_out = self.terms.warmup_records > 0 || [Kdyno, Replay].contains(&client);
        let one_record_s = if is_left_out { 0.0 } else { self.send(client, side, &topic, 1)?.seconds };
        let before = self.broker.cpu_s()?;
        let Shot { seconds, records, latencies_ms, process } =
            self.send(client, side, &topic, self.records)?;
        let broker_cpu_s = self.broker.cpu_s()? - before;
        let batch = self.broker.records_per_batch_behind(0.0, &topic)?;
        self.broker.delete_topic(&topic)?;
        sleep(SETTLE);
        let per_s = records / (seconds - one_record_s);
        let us = |cpu_s: f64| cpu_s * 1e6 / self.records as f64;
        let [average_ms, p50_ms, p95_ms] = latencies_ms;
        let processors = std::thread::available_parallelism()?.get() as f64;
        let busy = (process.cpu_s + broker_cpu_s) / process.wall_s / processors;
        let costs_us = (us(process.cpu_s), us(broker_cpu_s));
        Ok(vec![per_s, per_s, per_s, batch, costs_us.0, costs_us.1, average_ms, p50_ms, p95_ms, busy])
    }

    fn send(&self, client: PeerClient, side: &Setup, topic: &str, records: u64) -> anyhow::Result<Shot> {
        let process = measured(&mut self.command(client, side, topic, records))?;
        let (mut sent, mut latencies_ms) = (records as f64, [f64::NAN; 3]);
        let seconds = match client {
            Java | DropIn => {
                let counted = records - self.warmup_records;
                sent = counted as f64;
                let [per_s, latencies @ ..] = total(&process.stdout, counted)?;
                latencies_ms = latencies;
                sent / per_s
            }
            LibrdkafkaAlike | LibrdkafkaTuned => librdkafka::reported_s(&process.stdout)?,
            Kdyno | Replay => {
                let outcome = LoadResult::parse(&process.stdout)?;
                let acknowledged = outcome.number("acknowledged")?;
                if client == Kdyno {
                    ensure!((acknowledged - sent).abs() < 0.5, "{acknowledged} of {records} records");
                    self.batches_per_request.set(batches_per_request(&outcome)?);
                }
                sent = acknowledged;
                sent / outcome.number("acked_per_s")?
            }
        };
        Ok(Shot { seconds, records: sent, latencies_ms, process })
    }

    /// Kdyno, that of `side`, and the replay always send all records.
    fn command(&self, client: PeerClient, side: &Setup, topic: &str, records: u64) -> Command {
        let PeerTerms { acks, batch_bytes, record_bytes, throughput, properties, .. } = *self.terms;
        let (bootstrap, count) = (self.broker.bootstrap(), records.to_string());
        let load = BenchLoad {
            value_bytes: record_bytes,
            unique: true,
            batch_bytes,
            records: Some(self.records),
            acks,
            ..BenchLoad::at_max(bootstrap, topic, LOAD_SECONDS_MAX)
        };
        let settings = match client {
            Kdyno => return load.command(side),
            Replay => return load.replay(self.bench, self.batches_per_request.get()),
            DropIn | Java => {
                let own = (client == DropIn).then_some(self.folder.path());
                let mut command = self.broker.producer_tool(own);
                command.args(["--topic", topic, "--num-records", &count]);
                command.args(["--record-size", &record_bytes.to_string(), "--throughput", throughput]);
                command.args(["--bootstrap-server", bootstrap]);
                command.args(["--warmup-records", &self.warmup_records.to_string()]);
                if !properties.is_empty() {
                    command.arg("--command-property").args(properties);
                }
                return command;
            }
            LibrdkafkaAlike => ALIKE,
            LibrdkafkaTuned => TUNED,
        };
        let mut command = Command::new(self.librdkafka.as_deref().unwrap_or("rdkafka_performance".as_ref()));
        command.args(["-P", "-t", topic, "-b", bootstrap, "-s", "128", "-a", acks, "-c", &count]);
        command.args(["-X", "linger.ms=5", "-X", "batch.size=112000"]);
        command.args(settings.into_iter().flat_map(|setting| ["-X", setting]));
        command
    }
}

/// Records/s, average, p50 and p95 in ms of the last line that Kafka's tool or the drop-in for it prints; fails where that
/// is of another number of records.
fn total(stdout: &str, wanted: u64) -> anyhow::Result<[f64; 4]> {
    let line = stdout.lines().rfind(|line| line.contains(" 99.9th")).context("no total line")?;
    let records = line.split(' ').next().unwrap_or_default();
    ensure!(records == wanted.to_string(), "{records} of {wanted} records were sent");
    let before = |unit: &str| {
        let text = line.split(unit).next().unwrap_or_default();
        let number = text.rsplit([' ', '(']).next().unwrap_or_default();
        number.parse::<f64>().with_context(|| format!("nothing before `{unit}` in: {line}"))
    };
    Ok([before(" records/sec")?, before(" ms avg")?, before(" ms 50th")?, before(" ms 95th")?])
}

/// Record batches in a request, from the mean size of both; at least 1, at most one for each partition.
fn batches_per_request(outcome: &LoadResult) -> anyhow::Result<u32> {
    let batch_bytes = outcome.number("records_per_batch")? * RECORD_BYTES;
    let batches = (outcome.number("bytes_per_request")? / batch_bytes).round();
    // Bounded just before.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(batches.clamp(1.0, f64::from(PARTITIONS)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_request_follow_from_the_mean_sizes() {
        let outcome = |bytes: f64| {
            let text = format!(
                r#"{{"acknowledged": 1, "seconds": 1, "acked_per_s": 1, "records_per_batch": 800, "bytes_per_request": {bytes}}}"#
            );
            LoadResult::parse(&text).expect("an outcome")
        };
        let of = |bytes| batches_per_request(&outcome(bytes)).expect("a number");
        assert_eq!((of(108_900.0), of(3.2 * 108_800.0), of(10.0), of(1e9)), (1, 3, 1, 6));
    }

    #[test]
    fn the_last_line_of_either_tool_is_read() {
        let line = "1000 records sent, 512.500000 records/sec (0.06 MB/sec), 1.25 ms avg latency, 2.00 ms max \
                    latency, 1 ms 50th, 3 ms 95th, 4 ms 99th, 5 ms 99.9th.\n";
        let read = total(&format!("10 records sent, 1.0 records/sec\n{line}"), 1000).expect("figures");
        assert_eq!(read, [512.5, 1.25, 1.0, 3.0]);
        assert!(total(line, 2000).is_err_and(|error| error.to_string().contains("1000 of 2000")));
        assert!(total("10 records sent, 1.0 records/sec (1.0 MB/sec)\n", 10).is_err());
    }

    #[test]
    fn kdyno_comes_first_and_both_tools_of_a_drop_in_take_turns() {
        for terms in PEERS.iter().chain(&DROP_INS) {
            assert!([Kdyno, DropIn].contains(&terms.clients[0].0), "{}", terms.name);
            assert!(
                terms.warmup_records < terms.records && terms.group <= terms.clients.len(),
                "{}",
                terms.name
            );
        }
        assert!(DROP_INS.iter().all(|terms| terms.clients[1].0 == Java && terms.group == 2));
    }
}
