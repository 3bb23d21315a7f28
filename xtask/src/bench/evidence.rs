//! `evidence`: how soon a stored hour with 60 streams is shown: from what was drawn when it ran, and analysed anew from
//! its rows; and how long the statistics of a comparison take.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use serde::Deserialize;

use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, Table};

/// What is shown, further arguments of its making, and the seconds it may take.
const FILES: [(&str, &[&str], f64); 2] = [("stored findings", &[], 1.0), ("analysed anew", &["--anew"], 5.0)];

/// Seconds that the statistics of a comparison may take.
const COMPARISON_S_MAX: f64 = 0.2;

/// What `kdyno bench-comparison` prints.
#[derive(Deserialize)]
struct Comparison {
    pairs: u32,
    figures: u32,
    verdicts: u32,
    seconds: Vec<f64>,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut table = Table::new(&["what", "seconds", "at most"]);
    for (name, further, seconds_max) in FILES {
        let path = folder.path().join(format!("{}.kdyno", name.replace(' ', "-")));
        let mut make = Command::new(&bench.kdyno);
        make.args(["bench-evidence", "--out"]).arg(&path).args(further);
        if bench.options.quick {
            make.args(["--seconds", "360"]);
        }
        println!("  {}", words(&make));
        measured(&mut make)?;
        let mut seconds = Series::default();
        for _ in 0..bench.options.rounds {
            seconds.push(measured(Command::new(&bench.kdyno).arg("show").arg(&path))?.wall_s);
        }
        table.row(vec![format!("show: {name}"), seconds.show(2), at_most(&seconds, seconds_max)]);
    }
    let (name, seconds) = comparison(bench, &folder.path().join("one-trial.kdyno"))?;
    table.row(vec![name, seconds.show(4), at_most(&seconds, COMPARISON_S_MAX)]);
    print!("{table}");
    Ok(())
}

fn at_most(seconds: &Series, seconds_max: f64) -> String {
    let mark = if seconds.median() > seconds_max { " ✗" } else { "" };
    format!("{seconds_max}{mark}")
}

/// What is judged, and the seconds it took each time.
fn comparison(bench: &Setup, path: &Path) -> anyhow::Result<(String, Series)> {
    let mut make = Command::new(&bench.kdyno);
    make.args(["bench-evidence", "--seconds", "60", "--out"]).arg(path);
    measured(&mut make)?;
    let mut judge = Command::new(&bench.kdyno);
    judge.args(["bench-comparison", "--rounds", &bench.options.rounds.to_string()]).arg(path);
    println!("  {}", words(&judge));
    let printed: Comparison = serde_json::from_str(&measured(&mut judge)?.stdout)?;
    ensure!(printed.verdicts > 0, "no verdict rests on the pairs");
    let mut seconds = Series::default();
    printed.seconds.into_iter().for_each(|one| seconds.push(one));
    let name = format!(
        "judge {} pairs with {} figures each ({} verdicts)",
        printed.pairs, printed.figures, printed.verdicts
    );
    Ok((name, seconds))
}
