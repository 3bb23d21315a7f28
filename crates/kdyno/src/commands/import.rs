//! `kdyno import`: what somebody else measured joins the time line of a stored run, or becomes published figures of a scenario.

use crate::cli::ImportArgs;
use crate::evidence::{RunEvidence, find_run};
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use crate::scenario_source::first_bytes_of_file;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use kdyno_analysis::imported::{self, FILE_BYTES_MAX, ImportOptions, ImportedColumn};
use kdyno_model::event::Subject;
use kdyno_model::finding::Scope;
use kdyno_model::units::size;
use kdyno_report::units::plural;
use kdyno_scenario::omb::{RESULT_BYTES_MAX, published};
use kdyno_store::{ImportedTrial, RunFile};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Characters of a name at most.
const NAME_CHARACTERS_MAX: usize = 50;

/// Takes a series for a run; a file alone is a result.
pub(crate) fn import(args: &ImportArgs) -> CommandResult {
    match &args.file {
        Some(file) => series(file, args),
        None => result(Path::new(&args.run)),
    }
}

/// Prints a result of OMB as a scenario.
fn result(path: &Path) -> CommandResult {
    let shown = path.display();
    let bytes = first_bytes_of_file(path, RESULT_BYTES_MAX + 1)
        .map_err(|why| Failure::usage(format!("the result {shown} {why}")))?;
    if bytes.len() as u64 > RESULT_BYTES_MAX {
        let most = size(RESULT_BYTES_MAX);
        return Err(Failure::usage(format!("the result {shown} has more than the {most} that are read")));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let scenario = published(&stem, &bytes).map_err(|error| {
        let hint = "a series is added to a run: kdyno import RUN FILE.csv --time COLUMN --unit UNIT";
        let hint = error.hint.clone().unwrap_or_else(|| hint.to_owned());
        error.hint(hint).in_file(&shown.to_string())
    })?;
    out::text(scenario.text)?;
    Ok(Exit::Done)
}

/// Reads the file, and adds what of it lies within trials of the run.
fn series(csv: &Path, args: &ImportArgs) -> CommandResult {
    let path = find_run(&args.run, args.dir.as_deref())?;
    let subject = Subject::Imported(name(csv, args)?);
    let how = ImportOptions {
        // With a file the arguments have both.
        time: args.time.clone().unwrap_or_default(),
        zone: args.zone.as_deref().map(zone).transpose()?,
        unit: args.unit.clone().unwrap_or_default(),
        units: args.unit_of.iter().cloned().collect(),
        columns: args.column.clone(),
    };
    let shown = csv.display();
    let imported::ImportedTable { columns, repeated } = imported::read(&bytes(csv)?, &how)
        .map_err(|error| Failure::usage(format!("{shown}: {error}")).maybe_hint(error.hint))?;
    let file = RunFile::open(&path)?;
    let (mut trials, mut findings, mut conditioning) = (Vec::new(), Vec::new(), BTreeSet::new());
    for start in file.trials()? {
        let mut evidence = file.evidence(start.trial.id)?;
        let readings = imported::readings(&evidence, &subject, &columns);
        // What was imported before under this name is replaced; under other names it stays as it is.
        evidence.probes.clone_from(&readings);
        if start.trial.is_conditioning() {
            // What only conditions a cluster is in no table.
            conditioning.insert(start.trial.id);
        } else {
            findings.extend(imported::findings(&evidence));
        }
        if !readings.is_empty() {
            trials.push(ImportedTrial { trial: start.trial.id, readings });
        }
    }
    if trials.is_empty() {
        return Err(outside(&file, &columns)?);
    }
    let in_window: BTreeSet<Scope> = findings.iter().map(|finding| finding.scope).collect();
    let drawn = RunEvidence::drawn_from_import(&file, &subject, findings)?;
    drop(file);
    let replaced = kdyno_store::import(&path, &subject, &trials, &drawn)?;
    // What only conditions a cluster has no window.
    let is_counted = |trial: &&ImportedTrial| !conditioning.contains(&trial.trial);
    let counted: Vec<&ImportedTrial> = trials.iter().filter(is_counted).collect();
    report(&subject, &counted, &columns, replaced);
    if repeated > 0 {
        let are = if repeated == 1 { "is" } else { "are" };
        out::note(&format!(
            "{repeated} more {are} in {shown} twice, at one instant and equal: each counts once"
        ));
    }
    let without = counted.iter().filter(|trial| !in_window.contains(&Scope::Trial(trial.trial))).count();
    if without > 0 {
        out::note(&format!(
            "no value lies in the measured window of {without} of them: values come less often than a window lasts"
        ));
    }
    Ok(Exit::Done)
}

/// How much was taken.
fn report(subject: &Subject, trials: &[&ImportedTrial], columns: &[ImportedColumn], replaced: bool) {
    let taken: usize = trials.iter().map(|trial| trial.readings.len()).sum();
    let all: usize = columns.iter().map(|column| column.points.len()).sum();
    let again = if replaced { "; what was imported under this name before is replaced" } else { "" };
    let count = plural(u32::try_from(trials.len()).unwrap_or(u32::MAX), "trial");
    // Trials that run at once, or follow each other closely, have some of them in common.
    let taken = taken.min(all);
    out::note(&format!("{taken} of {all} values lie within {count} and are kept as {subject}{again}"));
}

/// The name as it is kept: that of the file, but for characters that a name cannot have.
fn name(csv: &Path, args: &ImportArgs) -> Result<String, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if let Some(name) = &args.name {
        let fits = (1..=NAME_CHARACTERS_MAX).contains(&name.len()) && name.chars().all(is_plain);
        let message =
            format!("--as takes a name of letters, digits, `-` and `_`, up to {NAME_CHARACTERS_MAX}");
        return if fits { Ok(name.clone()) } else { Err(Failure::usage(message)) };
    }
    let stem = csv.file_stem().unwrap_or_default().to_string_lossy();
    let plain = stem.chars().map(|c| if is_plain(c) { c } else { '-' });
    let name: String = plain.take(NAME_CHARACTERS_MAX).collect();
    if name.is_empty() { Err(Failure::usage("the file has no name; give one with --as")) } else { Ok(name) }
}

