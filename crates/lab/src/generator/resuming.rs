//! The lab's connections to an agent: the greeting on the first one, and others where one broke.

use super::outgoing::Outgoing;
use super::session::{self, Arrived, FromAgent, SILENCE, SessionId, Watched, Wish, shown};
use kdyno_model::secret::Secret;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long an agent may take to answer the greeting: ssh has to log in.
const WELCOME_DEADLINE: Duration = Duration::from_secs(30);

/// How long an agent may take to go on with a session.
const RESUMED_DEADLINE: Duration = Duration::from_secs(5);

/// From one attempt to make another connection to the next.
const RESUME_PAUSE: Duration = Duration::from_millis(250);

/// How long an agent that is there may be silent before another connection is made.
pub(super) const SUSPICION: Duration = Duration::from_secs(5);

/// Greets an agent: where it can be heard, and why it could not be greeted, if what is heard does not say more.
pub(super) fn greeted(
    stream: &UnixStream,
    greeting: &[u8],
) -> Result<(Watched<UnixStream>, Option<io::Error>), String> {
    let heard = stream.try_clone().map_err(|error| format!("its session could not be opened: {error}"))?;
    let until = Instant::now() + WELCOME_DEADLINE;
    let mut writer = stream;
    Ok((Watched::new(heard, Some(until)), writer.write_all(greeting).err()))
}

/// What became of a connection: why it ended.
pub(super) enum ConnectionEnd {
    /// Another one may go on.
    Broke(String),
    /// The agent has ended the session, or what came is not what an agent says.
    Over(String),
}

/// How the same agent is reached again.
pub(super) trait Redial: Send {
    /// Another connection; why there is none, one lowercase clause.
    fn dial(&self) -> Result<UnixStream, String>;

    /// How long it may take to go on with a session, once there is a connection.
    fn answer_deadline(&self) -> Duration {
        RESUMED_DEADLINE
    }

    /// What carried the last connection said as it ended, to follow a clause; empty: nothing.
    fn last_words(&self) -> String {
        String::new()
    }

    /// Why its host is gone for good, one lowercase clause; `None`: it may be there, as far as is known.
    fn gone(&self) -> Option<String> {
        None
    }
}

impl<F: Fn() -> Result<UnixStream, String> + Send> Redial for F {
    fn dial(&self) -> Result<UnixStream, String> {
        self()
    }
}

/// What another connection of a session takes.
pub(super) struct Resuming {
    pub(super) id: SessionId,
    pub(super) token: Secret,
    pub(super) by: Box<dyn Redial>,
}

/// Why a session does not go on; one lowercase clause.
enum NotResumed {
    /// Its agent says that it cannot.
    Refused(String),
    Failed(String),
}

impl Resuming {
    /// Makes another connection, unless the session is over: where it is read, and its number. Tries until its agent was
    /// `heard` too long ago, where the last one `broke` for this reason; `suspect` is called once that takes long.
    ///
    /// # Errors
    /// The session is lost; why, one lowercase clause.
    pub(super) fn resume(
        &self,
        outgoing: &Outgoing,
        heard: Instant,
        broke: &str,
        over: impl Fn() -> Option<String>,
        suspect: impl Fn(),
    ) -> Result<(Watched<UnixStream>, u64), String> {
        let (until, mut is_suspected) = (heard + SILENCE, false);
        loop {
            if let Some(why) = over().or_else(|| outgoing.over()) {
                return Err(why);
            }
            if !is_suspected && heard.elapsed() >= SUSPICION {
                suspect();
                is_suspected = true;
            }
            // Also before the first one: connections that break at once are not made without end.
            std::thread::sleep(RESUME_PAUSE);
            let tried = self.connect(outgoing, until);
            // Nothing else says more than that.
            if let Some(why) = tried.as_ref().err().and_then(|_| self.by.gone()) {
                return Err(why);
            }
            match tried {
                Ok(resumed) => return Ok(resumed),
                Err(NotResumed::Refused(why)) => return Err(format!("its agent {}", shown(&why))),
                Err(NotResumed::Failed(why)) if Instant::now() + RESUME_PAUSE >= until => {
                    let (seconds, words) = (SILENCE.as_secs(), self.by.last_words());
                    return Err(format!(
                        "{broke}, and it could not be reached again within {seconds} s: {why}{words}"
                    ));
                }
                Err(NotResumed::Failed(_)) => {}
            }
        }
    }

    /// Answered by then at the latest.
    fn connect(&self, outgoing: &Outgoing, until: Instant) -> Result<(Watched<UnixStream>, u64), NotResumed> {
        let failed = |error: io::Error| NotResumed::Failed(error.to_string());
        let stream = self.by.dial().map_err(NotResumed::Failed)?;
        let reader = stream.try_clone().map_err(failed)?;
        let until = until.min(Instant::now() + self.by.answer_deadline());
        let mut reader = Watched::new(reader, Some(until)).with_silence(SUSPICION);
        let greeting = session::greeting(Wish::Resume(self.id, outgoing.received()), self.token.expose());
        (&stream).write_all(greeting.expose()).map_err(failed)?;
        let received = match session::read::<FromAgent>(&mut reader).map_err(failed)? {
            Some(Arrived::Note(FromAgent::Resumed { received })) => received,
            Some(Arrived::Note(FromAgent::Refused { why })) => return Err(NotResumed::Refused(why)),
            Some(_) => return Err(NotResumed::Refused("did not answer as an agent does".to_owned())),
            None => return Err(NotResumed::Failed("it ended the connection without an answer".to_owned())),
        };
        reader.is_known();
        let connected = outgoing.connect(stream, received, &[]);
        connected.map(|number| (reader, number)).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => NotResumed::Refused(format!("is not the same: {error}")),
            _ => failed(error),
        })
    }
}
