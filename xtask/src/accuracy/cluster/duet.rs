//! The duet: two clusters that stand at once get the same paced load in the same seconds, and their figures are paired.
//! What disturbs the machine disturbs both. Here two runs of kdyno are started together; `compare` has a design of its own for that.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pairs::{Metric, Pair, Pairs, figure};
use super::rows::{Design, METRICS, PAIRS_PER_START, Row};
use super::runs::{Place, json_of};
use crate::bench::broker::Broker;

/// Warm-up of a pair, and of what conditions both sides together before the pairs of a start.
const PAIR_WARMUP: &str = "10s";
const PACED_WARMUP: &str = "40s";
/// Longest time between two readings of the brokers' processor time.
const READING: Duration = Duration::from_millis(100);
/// Least part of a window in which the other side's window is open too.
const OVERLAP_MIN: f64 = 0.8;
/// Seed of the order in which sides are launched, and of the arrivals of each pair.
const SEED: u64 = 20_261_122;
/// The acknowledged rate, with which processor time is divided.
const ACKED: Metric = Metric { case: 0, subject: "writers", name: "acked_per_s", sd_max: f64::NAN };
/// The median, the one latency that is judged.
const P50: usize = 2;
/// The brokers' processor time per record at a rate.
const CPU: usize = 0;

/// A pair as it is kept, one line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Ran {
    start: u64,
    /// A was launched first.
    is_a_first: bool,
    /// Time of the pair, and of the start that it ran on with its conditioning, s.
    pair_s: f64,
    start_s: f64,
    /// Part of the windows in which both were open.
    overlap: f64,
    a: Figures,
    b: Figures,
}

/// What one side showed; nothing where a figure must not be used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Figures {
    cpu_us_per_record: Option<f64>,
    response_p50_ns: Option<f64>,
}

/// One of the two clusters.
struct Side {
    name: &'static str,
    broker: Broker,
    target: PathBuf,
}

/// Measures so many pairs, those that are kept already included.
pub fn measure(place: &Place, pairs: u32) -> anyhow::Result<Vec<Row>> {
    let folder = place.folder_of("duet")?;
    let file = folder.join("pairs.jsonl");
    let mut ran = whole_starts(read(&file)?);
    let starts = pairs.div_ceil(PAIRS_PER_START) as usize;
    while ran.len() < starts * PAIRS_PER_START as usize {
        let start = ran.last().map_or(1, |ran| ran.start + 1);
        println!("  start {start} of {starts}");
        ran.extend(one_start(place, &folder, start)?);
        keep(&file, &ran)?;
    }
    ran.truncate(starts * PAIRS_PER_START as usize);
    let least = ran.iter().map(|ran| ran.overlap).fold(1.0, f64::min);
    println!("  duet: both windows were open for {:.0} % of their time or more", 100.0 * least);
    rows(&ran)
}

fn rows(ran: &[Ran]) -> anyhow::Result<Vec<Row>> {
    let seconds: f64 = ran.iter().map(|ran| ran.pair_s + ran.start_s / f64::from(PAIRS_PER_START)).sum();
    let minutes_per_pair = seconds / 60.0 / ran.len() as f64;
    let row = |at: usize, of: fn(&Figures) -> Option<f64>| -> anyhow::Result<Row> {
        let pairs = ran.iter().filter_map(|ran| {
            let log = (of(&ran.b)? / of(&ran.a)?).ln();
            Some(Pair { start: ran.start, log, is_b_second: ran.is_a_first })
        });
        let pairs = Pairs::new(pairs.collect(), &METRICS[at])?;
        Ok(Row { design: Design::Duet, metric: at, pairs, minutes_per_pair, printed: None })
    };
    Ok(vec![row(CPU, |figures| figures.cpu_us_per_record)?, row(P50, |figures| figures.response_p50_ns)?])
}

/// The pairs that are kept; none before the first start.
fn read(file: &Path) -> anyhow::Result<Vec<Ran>> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| file.display().to_string())?,
    };
    let line = |line: &str| serde_json::from_str(line).with_context(|| file.display().to_string());
    text.lines().map(line).collect()
}

/// Starts with all of their pairs: the mean of fewer is another kind of unit.
fn whole_starts(ran: Vec<Ran>) -> Vec<Ran> {
    let of = |start: u64| ran.iter().filter(|ran| ran.start == start).count();
    let whole = |one: &&Ran| of(one.start) == PAIRS_PER_START as usize;
    ran.iter().filter(whole).cloned().collect()
}

fn keep(file: &Path, ran: &[Ran]) -> anyhow::Result<()> {
    let lines = ran.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    File::create(file)?.write_all((lines.join("\n") + "\n").as_bytes())?;
    Ok(())
}

