//! `cargo xtask bench`: what kdyno's worker costs and sustains, compared with the floor and with its peers.
//!
//! Both sides of every comparison are measured in one run, alternated; printed are median and range.
//! CPU is that of whole processes. A benchmark that cannot run says why, and the others go on.

pub mod against;
pub mod broker;
mod codecs;
pub mod constant;
mod contest;
mod floor;
mod hosts;
pub mod interrupted;
mod java_driver;
mod librdkafka;
pub mod load;
mod log;
mod peers;
pub mod pipe;
pub mod process;
mod questions;
pub mod seal;
pub mod sender;
pub mod setup;
pub mod sleeper;
pub mod stats;
mod tls;

use std::time::Instant;

use anyhow::bail;

use self::questions::ask;
use self::setup::{Setup, machine};

type BenchFn = fn(&Setup) -> anyhow::Result<()>;

/// Name, what it shows, how to run it.
const BENCHES: &[(&str, &str, BenchFn)] = &[
    ("floor", "CPU of writing bytes into a loopback socket, by slice size", floor::run),
    ("sender", "CPU per record of the worker against the null broker, ÷ floor", sender::run),
    ("producers", "CPU per record with keys, with idempotence ÷ without, null broker", |bench| {
        ask(bench, "compare", &["keys", "idempotence"])
    }),
    ("consumers", "CPU per record fetched, by how far it is read, null broker", |bench| {
        ask(bench, "run", &["consumers"])
    }),
    ("clients", "memory, schedule delay and connecting of 10 000 clients, null broker", |bench| {
        ask(bench, "run", &["clients", "storm", "many-clients"])
    }),
    ("hosts", "CPU, memory and run file of a lab with agents on 100 hosts, null broker", hosts::run),
    ("tls", "CPU per byte in TLS 1.3 ÷ (in the open + sealing alone), null broker", tls::run),
    (
        "java-driver",
        "CPU per record of Kafka's client driven by kdyno ÷ plain, null broker",
        java_driver::run,
    ),
    ("codecs", "records in a compressed batch next to Kafka's producer, one real broker", codecs::run),
    ("peers", "the maximum rate next to librdkafka's and Kafka's own tools, one real broker", peers::run),
    ("drop-in", "the drop-in command next to Kafka's own tool, one real broker", peers::drop_in),
    ("end-to-end", "a probe next to Kafka's own kafka-e2e-latency, one real broker", |bench| {
        ask(bench, "run", &["end-to-end"])
    }),
    ("inside", "what the JMX agent costs a local broker", |bench| ask(bench, "compare", &["inside"])),
    ("memory", "resident memory of the worker at the maximum rate, ten minutes", |bench| {
        ask(bench, "run", &["memory"])
    }),
];

/// Runs the named benchmarks, all when none is named. Fails if one of them could not run.
pub fn run(setup: &Setup, names: &[String]) -> anyhow::Result<()> {
    let known: Vec<&str> = BENCHES.iter().map(|(name, ..)| *name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no benchmark is called {unknown}\nhint: {}", known.join(", "));
    }
    interrupted::watch()?;
    println!("{}", machine());
    let mut failed = Vec::new();
    for (name, purpose, run) in BENCHES {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("\n{name}: {purpose}");
        let begin = Instant::now();
        if let Err(error) = run(setup) {
            interrupted::check()?;
            println!("  {name} could not run: {error:#}");
            failed.push(*name);
        }
        println!("  ({:.0} s)", begin.elapsed().as_secs_f64());
    }
    if failed.is_empty() { Ok(()) } else { bail!("could not run: {}", failed.join(", ")) }
}
