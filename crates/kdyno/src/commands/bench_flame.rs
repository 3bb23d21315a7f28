//! `kdyno bench-flame` (hidden): a flame graph of stacks that `make bench` has sampled of a worker.

use crate::cli::BenchFlameArgs;
use crate::failure::{CommandResult, Exit, Failure};
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_report::flame::{self, Graph};

/// Draws them.
pub(crate) fn bench_flame(args: &BenchFlameArgs) -> CommandResult {
    let failed = |path: &std::path::Path, why: &dyn std::fmt::Display| {
        Failure::tool(format!("{}: {why}", path.display()))
    };
    let text = std::fs::read_to_string(&args.stacks).map_err(|error| failed(&args.stacks, &error))?;
    let stacks = Stacks::read(&text).map_err(|error| failed(&args.stacks, &error))?;
    let graph =
        Graph { title: args.title.clone(), kind: FlameKind::Cpu, sides: vec![stacks], held: Vec::new() };
    let picture = flame::document(&graph);
    std::fs::write(&args.out, picture).map_err(|error| failed(&args.out, &error))?;
    Ok(Exit::Done)
}
