//! Other people's load: the output of a command is read line by line, in bounded memory, and what is known of one in a
//! trial becomes figures.

mod course;
mod csv;
mod figures;
mod k6;
mod lines;
mod perf_test;
mod reported;

pub(crate) use course::courses;
pub(crate) use figures::{
    beyond, cpu_s, failed_requests, failures, findings, labels, responses, users_cpu_percent,
};
pub use lines::{LINE_BYTES_MAX, LineSplitter};
pub use reported::{CommandTotals, SECONDS_MAX};

use kdyno_model::plan::{OutputFormat, ParsePlan};

/// Reads the output of a command, line by line.
#[derive(Debug)]
pub struct CommandReader {
    format: CommandFormat,
    reported: CommandTotals,
}

#[derive(Debug)]
enum CommandFormat {
    Csv(csv::CsvReader),
    K6,
    PerfTest(perf_test::PerfTestReader),
}

impl CommandReader {
    /// A reader of a form.
    pub fn new(plan: &ParsePlan) -> Self {
        let format = match plan.format {
            OutputFormat::Jtl => CommandFormat::Csv(csv::CsvReader::jtl()),
            OutputFormat::Csv => CommandFormat::Csv(csv::CsvReader::new(&plan.columns)),
            OutputFormat::K6Json => CommandFormat::K6,
            OutputFormat::PerfTest => CommandFormat::PerfTest(perf_test::PerfTestReader::default()),
        };
        Self { format, reported: CommandTotals::with_labels(&plan.labels, plan.apart.as_deref()) }
    }

    /// One line without its end, read at an instant, ns since 1970.
    pub fn line(&mut self, line: &[u8], read_unix_ns: i64) {
        // What is not UTF-8 is still a line: names in it may be anything.
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        match &mut self.format {
            CommandFormat::Csv(reader) => reader.line(line, &mut self.reported),
            CommandFormat::K6 => k6::line(line, &mut self.reported),
            CommandFormat::PerfTest(reader) => reader.line(line, read_unix_ns, &mut self.reported),
        }
    }

    /// A line that was longer than is read.
    pub fn too_long(&mut self) {
        self.reported.unparsed += 1;
    }

    /// All of it.
    pub fn finish(self) -> CommandTotals {
        let Self { format, mut reported } = self;
        match format {
            CommandFormat::Csv(reader) => reader.finish(&mut reported),
            CommandFormat::PerfTest(reader) => reader.finish(&mut reported),
            CommandFormat::K6 => {}
        }
        reported.finish();
        reported
    }
}

#[cfg(test)]
mod tests;
