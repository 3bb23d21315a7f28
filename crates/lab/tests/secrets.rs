//! A whole run whose plan names secrets: the worker gets their values, and nothing else has them, neither the run
//! file, nor a log, nor what the operating system shows of the worker. This one program is the test, the run that it
//! looks into and the run's worker. And a run that ends with a login that is refused, by a broker that repeats what it
//! received.

use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::messages::{
    Message, m17_sasl_handshake, m18_api_versions, m36_sasl_authenticate, write_frame,
};
use kdyno_kafka_server::null_broker::{NullBrokerOptions, serve};
use kdyno_lab::{RunOptions, RunProgress, RunRequest, run};
use kdyno_load::framing::read_before_task;
use kdyno_model::plan::{Protocol, Sasl, Security, SystemPlan};
use kdyno_model::secret::SecretRef;
use kdyno_model::worker::BeforeTask;
use kdyno_plan::Choices;
use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{DumpableBehavior, dumpable_behavior};
use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name by which the null broker answers.
const CLUSTER_ID: &str = "kdyno-null-broker";

/// The variable that one secret is in.
const VARIABLE: &str = "KDYNO_TEST_SECRET";

/// What the values begin with, as text and as base64 text: to be found nowhere. Each goes on with its name.
const MARKS: [&str; 2] = ["xyzzy-plugh-", "eHl6enktcGx1Z2gt"];

/// Secrets whose values are known, in order.
const KNOWN: [&str; 3] = ["by-command", "by-file", "by-variable"];

const SCENARIO: &str = "\
kdyno: 1
id: small
question: Does it work?
topics:
  perf: {partitions: 1, replicas: 1}
load:
  writers: {produce: perf, rate: 50/s, value: 100B}
phases: {warmup: 1s, measure: 3s, drain: 5s}
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker"] => worker(),
        ["--run", folder, address] => run_in(Path::new(folder), address),
        ["--refused", folder, address] => refused_in(Path::new(folder), address),
        _ => {
            let whole = Trial::test("values_reach_the_worker_and_nothing_else", || -> Result<(), Failed> {
                values_reach_the_worker_and_nothing_else();
                Ok(())
            });
            let refused = Trial::test("a_refused_login_prints_no_secret", || -> Result<(), Failed> {
                a_refused_login_prints_no_secret();
                Ok(())
            });
            return libtest_mimic::run(&Arguments::from_args(), vec![whole, refused]).exit_code();
        }
    }
    ExitCode::SUCCESS
}

fn value(name: &str) -> String {
    format!("{}{name}", MARKS[0])
}

fn values_reach_the_worker_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = with_secrets(folder.path());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let broker = std::thread::spawn(move || serve(listener, NullBrokerOptions::default(), stopped));
    let said = said_by("--run", &here, &address);
    stop.store(true, Ordering::Relaxed);
    broker.join().expect("no panic").expect("a broker that serves");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let heard = std::fs::read_to_string(here.join("heard")).expect("what the worker heard");
    assert_eq!(heard, "by-command by-file by-variable made:43", "all of them, before the task");
    let dumpable = std::fs::read_to_string(here.join("dumpable")).expect("what the worker was then");
    assert_eq!(dumpable, "Ok(NotDumpable)", "a core dump of the worker would have them");
    assert_without_marks(&said.stdout, "standard output");
    assert_without_marks(&said.stderr, "standard error");
    assert!(here.join("run.kdyno").exists());
    assert_folder_without_marks(&here);
}

/// What is given, and next to it the run's own folder, in which nothing may have a value.
fn with_secrets(folder: &Path) -> PathBuf {
    for name in KNOWN {
        let path = folder.join(name);
        std::fs::write(&path, value(name)).expect("written");
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("made private");
    }
    let here = folder.join("here");
    std::fs::create_dir(&here).expect("a folder");
    here
}

/// This program as a run.
fn said_by(mode: &str, here: &Path, address: &str) -> Output {
    Command::new(std::env::current_exe().expect("a path of its own"))
        .args([mode, here.to_str().expect("a plain path"), address])
        .env(VARIABLE, value("by-variable"))
        .current_dir(here)
        .output()
        .expect("a program that starts")
}

