//! Why there is no session, in a sentence that names the cause and the setting.

use crate::session::SessionError;
use rustls::{AlertDescription as Alert, CertificateError, CipherSuite, Error, ProtocolVersion};

const DAY_S: u64 = 86_400;
/// Most names of a certificate that are listed: some have hundreds.
const NAMES_LISTED_MAX: usize = 10;

/// What comes before and after the names of a broker's certificate: code that keeps these sentences for others leaves
/// the names out.
pub const CERTIFICATE_NAMES: (&str, &str) = ("the broker's certificate is for ", ", and not for ");

/// A cipher suite by the name that Java and IANA give it.
pub(super) fn suite_name(suite: CipherSuite) -> String {
    format!("{suite:?}").replacen("TLS13_", "TLS_", 1)
}

/// What both ends agreed upon, version and cipher suite by Java's names.
pub(super) fn agreed(version: ProtocolVersion, suite: CipherSuite) -> String {
    let version = match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
        ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
        other => format!("{other:?}"),
    };
    format!("{version} with {}", suite_name(suite))
}

/// What the peer sent instead of TLS.
pub(super) fn no_tls() -> SessionError {
    SessionError::Refused(
        "what answers there does not speak TLS: its listener is PLAINTEXT or SASL_PLAINTEXT, or no broker \
         (security.protocol)"
            .to_owned(),
    )
}

/// Why a session ended. Whether we showed a certificate, and whether the broker has sent data yet, makes the difference of
/// what an alert means, also of one that cannot be read.
pub(super) fn session_error(error: Error, has_identity: bool, has_data: bool) -> SessionError {
    match error {
        Error::InvalidCertificate(error) => SessionError::Refused(certificate(&error)),
        Error::NoCertificatesPresented => {
            SessionError::Refused("the broker presents no certificate".to_owned())
        }
        Error::PeerIncompatible(error) => SessionError::Refused(format!(
            "the broker and we have no version, cipher suite or signature of TLS in common ({}; ssl.enabled.protocols, \
             ssl.cipher.suites)",
            in_words(&format!("{error:?}"))
        )),
        Error::PeerMisbehaved(error) => {
            let what = in_words(&format!("{error:?}"));
            SessionError::Broken(format!("the broker does not keep to the rules of TLS ({what})"))
        }
        Error::InvalidMessage(error) => {
            let what = in_words(&format!("{error:?}"));
            SessionError::Broken(format!("a message of TLS cannot be read ({what})"))
        }
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            SessionError::Broken("the broker sends a message of TLS that has no place there".to_owned())
        }
        Error::AlertReceived(alert) => alert_error(alert, has_identity),
        // What Kafka 2.7 answers; no client can read it, OpenSSL neither.
        Error::DecryptError if !has_identity && !has_data => SessionError::Broken(
            "the broker's first bytes of the session cannot be decrypted; old releases send such where they ask for a \
             client certificate, and we have none (its ssl.client.auth; our ssl.keystore.location)"
                .to_owned(),
        ),
        error => SessionError::Broken(error.to_string()),
    }
}

fn alert_error(alert: Alert, has_identity: bool) -> SessionError {
    let refused = SessionError::Refused;
    match alert {
        Alert::CertificateRequired | Alert::NoCertificate if has_identity => {
            refused(format!("the broker asks for another client certificate than ours (TLS alert {alert:?})"))
        }
        Alert::CertificateRequired | Alert::NoCertificate => refused(NO_IDENTITY.to_owned()),
        Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateExpired
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::AccessDenied => match has_identity {
            true => refused(format!("the broker does not accept our certificate (TLS alert {alert:?})")),
            false => refused(NO_IDENTITY.to_owned()),
        },
        Alert::ProtocolVersion => refused(
            "the broker speaks none of the versions of TLS that we may speak (ssl.enabled.protocols)"
                .to_owned(),
        ),
        Alert::HandshakeFailure | Alert::InsufficientSecurity => refused(format!(
            "the broker and we have no cipher suite in common, or it asks for a client certificate (TLS alert \
             {alert:?}; ssl.cipher.suites, ssl.keystore.location)"
        )),
        Alert::UnrecognisedName => {
            refused("the broker does not know the host name that we dialled (TLS alert)".to_owned())
        }
        alert => SessionError::Broken(format!("the broker ended the TLS session with alert {alert:?}")),
    }
}

const NO_IDENTITY: &str = "the broker asks for a client certificate, and we have none (its ssl.client.auth; our ssl.keystore.location)";

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired => "the broker's certificate, or one it rests on, has expired".to_owned(),
        CertificateError::ExpiredContext { time, not_after } => {
            let ago = time.as_secs().saturating_sub(not_after.as_secs()) / DAY_S;
            let ago = if ago == 0 { "less than a day".to_owned() } else { format!("{ago} days") };
            format!("the broker's certificate, or one it rests on, expired {ago} ago")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the broker's certificate, or one it rests on, is not valid yet: is the clock of this host right?"
                .to_owned()
        }
        CertificateError::UnknownIssuer => {
            "no trusted authority signed the broker's certificate (ssl.truststore.location)".to_owned()
        }
        // The names match, the keys do not.
        CertificateError::BadSignature => {
            "the broker's certificate is signed with another key than that of the authority of this name that we trust \
             (ssl.truststore.location): is that an old one?"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).take(NAMES_LISTED_MAX).collect();
            let more = match presented.len().saturating_sub(names.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let expected = expected.to_str();
            match names[..] {
                [] => format!(
                    "the broker's certificate has no subject alternative name (SAN), which is where the host \
                     {expected:?} is looked for; ssl.endpoint.identification.algorithm= (empty) turns that off"
                ),
                _ => format!(
                    "{}{}{more}{}the host {expected:?} that was dialled; ssl.endpoint.identification.algorithm= (empty) \
                     turns that check off",
                    CERTIFICATE_NAMES.0,
                    names.join(", "),
                    CERTIFICATE_NAMES.1
                ),
            }
        }
        CertificateError::NotValidForName => {
            "the broker's certificate is not for the host that was dialled".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the broker's certificate is not one for servers (extended key usage)".to_owned()
        }
        CertificateError::BadEncoding => {
            "the broker's certificate, or one it rests on, cannot be read as X.509".to_owned()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "the broker's certificate, or one it rests on, is signed in a way that is not accepted here: it has to be \
             signed again, with SHA-256 or better (keytool -sigalg, openssl -sha256)"
                .to_owned()
        }
        error => other_certificate(&innermost(&format!("{error:?}"))),
    }
}

