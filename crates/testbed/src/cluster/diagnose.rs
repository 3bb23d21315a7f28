//! Reads from a process's last words why it did not start.

/// Why a process ended, as far as its output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    /// One sentence, with the process's own words where they say it best.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Another process took one of the ports between our look and its start: worth another try.
    pub port_clash: bool,
}

/// Longest quotation of a process's output.
const QUOTE_CHARACTERS_MAX: usize = 400;

/// A sign in the output, the message it means (`{}` is the rest of the line after the sign), and a hint.
type FailureSign = (&'static str, &'static str, &'static str);

/// In order of precedence: the first that occurs anywhere decides.
const SIGNS: [FailureSign; 14] = [
    ("UnsupportedClassVersionError", "this Java is too old for this Kafka", "set JAVA_HOME to a newer Java"),
    (
        "getSubject is supported only if",
        "this Java is too new for this Kafka",
        "set JAVA_HOME to Java 17 or 21",
    ),
    ("getSubject is not supported", "this Java is too new for this Kafka", "set JAVA_HOME to Java 17 or 21"),
    (
        "os::commit_memory",
        "not enough memory for the JVM's heap",
        "lower limits.heap or the number of brokers",
    ),
    (
        "Could not reserve enough space",
        "not enough memory for the JVM's heap",
        "lower limits.heap or the number of brokers",
    ),
    (
        "There is insufficient memory",
        "not enough memory for the JVM",
        "lower limits.heap or the number of brokers",
    ),
    ("OutOfMemoryError", "the heap is too small: OutOfMemoryError{}", "raise limits.heap"),
    ("Too small maximum heap", "the heap is too small for a JVM", "raise limits.heap"),
    ("Unrecognized VM option", "the JVM does not know an option:{}", "check the JVM options of the scenario"),
    ("Error: Could not find or load main class", "a class is missing:{}", "the Kafka folder is incomplete"),
    ("No space left on device", "no space left on device", "free disk space, or use storage: memory"),
    ("ConfigException: ", "{}", "check the scenario's config"),
    ("InconsistentClusterIdException: ", "{}", "the data folder belongs to another cluster"),
    ("requirement failed: ", "{}", "check the scenario's config"),
];

/// The most informative cause in these lines, oldest first.
pub(crate) fn cause(lines: &[String]) -> Diagnosis {
    if lines.iter().any(|line| line.contains("Address already in use") || line.contains("BindException")) {
        let line = find(lines, "already in use").or_else(|| find(lines, "BindException")).unwrap_or_default();
        return Diagnosis {
            message: format!("a port was taken by another process: {}", quote(line)),
            hint: Some("try again; if it stays, look for what listens there with `ss -ltnp`".to_string()),
            port_clash: true,
        };
    }
    for (sign, message, hint) in SIGNS {
        if let Some(line) = find(lines, sign) {
            let rest = line.split_once(sign).map_or("", |(_, rest)| rest);
            let hint = Some(hint.to_string());
            return Diagnosis { message: message.replace("{}", &quote(rest)), hint, port_clash: false };
        }
    }
    let first_error = [" FATAL ", "Exception in thread", " ERROR ", "Error:", "Exception"]
        .iter()
        .find_map(|sign| find(lines, sign));
    let first = first_error.or(lines.last().map(String::as_str));
    let mut message = first.map_or_else(|| "it logged nothing".to_string(), quote);
    if let Some(thrown) = first_error.and_then(|line| thrown_after(lines, line)) {
        message = format!("{message}: {}", quote(thrown));
    }
    Diagnosis { message, hint: None, port_clash: false }
}

/// What was thrown, where a line of a log is followed by it: its last cause, which is where it began.
fn thrown_after<'a>(lines: &'a [String], first: &str) -> Option<&'a str> {
    let mut after = lines.iter().map(String::as_str).skip_while(|line| *line != first).skip(1);
    let thrown = after.next().filter(|line| line.contains("Exception") || line.contains("Error"))?;
    let of_it = after.take_while(|line| line.starts_with('\t') || line.starts_with("Caused by: "));
    Some(of_it.filter_map(|line| line.strip_prefix("Caused by: ")).last().unwrap_or(thrown))
}

fn find<'a>(lines: &'a [String], sign: &str) -> Option<&'a str> {
    lines.iter().map(String::as_str).find(|line| line.contains(sign))
}

fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.trim_end().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(lines: &[&str]) -> String {
        cause(&lines.iter().map(|line| (*line).to_string()).collect::<Vec<_>>()).message
    }

    #[test]
    fn an_invalid_setting_is_reported_in_the_brokers_words() {
        let text = message(&[
            "[2026-01-01 10:00:00,000] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)",
            "org.apache.kafka.common.config.ConfigException: Invalid value abc for configuration num.io.threads: Not a number of type INT",
            "\tat org.apache.kafka.common.config.ConfigDef.parseType(ConfigDef.java:753)",
        ]);
        assert_eq!(text, "Invalid value abc for configuration num.io.threads: Not a number of type INT");
    }

    #[test]
    fn the_usual_failures_have_a_name() {
        assert!(message(&["java.net.BindException: Address already in use"]).starts_with("a port was taken"));
        assert!(
            message(&["OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x1, 1, 0) failed"])
                .contains("not enough memory")
        );
        assert!(message(&["java.lang.UnsupportedClassVersionError: x"]).contains("too old"));
        assert!(message(&["Unrecognized VM option 'Foo'"]).contains("'Foo'"));
        assert!(message(&["java.io.IOException: No space left on device"]).contains("no space"));
    }

    #[test]
    fn otherwise_the_first_error_line_or_the_last_line_speaks() {
        assert_eq!(message(&["fine", "[x] ERROR boom (y)", "trailer"]), "[x] ERROR boom (y)");
        assert_eq!(message(&["fine", "the end"]), "the end");
        let (first, thrown) = ("[x] ERROR boom (y)", "a.BoomException: no");
        assert_eq!(message(&[first, thrown, "\tat z", "[x] INFO bye"]), format!("{first}: {thrown}"));
        let cause = ["Caused by: b.Other: why", "\tat z", "Caused by: c.First: that is why", "\tat z"];
        let lines = [&[first, thrown, "\tat z"][..], &cause, &["[x] ERROR", "Caused by: later"]].concat();
        assert_eq!(message(&lines), format!("{first}: c.First: that is why"));
        assert_eq!(message(&[]), "it logged nothing");
        assert!(message(&[&"y".repeat(10_000)]).len() < 2_000);
    }
}
