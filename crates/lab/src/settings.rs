//! Settings in force on the brokers of a system and on the topics of a trial, as brokers report them: two sides of a
//! comparison are to differ in what was requested and in nothing else. And which version an attached cluster runs.

use crate::private::Private;
use kdyno_kafka::admin::{
    Access, Admin, AdminError, ConfigOf, FeatureInfo, SettingInfo, SettingSource, TopicInfo,
};
use kdyno_model::event::Subject;
use kdyno_model::identity::says_who;
use kdyno_model::plan::TopicPlan;
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce, cluster_fact};
use kdyno_model::version::{line_of_metadata_level, line_of_protocol};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Settings of each broker, topic or load item.
pub(crate) type SettingsBySubject = BTreeMap<Subject, SettingsInForce>;

/// What is in force on a system.
#[derive(Debug, Default)]
pub(crate) struct SystemInForce {
    pub(crate) brokers: SettingsBySubject,
    /// Settings of the topics of the trial that runs on it.
    pub(crate) topics: SettingsBySubject,
    /// Which version its brokers run, where nothing else says so.
    pub(crate) facts: BTreeMap<String, String>,
    /// What is missing, and why: of its brokers, and of the topics of the trial that runs on it.
    pub(crate) unread: Vec<UnreadSettings>,
    pub(crate) unread_topics: Vec<UnreadSettings>,
}

/// Settings that could not be read.
#[derive(Debug, Clone)]
pub(crate) struct UnreadSettings {
    pub(crate) subject: Subject,
    /// The sentence that is printed.
    pub(crate) why: String,
}

impl UnreadSettings {
    fn brokers(why: &AdminError) -> Self {
        let why = format!("the brokers' settings are not kept with the run: {why}");
        Self { subject: Subject::Brokers, why }
    }

    fn topics(why: &AdminError, names: &BTreeMap<String, String>) -> Self {
        let why = format!("the topics' settings are not kept with the run: {}", without_names(why, names));
        Self { subject: Subject::Brokers, why }
    }

    fn topic(address: &str, why: &AdminError, names: &BTreeMap<String, String>) -> Self {
        let why = without_names(why, names);
        let why = format!("settings of topic `{address}` are not kept with the run: {why}");
        Self { subject: Subject::Topic(address.to_owned()), why }
    }
}

/// What went wrong, with topics under their addresses in the scenario: no run file has the name of somebody else's topic.
fn without_names(why: &AdminError, names: &BTreeMap<String, String>) -> String {
    // If one of two names begins with the other, the longer one goes first.
    let mut names: Vec<(&String, &String)> = names.iter().collect();
    names.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    names.into_iter().fold(why.to_string(), |text, (address, name)| text.replace(name.as_str(), address))
}

/// Longest wait for an answer; a quiet broker takes some 10 ms.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Settings kept of a broker, topic or client at most: Kafka 4.1 has some 250 of brokers.
const SETTINGS_MAX: usize = 1000;

/// Characters kept of a value at most.
const VALUE_CHARACTERS_MAX: usize = 1000;

/// Topics of a trial whose settings are requested, the first ones.
const TOPICS_MAX: usize = 100;

/// Name of the feature whose level says what a broker runs.
const METADATA_VERSION: &str = "metadata.version";
/// Name of the setting whose default says it for brokers without that feature.
const PROTOCOL_VERSION: &str = "inter.broker.protocol.version";

