//! The thread that watches while a trial goes on: it reads the probes at their instants and sees a wish to stop.

use crate::clock::{monotonic_ns, relative_ns, thread_cpu_ns};
use crate::error::LabError;
use crate::inbox::{Heard, Stop};
use crate::limit::TimeCap;
use crate::named_watch::NamedWatch;
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use kdyno_testbed::probe::ProbeSampler;
use kdyno_testbed::probe::named::NamedProcesses;
use kdyno_testbed::process::ProcessRef;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How soon a wish to stop is seen.
const LOOK: Duration = Duration::from_millis(50);

/// Distance of readings, ns.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Least distance of the last reading from the one before: CPU time is counted in ticks of 10 ms, and
/// over a few of them a share of it would say nothing.
const LAST_NS: u64 = 500_000_000;

/// What the run's surroundings say of going on.
#[derive(Clone)]
pub(crate) struct MayGoOn {
    /// Set from outside to end the run.
    pub(crate) stop: Arc<AtomicBool>,
    /// When the target's time is over.
    pub(crate) time_cap: Option<TimeCap>,
}

impl MayGoOn {
    /// Why the run has to end now, if it has to.
    pub(crate) fn must_end(&self) -> Option<Stop> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Stop::Asked);
        }
        self.time_cap.filter(TimeCap::is_reached).map(Stop::TimeCap)
    }
}

/// Input of the observer.
enum ObserverOrder {
    /// T0 on CLOCK_MONOTONIC, ns: readings begin there.
    Start(u64),
    /// Read at these instants too, ns from T0: the phases' ends.
    ReadAt(Vec<u64>),
    /// Read once more, unless that has just been done, and end.
    End,
}

/// A running observer.
pub(crate) struct Observer {
    orders: Sender<ObserverOrder>,
    thread: JoinHandle<()>,
}

impl Observer {
    /// Watches these processes, those that were named and the host, and whether the run may go on; reports to the
    /// inbox.
    ///
    /// # Errors
    /// The thread does not start: nothing would be read, and no wish to stop seen.
    pub(crate) fn start(
        processes: Vec<ProcessRef>,
        named: NamedProcesses,
        may_go_on: MayGoOn,
        inbox: SyncSender<Heard>,
    ) -> Result<Self, LabError> {
        let (orders, received) = channel();
        let mut watch = Watch::new(processes, named, may_go_on, inbox);
        let thread = std::thread::Builder::new()
            .name("observer".to_owned())
            .spawn(move || watch.run(&received))
            .map_err(LabError::observer)?;
        Ok(Self { orders, thread })
    }

    /// The load starts at T0, an instant of CLOCK_MONOTONIC.
    pub(crate) fn load_starts(&self, t0_ns: u64) {
        self.order(ObserverOrder::Start(t0_ns));
    }

    /// Phases end at these instants, ns from T0: what was used in one must not be booked in the next.
    pub(crate) fn phases_end(&self, ends_ns: Vec<u64>) {
        self.order(ObserverOrder::ReadAt(ends_ns));
    }

    /// The last reading, and the end of the thread. What it read lies in the inbox.
    pub(crate) fn finish(self) {
        self.order(ObserverOrder::End);
        // A panic in it has been reported to the inbox; in the last reading it has lost that one and nothing else.
        let _ = self.thread.join();
    }

    fn order(&self, order: ObserverOrder) {
        // An observer that is gone has nothing more to do.
        let _ = self.orders.send(order);
    }
}

/// The thread's side.
struct Watch {
    sampler: ProbeSampler,
    named: NamedWatch,
    may_go_on: MayGoOn,
    inbox: SyncSender<Heard>,
    t0_ns: Option<u64>,
    /// Ends of phases, ns from T0.
    read_at: Vec<u64>,
    /// Instant of the next reading.
    next_ns: u64,
    /// Instant of the last one.
    read_ns: u64,
    has_stopped: bool,
}

impl Watch {
    fn new(
        processes: Vec<ProcessRef>,
        named: NamedProcesses,
        may_go_on: MayGoOn,
        inbox: SyncSender<Heard>,
    ) -> Self {
        let mut named = NamedWatch::new(named, &processes);
        let mut sampler = ProbeSampler::new(processes, true);
        let reported = named.begin(&mut sampler);
        if !reported.is_empty() {
            let _ = inbox.send(Heard::Named(None, reported));
        }
        Self {
            sampler,
            named,
            may_go_on,
            inbox,
            t0_ns: None,
            read_at: Vec::new(),
            next_ns: u64::MAX,
            read_ns: 0,
            has_stopped: false,
        }
    }

