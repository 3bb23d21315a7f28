//! What a PostgreSQL component counts, read once per second by one `psql` that stays connected.

use crate::clock::monotonic_ns;
use crate::inbox::Heard;
use crate::output::read_lines;
use kdyno_testbed::command::{CommandSpec, RunningCommand};
use kdyno_testbed::postgres::Counted;
use std::sync::mpsc::SyncSender;

/// Reads what a database counts, until it is dropped.
pub(crate) struct DatabaseWatch {
    /// Ends `psql`, and with that the thread that reads it.
    _running: RunningCommand,
}

impl DatabaseWatch {
    /// Starts it; what is read goes to the inbox under the component's name.
    ///
    /// # Errors
    /// It cannot be started, one lowercase clause.
    pub(crate) fn start(
        component: &str,
        spec: &CommandSpec,
        hidden: &[String],
        inbox: SyncSender<Heard>,
    ) -> Result<Self, String> {
        let (running, outputs, _) = RunningCommand::start(spec, hidden)?;
        let name = component.to_owned();
        let tell = move |line: Option<&[u8]>| {
            let counted = line.and_then(|line| Counted::of_line(&String::from_utf8_lossy(line)));
            if let Some(counted) = counted {
                // The inbox lives as long as the trial; when it is gone the message is not needed.
                let _ = inbox.send(Heard::Database(name.clone(), monotonic_ns(), counted));
            }
        };
        let thread = |what: &str| std::thread::Builder::new().name(format!("{what}-of-psql"));
        let failed = |error: std::io::Error| format!("what it counts cannot be read: {error}");
        let read = move || {
            read_lines(outputs.stdout, tell);
        };
        thread("stdout").spawn(read).map_err(failed)?;
        // It has nothing to say there that the database's own output does not.
        let read = move || {
            read_lines(outputs.stderr, |_| {});
        };
        thread("stderr").spawn(read).map_err(failed)?;
        Ok(Self { _running: running })
    }
}
