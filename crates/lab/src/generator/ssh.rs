//! Hosts that ssh reaches: it starts their agent, and copies this program to where it is missing.

use super::copied::{MISSING, OwnProgram};
use super::exited_within;
use super::lab_session::LabSession;
use super::outgoing::locked;
use super::resuming::Redial;
use super::session::AgentHost;
use crate::output::{OutputTail, last_lines, read_lines};
use crate::secrets::resolve_again;
use kdyno_model::secret::SecretRef;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long ssh may take to end once its stream is closed.
const SSH_END_DEADLINE: Duration = Duration::from_secs(5);

/// How long its output may go on once it has ended: a master that stays (ControlPersist) may have that open.
const WORDS_DEADLINE: Duration = Duration::from_secs(1);

/// How long copying the program may take: 100 MB at 2 Mbit/s are less.
const COPY_DEADLINE: Duration = Duration::from_secs(600);

/// How soon a wish to stop is seen meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// How long the agent may take to go on with a session: ssh has to log in once more. Within the time in which a session may be
/// resumed there is room for another attempt.
const LOGIN_DEADLINE: Duration = Duration::from_secs(12);

/// A host that does not answer is given up before that, with ssh's own words.
const LOGIN_OPTIONS: [&str; 2] = ["-o", "ConnectTimeout=10"];

/// With these a connection of its own is made where the user's ssh shares one (ControlMaster): that may be the one that is dead.
const OWN_LOGIN_OPTIONS: [&str; 4] = ["-o", "ConnectTimeout=10", "-o", "ControlPath=none"];

/// Where ssh itself is what failed.
const HINT: &str = "does `ssh HOST true` work without a question?";

/// A host, and which program is its agent.
#[derive(Clone)]
pub(super) struct SshHost {
    pub(super) destination: String,
    /// File by which ssh is configured instead of the user's own.
    pub(super) config: Option<PathBuf>,
    pub(super) program: ProgramThere,
}

/// The program of an agent that ssh starts.
#[derive(Clone)]
pub(super) enum ProgramThere {
    /// A path on the host.
    Named(String),
    /// This program's copy.
    Copied(Arc<OwnProgram>),
}

/// What opening a session takes, whichever the host.
pub(super) struct Opening<'a> {
    /// What an agent on this host would say of it.
    pub(super) own: &'a AgentHost,
    /// Environment variables that ssh does not inherit.
    pub(super) hidden: &'a [String],
    /// Set from outside to end the run.
    pub(super) stop: &'a AtomicBool,
    /// Gets what takes time, one lowercase phrase.
    pub(super) steps: Sender<String>,
}

/// Why a host is not reached, one lowercase clause, and what can be done.
pub(super) struct Unreached {
    pub(super) why: String,
    pub(super) hint: &'static str,
}

impl SshHost {
    /// A session with its agent, and the ssh that carries it.
    pub(super) fn open(
        &self,
        name: &str,
        opening: &Opening<'_>,
    ) -> Result<(LabSession, SshOfSession), Unreached> {
        if let Some(opened) = self.try_open(name, opening)? {
            return Ok(opened);
        }
        if let ProgramThere::Copied(program) = &self.program {
            self.copy(program, name, opening)?;
        }
        let gone = || Unreached { why: "the copy of kdyno there is gone again".to_owned(), hint: "" };
        self.try_open(name, opening)?.ok_or_else(gone)
    }

    /// `None`: the host has no copy of this program.
    fn try_open(
        &self,
        name: &str,
        opening: &Opening<'_>,
    ) -> Result<Option<(LabSession, SshOfSession)>, Unreached> {
        // The token is this session's alone: who logs in as the same user later has not got it.
        let token = resolve_again(&SecretRef::Made)
            .map_err(|why| Unreached { why: format!("its session got no token: {why}"), hint: "" })?;
        let carrier = Arc::<Carrier>::default();
        let (host, hidden) = (self.clone(), opening.hidden.to_vec());
        let is_own_next = AtomicBool::new(false);
        let again = SshAgain { host, hidden, carrier: Arc::clone(&carrier), is_own_next };
        let stream = again.connect(&[])?;
        let opened = LabSession::open(name, stream, token.expose(), opening.own, Box::new(again));
        let why = match opened {
            Ok(session) => return Ok(Some((session, SshOfSession(carrier)))),
            Err(why) => why,
        };
        let mut ssh = carrier.take();
        let status = ssh.as_mut().and_then(Ssh::end);
        let hint = match &self.program {
            ProgramThere::Copied(_) if status == Some(MISSING) => return Ok(None),
            ProgramThere::Copied(_) => HINT,
            ProgramThere::Named(_) => "does `ssh HOST PROGRAM version` work without a question?",
        };
        let words = ssh.as_mut().map(Ssh::last_words).unwrap_or_default();
        Err(Unreached { why: format!("{why}{words}"), hint })
    }

