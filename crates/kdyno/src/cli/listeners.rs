//! How clients reach a cluster that `kdyno cluster up` starts.

use super::TlsChoice;
use clap::Args;
use kdyno_model::plan::{ClientListener, Listeners, Mechanism, Protocol, TlsVersion};

/// Security of a cluster that stays.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security")]
pub(crate) struct ListenerArgs {
    /// Security protocol for clients: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
    #[arg(long, default_value_t, value_parser = protocol)]
    protocol: Protocol,
    /// How clients log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER [default: SCRAM-SHA-512 where the protocol
    /// has SASL]
    #[arg(long, value_name = "MECHANISM", value_parser = mechanism)]
    sasl: Option<Mechanism>,
    /// Version of TLS for clients [default: any, where the protocol has TLS]
    #[arg(long, value_enum, value_name = "VERSION")]
    tls: Option<TlsChoice>,
    /// Clients must show a certificate (mutual TLS)
    #[arg(long)]
    client_certificates: bool,
    /// Brokers and controllers speak mutual TLS to each other
    #[arg(long)]
    internal_tls: bool,
    /// Clients are bound by access control lists (ACLs): to topics, groups and transactional ids that begin with kdyno-
    #[arg(long)]
    acls: bool,
}

impl ListenerArgs {
    /// The listeners that were asked for; they may not go together.
    pub(crate) fn listeners(&self) -> Listeners {
        let tls = match self.tls {
            None => self.protocol.default_tls(),
            Some(TlsChoice::Any) => TlsVersion::ALL.to_vec(),
            Some(TlsChoice::Tls12) => vec![TlsVersion::Tls12],
            Some(TlsChoice::Tls13) => vec![TlsVersion::Tls13],
        };
        let clients = ClientListener {
            protocol: self.protocol,
            mechanism: self.sasl.or(self.protocol.default_mechanism()),
            tls,
            client_certificates: self.client_certificates,
        };
        let internal = if self.internal_tls { Protocol::Ssl } else { Protocol::Plaintext };
        Listeners { clients, internal, authorizer: self.acls }
    }
}

fn protocol(typed: &str) -> Result<Protocol, String> {
    typed.to_ascii_uppercase().parse().map_err(|_| expected(Protocol::NAMES))
}

fn mechanism(typed: &str) -> Result<Mechanism, String> {
    typed.to_ascii_uppercase().parse().map_err(|_| expected(Mechanism::NAMES))
}

fn expected(names: &[&str]) -> String {
    format!("expected one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct ParsedListeners {
        #[command(flatten)]
        listeners: ListenerArgs,
    }

    fn asked(args: &[&str]) -> Listeners {
        let command = ParsedListeners::try_parse_from([&["up"][..], args].concat()).expect("arguments");
        command.listeners.listeners()
    }

    #[test]
    fn nothing_asked_for_is_plain() {
        assert!(asked(&[]).are_plain());
    }

    #[test]
    fn what_is_asked_for_goes_together() {
        let all = asked(&["--protocol", "sasl_ssl", "--tls", "1.3", "--internal-tls", "--acls"]);
        assert_eq!(all.to_string(), "clients SASL_SSL SCRAM-SHA-512 TLSv1.3, internal SSL, ACLs");
        let plain = asked(&["--protocol", "SASL_PLAINTEXT", "--sasl", "PLAIN"]);
        assert_eq!(plain.to_string(), "clients SASL_PLAINTEXT PLAIN, internal PLAINTEXT");
        let mutual = asked(&["--protocol", "SSL", "--client-certificates"]);
        assert_eq!(
            mutual.to_string(),
            "clients SSL TLSv1.2 TLSv1.3 with client certificates, internal PLAINTEXT"
        );
        assert_eq!((all.check(), plain.check(), mutual.check()), (Ok(()), Ok(()), Ok(())));
        assert!(asked(&["--tls", "1.2"]).check().is_err(), "TLS in the open is no TLS");
        assert!(ParsedListeners::try_parse_from(["up", "--sasl", "GSSAPI"]).is_err());
    }
}
