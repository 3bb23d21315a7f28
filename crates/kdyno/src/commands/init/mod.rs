//! `kdyno init`: a first scenario of one's own, and for an own cluster its target. Nothing is written that kdyno does not plan.

mod answers;
mod producer;
mod scenario;

use super::target::{TargetText, TypedTarget, written};
use crate::cli::InitArgs;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use answers::{Answers, answers};
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, listed};
use kdyno_scenario::security::ClientProperties;
use kdyno_scenario::target::Target;
use producer::Producer;
use scenario::{SCHEMA, ScenarioFiles, word};
use std::fs::{OpenOptions, Permissions};
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Name of the target.
const TARGET: &str = "cluster";
/// Replicas where the cluster has so many brokers, or did not say how many.
const REPLICAS: u32 = 3;
/// A target file is its owner's alone.
const OWNER_ONLY: u32 = 0o600;

/// Asks, asks the cluster, writes the files, says what to type next.
pub(crate) fn init(args: &InitArgs) -> CommandResult {
    let target_file = target_file(&args.file)?;
    refuse_existing(args, &args.file)?;
    let producer = args.from.as_deref().map(Producer::read).transpose()?;
    let (file, producer) = (args.file.as_path(), producer.as_ref());
    // How it reaches its cluster is reported before the cluster is contacted so.
    producer.iter().flat_map(|producer| &producer.properties.notes).for_each(|note| out::note(note));
    let answers = asked(args, producer)?;
    let text = |replicas| {
        scenario::text(&answers, &ScenarioFiles { file, target: &target_file, replicas, producer })
    };
    // What is wrong with an answer or a setting is said before the cluster is asked for anything.
    check(&text(REPLICAS), file, None, producer)?;
    let target = match answers.bootstrap.is_empty() {
        true => None,
        false => {
            refuse_existing(args, &target_file)?;
            Some(target(&answers, args, producer)?)
        }
    };
    let brokers = target.as_ref().map_or(Some(1), |target| target.brokers);
    let text = text(brokers.map_or(REPLICAS, |brokers| brokers.min(REPLICAS)));
    check(&text, file, target.as_ref(), producer)?;
    if let Some(producer) = producer {
        say_left(producer);
    }
    let with_target = match &target {
        None => String::new(),
        Some(target) => {
            write(&target_file, &target.text, Some(OWNER_ONLY), args.force)?;
            out::note(&format!("target   {}", target_file.display()));
            format!(" --target {}", word(&target_file))
        }
    };
    write(file, &text, None, args.force)?;
    out::note(&format!("scenario {}", file.display()));
    write_schema(file)?;
    let lacks_id = target.is_some_and(|target| target.target.attached.cluster_id.is_empty());
    let first = if lacks_id {
        format!("fill in cluster_id in {}, then ", target_file.display())
    } else {
        String::new()
    };
    out::note(&format!(
        "next     {first}kdyno run {}{with_target} --dry-run, then without --dry-run",
        word(file)
    ));
    out::note(&match with_target.as_str() {
        "" => format!(
            "         on your own cluster: (umask 077; kdyno target init --bootstrap-server HOST:9092 > {target}), then kdyno run \
             {} --target {target}",
            word(file),
            target = word(&target_file)
        ),
        _ => format!("         kdyno run {} without --target starts a cluster on this host", word(file)),
    });
    Ok(Exit::Done)
}

/// The file of the target next to a scenario's; what no `kdyno run` would take for a scenario is refused.
fn target_file(file: &Path) -> Result<PathBuf, Failure> {
    if !file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
        return Err(Failure::usage(format!("{} is no name of a scenario file", file.display()))
            .hint(format!("name it {}", file.with_extension("yaml").display())));
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    Ok(file.with_file_name(format!("{stem}-target.yaml")))
}

fn refuse_existing(args: &InitArgs, file: &Path) -> Result<(), Failure> {
    if args.force || !file.exists() {
        return Ok(());
    }
    Err(Failure::usage(format!("{} exists", file.display()))
        .hint("--force overwrites it; or name another file"))
}

fn asked(args: &InitArgs, producer: Option<&Producer>) -> Result<Answers, Failure> {
    let known = producer.map_or(&[][..], |producer| producer.properties.bootstrap.as_slice());
    let stdin = std::io::stdin();
    let mut terminal = stdin.is_terminal().then(|| stdin.lock());
    answers(args, known, terminal.as_mut().map(|terminal| terminal as &mut dyn BufRead))
}

/// The target of an own cluster. Addresses of a properties file stay in it.
fn target(answers: &Answers, args: &InitArgs, producer: Option<&Producer>) -> Result<TargetText, Failure> {
    let none = ClientProperties::default();
    let (config, properties) =
        producer.map_or((None, &none), |producer| (Some(producer.path.as_path()), &producer.properties));
    let is_of_file = args.bootstrap_server.is_empty() && !properties.bootstrap.is_empty();
    let bootstrap = if is_of_file { &[][..] } else { answers.bootstrap.as_slice() };
    written(&TypedTarget { name: TARGET, bootstrap, config, properties })
}

/// Plans the scenario for a local cluster, and for the target.
fn check(
    text: &str,
    file: &Path,
    target: Option<&TargetText>,
    producer: Option<&Producer>,
) -> Result<(), Failure> {
    let planned = |target: Option<Target>| -> Result<(), InputError> {
        let scenario = Scenario::parse(text, &file.display().to_string())?;
        let choices = Choices { seed: Some(0), target, ..Choices::default() };
        kdyno_plan::plan(&scenario, &choices).map(drop)
    };
    let as_given = |error| match producer {
        Some(producer) => producer.as_given(error, text),
        None => error,
    };
    planned(None).map_err(|error| Failure::from(as_given(error)))?;
    let Some(target) = target else { return Ok(()) };
    planned(Some(target.target.clone())).map_err(|error| {
        Failure::from(as_given(error)).hint(
            "nothing was written: take less, or write the scenario with --local and a target of your own with \
             `kdyno target init`, whose caps you may raise",
        )
    })
}

/// Names what a properties file has that the load does not.
fn say_left(producer: &Producer) {
    let left = producer.left();
    if !left.is_empty() {
        out::note(&format!("not taken from {}: {}", producer.path.display(), listed(left)));
    }
    producer.warnings().iter().for_each(|warning| out::note(&format!("warning: {warning}")));
}

/// Writes the schema that the scenario's first line names, unless there is one.
fn write_schema(file: &Path) -> Result<(), Failure> {
    let schema = file.with_file_name(SCHEMA);
    if schema.exists() {
        return Ok(());
    }
    out::file(&schema, kdyno_report::json::text(&kdyno_scenario::json_schema()))?;
    out::note(&format!("schema   {}", schema.display()));
    Ok(())
}

/// Writes a file, for its owner alone where a mode is given. Without `force` it must be new.
fn write(file: &Path, text: &str, mode: Option<u32>, force: bool) -> Result<(), Failure> {
    out::keep_run_file(file)?;
    out::make_folder(file.parent().unwrap_or(Path::new("")))?;
    let mut options = OpenOptions::new();
    options.write(true);
    match force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    if let Some(mode) = mode {
        options.mode(mode);
    }
    let written = options.open(file).and_then(|mut opened| {
        if let Some(mode) = mode {
            opened.set_permissions(Permissions::from_mode(mode))?;
        }
        opened.write_all(text.as_bytes())
    });
    written.map_err(|error| Failure::tool(format!("could not write {}: {error}", file.display())))
}
