//! What is between a client and a listener that is not PLAINTEXT: the session (TLS) and the login (SASL).
//!
//! Everything comes in as bytes: code that has files, environment and programs reads certificates, keys, passwords
//! and tokens. A [`ConnectionSecurity`] is shared by all connections of a client, or of many clients.

mod hidden;
pub mod sasl;
pub mod tls;

pub use hidden::Hidden;

use crate::session::SessionFactory;
use sasl::Login;
use std::sync::Arc;

/// How a client's connections are secured. The default is PLAINTEXT: neither session nor login.
#[derive(Debug, Clone, Default)]
pub struct ConnectionSecurity {
    /// Opens the session of each connection (SSL, SASL_SSL); `None`: frames are the bytes of the socket.
    pub sessions: Option<Arc<dyn SessionFactory>>,
    /// Who we are (SASL_PLAINTEXT, SASL_SSL); `None`: no one, or the certificate's subject.
    pub login: Option<Arc<Login>>,
}
