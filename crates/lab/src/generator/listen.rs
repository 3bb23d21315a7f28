//! An agent that listens: TLS with its own certificate, a token from each lab, and bounds on those that have shown none.

use super::agent::{AgentOptions, GREETING_DEADLINE, greet};
use super::credentials::{CERTIFICATE, Identity, TOKEN};
use super::lab_host::{self, LabHost};
use super::session::{SILENCE, Watched};
use super::sessions::{Sessions, Slot, Slots};
use super::tls::{self, HANDSHAKE_DEADLINE};
use crate::error::LabError;
use kdyno_model::secret::Secret;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ServerConfig;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Most connections that have not shown a token yet.
const UNKNOWN_MAX: usize = 16;

/// Most sessions: the two trials of a duet have one each, and those that just end.
pub(super) const SESSIONS_MAX: usize = 8;

/// How soon a wish to stop is seen.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How long an agent that is to end by itself goes on without a session, once it had one. A session whose connection broke is
/// there for as long as its lab may go on with it: here only the next attempt of a lab counts whose first one failed.
const ALONE: Duration = Duration::from_secs(5);

/// Where an agent listens, and what a lab needs to reach it.
pub struct Listening {
    /// With the port that was taken.
    pub address: SocketAddr,
    /// File of its certificate.
    pub certificate: PathBuf,
    /// File of its token.
    pub token: PathBuf,
}

/// Serves labs until it is to stop. Certificate, key and token are in the folder `identity`, and are made where it is not
/// there; `say` gets what a user has to know once connections are accepted, then why sessions ended otherwise than they should.
///
/// # Errors
/// The address cannot be listened at, or the folder is of no use.
pub fn listen(
    address: SocketAddr,
    identity: &Path,
    options: &AgentOptions,
    started: impl FnOnce(&Listening),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), LabError> {
    serve_as(None, (address, identity), options, started, say)
}

/// Listens as an agent that runs a whole lab on request, whose run files are in the folder `runs`.
///
/// # Errors
/// As [`listen`].
pub fn listen_for_lab(
    runs: &Path,
    at: (SocketAddr, &Path),
    options: &AgentOptions,
    started: impl FnOnce(&Listening),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), LabError> {
    serve_as(Some(LabHost::new(options, runs)?), at, options, started, say)
}

fn serve_as(
    lab: Option<LabHost<'_>>,
    (address, identity): (SocketAddr, &Path),
    options: &AgentOptions,
    started: impl FnOnce(&Listening),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), LabError> {
    kdyno_credentials::close_memory();
    let failed =
        |error: io::Error| LabError::Agent { why: format!("{address} cannot be listened at: {error}") };
    let known_by = Identity::of(identity)?;
    let config = tls::server(&known_by.certificate, known_by.key.expose());
    let config =
        config.map_err(|why| LabError::Agent { why: format!("its certificate is of no use: {why}") })?;
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let [certificate, token] = [CERTIFICATE, TOKEN].map(|name| identity.join(name));
    started(&Listening { address, certificate, token });
    let agent = ListeningAgent {
        config,
        token: known_by.token,
        lab,
        unknown: Slots::new(UNKNOWN_MAX),
        sessions: Sessions::new(options, SESSIONS_MAX),
        say,
    };
    let mut last_session = LastSession::of(options);
    last_session.alone = if agent.lab.is_some() { lab_host::STAYS } else { ALONE };
    // Sessions see a wish to stop by themselves, and are waited for.
    std::thread::scope(|scope| {
        while !options.stop.load(Ordering::Relaxed) && !last_session.is_long_ago(agent.is_busy()) {
            // What is wrong with it shows when a connection is accepted.
            let _ = poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&LOOK));
            let Ok((tcp, peer)) = listener.accept() else { continue };
            // One too many is closed without a word.
            let Some(slot) = agent.unknown.take() else { continue };
            let agent = &agent;
            let serve = move || {
                if let Err(error) = agent.serve(tcp, slot) {
                    (agent.say)(&format!("the session of {} ended: {error}", peer.ip()));
                }
            };
            // Without a thread the connection is closed.
            let _ = std::thread::Builder::new().name("session".to_owned()).spawn_scoped(scope, serve);
        }
    });
    Ok(())
}

struct ListeningAgent<'a> {
    config: Arc<ServerConfig>,
    token: Secret,
    /// The lab that it runs instead of workers.
    lab: Option<LabHost<'a>>,
    unknown: Slots,
    sessions: Sessions<'a>,
    say: &'a (dyn Fn(&str) + Sync),
}

impl ListeningAgent<'_> {
    fn is_busy(&self) -> bool {
        self.sessions.is_any_taken() || self.lab.as_ref().is_some_and(LabHost::is_running)
    }

    fn serve(&self, tcp: TcpStream, unknown: Slot<'_>) -> io::Result<()> {
        tcp.set_nonblocking(false)?;
        let (stream, _) = tls::accept(&self.config, tcp)?;
        // A lab that no longer reads would hold the session's threads, and so its end.
        stream.set_write_timeout(Some(SILENCE))?;
        let until = Instant::now() + HANDSHAKE_DEADLINE.max(GREETING_DEADLINE);
        let mut reader = Watched::new(stream.try_clone()?, Some(until));
        let wish = greet(&mut reader, &mut &stream, Some(&self.token))?.wish;
        drop(unknown);
        if let Some(lab) = &self.lab {
            let Some(_session) = self.sessions.take() else {
                // Without an answer it is asked again, and those of broken connections end soon.
                return Err(io::Error::other(format!("{SESSIONS_MAX} questions are being answered already")));
            };
            return lab.answer(&mut reader, &stream);
        }
        self.sessions.serve(wish, reader, stream)
    }
}

/// When an agent that ends by itself had a session for the last time.
struct LastSession {
    at: Instant,
    /// How long it goes on without; `None`: for ever.
    waits: Option<Duration>,
    /// How long it waits for another lab once it had one.
    alone: Duration,
}

impl LastSession {
    fn of(options: &AgentOptions) -> Self {
        Self { at: Instant::now(), waits: options.waits_for_first, alone: ALONE }
    }

    fn is_long_ago(&mut self, is_busy: bool) -> bool {
        if is_busy {
            (self.at, self.waits) = (Instant::now(), self.waits.map(|_| self.alone));
        }
        self.waits.is_some_and(|waits| self.at.elapsed() > waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_ends_once_it_is_alone_and_only_where_it_is_to() {
        let sessions = Slots::new(1);
        let mut for_ever = LastSession { at: Instant::now() - 2 * ALONE, waits: None, alone: ALONE };
        assert!(!for_ever.is_long_ago(sessions.is_any_taken()));
        let mut first = LastSession { at: Instant::now() - 2 * ALONE, waits: Some(3 * ALONE), alone: ALONE };
        assert!(!first.is_long_ago(sessions.is_any_taken()), "the first one may take longer");
        let session = sessions.take().expect("a slot");
        assert!(!first.is_long_ago(sessions.is_any_taken()));
        drop(session);
        assert!(!first.is_long_ago(sessions.is_any_taken()), "just now");
        first.at -= 2 * ALONE;
        assert!(first.is_long_ago(sessions.is_any_taken()));
        let mut never = LastSession { at: Instant::now() - 2 * ALONE, waits: Some(ALONE), alone: ALONE };
        assert!(never.is_long_ago(sessions.is_any_taken()), "no lab came");
    }
}