/// Starts both clusters, conditions them, runs the pairs of the start. They are conditioned one after the other as fast as
/// each goes, in an order that is drawn, and then together at the pace of the pairs: small batches at a pace take
/// another way through the brokers than full ones, which a JVM compiles when it is first taken often.
fn one_start(place: &Place, folder: &Path, start: u64) -> anyhow::Result<Vec<Ran>> {
    let begin = Instant::now();
    let folder = folder.join(format!("start-{start}"));
    // What is left of a start that was interrupted.
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let side = |name: &'static str| -> anyhow::Result<Side> {
        let broker = Broker::start_with(&place.bench, &format!("duet-{name}"), &["--heap", "512MiB"])?;
        let target = place.target(&broker)?;
        Ok(Side { name, broker, target })
    };
    let sides = [side("a")?, side("b")?];
    let is_a_conditioned_first = coin(SEED ^ start);
    for side in in_order(is_a_conditioned_first) {
        let mut condition = command(place, &sides[side], &folder, SEED);
        json_of(condition.args(["--set", "rate=max", "--set", "warmup=20s", "--set", "dur=5s"]))?;
    }
    together(place, &sides, &folder, SEED ^ start, is_a_conditioned_first, PACED_WARMUP)?;
    let start_s = begin.elapsed().as_secs_f64();
    let mut ran = Vec::new();
    for pair in 0..u64::from(PAIRS_PER_START) {
        let seed = SEED + start * u64::from(PAIRS_PER_START) + pair;
        let is_a_first = coin(seed);
        let begin = Instant::now();
        let (windows, [a, b]) = together(place, &sides, &folder, seed, is_a_first, PAIR_WARMUP)?;
        let overlap = overlap(windows);
        ensure!(overlap >= OVERLAP_MIN, "the windows overlap by {:.0} % only", 100.0 * overlap);
        ran.push(Ran { start, is_a_first, pair_s: begin.elapsed().as_secs_f64(), start_s, overlap, a, b });
    }
    Ok(ran)
}

/// The places of both sides, in the order in which they take their turn.
fn in_order(is_a_first: bool) -> [usize; 2] {
    if is_a_first { [0, 1] } else { [1, 0] }
}

/// Whether a number's hash is odd (SplitMix64).
fn coin(of: u64) -> bool {
    let mut z = of.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) & 1 == 1
}

fn command(place: &Place, side: &Side, folder: &Path, seed: u64) -> Command {
    let mut command = Command::new(&place.bench.kdyno);
    command.arg("run").arg(place.scenarios.join("duet.yaml")).arg("--target").arg(&side.target);
    command.args(["--share", "--yes", "--no-progress", "--json", "--seed", &seed.to_string()]);
    // Runs that begin in the same second would have one name in one folder.
    command.arg("--out").arg(folder.join(side.name));
    command
}

/// Both sides under load, launched in the order that was drawn, while the brokers' processor time is read.
fn together(
    place: &Place,
    sides: &[Side; 2],
    folder: &Path,
    seed: u64,
    is_a_first: bool,
    warmup: &str,
) -> anyhow::Result<([Window; 2], [Figures; 2])> {
    let is_over = AtomicBool::new(false);
    let (documents, readings) = thread::scope(|scope| {
        let reader = scope.spawn(|| read_processors(sides, &is_over));
        let launch = |side: &Side| {
            let mut command = command(place, side, folder, seed);
            command.args(["--set", &format!("warmup={warmup}")]);
            scope.spawn(move || json_of(&mut command))
        };
        let [first, second] = in_order(is_a_first);
        let mut running = [(first, launch(&sides[first])), (second, launch(&sides[second]))];
        running.sort_by_key(|(side, _)| *side);
        let documents = running.map(|(_, run)| joined(run));
        is_over.store(true, Ordering::Relaxed);
        (documents, joined(reader))
    });
    let [a, b] = documents;
    let [of_a, of_b] = readings?;
    let (a, b) = (a?, b?);
    let windows = [Window::of(&a)?, Window::of(&b)?];
    Ok((windows, [figures(&a, windows[0], &of_a)?, figures(&b, windows[1], &of_b)?]))
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread of the duet panicked"))?
}

/// Wall clock, ns, and processor time so far, s.
type Reading = (f64, f64);

fn read_processors(sides: &[Side; 2], is_over: &AtomicBool) -> anyhow::Result<[Vec<Reading>; 2]> {
    let mut readings = [Vec::new(), Vec::new()];
    while !is_over.load(Ordering::Relaxed) {
        for (side, readings) in sides.iter().zip(&mut readings) {
            let now_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as f64;
            readings.push((now_ns, side.broker.cpu_s()?));
        }
        thread::sleep(READING);
    }
    Ok(readings)
}

/// A measure phase on the wall clock, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Window {
    begin_ns: f64,
    end_ns: f64,
}

impl Window {
    /// Of the first trial of a run's document.
    fn of(document: &Value) -> anyhow::Result<Window> {
        let t0 = document["trials"][0]["t0_unix_ns"].as_str().and_then(|text| text.parse::<f64>().ok());
        let phases = document["series"][0]["phases"].as_array();
        let measure = phases.and_then(|phases| phases.iter().find(|phase| phase["phase"] == "measure"));
        let at = |name: &str| measure.and_then(|phase| phase[name].as_f64());
        let (Some(t0), Some(begin), Some(end)) = (t0, at("start_ns"), at("end_ns")) else {
            return Err(anyhow!("a run of the duet has no measure phase"));
        };
        Ok(Window { begin_ns: t0 + begin, end_ns: t0 + end })
    }

