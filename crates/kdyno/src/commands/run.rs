//! `kdyno run`: a scenario, measured.

use crate::cli::{ChoiceArgs, ChosenDriver, ExecutionArgs, ParamArgs, RunArgs};
use crate::commands::resume;
use crate::environment::{ProgramEnvironment, runs_dir};
use crate::execution::{self, PlannedExecution, TargetFiles, random_u64};
use crate::failure::{CommandResult, Exit, Failure};
use crate::scenario_source::ScenarioSource;
use crate::target_source::{of_cases, read_target};
use crate::{generators, given_files, out, scenario_source};
use kdyno_model::plan::Depth;
use kdyno_plan::{CaseTarget, Choices, FileReader, PathCheck, PlanQuestion, Remark, Schemas};
use kdyno_report::terminal::{PlanDetail, plan_text};
use kdyno_scenario::file::RoleFile;
use kdyno_scenario::input::{InputError, listed};
use kdyno_scenario::target::Target;
use kdyno_scenario::{Scenario, yaml};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Plans the scenario for the system or the target that it is to be measured on.
pub(crate) fn plan(args: &RunArgs) -> Result<PlannedExecution, Failure> {
    match &args.choices.resume {
        Some(named) => {
            resume::refuse_scenario(args.scenario.as_deref())?;
            if !args.fail_if.fail_if.is_empty() {
                return Err(Failure::usage(
                    "--fail-if: a run that is resumed keeps the thresholds it began with",
                ));
            }
            let dir = args.dir.as_deref().or(args.execution.out.as_deref());
            resume::plan(named, dir, &args.choices)
        }
        None => {
            let scenario = args.scenario.as_deref().unwrap_or_default();
            plan_choices(
                scenario,
                &args.choices,
                PlanQuestion::Scenario,
                Depth::Verdict,
                &args.fail_if.fail_if,
            )
        }
    }
}

/// Plans a scenario with the choices that were made in addition to it.
pub(crate) fn plan_choices(
    scenario: &str,
    args: &ChoiceArgs,
    ask: PlanQuestion,
    depth: Depth,
    fail_if: &[String],
) -> Result<PlannedExecution, Failure> {
    let (target, targets, files) = read_targets(&args.target)?;
    let choices = Choices {
        profile: args.profile.clone(),
        set: args.set.clone(),
        seed: args.seed,
        target,
        targets,
        ask,
        depth,
        sustain_ns: args.sustain,
        flame: args.flame,
        budget_ns: args.budget,
        fail_if: fail_if.to_vec(),
        ..Choices::default()
    };
    let typed = (&args.params, args.driver.as_ref());
    Ok(PlannedExecution { target_files: files, ..plan_with(scenario, choices, typed)? })
}

/// Scenario text → scenario → plan.
pub(crate) fn plan_scenario(named: &str, choices: Choices) -> Result<PlannedExecution, Failure> {
    plan_with(named, choices, (&ParamArgs::default(), None))
}

/// Plans with params that were set by options of their own, and a driver of all load items.
fn plan_with(
    named: &str,
    mut choices: Choices,
    (params, driver): (&ParamArgs, Option<&ChosenDriver>),
) -> Result<PlannedExecution, Failure> {
    let source = scenario_source::find(named)?;
    choices.seed = Some(choices.seed.unwrap_or_else(random_u64));
    (choices.files, choices.schemas) = (FileReader(given_files::next_to), Schemas(given_files::by_schema));
    choices.paths = PathCheck(Path::exists);
    let scenario = Scenario::parse_bytes(&source.bytes, &source.name);
    let mut scenario = scenario.map_err(|first| all_mistakes(first, &source, &choices, params))?;
    if let Some(driver) = driver {
        scenario = carried_by(&scenario, driver).map_err(|error| error.in_file("--driver"))?;
    }
    let by_option = set_by_option(&scenario, params)?;
    let as_given = choices.clone();
    choices.set.extend(by_option.iter().map(|(_, set)| set.clone()));
    let plan = kdyno_plan::plan(&scenario, &choices)
        .map_err(|first| as_typed(all_mistakes(first, &source, &as_given, params), &by_option))?;
    let scenario_text = String::from_utf8_lossy(&source.bytes).into_owned();
    let remarks = kdyno_plan::remarks(&scenario, &choices, &plan)?;
    let target_files = TargetFiles::new();
    Ok(PlannedExecution {
        plan,
        scenario_text,
        scenario_path: source.name,
        target_files,
        remarks,
        resumed: None,
    })
}

