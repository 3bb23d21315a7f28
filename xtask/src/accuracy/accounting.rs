//! Test 10: brokers behind real sockets drop, refuse, fall silent and hang up; every record that was due
//! ends as exactly one of acknowledged, failed, unresolved.

use super::row::AccuracyRow;
use crate::bench::load::BenchLoad;
use crate::bench::process::{Background, words};
use crate::bench::setup::Setup;

const RATE_PER_S: u64 = 5_000;
const SECONDS: u32 = 20;
/// Short enough that dropped requests are noticed, sent again and given up within the load.
const REQUEST_TIMEOUT_MS: &str = "300";
const DELIVERY_TIMEOUT_MS: &str = "400";

/// The test.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let load = |bootstrap: &str| {
        let further =
            ["--request-timeout-ms", REQUEST_TIMEOUT_MS, "--delivery-timeout-ms", DELIVERY_TIMEOUT_MS];
        BenchLoad {
            rate: RATE_PER_S.to_string(),
            unique: true,
            further: further.map(str::to_owned).to_vec(),
            ..BenchLoad::at_max(bootstrap, "bench", SECONDS)
        }
    };
    let mut faulty = bench.helper("fake-broker");
    faulty.args(["--faulty", "--brokers", "3", "--partitions", "6"]);
    println!("  {} &", words(&faulty));
    println!("  {}", words(&load("127.0.0.1:PORT").command(bench)));
    let cluster = Background::start(&mut faulty)?;
    let outcome = load(&cluster.first_line).run(bench)?;
    let count = |name: &str| outcome.number(name).map(|value| value as u64);
    let (offered, acknowledged) = (count("offered")?, count("acknowledged")?);
    let (failed, unresolved) = (count("failed")?, count("unresolved")?);
    let second_by_second: u64 = outcome.per_second("acknowledged")?.iter().sum();
    let test = format!("faulty brokers, {RATE_PER_S}/s");
    let due = RATE_PER_S * u64::from(SECONDS);
    let row = |figure: &str, truth: u64, kdyno: u64, parts: &str| {
        let exact = if truth == kdyno {
            "exact".to_owned()
        } else {
            format!("{:+}", i128::from(kdyno) - i128::from(truth))
        };
        AccuracyRow::new(&test, figure, truth.to_string(), format!("{kdyno}{parts}"), exact)
    };
    let parts = format!(" = {acknowledged} + {failed} + {unresolved}");
    println!("  failed by reason: {}", outcome.text("failed_by_reason"));
    Ok(vec![
        row("records due = offered", due, offered, ""),
        row(
            "offered = acknowledged + failed + unresolved",
            offered,
            acknowledged + failed + unresolved,
            &parts,
        ),
        row("acknowledged = sum over the seconds", acknowledged, second_by_second, ""),
    ])
}
