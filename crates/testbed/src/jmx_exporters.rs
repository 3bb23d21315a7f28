//! Brokers of somebody else's that expose their metrics over JMX alone (`JMX_PORT`): read through Prometheus's
//! standalone exporter, a Java process for each broker on this host, on the loopback address and under a guard.

use crate::cluster::{agent_configuration, jvm_variables, loopback_ports};
use crate::download;
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::folder::{create_private, remove_folder};
use crate::guard::{Guard, GuardSpec, ProcessSpec};
use crate::metrics::{HttpLogin, LocalEndpoint, MetricsSource, UnreadMetrics, console, not_read};
use crate::{java, secret_file};
use kdyno_model::event::Subject;
use kdyno_model::plan::MetricsFrom;
use kdyno_model::secret::Secret;
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest time until all listen: JVMs start one after the other on a busy host.
const READY_TIME_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);
/// Most of them: each is a JVM on the host of the load.
const BROKERS_MAX: usize = 16;
/// Between SIGTERM and SIGKILL: it has nothing to lose.
const GRACE_MS: u64 = 1000;
/// The JVM's options: it is asked every 10 s for some kilobytes.
const JVM: [&str; 3] = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
/// What a broker exposes of its process in addition to what the agent's rules have.
const OF_PROCESS: &str = r#"  - pattern: "java.lang<type=OperatingSystem><>ProcessCpuTime: "
    name: process_cpu_seconds_total
    type: COUNTER
    valueFactor: 0.000000001
  - pattern: "java.lang<type=Memory><HeapMemoryUsage>used: "
    name: jvm_memory_used_bytes
    labels: {area: "heap"}
"#;

/// What exporters are started with.
pub struct ExporterOptions<'a> {
    /// Paths and programs.
    pub environment: &'a Environment,
    /// The executable whose hidden subcommand `guard` is the guard.
    pub exe: PathBuf,
    /// Folder of these alone, which must not be there yet; removed with them.
    pub work_dir: PathBuf,
    /// Environment variables that must not be inherited: they hold secrets.
    pub hidden_variables: &'a [String],
    /// Attributes of MBeans that are read in addition.
    pub mbeans: &'a [String],
    /// Called with what happens, in a few words.
    pub progress: &'a dyn Fn(&str),
}

/// Running exporters. Dropping them ends them and removes their folder.
pub struct Exporters {
    guard: Guard,
    endpoints: Vec<(LocalEndpoint, PathBuf)>,
}

impl Exporters {
    /// Starts one for each of these brokers, at `host:port` with the broker's host for [`MetricsFrom::HOST`], and waits until
    /// all listen. `login`: user and password of JMX.
    ///
    /// # Errors
    /// The exporter cannot be had, or does not start.
    pub fn start(
        address: &str,
        brokers: &[(Subject, String)],
        login: Option<HttpLogin<'_>>,
        options: &ExporterOptions<'_>,
    ) -> Result<Self, UnreadMetrics> {
        let unread = |error: TestbedError| UnreadMetrics {
            subject: Subject::Brokers,
            why: not_read("the brokers", &error.to_string()),
        };
        create_private(&options.work_dir).map_err(unread)?;
        Self::try_start(address, brokers, login, options).map_err(|error| {
            // What the guard does not remove, for there is none: a file with the login may be in it.
            let _ = remove_folder(&options.work_dir);
            unread(error)
        })
    }

