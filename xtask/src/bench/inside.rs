//! `inside`: what looking inside brokers costs them: the JMX agent, the sampling of stacks, and kdyno's own probes. The same
//! load on one local broker, each time with a broker of its own: without the agent, with it, and with stacks sampled too, the
//! three in another order in each round. Both sides of a ratio are of one round.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::process::{measured, words};
use super::runs::{document, figure};
use super::setup::Setup;
use super::stats::{Series, Table};

/// What is switched on, `system.metrics`, and further arguments.
const SIDES: [(&str, &str, &[&str]); 3] = [
    ("nothing", "none", &[]),
    ("the JMX agent", "jmx", &[]),
    ("the agent, stacks of the processor", "jmx", &["--flame", "cpu"]),
];
/// Of each: its address, what it is called, ns or µs in the unit that is printed, decimals.
const FIGURES: [(&str, &str, f64, usize); 2] =
    [("brokers.cpu_us_per_record", "µs a record", 1.0, 2), ("writers.response.p99", "p99 ms", 1e6, 2)];
/// Brokers whose probes are looked at, in so many trials.
const PROBED_BROKERS: u32 = 3;
const PROBED_TRIALS: u32 = 3;
/// Most that reading their probes may take, percent of a core.
const PROBES_PERCENT_MAX: f64 = 1.0;
/// Most that readings and events may take of a run file.
const PROBES_MB_PER_HOUR_MAX: f64 = 30.0;
/// The t that |T| stays below with probability 0.95, by degrees of freedom from 1 on.
const STUDENT_T: [f64; 15] =
    [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131];

/// What a run is of.
#[derive(Clone, Copy)]
enum Of {
    /// One broker of a side.
    Side(usize),
    /// Brokers whose probes are looked at.
    Probes,
}

fn command(bench: &Setup, folder: &Path, of: Of) -> anyhow::Result<Command> {
    let (brokers, repeat, (_, metrics, further)) = match of {
        Of::Side(side) => (1, 1, SIDES[side]),
        Of::Probes => (PROBED_BROKERS, if bench.options.quick { 1 } else { PROBED_TRIALS }, SIDES[1]),
    };
    let (warmup, measure) = if bench.options.quick { (3, 6) } else { (8, 11) };
    let scenario = format!(
        "kdyno: 1\nid: inside\nquestion: What does it cost to look?\n\
         system: {{brokers: {brokers}, metrics: {metrics}, limits: {{heap: 512MiB}}}}\n\
         topics: {{perf: {{partitions: 6, replicas: {brokers}}}}}\n\
         load: {{writers: {{produce: perf, rate: 20k/s, value: 200B, client: {{acks: all}}}}}}\n\
         phases: {{warmup: {warmup}s, condition: none, measure: {measure}s, drain: 5s}}\nrepeat: {repeat}\n"
    );
    let file = folder.join("inside.yaml");
    std::fs::write(&file, scenario)?;
    let mut command = Command::new(&bench.kdyno);
    command.arg("run").arg(file).args(further).current_dir(folder);
    Ok(command)
}

/// The figures of one run of a side.
fn told(bench: &Setup, folder: &Path, side: usize) -> anyhow::Result<[f64; FIGURES.len()]> {
    let document = document(&mut command(bench, folder, Of::Side(side))?)?;
    let mut found = [0.0; FIGURES.len()];
    for (found, (address, _, unit, _)) in found.iter_mut().zip(FIGURES) {
        *found = figure(&document, address)? / unit;
    }
    Ok(found)
}

/// What kdyno's own reading took in each trial, percent of a core, by the rule of health that is held against it.
fn probes_percent(document: &Value) -> anyhow::Result<Series> {
    let conclusions = document["conclusions"].as_array().context("a document without conclusions")?;
    let checks = conclusions.iter().filter_map(|one| one["details"]["checks"].as_array()).flatten();
    let of_probes = checks.filter(|check| check["rule"] == "probes-busy");
    let shares: Series = of_probes.filter_map(|check| Some(100.0 * check["value"].as_f64()?)).collect();
    ensure!(!shares.is_empty(), "the run does not tell what its probes took");
    Ok(shares)
}

/// What the readings and events of the only run in a folder take of its file, MB per hour.
fn probe_mb_per_hour(bench: &Setup, folder: &Path) -> anyhow::Result<f64> {
    let runs = std::fs::read_dir(folder.join("kdyno-runs")).context("there is no run")?;
    let is_run = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "kdyno");
    let file =
        runs.filter_map(|entry| Some(entry.ok()?.path())).find(is_run).context("there is no run file")?;
    let sizes = measured(Command::new(&bench.kdyno).arg("bench-size").arg(file))?;
    mb_per_hour(&serde_json::from_str(&sizes.stdout).context("no JSON")?)
}

