//! `java-driver`: what kdyno adds to Kafka's own client where it drives that: the CPU time of all that handles a
//! record, compared with a plain application with the same client, the same settings and rate, on the null broker.
//!
//! Threads that compile and collect garbage, and the JVM's others, are left out on both sides: from round to round they differ
//! by more than what is looked for.

mod program;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use self::program::{Program, ProgressReading};
use super::contest::{Contest, Shown, UNBOUNDED};
use super::process::{measured, words};
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::thousands;

const RELEASE: &str = "4.1.2";
const PARTITIONS: u32 = 4;
const VALUE_BYTES: &str = "256";
const SETTINGS: [&str; 3] = ["acks=all", "linger.ms=5", "batch.size=65536"];
/// One at which the client has nothing to do most of the time, one at which it is busy, and as fast as it goes.
const RATES: [Option<u32>; 3] = [Some(50_000), Some(200_000), None];
/// Records of a load that is ended before: more than any client sends.
const RECORDS: &str = "1000000000";
const SECONDS: &str = "1000";
const PLAIN_PRODUCER: &str = include_str!("PlainProducer.java");

/// The threads of the driven process by which kdyno feeds and reads it; `java` is the one that runs `main`.
const FEEDING: [&str; 3] = ["java", "kdyno-frames", "kdyno-readings"];

/// How much more threads of client and application may take where kdyno drives them: they are what `client-check` judges.
const CLIENT_RATIO_MAX: f64 = 1.10;

/// From when on threads are read, and until when, s: compilers are done with most by then.
const INSTANTS: [u64; 2] = [20, 35];

/// kdyno with Kafka's client; its run file goes into the folder.
fn driven(bench: &Setup, folder: &Path, bootstrap: &str, rate: Option<u32>) -> Command {
    let mut command = Command::new(&bench.kdyno);
    command.current_dir(folder);
    command.args(["producer-perf-test", "--driver", &format!("java:{RELEASE}")]);
    command.args(["--bootstrap-server", bootstrap, "--topic", "bench", "--num-records", RECORDS]);
    command.args(["--record-size", VALUE_BYTES, "--reporting-interval", "1000"]);
    command.args(["--throughput", &rate.map_or_else(|| "-1".to_owned(), |rate| rate.to_string())]);
    command.arg("--command-property").args(SETTINGS);
    command
}

/// The plain application, with program, options and jars of the driven one (`java`).
fn plain(java: &[String], bootstrap: &str, rate: Option<u32>) -> Command {
    let mut command = Command::new(&java[0]);
    command.args(&java[1..]).args(["PlainProducer", "bench"]);
    command.args([&rate.map_or_else(|| "max".to_owned(), |rate| rate.to_string()), SECONDS, VALUE_BYTES]);
    command.arg(format!("bootstrap.servers={bootstrap}")).args(SETTINGS);
    command
}

/// Compiles the plain application into a folder; the command line that runs classes of it and of the driven
/// process, which was started by `java`.
fn compile(mut java: Vec<String>, folder: &Path) -> anyhow::Result<Vec<String>> {
    let source = folder.join("PlainProducer.java");
    std::fs::write(&source, PLAIN_PRODUCER)?;
    let mut compiler = Command::new(Path::new(&java[0]).with_file_name("javac"));
    let class_path = java.last_mut().context("a command line without words")?;
    measured(compiler.args(["-cp", class_path, "-d"]).arg(folder).arg(source))?;
    *class_path = format!("{class_path}:{}", folder.display());
    Ok(java)
}

/// What a record took in one round, µs.
struct Cost {
    /// Threads of client and application.
    client: f64,
    /// Threads that feed and read the Java process.
    feeding: f64,
    /// kdyno's worker: schedule, records, histograms.
    worker: f64,
    per_s: f64,
}

impl Cost {
    fn between(begin: &ProgressReading, end: &ProgressReading, is_driven: bool) -> Self {
        // A line may be read late: records and CPU time are each divided by the seconds they are of.
        let per_s = (end.records - begin.records) as f64 / (end.lines - begin.lines) as f64;
        let read_s = (end.at - begin.at).as_secs_f64();
        let us = |cpu_s: f64| cpu_s / read_s / per_s * 1e6;
        let java = |is_wanted: &dyn Fn(&str) -> bool| us(end.java_s(is_wanted) - begin.java_s(is_wanted));
        let is_feeding = |name: &str| is_driven && FEEDING.contains(&name);
        Self {
            client: java(&|name| !is_feeding(name)),
            feeding: java(&is_feeding),
            worker: if is_driven { us(end.parent_s - begin.parent_s) } else { 0.0 },
            per_s,
        }
    }
}

