//! What was packed, tried as somebody has it who has nothing else: unpacked into an empty folder, with an empty environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::command::said;
use super::image;
use super::source::Release;
use crate::bench::process::{Background, tail, words};

/// Tries the archive.
pub fn archive(archive: &Path, release: &Release) -> anyhow::Result<()> {
    let place = place()?;
    said(
        Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(place.path()),
    )?;
    Bare::of_program(place.path(), &format!("{}/kdyno", release.name)).measures(release)
}

/// Tries the package, which dpkg would unpack into `/`.
pub fn deb(package: &Path, release: &Release) -> anyhow::Result<()> {
    let place = place()?;
    said(Command::new("dpkg-deb").arg("--extract").arg(package).arg(place.path()))?;
    for file in ["man/man1/kdyno.1.gz", "bash-completion/completions/kdyno", "doc/kdyno/copyright"] {
        let path = place.path().join("usr/share").join(file);
        ensure!(path.is_file(), "the package has no /usr/share/{file}");
    }
    Bare::of_program(place.path(), "usr/bin/kdyno").measures(release)
}

/// Tries the image as its configuration says: its files are the root, and it is run by its user. Where this host does not allow
/// a change of root, what it says.
pub fn image(image: &Path, release: &Release) -> anyhow::Result<Option<String>> {
    let place = place()?;
    let (layout, root) = (place.path().join("layout"), place.path().join("root"));
    for folder in [&layout, &root] {
        std::fs::create_dir(folder)?;
    }
    said(Command::new("tar").arg("--extract").arg("--file").arg(image).arg("--directory").arg(&layout))?;
    let index: Value = serde_json::from_slice(&std::fs::read(layout.join("index.json"))?)?;
    let manifest: Value = serde_json::from_slice(&std::fs::read(blob(&layout, &index["manifests"][0])?)?)?;
    let config: Value = serde_json::from_slice(&std::fs::read(blob(&layout, &manifest["config"])?)?)?;
    let layer = blob(&layout, &manifest["layers"][0])?;
    said(
        Command::new("tar")
            .args(["--extract", "--gzip", "--same-permissions", "--file"])
            .arg(layer)
            .arg("--directory")
            .arg(&root),
    )?;
    ensure!(
        config["config"]["Labels"]["org.opencontainers.image.revision"] == release.commit.as_str(),
        "the image is of another commit"
    );
    ensure!(!root.join("bin/sh").exists() && !root.join("usr/bin/sh").exists(), "the image has a shell");
    // A container has devices; the one that is needed may as well be a file here.
    std::fs::write(root.join("dev/null"), "")?;
    said(Command::new("chmod").arg("a=rw").arg(root.join("dev/null")))?;
    said(Command::new("chmod").arg("a+rx").arg(&root))?;

    let user = image::USER.to_string();
    let flags = if rustix::process::geteuid().is_root() {
        [format!("--setuid={user}"), format!("--setgid={user}"), "--kill-child".to_owned()]
    } else {
        [format!("--map-user={user}"), format!("--map-group={user}"), "--kill-child".to_owned()]
    };
    let mut launcher =
        vec!["unshare".to_owned(), "--mount".to_owned(), "--pid".to_owned(), "--fork".to_owned()];
    launcher.extend(flags);
    if let Err(error) = said(Command::new(&launcher[0]).args(&launcher[1..]).arg("true")) {
        return Ok(Some(format!("{error:#}")));
    }
    let settings = &config["config"];
    let words = |key: &str| {
        settings[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
    };
    launcher.extend([format!("--root={}", root.display()), "--mount-proc".to_owned()]);
    launcher.push(format!("--wd={}", settings["WorkingDir"].as_str().unwrap_or("/")));
    launcher.extend(words("Entrypoint"));
    let environment = words("Env")
        .filter_map(|one| one.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())));
    Bare { place: place.path().to_owned(), launcher, environment: environment.collect(), root }
        .measures(release)?;
    Ok(None)
}

