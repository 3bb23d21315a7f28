//! A [`Connection`] to one broker over a blocking socket: a request, then its response, within a deadline.

use super::address::{BrokerAddress, Deadline, connect, timed_out};
use super::error::{AdminError, Result};
use crate::connection::{Connection, ConnectionError, PermanentError, WriteProgress};
use crate::errors::ErrorCode;
use crate::messages::{Api, ApiVersionError, Request, m03_metadata, m18_api_versions};
use crate::security::ConnectionSecurity;
use crate::{wire, words};
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

/// Largest response. One is read at a time, and the connection that read a large one gives its memory back
/// ([`AdminConnection::call`]), so this is nearly all that the responses of an admin client take, however many brokers
/// there are: metadata of 100,000 partitions with three replicas each takes a third of it.
pub(super) const FRAME_BYTES_MAX: usize = 16 << 20;

/// A connection that is up.
#[derive(Debug)]
pub(super) struct AdminConnection {
    pub(super) address: BrokerAddress,
    stream: TcpStream,
    connection: Connection<()>,
    opened: Instant,
}

impl AdminConnection {
    /// Connects, and waits for session and handshake.
    pub(super) fn open(
        address: &BrokerAddress,
        client_id: &str,
        security: &ConnectionSecurity,
        deadline: Deadline,
    ) -> Result<Self> {
        let stream = connect(address, deadline)?;
        let connection = Connection::new(client_id.into(), &[m03_metadata::API], FRAME_BYTES_MAX);
        let mut broker = Self { address: address.clone(), stream, connection, opened: Instant::now() };
        let session = security.sessions.as_ref().map(|sessions| sessions.open(&address.host)).transpose();
        let session =
            session.map_err(|error| broker.failure(&m18_api_versions::API, deadline, error.into()))?;
        broker.connection.open(session, security.login.clone(), 0);
        while !broker.connection.is_up() {
            broker.exchange(&m18_api_versions::API, deadline, |_, _| Ok(()))?;
        }
        Ok(broker)
    }

    /// Sends a request in the newest version both ends speak and returns the response.
    pub(super) fn call<R: Request>(&mut self, request: &R, deadline: Deadline) -> Result<R::Response> {
        let now_ns = self.now_ns();
        let asked = self.connection.ask((), request, now_ns);
        asked.map_err(|source| AdminError::Version { address: self.address.to_string(), source })?;
        loop {
            let mut response = None;
            self.exchange(&R::API, deadline, |version, body| {
                response = Some(R::decode_response(body, version)?);
                Ok(())
            })?;
            if let Some(response) = response {
                self.connection.shrink();
                return Ok(response);
            }
        }
    }

    /// As [`Self::call`] in no version above `version_max`, for a request that has no type: `body` appends its body,
    /// `read` reads that of the response.
    pub(super) fn call_by_hand(
        &mut self,
        (api, version_max): (Api, i16),
        deadline: Deadline,
        body: impl FnOnce(i16, &mut Vec<u8>),
        mut read: impl FnMut(i16, &[u8]) -> wire::Result<()>,
    ) -> Result<()> {
        let now_ns = self.now_ns();
        let asked = self.connection.ask_by_hand((), (api, version_max), now_ns, body);
        asked.map_err(|source| AdminError::Version { address: self.address.to_string(), source })?;
        let mut is_answered = false;
        while !is_answered {
            self.exchange(&api, deadline, |version, body| {
                is_answered = true;
                read(version, body)
            })?;
        }
        self.connection.shrink();
        Ok(())
    }

    /// The newest version of an API that both ends speak.
    pub(super) fn version(&self, api: &Api) -> std::result::Result<i16, ApiVersionError> {
        self.connection.version(api)
    }

    /// Makes an error of an error code; `subject` is empty or ` of …`.
    pub(super) fn check(
        &self,
        api: &Api,
        subject: &str,
        code: ErrorCode,
        message: Option<&str>,
    ) -> Result<()> {
        code.check().map_err(|code| AdminError::Broker {
            address: self.address.to_string(),
            api: api.name,
            subject: subject.to_owned(),
            code,
            message: message
                .filter(|text| !text.is_empty())
                .map(|text| format!(": {}", words::of_broker(text)))
                .unwrap_or_default(),
        })
    }

    /// Writes all there is to write, reads once, and hands the response to `each`, if it is complete.
    fn exchange(
        &mut self,
        api: &Api,
        deadline: Deadline,
        each: impl FnMut(i16, &[u8]) -> wire::Result<()>,
    ) -> Result<()> {
        self.move_bytes(deadline, each).map_err(|error| self.failure(api, deadline, error))
    }

    fn move_bytes(
        &mut self,
        deadline: Deadline,
        mut each: impl FnMut(i16, &[u8]) -> wire::Result<()>,
    ) -> std::result::Result<(), ConnectionError> {
        self.write_all(deadline).map_err(|error| self.connection.socket_failed(error))?;
        self.stream.set_read_timeout(Some(deadline.wait()?))?;
        let read = retry_interrupted(|| self.stream.read(self.connection.input_space()));
        let bytes = read.map_err(|error| self.connection.socket_failed(error))?;
        if bytes == 0 {
            return Err(self.connection.closed_by_peer());
        }
        self.connection.advance_read(bytes)?;
        self.connection.receive(self.now_ns(), |request, body| each(request.version, body))
    }

    fn write_all(&mut self, deadline: Deadline) -> io::Result<()> {
        loop {
            self.stream.set_write_timeout(Some(deadline.wait()?))?;
            match retry_interrupted(|| self.connection.write_to(&mut self.stream))? {
                WriteProgress::Nothing => return Ok(()),
                WriteProgress::Bytes => {}
                WriteProgress::Request => self.connection.stamp_written(self.now_ns()),
            }
        }
    }

    /// Since the connection was opened.
    fn now_ns(&self) -> u64 {
        self.opened.elapsed().as_nanos() as u64
    }

    fn failure(&self, api: &Api, deadline: Deadline, error: ConnectionError) -> AdminError {
        let (address, api) = (self.address.to_string(), api.name);
        match error {
            ConnectionError::Wire(source) => AdminError::Wire { address, api, source },
            ConnectionError::Refused(PermanentError::Version(source)) => {
                AdminError::Version { address, source }
            }
            ConnectionError::Handshake { api, error: code }
            | ConnectionError::Refused(PermanentError::Handshake { api, error: code }) => {
                AdminError::Broker { address, api, subject: String::new(), code, message: String::new() }
            }
            ConnectionError::Session(source) | ConnectionError::Refused(PermanentError::Session(source)) => {
                AdminError::Session { address, source }
            }
            ConnectionError::Refused(PermanentError::Login(source)) => AdminError::Login { address, source },
            ConnectionError::ClosedEarly { when, cause } => AdminError::ClosedEarly { address, when, cause },
            ConnectionError::Io(error) => match error.kind() {
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => AdminError::Closed { address, api },
                kind if timed_out(kind) => AdminError::Timeout { address, api, limit: deadline.limit },
                _ => AdminError::Io { address, source: error },
            },
            // The others are of a client with many connections, which keeps the time, the topics and the cluster.
            ConnectionError::Closed
            | ConnectionError::TimedOut(_)
            | ConnectionError::NotConnected(_)
            | ConnectionError::Left(_)
            | ConnectionError::Refused(PermanentError::Topic { .. } | PermanentError::OtherCluster { .. }) => {
                AdminError::Closed { address, api }
            }
        }
    }
}

fn retry_interrupted<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
