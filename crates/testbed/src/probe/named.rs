//! Processes of this host that a user names, by pid or by name, to be read in addition to those of a run.
//!
//! A name is looked up as `pgrep -x` does, and further: it is that of the process as the kernel has it (15 bytes of it), the
//! last part of the path that it was started by, or what a Java process runs: its main class, with packages or without, or
//! the file name of its jar.

use super::parse;
use crate::process::{ProcessId, ProcessRef, of_pid};
use kdyno_model::event::Subject;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// Most processes that are read so; a broker costs 1.5 ms of a second.
pub const NAMED_MAX: usize = 16;

/// Longest name.
const NAME_CHARS_MAX: usize = 100;

/// Most processes of a host that are looked at.
const HOST_PROCESSES_MAX: usize = 100_000;

/// Options of `java` whose value is an argument of its own.
const JAVA_OPTIONS_WITH_VALUE: [&str; 10] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-opens",
    "--add-exports",
    "--add-reads",
];

/// Why processes that were named cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamedError {
    /// There is none of that name or pid.
    #[error("--probe: no process on this host has {}", name_or_pid(.0))]
    NotFound(String),
    /// Only processes of this kdyno have it.
    #[error("--probe: only kdyno itself has {}, and what it starts; those are read in every run", name_or_pid(.0))]
    Own(String),
    /// More than are read.
    #[error("--probe: {found} processes are named; at most {NAMED_MAX} are read")]
    TooMany {
        /// How many.
        found: usize,
    },
    /// No name at all.
    #[error("--probe: `{0}` is no name of a process")]
    NoName(String),
}

impl NamedError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotFound(_) | Self::NoName(_) => {
                "a pid, the name that `ps -e` shows, or of a Java process its main class or jar (`jps -l`)"
            }
            Self::Own(_) => "name another process",
            Self::TooMany { .. } => "name those that matter by their pids, which `pgrep -a` shows",
        }
    }
}

fn name_or_pid(typed: &str) -> String {
    if is_pid(typed) { format!("the pid {typed}") } else { format!("the name `{typed}`") }
}

fn is_pid(typed: &str) -> bool {
    typed.bytes().all(|byte| byte.is_ascii_digit())
}

/// What was named, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
enum One {
    /// That very process, called so.
    Process(ProcessId, String),
    /// The only process of a name; one that comes after it is the same subject. If there are several then it is the
    /// oldest.
    Only(String),
    /// Each process of a name.
    Each(String),
}

/// The processes that a user named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedProcesses {
    all: Vec<One>,
}

/// What is there of them at some time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoundProcesses {
    /// Processes that are there.
    pub processes: Vec<ProcessRef>,
    /// Subjects and names that are not, in the words of an event: what, and why.
    pub missing: Vec<(Subject, String)>,
}

impl NamedProcesses {
    /// Finds what was typed, names and pids, and what the plan has from before. A name of the latter that nothing has now is
    /// looked for in each trial.
    ///
    /// # Errors
    /// A name or pid that was typed and that nothing has, or only this kdyno; more processes than are read.
    pub fn find(typed: &[String], kept: &[String]) -> Result<Self, NamedError> {
        if typed.is_empty() && kept.is_empty() {
            return Ok(Self::default());
        }
        let host = HostProcesses::read();
        let mut all = Vec::new();
        for text in typed {
            all.push(one(text.trim(), &host)?);
        }
        for name in kept.iter().filter(|name| !typed.contains(name)) {
            all.push(match one(name, &host) {
                Err(NamedError::NotFound(_) | NamedError::Own(_)) => One::Only(name.clone()),
                found => found?,
            });
        }
        let named = Self { all };
        let found = named.look_on(&host, &BTreeSet::new());
        match found.processes.len() {
            many if many > NAMED_MAX => Err(NamedError::TooMany { found: many }),
            _ => Ok(named),
        }
    }

    /// Adds the names, each once: a pid means nothing to a later run.
    pub fn keep_names(&self, kept: &mut Vec<String>) {
        for one in &self.all {
            if let One::Only(name) | One::Each(name) = one
                && !kept.contains(name)
            {
                kept.push(name.clone());
            }
        }
    }

    /// Whether none was named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether another process may come in the place of one that has ended.
    #[must_use]
    pub fn may_come_again(&self, subject: &Subject) -> bool {
        let is_it =
            |one: &One| matches!((one, subject), (One::Only(name), Subject::Process(of)) if name == of);
        self.all.iter().any(is_it)
    }

