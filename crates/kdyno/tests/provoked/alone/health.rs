//! Rules of health that a load and other programs break on this host (`make test-matrix`, for they depend on it). Which
//! test breaks which rule is in docs/reference/health-figures.md.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder, is_matrix};
use crate::fixture::{StoredFigures, brokers, provoke, provoke_with, scenario};
use kdyno_model::health::HealthRule;
use rustix::fs::OFlags;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

/// What a cluster carries without effort.
const LITTLE: &str = "  writers: {produce: perf, rate: 500/s, value: 100B, client: {linger.ms: 0}}\n";
const PHASES: &str = "warmup: 1s, measure: 6s, drain: 5s";

/// A run of a little load next to what goes on meanwhile on this host.
fn little_load(place: &TestFolder) -> StoredFigures {
    provoke(place, brokers(1, 1), &scenario("", LITTLE, PHASES), |_, _| ()).1
}

/// What the others are compared with: the same load by itself.
#[test]
fn a_little_load_alone_breaks_no_rule_that_noise_makes_it_break() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    let broken = little_load(&place).broken();
    for rule in [
        HealthRule::GeneratorBusy,
        HealthRule::OneProcessorFull,
        HealthRule::DiskBandwidth,
        HealthRule::DriveWriteTime,
        HealthRule::DriveReadTime,
        HealthRule::NetworkBandwidth,
        HealthRule::Retransmits,
        HealthRule::PacketsDropped,
        HealthRule::ProbesBusy,
    ] {
        assert!(!broken.contains(&rule), "{rule} among {broken:?}");
    }
}

/// About 600 kB/s, to a broker that is declared to have little more than that.
#[test]
fn declared_disk_and_network_are_compared_with_what_was_used() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    let head = "environment: {disk: {limit: 650kB/s}, network: {limit: 650kB/s}}\n";
    let load = "  writers: {produce: perf, rate: 500/s, value: 1000B, client: {linger.ms: 0}}\n";
    let (said, seen) = provoke(&place, brokers(1, 1), &scenario(head, load, PHASES), |_, _| ());
    let broken = seen.broken();
    let full = [HealthRule::DiskBandwidth, HealthRule::NetworkBandwidth];
    assert!(full.iter().all(|rule| broken.contains(rule)), "{broken:?}");
    let details = place.details();
    assert!(details.contains("broker disks"), "what records take of them: {} {details}", said.stdout);
}

/// A program that never sleeps, on one processor of several.
#[test]
fn a_single_full_cpu_is_noticed() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        eprintln!("skipped: there is one CPU");
        return;
    }
    let mut shell = Command::new("sh");
    // Not in the place's folder, where the run's own processes are looked for.
    shell.args(["-c", "while :; do :; done"]).current_dir("/");
    let spinner = place.start(shell);
    let process = Pid::from_raw(spinner.pid().cast_signed()).expect("a process");
    let allowed = sched_getaffinity(Some(process)).expect("its CPUs");
    let last = (0..CpuSet::MAX_CPU).rev().find(|one| allowed.is_set(*one)).expect("a CPU");
    let mut processor = CpuSet::new();
    processor.set(last);
    sched_setaffinity(Some(process), &processor).expect("a CPU that is there");
    let load = "  writers: {produce: perf, rate: 100/s, value: 100B, client: {linger.ms: 0}}\n";
    let (_, seen) = provoke(&place, brokers(1, 1), &scenario("", load, PHASES), |_, _| ());
    drop(spinner);
    assert!(seen.broken().contains(&HealthRule::OneProcessorFull), "{:?}", seen.broken());
}

/// Many programs that write and read past the page cache, each a large block at a time, so that requests queue.
#[test]
fn a_drive_that_others_keep_busy_is_named_with_its_latencies() {
    if !is_matrix() {
        return;
    }
    const THREADS: usize = 96;
    let (_turn, place) = (alone(), TestFolder::new());
    let path = place.path().join("busy");
    let Some(files) = direct(&path, THREADS) else {
        eprintln!("skipped: {} does not lie on a drive", path.display());
        return;
    };
    let seen = while_it_runs(&place, |scope, is_over| {
        for (number, file) in files.iter().enumerate() {
            scope.spawn(move || {
                let at = (number * BLOCK) as u64;
                let mut bytes = vec![7; BLOCK + ALIGNMENT];
                let begin = bytes.as_ptr().align_offset(ALIGNMENT);
                let bytes = &mut bytes[begin..begin + BLOCK];
                while !is_over.load(Ordering::Relaxed) {
                    let _ = if number % 2 == 0 { file.write_at(bytes, at) } else { file.read_at(bytes, at) };
                }
            });
        }
    });
    let broken = seen.broken();
    for rule in [HealthRule::DriveBusy, HealthRule::DriveWriteTime, HealthRule::DriveReadTime] {
        assert!(broken.contains(&rule), "{rule} among {broken:?}");
    }
}

