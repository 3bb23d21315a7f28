//! Hosts that carry the load: from `--generators`, else from the target.

use crate::cli::ExecutionArgs;
use crate::failure::Failure;
use crate::{scenario_source, target_source};
use kdyno_model::generator::{GeneratorHost, GeneratorPods};
use kdyno_model::plan::Plan;
use kdyno_plan::Remark;
use kdyno_scenario::generators::Generators;
use std::path::{Path, PathBuf};

/// Puts the load of a plan on the hosts that were named, in a file or by the files of its targets; how they are reached. None:
/// this host carries it.
pub(crate) fn place<'f>(
    plan: &mut Plan,
    targets: impl Iterator<Item = &'f PathBuf>,
    remarks: &mut Vec<Remark>,
    args: &ExecutionArgs,
) -> Result<Vec<GeneratorHost>, Failure> {
    let found = match &args.generators {
        Some(path) => Some(read(path)?),
        None => of_targets(targets)?,
    };
    let has_pods = found.as_ref().is_some_and(|found| GeneratorPods::among(&found.hosts).is_some());
    kdyno_plan::check_commands_in_pods(plan, has_pods)?;
    let Some(Generators { plan: generators, hosts }) = found else { return Ok(Vec::new()) };
    kdyno_plan::on_generators(plan, &generators)?;
    remarks.push(Remark::Fact(format!("the load runs on {}", generators.hosts.join(", "))));
    Ok(hosts)
}

/// A file of generators.
pub(crate) fn read(path: &Path) -> Result<Generators, Failure> {
    let text = String::from_utf8(scenario_source::read_bytes(path, "file of generators")?)
        .map_err(|_| Failure::usage(format!("the file of generators {} is not UTF-8", path.display())))?;
    Ok(Generators::parse(&text, &path.display().to_string())?)
}

/// Generators that a target names; all of them have to name the same.
fn of_targets<'f>(targets: impl Iterator<Item = &'f PathBuf>) -> Result<Option<Generators>, Failure> {
    let mut found: Option<Generators> = None;
    for file in targets {
        let Some(named) = target_source::generators_of(file)? else { continue };
        if found.as_ref().is_some_and(|found| *found != named) {
            return Err(Failure::usage("the targets name different generators")
                .hint("`--generators FILE` names those of the whole run"));
        }
        found = Some(named);
    }
    Ok(found)
}
