//! Test 10: brokers behind real sockets drop, refuse, fall silent and hang up; every record that was due
//! ends as exactly one of acknowledged, failed, unresolved.

use super::fake::Fake;
use super::row::AccuracyRow;
use crate::bench::load::BenchLoad;
use crate::bench::setup::Setup;

const RATE_PER_S: u64 = 5_000;
const SECONDS: u32 = 20;
/// Short enough that dropped requests are noticed, sent again and given up within the load.
const TIMEOUTS: &str = "request.timeout.ms: 300, delivery.timeout.ms: 400";

/// The test. There is no warm-up: all records are of the measured window.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let load = BenchLoad {
        rate: format!("{RATE_PER_S}/s, arrivals: constant"),
        unique: true,
        client: format!("acks: 1, enable.idempotence: false, linger.ms: 5, {TIMEOUTS}"),
        warmup_s: 0,
        ..BenchLoad::at_max(112_000, SECONDS)
    };
    load.describe();
    let cluster = Fake::faulty()?;
    let run = load.run(bench, &cluster.target.file)?;
    let sum = |name: &str| Ok::<u64, anyhow::Error>(run.per_second(name)?.iter().sum());
    let offered = sum("offered")?;
    let [acknowledged, failed, unresolved] = run.outcomes()?;
    let test = format!("faulty brokers, {RATE_PER_S}/s");
    let due = RATE_PER_S * u64::from(SECONDS);
    let row = |figure: &str, truth: u64, kdyno: u64, parts: &str| {
        let difference = i128::from(kdyno) - i128::from(truth);
        let says = if difference == 0 { "exact".to_owned() } else { format!("{difference:+}") };
        AccuracyRow::new(&test, figure, truth.to_string(), format!("{kdyno}{parts}"), says)
    };
    let parts = format!(" = {acknowledged} + {failed} + {unresolved}");
    let all = acknowledged + failed + unresolved;
    Ok(vec![
        row("records due = offered", due, offered, ""),
        row("offered = acknowledged + failed + unresolved", offered, all, &parts),
        row("acknowledged = sum over the seconds", acknowledged, sum("acknowledged")?, ""),
    ])
}
