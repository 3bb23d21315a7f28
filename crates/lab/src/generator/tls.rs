//! TLS 1.3 between the lab and an agent that listens, on a thread of its own, so that the session reads and writes one plain
//! socket in either case.

use kdyno_kafka::security::tls::provider;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The name in the certificate of every agent: which agent it is says the certificate itself.
pub(super) const NAME: &str = "kdyno-agent";

/// How long a handshake may take.
pub(super) const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(5);

/// What is read at once.
const PIECE_BYTES: usize = 16 << 10;

/// Plaintext that waits for its reader, beyond which nothing more is taken from the network.
const WAITING_BYTES_MAX: usize = 256 << 10;

/// The agent's side, with its certificate and key, PEM.
pub(super) fn server(certificate: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let certificate = CertificateDer::from_pem_slice(certificate).map_err(|e| said(&e))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| said(&e))?;
    let provider = Arc::new(provider(&[]).map_err(|e| said(&e))?);
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|e| said(&e))?.with_no_client_auth();
    builder.with_single_cert(vec![certificate], key).map(Arc::new).map_err(|e| said(&e))
}

/// The lab's side, which trusts this one certificate, PEM, and no authority.
pub(super) fn client(certificate: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate).map_err(|e| said(&e))?).map_err(|e| said(&e))?;
    let provider = Arc::new(provider(&[]).map_err(|e| said(&e))?);
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|e| said(&e))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// The plain end of a connection, and the thread that carries it; what the thread returns says why it ended.
pub(super) type PlainEnd = (UnixStream, JoinHandle<io::Result<()>>);

/// What carries the encrypted bytes.
pub(super) trait Wire: Read + Write + AsFd + Send + 'static {
    /// From now on it is polled, and sends what it gets at once.
    fn make_ready(&self) -> io::Result<()>;

    /// Nothing more is sent.
    fn end_writing(&self);
}

impl Wire for TcpStream {
    fn make_ready(&self) -> io::Result<()> {
        // Beats and clocks are not to wait for more.
        self.set_nodelay(true)?;
        self.set_nonblocking(true)
    }

