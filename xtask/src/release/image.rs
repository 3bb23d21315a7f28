//! The program as an image of a container, made without a daemon: a layout of the Open Container Initiative in one tar file,
//! which also has the index by which older versions of Docker load it.

use std::fs::create_dir_all;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use aws_lc_rs::digest;
use serde_json::{Value, json};

use super::command::said;
use super::deb::architecture;
use super::pack::{MODE, copy, tar, write};
use super::source::Release;

/// The user that runs in it: one that no host knows.
pub const USER: u32 = 65_532;
/// The program in it.
const PROGRAM: &str = "usr/bin/kdyno";
/// Folders in which everybody may write: of runs, and of what is there for a while.
const WRITABLE: [&str; 2] = ["runs", "tmp"];
/// What a program of glibc opens by name when it looks up a host, in releases before 2.34.
const RESOLVERS: [&str; 3] = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];
/// Authorities that brokers' certificates are checked by, where Debian and its like have them.
const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";
/// Packages of this host whose files are in the image: their licences go with them.
const OF_HOST: [&str; 3] = ["libc6", "libgcc-s1", "ca-certificates"];

/// Packs the program of the archive with what it is linked with.
pub fn pack(release: &Release, staged: &Path, work: &Path) -> anyhow::Result<PathBuf> {
    let root = work.join("root");
    fill(&root, staged)?;
    let layer = work.join("layer.tar");
    let names = entries(&root)?;
    let (open, closed): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| WRITABLE.contains(&name.as_str()));
    tar("--create", MODE, release.made_at, (&root, &closed), &layer)?;
    tar("--append", "a=rwxt", release.made_at, (&root, &open), &layer)?;
    let uncompressed = sum(&layer)?;
    said(Command::new("gzip").args(["-9", "-n"]).arg(&layer))?;

    let layout = work.join("layout");
    let layer = blob(&layout, &std::fs::read(work.join("layer.tar.gz"))?, "layer.v1.tar+gzip")?;
    let config = config(release, &uncompressed)?;
    let config = blob(&layout, config.to_string().as_bytes(), "config.v1+json")?;
    let manifest = json!({"schemaVersion": 2, "mediaType": media_type("manifest.v1+json"), "config": config, "layers": [layer]});
    let mut manifest = blob(&layout, manifest.to_string().as_bytes(), "manifest.v1+json")?;
    let name = format!("kdyno:{}", release.metadata.version);
    manifest["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{name}"),
        "org.opencontainers.image.ref.name": release.metadata.version,
    });
    let place =
        |blob: &Value| blob["digest"].as_str().unwrap_or_default().replace("sha256:", "blobs/sha256/");
    let of_docker = json!([{"Config": place(&config), "RepoTags": [name], "Layers": [place(&layer)]}]);
    let index =
        json!({"schemaVersion": 2, "mediaType": media_type("index.v1+json"), "manifests": [manifest]});
    write(&layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    write(&layout.join("index.json"), &index.to_string())?;
    write(&layout.join("manifest.json"), &of_docker.to_string())?;
    let image = work.join(format!("{}-image.tar", release.name));
    tar("--create", MODE, release.made_at, (&layout, &entries(&layout)?), &image)?;
    Ok(image)
}

/// What is in the image: no shell, and no Java.
fn fill(root: &Path, staged: &Path) -> anyhow::Result<()> {
    let program = root.join(PROGRAM);
    copy(&staged.join("kdyno"), &program)?;
    for library in libraries(&program)? {
        copy(&library, &root.join(library.strip_prefix("/")?))?;
    }
    copy(&Path::new("/").join(AUTHORITIES), &root.join(AUTHORITIES))
        .context("the image has the authorities that this host trusts: install ca-certificates")?;
    write(&root.join("etc/passwd"), &format!("root:x:0:0::/:/\nkdyno:x:{USER}:{USER}::/runs:/\n"))?;
    write(&root.join("etc/group"), &format!("root:x:0:\nkdyno:x:{USER}:\n"))?;
    write(&root.join("etc/nsswitch.conf"), "hosts: files dns\n")?;
    // Where what runs it mounts something.
    for folder in ["dev", "proc", "sys"].iter().chain(&WRITABLE) {
        create_dir_all(root.join(folder))?;
    }
    let texts = root.join("usr/share/doc");
    copy(&staged.join("LICENSE"), &texts.join("kdyno/LICENSE"))?;
    said(Command::new("cp").arg("--recursive").arg(staged.join("licenses")).arg(texts.join("kdyno")))?;
    for package in OF_HOST {
        let text = Path::new("/usr/share/doc").join(package).join("copyright");
        // Where there is no such package the licence of what is copied has to be found by hand.
        copy(&text, &texts.join(package).join("copyright"))?;
    }
    Ok(())
}

/// Shared libraries of the program, as the host's loader finds them, and those next to them that are opened by name.
fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = said(Command::new("ldd").arg(program).env("LC_ALL", "C"))?;
    if let Some(missing) = listed.lines().find(|line| line.contains("not found")) {
        bail!("ldd: {}", missing.trim());
    }
    let path_of = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    let mut found: Vec<PathBuf> = listed.lines().filter_map(path_of).collect();
    let libc = found.iter().find(|path| path.ends_with("libc.so.6")).context("it is no program of glibc")?;
    let next_to_libc = RESOLVERS.map(|name| libc.with_file_name(name));
    found.extend(next_to_libc.into_iter().filter(|path| path.is_file()));
    Ok(found)
}

/// How it is run, and what is known of it.
fn config(release: &Release, layer: &str) -> anyhow::Result<Value> {
    let labels = json!({
        "org.opencontainers.image.title": "kdyno",
        "org.opencontainers.image.version": release.metadata.version,
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.created": release.made,
        "org.opencontainers.image.licenses": "Apache-2.0",
    });
    Ok(json!({
        "created": release.made,
        "architecture": architecture()?,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin", "HOME=/runs", "KDYNO_OUT=/runs"],
            "Entrypoint": [format!("/{PROGRAM}")],
            "WorkingDir": "/runs",
            "Volumes": {"/runs": {}},
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": release.made, "created_by": "make release"}],
    }))
}

/// Writes a part of the layout; how others refer to it.
fn blob(layout: &Path, bytes: &[u8], kind: &str) -> anyhow::Result<Value> {
    let digest = sum_of(bytes);
    let folder = layout.join("blobs/sha256");
    create_dir_all(&folder)?;
    std::fs::write(folder.join(digest.trim_start_matches("sha256:")), bytes)?;
    Ok(json!({"mediaType": media_type(kind), "digest": digest, "size": bytes.len()}))
}

fn media_type(kind: &str) -> String {
    format!("application/vnd.oci.image.{kind}")
}

/// Names in a folder, in their order.
fn entries(folder: &Path) -> anyhow::Result<Vec<String>> {
    let name =
        |entry: std::io::Result<std::fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let mut names = std::fs::read_dir(folder)?.map(name).collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// The digest of a file, as the layout writes it.
pub fn sum(path: &Path) -> anyhow::Result<String> {
    Ok(sum_of(&std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?))
}

fn sum_of(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}
