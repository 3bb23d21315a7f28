//! Names of hosts are looked up by threads of their own, since the system's look-up blocks: for seconds, if a
//! server of names does not answer.

use mio::Waker;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Look-ups at once; more are refused, and tried again as any connection that cannot be made.
const LOOKUPS_MAX: usize = 32;

/// The addresses of a host.
pub(crate) type Resolve = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// Host, port, and what was found.
pub(crate) type Found = (String, u16, io::Result<Vec<SocketAddr>>);

/// As the system looks up.
pub(crate) fn system(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// The addresses to which one connection is tried: each attempt takes the next one, since a name may have several
/// of which only one is listened on. When all were tried, and after a connection that was made, the name is looked
/// up again; the address that was tried last is then not the first one, if there are others (as in Java's
/// `client.dns.lookup=use_all_dns_ips`).
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    host: String,
    port: u16,
    known: Vec<SocketAddr>,
    next: usize,
    last: Option<SocketAddr>,
}

impl Addresses {
    /// The connection is to lead there. The address of a host that is one is known.
    pub(crate) fn lead_to(&mut self, host: &str, port: u16) {
        if !self.is_of(host, port) {
            *self = Self { host: host.to_owned(), port, ..Self::default() };
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            (self.known, self.next) = (vec![SocketAddr::new(address, port)], 0);
        }
    }

    pub(crate) fn is_of(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port == port
    }

    /// Whether there is an address left to try.
    pub(crate) fn is_known(&self) -> bool {
        self.next < self.known.len()
    }

    /// What a look-up found.
    pub(crate) fn found(&mut self, found: &[SocketAddr]) {
        self.known = found.to_vec();
        self.next = usize::from(found.len() > 1 && found.first() == self.last.as_ref());
    }

    /// The address to try now.
    pub(crate) fn take_next(&mut self) -> Option<SocketAddr> {
        let address = self.known.get(self.next).copied();
        self.next += 1;
        self.last = address.or(self.last);
        address
    }

    /// What is known may be out of date.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

/// Look-ups under way.
#[derive(Debug)]
pub(crate) struct Lookups {
    resolve: Resolve,
    waker: Arc<Waker>,
    under_way: BTreeSet<(String, u16)>,
    found: (Sender<Found>, Receiver<Found>),
}

impl Lookups {
    /// None yet; `waker` is called when one has ended.
    pub(crate) fn new(resolve: Resolve, waker: Arc<Waker>) -> Self {
        Self { resolve, waker, under_way: BTreeSet::new(), found: channel() }
    }

    /// Begins to look up a host, unless that is under way.
    ///
    /// # Errors
    /// When too many are under way, or the system has no more threads.
    pub(crate) fn look_up(&mut self, host: &str, port: u16) -> io::Result<()> {
        let name = (host.to_owned(), port);
        if self.under_way.contains(&name) {
            return Ok(());
        }
        if self.under_way.len() >= LOOKUPS_MAX {
            return Err(io::Error::other("too many names of hosts are looked up at once"));
        }
        let (resolve, waker, found) = (self.resolve, Arc::clone(&self.waker), self.found.0.clone());
        let (host, port) = name.clone();
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            let result = resolve(&host, port);
            // Nobody may be left to be told.
            let _ = found.send((host, port, result));
            let _ = waker.wake();
        })?;
        self.under_way.insert(name);
        Ok(())
    }

    /// The next one that has ended.
    pub(crate) fn take_found(&mut self) -> Option<Found> {
        if self.under_way.is_empty() {
            return None;
        }
        let (host, port, result) = self.found.1.try_recv().ok()?;
        self.under_way.remove(&(host.clone(), port));
        Some((host, port, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(ports: &[u16]) -> Vec<SocketAddr> {
        ports.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect()
    }

    #[test]
    fn each_attempt_takes_the_next_address_and_then_the_name_is_looked_up_again() {
        let mut host = Addresses::default();
        host.lead_to("broker", 9092);
        assert!(!host.is_known());
        host.found(&addresses(&[1, 2, 3]));
        let tried: Vec<u16> = (0..3).filter_map(|_| host.take_next()).map(|address| address.port()).collect();
        assert_eq!((tried, host.is_known()), (vec![1, 2, 3], false));
        host.found(&addresses(&[3, 1]));
        assert_eq!(host.take_next(), Some(addresses(&[1])[0]), "not the one that was tried last");
        host.lead_to("broker", 9092);
        assert!(!host.is_known(), "its addresses were all tried");
        host.found(&addresses(&[1]));
        assert_eq!(host.take_next(), Some(addresses(&[1])[0]), "there is no other");
        host.found(&addresses(&[1, 2]));
        host.forget();
        assert!(!host.is_known(), "it was connected, and is looked up again when that ends");
        host.found(&addresses(&[5, 6]));
        host.lead_to("another", 9092);
        assert!(!host.is_known());
    }

    #[test]
    fn the_address_of_an_address_is_known() {
        let mut host = Addresses::default();
        for _ in 0..2 {
            host.lead_to("::1", 7);
            assert_eq!(host.take_next(), "[::1]:7".parse().ok());
        }
    }
}
