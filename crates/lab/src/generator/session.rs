//! The frames of a session between the lab and an agent: some with messages of the two, most with bytes of workers.
//!
//! A frame is four bytes of length, big-endian, a byte that says what it is, and its body. Messages and bytes of workers
//! begin with a number, by which they are repeated where a connection broke; notes are lost with their connection. Nothing
//! is allocated that has not come, and a frame has a bound; before the greeting it is a smaller one.

use kdyno_model::plan::{Security, TlsVersion};
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use kdyno_model::words::is_acted_on;
use kdyno_testbed::host;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Version of these frames; an agent of another version refuses the lab.
pub(super) const VERSION: u32 = 3;

/// How often each side sends something.
pub(super) const BEAT: Duration = Duration::from_secs(1);

/// A side that is silent for so long, over all connections of the session, is gone.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// Bytes of a worker in one frame.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// Largest frame: a second's readings of hundreds of threads are less.
pub(super) const FRAME_BYTES_MAX: u32 = 1 << 20;

/// Largest first frame, from a peer that is not known yet.
const GREETING_BYTES_MAX: u32 = 4 << 10;

const GREETING: u8 = 0;
const RESUMPTION: u8 = 1;
pub(super) const MESSAGE: u8 = 2;
pub(super) const BYTES: u8 = 3;
const NOTE: u8 = 4;
const RECEIVED: u8 = 5;

/// By which a lab finds its session again, random.
pub(super) type SessionId = [u8; 16];

/// What a lab that greets wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// A session of this id.
    Begin(SessionId),
    /// Another connection of the session of this id; all of its frames up to this number have come.
    Resume(SessionId, u64),
}

/// From the lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ToAgent {
    /// A note: the session is over, and with it all that it started.
    End,
    /// A note: read the clock and answer [`FromAgent::Clock`].
    Clock {
        /// When that was asked, by the lab's clock; it comes back with the answer.
        asked_ns: u64,
    },
    /// Start a worker of this number.
    Start { worker: u16 },
    /// Close a worker's socket, by which it ends.
    Close { worker: u16 },
    /// End a worker at once.
    Kill { worker: u16 },
    /// Start a null broker, in the place of one before: against it is measured what a worker can do there.
    StartNullBroker {
        /// Partitions of each topic.
        partitions: u32,
        /// Versions of TLS that it speaks; none: it is spoken to without.
        tls: Vec<TlsVersion>,
    },
    /// T0, by the agent's clock: read the workers from then on.
    LoadStarts { t0_ns: u64 },
    /// Read them at these instants, too, ns from T0.
    PhasesEnd { ends_ns: Vec<u64> },
}

/// From an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FromAgent {
    /// A note: it cannot serve this lab.
    Refused { why: String },
    /// A note, the answer to who begins a session.
    Welcome(AgentHost),
    /// A note, the answer to who resumes one: all frames up to this number have come.
    Resumed { received: u64 },
    /// A note: its clock, CLOCK_MONOTONIC, ns.
    Clock { asked_ns: u64, read_ns: u64, answered_ns: u64 },
    /// A worker has ended.
    Ended(EndedThere),
    /// What was read of its workers.
    Readings(Vec<ProbeReading>),
    /// The null broker that was asked for, or why there is none.
    NullBroker(Box<Result<BrokerThere, String>>),
}

/// A null broker on the host of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrokerThere {
    /// `host:port`, as its host reaches it.
    pub(crate) address: String,
    /// How it is spoken to.
    pub(crate) security: Security,
}

/// The host of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentHost {
    /// The kernel's random id of its boot; empty where it has none.
    pub(super) boot_id: String,
    /// The time namespace of the agent and of its children; empty where they differ.
    pub(super) time_namespace: String,
    /// Processors that it may use.
    pub(super) processors: u32,
    /// Kernel, processor model, memory.
    pub(super) facts: BTreeMap<String, String>,
}

