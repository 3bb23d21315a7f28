//! `cargo xtask release`: the program as an archive that runs where no toolchain is.

mod command;
mod licences;
mod linked;
mod pack;
mod source;
mod tried;

use std::path::{Path, PathBuf};

use anyhow::Context;

use self::linked::Linked;
use self::source::Release;

/// Packs the program that is built already into an archive below Cargo's target folder, and tries it from there.
pub fn run(root: &Path, program: Option<PathBuf>) -> anyhow::Result<()> {
    let release = Release::read(root, program)?;
    let folder = release.metadata.target.join("release-archive");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // On the same drive, so that what is whole is moved to its place in one step.
    let work = tempfile::tempdir_in(&folder).context("cannot make a folder to work in")?;
    let staged = work.path().join(&release.name);
    std::fs::create_dir(&staged)?;
    let linked = pack::fill(&release, &staged)?;
    let archive = pack::archive(&release, work.path())?;
    tried::run(&archive, &release)?;
    let sum = pack::checksum(&archive)?;
    for path in [&archive, &sum] {
        let name = path.file_name().context("a file has a name")?;
        std::fs::rename(path, folder.join(name))
            .with_context(|| format!("cannot move {}", path.display()))?;
    }
    tell(&release, &linked, &folder, &std::fs::metadata(staged.join("kdyno"))?)
}

/// The last lines: what came out, and where it runs.
fn tell(
    release: &Release,
    linked: &Linked,
    folder: &Path,
    program: &std::fs::Metadata,
) -> anyhow::Result<()> {
    let archive = folder.join(format!("{}.tar.gz", release.name));
    let sum = std::fs::read_to_string(folder.join(format!("{}.tar.gz.sha256", release.name)))?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    if release.is_changed() {
        println!("note: with changes that were not committed");
    }
    println!("archive  {}", archive.display());
    println!(
        "size     {:.1} MB, the program in it {:.1} MB",
        megabytes(std::fs::metadata(&archive)?.len()),
        megabytes(program.len())
    );
    println!("sha256   {}", sum.split_whitespace().next().unwrap_or_default());
    println!("runs on  {} Linux, {linked}", std::env::consts::ARCH);
    Ok(())
}
