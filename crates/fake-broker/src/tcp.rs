//! A fake cluster behind real loopback sockets, driven by the real clock on a thread of its own: for tests
//! of real event loops and of whole programs.

use super::cluster::{ClusterOutput, FakeCluster};
use super::connection::ConnId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Unanswered request bytes of a connection from which on it is no longer read, as brokers do not either.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Unsent answers of a connection from which on it is no longer read.
const UNSENT_BYTES_MAX: usize = 16 << 20;

/// How much is read at a time.
const READ_BYTES: usize = 256 << 10;

/// Longest sleep of the loop.
const SLEEP_NS_MAX: u64 = 100_000_000;

/// A running fake cluster; it ends when this is dropped.
#[derive(Debug)]
pub struct FakeServer {
    addresses: BTreeMap<i32, SocketAddr>,
    shared: Arc<SharedCluster>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedCluster {
    cluster: Mutex<FakeCluster>,
    stop: AtomicBool,
    start: Instant,
}

impl SharedCluster {
    fn lock(&self) -> MutexGuard<'_, FakeCluster> {
        // A test that failed while it held the lock must not take the server's thread with it.
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Serves a cluster on ephemeral ports of 127.0.0.1, one for each broker that is there now; instants count
/// from this call. A broker that is removed later refuses by closing what it accepts.
///
/// # Errors
/// No port, descriptor or thread could be had.
pub fn spawn(mut cluster: FakeCluster) -> io::Result<FakeServer> {
    let mut listeners = Vec::new();
    let mut addresses = BTreeMap::new();
    for broker in cluster.broker_ids() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        cluster.set_address(broker, &address.ip().to_string(), address.port());
        addresses.insert(broker, address);
        listeners.push((broker, listener));
    }
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    let shared = Arc::new(SharedCluster {
        cluster: Mutex::new(cluster),
        stop: AtomicBool::new(false),
        start: Instant::now(),
    });
    let mut sockets = SocketLoop {
        shared: Arc::clone(&shared),
        listeners,
        woken,
        connections: BTreeMap::new(),
        buffer: vec![0; READ_BYTES],
    };
    let thread = std::thread::Builder::new().name("fake-cluster".into()).spawn(move || sockets.run())?;
    Ok(FakeServer { addresses, shared, wake, thread: Some(thread) })
}

impl FakeServer {
    /// Address of each broker.
    pub fn addresses(&self) -> &BTreeMap<i32, SocketAddr> {
        &self.addresses
    }

    /// `host:port` of each broker, as clients get them for bootstrapping.
    pub fn bootstrap(&self) -> Vec<String> {
        self.addresses.values().map(ToString::to_string).collect()
    }

    /// Looks at the cluster or scripts it further, while its thread waits.
    pub fn with<T>(&self, look: impl FnOnce(&mut FakeCluster) -> T) -> T {
        let result = look(&mut self.shared.lock());
        self.wake();
        result
    }

    /// The cluster's present instant.
    pub fn now_ns(&self) -> u64 {
        self.shared.now_ns()
    }

    fn wake(&self) {
        // When the pipe is full it wakes already; when its other end is gone there is nothing to wake.
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed by its own thread; another one here would hide the test's.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct TcpConnection {
    stream: TcpStream,
    unsent: Vec<u8>,
    /// To be closed once everything is sent.
    ends: bool,
}

#[derive(Debug)]
struct SocketLoop {
    shared: Arc<SharedCluster>,
    listeners: Vec<(i32, TcpListener)>,
    woken: UnixStream,
    connections: BTreeMap<ConnId, TcpConnection>,
    buffer: Vec<u8>,
}

impl SocketLoop {
    fn run(&mut self) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let (listeners, connections) = self.wait();
            for index in listeners {
                self.accept(index);
            }
            for conn in connections {
                self.receive(conn);
            }
            self.put_out();
        }
    }

