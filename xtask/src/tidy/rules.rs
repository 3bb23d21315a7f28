//! The one table of what must never be: which crate may use what. The same rows guard the build,
//! become each crate's `clippy.toml` and are printed into docs/ARCHITECTURE.md.

/// One row of the never-rules: a crate, what it may use, what it must not touch.
pub struct CrateRule {
    /// Folder under crates/.
    pub place: &'static str,
    /// Our own crates it may depend on, by folder name.
    pub may_use: &'static [&'static str],
    /// No socket, file, clock, environment or unseeded randomness.
    pub pure: bool,
    /// No tokio, directly or through another crate.
    pub no_tokio: bool,
    /// May print, parse arguments, read the environment, handle signals and exit.
    pub program: bool,
    /// The rule in words, as the architecture page prints it.
    pub never: &'static str,
}

const PURE: &str = "touch a socket, file, clock, environment or unseeded randomness";

/// A crate that touches what it needs, without tokio.
const fn rule(place: &'static str, may_use: &'static [&'static str], never: &'static str) -> CrateRule {
    CrateRule { place, may_use, pure: false, no_tokio: true, program: false, never }
}

/// A crate that touches nothing outside.
const fn pure(place: &'static str, may_use: &'static [&'static str], never: &'static str) -> CrateRule {
    CrateRule { pure: true, ..rule(place, may_use, never) }
}

/// A crate that may have tokio below it.
const fn with_tokio(place: &'static str, may_use: &'static [&'static str], never: &'static str) -> CrateRule {
    CrateRule { no_tokio: false, ..rule(place, may_use, never) }
}

/// Every crate of the workspace but xtask. A crate that is missing here fails the check.
pub const CRATES: &[CrateRule] = &[
    pure("model", &[], PURE),
    pure("scenario", &["model"], PURE),
    rule("kafka", &[], "know anything of benchmarking; depend on tokio"),
    rule("credentials", &["model", "kafka"], "repeat a secret; open a socket"),
    rule(
        "kafka-server",
        &["kafka"],
        "be mistaken for a cluster: only `null-broker`, the benchmarks and tests use it",
    ),
    rule("fake-broker", &["kafka", "kafka-server"], "be in a release: only tests and the benchmarks use it"),
    rule(
        "load",
        &["model", "kafka", "credentials"],
        "see clusters or the store; depend on tokio; lock, format or allocate per record",
    ),
    rule("avro", &[], "read a file; draw a random number that another run would not draw"),
    pure("plan", &["model", "scenario", "analysis"], PURE),
    with_tokio("testbed", &["model", "kafka", "credentials"], "see load"),
    with_tokio(
        "java-driver",
        &["model", "testbed"],
        "run a Java client: it makes the command line, a worker runs it",
    ),
    pure("perf-test", &["model"], "print; touch a socket, file, clock, environment or unseeded randomness"),
    with_tokio("kubernetes", &["model"], "print; speak to brokers; know of workers or sessions"),
    with_tokio("http-load", &["model"], "print, but to what it is given; know of clusters"),
    with_tokio("store", &["model"], "let anyone else know the format of a run file"),
    pure("analysis", &["model"], PURE),
    pure(
        "report",
        &["model"],
        "state a number that no finding holds; touch a socket, file, clock, environment or \
                unseeded randomness",
    ),
    pure(
        "doctor",
        &["model"],
        "change anything; touch a socket, file, clock, environment or unseeded randomness",
    ),
    with_tokio(
        "lab",
        &[
            "model",
            "avro",
            "kafka",
            "credentials",
            "load",
            "plan",
            "testbed",
            "java-driver",
            "http-load",
            "kubernetes",
            "store",
            "analysis",
        ],
        "print; know how a report looks",
    ),
    CrateRule {
        program: true,
        ..with_tokio(
            "kdyno",
            &[
                "model",
                "scenario",
                "avro",
                "kafka",
                "credentials",
                "kafka-server",
                "load",
                "plan",
                "testbed",
                "java-driver",
                "perf-test",
                "http-load",
                "kubernetes",
                "store",
                "analysis",
                "report",
                "doctor",
                "lab",
            ],
            "hold logic that another crate could hold",
        )
    },
    CrateRule {
        place: "bench",
        may_use: &["model", "fake-broker", "kafka", "testbed", "lab"],
        pure: false,
        no_tokio: false,
        program: true,
        never: "be in a release; work as a worker: that is the measured program's",
    },
];

/// External crates that reach the world outside: forbidden to the pure crates, however deep.
pub const WORLD_CRATES: &[&str] = &[
    "async-std",
    "axum",
    "curl",
    "fs4",
    "getrandom",
    "hyper",
    "libsqlite3-sys",
    "mio",
    "nix",
    "notify",
    "polling",
    "procfs",
    "reqwest",
    "rusqlite",
    "rustix",
    "signal-hook",
    "smol",
    "socket2",
    "sysinfo",
    "tempfile",
    "tokio",
    "ureq",
    "walkdir",
];

/// External crates that only a program needs: arguments, signals, terminals.
pub const PROGRAM_CRATES: &[&str] = &["clap", "clap_complete", "ctrlc", "signal-hook", "dotenvy"];

/// Functions or types that a crate must not use, and what to do instead. Clippy knows them by the crate's own
/// `clippy.toml`, which is made from these rows.
pub struct Forbidden {
    /// Whole paths, as clippy resolves them.
    pub paths: &'static [&'static str],
    /// What to do instead.
    pub instead: &'static str,
}

/// Functions that only the program may call. That only it prints and exits, lints without a list see to.
pub const PROGRAM_METHODS: &[Forbidden] = &[Forbidden {
    paths: &[
        "std::env::args",
        "std::env::args_os",
        "std::env::current_dir",
        "std::env::current_exe",
        "std::env::home_dir",
        "std::env::remove_var",
        "std::env::set_current_dir",
        "std::env::set_var",
        "std::env::temp_dir",
        "std::env::var",
        "std::env::var_os",
        "std::env::vars",
        "std::env::vars_os",
    ],
    instead: "take the value as an argument; only crates/kdyno reads the environment",
}];

/// Functions that pure code must not call.
pub const IMPURE_METHODS: &[Forbidden] = &[
    Forbidden { paths: &["std::net::ToSocketAddrs::to_socket_addrs"], instead: "look no name up" },
    Forbidden {
        paths: &["jiff::Timestamp::now", "jiff::Zoned::now"],
        instead: "take the instant as an argument, in nanoseconds",
    },
    Forbidden {
        paths: &[
            "std::fs::canonicalize",
            "std::fs::copy",
            "std::fs::create_dir",
            "std::fs::create_dir_all",
            "std::fs::exists",
            "std::fs::hard_link",
            "std::fs::metadata",
            "std::fs::read",
            "std::fs::read_dir",
            "std::fs::read_link",
            "std::fs::read_to_string",
            "std::fs::remove_dir",
            "std::fs::remove_dir_all",
            "std::fs::remove_file",
            "std::fs::rename",
            "std::fs::set_permissions",
            "std::fs::symlink_metadata",
            "std::fs::write",
            "std::path::Path::canonicalize",
            "std::path::Path::exists",
            "std::path::Path::is_dir",
            "std::path::Path::is_file",
            "std::path::Path::is_symlink",
            "std::path::Path::metadata",
            "std::path::Path::read_dir",
            "std::path::Path::read_link",
            "std::path::Path::symlink_metadata",
            "std::path::Path::try_exists",
        ],
        instead: "take the text or bytes as an argument",
    },
    Forbidden {
        paths: &["std::io::stdin", "std::io::stdout", "std::io::stderr"],
        instead: "take and return the text; only crates/kdyno prints",
    },
    Forbidden {
        paths: &["std::process::abort", "std::process::exit", "std::process::id"],
        instead: "return an error; leave processes to testbed and lab",
    },
    Forbidden {
        paths: &[
            "std::thread::available_parallelism",
            "std::thread::current",
            "std::thread::park",
            "std::thread::scope",
            "std::thread::sleep",
            "std::thread::spawn",
        ],
        instead: "leave threads to the caller",
    },
];

/// Types that pure code must not name.
pub const IMPURE_TYPES: &[Forbidden] = &[
    Forbidden {
        paths: &[
            "std::net::TcpListener",
            "std::net::TcpStream",
            "std::net::UdpSocket",
            "std::os::unix::net::UnixDatagram",
            "std::os::unix::net::UnixListener",
            "std::os::unix::net::UnixStream",
        ],
        instead: "take the bytes as an argument",
    },
    Forbidden {
        paths: &["std::fs::DirBuilder", "std::fs::File", "std::fs::OpenOptions", "std::os::fd::OwnedFd"],
        instead: "take the text or bytes as an argument",
    },
    Forbidden {
        paths: &["std::process::Child", "std::process::Command"],
        instead: "leave processes to testbed and lab",
    },
    Forbidden {
        paths: &["std::thread::Builder", "std::thread::JoinHandle"],
        instead: "leave threads to the caller",
    },
    Forbidden {
        paths: &["std::time::Instant", "std::time::SystemTime"],
        instead: "take the instant as an argument, in nanoseconds",
    },
    Forbidden {
        paths: &["std::collections::HashMap", "std::collections::HashSet", "std::hash::RandomState"],
        instead: "iteration order must not vary: use BTreeMap or BTreeSet",
    },
];

/// The table as Markdown, exactly as it is between the markers in docs/ARCHITECTURE.md.
pub fn markdown() -> String {
    let libraries = CRATES.iter().filter(|rule| !rule.program).count();
    let mut text = String::from("| crate | may use | must never |\n|---|---|---|\n");
    for rule in CRATES {
        let may_use = match rule.may_use {
            [] => "nothing of ours".to_owned(),
            names if names.len() == libraries => "all libraries".to_owned(),
            names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        text.push_str(&format!("| `{}` | {may_use} | {} |\n", rule.place, rule.never));
    }
    text.push_str(
        "\nOnly `kdyno` and `bench` print, parse arguments, read the environment, handle signals or exit.\n\
         A published figure is in a scenario file and nowhere else.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_crate_once_and_has_no_cycle() {
        for (index, rule) in CRATES.iter().enumerate() {
            assert!(CRATES[..index].iter().all(|earlier| earlier.place != rule.place), "{}", rule.place);
            for used in rule.may_use {
                let used = CRATES.iter().find(|other| other.place == *used).expect("a known crate");
                assert!(
                    !used.may_use.contains(&rule.place),
                    "{} and {} use each other",
                    rule.place,
                    used.place
                );
                assert!(!rule.pure || used.pure, "pure {} uses {}", rule.place, used.place);
            }
        }
        assert!(markdown().contains("| `load` | `model`, `kafka`, `credentials` |"), "{}", markdown());
    }
}
