//! Sockets behind one small trait, so that the streams run unchanged over simulated links and time.

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};

/// Names a connection; chosen by the caller, dense from 0.
pub type ConnectionId = usize;

/// Non-blocking byte streams and the time.
pub trait Net {
    /// Now, ns of a monotonic clock.
    fn now_ns(&self) -> u64;
    /// Begins to connect. The event of the connection then says how it went.
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
}

/// Real sockets, registered with an event loop.
#[derive(Debug)]
pub struct Sockets {
    registry: Registry,
    streams: Vec<Option<TcpStream>>,
    /// Names looked up so far: a name is resolved once, since resolving blocks.
    resolved: Vec<Resolved>,
}

/// A name's addresses, and the one to try next.
#[derive(Debug)]
struct Resolved {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
    next: usize,
}

impl Sockets {
    /// Sockets whose events go to the poll that `registry` belongs to, under the connection's number.
    pub fn new(registry: Registry) -> Self {
        Self { registry, streams: Vec::new(), resolved: Vec::new() }
    }

    /// The address to try now: a name may have several, of which only one is listened on, so each attempt
    /// takes the next.
    fn resolve(&mut self, host: &str, port: u16) -> io::Result<SocketAddr> {
        let known = self.resolved.iter().position(|name| name.host == host && name.port == port);
        let at = match known {
            Some(at) => at,
            None => {
                let addresses = (host, port).to_socket_addrs()?.collect();
                self.resolved.push(Resolved { host: host.to_owned(), port, addresses, next: 0 });
                self.resolved.len() - 1
            }
        };
        let name = &mut self.resolved[at];
        let address = name.addresses.get(name.next % name.addresses.len().max(1)).copied();
        name.next += 1;
        address.ok_or_else(|| io::Error::other("its name has no address"))
    }

    fn stream(&mut self, id: ConnectionId) -> io::Result<&mut TcpStream> {
        self.streams.get_mut(id).and_then(Option::as_mut).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

/// Now on CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Net for Sockets {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn connect(&mut self, id: ConnectionId, host: &str, port: u16) -> io::Result<()> {
        let address = self.resolve(host, port)?;
        let mut stream = TcpStream::connect(address)?;
        self.registry.register(&mut stream, Token(id), Interest::READABLE | Interest::WRITABLE)?;
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, || None);
        }
        self.streams[id] = Some(stream);
        Ok(())
    }

    fn finish_connect(&mut self, id: ConnectionId) -> io::Result<bool> {
        let stream = self.stream(id)?;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        match stream.peer_addr() {
            Ok(_) => {
                stream.set_nodelay(true)?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, id: ConnectionId, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream(id)?.write_vectored(slices)
    }

    fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> io::Result<usize> {
        self.stream(id)?.read(into)
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(mut stream) = self.streams.get_mut(id).and_then(Option::take) {
            // Deregistering fails only for a socket that is not registered, which is then all right.
            let _ = self.registry.deregister(&mut stream);
        }
    }
}
