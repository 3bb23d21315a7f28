//! The load of a run on hosts that ssh reaches: real sshd on this one, each with a port, keys and a home folder of its own.

use crate::agents::{cut_short, evidence};
use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, one_line, ran, signal};
use crate::{CLUSTER_ID, NullBroker, files, run};
use rustix::process::Signal;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Where sshd is, which no folder of a user's PATH has.
const SSHD: [&str; 2] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];

/// Ports that no system gives to who takes any: sshd has to be given one.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// What differs from a usual host.
enum Oddity {
    None,
    /// Options with which the home folder is mounted.
    Mounted(&'static str),
    /// `uname` of its own.
    OtherKind,
}

/// Hosts that ssh reaches by their names, until it is dropped.
struct SshHosts<'a> {
    place: &'a TestFolder,
    sshd: PathBuf,
    running: Vec<Running<'a>>,
}

impl<'a> SshHosts<'a> {
    /// `None`: there can be none here, which is printed.
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn new(place: &'a TestFolder) -> Option<Self> {
        let Some(sshd) = SSHD.iter().map(PathBuf::from).find(|path| path.exists()) else {
            eprintln!("skipped: no sshd on this host (Debian's package openssh-server has it)");
            return None;
        };
        if is_root() && !succeeds(Command::new("unshare").args(["--mount", "true"])) {
            eprintln!("skipped: sshd of root needs a mount namespace, and this host allows none");
            return None;
        }
        let key = place.path().join("key");
        keygen(&key);
        place.file("authorized_keys", &text_of(&key.with_extension("pub")));
        Some(Self { place, sshd, running: Vec::new() })
    }

    /// Starts one of this name; its home folder.
    fn start(&mut self, name: &str, oddity: &Oddity) -> PathBuf {
        let path = |of: &str| self.place.path().join(name).join(of);
        for folder in ["home", "bin", "tmp"] {
            std::fs::create_dir_all(path(folder)).expect("a folder");
        }
        keygen(&path("host_key"));
        if let Oddity::OtherKind = oddity {
            std::fs::write(path("bin/uname"), "#!/bin/sh\necho Linux riscv64\n").expect("written");
            let executable = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(path("bin/uname"), executable).expect("executable");
        }
        let port = free_port();
        let running = self.listening(name, oddity, port);
        self.running.push(running);
        self.name(name, port, &text_of(&path("host_key.pub")));
        path("home")
    }

    fn listening(&self, name: &str, oddity: &Oddity, port: u16) -> Running<'a> {
        let folder = self.place.path().join(name);
        let (own, all) = (folder.display(), self.place.path().display());
        let config = self.place.file(
            &format!("{name}/sshd_config"),
            &format!(
                "ListenAddress 127.0.0.1\nPort {port}\nHostKey {own}/host_key\nPidFile none\n\
                 AuthorizedKeysFile {all}/authorized_keys\nStrictModes no\nUsePAM no\n\
                 PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
                 SetEnv HOME={own}/home TMPDIR={own}/tmp PATH={own}/bin:/usr/local/bin:/usr/bin:/bin\n"
            ),
        );
        let mut sshd = Command::new(&self.sshd);
        if is_root() {
            // Root's wants a folder of the system, which is not there where no service has made it.
            let home = match oddity {
                Oddity::Mounted(options) => format!("mount -t tmpfs -o {options} tmpfs '{own}/home' && "),
                Oddity::None | Oddity::OtherKind => String::new(),
            };
            let script =
                format!("mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && {home}exec \"$0\" \"$@\"");
            sshd = Command::new("unshare");
            sshd.args(["--mount", "sh", "-c", &script]).arg(&self.sshd);
        }
        // In this folder, by which it is found and ended should the test fail.
        sshd.args(["-D", "-e", "-f"]).arg(config).current_dir(&folder);
        let mut running = self.place.start(sshd);
        running.wait_for("Server listening on");
        running
    }

    /// Lets ssh find it by its name.
    fn name(&self, name: &str, port: u16, host_key: &str) {
        let all = self.place.path().display();
        let append = |file: &str, more: &str| {
            let before = std::fs::read_to_string(self.place.path().join(file)).unwrap_or_default();
            self.place.file(file, &format!("{before}{more}"));
        };
        append(
            "ssh_config",
            &format!(
                "Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {all}/key\n  IdentitiesOnly yes\n  \
                 UserKnownHostsFile {all}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  \
                 StrictHostKeyChecking yes\n"
            ),
        );
        append("known_hosts", &format!("[127.0.0.1]:{port} {host_key}"));
    }

    fn stop(self) {
        for sshd in self.running {
            sshd.signal(Signal::TERM);
            sshd.wait(RUN_DEADLINE);
        }
    }
}

