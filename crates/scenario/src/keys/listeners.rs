//! Keys of a system's listeners.

use super::{Kind, Section, key, or, section};

/// Listeners.
pub static LISTENERS: Section = section(
    "listeners",
    "How clients connect to the brokers, and brokers to each other. Certificates, a user and access control lists are \
     made for the run.",
    &[
        key("clients", Kind::Section(&CLIENT_LISTENER), "the listener where clients connect"),
        key("internal", Kind::Section(&INTERNAL_LISTENER), "the listener of brokers and controllers"),
        or(
            "authorizer",
            Kind::Choice(&["none", "acls"]),
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
        or(
            "protocol",
            Kind::Choice(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
            "PLAINTEXT",
            "its security protocol",
        ),
        or(
            "sasl",
            Kind::Choice(&["auto", "none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]),
            "auto",
            "how clients log in; `auto`: SCRAM-SHA-512 where the protocol has SASL",
        ),
        or("tls", Kind::Choice(&["any", "1.2", "1.3"]), "any", "version of TLS where the protocol has it"),
        or(
            "certificates",
            Kind::Choice(&["none", "required"]),
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
        Kind::Choice(&["PLAINTEXT", "SSL"]),
        "PLAINTEXT",
        "its security protocol; `SSL` with certificates at both ends",
    )],
);
