//! The threads that read the brokers' own metrics, and the cluster's logs and groups, while a trial goes on: one for each
//! that is asked, so that none waits for another, and the probes for none of them.
//!
//! What answers works for it, often on the processors that carry the load. So no two are asked at the same instant but at T0
//! and when the window is over, and of all but the last just before it begins.

use crate::clock::{monotonic_ns, relative_ns, unix_ns, until};
use crate::inbox::Heard;
use crate::observer::{SECOND_NS, next_after};
use kdyno_model::sample::{BEFORE_WINDOW_NS, ProbeReading};
use kdyno_testbed::metrics::{BrokerReading, MetricsSource};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Distance of readings of one that is read, ns: each costs a broker some milliseconds of CPU time.
const EVERY_NS: u64 = 10 * SECOND_NS;

/// What a thread reads over and over.
pub(crate) trait PolledSource: Send {
    /// Reads once, and sends it to the inbox. T0 is an instant of CLOCK_MONOTONIC, ns.
    fn read(&mut self, t0_ns: u64) -> Heard;
}

impl PolledSource for MetricsSource {
    fn read(&mut self, t0_ns: u64) -> Heard {
        let begun_ns = monotonic_ns();
        let read = MetricsSource::read(self);
        // Values are read one after the other: the instant in the middle is off by half the time that takes at most.
        let at_ns = relative_ns(begun_ns.midpoint(monotonic_ns()), t0_ns);
        let found =
            read.map(|readings| readings.into_iter().flat_map(|one| rows(one, at_ns, t0_ns)).collect());
        Heard::Metrics(at_ns, found)
    }
}

/// Input of a thread.
#[derive(Clone)]
enum ReaderOrder {
    /// T0 on CLOCK_MONOTONIC, ns: readings begin there.
    Start(u64),
    /// Read shortly before the window, and when it and the drain end, ns from T0: what was done in the window is the difference
    /// of two readings. Before it, since the load is then the same; at its end, since there is none afterwards.
    Window { start_ns: u64, ends_ns: Vec<u64> },
}

/// A running watch.
#[derive(Default)]
pub(crate) struct MetricsWatch {
    threads: Vec<(Sender<ReaderOrder>, JoinHandle<()>)>,
}

impl MetricsWatch {
    /// Reads these until it is asked to end, and sends to the inbox. One whose thread does not start is reported and
    /// not read. The last one is read as the window begins, so that its values are of that instant; the others are read
    /// before. Of trials that run at once each is a side, its number and how many there are, so that those of the
    /// others are not read at the same instants.
    pub(crate) fn start(
        readers: Vec<Box<dyn PolledSource>>,
        (side, sides): (u64, u64),
        inbox: &SyncSender<Heard>,
    ) -> Self {
        let mut watch = Self::default();
        let count = readers.len() as u64 * sides;
        for (place, reader) in (0..count).skip(side as usize).step_by(sides as usize).zip(readers) {
            let (orders, received) = channel();
            let thread = Thread {
                reader,
                inbox: inbox.clone(),
                offset_ns: place * EVERY_NS / count,
                before_window_ns: (count - 1 - place) * BEFORE_WINDOW_NS / count,
                t0_ns: None,
                window_ns: None,
                read_at: Vec::new(),
                next_ns: u64::MAX,
            };
            let thread =
                std::thread::Builder::new().name("metrics".to_owned()).spawn(move || thread.run(&received));
            watch.threads.extend(thread.ok().map(|thread| (orders, thread)));
        }
        watch
    }

    /// The load starts at T0, an instant of CLOCK_MONOTONIC.
    pub(crate) fn load_starts(&self, t0_ns: u64) {
        self.order(&ReaderOrder::Start(t0_ns));
    }

    /// The window begins and phases from it on end at these instants, ns from T0.
    pub(crate) fn measure_begins(&self, start_ns: u64, ends_ns: &[u64]) {
        self.order(&ReaderOrder::Window { start_ns, ends_ns: ends_ns.to_vec() });
    }

