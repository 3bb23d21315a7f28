//! Moves bytes between a client's connections and the net, and reports to the timeline what happened to them.

use crate::net::{ConnectionId, Net};
use crate::stream::{Events, SocketReadiness};
use kdyno_kafka::broker_connections::{BrokerConnections, ConnectionEvent, ConnectionState};
use kdyno_kafka::client::Client;
use kdyno_kafka::connection::{ConnectionError, WriteProgress};
use kdyno_model::event::EventKind;
use kdyno_model::worker::StreamTask;
use std::io::{self, IoSlice};

/// The sockets of one client, by the numbers of its connections.
#[derive(Debug)]
pub struct ConnectionsIo {
    client: usize,
    clients: usize,
    /// The client's number among all of the load item's, on whichever worker they are.
    number: u32,
    /// Per connection: its socket took no more at the last write.
    is_blocked: Vec<bool>,
}

impl ConnectionsIo {
    /// Sockets of client `index` of those that this stream has.
    pub fn new(index: u32, task: &StreamTask) -> Self {
        Self {
            client: index as usize,
            clients: task.client_count as usize,
            number: task.client_first + index,
            is_blocked: Vec::new(),
        }
    }

    fn id(&self, connection: usize) -> ConnectionId {
        connection * self.clients + self.client
    }

    /// Connects what is due, asks for metadata, gives up on what is late.
    pub fn keep_up<C: Client>(
        &mut self,
        client: &mut C,
        net: &mut dyn Net,
        now_ns: u64,
        events: &mut Events,
    ) {
        let connections = client.connections_mut();
        while let Some(connection) = connections.to_connect(now_ns) {
            let (host, port) = connections.address(connection);
            if let Err(error) = net.connect(self.id(connection), host, port) {
                self.close(connections, connection, net, error.into());
            }
        }
        while let Some((connection, error)) = connections.to_close(now_ns) {
            self.close(connections, connection, net, error);
        }
        while let Some(connection) = connections.take_surplus(now_ns) {
            net.close(self.id(connection));
        }
        connections.poll(now_ns);
        for (at_ns, event) in connections.take_events() {
            self.tell(at_ns, event, events);
        }
    }

    fn tell(&self, at_ns: u64, event: ConnectionEvent, events: &mut Events) {
        let client = self.number;
        let (kind, detail) = match event {
            ConnectionEvent::Secured { key, agreed } => return events.secured(at_ns, key, agreed),
            ConnectionEvent::Unreachable { key, why } => (
                EventKind::Unreachable,
                format!("client {client}: {key} cannot be reached, trying on: {why}"),
            ),
            ConnectionEvent::Disconnected { key, why } => {
                (EventKind::Disconnected, format!("client {client}: the connection to {key} ended: {why}"))
            }
            ConnectionEvent::Refused { key, refusal } => {
                (EventKind::Refused, format!("client {client}: {key} is not tried again: {refusal}"))
            }
            ConnectionEvent::LeaderMoved { topic, partition, from, to } => {
                return events.leader_moved(at_ns, (topic, partition), from, to);
            }
            ConnectionEvent::MetadataError { topic, error } => {
                let detail = format!("asking for the leaders failed: {error}");
                return events.topic_troubled(at_ns, topic, detail);
            }
            ConnectionEvent::MetadataRecovered { topic } => return events.topic_recovered(&topic),
            ConnectionEvent::TopicRecreated { topic } => {
                let detail = "the topic was deleted and created again: what was written to it before is gone";
                return events.topic_troubled(at_ns, topic, detail.to_owned());
            }
        };
        events.push(at_ns, kind, detail);
    }

    /// Reads what is there; after each read the client takes in what it completes.
    pub fn on_ready<C: Client>(
        &mut self,
        client: &mut C,
        connection: usize,
        ready: SocketReadiness,
        net: &mut dyn Net,
    ) {
        let connections = client.connections_mut();
        if connection >= connections.count() || !self.is_open(connections, connection, net) {
            return;
        }
        if ready.is_writable {
            *self.blocked(connection) = false;
        }
        if let Err(error) = self.read(client, connection, ready.reported_ns, net) {
            self.close(client.connections_mut(), connection, net, error);
        }
    }