    /// Processes that are there now, but for `known` ones, each once.
    #[must_use]
    pub fn look(&self, known: &BTreeSet<u32>) -> FoundProcesses {
        if self.is_empty() { FoundProcesses::default() } else { self.look_on(&HostProcesses::read(), known) }
    }

    fn look_on(&self, host: &HostProcesses, known: &BTreeSet<u32>) -> FoundProcesses {
        let mut found = FoundProcesses::default();
        let mut taken = known.clone();
        let mut take = |subject: Subject, pid: u32| {
            if taken.insert(pid) {
                found.processes.push(ProcessRef::new(subject, pid));
            }
        };
        let mut missing = Vec::new();
        for one in &self.all {
            let (One::Process(_, name) | One::Only(name) | One::Each(name)) = one;
            match one {
                One::Process(id, _) if id.is_alive() => take(numbered(name, id.pid), id.pid),
                One::Process(id, _) => missing.push((numbered(name, id.pid), "it has ended".to_owned())),
                One::Only(_) => match host.of_name(name).first() {
                    Some(pid) => take(Subject::Process(name.clone()), *pid),
                    None => missing.push((Subject::Process(name.clone()), "it is not there".to_owned())),
                },
                One::Each(_) => match host.of_name(name) {
                    all if all.is_empty() => {
                        missing.push((Subject::Process(name.clone()), "none is there".to_owned()));
                    }
                    all => all.into_iter().for_each(|pid| take(numbered(name, pid), pid)),
                },
            }
        }
        for left_out in found.processes.split_off(found.processes.len().min(NAMED_MAX)) {
            missing.push((left_out.subject, format!("at most {NAMED_MAX} are read")));
        }
        FoundProcesses { missing, ..found }
    }
}

/// What one word means.
fn one(typed: &str, host: &HostProcesses) -> Result<One, NamedError> {
    let is_name = !typed.is_empty()
        && typed.chars().count() <= NAME_CHARS_MAX
        && !typed.chars().any(|c| c.is_control() || c.is_whitespace());
    if !is_name {
        return Err(NamedError::NoName(typed.chars().take(NAME_CHARS_MAX).collect()));
    }
    let not_found = || NamedError::NotFound(typed.to_owned());
    if is_pid(typed) {
        let pid: u32 = typed.parse().map_err(|_| not_found())?;
        let id = ProcessId::of(pid).filter(ProcessId::is_alive).ok_or_else(not_found)?;
        if host.own.contains(&pid) {
            return Err(NamedError::Own(typed.to_owned()));
        }
        let name = of_pid(pid).and_then(|process| process.stat().ok()).map(|stat| stat.comm);
        return Ok(One::Process(id, name.unwrap_or_else(|| "pid".to_owned())));
    }
    match host.of_name(typed).len() {
        0 if host.own_has(typed) => Err(NamedError::Own(typed.to_owned())),
        0 => Err(not_found()),
        1 => Ok(One::Only(typed.to_owned())),
        _ => Ok(One::Each(typed.to_owned())),
    }
}

fn numbered(name: &str, pid: u32) -> Subject {
    Subject::Process(format!("{name}-{pid}"))
}

/// What of a process this user may not read, in words; `None`: everything can be read, or the process is gone.
#[must_use]
pub fn denied(process: &ProcessRef) -> Option<String> {
    let is_denied = |error: std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    let folder = format!("/proc/{}", process.pid);
    let io = std::fs::read(format!("{folder}/io")).err().is_some_and(is_denied);
    let files = std::fs::read_dir(format!("{folder}/fd")).err().is_some_and(is_denied);
    denied_words(io, files).map(|what| format!("{}: {what}", process.subject))
}

fn denied_words(io: bool, files: bool) -> Option<String> {
    let what = match (io, files) {
        (false, false) => return None,
        (true, true) => "its disk bytes and open files are",
        (true, false) => "its disk bytes are",
        (false, true) => "its open files are",
    };
    Some(format!("{what} not read, since it belongs to another user"))
}

/// The processes of this host by name, oldest first.
struct HostProcesses {
    /// Number, start and names of each but kdyno's own.
    others: Vec<(u64, u32, ProcessNames)>,
    /// This process and what it started.
    own: BTreeSet<u32>,
    own_names: Vec<ProcessNames>,
}

/// What a process may be called.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessNames {
    /// As the kernel has it.
    kernel: String,
    /// Last part of the path that it was started by.
    file: String,
    /// What a Java process runs.
    java: Option<String>,
}

