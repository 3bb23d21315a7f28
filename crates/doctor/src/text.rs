//! What was found, for a terminal.

use crate::advice::{Advice, AdviceSeverity, AdviceStatus};
use crate::quote::plain;
use kdyno_model::grouped::by_key;
use std::fmt::Write;

/// Recommendations that are not followed, the weightiest first, then the names of those that are followed and of those
/// with an unknown state. Ends with a line that counts them.
#[must_use]
pub fn text(all: &[Advice]) -> String {
    let mut text = String::new();
    let mut open: Vec<&Advice> = of(all, AdviceStatus::NotFollowed).collect();
    open.sort_by_key(|advice| advice.severity);
    for severity in [AdviceSeverity::High, AdviceSeverity::Medium, AdviceSeverity::Low] {
        for advice in open.iter().filter(|advice| advice.severity == severity) {
            open_one(&mut text, advice);
        }
    }
    list(&mut text, "followed", all, AdviceStatus::Followed);
    list(&mut text, "not known here", all, AdviceStatus::Unknown);
    let count = |verdict| of(all, verdict).count();
    let high = open.iter().filter(|advice| advice.severity == AdviceSeverity::High).count();
    let _ = writeln!(
        text,
        "{} recommendations: {} not followed, {high} of them of high severity; {} followed; {} not known here",
        all.len(),
        open.len(),
        count(AdviceStatus::Followed),
        count(AdviceStatus::Unknown)
    );
    text
}

fn of(all: &[Advice], verdict: AdviceStatus) -> impl Iterator<Item = &Advice> {
    all.iter().filter(move |advice| advice.verdict == verdict)
}

fn open_one(text: &mut String, advice: &Advice) {
    let Advice { severity, why, source, .. } = advice;
    let [of, setting, now, recommended] = advice.plain_words();
    let _ = writeln!(text, "{:<6}  {of}: {setting} is {now}; recommended: {recommended}", severity.word());
    let _ = writeln!(text, "        why: {why} ({source})");
    if let Some(change) = &advice.change {
        let how = if change.by_hand { "by hand" } else { "set" };
        let _ = writeln!(text, "        {how}: {}", plain(&change.apply));
    }
    text.push('\n');
}

/// Names of settings, those of one thing together.
fn list(text: &mut String, title: &str, all: &[Advice], verdict: AdviceStatus) {
    let names = by_key(of(all, verdict).map(|advice| (advice.of.as_str(), advice.setting.as_str())));
    if names.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    for (of, settings) in names {
        let _ = writeln!(text, "  {}: {}", plain(of), plain(&settings.join(", ")));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SettingChange, examine, observed, script};

    fn host() -> observed::Observed {
        let settings =
            [("vm.swappiness", "60"), ("vm.zone_reclaim_mode", "0"), ("open files (ulimit -n)", "1024")];
        let settings = settings.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        let host = observed::ObservedHost { settings, ..observed::ObservedHost::default() };
        observed::Observed { host: Some(host), ..observed::Observed::default() }
    }

    #[test]
    fn the_weightiest_comes_first_and_all_are_counted() {
        let all = examine(&host());
        let text = text(&all);
        let first = text.lines().next().expect("a line");
        assert!(
            first.starts_with("high    host: open files (ulimit -n) is 1024; recommended: at least 100000"),
            "{first}"
        );
        assert!(text.contains("followed:\n  host: vm.zone_reclaim_mode\n"), "{text}");
        let last = text.lines().last().expect("a line");
        let unknown = all.len() - 3;
        let all = all.len();
        assert_eq!(
            last,
            format!(
                "{all} recommendations: 2 not followed, 1 of them of high severity; 1 followed; {unknown} not known here"
            )
        );
    }

    #[test]
    fn a_script_has_commands_both_ways_and_the_rest_as_comments() {
        let script = script(&examine(&host()));
        for value in [1, 60] {
            let command =
                format!("\n    ( sysctl -w vm.swappiness={value} ) || fail 'host: vm.swappiness'\n");
            assert!(script.contains(&command), "{script}");
        }
        assert!(script.contains("\n#   host: open files (ulimit -n): in /etc/security/limits.d"), "{script}");
        assert!(!script.contains("zone_reclaim_mode"));
    }

    #[test]
    fn names_from_elsewhere_add_no_line_and_no_command() {
        let in_sync =
            observed::ObservedSetting { value: "1".to_owned(), level: observed::SettingLevel::Topic };
        let topic = observed::ObservedTopic {
            name: "a\nreboot\n'$(reboot)".to_owned(),
            replicas: 3,
            placement: Some(Vec::new()),
            settings: [("min.insync.replicas".to_owned(), in_sync)].into(),
            ..observed::ObservedTopic::default()
        };
        let cluster = observed::Cluster { bootstrap: "h:1".to_owned(), is_secured: false };
        let brokers = vec![observed::ObservedBroker::default()];
        let observed = observed::Observed { topics: vec![topic], brokers, cluster: Some(cluster), ..host() };
        let mut all = examine(&observed);
        // Labels of cases come before `of` only later.
        for advice in &mut all {
            advice.of = format!("note=a\nreboot: {}", advice.of);
        }
        assert!(!text(&all).lines().any(|line| line.starts_with("reboot")));
        let script = script(&all);
        // Within quotes a line may end, and a quote ends and begins them again.
        assert!(script.contains("--entity-name 'a\nreboot\n'\\''$(reboot)' --add-config"), "{script}");
        let comment =
            "# note=a\u{fffd}reboot: topic a\u{fffd}reboot\u{fffd}'$(reboot): min.insync.replicas: 1 -> 2\n";
        assert!(script.contains(comment), "{script}");
        assert!(!script.contains("note=a\n"), "{script}");
    }

    #[test]
    fn a_repeated_command_is_printed_once_and_no_undo_is_stated() {
        let mut advice = examine(&host()).into_iter().find(|advice| advice.change.is_some()).expect("one");
        advice.change = Some(SettingChange { apply: "elect".to_owned(), undo: None, by_hand: false });
        let script = script(&[advice.clone(), advice]);
        assert_eq!(script.matches("\n    ( elect ) || fail ").count(), 1, "{script}");
        assert!(script.contains("nothing to set back"), "{script}");
    }
}
