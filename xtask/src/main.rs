//! The project's own chores, run as `cargo xtask CHORE`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "a command line tool")]

mod accuracy;
mod bench;
mod messages;
mod summary;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use bench::arguments::parse;

const USAGE: &str = "\
usage: cargo xtask CHORE

  tidy [--write]        check the rules of docs/ARCHITECTURE.md; --write refreshes generated text
  messages --check      compare the messages made from Kafka's specifications; --write makes them
  test [ARGUMENTS]      cargo test for the workspace, counts on the last line
  accuracy [NUMBER]…    known truths on real clocks, a table (build with --release); also --kdyno PATH
  bench [NAME]…         cost and rates beside the floor and the peers (build with --release)
    --quick             short and once: to try the harness
    --rounds N          rounds of every alternation [default: 5]
    --kdyno PATH        the program to measure [default: target/release/kdyno]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<i32> {
    let Some((chore, rest)) = arguments.split_first() else { bail!(USAGE) };
    match chore.as_str() {
        "tidy" => match rest {
            [] => tidy::run(&root()?, false)?,
            [write] if write == "--write" => tidy::run(&root()?, true)?,
            _ => bail!(USAGE),
        },
        "messages" => match rest {
            [check] if check == "--check" => messages::run(&root()?, false)?,
            [write] if write == "--write" => messages::run(&root()?, true)?,
            _ => bail!(USAGE),
        },
        "test" => return summary::run(rest),
        "accuracy" => accuracy(rest)?,
        "accuracy-bare" => accuracy_bare(rest)?,
        "accuracy-echo" => accuracy::echo::serve(parse(rest, &[], &["delay-us"])?.need("delay-us")?)?,
        "bench" => bench(rest)?,
        "bench-sink" => bench::pipe::sink()?,
        "bench-sleep" => bench_sleep(rest)?,
        "bench-write" => bench_write(rest)?,
        "help" | "--help" | "-h" => println!("{USAGE}"),
        _ => bail!(USAGE),
    }
    Ok(0)
}

fn accuracy(arguments: &[String]) -> anyhow::Result<()> {
    let parsed = parse(arguments, &[], &["kdyno"])?;
    accuracy::run(&root()?, &parsed.words, parsed.get("kdyno")?)
}

fn accuracy_bare(arguments: &[String]) -> anyhow::Result<()> {
    let parsed = parse(arguments, &[], &["to", "rate", "seconds"])?;
    let to: String = parsed.need("to")?;
    accuracy::echo::ask(&to, parsed.need("rate")?, parsed.need("seconds")?)
}

fn bench(arguments: &[String]) -> anyhow::Result<()> {
    let parsed = parse(arguments, &["quick"], &["rounds", "kdyno"])?;
    let quick = parsed.has("quick");
    let rounds = parsed.get("rounds")?.unwrap_or(if quick { 1 } else { 5 });
    bench::run(&root()?, &parsed.words, bench::Options { quick, rounds }, parsed.get("kdyno")?)
}

fn bench_write(arguments: &[String]) -> anyhow::Result<()> {
    let parsed = parse(arguments, &[], &["to", "slice", "pool", "milliseconds"])?;
    let to: String = parsed.need("to")?;
    let length = Duration::from_millis(parsed.need("milliseconds")?);
    bench::pipe::write(&to, parsed.need("slice")?, parsed.need("pool")?, length)
}

fn bench_sleep(arguments: &[String]) -> anyhow::Result<()> {
    let parsed = parse(arguments, &[], &["tick-us", "rate", "seconds"])?;
    bench::sleeper::run(parsed.need::<u64>("tick-us")? * 1000, parsed.need("rate")?, parsed.need("seconds")?)
}

/// The workspace's folder: the parent of this package.
fn root() -> anyhow::Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands below the workspace")?.to_owned())
}
