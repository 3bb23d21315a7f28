//! Java's compiler, which makes classes of small programs of ours against jars that were fetched.

use crate::bounded;
use crate::error::TestbedError;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A dozen classes take two seconds; this is for a busy host.
const TIME_MAX: Duration = Duration::from_secs(120);
/// Folder of the sources, within that of the program.
pub const SOURCES: &str = "java";

/// Writes the sources (path below the root of packages, and text) beneath a folder, and compiles them into `classes` for Java
/// `oldest` and newer; `None`: they are compiled, else what the compiler said.
///
/// # Errors
/// A file cannot be written, or the compiler does not run or does not come to an end.
pub fn compile(
    (compiler, oldest): (&Path, u32),
    sources: &[(&str, &str)],
    class_path: &OsStr,
    (folder, classes): (&Path, &Path),
) -> Result<Option<String>, TestbedError> {
    let root = folder.join(SOURCES);
    let files: Vec<PathBuf> = sources.iter().map(|(name, _)| root.join(name)).collect();
    files.iter().zip(sources).try_for_each(|(file, (_, text))| write(file, text))?;
    let log = folder.join("javac.log");
    let output = File::create(&log).map_err(|e| TestbedError::io("cannot create", &log, e))?;
    let oldest = oldest.to_string();
    let mut command = Command::new(compiler);
    command
        .args(["--release", &oldest, "-encoding", "UTF-8", "-proc:none", "-nowarn", "-cp"])
        .arg(class_path)
        .arg("-d")
        .arg(classes)
        .args(&files)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let ended = bounded::run(command, TIME_MAX);
    match ended.map_err(|e| TestbedError::io("cannot run", compiler, e))? {
        Some(status) if status.success() => Ok(None),
        Some(_) => Ok(Some(String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned())),
        None => Err(TestbedError::hinted(
            format!("the Java compiler did not finish in {} s", TIME_MAX.as_secs()),
            works_hint(compiler),
        )),
    }
}

/// How to find out whether a compiler is at fault.
pub(crate) fn works_hint(compiler: &Path) -> String {
    format!("check that `{} -version` works", compiler.display())
}

/// Writes a file, with the folders above it.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), TestbedError> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|e| TestbedError::io("cannot create", folder, e))?;
    std::fs::write(path, text).map_err(|e| TestbedError::io("cannot write", path, e))
}