/// One that nothing listens on, each once.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let ports = PORTS.end - PORTS.start;
    let first = (std::process::id() % u32::from(ports)) as u16;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut tried = (0..ports).map(|_| PORTS.start + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % ports);
    tried.find(is_free).expect("a port")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn keygen(path: &Path) {
    let mut keygen = Command::new("ssh-keygen");
    assert!(
        succeeds(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path)),
        "ssh-keygen makes a key"
    );
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).expect("text")
}

/// Runs the small scenario on the hosts that `hosts` lists.
fn run_on(place: &TestFolder, broker: &NullBroker<'_>, hosts: &str) -> ProgramOutput {
    start_on(place, broker, hosts, "2s").wait(RUN_DEADLINE)
}

/// Starts it, to be measured for so long.
fn start_on<'a>(place: &'a TestFolder, broker: &NullBroker<'_>, hosts: &str, measure: &str) -> Running<'a> {
    let files = files(place, &broker.address, CLUSTER_ID);
    let generators = place.file("generators.yaml", &format!("hosts:\n{hosts}"));
    let generators = generators.to_str().expect("plain path");
    run(place, &files, &["--generators", generators, "--set", &format!("dur={measure}")])
}

/// What of agents is left in the temporary folder of a host.
fn left_on(place: &TestFolder, host: &str) -> usize {
    std::fs::read_dir(place.path().join(host).join("tmp")).expect("a folder").count()
}

/// One that has no kdyno gets a copy of this one, once; one with a `program` of its own gets none.
#[test]
fn hosts_behind_sshd_share_a_load_and_a_program_copied_once() {
    let place = TestFolder::new();
    let Some(mut hosts) = SshHosts::new(&place) else { return };
    let homes = ["gen-1", "gen-2"].map(|name| hosts.start(name, &Oddity::None));
    let broker = NullBroker::start(&place);
    let exe = env!("CARGO_BIN_EXE_kdyno");
    let generators = format!(
        "- {{ssh: gen-1, ssh_config: ssh_config}}\n- {{ssh: gen-2, ssh_config: ssh_config, program: {exe}}}\n"
    );
    let said = run_on(&place, &broker, &generators);
    ran(&said);
    let copying = |said: &ProgramOutput| one_line(&said.stderr).matches("copying this kdyno (").count();
    assert!(copying(&said) == 1 && one_line(&said.stderr).contains(") to gen-1"), "{said:?}");
    let evidence = evidence(&place);
    let mut counts: Vec<_> =
        evidence.totals.iter().map(|totals| (totals.id.worker, &totals.counts)).collect();
    counts.sort_by_key(|(worker, _)| *worker);
    assert_eq!(counts.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [0, 1]);
    for (_, counts) in &counts {
        assert!(counts.offered > 100 && counts.acknowledged == counts.offered, "{counts:?}");
    }
    let taken = counts.iter().map(|(_, counts)| counts.acknowledged).sum::<u64>();
    let cache = homes[0].join(".cache/kdyno");
    let copies: Vec<PathBuf> = std::fs::read_dir(&cache)
        .expect("made")
        .map(|one| one.expect("entry").path().join("kdyno"))
        .collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert!(std::fs::read(&copies[0]).expect("a copy") == std::fs::read(exe).expect("this program"));
    assert!(!homes[1].join(".cache").exists(), "it has a program");
    // The host has a program of this version now.
    let again = run_on(&place, &broker, "- {ssh: gen-1, ssh_config: ssh_config}\n");
    ran(&again);
    assert_eq!(copying(&again), 0, "{again:?}");
    hosts.stop();
    let seen = broker.stop().stderr;
    let records = seen.split_once(" records in ").and_then(|(before, _)| before.rsplit_once(' '));
    let records: u64 = records.and_then(|(_, number)| number.parse().ok()).expect("how many it took");
    // The topic has the records of both runs, whose loads are alike.
    assert!(taken < records && records < 4 * taken, "{taken} of {seen}");
    place.expect_no_processes();
}