    fn end_writing(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Wire for UnixStream {
    fn make_ready(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }

    fn end_writing(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

pub(super) fn accept(config: &Arc<ServerConfig>, tcp: TcpStream) -> io::Result<PlainEnd> {
    let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    carry(tls.into(), tcp)
}

pub(super) fn connect(config: &Arc<ClientConfig>, wire: impl Wire) -> io::Result<PlainEnd> {
    let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
    let tls = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    carry(tls.into(), wire)
}

fn carry(mut tls: Connection, wire: impl Wire) -> io::Result<PlainEnd> {
    // What is encrypted at once is bounded by the socket that it is read from.
    tls.set_buffer_limit(None);
    let (ours, plain) = UnixStream::pair()?;
    wire.make_ready()?;
    plain.set_nonblocking(true)?;
    let carrier = TlsPump {
        tls,
        wire,
        plain,
        waiting: Vec::with_capacity(2 * WAITING_BYTES_MAX),
        until: Instant::now() + HANDSHAKE_DEADLINE,
    };
    let thread = std::thread::Builder::new().name("tls".to_owned()).spawn(move || carrier.run())?;
    Ok((ours, thread))
}

struct TlsPump<W> {
    tls: Connection,
    wire: W,
    plain: UnixStream,
    /// Plaintext that came and has not been read.
    waiting: Vec<u8>,
    /// When the handshake has to be over.
    until: Instant,
}

impl<W> Drop for TlsPump<W> {
    fn drop(&mut self) {
        // It may hold secrets.
        self.waiting.fill(0);
    }
}

impl<W: Wire> TlsPump<W> {
    /// Until one of both ends is closed. Dropping the sockets closes the other one.
    fn run(mut self) -> io::Result<()> {
        loop {
            let (wire, plain) = self.ready()?;
            if wire.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) && !self.take()? {
                self.pass_on_rest();
                return Ok(());
            }
            if plain.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) && !self.give()? {
                self.tls.send_close_notify();
                // Who does not take the last words learns of the end by the socket.
                let _ = self.flush();
                self.wire.end_writing();
                return Ok(());
            }
            self.flush()?;
            self.pass_on()?;
        }
    }

    /// Waits until something can be done.
    fn ready(&self) -> io::Result<(PollFlags, PollFlags)> {
        let is_new = self.tls.is_handshaking();
        let left = self.until.saturating_duration_since(Instant::now());
        if is_new && left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long"));
        }
        let when = |is_wanted: bool, flag: PollFlags| if is_wanted { flag } else { PollFlags::empty() };
        let wire = when(self.waiting.len() < WAITING_BYTES_MAX, PollFlags::IN)
            | when(self.tls.wants_write(), PollFlags::OUT);
        let plain = when(!is_new && !self.tls.wants_write(), PollFlags::IN)
            | when(!self.waiting.is_empty(), PollFlags::OUT);
        let mut ends = [PollFd::new(&self.wire, wire), PollFd::new(&self.plain, plain)];
        let wait = if is_new { Some(Timespec::try_from(left).map_err(io::Error::other)?) } else { None };
        match poll(&mut ends, wait.as_ref()) {
            Ok(_) => Ok((ends[0].revents(), ends[1].revents())),
            Err(rustix::io::Errno::INTR) => Ok((PollFlags::empty(), PollFlags::empty())),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what came from the network; false at its end.
    fn take(&mut self) -> io::Result<bool> {
        match self.tls.read_tls(&mut self.wire) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if is_for_later(&error) => return Ok(true),
            Err(error) => return Err(error),
        }
        let state = self.tls.process_new_packets();
        let state = state.map_err(|error| {
            // The peer is to learn why.
            let _ = self.tls.write_tls(&mut self.wire);
            io::Error::new(io::ErrorKind::InvalidData, error)
        })?;
        let from = self.waiting.len();
        self.waiting.resize(from + state.plaintext_bytes_to_read(), 0);
        self.tls.reader().read_exact(&mut self.waiting[from..])?;
        Ok(!state.peer_has_closed())
    }

    /// Encrypts what is to be sent; false when no more comes.
    fn give(&mut self) -> io::Result<bool> {
        let mut piece = [0; PIECE_BYTES];
        let count = match self.plain.read(&mut piece) {
            Ok(count) => count,
            Err(error) if is_for_later(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        // Nothing waits there when more is read.
        self.tls.writer().write_all(&piece[..count])?;
        piece.fill(0);
        Ok(count > 0)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.wire) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if is_for_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.plain.write(&self.waiting) {
                Ok(count) => {
                    self.waiting[..count].fill(0);
                    self.waiting.drain(..count);
                }
                Err(error) if is_for_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The last words of a peer that has closed.
    fn pass_on_rest(&mut self) {
        // The reader is gone where that fails.
        let _ = self.plain.set_nonblocking(false);
        let _ = self.plain.set_write_timeout(Some(HANDSHAKE_DEADLINE));
        let _ = self.plain.write_all(&self.waiting);
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::credentials::Identity;
    use std::net::{Ipv4Addr, TcpListener};

    fn made() -> Identity {
        let folder = tempfile::tempdir().expect("temp dir");
        Identity::of(&folder.path().join("agent")).expect("an identity")
    }

    fn connected(of: &Identity, trusted: &Identity) -> (UnixStream, UnixStream, JoinHandle<io::Result<()>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let tcp = TcpStream::connect(listener.local_addr().expect("bound")).expect("there");
        let config = client(&trusted.certificate).expect("a certificate");
        let (lab, thread) = connect(&config, tcp).expect("a thread");
        let config = server(&of.certificate, of.key.expose()).expect("a key");
        let (agent, _) = accept(&config, listener.accept().expect("a connection").0).expect("a thread");
        (lab, agent, thread)
    }

    #[test]
    fn bytes_arrive_in_both_directions_and_the_end_too() {
        let identity = made();
        let (mut lab, mut agent, _) = connected(&identity, &identity);
        let many = vec![7; 3 << 20];
        let sent = many.clone();
        let mut writing = lab.try_clone().expect("shared");
        let writer = std::thread::spawn(move || writing.write_all(&sent));
        let mut heard = vec![0; many.len()];
        agent.read_exact(&mut heard).expect("all of it");
        writer.join().expect("no panic").expect("written");
        assert!(heard == many);
        agent.write_all(b"last words").expect("written");
        drop(agent);
        let mut heard = Vec::new();
        lab.read_to_end(&mut heard).expect("the end");
        assert_eq!(heard, b"last words");
    }

    #[test]
    fn another_certificate_is_refused() {
        let (mut lab, mut agent, thread) = connected(&made(), &made());
        assert_eq!(lab.read(&mut [0]).expect("the end"), 0);
        let why = thread.join().expect("no panic").expect_err("refused").to_string();
        assert!(why.contains("certificate"), "{why}");
        assert_eq!(agent.read(&mut [0]).expect("the end"), 0);
    }
}
