//! A session that is no protection but has all the habits of one: it speaks before the first frame, asks in
//! between, cuts what it carries into records of its own and changes every byte.

use kdyno_kafka::session::{SecureSession, SessionError, SessionFactory};
use std::io::{self, IoSlice};

/// Plaintext of one record at most; shorter than most requests.
const RECORD_BYTES_MAX: usize = 1_000;
/// Kind and length before the content.
const HEADER_BYTES: usize = 5;
/// Records of data after which the server's end asks whether the client still listens.
const DATA_PER_PING: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hello,
    Welcome,
    NotYou,
    Data,
    Ping,
    Pong,
}

const KINDS: [Kind; 6] = [Kind::Hello, Kind::Welcome, Kind::NotYou, Kind::Data, Kind::Ping, Kind::Pong];

/// One end.
#[derive(Debug)]
pub struct Toy {
    is_server: bool,
    refuses: bool,
    is_agreed: bool,
    received: Vec<u8>,
    outgoing: Vec<u8>,
    data: u64,
    /// Counts of the server's end: questions sent, and answered.
    pub pings: u64,
    pub pongs: u64,
}

impl Toy {
    fn new(is_server: bool, refuses: bool) -> Self {
        let (received, outgoing) = (Vec::new(), Vec::new());
        Self { is_server, refuses, is_agreed: false, received, outgoing, data: 0, pings: 0, pongs: 0 }
    }

    pub fn client() -> Self {
        let mut client = Self::new(false, false);
        client.push(Kind::Hello, b"let me in");
        client
    }

    pub fn server(refuses: bool) -> Self {
        Self::new(true, refuses)
    }

    fn push(&mut self, kind: Kind, content: &[u8]) {
        self.outgoing.push(kind as u8);
        self.outgoing.extend_from_slice(&(content.len() as u32).to_be_bytes());
        self.outgoing.extend(content.iter().map(|byte| byte ^ 0x5a));
    }

    fn on_record(
        &mut self,
        kind: Kind,
        content: Vec<u8>,
        plaintext: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        match kind {
            Kind::Hello if self.refuses => self.push(Kind::NotYou, b"no"),
            Kind::Hello => {
                self.is_agreed = true;
                self.push(Kind::Welcome, b"come in");
            }
            Kind::Welcome => self.is_agreed = true,
            Kind::NotYou => return Err(SessionError::Refused("the other end said no".to_owned())),
            Kind::Data => plaintext.extend(content),
            Kind::Ping => self.push(Kind::Pong, b""),
            Kind::Pong => self.pongs += 1,
        }
        Ok(())
    }
}

impl SecureSession for Toy {
    fn receive(&mut self, ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), SessionError> {
        self.received.extend_from_slice(ciphertext);
        while let Some(header) = self.received.first_chunk::<HEADER_BYTES>() {
            let kind = KINDS.get(usize::from(header[0])).copied();
            let kind = kind.ok_or_else(|| SessionError::Broken(format!("no record is a {}", header[0])))?;
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            let end = HEADER_BYTES + length;
            let Some(content) = self.received.get(HEADER_BYTES..end) else { break };
            let content = content.iter().map(|byte| byte ^ 0x5a).collect();
            self.received.drain(..end);
            self.on_record(kind, content, plaintext)?;
        }
        Ok(())
    }

    fn is_handshaking(&self) -> bool {
        !self.is_agreed
    }

    fn send(&mut self, plaintext: &[IoSlice<'_>]) {
        assert!(self.is_agreed, "nothing is sent before the handshake is over");
        let plaintext: Vec<u8> = plaintext.iter().flat_map(|slice| slice.iter().copied()).collect();
        for record in plaintext.chunks(RECORD_BYTES_MAX) {
            self.push(Kind::Data, record);
            self.data += 1;
            if self.is_server && self.data.is_multiple_of(DATA_PER_PING) {
                self.push(Kind::Ping, b"");
                self.pings += 1;
            }
        }
    }

    fn waiting(&mut self) -> usize {
        self.outgoing.len()
    }

    fn write_to(&mut self, to: &mut dyn io::Write) -> io::Result<usize> {
        let bytes = to.write(&self.outgoing)?;
        self.outgoing.drain(..bytes);
        Ok(bytes)
    }
}

/// Opens the clients' ends.
#[derive(Debug)]
pub struct Toys;

impl SessionFactory for Toys {
    fn open(&self, host: &str) -> Result<Box<dyn SecureSession>, SessionError> {
        assert!(!host.is_empty());
        Ok(Box::new(Toy::client()))
    }
}