    fn length_ns(self) -> f64 {
        self.end_ns - self.begin_ns
    }
}

/// Part of the longer window in which both are open.
fn overlap([a, b]: [Window; 2]) -> f64 {
    let both = a.end_ns.min(b.end_ns) - a.begin_ns.max(b.begin_ns);
    (both / a.length_ns().max(b.length_ns())).max(0.0)
}

fn figures(document: &Value, window: Window, readings: &[Reading]) -> anyhow::Result<Figures> {
    let cpu_s =
        at(readings, window.end_ns).zip(at(readings, window.begin_ns)).map(|(end, begin)| end - begin);
    let acked_per_s = figure(document, &ACKED)?;
    let records = acked_per_s.map(|per_s| per_s * window.length_ns() / 1e9);
    Ok(Figures {
        cpu_us_per_record: cpu_s.zip(records).map(|(cpu_s, records)| cpu_s * 1e6 / records),
        response_p50_ns: figure(document, &METRICS[P50])?,
    })
}

/// Processor time at an instant, taken to grow evenly between readings.
fn at(readings: &[Reading], instant_ns: f64) -> Option<f64> {
    let next = readings.iter().position(|(at_ns, _)| *at_ns >= instant_ns).filter(|next| *next > 0)?;
    let ((from_ns, from), (to_ns, to)) = (readings[next - 1], readings[next]);
    Some(from + (to - from) * (instant_ns - from_ns) / (to_ns - from_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ran(start: u64, is_a_first: bool, cpu: [f64; 2]) -> Ran {
        let [a, b] = cpu.map(|cpu| Figures { cpu_us_per_record: Some(cpu), response_p50_ns: Some(1e6) });
        Ran { start, is_a_first, pair_s: 30.0, start_s: 60.0, overlap: 0.95, a, b }
    }

    #[test]
    fn processor_time_is_that_of_the_window_alone() {
        let t0 = 1_000e9;
        let document = json!({
            "trials": [{"trial": 1, "t0_unix_ns": format!("{t0:.0}")}],
            "series": [{"phases": [{"phase": "warmup", "start_ns": 0, "end_ns": 2e9},
                {"phase": "measure", "start_ns": 2e9, "end_ns": 6e9}]}],
            "findings": [
                {"scope": {"trial": 1}, "subject": "writers", "metric": "acked_per_s", "value": 1000.0},
                {"scope": {"trial": 1}, "subject": "writers", "metric": "response.p50", "value": 2e6},
            ],
        });
        let window = Window::of(&document).expect("a window");
        // Half a core until second 3, then a quarter of one.
        let readings = [(t0, 10.0), (t0 + 3e9, 11.5), (t0 + 7e9, 12.5)];
        let of = figures(&document, window, &readings).expect("figures");
        // 0.5 s until second 3, 0.75 s from there to second 6, of 4000 records.
        assert!((of.cpu_us_per_record.expect("read") - 1.25e6 / 4000.0).abs() < 1e-6, "{of:?}");
        assert_eq!(of.response_p50_ns, Some(2e6));
        let late = figures(&document, window, &readings[1..]).expect("figures");
        assert_eq!(late.cpu_us_per_record, None, "what was not read is not guessed");
        assert!(Window::of(&json!({"trials": []})).is_err());
    }

    #[test]
    fn windows_overlap_by_what_both_share() {
        let window = |begin_ns, end_ns| Window { begin_ns, end_ns };
        assert!((overlap([window(0.0, 10.0), window(2.0, 12.0)]) - 0.8).abs() < 1e-9);
        assert!(overlap([window(0.0, 10.0), window(11.0, 12.0)]).abs() < 1e-9);
    }

    #[test]
    fn a_start_that_was_interrupted_is_measured_again() {
        let kept =
            whole_starts(vec![ran(1, true, [1.0, 1.0]), ran(1, false, [1.0, 1.0]), ran(2, true, [1.0, 1.0])]);
        assert_eq!(kept.iter().map(|ran| ran.start).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let file = std::env::temp_dir().join(format!("xtask-duet-{}.jsonl", std::process::id()));
        assert_eq!(read(&file).expect("no file yet"), []);
        let mut pairs = vec![ran(1, true, [1.0, 2.0]), ran(1, false, [1.0, 3.0])];
        pairs[1].b.response_p50_ns = None;
        keep(&file, &pairs).expect("kept");
        let back = read(&file);
        std::fs::remove_file(&file).expect("it goes");
        assert_eq!(back.expect("read"), pairs);
    }

    #[test]
    fn pairs_of_a_duet_have_order_and_time() {
        let pairs = [ran(1, true, [1.0, 1.1]), ran(1, false, [1.0, 1.0 / 1.1])];
        let rows = rows(&pairs).expect("rows");
        let cpu = &rows[0];
        assert!((cpu.minutes_per_pair - 1.0).abs() < 1e-9, "30 s, and half of a start of 60 s");
        assert!((cpu.pairs.second_over_first().0 - 1.1_f64.ln()).abs() < 1e-9);
        assert!(cpu.pairs.mean().abs() < 1e-9);
    }
}
