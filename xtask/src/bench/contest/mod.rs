//! `peers` and `drop-in`: clients in turn on real brokers, each on a fresh topic: same records, partitions, batch, linger, acks and
//! requests in flight. kdyno is its drop-in command, which takes the flags of Kafka's own tool and prints its lines.

mod shots;
mod terms;

use std::time::Duration;

use anyhow::bail;

use self::shots::{Contestants, Shot};
use self::terms::{DROP_IN, PEERS, PeerClient, PeerTerms};
use super::broker::StandingCluster;
use super::librdkafka;
use super::load::PARTITIONS;
use super::setup::Setup;
use super::stats::{Series, TextTable, thousands};

/// Time for the brokers to finish what the last client left (deleting its topic's files).
const SETTLE: Duration = Duration::from_secs(2);

/// How far average, p50 and p95 may lie apart at a given rate, ms, with Kafka's rounding to whole ones.
const APART_MS_MAX: [f64; 3] = [1.0, 2.0, 2.0];

/// `peers`: beside librdkafka's tool, Kafka's own and a bare replay.
pub fn peers(bench: &Setup) -> anyhow::Result<()> {
    contest(bench, &PEERS)?;
    println!(
        "  Rates of kdyno and ProducerPerformance are behind the warm-up records; of librdkafka's own time, what one record \
         takes is subtracted (connecting, metadata).\n  What each does besides sending: kdyno builds every record and records \
         eight histograms; rdkafka_performance copies one payload and counts callbacks; ProducerPerformance draws a payload and \
         keeps latencies of a sample; the replay nothing."
    );
    Ok(())
}

/// `drop-in`: beside Kafka's own tool, and the bare replay, which is the most that a client can get acknowledged.
pub fn drop_in(bench: &Setup) -> anyhow::Result<()> {
    contest(bench, &DROP_IN)
}

fn contest(bench: &Setup, all: &'static [PeerTerms]) -> anyhow::Result<()> {
    let is_wanted = all.iter().any(|terms| terms.clients.contains(&PeerClient::LibrdkafkaAlike));
    let librdkafka = if is_wanted {
        librdkafka::program(bench)
            .map_err(|error| println!("  librdkafka could not be built: {error:#}"))
            .ok()
    } else {
        None
    };
    for terms in all {
        println!("\n  {}, {PARTITIONS} partitions", terms.name);
        let broker = StandingCluster::start_many(bench, "contest", terms.brokers)?;
        let contestants = Contestants { bench, broker, librdkafka: librdkafka.clone(), terms };
        run(&contestants)?;
    }
    Ok(())
}

#[derive(Default)]
struct PeerSeries {
    per_s: Series,
    /// Average, p50 and p95, where the client prints them.
    latencies_ms: [Series; 3],
    client_us: Series,
    broker_us: Series,
    batch: Series,
}

/// All clients in turn, round after round, and the table.
fn run(contestants: &Contestants<'_>) -> anyhow::Result<()> {
    let (terms, options) = (contestants.terms, &contestants.bench.options);
    let has_librdkafka = contestants.librdkafka.is_some();
    let mut clients = terms.clients.to_vec();
    clients.retain(|client| has_librdkafka || !client.is_librdkafka());
    for client in &clients {
        println!("  {}", contestants.describe(*client));
    }
    let mut figures: Vec<PeerSeries> = clients.iter().map(|_| PeerSeries::default()).collect();
    let mut out = vec![false; clients.len()];
    for round in 0..terms.unmeasured + options.rounds {
        for turn in 0..clients.len() {
            // Every round begins with another client, so that none always follows the same one.
            let index = (turn + round) % clients.len();
            if out[index] {
                continue;
            }
            let mut unmeasured = PeerSeries::default();
            let into = if round < terms.unmeasured { &mut unmeasured } else { &mut figures[index] };
            if let Err(error) = add_turn(contestants, clients[index], round, into) {
                println!("  {} is out: {error:#}", clients[index].name());
                out[index] = true;
            }
        }
    }
    print!("{}", table(terms, &clients, &figures));
    for (client, least) in terms.goals {
        println!("  kdyno at least {least} × {}", client.name());
    }
    if options.quick {
        println!("  a tenth of the records: no judgement");
    } else if terms.throughput != "-1" {
        judge(&figures);
    }
    if out[0] { bail!("kdyno itself did not finish") } else { Ok(()) }
}

/// One client's figures on one fresh topic.
fn add_turn(
    contestants: &Contestants<'_>,
    client: PeerClient,
    round: usize,
    figures: &mut PeerSeries,
) -> anyhow::Result<()> {
    let broker = &contestants.broker;
    let name = format!("bench-{client:?}-{round}").to_lowercase();
    let topic = broker.topic(&name, PARTITIONS, contestants.terms.brokers)?;
    std::thread::sleep(SETTLE);
    let before_s = broker.cpu_s()?;
    let shot: Shot = contestants.shot(client, &topic)?;
    let broker_cpu_s = broker.cpu_s()? - before_s;
    figures.batch.push(broker.records_per_batch_behind(0.0, &topic)?);
    broker.delete_topic(&topic)?;
    std::thread::sleep(SETTLE);
    let records = contestants.records() as f64;
    figures.per_s.push(shot.per_s);
    figures.client_us.push(shot.cpu_s * 1e6 / records);
    figures.broker_us.push(broker_cpu_s * 1e6 / records);
    for (series, ms) in figures.latencies_ms.iter_mut().zip(shot.latencies_ms.into_iter().flatten()) {
        series.push(ms);
    }
    Ok(())
}

fn table(terms: &PeerTerms, clients: &[PeerClient], figures: &[PeerSeries]) -> TextTable {
    let mut table = TextTable::new(&[
        "client",
        "records/s",
        "lowest–highest",
        "kdyno ÷ it",
        "records/batch",
        "average ms",
        "p50 ms",
        "p95 ms",
        "client µs/record",
        "brokers' µs/record",
    ]);
    for (client, own) in clients.iter().zip(figures) {
        let ratio = figures[0].per_s.over(&own.per_s);
        let goal = terms.goals.iter().find(|(of, _)| of == client);
        let mark = if goal.is_some_and(|(_, least)| ratio.median() < *least) { " ✗" } else { "" };
        let (lowest, highest) = own.per_s.range();
        let [average, p50, p95] = &own.latencies_ms;
        table.row(vec![
            client.name().to_owned(),
            thousands(own.per_s.median()),
            format!("{}–{}", thousands(lowest), thousands(highest)),
            format!("{}{mark}", ratio.show(2)),
            thousands(own.batch.median()),
            average.show(2),
            p50.show(0),
            p95.show(0),
            own.client_us.show(3),
            own.broker_us.show(3),
        ]);
    }
    table
}

/// How far the latencies of kdyno and of Kafka's tool lie apart at the same rate.
fn judge(figures: &[PeerSeries]) {
    let [kdyno, kafka, ..] = figures else { return };
    for (at, name) in ["average", "p50", "p95"].into_iter().enumerate() {
        let apart_ms = (kdyno.latencies_ms[at].median() - kafka.latencies_ms[at].median()).abs();
        let mark = if apart_ms > APART_MS_MAX[at] { " ✗" } else { "" };
        println!("  {name}: {apart_ms:.2} ms apart{mark}, at most {}", APART_MS_MAX[at]);
    }
}
