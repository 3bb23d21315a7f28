//! The connections of one client to the brokers of one topic: greeting, leaders, reconnecting. No sockets:
//! the caller opens and closes what this asks for, and tells what happened.
//!
//! A link greets with ApiVersions; the first one that is up is asked for the topic's metadata; then every
//! broker that leads a partition gets a link. A lost connection, an error that says so, or age asks for the
//! metadata again.

mod types;

pub use types::{ConnectionsConfig, Link, LinkError, LinkEvent, LinkState, RequestKind};

use crate::connection::Connection;
use crate::errors::ErrorCode;
use crate::messages::{self, Api, Message as _, Request as _, VersionMap, m03_metadata, m18_api_versions};
use crate::wire::{Reader, WireError};

/// First pause before connecting again; doubles up to [`RECONNECT_NS_MAX`] (`reconnect.backoff.ms`).
const RECONNECT_NS_MIN: u64 = 50_000_000;
/// `reconnect.backoff.max.ms`.
const RECONNECT_NS_MAX: u64 = 1_000_000_000;
/// Most brokers a client keeps links to; a reply that names more is not believed.
const LINKS_MAX: usize = 4096;

/// The links of one client.
#[derive(Debug)]
pub struct BrokerConnections<T> {
    config: ConnectionsConfig,
    links: Vec<Link<T>>,
    /// Leader of each partition, −1: none known. Empty until metadata came.
    leaders: Vec<i32>,
    /// Link of each partition's leader.
    leader_links: Vec<Option<usize>>,
    metadata_wanted: bool,
    metadata_asked: bool,
    metadata_at_ns: Option<u64>,
    metadata_next_ns: u64,
    next_asked: usize,
    events: Vec<LinkEvent>,
}

impl<T> BrokerConnections<T> {
    /// BrokerConnections that know only the bootstrap addresses.
    pub fn new(config: ConnectionsConfig) -> Self {
        let mut links = Self {
            links: Vec::new(),
            leaders: Vec::new(),
            leader_links: Vec::new(),
            metadata_wanted: true,
            metadata_asked: false,
            metadata_at_ns: None,
            metadata_next_ns: 0,
            next_asked: 0,
            events: Vec::new(),
            config,
        };
        for (host, port) in links.config.bootstrap.clone() {
            links.add(None, host, port);
        }
        links
    }

    fn add(&mut self, broker: Option<i32>, host: String, port: u16) -> usize {
        self.links.push(Link {
            broker,
            host,
            port,
            state: LinkState::Down { retry_ns: 0 },
            connection: Connection::new(self.config.frame_bytes_max),
            versions: VersionMap::default(),
            failures: 0,
            is_wanted: broker.is_none(),
        });
        self.links.len() - 1
    }

    /// The links, by number.
    pub fn links(&self) -> &[Link<T>] {
        &self.links
    }

    /// One link.
    pub fn link_mut(&mut self, link: usize) -> &mut Link<T> {
        &mut self.links[link]
    }

    /// The topic's partitions, 0 until metadata came.
    pub fn partition_count(&self) -> usize {
        self.leaders.len()
    }

    /// The usable link to a partition's leader.
    pub fn leader_link(&self, partition: usize) -> Option<usize> {
        let link = (*self.leader_links.get(partition)?)?;
        (self.links[link].state == LinkState::Up).then_some(link)
    }

    /// Whether there is somebody to ask, or soon will be: a broker that is up, or one bootstrap address at
    /// least half way. So a client has one connection more than there are brokers, and that only at first.
    fn has_help(&self) -> bool {
        self.links.iter().any(|link| match link.broker {
            Some(_) => link.state == LinkState::Up,
            None => !matches!(link.state, LinkState::Down { .. }),
        })
    }

    /// A bootstrap connection that is no longer needed, since every leader can be reached; it then counts as
    /// closed, and the caller closes its socket.
    pub fn take_surplus(&mut self) -> Option<usize> {
        let idle = |link: &Link<T>| {
            link.broker.is_none() && link.state == LinkState::Up && link.connection.in_flight() == 0
        };
        let link = self.links.iter().position(idle).filter(|_| self.is_ready())?;
        self.links[link].state = LinkState::Down { retry_ns: 0 };
        self.links[link].connection.close();
        Some(link)
    }

    /// A link's connection, and which partitions its broker leads.
    pub fn connection_and_leads(
        &mut self,
        link: usize,
    ) -> (&mut Connection<RequestKind<T>>, impl Fn(usize) -> bool) {
        let leader_links = &self.leader_links;
        let leads = move |partition: usize| leader_links.get(partition) == Some(&Some(link));
        (&mut self.links[link].connection, leads)
    }

    /// Whether every partition has a leader to which a link is up.
    pub fn is_ready(&self) -> bool {
        !self.leaders.is_empty() && (0..self.leaders.len()).all(|p| self.leader_link(p).is_some())
    }

