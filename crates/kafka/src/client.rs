//! What a producing and a consuming client are to the code that moves their bytes.
//!
//! The mover opens the sockets that [`BrokerConnections::to_connect`] names, writes what a connection has,
//! reads what is there, and calls [`Client::receive`] after each read; it knows nothing of what is said.

use crate::broker_connections::BrokerConnections;
use crate::connection::ConnectionError;

/// A client over connections to brokers.
pub trait Client {
    /// Names one of its requests in flight.
    type Token;

    /// Its connections.
    fn connections(&self) -> &BrokerConnections<Self::Token>;

    /// Its connections, to open, to close and to move bytes.
    fn connections_mut(&mut self) -> &mut BrokerConnections<Self::Token>;

    /// Takes in all complete responses of a connection that were read at `now_ns`.
    ///
    /// # Errors
    /// When the connection must be closed.
    fn receive(&mut self, connection: usize, now_ns: u64) -> Result<(), ConnectionError>;
}