/// µs and records/s of the plain application; µs of client threads and records/s of the driven one, the first of these ÷
/// plain, µs of feeding threads and of the worker; all of its µs ÷ plain.
fn figures_of(plain: &Cost, driven: &Cost) -> [f64; 8] {
    let Cost { client, feeding, worker, per_s } = *driven;
    let all = client + feeding + worker;
    [plain.client, plain.per_s, client, per_s, client / plain.client, feeding, worker, all / plain.client]
}

fn contest(is_quick: bool) -> Contest<'static> {
    // In a fifth of the time compilers are still busy.
    let bounds = if is_quick { UNBOUNDED } else { 0.0..=CLIENT_RATIO_MAX };
    let name = |rate: Option<u32>| {
        rate.map_or_else(|| "max".to_owned(), |rate| format!("{}/s", thousands(rate.into())))
    };
    Contest {
        heading: "µs CPU per record",
        sides: RATES.map(|rate| (name(rate), bounds.clone())).into(),
        figures: &[
            ("plain application", Shown::Spread(2)),
            ("/s", Shown::Median),
            ("client threads, driven", Shown::Spread(2)),
            ("/s", Shown::Median),
            ("÷ plain", Shown::Judged(2)),
            ("feeding threads", Shown::Spread(2)),
            ("worker", Shown::Spread(2)),
            ("all ÷ plain", Shown::Spread(2)),
        ],
        group: 1,
        unmeasured: 0,
    }
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let java = {
        let broker = null_broker(bench, PARTITIONS)?;
        let mut program = Program::start(&mut driven(bench, folder, &broker.first_line, RATES[0]))?;
        program.reading_after(Duration::ZERO)?;
        compile(program.java_command()?, folder)?
    };
    println!("  driven: {}", words(&driven(bench, folder, "127.0.0.1:PORT", RATES[0])));
    println!("  plain: {}", words(&plain(&java, "127.0.0.1:PORT", RATES[0])));
    contest(bench.options.quick).run(&bench.options, |at, round| {
        let measure = |is_driven: bool| -> anyhow::Result<Cost> {
            let broker = null_broker(bench, PARTITIONS)?;
            let mut command = match is_driven {
                true => driven(bench, folder, &broker.first_line, RATES[at]),
                false => plain(&java, &broker.first_line, RATES[at]),
            };
            let mut program = Program::start(&mut command)?;
            let part = if bench.options.quick { 5 } else { 1 };
            let [begin, end] =
                INSTANTS.map(|instant| program.reading_after(Duration::from_secs(instant / part)));
            Ok(Cost::between(&begin?, &end?, is_driven))
        };
        let (first, second) = (measure(round % 2 == 0)?, measure(round % 2 == 1)?);
        let (plain, driven) = if round % 2 == 0 { (second, first) } else { (first, second) };
        Ok(figures_of(&plain, &driven).into())
    })?;
    if bench.options.quick {
        println!("  a fifth of the time, in which compilers are still busy: no judgement");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::program::tests::reading;
    use super::*;
    use std::time::Instant;

    /// Ten lines of a second each, read in twelve seconds: a record took what the threads took in a second by what was sent in one.
    #[test]
    fn a_record_takes_what_threads_took_between_two_readings() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(12);
        let first =
            [("java", 1.0), ("kafka-producer-", 5.0), ("kdyno-client-0", 2.0), ("C2 CompilerThre", 9.0)];
        let last =
            [("java", 1.6), ("kafka-producer-", 11.0), ("kdyno-client-0", 4.4), ("C2 CompilerThre", 30.0)];
        let (begin, end) = (reading(begin, 1_000, 20, &first, 3.0), reading(end, 501_000, 30, &last, 3.96));
        let is = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        let driven = Cost::between(&begin, &end, true);
        is(driven.per_s, 50_000.0);
        // 6 + 2.4 s of 12 s at 50,000/s.
        is(driven.client, 14.0);
        is(driven.feeding, 1.0);
        is(driven.worker, 1.6);
        // The thread that runs `main` is the plain application's own, and its parent handles no load.
        let plain = Cost::between(&begin, &end, false);
        is(plain.client, 15.0);
        assert_eq!((plain.feeding, plain.worker), (0.0, 0.0));
        is(figures_of(&plain, &driven)[7], 16.6 / 15.0);
    }
}
