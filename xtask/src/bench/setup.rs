//! What every benchmark is handed: the programs, how to run, and what there is to say about the machine.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// How the benchmarks are run.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// Short measurements, one round: for trying the harness, not for figures.
    pub quick: bool,
    /// Rounds of every alternation.
    pub rounds: usize,
}

/// Where things are.
#[derive(Debug, Clone)]
pub struct Setup {
    /// This program: it is the bare writer, the sink and the sleep loop as well.
    pub xtask: PathBuf,
    /// The program measured.
    pub kdyno: PathBuf,
    /// Builds of peers; below target/, so that `cargo clean` removes it.
    pub folder: PathBuf,
    /// How to run.
    pub options: BenchOptions,
}

impl Setup {
    /// The program at its usual place, or another one.
    pub fn new(root: &Path, options: BenchOptions, kdyno: Option<PathBuf>) -> anyhow::Result<Setup> {
        if cfg!(debug_assertions) {
            println!("note: this is a development build; figures are for trying the harness only");
        }
        Ok(Setup {
            xtask: std::env::current_exe().context("cannot find this program")?,
            kdyno: kdyno.unwrap_or_else(|| root.join("target/release/kdyno")),
            folder: root.join("target/bench"),
            options,
        })
    }
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
