//! This program on hosts that ssh reaches: copied once, into a folder that its digest names, and started from there.
//!
//! Both is done by one script each, for any shell of POSIX. A copy gets its name when its digest is right and it has run
//! there: one that is half made or of no use is never started.

use kdyno_model::units::bytes;
use kdyno_testbed::digest::sha256;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The host has no copy.
pub(super) const MISSING: i32 = 40;
/// It is another kind of host.
const OTHER_KIND: i32 = 41;
/// The copy could not be written.
const NOT_WRITTEN: i32 = 42;
/// It is not what was sent.
const OTHER_SUM: i32 = 43;
/// It may not be run.
const NOT_ALLOWED: i32 = 44;
/// It fails.
const FAILS: i32 = 45;

/// What can be done where no copy can be.
const NAME_ONE: &str = "name a kdyno of this version that is there: `program: PATH`";

/// The executable of this program.
pub(super) struct OwnProgram {
    pub(super) path: PathBuf,
    /// Its digest, in hexadecimal digits.
    sha256: String,
    bytes: u64,
}

impl OwnProgram {
    /// Reads it; an error is one lowercase clause.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let read = File::open(path).and_then(|mut file| {
            let bytes = file.metadata()?.len();
            Ok(Self { path: path.to_owned(), sha256: sha256(&mut file)?, bytes })
        });
        read.map_err(|error| {
            format!("this program, {}, cannot be read to be copied: {error}", path.display())
        })
    }

    /// How large it is, in words.
    pub(super) fn size(&self) -> String {
        bytes(self.bytes as f64)
    }

    /// The kind of host that it runs on, as `uname -sm` prints it.
    fn kind() -> String {
        format!("Linux {}", std::env::consts::ARCH)
    }

    /// Starts the copy as an agent; ends with [`MISSING`] where there is none.
    pub(super) fn start_script(&self) -> String {
        let script = format!(
            "p=\"{}/kdyno\"; [ -x \"$p\" ] || exit {MISSING}; exec \"$p\" agent --stdio",
            self.folder()
        );
        in_shell(&script)
    }

    /// Makes the copy of what comes over standard input; how it ends says [`Self::why_not`].
    pub(super) fn copy_script(&self) -> String {
        let (folder, kind, sha256) = (self.folder(), Self::kind(), &self.sha256);
        let steps = [
            format!(
                "u=\"$(uname -sm)\"; [ \"$u\" = \"{kind}\" ] || {{ echo \"it is $u\" >&2; exit {OTHER_KIND}; }}"
            ),
            format!("umask 077; d=\"{folder}\""),
            format!("mkdir -p \"$d\" && t=\"$(mktemp \"$d/copy.XXXXXX\")\" || exit {NOT_WRITTEN}"),
            "e() { rm -f \"$t\"; rmdir \"$d\" 2>/dev/null; }; trap e EXIT; trap \"exit 1\" HUP INT TERM"
                .to_owned(),
            format!("cat > \"$t\" || exit {NOT_WRITTEN}"),
            "s=\"$(sha256sum < \"$t\")\"".to_owned(),
            format!(
                "[ \"${{s%% *}}\" = {sha256} ] || {{ echo \"its sum is ${{s:-unknown}}\" >&2; exit {OTHER_SUM}; }}"
            ),
            format!("chmod 700 \"$t\" || exit {NOT_WRITTEN}"),
            format!(
                "\"$t\" version > /dev/null; r=$?; [ $r = 126 ] && exit {NOT_ALLOWED}; [ $r = 0 ] || exit {FAILS}"
            ),
            format!("mv -f \"$t\" \"$d/kdyno\" || exit {NOT_WRITTEN}"),
        ];
        in_shell(&steps.join("; "))
    }

    /// Why there is no copy, one lowercase clause, and what can be done; what the host said comes behind it.
    pub(super) fn why_not(&self, status: Option<i32>) -> (String, &'static str) {
        match status {
            Some(OTHER_KIND) => {
                (format!("this kdyno is built for {} and was not copied there", Self::kind()), NAME_ONE)
            }
            Some(NOT_WRITTEN) => (
                format!("this kdyno ({}) could not be written to ~/.cache/kdyno there", self.size()),
                "make room there, or name a kdyno of this version that is there: `program: PATH`",
            ),
            Some(OTHER_SUM) => ("the copy of kdyno there is not what was sent".to_owned(), NAME_ONE),
            Some(NOT_ALLOWED) => {
                let why = "no program may be run from ~/.cache/kdyno there, as on a file system that is mounted noexec";
                (why.to_owned(), NAME_ONE)
            }
            Some(FAILS) => ("the copy of this kdyno does not run there".to_owned(), NAME_ONE),
            Some(other) => (format!("this kdyno was not copied there: ssh ended with {other}"), ""),
            None => ("copying this kdyno there was ended".to_owned(), ""),
        }
    }

    /// The folder of the copy, for a shell there.
    fn folder(&self) -> String {
        format!("${{XDG_CACHE_HOME:-$HOME/.cache}}/kdyno/{}", self.sha256)
    }
}

