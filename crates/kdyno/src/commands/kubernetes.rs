//! `kdyno kubernetes`: the rights that pods take, what is applied for them, what runs left of them.

use crate::cli::KubernetesCommand;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{generators, out};
use kdyno_kubernetes::{PodsError, objects};
use kdyno_model::generator::GeneratorPods;
use std::path::Path;
use std::sync::Arc;

/// What a rendered secret has in the place of what is made for each run.
const MADE: &str = "made for each run";

/// Prints or cleans.
pub(crate) fn kubernetes(command: &KubernetesCommand) -> CommandResult {
    match command {
        KubernetesCommand::Role(args) => out::json(&objects::role(&args.namespace))?,
        KubernetesCommand::Render(args) => {
            let pods = pods_of(&args.file)?;
            let made = [objects::secret(&pods, 0, [MADE; 3]), objects::job(&pods, 0)];
            out::json(&objects::listed(made.into()))?;
        }
        KubernetesCommand::Clean(args) => {
            let pods = pods_of(&args.file)?;
            clean(&pods, args.yes)?;
        }
    }
    Ok(Exit::Done)
}

fn clean(pods: &GeneratorPods, delete: bool) -> Result<(), Failure> {
    let names = kdyno_kubernetes::clean(pods, delete).map_err(failure)?;
    if names.is_empty() {
        out::note("no job of ours is in the namespace");
        return Ok(());
    }
    out::text(names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    out::note(&match delete {
        true => format!("{} jobs deleted, with their pods and secrets", names.len()),
        false => "--yes deletes them; a run that is still going on needs its own".to_owned(),
    });
    Ok(())
}

fn failure(error: PodsError) -> Failure {
    let hint = error.hint;
    let failure = Failure::tool(error);
    if hint.is_empty() { failure } else { failure.hint(hint) }
}

fn pods_of(file: &Path) -> Result<Arc<GeneratorPods>, Failure> {
    let read = generators::read(file)?;
    GeneratorPods::among(&read.hosts).ok_or_else(|| {
        Failure::usage(format!("{} names no pods", file.display()))
            .hint("`kubernetes: {image: NAME@sha256:…, pods: 2}`")
    })
}