/// Asks each broker of the cluster. Settings without a value, as sensitive ones, are left out, and so is a broker whose
/// settings are those of the first one. An attached cluster is also asked for its version, which it reports also to
/// users who may not see its settings.
pub(crate) fn read(access: &Access, prefix: &str, is_attached: bool, private: &Private) -> SystemInForce {
    let (mut reported, mut features, mut brokers) = (Vec::new(), Vec::new(), 0);
    let mut ask = || -> Result<(), AdminError> {
        let mut admin = admin(access, prefix)?;
        let all = admin.cluster()?.brokers;
        brokers = all.len();
        for broker in all.iter().filter(|_| is_attached) {
            features.push(admin.features(broker.id)?);
        }
        for broker in &all {
            let settings = admin.describe_configs(ConfigOf::Broker(broker.id))?;
            reported.push((Subject::Broker(broker.id.unsigned_abs()), kept(settings, private)));
        }
        Ok(())
    };
    let unread = ask().err().map(|why| UnreadSettings::brokers(&why));
    if unread.is_some() {
        // Settings of some brokers alone would look like those of all.
        reported.clear();
        if features.len() < brokers {
            features.clear();
        }
    }
    let facts = if is_attached { version_facts(&features, &reported) } else { BTreeMap::new() };
    SystemInForce {
        brokers: distinct(reported),
        topics: SettingsBySubject::new(),
        facts,
        unread: unread.into_iter().collect(),
        unread_topics: Vec::new(),
    }
}

/// Asks for the settings of topics, by their addresses in the scenario, with how many partitions and replicas they have.
pub(crate) fn of_topics(
    access: &Access,
    prefix: &str,
    names: &BTreeMap<String, String>,
    private: &Private,
) -> (SettingsBySubject, Vec<UnreadSettings>) {
    let (mut found, mut unread) = (SettingsBySubject::new(), Vec::new());
    let asked: Vec<&str> = names.values().take(TOPICS_MAX).map(String::as_str).collect();
    let answered = admin(access, prefix).and_then(|mut admin| Ok((admin.topics(Some(&asked))?, admin)));
    let (infos, mut admin) = match answered {
        Ok(answered) => answered,
        Err(why) => return (found, vec![UnreadSettings::topics(&why, names)]),
    };
    for (address, name) in names.iter().take(TOPICS_MAX) {
        let mut settings = match admin.describe_configs(ConfigOf::Topic(name)) {
            Ok(reported) => kept(reported, private),
            // Who does not answer would be waited for once more for each topic.
            Err(why) if why.code().is_none() => return (found, vec![UnreadSettings::topics(&why, names)]),
            Err(why) => {
                unread.push(UnreadSettings::topic(address, &why, names));
                SettingsInForce::new()
            }
        };
        if let Some(info) = infos.iter().find(|info| info.name == *name) {
            settings.extend(shape(info));
        }
        found.insert(Subject::Topic(address.clone()), settings);
    }
    (found, unread)
}

/// What clients of a load item reported of themselves, bounded and without what says who they are and how a cluster is
/// reached.
pub(crate) fn of_client(settings: SettingsInForce, private: &Private) -> SettingsInForce {
    let shown = |text: String| shown(&text, private);
    let settings = settings.into_iter().filter(|(name, _)| !is_of_connection(name));
    let settings = settings.map(|(name, setting)| {
        let default = setting.default.map(shown);
        (name, SettingInForce { value: shown(setting.value), default, ..setting })
    });
    settings.take(SETTINGS_MAX).collect()
}

fn admin(access: &Access, prefix: &str) -> Result<Admin, AdminError> {
    access.admin(&format!("{prefix}admin"), ANSWER_TIME_MAX)
}

/// Whether a client's setting says who it is or how its cluster is reached, which the plan has without addresses.
fn is_of_connection(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "bootstrap.servers",
        "client.id",
        "group.id",
        "group.instance.id",
        "transactional.id",
        "client.rack",
    ];
    const KEPT: [&str; 4] =
        ["sasl.mechanism", "ssl.protocol", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm"];
    let is_secured = name.starts_with("ssl.") || name.starts_with("sasl.");
    NAMES.contains(&name) || says_who(name) || (is_secured && !KEPT.contains(&name))
}

fn shown(text: &str, private: &Private) -> String {
    private.hide(text).chars().take(VALUE_CHARACTERS_MAX).collect()
}