    fn try_start(
        address: &str,
        brokers: &[(Subject, String)],
        login: Option<HttpLogin<'_>>,
        options: &ExporterOptions<'_>,
    ) -> Result<Self, TestbedError> {
        if brokers.len() > BROKERS_MAX {
            let message = format!(
                "{} brokers report them over JMX, and at most {BROKERS_MAX} exporters, a JVM each, run on this host",
                brokers.len()
            );
            return Err(TestbedError::Impossible(message));
        }
        let jar = download::metrics_exporter(options.environment, options.progress)?;
        let java = java::find_between(options.environment, "the JMX exporter", (8, u32::MAX))?;
        let (held, ports) = loopback_ports(brokers.len())?;
        let (mut processes, mut endpoints) = (Vec::new(), Vec::new());
        for ((subject, host), port) in brokers.iter().zip(ports) {
            let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
            let text = configuration(&address.replace(MetricsFrom::HOST, &host), login, options.mbeans);
            let file = secret_file::write(&options.work_dir, &format!("{subject}.yaml"), &Secret::new(text))?;
            let console = options.work_dir.join(format!("{subject}.log"));
            let mut line = vec![java.program.display().to_string()];
            line.extend(JVM.map(str::to_string));
            line.extend(["-jar".to_string(), jar.display().to_string()]);
            line.extend([format!("127.0.0.1:{port}"), file.display().to_string()]);
            processes.push(ProcessSpec {
                subject: subject.clone(),
                command_line: line,
                unset_variables: jvm_variables(),
                folder: options.work_dir.clone(),
                console: console.clone(),
                cpus: Vec::new(),
                cpu_limit: None,
                end_order: 0,
            });
            let endpoint = LocalEndpoint {
                subject: subject.clone(),
                port,
                counts_controller: false,
                mbeans: options.mbeans.to_vec(),
            };
            endpoints.push((endpoint, console));
        }
        let spec = GuardSpec {
            exe: options.exe.clone(),
            exe_arguments: Vec::new(),
            processes,
            remove: vec![options.work_dir.clone()],
            grace_ms: GRACE_MS,
            stop_file: None,
        };
        drop(held);
        let guard = Guard::start(&spec, options.hidden_variables, &options.work_dir.join("guard.log"))?;
        let exporters = Self { guard, endpoints };
        exporters.wait_ready()?;
        Ok(exporters)
    }

    fn wait_ready(&self) -> Result<(), TestbedError> {
        let started = Instant::now();
        for (endpoint, path) in &self.endpoints {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, endpoint.port)).is_err() {
                let ended = self.guard.ended().get(&endpoint.subject).cloned();
                let late = (started.elapsed() > READY_TIME_MAX)
                    .then(|| format!("it does not listen after {} s", READY_TIME_MAX.as_secs()));
                if let Some(how) = ended.or(late) {
                    let said = console::last_line(path).map(|line| format!(": {line}")).unwrap_or_default();
                    let (of, port) = (&endpoint.subject, endpoint.port);
                    let what =
                        format!("the JMX exporter for {of}, at 127.0.0.1:{port}, did not start: {how}{said}");
                    return Err(TestbedError::Guard(what));
                }
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// The query for the brokers' metrics.
    ///
    /// # Errors
    /// There is no client for HTTP.
    pub fn sources(&self) -> Result<Vec<MetricsSource>, UnreadMetrics> {
        let one = |(endpoint, console): &(LocalEndpoint, PathBuf)| MetricsSource::exporter(endpoint, console);
        self.endpoints.iter().map(one).collect()
    }
}

/// The exporter's configuration. Text of others is written as JSON has it, which YAML reads.
fn configuration(address: &str, login: Option<HttpLogin<'_>>, mbeans: &[String]) -> Vec<u8> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!("hostPort: {}\n", quoted(address));
    if let Some(HttpLogin::Basic(username, password)) = login {
        let password = String::from_utf8_lossy(password.expose());
        text = format!("{text}username: {}\npassword: {}\n", quoted(username), quoted(&password));
    }
    text.push_str(&agent_configuration(&["java.lang:type=OperatingSystem", "java.lang:type=Memory"], mbeans));
    text.push_str(OF_PROCESS);
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_the_agents_objects_and_escapes_logins() {
        let secret = Secret::new(b"a\"\nrules: []".to_vec());
        let text = configuration("[::1]:9999", Some(HttpLogin::Basic("me: x", &secret)), &[]);
        let text = String::from_utf8(text).expect("text");
        let begin = "hostPort: \"[::1]:9999\"\nusername: \"me: x\"\npassword: \"a\\\"\\nrules: []\"\nincludeObjectNames:\n";
        assert!(text.starts_with(begin), "{text}");
        assert_eq!(text.matches("\nrules:").count(), 1, "{text}");
        assert!(text.contains("type=RequestMetrics") && text.contains("java.lang:type=Memory"), "{text}");
        assert!(text.ends_with(OF_PROCESS));
        let text = String::from_utf8(configuration("h:1", None, &[])).expect("text");
        assert!(!text.contains("username"), "{text}");
    }
}
