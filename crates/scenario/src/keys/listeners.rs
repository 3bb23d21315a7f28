//! Keys of a system's listeners.

use super::{Section, ValueKind, key, or, section};
use kdyno_model::plan::{Listeners, Mechanism, Protocol};

/// How clients may log in: as is usual, not, or by a mechanism.
pub const LOGINS: [&str; 6] = {
    let names = Mechanism::NAMES;
    ["auto", "none", names[0], names[1], names[2], names[3]]
};

/// Listeners.
pub static LISTENERS: Section = section(
    "listeners",
    "How clients connect to the brokers, and brokers to each other. Certificates, a user and access control lists are \
     made for the run.",
    &[
        key("clients", ValueKind::Section(&CLIENT_LISTENER), "the listener where clients connect"),
        key("internal", ValueKind::Section(&INTERNAL_LISTENER), "the listener of brokers and controllers"),
        or(
            "authorizer",
            ValueKind::Choice(&["none", "acls"]),
            "none",
            "`acls`: clients may do what access control lists allow, which is what a run needs",
        ),
    ],
);

/// The listener where clients connect.
pub static CLIENT_LISTENER: Section = section(
    "clients",
    "The listener where clients connect.",
    &[
        or("protocol", ValueKind::Choice(Protocol::NAMES), "PLAINTEXT", "its security protocol"),
        or(
            "sasl",
            ValueKind::Choice(&LOGINS),
            "auto",
            "how clients log in; `auto`: SCRAM-SHA-512 where the protocol has SASL",
        ),
        or(
            "tls",
            ValueKind::Choice(&["any", "1.2", "1.3"]),
            "any",
            "version of TLS where the protocol has it",
        ),
        or(
            "certificates",
            ValueKind::Choice(&["none", "required"]),
            "none",
            "whether clients show a certificate (mutual TLS)",
        ),
    ],
);

/// The listener of brokers and controllers.
pub static INTERNAL_LISTENER: Section = section(
    "internal",
    "The listener of brokers and controllers.",
    &[or(
        "protocol",
        ValueKind::Choice(&Listeners::INTERNAL),
        "PLAINTEXT",
        "its security protocol; `SSL` with certificates at both ends",
    )],
);
