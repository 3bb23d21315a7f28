//! One command of a load item: started by its keeper, its output read while it runs, its end and its figures sent to
//! the inbox.

use crate::clock::unix_ns;
use crate::command_news::{CommandNews, CommandOutput};
use crate::inbox::Heard;
use crate::output::{OutputTail, PIECE_BYTES, end_of, read_lines};
use kdyno_analysis::commands::{CommandReader, CommandTotals, LineSplitter};
use kdyno_model::plan::ParsePlan;
use kdyno_testbed::command::{CommandSpec, RunningCommand};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::time::Duration;

/// How much of a file of results is read.
pub(crate) const RESULTS_BYTES_MAX: u64 = 4 << 30;
/// How long the last of its output may take to come once nothing of it is left.
const OUTPUT_WAIT: Duration = Duration::from_secs(5);

/// Ends a command, wherever it runs.
pub(crate) type EndCommand = Box<dyn Fn() + Send + Sync>;

/// What is to be parsed of a command, and where it lies.
pub(crate) struct Parse {
    pub(crate) plan: ParsePlan,
    /// The trial's folder of the command.
    pub(crate) folder: PathBuf,
}

/// Starts it. Gives the instant of its start, CLOCK_MONOTONIC, ns, and what ends it.
///
/// # Errors
/// It cannot be started, one lowercase clause.
pub(crate) fn start(
    item: &str,
    spec: &CommandSpec,
    hidden: &[String],
    parse: Option<Parse>,
    inbox: SyncSender<Heard>,
) -> Result<(u64, EndCommand), String> {
    let (mut running, outputs, started_ns) = RunningCommand::start(spec, hidden)?;
    let stopper =
        running.stopper().map_err(|error| format!("it cannot be ended, so it is not run: {error}"))?;
    let (sender, pieces) = channel();
    let name = item.to_owned();
    let of_stdout =
        parse.as_ref().filter(|parse| parse.plan.file.is_none()).map(|parse| CommandReader::new(&parse.plan));
    let thread = |what: &str| std::thread::Builder::new().name(format!("{what}-of-command"));
    let failed = |error: std::io::Error| format!("its output cannot be read, so it is not run: {error}");
    let other = sender.clone();
    thread("stdout").spawn(move || read_all(outputs.stdout, of_stdout, (false, &sender))).map_err(failed)?;
    thread("stderr").spawn(move || read_all(outputs.stderr, None, (true, &other))).map_err(failed)?;
    let wait = move || {
        let ended = running.wait();
        // The inbox lives as long as the trial; when it is gone the message is not needed.
        let _ = inbox.send(Heard::Command(name.clone(), CommandNews::Exited(ended)));
        let mut output = gather(&pieces, 2);
        if let Some(Parse { plan, folder }) = parse {
            read_results(&plan, &folder, &mut output);
        }
        let _ = inbox.send(Heard::Command(name, CommandNews::Read(Box::new(output))));
    };
    thread("end").spawn(wait).map_err(failed)?;
    Ok((started_ns, Box::new(move || stopper.stop())))
}

/// What readers of output report.
pub(crate) enum OutputPiece {
    /// A line for the tail, and whether it came by standard error.
    Line(bool, String),
    /// Bytes that came; what was parsed of them: the end of one of both.
    End(u64, Option<Box<CommandTotals>>),
}

/// Reads an output to its end, and keeps next to nothing.
pub(crate) fn read_all(
    from: impl Read,
    mut reader: Option<CommandReader>,
    (is_error, to): (bool, &Sender<OutputPiece>),
) {
    let mut tail = OutputTail::default();
    let bytes = read_lines(from, |line| {
        match (line, reader.as_mut()) {
            (Some(line), Some(reader)) => reader.line(line, unix_ns().cast_signed()),
            (None, Some(reader)) => reader.too_long(),
            (_, None) => {}
        }
        tail.push(line);
    });
    for line in tail.lines() {
        let _ = to.send(OutputPiece::Line(is_error, line));
    }
    let _ = to.send(OutputPiece::End(bytes, reader.map(|reader| Box::new(reader.finish()))));
}