impl AgentHost {
    /// What is said of a host: nothing that names it.
    const KNOWN: [&'static str; 5] = ["kernel", "cpu_model", "memory_bytes", "os", "architecture"];

    /// This host.
    pub(super) fn here() -> Self {
        let namespace = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).ok();
        let of_children = namespace("time_for_children");
        let time = namespace("time").filter(|own| Some(own) == of_children.as_ref());
        let mut facts = host::facts(Path::new("/"));
        facts.retain(|name, _| Self::KNOWN.contains(&name.as_str()));
        Self {
            boot_id: host::boot_id(),
            time_namespace: time.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default(),
            processors: host::processors(),
            facts,
        }
    }

    /// Whether both are one host: its processors are shared.
    pub(super) fn is_host_of(&self, other: &Self) -> bool {
        !self.boot_id.is_empty() && self.boot_id == other.boot_id
    }

    /// Whether the clocks of both are one.
    pub(super) fn is_on_clock_of(&self, other: &Self) -> bool {
        let is_one = !self.time_namespace.is_empty() && self.time_namespace == other.time_namespace;
        is_one && self.is_host_of(other)
    }

    /// What a report has of it, in words that a terminal does not act upon.
    pub(super) fn known_facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        Self::KNOWN.iter().filter_map(|name| Some((*name, shown(self.facts.get(*name)?))))
    }
}

/// Words of a peer, for a message or a fact.
pub(super) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 300;
    text.chars().take(CHARACTERS_MAX).map(|c| if is_acted_on(c) { '\u{fffd}' } else { c }).collect()
}

/// How a worker ended there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndedThere {
    pub(super) worker: u16,
    /// What the operating system says of it, or why it was not started.
    pub(super) status: String,
    /// Whether it ended with 0.
    pub(super) success: bool,
    /// User and system time, seconds.
    pub(super) cpu_s: Option<(f64, f64)>,
    /// The end of what it wrote to its standard error.
    pub(super) log: String,
}

/// What was read.
pub(super) enum Arrived<T> {
    /// The frame of this number.
    Numbered(u64, Frame<T>),
    /// A message without one.
    Note(T),
    /// The peer has got all frames up to this number. It says so each second, by which it is known to be there.
    Received(u64),
}

/// What a frame that has a number holds.
pub(super) enum Frame<T> {
    /// A message.
    Message(T),
    /// Bytes of the worker of that number, which may hold secrets.
    Bytes(u16, Secret),
}

/// A stream that is waited for no longer than until it counts as silent.
#[derive(Debug)]
pub(super) struct Watched<R> {
    stream: R,
    /// When all has to have come, whatever comes meanwhile.
    until: Option<Instant>,
    /// How long it may be silent.
    silence: Duration,
}

impl<R: Read + AsFd> Watched<R> {
    pub(super) fn new(stream: R, until: Option<Instant>) -> Self {
        Self { stream, until, silence: SILENCE }
    }

    /// Waited for so long.
    pub(super) fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// What it is read from.
    pub(super) fn stream(&self) -> &R {
        &self.stream
    }

    /// How long it is waited for.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// From now on only silence ends it.
    pub(super) fn is_known(&mut self) {
        self.until = None;
    }
}

impl<R: Read + AsFd> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let wait = left.map_or(self.silence, |left| left.min(self.silence));
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&wait)) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "it was silent for too long")),
            Ok(_) => self.stream.read(into),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads a frame of whom is known; `None` at the end of the stream.
///
/// # Errors
/// The stream fails or is silent, or what came is no frame of a session: [`io::ErrorKind::InvalidData`].
pub(super) fn read<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<Arrived<T>>> {
    let Some((kind, body)) = read_raw(stream, FRAME_BYTES_MAX)? else { return Ok(None) };
    let message = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|e| wrong(&e.to_string()));
    let body = body.expose();
    if kind == NOTE {
        return Ok(Some(Arrived::Note(message(body)?)));
    }
    let neither = || wrong("it is neither a message nor bytes of a worker");
    let (number, rest) = body.split_first_chunk::<8>().ok_or_else(neither)?;
    let number = u64::from_be_bytes(*number);
    let frame = match (kind, rest.split_first_chunk::<2>()) {
        (RECEIVED, None) if rest.is_empty() => return Ok(Some(Arrived::Received(number))),
        (MESSAGE, _) => Frame::Message(message(rest)?),
        (BYTES, Some((worker, bytes))) => {
            Frame::Bytes(u16::from_be_bytes(*worker), Secret::new(bytes.to_vec()))
        }
        _ => return Err(neither()),
    };
    Ok(Some(Arrived::Numbered(number, frame)))
}

