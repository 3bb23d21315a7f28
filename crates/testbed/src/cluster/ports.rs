//! Free TCP ports on the loopback address.

use super::random::random_number;
use crate::error::TestbedError;
use std::net::{Ipv4Addr, TcpListener};

/// Where the search begins when the system's own range says nothing better.
const FIRST_DEFAULT: u16 = 15_000;
/// Start of the system's range for outgoing connections when it cannot be read (Linux's default).
const OUTGOING_DEFAULT: u16 = 32_768;

/// Ports that are taken by listening on them until the processes that want them are started.
#[derive(Debug)]
pub struct HeldPorts {
    listeners: Vec<TcpListener>,
    next: usize,
}

impl HeldPorts {
    /// Takes `count` ports. They lie below the range from which the system serves outgoing connections: a
    /// client that keeps knocking at a broker which has not started yet could otherwise be given that broker's
    /// own port, and connect to itself.
    ///
    /// # Errors
    /// Too few are free.
    pub(super) fn take(count: usize, seed: u64) -> Result<Self, TestbedError> {
        let (first, end) = range();
        let size = u64::from(end - first);
        let start = seed % size;
        let mut listeners = Vec::with_capacity(count);
        for step in 0..size {
            if listeners.len() == count {
                break;
            }
            // Below `end`, which is a u16.
            let port = first + ((start + step) % size) as u16;
            listeners.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
        }
        if listeners.len() < count {
            return Err(TestbedError::Impossible(format!(
                "no {count} free TCP ports on 127.0.0.1 between {first} and {end}"
            )));
        }
        Ok(Self { listeners, next: 0 })
    }

    /// The same, each the next after the one before.
    ///
    /// # Errors
    /// So many are free nowhere in a row.
    pub(super) fn take_in_a_row(count: usize, seed: u64) -> Result<Self, TestbedError> {
        let (first, end) = range();
        let size = u64::from(end - first);
        let start = seed % size;
        let mut listeners = Vec::with_capacity(count);
        // A row may begin shortly before where the search began.
        for step in 0..size + count as u64 {
            if listeners.len() == count {
                break;
            }
            let place = (start + step) % size;
            if place == 0 {
                listeners.clear();
            }
            match TcpListener::bind((Ipv4Addr::LOCALHOST, first + place as u16)) {
                Ok(listener) => listeners.push(listener),
                Err(_) => listeners.clear(),
            }
        }
        if listeners.len() < count {
            return Err(TestbedError::Impossible(format!(
                "no {count} free TCP ports in a row on 127.0.0.1 between {first} and {end}"
            )));
        }
        Ok(Self { listeners, next: 0 })
    }

    /// The next of them. Asking for more than were taken gives 0, which no configuration accepts.
    pub(super) fn next(&mut self) -> u16 {
        let port = self
            .listeners
            .get(self.next)
            .and_then(|l| l.local_addr().ok())
            .map_or(0, |address| address.port());
        self.next += 1;
        port
    }
}

/// Free ports on the loopback address, and what holds them until it is dropped.
///
/// # Errors
/// Too few are free.
pub fn loopback_ports(count: usize) -> Result<(HeldPorts, Vec<u16>), TestbedError> {
    let mut held = HeldPorts::take(count, random_number()?)?;
    let ports = (0..count).map(|_| held.next()).collect();
    Ok((held, ports))
}

/// The first of so many free ports on the loopback address, the others right after it, and what holds them.
///
/// # Errors
/// So many are free nowhere in a row.
pub fn loopback_ports_in_a_row(count: usize) -> Result<(HeldPorts, u16), TestbedError> {
    let mut held = HeldPorts::take_in_a_row(count, random_number()?)?;
    let first = held.next();
    Ok((held, first))
}

fn range() -> (u16, u16) {
    let outgoing = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
    let low = outgoing
        .and_then(|text| text.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(OUTGOING_DEFAULT);
    if low >= FIRST_DEFAULT + 1_000 { (FIRST_DEFAULT, low) } else { (FIRST_DEFAULT, u16::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_distinct_and_held_until_dropped() {
        let mut held = HeldPorts::take(8, 12_345).expect("free ports");
        let ports: Vec<u16> = (0..8).map(|_| held.next()).collect();
        let distinct: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!(distinct.len(), 8);
        assert_eq!(held.next(), 0, "no more than were taken");
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, ports[0])).is_err(), "held");
        let again = HeldPorts::take(8, 12_345).expect("other free ports").next();
        assert!(!ports.contains(&again));
        drop(held);
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, ports[0])).is_ok(), "free again");
    }

    #[test]
    fn a_row_goes_round_what_is_taken_and_not_over_the_end() {
        let (first, end) = range();
        let mut held = HeldPorts::take_in_a_row(4, 777).expect("a row");
        let before: Vec<u16> = (0..4).map(|_| held.next()).collect();
        let mut again = HeldPorts::take_in_a_row(4, u64::from(before[1] - first)).expect("another row");
        let row: Vec<u16> = (0..4).map(|_| again.next()).collect();
        assert!(row.windows(2).all(|pair| pair[1] == pair[0] + 1), "{row:?}");
        assert!(row.iter().all(|port| !before.contains(port)), "{row:?} {before:?}");
        let mut last = HeldPorts::take_in_a_row(4, u64::from(end - first) - 2).expect("a row elsewhere");
        let row: Vec<u16> = (0..4).map(|_| last.next()).collect();
        assert!(row.windows(2).all(|pair| pair[1] == pair[0] + 1), "{row:?}");
    }
}
