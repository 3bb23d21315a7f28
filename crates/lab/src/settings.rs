//! Settings in force on the brokers of a system, as these tell them: two sides of a comparison are to differ in what
//! was asked for and in nothing else.

use crate::private::Private;
use kdyno_kafka::admin::{Access, AdminError, ConfigOf, SettingInfo, SettingSource};
use kdyno_model::event::Subject;
use kdyno_model::identity::says_who;
use kdyno_model::run::{BrokerSettings, SettingInForce};
use std::collections::BTreeMap;
use std::time::Duration;

/// Of each broker.
pub(crate) type Settings = BTreeMap<Subject, BrokerSettings>;

/// Longest wait for an answer; a quiet broker takes some 10 ms.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Settings kept of a broker at most: Kafka 4.1 has some 250.
const SETTINGS_MAX: usize = 1000;

/// Characters kept of a value at most.
const VALUE_CHARACTERS_MAX: usize = 1000;

/// Asks each broker of the cluster. Settings without a value, as sensitive ones, are left out, and so is a broker whose
/// settings are those of the first one.
pub(crate) fn read(access: &Access, prefix: &str, private: &Private) -> Result<Settings, AdminError> {
    let mut admin = access.admin(&format!("{prefix}admin"), ANSWER_TIME_MAX)?;
    let mut told = Vec::new();
    for broker in admin.cluster()?.brokers {
        let settings = admin.describe_configs(ConfigOf::Broker(broker.id))?;
        told.push((Subject::Broker(broker.id.unsigned_abs()), kept(settings, private)));
    }
    Ok(distinct(told))
}

/// What is kept of a broker's settings.
fn kept(settings: BTreeMap<String, SettingInfo>, private: &Private) -> BrokerSettings {
    let kept = settings.into_iter().filter_map(|(name, setting)| {
        let value = setting.value.filter(|_| !says_who(&name))?;
        let value = private.hide(&value).chars().take(VALUE_CHARACTERS_MAX).collect();
        let in_force = match setting.source {
            SettingSource::Default => SettingInForce::Default(value),
            SettingSource::Static => SettingInForce::Static(value),
            SettingSource::DynamicTopic
            | SettingSource::DynamicBroker
            | SettingSource::DynamicDefaultBroker => SettingInForce::Dynamic(value),
            SettingSource::Unknown => SettingInForce::Unknown(value),
        };
        Some((name, in_force))
    });
    kept.take(SETTINGS_MAX).collect()
}

/// The first broker's settings, and those of each broker that has others; one may have been told what is the default of
/// another.
fn distinct(told: Vec<(Subject, BrokerSettings)>) -> Settings {
    let values = |settings: &BrokerSettings| -> Vec<(String, String)> {
        settings.iter().map(|(name, setting)| (name.clone(), setting.value().to_owned())).collect()
    };
    let first = told.first().map(|(_, settings)| values(settings)).unwrap_or_default();
    let mut told = told.into_iter();
    told.next().into_iter().chain(told.filter(|(_, settings)| values(settings) != first)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: Option<&str>) -> (String, SettingInfo) {
        let source = SettingSource::Static;
        (name.to_owned(), SettingInfo { value: value.map(str::to_owned), known: true, source })
    }

    #[test]
    fn what_has_no_value_or_names_the_broker_is_left_out_and_long_values_are_cut() {
        let long = "x".repeat(VALUE_CHARACTERS_MAX + 1);
        let settings = [
            setting("num.io.threads", Some("8")),
            setting("ssl.key.password", None),
            setting("advertised.listeners", Some("PLAINTEXT://b1.corp.example:9092")),
            setting("sasl.oauthbearer.jwks.endpoint.url", Some("b1.corp.example:9092")),
            setting("principal.builder.class", Some(&long)),
        ];
        let mut private = Private::default();
        private.add(["b1.corp.example:9092".to_owned()]);
        let kept = kept(settings.into_iter().collect(), &private);
        let names: Vec<&str> = kept.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["num.io.threads", "principal.builder.class", "sasl.oauthbearer.jwks.endpoint.url"]
        );
        assert_eq!(kept["principal.builder.class"].value().len(), VALUE_CHARACTERS_MAX);
        assert!(!kept["sasl.oauthbearer.jwks.endpoint.url"].value().contains("corp"), "{kept:?}");
        assert_eq!(kept["num.io.threads"], SettingInForce::Static("8".to_owned()));
    }

    #[test]
    fn only_as_many_settings_are_kept_as_a_broker_has() {
        let many = (0..SETTINGS_MAX + 5).map(|n| setting(&format!("s{n}"), Some("1"))).collect();
        assert_eq!(kept(many, &Private::default()).len(), SETTINGS_MAX);
    }

    #[test]
    fn brokers_that_are_like_the_first_are_not_repeated() {
        let with =
            |id, threads| (Subject::Broker(id), BTreeMap::from([("num.io.threads".to_owned(), threads)]));
        let of = |id, threads: &str| with(id, SettingInForce::Default(threads.to_owned()));
        let same = with(4, SettingInForce::Static("8".to_owned()));
        let kept = distinct(vec![of(1, "8"), of(2, "8"), of(3, "4"), same]);
        assert_eq!(kept, BTreeMap::from([of(1, "8"), of(3, "4")]));
        assert_eq!(distinct(Vec::new()), Settings::new());
    }
}
