//! The stream of a port-forward as a socket, which the session reads and writes like any other.

use crate::objects::AGENT_PORT;
use kube::api::Portforwarder;
use std::io;
use std::os::unix::net::UnixStream;

/// The lab's end of a stream to the agent's port; called within the runtime that carries it from then on.
pub(crate) fn bridged(mut forward: Portforwarder) -> io::Result<UnixStream> {
    let gone = || io::Error::other("the port-forward has no stream");
    let mut pod = forward.take_stream(AGENT_PORT).ok_or_else(gone)?;
    let (ours, theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let mut lab = tokio::net::UnixStream::from_std(theirs)?;
    tokio::spawn(async move {
        // Why it ended is said by the session that uses it, and by the pod's state.
        let _ = tokio::io::copy_bidirectional(&mut lab, &mut pod).await;
        // Only now: it holds the connection to the API server.
        drop(forward);
    });
    Ok(ours)
}
