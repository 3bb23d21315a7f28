//! How the clients of a stream connect: which of them have begun, which are ready, and how long that took them.
//!
//! Clients that are there at T0 connect some at a time: they are not timed against each other, a broker's queue of
//! sockets to be accepted is short, and a client needs one connection more while it connects. Those that come later all
//! come at once, as the instances of an application do.

use crate::wakeups::Wakeups;
use kdyno_kafka::client::Client;
use kdyno_kafka::connection::PermanentError;

/// Clients of a stream that connect at once before T0.
pub const CONNECTING_MAX: usize = 200;

/// When further clients begin, whatever became of those before them: a broker that cannot be reached is waited for.
const WAVE_NS: u64 = 1_000_000_000;

/// What a client's first connecting took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connect {
    /// When it began to dial, ns.
    pub dialled_ns: u64,
    /// When it reached every broker that it needs, ns.
    pub ready_ns: u64,
}

/// How far a client's first connecting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectingState {
    Idle,
    Dialling { dialled_ns: u64 },
    Ready,
}

/// The clients of a stream as they connect for the first time.
#[derive(Debug)]
pub struct Connecting {
    states: Vec<ConnectingState>,
    /// Clients that were started: the first ones.
    begun: usize,
    ready: usize,
    /// When the last clients were started, ns.
    wave_ns: u64,
    /// Why a client will never be ready.
    refusal: Option<PermanentError>,
    /// What was not recorded yet.
    times: Vec<Connect>,
}

impl Connecting {
    /// None has begun.
    pub fn new(clients: usize) -> Self {
        let states = vec![ConnectingState::Idle; clients];
        Self { states, begun: 0, ready: 0, wave_ns: 0, refusal: None, times: Vec::new() }
    }

    /// Wakes all clients, which come at once.
    pub fn begin_all(&mut self, wakeups: &mut Wakeups) {
        self.begun = self.states.len();
        wakeups.all_now();
    }