fn mb_per_hour(sizes: &Value) -> anyhow::Result<f64> {
    let bytes = |table: &str| sizes["bytes"][table].as_f64().with_context(|| format!("no table {table}"));
    let probed_s = sizes["probed_s"].as_f64().context("no time")?;
    Ok((bytes("probe")? + bytes("event")?) / 1e6 / probed_s * 3600.0)
}

/// The middle of figures and the interval of their mean by Student's t, both through `back` from where they are alike spread.
fn with_interval(values: &Series, to: fn(f64) -> f64, back: fn(f64) -> f64, decimals: usize) -> String {
    let spread: Vec<f64> = values.values().iter().copied().map(to).collect();
    let n = spread.len() as f64;
    let Some(t) = spread.len().checked_sub(2).and_then(|at| STUDENT_T.get(at)) else {
        return format!("{} (too few rounds, or too many, for an interval)", values.show(decimals));
    };
    let mean = spread.iter().sum::<f64>() / n;
    let variance = spread.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t * (variance / n).sqrt();
    let (low, high) = (back(mean - half), back(mean + half));
    format!("{:.decimals$} ({low:.decimals$}–{high:.decimals$})", values.median())
}

/// The middle of ratios, round by round, and the interval of their geometric mean.
fn ratio(one: &Series, other: &Series) -> String {
    with_interval(&one.over(other), f64::ln, f64::exp, 3)
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    println!("  each: {}", words(&command(bench, folder.path(), Of::Side(2))?));
    let mut figures: [[Series; FIGURES.len()]; SIDES.len()] = Default::default();
    for round in 0..bench.options.rounds {
        for turn in 0..SIDES.len() {
            let side = (round + turn) % SIDES.len();
            let told = told(bench, folder.path(), side)?;
            for (series, value) in figures[side].iter_mut().zip(told) {
                series.push(value);
            }
        }
    }
    let mut table = Table::new(&["switched on", FIGURES[0].1, "÷ without", FIGURES[1].1, "÷ without"]);
    for (side, (name, ..)) in SIDES.iter().enumerate() {
        let mut cells = vec![(*name).to_owned()];
        for (at, (.., decimals)) in FIGURES.iter().enumerate() {
            cells.push(figures[side][at].show(*decimals));
            // Stacks are sampled of a broker with the agent: beside that it stands.
            let beside = side.checked_sub(1).map(|beside| ratio(&figures[side][at], &figures[beside][at]));
            cells.push(beside.unwrap_or_else(|| "–".to_owned()));
        }
        table.row(cells);
    }
    print!("{table}");
    println!("  ÷ without: the row beside the one above it");
    of_probes(bench)
}

/// What kdyno's side of all probes takes, of brokers that have the agent.
fn of_probes(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command(bench, folder.path(), Of::Probes)?;
    let percent = probes_percent(&document(&mut command)?)?;
    let mark = |is_too_much: bool| if is_too_much { " ✗" } else { "" };
    println!(
        "  probes of {PROBED_BROKERS} brokers: {} % of a core{}, at most {PROBES_PERCENT_MAX}",
        with_interval(&percent, |one| one, |one| one, 2),
        mark(percent.median() > PROBES_PERCENT_MAX)
    );
    let mb = probe_mb_per_hour(bench, folder.path())?;
    println!(
        "  readings and events: {mb:.1} MB per hour{}, at most {PROBES_MB_PER_HOUR_MAX}",
        mark(mb > PROBES_MB_PER_HOUR_MAX)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_an_interval_from_two_rounds_on() {
        let of = |values: &[f64]| values.iter().copied().collect::<Series>();
        let alike = ratio(&of(&[2.0, 4.0, 6.0]), &of(&[1.0, 2.0, 3.0]));
        assert_eq!(alike, "2.000 (2.000–2.000)");
        // ln 1.1 and ln 1.2: mean 0.13884, standard error 0.043506, t 12.71.
        let two = ratio(&of(&[1.1, 1.2]), &of(&[1.0, 1.0]));
        assert_eq!(two, "1.150 (0.661–1.997)");
        assert!(ratio(&of(&[1.1]), &of(&[1.0])).contains("too few"));
        // Mean 2, standard error 0.57735, t 4.303.
        let plain = with_interval(&of(&[1.0, 2.0, 3.0]), |one| one, |one| one, 2);
        assert_eq!(plain, "2.00 (-0.48–4.48)");
    }

    #[test]
    fn what_probes_took_is_found_in_the_document() {
        let check = serde_json::json!({"rule": "probes-busy", "value": 0.005});
        let document = serde_json::json!({"conclusions": [{"details": {"checks": [check]}}]});
        assert!((probes_percent(&document).expect("a figure").median() - 0.5).abs() < 1e-12);
        assert!(probes_percent(&serde_json::json!({"conclusions": []})).is_err());
        let sizes = serde_json::json!({"probed_s": 36.0, "bytes": {"probe": 200_000, "event": 100_000, "sample": 9e9}});
        assert!((mb_per_hour(&sizes).expect("a size") - 30.0).abs() < 1e-9);
    }
}
