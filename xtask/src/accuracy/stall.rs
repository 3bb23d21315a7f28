//! Test 1: a real broker is stopped for two seconds in the middle of a constant load.
//!
//! While it is stopped records wait for what is left of the stop; afterwards the backlog drains at the
//! rate at which the broker catches up (μ) while further records come due (λ). Waits fall linearly from S to
//! 0 over the arrivals of S ÷ (1 − λ/μ), so that of T seconds of arrivals the share (S − w) ÷ ((1 − λ/μ) T)
//! waits longer than w: the q quantile is S − (1 − q) T (1 − λ/μ).

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::row::{AccuracyRow, percent};
use crate::bench::broker::StandingCluster;
use crate::bench::load::{BenchLoad, LoadResult};
use crate::bench::process::{Owned, tail, words};
use crate::bench::setup::Setup;
use crate::bench::sleeper::{now_ns, sleep_until};
use crate::bench::stats::thousands;

const NS_PER_S: f64 = 1e9;
const PARTITIONS: u32 = 6;
/// Records per second, highest first: the first one that the machine carries with room to catch up.
const RATES_PER_S: [f64; 3] = [60_000.0, 30_000.0, 15_000.0];
/// Largest share of the maximum rate at which a backlog of a stop is gone long before the load ends.
const SHARE_MAX: f64 = 0.6;
const CAPACITY_SECONDS: u32 = 6;
const WARMUP_SECONDS: u32 = 3;
const SECONDS: u32 = 20;
const STOP_S: f64 = 2.0;
const QUANTILE: f64 = 0.95;
/// A second with more acknowledgements than this multiple of the offered rate still catches up.
const CATCHES_UP: f64 = 1.05;

/// The test.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let broker = StandingCluster::start(bench, "stall", 1)?;
    let capacity_per_s = capacity(bench, &broker)?;
    let rate_per_s = RATES_PER_S.into_iter().find(|rate| *rate <= SHARE_MAX * capacity_per_s);
    let rate_per_s = rate_per_s
        .with_context(|| format!("{} records/s at most: too few to catch up", thousands(capacity_per_s)))?;
    println!("  carries {}/s at most: offered {}/s", thousands(capacity_per_s), thousands(rate_per_s));
    // The broker goes on so long before a second's end that it surely still catches up at that end.
    let catch_up_s = STOP_S * rate_per_s / (capacity_per_s - rate_per_s);
    let rest_s = (0.5 * catch_up_s).clamp(0.1, 0.5);
    let topic = broker.topic("stall", PARTITIONS, 1)?;
    let load = BenchLoad {
        rate: rate_per_s.to_string(),
        seconds: SECONDS,
        further: vec!["--warmup-seconds".to_owned(), WARMUP_SECONDS.to_string()],
        ..base(&broker, &topic)
    };
    println!("  {}", words(&load.command(bench)));
    println!("  meanwhile: kill -STOP {0}; sleep {STOP_S}; kill -CONT {0}", broker.pid());
    let stalled = stalled(bench, &load, &broker, rest_s)?;
    rows(&stalled, rate_per_s)
}

fn base(broker: &StandingCluster, topic: &str) -> BenchLoad {
    BenchLoad { value_bytes: 1024, ..BenchLoad::at_max(broker.bootstrap(), topic, CAPACITY_SECONDS) }
}

/// Records per second at most, which warms the broker as well.
fn capacity(bench: &Setup, broker: &StandingCluster) -> anyhow::Result<f64> {
    let topic = broker.topic("capacity", PARTITIONS, 1)?;
    let load = base(broker, &topic);
    println!("  {}", words(&load.command(bench)));
    let capacity_per_s = load.run(bench)?.number("acked_per_s")?;
    broker.delete_topic(&topic)?;
    Ok(capacity_per_s)
}

/// What a load with a stop in it showed.
struct StalledLoad {
    outcome: LoadResult,
    stop_s: f64,
    /// From T0 to SIGCONT.
    end_s: f64,
}

