//! `kdyno doctor`: a host, a cluster or a scenario compared with recommended settings.

use super::doctor_network as network;
use super::doctor_observed::{of_case, of_target, on_this_host};
use super::run;
use crate::cli::DoctorArgs;
use crate::environment::ProgramEnvironment;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use crate::signals;
use crate::target_source::read_target;
use kdyno_doctor::{
    Advice, AdviceDocument, AdviceSeverity, AdviceStatus, DiskRound, MeasuredDisk, Observed, examine,
    measured_network_text, measured_text, script, text,
};
use kdyno_model::grouped::distinct;
use kdyno_model::plan::CasePlan;
use kdyno_model::units;
use kdyno_plan::Choices;
use kdyno_testbed::disk_speed;
use kdyno_testbed::host_settings::mount_of;
use kdyno_testbed::inspect::inspect;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Prints what is recommended and not followed. Changes nothing.
pub(crate) fn doctor(args: &DoctorArgs) -> CommandResult {
    if let Some(address) = args.serve_network {
        return network::serve(address);
    }
    let advice = look(args)?;
    let (mut measured, mut measured_network) = (Vec::new(), None);
    if args.measure {
        let stop = signals::stop_flag()?;
        if args.network.is_none() || !args.data.is_empty() {
            measured = measure(&args.data, &stop)?;
        }
        let network = args.network.as_ref().map(|peer| network::measure(peer, &stop));
        measured_network = network.transpose()?;
    }
    if args.script {
        out::data(script(&advice))?;
        return Ok(Exit::Done);
    }
    if args.json {
        let document = AdviceDocument::new(&advice, &measured, measured_network.as_ref());
        out::json(&serde_json::to_value(document).map_err(Failure::tool)?)?;
    } else {
        out::text(measured_text(&measured))?;
        out::text(measured_network.as_ref().map(measured_network_text).unwrap_or_default())?;
        out::text(text(&advice))?;
    }
    let is_grave = advice
        .iter()
        .any(|advice| advice.severity == AdviceSeverity::High && advice.verdict == AdviceStatus::NotFollowed);
    Ok(if is_grave { Exit::NotMet } else { Exit::Done })
}

/// Measures the disks under the folders, having said what that writes.
fn measure(folders: &[PathBuf], stop: &AtomicBool) -> Result<Vec<MeasuredDisk>, Failure> {
    let here = [PathBuf::from(".")];
    let mut found = Vec::new();
    for folder in if folders.is_empty() { &here } else { folders } {
        let bytes = disk_speed::bytes_to_write(folder)?;
        let seconds = (disk_speed::WRITE_TIME_MAX + disk_speed::SYNC_TIME_MAX).as_secs();
        out::note(&format!(
            "writes up to {} into {} for up to {seconds} s; nothing of it stays",
            units::size(bytes),
            folder.display()
        ));
        let Some(rounds) = disk_speed::measure(folder, stop)? else {
            return Err(interrupted("nothing was measured, and nothing stays"));
        };
        let round = |round: disk_speed::DiskRound| DiskRound {
            write_bytes: round.bytes,
            write_s: round.took.as_secs_f64(),
            syncs_ns: network::nanoseconds(&round.syncs),
        };
        let rounds: Vec<DiskRound> = rounds.into_iter().map(round).collect();
        found.push(MeasuredDisk::of(folder.display().to_string(), &rounds));
    }
    Ok(found)
}

fn interrupted(what: &str) -> Failure {
    Failure::new(Exit::Interrupted, format!("interrupted: {what}"))
}

/// File systems that keep nothing.
const OF_THE_KERNEL: [&str; 9] =
    ["proc", "sysfs", "cgroup", "cgroup2", "devpts", "debugfs", "tracefs", "securityfs", "configfs"];

/// Looks at all that was named, at this host always, and holds it against the rules.
fn look(args: &DoctorArgs) -> Result<Vec<Advice>, Failure> {
    let mut here = Observed { host: Some(on_this_host::host()), ..Observed::default() };
    for folder in &args.data {
        if !folder.is_dir() {
            return Err(Failure::usage(format!("--data: {} is no folder", folder.display())));
        }
        let filesystem = mount_of(folder).map(|mount| mount.filesystem);
        if let Some(kind) = filesystem.filter(|kind| OF_THE_KERNEL.contains(&kind.as_str())) {
            return Err(Failure::usage(format!(
                "--data: {} is no folder for data: {kind} shows what the kernel knows",
                folder.display()
            ))
            .hint("name a folder of the disk that brokers keep their logs on"));
        }
        on_this_host::add_disk(&mut here.disks, folder, 0);
    }
    let mut advice = examine(&here);
    if let Some(file) = &args.target {
        let target = read_target(file)?;
        let access = kdyno_lab::access(&target.attached, &target.secrets, &|name| std::env::var_os(name))?;
        let reported = inspect(&target.attached, &access)?;
        reported.notes.iter().for_each(|note| out::note(&format!("note: {note}")));
        if !reported.is_on_this_host {
            out::note(
                "note: advice on `host` is on this host, not on those of the brokers; run it there too",
            );
        }
        advice.extend(examine(&of_target(&target.attached, reported)));
    }
    if let Some(scenario) = &args.scenario {
        let choices = Choices { profile: args.profile.clone(), set: args.set.clone(), ..Choices::default() };
        let plan = run::plan_scenario(scenario, choices)?.plan;
        let environment = ProgramEnvironment::read()?;
        let of_case = |case: &CasePlan| (case.label.clone(), examine(&of_case(case, &environment)));
        advice.extend(together(plan.every_case().map(of_case).collect()));
    }
    Ok(advice)
}

/// Advice of several cases: what all of them get is printed once, the rest after the case's label.
fn together(cases: Vec<(String, Vec<Advice>)>) -> Vec<Advice> {
    let is_of_all = |advice: &Advice| cases.iter().all(|(_, of_case)| of_case.contains(advice));
    let all = cases.iter().flat_map(|(label, of_case)| of_case.iter().map(move |advice| (label, advice)));
    distinct(all.map(|(label, advice)| {
        let of = if is_of_all(advice) { advice.of.clone() } else { format!("{label}: {}", advice.of) };
        Advice { of, ..advice.clone() }
    }))
}