    /// The end of the threads, each when it has the answer that it may be waiting for. What they read lies in the inbox.
    pub(crate) fn finish(self) {
        let (orders, threads): (Vec<_>, Vec<_>) = self.threads.into_iter().unzip();
        drop(orders);
        // A panic in one costs its readings and nothing else.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }

    fn order(&self, order: &ReaderOrder) {
        for (orders, _) in &self.threads {
            // One that is gone has nothing more to do.
            let _ = orders.send(order.clone());
        }
    }
}

/// A thread's side.
struct Thread {
    reader: Box<dyn PolledSource>,
    inbox: SyncSender<Heard>,
    /// By how much its regular readings are later than those of the first thread, ns.
    offset_ns: u64,
    /// How long before the window it reads, ns.
    before_window_ns: u64,
    t0_ns: Option<u64>,
    /// When the window begins, ns from T0, once that is known.
    window_ns: Option<u64>,
    read_at: Vec<u64>,
    next_ns: u64,
}

impl Thread {
    fn run(mut self, orders: &Receiver<ReaderOrder>) {
        /// As good as for ever; an order ends the wait.
        const LONG: Duration = Duration::from_secs(3600);
        loop {
            match orders.recv_timeout(until(self.next_ns).min(LONG)) {
                Ok(ReaderOrder::Start(t0_ns)) => (self.t0_ns, self.next_ns) = (Some(t0_ns), t0_ns),
                Ok(ReaderOrder::Window { start_ns, ends_ns }) => {
                    self.window_ns = Some(start_ns);
                    self.read_at = ends_ns;
                    self.read_at.push(start_ns.saturating_sub(self.before_window_ns));
                    self.next_ns = self.next_ns.min(self.next_after(monotonic_ns()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if monotonic_ns() >= self.next_ns {
                self.read();
            }
        }
    }

    fn read(&mut self) {
        let Some(t0_ns) = self.t0_ns else { return };
        let begun_ns = monotonic_ns();
        // A trial that is over does not listen, and one whose inbox is full has enough to hear.
        let _ = self.inbox.try_send(self.reader.read(t0_ns));
        self.next_ns = self.next_after(begun_ns);
    }

    /// The next instant at which to read, CLOCK_MONOTONIC, ns.
    fn next_after(&self, now_ns: u64) -> u64 {
        let Some(t0_ns) = self.t0_ns else { return u64::MAX };
        let since_ns = now_ns.saturating_sub(t0_ns);
        let regular_after = |at_ns: u64| match at_ns.checked_sub(self.offset_ns) {
            None => self.offset_ns,
            Some(since_ns) => self.offset_ns + next_after(since_ns, EVERY_NS, &[]),
        };
        let mut regular_ns = regular_after(since_ns);
        // It is read just before the window anyway.
        if self.window_ns.is_some_and(|window_ns| regular_ns.abs_diff(window_ns) <= SECOND_NS) {
            regular_ns = regular_after(regular_ns);
        }
        let at_ns = self.read_at.iter().copied().filter(|at_ns| *at_ns > since_ns).fold(regular_ns, u64::min);
        t0_ns.saturating_add(at_ns)
    }
}

/// Readings as they are kept; those that somebody else took have the instant at which he did.
fn rows(reading: BrokerReading, now_ns: i64, t0_ns: u64) -> Vec<ProbeReading> {
    let taken_ns = reading.at_unix_ns.map(|at_unix_ns| {
        let monotonic_now = monotonic_ns();
        let ago_ns = unix_ns().saturating_sub(at_unix_ns);
        relative_ns(monotonic_now.saturating_sub(ago_ns), t0_ns)
    });
    let at_ns = taken_ns.unwrap_or(now_ns);
    let subject = reading.subject;
    let row = |(series, value)| ProbeReading { at_ns, subject: subject.clone(), series, value };
    reading.values.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Inbox;
    use kdyno_model::event::Subject;
    use kdyno_testbed::metrics::LocalEndpoint;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    const GENEROUS: Duration = Duration::from_secs(60);
    /// The only trial.
    const ALONE: (u64, u64) = (0, 1);

    fn source(port: u16) -> Box<dyn PolledSource> {
        let endpoint =
            LocalEndpoint { subject: Subject::Broker(1), port, counts_controller: false, mbeans: Vec::new() };
        Box::new(MetricsSource::local(&endpoint).expect("a source"))
    }

    fn thread(t0_ns: Option<u64>, offset_ns: u64, read_at: Vec<u64>) -> Thread {
        let (reader, inbox) = (source(1), Inbox::default().sender());
        let window_ns = None;
        Thread { reader, inbox, offset_ns, before_window_ns: 0, t0_ns, window_ns, read_at, next_ns: u64::MAX }
    }

    #[test]
    fn readings_come_every_ten_seconds_staggered_and_at_phase_ends() {
        let s = SECOND_NS;
        let next = |one: &Thread, since_s: u64| (one.next_after((5 + since_s) * s) - 5 * s) / s;
        let first = thread(Some(5 * s), 0, vec![3 * s, 20 * s, 24 * s]);
        assert_eq!([0, 3, 10, 20, 24, 30].map(|at| next(&first, at)), [3, 10, 20, 24, 30, 40]);
        let second = thread(Some(5 * s), 4 * s, vec![24 * s]);
        assert_eq!([0, 4, 14, 23, 24].map(|at| next(&second, at)), [4, 14, 24, 24, 34]);
        // A window that begins when it would be read anyway: it is read just before.
        let mut third = thread(Some(5 * s), 4 * s, vec![13 * s, 34 * s]);
        third.window_ns = Some(14 * s);
        assert_eq!([4, 13, 24].map(|at| next(&third, at)), [13, 24, 34]);
        assert_eq!(thread(None, 0, Vec::new()).next_after(7), u64::MAX);
    }

    /// Returns when it was asked.
    struct InstantSource;

    impl PolledSource for InstantSource {
        fn read(&mut self, t0_ns: u64) -> Heard {
            Heard::Metrics(relative_ns(monotonic_ns(), t0_ns), Ok(Vec::new()))
        }
    }

    #[test]
    fn before_the_window_one_is_read_after_the_other() {
        let inbox = Inbox::default();
        let readers: Vec<Box<dyn PolledSource>> = vec![Box::new(InstantSource), Box::new(InstantSource)];
        let watch = MetricsWatch::start(readers, ALONE, &inbox.sender());
        watch.load_starts(monotonic_ns());
        let heard = || match inbox.hear(GENEROUS) {
            Some(Heard::Metrics(at_ns, Ok(_))) => at_ns.cast_unsigned(),
            other => panic!("{other:?}"),
        };
        let _ = [heard(), heard()];
        let start_ns = 2 * SECOND_NS;
        watch.measure_begins(start_ns, &[start_ns + SECOND_NS / 2]);
        // The last one is asked as the window begins. A thread that is woken late is asked later.
        let ats = [heard(), heard(), heard(), heard()];
        assert!(ats[0] >= start_ns - BEFORE_WINDOW_NS / 2 && ats[1] >= start_ns, "{ats:?}");
        assert!(ats[2] >= start_ns + SECOND_NS / 2, "{ats:?}");
        watch.finish();
    }

    #[test]
    fn what_brokers_tell_and_do_not_tell_is_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let answering = std::thread::spawn(move || {
            for status in ["200 OK", "503 Unavailable"] {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let body = "kafka_server_BrokerTopicMetrics_Count{name=\"BytesInPerSec\"} 5\n";
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).expect("sent");
            }
        });
        let inbox = Inbox::default();
        let watch = MetricsWatch::start(vec![source(port)], ALONE, &inbox.sender());
        let t0_ns = monotonic_ns();
        watch.load_starts(t0_ns);
        let Some(Heard::Metrics(at_ns, Ok(rows))) = inbox.hear(GENEROUS) else { panic!("no readings") };
        // And for how long it answered.
        assert_eq!((rows.len(), rows[0].value, rows[0].at_ns), (2, 5.0, at_ns));
        watch.measure_begins(0, &[monotonic_ns() - t0_ns + SECOND_NS / 2]);
        let Some(Heard::Metrics(_, Err(unread))) = inbox.hear(GENEROUS) else { panic!("no failure") };
        assert!(unread.subject == Subject::Broker(1) && unread.why.contains("503"), "{unread:?}");
        watch.finish();
        answering.join().expect("both were asked for");
    }

    #[test]
    fn what_somebody_else_read_has_his_instant() {
        let reading = |at_unix_ns| BrokerReading {
            subject: Subject::Broker(0),
            at_unix_ns,
            values: vec![("bytes_in_total".to_owned(), 1.0)],
        };
        let t0_ns = monotonic_ns() - 60 * SECOND_NS;
        assert_eq!(rows(reading(None), 7, t0_ns)[0].at_ns, 7);
        let taken = rows(reading(Some(unix_ns() - 50 * SECOND_NS)), 7, t0_ns)[0].at_ns;
        let expected = 10 * SECOND_NS.cast_signed();
        assert!((taken - expected).abs() < SECOND_NS.cast_signed(), "{taken}");
        assert!(rows(reading(Some(0)), 7, t0_ns)[0].at_ns < 0, "a clock that is far off");
    }
}
