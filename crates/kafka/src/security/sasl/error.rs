//! Why a login fails.

use super::Mechanism;
use crate::words;
use thiserror::Error;

/// Why a login fails; another attempt fails in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// The listener takes other mechanisms.
    #[error("the broker's listener takes no login by {mechanism}{}", others(.offered))]
    Mechanism {
        /// Ours.
        mechanism: Mechanism,
        /// Mechanisms of the listener (`sasl.enabled.mechanisms`).
        offered: Vec<String>,
    },
    /// The listener takes no login at all.
    #[error(
        "the broker's listener takes no login: its security protocol is PLAINTEXT or SSL, ours has SASL \
         (security.protocol)"
    )]
    NotAsked,
    /// The broker does not accept who we say we are.
    #[error("the broker refused the login by {mechanism}: {words}")]
    Refused {
        /// The mechanism.
        mechanism: Mechanism,
        /// The broker's own words.
        words: String,
    },
    /// The broker's part of the exchange is not what the mechanism asks for.
    #[error("the login by {mechanism} ended: {what}")]
    Exchange {
        /// The mechanism.
        mechanism: Mechanism,
        /// What is wrong.
        what: String,
    },
}

fn others(offered: &[String]) -> String {
    match offered {
        [] => String::new(),
        _ => format!(", only by {}", words::of_broker(&offered.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_of_other_mechanisms_says_which() {
        let offered = vec!["PLAIN".to_owned(), "SCRAM-SHA-256".to_owned()];
        let error = LoginError::Mechanism { mechanism: Mechanism::ScramSha512, offered };
        let text = "the broker's listener takes no login by SCRAM-SHA-512, only by PLAIN, SCRAM-SHA-256";
        assert_eq!(error.to_string(), text);
    }
}
