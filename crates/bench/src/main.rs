//! `kdyno-bench`: what `make bench` and `make accuracy` run next to the program that they measure. It is in no release.
//!
//! Programs of earlier commits have the same commands as hidden ones of `kdyno`, so `make bench AGAINST=COMMIT` finds
//! them there.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod args;
mod fake_broker;
mod load;
mod probes;
mod replay;
mod tally;

use clap::{Parser, Subcommand};
use serde_json::Value;
use std::process::ExitCode;

/// What benchmarks run next to kdyno
#[derive(Debug, Parser)]
#[command(name = "kdyno-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Drive one worker of kdyno against a broker, without a scenario
    BenchLoad(load::BenchLoadArgs),
    /// Send produce requests built beforehand, again and again
    BenchReplay(replay::BenchReplayArgs),
    /// Read the probes of a process and of this host
    BenchProbes(probes::BenchProbesArgs),
    /// Read how late a relay was by its own account
    BenchTally(tally::BenchTallyArgs),
    /// Be a cluster that answers late or wrongly
    FakeBroker(fake_broker::FakeBrokerArgs),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(printed) => {
            if let Some(document) = printed {
                println!("{document}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command; what it prints at its end.
fn run(command: Command) -> anyhow::Result<Option<Value>> {
    match command {
        Command::BenchLoad(args) => load::run(&args).map(Some),
        Command::BenchReplay(args) => replay::run(&args).map(Some),
        Command::BenchProbes(args) => probes::run(&args).map(Some),
        Command::BenchTally(args) => tally::run(&args).map(Some),
        Command::FakeBroker(args) => fake_broker::run(&args).map(|never| match never {}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_fake_broker::{FakeCluster, FakeConfig, tcp};
    use std::path::Path;

    /// Runs a command with these words, at a fake cluster where one is needed.
    fn printed(words: &[&str]) -> anyhow::Result<Option<Value>> {
        let words = std::iter::once("kdyno-bench").chain(words.iter().copied());
        run(Cli::try_parse_from(words).expect("a command").command)
    }

    #[test]
    fn a_load_and_a_replay_have_every_record_acknowledged() {
        let server =
            tcp::spawn(FakeCluster::new(FakeConfig::new(2).topic("bench", 4))).expect("a fake cluster");
        let bootstrap = server.bootstrap().join(",");
        let at = ["--bootstrap", &bootstrap, "--topic", "bench"];
        // The program of the same build, which all tests of the workspace make.
        let test = std::env::current_exe().expect("this program");
        let kdyno = test.ancestors().nth(2).map(|folder| folder.join("kdyno")).expect("a folder above deps");
        let kdyno = kdyno.to_str().expect("plain path");
        assert!(Path::new(kdyno).is_file(), "build the workspace's tests: there is no {kdyno}");
        let load = ["bench-load", "--kdyno", kdyno, "--rate", "500", "--seconds", "1"];
        let load = printed(&[&load[..], &at].concat()).expect("it runs").expect("a document");
        let counts = ["offered", "acknowledged", "failed", "unresolved"].map(|name| load[name].as_u64());
        assert_eq!(counts, [Some(500), Some(500), Some(0), Some(0)], "{load}");
        let replay = ["bench-replay", "--records", "1000", "--batches-per-request", "2"];
        let replay = printed(&[&replay[..], &at].concat()).expect("it runs").expect("a document");
        assert!(replay["acknowledged"].as_u64() >= Some(1000), "{replay}");
        drop(server);
    }

    #[test]
    fn a_process_is_probed_and_a_missing_tally_is_an_error() {
        let own = std::process::id().to_string();
        let read = printed(&["bench-probes", "--pid", &own, "--seconds", "1"]).expect("it is read");
        assert!(read.is_some_and(|read| read["seconds"].as_f64() >= Some(1.0)));
        assert!(printed(&["bench-tally", "no-such-tally"]).is_err());
    }
}
