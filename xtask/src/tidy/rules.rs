//! The one table of what must never be: which crate may use what. The same rows guard the build
//! and are printed into docs/ARCHITECTURE.md.

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

/// Every crate of the workspace but xtask. A crate that is missing here fails the check.
pub const CRATES: &[CrateRule] = &[
    CrateRule { place: "model", may_use: &[], pure: true, no_tokio: true, program: false, never: PURE },
    CrateRule {
        place: "scenario",
        may_use: &["model"],
        pure: true,
        no_tokio: true,
        program: false,
        never: PURE,
    },
    CrateRule {
        place: "kafka",
        may_use: &[],
        pure: false,
        no_tokio: true,
        program: false,
        never: "know anything of benchmarking; depend on tokio",
    },
    CrateRule {
        place: "kafka-server",
        may_use: &["kafka"],
        pure: false,
        no_tokio: true,
        program: false,
        never: "be mistaken for a measured cluster: only `null-broker` and tests use it",
    },
    CrateRule {
        place: "load",
        may_use: &["model", "kafka"],
        pure: false,
        no_tokio: true,
        program: false,
        never: "see clusters or the store; depend on tokio; lock, format or allocate per record",
    },
    CrateRule {
        place: "plan",
        may_use: &["model", "scenario", "analysis"],
        pure: true,
        no_tokio: true,
        program: false,
        never: PURE,
    },
    CrateRule {
        place: "testbed",
        may_use: &["model", "kafka"],
        pure: false,
        no_tokio: false,
        program: false,
        never: "see load",
    },
    CrateRule {
        place: "store",
        may_use: &["model"],
        pure: false,
        no_tokio: false,
        program: false,
        never: "let anyone else know the format of a run file",
    },
    CrateRule {
        place: "analysis",
        may_use: &["model"],
        pure: true,
        no_tokio: true,
        program: false,
        never: PURE,
    },
    CrateRule {
        place: "report",
        may_use: &["model"],
        pure: true,
        no_tokio: true,
        program: false,
        never: "state a number that no finding holds; touch a socket, file, clock, environment or \
                unseeded randomness",
    },
    CrateRule {
        place: "lab",
        may_use: &["model", "kafka", "load", "plan", "testbed", "store", "analysis"],
        pure: false,
        no_tokio: false,
        program: false,
        never: "print; know how a report looks",
    },
    CrateRule {
        place: "kdyno",
        may_use: &[
            "model",
            "scenario",
            "kafka",
            "kafka-server",
            "load",
            "plan",
            "testbed",
            "store",
            "analysis",
            "report",
            "lab",
        ],
        pure: false,
        no_tokio: false,
        program: true,
        never: "hold logic that another crate could hold",
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

/// Paths that pure code must not name, and what to do instead.
pub const IMPURE_PATHS: &[(&str, &str)] = &[
    ("std::net", "take the bytes as an argument"),
    ("std::fs", "take the text or bytes as an argument"),
    ("std::env", "take the value as an argument; only crates/kdyno reads the environment"),
    ("std::process", "leave processes to testbed and lab"),
    ("std::thread", "leave threads to the caller"),
    ("std::os", "leave the operating system to testbed and load"),
    ("std::io::stdin", "take the text as an argument"),
    ("std::io::stdout", "return the text; only crates/kdyno prints"),
    ("std::io::stderr", "return the text; only crates/kdyno prints"),
    ("std::time::SystemTime", "take the instant as an argument, in nanoseconds"),
    ("std::time::Instant", "take the instant as an argument, in nanoseconds"),
    ("SystemTime::now", "take the instant as an argument, in nanoseconds"),
    ("Instant::now", "take the instant as an argument, in nanoseconds"),
    ("Timestamp::now", "take the instant as an argument, in nanoseconds"),
    ("Zoned::now", "take the instant as an argument, in nanoseconds"),
    ("thread_rng", "seed a generator from the plan"),
    ("rand::rng", "seed a generator from the plan"),
    ("rand::random", "seed a generator from the plan"),
    ("RandomState", "iteration order must not vary: use BTreeMap or BTreeSet"),
    ("std::collections::HashMap", "iteration order must not vary: use BTreeMap"),
    ("std::collections::HashSet", "iteration order must not vary: use BTreeSet"),
];

/// Paths that only the program may name.
pub const PROGRAM_PATHS: &[(&str, &str)] = &[
    ("println!", "return the text; only crates/kdyno prints"),
    ("print!", "return the text; only crates/kdyno prints"),
    ("eprintln!", "return an error or report progress; only crates/kdyno prints"),
    ("eprint!", "return an error or report progress; only crates/kdyno prints"),
    ("std::process::exit", "return an error; only crates/kdyno exits"),
    ("process::exit", "return an error; only crates/kdyno exits"),
    ("std::env", "take the value as an argument; only crates/kdyno reads the environment"),
];

/// The table as Markdown, exactly as it stands between the markers in docs/ARCHITECTURE.md.
pub fn markdown() -> String {
    let mut text = String::from("| crate | may use | must never |\n|---|---|---|\n");
    for rule in CRATES {
        let may_use = match rule.may_use {
            [] => "nothing of ours".to_owned(),
            names if names.len() == CRATES.len() - 1 => "all".to_owned(),
            names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        text.push_str(&format!("| `{}` | {may_use} | {} |\n", rule.place, rule.never));
    }
    text.push_str(
        "\nOnly `kdyno` prints, parses arguments, reads the environment, handles signals or exits. \
         A published figure stands nowhere but in a scenario file.\n",
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
        assert!(markdown().contains("| `load` | `model`, `kafka` |"), "{}", markdown());
    }
}
