//! One pipelined connection to a broker, without its socket: bytes and time in, bytes and responses out.
//!
//! Inside out: a [`session`](crate::session) makes bytes of frames, or is left out and the frames are the bytes; the
//! [`Handshake`] says what the broker speaks; then requests are written in order and answered in order
//! (Kafka's rule), so a queue pairs responses with requests. A response whose correlation id is not the
//! expected one poisons the connection. The load's clients and the admin client use the same connections;
//! they differ in who moves the bytes.

mod error;
mod handshake;
mod input;

pub use error::{ConnectionError, PermanentError};
pub use handshake::Handshake;

use crate::messages::{Api, ApiVersionError, Request, request_header, response_header, write_frame};
use crate::security::sasl::Login;
use crate::session::gather::{WRITE_BYTES_MAX, WRITE_SLICES_MAX, advance, gather};
use crate::session::{self, SecureSession, SessionBytes, SessionError};
use crate::wire::{self, Reader, WireError};
use bytes::Bytes;
use input::Input;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

/// A request on its way or waiting for its response.
#[derive(Debug)]
struct InFlightRequest<T> {
    /// What the caller said of it; `None`: the handshake's own.
    token: Option<T>,
    api: Api,
    version: i16,
    /// When it was handed over, ns.
    sent_ns: u64,
    /// When its last byte was written (t4), ns; `None` while some are left.
    written_ns: Option<u64>,
    /// Its size, length prefix included.
    bytes: usize,
    correlation_id: i32,
    /// Bytes of frames that the connection had when this one was added.
    ends_at: u64,
    is_answered: bool,
}

/// A request that is answered, where the response's body lies in the input, and the size of its frame.
type Response<T> = (InFlightRequest<T>, Range<usize>, usize);

/// The request that a response belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredRequest<T> {
    /// What the caller said of it.
    pub token: T,
    /// Its version, which is that of the response.
    pub version: i16,
    /// When its last byte was written (t4), ns.
    pub written_ns: u64,
    /// Its size, length prefix included.
    pub bytes: usize,
    /// Size of the response's frame, without its length; 0 when none comes.
    pub response_bytes: usize,
}

/// What [`Connection::write_to`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteProgress {
    /// Nothing waited.
    Nothing,
    /// Bytes without the last one of a request.
    Bytes,
    /// The last byte of at least one request, too.
    Request,
}

/// One connection's session, handshake and queues.
#[derive(Debug)]
pub struct Connection<T> {
    client_id: Arc<str>,
    needs: &'static [Api],
    handshake: Handshake,
    session: Option<SessionBytes>,
    /// Frames that are not written, or that the session has not taken.
    outgoing: VecDeque<Bytes>,
    /// Bytes of frames handed over, and written, since the connection began.
    queued_total: u64,
    written_total: u64,
    in_flight: VecDeque<InFlightRequest<T>>,
    /// How many of `in_flight`, from the front, are written completely.
    written_count: usize,
    /// Requests of the caller that wait until the broker knows us again, and their frames.
    held: VecDeque<InFlightRequest<T>>,
    held_frames: VecDeque<Bytes>,
    next_correlation_id: i32,
    input: Input,
    /// Whether a request of the caller was answered.
    was_of_use: bool,
    /// When a request was last written or a response last read, ns.
    active_ns: u64,
}

/// From the first byte to the last.
impl<T> Connection<T> {
    /// A connection that is not open. Brokers must speak each API of `needs`; responses above
    /// `frame_bytes_max` are refused.
    pub fn new(client_id: Arc<str>, needs: &'static [Api], frame_bytes_max: usize) -> Self {
        Self {
            client_id,
            needs,
            handshake: Handshake::new(needs),
            session: None,
            outgoing: VecDeque::new(),
            queued_total: 0,
            written_total: 0,
            in_flight: VecDeque::new(),
            written_count: 0,
            held: VecDeque::new(),
            held_frames: VecDeque::new(),
            next_correlation_id: 0,
            input: Input::new(frame_bytes_max),
            was_of_use: false,
            active_ns: 0,
        }
    }

    /// The socket is connected: begins the session, if there is to be one, and the handshake, which has a login
    /// where one is given.
    pub fn open(&mut self, session: Option<Box<dyn SecureSession>>, login: Option<Arc<Login>>, now_ns: u64) {
        self.session = session.map(SessionBytes::new);
        self.handshake.set_login(login);
        self.active_ns = now_ns;
        self.continue_handshake(now_ns);
    }

