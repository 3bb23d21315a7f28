//! What was really in force: settings of brokers, topics and clients against their defaults, Java and what it was
//! started with. Trials that ran with the same are reported together.

use crate::grid::shorten;
use crate::input::{ReportInput, trial_name};
use crate::system;
use crate::table::Table;
use crate::units::plural;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::plan::Plan;
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce, TrialStart, cluster_fact};
use kdyno_model::settings::jvm_flags;
use kdyno_model::trial::TrialId;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a value at most; the JSON document has them whole.
const VALUE_COLUMNS_MAX: usize = 48;

/// Differences between groups of trials that are named.
const DIFFERENCES_MAX: usize = 30;

/// What was in force in trials that ran with the same.
pub(crate) struct TrialsInForce<'a> {
    /// Which trials these are, in words.
    pub(crate) concerns: String,
    pub(crate) trials: Vec<TrialId>,
    /// The version of Kafka and how that is known, in words.
    pub(crate) kafka: Option<String>,
    /// Each Java: whose, its version, its options.
    pub(crate) javas: Vec<JavaInForce>,
    /// Settings, by whom they are of.
    pub(crate) settings: &'a BTreeMap<Subject, SettingsInForce>,
}

/// A Java that ran.
#[derive(PartialEq, Eq)]
pub(crate) struct JavaInForce {
    pub(crate) whose: String,
    pub(crate) version: String,
    pub(crate) options: String,
}

/// All of a run, each once; trials that only conditioned a cluster are left out.
pub(crate) fn all<'a>(input: &ReportInput<'a>) -> Vec<TrialsInForce<'a>> {
    let mut groups: Vec<(TrialsInForce<'a>, Vec<String>)> = Vec::new();
    for start in input.trials.iter().filter(|start| !start.trial.is_conditioning()) {
        let (kafka, javas) = (kafka(start), javas(start));
        let name = trial_name(&start.trial);
        let is_same =
            |of: &TrialsInForce<'_>| *of.settings == start.settings && of.kafka == kafka && of.javas == javas;
        match groups.iter_mut().find(|(of, _)| is_same(of)) {
            Some((of, names)) => {
                of.trials.push(start.trial.id);
                names.push(name);
            }
            None => {
                let (concerns, trials) = (String::new(), vec![start.trial.id]);
                let of = TrialsInForce { concerns, trials, kafka, javas, settings: &start.settings };
                groups.push((of, vec![name]));
            }
        }
    }
    let is_one = groups.len() == 1;
    let reported = |(of, names): (TrialsInForce<'a>, Vec<String>)| {
        let concerns = if is_one { "all trials".to_owned() } else { names.join(", ") };
        TrialsInForce { concerns, ..of }
    };
    groups.into_iter().map(reported).collect()
}

fn kafka(start: &TrialStart) -> Option<String> {
    let fact = |name: &str| start.cluster.get(name).map(String::as_str);
    if let Some(version) = fact("kafka") {
        return Some(version.to_owned());
    }
    let declared = fact("declared.kafka").or_else(|| fact("declared.version"));
    let declared = declared.map(|version| format!("{version} (declared)"));
    let found = fact(cluster_fact::KAFKA_VERSION).map(|version| {
        let by = fact(cluster_fact::KAFKA_VERSION_BY).unwrap_or_default();
        let works_with = fact(cluster_fact::METADATA_VERSION)
            .map_or_else(String::new, |level| format!("; the cluster works with metadata.version {level}"));
        format!("{version}, by {by}{works_with}")
    });
    let parts: Vec<String> = declared.into_iter().chain(found).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn javas(start: &TrialStart) -> Vec<JavaInForce> {
    let fact = |name: String| start.cluster.get(&name).cloned().unwrap_or_default();
    let mut found: Vec<JavaInForce> = Vec::new();
    for (subject, line) in &start.command_lines {
        let java = JavaInForce {
            whose: subject.to_string(),
            version: fact("java".to_owned()),
            options: jvm_flags(line).join(" "),
        };
        // Processes that were started alike are listed once.
        match found.iter_mut().find(|of| (&of.version, &of.options) == (&java.version, &java.options)) {
            Some(alike) => alike.whose = format!("{}, {}", alike.whose, java.whose),
            None => found.push(java),
        }
    }
    let items = start.trial.effective.load.iter().filter(|(_, item)| item.driver.as_java().is_some());
    let of_client = |name: &str, what: &str| fact(cluster_fact::java_client(name, what));
    found.extend(items.map(|(name, _)| JavaInForce {
        whose: format!("{name} (kafka-clients {})", of_client(name, "version")),
        version: of_client(name, "java"),
        options: of_client(name, "options"),
    }));
    found
}

/// Whose settings they are, in words.
pub(crate) fn whose(subject: &Subject) -> String {
    match subject {
        Subject::Topic(name) => format!("topic {name}"),
        Subject::Item(name) => format!("clients of {name}"),
        other => other.to_string(),
    }
}

/// Which settings the clusters did not report, and why, each once.
pub(crate) fn unread<'a>(input: &ReportInput<'a>) -> BTreeSet<&'a str> {
    input.details_of(&[EventKind::SettingsNotRead])
}