/// Bytes of one request.
const BLOCK: usize = 1 << 20;
/// What past the page cache a buffer has to begin at.
const ALIGNMENT: usize = 4096;

/// A file of so many blocks, opened that often past the page cache; `None` where it lies in memory.
fn direct(path: &Path, blocks: usize) -> Option<Vec<File>> {
    std::fs::write(path, vec![1; blocks * BLOCK]).expect("written");
    let flags = i32::try_from(OFlags::DIRECT.bits()).expect("a flag");
    let open = |_| File::options().read(true).write(true).custom_flags(flags).open(path).ok();
    (0..blocks).map(open).collect()
}

/// A run of a little load, while threads do something else until it is over.
fn while_it_runs<'a>(
    place: &TestFolder,
    start: impl for<'s> FnOnce(&'s Scope<'s, 'a>, &'a AtomicBool),
) -> StoredFigures {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    /// Ends the threads, also when the run fails.
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            IS_OVER.store(true, Ordering::Relaxed);
        }
    }
    IS_OVER.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let _over = Over;
        start(scope, &IS_OVER);
        little_load(place)
    })
}

/// Connections to a program that accepts none: when its queue is full, the kernel drops what asks for one, and it is sent
/// again.
#[test]
fn retransmitted_segments_are_reported() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = deaf.local_addr().expect("an address");
    let short = Duration::from_millis(200);
    let connect = |address: &SocketAddr, time: Duration| TcpStream::connect_timeout(address, time);
    let queued: Vec<TcpStream> = std::iter::from_fn(|| connect(&address, short).ok()).take(10_000).collect();
    let seen = while_it_runs(&place, |scope, is_over| {
        for _ in 0..150 {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    // The first one is sent again after a second.
                    let _ = connect(&address, Duration::from_millis(1200));
                }
            });
        }
    });
    drop((deaf, queued));
    assert!(seen.broken().contains(&HealthRule::Retransmits), "{:?}", seen.broken());
}

/// A process with thousands of threads; each is read every second.
#[test]
fn probes_that_use_a_part_of_a_cpu_are_reported() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    let (gate, own) = (RwLock::new(()), std::process::id().to_string());
    let seen = std::thread::scope(|scope| {
        // Opens at the end, also when the run fails.
        let _shut = gate.write();
        for _ in 0..3000 {
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            thread.spawn_scoped(scope, || drop(gate.read())).expect("a thread");
        }
        provoke_with(&place, brokers(1, 1), &scenario("", LITTLE, PHASES), &["--probe", &own], |_, _| ()).1
    });
    assert!(seen.broken().contains(&HealthRule::ProbesBusy), "{:?}", seen.broken());
}

/// In a network of its own, where an interface drops all that it is given (`ifb`: what was not redirected to it).
#[test]
fn packets_that_an_interface_drops_are_reported() {
    if !is_matrix() {
        return;
    }
    const NETWORK: &str = "ip link set lo up && ip link add drops type ifb && ip link set drops up && \
                           ip addr add 10.77.0.1/24 dev drops";
    let (_turn, place) = (alone(), TestFolder::new());
    let own = |script: &str, kdyno: Command| {
        let mut shell = Command::new("unshare");
        shell.args(["--net", "bash", "-c", script, "bash"]).arg(kdyno.get_program()).args(kdyno.get_args());
        shell.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(place.path());
        shell
    };
    if !own(NETWORK, Command::new("true")).output().is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: no network of its own with an interface that drops (needs root and `ifb`)");
        return;
    }
    let file = place.file("drops.yaml", &scenario("system: {kafka: null-broker}\n", LITTLE, PHASES));
    let kdyno = place.command(&["run", file.to_str().expect("plain path"), "--share", "--yes"]);
    let script = format!(
        "{NETWORK} || exit 99\n\
         (while :; do echo x > /dev/udp/10.77.0.2/9; sleep 0.1; done) & drops=$!\n\
         trap 'kill $drops' EXIT\n\"$@\""
    );
    let said = place.start(own(&script, kdyno)).wait(RUN_DEADLINE);
    assert!(matches!(said.code, Some(0 | 6)), "{said:?}");
    let seen = StoredFigures::of(&place);
    assert!(seen.broken().contains(&HealthRule::PacketsDropped), "{:?}", seen.broken());
    place.expect_no_processes();
}