    fn read<C: Client>(
        &self,
        client: &mut C,
        connection: usize,
        reported_ns: u64,
        net: &mut dyn Net,
    ) -> Result<(), ConnectionError> {
        // What was there when the socket was reported as readable; what comes after all of that was read is new.
        let mut there_ns = Some(reported_ns);
        loop {
            let queues = client.connections_mut().connection_mut(connection);
            let space = queues.input_space();
            let room = space.len();
            match net.read(self.id(connection), space) {
                Ok(0) => return Err(queues.closed_by_peer()),
                Ok(bytes) => {
                    queues.advance_read(bytes)?;
                    client.receive(connection, there_ns.unwrap_or_else(|| net.now_ns()))?;
                    if bytes < room {
                        there_ns = None;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(queues.socket_failed(error)),
            }
        }
    }

    fn is_open<T>(
        &mut self,
        connections: &mut BrokerConnections<T>,
        connection: usize,
        net: &mut dyn Net,
    ) -> bool {
        match connections.state(connection) {
            ConnectionState::Down { .. } | ConnectionState::Refused => return false,
            ConnectionState::Open => return true,
            ConnectionState::Connecting { .. } => {}
        }
        let opened = match net.finish_connect(self.id(connection)) {
            Ok(true) => connections.on_connected(connection, net.now_ns()),
            Ok(false) => return false,
            Err(error) => Err(error.into()),
        };
        match opened {
            Ok(()) => self.flush(connections, connection, net),
            Err(error) => self.close(connections, connection, net, error),
        }
        connections.state(connection) == ConnectionState::Open
    }

    /// Writes what is queued on every connection.
    pub fn flush_all<T>(&mut self, connections: &mut BrokerConnections<T>, net: &mut dyn Net) {
        for connection in 0..connections.count() {
            self.flush(connections, connection, net);
        }
    }

    /// Writes what is queued on a connection, as far as its socket takes it.
    pub fn flush<T>(&mut self, connections: &mut BrokerConnections<T>, connection: usize, net: &mut dyn Net) {
        if *self.blocked(connection) || connections.state(connection) != ConnectionState::Open {
            return;
        }
        let id = self.id(connection);
        let queues = connections.connection_mut(connection);
        loop {
            match queues.write_to(&mut SocketWriter { net, id }) {
                Ok(WriteProgress::Nothing) => return,
                Ok(WriteProgress::Bytes) => {}
                Ok(WriteProgress::Request) => queues.stamp_written(net.now_ns()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    *self.blocked(connection) = true;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let error = queues.socket_failed(error);
                    return self.close(connections, connection, net, error);
                }
            }
        }
    }

    fn close<T>(
        &mut self,
        connections: &mut BrokerConnections<T>,
        connection: usize,
        net: &mut dyn Net,
        error: ConnectionError,
    ) {
        net.close(self.id(connection));
        *self.blocked(connection) = false;
        connections.on_closed(connection, net.now_ns(), error);
    }

    fn blocked(&mut self, connection: usize) -> &mut bool {
        if self.is_blocked.len() <= connection {
            self.is_blocked.resize(connection + 1, false);
        }
        &mut self.is_blocked[connection]
    }
}

/// One connection's socket, to write to.
struct SocketWriter<'a> {
    net: &'a mut dyn Net,
    id: ConnectionId,
}

impl io::Write for SocketWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.net.write(self.id, &[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.net.write(self.id, slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::backoff::ExponentialBackoff;
    use kdyno_kafka::broker_connections::ConnectionsConfig;
    use kdyno_kafka::messages::m03_metadata;
    use kdyno_kafka::security::ConnectionSecurity;

    /// A peer that has hung up: what is written to it is an error before its end is read.
    struct HungUp;

    impl Net for HungUp {
        fn now_ns(&self) -> u64 {
            1
        }

        fn connect(&mut self, _id: ConnectionId, _host: &str, _port: u16) -> io::Result<()> {
            Ok(())
        }

        fn finish_connect(&mut self, _id: ConnectionId) -> io::Result<bool> {
            Ok(true)
        }

        fn write(&mut self, _id: ConnectionId, _slices: &[IoSlice<'_>]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn read(&mut self, _id: ConnectionId, _into: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn close(&mut self, _id: ConnectionId) {}
    }

    #[test]
    fn a_write_that_fails_says_what_a_broker_that_hangs_up_means() {
        let mut connections = BrokerConnections::<()>::new(ConnectionsConfig {
            client_id: "me".to_owned(),
            topics: vec!["a".to_owned()],
            bootstrap: vec![("first".to_owned(), 9092)],
            needs: &[m03_metadata::API],
            security: ConnectionSecurity::default(),
            request_timeout_ns: 1_000,
            retry_backoff: ExponentialBackoff::RECONNECT,
            reconnect_backoff: ExponentialBackoff::RECONNECT,
            setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
            idle_ns: ConnectionsConfig::IDLE_NS,
            metadata_max_age_ns: 1_000_000,
            frame_bytes_max: 1 << 20,
            seed: 20_261_122,
        });
        let connection = connections.to_connect(0).expect("the first");
        connections.on_connected(connection, 0).expect("no session");
        let mut io = ConnectionsIo { client: 0, clients: 1, number: 0, is_blocked: Vec::new() };
        io.flush(&mut connections, connection, &mut HungUp);
        let events = connections.take_events();
        let [(1, ConnectionEvent::Disconnected { why, .. })] = &events[..] else { panic!("{events:?}") };
        assert!(why.contains("its listener is probably SSL or SASL_SSL"), "{why}");
    }
}
