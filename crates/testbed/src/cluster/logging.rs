//! The log configuration of a broker: the files, levels and pattern that Kafka's distribution has.

use kdyno_model::version::LogBackend;
use std::fmt::Write;

/// Line format of Kafka's distribution.
const PATTERN: &str = "[%d] %p %m (%c)%n";
/// Log file next to `server.log`, by the short name of its appender.
const FILES: [(&str, &str); 5] = [
    ("stateChange", "state-change.log"),
    ("request", "kafka-request.log"),
    ("cleaner", "log-cleaner.log"),
    ("controller", "controller.log"),
    ("authorizer", "kafka-authorizer.log"),
];
/// Loggers with a file of their own: name, level, appender.
type Logger = (&'static str, &'static str, &'static str);
/// Loggers of 2.x and 3.x.
const LOGGERS_LOG4J1: [Logger; 7] = [
    ("kafka.request.logger", "WARN", "request"),
    ("kafka.network.RequestChannel$", "WARN", "request"),
    ("org.apache.kafka.controller", "INFO", "controller"),
    ("kafka.controller", "TRACE", "controller"),
    ("kafka.log.LogCleaner", "INFO", "cleaner"),
    ("state.change.logger", "INFO", "stateChange"),
    ("kafka.authorizer.logger", "INFO", "authorizer"),
];
/// Loggers of 4.x.
const LOGGERS_LOG4J2: [Logger; 8] = [
    ("kafka.request.logger", "WARN", "request"),
    ("kafka.network.RequestChannel$", "WARN", "request"),
    ("org.apache.kafka.controller", "INFO", "controller"),
    ("org.apache.kafka.storage.internals.log.LogCleaner", "INFO", "cleaner"),
    ("org.apache.kafka.storage.internals.log.LogCleaner$CleanerThread", "INFO", "cleaner"),
    ("org.apache.kafka.storage.internals.log.Cleaner", "INFO", "cleaner"),
    ("state.change.logger", "INFO", "stateChange"),
    ("kafka.authorizer.logger", "INFO", "authorizer"),
];

/// A log configuration: file name, content, and the JVM option that names it (without the file's path).
pub(super) struct LogConfig {
    pub file_name: &'static str,
    pub content: String,
    /// `-Dlog4j.configuration=file:` or the like; the path is appended.
    pub option: &'static str,
}

/// The configuration for a backend; log files go to the folder in the system property `kafka.logs.dir`.
pub(super) fn config(backend: LogBackend) -> LogConfig {
    match backend {
        LogBackend::Log4j1 => LogConfig {
            file_name: "log4j.properties",
            content: log4j1(),
            option: "-Dlog4j.configuration=file:",
        },
        LogBackend::Log4j2 => {
            LogConfig { file_name: "log4j2.yaml", content: log4j2(), option: "-Dlog4j2.configurationFile=" }
        }
    }
}

// Writing to a String cannot fail, so the results of `write!` are dropped in both.

fn log4j1() -> String {
    let mut out = String::from("log4j.rootLogger=INFO, stdout, server\n");
    let _ = writeln!(out, "log4j.appender.stdout=org.apache.log4j.ConsoleAppender");
    let _ = writeln!(out, "log4j.appender.stdout.layout=org.apache.log4j.PatternLayout");
    let _ = writeln!(out, "log4j.appender.stdout.layout.ConversionPattern={PATTERN}");
    for (name, file) in [("server", "server.log")].into_iter().chain(FILES) {
        let appender = format!("log4j.appender.{name}");
        let _ = writeln!(out, "{appender}=org.apache.log4j.DailyRollingFileAppender");
        let _ = writeln!(out, "{appender}.DatePattern='.'yyyy-MM-dd-HH");
        let _ = writeln!(out, "{appender}.File=${{kafka.logs.dir}}/{file}");
        let _ = writeln!(out, "{appender}.layout=org.apache.log4j.PatternLayout");
        let _ = writeln!(out, "{appender}.layout.ConversionPattern={PATTERN}");
    }
    for name in ["org.apache.zookeeper", "kafka", "org.apache.kafka"] {
        let _ = writeln!(out, "log4j.logger.{name}=INFO");
    }
    for (name, level, appender) in LOGGERS_LOG4J1 {
        let _ = writeln!(out, "log4j.logger.{name}={level}, {appender}\nlog4j.additivity.{name}=false");
    }
    out
}

fn log4j2() -> String {
    let mut out = String::from("Configuration:\n  Appenders:\n    Console:\n      name: stdout\n");
    let _ = writeln!(out, "      PatternLayout: {{pattern: \"{PATTERN}\"}}");
    out.push_str("    RollingFile:\n");
    for (name, file) in [("server", "server.log")].into_iter().chain(FILES) {
        let _ = writeln!(out, "      - name: {name}");
        let _ = writeln!(out, "        fileName: \"${{sys:kafka.logs.dir}}/{file}\"");
        let _ = writeln!(out, "        filePattern: \"${{sys:kafka.logs.dir}}/{file}.%d{{yyyy-MM-dd-HH}}\"");
        let _ = writeln!(out, "        PatternLayout: {{pattern: \"{PATTERN}\"}}");
        out.push_str("        TimeBasedTriggeringPolicy: {modulate: true, interval: 1}\n");
    }
    out.push_str(
        "  Loggers:\n    Root:\n      level: INFO\n      AppenderRef: [{ref: stdout}, {ref: server}]\n",
    );
    out.push_str("    Logger:\n");
    for name in ["kafka", "org.apache.kafka"] {
        let _ = writeln!(out, "      - {{name: {name}, level: INFO}}");
    }
    for (name, level, appender) in LOGGERS_LOG4J2 {
        let _ = writeln!(
            out,
            "      - {{name: \"{name}\", level: {level}, additivity: false, AppenderRef: {{ref: {appender}}}}}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_backends_write_the_same_files() {
        for backend in [LogBackend::Log4j1, LogBackend::Log4j2] {
            let content = config(backend).content;
            for (_, file) in FILES {
                assert!(content.contains(&format!("kafka.logs.dir}}/{file}")), "{file} in {content}");
            }
        }
    }
}
