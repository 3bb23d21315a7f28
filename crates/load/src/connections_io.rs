//! Moves bytes between a client's links and the net.

use crate::net::{ConnectionId, Net};
use crate::stream::Events;
use kdyno_kafka::broker_connections::{BrokerConnections, ConnectionsConfig, LinkEvent, LinkState};
use kdyno_kafka::connection::WRITE_SLICES_MAX;
use kdyno_kafka::messages::Api;
use kdyno_kafka::wire::WireError;
use std::io::{self, IoSlice};

/// What is known of the request a reply belongs to.
#[derive(Debug, Clone, Copy)]
pub struct AskedFacts {
    /// When its last byte was written, ns.
    pub written_ns: u64,
    /// Its size as written.
    pub bytes: usize,
}

/// What is kept of a link's socket.
#[derive(Debug, Clone, Copy, Default)]
struct IoState {
    /// It took no more at the last write.
    is_blocked: bool,
    /// It was told that the broker cannot be reached; each further attempt that fails is no news.
    is_out_of_reach: bool,
}

/// A client's links with what is needed to move their bytes.
#[derive(Debug)]
pub struct LinksIo<T> {
    /// The links.
    pub links: BrokerConnections<T>,
    client: usize,
    clients: usize,
    /// Per link.
    states: Vec<IoState>,
    /// Requests whose connection is gone.
    lost: Vec<T>,
}

impl<T> LinksIo<T> {
    /// BrokerConnections of client `client` of `clients` on this stream.
    pub fn new(config: ConnectionsConfig, client: usize, clients: usize) -> Self {
        Self { links: BrokerConnections::new(config), client, clients, states: Vec::new(), lost: Vec::new() }
    }

    fn id(&self, link: usize) -> ConnectionId {
        link * self.clients + self.client
    }

    /// Requests whose connection was lost, since the last call.
    pub fn take_lost(&mut self) -> Vec<T> {
        std::mem::take(&mut self.lost)
    }

    /// Negotiated version of an API on a link.
    pub fn version(&self, link: usize, api: &Api) -> Option<i16> {
        self.links.links()[link].versions.negotiate(api).ok()
    }

    /// Connects what is due, asks for metadata, gives up on what is late.
    pub fn keep_up(&mut self, net: &mut dyn Net, now_ns: u64, events: &mut Events) {
        while let Some(link) = self.links.to_connect(now_ns) {
            let (host, port) = (self.links.links()[link].host.clone(), self.links.links()[link].port);
            if let Err(error) = net.connect(self.id(link), &host, port) {
                self.close(link, net, events, &error.to_string());
            }
        }
        while let Some((link, error)) = self.links.timed_out(now_ns) {
            self.close(link, net, events, &error.to_string());
        }
        while let Some(link) = self.links.take_surplus() {
            net.close(self.id(link));
        }
        self.links.poll(now_ns);
        for event in self.links.take_events() {
            match event {
                LinkEvent::LeaderMoved { partition, from, to } => events.push(
                    now_ns,
                    "leader-moved",
                    format!("partition {partition} is led by broker {to} now, by {from} before"),
                ),
                LinkEvent::MetadataError { error } => {
                    events.push(now_ns, "metadata-error", format!("asking for the leaders failed: {error}"));
                }
            }
        }
    }

    /// Reads what is there and hands each of the user's replies to `each`: token, facts, frame, instant read.
    pub fn on_ready(
        &mut self,
        link: usize,
        is_writable: bool,
        net: &mut dyn Net,
        events: &mut Events,
        mut each: impl FnMut(T, AskedFacts, &[u8], u64) -> Result<(), WireError>,
    ) {
        if link >= self.links.links().len() || !self.is_open(link, net, events) {
            return;
        }
        if is_writable {
            self.state(link).is_blocked = false;
        }
        let id = self.id(link);
        loop {
            let space = self.links.link_mut(link).connection.input_space();
            match net.read(id, space) {
                Ok(0) => return self.close(link, net, events, "the broker closed the connection"),
                Ok(bytes) => {
                    self.links.link_mut(link).connection.advance_read(bytes);
                    let now_ns = net.now_ns();
                    let received = self.links.receive(link, now_ns, |token, written_ns, bytes, frame| {
                        each(token, AskedFacts { written_ns, bytes }, frame, now_ns)
                    });
                    if let Err(error) = received {
                        return self.close(link, net, events, &error.to_string());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.close(link, net, events, &error.to_string()),
            }
        }
    }

    fn is_open(&mut self, link: usize, net: &mut dyn Net, events: &mut Events) -> bool {
        match self.links.links()[link].state {
            LinkState::Down { .. } => false,
            LinkState::Handshake | LinkState::Up => true,
            LinkState::Connecting { .. } => match net.finish_connect(self.id(link)) {
                Ok(true) => {
                    self.links.on_connected(link, net.now_ns());
                    self.flush(link, net, events);
                    true
                }
                Ok(false) => false,
                Err(error) => {
                    self.close(link, net, events, &error.to_string());
                    false
                }
            },
        }
    }

    /// Writes what is queued on every link.
    pub fn flush_all(&mut self, net: &mut dyn Net, events: &mut Events) {
        for link in 0..self.links.links().len() {
            self.flush(link, net, events);
        }
    }

    /// Writes what is queued on a link, as far as its socket takes it.
    pub fn flush(&mut self, link: usize, net: &mut dyn Net, events: &mut Events) {
        if self.state(link).is_blocked
            || matches!(self.links.links()[link].state, LinkState::Down { .. } | LinkState::Connecting { .. })
        {
            return;
        }
        let id = self.id(link);
        loop {
            let connection = &mut self.links.link_mut(link).connection;
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES_MAX];
            let count = connection.write_slices(&mut slices);
            if count == 0 {
                return;
            }
            match net.write(id, &slices[..count]) {
                Ok(bytes) => {
                    if connection.advance_written(bytes) {
                        connection.stamp_written(net.now_ns());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.state(link).is_blocked = true;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.close(link, net, events, &error.to_string()),
            }
        }
    }

    fn close(&mut self, link: usize, net: &mut dyn Net, events: &mut Events, why: &str) {
        let now_ns = net.now_ns();
        net.close(self.id(link));
        let closed = &self.links.links()[link];
        // Without its address: the names of a user's hosts are not for the run file.
        let who = closed.broker.map_or_else(|| "a bootstrap broker".to_owned(), |id| format!("broker {id}"));
        let is_out_of_reach = matches!(closed.state, LinkState::Down { .. } | LinkState::Connecting { .. });
        let before = std::mem::replace(self.state(link), IoState { is_blocked: false, is_out_of_reach });
        if is_out_of_reach && !before.is_out_of_reach {
            let detail = format!("client {}: {who} cannot be reached, trying on: {why}", self.client);
            events.push(now_ns, "unreachable", detail);
        } else if !is_out_of_reach {
            let detail = format!("client {}: the connection to {who} ended: {why}", self.client);
            events.push(now_ns, "disconnected", detail);
        }
        self.lost.extend(self.links.on_closed(link, now_ns));
    }

    fn state(&mut self, link: usize) -> &mut IoState {
        if self.states.len() <= link {
            self.states.resize(link + 1, IoState::default());
        }
        &mut self.states[link]
    }

    /// When [`Self::keep_up`] has something to do.
    pub fn next_deadline(&self) -> Option<u64> {
        self.links.next_deadline()
    }
}
