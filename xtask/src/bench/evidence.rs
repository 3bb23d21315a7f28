//! `evidence`: how soon a stored hour with 60 streams is shown: from what was drawn when it ran, and analysed again
//! from its rows.

use std::process::Command;

use super::made_run;
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, TextTable};

/// What is shown, whether it is drawn beforehand, and the seconds it may take.
const FILES: [(&str, bool, f64); 2] = [("stored findings", true, 1.0), ("analysed anew", false, 5.0)];

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut table = TextTable::new(&["what", "seconds", "at most"]);
    for (name, is_drawn, seconds_max) in FILES {
        let path = folder.path().join(format!("{}.kdyno", name.replace(' ', "-")));
        made_run::write(&path, if bench.options.quick { 360 } else { 3_600 }, is_drawn)?;
        let mut show = Command::new(&bench.kdyno);
        show.arg("show").arg(&path);
        println!("  {}", words(&show));
        let mut seconds = Series::default();
        for _ in 0..bench.options.rounds {
            seconds.push(measured(&mut show)?.wall_s);
        }
        let mark = if seconds.median() > seconds_max { " ✗" } else { "" };
        table.row(vec![format!("show: {name}"), seconds.show(2), format!("{seconds_max}{mark}")]);
    }
    print!("{table}");
    Ok(())
}