/// The first frame of a connection.
pub(super) struct Greeting {
    /// The version that the peer speaks.
    pub(super) version: u32,
    pub(super) wish: Wish,
    /// Empty where the stream itself is of somebody known.
    pub(super) token: Secret,
}

/// Reads the greeting of somebody who is not known.
///
/// # Errors
/// As [`read`].
pub(super) fn read_greeting(stream: &mut impl Read) -> io::Result<Greeting> {
    let greeting = read_raw(stream, GREETING_BYTES_MAX)?;
    let (kind, body) = greeting.ok_or_else(|| wrong("the stream ended before a greeting"))?;
    let no_greeting = || wrong("it is no greeting");
    let (version, rest) = body.expose().split_first_chunk::<4>().ok_or_else(no_greeting)?;
    let version = u32::from_be_bytes(*version);
    let (id, rest) = rest.split_first_chunk::<16>().ok_or_else(no_greeting)?;
    let (received, token) = rest.split_first_chunk::<8>().ok_or_else(no_greeting)?;
    let wish = match kind {
        GREETING => Wish::Begin(*id),
        RESUMPTION => Wish::Resume(*id, u64::from_be_bytes(*received)),
        _ => return Err(no_greeting()),
    };
    Ok(Greeting { version, wish, token: Secret::new(token.to_vec()) })
}

/// The greeting of a lab that has this token.
pub(super) fn greeting(wish: Wish, token: &[u8]) -> Secret {
    let (kind, id, received) = match wish {
        Wish::Begin(id) => (GREETING, id, 0),
        Wish::Resume(id, received) => (RESUMPTION, id, received),
    };
    encoded(kind, &[&VERSION.to_be_bytes(), &id, &received.to_be_bytes(), token])
}

/// A message that is lost with its connection.
pub(super) fn note(message: &impl Serialize) -> io::Result<Secret> {
    Ok(encoded(NOTE, &[&serde_json::to_vec(message)?]))
}

/// That all frames up to this number have come.
pub(super) fn received(number: u64) -> Secret {
    encoded(RECEIVED, &[&number.to_be_bytes()])
}

/// A frame whose body is these parts.
pub(super) fn encoded(kind: u8, parts: &[&[u8]]) -> Secret {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut frame = Vec::with_capacity(5 + length);
    // One that is too long is refused by its reader, whatever its length says.
    frame.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    frame.push(kind);
    parts.iter().for_each(|part| frame.extend_from_slice(part));
    Secret::new(frame)
}

