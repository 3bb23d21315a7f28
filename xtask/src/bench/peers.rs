//! `peers`: kdyno compared with librdkafka's tool, Kafka's own and a bare replay, on real brokers, alternated: same
//! records, partitions, batch, linger, acks and requests in flight, each on a fresh topic.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::ensure;

use super::broker::StandingCluster;
use super::contest::{Contest, Shown};
use super::drop_in::Total;
use super::librdkafka;
use super::load::{BenchLoad, LoadResult};
use super::process::measured;
use super::setup::Setup;

const PARTITIONS: u32 = 6;

/// Time for the brokers to finish what the last client left (deleting its topic's files).
const SETTLE: Duration = Duration::from_secs(2);

/// Long enough for any machine: the number of records ends the load.
const LOAD_SECONDS_MAX: u32 = 600;

const LINGER_MS: u32 = 5;

/// What a record of 128 B takes in a batch, about.
const RECORD_BYTES: f64 = 136.0;

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
    LibrdkafkaAlike,
    LibrdkafkaTuned,
    Java,
    Replay,
}

const CLIENTS: [(PeerClient, &str); 5] = [
    (PeerClient::Kdyno, "kdyno, unique payloads"),
    (PeerClient::LibrdkafkaAlike, "librdkafka, limits as kdyno's"),
    (PeerClient::LibrdkafkaTuned, "librdkafka, tuned"),
    (PeerClient::Java, "Kafka ProducerPerformance"),
    (PeerClient::Replay, "bare replay of built requests"),
];

/// The task of all clients of one table.
struct PeerTerms {
    name: &'static str,
    brokers: u32,
    acks: &'static str,
    /// The number for all: each is busy for seconds even where it is fastest.
    records: u64,
    /// Rounds before the first one that counts: brokers that have just started run code that is not compiled yet, three
    /// of them on shared processors for longer than one.
    unmeasured: usize,
    /// How many times each client's rate kdyno's must be at least.
    least: [f64; CLIENTS.len()],
}

static TERMS: [PeerTerms; 2] = [
    PeerTerms {
        name: "one broker, acks=1",
        brokers: 1,
        acks: "1",
        records: 20_000_000,
        unmeasured: 1,
        least: [0.0, 1.2, 0.0, 2.2, 0.95],
    },
    PeerTerms {
        name: "three brokers, replication factor 3, acks=all",
        brokers: 3,
        acks: "-1",
        records: 3_000_000,
        unmeasured: 2,
        least: [0.0, 1.5, 0.0, 0.0, 0.95],
    },
];

