//! The command line of each JVM: the flags that Kafka's own start scripts give it.
//!
//! `kafka-server-start.sh` and `kafka-run-class.sh` of 2.7 to 4.3 pass the same flags; safepoints are logged as well as
//! garbage collections. Left out on purpose: remote JMX (metrics come by an agent instead, see `agent`) and `CLASSPATH`
//! or option variables of the user's shell, so that the command line kept with the run says all.

use super::layout::ClusterLayout;
use super::node::{ClusterNode, NodeKind};
use crate::distribution::KafkaDistribution;
use crate::tail;
use kdyno_model::event::Subject;
use kdyno_model::plan::ClusterPlan;

/// Performance flags of `kafka-run-class.sh`, in its order.
const PERFORMANCE_FLAGS: [&str; 7] = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
];
/// Heap that `zookeeper-server-start.sh` gives.
const ZOOKEEPER_HEAP_BYTES: u64 = 512 << 20;
/// Variables that would change a JVM behind the command line's back.
const UNSET_VARIABLES: [&str; 4] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"];

/// File names inside a node's folder.
pub(super) const CONSOLE_FILE: &str = "console.log";
pub(super) const LOGS_FOLDER: &str = "logs";
/// Log lines kept with a failure.
pub(super) const TAIL_LINES: usize = 40;

/// Variables of the user's shell that would give a JVM options of its own.
pub fn jvm_variables() -> Vec<String> {
    UNSET_VARIABLES.map(str::to_string).to_vec()
}

/// The settings file's name.
pub(super) fn config_file(kind: NodeKind) -> &'static str {
    if kind == NodeKind::Zookeeper { "zookeeper.properties" } else { "server.properties" }
}

/// Program and arguments for one node, with the option for its agent.
pub(super) fn command_line(
    plan: &ClusterPlan,
    distribution: &KafkaDistribution,
    node: &ClusterNode,
    agent: Option<String>,
) -> Vec<String> {
    let zookeeper = node.kind == NodeKind::Zookeeper;
    let heap = megabytes(if zookeeper { ZOOKEEPER_HEAP_BYTES } else { plan.heap_bytes });
    let logs = node.folder.join(LOGS_FOLDER).display().to_string();
    let log_config = super::logging::config(distribution.log_backend);
    let mut line =
        vec![distribution.java.program.display().to_string(), format!("-Xmx{heap}"), format!("-Xms{heap}")];
    let own: &[String] = if zookeeper { &[] } else { &plan.jvm_options };
    let kept = PERFORMANCE_FLAGS.iter().filter(|flag| !own.iter().any(|option| overrides(option, flag)));
    line.extend(kept.map(|flag| (*flag).to_string()));
    line.extend(gc_log(distribution.java.major, &logs, if zookeeper { "zookeeper" } else { "kafkaServer" }));
    line.push(format!("-Dkafka.logs.dir={logs}"));
    line.push(format!("{}{}", log_config.option, node.folder.join(log_config.file_name).display()));
    line.extend(agent);
    line.extend(["-cp".to_string(), distribution.classpath_argument()]);
    line.extend(own.iter().cloned());
    let main = if zookeeper { "org.apache.zookeeper.server.quorum.QuorumPeerMain" } else { "kafka.Kafka" };
    line.extend([main.to_string(), node.folder.join(config_file(node.kind)).display().to_string()]);
    line
}

/// Whether a user's option takes the place of a flag of the scripts: it sets the same thing, or it chooses another
/// collector, next to which a JVM does not start with that of the scripts.
fn overrides(option: &str, flag: &str) -> bool {
    let is_collector = |text: &str| text.starts_with("-XX:+Use") && text.ends_with("GC");
    set_by(option) == set_by(flag) || (is_collector(option) && is_collector(flag))
}

/// What an option of a JVM sets: `-XX:+UseG1GC` and `-XX:-UseG1GC` the same, `-Da=b` and `-Da=c` as well.
fn set_by(option: &str) -> String {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    match name.strip_prefix("-XX:") {
        Some(rest) => format!("-XX:{}", rest.trim_start_matches(['+', '-'])),
        None => name.to_string(),
    }
}

/// `512m`, or plain bytes when it is no whole number of MiB.
fn megabytes(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{}m", bytes >> 20) } else { bytes.to_string() }
}

