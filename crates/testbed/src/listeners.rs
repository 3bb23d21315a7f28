//! Which processes listen at ports of this host. Only read, and of those alone that this user may look into.

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};
use std::collections::BTreeMap;

/// The command lines of the processes that listen at these ports, under the names that the ports have here.
pub(crate) fn command_lines(ports: &BTreeMap<i32, u16>) -> BTreeMap<i32, Vec<String>> {
    let sockets = listening(ports);
    let mut found = BTreeMap::new();
    if sockets.is_empty() {
        return found;
    }
    // Processes come and go meanwhile, and others are somebody else's.
    for process in all_processes().into_iter().flatten().flatten() {
        let mut names = sockets_of(&process).filter_map(|inode| sockets.get(&inode)).peekable();
        if names.peek().is_none() {
            continue;
        }
        let line = process.cmdline().unwrap_or_default();
        found.extend(names.map(|name| (*name, line.clone())));
    }
    found
}

/// The sockets that listen at the ports, by their number.
fn listening(ports: &BTreeMap<i32, u16>) -> BTreeMap<u64, i32> {
    let of_port = |port: u16| ports.iter().find(|(_, wanted)| **wanted == port).map(|(name, _)| *name);
    let sockets = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
    let listens = |socket: &TcpNetEntry| socket.state == TcpState::Listen;
    sockets
        .filter(listens)
        .filter_map(|socket| Some((socket.inode, of_port(socket.local_address.port())?)))
        .collect()
}

fn sockets_of(process: &Process) -> impl Iterator<Item = u64> + use<> {
    let open = process.fd().into_iter().flatten().flatten();
    open.filter_map(|file| match file.target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let own: Vec<String> = std::env::args().collect();
        assert_eq!(command_lines(&BTreeMap::from([(7, port)])), BTreeMap::from([(7, own)]));
        assert_eq!(command_lines(&BTreeMap::from([(7, 1)])), BTreeMap::new(), "nobody listens there");
    }
}
