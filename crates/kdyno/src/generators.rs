//! Hosts that carry the load: from `--generators`, else from the target.

use crate::cli::ExecutionArgs;
use crate::failure::Failure;
use crate::{scenario_source, target_source};
use kdyno_model::generator::{GeneratorHost, GeneratorPods};
use kdyno_model::plan::Plan;
use kdyno_plan::Remark;
use kdyno_scenario::generators::Generators;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    if args.lab_in.is_some() {
        let pods = of_lab(&hosts)?;
        can_have_systems(plan, &pods)?;
        remarks.push(Remark::Fact("the lab runs in a pod of the cluster of the generators".to_owned()));
        if pods.service_account.is_none() {
            remarks.push(Remark::Fact(
                "its own pod carries the load, as no `service_account` is named".to_owned(),
            ));
            return Ok(hosts);
        }
    }
    kdyno_plan::on_generators(plan, &generators)?;
    remarks.push(Remark::Fact(format!("the load runs on {}", generators.hosts.join(", "))));
    Ok(hosts)
}

/// Where generators say that a lab runs, if they do.
pub(crate) fn of_lab(hosts: &[GeneratorHost]) -> Result<Arc<GeneratorPods>, Failure> {
    let pods = GeneratorPods::among(hosts).ok_or_else(|| {
        Failure::usage("--in kubernetes: the generators name no pods")
            .hint("`kubernetes: {image: NAME@sha256:…, pods: 1}` says where the lab runs")
    })?;
    if hosts.len() > usize::from(pods.count) {
        return Err(Failure::usage("--in kubernetes: a lab in a pod takes no `hosts` of the generators")
            .hint("pods carry its load: `kubernetes` with a `service_account`, or its own pod"));
    }
    Ok(pods)
}

/// Refuses systems that a lab in a pod cannot have.
fn can_have_systems(plan: &Plan, pods: &GeneratorPods) -> Result<(), Failure> {
    let has_account = pods.service_account.is_some();
    match plan.every_case().find_map(|case| case.system.refuses_lab_in_pod(has_account)) {
        None => Ok(()),
        Some((why, how)) => Err(Failure::usage(format!("--in kubernetes: {why}")).hint(how)),
    }
}

/// A file of generators.
pub(crate) fn read(path: &Path) -> Result<Generators, Failure> {
    Ok(Generators::parse(&text(path)?, &path.display().to_string())?)
}

/// What is in it.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(scenario_source::read_bytes(path, "file of generators")?)
        .map_err(|_| Failure::usage(format!("the file of generators {} is not UTF-8", path.display())))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn hosts(text: &str) -> Vec<GeneratorHost> {
        let digest = "0".repeat(64);
        let pods = format!("kubernetes: {{image: 'r.example/kdyno@sha256:{digest}', pods: 2}}");
        Generators::parse(&text.replace("PODS", &pods), "g.yaml").expect("generators").hosts
    }

    #[test]
    fn a_lab_in_a_pod_takes_pods_alone() {
        assert_eq!(of_lab(&hosts("PODS\n")).expect("pods").count, 2);
        for (text, wanted) in [
            ("hosts: [{ssh: gen-1}]\n", "name no pods"),
            ("hosts: [{ssh: gen-1}]\nPODS\n", "takes no `hosts`"),
        ] {
            let failure = of_lab(&hosts(text)).expect_err(text);
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.contains(wanted) && failure.hint.is_some(), "{failure:?}");
        }
    }
}