    /// Asks for the leaders again, soon.
    pub fn want_metadata(&mut self) {
        self.metadata_wanted = true;
    }

    /// Takes what happened since the last call.
    pub fn take_events(&mut self) -> Vec<LinkEvent> {
        std::mem::take(&mut self.events)
    }

    /// A link to connect now, which then counts as connecting.
    pub fn to_connect(&mut self, now_ns: u64) -> Option<usize> {
        let has_help = self.has_help();
        let link = self.links.iter().position(|link| {
            let is_due = matches!(link.state, LinkState::Down { retry_ns } if retry_ns <= now_ns);
            is_due && link.is_needed(has_help)
        })?;
        self.links[link].state = LinkState::Connecting { since_ns: now_ns };
        Some(link)
    }

    /// The socket of a link is connected: greets.
    pub fn on_connected(&mut self, link: usize, now_ns: u64) {
        self.links[link].state = LinkState::Handshake;
        self.greet(link, m18_api_versions::API.version_max, now_ns);
    }

    fn greet(&mut self, link: usize, version: i16, now_ns: u64) {
        let request = m18_api_versions::Request::of_this_client();
        self.ask(
            link,
            RequestKind::ApiVersions { version },
            now_ns,
            &m18_api_versions::API,
            version,
            |out| {
                request.encode(version, out);
            },
        );
    }

    /// Sends a request of which the body is appended by `body`.
    pub fn ask(
        &mut self,
        link: usize,
        asked: RequestKind<T>,
        now_ns: u64,
        api: &Api,
        version: i16,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        let client_id = &self.config.client_id;
        let flexible = api.is_flexible(version);
        self.links[link].connection.send(asked, true, now_ns, |correlation_id, out| {
            let mut frame = Vec::new();
            messages::write_frame(&mut frame, |frame| {
                messages::request_header(frame, api.key, version, flexible, correlation_id, client_id);
                body(frame);
            });
            let bytes = frame.len();
            out.push_back(frame.into());
            bytes
        });
    }

    /// The connection of a link is gone, or could not be made. Returns what was asked and not answered.
    pub fn on_closed(&mut self, link: usize, now_ns: u64) -> Vec<T> {
        let was_up = self.links[link].state == LinkState::Up;
        let closed = &mut self.links[link];
        closed.failures = if was_up { 0 } else { closed.failures + 1 };
        let pause_ns = (RECONNECT_NS_MIN << closed.failures.min(10)).min(RECONNECT_NS_MAX);
        closed.state = LinkState::Down { retry_ns: now_ns + pause_ns };
        let mut lost = Vec::new();
        for request in closed.connection.close() {
            match request.token {
                RequestKind::User(token) => lost.push(token),
                RequestKind::Metadata { .. } => self.metadata_asked = false,
                RequestKind::ApiVersions { .. } => {}
            }
        }
        self.metadata_wanted = true;
        lost
    }

    /// Takes in all complete replies of a link; `each` gets the user's: token, written
    /// instant, size of the request, frame.
    ///
    /// # Errors
    /// When the link must be closed.
    pub fn receive(
        &mut self,
        link: usize,
        now_ns: u64,
        mut each: impl FnMut(T, u64, usize, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), LinkError> {
        loop {
            let Some(reply) = self.links[link].connection.next_reply()? else { return Ok(()) };
            let written_ns = reply.request.written_ns.unwrap_or(now_ns);
            match reply.request.token {
                RequestKind::User(token) => each(token, written_ns, reply.request.bytes, reply.frame)?,
                RequestKind::ApiVersions { version } => {
                    let body = body(reply.frame, &m18_api_versions::API, version)?;
                    let response = m18_api_versions::Request::decode_response(body, version)?;
                    self.on_greeted(link, &response, version, now_ns)?;
                }
                RequestKind::Metadata { version } => {
                    let body = body(reply.frame, &m03_metadata::API, version)?;
                    let response = m03_metadata::Request::decode_response(body, version)?;
                    self.on_metadata(response, now_ns);
                }
            }
        }
    }

    fn on_greeted(
        &mut self,
        link: usize,
        response: &m18_api_versions::Response,
        version: i16,
        now_ns: u64,
    ) -> Result<(), LinkError> {
        match response.error_code {
            ErrorCode::NONE => {}
            ErrorCode::UNSUPPORTED_VERSION if version > 0 => {
                self.greet(link, 0, now_ns);
                return Ok(());
            }
            error => return Err(LinkError::Refused(error.name())),
        }
        let greeted = &mut self.links[link];
        greeted.versions = VersionMap::new(response);
        greeted.versions.negotiate(&m03_metadata::API)?;
        greeted.failures = 0;
        greeted.state = LinkState::Up;
        Ok(())
    }

    fn on_metadata(&mut self, response: m03_metadata::Response, now_ns: u64) {
        self.metadata_asked = false;
        let topic = response.topics.iter().find(|topic| topic.name.as_deref() == Some(&self.config.topic));
        let error = topic.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |topic| topic.error_code);
        let Some(topic) = topic.filter(|_| error == ErrorCode::NONE) else {
            self.events.push(LinkEvent::MetadataError { error: error.name() });
            return;
        };
        for broker in &response.brokers {
            let known = self.links.iter().position(|link| link.broker == Some(broker.node_id));
            match known {
                Some(link) => {
                    let link = &mut self.links[link];
                    if link.host != broker.host || i32::from(link.port) != broker.port {
                        // Used at the next connect: an open connection to the old address ends by itself.
                        (link.host, link.port) = (broker.host.clone(), broker.port as u16);
                    }
                }
                None if self.links.len() < LINKS_MAX => {
                    self.add(Some(broker.node_id), broker.host.clone(), broker.port as u16);
                }
                None => {}
            }
        }
        let count = topic.partitions.len().max(self.leaders.len());
        self.leaders.resize(count, -1);
        self.leader_links.resize(count, None);
        let mut is_complete = true;
        for partition in &topic.partitions {
            let Some(slot) = usize::try_from(partition.partition_index).ok().filter(|&id| id < count) else {
                continue;
            };
            let (from, to) = (self.leaders[slot], partition.leader_id);
            if from != to && self.metadata_at_ns.is_some() {
                self.events.push(LinkEvent::LeaderMoved { partition: partition.partition_index, from, to });
            }
            self.leaders[slot] = to;
            self.leader_links[slot] = self.links.iter().position(|link| link.broker == Some(to) && to >= 0);
            is_complete &= to >= 0;
        }
        for link in self.leader_links.iter().flatten() {
            self.links[*link].is_wanted = true;
        }
        self.metadata_at_ns = Some(now_ns);
        self.metadata_wanted = !is_complete;
    }

