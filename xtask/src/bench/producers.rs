//! `producers`: what keys and idempotence cost the worker for each record, as a ratio to the same records without them in the
//! same round, against the null broker.

use super::load::Load;
use super::process::words;
use super::sender::null_broker;
use super::setup::Setup;
use super::stats::{Series, Table, thousands};

/// Acknowledged by all replicas, as an idempotent producer asks for.
const ACKS: &str = "-1";

/// What a producer has besides, how `bench-load` is asked for it, and the most that it may cost, ÷ without it.
const VARIANTS: [(&str, &[&str], f64); 2] = [
    ("100 000 keys by Zipf's law", &["--zipf-keys", "100000"], 1.5),
    ("idempotence", &["--idempotent"], 1.1),
];

fn load(bench: &Setup, further: &[&str], bootstrap: &str) -> Load {
    let seconds = if bench.options.quick { 3 } else { 20 };
    let further = further.iter().map(|&word| word.to_owned()).collect();
    Load { unique: true, acks: ACKS, further, ..Load::at_max(bootstrap, "bench", seconds) }
}

/// Acknowledged records/s, and CPU per record, µs.
fn run_one(bench: &Setup, further: &[&str]) -> anyhow::Result<(f64, f64)> {
    let broker = null_broker(bench, 6)?;
    let outcome = load(bench, further, &broker.first_line).run(bench)?;
    Ok((outcome.number("acked_per_s")?, outcome.cpu_us_per_record()))
}

/// Figures of one variant over the rounds.
#[derive(Default)]
struct Figures {
    rate: Series,
    cpu_us: Series,
    plain_cpu_us: Series,
    ratio: Series,
}

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    println!("  each: {}", words(&load(bench, VARIANTS[0].1, "127.0.0.1:PORT").command(bench)));
    let mut figures: [Figures; VARIANTS.len()] = Default::default();
    for _ in 0..bench.options.rounds {
        for ((_, further, _), figures) in VARIANTS.iter().zip(&mut figures) {
            let (_, before_us) = run_one(bench, &[])?;
            let (rate, cpu_us) = run_one(bench, further)?;
            let (_, after_us) = run_one(bench, &[])?;
            let plain_us = f64::midpoint(before_us, after_us);
            figures.rate.push(rate);
            figures.cpu_us.push(cpu_us);
            figures.plain_cpu_us.push(plain_us);
            figures.ratio.push(cpu_us / plain_us);
        }
    }
    let mut table = Table::new(&[
        "128 B unique, with",
        "acknowledged/s",
        "µs CPU per record",
        "without",
        "ratio",
        "at most",
    ]);
    for ((name, _, ratio_max), figures) in VARIANTS.iter().zip(&figures) {
        let verdict = if figures.ratio.median() <= *ratio_max { "" } else { " ✗" };
        table.row(vec![
            (*name).to_owned(),
            thousands(figures.rate.median()),
            figures.cpu_us.show(4),
            figures.plain_cpu_us.show(4),
            figures.ratio.show(2),
            format!("{ratio_max}{verdict}"),
        ]);
    }
    print!("{table}");
    println!("  without: the mean of the runs just before and just after");
    Ok(())
}
