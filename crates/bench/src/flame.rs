//! `bench-flame`: a flame graph of stacks that `make bench` has sampled of a worker.

use anyhow::Context;
use clap::Args;
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_report::flame::{self, Graph};
use std::path::PathBuf;

/// What `make bench` draws of stacks that it has sampled.
#[derive(Debug, Args)]
pub struct BenchFlameArgs {
    /// The stacks, collapsed: one a line, its frames with `;` between them and its count
    stacks: PathBuf,
    /// Above the graph
    #[arg(long)]
    title: String,
    /// Where to write the SVG
    #[arg(long)]
    out: PathBuf,
}

/// Draws them.
pub fn run(args: &BenchFlameArgs) -> anyhow::Result<()> {
    let name = || args.stacks.display().to_string();
    let stacks =
        Stacks::read(&std::fs::read_to_string(&args.stacks).with_context(name)?).with_context(name)?;
    let graph =
        Graph { title: args.title.clone(), kind: FlameKind::Cpu, sides: vec![stacks], held: Vec::new() };
    std::fs::write(&args.out, flame::document(&graph)).with_context(|| args.out.display().to_string())
}
