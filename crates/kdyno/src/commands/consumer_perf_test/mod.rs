//! `kdyno consumer-perf-test`: what `kafka-consumer-perf-test` of Kafka 4.2 and later prints, by kdyno's own client or, with
//! `--driver java`, by Kafka's.
//!
//! Standard output, errors and exit codes are the tool's. Behind them is a run as any other: a scenario is written, planned
//! and executed, and its evidence kept; what kdyno itself has to say goes to standard error.

mod output;
mod plan;
mod properties;

use crate::cli::VERSION;
use crate::command_line::command_line;
use crate::commands::drop_in_driver::{DropInClient, as_the_tool};
use crate::execution::{Way, failed_or, measure, tell};
use crate::failure::{CommandResult, Exit, Failure};
use crate::gate::by_thresholds;
use crate::out;
use kdyno_lab::LabError;
use kdyno_perf_test::consumer::{self, ConsumerOptions, ToolRequest};
use kdyno_testbed::probe::named::NamedProcesses;
use output::ConsumerOutput;
use properties::ConsumerProperties;

/// Does what the tool would.
pub(crate) fn consumer_perf_test(args: &[String]) -> CommandResult {
    match consumer::read(args) {
        Ok(ToolRequest::Run(options)) => run(&options).map_err(as_the_tool),
        Ok(ToolRequest::Version) => {
            out::text(format!("kdyno {VERSION}, as kafka-consumer-perf-test of Kafka 4.2 and later\n"))?;
            Ok(Exit::Done)
        }
        // Help, too, is the end of a command that did not do what it is for.
        Ok(ToolRequest::Help) => {
            out::note("Reads a topic as one consumer of a group, and prints how fast.");
            out::note(consumer::usage().trim_end());
            Ok(Exit::ToolFailed)
        }
        Err(refusal) => {
            print(&refusal.printed)?;
            out::note(&refusal.message);
            if refusal.shows_usage {
                out::note(consumer::usage().trim_end());
            }
            Ok(Exit::ToolFailed)
        }
    }
}

fn print(lines: &[&str]) -> Result<(), Failure> {
    lines.iter().try_for_each(|line| out::line(line))
}

fn run(options: &ConsumerOptions) -> CommandResult {
    print(&options.printed)?;
    let carrier = DropInClient::of(&options.driver)?;
    let properties = ConsumerProperties::read(options)?;
    let target = plan::typed(options, &properties)?;
    plan::check_settings(options, &properties, &carrier, &target)?;
    carrier.announce();
    carrier.make_ready()?;
    let found = plan::look(options, &properties, target)?;
    let planned = plan::plan(options, &properties, &carrier, found)?;
    tell(&planned.remarks);
    let mut output = ConsumerOutput::new(options, &carrier);
    let way = Way {
        named: NamedProcesses::default(),
        generators: Vec::new(),
        out: None,
        share: true,
        wait: Default::default(),
        command_line: command_line(std::env::args_os()),
        variables: &|name| properties.variable(name),
        progress: &mut |progress| output.tell(progress),
    };
    let outcome = measure(planned, way)?;
    if let Some(LabError::Interrupted) = &outcome.failure {
        output.interrupted(&outcome.path);
    }
    failed_or(&outcome, None, || {
        output.finish(&outcome.path)?;
        by_thresholds(&outcome, &options.fail_if)
    })
}
