//! A small library system on Kafka: three services over HTTP, and a maker of files for its data import. See README.md.

mod circulation;
mod consume;
mod data_import;
mod database;
mod fault;
mod generate;
mod inventory;
mod kafka;
mod marc;
mod messages;
mod outbox;
mod refusal;
mod service;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A small library system on Kafka and PostgreSQL.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check-out and check-in: users, loan rules and loans.
    Circulation(circulation::Options),
    /// Instances (what a library has) and their items (the copies that are lent).
    Inventory(inventory::Options),
    /// Import of MARC 21 files into the inventory.
    DataImport(data_import::Options),
    /// Writes a MARC 21 file of records made up from a seed.
    Generate(generate::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = std::env::var("LIBRARY_LOG").ok().and_then(|level| level.parse().ok());
    tracing_subscriber::fmt()
        .with_max_level(level.unwrap_or(tracing::Level::INFO))
        .with_writer(std::io::stderr)
        .init();
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Circulation(options) => circulation::run(options).await,
        Command::Inventory(options) => inventory::run(options).await,
        Command::DataImport(options) => data_import::run(options).await,
        Command::Generate(options) => generate::run(&options),
    }
}
