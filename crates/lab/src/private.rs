//! Addresses of attached clusters are private: a run file may be shown around. What is told to the user names
//! them; what is stored does not.

use kdyno_model::address::is_address;
use kdyno_model::plan::{Plan, SystemPlan};

/// Stands where an address or a host's name was.
const HOST: &str = "HOST";

/// What must not be stored. Empty for a plan without attached clusters: then nothing is hidden.
#[derive(Debug, Default)]
pub(crate) struct Private {
    /// Host names and addresses without ports, longest first.
    hosts: Vec<String>,
}

impl Private {
    /// The addresses that the plan's targets name.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut private = Self::default();
        for case in plan.every_case() {
            if let SystemPlan::Attached(attached) = &case.system {
                private.add(attached.bootstrap.iter().cloned());
            }
        }
        private
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

    /// The text without these hosts, and without whatever else looks like an address: a cluster may name brokers
    /// that nobody knew of before.
    pub(crate) fn hide(&self, text: &str) -> String {
        if self.hosts.is_empty() {
            return text.to_owned();
        }
        let mut hidden = text.to_owned();
        for host in &self.hosts {
            hidden = without(&hidden, host);
        }
        let breaks = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '`' | '\'' | '(' | ')');
        let words = hidden.split_inclusive(breaks).map(|word| {
            let bare = word.trim_end_matches(breaks).trim_end_matches([':', '.']);
            if is_address(bare) { format!("{HOST}{}", &word[bare.len()..]) } else { word.to_owned() }
        });
        words.collect()
    }
}

/// The text with [`HOST`] for each place where the host's name stands by itself, and is no part of a longer one.
fn without(text: &str, host: &str) -> String {
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
        kept.push_str(if longer { host } else { HOST });
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn without_a_target_nothing_is_hidden() {
        let text = "broker-0 at 127.0.0.1:4711 was not ready";
        assert_eq!(Private::default().hide(text), text);
    }
}