    /// Sends the next request of the handshake, or, when there is none, what waited for its end.
    fn continue_handshake(&mut self, now_ns: u64) {
        if let Some(own) = self.handshake.next_request() {
            return self.ask_in(None, own.api, own.version, now_ns, |out| out.extend_from_slice(&own.body));
        }
        self.outgoing.append(&mut self.held_frames);
        for request in std::mem::take(&mut self.held) {
            self.queue(request);
        }
    }

    /// Whether the handshake is over, so that requests can be sent.
    pub fn is_up(&self) -> bool {
        self.handshake.is_over()
    }

    /// The newest version of an API that both ends speak.
    ///
    /// # Errors
    /// When there is none. For the APIs that the connection was made for there is one, once it is up.
    pub fn version(&self, api: &Api) -> Result<i16, ApiVersionError> {
        self.handshake.version(api)
    }

    /// The level of the feature `transaction.version` that the cluster has, 0 where the broker reported none.
    pub fn transaction_version(&self) -> i16 {
        self.handshake.transaction_version()
    }

    /// Ends the connection: what was not answered, in order, goes back to the caller. What was written and no
    /// response was to come for is over, and still to be [taken](Self::take_unanswered).
    pub fn close(&mut self) -> impl Iterator<Item = T> + use<T> {
        let next = Self::new(Arc::clone(&self.client_id), self.needs, self.input.frame_bytes_max());
        let closed = std::mem::replace(self, next);
        let mut lost = Vec::new();
        for (place, request) in closed.in_flight.into_iter().chain(closed.held).enumerate() {
            if place < closed.written_count && !request.is_answered {
                self.in_flight.push_back(request);
            } else {
                lost.extend(request.token);
            }
        }
        self.written_count = self.in_flight.len();
        lost.into_iter()
    }

    /// What the two ends of its session agreed upon, e.g. `TLSv1.3 with TLS_AES_256_GCM_SHA384`; none of a connection in the open.
    pub fn agreed(&self) -> Option<String> {
        self.session.as_ref().and_then(SessionBytes::agreed)
    }

    /// What the end of the socket's bytes means: before the connection was of use, mostly that the two ends have
    /// another idea of the listener.
    pub fn closed_by_peer(&self) -> ConnectionError {
        let early = |when, cause| ConnectionError::ClosedEarly { when, cause };
        if !self.input.pending().is_empty() {
            return ConnectionError::Closed;
        }
        match (self.session.as_ref().map(SessionBytes::handshaking), self.handshake.ended()) {
            (Some(Some(false)), _) => early(
                "during the TLS handshake, without a byte of TLS",
                "its listener is probably PLAINTEXT or SASL_PLAINTEXT (security.protocol)",
            ),
            (Some(Some(true)), _) => early("during the TLS handshake", "its log says why"),
            (Some(None), Some(when)) if !self.handshake.has_versions() => early(
                when,
                "it may ask for a client certificate (its ssl.client.auth; our ssl.keystore.location)",
            ),
            (None, Some(when)) if !self.handshake.has_versions() => {
                early(when, "its listener is probably SSL or SASL_SSL (security.protocol)")
            }
            (_, Some(when)) => early(when, "its log says why"),
            (_, None) if !self.was_of_use && !self.in_flight.is_empty() && !self.handshake.has_login() => {
                early(
                    "instead of answering the first request",
                    "its listener may ask for a login, SASL_PLAINTEXT or SASL_SSL (security.protocol)",
                )
            }
            _ => ConnectionError::Closed,
        }
    }

    /// What a failed read or write means: a peer that hangs up on bytes it has not read makes an error of it.
    pub fn socket_failed(&self, error: io::Error) -> ConnectionError {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        let is_hang_up = matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset);
        match self.closed_by_peer() {
            early @ ConnectionError::ClosedEarly { .. } if is_hang_up => early,
            _ => error.into(),
        }
    }
}

/// Requests and responses.
impl<T> Connection<T> {
    /// Sends a request in the newest version that both ends speak.
    ///
    /// # Errors
    /// When they have none in common.
    pub fn ask<R: Request>(&mut self, token: T, request: &R, now_ns: u64) -> Result<(), ApiVersionError> {
        self.ask_by_hand(token, (R::API, i16::MAX), now_ns, |version, out| request.encode(version, out))
    }

