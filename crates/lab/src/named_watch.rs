//! Processes that a user named, while a trial goes on: one that has ended is looked for again.

use kdyno_model::event::Subject;
use kdyno_testbed::probe::ProbeSampler;
use kdyno_testbed::probe::named::{FoundProcesses, NamedProcesses, denied};
use kdyno_testbed::process::ProcessRef;
use std::collections::BTreeSet;

/// How often one that is not there is looked for: that reads the names of all processes of the host; ns.
const LOOK_AGAIN_NS: u64 = 5_000_000_000;

/// What became of them, for events: process and what happened.
type ProcessChanges = Vec<(Subject, String)>;

pub(crate) struct NamedWatch {
    named: NamedProcesses,
    /// Processes that are read anyway.
    known: BTreeSet<u32>,
    /// Processes that are not there.
    missing: BTreeSet<Subject>,
    /// When they are looked for again, CLOCK_MONOTONIC, ns.
    look_ns: u64,
}

impl NamedWatch {
    pub(crate) fn new(named: NamedProcesses, known: &[ProcessRef]) -> Self {
        let known = known.iter().map(|process| process.pid).collect();
        Self { named, known, missing: BTreeSet::new(), look_ns: 0 }
    }

    /// Finds them and has them watched; what is not there, or cannot be read in full, is reported.
    pub(crate) fn begin(&mut self, sampler: &mut ProbeSampler) -> ProcessChanges {
        let FoundProcesses { processes, missing } = self.named.look(&self.known);
        let denied = processes.iter().filter_map(|process| Some((process.subject.clone(), denied(process)?)));
        let mut reported: ProcessChanges = denied.collect();
        processes.into_iter().for_each(|process| sampler.add(process));
        self.missing = missing.iter().map(|(subject, _)| subject.clone()).collect();
        reported.extend(missing.into_iter().map(|(subject, why)| {
            let detail = format!("{subject} is not read: {why}");
            (subject, detail)
        }));
        reported
    }

    /// Reports those that have ended since, and looks for them now and then.
    pub(crate) fn after_reading(&mut self, sampler: &mut ProbeSampler, now_ns: u64) -> ProcessChanges {
        if self.named.is_empty() {
            return Vec::new();
        }
        let ended = sampler.dead().into_iter().filter(|subject| matches!(subject, Subject::Process(_)));
        let ended: Vec<Subject> = ended.filter(|subject| !self.missing.contains(subject)).collect();
        let mut reported: ProcessChanges =
            ended.iter().map(|subject| (subject.clone(), format!("{subject} has ended"))).collect();
        self.missing.extend(ended);
        let may_come = self.missing.iter().any(|subject| self.named.may_come_again(subject));
        if !may_come || now_ns < self.look_ns {
            return reported;
        }
        self.look_ns = now_ns.saturating_add(LOOK_AGAIN_NS);
        for process in self.named.look(&self.known).processes {
            if self.missing.remove(&process.subject) {
                let detail = format!("{} is there again, as process {}", process.subject, process.pid);
                reported.push((process.subject.clone(), detail));
                sampler.add(process);
            }
        }
        reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    const GENEROUS: Duration = Duration::from_secs(60);

    /// A process of a name that nothing else has, no child of this one; its number.
    struct Stranger(u32);

    impl Stranger {
        fn start(sleep: &PathBuf) -> Self {
            // Its parent ends at once: what this process starts itself is its own.
            let script = "\"$0\" 600 >/dev/null 2>&1 & echo $!";
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).arg(sleep).process_group(0).stdin(Stdio::null());
            let said = shell.output().expect("a shell");
            let pid = String::from_utf8_lossy(&said.stdout).trim().parse().expect("a number");
            Self(pid)
        }
    }

    impl Drop for Stranger {
        fn drop(&mut self) {
            let _ = Command::new("kill").args(["-9", &self.0.to_string()]).status();
        }
    }

    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + GENEROUS;
        while !is_so() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_process_that_is_started_again_goes_on_under_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = format!("kd{}", std::process::id());
        let sleep = folder.path().join(&name);
        std::fs::copy("/bin/sleep", &sleep).expect("a copy of a program");
        let first = Stranger::start(&sleep);
        let find = || NamedProcesses::find(std::slice::from_ref(&name), &[]);
        until("it is there", || find().is_ok());
        let mut watch = NamedWatch::new(find().expect("it is there"), &[]);
        let mut sampler = ProbeSampler::new(Vec::new(), false);
        assert_eq!(watch.begin(&mut sampler), []);
        let subject = Subject::Process(name.clone());
        let is_read = |sampler: &mut ProbeSampler| sampler.sample(0).iter().any(|one| one.subject == subject);
        assert!(is_read(&mut sampler));
        drop(first);
        until("its end is seen", || !is_read(&mut sampler));
        let reported = watch.after_reading(&mut sampler, 1);
        assert_eq!(reported, [(subject.clone(), format!("{subject} has ended"))]);
        assert_eq!(watch.after_reading(&mut sampler, 2), [], "told once");
        let again = Stranger::start(&sleep);
        until("it is there again", || find().is_ok());
        assert_eq!(watch.after_reading(&mut sampler, 3), [], "not looked for all the time");
        let reported = watch.after_reading(&mut sampler, 1 + LOOK_AGAIN_NS);
        assert_eq!(
            reported,
            [(subject.clone(), format!("{subject} is there again, as process {}", again.0))]
        );
        assert!(is_read(&mut sampler));
        assert_eq!(watch.after_reading(&mut sampler, 2 + 2 * LOOK_AGAIN_NS), []);
    }

    #[test]
    fn what_is_read_anyway_is_not_read_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = format!("ke{}", std::process::id());
        let sleep = folder.path().join(&name);
        std::fs::copy("/bin/sleep", &sleep).expect("a copy of a program");
        let one = Stranger::start(&sleep);
        let find = || NamedProcesses::find(std::slice::from_ref(&name), &[]);
        until("it is there", || find().is_ok());
        let known = ProcessRef::new(Subject::Broker(0), one.0);
        let mut watch = NamedWatch::new(find().expect("it is there"), &[known]);
        let mut sampler = ProbeSampler::new(Vec::new(), false);
        assert_eq!(watch.begin(&mut sampler).len(), 0, "it is there, under another name");
        assert_eq!(sampler.sample(0), []);
    }
}
