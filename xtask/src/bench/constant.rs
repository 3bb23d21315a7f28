//! `constant`: 20 000 records a second, as scheduled: counts exact, lag compared with a bare sleep loop,
//! and the share of a core that it takes.
//!
//! Against the null broker the two alternate. A real broker takes the CPUs from a thread that wakes up; there the sleep
//! loop runs at the same time, so that both meet the same broker.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::broker::StandingCluster;
use super::load::{BenchLoad, LoadResult};
use super::measurement::{BenchFigure, Measurement};
use super::process::{alongside, measured, words};
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::{Series, TextTable};

/// Records per second.
pub const RATE_PER_S: u32 = 20_000;
const TICK_US: u32 = 200;
const LAG_RATIO_MAX: f64 = 2.0;
const CPU_SHARE_MAX: f64 = 0.15;

/// Figures of one side over the rounds.
#[derive(Default)]
pub struct ConstantSeries {
    /// Median lag.
    pub p50_us: Series,
    /// 99th percentile of the lag.
    pub p99_us: Series,
    /// CPU time ÷ time.
    pub cpu_share: Series,
    /// Rounds whose counts were wrong, in words.
    pub wrong: Vec<String>,
}

impl ConstantSeries {
    fn push(&mut self, p50_ns: f64, p99_ns: f64, cpu_share: f64) {
        self.p50_us.push(p50_ns / 1e3);
        self.p99_us.push(p99_ns / 1e3);
        self.cpu_share.push(cpu_share);
    }

    fn add_sleeper(&mut self, printed: &str, cpu_share: f64) -> anyhow::Result<()> {
        let printed: Value = serde_json::from_str(printed).context("the sleep loop printed no JSON")?;
        let lag =
            |name: &str| printed["schedule_delay_ns"][name].as_f64().context("the sleep loop printed no lag");
        self.push(lag("p50")?, lag("p99")?, cpu_share);
        Ok(())
    }

    fn add(&mut self, outcome: &LoadResult, load: &BenchLoad) -> anyhow::Result<()> {
        let share = outcome.cpu_s / outcome.number("seconds")?;
        self.push(outcome.number("schedule_delay_ns.p50")?, outcome.number("schedule_delay_ns.p99")?, share);
        let expected = f64::from(RATE_PER_S) * f64::from(load.seconds);
        let count = |name: &str| outcome.number(name);
        let (offered, acknowledged) = (count("offered")?, count("acknowledged")?);
        let (failed, unresolved) = (count("failed")?, count("unresolved")?);
        let exact = |one: f64, other: f64| (one - other).abs() < 0.5;
        if !(exact(offered, expected) && exact(acknowledged, expected) && failed + unresolved < 0.5) {
            self.wrong.push(format!(
                "{expected} due: {offered} offered, {acknowledged} acknowledged, {failed} failed, {unresolved} unresolved"
            ));
        }
        Ok(())
    }
}

fn seconds(bench: &Setup) -> u32 {
    if bench.options.quick { 3 } else { 30 }
}