/// The scenario with one driver of all that is produced and consumed.
fn carried_by(scenario: &Scenario, chosen: &ChosenDriver) -> Result<Scenario, InputError> {
    let mut patched = scenario.clone();
    for (name, item) in &scenario.typed().load {
        if matches!(item.role, RoleFile::EndToEnd { .. }) {
            continue;
        }
        let keys = [("driver", Some(chosen.driver)), ("version", chosen.version.as_deref())];
        for (key, value) in keys.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            let patch = patched.patch_of_path(&format!("load.{}.client.{key}", name.text), value)?;
            patched = patched.patched(&patch)?;
        }
    }
    Ok(patched)
}

/// An option, and the param with the value that it sets.
type ByOption = (&'static str, (String, String));

/// Params that were set by options of their own, under the names that the scenario has for them.
fn set_by_option(scenario: &Scenario, params: &ParamArgs) -> Result<Vec<ByOption>, InputError> {
    let known: Vec<&str> = scenario.typed().params.iter().map(|(name, _)| name.text.as_str()).collect();
    let set = |(option, names, value): (&'static str, &'static [&'static str], &str)| {
        let Some(name) = names.iter().find(|name| known.contains(*name)) else {
            let sought = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
            let has = match known.is_empty() {
                true => "it has no params".to_owned(),
                false => {
                    format!("its params: {}; `--set NAME=VALUE` sets one", listed(known.iter().copied()))
                }
            };
            let message = format!("{option}: the scenario {} has no param {sought}", scenario.id());
            return Err(InputError::whole(message).hint(has));
        };
        Ok((option, ((*name).to_owned(), value.to_owned())))
    };
    params.typed().map(set).collect()
}

/// A refusal with the option that was typed, where it names the `--set` that stands for it.
fn as_typed(mut refused: Failure, by_option: &[ByOption]) -> Failure {
    for (option, (name, value)) in by_option {
        refused.message =
            refused.message.replace(&format!("--set {name}={value}"), &format!("{option} {value}"));
    }
    refused
}

/// How long mistakes are looked for: each plans the scenario once more, and a large one takes its time.
const LOOKED_FOR_MAX: Duration = Duration::from_secs(2);

/// All that is wrong with a scenario in which something was wrong `first`; `choices` without the params of options.
fn all_mistakes(
    first: InputError,
    source: &ScenarioSource,
    choices: &Choices,
    params: &ParamArgs,
) -> Failure {
    let Ok(text) = yaml::decode(&source.bytes, &source.name) else { return first.into() };
    let until = Instant::now() + LOOKED_FOR_MAX;
    let plan = |scenario: &Scenario| {
        if until < Instant::now() {
            return Ok(());
        }
        let mut choices = choices.clone();
        choices.set.extend(set_by_option(scenario, params)?.into_iter().map(|(_, set)| set));
        kdyno_plan::plan(scenario, &choices).map(drop)
    };
    let mut all = Scenario::mistakes(text, &source.name, plan).into_iter().map(Failure::from);
    match all.next() {
        Some(first) => Failure { more: all.collect(), ..first },
        None => first.into(),
    }
}

/// The target of all cases, those of some, and the files of all.
type Targets = (Option<Target>, Vec<CaseTarget>, TargetFiles);

/// `FILE`, or `PARAM=VALUE[,PARAM=VALUE…]:FILE` for the cases with these values.
fn read_targets(typed: &[String]) -> Result<Targets, Failure> {
    let (mut all, mut some, mut files) = (None, Vec::new(), TargetFiles::new());
    for one in typed {
        let (cases, file) = of_cases(one);
        let target = read_target(Path::new(file))?;
        files.insert(target.attached.cluster_id.clone(), PathBuf::from(file));
        match cases {
            Some(cases) => some.push(CaseTarget { cases: selection(cases)?, target }),
            None if all.is_some() => {
                return Err(Failure::usage("--target: two files for the same cases")
                    .hint("`--target brokers=3:three.yaml` names a target for some cases"));
            }
            None => all = Some(target),
        }
    }
    Ok((all, some, files))
}

fn selection(cases: &str) -> Result<Vec<(String, String)>, Failure> {
    let pair = |typed: &str| match typed.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("--target: `{typed}` selects no case"))
            .hint("PARAM=VALUE, several with commas, before the `:`")),
    };
    cases.split(',').map(pair).collect()
}

