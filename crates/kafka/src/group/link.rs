//! A member over the connections of its consumer.

use super::GroupRequest;
use super::member::Member;
use crate::broker_connections::{BrokerConnections, ConnectionState, Purpose, RequestOwner};

impl Member {
    /// Asks everything that is due: who coordinates over any connection that can be asked, the rest over one to the
    /// coordinator, for that alone. `token` makes of a request what its client knows it by.
    pub fn ask<T>(
        &mut self,
        connections: &mut BrokerConnections<T>,
        token: impl Fn(GroupRequest) -> T,
        now_ns: u64,
    ) {
        self.on_time(now_ns);
        let token = |request| RequestOwner::Client(token(request));
        if let Some(connection) = (0..connections.count()).find(|&at| connections.can_ask(at))
            && let Some(request) = self.look_up(now_ns)
            && self.send(request, token(request), connections.connection_mut(connection), now_ns).is_err()
        {
            self.on_lost(request, now_ns); // each broker was asked whether it speaks this
        }
        let Some(connection) = self.follow_coordinator(connections, now_ns) else { return };
        while connections.can_ask(connection)
            && let Some(request) = self.next_request(now_ns)
        {
            let timeout_ns = self.timeout_ns(request);
            let queues = connections.connection_mut(connection);
            if self.send(request, token(request), queues, now_ns).is_err() {
                return self.on_lost(request, now_ns);
            }
            if let Some(timeout_ns) = timeout_ns {
                connections.wait_longer(connection, timeout_ns);
            }
        }
    }

    /// The connection to the coordinator, up or not.
    fn follow_coordinator<T>(
        &mut self,
        connections: &mut BrokerConnections<T>,
        now_ns: u64,
    ) -> Option<usize> {
        let broker = self.coordinator().filter(|_| !self.has_left() && self.failure().is_none());
        if let Some(before) = self.followed.filter(|before| Some(*before) != broker) {
            connections.unwanted(before, Purpose::Coordinator);
        }
        self.followed = broker;
        let Some(connection) = connections.wanted(broker?, Purpose::Coordinator) else {
            connections.want_metadata();
            self.on_unreachable("metadata does not name its coordinator yet", now_ns);
            return None;
        };
        connections.wake_connection(connection);
        match connections.state(connection) {
            // It has just failed: another broker may coordinate by now.
            ConnectionState::Down { retry_ns } if retry_ns > now_ns => {
                self.on_unreachable("its coordinator cannot be reached", now_ns);
                None
            }
            ConnectionState::Refused => {
                self.on_unreachable("its coordinator refuses the connection", now_ns);
                None
            }
            _ => Some(connection),
        }
    }

    /// When something is due by time alone over these connections, ns. `is_polling`: also what the application's next poll
    /// would do.
    pub fn next_deadline<T>(&self, connections: &BrokerConnections<T>, is_polling: bool) -> Option<u64> {
        let known = self.coordinator().and_then(|broker| connections.known(broker, Purpose::Coordinator));
        let can_ask = known.is_some_and(|connection| connections.can_ask(connection));
        let can_look_up = (0..connections.count()).any(|connection| connections.can_ask(connection));
        self.deadline(is_polling, can_ask, can_look_up)
    }
}