    /// Wakes further clients, when it is time.
    pub fn begin_some(&mut self, now_ns: u64, wakeups: &mut Wakeups) {
        if self.next_wave_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            self.wave_ns = now_ns;
            let wave = self.begun..(self.begun + CONNECTING_MAX).min(self.states.len());
            self.begun = wave.end;
            wave.for_each(|client| wakeups.now(client));
        }
    }

    /// When further clients begin by time alone, ns.
    pub fn next_wave_ns(&self) -> Option<u64> {
        let is_any_left = self.begun < self.states.len();
        is_any_left.then_some(if self.begun == 0 { 0 } else { self.wave_ns + WAVE_NS })
    }

    /// A client's turn begins.
    pub fn dials(&mut self, client: usize, now_ns: u64) {
        if self.states[client] == ConnectingState::Idle {
            self.states[client] = ConnectingState::Dialling { dialled_ns: now_ns };
        }
    }

    /// A client's turn is over: is it ready, or will it never be? Wakes another one in its place.
    pub fn look<C: Client>(
        &mut self,
        client: usize,
        now_ns: u64,
        kafka: &C,
        is_ready: impl FnOnce() -> bool,
        wakeups: &mut Wakeups,
    ) {
        let ConnectingState::Dialling { dialled_ns } = self.states[client] else { return };
        if kafka.connections().is_ready() && is_ready() {
            self.states[client] = ConnectingState::Ready;
            self.ready += 1;
            self.times.push(Connect { dialled_ns, ready_ns: now_ns });
            if self.begun < self.states.len() {
                wakeups.now(self.begun);
                self.begun += 1;
            }
        } else if let Some(refusal) = kafka.connections().refusal() {
            self.refusal = Some(refusal.clone());
        }
    }

    /// Whether each client was ready once.
    ///
    /// # Errors
    /// When one never will be.
    pub fn are_all_ready(&self) -> Result<bool, PermanentError> {
        self.refusal.clone().map_or(Ok(self.ready == self.states.len()), Err)
    }

    /// Whether one client was ready.
    ///
    /// # Errors
    /// When one never will be, and none is.
    pub fn is_any_ready(&self) -> Result<bool, PermanentError> {
        if self.ready > 0 { Ok(true) } else { self.refusal.clone().map_or(Ok(false), Err) }
    }

    /// What connecting took the clients that are ready since the last call.
    pub fn take_times(&mut self) -> Vec<Connect> {
        std::mem::take(&mut self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::backoff::ExponentialBackoff;
    use kdyno_kafka::broker_connections::ConnectionsConfig;
    use kdyno_kafka::connection::ConnectionError;
    use kdyno_kafka::producer::ProducerClient;
    use kdyno_kafka::security::ConnectionSecurity;
    use kdyno_kafka::session::SessionError;

    fn client() -> ProducerClient<()> {
        ProducerClient::new(ConnectionsConfig {
            client_id: "me".to_owned(),
            topics: vec!["t".to_owned()],
            bootstrap: vec![("broker".to_owned(), 9092)],
            needs: ProducerClient::<()>::NEEDS,
            security: ConnectionSecurity::default(),
            request_timeout_ns: 1,
            retry_backoff: ExponentialBackoff { first_ns: 1, max_ns: 1 },
            reconnect_backoff: ExponentialBackoff { first_ns: 1, max_ns: 1 },
            setup_timeout: ExponentialBackoff { first_ns: 1, max_ns: 1 },
            idle_ns: 1,
            metadata_max_age_ns: 1,
            frame_bytes_max: 1,
            seed: 1,
        })
    }

    /// Takes those that are awake.
    fn awake(wakeups: &mut Wakeups) -> Vec<usize> {
        let mut awake: Vec<usize> = std::iter::from_fn(|| wakeups.take_due(1)).collect();
        awake.sort_unstable();
        awake
    }

    #[test]
    fn a_stream_waits_for_brokers_and_ends_where_it_is_refused() {
        let (mut client, mut wakeups) = (client(), Wakeups::none(1));
        let mut connecting = Connecting::new(1);
        connecting.dials(0, 1);
        let refusal = PermanentError::Session(SessionError::Refused("no".to_owned()));
        for (error, expected) in
            [(ConnectionError::Closed, Ok(false)), (ConnectionError::Refused(refusal.clone()), Err(refusal))]
        {
            let connection = client.connections_mut().to_connect(u64::MAX / 2).expect("one to try");
            client.connections_mut().on_closed(connection, 0, error);
            connecting.look(0, 2, &client, || true, &mut wakeups);
            assert_eq!(connecting.are_all_ready(), expected);
            assert_eq!(connecting.is_any_ready(), expected);
        }
        assert_eq!(connecting.take_times(), []);
    }

    #[test]
    fn some_connect_at_a_time_and_those_that_come_later_all_at_once() {
        let clients = 2 * CONNECTING_MAX + 1;
        let (mut connecting, mut wakeups) = (Connecting::new(clients), Wakeups::none(clients));
        assert_eq!(connecting.next_wave_ns(), Some(0));
        connecting.begin_some(5, &mut wakeups);
        assert_eq!(awake(&mut wakeups), (0..CONNECTING_MAX).collect::<Vec<_>>());
        connecting.begin_some(6, &mut wakeups);
        assert!(awake(&mut wakeups).is_empty(), "they have a while");
        let next_ns = connecting.next_wave_ns().expect("others are left");
        connecting.begin_some(next_ns, &mut wakeups);
        assert_eq!(awake(&mut wakeups).len(), CONNECTING_MAX, "the next ones do not wait for ever");
        connecting.begin_some(next_ns + WAVE_NS, &mut wakeups);
        assert_eq!((awake(&mut wakeups), connecting.next_wave_ns()), (vec![clients - 1], None));
        let mut at_once = Connecting::new(clients);
        at_once.begin_all(&mut wakeups);
        assert_eq!((awake(&mut wakeups).len(), at_once.next_wave_ns()), (clients, None));
    }
}
