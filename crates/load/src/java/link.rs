//! A stream's side of its Java process: starting it, the socket's bytes both ways, and what any client's process says.

use super::frames::{self, Decoder, FrameError, FromJava, JavaCost, Task, TaskRole};
use super::process::{self, Process, Started};
use super::settings::in_force;
use crate::net::{ConnectionId, Net};
use crate::stream::{StreamContext, StreamError};
use kdyno_kafka::security::Hidden;
use kdyno_model::event::EventKind;
use kdyno_model::plan::{ConsumePlan, JavaTask, ProducePlan};
use kdyno_model::sample::series;
use kdyno_model::worker::{ClientReading, ClientSettings, FromWorker, StreamRole};
use std::fmt::Write as _;
use std::io::{self, IoSlice};

/// The socket's number: a stream has one.
const SOCKET: ConnectionId = 0;
/// Reads in one go, of 256 KiB each at most: then others have their turn.
const READS_MAX: u32 = 32;
const NS_PER_S: u64 = 1_000_000_000;
/// How long a process may take until it says its first word, s.
const HELLO_S: u64 = 30;
/// How long one that has closed its socket may take to end, ns, and how often it is looked at.
const EXIT_NS: u64 = 2 * NS_PER_S;
const EXIT_LOOK_NS: u64 = 20_000_000;
/// How long clients may take to close.
pub(super) const CLOSE_MS: u32 = 3_000;
/// How often it is looked whether there is a newer token, ns.
const TOKEN_LOOK_NS: u64 = NS_PER_S;
/// Characters of a text of the process that are kept.
const TEXT_MAX: usize = 1_000;

/// Kafka's name for the addresses that a client asks first.
const BOOTSTRAP: &str = "bootstrap.servers";

/// Starts a process.
pub(super) type Start = Box<dyn FnMut(&[String]) -> io::Result<Started>>;

/// The Java process of a stream.
pub(super) struct JavaLink {
    start: Start,
    command: Vec<String>,
    process: Option<Box<dyn Process>>,
    /// When it was started, ns.
    started_ns: u64,
    has_answered: bool,
    /// It has closed its end, as was seen then, ns.
    closed_ns: Option<u64>,
    /// Frames that the socket has not taken, from `written` on.
    out: Vec<u8>,
    written: usize,
    /// There are secrets among them, which are overwritten once they are gone.
    has_secrets: bool,
    decoder: Decoder,
    /// The socket may have something to read.
    is_readable: bool,
    /// The token that it knows, and when it is looked for a newer one next, ns.
    token: Option<Hidden>,
    token_look_ns: u64,
    /// It was asked to end, and may take until then, ns.
    ends_ns: Option<u64>,
    /// All its clients are closed, or it was waited for that long enough.
    has_ended: bool,
    failure: Option<StreamError>,
    t0_ns: Option<u64>,
    /// When it was looked at last, ns.
    looked_ns: u64,
    messages: Vec<FromWorker>,
}

impl JavaLink {
    /// A process that is not started yet.
    pub fn new(task: &JavaTask) -> Self {
        Self::with(task, Box::new(process::start))
    }

    /// The same, with another way to start one.
    pub fn with(task: &JavaTask, start: Start) -> Self {
        Self {
            start,
            command: task.command.clone(),
            process: None,
            started_ns: 0,
            has_answered: false,
            closed_ns: None,
            out: Vec::new(),
            written: 0,
            has_secrets: false,
            decoder: Decoder::default(),
            is_readable: false,
            token: None,
            token_look_ns: 0,
            ends_ns: None,
            has_ended: false,
            failure: None,
            t0_ns: None,
            looked_ns: 0,
            messages: Vec::new(),
        }
    }

    /// T0 is at this instant, ns: readings count from it.
    pub fn begins(&mut self, t0_ns: u64) {
        self.t0_ns = Some(t0_ns);
    }

