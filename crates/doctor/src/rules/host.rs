//! The host: kernel, limits of processes, processors.

use super::{Reason, advice, source};
use crate::advice::AdviceSeverity::{High, Low, Medium};
use crate::advice::{Advice, SettingChange};
use crate::expect::Expect;
use crate::observed::ObservedHost;
use crate::quote::quoted;
use kdyno_model::grouped::by_key;

/// Where a setting of the host is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostSource {
    /// A kernel parameter, by the name that `sysctl` has for it.
    Sysctl,
    /// Files of one value, or of several with the one in force in brackets, as a shell's pattern: one for each processor,
    /// or one.
    Files(&'static str),
    /// `RLIMIT_NOFILE` of this process, in its highest form.
    OpenFiles,
    /// `RLIMIT_MEMLOCK` of this process, bytes.
    LockedMemory,
    /// `RLIMIT_NPROC` of this process.
    Processes,
    /// Swap space, bytes.
    SwapBytes,
    /// Profile of the tuning daemon `tuned`.
    TunedProfile,
}

/// A recommended setting.
struct HostRule {
    setting: &'static str,
    place: HostSource,
    expect: Expect,
    reason: Reason,
}

const fn rule(
    setting: &'static str,
    place: HostSource,
    expect: Expect,
    severity: crate::AdviceSeverity,
    why: &'static str,
    source: &'static str,
) -> HostRule {
    HostRule { setting, place, expect, reason: Reason { severity, why, source } }
}

