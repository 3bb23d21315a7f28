//! Other people's load: a command that is run in the measure phase.

use super::http_load::HttpLoad;
use crate::generator::GeneratorPods;
use crate::metric::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{Display, EnumString, IntoStaticStr};

/// Longest that a command may take, ns.
pub const COMMAND_NS_MAX: u64 = 7 * 86_400 * 1_000_000_000;
/// Begins the names of variables in a command's environment.
pub const COMMAND_VARIABLE: &str = "KDYNO_";

/// A load item that is a command: a program of somebody else, started in the measure phase and waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandPlan {
    /// The program and its arguments; none where kdyno itself is what is run.
    pub run: Vec<String>,
    /// What kdyno itself sends over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpLoad>,
    /// When it is started.
    pub begins: CommandBegins,
    /// It is ended, with all that it started, when it takes longer, ns.
    pub timeout_ns: u64,
    /// Whether the measure phase ends when it does.
    #[serde(default)]
    pub ends_measure: bool,
    /// Further variables of its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// How its output is read; `None`: its duration is all that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse: Option<ParsePlan>,
    /// The pods that run it; `None`: this host does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<CommandPods>,
}

/// Pods that run a command, each the whole of it. All that is not here is that of the pods of the run's generators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandPods {
    /// The image, as its registry calls it.
    pub image: String,
    /// How many.
    pub count: u16,
    /// CPU time that is reserved for each, thousandths of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_milli: Option<u32>,
    /// Memory that each has, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl CommandPods {
    /// They, where the generators' own are these.
    pub fn like(&self, generators: &GeneratorPods) -> GeneratorPods {
        GeneratorPods {
            image: self.image.clone(),
            count: self.count,
            cpu_milli: self.cpu_milli.unwrap_or(generators.cpu_milli),
            memory_bytes: self.memory_bytes.unwrap_or(generators.memory_bytes),
            ..generators.clone()
        }
    }
}

impl CommandPlan {
    /// The names of the labels whose requests are reported by themselves.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.parse.iter().flat_map(|parse| parse.labels.keys().map(String::as_str))
    }

    /// Whose it is that is run, where kdyno sends nothing itself, one clause.
    pub fn origin(&self) -> String {
        match &self.pods {
            None => "it is a program of this host, run as you".to_owned(),
            Some(pods) => format!("it is run by each of {} pods with the image {}", pods.count, pods.image),
        }
    }

    /// The command line for people: arguments that a shell would take apart are quoted.
    pub fn line(&self) -> String {
        self.http.as_ref().map_or_else(|| line_of(&self.run), ToString::to_string)
    }
}

/// A command line for people.
pub(crate) fn line_of(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let word = |word: &String| match word.is_empty() || !word.chars().all(is_plain) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.clone(),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// When a command is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandBegins {
    /// So long after the measure phase began, ns.
    At(u64),
    /// When this other command has ended, however it ended.
    After(String),
}

/// What a command reports, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParsePlan {
    /// In which form.
    pub format: OutputFormat,
    /// The file that it writes, beneath the trial's own folder unless it is absolute; `None`: standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// For CSV which columns are meant.
    #[serde(default)]
    pub columns: CsvColumns,
    /// Requests of one kind that are reported by themselves: what they are called here, and the label that the command
    /// gives them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The label of what holds other requests, and so is none by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
}

/// The form in which a command reports what it measured.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Display, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OutputFormat {
    /// JMeter's results as CSV with a header.
    Jtl,
    /// k6's JSON lines (`--out json=…`).
    K6Json,
    /// CSV with a header and columns of given names.
    Csv,
    /// Standard output of Kafka's own performance tools.
    PerfTest,
}

impl OutputFormat {
    /// Its words in scenarios.
    pub const WORDS: [&str; 4] = ["jtl", "k6-json", "csv", "perf-test"];
}

/// Names of a CSV's columns; times in ms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CsvColumns {
    /// How long a request took, ms.
    pub elapsed: String,
    /// When it began, ms since 1970.
    pub time: String,
    /// Whether it succeeded: `true`, `1`, `ok` or a status from 100 to 399.
    pub success: String,
    /// Its kind.
    #[serde(default = "label")]
    pub label: String,
}

fn label() -> String {
    "label".to_owned()
}

impl Default for CsvColumns {
    /// The columns of JMeter.
    fn default() -> Self {
        let (elapsed, time, success) = ("elapsed".to_owned(), "timeStamp".to_owned(), "success".to_owned());
        Self { elapsed, time, success, label: label() }
    }
}

/// Series over time that are made of what a command reported: name, unit, meaning.
pub const COURSES: [(&str, Unit, &str); 2] = [
    (
        "requests",
        Unit::RequestsPerS,
        "requests per second that commands and users reported; of Kafka's tools since the line before",
    ),
    (
        "mean response time of requests",
        Unit::Ns,
        "what the requests that began in a second took on average, ns; a second without one has no row",
    ),
];

/// What is kept of a command as readings of its load item.
pub mod series {
    /// When it was started, s from T0.
    pub const STARTED_S: &str = "command_started_s";
    /// From its start to its exit, s.
    pub const DURATION_S: &str = "command_duration_s";
    /// It was ended before it ended by itself, after so many seconds.
    pub const ENDED_AFTER_S: &str = "command_ended_after_s";
    /// What it exited with; none of one that a signal ended.
    pub const EXIT_CODE: &str = "command_exit_code";
    /// CPU time of it and of all processes below it that had ended, s.
    pub const CPU_S: &str = "command_cpu_s";
    /// Bytes that it wrote to standard output and error.
    pub const OUTPUT_BYTES: &str = "command_output_bytes";
    /// Requests that it reported up to an instant.
    pub const REQUESTS_TOTAL: &str = "command_requests_total";
    /// Requests that failed.
    pub const ERRORS_TOTAL: &str = "command_errors_total";
    /// What the requests took together that began up to an instant, s.
    pub const RESPONSE_S_TOTAL: &str = "command_response_s_total";
    /// Begins the name of a statistic of what requests took, s.
    pub const RESPONSE_S_OF: &str = "command_response_s.";
    /// Requests with a response time, which these are of.
    pub const RESPONSES: &str = "command_responses";
    /// Requests per second, as the tool reports it or from the first request to the last.
    pub const REQUESTS_PER_S: &str = "command_requests_per_s";
    /// 2^20 bytes per second as a tool of Kafka prints it.
    pub const MIB_PER_S: &str = "command_mib_per_s";
    /// Lines of its output that are not of the form that was named.
    pub const UNPARSED_LINES: &str = "command_unparsed_lines";
    /// Share of the time from the first pod's beginning to the last one's end in which all of them measured.
    pub const OVERLAP: &str = "command_overlap";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_pasted_into_a_shell() {
        let run = ["sh", "-c", "echo 'a' $X", "", "-k=v"].map(str::to_owned).to_vec();
        let plan = CommandPlan {
            run,
            http: None,
            begins: CommandBegins::At(0),
            timeout_ns: 1,
            ends_measure: false,
            environment: BTreeMap::new(),
            parse: None,
            pods: None,
        };
        assert_eq!(plan.line(), r"sh -c 'echo '\''a'\'' $X' '' -k=v");
    }

    #[test]
    fn formats_are_read_by_the_words_of_scenarios() {
        for word in OutputFormat::WORDS {
            assert_eq!(word.parse::<OutputFormat>().map(|format| format.to_string()), Ok(word.to_owned()));
        }
    }
}
