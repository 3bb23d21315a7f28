//! The queues of a connection, without a handshake.

use super::*;
use crate::messages::m00_produce;

fn frame(correlation_id: i32, payload: &[u8]) -> Bytes {
    let mut out = Vec::new();
    crate::messages::write_frame(&mut out, |out| {
        out.extend_from_slice(&correlation_id.to_be_bytes());
        out.extend_from_slice(payload);
    });
    out.into()
}

fn connection() -> Connection<u32> {
    Connection::new("me".into(), &[], 1 << 20)
}

fn send(connection: &mut Connection<u32>, token: u32, is_answered: bool, payload: &[u8]) {
    connection.send(token, (m00_produce::API, 8), is_answered, 10, |id, out| {
        let bytes = frame(id, payload);
        out.push_back(bytes.clone());
        bytes.len()
    });
}

/// A socket takes so many bytes.
fn write(connection: &mut Connection<u32>, bytes: usize, now_ns: u64) {
    let mut space = vec![0; bytes];
    let mut left = &mut space[..];
    if connection.write_to(&mut left).unwrap() == WriteProgress::Request {
        connection.stamp_written(now_ns);
    }
    assert_eq!(left.len(), 0, "as many were there");
}

/// What was answered: token, instant written, bytes of the response.
fn received(connection: &mut Connection<u32>) -> Result<Vec<(u32, u64, usize)>, ConnectionError> {
    let mut answered = Vec::new();
    connection.receive(1_000, |request, body| {
        assert_eq!(request.response_bytes, body.len() + 4);
        answered.push((request.token, request.written_ns, request.response_bytes));
        Ok(())
    })?;
    Ok(answered)
}

fn receive(connection: &mut Connection<u32>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let space = connection.input_space();
        let count = space.len().min(bytes.len()).min(7);
        space[..count].copy_from_slice(&bytes[..count]);
        connection.advance_read(count).unwrap();
        bytes = &bytes[count..];
    }
}

#[test]
fn replies_are_paired_in_order_and_carry_the_written_instant() {
    let mut connection = connection();
    send(&mut connection, 1, true, b"first");
    send(&mut connection, 2, true, b"second");
    write(&mut connection, 5, 20);
    write(&mut connection, 8, 30);
    write(&mut connection, 14, 40);
    receive(&mut connection, &frame(0, b"x"));
    receive(&mut connection, &frame(1, &[7; 40_000]));
    assert_eq!(received(&mut connection).unwrap(), [(1, 30, 5), (2, 40, 40_004)]);
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn unanswered_requests_are_over_when_written() {
    let mut connection = connection();
    send(&mut connection, 1, false, b"abc");
    send(&mut connection, 2, true, b"abc");
    assert!(connection.take_unanswered().is_none());
    write(&mut connection, 11, 20);
    assert_eq!(connection.take_unanswered().unwrap().token, 1);
    write(&mut connection, 11, 30);
    assert!(connection.take_unanswered().is_none());
    receive(&mut connection, &frame(1, b""));
    assert_eq!(received(&mut connection).unwrap(), [(2, 30, 4)]);
}

/// What is written is over also where the next write fails: it is not to be sent a second time.
#[test]
fn unanswered_requests_are_over_although_the_connection_ended() {
    let mut connection = connection();
    send(&mut connection, 1, false, b"abc");
    send(&mut connection, 2, true, b"abc");
    send(&mut connection, 3, false, b"abc");
    send(&mut connection, 4, false, b"abc");
    write(&mut connection, 35, 20);
    assert_eq!(connection.close().collect::<Vec<_>>(), [2, 4]);
    let over: Vec<(u32, u64)> = std::iter::from_fn(|| connection.take_unanswered())
        .map(|answered| (answered.token, answered.written_ns))
        .collect();
    assert_eq!(over, [(1, 20), (3, 20)]);
    assert_eq!(connection.in_flight(), 0);
}

/// A header that says it has a field more than there is.
#[test]
fn a_request_without_response_header_returns_on_close() {
    let mut connection = connection();
    let version = m00_produce::API.flexible_from;
    connection.send(1, (m00_produce::API, version), true, 10, |id, out| {
        out.push_back(frame(id, b""));
        8
    });
    write(&mut connection, 8, 20);
    receive(&mut connection, &frame(0, &[1]));
    assert!(received(&mut connection).is_err());
    assert_eq!(connection.close().collect::<Vec<_>>(), [1]);
}

#[test]
fn unknown_replies_and_impossible_lengths_poison_the_connection() {
    for bytes in [&frame(9, b"")[..], &[0x7f, 0xff, 0xff, 0xff], &[0xff; 4], &[0, 0, 0, 1, 0]] {
        let mut connection = connection();
        send(&mut connection, 1, true, b"");
        write(&mut connection, 8, 1);
        receive(&mut connection, bytes);
        assert!(received(&mut connection).is_err(), "{bytes:?}");
    }
}

/// A session that puts two bytes before what it is given, and has to say something first.
#[derive(Debug, Default)]
struct Doubling {
    is_agreed: bool,
    outgoing: Vec<u8>,
}

impl SecureSession for Doubling {
    fn receive(&mut self, ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), SessionError> {
        if self.is_agreed {
            plaintext.extend_from_slice(ciphertext);
        }
        self.is_agreed = true;
        Ok(())
    }

    fn is_handshaking(&self) -> bool {
        !self.is_agreed
    }

    fn send(&mut self, plaintext: &[IoSlice<'_>]) {
        self.outgoing.extend_from_slice(b"><");
        plaintext.iter().for_each(|slice| self.outgoing.extend_from_slice(slice));
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

/// Takes nothing, and counts what it was offered.
#[derive(Default)]
struct FullSink {
    offered: usize,
}

impl io::Write for FullSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.offered = bytes.len();
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn to_write(connection: &mut Connection<u32>) -> usize {
    let mut full = FullSink::default();
    match connection.write_to(&mut full) {
        Ok(written) => assert_eq!((written, full.offered), (WriteProgress::Nothing, 0)),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
    }
    full.offered
}

#[test]
fn a_request_is_written_with_the_last_byte_of_its_ciphertext() {
    let mut connection = connection();
    let session = Doubling { is_agreed: false, outgoing: b"hello".to_vec() };
    connection.session = Some(SessionBytes::new(Box::new(session)));
    // 13 and 14 bytes, and 2 of the session before each.
    send(&mut connection, 1, true, b"first");
    send(&mut connection, 2, true, b"second");
    assert_eq!(to_write(&mut connection), 5, "frames wait for the session's handshake");
    write(&mut connection, 5, 10);
    assert_eq!(to_write(&mut connection), 0);
    receive(&mut connection, b"hello");
    assert_eq!(to_write(&mut connection), 15 + 16);
    for (bytes, now_ns) in [(13, 20), (1, 30), (1, 40), (15, 50)] {
        write(&mut connection, bytes, now_ns);
        to_write(&mut connection);
    }
    assert_eq!(connection.written_count, 1, "a byte of the second is left");
    write(&mut connection, 1, 60);
    receive(&mut connection, &[frame(0, b""), frame(1, b"")].concat());
    assert_eq!(received(&mut connection).unwrap(), [(1, 40, 4), (2, 60, 4)]);
}