#[test]
fn a_host_that_takes_no_copy_says_why_and_nothing_is_started() {
    let place = TestFolder::new();
    let Some(mut hosts) = SshHosts::new(&place) else { return };
    let broker = NullBroker::start(&place);
    let mut cases =
        vec![("other", Oddity::OtherKind, "was not copied there; its last lines: it is Linux riscv64")];
    // Only root mounts.
    if is_root() {
        cases.push((
            "full",
            Oddity::Mounted("size=1m"),
            "could not be written to ~/.cache/kdyno there; its last lines: cat:",
        ));
        cases.push(("noexec", Oddity::Mounted("noexec"), "no program may be run from ~/.cache/kdyno there"));
    } else {
        eprintln!("skipped: full and noexec file systems are mounted by root alone");
    }
    for (name, oddity, sentence) in cases {
        let home = hosts.start(name, &oddity);
        let said = run_on(&place, &broker, &format!("- {{ssh: {name}, ssh_config: ssh_config}}\n"));
        assert_eq!(said.code, Some(1), "{said:?}");
        let words = one_line(&said.stderr);
        assert!(words.contains(&format!("generator {name}: ")) && words.contains(sentence), "{words}");
        assert!(words.contains("program: PATH"), "{words}");
        // What was mounted there only the host sees.
        assert!(!home.join(".cache/kdyno").exists());
    }
    // Whose key is not known is not spoken to.
    let known = place.path().join("known_hosts");
    std::fs::write(&known, text_of(&known).replace("ssh-ed25519 AAAA", "ssh-ed25519 BBBB")).expect("written");
    let said = run_on(&place, &broker, "- {ssh: other, ssh_config: ssh_config}\n");
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = one_line(&said.stderr);
    assert!(words.contains("Host key verification failed") && words.contains("ssh HOST true"), "{words}");
    assert!(!place.path().join("kdyno-runs").exists(), "no run began");
    hosts.stop();
    assert!(broker.stop().stderr.contains(" 0 records in "));
    place.expect_no_processes();
}

/// The ssh of this host ends, and with it the relay on the other one; the agent and its worker go on.
#[test]
fn a_session_goes_on_when_its_ssh_is_killed() {
    let place = TestFolder::new();
    let Some(mut hosts) = SshHosts::new(&place) else { return };
    hosts.start("gen-1", &Oddity::None);
    let broker = NullBroker::start(&place);
    let mut running = start_on(&place, &broker, "- {ssh: gen-1, ssh_config: ssh_config}\n", "8s");
    running.wait_for("· measure");
    for _ in 0..2 {
        let ssh = running.processes("BatchMode=yes");
        assert_eq!(ssh.len(), 1);
        signal(ssh[0], Signal::KILL);
        std::thread::sleep(Duration::from_secs(2));
    }
    assert_eq!(place.processes(0).iter().filter(|(_, line)| line.ends_with("agent --stdio")).count(), 1);
    ran(&running.wait(RUN_DEADLINE));
    let evidence = evidence(&place);
    assert_eq!(evidence.totals.len(), 1);
    let (id, counts) = (evidence.totals[0].id, &evidence.totals[0].counts);
    assert!(counts.offered > 1600 && counts.acknowledged == counts.offered, "{counts:?}");
    let rows = evidence.samples.iter().filter(|sample| sample.id == id);
    let of_rows: u64 = rows.map(|sample| sample.counts.acknowledged).sum();
    assert_eq!(of_rows, counts.acknowledged, "each second's row came once");
    assert_eq!(cut_short(&place), None);
    hosts.stop();
    let seen = broker.stop();
    assert!(seen.stderr.contains(&format!(" {} records in ", counts.acknowledged)), "{counts:?}: {seen:?}");
    place.expect_no_processes();
    assert_eq!(left_on(&place, "gen-1"), 0);
}

/// Neither the lab nor its ssh says a word: the agent learns by silence that its session has no lab any more.
#[test]
fn a_lab_that_is_killed_leaves_no_agent_behind_ssh() {
    let place = TestFolder::new();
    let Some(mut hosts) = SshHosts::new(&place) else { return };
    hosts.start("gen-1", &Oddity::None);
    let broker = NullBroker::start(&place);
    let mut running = start_on(&place, &broker, "- {ssh: gen-1, ssh_config: ssh_config}\n", "120s");
    running.wait_for("· measure");
    let there = || {
        let processes = place.processes(0).into_iter().filter(|(_, line)| line.contains("/.cache/kdyno/"));
        processes.map(|(_, line)| line).collect::<Vec<_>>()
    };
    let has = |what: &str| there().iter().any(|line| line.ends_with(what));
    assert!(has(" agent --held") && has(" worker"), "{:?}", there());
    running.signal(Signal::KILL);
    assert_eq!(running.wait(RUN_DEADLINE).code, None);
    let begin = Instant::now();
    std::thread::sleep(Duration::from_secs(5));
    assert!(has(" agent --held") && has(" worker"), "it may be resumed: {:?}", there());
    while !there().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(45), "still there: {:?}", there());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(left_on(&place, "gen-1"), 0);
    hosts.stop();
    broker.stop();
    place.expect_no_processes();
}
