//! Names of hosts are looked up by threads of their own, since the system's look-up blocks: for seconds, if a
//! server of names does not answer.

use mio::Waker;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Look-ups at once; further names wait for their turn.
const LOOKUPS_MAX: usize = 32;

/// The addresses of a host.
pub(crate) type Resolve = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// Host, port, and what was found.
pub(crate) type LookupResult = (String, u16, io::Result<Vec<SocketAddr>>);

/// As the system looks up.
pub(crate) fn system(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// The addresses to which one connection is tried: each attempt takes the next one, since a name may have several
/// and only one of them a listener. When all were tried, and after a connection that was made, the name is looked
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
    waiting: VecDeque<(String, u16)>,
    found: (Sender<LookupResult>, Receiver<LookupResult>),
}

impl Lookups {
    /// None yet; `waker` is called when one has ended.
    pub(crate) fn new(resolve: Resolve, waker: Arc<Waker>) -> Self {
        Self { resolve, waker, under_way: BTreeSet::new(), waiting: VecDeque::new(), found: channel() }
    }

    /// Looks up a host, unless that is under way: at once, or when others have ended.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub(crate) fn look_up(&mut self, host: &str, port: u16) -> io::Result<()> {
        let name = (host.to_owned(), port);
        if self.under_way.contains(&name) || self.waiting.contains(&name) {
            return Ok(());
        }
        if self.under_way.len() >= LOOKUPS_MAX {
            self.waiting.push_back(name);
            return Ok(());
        }
        self.begin(name)
    }

    fn begin(&mut self, name: (String, u16)) -> io::Result<()> {
        let (resolve, waker, found) = (self.resolve, Arc::clone(&self.waker), self.found.0.clone());
        let (host, port) = name.clone();
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            let result = resolve(&host, port);
            // There may be no receiver left.
            let _ = found.send((host, port, result));
            let _ = waker.wake();
        })?;
        self.under_way.insert(name);
        Ok(())
    }

    /// The next one that has ended.
    pub(crate) fn take_found(&mut self) -> Option<LookupResult> {
        if self.under_way.is_empty() {
            return None;
        }
        let (host, port, result) = self.found.1.try_recv().ok()?;
        self.under_way.remove(&(host.clone(), port));
        if let Some(next) = self.waiting.pop_front()
            && let Err(error) = self.begin(next.clone())
        {
            // Found out at the next call.
            let _ = self.found.0.send((next.0.clone(), next.1, Err(error)));
            self.under_way.insert(next);
        }
        Some((host, port, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::{Events, Poll, Token};
    use std::sync::Mutex;

    /// Who holds it keeps names from being looked up.
    static NAMES: Mutex<()> = Mutex::new(());

    fn slowly(_host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        drop(NAMES.lock());
        Ok(addresses(&[port]))
    }

    #[test]
    fn names_above_the_lookup_limit_wait_for_their_turn() {
        let mut poll = Poll::new().expect("a poll");
        let waker = Waker::new(poll.registry(), Token(0)).expect("a waker");
        let mut lookups = Lookups::new(slowly, Arc::new(waker));
        let names = NAMES.lock().expect("nobody else holds it");
        for port in (0..100).chain(0..100) {
            lookups.look_up("broker", port).expect("no name is refused");
        }
        assert_eq!((lookups.under_way.len(), lookups.waiting.len()), (LOOKUPS_MAX, 100 - LOOKUPS_MAX));
        drop(names);
        let (mut found, mut events) = (BTreeSet::new(), Events::with_capacity(8));
        while found.len() < 100 {
            poll.poll(&mut events, None).expect("woken when one has ended");
            while let Some((host, port, result)) = lookups.take_found() {
                assert_eq!((host.as_str(), result.ok()), ("broker", Some(addresses(&[port]))));
                assert!(lookups.under_way.len() <= LOOKUPS_MAX);
                found.insert(port);
            }
        }
        assert!(lookups.under_way.is_empty() && lookups.waiting.is_empty());
    }

    fn addresses(ports: &[u16]) -> Vec<SocketAddr> {
        ports.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect()
    }

    #[test]
    fn each_attempt_takes_the_next_address_before_a_new_lookup() {
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