/// For what the library's table has no error of its own: by the name that the checker of certificates gives it.
fn other_certificate(name: &str) -> String {
    match name {
        "CaUsedAsEndEntity" => {
            "the broker's certificate is one of an authority (basic constraints CA:TRUE): the broker needs one of \
             its own, signed by that authority"
                .to_owned()
        }
        "UnsupportedCertVersion" => VERSION_1.to_owned(),
        "EndEntityUsedAsCa" => {
            "a certificate that the broker's rests on is not one of an authority (basic constraints CA:FALSE, or none)"
                .to_owned()
        }
        other => format!(
            "the broker's certificate, or one it rests on, cannot be accepted ({})",
            camel_case_in_words(other)
        ),
    }
}

const VERSION_1: &str = "the broker's certificate, or one it rests on, is of an old version of X.509, which has no \
    extensions and so names no host; sign it again with a file of extensions, `openssl x509 -req … -extfile FILE`, in \
    which is `subjectAltName=DNS:HOST` (the broker's ssl.keystore.location)";

/// The name of a library's error in words, without what it holds.
fn in_words(debug: &str) -> String {
    camel_case_in_words(&innermost(debug))
}

/// The last name in `Other(OtherError(UnsupportedCertVersion))`.
fn innermost(debug: &str) -> String {
    let names = debug
        .split(|c: char| !c.is_ascii_alphanumeric())
        .take_while(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    names.last().unwrap_or_default().to_owned()
}

/// `unsupported cert version` of `UnsupportedCertVersion`.
fn camel_case_in_words(name: &str) -> String {
    let mut words = String::new();
    for (at, c) in name.char_indices() {
        if at > 0 && c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// `DnsName("host")` and `IpAddress(1.2.3.4)` without what is around the name.
fn bare(presented: &str) -> &str {
    let inside = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(presented).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::time::Duration;

    fn at(secs: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(secs))
    }

    #[test]
    fn an_expired_certificate_says_since_when() {
        let session_error = |time, not_after| {
            certificate(&CertificateError::ExpiredContext { time: at(time), not_after: at(not_after) })
        };
        assert!(session_error(10 * DAY_S, 7 * DAY_S).ends_with("expired 3 days ago"));
        assert!(session_error(10 * DAY_S, 10 * DAY_S - 1).ends_with("expired less than a day ago"));
    }

    #[test]
    fn a_certificate_of_another_host_names_both() {
        let expected = ServerName::try_from("broker-1.example").expect("a name").to_owned();
        let session_error = |presented: &[&str]| {
            let presented = presented.iter().map(|&name| name.to_owned()).collect();
            certificate(&CertificateError::NotValidForNameContext { expected: expected.clone(), presented })
        };
        let text = session_error(&["DnsName(\"localhost\")", "IpAddress(127.0.0.1)"]);
        assert!(
            text.contains("is for localhost, 127.0.0.1, and not for the host \"broker-1.example\""),
            "{text}"
        );
        assert!(session_error(&[]).contains("no subject alternative name"));
        let many = session_error(&["DnsName(\"b\")"; NAMES_LISTED_MAX + 2]);
        assert!(many.contains("b, b and 2 more, and not for the host"), "{many}");
    }

    #[test]
    fn no_error_is_printed_as_the_library_holds_it() {
        let other = |name: &str| {
            assert_eq!(innermost(&format!("Other(OtherError({name}))")), name);
            other_certificate(name)
        };
        assert!(other("UnsupportedCertVersion").contains("-extfile"));
        assert!(other("PathLenConstraintViolated").ends_with("(path len constraint violated)"));
        for error in [
            Error::PeerIncompatible(rustls::PeerIncompatible::NoSignatureSchemesInCommon),
            Error::PeerMisbehaved(rustls::PeerMisbehaved::TooManyKeyUpdateRequests),
            Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
            Error::InvalidCertificate(CertificateError::BadEncoding),
            Error::InvalidCertificate(CertificateError::UnhandledCriticalExtension),
        ] {
            let shown = format!("{error:?}");
            let session_error = session_error(error, false, true).to_string();
            assert!(!session_error.contains(&innermost(&shown)), "{session_error}");
        }
    }

    #[test]
    fn an_alert_says_whose_certificate_is_meant() {
        let text = |has_identity| {
            session_error(Error::AlertReceived(Alert::BadCertificate), has_identity, false).to_string()
        };
        assert!(text(true).contains("does not accept our certificate (TLS alert BadCertificate)"));
        assert!(text(false).contains("asks for a client certificate, and we have none"));
        let broken = session_error(Error::AlertReceived(Alert::InternalError), false, false);
        assert!(matches!(broken, SessionError::Broken(_)), "{broken}");
        let asks = |has_identity, has_data| {
            session_error(Error::DecryptError, has_identity, has_data)
                .to_string()
                .contains("ask for a client certificate")
        };
        assert!(asks(false, false));
        assert!(!asks(true, false) && !asks(false, true), "then it is something else");
    }
}
