//! `clients`: what thousands of clients take of the worker, in memory and in schedule delay, and how fast they connect,
//! against the null broker; then a thousand producers and five hundred readers on a real broker.

use std::process::Command;

use super::load::{Load, Outcome};
use super::process::words;
use super::runs::{document, figure};
use super::seal::SUITES;
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::{Series, Table};
use super::tls::secured;

/// Records per second of all clients together.
const RATE_PER_S: u32 = 20_000;
/// Most resident memory of a worker with ten thousand connections.
const RSS_MB_MAX: f64 = 1_000.0;
/// Most schedule delay in proportion to that of one client, at the median and at p99.
const DELAY_RATIO_MAX: f64 = 1.5;
const SUITE: &str = SUITES[0].0;

/// One row: how many clients, in TLS or not, and whether they all come at once in the middle of the load.
struct Row {
    name: &'static str,
    clients: u32,
    is_tls: bool,
    is_storm: bool,
}

const ROWS: [Row; 5] = [
    Row { name: "1", clients: 1, is_tls: false, is_storm: false },
    Row { name: "10 000", clients: 10_000, is_tls: false, is_storm: false },
    Row { name: "10 000, TLS 1.3", clients: 10_000, is_tls: true, is_storm: false },
    Row { name: "5 000 at once", clients: 5_000, is_tls: false, is_storm: true },
    Row { name: "2 000 at once, TLS 1.3", clients: 2_000, is_tls: true, is_storm: true },
];

fn load(bench: &Setup, row: &Row, bootstrap: &str) -> Load {
    let seconds = if bench.options.quick { 3 } else { 15 };
    let mut further = vec!["--clients".to_owned(), row.clients.to_string()];
    if row.is_storm {
        further.extend(["--at".to_owned(), "1".to_owned()]);
    }
    Load {
        rate: RATE_PER_S.to_string(),
        unique: true,
        batch_bytes: 16_384,
        further,
        ..Load::at_max(bootstrap, "bench", seconds)
    }
}

fn run_row(bench: &Setup, row: &Row) -> anyhow::Result<Outcome> {
    if !row.is_tls {
        let broker = null_broker(bench, 6)?;
        return load(bench, row, &broker.first_line).run(bench);
    }
    let (broker, trusted) = secured(bench, SUITE)?;
    let mut load = load(bench, row, &broker.first_line);
    load.further.extend(["--trust".to_owned(), trusted.path().display().to_string()]);
    load.run(bench)
}

/// Figures of one row over the rounds.
#[derive(Default)]
struct Figures {
    rss_mb: Series,
    delay_p50_us: Series,
    delay_p99_us: Series,
    connect_p50_ms: Series,
    connect_max_ms: Series,
    cpu_us: Series,
    lost: f64,
}

impl Figures {
    fn add(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        self.rss_mb.push(outcome.number("rss_bytes_max")? / 1e6);
        self.delay_p50_us.push(outcome.number("schedule_delay_ns.p50")? / 1e3);
        self.delay_p99_us.push(outcome.number("schedule_delay_ns.p99")? / 1e3);
        self.connect_p50_ms.push(outcome.number("connect_ns.p50")? / 1e6);
        self.connect_max_ms.push(outcome.number("connect_ns.max")? / 1e6);
        self.cpu_us.push(outcome.cpu_us_per_record());
        self.lost += outcome.number("failed")? + outcome.number("unresolved")?;
        Ok(())
    }
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, &ROWS[1], "127.0.0.1:PORT").command(bench)));
    let mut figures: [Figures; ROWS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        for (row, figures) in ROWS.iter().zip(&mut figures) {
            figures.add(&run_row(bench, row)?)?;
        }
    }
    let heading = [
        "clients, 20 000/s in all",
        "MB resident",
        "schedule delay p50 µs",
        "÷ of one",
        "p99 µs",
        "÷ of one",
        "connect p50 ms",
        "max ms",
        "µs CPU per record",
        "lost",
    ];
    let mut table = Table::new(&heading);
    let one = &figures[0];
    for (row, own) in ROWS.iter().zip(&figures) {
        let mark = |is_met: bool| if is_met { "" } else { " ✗" };
        let ratio = |own: &Series, one: &Series| {
            let ratio = own.median() / one.median();
            format!("{ratio:.2}{}", mark(row.is_storm || ratio <= DELAY_RATIO_MAX))
        };
        table.row(vec![
            row.name.to_owned(),
            format!("{}{}", own.rss_mb.show(0), mark(own.rss_mb.median() <= RSS_MB_MAX)),
            own.delay_p50_us.show(0),
            ratio(&own.delay_p50_us, &one.delay_p50_us),
            own.delay_p99_us.show(0),
            ratio(&own.delay_p99_us, &one.delay_p99_us),
            own.connect_p50_ms.show(1),
            own.connect_max_ms.show(0),
            own.cpu_us.show(1),
            format!("{:.0}{}", own.lost, mark(own.lost == 0.0)),
        ]);
    }
    print!("{table}");
    real(bench)
}

/// A thousand producers and, all at once ten seconds later, five hundred readers on one real broker.
const SCENARIO: &str = "\
kdyno: 1
id: clients
question: What do a thousand producers and five hundred readers take?
system: {kafka: 4.1.1, mode: kraft, brokers: 1, limits: {heap: 1GiB}}
topics: {perf: {partitions: 500}}
load:
  writers: {produce: perf, clients: 1000, rate: 20k/s, value: 128B}
  readers: {consume: perf, clients: 500, from: earliest, at: 10s}
phases: {warmup: 10s, condition: none, measure: 30s}
show: {columns: [writers.acked_per_s]}
";

/// What is told of it, in these units: ns by milliseconds.
const FIGURES: [(&str, f64); 8] = [
    ("writers.acked_per_s", 1.0),
    ("writers.failed", 1.0),
    ("writers.response.p99", 1e6),
    ("writers.connect.p99", 1e6),
    ("readers.fetched_per_s", 1.0),
    ("readers.connect.p50", 1e6),
    ("readers.connect.p99", 1e6),
    ("workers.memory_rss_bytes_max", 1e6),
];

fn real(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("clients.yaml");
    std::fs::write(&file, SCENARIO)?;
    let mut figures: [Series; FIGURES.len()] = Default::default();
    for round in 0..bench.options.rounds {
        let mut command = Command::new(&bench.kdyno);
        command.arg("run").arg(&file).arg("--out").arg(folder.path().join(round.to_string()));
        let document = document(&mut command)?;
        for ((address, unit), series) in FIGURES.iter().zip(&mut figures) {
            series.push(figure(&document, address)? / unit);
        }
    }
    let mut table = Table::new(&["1 000 producers, 500 readers at once, one real broker", "ms, MB or /s"]);
    for ((address, _), series) in FIGURES.iter().zip(&figures) {
        table.row(vec![(*address).to_owned(), series.show(1)]);
    }
    print!("{table}");
    Ok(())
}