    /// Sleeps until something is there to do: the listeners and connections that can be read. `poll` and not
    /// an edge-triggered queue, because its timeout has nanoseconds and tests have few connections.
    fn wait(&mut self) -> (Vec<usize>, Vec<ConnId>) {
        let cluster = self.shared.lock();
        let now_ns = self.shared.now_ns();
        let sleep_ns = cluster.next_deadline().map_or(u64::MAX, |at| at.saturating_sub(now_ns));
        let sleep_ns = sleep_ns.min(SLEEP_NS_MAX);
        let mut fds = vec![PollFd::new(&self.woken, PollFlags::IN)];
        fds.extend(self.listeners.iter().map(|(_, listener)| PollFd::new(listener, PollFlags::IN)));
        for (conn, connection) in &self.connections {
            let mut flags = PollFlags::empty();
            let full = connection.unsent.len() >= UNSENT_BYTES_MAX || connection.ends;
            if !full && cluster.held_bytes(*conn) < HELD_BYTES_MAX {
                flags |= PollFlags::IN;
            }
            if !connection.unsent.is_empty() {
                flags |= PollFlags::OUT;
            }
            fds.push(PollFd::new(&connection.stream, flags));
        }
        drop(cluster);
        let timeout = Timespec { tv_sec: 0, tv_nsec: sleep_ns as i64 };
        if poll(&mut fds, Some(&timeout)).is_err() {
            return (Vec::new(), Vec::new());
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (listeners, connections) = ready[1..].split_at(self.listeners.len());
        let listeners = (0..).zip(listeners).filter(|(_, ready)| **ready).map(|(index, _)| index).collect();
        let connections = self.connections.keys().zip(connections);
        let connections = connections.filter(|(_, ready)| **ready).map(|(conn, _)| *conn).collect();
        if ready[0] {
            // Whatever was written says the same: look again.
            let _ = self.woken.read(&mut self.buffer);
        }
        (listeners, connections)
    }

    fn accept(&mut self, index: usize) {
        let (broker, listener) = &self.listeners[index];
        // One at a time: the listener stays readable while there are more.
        let Ok((stream, _)) = listener.accept() else { return };
        if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
            return;
        }
        let conn = self.shared.lock().open(*broker, self.shared.now_ns());
        self.connections.insert(conn, TcpConnection { stream, unsent: Vec::new(), ends: false });
    }

    fn receive(&mut self, conn: ConnId) {
        let Some(connection) = self.connections.get_mut(&conn).filter(|connection| !connection.ends) else {
            return;
        };
        match connection.stream.read(&mut self.buffer) {
            Ok(0) => self.lose(conn),
            Ok(count) => {
                let now_ns = self.shared.now_ns();
                self.shared.lock().receive(conn, &self.buffer[..count], now_ns);
            }
            Err(error) if is_transient(&error) => {}
            Err(_) => self.lose(conn),
        }
    }

    /// The client closed the connection or it failed.
    fn lose(&mut self, conn: ConnId) {
        self.connections.remove(&conn);
        self.shared.lock().close(conn, self.shared.now_ns());
    }

    fn put_out(&mut self) {
        let outputs = self.shared.lock().poll(self.shared.now_ns());
        for output in outputs {
            match output {
                ClusterOutput::Bytes { conn, bytes } => {
                    if let Some(connection) = self.connections.get_mut(&conn) {
                        connection.unsent.extend_from_slice(&bytes);
                    }
                }
                ClusterOutput::Close { conn } => {
                    if let Some(connection) = self.connections.get_mut(&conn) {
                        connection.ends = true;
                    }
                }
            }
        }
        let mut lost = Vec::new();
        for (conn, connection) in &mut self.connections {
            if send(connection).is_err() || (connection.ends && connection.unsent.is_empty()) {
                lost.push(*conn);
            }
        }
        for conn in lost {
            self.lose(conn);
        }
    }
}

fn send(connection: &mut TcpConnection) -> io::Result<()> {
    let mut sent = 0;
    let mut result = Ok(());
    while sent < connection.unsent.len() {
        match connection.stream.write(&connection.unsent[sent..]) {
            Ok(0) => {
                result = Err(io::ErrorKind::WriteZero.into());
                break;
            }
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                if !is_transient(&error) {
                    result = Err(error);
                }
                break;
            }
        }
    }
    connection.unsent.drain(..sent);
    result
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