impl ProcessNames {
    fn of(kernel: String, command_line: &str) -> Self {
        let args: Vec<&str> = command_line.split('\0').collect();
        let file = last_part(args.first().copied().unwrap_or_default(), '/').to_owned();
        let java = (file == "java").then(|| java_runs(&args[1..])).flatten();
        Self { kernel, file, java: java.map(str::to_owned) }
    }

    fn has(&self, name: &str) -> bool {
        let is_java = |runs: &String| {
            let (path, class) = (last_part(runs, '/'), last_part(runs, '.'));
            // The last part of a jar is its ending.
            runs == name || path == name || (class == name && !is_jar(runs))
        };
        self.kernel == name || self.file == name || self.java.as_ref().is_some_and(is_java)
    }
}

fn is_jar(runs: &str) -> bool {
    runs.ends_with(".jar")
}

fn last_part(text: &str, between: char) -> &str {
    text.rsplit(between).next().unwrap_or_default()
}

/// The main class, module or jar among the arguments of `java`.
fn java_runs<'a>(args: &[&'a str]) -> Option<&'a str> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if matches!(*arg, "-jar" | "-m" | "--module") {
            return args.next().copied();
        }
        if JAVA_OPTIONS_WITH_VALUE.contains(arg) {
            args.next();
        } else if !arg.starts_with('-') && !arg.starts_with('@') && !arg.is_empty() {
            return Some(arg);
        }
    }
    None
}

impl HostProcesses {
    fn read() -> Self {
        let mut all = Vec::new();
        let folders = std::fs::read_dir("/proc").into_iter().flatten().take(HOST_PROCESSES_MAX);
        for pid in folders.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok()) {
            let Some(stat) = of_pid(pid).and_then(|process| process.stat().ok()) else { continue };
            if matches!(stat.state, 'Z' | 'X') {
                continue;
            }
            let command_line = parse::read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let parent = u32::try_from(stat.ppid).unwrap_or(0);
            all.push((stat.starttime, pid, parent, ProcessNames::of(stat.comm, &command_line)));
        }
        let parents = all.iter().map(|(_, pid, parent, _)| (*pid, *parent)).collect();
        let own = family(std::process::id(), &parents);
        let (ours, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, pid, _, _)| own.contains(pid));
        let mut others: Vec<_> =
            others.into_iter().map(|(start, pid, _, names)| (start, pid, names)).collect();
        others.sort_by_key(|(start, pid, _)| (*start, *pid));
        Self { others, own, own_names: ours.into_iter().map(|(_, _, _, names)| names).collect() }
    }

    /// Oldest first.
    fn of_name(&self, name: &str) -> Vec<u32> {
        self.others.iter().filter(|(_, _, names)| names.has(name)).map(|(_, pid, _)| *pid).collect()
    }

    fn own_has(&self, name: &str) -> bool {
        self.own_names.iter().any(|names| names.has(name))
    }
}

