//! `startup`: how long `kdyno --help` takes, and how soon brokers are ready once the jars are cached.

use std::process::Command;

use super::broker::StandingCluster;
use super::process::{measured, words};
use super::setup::Setup;
use super::stats::{Series, TextTable};

/// One process start is short and noisy; this many give a median worth printing.
const HELP_STARTS: usize = 50;

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let mut help = Command::new(&bench.kdyno);
    help.arg("--help");
    println!("  {}", words(&help));
    let mut help_ms = Series::default();
    for _ in 0..HELP_STARTS {
        help_ms.push(measured(&mut help)?.wall_s * 1e3);
    }
    // Unmeasured: the first one may have to download Kafka.
    drop(StandingCluster::start(bench, "startup")?);
    let (mut one_s, mut three_s) = (Series::default(), Series::default());
    for _ in 0..bench.options.rounds {
        one_s.push(StandingCluster::start(bench, "startup")?.ready_s);
        three_s.push(StandingCluster::start_many(bench, "startup", 3)?.ready_s);
    }
    let mut table = TextTable::new(&["what", "time", "at most"]);
    for (what, series, unit, decimals, most) in [
        ("kdyno --help", &help_ms, "ms", 1, 20.0),
        ("one broker ready", &one_s, "s", 1, 5.0),
        ("three brokers ready", &three_s, "s", 1, 10.0),
    ] {
        let mark = if series.median() <= most { "" } else { " ✗" };
        table.row(vec![
            what.to_owned(),
            format!("{} {unit}", series.show(decimals)),
            format!("{most} {unit}{mark}"),
        ]);
    }
    print!("{table}");
    Ok(())
}
