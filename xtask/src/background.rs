//! Child processes: how they are typed, what is shown of what they said, and that none is left behind.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

/// The last lines of a long complaint.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// A command as one would type it.
pub fn words(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = !argument.is_empty() && !argument.contains([' ', '*', '\'', '"', '$']);
        text.push(' ');
        text.push_str(&if plain { argument.into_owned() } else { format!("'{argument}'") });
    }
    text
}

/// A server that runs beside the measured process and ends with this value.
pub struct Background {
    child: Child,
    /// All lines that were waited for.
    pub said: String,
}

impl Background {
    /// Starts it and waits for its first line.
    pub fn start(command: &mut Command) -> anyhow::Result<Background> {
        Background::start_until(command, |_| true)
    }

    /// Starts it and waits for the first line that is the last one wanted.
    pub fn start_until(command: &mut Command, is_last: fn(&str) -> bool) -> anyhow::Result<Background> {
        let name = words(command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.as_mut() {
            // What comes after these lines is nobody's to read.
            let mut lines = BufReader::new(stdout.by_ref());
            loop {
                let begin = said.len();
                if lines.read_line(&mut said)? == 0 || is_last(&said[begin..]) {
                    break;
                }
            }
        }
        let server = Background { child, said };
        if server.first_line().is_empty() {
            bail!("{name} ended without saying its address");
        }
        Ok(server)
    }

    /// The first line it printed: its address.
    pub fn first_line(&self) -> &str {
        self.said.lines().next().unwrap_or_default().trim()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
