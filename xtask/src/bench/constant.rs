//! `constant`: 20 000 records a second, as scheduled: counts exact, lag compared with a bare sleep loop,
//! and the share of a core that it takes.
//!
//! Against the null broker the two alternate. A real broker takes the processors from whatever wakes
//! up; there the sleep loop runs at the same time, so that both meet the same broker.

use std::path::Path;
use std::thread;

use anyhow::{anyhow, ensure};

use super::broker::{StandingCluster, kept};
use super::load::{BenchLoad, NullBrokerProcess, Run};
use super::measurement::{BenchFigure, Measurement};
use super::setup::Setup;
use super::sleeper::{self, Slept};
use super::stats::{Series, TextTable};

/// Records per second.
pub const RATE_PER_S: u32 = 20_000;
const TICK_NS: u64 = 200_000;
/// From kdyno's start to the window, about: a sleep loop beside it is that much longer.
const STARTING_S: u32 = 5;
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
    fn add_sleeper(&mut self, slept: &Slept) {
        self.p50_us.push(slept.p50_ns / 1e3);
        self.p99_us.push(slept.p99_ns / 1e3);
        self.cpu_share.push(slept.cpu_share);
    }

    fn add(&mut self, run: &Run) -> anyhow::Result<()> {
        self.p50_us.push(run.figure("writers.schedule_delay.p50")? / 1e3);
        self.p99_us.push(run.figure("writers.schedule_delay.p99")? / 1e3);
        self.cpu_share.push(run.figure("workers.cpu_percent")? / 100.0);
        let (offered_per_s, lost) = (run.figure("writers.offered_per_s")?, run.lost()?);
        // A quarter of a record in the longest window.
        let is_exact = (offered_per_s - f64::from(RATE_PER_S)).abs() < 0.005;
        if !is_exact || lost > 0.5 {
            self.wrong.push(format!("{offered_per_s}/s offered of {RATE_PER_S}/s, {lost} not acknowledged"));
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
        let broker = NullBrokerProcess::start(bench)?;
        let mut figures = ConstantSeries::default();
        figures.add(&load(seconds(bench)).run(side, &broker.target.file)?)?;
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
    load(seconds).describe();
    let real = StandingCluster::start(bench, "constant")
        .map_err(|error| println!("  no real broker: {error:#}"))
        .ok();
    let (mut bare, mut null) = (ConstantSeries::default(), ConstantSeries::default());
    let (mut bare_with_kafka, mut kafka) = (ConstantSeries::default(), ConstantSeries::default());
    for _ in 0..bench.options.rounds {
        null_round(bench, seconds, &mut bare, &mut null)?;
        if let Some(broker) = &real {
            let target = broker.target()?;
            let (run, slept) = beside_sleeper(bench, seconds, &target.file)?;
            kafka.add(&run)?;
            bare_with_kafka.add_sleeper(&slept);
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
    let mark = |fine: bool| if fine { "" } else { " ✗" };
    for (name, figures, sleeper) in rows.into_iter().filter(|(_, figures, _)| !figures.p99_us.is_empty()) {
        let ratio = figures.p99_us.over(&sleeper.p99_us);
        table.row(vec![
            name.to_owned(),
            figures.p50_us.show(0),
            figures.p99_us.show(0),
            format!("{}{}", ratio.show(2), mark(ratio.median() <= LAG_RATIO_MAX)),
            format!("{}{}", figures.cpu_share.show(3), mark(figures.cpu_share.median() <= CPU_SHARE_MAX)),
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

/// The sleep loop, then kdyno against the null broker.
pub fn null_round(
    bench: &Setup,
    seconds: u32,
    bare: &mut ConstantSeries,
    null: &mut ConstantSeries,
) -> anyhow::Result<()> {
    bare.add_sleeper(&sleep_loop(seconds)?);
    let broker = NullBrokerProcess::start(bench)?;
    null.add(&load(seconds).run(bench, &broker.target.file)?)
}

/// Both at the same time.
fn beside_sleeper(bench: &Setup, seconds: u32, target: &Path) -> anyhow::Result<(Run, Slept)> {
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| sleep_loop(seconds + STARTING_S));
        let run = BenchLoad { topic: kept(), ..load(seconds) }.run(bench, target);
        let slept = sleeper.join().map_err(|_| anyhow!("the sleep loop panicked"))?;
        Ok((run?, slept?))
    })
}

/// The load that is scheduled.
pub fn load(seconds: u32) -> BenchLoad {
    BenchLoad {
        rate: format!("{RATE_PER_S}/s, arrivals: constant"),
        unique: true,
        ..BenchLoad::at_max(112_000, seconds)
    }
}

fn sleep_loop(seconds: u32) -> anyhow::Result<Slept> {
    sleeper::run(TICK_NS, RATE_PER_S.into(), seconds.into())
}
