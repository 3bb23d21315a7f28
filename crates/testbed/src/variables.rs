//! The variables of a command's environment, which may be secrets: a file in memory that kdyno writes, whose descriptor
//! the keeper passes on, and that only the process which becomes the program reads.
//!
//! So no keeper holds a secret, and its memory stays open: a keeper with closed memory would hide from an ordinary
//! user's kdyno what the processes of a component have read and written (`/proc/KEEPER/io`).

use rustix::cmsg_space;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Names and values.
pub(crate) type Variables = Vec<(String, String)>;

/// Most that is read: the kernel starts no program with more.
const BYTES_MAX: u64 = 8 << 20;
/// What a descriptor is sent with: a message has a byte at least.
const COMES_WITH: [u8; 1] = [b'v'];

/// Sends them over the socket, before anything else.
///
/// # Errors
/// The system has no memory or descriptors left, or the other end is gone.
pub(crate) fn send(socket: &UnixStream, variables: &[(String, String)]) -> io::Result<()> {
    let mut file = File::from(memfd_create("kdyno-variables", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(variables)?)?;
    // Who reads it has the same place in it.
    file.rewind()?;
    let descriptors = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    rights.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&COMES_WITH)], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives them unread.
///
/// # Errors
/// The first that comes over the socket is something else, or nothing.
pub(crate) fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    let sent = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sent) => sent.next(),
        _ => None,
    });
    sent.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no variables came"))
}

/// Reads them from where they lie; the memory of this process is closed before.
///
/// # Errors
/// They cannot be read, or are something else.
pub(crate) fn read(from: impl Read) -> io::Result<Variables> {
    kdyno_credentials::close_memory();
    let mut bytes = Vec::new();
    from.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_through_a_socket_unread() {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let long = ("LONG".to_owned(), "x".repeat(1 << 20));
        let sent = vec![("PASSWORD_database".to_owned(), "a\n\"b\" ü".to_owned()), long];
        send(&ours, &sent).expect("sent");
        (&ours).write_all(b"the spec\n").expect("sent");
        let passed_on = receive(&theirs).expect("received");
        let mut rest = [0; 9];
        (&theirs).read_exact(&mut rest).expect("what follows");
        assert_eq!(&rest, b"the spec\n");
        assert_eq!(read(File::from(passed_on)).expect("read"), sent);
        assert_eq!(
            rustix::process::dumpable_behavior(),
            Ok(rustix::process::DumpableBehavior::NotDumpable),
            "who has read them has closed its memory"
        );
    }

    #[test]
    fn something_else_than_variables_is_refused() {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        (&ours).write_all(b"{}\n").expect("sent");
        assert_eq!(receive(&theirs).expect_err("no descriptor").kind(), io::ErrorKind::InvalidData);
        drop(ours);
        assert!(receive(&theirs).is_err(), "the other end is gone");
        assert!(read(&b"{}"[..]).is_err());
    }
}
