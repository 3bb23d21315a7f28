//! `kdyno doctor`: a host, a cluster or a scenario held against recommended settings.

use super::doctor_observed::{of_case, of_target, on_this_host};
use super::run;
use crate::cli::DoctorArgs;
use crate::environment::Environment;
use crate::failure::{Exit, Failure, Outcome};
use crate::out;
use crate::target_source::read_target;
use kdyno_doctor::{Advice, Document, Observed, Severity, Verdict, examine, script, text};
use kdyno_model::plan::CasePlan;
use kdyno_plan::Choices;
use kdyno_testbed::inspect::inspect;

/// Prints what is recommended and not followed. Changes nothing.
pub(crate) fn doctor(args: &DoctorArgs) -> Outcome {
    let advice = look(args)?;
    if args.script {
        out::data(&script(&advice))?;
        return Ok(Exit::Done);
    }
    if args.json {
        out::json(&serde_json::to_value(Document::new(&advice)).map_err(Failure::tool)?)?;
    } else {
        out::data(&text(&advice))?;
    }
    let is_grave = advice
        .iter()
        .any(|advice| advice.severity == Severity::High && advice.verdict == Verdict::NotFollowed);
    Ok(if is_grave { Exit::NotMet } else { Exit::Done })
}

/// Looks at all that was named, at this host always, and holds it against the rules.
fn look(args: &DoctorArgs) -> Result<Vec<Advice>, Failure> {
    let mut here = Observed { host: Some(on_this_host::host()), ..Observed::default() };
    for folder in &args.data {
        if !folder.is_dir() {
            return Err(Failure::usage(format!("--data: {} is no folder", folder.display())));
        }
        on_this_host::add_disk(&mut here.disks, folder, 0);
    }
    let mut advice = examine(&here);
    if let Some(file) = &args.target {
        let target = read_target(file)?;
        let access = kdyno_lab::access(&target.attached, &target.secrets, &|name| std::env::var_os(name))?;
        let told = inspect(&target.attached, &access)?;
        told.notes.iter().for_each(|note| out::note(&format!("note: {note}")));
        if !told.is_on_this_host {
            out::note(
                "note: advice on `host` is on this host, not on those of the brokers; run it there too",
            );
        }
        advice.extend(examine(&of_target(&target.attached, told)));
    }
    if let Some(scenario) = &args.scenario {
        let choices = Choices { profile: args.profile.clone(), set: args.set.clone(), ..Choices::default() };
        let plan = run::plan_scenario(scenario, choices)?.plan;
        let environment = Environment::read()?;
        let of_case = |case: &CasePlan| (case.label.clone(), examine(&of_case(case, &environment)));
        advice.extend(together(plan.every_case().map(of_case).collect()));
    }
    Ok(advice)
}

/// Advice of several cases: what all of them get stands once, the rest after the case's label.
fn together(cases: Vec<(String, Vec<Advice>)>) -> Vec<Advice> {
    let is_of_all = |advice: &Advice| cases.iter().all(|(_, of_case)| of_case.contains(advice));
    let mut all: Vec<Advice> = Vec::new();
    for (label, of_case) in &cases {
        for advice in of_case {
            let of = if is_of_all(advice) { advice.of.clone() } else { format!("{label}: {}", advice.of) };
            let advice = Advice { of, ..advice.clone() };
            if !all.contains(&advice) {
                all.push(advice);
            }
        }
    }
    all
}
