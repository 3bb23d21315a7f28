//! `peers`: kdyno compared with librdkafka's tool, Kafka's own and a bare replay, on real brokers, alternated: same
//! records, partitions, batch, linger, acks and requests in flight, each on a fresh topic.

mod clients;

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use self::clients::{PARTITIONS, PeerClient, PeerClients, Shot};
use super::broker::StandingCluster;
use super::librdkafka;
use super::measurement::{BenchFigure, Measurement};
use super::setup::Setup;
use super::stats::{SeriesOf, TextTable, thousands};

/// Time for the brokers to finish what the last client left (deleting its topic's files).
const SETTLE: Duration = Duration::from_secs(2);

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
    /// How many times a client's rate kdyno's must be at least.
    goals: &'static [(PeerClient, f64)],
}

static TERMS: [PeerTerms; 2] = [
    PeerTerms {
        name: "one broker, acks=1",
        brokers: 1,
        acks: "1",
        records: 20_000_000,
        unmeasured: 1,
        goals: &[(PeerClient::LibrdkafkaAlike, 1.2), (PeerClient::Java, 2.2), (PeerClient::Replay, 0.95)],
    },
    PeerTerms {
        name: "three brokers, replication factor 3, acks=all",
        brokers: 3,
        acks: "-1",
        records: 3_000_000,
        unmeasured: 2,
        goals: &[(PeerClient::LibrdkafkaAlike, 1.5), (PeerClient::Replay, 0.95)],
    },
];

/// Figures of one client over the rounds: records/s, records per batch, µs of CPU per record of the client and of the
/// brokers.
type PeerSeries = SeriesOf<4>;

struct PeerContest<'a> {
    terms: &'a PeerTerms,
    clients: PeerClients<'a>,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let librdkafka = librdkafka::program(bench);
    let librdkafka = librdkafka.map_err(|error| println!("  librdkafka could not be built: {error:#}")).ok();
    for terms in &TERMS {
        println!("\n  {}, {PARTITIONS} partitions", terms.name);
        PeerContest::start(bench, terms, librdkafka.clone())?.run()?;
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

/// A load on a real broker of this setup's, each time on a fresh topic.
pub fn measurements(bench: &Setup) -> anyhow::Result<Vec<Measurement<'_>>> {
    let contest = PeerContest::start(bench, &TERMS[0], None)?;
    // The first client meets a broker whose code is not compiled yet.
    contest.shot(PeerClient::Kdyno, bench, "bench-unmeasured")?;
    let shots = Cell::new(0);
    let run = move |side: &Setup| {
        shots.set(shots.get() + 1);
        let (shot, broker_cpu_s, _) =
            contest.shot(PeerClient::Kdyno, side, &format!("bench-{}", shots.get()))?;
        Ok(vec![
            BenchFigure::rate("records/s", shot.per_s),
            BenchFigure::cost("client µs/record", shot.client_cpu_s * 1e6 / shot.records),
            BenchFigure::cost("broker µs/record", broker_cpu_s * 1e6 / shot.records),
        ])
    };
    Ok(vec![Measurement { name: "peers, one real broker".to_owned(), run: Box::new(run) }])
}