fn a_refused_login_prints_no_secret() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = with_secrets(folder.path());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    // It waits for connections until this process ends.
    std::thread::spawn(move || listener.incoming().flatten().for_each(refuse));
    let said = said_by("--refused", &here, &address);
    let text = String::from_utf8_lossy(&said.stdout);
    assert_without_marks(&said.stdout, "standard output");
    assert_without_marks(&said.stderr, "standard error");
    assert_folder_without_marks(&here);
    assert!(text.contains("the broker refused the login by PLAIN"), "{text}");
    assert!(text.contains("(hidden)"), "it has repeated what it was told: {text}");
}

/// Answers each request of a login; the last with an error that repeats the request.
fn refuse(mut stream: TcpStream) {
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        let mut request = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut request).expect("a request");
        let number = |at: usize| i16::from_be_bytes([request[at], request[at + 1]]);
        let (key, version) = (number(0), number(2));
        let mut answer = Vec::new();
        write_frame(&mut answer, |out| {
            out.extend_from_slice(&request[4..8]);
            match key {
                18 => spoken().encode(version, out),
                17 => m17_sasl_handshake::Response::default().encode(version, out),
                _ => {
                    let error_code = ErrorCode::SASL_AUTHENTICATION_FAILED;
                    let error_message = Some(String::from_utf8_lossy(&request).into_owned());
                    m36_sasl_authenticate::Response { error_code, error_message, ..Default::default() }
                        .encode(version, out);
                }
            }
        });
        // A client that has gone needs no answer.
        let _ = stream.write_all(&answer);
    }
}

/// All there is, and of logins versions without tags.
fn spoken() -> m18_api_versions::Response {
    let versions = |api_key| m18_api_versions::ApiVersion {
        api_key,
        min_version: 0,
        max_version: if matches!(api_key, 17 | 36) { 1 } else { 20 },
    };
    m18_api_versions::Response { api_keys: (0..=80).map(versions).collect(), ..Default::default() }
}

/// The run's process, where the broker refuses every login.
fn refused_in(here: &Path, address: &str) {
    let mut request = request(here, address);
    let SystemPlan::Attached(target) = &mut request.plan.cases[0].system else { panic!("no target") };
    let sasl = Sasl::Plain { username: "me".to_owned(), password: "by-file".to_owned() };
    let security = Security { protocol: Protocol::SaslPlaintext, tls: None, sasl: Some(sasl) };
    *target.security = security;
    let say = |what: &str| writeln!(io::stdout(), "{what}").expect("somebody who reads");
    let mut progress = |progress: RunProgress| say(&format!("{progress:?}"));
    let reported = match run(&request, options(here, &mut progress)) {
        Ok(outcome) => outcome.failure.expect("a login that is refused").to_string(),
        Err(error) => error.to_string(),
    };
    say(&reported);
}

fn options<'a>(here: &Path, progress: &'a mut dyn FnMut(RunProgress)) -> RunOptions<'a> {
    RunOptions {
        named: Default::default(),
        resume: false,
        run_file: here.join("run.kdyno"),
        work_dir: here.join("work"),
        self_exe: std::env::current_exe().expect("a path of its own"),
        environment: kdyno_testbed::Environment::in_folder(here),
        generators: &[],
        share: true,
        wait: Default::default(),
        stop: Arc::default(),
        variables: &|name| std::env::var_os(name),
        files: &|_| Err("is not read here".to_owned()),
        progress,
    }
}

/// The run's process.
fn run_in(here: &Path, address: &str) {
    let mut looks = 0;
    let mut look = |progress| {
        if let RunProgress::Live(_) = progress {
            assert_folder_without_marks(here);
            for pid in children() {
                for file in ["cmdline", "environ"] {
                    let path = format!("/proc/{pid}/{file}");
                    // Root alone may read the environment of a process whose memory is closed.
                    match std::fs::read(&path) {
                        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                        bytes => {
                            let bytes = bytes.expect("a worker that runs");
                            assert!(!bytes.is_empty(), "{path} tells nothing");
                            assert_without_marks(&bytes, &path);
                        }
                    }
                    looks += 1;
                }
            }
        }
    };
    let request = request(here, address);
    let outcome = run(&request, options(here, &mut look)).expect("a run file");
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert!(looks >= 2, "nobody looked at the worker");
    assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable), "a core dump would have them");
}