/// What is kept of a broker's or a topic's settings.
fn kept(settings: BTreeMap<String, SettingInfo>, private: &Private) -> SettingsInForce {
    let kept = settings.into_iter().filter_map(|(name, setting)| {
        let value = setting.value.filter(|_| !says_who(&name))?;
        let origin = match setting.source {
            SettingSource::Default => SettingOrigin::Default,
            SettingSource::Static => SettingOrigin::Static,
            SettingSource::DynamicBroker | SettingSource::DynamicDefaultBroker => SettingOrigin::Dynamic,
            SettingSource::DynamicTopic => SettingOrigin::Topic,
            SettingSource::Unknown => SettingOrigin::Unknown,
        };
        let default = setting.default.map(|default| shown(&default, private));
        Some((name, SettingInForce::new(origin, shown(&value, private)).with_default(default)))
    });
    kept.take(SETTINGS_MAX).collect()
}

/// How many partitions and replicas a topic has.
fn shape(info: &TopicInfo) -> [(String, SettingInForce); 2] {
    let replicas = info.partitions.iter().map(|partition| partition.replicas.len()).max().unwrap_or(0);
    let shape = [(TopicPlan::PARTITIONS, info.partitions.len()), (TopicPlan::REPLICATION_FACTOR, replicas)];
    shape.map(|(name, count)| (name.to_owned(), SettingInForce::new(SettingOrigin::Topic, count.to_string())))
}

/// The first broker's settings, and those of each broker that has others; one broker may have set what is the default
/// of another.
fn distinct(reported: Vec<(Subject, SettingsInForce)>) -> SettingsBySubject {
    let values = |settings: &SettingsInForce| -> Vec<(String, String)> {
        settings.iter().map(|(name, setting)| (name.clone(), setting.value.clone())).collect()
    };
    let first = reported.first().map(|(_, settings)| values(settings)).unwrap_or_default();
    let mut reported = reported.into_iter();
    reported.next().into_iter().chain(reported.filter(|(_, settings)| values(settings) != first)).collect()
}

