//! Addresses of attached clusters are private, and so is where certificates and secrets lie: a run file may be shown
//! around. What is shown to the user names them; what is stored does not.

use kdyno_kafka::security::tls::CERTIFICATE_NAMES;
use kdyno_model::address::is_address;
use kdyno_model::plan::{MetricsFrom, Plan, Security, StoreContent};
use kdyno_model::secret::SecretRef;
use std::collections::BTreeMap;
use std::path::Path;

/// Replaces an address or a host's name.
const HOST: &str = "HOST";
/// Replaces a path.
const PATH: &str = "PATH";
/// What messages have around the name of a host that is no address.
const HOST_NAMED: (&str, &str) = ("the host \"", "\"");

/// What must not be stored. Empty for a plan without attached clusters: then nothing is hidden.
#[derive(Debug, Default)]
pub(crate) struct Private {
    /// Host names and addresses without ports, longest first.
    hosts: Vec<String>,
    /// Paths and commands, each with its replacement, longest first.
    places: Vec<(String, &'static str)>,
}

impl Private {
    /// What the plan's targets name: addresses, files, commands.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut private = Self::default();
        for case in plan.every_case() {
            if let Some(attached) = case.system.target() {
                private.add(attached.bootstrap.iter().cloned());
                private.add(attached.metrics.iter().filter_map(|metrics| authority(metrics.from.url())));
                let trust = attached.metrics.iter().filter_map(|metrics| metrics.trust.as_deref());
                private.places.extend(trust.map(|file| (file.display().to_string(), PATH)));
                // These sort them all.
                private.add_places(&attached.security, &case.secrets);
            }
        }
        private
    }

    /// Adds where certificates and secrets lie.
    fn add_places(&mut self, security: &Security, secrets: &BTreeMap<String, SecretRef>) {
        let path = |path: &Path| (path.display().to_string(), PATH);
        let stores = security.tls.iter().flat_map(|tls| tls.trust.iter().chain(&tls.identity));
        let files = stores.filter_map(|store| match &store.content {
            StoreContent::PemFile(file) | StoreContent::Pkcs12File(file) => Some(path(file)),
            StoreContent::Pem { .. } => None,
        });
        let secrets = secrets.values().filter_map(|reference| match reference {
            SecretRef::File(file) | SecretRef::Property { file, .. } => Some(path(file)),
            // As it calls itself.
            SecretRef::Exec(_) => Some((reference.to_string(), "command")),
            SecretRef::Env(_) | SecretRef::Made => None,
        });
        for place in files.chain(secrets) {
            if !place.0.is_empty() && !self.places.contains(&place) {
                self.places.push(place);
            }
        }
        self.places.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// Adds addresses (`host:port`) that were learned of.
    pub(crate) fn add(&mut self, addresses: impl IntoIterator<Item = String>) {
        for address in addresses {
            let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            if !host.is_empty() && !self.hosts.contains(&host) {
                self.hosts.push(host);
            }
        }
        self.hosts.sort_by_key(|host| std::cmp::Reverse(host.len()));
    }

    /// The text without these hosts, and without whatever else looks like an address: a cluster may name brokers that
    /// were unknown before.
    pub(crate) fn hide(&self, text: &str) -> String {
        if self.hosts.is_empty() {
            return text.to_owned();
        }
        let mut hidden = without_between(&without_between(text, CERTIFICATE_NAMES), HOST_NAMED);
        for (place, instead) in &self.places {
            hidden = without(&hidden, place, instead);
        }
        for host in &self.hosts {
            hidden = without(&hidden, host, HOST);
        }
        let breaks = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '`' | '\'' | '(' | ')');
        let words = hidden.split_inclusive(breaks).map(|word| {
            let bare = word.trim_end_matches(breaks).trim_end_matches([':', '.']);
            if is_address(bare) { format!("{HOST}{}", &word[bare.len()..]) } else { word.to_owned() }
        });
        words.collect()
    }
}

/// Host and port in a URL; `None` where the host is that of each broker.
fn authority(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    (!authority.contains(MetricsFrom::HOST)).then(|| authority.to_owned())
}