/// The file that a part of a layout refers to; its name is its digest.
fn blob(layout: &Path, part: &Value) -> anyhow::Result<PathBuf> {
    let digest = part["digest"].as_str().context("a part without its digest")?;
    let path = layout.join("blobs").join(digest.replace(':', "/"));
    ensure!(image::sum(&path)? == digest, "{} is not what it is called", path.display());
    Ok(path)
}

fn place() -> anyhow::Result<tempfile::TempDir> {
    let place = tempfile::tempdir().context("cannot make a folder to try what was packed in")?;
    std::fs::create_dir(place.path().join("empty"))?;
    Ok(place)
}

/// What was unpacked.
struct Bare {
    place: PathBuf,
    /// What starts the program, before its arguments.
    launcher: Vec<String>,
    environment: Vec<(String, String)>,
    /// What the program takes for `/`.
    root: PathBuf,
}

impl Bare {
    /// A program where no other program is found and there is no home.
    fn of_program(place: &Path, path: &str) -> Bare {
        let empty = place.join("empty").display().to_string();
        let environment = [("PATH", &empty), ("HOME", &empty), ("TMPDIR", &place.display().to_string())];
        Bare {
            place: place.to_owned(),
            launcher: vec![place.join(path).display().to_string()],
            environment: environment.map(|(name, value)| (name.to_owned(), value.clone())).into(),
            root: PathBuf::from("/"),
        }
    }

    /// Measures a broker that keeps nothing. Real brokers need a JDK: with those it is tried by
    /// `crates/kdyno/tests/real_cluster/bare_host.rs`.
    fn measures(&self, release: &Release) -> anyhow::Result<()> {
        let says = self.says(&["--version"], &[0])?;
        ensure!(says.trim() == release.says, "the program says `{}`", says.trim());
        // Advice that is not followed is no failure of the program.
        self.says(&["doctor"], &[0, 3])?;
        self.says(&["run", "first-light", "--dry-run"], &[0])?;
        let broker = Background::start(&mut self.command(&["null-broker", "--port", "0"]))?;
        let address = broker.first_line.as_str();
        // Its figures are not used: a busy host may make them void.
        let quick = ["quick", "--bootstrap-server", address, "--rate", "100/s", "--duration", "1s"];
        self.says(&quick, &[0, 6])?;
        drop(broker);
        let shown: Value = serde_json::from_str(&self.says(&["show", "latest", "--json"], &[0])?)?;
        let findings = shown["findings"].as_array().context("a run without findings")?;
        let is_rate = |one: &&Value| one["metric"] == "acked_per_s" && one["quantity"] == "value";
        let rate = findings.iter().find(is_rate).and_then(|one| one["value"].as_f64());
        ensure!(rate.is_some_and(|rate| rate > 0.0), "no record was acknowledged: {rate:?}");
        self.says(&["export", "latest", "--format", "csv"], &[0])?;
        let page = self.says(&["report", "latest"], &[0])?;
        let page = self.root.join(page.trim().trim_start_matches('/'));
        let page = std::fs::read_to_string(&page).with_context(|| format!("no page {}", page.display()))?;
        ensure!(
            page.contains("<script"),
            "its pages have no script: scripts/web.sh makes it, before the build"
        );
        Ok(())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.launcher[0]);
        command.args(&self.launcher[1..]).args(args).current_dir(&self.place).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What it prints; it must end with one of these codes.
    fn says(&self, args: &[&str], codes: &[i32]) -> anyhow::Result<String> {
        let mut command = self.command(args);
        let output = command.output().with_context(|| format!("cannot start {}", words(&command)))?;
        let (out, complaint) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.code().is_some_and(|code| codes.contains(&code)) {
            bail!("{}: {}\n{}", words(&command), output.status, tail(&format!("{out}{complaint}")));
        }
        Ok(out.into_owned())
    }
}