/// Which line of releases brokers run, and how that shows: by the highest level of `metadata.version` that each supports,
/// or, where brokers have no such feature, by the default of the protocol between them.
fn version_facts(
    features: &[Vec<FeatureInfo>],
    reported: &[(Subject, SettingsInForce)],
) -> BTreeMap<String, String> {
    let of_metadata = || features.iter().flatten().filter(|feature| feature.name == METADATA_VERSION);
    let mut found = BTreeMap::new();
    let levels: BTreeSet<i16> = of_metadata().filter_map(|feature| feature.supported_max).collect();
    let lines: BTreeSet<&str> = levels.iter().filter_map(|level| line_of_metadata_level(*level)).collect();
    let listed = |texts: Vec<String>| texts.join(", ");
    if !lines.is_empty() {
        let levels = listed(levels.iter().map(ToString::to_string).collect());
        let by = format!("the highest level of {METADATA_VERSION} that its brokers support: {levels}");
        found.insert(
            cluster_fact::KAFKA_VERSION.to_owned(),
            listed(lines.iter().map(ToString::to_string).collect()),
        );
        found.insert(cluster_fact::KAFKA_VERSION_BY.to_owned(), by);
    } else {
        let of_protocol = reported.iter().filter_map(|(_, settings)| settings.get(PROTOCOL_VERSION));
        let defaults: BTreeSet<String> = of_protocol
            .filter_map(|setting| match setting.origin {
                SettingOrigin::Default => Some(setting.value.clone()),
                _ => setting.default.clone(),
            })
            .collect();
        let lines: BTreeSet<String> = defaults.iter().filter_map(|value| line_of_protocol(value)).collect();
        if !lines.is_empty() {
            let defaults = listed(defaults.into_iter().collect());
            let by = format!("the default of {PROTOCOL_VERSION}: {defaults}");
            found.insert(cluster_fact::KAFKA_VERSION.to_owned(), listed(lines.into_iter().collect()));
            found.insert(cluster_fact::KAFKA_VERSION_BY.to_owned(), by);
        }
    }
    if let Some(level) = of_metadata().find_map(|feature| feature.finalized) {
        let line = line_of_metadata_level(level).map_or_else(String::new, |line| format!(" ({line})"));
        found.insert(cluster_fact::METADATA_VERSION.to_owned(), format!("{level}{line}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: Option<&str>) -> (String, SettingInfo) {
        let source = SettingSource::Static;
        let default = Some("8".to_owned());
        (name.to_owned(), SettingInfo { value: value.map(str::to_owned), known: true, source, default })
    }

    #[test]
    fn unset_and_identifying_values_are_dropped_and_long_ones_cut() {
        let long = "x".repeat(VALUE_CHARACTERS_MAX + 1);
        let settings = [
            setting("num.io.threads", Some("4")),
            setting("num.network.threads", Some("8")),
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
            [
                "num.io.threads",
                "num.network.threads",
                "principal.builder.class",
                "sasl.oauthbearer.jwks.endpoint.url"
            ]
        );
        assert_eq!(kept["principal.builder.class"].value.len(), VALUE_CHARACTERS_MAX);
        assert!(!kept["sasl.oauthbearer.jwks.endpoint.url"].value.contains("corp"), "{kept:?}");
        let is = SettingInForce::new(SettingOrigin::Static, "4").with_default(Some("8".to_owned()));
        assert_eq!(kept["num.io.threads"], is);
        assert_eq!(kept["num.network.threads"].default, None, "it has the default's value");
    }

    #[test]
    fn only_as_many_settings_are_kept_as_a_broker_has() {
        let many = (0..SETTINGS_MAX + 5).map(|n| setting(&format!("s{n}"), Some("1"))).collect();
        assert_eq!(kept(many, &Private::default()).len(), SETTINGS_MAX);
    }

    #[test]
    fn client_settings_that_identify_a_cluster_are_dropped() {
        let names = [
            "acks",
            "bootstrap.servers",
            "client.id",
            "sasl.mechanism",
            "sasl.oauthbearer.token.endpoint.url",
            "ssl.keystore.location",
            "ssl.protocol",
            "transactional.id",
        ];
        let reported = names.map(|name| (name.to_owned(), SettingInForce::new(SettingOrigin::Client, "x")));
        let kept = of_client(reported.into(), &Private::default());
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["acks", "sasl.mechanism", "ssl.protocol"]);
    }

    #[test]
    fn brokers_that_are_like_the_first_are_not_repeated() {
        let with =
            |id, threads| (Subject::Broker(id), BTreeMap::from([("num.io.threads".to_owned(), threads)]));
        let of = |id, threads: &str| with(id, SettingInForce::new(SettingOrigin::Default, threads));
        let same = with(4, SettingInForce::new(SettingOrigin::Static, "8"));
        let kept = distinct(vec![of(1, "8"), of(2, "8"), of(3, "4"), same]);
        assert_eq!(kept, BTreeMap::from([of(1, "8"), of(3, "4")]));
        assert_eq!(distinct(Vec::new()), SettingsBySubject::new());
    }

    #[test]
    fn the_brokers_version_follows_from_features_or_a_default() {
        let feature = |supported_max, finalized| {
            vec![FeatureInfo { name: METADATA_VERSION.to_owned(), supported_max, finalized }]
        };
        let facts = version_facts(&[feature(Some(27), Some(25)), feature(Some(29), Some(25))], &[]);
        assert_eq!(facts[cluster_fact::KAFKA_VERSION], "4.1, 4.2", "in the middle of an upgrade");
        assert!(facts[cluster_fact::KAFKA_VERSION_BY].ends_with("support: 27, 29"), "{facts:?}");
        assert_eq!(facts[cluster_fact::METADATA_VERSION], "25 (4.0)");
        let protocol = |setting| {
            let settings = BTreeMap::from([(PROTOCOL_VERSION.to_owned(), setting)]);
            version_facts(&[Vec::new()], &[(Subject::Broker(0), settings)])
        };
        let default = SettingInForce::new(SettingOrigin::Default, "2.8-IV1");
        assert_eq!(protocol(default)[cluster_fact::KAFKA_VERSION], "2.8");
        let set =
            SettingInForce::new(SettingOrigin::Static, "2.7-IV2").with_default(Some("2.8-IV1".to_owned()));
        assert_eq!(
            protocol(set)[cluster_fact::KAFKA_VERSION],
            "2.8",
            "what it runs, not what it was told to speak"
        );
        assert_eq!(version_facts(&[Vec::new()], &[]), BTreeMap::new());
    }
}