/// The schedule against the null broker of this setup; counts that are not exact are an error.
pub fn measurements(bench: &Setup) -> anyhow::Result<Vec<Measurement<'_>>> {
    let run = move |side: &Setup| {
        let broker = null_broker(bench, 6)?;
        let load = load(&broker.first_line, "bench", seconds(bench));
        let mut figures = ConstantSeries::default();
        figures.add(&load.run(side)?, &load)?;
        ensure!(figures.wrong.is_empty(), "{}", figures.wrong.join("; "));
        Ok(vec![
            BenchFigure::cost("schedule delay p50, µs", figures.p50_us.median()),
            BenchFigure::cost("schedule delay p99, µs", figures.p99_us.median()),
            BenchFigure::cost("share of a core", figures.cpu_share.median()),
        ])
    };
    Ok(vec![Measurement { name: format!("constant, {RATE_PER_S}/s"), run: Box::new(run) }])
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let seconds = seconds(bench);
    describe(bench, seconds);
    let real = StandingCluster::start(bench, "constant")
        .map_err(|error| println!("  no real broker: {error:#}"))
        .ok();
    let (mut bare, mut null) = (ConstantSeries::default(), ConstantSeries::default());
    let (mut bare_with_kafka, mut kafka) = (ConstantSeries::default(), ConstantSeries::default());
    for round in 0..bench.options.rounds {
        null_round(bench, seconds, &mut bare, &mut null)?;
        if let Some(broker) = &real {
            let topic = broker.topic(&format!("constant-{round}"), 6, 1)?;
            let through_kafka = load(broker.bootstrap(), &topic, seconds);
            let mut sleeper = sleep_loop(bench, seconds);
            let (outcome, printed) = alongside(&mut sleeper, || through_kafka.run(bench))?;
            kafka.add(&outcome, &through_kafka)?;
            bare_with_kafka.add_sleeper(&printed, f64::NAN)?;
            broker.delete_topic(&topic)?;
        }
    }
    let mut table = TextTable::new(&[
        "lag at 20 000/s",
        "p50 µs",
        "p99 µs",
        "p99 ÷ sleep loop",
        "share of a core",
        "counts",
    ]);
    let rows = [
        ("sleep loop", &bare, &bare),
        ("kdyno → null broker", &null, &bare),
        ("sleep loop at the same time as ↓", &bare_with_kafka, &bare_with_kafka),
        ("kdyno → Kafka", &kafka, &bare_with_kafka),
    ];
    for (name, figures, sleeper) in rows {
        if figures.p99_us.is_empty() {
            continue;
        }
        let ratio = figures.p99_us.over(&sleeper.p99_us);
        let mark = |fine: bool| if fine { "" } else { " ✗" };
        table.row(vec![
            name.to_owned(),
            figures.p50_us.show(0),
            figures.p99_us.show(0),
            format!("{}{}", ratio.show(2), mark(ratio.median() <= LAG_RATIO_MAX)),
            share(&figures.cpu_share),
            if figures.wrong.is_empty() { "exact".to_owned() } else { "wrong ✗".to_owned() },
        ]);
    }
    print!("{table}");
    for wrong in null.wrong.iter().chain(&kafka.wrong) {
        println!("  {wrong}");
    }
    println!("  at most: p99 {LAG_RATIO_MAX} × the sleep loop's, {CPU_SHARE_MAX} of a core");
    Ok(())
}

/// Share of a core; the sleep loop's own is measured only where it runs alone.
fn share(series: &Series) -> String {
    format!("{}{}", series.show(3), if series.median() > CPU_SHARE_MAX { " ✗" } else { "" })
}

/// Prints the commands of both sides.
pub fn describe(bench: &Setup, seconds: u32) {
    println!("  each: {}", words(&load("127.0.0.1:PORT", "bench", seconds).command(bench)));
    println!("  beside: {}", words(&sleep_loop(bench, seconds)));
}

/// The sleep loop, then kdyno against the null broker.
pub fn null_round(
    bench: &Setup,
    seconds: u32,
    bare: &mut ConstantSeries,
    null: &mut ConstantSeries,
) -> anyhow::Result<()> {
    let finished = measured(&mut sleep_loop(bench, seconds))?;
    bare.add_sleeper(&finished.stdout, finished.cpu_s / finished.wall_s)?;
    let broker = null_broker(bench, 6)?;
    let through_null = load(&broker.first_line, "bench", seconds);
    null.add(&through_null.run(bench)?, &through_null)
}

fn load(bootstrap: &str, topic: &str, seconds: u32) -> BenchLoad {
    BenchLoad { rate: RATE_PER_S.to_string(), unique: true, ..BenchLoad::at_max(bootstrap, topic, seconds) }
}

fn sleep_loop(bench: &Setup, seconds: u32) -> Command {
    let mut command = Command::new(&bench.xtask);
    command.args(["bench-sleep", "--tick-us", &TICK_US.to_string(), "--rate", &RATE_PER_S.to_string()]);
    command.args(["--seconds", &seconds.to_string()]);
    command
}
