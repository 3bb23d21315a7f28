//! A session between the lab and an agent: frames over one stream, some with messages of the two, most with bytes of
//! workers.
//!
//! A frame is four bytes of length, big-endian, a byte that says what it is, and its body. Nothing is allocated that has
//! not come, and a frame has a bound; before the greeting it is a smaller one.

use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use kdyno_model::words::is_acted_on;
use kdyno_testbed::host;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Version of these frames; an agent of another version refuses the lab.
pub(super) const VERSION: u32 = 1;

/// How often each side sends something.
pub(super) const BEAT: Duration = Duration::from_secs(1);

/// A side that is silent for so long is gone.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// Bytes of a worker in one frame.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// Largest frame: a second's readings of hundreds of threads are less.
const FRAME_BYTES_MAX: u32 = 1 << 20;

/// Largest first frame, from a peer that is not known yet.
const GREETING_BYTES_MAX: u32 = 4 << 10;

const GREETING: u8 = 0;
const MESSAGE: u8 = 1;
const BYTES: u8 = 2;

/// From the lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ToAgent {
    /// Nothing but that the lab is there.
    Beat,
    /// Read the clock and answer [`FromAgent::Clock`].
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
    /// T0, by the agent's clock: read the workers from then on.
    LoadStarts { t0_ns: u64 },
    /// Read them at these instants, too, ns from T0.
    PhasesEnd { ends_ns: Vec<u64> },
}

/// From an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FromAgent {
    /// Nothing but that the agent is there.
    Beat,
    /// It cannot serve this lab.
    Refused { why: String },
    /// The first answer.
    Welcome(AgentHost),
    /// Its clock, CLOCK_MONOTONIC, ns.
    Clock { asked_ns: u64, read_ns: u64, answered_ns: u64 },
    /// A worker has ended.
    Ended(EndedThere),
    /// What was read of its workers.
    Readings(Vec<ProbeReading>),
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

    #[cfg(test)]
    pub(super) fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
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
/// The stream fails or is silent, or what came is no frame of a session.
pub(super) fn read<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<Frame<T>>> {
    let Some((kind, body)) = read_raw(stream, FRAME_BYTES_MAX)? else { return Ok(None) };
    match (kind, body.expose().split_at_checked(2)) {
        (MESSAGE, _) => {
            let message = serde_json::from_slice(body.expose()).map_err(|e| wrong(&e.to_string()))?;
            Ok(Some(Frame::Message(message)))
        }
        (BYTES, Some((worker, bytes))) => {
            let worker = u16::from_be_bytes([worker[0], worker[1]]);
            Ok(Some(Frame::Bytes(worker, Secret::new(bytes.to_vec()))))
        }
        _ => Err(wrong("it is neither a message nor bytes of a worker")),
    }
}

/// Reads the greeting of somebody who is not known: the version that it speaks and its token, which is empty where the
/// stream itself is of somebody known.
///
/// # Errors
/// As [`read`].
pub(super) fn read_greeting(stream: &mut impl Read) -> io::Result<(u32, Secret)> {
    let greeting = read_raw(stream, GREETING_BYTES_MAX)?;
    let (kind, body) = greeting.ok_or_else(|| wrong("the stream ended before a greeting"))?;
    match (kind, body.expose().split_at_checked(4)) {
        (GREETING, Some((version, token))) => {
            let version = version.try_into().map_or(0, u32::from_be_bytes);
            Ok((version, Secret::new(token.to_vec())))
        }
        _ => Err(wrong("it is no greeting")),
    }
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
    let mut body = Vec::with_capacity((length as usize).min(PIECE_BYTES + 2));
    stream.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, Secret::new(body))))
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame cannot be read: {why}"))
}

/// The writing end, which several threads share; each frame is written as a whole.
pub(super) struct SessionWriter(Mutex<Box<dyn Write + Send>>);