fn request(here: &Path, address: &str) -> RunRequest {
    let target = format!(
        "kdyno: 1\ntarget: null\ncluster_id: {CLUSTER_ID}\nclient: {{bootstrap: [\"{address}\"]}}\n\
         guard: {{caps: {{produce: 1MiB/s}}}}\n"
    );
    let file = TargetFile::parse(&target, "target.yaml").expect("a target");
    let target = file.resolve(None).expect("a target");
    let scenario = Scenario::parse(SCENARIO, "small.yaml").expect("a scenario");
    let choices = Choices { target: Some(target), ..Choices::default() };
    let mut plan = kdyno_plan::plan(&scenario, &choices).expect("a plan");
    let sibling = |name: &str| here.parent().expect("a folder above").join(name);
    let command = vec!["cat".to_owned(), sibling("by-command").display().to_string()];
    let references = [
        ("by-command", SecretRef::Exec(command)),
        ("by-file", SecretRef::File(sibling("by-file"))),
        ("by-variable", SecretRef::Env(VARIABLE.to_owned())),
        ("made", SecretRef::Made),
    ];
    plan.cases[0].secrets = references.map(|(name, reference)| (name.to_owned(), reference)).into();
    RunRequest {
        plan,
        scenario_text: SCENARIO.to_owned(),
        scenario_path: "small.yaml".to_owned(),
        command_line: Vec::new(),
        git_head: None,
        kdyno_version: "test".to_owned(),
        run_id: 7,
    }
}

/// The worker's process: kdyno's own worker, and before it somebody who notes the names of the secrets whose values
/// are as they should be.
fn worker() {
    let lab = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().expect("descriptor 0"));
    let (inner, theirs) = UnixStream::pair().expect("a socket pair");
    let (mut from_lab, mut to_worker) =
        (lab.try_clone().expect("a copy"), inner.try_clone().expect("a copy"));
    std::thread::spawn(move || {
        let mut frame = vec![0; 4];
        from_lab.read_exact(&mut frame).expect("a first message");
        let bytes = u32::from_be_bytes(frame[..4].try_into().expect("four")) as usize;
        frame.resize(4 + bytes, 0);
        from_lab.read_exact(&mut frame[4..]).expect("a first message");
        std::fs::write("heard", heard(&frame)).expect("written");
        to_worker.write_all(&frame).expect("a worker that reads");
        io::copy(&mut from_lab, &mut to_worker)
    });
    let (mut from_worker, mut to_lab) = (inner, lab);
    let answers = std::thread::spawn(move || io::copy(&mut from_worker, &mut to_lab));
    kdyno_load::worker::main(OwnedFd::from(theirs)).expect("a trial");
    std::fs::write("dumpable", format!("{:?}", dumpable_behavior())).expect("written");
    answers.join().expect("no panic").expect("a lab that reads");
}

/// Which secrets a message has with the right values.
fn heard(mut frame: &[u8]) -> String {
    let Ok(Some(BeforeTask::Secrets(values))) = read_before_task(&mut frame) else {
        return "another message".to_owned();
    };
    let reported = values.iter().map(|(name, secret)| match name.as_str() {
        "made" => format!("made:{}", secret.expose().len()),
        name if secret.expose() == value(name).as_bytes() => name.to_owned(),
        name => format!("not {name}"),
    });
    reported.collect::<Vec<_>>().join(" ")
}

/// Processes that this one has started.
fn children() -> Vec<u32> {
    let of_thread = |thread: io::Result<std::fs::DirEntry>| {
        let path = thread.expect("a thread").path().join("children");
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
    let lists: Vec<String> = tasks.map(of_thread).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).map(|pid| pid.parse().expect("a number")).collect()
}

fn assert_folder_without_marks(folder: &Path) {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                // SQLite removes its own next to the run file as it pleases.
                let bytes = std::fs::read(&path).unwrap_or_default();
                assert_without_marks(&bytes, &path.display().to_string());
            }
        }
    }
}

fn assert_without_marks(bytes: &[u8], what: &str) {
    for mark in MARKS {
        let is_there = bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
        assert!(!is_there, "a secret's value is in {what}");
    }
}