const GOVERNOR: HostSource = HostSource::Files("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
const ENERGY_BIAS: HostSource = HostSource::Files("/sys/devices/system/cpu/cpu*/power/energy_perf_bias");
const DEFRAG: HostSource = HostSource::Files("/sys/kernel/mm/transparent_hugepage/defrag");

const BUFFER: &str = "lets brokers and clients ask for socket buffers that fill a fast or distant network";
const KEEPALIVE: &str = "a peer that is gone is noticed within two minutes, not hours";

const RULES: &[HostRule] = &[
    // The first: its profile sets some of the others, which have the last word then.
    rule(
        "tuned profile",
        HostSource::TunedProfile,
        Expect::Is("latency-performance"),
        Low,
        "keeps CPUs out of deep sleep, from which they wake up late",
        source::INTEL,
    ),
    rule(
        "open files (ulimit -n)",
        HostSource::OpenFiles,
        Expect::AtLeast(100_000),
        High,
        "a broker has files open for each log segment and each connection, and fails when it gets no more; \
         Intel's guide has 1048576",
        source::KAFKA_HOST,
    ),
    rule(
        "processes (ulimit -u)",
        HostSource::Processes,
        Expect::AtLeast(32_768),
        Medium,
        "threads count as processes, and brokers and clients have hundreds",
        source::INTEL,
    ),
    rule(
        "locked memory (ulimit -l)",
        HostSource::LockedMemory,
        Expect::AtLeast(u64::MAX),
        Low,
        "lets a JVM keep its heap in memory",
        source::INTEL,
    ),
    rule(
        "swap",
        HostSource::SwapBytes,
        Expect::AtMost(0),
        Medium,
        "a heap that is swapped out stops its broker for seconds",
        source::INTEL,
    ),
    rule(
        SWAPPINESS,
        HostSource::Sysctl,
        Expect::AtMost(1),
        Low,
        "where swap is on, the page cache must not push programs out: brokers read and write through it",
        source::CANONICAL,
    ),
    rule(
        DIRTY_BYTES,
        HostSource::Sysctl,
        Expect::UpTo(400_000_000),
        Medium,
        "the kernel begins to write early and evenly; a share of a large memory gathers gigabytes, and their write-back \
         shows in the high percentiles",
        source::INTEL,
    ),
    rule(
        "vm.max_map_count",
        HostSource::Sysctl,
        Expect::AtLeast(262_144),
        Low,
        "a log segment takes two map areas, and a broker that gets no more of them fails; 262144 serve 130,000 segments",
        source::KAFKA_HOST,
    ),
    rule(
        "vm.zone_reclaim_mode",
        HostSource::Sysctl,
        Expect::Is("0"),
        Medium,
        "the page cache may use the memory of all NUMA nodes",
        source::INTEL,
    ),
    rule(
        "transparent_hugepage/defrag",
        DEFRAG,
        Expect::Is("never"),
        Low,
        "a thread that asks for memory does not wait until the kernel has made a huge page",
        source::INTEL,
    ),
    rule("net.core.rmem_max", HostSource::Sysctl, Expect::AtLeast(16_777_216), Medium, BUFFER, source::INTEL),
    rule("net.core.wmem_max", HostSource::Sysctl, Expect::AtLeast(16_777_216), Medium, BUFFER, source::INTEL),
    rule(
        "net.core.rmem_default",
        HostSource::Sysctl,
        Expect::AtLeast(16_777_216),
        Low,
        BUFFER,
        source::INTEL,
    ),
    rule(
        "net.core.wmem_default",
        HostSource::Sysctl,
        Expect::AtLeast(16_777_216),
        Low,
        BUFFER,
        source::INTEL,
    ),
    rule("net.core.optmem_max", HostSource::Sysctl, Expect::AtLeast(40_960), Low, BUFFER, source::INTEL),
    rule(
        "net.ipv4.tcp_rmem",
        HostSource::Sysctl,
        Expect::LastAtLeast("4096 87380 16777216"),
        Medium,
        BUFFER,
        source::INTEL,
    ),
    rule(
        "net.ipv4.tcp_wmem",
        HostSource::Sysctl,
        Expect::LastAtLeast("4096 65536 16777216"),
        Medium,
        BUFFER,
        source::INTEL,
    ),
    rule(
        "net.ipv4.tcp_keepalive_time",
        HostSource::Sysctl,
        Expect::AtMost(60),
        Low,
        KEEPALIVE,
        source::INTEL,
    ),
    rule(
        "net.ipv4.tcp_keepalive_probes",
        HostSource::Sysctl,
        Expect::AtMost(3),
        Low,
        KEEPALIVE,
        source::INTEL,
    ),
    rule(
        "net.ipv4.tcp_keepalive_intvl",
        HostSource::Sysctl,
        Expect::AtMost(10),
        Low,
        KEEPALIVE,
        source::INTEL,
    ),
    rule(
        "scaling_governor",
        GOVERNOR,
        Expect::Is("performance"),
        Medium,
        "CPUs that slow down in pauses wake up late, and two measurements meet two speeds",
        source::INTEL,
    ),
    rule(
        "energy_perf_bias",
        ENERGY_BIAS,
        Expect::Is("0"),
        Low,
        "0 is performance: the CPU does not trade speed for power",
        source::INTEL,
    ),
];

/// What sets the number of dirty pages where `vm.dirty_background_bytes` is 0; looked up for the way back.
const DIRTY_RATIO: &str = "vm.dirty_background_ratio";
const DIRTY_BYTES: &str = "vm.dirty_background_bytes";
const SWAPPINESS: &str = "vm.swappiness";

/// Every setting that is looked up, and where.
pub const LOOKED_UP: [(&str, HostSource); RULES.len() + 1] = {
    let mut all = [(DIRTY_RATIO, HostSource::Sysctl); RULES.len() + 1];
    let mut next = 0;
    while next < RULES.len() {
        all[next] = (RULES[next].setting, RULES[next].place);
        next += 1;
    }
    all
};

/// Holds a host against the table.
pub(crate) fn examine(host: &ObservedHost) -> Vec<Advice> {
    let mut all: Vec<Advice> = RULES.iter().map(|rule| judge(rule, host)).collect();
    if let Some(nodes) = host.numa_nodes.filter(|nodes| *nodes > 1) {
        all.push(several_nodes(nodes));
    }
    all
}

fn judge(rule: &HostRule, host: &ObservedHost) -> Advice {
    let (current, is_followed) = match rule.place {
        HostSource::Files(_) => of_files(rule, host),
        _ => of_setting(rule, host),
    };
    let change = |current: &str| Some(change(rule, current, host));
    advice("host", rule.setting, (current, is_followed), rule.expect.words(), rule.reason, change)
}

fn of_setting(rule: &HostRule, host: &ObservedHost) -> (Option<String>, Option<bool>) {
    // Kernels write tabs between the numbers of a list.
    let words = |text: &String| text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let current = host.settings.get(rule.setting).map(words);
    let is_followed = current.as_deref().and_then(|current| rule.expect.is_followed(current));
    // Without swap nothing is swapped out.
    if rule.setting == SWAPPINESS && host.settings.get("swap").is_some_and(|bytes| bytes == "0") {
        let is_known = current.is_some().then_some(true);
        return (current.map(|value| format!("{value} (no swap)")), is_known);
    }
    // A share of a small memory is less than the bytes that are recommended.
    let is_share = rule.setting == DIRTY_BYTES && current.as_deref() == Some("0");
    match host.memory_bytes.zip(dirty_ratio(host)).filter(|_| is_share) {
        Some((memory, ratio)) => {
            let bytes = memory / 100 * ratio;
            // The kernel takes it of what is available.
            let most = kdyno_model::units::bytes(bytes as f64);
            let words = format!("0 ({ratio} % of memory, at most {most})");
            (Some(words), rule.expect.is_followed(&bytes.to_string()))
        }
        None => (current, is_followed),
    }
}

fn dirty_ratio(host: &ObservedHost) -> Option<u64> {
    host.settings.get(DIRTY_RATIO)?.trim().parse().ok().filter(|ratio| *ratio <= 100)
}

/// For files that each CPU has: the value, or how many have each.
fn of_files(rule: &HostRule, host: &ObservedHost) -> (Option<String>, Option<bool>) {
    let Some(files) = host.files.get(rule.setting) else { return (None, None) };
    let values = values(files);
    let words = match values.as_slice() {
        [] => return (None, None),
        [(value, _)] => (*value).to_owned(),
        several => {
            let each = several.iter().map(|(value, paths)| format!("{value} (of {})", paths.len()));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let is_followed = values.iter().map(|(value, _)| rule.expect.is_followed(value));
    (Some(words), is_followed.collect::<Option<Vec<bool>>>().map(|all| all.into_iter().all(|each| each)))
}

/// Each value that some files have, with their paths.
fn values(files: &[(String, String)]) -> Vec<(&str, Vec<&str>)> {
    by_key(files.iter().map(|(path, value)| (value.as_str(), path.as_str())))
}

fn change(rule: &HostRule, current: &str, host: &ObservedHost) -> SettingChange {
    let value = rule.expect.value_for(current);
    let sysctl = |name: &str, value: &str| format!("sysctl -w {}", quoted(&format!("{name}={value}")));
    match rule.place {
        // Setting the bytes has set the share to 0; setting the share sets the bytes to 0.
        HostSource::Sysctl if rule.setting == DIRTY_BYTES && current.starts_with('0') => {
            let ratio = dirty_ratio(host).unwrap_or(10).to_string();
            SettingChange::commands(sysctl(rule.setting, &value), sysctl(DIRTY_RATIO, &ratio))
        }
        HostSource::Sysctl => {
            SettingChange::commands(sysctl(rule.setting, &value), sysctl(rule.setting, current))
        }
        HostSource::Files(pattern) => {
            let found = values(host.files.get(rule.setting).map_or(&[], Vec::as_slice));
            let undo: Vec<String> = match found.as_slice() {
                [(value, _)] => vec![write(value, pattern)],
                several => several.iter().map(|(value, paths)| write(value, &paths.join(" "))).collect(),
            };
            SettingChange::commands(write(&value, pattern), undo.join(" && "))
        }
        // What is in use must fit into memory, which cannot be promised.
        HostSource::SwapBytes => SettingChange::by_hand(
            "swapoff -a, if what is in use of it (`free -m`) fits into memory; and take it out of /etc/fstab",
        ),
        HostSource::TunedProfile => {
            let set = |profile: &str| format!("tuned-adm profile {}", quoted(profile));
            SettingChange::commands(set(&value), set(current))
        }
        HostSource::OpenFiles => limit("nofile", "LimitNOFILE", "1048576"),
        HostSource::Processes => limit("nproc", "LimitNPROC", &value),
        HostSource::LockedMemory => limit("memlock", "LimitMEMLOCK", "unlimited"),
    }
}

/// Writes a value to files; unlike a redirection it may follow `sudo`, and takes several.
fn write(value: &str, files: &str) -> String {
    format!("echo {} | tee {files} > /dev/null", quoted(value))
}

/// Limits belong to a user or a service, and come into force when it logs in or starts again.
fn limit(name: &str, of_service: &str, value: &str) -> SettingChange {
    let of_systemd = if value == "unlimited" { "infinity" } else { value };
    SettingChange::by_hand(format!(
        "in /etc/security/limits.d: USER - {name} {value}; of a systemd service: {of_service}={of_systemd}"
    ))
}

fn several_nodes(nodes: u32) -> Advice {
    let reason = Reason {
        severity: Medium,
        why: "a broker does not scale past one NUMA node, and memory of another node is slower",
        source: source::INTEL,
    };
    let how = || SettingChange::by_hand("numactl -m N -N N COMMAND; of a scenario's brokers: system.cpus");
    advice(
        "host",
        "NUMA nodes",
        (Some(nodes.to_string()), Some(false)),
        "each broker bound to one".to_owned(),
        reason,
        |_| Some(how()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdviceStatus;

    fn host(settings: &[(&'static str, &str)]) -> ObservedHost {
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        ObservedHost { settings, numa_nodes: Some(1), ..ObservedHost::default() }
    }

    fn of(all: &[Advice], setting: &str) -> Advice {
        all.iter().find(|advice| advice.setting == setting).cloned().expect("a rule of that name")
    }

    #[test]
    fn what_was_not_looked_up_is_unknown_and_nothing_is_changed() {
        let all = examine(&host(&[]));
        assert_eq!(all.len(), RULES.len());
        assert!(all.iter().all(|advice| advice.verdict == AdviceStatus::Unknown && advice.change.is_none()));
    }

    #[test]
    fn a_change_goes_back_to_what_was_found() {
        let all = examine(&host(&[
            ("vm.swappiness", "60"),
            ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
            ("vm.dirty_background_bytes", "0"),
            (DIRTY_RATIO, "7"),
            ("open files (ulimit -n)", "1024"),
        ]));
        let commands = |setting| {
            let change = of(&all, setting).change.expect("a change");
            (change.apply, change.undo.unwrap_or_default())
        };
        let pair = |apply: &str, undo: &str| (apply.to_owned(), undo.to_owned());
        assert_eq!(
            commands("vm.swappiness"),
            pair("sysctl -w vm.swappiness=1", "sysctl -w vm.swappiness=60")
        );
        assert_eq!(
            commands("net.ipv4.tcp_rmem"),
            pair(
                "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 16777216'",
                "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"
            )
        );
        // The share is what was in force.
        assert_eq!(
            commands("vm.dirty_background_bytes"),
            pair("sysctl -w vm.dirty_background_bytes=400000000", "sysctl -w vm.dirty_background_ratio=7")
        );
        let files = of(&all, "open files (ulimit -n)");
        assert!(files.severity == High && files.change.is_some_and(|change| change.by_hand));
    }

    fn governors(values: &[&str]) -> ObservedHost {
        let path = |number| format!("/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor");
        let of_each = values.iter().enumerate().map(|(number, value)| (path(number), (*value).to_owned()));
        ObservedHost { files: [("scaling_governor", of_each.collect())].into(), ..host(&[]) }
    }

    #[test]
    fn each_processor_goes_back_to_what_it_had() {
        let all = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
        let one = |number: u32| all.replace('*', &number.to_string());
        let put = |word: &str, files: &str| format!("echo {word} | tee {files} > /dev/null");
        let change = |values: &[&str]| {
            let advice = of(&examine(&governors(values)), "scaling_governor");
            (advice.current, advice.change.map(|change| (change.apply, change.undo.unwrap_or_default())))
        };
        let (current, commands) = change(&["powersave", "powersave"]);
        assert_eq!(current.as_deref(), Some("powersave"));
        assert_eq!(commands, Some((put("performance", all), put("powersave", all))));
        let (current, commands) = change(&["performance", "powersave", "performance"]);
        assert_eq!(current.as_deref(), Some("performance (of 2), powersave (of 1)"));
        let undo = [put("performance", &[one(0), one(2)].join(" ")), put("powersave", &one(1))];
        assert_eq!(commands, Some((put("performance", all), undo.join(" && "))));
        assert_eq!(change(&["performance"; 2]).1, None);
    }

    #[test]
    fn a_share_of_a_small_memory_is_below_the_recommended_bytes() {
        let with = |memory_bytes| {
            let settings = host(&[(DIRTY_BYTES, "0"), (DIRTY_RATIO, "10")]);
            of(&examine(&ObservedHost { memory_bytes, ..settings }), DIRTY_BYTES).verdict
        };
        assert_eq!(with(Some(2 << 30)), AdviceStatus::Followed);
        assert_eq!(with(Some(8 << 30)), AdviceStatus::NotFollowed);
        assert_eq!(with(None), AdviceStatus::NotFollowed);
    }

    #[test]
    fn without_swap_it_does_not_matter_how_eagerly_it_is_used() {
        let verdict =
            |swap| of(&examine(&host(&[("vm.swappiness", "60"), ("swap", swap)])), SWAPPINESS).verdict;
        assert_eq!([verdict("0"), verdict("1024")], [AdviceStatus::Followed, AdviceStatus::NotFollowed]);
    }

    #[test]
    fn risky_settings_are_manual_and_resetting_ones_come_first() {
        let all = examine(&host(&[("swap", "1024"), ("tuned profile", "balanced"), ("vm.swappiness", "60")]));
        assert!(of(&all, "swap").change.is_some_and(|change| change.by_hand));
        let changed: Vec<_> =
            all.iter().filter(|one| one.change.is_some()).map(|one| one.setting.as_str()).collect();
        assert_eq!(changed, ["tuned profile", "swap", "vm.swappiness"]);
    }

    #[test]
    fn several_numa_nodes_are_reported() {
        let all = examine(&ObservedHost { numa_nodes: Some(2), ..host(&[]) });
        assert_eq!(of(&all, "NUMA nodes").verdict, AdviceStatus::NotFollowed);
    }
}
