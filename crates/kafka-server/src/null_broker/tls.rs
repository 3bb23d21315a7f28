//! TLS of the null broker: its own certificate, made when it starts, and what a connection has of it.

use kdyno_kafka::security::tls::{TlsVersion, provider};
use mio::net::TcpStream;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};
use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// How much ciphertext is read at a time.
pub(super) const CIPHERTEXT_BYTES: usize = 256 << 10;
/// Plaintext that one read may give in addition to its own size: a record that was there but for its end.
pub(super) const RECORD_BYTES_MAX: usize = 32 << 10;

/// Lets the null broker speak TLS.
#[derive(Debug, Clone)]
pub struct NullBrokerTls {
    config: Arc<ServerConfig>,
    /// The certificate, which signs itself: what clients must trust.
    pub certificate_pem: String,
}

impl NullBrokerTls {
    /// With a new certificate for `localhost` and `127.0.0.1`. Cipher suites as
    /// [`TlsConfig::ciphers`](kdyno_kafka::security::tls::TlsConfig::ciphers).
    ///
    /// # Errors
    /// The versions and suites do not go together.
    pub fn new(versions: &[TlsVersion], ciphers: &[String]) -> io::Result<Self> {
        let wrong = |error: &dyn fmt::Display| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
        let key = rcgen::KeyPair::generate().map_err(|e| wrong(&e))?;
        let hosts = ["localhost", "127.0.0.1"].map(str::to_owned).to_vec();
        let certificate = rcgen::CertificateParams::new(hosts).and_then(|params| params.self_signed(&key));
        let certificate = certificate.map_err(|e| wrong(&e))?;
        let provider = Arc::new(provider(ciphers).map_err(|e| wrong(&e))?);
        let versions: Vec<_> = versions.iter().map(|version| version.supported()).collect();
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&versions);
        let builder = builder.map_err(|e| wrong(&e))?.with_no_client_auth();
        let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let config =
            builder.with_single_cert(vec![certificate.der().clone()], private).map_err(|e| wrong(&e))?;
        Ok(Self { config: Arc::new(config), certificate_pem: certificate.pem() })
    }

    /// The broker's end of a connection.
    pub(super) fn open(&self) -> io::Result<TlsEnd> {
        let mut tls = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        // Answers wait in the outbox, which has a bound of its own.
        tls.set_buffer_limit(None);
        Ok(TlsEnd(Box::new(tls)))
    }
}

/// One connection's end.
#[derive(Debug)]
pub(super) struct TlsEnd(Box<ServerConnection>);

impl TlsEnd {
    /// Reads once: how much ciphertext came (0: the peer has closed), and how much plaintext is at the front of
    /// `plaintext`, which has room for all of it.
    pub fn read(
        &mut self,
        stream: &mut TcpStream,
        ciphertext: &mut [u8],
        plaintext: &mut [u8],
    ) -> io::Result<(usize, usize)> {
        let count = stream.read(ciphertext)?;
        let (mut unread, mut filled) = (&ciphertext[..count], 0);
        while !unread.is_empty() {
            if self.0.read_tls(&mut unread)? == 0 {
                // After the peer's close_notify nothing is taken.
                break;
            }
            let state = self.0.process_new_packets();
            let mut left =
                state.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?.plaintext_bytes_to_read();
            let mut reader = self.0.reader();
            while left > 0 {
                let piece = reader.fill_buf()?;
                let bytes = piece.len();
                let room = plaintext.get_mut(filled..filled + bytes).ok_or(io::ErrorKind::OutOfMemory)?;
                room.copy_from_slice(piece);
                reader.consume(bytes);
                (filled, left) = (filled + bytes, left - bytes);
            }
        }
        Ok((count, filled))
    }

    /// Takes plaintext to send.
    pub fn writer(&mut self) -> impl io::Write + '_ {
        self.0.writer()
    }

    /// Writes ciphertext as far as the socket takes it; true when none is left.
    pub fn flush(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        while self.0.wants_write() {
            match self.0.write_tls(stream) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};
    use std::io::Write;
    use std::net::{Ipv4Addr, Shutdown, TcpListener};

    /// A client that says the end, and then more than one read takes.
    #[test]
    fn what_follows_the_end_of_a_session_is_left() {
        let versions = [TlsVersion::Tls13];
        let tls = NullBrokerTls::new(&versions, &[]).expect("tls");
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(tls.certificate_pem.as_bytes()).expect("PEM");
        roots.add(certificate).expect("a root");
        let builder = ClientConfig::builder_with_provider(Arc::new(provider(&[]).expect("all suites")));
        let builder = builder.with_protocol_versions(&[versions[0].supported()]).expect("versions");
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        let host = ServerName::try_from("localhost").expect("a name");
        let mut client = ClientConnection::new(Arc::new(config), host).expect("a client");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut socket = std::net::TcpStream::connect(listener.local_addr().expect("bound")).expect("there");
        let (accepted, _) = listener.accept().expect("a connection");
        let said = std::thread::spawn(move || {
            Stream::new(&mut client, &mut socket).write_all(b"last words").expect("sent");
            client.send_close_notify();
            while client.wants_write() {
                client.write_tls(&mut socket).expect("sent");
            }
            socket.write_all(&[23; 64 << 10]).expect("sent");
            socket.shutdown(Shutdown::Write).expect("half closed");
            // A socket that is closed with bytes unread takes back what it sent.
            let _ = std::io::copy(&mut socket, &mut std::io::sink());
        });
        let mut end = tls.open().expect("a session");
        let mut stream = TcpStream::from_std(accepted);
        let mut ciphertext = vec![0; CIPHERTEXT_BYTES];
        let mut plaintext = vec![0; CIPHERTEXT_BYTES + RECORD_BYTES_MAX];
        let mut heard = Vec::new();
        loop {
            let (count, filled) = end.read(&mut stream, &mut ciphertext, &mut plaintext).expect("TLS");
            heard.extend_from_slice(&plaintext[..filled]);
            if count == 0 {
                break;
            }
            end.flush(&mut stream).expect("sent");
        }
        assert_eq!(heard, b"last words");
        drop(stream);
        said.join().expect("no panic");
    }
}
