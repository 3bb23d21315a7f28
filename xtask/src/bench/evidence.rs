//! `evidence`: how soon a stored hour with 60 streams is shown: from what was drawn when it ran, and analysed again
//! from its rows.

use std::process::Command;

use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, TextTable};

/// What is shown, further arguments of its making, and the seconds it may take.
const FILES: [(&str, &[&str], f64); 2] = [("stored findings", &[], 1.0), ("analysed anew", &["--anew"], 5.0)];

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut table = TextTable::new(&["what", "seconds", "at most"]);
    for (name, further, seconds_max) in FILES {
        let path = folder.path().join(format!("{}.kdyno", name.replace(' ', "-")));
        let mut make = bench.helper("bench-evidence");
        make.arg("--out").arg(&path).args(further);
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
    print!("{table}");
    Ok(())
}

fn at_most(seconds: &Series, seconds_max: f64) -> String {
    let mark = if seconds.median() > seconds_max { " ✗" } else { "" };
    format!("{seconds_max}{mark}")
}