    /// As [`Self::ask`], for a request that has no type; `body` appends its body. Versions above `version_max` are
    /// not used.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn ask_by_hand(
        &mut self,
        token: T,
        (api, version_max): (Api, i16),
        now_ns: u64,
        body: impl FnOnce(i16, &mut Vec<u8>),
    ) -> Result<(), ApiVersionError> {
        let version = self.version(&api)?.min(version_max);
        self.ask_in(Some(token), api, version, now_ns, |out| body(version, out));
        Ok(())
    }

    fn ask_in(
        &mut self,
        token: Option<T>,
        api: Api,
        version: i16,
        now_ns: u64,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        let holds = token.is_some() && self.must_wait(now_ns);
        let mut frame = Vec::new();
        write_frame(&mut frame, |frame| {
            let (flexible, correlation_id) = (api.is_flexible(version), self.next_correlation_id);
            request_header(frame, api.key, version, flexible, correlation_id, &self.client_id);
            body(frame);
        });
        let bytes = frame.len();
        let frames = if holds { &mut self.held_frames } else { &mut self.outgoing };
        frames.push_back(frame.into());
        self.sent(token, (api, version), (true, holds), now_ns, bytes);
    }

    /// Sends a frame that `encode` appends as segments, returning its size. `is_answered` is false for
    /// requests the broker does not answer (Produce with acks=0).
    pub fn send(
        &mut self,
        token: T,
        (api, version): (Api, i16),
        is_answered: bool,
        now_ns: u64,
        encode: impl FnOnce(i32, &mut VecDeque<Bytes>) -> usize,
    ) {
        let holds = self.must_wait(now_ns);
        let frames = if holds { &mut self.held_frames } else { &mut self.outgoing };
        let bytes = encode(self.next_correlation_id, frames);
        self.sent(Some(token), (api, version), (is_answered, holds), now_ns, bytes);
    }

    /// Whether a request of the caller has to wait, since the client authenticates again.
    fn must_wait(&mut self, now_ns: u64) -> bool {
        if self.handshake.log_in_again(now_ns) {
            self.continue_handshake(now_ns);
        }
        self.handshake.holds()
    }

    fn sent(
        &mut self,
        token: Option<T>,
        (api, version): (Api, i16),
        (is_answered, holds): (bool, bool),
        now_ns: u64,
        bytes: usize,
    ) {
        let request = InFlightRequest {
            token,
            api,
            version,
            sent_ns: now_ns,
            written_ns: None,
            bytes,
            correlation_id: self.next_correlation_id,
            ends_at: 0,
            is_answered,
        };
        self.next_correlation_id = self.next_correlation_id.wrapping_add(1) & i32::MAX;
        if holds { self.held.push_back(request) } else { self.queue(request) }
    }

    /// Takes a request whose frame is the last of those to be written.
    fn queue(&mut self, mut request: InFlightRequest<T>) {
        self.queued_total += request.bytes as u64;
        request.ends_at = self.queued_total;
        self.in_flight.push_back(request);
    }

    /// Requests handed over and not answered (or, where no answer comes, not written).
    pub fn in_flight(&self) -> usize {
        self.in_flight.len() + self.held.len()
    }

    /// When the longest waiting request was handed over; later where it was [held back](Self::hold_back).
    pub fn oldest_sent_ns(&self) -> Option<u64> {
        self.in_flight.front().map(|request| request.sent_ns)
    }

    /// The broker does not work on what is in flight for so long, ns: its time begins so much later.
    pub fn hold_back(&mut self, throttled_ns: u64) {
        for request in self.in_flight.iter_mut().chain(&mut self.held) {
            request.sent_ns = request.sent_ns.saturating_add(throttled_ns);
        }
    }

    /// Gives back the memory of a large response that was taken in.
    pub fn shrink(&mut self) {
        self.input.shrink();
        self.session.iter_mut().for_each(SessionBytes::shrink);
    }

    /// When a request was last written or a response last read, ns.
    pub fn active_ns(&self) -> u64 {
        self.active_ns
    }

    /// Takes the front request if it is written and no response will come.
    pub fn take_unanswered(&mut self) -> Option<AnsweredRequest<T>> {
        let front = self.in_flight.front()?;
        if front.is_answered || self.written_count == 0 {
            return None;
        }
        let InFlightRequest { token, version, written_ns, bytes, .. } = self.in_flight.pop_front()?;
        self.written_count -= 1;
        Some(AnsweredRequest { token: token?, version, written_ns: written_ns?, bytes, response_bytes: 0 })
    }

    /// Takes in all complete responses that were read at `now_ns`: goes on with the handshake, and hands
    /// those to the caller's requests to `each`, as bodies.
    ///
    /// # Errors
    /// When the connection must be closed.
    pub fn receive(
        &mut self,
        now_ns: u64,
        mut each: impl FnMut(AnsweredRequest<T>, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), ConnectionError> {
        let is_plain = self.session.is_none() && !self.handshake.is_over();
        if is_plain && session::is_tls_alert(self.input.pending()) {
            return Err(SessionError::NeedsTls.into());
        }
        while let Some((request, body, response_bytes)) = self.next_response()? {
            self.active_ns = self.active_ns.max(now_ns);
            let InFlightRequest { token, version, written_ns, bytes, .. } = request;
            let body = self.input.frame(body);
            let Some(token) = token else {
                self.handshake.on_response(body, version, now_ns)?;
                self.continue_handshake(now_ns);
                continue;
            };
            self.was_of_use = true;
            let written_ns = written_ns.unwrap_or(now_ns);
            each(AnsweredRequest { token, version, written_ns, bytes, response_bytes }, body)?;
        }
        if self.in_flight() == 0 {
            // A client of thousands may be quiet for long. Under load something is always in flight.
            self.session.iter_mut().for_each(SessionBytes::shrink);
        }
        Ok(())
    }

    /// The next complete response. A request whose response cannot be recognized stays in flight, and comes back
    /// when the connection ends.
    fn next_response(&mut self) -> wire::Result<Option<Response<T>>> {
        let Some(frame) = self.input.next_frame()? else { return Ok(None) };
        let unexpected = WireError::Invalid("a reply came without a request");
        let written = self.in_flight.front().filter(|front| front.is_answered && self.written_count > 0);
        let Some(front) = written else { return Err(unexpected) };
        let mut reader = Reader::new(self.input.frame(frame.clone()));
        let flexible = front.api.is_flexible(front.version);
        // The correlation id first: what comes behind that of another request may have another form.
        if reader.clone().i32()? != front.correlation_id {
            return Err(unexpected);
        }
        response_header(&mut reader, front.api.key, flexible)?;
        let body = frame.end - reader.remaining()..frame.end;
        let Some(request) = self.in_flight.pop_front() else { return Err(unexpected) };
        self.written_count -= 1;
        Ok(Some((request, body, frame.len())))
    }
}