    fn copy(&self, program: &OwnProgram, name: &str, opening: &Opening<'_>) -> Result<(), Unreached> {
        // Who listens has gone: then there is nothing to be said.
        let _ = opening.steps.send(format!("copying this kdyno ({}) to {name}", program.size()));
        let file = File::open(&program.path).map_err(|error| Unreached {
            why: format!("this program cannot be read to be copied there: {error}"),
            hint: "",
        })?;
        // A host that is gone is not waited for.
        let mut command =
            self.command(&["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"], opening.hidden);
        command.arg(program.copy_script()).stdin(Stdio::from(file)).stdout(Stdio::null());
        let mut ssh = Ssh::start(command)?;
        let until = Instant::now() + COPY_DEADLINE;
        while !exited_within(ssh.child.id(), LOOK) {
            if opening.stop.load(Ordering::Relaxed) || Instant::now() >= until {
                ssh.kill();
            }
        }
        match ssh.end() {
            Some(0) => Ok(()),
            status => {
                let (why, hint) = program.why_not(status);
                let hint = if hint.is_empty() { HINT } else { hint };
                Err(Unreached { why: format!("{why}{}", ssh.last_words()), hint })
            }
        }
    }

    fn command(&self, options: &[&str], hidden: &[String]) -> Command {
        let mut command = Command::new("ssh");
        for variable in hidden {
            command.env_remove(variable);
        }
        // It never asks for input: a terminal may be missing.
        command.args(["-T", "-o", "BatchMode=yes"]).args(options);
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        command.args(["--", self.destination.as_str()]);
        command
    }
}

/// How the agent of a session is reached, once more where its connection broke.
struct SshAgain {
    host: SshHost,
    /// Environment variables that ssh does not inherit.
    hidden: Vec<String>,
    carrier: Arc<Carrier>,
    /// Whether the next attempt makes a connection of its own: each other one, for a user may have to log in to share one.
    is_own_next: AtomicBool,
}

impl SshAgain {
    /// The options of the next attempt.
    fn next_options(&self) -> &'static [&'static str] {
        if self.is_own_next.fetch_xor(true, Ordering::Relaxed) { &OWN_LOGIN_OPTIONS } else { &LOGIN_OPTIONS }
    }

    /// The end of a stream that another ssh carries; the one before is ended.
    fn connect(&self, options: &[&str]) -> Result<UnixStream, Unreached> {
        let (ours, theirs) = UnixStream::pair().map_err(not_started)?;
        let output = theirs.try_clone().map_err(not_started)?;
        let mut command = self.host.command(options, &self.hidden);
        match &self.host.program {
            ProgramThere::Named(program) => command.args([program.as_str(), "agent", "--stdio"]),
            ProgramThere::Copied(program) => command.arg(program.start_script()),
        };
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(OwnedFd::from(output)));
        // With the command go its ends of the socket, which must close when ssh ends.
        self.carrier.exchange(|| Ssh::start(command))?;
        Ok(ours)
    }
}

impl Redial for SshAgain {
    fn dial(&self) -> Result<UnixStream, String> {
        self.connect(self.next_options()).map_err(|unreached| unreached.why)
    }

    fn answer_deadline(&self) -> Duration {
        LOGIN_DEADLINE
    }

    fn last_words(&self) -> String {
        let Some(mut ssh) = self.carrier.take() else { return String::new() };
        // It is not waited for: what it did not say in time is not said.
        ssh.kill();
        ssh.end();
        ssh.last_words()
    }
}

/// The ssh that carries a session: after a break another one.
#[derive(Default)]
struct Carrier(Mutex<Option<Ssh>>);