/// Executes a plan, or with `--dry-run` prints it.
pub(crate) fn carry_out(planned: PlannedExecution, is_dry: bool, args: &ExecutionArgs) -> CommandResult {
    if is_dry { dry_run(planned, args) } else { execution::execute(planned, args) }
}

/// The plan, and what the run's preflight would find here; as JSON the plan alone, with the warnings.
fn dry_run(mut planned: PlannedExecution, args: &ExecutionArgs) -> CommandResult {
    generators::place(&mut planned.plan, planned.target_files.values(), &mut planned.remarks, args)?;
    let plan = &planned.plan;
    execution::named_processes(plan, args)?;
    let folder = runs_dir(args.out.as_deref())?;
    let remarks = match ProgramEnvironment::read() {
        _ if args.lab_in.is_some() => {
            vec![Remark::Fact("nothing runs: the lab's pod checks what is there when it starts".to_owned())]
        }
        Ok(environment) => {
            kdyno_lab::dry_run_checks(plan, &folder, &environment.temp_dir, &environment.testbed)?
        }
        // The plan needs no environment; a run does.
        Err(failure) => {
            let hint = failure.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            vec![Remark::Warning(format!("{}{hint}", failure.message))]
        }
    };
    if args.json {
        let json = serde_json::to_value(plan)
            .map_err(|e| Failure::tool(format!("could not write the plan as JSON: {e}")))?;
        out::json(&json)?;
        for remark in planned.remarks.iter().chain(&remarks) {
            if let Remark::Warning(text) = remark {
                out::note(&format!("warning: {text}"));
            }
        }
    } else {
        let options = out::options();
        let mut text = plan_text(plan, &kdyno_plan::estimate(plan), PlanDetail::Full, &options);
        if !planned.remarks.is_empty() {
            text += &format!("\nAbout the scenario\n{}", lines(&planned.remarks));
        }
        text += &format!("\nOn this host\n{}", lines(&remarks));
        out::painted(&text)?;
    }
    Ok(Exit::Done)
}

fn lines(remarks: &[Remark]) -> String {
    let line = |remark: &Remark| match remark {
        Remark::Fact(fact) => format!("  {fact}\n"),
        Remark::Warning(text) => format!("  warning: {text}\n"),
    };
    remarks.iter().map(line).collect()
}

impl From<InputError> for Failure {
    fn from(mut error: InputError) -> Self {
        let mut more = Vec::new();
        let mut next = error.next.take();
        while let Some(mut one) = next {
            next = one.next.take();
            more.push((*one).into());
        }
        Self { more, ..Self::usage(&error).maybe_hint(error.hint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario_source::bundled;

    #[test]
    fn one_driver_carries_all_load_items() {
        let text = bundled("first-light").expect("bundled").text;
        let scenario = Scenario::parse(text, "first-light").expect("a scenario");
        let drivers = |version: Option<&str>| {
            let chosen = ChosenDriver { driver: "java", version: version.map(str::to_owned) };
            let scenario = carried_by(&scenario, &chosen).expect("a scenario");
            let choices = Choices { seed: Some(1), ..Choices::default() };
            let plan = kdyno_plan::plan(&scenario, &choices).expect("a plan");
            let load = plan.cases.iter().flat_map(|case| case.load.values());
            load.map(|item| item.driver.as_java().map(|java| format!("{:?}", java.client)))
                .collect::<Vec<_>>()
        };
        let newest = drivers(None);
        assert!(!newest.is_empty() && newest.iter().all(Option::is_some), "{newest:?}");
        let old = drivers(Some("3.9.1"));
        assert!(old.iter().all(|one| one.as_ref().is_some_and(|client| client.contains("3.9.1"))), "{old:?}");
    }
}
