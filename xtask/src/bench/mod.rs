//! `cargo xtask bench`: what kdyno's worker costs and carries, beside the floor and beside its peers.
//!
//! Both sides of every comparison are measured in one run, alternated; printed are median and range.
//! CPU is that of whole processes. A benchmark that cannot run says why, and the others go on.

pub mod arguments;
pub mod broker;
pub mod constant;
mod floor;
mod librdkafka;
pub mod load;
mod log;
mod memory;
mod peers;
pub mod pipe;
pub mod process;
pub mod sender;
pub mod sleeper;
mod startup;
pub mod stats;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};

/// How the benchmarks are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Short measurements, one round: for trying the harness, not for figures.
    pub quick: bool,
    /// Rounds of every alternation.
    pub rounds: usize,
}

/// Where things are.
pub struct Bench {
    /// This program: it is the bare writer, the sink and the sleep loop as well.
    pub xtask: PathBuf,
    /// The program measured.
    pub kdyno: PathBuf,
    /// Builds of peers; below target/, so that `cargo clean` removes it.
    pub folder: PathBuf,
    /// How to run.
    pub options: Options,
}

impl Bench {
    /// The program at its usual place, or another one.
    pub fn new(root: &Path, options: Options, kdyno: Option<PathBuf>) -> anyhow::Result<Bench> {
        if cfg!(debug_assertions) {
            println!("note: this is a development build; figures are for trying the harness only");
        }
        Ok(Bench {
            xtask: std::env::current_exe().context("cannot find this program")?,
            kdyno: kdyno.unwrap_or_else(|| root.join("target/release/kdyno")),
            folder: root.join("target/bench"),
            options,
        })
    }
}

type Run = fn(&Bench) -> anyhow::Result<()>;

/// Name, what it tells, how to run it.
const BENCHES: &[(&str, &str, Run)] = &[
    ("floor", "CPU of writing bytes into a loopback socket, by slice size", floor::run),
    ("sender", "CPU per record of the worker against the null broker, ÷ floor", sender::run),
    ("peers", "the maximum rate beside librdkafka's and Kafka's own tools, one real broker", peers::run),
    ("constant", "20 000/s: exact counts, lag beside a bare sleep loop, share of a core", constant::run),
    ("memory", "resident memory of the worker at the maximum rate, minute by minute", memory::run),
    ("startup", "kdyno --help, and how soon brokers are ready", startup::run),
];

/// Runs the named benchmarks, all when none is named. Fails if one of them could not run.
pub fn run(root: &Path, names: &[String], options: Options, kdyno: Option<PathBuf>) -> anyhow::Result<()> {
    let known: Vec<&str> = BENCHES.iter().map(|(name, ..)| *name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no benchmark is called {unknown}\nhint: {}", known.join(", "));
    }
    let bench = Bench::new(root, options, kdyno)?;
    println!("{}", machine());
    let mut failed = Vec::new();
    for (name, purpose, run) in BENCHES {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("\n{name}: {purpose}");
        let begin = Instant::now();
        if let Err(error) = run(&bench) {
            println!("  {name} could not run: {error:#}");
            failed.push(*name);
        }
        println!("  ({:.0} s)", begin.elapsed().as_secs_f64());
    }
    if failed.is_empty() { Ok(()) } else { bail!("could not run: {}", failed.join(", ")) }
}

/// Processor, count, and load: a busy machine makes every figure below doubtful.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = load_average();
    let model = model.map_or("unknown processor", |(_, model)| model).trim();
    format!("machine: {processors} × {model}, load average before: {load}")
}

/// Processes that wanted a processor, average of the last minute.
pub fn load_average() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("?").to_owned()
}