    /// Sends it what to do: the settings and how the cluster is reached, which counts where both say it.
    pub fn say_task(&mut self, context: &StreamContext, settings: &[(&str, &str)], role: TaskRole) {
        let Some(connection) = &context.java_connection else {
            return self.fail(StreamError::NoJavaConnection);
        };
        let Ok(connection) = std::str::from_utf8(connection.expose()) else {
            return self.fail(StreamError::JavaFailed("its connection is no text".to_owned()));
        };
        let task = &context.task;
        let own_id = |client| match &task.role {
            StreamRole::Produce(ProducePlan { transactions: Some(_), .. }) => {
                Some(context.transactional_id(client))
            }
            StreamRole::Consume(ConsumePlan { group: Some(group), .. }) => {
                group.instance_id.as_ref().map(|prefix| format!("{prefix}-{}-{client}", task.name))
            }
            _ => None,
        };
        let numbers = task.client_first..task.client_first + task.client_count;
        let clients: Vec<_> =
            numbers.map(|client| (context.client_id(client), own_id(client).unwrap_or_default())).collect();
        let addresses = task.bootstrap.join(",");
        // Clients of another zone get other addresses; of two lines with one name the later one counts.
        let own = (!addresses.is_empty()).then_some((BOOTSTRAP, addresses.as_str()));
        let settings =
            format!("{}{connection}{}", properties(settings.iter().copied()), properties(own.into_iter()));
        frames::task(
            &mut self.out,
            &Task {
                settings: &settings,
                topic: &task.topic,
                numbers: (task.client_first, task.clients_total),
                clients: &clients,
                role,
            },
        );
        self.has_secrets = true;
    }

    /// Where frames to the process are appended.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Why it is no use any more.
    pub fn failure(&self) -> Option<&StreamError> {
        self.failure.as_ref()
    }

    /// It cannot go on like that.
    pub fn fail(&mut self, error: StreamError) {
        self.failure.get_or_insert(error);
    }

    /// When its end of the socket was seen to be closed, ns: it has died, though it may not be known yet how.
    pub fn closed_ns(&self) -> Option<u64> {
        self.closed_ns
    }

    /// Whether its clients are closed, or nothing is to be expected of it any more.
    pub fn has_ended(&self) -> bool {
        self.has_ended || self.failure.is_some()
    }

    /// Whether it was asked to end.
    pub fn is_ending(&self) -> bool {
        self.ends_ns.is_some()
    }

    /// Asks it to close its clients and to end.
    pub fn end(&mut self, now_ns: u64) {
        if self.process.is_none() {
            self.has_ended = true;
        }
        if self.ends_ns.is_none() {
            frames::end(&mut self.out, CLOSE_MS);
            self.ends_ns = Some(now_ns + u64::from(CLOSE_MS) * 1_000_000 + EXIT_NS);
        }
    }

    /// Messages to the lab since the last call.
    pub fn take_messages(&mut self) -> Vec<FromWorker> {
        std::mem::take(&mut self.messages)
    }

    /// The socket has something to read.
    pub fn on_ready(&mut self) {
        self.is_readable = true;
    }

    /// Starts the process, sends it newer tokens, and notes when it says or does nothing any more.
    pub fn keep_up(&mut self, context: &StreamContext, now_ns: u64, net: &mut dyn Net) {
        self.looked_ns = now_ns;
        if self.failure.is_some() || self.has_ended {
            return;
        }
        if self.process.is_none() {
            self.launch(now_ns, net);
        }
        if now_ns >= self.token_look_ns {
            self.token_look_ns = now_ns + TOKEN_LOOK_NS;
            let token = context.security.login.as_ref().and_then(|login| login.token());
            let is_new = token.as_ref().map(Hidden::expose) != self.token.as_ref().map(Hidden::expose);
            if let Some(token) = token.filter(|_| is_new) {
                frames::token(&mut self.out, token.expose());
                self.has_secrets = true;
                self.token = Some(token);
            }
        }
        if !self.has_answered && now_ns >= self.started_ns + HELLO_S * NS_PER_S {
            self.fail(StreamError::JavaSilent { seconds: HELLO_S, lines: self.lines() });
        }
        if let Some(closed_ns) = self.closed_ns {
            self.note_exit(closed_ns, now_ns);
        }
        if self.ends_ns.is_some_and(|ends_ns| now_ns >= ends_ns) {
            self.has_ended = true;
        }
    }