fn read_raw(stream: &mut impl Read, most: u32) -> io::Result<Option<(u8, Secret)>> {
    let mut head = [0; 5];
    let mut have = 0;
    while have < head.len() {
        match stream.read(&mut head[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [length @ .., kind] = head;
    let length = u32::from_be_bytes(length);
    if length > most {
        return Err(wrong(&format!("it claims {length} bytes, {most} are allowed")));
    }
    // Read as it comes instead of allocating what is claimed.
    let mut body = Vec::with_capacity((length as usize).min(PIECE_BYTES + 10));
    stream.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, Secret::new(body))))
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn refused(bytes: &[u8]) -> String {
        read::<ToAgent>(&mut &bytes[..]).err().expect("refused").to_string()
    }

    #[test]
    fn frames_come_back_as_they_went() {
        let message = serde_json::to_vec(&ToAgent::Start { worker: 7 }).expect("text");
        let frames = [
            encoded(MESSAGE, &[&1u64.to_be_bytes(), &message]),
            encoded(BYTES, &[&2u64.to_be_bytes(), &513u16.to_be_bytes(), b"hunter2"]),
            encoded(BYTES, &[&3u64.to_be_bytes(), &[0, 0]]),
            note(&ToAgent::End).expect("a note"),
            received(9),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.expose().to_vec()).collect();
        let mut stream = bytes.as_slice();
        let mut next = || read::<ToAgent>(&mut stream).expect("a frame");
        let Some(Arrived::Numbered(1, Frame::Message(ToAgent::Start { worker: 7 }))) = next() else {
            panic!("start")
        };
        let Some(Arrived::Numbered(2, Frame::Bytes(513, found))) = next() else { panic!("bytes") };
        assert_eq!(found.expose(), b"hunter2");
        assert!(
            matches!(next(), Some(Arrived::Numbered(3, Frame::Bytes(0, none))) if none.expose().is_empty())
        );
        assert!(matches!(next(), Some(Arrived::Note(ToAgent::End))));
        assert!(matches!(next(), Some(Arrived::Received(9))));
        assert!(next().is_none());
        for wish in [Wish::Begin([7; 16]), Wish::Resume([8; 16], 9)] {
            let found = read_greeting(&mut greeting(wish, b"token").expose()).expect("a greeting");
            assert_eq!((found.version, found.wish, found.token.expose()), (VERSION, wish, &b"token"[..]));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let frame = |length: u32, kind: u8, body: &[u8]| [&length.to_be_bytes()[..], &[kind], body].concat();
        assert!(refused(&frame(FRAME_BYTES_MAX + 1, BYTES, &[])).contains("claims 1048577 bytes, 1048576"));
        assert!(refused(&frame(u32::MAX, MESSAGE, &[])).contains("claims 4294967295 bytes"));
        assert!(refused(&frame(9, BYTES, &[0; 9])).contains("neither"));
        assert!(refused(&frame(9, RECEIVED, &[0; 9])).contains("neither"));
        assert!(refused(&frame(0, GREETING, &[])).contains("neither"), "a second greeting");
        assert!(refused(&frame(8, 9, &[0; 8])).contains("neither"));
        assert!(refused(&frame(5, NOTE, b"\"run\"")).contains("unknown variant `run`"));
        assert!(refused(&frame(9, BYTES, &[0, 0, 1])).contains("end of file"));
        assert!(refused(&[0, 0]).contains("end of file"));
        // Before it is known a peer may claim less.
        let large = frame(GREETING_BYTES_MAX + 1, GREETING, &[]);
        let reported = read_greeting(&mut large.as_slice()).err().expect("refused").to_string();
        assert!(reported.contains("claims 4097 bytes, 4096 are allowed"), "{reported}");
        let short = [&VERSION.to_be_bytes()[..], &[0; 20]].concat();
        for hostile in [
            frame(3, GREETING, &[0, 0, 1]),
            frame(24, RESUMPTION, &short),
            frame(4, MESSAGE, b"null"),
            b"GET / HTTP/1.1".to_vec(),
        ] {
            assert!(read_greeting(&mut hostile.as_slice()).is_err());
        }
    }

    #[test]
    fn who_sends_a_byte_now_and_then_is_not_waited_for() {
        let (mut peer, ours) = UnixStream::pair().expect("a pair");
        let mut stream = Watched::new(ours, Some(Instant::now()));
        peer.write_all(&[0]).expect("sent");
        // What has come is read; for what has not there is no time left.
        assert_eq!(read_greeting(&mut stream).err().expect("late").kind(), io::ErrorKind::TimedOut);
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_or_a_frame_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut stream = bytes.as_slice();
            while let Ok(Some(_)) = read::<ToAgent>(&mut stream) {}
            let mut stream = bytes.as_slice();
            while let Ok(Some(_)) = read::<FromAgent>(&mut stream) {}
            let _ = read_greeting(&mut bytes.as_slice());
        }
    }
}
