//! `kdyno producer-perf-test`: Kafka's own `kafka-producer-perf-test`, with its flags and its lines.
//!
//! What was typed becomes a scenario and a target like those of `kdyno quick`, with one producer, kdyno's own or Kafka's
//! (`--driver`), and is run by the same lab, so that a run file is kept. Standard output has the tool's lines and nothing
//! else; what is ours, the latencies from the scheduled send times among it, goes to standard error.

mod payloads;
mod properties;
mod reported;
mod scenario;
mod target;

use crate::commands::drop_in_driver::{DropInClient, as_the_tool, tell_client};
use crate::execution::{Way, failed_or, measure};
use crate::failure::{CommandResult, Exit, Failure};
use crate::gate::by_thresholds;
use crate::out;
use kdyno_lab::{LabError, RunOutcome};
use kdyno_model::trial::TrialId;
use kdyno_perf_test::producer::{self, ProducerOptions, StartRefusal};
use kdyno_store::RunFile;
use kdyno_testbed::probe::named::NamedProcesses;
use reported::ProducerOutput;

/// Reads, runs and prints as the tool does. It ends with 1 whatever was wrong, and with 0 also where records failed.
pub(crate) fn producer_perf_test(args: &[String]) -> CommandResult {
    let options = match producer::read(args) {
        Ok(options) => options,
        Err(StartRefusal::Help { text, exit }) => {
            out::text(&text)?;
            return Ok(if exit == 0 { Exit::Done } else { Exit::ToolFailed });
        }
        Err(StartRefusal::Wrong(text)) => {
            out::note(text.trim_end());
            return Ok(Exit::ToolFailed);
        }
        Err(StartRefusal::Failed(why)) => return Err(Failure::tool(why)),
    };
    run(&options).map_err(as_the_tool)
}

fn run(options: &ProducerOptions) -> CommandResult {
    let carrier = DropInClient::of(&options.driver)?;
    let payloads = payloads::look(options)?;
    for (before, now) in &options.deprecated {
        out::line(&producer::deprecated(before, now))?;
    }
    let properties = properties::read(options)?;
    let target = target::typed(options, &properties)?;
    scenario::check_settings(options, (&properties, &carrier), &target)?;
    carrier.announce();
    carrier.make_ready()?;
    let (target, topic) = target::look(options, &properties, target)?;
    let planned = scenario::planned(options, (&properties, &carrier), (target, topic), payloads)?;
    reported::remarks(options, &planned, &carrier);
    if options.warmup_records > 0 {
        out::line(&producer::warmup(options.warmup_records))?;
    }
    let mut reported = ProducerOutput::new(options, &carrier);
    let way = Way {
        named: NamedProcesses::default(),
        generators: Vec::new(),
        out: None,
        // Several may be started at once on purpose, as many published benchmarks do.
        share: true,
        wait: Default::default(),
        command_line: ["kdyno", "producer-perf-test"]
            .map(str::to_owned)
            .into_iter()
            .chain(options.command_line())
            .collect(),
        variables: &|name| properties.variable(name),
        progress: &mut |progress| reported.tell(progress),
    };
    let outcome = measure(planned, way)?;
    finish(&outcome, reported, options)
}

/// The totals, and what is ours; a run that was interrupted has what is ours alone.
fn finish(
    outcome: &RunOutcome,
    mut reported: ProducerOutput<'_>,
    options: &ProducerOptions,
) -> CommandResult {
    if let Some(LabError::Interrupted) = &outcome.failure {
        // Before its trial began there is nothing to print.
        let found = RunFile::open(&outcome.path).and_then(|file| file.evidence(TrialId(1)));
        if let Ok(evidence) = found
            && let Err(failure) = reported.interrupted(&evidence)
        {
            // That it was interrupted, and where its evidence is, is printed all the same.
            out::note(&failure.message);
        }
    }
    failed_or(outcome, None, || {
        let evidence = RunFile::open(&outcome.path)?.evidence(TrialId(1))?;
        reported.totals(&evidence)?;
        reported.corrected(&evidence)?;
        tell_client(&evidence);
        out::note(&format!("run     {}", outcome.path.display()));
        by_thresholds(outcome, &options.fail_if)
    })
}