/// For the login shell of the host, whichever that is: it takes what is in single quotes as it is.
fn in_shell(script: &str) -> String {
    format!("exec sh -c '{script}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output, Stdio};

    /// Runs a script as sshd does, with the home folder that is given.
    fn run(script: &str, home: &Path, input: Option<&Path>) -> Output {
        let input = input.map_or(Stdio::null(), |path| File::open(path).expect("a file").into());
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("HOME", home).env_remove("XDG_CACHE_HOME").stdin(input);
        shell.output().expect("a shell")
    }

    /// A program that says with which arguments it was started, and exits like that.
    fn program(folder: &Path, exit: i32) -> OwnProgram {
        let path = folder.join("program");
        std::fs::write(&path, format!("#!/bin/sh\necho \"$@\"\nexit {exit}\n")).expect("written");
        OwnProgram::read(&path).expect("read")
    }

    #[test]
    fn a_program_is_copied_where_missing_and_started_there() {
        let dir = tempfile::tempdir().expect("temp dir");
        let (home, own) = (dir.path().join("a home"), program(dir.path(), 0));
        std::fs::create_dir(&home).expect("a folder");
        assert_eq!(run(&own.start_script(), &home, None).status.code(), Some(MISSING));
        assert!(!home.join(".cache").exists(), "looking makes nothing");
        for _ in 0..2 {
            let said = run(&own.copy_script(), &home, Some(&own.path));
            assert!(said.status.success() && said.stdout.is_empty(), "{said:?}");
        }
        let folder = home.join(".cache/kdyno").join(&own.sha256);
        let files: Vec<_> =
            std::fs::read_dir(&folder).expect("made").map(|one| one.expect("entry")).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&files[0].metadata().expect("there").permissions());
        assert_eq!(mode & 0o777, 0o700);
        let said = run(&own.start_script(), &home, None);
        assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(0), &b"agent --stdio\n"[..]));
    }

    #[test]
    fn what_is_cut_off_or_fails_leaves_nothing() {
        let dir = tempfile::tempdir().expect("temp dir");
        let own = program(dir.path(), 7);
        let said = run(&own.copy_script(), dir.path(), None);
        assert_eq!(said.status.code(), Some(OTHER_SUM), "{said:?}");
        assert!(String::from_utf8_lossy(&said.stderr).contains("its sum is e3b0c442"), "{said:?}");
        let said = run(&own.copy_script(), dir.path(), Some(&own.path));
        assert_eq!(said.status.code(), Some(FAILS), "{said:?}");
        let made = std::fs::read_dir(dir.path().join(".cache/kdyno")).expect("a folder").count();
        assert_eq!(made, 0);
        std::fs::write(dir.path().join("file"), "").expect("written");
        let said = run(&own.copy_script(), &dir.path().join("file"), Some(&own.path));
        assert_eq!(said.status.code(), Some(NOT_WRITTEN), "{said:?}");
        let (why, hint) = own.why_not(said.status.code());
        assert!(why.contains("could not be written") && hint.contains("program: PATH"), "{why} {hint}");
    }
}