/// What of the brokers' own file was not given to them, and why, a sentence for each cluster where they differ.
pub(crate) fn ignored(plan: &Plan) -> BTreeSet<String> {
    let clusters = plan.every_case().filter_map(|case| case.system.cluster());
    clusters
        .filter_map(system::ignored)
        .map(|names| format!("Ignored of the brokers' file: {names}."))
        .collect()
}

/// How many settings are listed of one, and how many of these are not the defaults.
pub(crate) fn count(settings: &SettingsInForce) -> String {
    let [all, others] = [settings.len(), settings.values().filter(|one| is_other(one)).count()];
    let all = plural(u32::try_from(all).unwrap_or(u32::MAX), "setting");
    if others == 0 {
        format!("{all}, all of them defaults")
    } else {
        format!("{all}, {others} of them not the default")
    }
}

/// Whether a setting is worth a row: it was set, or is not known to be a default.
pub(crate) fn is_other(setting: &SettingInForce) -> bool {
    setting.origin != SettingOrigin::Default
}

/// The settings that are not the defaults.
pub(crate) fn table(settings: &SettingsInForce) -> Table {
    let rows = settings.iter().filter(|(_, setting)| is_other(setting)).map(|(name, setting)| {
        let default = setting.default.as_deref().map_or_else(String::new, short);
        vec![
            name.as_str().into(),
            short(&setting.value).into(),
            default.into(),
            origin(setting.origin).into(),
        ]
    });
    let head = [("setting", false), ("value", false), ("default", false), ("set", false)];
    Table::new(&head, rows.collect())
}

fn short(text: &str) -> String {
    shorten(text, VALUE_COLUMNS_MAX)
}

fn origin(origin: SettingOrigin) -> &'static str {
    match origin {
        SettingOrigin::Default => "nowhere",
        SettingOrigin::Static => "when brokers started",
        SettingOrigin::Dynamic => "while brokers ran",
        SettingOrigin::Topic => "for the topic",
        SettingOrigin::Client => "for the client",
        SettingOrigin::Derived => "by the client itself",
        SettingOrigin::Unknown => "unknown",
    }
}

/// In what a group of trials differs from the first one, one line each and how many more; `None`: it is the first.
pub(crate) fn differences(groups: &[TrialsInForce<'_>], index: usize) -> Option<(Vec<String>, usize)> {
    let (first, this) = (groups.first().filter(|_| index > 0)?, groups.get(index)?);
    let mut lines = Vec::new();
    if first.kafka != this.kafka {
        let shown = |of: &TrialsInForce<'_>| of.kafka.clone().unwrap_or_else(|| "-".to_owned());
        lines.push(format!("Kafka ({} → {})", shown(first), shown(this)));
    }
    if first.javas != this.javas {
        lines.push("Java, as above".to_owned());
    }
    let is_reported =
        |subject: &&Subject| first.settings.contains_key(*subject) != this.settings.contains_key(*subject);
    let subjects: std::collections::BTreeSet<&Subject> =
        first.settings.keys().chain(this.settings.keys()).filter(is_reported).collect();
    lines.extend(subjects.into_iter().map(|subject| format!("{}, known of one of both", whose(subject))));
    // What is set first, then what differs by its default.
    let mut defaults = Vec::new();
    for (subject, settings) in this.settings {
        let Some(others) = first.settings.get(subject) else { continue };
        let names: std::collections::BTreeSet<&String> = settings.keys().chain(others.keys()).collect();
        for name in names {
            let (a, b) = (others.get(name), settings.get(name));
            if a.map(|one| (&one.value, one.origin)) == b.map(|one| (&one.value, one.origin)) {
                continue;
            }
            if let (Some(a), Some(b)) = (a, b)
                && a.value == b.value
            {
                lines.push(format!(
                    "where {name} of {} is set ({} → {})",
                    whose(subject),
                    origin(a.origin),
                    origin(b.origin)
                ));
                continue;
            }
            let shown =
                |one: Option<&SettingInForce>| one.map_or_else(|| "-".to_owned(), |one| short(&one.value));
            let line = format!("{name} of {} ({} → {})", whose(subject), shown(a), shown(b));
            if [a, b].iter().flatten().any(|one| one.is_set()) {
                lines.push(line)
            } else {
                defaults.push(line)
            }
        }
    }
    lines.extend(defaults.into_iter().map(|line| format!("{line}, by default")));
    let more = lines.len().saturating_sub(DIFFERENCES_MAX);
    lines.truncate(DIFFERENCES_MAX);
    Some((lines, more))
}