/// Bytes on their way to and from the socket.
impl<T> Connection<T> {
    /// Offers what waits `to` be written, as one write of some [`WRITE_BYTES_MAX`] bytes at most, and notes how much was
    /// taken. Where that completed a request, its instant is then to be given with [`Self::stamp_written`].
    ///
    /// # Errors
    /// The errors of the write, which has taken nothing then; `WriteZero` where it took nothing without saying why.
    pub fn write_to(&mut self, to: &mut dyn io::Write) -> io::Result<WriteProgress> {
        let bytes = match &mut self.session {
            Some(session) => {
                let (in_flight, all) = (&self.in_flight, self.queued_total);
                let request_end = |byte| {
                    in_flight.iter().map(|request| request.ends_at).find(|end| *end > byte).unwrap_or(all)
                };
                let bytes = session.write_to(&mut self.outgoing, request_end, to)?;
                self.written_total = session.plaintext_written();
                bytes
            }
            None if self.outgoing.is_empty() => None,
            None => {
                let mut slices = [IoSlice::new(&[]); WRITE_SLICES_MAX];
                let (count, _) = gather(&self.outgoing, WRITE_BYTES_MAX, &mut slices);
                let bytes = to.write_vectored(&slices[..count])?;
                self.written_total += bytes as u64;
                advance(&mut self.outgoing, bytes);
                Some(bytes)
            }
        };
        let next = self.in_flight.get(self.written_count);
        match bytes {
            None => Ok(WriteProgress::Nothing),
            Some(0) => Err(io::ErrorKind::WriteZero.into()),
            Some(_) if next.is_some_and(|next| next.ends_at <= self.written_total) => {
                Ok(WriteProgress::Request)
            }
            Some(_) => Ok(WriteProgress::Bytes),
        }
    }

    /// Sets the written instant of all requests that are complete and not stamped.
    pub fn stamp_written(&mut self, now_ns: u64) {
        while let Some(request) = self.in_flight.get_mut(self.written_count) {
            if request.ends_at > self.written_total {
                break;
            }
            request.written_ns = Some(now_ns);
            self.active_ns = self.active_ns.max(now_ns);
            self.written_count += 1;
        }
    }

    /// Where to read into; never empty.
    pub fn input_space(&mut self) -> &mut [u8] {
        match &mut self.session {
            Some(session) => session.input_space(),
            None => self.input.space(),
        }
    }

    /// Notes that `bytes` were read into the space given.
    ///
    /// # Errors
    /// When the session cannot go on; the connection must then be closed.
    pub fn advance_read(&mut self, bytes: usize) -> Result<(), SessionError> {
        match &mut self.session {
            Some(session) => self.input.push(session.receive(bytes)?),
            None => self.input.advance(bytes),
        }
        Ok(())
    }
}

#[cfg(test)]
mod login_tests;
#[cfg(test)]
mod tests;
