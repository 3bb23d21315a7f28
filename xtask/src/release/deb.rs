//! The program as a Debian package, made of what the archive holds.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::command::said;
use super::linked::Linked;
use super::pack::{copy, write};
use super::source::Release;

/// Packages that bring a shared library. Another one has to be looked up before the package names it.
const LIBRARIES: &[(&str, &str)] = &[
    ("ld-linux-aarch64.so.1", "libc6"),
    ("ld-linux-x86-64.so.2", "libc6"),
    ("libc.so.6", "libc6"),
    ("libm.so.6", "libc6"),
    ("libgcc_s.so.1", "libgcc-s1"),
];

/// Where files of the archive go.
const PLACES: &[(&str, &str)] = &[
    ("kdyno", "usr/bin/kdyno"),
    ("completions/kdyno.bash", "usr/share/bash-completion/completions/kdyno"),
    ("completions/_kdyno", "usr/share/zsh/vendor-completions/_kdyno"),
    ("completions/kdyno.fish", "usr/share/fish/vendor_completions.d/kdyno.fish"),
    ("README.md", "usr/share/doc/kdyno/README.md"),
    ("CHANGELOG.md", "usr/share/doc/kdyno/changelog"),
];

/// Folders of the archive, and where they go.
const FOLDERS: &[(&str, &str)] = &[
    ("docs", "usr/share/doc/kdyno/docs"),
    ("licenses", "usr/share/doc/kdyno/licenses"),
    ("man/man1", "usr/share/man/man1"),
];

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kdyno

Files: *
Copyright: the authors of kdyno
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0. Crates of other authors that are linked into the program are
 listed in the folder licenses next to this file, each with its licence.
";

/// Packs the folder of the archive. Names are sorted, times are the commit's, the owner is root.
pub fn pack(release: &Release, staged: &Path, linked: &Linked, work: &Path) -> anyhow::Result<PathBuf> {
    let root = work.join("deb");
    for (from, to) in PLACES {
        copy(&staged.join(from), &root.join(to))?;
    }
    for (from, to) in FOLDERS {
        let to = root.join(to);
        std::fs::create_dir_all(to.parent().context("below a folder")?)?;
        said(Command::new("cp").arg("--recursive").arg(staged.join(from)).arg(&to))?;
    }
    write(&root.join("usr/share/doc/kdyno/copyright"), COPYRIGHT)?;
    let architecture = architecture()?;
    write(&root.join("DEBIAN/control"), &control(&release.metadata.version, linked, architecture)?)?;
    said(
        Command::new("sh")
            .args([
                "-c",
                "gzip -9 -n usr/share/man/man1/* usr/share/doc/kdyno/changelog && chmod -R u=rwX,go=rX .",
            ])
            .current_dir(&root),
    )?;
    let package = work.join(format!("kdyno_{}_{architecture}.deb", release.metadata.version));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&package);
    said(dpkg.env("SOURCE_DATE_EPOCH", release.made_at.to_string()))?;
    Ok(package)
}

/// What Debian, and images of containers, call this processor.
pub fn architecture() -> anyhow::Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("it is not known what Debian calls {other}"),
    }
}

fn control(version: &str, linked: &Linked, architecture: &str) -> anyhow::Result<String> {
    let mut depends: Vec<String> = Vec::new();
    for library in &linked.libraries {
        let known = LIBRARIES.iter().find(|(name, _)| name == library);
        let (_, package) =
            known.with_context(|| format!("it is not known which package brings {library}"))?;
        let package = match *package {
            "libc6" => format!("libc6 (>= {})", linked.glibc),
            other => other.to_owned(),
        };
        if !depends.contains(&package) {
            depends.push(package);
        }
    }
    depends.sort();
    Ok(format!(
        "\
Package: kdyno
Version: {version}
Architecture: {architecture}
Maintainer: the authors of kdyno <authors@kdyno.invalid>
Section: utils
Priority: optional
Depends: {depends}
Recommends: default-jre-headless (>= 2:1.17) | java17-runtime-headless
Suggests: default-jdk-headless, maven
Description: performance lab for Apache Kafka
 kdyno starts a real cluster on this host, or attaches to an existing one, applies a controlled load and reports
 throughput, latency, CPU time per record and every reason not to trust the figures.
 .
 To measure an existing cluster nothing else is needed. A cluster on this host needs Java and Maven.
",
        depends = depends.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_what_the_package_depends_on() {
        let of = |libraries: &[&str]| Linked {
            glibc: "2.34".to_owned(),
            libraries: libraries.iter().map(|name| (*name).to_owned()).collect(),
        };
        let linked = of(&["libgcc_s.so.1", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2"]);
        let control = control("1.2.3", &linked, "amd64").expect("all are known");
        for line in ["Version: 1.2.3", "Architecture: amd64", "Depends: libc6 (>= 2.34), libgcc-s1"] {
            assert!(control.lines().any(|one| one == line), "{line}: {control}");
        }
        let unknown =
            super::control("1.2.3", &of(&["libz.so.1"]), "amd64").expect_err("a package is missing");
        assert!(unknown.to_string().contains("libz.so.1"), "{unknown}");
    }
}
