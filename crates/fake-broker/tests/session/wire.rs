//! Clients and a fake cluster without sockets, in simulated time, with or without a session between them.

use crate::toy::Toy;
use kdyno_fake_broker::{ClusterOutput, ConnId, FakeCluster};
use kdyno_kafka::broker_connections::ConnectionState;
use kdyno_kafka::client::Client;
use kdyno_kafka::connection::{ConnectionError, WriteProgress};
use kdyno_kafka::session::SecureSession;
use std::collections::BTreeMap;
use std::io::IoSlice;

/// What a socket takes at once, and what it has at once: odd, so that nothing ends where it begins.
const WRITE_BYTES: usize = 1_777;
const READ_BYTES: usize = 613;
const MS: u64 = 1_000_000;

/// What is between the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    Nothing,
    Session,
    RefusingSession,
}

struct Socket {
    peer: ConnId,
    session: Option<Toy>,
    to_client: Vec<u8>,
    is_closed: bool,
}

pub struct Wire {
    pub now_ns: u64,
    pub cluster: FakeCluster,
    between: Between,
    sockets: BTreeMap<usize, Socket>,
}

impl Wire {
    pub fn new(cluster: FakeCluster, between: Between, now_ns: u64) -> Self {
        Self { now_ns, cluster, between, sockets: BTreeMap::new() }
    }

    /// One round: connect, write, serve, read. Then a millisecond passes.
    pub fn round<C: Client>(&mut self, client: &mut C) {
        self.connect(client);
        for connection in 0..client.connections().count() {
            self.write(client, connection);
        }
        self.serve();
        for connection in 0..client.connections().count() {
            if let Err(error) = self.read(client, connection) {
                self.close(client, connection, error);
            }
        }
        self.now_ns += MS;
    }

    fn connect<C: Client>(&mut self, client: &mut C) {
        while let Some(connection) = client.connections_mut().to_connect(self.now_ns) {
            let (host, port) = client.connections().address(connection);
            let broker = self.cluster.broker_at(host, port).expect("a broker");
            let session = match self.between {
                Between::Nothing => None,
                between => Some(Toy::server(between == Between::RefusingSession)),
            };
            let peer = self.cluster.open(broker, self.now_ns);
            let socket = Socket { peer, session, to_client: Vec::new(), is_closed: false };
            self.sockets.insert(connection, socket);
            client.connections_mut().on_connected(connection, self.now_ns).expect("a session");
        }
        while let Some((connection, error)) = client.connections().to_close(self.now_ns) {
            self.close(client, connection, error);
        }
        while let Some(connection) = client.connections_mut().take_surplus(self.now_ns) {
            self.forget(connection);
        }
        client.connections_mut().poll(self.now_ns);
    }

    fn write<C: Client>(&mut self, client: &mut C, connection: usize) {
        if client.connections().state(connection) != ConnectionState::Open {
            return;
        }
        let queues = client.connections_mut().connection_mut(connection);
        let Some(socket) = self.sockets.get_mut(&connection) else { return };
        loop {
            let mut space = [0; WRITE_BYTES];
            let mut room = &mut space[..];
            match queues.write_to(&mut room).expect("there is room") {
                WriteProgress::Nothing => return,
                WriteProgress::Bytes => {}
                WriteProgress::Request => queues.stamp_written(self.now_ns),
            }
            let left = room.len();
            let written = space[..WRITE_BYTES - left].to_vec();
            let plaintext = match &mut socket.session {
                None => written,
                Some(session) => {
                    let mut plaintext = Vec::new();
                    session.receive(&written, &mut plaintext).expect("what the other end wrote");
                    session.write_to(&mut socket.to_client).expect("a vector takes all");
                    plaintext
                }
            };
            self.cluster.receive(socket.peer, &plaintext, self.now_ns);
        }
    }

    fn serve(&mut self) {
        for output in self.cluster.poll(self.now_ns) {
            let (ClusterOutput::Bytes { conn, .. } | ClusterOutput::Close { conn }) = &output;
            let Some(socket) = self.sockets.values_mut().find(|socket| socket.peer == *conn) else {
                continue;
            };
            match (output, &mut socket.session) {
                (ClusterOutput::Close { .. }, _) => socket.is_closed = true,
                (ClusterOutput::Bytes { bytes, .. }, None) => socket.to_client.extend(bytes),
                (ClusterOutput::Bytes { bytes, .. }, Some(session)) => {
                    session.send(&[IoSlice::new(&bytes)]);
                    session.write_to(&mut socket.to_client).expect("a vector takes all");
                }
            }
        }
    }

    fn read<C: Client>(&mut self, client: &mut C, connection: usize) -> Result<(), ConnectionError> {
        let Some(socket) = self.sockets.get_mut(&connection) else { return Ok(()) };
        for bytes in std::mem::take(&mut socket.to_client).chunks(READ_BYTES) {
            let mut rest = bytes;
            while !rest.is_empty() {
                let queues = client.connections_mut().connection_mut(connection);
                let space = queues.input_space();
                let count = space.len().min(rest.len());
                space[..count].copy_from_slice(&rest[..count]);
                rest = &rest[count..];
                queues.advance_read(count)?;
                client.receive(connection, self.now_ns)?;
            }
        }
        if socket.is_closed { Err(ConnectionError::Closed) } else { Ok(()) }
    }

    fn close<C: Client>(&mut self, client: &mut C, connection: usize, error: ConnectionError) {
        self.forget(connection);
        client.connections_mut().on_closed(connection, self.now_ns, error);
    }

    fn forget(&mut self, connection: usize) {
        if let Some(socket) = self.sockets.remove(&connection) {
            self.cluster.close(socket.peer, self.now_ns);
        }
    }

    /// What the servers' ends asked in open sessions, and how often they were answered.
    pub fn pings_and_pongs(&self) -> (u64, u64) {
        let open = self.sockets.values().filter_map(|socket| socket.session.as_ref());
        open.fold((0, 0), |(pings, pongs), session| (pings + session.pings, pongs + session.pongs))
    }
}
