//! How connections to a target are secured, in words. It says no more of files and users than that they are there.

use kdyno_model::plan::{Sasl, Security, Store, StoreContent, Tls};

/// Nothing for plain text.
pub(crate) fn security_line(security: &Security) -> Option<String> {
    if security.is_plaintext() {
        return None;
    }
    let tls = security.tls.as_ref().map(tls);
    let sasl = security.sasl.as_ref().map(Sasl::mechanism).map(|mechanism| mechanism.to_string());
    let parts: Vec<String> = tls.into_iter().chain(sasl).collect();
    Some(format!("security protocol {}: {}", security.protocol, parts.join("; ")))
}

fn tls(tls: &Tls) -> String {
    let versions = tls.versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    let trust = match &tls.trust {
        Some(store) => format!("trusts {}", form(store)),
        None => "trusts the platform's roots".to_owned(),
    };
    let own = tls.identity.as_ref().map(|store| format!(", shows a certificate of {}", form(store)));
    let names = if tls.hostname_check { "" } else { ", host names not checked" };
    let ciphers = match tls.ciphers.len() {
        0 => String::new(),
        _ => format!(", ciphers {}", tls.ciphers.join(", ")),
    };
    format!("{versions}, {trust}{}{names}{ciphers}", own.unwrap_or_default())
}

fn form(store: &Store) -> &'static str {
    match store.content {
        StoreContent::PemFile(_) => "a PEM file",
        StoreContent::Pkcs12File(_) => "a PKCS#12 store",
        StoreContent::Pem { .. } => "PEM text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::{Protocol, ScramHash, TlsVersion};

    #[test]
    fn security_in_force_is_described_without_files_and_users() {
        let store = |content| Some(Store { content, password: Some("pw".to_owned()), key_password: None });
        let mut security = Security {
            protocol: Protocol::SaslSsl,
            tls: Some(Tls {
                trust: None,
                identity: None,
                hostname_check: true,
                versions: vec![TlsVersion::Tls12, TlsVersion::Tls13],
                ciphers: Vec::new(),
            }),
            sasl: Some(Sasl::Scram {
                hash: ScramHash::Sha512,
                username: "alice".to_owned(),
                password: "pw".to_owned(),
                is_delegation_token: false,
            }),
        };
        let line =
            "security protocol SASL_SSL: TLSv1.2 or TLSv1.3, trusts the platform's roots; SCRAM-SHA-512";
        assert_eq!(security_line(&security).as_deref(), Some(line));
        security.tls = Some(Tls {
            trust: store(StoreContent::PemFile("/etc/ca.pem".into())),
            identity: store(StoreContent::Pkcs12File("/etc/me.p12".into())),
            hostname_check: false,
            versions: vec![TlsVersion::Tls13],
            ciphers: vec!["TLS_AES_128_GCM_SHA256".to_owned()],
        });
        (security.protocol, security.sasl) = (Protocol::Ssl, None);
        let line = "security protocol SSL: TLSv1.3, trusts a PEM file, shows a certificate of a PKCS#12 store, \
                    host names not checked, ciphers TLS_AES_128_GCM_SHA256";
        assert_eq!(security_line(&security).as_deref(), Some(line));
        assert_eq!(security_line(&Security::default()), None);
    }
}
