//! `cargo xtask release`: the program as files that run where no toolchain is.

mod command;
mod deb;
mod image;
mod licences;
mod linked;
mod pack;
mod source;
mod tried;

use std::path::{Path, PathBuf};

use anyhow::Context;

use self::source::Release;

/// Where Debian and its like say which release they are.
const OF_DEBIAN: &str = "/etc/debian_version";

/// Packs the program that is built already, below Cargo's target folder, and tries what was packed from there: an archive,
/// and on Debian and its like a package and an image of a container, which need Debian's tools and files.
pub fn run(root: &Path, program: Option<PathBuf>) -> anyhow::Result<()> {
    let release = Release::read(root, program)?;
    let folder = release.metadata.target.join("release-archive");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // On the same drive, so that what is whole is moved to its place in one step.
    let work = tempfile::tempdir_in(&folder).context("cannot make a folder to work in")?;
    let staged = work.path().join(&release.name);
    std::fs::create_dir(&staged)?;
    let linked = pack::fill(&release, &staged)?;
    let mut notes = Vec::new();
    let archive = pack::archive(&release, work.path())?;
    tried::archive(&archive, &release).context("the archive")?;
    let mut packed = vec![("archive", archive)];
    if Path::new(OF_DEBIAN).is_file() {
        let package = deb::pack(&release, &staged, &linked, work.path())?;
        tried::deb(&package, &release).context("the Debian package")?;
        let image = image::pack(&release, &staged, work.path())?;
        let untried = tried::image(&image, &release).context("the image")?;
        notes.extend(untried.map(|why| format!("the image was not tried: {why}")));
        packed.extend([("package", package), ("image", image)]);
    } else {
        notes.push("no Debian package and no image: these are made on Debian".to_owned());
    }
    if release.is_changed() {
        notes.push("with changes that were not committed".to_owned());
    }
    notes.iter().for_each(|note| println!("note: {note}"));
    for (what, path) in packed {
        tell(what, &path, &folder)?;
    }
    let program = std::fs::metadata(staged.join("kdyno"))?.len();
    println!("program  {:.1} MB, runs on {} Linux, {linked}", program as f64 / 1e6, std::env::consts::ARCH);
    Ok(())
}

/// Moves a file and its sum to where they stay, and says so.
fn tell(what: &str, path: &Path, folder: &Path) -> anyhow::Result<()> {
    let sum = pack::checksum(path)?;
    let digits = std::fs::read_to_string(&sum)?;
    let mut at = PathBuf::new();
    for path in [&sum, path] {
        at = folder.join(path.file_name().context("a file has a name")?);
        std::fs::rename(path, &at).with_context(|| format!("cannot move {}", path.display()))?;
    }
    println!("{what:8} {}", at.display());
    let size = std::fs::metadata(&at)?.len() as f64 / 1e6;
    println!("         {size:.1} MB, sha256 {}", digits.split_whitespace().next().unwrap_or_default());
    Ok(())
}