/// What so many readers reported; what several parsed is added.
pub(crate) fn gather(pieces: &Receiver<OutputPiece>, readers: usize) -> CommandOutput {
    let mut output = CommandOutput::default();
    let mut lines: Vec<(bool, String)> = Vec::new();
    let (mut ends, mut parsed) = (0, Vec::new());
    while ends < readers {
        match pieces.recv_timeout(OUTPUT_WAIT) {
            Ok(OutputPiece::Line(is_error, line)) => lines.push((is_error, line)),
            Ok(OutputPiece::End(bytes, reported)) => {
                ends += 1;
                output.bytes = output.bytes.saturating_add(bytes);
                parsed.extend(reported.map(|reported| *reported));
            }
            Err(_) => {
                output.trouble =
                    Some("its output did not end with it: what came late is not read".to_owned());
                break;
            }
        }
    }
    output.reported = if parsed.len() > 1 { Some(CommandTotals::added(parsed)) } else { parsed.pop() };
    // Standard error last, whichever ended first: it says why, and the other one may be figures alone.
    lines.sort_by_key(|(is_error, _)| *is_error);
    output.tail = end_of(&lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>());
    output
}

/// Reads the file that the command was to write, if it was.
fn read_results(plan: &ParsePlan, folder: &Path, output: &mut CommandOutput) {
    let Some(file) = &plan.file else { return };
    let path = folder.join(file);
    // A pipe or a device might never end.
    let is_file = path.metadata().is_ok_and(|meta| meta.is_file());
    let opened = File::open(&path).map_err(|error| error.to_string());
    let opened = opened.and_then(|opened| if is_file { Ok(opened) } else { Err("it is no file".to_owned()) });
    let mut opened = match opened {
        Ok(opened) => opened.take(RESULTS_BYTES_MAX),
        Err(error) => {
            output.trouble = Some(format!("its results {file} cannot be read: {error}"));
            return;
        }
    };
    let (mut lines, mut reader) = (LineSplitter::default(), CommandReader::new(plan));
    let mut each = |line: Option<&[u8]>| match line {
        Some(line) => reader.line(line, unix_ns().cast_signed()),
        None => reader.too_long(),
    };
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        match opened.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => lines.push(&buffer[..count], &mut each),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                output.trouble = Some(format!("its results {file} cannot be read to their end: {error}"));
                break;
            }
        }
    }
    lines.finish(&mut each);
    if opened.limit() == 0 {
        output.trouble = Some(format!("only the first 4 GiB of its results {file} are read"));
    }
    output.reported = Some(reader.finish());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{TAIL_BYTES, TAIL_LINES};
    use kdyno_model::plan::{CsvColumns, OutputFormat};
    use std::collections::BTreeMap;

    fn plan(file: Option<&str>) -> ParsePlan {
        let (file, columns) = (file.map(str::to_owned), CsvColumns::default());
        ParsePlan { format: OutputFormat::Csv, file, columns, labels: BTreeMap::new(), apart: None }
    }

    #[test]
    fn a_flood_of_output_is_counted_and_its_end_kept() {
        let flood: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
        let (sender, pieces) = channel();
        read_all(&b"an error\x1b[31m"[..], None, (true, &sender));
        read_all(flood.as_bytes(), None, (false, &sender));
        let output = gather(&pieces, 2);
        assert_eq!(output.bytes, flood.len() as u64 + 13);
        assert!(
            output.tail.len() <= TAIL_BYTES && output.tail.ends_with("line 199999\nan error\u{fffd}[31m")
        );
        assert_eq!(output.tail.lines().count(), TAIL_LINES + 1);
    }

    #[test]
    fn output_is_parsed_where_it_is_to_be() {
        let (sender, pieces) = channel();
        read_all(&b"elapsed\n5\n7\nx\n"[..], Some(CommandReader::new(&plan(None))), (false, &sender));
        read_all(&b""[..], None, (true, &sender));
        let reported = gather(&pieces, 2).reported.expect("parsed");
        assert_eq!((reported.requests, reported.unparsed), (2, 1));
    }

    #[test]
    fn results_that_are_no_file_are_reported_and_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut output = CommandOutput::default();
        read_results(&plan(Some("none.csv")), folder.path(), &mut output);
        let trouble = output.trouble.take().expect("it is not there");
        assert!(trouble.starts_with("its results none.csv cannot be read: No such file"), "{trouble}");
        read_results(&plan(Some(".")), folder.path(), &mut output);
        assert_eq!(output.trouble.take().as_deref(), Some("its results . cannot be read: it is no file"));
        std::fs::write(folder.path().join("some.csv"), "elapsed\n5\n").expect("written");
        read_results(&plan(Some("some.csv")), folder.path(), &mut output);
        assert_eq!((output.reported.map(|reported| reported.requests), output.trouble), (Some(1), None));
    }
}
