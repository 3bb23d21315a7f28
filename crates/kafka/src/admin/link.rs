//! One blocking connection to one broker: a request, then its reply, each within a deadline.

use super::error::{AdminError, Result};
use crate::errors::ErrorCode;
use crate::messages::{Request, VersionMap, api_name, frame_length, m18_api_versions};
use crate::wire::{FRAME_BYTES_MAX, WireError};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Step in which a reply is read: a length that is only claimed takes no more memory than this.
const CHUNK_BYTES: usize = 64 << 10;
/// Shortest wait handed to the system, which takes zero for "for ever".
const WAIT_MIN: Duration = Duration::from_millis(1);

/// When a call must end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    at: Instant,
    /// Time there was at first, for messages.
    pub limit: Duration,
}

impl Deadline {
    /// `limit` from now on.
    pub fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    /// Time that is left.
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// An equal share of the time that is left, of which `shares` are to be had; all of it when that is one.
    pub fn share(self, shares: usize) -> Self {
        if shares <= 1 {
            return self;
        }
        let part = self.left() / u32::try_from(shares).unwrap_or(u32::MAX);
        Self { at: Instant::now() + part, limit: Duration::from_millis(part.as_millis() as u64) }
    }
}

/// Host and port of a broker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// As a broker advertises it.
    pub fn new(host: &str, port: i32) -> Result<Self> {
        match u16::try_from(port) {
            Ok(port) if port > 0 && !host.is_empty() => Ok(Self { host: host.to_owned(), port }),
            _ => Err(AdminError::Address(format!("{host}:{port}"))),
        }
    }

    /// From `host:port` or `[v6]:port`.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || AdminError::Address(text.to_owned());
        let (host, port) = text.trim().rsplit_once(':').ok_or_else(bad)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if bare.is_none() && host.contains(':') {
            return Err(bad());
        }
        Self::new(bare.unwrap_or(host), port.parse().map_err(|_| bad())?).map_err(|_| bad())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Link {
    pub address: Address,
    stream: TcpStream,
    client_id: String,
    versions: VersionMap,
    correlation_id: i32,
}

impl Link {
    /// Connects and asks which versions the broker speaks.
    pub fn open(address: &Address, client_id: &str, deadline: Deadline) -> Result<Self> {
        let stream = connect(address, deadline)?;
        let mut link = Self {
            address: address.clone(),
            stream,
            client_id: client_id.to_owned(),
            versions: VersionMap::default(),
            correlation_id: 0,
        };
        let api = m18_api_versions::API;
        let request = m18_api_versions::Request::of_this_client();
        let mut reply = link.send(&request, api.version_max, deadline)?;
        if reply.error_code == ErrorCode::UNSUPPORTED_VERSION {
            reply = link.send(&request, api.version_min, deadline)?;
        }
        link.check(api.key, "", reply.error_code, None)?;
        link.versions = VersionMap::new(&reply);
        Ok(link)
    }

    /// Sends a request in the highest version both sides speak and returns the reply.
    pub fn call<R: Request>(&mut self, request: &R, deadline: Deadline) -> Result<R::Response> {
        let version = self
            .versions
            .negotiate(&R::API)
            .map_err(|source| AdminError::Version { address: self.address.to_string(), source })?;
        self.send(request, version, deadline)
    }

    /// Makes an error of an error code; `subject` is empty or ` of …`.
    pub fn check(&self, api_key: i16, subject: &str, code: ErrorCode, message: Option<&str>) -> Result<()> {
        code.check().map_err(|code| AdminError::Broker {
            address: self.address.to_string(),
            api: api_name(api_key),
            subject: subject.to_owned(),
            code,
            message: message
                .filter(|text| !text.is_empty())
                .map(|text| format!(": {text}"))
                .unwrap_or_default(),
        })
    }

    fn send<R: Request>(&mut self, request: &R, version: i16, deadline: Deadline) -> Result<R::Response> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let mut frame = Vec::new();
        request.write_frame(version, self.correlation_id, &self.client_id, &mut frame);
        let frame =
            self.exchange(&frame, deadline).map_err(|error| self.failure(R::API.key, deadline, error))?;
        let body = R::API.response_body(&frame, version, self.correlation_id);
        let reply = body.and_then(|body| R::decode_response(body, version));
        reply.map_err(|source| AdminError::Wire {
            address: self.address.to_string(),
            api: R::API.name,
            source,
        })
    }

    /// Writes a frame and reads the next one.
    fn exchange(&mut self, frame: &[u8], deadline: Deadline) -> io::Result<Vec<u8>> {
        let mut rest = frame;
        while !rest.is_empty() {
            self.stream.set_write_timeout(Some(wait(deadline)?))?;
            match self.stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut prefix = [0; 4];
        self.read(&mut prefix, deadline)?;
        let length = frame_length(prefix, FRAME_BYTES_MAX).map_err(|error| io::Error::other(Frame(error)))?;
        let mut frame = Vec::new();
        while frame.len() < length {
            let start = frame.len();
            frame.resize(length.min(start + CHUNK_BYTES), 0);
            self.read(&mut frame[start..], deadline)?;
        }
        Ok(frame)
    }

    fn read(&mut self, mut rest: &mut [u8], deadline: Deadline) -> io::Result<()> {
        while !rest.is_empty() {
            self.stream.set_read_timeout(Some(wait(deadline)?))?;
            match self.stream.read(rest) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => rest = &mut rest[bytes..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn failure(&self, api_key: i16, deadline: Deadline, error: io::Error) -> AdminError {
        let (address, api) = (self.address.to_string(), api_name(api_key));
        if let Some(Frame(source)) = error.get_ref().and_then(|inner| inner.downcast_ref::<Frame>()) {
            return AdminError::Wire { address, api, source: source.clone() };
        }
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                AdminError::Closed { address, api }
            }
            kind if timed_out(kind) => AdminError::Timeout { address, api, limit: deadline.limit },
            _ => AdminError::Io { address, source: error },
        }
    }
}

/// A frame's length that cannot be right, carried through an I/O result.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Frame(WireError);

/// Tries every address the host name stands for. The look-up itself is the system's and has its own limits.
fn connect(address: &Address, deadline: Deadline) -> Result<TcpStream> {
    let name = address.to_string();
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let found: Vec<_> = match found {
        Ok(found) => found.collect(),
        Err(source) => return Err(AdminError::Resolve { address: name, source }),
    };
    let mut last = io::Error::new(ErrorKind::NotFound, "the name stands for no address");
    for (tried, socket) in found.iter().enumerate() {
        let left = deadline.share(found.len() - tried).left().max(WAIT_MIN);
        match TcpStream::connect_timeout(socket, left) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|source| AdminError::Io { address: name, source })?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(match last.kind() {
        ErrorKind::ConnectionRefused => AdminError::Refused { address: name },
        kind if timed_out(kind) => {
            AdminError::Timeout { address: name, api: "the connection attempt", limit: deadline.limit }
        }
        _ => AdminError::Io { address: name, source: last },
    })
}

/// How the system reports an expired wait, which differs between calls.
fn timed_out(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn wait(deadline: Deadline) -> io::Result<Duration> {
    let left = deadline.left();
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.max(WAIT_MIN)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_printed() {
        for text in ["broker-1.example:9092", "127.0.0.1:1", "[::1]:65535"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "host", "host:", ":9092", "host:0", "host:70000", "::1:9092", "host:-1", "[::1]"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("{text:?} is not an address of the form host:port"));
        }
    }
}
