//! Where a broker is, and how long there is to reach it.

use super::error::{AdminError, Result};
use crate::words;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

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

    /// How long one operation of the system may wait.
    ///
    /// # Errors
    /// When no time is left.
    pub fn wait(self) -> io::Result<Duration> {
        let left = self.left();
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.max(WAIT_MIN)) }
    }

    /// An equal share of the time that is left, for one of `shares`; all of it when that is one.
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
pub(super) struct BrokerAddress {
    pub host: String,
    port: u16,
}

impl BrokerAddress {
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

impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A broker may advertise anything.
        let host = words::of_broker(&self.host);
        match host.contains(':') {
            true => write!(f, "[{host}]:{}", self.port),
            false => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Tries every address of the host name. The look-up itself is the system's and has its own limits.
pub(super) fn connect(address: &BrokerAddress, deadline: Deadline) -> Result<TcpStream> {
    let name = address.to_string();
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let found: Vec<_> = match found {
        Ok(found) => found.collect(),
        Err(source) => return Err(AdminError::Resolve { address: name, source }),
    };
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
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
pub(super) fn timed_out(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_printed() {
        for text in ["broker-1.example:9092", "127.0.0.1:1", "[::1]:65535"] {
            assert_eq!(BrokerAddress::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "host", "host:", ":9092", "host:0", "host:70000", "::1:9092", "host:-1", "[::1]"] {
            let error = BrokerAddress::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("{text:?} is not an address of the form host:port"));
        }
    }
}
