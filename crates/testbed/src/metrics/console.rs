//! What the console of a JMX exporter says of why there is nothing to read.

use crate::tail;
use std::path::Path;

/// A few stack traces.
const LINES_MAX: usize = 1000;
/// Longest line that is shown.
const CHARS_MAX: usize = 200;

/// Why an exporter has no metrics of a broker, as far as its console says. Its own words may name addresses and are not
/// shown.
pub(crate) fn why(console: &Path) -> String {
    const KNOWN: [(&str, &str); 6] = [
        ("Authentication failed", "JMX refuses the login"),
        ("Credentials required", "JMX wants a login (`username` and `password` under `metrics`)"),
        ("Connection refused", "no process listens at the JMX port"),
        ("UnknownHostException", "the host of the JMX port is not found"),
        ("SSLHandshakeException", "JMX wants TLS, which is not spoken here"),
        ("non-JRMP server", "at the JMX port is something else, or JMX wants TLS, which is not spoken here"),
    ];
    let lines = tail::lines(console, LINES_MAX);
    let known = |line: &String| KNOWN.iter().find(|(pattern, _)| line.contains(pattern));
    let newest = lines.iter().rev().find_map(known);
    newest.map_or("JMX has none of Kafka's metrics", |(_, words)| words).to_string()
}

/// What it said last.
pub(crate) fn last_line(console: &Path) -> Option<String> {
    let line = tail::lines(console, 1).pop()?;
    Some(line.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_console_says_last_is_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let console = folder.path().join("log");
        assert_eq!(why(&console), "JMX has none of Kafka's metrics", "no file");
        let refused = "java.rmi.ConnectException: Connection refused to host: 10.0.0.7\n";
        let text = format!(
            "{}{refused}java.lang.SecurityException: Authentication failed!\n",
            "x\n".repeat(1 << 16)
        );
        std::fs::write(&console, text).expect("written");
        assert_eq!(why(&console), "JMX refuses the login");
        assert!(last_line(&console).expect("a line").starts_with("java.lang.SecurityException"));
        std::fs::write(&console, refused).expect("written");
        assert_eq!(why(&console), "no process listens at the JMX port");
    }
}
