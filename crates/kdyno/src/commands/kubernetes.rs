//! `kdyno kubernetes`: the rights that pods take, what is applied for them, what runs left of them and on a claim; what clients
//! of a cluster of Strimzi's need.

use crate::cli::{KubernetesCleanArgs, KubernetesCommand, KubernetesFetchArgs, KubernetesPropertiesArgs};
use crate::environment::runs_dir;
use crate::execution::random_u64;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{generators, out, signals};
use kdyno_kubernetes::{PodsError, lab_pod, objects, strimzi};
use kdyno_lab::generator::LabPod;
use kdyno_model::generator::GeneratorPods;
use kdyno_scenario::input::listed;
use kdyno_testbed::secret_file;
use std::path::Path;
use std::sync::Arc;

/// What a rendered secret has in the place of what is made for each run.
const MADE: &str = "made for each run";

/// Prints, cleans or writes.
pub(crate) fn kubernetes(command: &KubernetesCommand) -> CommandResult {
    match command {
        KubernetesCommand::Role(args) => {
            let more = if args.strimzi { strimzi::RIGHTS } else { &[] };
            out::json(&objects::role(&args.namespace, more))?;
        }
        KubernetesCommand::Render(args) => {
            let pods = pods_of(&args.file)?;
            let job = if args.lab { lab_pod::job(&pods, 0) } else { objects::job(&pods, 0) };
            let made = [objects::secret(&pods, 0, [MADE; 3]), job];
            out::json(&objects::listed(made.into()))?;
        }
        KubernetesCommand::Clean(args) => clean(args)?,
        KubernetesCommand::Fetch(args) => fetch(args)?,
        KubernetesCommand::Properties(args) => properties(args)?,
    }
    Ok(Exit::Done)
}

fn clean(args: &KubernetesCleanArgs) -> Result<(), Failure> {
    let pods = args.file.as_deref().map(pods_of).transpose()?;
    let (context, namespace) = match &pods {
        Some(pods) => (pods.context.as_deref(), pods.namespace.as_deref()),
        None => (args.context.as_deref(), args.namespace.as_deref()),
    };
    let found = kdyno_kubernetes::clean(context, namespace, args.yes).map_err(failure)?;
    if found.is_empty() {
        out::note("nothing of ours is in the namespace");
        return Ok(());
    }
    out::text(found.iter().map(|one| format!("{one}\n")).collect::<String>())?;
    out::note(&match args.yes {
        true => format!("{} objects deleted, with their pods and secrets", found.len()),
        false => "--yes deletes them; a run that is still going on needs its own".to_owned(),
    });
    Ok(())
}

/// A pod that mounts the claim sends the file.
fn fetch(args: &KubernetesFetchArgs) -> Result<(), Failure> {
    let pods = pods_of(&args.file)?;
    let Some(claim) = &pods.claim else {
        return Err(Failure::usage(format!("{} names no `claim`", args.file.display()))
            .hint("without one a run file goes with the pod of its lab, once it is copied"));
    };
    if args.run.contains('/') {
        return Err(Failure::usage(format!("{} is a path, not the name of a run file", args.run))
            .hint("`--out DIR` says in which folder its copy is to be"));
    }
    let path = runs_dir(args.out.as_deref())?.join(&args.run);
    if path.exists() {
        return Err(Failure::usage(format!("{} is there already", path.display())));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::tool)?;
    }
    let stop = signals::stop_flag()?;
    let mut lab = LabPod::start(&pods, random_u64(), &stop, &mut |what| out::note(&what))?;
    let mut there = Vec::new();
    let found = lab.fetch(&args.run, &path, &mut there, Some(&stop));
    if let Err(error) = lab.remove() {
        out::note(&format!("warning: {error}"));
    }
    if found? {
        out::note(&format!("run     {}", path.display()));
        return Ok(());
    }
    let names =
        if there.is_empty() { "no run file".to_owned() } else { listed(there.iter().map(String::as_str)) };
    Err(Failure::usage(format!("claim {claim} has no run file {}", args.run)).hint(format!("it has {names}")))
}

fn properties(args: &KubernetesPropertiesArgs) -> Result<(), Failure> {
    let Some(name) = args.out.file_name() else {
        return Err(Failure::usage(format!("{} names no file", args.out.display())));
    };
    // Before it reads the user's password.
    kdyno_credentials::close_memory();
    let place = (args.context.as_deref(), args.namespace.as_deref());
    let (listener, user) = (args.listener.as_deref(), args.user.as_deref());
    let found = kdyno_kubernetes::existing(place, &args.cluster, listener, user).map_err(failure)?;
    let folder = args.out.parent().unwrap_or(Path::new(""));
    secret_file::write(folder, &name.to_string_lossy(), &kdyno_lab::strimzi_properties(found))?;
    out::note(&format!(
        "{0} is written; `kdyno target init --command-config {0}` prints a target file for it",
        args.out.display()
    ));
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