/// Where the clients send, and their task.
struct Peers<'a> {
    bench: &'a Setup,
    terms: &'static PeerTerms,
    broker: StandingCluster,
    librdkafka: Option<PathBuf>,
    records: u64,
    /// Record batches in a request of kdyno's last run, for the replay.
    batches_per_request: Cell<u32>,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let librdkafka = librdkafka::program(bench);
    let librdkafka = librdkafka.map_err(|error| println!("  librdkafka could not be built: {error:#}")).ok();
    for terms in &TERMS {
        println!("\n  {}, {PARTITIONS} partitions", terms.name);
        Peers::start(bench, terms, librdkafka.clone())?.run()?;
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

/// Measures any program on a real broker of `bench`, each time on a fresh topic: records/s, µs of CPU per record of the
/// client and of the broker.
pub fn of_program(bench: &Setup) -> anyhow::Result<impl FnMut(&Setup) -> anyhow::Result<Vec<f64>>> {
    let peers = Peers::start(bench, &TERMS[0], None)?;
    // The first client meets a broker whose code is not compiled yet.
    peers.shot(PeerClient::Kdyno, bench, "bench-unmeasured")?;
    let mut shots = 0;
    Ok(move |side: &Setup| -> anyhow::Result<Vec<f64>> {
        shots += 1;
        let [per_s, _, client_us, broker_us] =
            peers.shot(PeerClient::Kdyno, side, &format!("bench-{shots}"))?;
        Ok(vec![per_s, client_us, broker_us])
    })
}

impl<'a> Peers<'a> {
    fn start(
        bench: &'a Setup,
        terms: &'static PeerTerms,
        librdkafka: Option<PathBuf>,
    ) -> anyhow::Result<Peers<'a>> {
        let broker = StandingCluster::start_many(bench, "peers", terms.brokers)?;
        let batches_per_request = Cell::new(PARTITIONS / terms.brokers);
        let records = if bench.options.quick { terms.records / 10 } else { terms.records };
        Ok(Peers { bench, terms, broker, librdkafka, records, batches_per_request })
    }

    /// All clients in turn, round after round. One that fails is out.
    fn run(&self) -> anyhow::Result<()> {
        let is_librdkafka =
            |client| [PeerClient::LibrdkafkaAlike, PeerClient::LibrdkafkaTuned].contains(&client);
        let mut clients: Vec<_> = CLIENTS.into_iter().zip(self.terms.least).collect();
        clients.retain(|((client, _), _)| self.librdkafka.is_some() || !is_librdkafka(*client));
        for ((client, _), _) in &clients {
            let command = self.command(*client, self.bench, "TOPIC", self.records);
            println!("  {}", self.broker.as_typed(&command));
        }
        let side =
            |((_, name), least): &((PeerClient, &str), f64)| ((*name).to_owned(), *least..=f64::INFINITY);
        let contest = Contest {
            heading: "client",
            sides: clients.iter().map(side).collect(),
            figures: &[
                ("records/s", Shown::Median),
                ("lowest–highest", Shown::Range),
                ("kdyno ÷ it", Shown::FirstJudged(2)),
                ("records/batch", Shown::Median),
                ("client µs/record", Shown::Spread(3)),
                ("brokers' µs/record", Shown::Spread(3)),
            ],
            group: clients.len(),
            unmeasured: self.terms.unmeasured,
        };
        let mut out = vec![false; clients.len()];
        contest.run(&self.bench.options, |side, round| {
            let ((client, name), _) = clients[side];
            if out[side] {
                return Ok(Vec::new());
            }
            match self.shot(client, self.bench, &format!("bench-{client:?}-{round}").to_lowercase()) {
                Ok([per_s, batch, client_us, broker_us]) => {
                    Ok(vec![per_s, per_s, per_s, batch, client_us, broker_us])
                }
                Err(error) => {
                    println!("  {name} is out: {error:#}");
                    out[side] = true;
                    Ok(Vec::new())
                }
            }
        })?;
        for ((_, name), least) in clients.iter().filter(|(_, least)| *least > 0.0) {
            println!("  kdyno at least {least} × {name}");
        }
        ensure!(!out[0], "kdyno itself did not finish");
        Ok(())
    }

    /// One client, kdyno that of `side`, on a topic of this name: records/s, records per batch, µs of CPU per record of the
    /// client and of the brokers.
    fn shot(&self, client: PeerClient, side: &Setup, topic: &str) -> anyhow::Result<[f64; 4]> {
        let topic = self.broker.topic(topic, PARTITIONS, self.terms.brokers)?;
        sleep(SETTLE);
        // Connecting and metadata, which a peer's clock counts and kdyno's does not.
        let one_record_s = match client {
            PeerClient::Kdyno | PeerClient::Replay => 0.0,
            _ => self.send(client, side, &topic, 1)?.0,
        };
        let before = self.broker.cpu_s()?;
        let (seconds, records, client_cpu_s) = self.send(client, side, &topic, self.records)?;
        let broker_cpu_s = self.broker.cpu_s()? - before;
        let batch = self.broker.records_per_batch_behind(0.0, &topic)?;
        self.broker.delete_topic(&topic)?;
        sleep(SETTLE);
        let us = |cpu_s: f64| cpu_s * 1e6 / records;
        Ok([records / (seconds - one_record_s), batch, us(client_cpu_s), us(broker_cpu_s)])
    }

    /// Seconds by a client's own clock, its records, and its CPU, s.
    fn send(
        &self,
        client: PeerClient,
        side: &Setup,
        topic: &str,
        records: u64,
    ) -> anyhow::Result<(f64, f64, f64)> {
        let finished = measured(&mut self.command(client, side, topic, records))?;
        let mut sent = records as f64;
        let seconds = match client {
            PeerClient::Java => sent / Total::parse(&finished.stdout, records)?.per_s,
            PeerClient::LibrdkafkaAlike | PeerClient::LibrdkafkaTuned => {
                librdkafka::reported_s(&finished.stdout)?
            }
            PeerClient::Kdyno | PeerClient::Replay => {
                let outcome = LoadResult::parse(&finished.stdout)?;
                let acknowledged = outcome.number("acknowledged")?;
                if client == PeerClient::Kdyno {
                    ensure!((acknowledged - sent).abs() < 0.5, "{acknowledged} of {records} records");
                    self.batches_per_request.set(batches_per_request(&outcome)?);
                }
                sent = acknowledged;
                sent / outcome.number("acked_per_s")?
            }
        };
        Ok((seconds, sent, finished.cpu_s))
    }

    /// Kdyno, that of `side`, and the replay always send all records.
    fn command(&self, client: PeerClient, side: &Setup, topic: &str, records: u64) -> Command {
        let (bootstrap, acks, count) = (self.broker.bootstrap(), self.terms.acks, records.to_string());
        let load = || BenchLoad {
            unique: true,
            records: Some(self.records),
            linger_ms: LINGER_MS,
            acks,
            ..BenchLoad::at_max(bootstrap, topic, LOAD_SECONDS_MAX)
        };
        let settings = match client {
            PeerClient::Kdyno => return load().command(side),
            PeerClient::Replay => return load().replay(self.bench, self.batches_per_request.get()),
            PeerClient::Java => {
                let mut command = self.broker.kafka_tool("org.apache.kafka.tools.ProducerPerformance");
                command.args(["--topic", topic, "--record-size", "128", "--throughput", "-1"]);
                command.args(["--num-records", &count, "--producer-props"]);
                command.args([format!("bootstrap.servers={bootstrap}"), format!("acks={acks}")]);
                command.args([&format!("linger.ms={LINGER_MS}"), "batch.size=112000"]);
                return command;
            }
            PeerClient::LibrdkafkaAlike => ALIKE,
            PeerClient::LibrdkafkaTuned => TUNED,
        };
        let mut command = Command::new(self.librdkafka.as_deref().unwrap_or("rdkafka_performance".as_ref()));
        command.args(["-P", "-t", topic, "-b", bootstrap, "-s", "128", "-a", acks, "-c", &count]);
        command.args(["-X", &format!("linger.ms={LINGER_MS}"), "-X", "batch.size=112000"]);
        command.args(settings.into_iter().flat_map(|setting| ["-X", setting]));
        command
    }
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
}
