//! What goes into the archive, and how it is packed: the same files make the same archive, byte for byte.

use std::ffi::OsStr;
use std::fs::create_dir_all;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::command::{git, said};
use super::linked::Linked;
use super::source::Release;

/// Files and folders of the source that somebody with the archive alone reads: commands and help refer to them.
const READ: &[&str] = &["LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"];

/// Shells, and the names by which they look for what completes their words.
const SHELLS: &[(&str, &str)] = &[("bash", "kdyno.bash"), ("zsh", "_kdyno"), ("fish", "kdyno.fish")];

/// Who may do what with files that everybody may read.
pub const MODE: &str = "u=rwX,go=rX";

/// Puts everything into a folder.
pub fn fill(release: &Release, folder: &Path) -> anyhow::Result<Linked> {
    let program = folder.join("kdyno");
    // Line tables are four fifths of the program; names of functions stay, for traces and for perf.
    said(Command::new("strip").arg("--strip-debug").arg("-o").arg(&program).arg(&release.program))?;
    let linked = Linked::read(&program)?;
    for file in tracked(&release.root)? {
        copy(&release.root.join(&file), &folder.join(&file))?;
    }
    let licences = folder.join("licenses");
    write(&licences.join("crates.txt"), &release.metadata.notices()?)?;
    copy(&of_rust()?, &licences.join("rust-standard-library.html"))?;
    said(Command::new(&program).arg("man").arg(folder.join("man/man1")))?;
    for (shell, name) in SHELLS {
        let script = said(Command::new(&program).args(["completions", shell]))?;
        write(&folder.join("completions").join(name), &(script + "\n"))?;
    }
    write(&folder.join("INSTALL.txt"), &install(release, &linked))?;
    Ok(linked)
}

/// Paths of those files that Git tracks.
fn tracked(root: &Path) -> anyhow::Result<Vec<String>> {
    let listed = said(git(root).args(["ls-files", "-z", "--"]).args(READ))?;
    let files: Vec<String> =
        listed.split('\0').filter(|path| root.join(path).is_file()).map(str::to_owned).collect();
    if let Some(missing) = READ.iter().find(|one| !files.iter().any(|file| file.starts_with(**one))) {
        bail!("Git tracks no {missing} in {}", root.display());
    }
    Ok(files)
}

/// The notices of Rust's standard library, which is linked into every program; they come with the compiler.
fn of_rust() -> anyhow::Result<PathBuf> {
    let toolchain = PathBuf::from(said(Command::new("rustc").args(["--print", "sysroot"]))?);
    let notices = toolchain.join("share/doc/rust/COPYRIGHT-library.html");
    if !notices.is_file() {
        bail!("the notices of Rust's standard library are not where rustup puts them: {}", notices.display());
    }
    Ok(notices)
}

pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    create_dir_all(to.parent().context("below a folder")?)?;
    std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    create_dir_all(path.parent().context("below a folder")?)?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// What somebody reads who has unpacked the archive.
fn install(release: &Release, linked: &Linked) -> String {
    format!(
        "\
{says}, a performance lab for Apache Kafka, for {arch} Linux

To measure a cluster of yours nothing has to be installed: no Java, no Rust. It needs
{linked},
a folder for what it measured (the current one, or --out), /tmp or TMPDIR, and no network but the brokers' own:

    ./kdyno quick --bootstrap-server HOST:9092      a first figure of a cluster; `./kdyno quick --help`
    ./kdyno run MY.yaml --target MY-CLUSTER.yaml    docs/guide/own-cluster.md
    ./kdyno show latest                             and `report`, `export`, `serve`: anywhere
    ./kdyno doctor                                  which settings of this host would make Kafka slower

What starts Kafka on this host (`./kdyno run first-light`, `cluster up`) also needs a JDK, 17 or newer, and Maven, which
downloads Kafka once; Kafka's own Java client as the load (`driver: java`) needs both too.

Put kdyno into a folder of your PATH, or link it from there. For the manual pages (`man kdyno-run`) copy man/man1 to
/usr/local/share/man; for completions
    bash    cp completions/kdyno.bash /usr/share/bash-completion/completions/kdyno
    zsh     cp completions/_kdyno /usr/local/share/zsh/site-functions/
    fish    cp completions/kdyno.fish /usr/share/fish/vendor_completions.d/

README.md and docs/ are those of this version. kdyno is licensed under the Apache License 2.0 (LICENSE); what is linked into
it is listed with its licences in licenses/.
",
        says = release.says,
        arch = std::env::consts::ARCH,
    )
}

/// Packs the folder of the archive's name.
pub fn archive(release: &Release, work: &Path) -> anyhow::Result<PathBuf> {
    let archive = work.join(format!("{}.tar", release.name));
    tar("--create", MODE, release.made_at, (work, std::slice::from_ref(&release.name)), &archive)?;
    said(Command::new("gzip").args(["-9", "-n"]).arg(&archive))?;
    Ok(archive.with_extension("tar.gz"))
}

/// Packs what these names in a folder name, or appends it. Names are sorted, times are the commit's, the owner is root.
pub fn tar(
    action: &str,
    mode: &str,
    made_at: u64,
    (folder, names): (&Path, &[impl AsRef<OsStr>]),
    to: &Path,
) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args([action, "--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mode={mode}"))
        .arg(format!("--mtime=@{made_at}"))
        .arg("--file")
        .arg(to)
        .arg("--directory")
        .arg(folder)
        .args(names)
        .env("LC_ALL", "C");
    said(&mut tar).map(drop)
}

/// Writes a file's sum next to it, as `sha256sum --check` reads it.
pub fn checksum(archive: &Path) -> anyhow::Result<PathBuf> {
    let name = archive.file_name().context("a file has a name")?;
    let mut sha256sum = Command::new("sha256sum");
    sha256sum.arg(name).current_dir(archive.parent().context("in a folder")?);
    let mut checksum_file = archive.as_os_str().to_owned();
    checksum_file.push(".sha256");
    let checksum_file = PathBuf::from(checksum_file);
    write(&checksum_file, &(said(&mut sha256sum)? + "\n"))?;
    Ok(checksum_file)
}