    fn run(&mut self, orders: &Receiver<ObserverOrder>) {
        loop {
            let until_reading = Duration::from_nanos(self.next_ns.saturating_sub(monotonic_ns()));
            match orders.recv_timeout(LOOK.min(until_reading)) {
                Ok(ObserverOrder::Start(t0_ns)) => (self.t0_ns, self.next_ns) = (Some(t0_ns), t0_ns),
                Ok(ObserverOrder::ReadAt(ends_ns)) => self.read_at = ends_ns,
                Ok(ObserverOrder::End) => {
                    if self.t0_ns.is_some() && monotonic_ns() >= self.read_ns + LAST_NS {
                        self.read();
                    }
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The trial is over without a word: there is no receiver.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look_for_stop();
            if monotonic_ns() >= self.next_ns {
                self.read();
            }
        }
    }

    fn look_for_stop(&mut self) {
        if let Some(stop) = self.may_go_on.must_end().filter(|_| !self.has_stopped) {
            self.has_stopped = true;
            let _ = self.inbox.send(Heard::Stop(stop));
        }
    }

    fn read(&mut self) {
        let Some(t0_ns) = self.t0_ns else { return };
        self.read_ns = monotonic_ns();
        let at_ns = relative_ns(self.read_ns, t0_ns);
        let mut readings = self.sampler.sample(at_ns);
        readings.push(ProbeReading {
            at_ns,
            subject: Subject::Kdyno,
            series: series::PROBES_CPU_S_TOTAL.to_owned(),
            value: thread_cpu_ns() as f64 / SECOND_NS as f64,
        });
        self.next_ns = t0_ns + next_after(self.read_ns.saturating_sub(t0_ns), SECOND_NS, &self.read_at);
        let _ = self.inbox.send(Heard::Probes(self.read_ns, readings));
        let reported = self.named.after_reading(&mut self.sampler, self.read_ns);
        if !reported.is_empty() {
            let _ = self.inbox.send(Heard::Named(Some(at_ns), reported));
        }
    }
}

impl Drop for Watch {
    /// Without this thread a wish to stop and the time cap go unseen: a trial must not go on when it fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.inbox.send(Heard::Stop(Stop::ObserverGone));
        }
    }
}

/// The first multiple of `every_ns`, or given instant, after `since_ns`; all ns from T0.
pub(crate) fn next_after(since_ns: u64, every_ns: u64, instants_ns: &[u64]) -> u64 {
    let regular_ns = (since_ns / every_ns + 1) * every_ns;
    instants_ns.iter().copied().filter(|instant| *instant > since_ns).fold(regular_ns, u64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Inbox;

    const GENEROUS: Duration = Duration::from_secs(60);

    #[test]
    fn readings_come_at_whole_seconds_and_at_the_ends_of_phases() {
        assert_eq!(next_after(0, SECOND_NS, &[]), SECOND_NS);
        assert_eq!(next_after(999_999_999, SECOND_NS, &[]), SECOND_NS);
        assert_eq!(next_after(SECOND_NS, SECOND_NS, &[SECOND_NS, 1_500_000_000]), 1_500_000_000);
        assert_eq!(next_after(1_500_000_000, SECOND_NS, &[1_500_000_000]), 2 * SECOND_NS);
    }

    #[test]
    fn a_stop_is_requested_once_and_readings_go_on() {
        let inbox = Inbox::default();
        let stop = Arc::new(AtomicBool::new(true));
        let may_go_on = MayGoOn { stop, time_cap: None };
        let observer = Observer::start(Vec::new(), NamedProcesses::default(), may_go_on, inbox.sender())
            .expect("a thread");
        assert!(matches!(inbox.hear(GENEROUS), Some(Heard::Stop(Stop::Asked))));
        observer.load_starts(monotonic_ns());
        for _ in 0..2 {
            assert!(matches!(inbox.hear(GENEROUS), Some(Heard::Probes(..))));
        }
        observer.finish();
        while let Some(heard) = inbox.hear(Duration::ZERO) {
            assert!(matches!(heard, Heard::Probes(..)), "{heard:?}");
        }
    }

    #[test]
    fn a_watch_that_fails_reports_it_and_a_stopped_one_does_not() {
        let inbox = Inbox::default();
        let watch = || {
            let may_go_on = MayGoOn { stop: Arc::default(), time_cap: None };
            Watch::new(Vec::new(), NamedProcesses::default(), may_go_on, inbox.sender())
        };
        let (orders, received) = channel();
        orders.send(ObserverOrder::End).expect("an order");
        watch().run(&received);
        assert!(inbox.hear(Duration::ZERO).is_none());
        let failing = watch();
        let thread = std::thread::spawn(move || {
            let _watch = failing;
            std::panic::resume_unwind(Box::new("a defect"));
        });
        assert!(thread.join().is_err());
        assert!(matches!(inbox.hear(GENEROUS), Some(Heard::Stop(Stop::ObserverGone))));
    }
}