fn stalled(
    bench: &Setup,
    load: &BenchLoad,
    broker: &StandingCluster,
    rest_s: f64,
) -> anyhow::Result<StalledLoad> {
    let mut running = RunningLoad::start(bench, load)?;
    let t0_ns = running.t0_ns()?;
    let middle_s = f64::from(WARMUP_SECONDS) + f64::from(SECONDS) / 2.0;
    let end_s = middle_s.floor() + 1.0 - rest_s;
    sleep_until(t0_ns + ((end_s - STOP_S) * NS_PER_S) as u64);
    let pid = i32::try_from(broker.pid()).ok().and_then(Pid::from_raw).context("the broker has no pid")?;
    let stopped = Stopped::stop(pid)?;
    let begin_ns = now_ns();
    sleep_until(t0_ns + (end_s * NS_PER_S) as u64);
    drop(stopped);
    let end_ns = now_ns();
    let outcome = running.finish()?;
    Ok(StalledLoad {
        outcome,
        stop_s: (end_ns - begin_ns) as f64 / NS_PER_S,
        end_s: (end_ns - t0_ns) as f64 / NS_PER_S,
    })
}

fn rows(stalled: &StalledLoad, rate_per_s: f64) -> anyhow::Result<Vec<AccuracyRow>> {
    let outcome = &stalled.outcome;
    let lost = outcome.number("failed")? + outcome.number("unresolved")?;
    ensure!(lost < 0.5, "{lost} records failed or stayed unresolved");
    let response_s = outcome.number("response_ns.p95")? / NS_PER_S;
    let service_s = outcome.number("service_ns.p95")? / NS_PER_S;
    let acknowledged = outcome.per_second("acknowledged")?;
    println!("  acknowledged in each second from T0: {acknowledged:?}");
    let Some(caught_up_per_s) = catch_up_per_s(&acknowledged, stalled.end_s, rate_per_s) else {
        bail!("the backlog was gone before the second's end: no catch-up rate to put into the formula");
    };
    let busy = rate_per_s / caught_up_per_s;
    println!(
        "  stopped for {:.3} s until {:.3} s; caught up at {}/s, λ/μ {busy:.3}",
        stalled.stop_s,
        stalled.end_s,
        thousands(caught_up_per_s)
    );
    let test = format!("{STOP_S} s of {SECONDS} s stopped, {}/s", thousands(rate_per_s));
    let formula = |stop_s: f64| quantile_s(stop_s, f64::from(SECONDS), QUANTILE, busy);
    let measured_stop_s =
        formula(stalled.stop_s).context("the formula does not hold: the stop is too short")?;
    let nominal_s = formula(STOP_S).context("the formula does not hold: the stop is too short")?;
    let row = |figure: &str, truth_s: f64, kdyno_s: f64| {
        let difference = percent(kdyno_s, truth_s);
        AccuracyRow::new(&test, figure, format!("{truth_s:.3}"), format!("{kdyno_s:.3}"), difference)
    };
    Ok(vec![
        row("response p95, s (stop as measured)", measured_stop_s, response_s),
        row("response p95, s (stop as requested)", nominal_s, response_s),
        row("service p95, s: what a blocking client prints", measured_stop_s, service_s),
    ])
}

/// The q quantile of the response while one stop of `stop_s` lies in `window_s` of constant arrivals, with
/// `busy` = λ/μ. `None` where it does not hold: no catch-up, or a quantile that the stop does not reach.
fn quantile_s(stop_s: f64, window_s: f64, quantile: f64, busy: f64) -> Option<f64> {
    let quantile_s = stop_s - (1.0 - quantile) * window_s * (1.0 - busy);
    ((0.0..1.0).contains(&busy) && quantile_s > 0.0).then_some(quantile_s)
}

/// Records per second acknowledged from the end of a stop, `end_s` after second 0, for as long as whole
/// seconds show catching up. `None` if it was over before the first second's end: that second then holds
/// records at both rates.
fn catch_up_per_s(acknowledged: &[u64], end_s: f64, rate_per_s: f64) -> Option<f64> {
    let first = end_s as usize;
    let above = |second: usize| acknowledged.get(second).is_some_and(|n| *n as f64 > CATCHES_UP * rate_per_s);
    if !above(first + 1) {
        return None;
    }
    let mut records = *acknowledged.get(first)? as f64;
    let mut length_s = (first + 1) as f64 - end_s;
    let mut second = first + 1;
    while above(second + 1) {
        records += *acknowledged.get(second)? as f64;
        length_s += 1.0;
        second += 1;
    }
    (length_s > 0.0).then(|| records / length_s)
}