impl<'a> PeerContest<'a> {
    fn start(
        bench: &'a Setup,
        terms: &'a PeerTerms,
        librdkafka: Option<PathBuf>,
    ) -> anyhow::Result<PeerContest<'a>> {
        let broker = StandingCluster::start_many(bench, "peers", terms.brokers)?;
        let batches_per_request = Cell::new(PARTITIONS / terms.brokers);
        let records = if bench.options.quick { terms.records / 10 } else { terms.records };
        let clients =
            PeerClients { bench, broker, librdkafka, acks: terms.acks, records, batches_per_request };
        Ok(PeerContest { terms, clients })
    }

    /// All clients in turn, round after round, and the table.
    fn run(&self) -> anyhow::Result<()> {
        let has_librdkafka = self.clients.librdkafka.is_some();
        let mut clients = PeerClient::ALL.to_vec();
        clients.retain(|client| has_librdkafka || !client.is_librdkafka());
        for client in &clients {
            println!("  {}", self.clients.describe(*client));
        }
        let mut figures: Vec<PeerSeries> = clients.iter().map(|_| PeerSeries::default()).collect();
        let mut out = vec![false; clients.len()];
        for round in 0..self.terms.unmeasured + self.clients.bench.options.rounds {
            for turn in 0..clients.len() {
                // Every round begins with another client, so that none always follows the same one.
                let index = (turn + round) % clients.len();
                if out[index] {
                    continue;
                }
                let mut unmeasured = PeerSeries::default();
                let into = if round < self.terms.unmeasured { &mut unmeasured } else { &mut figures[index] };
                if let Err(error) = self.turn(clients[index], round, into) {
                    println!("  {} is out: {error:#}", clients[index].name());
                    out[index] = true;
                }
            }
        }
        print!("{}", self.table(&clients, &figures));
        for (client, least) in self.terms.goals {
            println!("  kdyno at least {least} × {}", client.name());
        }
        if out[0] { bail!("kdyno itself did not finish") } else { Ok(()) }
    }

    fn table(&self, clients: &[PeerClient], figures: &[PeerSeries]) -> TextTable {
        let mut table = TextTable::new(&[
            "client",
            "records/s",
            "lowest–highest",
            "kdyno ÷ it",
            "records/batch",
            "client µs/record",
            "brokers' µs/record",
        ]);
        for (client, figures_of) in clients.iter().zip(figures) {
            let [per_s, batch, client_us, broker_us] = &figures_of.0;
            let ratio = figures[0].0[0].over(per_s);
            let goal = self.terms.goals.iter().find(|(of, _)| of == client);
            let mark = if goal.is_some_and(|(_, least)| ratio.median() < *least) { " ✗" } else { "" };
            let range = per_s.range();
            table.row(vec![
                client.name().to_owned(),
                thousands(per_s.median()),
                if per_s.is_empty() {
                    "–".to_owned()
                } else {
                    format!("{}–{}", thousands(range.0), thousands(range.1))
                },
                format!("{}{mark}", ratio.show(2)),
                thousands(batch.median()),
                client_us.show(3),
                broker_us.show(3),
            ]);
        }
        table
    }

    /// One client's figures on one fresh topic.
    fn turn(&self, client: PeerClient, round: usize, figures: &mut PeerSeries) -> anyhow::Result<()> {
        let topic = format!("bench-{client:?}-{round}").to_lowercase();
        let (shot, broker_cpu_s, batch) = self.shot(client, self.clients.bench, &topic)?;
        let us = |cpu_s: f64| cpu_s * 1e6 / shot.records;
        figures.push([shot.per_s, batch, us(shot.client_cpu_s), us(broker_cpu_s)]);
        Ok(())
    }

    /// One client, kdyno that of `side`, on a topic of this name; with the brokers' CPU, s, and records per batch.
    fn shot(&self, client: PeerClient, side: &Setup, topic: &str) -> anyhow::Result<(Shot, f64, f64)> {
        let topic = self.clients.broker.topic(topic, PARTITIONS, self.terms.brokers)?;
        std::thread::sleep(SETTLE);
        let one_record_s = self.clients.one_record_s(client, &topic)?;
        let before = self.clients.broker.cpu_s()?;
        let shot = self.clients.shot(client, side, &topic, one_record_s)?;
        let broker_cpu_s = self.clients.broker.cpu_s()? - before;
        let batch = self.clients.broker.records_per_batch_behind(0.0, &topic)?;
        self.clients.broker.delete_topic(&topic)?;
        std::thread::sleep(SETTLE);
        Ok((shot, broker_cpu_s, batch))
    }
}