impl SessionWriter {
    pub(super) fn new(stream: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(stream)))
    }

    pub(super) fn greeting(&self, token: &[u8]) -> io::Result<()> {
        self.write(GREETING, &VERSION.to_be_bytes(), token)
    }

    pub(super) fn message(&self, message: &impl Serialize) -> io::Result<()> {
        self.write(MESSAGE, &[], &serde_json::to_vec(message)?)
    }

    /// At most [`PIECE_BYTES`].
    pub(super) fn bytes(&self, worker: u16, bytes: &[u8]) -> io::Result<()> {
        self.write(BYTES, &worker.to_be_bytes(), bytes)
    }

    fn write(&self, kind: u8, before: &[u8], body: &[u8]) -> io::Result<()> {
        let length =
            u32::try_from(before.len() + body.len()).ok().filter(|length| *length <= FRAME_BYTES_MAX);
        let length = length.ok_or_else(|| wrong("it is too large to be sent"))?;
        let mut frame = Vec::with_capacity(5 + before.len() + body.len());
        frame.extend_from_slice(&length.to_be_bytes());
        frame.push(kind);
        frame.extend_from_slice(before);
        frame.extend_from_slice(body);
        let frame = Secret::new(frame);
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(frame.expose())?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    /// What a writer has written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("whole").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(by: impl FnOnce(&SessionWriter) -> io::Result<()>) -> Vec<u8> {
        let kept = Written::default();
        by(&SessionWriter::new(kept.clone())).expect("written");
        let bytes = kept.0.lock().expect("whole");
        bytes.clone()
    }

    fn refused(bytes: &[u8]) -> String {
        read::<ToAgent>(&mut &bytes[..]).err().expect("refused").to_string()
    }

    #[test]
    fn frames_come_back_as_they_went() {
        let mut bytes = written(|writer| writer.message(&ToAgent::Start { worker: 7 }));
        bytes.extend(written(|writer| writer.bytes(513, b"hunter2")));
        bytes.extend(written(|writer| writer.bytes(0, &[])));
        let mut stream = bytes.as_slice();
        let Ok(Some(Frame::Message(ToAgent::Start { worker: 7 }))) = read(&mut stream) else {
            panic!("start")
        };
        let Ok(Some(Frame::<ToAgent>::Bytes(513, found))) = read(&mut stream) else { panic!("bytes") };
        assert_eq!(found.expose(), b"hunter2");
        assert!(
            matches!(read::<ToAgent>(&mut stream), Ok(Some(Frame::Bytes(0, none))) if none.expose().is_empty())
        );
        assert!(matches!(read::<ToAgent>(&mut stream), Ok(None)));
        let greeting = written(|writer| writer.greeting(b"token"));
        let (version, token) = read_greeting(&mut greeting.as_slice()).expect("a greeting");
        assert_eq!((version, token.expose()), (VERSION, &b"token"[..]));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let frame = |length: u32, kind: u8, body: &[u8]| [&length.to_be_bytes()[..], &[kind], body].concat();
        assert!(refused(&frame(FRAME_BYTES_MAX + 1, BYTES, &[])).contains("claims 1048577 bytes, 1048576"));
        assert!(refused(&frame(u32::MAX, MESSAGE, &[])).contains("claims 4294967295 bytes"));
        assert!(refused(&frame(1, BYTES, &[0])).contains("neither"));
        assert!(refused(&frame(0, GREETING, &[])).contains("neither"), "a second greeting");
        assert!(refused(&frame(0, 9, &[])).contains("neither"));
        assert!(refused(&frame(5, MESSAGE, b"\"run\"")).contains("unknown variant `run`"));
        assert!(refused(&frame(9, BYTES, &[0, 0, 1])).contains("end of file"));
        assert!(refused(&[0, 0]).contains("end of file"));
        // Before it is known a peer may claim less.
        let large = frame(GREETING_BYTES_MAX + 1, GREETING, &[]);
        let reported = read_greeting(&mut large.as_slice()).err().expect("refused").to_string();
        assert!(reported.contains("claims 4097 bytes, 4096 are allowed"), "{reported}");
        for hostile in
            [frame(3, GREETING, &[0, 0, 1]), frame(4, MESSAGE, b"null"), b"GET / HTTP/1.1".to_vec()]
        {
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