impl Carrier {
    /// Puts another one in the place of the one that there is, whose connection is of no use.
    fn exchange(&self, start: impl FnOnce() -> Result<Ssh, Unreached>) -> Result<(), Unreached> {
        let mut held = locked(&self.0);
        if let Some(mut before) = held.take() {
            before.kill();
        }
        *held = Some(start()?);
        Ok(())
    }

    fn take(&self) -> Option<Ssh> {
        locked(&self.0).take()
    }
}

/// Ends the ssh that carries a session.
pub(super) struct SshOfSession(Arc<Carrier>);

impl Drop for SshOfSession {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

fn not_started(error: std::io::Error) -> Unreached {
    Unreached { why: format!("ssh could not be started: {error}"), hint: "" }
}

/// A running ssh, and the end of what it wrote, and who it started there.
struct Ssh {
    child: Child,
    tail: Arc<Mutex<OutputTail>>,
    reading: Option<JoinHandle<()>>,
}

impl Ssh {
    fn start(mut command: Command) -> Result<Self, Unreached> {
        let mut child = command.stderr(Stdio::piped()).process_group(0).spawn().map_err(not_started)?;
        let tail = Arc::<Mutex<OutputTail>>::default();
        let reading = child.stderr.take().and_then(|stderr| {
            let tail = Arc::clone(&tail);
            let read = move || {
                read_lines(stderr, |line| locked(&tail).push(line));
            };
            std::thread::Builder::new().name("ssh-output".to_owned()).spawn(read).ok()
        });
        Ok(Self { child, tail, reading })
    }

    /// What it wrote last, once it has ended.
    fn last_words(&mut self) -> String {
        let Some(reading) = self.reading.take() else { return String::new() };
        let until = Instant::now() + WORDS_DEADLINE;
        while !reading.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let tail = locked(&self.tail).text();
        last_lines(&tail)
    }

    /// Ends it with what it has started: the ssh of a ProxyJump would outlive it where the network is gone.
    fn kill(&mut self) {
        // It fails only when there is nothing left to end.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Ends it; its status, which is that of the command there; `None`: a signal ended it.
    fn end(&mut self) -> Option<i32> {
        if !exited_within(self.child.id(), SSH_END_DEADLINE) {
            self.kill();
        }
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::ChildStdout;

    /// A shell in the place of ssh, once it has printed a line, and what it prints from then on.
    fn started(script: &str) -> (Ssh, BufReader<ChildStdout>) {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut ssh = Ssh::start(shell).ok().expect("a shell");
        let mut stdout = BufReader::new(ssh.child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut String::new()).expect("a line");
        (ssh, stdout)
    }

    #[test]
    fn each_other_attempt_shares_no_connection() {
        let program = ProgramThere::Named("kdyno".to_owned());
        let host = SshHost { destination: "gen-1".to_owned(), config: None, program };
        let (hidden, carrier) = (Vec::new(), Arc::default());
        let again = SshAgain { host, hidden, carrier, is_own_next: AtomicBool::new(false) };
        let is_own: Vec<bool> = (0..3).map(|_| again.next_options().contains(&"ControlPath=none")).collect();
        assert_eq!(is_own, [false, true, false]);
    }

    #[test]
    fn the_last_words_of_ssh_are_not_waited_for_where_another_has_its_output() {
        const WHOLE: Duration = Duration::from_secs(60);
        let words = "; its last lines: connection lost";
        let begin = Instant::now();
        // As a ProxyJump without a network: it goes with the ssh that is killed.
        let (mut killed, mut stdout) = started("sleep 120 & echo connection lost >&2; echo; wait");
        killed.kill();
        assert_eq!((killed.end(), killed.last_words().as_str()), (None, words));
        stdout.read_to_string(&mut String::new()).expect("its end, once no process has it open");
        assert!(begin.elapsed() < WHOLE, "{:?}", begin.elapsed());
        // As a master that stays.
        let (mut ended, _stdout) = started("sleep 120 & echo connection lost >&2; echo");
        let group = Pid::from_child(&ended.child);
        assert_eq!((ended.end(), ended.last_words().as_str()), (Some(0), words));
        assert!(begin.elapsed() < WHOLE, "{:?}", begin.elapsed());
        kill_process_group(group, Signal::KILL).expect("it was left alone");
    }
}
