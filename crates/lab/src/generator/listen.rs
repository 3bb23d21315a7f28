//! An agent that listens: TLS with its own certificate, a token from each lab, and bounds on those that have shown none.

use super::agent::{AgentOptions, GREETING_DEADLINE, greet, serve};
use super::credentials::{CERTIFICATE, Identity, TOKEN};
use super::session::{SILENCE, SessionWriter, Watched};
use super::tls::{self, HANDSHAKE_DEADLINE};
use crate::error::LabError;
use kdyno_model::secret::Secret;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ServerConfig;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Most connections that have not shown a token yet.
const UNKNOWN_MAX: usize = 16;

/// Most sessions: the two trials of a duet have one each, and those that just end.
const SESSIONS_MAX: usize = 8;

/// How soon a wish to stop is seen.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How long an agent that is to end by itself is without a lab, once one has come: as long as a session may be silent.
const ALONE: Duration = SILENCE;

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
        options,
        unknown: Slots::new(UNKNOWN_MAX),
        sessions: Slots::new(SESSIONS_MAX),
        say,
    };
    let mut last_session = LastSession::of(options);
    // Sessions see a wish to stop by themselves, and are waited for.
    std::thread::scope(|scope| {
        while !options.stop.load(Ordering::Relaxed) && !last_session.is_long_ago(&agent.sessions) {
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
    options: &'a AgentOptions,
    unknown: Slots,
    sessions: Slots,
    say: &'a (dyn Fn(&str) + Sync),
}

impl ListeningAgent<'_> {
    fn serve(&self, tcp: TcpStream, unknown: Slot<'_>) -> io::Result<()> {
        tcp.set_nonblocking(false)?;
        let (stream, _) = tls::accept(&self.config, tcp)?;
        // A lab that no longer reads would hold the session's threads, and so its end.
        stream.set_write_timeout(Some(SILENCE))?;
        let end = stream.try_clone()?;
        let until = Instant::now() + HANDSHAKE_DEADLINE.max(GREETING_DEADLINE);
        let mut reader = Watched::new(stream.try_clone()?, Some(until));
        let writer = Arc::new(SessionWriter::new(stream));
        let admit = || self.sessions.take().ok_or_else(|| format!("serves {SESSIONS_MAX} sessions already"));
        let _session = greet(&mut reader, &writer, Some(&self.token), admit)?;
        drop(unknown);
        let served = serve(&mut reader, &writer, self.options);
        // Threads of the session may still hold it for a moment.
        let _ = end.shutdown(Shutdown::Both);
        served
    }
}

/// When an agent that ends by itself had a session for the last time.
struct LastSession {
    at: Instant,
    /// How long it goes on without; `None`: for ever.
    waits: Option<Duration>,
}

impl LastSession {
    fn of(options: &AgentOptions) -> Self {
        Self { at: Instant::now(), waits: options.waits_for_first }
    }

    fn is_long_ago(&mut self, sessions: &Slots) -> bool {
        if sessions.is_any_taken() {
            *self = Self { at: Instant::now(), waits: self.waits.map(|_| ALONE) };
        }
        self.waits.is_some_and(|waits| self.at.elapsed() > waits)
    }
}

/// So many at once.
struct Slots {
    count: usize,
    free: AtomicUsize,
}

/// One of them, while it is there.
struct Slot<'s>(&'s Slots);

impl Slots {
    fn new(count: usize) -> Self {
        Self { count, free: AtomicUsize::new(count) }
    }

    fn is_any_taken(&self) -> bool {
        self.free.load(Ordering::Acquire) < self.count
    }

    fn take(&self) -> Option<Slot<'_>> {
        let less = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok().map(|_| Slot(self))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_ends_once_it_is_alone_and_only_where_it_is_to() {
        let sessions = Slots::new(1);
        let mut for_ever = LastSession { at: Instant::now() - 2 * ALONE, waits: None };
        assert!(!for_ever.is_long_ago(&sessions));
        let mut first = LastSession { at: Instant::now() - 2 * ALONE, waits: Some(3 * ALONE) };
        assert!(!first.is_long_ago(&sessions), "the first one may take longer");
        let session = sessions.take().expect("a slot");
        assert!(!first.is_long_ago(&sessions));
        drop(session);
        assert!(!first.is_long_ago(&sessions), "just now");
        first.at -= 2 * ALONE;
        assert!(first.is_long_ago(&sessions));
        let mut never = LastSession { at: Instant::now() - 2 * ALONE, waits: Some(ALONE) };
        assert!(never.is_long_ago(&sessions), "no lab came");
    }
}