fn gc_log(java_major: u32, logs: &str, name: &str) -> Vec<String> {
    let file = format!("{logs}/{name}-gc.log");
    if java_major >= 9 {
        return vec![format!("-Xlog:gc*,safepoint:file={file}:time,tags:filecount=10,filesize=100M")];
    }
    let mut flags = vec![format!("-Xloggc:{file}")];
    flags.extend(
        ["-verbose:gc", "-XX:+PrintGCDetails", "-XX:+PrintGCDateStamps", "-XX:+PrintGCTimeStamps"]
            .map(str::to_string),
    );
    flags.extend(
        ["-XX:+UseGCLogFileRotation", "-XX:NumberOfGCLogFiles=10", "-XX:GCLogFileSize=100M"]
            .map(str::to_string),
    );
    flags
}

/// What a process printed and logged last; the log repeats most of what is printed, so it is read only when the
/// console has nothing.
pub(super) fn tail(layout: &ClusterLayout, subject: &Subject, lines_max: usize) -> Vec<String> {
    let nodes = layout.nodes.iter().map(|node| (&node.subject, &node.folder));
    let mut all = nodes.chain(layout.relays.iter().map(|relay| (&relay.subject, &relay.folder)));
    let Some((_, folder)) = all.find(|(of, _)| *of == subject) else { return Vec::new() };
    let console = tail::lines(&folder.join(CONSOLE_FILE), lines_max);
    if console.is_empty() {
        return tail::lines(&folder.join(LOGS_FOLDER).join("server.log"), lines_max);
    }
    console
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::{layout, plan};
    use super::*;
    use crate::java::JavaInstallation;
    use kdyno_model::plan::Mode;
    use kdyno_model::version::{LogBackend, Version};

    fn line(java_major: u32, mode: Mode, index: usize) -> String {
        line_with(java_major, mode, index, &["-XX:+UseZGC"])
    }

    fn line_with(java_major: u32, mode: Mode, index: usize, jvm_options: &[&str]) -> String {
        let mut plan = plan(mode, 1);
        plan.jvm_options = jvm_options.iter().map(ToString::to_string).collect();
        let distribution = KafkaDistribution {
            version: Version::parse("3.7.2").expect("version"),
            java: JavaInstallation {
                program: "/j/bin/java".into(),
                major: java_major,
                version: java_major.to_string(),
            },
            classpath: vec!["/k/libs/*".to_string()],
            log_backend: LogBackend::Log4j1,
            bootstrap: None,
        };
        let layout = layout(&plan);
        command_line(&plan, &distribution, &layout.nodes[index], None).join(" ")
    }

    #[test]
    fn a_broker_has_the_scripts_flags_and_the_users_last() {
        let line = line_with(17, Mode::KraftCombined, 0, &["-Xss1m"]);
        assert!(
            line.starts_with("/j/bin/java -Xmx512m -Xms512m -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 "),
            "{line}"
        );
        assert!(line.contains(
            "-Xlog:gc*,safepoint:file=/w/broker-0/logs/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M"
        ));
        assert!(line.ends_with("-cp /k/libs/* -Xss1m kafka.Kafka /w/broker-0/server.properties"), "{line}");
    }

    #[test]
    fn what_the_user_sets_takes_the_place_of_the_scripts_flag() {
        let flags = |options: &[&str]| line_with(17, Mode::KraftCombined, 0, options);
        let zgc = flags(&["-XX:+UseZGC"]);
        assert!(!zgc.contains("UseG1GC") && zgc.contains("-XX:+UseZGC kafka.Kafka"), "two collectors: {zgc}");
        let without = flags(&["-XX:-UseG1GC"]);
        assert!(!without.contains("-XX:+UseG1GC"), "{without}");
        let set = flags(&["-XX:MaxGCPauseMillis=50", "-Djava.awt.headless=false"]);
        assert!(!set.contains("MaxGCPauseMillis=20") && !set.contains("headless=true"), "{set}");
        assert!(set.contains("-XX:+UseG1GC -XX:InitiatingHeapOccupancyPercent=35"), "the others stay: {set}");
    }

    #[test]
    fn java_8_gets_the_flags_it_knows() {
        let line = line(8, Mode::KraftCombined, 0);
        assert!(line.contains("-Xloggc:") && !line.contains("-Xlog:"), "{line}");
    }

    #[test]
    fn zookeeper_has_its_own_heap_and_none_of_the_brokers_options() {
        let line = line(17, Mode::Zookeeper { nodes: 1 }, 0);
        assert!(line.contains("QuorumPeerMain /w/zookeeper-0/zookeeper.properties"), "{line}");
        assert!(!line.contains("UseZGC"), "{line}");
    }
}