/// The text with [`HOST`] for what is between these, or from the first to the end of its line.
fn without_between(text: &str, (before, after): (&str, &str)) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((front, behind)) = rest.split_once(before) {
        let line = behind.find('\n').unwrap_or(behind.len());
        let end = behind[..line].find(after).unwrap_or(line);
        kept.extend([front, before, HOST]);
        rest = &behind[end..];
    }
    kept + rest
}

/// The text with something instead of a name, or a path, wherever it is by itself, and is no part of a longer one.
fn without(text: &str, host: &str, instead: &str) -> String {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(host) {
        let (before, after) = (&rest[..at], &rest[at + host.len()..]);
        let mut next = after.chars();
        let first = next.next();
        let longer = goes_on(before.chars().next_back())
            || goes_on(first)
            || (first == Some('.') && goes_on(next.next()));
        kept.push_str(before);
        kept.push_str(if longer { host } else { instead });
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::{Protocol, Store, Tls};
    use std::path::PathBuf;

    fn private(addresses: &[&str]) -> Private {
        let mut private = Private::default();
        private.add(addresses.iter().map(ToString::to_string));
        private
    }

    #[test]
    fn hosts_are_hidden_wherever_they_stand() {
        let private = private(&["b1.corp.example:9092", "10.0.0.7:9092", "[fd00::1]:9092", "kafka:9092"]);
        for (text, hidden) in [
            ("broker b1.corp.example:9092 refused the connection", "broker HOST refused the connection"),
            (
                "target t names id a, but b1.corp.example:9092,10.0.0.7:9092 answers",
                "target t names id a, but HOST,HOST answers",
            ),
            ("host b1.corp.example.", "host HOST."),
            ("broker [fd00::1]:9092: reset", "broker HOST: reset"),
            ("broker fd00::1:9092: reset", "broker HOST: reset"),
            ("(does 10.0.0.7 expect TLS?)", "(does HOST expect TLS?)"),
            ("broker new.corp.example:9093: reset", "broker HOST: reset"),
            ("topic kafka-x of mykafka: 30s", "topic kafka-x of mykafka: 30s"),
        ] {
            assert_eq!(private.hide(text), hidden);
        }
    }

    #[test]
    fn names_of_certificates_and_where_files_lie_are_hidden() {
        let mut private = private(&["b1.corp.example:9092"]);
        let store = |content| Some(Store { content, password: None, key_password: None });
        let tls = Tls {
            trust: store(StoreContent::PemFile("/srv/me/ca.pem".into())),
            identity: store(StoreContent::Pkcs12File("/srv/me/me.p12".into())),
            hostname_check: true,
            versions: Vec::new(),
            ciphers: Vec::new(),
        };
        let security = Security { protocol: Protocol::Ssl, tls: Some(tls), sasl: None };
        let exec = SecretRef::Exec(vec!["vault-of-corp".to_owned(), "read".to_owned()]);
        let file = PathBuf::from("/srv/me/client.properties");
        let property = SecretRef::Property { file, name: "ssl.key.password".to_owned(), option: None };
        let secrets = [("a", exec.clone()), ("b", SecretRef::File("/srv/me/token".into())), ("c", property)];
        private.add_places(&security, &secrets.map(|(name, reference)| (name.to_owned(), reference)).into());
        for (text, hidden) in [
            (
                "the broker's certificate is for b7.corp.example, 10.0.0.1, and not for the host \"b9.corp.example\" \
                 that was dialled; so",
                "the broker's certificate is for HOST, and not for the host \"HOST\" that was dialled; so",
            ),
            (
                "it is: the broker's certificate is for b7.corp.exa\nx",
                "it is: the broker's certificate is for HOST\nx",
            ),
            ("ssl.truststore: /srv/me/ca.pem cannot be read", "ssl.truststore: PATH cannot be read"),
            ("ssl.keystore: /srv/me/me.p12: no", "ssl.keystore: PATH: no"),
            (&format!("the token: {exec} ended with 1"), "the token: command ended with 1"),
            ("file /srv/me/token is empty", "file PATH is empty"),
            ("`a` of file /srv/me/client.properties is gone", "`a` of file PATH is gone"),
        ] {
            assert_eq!(private.hide(text), hidden);
        }
    }

    #[test]
    fn without_a_target_nothing_is_hidden() {
        let text = "broker-0 at 127.0.0.1:4711 was not ready";
        assert_eq!(Private::default().hide(text), text);
    }
}
