//! `kdyno export` of what was sampled: a flame graph, its stacks as text, a recording of Flight Recorder.

use crate::cli::{ExportArgs, ExportFormat};
use crate::failure::Failure;
use kdyno_model::event::Subject;
use kdyno_model::finding::Finding;
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_model::trial::TrialId;
use kdyno_report::flame::{self, Graph, held};
use kdyno_scenario::input::nearest;
use kdyno_store::RunFile;
use std::path::Path;

/// Means all brokers of a trial together.
const BROKERS: &str = "brokers";

/// The bytes of a format that is made of what was sampled.
pub(super) fn export(path: &Path, trial: TrialId, args: &ExportArgs) -> Result<Vec<u8>, Failure> {
    let file = RunFile::open(path)?;
    let run = SampledRun { sampled: file.sampled()?, findings: file.judgement()?.findings, file };
    let of = args.of.as_deref();
    if args.format == ExportFormat::Jfr {
        return run.recording(trial, of);
    }
    let (kind, stacks) = run.stacks(trial, of)?;
    if args.format == ExportFormat::Collapsed {
        return Ok(stacks.text().into_bytes());
    }
    let whose = of.unwrap_or(BROKERS);
    let held = |trial: TrialId| held(&run.findings, trial, whose);
    let graph = match args.against.map(TrialId) {
        None => {
            let title = format!("{whose}, trial {trial}: {}", kind.shows());
            Graph { title, kind, sides: vec![stacks], held: vec![held(trial)] }
        }
        Some(before) => {
            let (_, other) = run.stacks(before, of)?;
            let title = format!("{whose}, trial {trial} (B) against trial {before} (A): {}", kind.shows());
            Graph { title, kind, sides: vec![other, stacks], held: vec![held(before), held(trial)] }
        }
    };
    Ok(flame::document(&graph).into_bytes())
}

/// What was sampled in a run.
struct SampledRun {
    file: RunFile,
    findings: Vec<Finding>,
    sampled: Vec<(TrialId, Subject, FlameKind)>,
}

impl SampledRun {
    /// Stacks of one process, or of all brokers.
    fn stacks(&self, trial: TrialId, of: Option<&str>) -> Result<(FlameKind, Stacks), Failure> {
        let graphs = |kind: FlameKind| kind != FlameKind::Jfr;
        let wanted = of.unwrap_or(BROKERS);
        let mut found: Option<(FlameKind, Stacks)> = None;
        for (_, subject, kind) in self.of_trial(trial, graphs)? {
            if subject.to_string() != wanted && !(wanted == BROKERS && subject.is_broker()) {
                continue;
            }
            let Some(of_process) = self.file.stacks(trial, subject)? else { continue };
            let (_, stacks) = found.get_or_insert((*kind, Stacks::default()));
            stacks.merge(&of_process.stacks);
        }
        found.ok_or_else(|| self.unknown(trial, wanted, graphs))
    }

    fn recording(&self, trial: TrialId, of: Option<&str>) -> Result<Vec<u8>, Failure> {
        let records = |kind: FlameKind| kind == FlameKind::Jfr;
        let recorded = self.of_trial(trial, records)?;
        let subject = match (of, recorded.as_slice()) {
            (None, [(_, only, _)]) => only,
            (None, _) => {
                return Err(Failure::usage(format!("trial {trial} has {} recordings", recorded.len()))
                    .hint(format!("name one: {}", names(&recorded))));
            }
            (Some(wanted), _) => {
                let found = recorded.iter().find(|(_, subject, _)| subject.to_string() == wanted);
                &found.ok_or_else(|| self.unknown(trial, wanted, records))?.1
            }
        };
        let bytes = self.file.flight_recording(trial, subject)?;
        bytes.ok_or_else(|| Failure::tool(format!("the recording of {subject} is gone")))
    }

    /// What was sampled in a trial, at least one process.
    fn of_trial(
        &self,
        trial: TrialId,
        is_wanted: impl Fn(FlameKind) -> bool,
    ) -> Result<Vec<&(TrialId, Subject, FlameKind)>, Failure> {
        let found: Vec<_> =
            self.sampled.iter().filter(|(id, _, kind)| *id == trial && is_wanted(*kind)).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let mut trials: Vec<TrialId> =
            self.sampled.iter().filter(|(.., kind)| is_wanted(*kind)).map(|(id, ..)| *id).collect();
        trials.dedup();
        if trials.is_empty() {
            return Err(Failure::usage("the run has nothing of the kind")
                .hint("`--flame cpu`, `alloc` or `lock` of a run samples stacks, `--flame jfr` records for other tools"));
        }
        let trials: Vec<String> = trials.iter().map(ToString::to_string).collect();
        Err(Failure::usage(format!("nothing was sampled in a trial {trial}"))
            .hint(format!("trials with samples: {}", trials.join(", "))))
    }

    fn unknown(&self, trial: TrialId, wanted: &str, is_wanted: impl Fn(FlameKind) -> bool) -> Failure {
        let known: Vec<_> =
            self.sampled.iter().filter(|(id, _, kind)| *id == trial && is_wanted(*kind)).collect();
        let texts: Vec<String> = known.iter().map(|(_, subject, _)| subject.to_string()).collect();
        let near = nearest(wanted, texts.iter().map(String::as_str));
        let meant = near.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        Failure::usage(format!("--of: nothing was sampled of `{wanted}` in trial {trial}"))
            .hint(format!("{meant}sampled: {}", names(&known)))
    }
}

fn names(sampled: &[&(TrialId, Subject, FlameKind)]) -> String {
    let names: Vec<String> = sampled.iter().map(|(_, subject, _)| subject.to_string()).collect();
    names.join(", ")
}
