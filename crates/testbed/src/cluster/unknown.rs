//! Settings of a scenario that the brokers do not know. A broker passes over a misspelt name without a word, so it
//! is asked once it is ready: it lists what it was given together with what it knows.

use kdyno_kafka::admin::{Access, ConfigOf, Result, SettingInfo};
use kdyno_model::words::{nearest, quoted};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Longest wait for the answer of a broker that is ready; a quiet one takes some 10 ms.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// A setting that the brokers were given and do not know. Printed, it is a lowercase sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSetting {
    /// Its name, as given.
    pub name: String,
    /// The known name that looks most like it, if one does.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = quoted(&self.name);
        write!(f, "the brokers know no setting {name}; it has no effect unless a plugin of theirs reads it")?;
        match &self.nearest {
            Some(nearest) => write!(f, " (the nearest name they know: {})", quoted(nearest)),
            None => Ok(()),
        }
    }
}

/// Asks a broker of a cluster that is ready which of the given settings it does not know. All brokers have the same
/// release and were given the same, so one speaks for them. One that does not answer is no reason to end a cluster
/// that works: the error is a sentence that says that it was not looked up.
pub(super) fn find(
    access: &Access,
    broker: u32,
    given: &BTreeMap<String, String>,
) -> std::result::Result<Vec<UnknownSetting>, String> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let reported = reported(access, broker).map_err(|error| {
        format!(
            "the brokers did not report which settings they know, so a misspelt one would go unnoticed: {error}"
        )
    })?;
    Ok(among(given.keys(), &reported))
}

fn reported(access: &Access, broker: u32) -> Result<BTreeMap<String, SettingInfo>> {
    let id = i32::try_from(broker).unwrap_or(i32::MAX);
    access.admin("kdyno-testbed", ANSWER_TIME_MAX)?.describe_configs(ConfigOf::Broker(id))
}

/// The given names that the broker says it does not know. A name that it does not list is not judged.
fn among<'a>(
    given: impl Iterator<Item = &'a String>,
    reported: &BTreeMap<String, SettingInfo>,
) -> Vec<UnknownSetting> {
    let known = || reported.iter().filter(|(_, setting)| setting.known).map(|(name, _)| name.as_str());
    given
        .filter(|name| reported.get(*name).is_some_and(|setting| !setting.known))
        .map(|name| UnknownSetting {
            name: name.clone(),
            nearest: nearest(name, known()).map(str::to_string),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::admin::SettingSource;

    fn reported(settings: &[(&str, bool)]) -> BTreeMap<String, SettingInfo> {
        let info = |known| SettingInfo { value: None, known, source: SettingSource::Static, default: None };
        settings.iter().map(|(name, known)| (name.to_string(), info(*known))).collect()
    }

    #[test]
    fn a_silent_broker_is_reported_and_a_needless_question_skipped() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let unreachable = Access::plaintext(vec![free.local_addr().expect("its address").to_string()]);
        drop(free);
        assert_eq!(find(&unreachable, 0, &BTreeMap::new()), Ok(Vec::new()));
        let given = BTreeMap::from([("num.io.thread".to_string(), "16".to_string())]);
        let why = find(&unreachable, 0, &given).expect_err("nobody answers");
        assert!(why.starts_with("the brokers did not report which settings they know"), "{why}");
    }

    #[test]
    fn an_unknown_setting_is_named_with_the_nearest_known_one() {
        let reported = reported(&[
            ("log.retention.hours", true),
            ("num.io.thread", false),
            ("num.io.threadz", false),
            ("num.io.threads", true),
            ("zzz", false),
        ]);
        let given = ["log.retention.hours", "not.listed", "num.io.thread", "zzz"].map(String::from);
        let found = among(given.iter(), &reported);
        let reported: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.nearest.as_deref())).collect();
        assert_eq!(reported, [("num.io.thread", Some("num.io.threads")), ("zzz", None)]);
        assert_eq!(
            found[0].to_string(),
            "the brokers know no setting `num.io.thread`; it has no effect unless a plugin of theirs reads it \
             (the nearest name they know: `num.io.threads`)"
        );
        assert!(found[1].to_string().ends_with("plugin of theirs reads it"), "{}", found[1]);
    }
}