    fn launch(&mut self, now_ns: u64, net: &mut dyn Net) {
        self.started_ns = now_ns;
        let started = (self.start)(&self.command);
        let attached = started.and_then(|(process, socket)| {
            self.process = Some(process);
            net.attach(SOCKET, socket)
        });
        if let Err(error) = attached {
            let program = self.command.first().cloned().unwrap_or_default();
            self.fail(StreamError::JavaNotStarted { program, reason: error.to_string() });
        }
    }

    /// It has closed its end: as soon as it is known how it ended, that is why it failed.
    fn note_exit(&mut self, closed_ns: u64, now_ns: u64) {
        let how = self.process.as_mut().and_then(|process| process.ended(now_ns));
        let how = how.or_else(|| {
            let is_overdue = now_ns >= closed_ns + EXIT_NS;
            is_overdue.then(|| "its connection, and goes on".to_owned())
        });
        if let Some(how) = how {
            self.fail(StreamError::JavaEnded { how, lines: self.lines() });
        }
    }

    fn lines(&self) -> String {
        self.process.as_ref().map_or_else(String::new, |process| process.lines())
    }

    /// When [`Self::keep_up`] or [`Self::read`] has something to do by time alone, ns.
    pub fn next_deadline(&self) -> Option<u64> {
        if self.has_ended() {
            return None;
        }
        if self.process.is_none() || self.is_readable {
            return Some(0);
        }
        let hello = (!self.has_answered).then_some(self.started_ns + HELLO_S * NS_PER_S);
        let exit = self.closed_ns.map(|_| self.looked_ns + EXIT_LOOK_NS);
        let token = self.token.as_ref().map(|_| self.token_look_ns);
        [hello, exit, token, self.ends_ns].into_iter().flatten().min()
    }