    /// Asks for metadata when it is time, over any link that is up.
    pub fn poll(&mut self, now_ns: u64) {
        if self.metadata_at_ns.is_some_and(|at| at + self.config.metadata_max_age_ns <= now_ns) {
            self.metadata_wanted = true;
        }
        if !self.metadata_wanted || self.metadata_asked || now_ns < self.metadata_next_ns {
            return;
        }
        let count = self.links.len();
        let up = (0..count).map(|step| (self.next_asked + step) % count);
        let Some(link) = up.into_iter().find(|&link| self.links[link].state == LinkState::Up) else { return };
        let Ok(version) = self.links[link].versions.negotiate(&m03_metadata::API) else { return };
        let request = m03_metadata::Request::of_topics(Some(&[&self.config.topic]));
        self.ask(link, RequestKind::Metadata { version }, now_ns, &m03_metadata::API, version, |out| {
            request.encode(version, out);
        });
        self.next_asked = (link + 1) % count;
        self.metadata_asked = true;
        self.metadata_next_ns = now_ns + self.config.retry_backoff_ns;
    }

    /// A link that has waited too long for an answer, or for its socket.
    pub fn timed_out(&self, now_ns: u64) -> Option<(usize, LinkError)> {
        let limit_ns = self.config.request_timeout_ns;
        let late = self.links.iter().position(|link| match link.state {
            LinkState::Down { .. } => false,
            LinkState::Connecting { since_ns } => since_ns + limit_ns <= now_ns,
            _ => link.connection.oldest_sent_ns().is_some_and(|sent| sent + limit_ns <= now_ns),
        })?;
        Some((late, LinkError::TimedOut(limit_ns / 1_000_000)))
    }

    /// When something is due by time alone: connecting, asking, giving up.
    pub fn next_deadline(&self) -> Option<u64> {
        let limit_ns = self.config.request_timeout_ns;
        let has_help = self.has_help();
        let links = self.links.iter().filter_map(|link| match link.state {
            LinkState::Down { retry_ns } => link.is_needed(has_help).then_some(retry_ns),
            LinkState::Connecting { since_ns } => Some(since_ns + limit_ns),
            _ => link.connection.oldest_sent_ns().map(|sent| sent + limit_ns),
        });
        let is_up = self.links.iter().any(|link| link.state == LinkState::Up);
        let metadata = match (self.metadata_wanted, self.metadata_asked, self.metadata_at_ns) {
            (true, false, _) if is_up => Some(self.metadata_next_ns),
            (false, _, Some(at)) => Some(at + self.config.metadata_max_age_ns),
            _ => None,
        };
        links.chain(metadata).min()
    }
}

/// A reply's body: the frame without its header.
///
/// # Errors
/// When the frame is shorter than a header.
pub fn body<'a>(frame: &'a [u8], api: &Api, version: i16) -> Result<&'a [u8], WireError> {
    let mut reader = Reader::new(frame);
    messages::response_header(&mut reader, api.key, api.is_flexible(version))?;
    reader.take(reader.remaining())
}
