//! A program with a Java process, while it runs: how many records it says it has sent, and what its threads have used.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::process::{children_of, cpu_s, cpu_so_far_s, words};

/// Beginnings of the names of the JVM's own threads, as Linux shows them: at most 15 characters.
const JVM_THREADS: &str = "C1 |C2 |GC |G1 |VM |Reference Handl|Finalizer|Signal Dispatch|Common-Cleaner|Notification Th|\
                           Service Thread|Sweeper thread|Monitor Deflati";

/// It ends with this value.
pub struct Program {
    child: Child,
    stdout: BufReader<ChildStdout>,
    begin: Instant,
    records: u64,
    lines: u64,
}

/// What was known just after a line about progress.
pub struct ProgressReading {
    pub at: Instant,
    /// Sent so far.
    pub records: u64,
    /// Seconds that these are of: each has a line.
    pub lines: u64,
    /// Threads of the Java process by name, and the seconds that each has used.
    threads: Vec<(String, f64)>,
    /// What the process that started the Java process has used, s.
    pub parent_s: f64,
}

impl ProgressReading {
    /// What threads with such names have used; the JVM's own are left out.
    pub fn java_s(&self, is_wanted: &dyn Fn(&str) -> bool) -> f64 {
        let is_jvm = |name: &str| JVM_THREADS.split('|').any(|begin| name.starts_with(begin));
        let wanted = self.threads.iter().filter(|(name, _)| !is_jvm(name) && is_wanted(name));
        wanted.map(|(_, seconds)| seconds).sum()
    }
}

/// Records of a line about progress; `None`: it is another line.
fn records_of(line: &str) -> anyhow::Result<Option<u64>> {
    let Some((records, _)) = line.split_once(" records sent") else { return Ok(None) };
    records.trim().parse().map(Some).with_context(|| format!("no number of records in: {line}"))
}

impl Program {
    /// Starts it.
    pub fn start(command: &mut Command) -> anyhow::Result<Program> {
        let name = words(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let stdout = child.stdout.take().context("a program without output")?;
        Ok(Program { child, stdout: BufReader::new(stdout), begin: Instant::now(), records: 0, lines: 0 })
    }

    /// Waits for its first line about progress that comes so long after its start.
    pub fn reading_after(&mut self, since_start: Duration) -> anyhow::Result<ProgressReading> {
        loop {
            let mut line = String::new();
            anyhow::ensure!(self.stdout.read_line(&mut line)? > 0, "it ended too early");
            let Some(records) = records_of(&line)? else { continue };
            self.records += records;
            self.lines += 1;
            if self.begin.elapsed() >= since_start {
                return self.read();
            }
        }
    }

    fn read(&self) -> anyhow::Result<ProgressReading> {
        let at = Instant::now();
        let java = self.java()?;
        let tasks = java.tasks()?.flatten().filter_map(|task| task.stat().ok());
        let threads = tasks.map(|stat| (stat.comm.clone(), cpu_s(&stat))).collect();
        let parent_s = cpu_so_far_s(u32::try_from(java.stat()?.ppid)?)?;
        Ok(ProgressReading { at, records: self.records, lines: self.lines, threads, parent_s })
    }

    /// The Java process: itself, or one below it.
    fn java(&self) -> anyhow::Result<Process> {
        let mut pids = vec![self.child.id()];
        let mut at = 0;
        while let Some(pid) = pids.get(at) {
            let process = Process::new(i32::try_from(*pid)?)?;
            if process.stat()?.comm == "java" {
                return Ok(process);
            }
            pids.extend(children_of(*pid));
            at += 1;
        }
        anyhow::bail!("it has no Java process")
    }

    /// How its Java process was started: program, options and class path, without the class.
    pub fn java_command(&self) -> anyhow::Result<Vec<String>> {
        let mut words = self.java()?.cmdline()?;
        let flag = words.iter().position(|word| ["-cp", "-classpath"].contains(&word.as_str()));
        words.truncate(flag.context("a Java process without a class path")? + 2);
        Ok(words)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It is let end what it has started; this fails only where it has ended already. A shell lets jobs in its background
        // ignore interrupts, and a JVM leaves it at that.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What was known at an instant.
    pub fn reading(
        at: Instant,
        records: u64,
        lines: u64,
        threads: &[(&str, f64)],
        parent_s: f64,
    ) -> ProgressReading {
        let threads = threads.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
        ProgressReading { at, records, lines, threads, parent_s }
    }

    #[test]
    fn lines_of_both_programs_are_read() {
        let progress = "50012 records sent, 50012.0 records/sec (12.21 MB/sec), 3.1 ms avg latency, 9.0 ms max latency.\n";
        assert_eq!(records_of(progress).expect("a line"), Some(50_012));
        assert_eq!(records_of("49988 records sent\n").expect("a line"), Some(49_988));
        assert_eq!(records_of("Warmup first 10 records.\n").expect("another line"), None);
        let error = records_of("100 steady state records sent, 1.0 records/sec\n").expect_err("a total");
        assert!(error.to_string().contains("no number of records in: 100 steady"), "{error}");
    }

    #[test]
    fn javas_own_threads_are_left_out() {
        let threads = [
            ("java", 0.5),
            ("kafka-producer-", 2.0),
            ("kdyno-client-0", 1.0),
            ("kdyno-frames", 0.25),
            ("C2 CompilerThre", 40.0),
            ("G1 Conc#0", 40.0),
            ("GC Thread#1", 40.0),
            ("VM Periodic Tas", 40.0),
            ("Common-Cleaner", 40.0),
            ("Notification Th", 40.0),
        ];
        let read = reading(Instant::now(), 0, 0, &threads, 0.0);
        assert_eq!(read.java_s(&|_| true), 3.75);
        assert_eq!(read.java_s(&|name| name == "java"), 0.5);
    }
}