    /// Reads what is there and hands frames of clients on.
    pub fn read(
        &mut self,
        context: &mut StreamContext,
        net: &mut dyn Net,
        mut handle: impl FnMut(FromJava<'_>, &mut StreamContext) -> Result<(), FrameError>,
    ) {
        if !std::mem::take(&mut self.is_readable) || self.closed_ns.is_some() {
            return;
        }
        let mut decoder = std::mem::take(&mut self.decoder);
        for _ in 0..READS_MAX {
            match net.read(SOCKET, decoder.room()) {
                Ok(0) => {
                    self.closed_ns = Some(net.now_ns());
                    break;
                }
                Ok(bytes) => decoder.filled(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.decoder = decoder;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    self.closed_ns = Some(net.now_ns());
                    break;
                }
            }
            if let Err(error) = self.take_frames(&mut decoder, context, net.now_ns(), &mut handle) {
                self.fail(StreamError::JavaSaid(error.to_string()));
                break;
            }
        }
        self.is_readable = self.closed_ns.is_none() && self.failure.is_none();
        self.decoder = decoder;
    }

    fn take_frames(
        &mut self,
        decoder: &mut Decoder,
        context: &mut StreamContext,
        now_ns: u64,
        handle: &mut impl FnMut(FromJava<'_>, &mut StreamContext) -> Result<(), FrameError>,
    ) -> Result<(), FrameError> {
        while let Some(frame) = decoder.take()? {
            match frames::read(frame)? {
                FromJava::Hello { at_ns, java, client, commit } => {
                    self.has_answered = true;
                    if !(self.started_ns..=now_ns).contains(&at_ns) {
                        return Err(FrameError("an instant of another clock than CLOCK_MONOTONIC"));
                    }
                    let detail = format!("kafka-clients {client} (commit {commit}) on Java {java}");
                    context.events.push(at_ns, EventKind::ClientStarted, shortened(&detail));
                    self.tell_pid(context.task.stream);
                }
                FromJava::Readings(readings) => self.note_readings(readings, context.task.stream),
                FromJava::Event { at_ns, kind, text } => {
                    let kind = match kind {
                        1 => EventKind::FullGc,
                        2 => EventKind::ClientWarning,
                        _ => return Err(FrameError("an event of an unknown kind")),
                    };
                    context.events.push(at_ns, kind, shortened(text));
                }
                FromJava::Settings(reported) => {
                    self.messages.push(FromWorker::ClientSettings(ClientSettings {
                        stream: context.task.stream,
                        settings: reported.into_iter().map(in_force).collect(),
                    }))
                }
                FromJava::Metrics { client, text } => self.messages.push(FromWorker::ClientMetrics {
                    stream: context.task.stream,
                    client: context.task.client_first + client,
                    text: text.to_owned(),
                }),
                FromJava::Failed { kind, text } => self.fail(match kind {
                    1 => StreamError::JavaSetting(shortened(text)),
                    _ => StreamError::JavaFailed(shortened(text)),
                }),
                FromJava::Ended => {
                    self.has_ended = true;
                    self.process.iter_mut().for_each(|process| process.ends_by_itself());
                }
                of_client => handle(of_client, context)?,
            }
        }
        Ok(())
    }

    /// Reports which process it is, for code that looks into it.
    fn tell_pid(&mut self, stream: u16) {
        let Some(pid) = self.process.as_ref().and_then(|process| process.pid()) else { return };
        let series = series::JVM_PID.to_owned();
        let reading = ClientReading { stream, at_ns: 0, series, value: f64::from(pid) };
        self.messages.push(FromWorker::Readings(vec![reading]));
    }

    fn note_readings(&mut self, readings: JavaCost, stream: u16) {
        let Some(t0_ns) = self.t0_ns else { return };
        let at_ns = readings.at_ns as i64 - t0_ns as i64;
        let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
        let number = |count: Option<u64>| count.map(|count| count as f64);
        let values = [
            (series::JVM_CPU_S_TOTAL, seconds(readings.cpu_ns)),
            (series::JVM_THREADS_CPU_S_TOTAL, seconds(readings.threads_cpu_ns)),
            (series::JVM_ALLOCATED_BYTES_TOTAL, number(readings.allocated_bytes)),
            (series::JVM_GC_TOTAL, number(readings.collections)),
            (series::JVM_GC_S_TOTAL, seconds(readings.collections_ns)),
            (series::JVM_HEAP_USED_BYTES, number(readings.heap_bytes)),
        ];
        let reported = values.into_iter().filter_map(|(series, value)| {
            Some(ClientReading { stream, at_ns, series: series.to_owned(), value: value? })
        });
        self.messages.push(FromWorker::Readings(reported.collect()));
    }

    /// Writes what the socket takes.
    pub fn flush(&mut self, net: &mut dyn Net) {
        if self.process.is_none() || self.failure.is_some() || self.closed_ns.is_some() {
            return;
        }
        while self.written < self.out.len() {
            match net.write(SOCKET, &[IoSlice::new(&self.out[self.written..])]) {
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // A socket that is never empty must not keep what it has taken.
                    if self.written >= self.out.len() / 2 && !self.has_secrets {
                        self.out.drain(..self.written);
                        self.written = 0;
                    }
                    return;
                }
                // Its end is seen when it is read.
                Err(_) => break,
            }
        }
        if std::mem::take(&mut self.has_secrets) {
            self.out.fill(0);
        }
        self.out.clear();
        self.written = 0;
    }
}

/// A text of the process, bounded and on one line.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if short.chars().count() > TEXT_MAX {
            short = short.chars().take(TEXT_MAX).collect();
            let _ = write!(short, "…");
            break;
        }
    }
    short
}

/// Settings as the text of a properties file, whose names and values may hold anything.
pub(super) fn properties<'p>(settings: impl Iterator<Item = (&'p str, &'p str)>) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        for (part, end) in [(name, '='), (value, '\n')] {
            for unit in part.encode_utf16() {
                match char::from_u32(unit.into()).filter(|char| char.is_ascii_alphanumeric() || *char == '.')
                {
                    Some(char) => text.push(char),
                    None => {
                        let _ = write!(text, "\\u{unit:04x}");
                    }
                }
            }
            text.push(end);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::properties::Properties;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn settings_come_back_as_java_reads_them(name in "\\PC{1,10}", value in "\\PC{0,20}") {
            let text = properties([(name.as_str(), value.as_str()), ("end", "1")].into_iter());
            let read = Properties::parse(text.as_bytes()).expect("properties");
            prop_assert_eq!(read.get(&name), Some(value.as_str()));
            prop_assert_eq!(read.get("end"), Some("1"));
        }
    }

    #[test]
    fn a_text_is_one_bounded_line() {
        assert_eq!(shortened(" one\n  two\t"), "one two");
        assert_eq!(shortened(&"é".repeat(5_000)).chars().count(), TEXT_MAX + 1);
    }
}