/// `UTC`, an offset, or a name of the time zone database.
fn zone(text: &str) -> Result<TimeZone, Failure> {
    let zone = offset(text).map(TimeZone::fixed).or_else(|| TimeZone::get(text).ok());
    zone.ok_or_else(|| {
        let message = format!("--zone {text} is no time zone that this host knows");
        Failure::usage(message).hint("UTC, an offset such as +02:00, or a name such as Europe/Berlin")
    })
}

/// `+02:00`: midnight with it is so much earlier in UTC.
fn offset(text: &str) -> Option<Offset> {
    let midnight: Timestamp = format!("1970-01-01T00:00:00{text}").parse().ok()?;
    Offset::from_seconds(i32::try_from(-midnight.as_second()).ok()?).ok()
}

/// The file, as far as one may be read.
fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One more than is taken, so that it shows.
        File::open(path)?.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// That no value lies within a trial, and where both lie.
fn outside(file: &RunFile, columns: &[ImportedColumn]) -> Result<Failure, Failure> {
    let starts = file.trials()?;
    let at = |ns: Option<i64>| {
        let at = ns.and_then(|ns| Timestamp::from_nanosecond(ns.into()).ok());
        at.map_or_else(|| "?".to_owned(), |at| at.to_string())
    };
    let t0 = || starts.iter().map(|start| start.t0_unix_ns.cast_signed());
    let points = || columns.iter().flat_map(|column| column.points.iter().map(|(at_ns, _)| *at_ns));
    let message = format!(
        "no value lies within a trial of the run: its trials began from {} to {}, the file has {} to {}",
        at(t0().min()),
        at(t0().max()),
        at(points().min()),
        at(points().max())
    );
    Ok(Failure::usage(message).hint("is --zone the zone of the file's times?"))
}
