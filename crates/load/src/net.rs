//! Sockets behind one small trait, so that the streams run unchanged over simulated links and time.

use crate::lookup::{Addresses, Lookups, Resolve};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token, Waker};
use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Names a connection; chosen by the caller, dense from 0.
pub type ConnectionId = usize;

/// Non-blocking byte streams and the time.
pub trait Net {
    /// Now, ns of a monotonic clock.
    fn now_ns(&self) -> u64;
    /// Begins to connect: looks the host up, then opens a socket to one of its addresses, each attempt to the next.
    /// The event of the connection then says how it went.
    ///
    /// # Errors
    /// When it is known at once that it cannot be.
    fn connect(&mut self, id: ConnectionId, host: &str, port: u16) -> io::Result<()>;
    /// Whether the connection is made: `Ok(false)` while it is under way.
    ///
    /// # Errors
    /// When it failed.
    fn finish_connect(&mut self, id: ConnectionId) -> io::Result<bool>;
    /// Writes what the socket takes now.
    ///
    /// # Errors
    /// `WouldBlock` when it takes nothing; anything else ends the connection.
    fn write(&mut self, id: ConnectionId, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Reads what is there; 0: the peer closed.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there; anything else ends the connection.
    fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> io::Result<usize>;
    /// Closes.
    fn close(&mut self, id: ConnectionId);
    /// Takes the end of a socket pair for a connection that is made.
    ///
    /// # Errors
    /// When it cannot be waited for, or not on this net.
    fn attach(&mut self, _id: ConnectionId, _socket: UnixStream) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Real sockets, registered with an event loop.
#[derive(Debug)]
pub struct RealSockets {
    registry: Registry,
    slots: Vec<SocketSlot>,
    lookups: Lookups,
}

/// One connection's socket, and where to.
#[derive(Debug, Default)]
struct SocketSlot {
    addresses: Addresses,
    stream: Option<TcpStream>,
    /// In its place: the end of a socket pair.
    pair: Option<mio::net::UnixStream>,
    /// Its host is being looked up.
    is_looked_up: bool,
    /// Why there is no socket, until it is requested.
    failure: Option<io::Error>,
}

impl RealSockets {
    /// Sockets whose events go to the poll that `registry` belongs to, under the connection's number. Hosts are
    /// looked up by other threads, which wake the poll.
    pub fn new(registry: Registry, waker: Arc<Waker>) -> Self {
        Self::resolving(crate::lookup::system, registry, waker)
    }

    /// As [`Self::new`], with another way to look up a host.
    pub(crate) fn resolving(resolve: Resolve, registry: Registry, waker: Arc<Waker>) -> Self {
        Self { registry, slots: Vec::new(), lookups: Lookups::new(resolve, waker) }
    }

    /// After the poll was woken: opens the sockets whose host was looked up meanwhile. Returns the connections of
    /// which it is known by now that they cannot be made, which no event will report.
    pub fn take_failed(&mut self) -> Vec<ConnectionId> {
        let mut failed = Vec::new();
        while let Some((host, port, found)) = self.lookups.take_found() {
            for id in 0..self.slots.len() {
                let slot = &mut self.slots[id];
                if !(slot.is_looked_up && slot.addresses.is_of(&host, port)) {
                    continue;
                }
                slot.is_looked_up = false;
                let opened = match &found {
                    Ok(found) => {
                        slot.addresses.found(found);
                        self.open(id)
                    }
                    Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
                };
                if let Err(error) = opened {
                    self.slots[id].failure = Some(error);
                    failed.push(id);
                }
            }
        }
        failed
    }

    /// Opens a socket to the next address, if it is known.
    fn open(&mut self, id: ConnectionId) -> io::Result<()> {
        let slot = &mut self.slots[id];
        let address =
            slot.addresses.take_next().ok_or_else(|| io::Error::other("its name has no address"))?;
        let mut stream = connect(address)?;
        self.registry.register(&mut stream, Token(id), Interest::READABLE | Interest::WRITABLE)?;
        slot.stream = Some(stream);
        Ok(())
    }

    fn pair(&mut self, id: ConnectionId) -> Option<&mut mio::net::UnixStream> {
        self.slots.get_mut(id)?.pair.as_mut()
    }

    fn stream(&mut self, id: ConnectionId) -> io::Result<&mut TcpStream> {
        let slot = self.slots.get_mut(id);
        slot.and_then(|slot| slot.stream.as_mut()).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

/// A socket with the options of the Java client's.
fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
    Ok(stream)
}

/// Now on CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Net for RealSockets {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn connect(&mut self, id: ConnectionId, host: &str, port: u16) -> io::Result<()> {
        if self.slots.len() <= id {
            self.slots.resize_with(id + 1, SocketSlot::default);
        }
        let slot = &mut self.slots[id];
        slot.addresses.lead_to(host, port);
        if slot.addresses.is_known() {
            return self.open(id);
        }
        slot.is_looked_up = true;
        self.lookups.look_up(host, port)
    }

    fn finish_connect(&mut self, id: ConnectionId) -> io::Result<bool> {
        let slot = self.slots.get_mut(id).ok_or(io::ErrorKind::NotConnected)?;
        if let Some(error) = slot.failure.take() {
            return Err(error);
        }
        if slot.is_looked_up {
            return Ok(false);
        }
        let stream = slot.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        match stream.peer_addr() {
            Ok(_) => {
                // Once this connection ends the host may have moved.
                slot.addresses.forget();
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, id: ConnectionId, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.pair(id) {
            Some(pair) => pair.write_vectored(slices),
            None => self.stream(id)?.write_vectored(slices),
        }
    }

    fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> io::Result<usize> {
        match self.pair(id) {
            Some(pair) => pair.read(into),
            None => self.stream(id)?.read(into),
        }
    }

    fn close(&mut self, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        slot.is_looked_up = false;
        slot.failure = None;
        if let Some(mut stream) = slot.stream.take() {
            // Deregistering fails only for a socket that is not registered, which is then all right.
            let _ = self.registry.deregister(&mut stream);
        }
        if let Some(mut pair) = slot.pair.take() {
            let _ = self.registry.deregister(&mut pair);
        }
    }

    fn attach(&mut self, id: ConnectionId, socket: UnixStream) -> io::Result<()> {
        if self.slots.len() <= id {
            self.slots.resize_with(id + 1, SocketSlot::default);
        }
        socket.set_nonblocking(true)?;
        let mut pair = mio::net::UnixStream::from_std(socket);
        self.registry.register(&mut pair, Token(id), Interest::READABLE | Interest::WRITABLE)?;
        self.slots[id].pair = Some(pair);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::{Events, Poll};
    use std::net::TcpListener;
    use std::sync::Mutex;

    /// Who holds it keeps names from being looked up.
    static NAMES: Mutex<()> = Mutex::new(());

    fn slowly(_host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        drop(NAMES.lock());
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
    }

    fn never(_host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        Err(io::Error::other("no such name"))
    }

    fn sockets(resolve: Resolve) -> (Poll, RealSockets) {
        let poll = Poll::new().expect("a poll");
        let registry = poll.registry().try_clone().expect("its registry");
        let waker = Waker::new(poll.registry(), Token(usize::MAX)).expect("a waker");
        (poll, RealSockets::resolving(resolve, registry, Arc::new(waker)))
    }

    /// Waits until the connection is made or cannot be.
    fn settle(poll: &mut Poll, sockets: &mut RealSockets, id: ConnectionId) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        loop {
            poll.poll(&mut events, None)?;
            let failed = sockets.take_failed();
            let is_made = sockets.finish_connect(id);
            assert_eq!(failed.contains(&id), is_made.is_err(), "{is_made:?}");
            if is_made? {
                return Ok(());
            }
        }
    }

    #[test]
    fn connecting_does_not_block_the_thread_on_a_name_lookup() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (mut poll, mut sockets) = sockets(slowly);
        let names = NAMES.lock().expect("nobody else holds it");
        sockets.connect(3, "broker", port).expect("begun");
        assert!(matches!(sockets.finish_connect(3), Ok(false)), "the name is not known yet");
        sockets.close(3);
        assert!(sockets.finish_connect(3).is_err(), "given up");
        sockets.connect(3, "broker", port).expect("begun again");
        drop(names);
        settle(&mut poll, &mut sockets, 3).expect("a connection");
        let stream = sockets.stream(3).expect("a socket");
        assert!(stream.nodelay().expect("an option"));
        assert!(rustix::net::sockopt::socket_keepalive(&*stream).expect("an option"));
    }

    #[test]
    fn a_name_that_is_not_known_is_a_connection_that_cannot_be_made() {
        let (mut poll, mut sockets) = sockets(never);
        for _ in 0..2 {
            sockets.connect(0, "broker", 9092).expect("begun");
            let error = settle(&mut poll, &mut sockets, 0).expect_err("no connection");
            assert_eq!(error.to_string(), "no such name");
            sockets.close(0);
        }
    }
}