/// A stopped process; it goes on when this ends, also when something fails meanwhile.
struct Stopped(Pid);

impl Stopped {
    fn stop(pid: Pid) -> anyhow::Result<Stopped> {
        let stopped = Stopped(pid);
        kill_process(pid, Signal::STOP).context("cannot stop the broker")?;
        Ok(stopped)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Err(error) = kill_process(self.0, Signal::CONT) {
            println!("  the broker could not be continued: {error}");
        }
    }
}

/// A load that runs while something is done to its broker; it is ended with this value.
struct RunningLoad {
    child: Owned,
    stderr: BufReader<std::process::ChildStderr>,
}

impl RunningLoad {
    fn start(bench: &Setup, load: &BenchLoad) -> anyhow::Result<RunningLoad> {
        let mut command = load.command(bench);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Owned(command.spawn().with_context(|| format!("cannot start {}", words(&command)))?);
        let stderr = child.0.stderr.take().context("no standard error")?;
        Ok(RunningLoad { child, stderr: BufReader::new(stderr) })
    }

    /// Waits for the instant at which the load begins.
    fn t0_ns(&mut self) -> anyhow::Result<u64> {
        let mut said = String::new();
        while self.stderr.read_line(&mut said)? > 0 {
            let line = said.lines().last().unwrap_or_default();
            if let Some(number) = line.strip_prefix("t0_monotonic_ns: ") {
                return Ok(number.parse()?);
            }
        }
        bail!("the load did not begin:\n{}", tail(&said))
    }

    fn finish(mut self) -> anyhow::Result<LoadResult> {
        let mut printed = String::new();
        self.child.0.stdout.take().context("no standard output")?.read_to_string(&mut printed)?;
        let status = self.child.0.wait()?;
        if status.success() {
            return LoadResult::parse(&printed);
        }
        let mut said = String::new();
        self.stderr.read_to_string(&mut said)?;
        bail!("the load failed: {status}\n{}", tail(&said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_at_points_worked_out_by_hand() {
        let at = |busy: f64| quantile_s(2.0, 20.0, 0.95, busy).expect("it holds");
        assert!((at(0.0) - 1.0).abs() < 1e-9);
        assert!((at(0.3) - 1.3).abs() < 1e-9);
        assert_eq!(quantile_s(2.0, 20.0, 0.95, 1.0), None, "a backlog that never drains");
        assert_eq!(quantile_s(0.5, 20.0, 0.95, 0.0), None, "fewer than 5 % of the records wait");
    }

    #[test]
    fn the_catch_up_rate_of_an_exact_fluid() {
        // λ 100, μ 400, stopped from 3.6 to 5.6: the backlog of 200 is gone 200 ÷ 300 s later, at 6.27 s.
        let acknowledged = [100, 100, 100, 60, 0, 160, 180, 100];
        let slope = catch_up_per_s(&acknowledged, 5.6, 100.0).expect("seen");
        assert!((slope - 400.0).abs() < 1e-9, "{slope}");
        // μ 150: gone 4 s later, at 9.6 s; three whole seconds of it count.
        let slow = [100, 100, 100, 60, 0, 60, 150, 150, 150, 130, 100];
        let slope = catch_up_per_s(&slow, 5.6, 100.0).expect("seen");
        assert!((slope - 150.0).abs() < 1e-9, "{slope}");
    }

    #[test]
    fn a_catch_up_within_one_second_has_no_rate() {
        assert_eq!(catch_up_per_s(&[100, 100, 0, 280, 100], 3.1, 100.0), None);
        assert_eq!(catch_up_per_s(&[100, 100], 1.5, 100.0), None, "the load ended first");
    }
}
