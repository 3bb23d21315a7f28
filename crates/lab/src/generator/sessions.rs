//! The sessions of an agent: each is served from its first connection to its end, and found by connections that go on with it.

use super::agent::{AgentOptions, NO_SESSION, Resumption, refuse, serve, welcome};
use super::outgoing::{Outgoing, locked};
use super::session::{SessionId, Watched, Wish};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

/// So many sessions at most.
pub(super) struct Sessions<'a> {
    options: &'a AgentOptions,
    free: Slots,
    /// By which connections find the session that they go on with.
    running: Mutex<BTreeMap<SessionId, RunningSession>>,
}

struct RunningSession {
    outgoing: Arc<Outgoing>,
    again: Sender<Resumption>,
}

impl<'a> Sessions<'a> {
    /// None yet.
    pub(super) fn new(options: &'a AgentOptions, most: usize) -> Self {
        Self { options, free: Slots::new(most), running: Mutex::default() }
    }

    /// Whether there is one, or something else has taken its place.
    pub(super) fn is_any_taken(&self) -> bool {
        self.free.is_any_taken()
    }

    /// The place of a session.
    pub(super) fn take(&self) -> Option<Slot<'_>> {
        self.free.take()
    }

    /// Serves a lab that has greeted on this stream: to the end of the session, or until the stream is the session's.
    pub(super) fn serve(
        &self,
        wish: Wish,
        reader: Watched<UnixStream>,
        stream: UnixStream,
    ) -> io::Result<()> {
        match wish {
            Wish::Begin(id) => self.begin(id, reader, stream),
            Wish::Resume(id, received) => self.resume(id, Resumption { stream, received }),
        }
    }

    /// A session from its first connection to its end.
    fn begin(&self, id: SessionId, reader: Watched<UnixStream>, stream: UnixStream) -> io::Result<()> {
        let Some(_session) = self.take() else {
            return refuse(&mut &stream, &format!("serves {} sessions already", self.free.count));
        };
        let outgoing = Outgoing::start()?;
        let Some(again) = self.named(id, &outgoing) else {
            outgoing.end("it has not begun");
            return refuse(&mut &stream, "has a session of this id");
        };
        let served = welcome(&outgoing, stream).and_then(|()| serve(reader, &outgoing, &again, self.options));
        self.running().remove(&id);
        outgoing.end("it has ended");
        // Threads of the session may still hold it for a moment.
        outgoing.break_any();
        served
    }

    /// Makes a session known to connections that go on with it, which it gets; `None`: there is one of that id.
    fn named(&self, id: SessionId, outgoing: &Arc<Outgoing>) -> Option<Receiver<Resumption>> {
        let mut running = self.running();
        let Entry::Vacant(entry) = running.entry(id) else { return None };
        let (again, resumptions) = channel();
        entry.insert(RunningSession { outgoing: Arc::clone(outgoing), again });
        Some(resumptions)
    }

    /// Hands a connection to the session that it goes on with, whose last one is of no use to the lab any more.
    fn resume(&self, id: SessionId, resumption: Resumption) -> io::Result<()> {
        let found = self.running().get(&id).map(|one| (Arc::clone(&one.outgoing), one.again.clone()));
        let Some((outgoing, again)) = found else { return refuse(&mut &resumption.stream, NO_SESSION) };
        // First of all, for the session may have the new one a moment later.
        outgoing.break_any();
        again.send(resumption).or_else(|unsent| refuse(&mut &unsent.0.stream, NO_SESSION))
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<SessionId, RunningSession>> {
        locked(&self.running)
    }
}

/// So many at once.
pub(super) struct Slots {
    count: usize,
    free: AtomicUsize,
}

/// One of them, while it is there.
pub(super) struct Slot<'s>(&'s Slots);

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self { count, free: AtomicUsize::new(count) }
    }

    pub(super) fn is_any_taken(&self) -> bool {
        self.free.load(Ordering::Acquire) < self.count
    }

    pub(super) fn take(&self) -> Option<Slot<'_>> {
        let less = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok().map(|_| Slot(self))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::AcqRel);
    }
}