/// A process and all that descend from it.
fn family(of: u32, parents: &BTreeMap<u32, u32>) -> BTreeSet<u32> {
    let mut all = BTreeSet::from([of]);
    loop {
        let more = parents.iter().filter(|(pid, parent)| all.contains(*parent) && !all.contains(*pid));
        let more: Vec<u32> = more.map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(kernel: &str, args: &[&str]) -> ProcessNames {
        ProcessNames::of(kernel.to_owned(), &args.join("\0"))
    }

    #[test]
    fn a_process_has_the_names_that_users_know_it_by() {
        let broker =
            ["/opt/java/bin/java", "-Xmx1G", "-cp", "/opt/kafka/libs/*", "kafka.Kafka", "server.properties"];
        for name in ["java", "kafka.Kafka", "Kafka"] {
            assert!(names("java", &broker).has(name), "{name}");
        }
        let jar = ["java", "--add-opens", "a/b=ALL-UNNAMED", "-jar", "/srv/app-1.2.jar", "--port", "80"];
        assert!(names("java", &jar).has("app-1.2.jar") && names("java", &jar).has("/srv/app-1.2.jar"));
        assert!(!names("java", &jar).has("jar") && !names("java", &jar).has("80"));
        let long = names("a-name-that-is-", &["/usr/bin/a-name-that-is-cut-off", "-x"]);
        assert!(long.has("a-name-that-is-cut-off") && long.has("a-name-that-is-"));
        assert!(!long.has("a-name-that-is-cut") && !long.has("-x"), "the whole name");
        assert!(names("kworker/0:1", &[""]).has("kworker/0:1"), "the kernel's own have no command line");
        assert!(!names("postgres", &["postgres: writer"]).has("kafka.Kafka"));
    }

    #[test]
    fn descendants_belong_to_the_family() {
        let parents = BTreeMap::from([(1, 0), (10, 1), (11, 10), (12, 11), (20, 1), (9, 12)]);
        assert_eq!(family(10, &parents), BTreeSet::from([9, 10, 11, 12]));
    }

    #[test]
    fn ones_own_processes_and_what_is_not_there_are_no_answer() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let find = |typed: &str| NamedProcesses::find(&[typed.to_owned()], &[]);
        let own = [std::process::id().to_string(), child.id().to_string()];
        let found = own.each_ref().map(|pid| find(pid));
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert_eq!(found, own.map(|pid| Err(NamedError::Own(pid))));
        for typed in ["no-process-has-this-name", "4294967295", "99999999999999999999"] {
            let error = find(typed).expect_err("nothing has it");
            assert_eq!(error, NamedError::NotFound(typed.to_owned()));
            assert!(error.to_string().contains(typed), "{error}");
        }
        for typed in ["", "two words", "\u{7}"] {
            assert!(matches!(find(typed), Err(NamedError::NoName(_))), "{typed:?}");
        }
        assert!(
            NamedProcesses::find(&[], &[])
                .expect("nothing to find")
                .look(&BTreeSet::new())
                .processes
                .is_empty()
        );
    }

    #[test]
    fn names_are_kept_and_one_that_has_gone_is_looked_for() {
        let kept = ["no-process-has-this-name".to_owned()];
        let named = NamedProcesses::find(&[], &kept).expect("no error");
        assert_eq!(named.look(&BTreeSet::new()).missing.len(), 1, "it is told");
        assert!(named.may_come_again(&Subject::Process(kept[0].clone())));
        let mut names = kept.to_vec();
        let pid = One::Process(ProcessId::of(std::process::id()).expect("this one"), "me".to_owned());
        let all = vec![pid, One::Each("db".to_owned()), One::Only(kept[0].clone())];
        NamedProcesses { all }.keep_names(&mut names);
        assert_eq!(names, ["no-process-has-this-name", "db"], "a pid is not kept");
        assert!(matches!(NamedProcesses::find(&kept, &kept), Err(NamedError::NotFound(_))), "it was typed");
    }

    /// Host with these processes, oldest first.
    fn host(all: &[(u32, &str)]) -> HostProcesses {
        let others = all.iter().map(|(pid, name)| (0, *pid, names(name, &[name]))).collect();
        HostProcesses { others, own: BTreeSet::new(), own_names: Vec::new() }
    }

    fn found(named: &NamedProcesses, host: &HostProcesses, known: &[u32]) -> Vec<(String, u32)> {
        let found = named.look_on(host, &known.iter().copied().collect());
        found.processes.into_iter().map(|one| (one.subject.to_string(), one.pid)).collect()
    }

    #[test]
    fn the_only_one_of_a_name_keeps_it_and_several_are_numbered() {
        let named = |typed: &str, host: &HostProcesses| NamedProcesses {
            all: vec![one(typed, host).expect("it is there")],
        };
        let one_alone = host(&[(7, "db")]);
        let only = named("db", &one_alone);
        assert_eq!(found(&only, &one_alone, &[]), [("process-db".to_owned(), 7)]);
        let restarted = host(&[(9, "db"), (10, "db")]);
        assert_eq!(found(&only, &restarted, &[]), [("process-db".to_owned(), 9)], "the oldest");
        assert_eq!(found(&only, &one_alone, &[7]), [], "it is read as something else already");
        let each = named("db", &restarted);
        let both = [("process-db-9".to_owned(), 9), ("process-db-10".to_owned(), 10)];
        assert_eq!(found(&each, &restarted, &[]), both);
        let gone = host(&[]);
        assert_eq!(only.look_on(&gone, &BTreeSet::new()).missing.len(), 1);
        let many: Vec<(u32, &str)> = (1..=20).map(|pid| (pid, "db")).collect();
        let of_many = each.look_on(&host(&many), &BTreeSet::new());
        assert_eq!((of_many.processes.len(), of_many.missing.len()), (NAMED_MAX, 4));
    }

    #[test]
    fn what_may_not_be_read_is_said_in_words() {
        assert_eq!(denied_words(false, false), None);
        let both = denied_words(true, true).expect("words");
        assert_eq!(both, "its disk bytes and open files are not read, since it belongs to another user");
        let me = ProcessRef::new(Subject::Kdyno, std::process::id());
        assert_eq!(denied(&me), None);
    }
}
