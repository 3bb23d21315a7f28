//! What every benchmark is handed: the programs, how to run, and what there is to say about the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// The program with what only benchmarks run.
pub const HELPER: &str = "kdyno-bench";

/// How the benchmarks are run.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// Short measurements, one round: for trying the harness, not for figures.
    pub quick: bool,
    /// Rounds of every alternation.
    pub rounds: usize,
}

/// Where things are.
#[derive(Debug, Clone)]
pub struct Setup {
    /// This program: it is the bare writer, the sink and the sleep loop as well.
    pub xtask: PathBuf,
    /// The program measured.
    pub kdyno: PathBuf,
    /// `kdyno-bench`; `None`: the program is of a commit that had its commands itself.
    pub helper: Option<PathBuf>,
    /// Builds of peers; below target/, so that `cargo clean` removes it.
    pub folder: PathBuf,
    /// How to run.
    pub options: BenchOptions,
}

impl Setup {
    /// The program at its usual place, or another one.
    pub fn new(root: &Path, options: BenchOptions, kdyno: Option<PathBuf>) -> anyhow::Result<Setup> {
        if cfg!(debug_assertions) {
            println!("note: this is a development build; figures are for trying the harness only");
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let built = root.join(target).join("release");
        let setup = Setup {
            xtask: std::env::current_exe().context("cannot find this program")?,
            kdyno: built.join("kdyno"),
            helper: Some(built.join(HELPER)),
            folder: root.join("target/bench"),
            options,
        };
        Ok(kdyno.map_or_else(|| setup.clone(), |kdyno| setup.measuring(kdyno)))
    }

    /// A setup that measures another program. Its `kdyno-bench` is the one next to it. Where there is none it may have the commands
    /// itself; otherwise it is built without them (`make demo`), and this checkout's drives its worker.
    pub fn measuring(&self, kdyno: PathBuf) -> Setup {
        let next = kdyno.with_file_name(HELPER);
        let has_commands = || {
            let help = Command::new(&kdyno).args(["bench-load", "--help"]).output();
            help.is_ok_and(|help| help.status.success())
        };
        let helper = if next.is_file() {
            Some(next)
        } else if has_commands() {
            None
        } else {
            self.helper.clone()
        };
        Setup { kdyno, helper, ..self.clone() }
    }

    /// A command of `kdyno-bench`.
    pub fn helper(&self, name: &str) -> Command {
        let mut command = Command::new(self.helper.as_ref().unwrap_or(&self.kdyno));
        command.arg(name);
        command
    }
}

/// Processor, count, and load: a busy machine makes every figure below doubtful.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = load_average();
    let model = model.map_or("unknown processor", |(_, model)| model).trim();
    format!("machine: {processors} × {model}, load average before: {load}")
}

/// Processes that wanted a processor, average of the last minute.
pub fn load_average() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helper_is_the_programs_own_or_this_checkouts() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = BenchOptions { quick: true, rounds: 1 };
        let setup = Setup::new(Path::new("/here"), options, None).expect("a setup");
        let own = setup.helper.clone();
        let helper = |name: &str, program: &str, has_next: bool| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            std::os::unix::fs::symlink(program, folder.join("kdyno")).expect("a program");
            if has_next {
                std::fs::write(folder.join(HELPER), "").expect("a file");
            }
            let next = Some(folder.join(HELPER));
            let of = setup.measuring(folder.join("kdyno"));
            assert_eq!(of.kdyno, folder.join("kdyno"));
            (of.helper.clone() == next, of.helper)
        };
        assert!(helper("new", "/bin/false", true).0);
        assert_eq!(helper("earlier", "/bin/true", false).1, None, "it has the commands itself");
        assert_eq!(helper("demo", "/bin/false", false).1, own);
    }
}
