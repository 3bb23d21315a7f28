//! A mirror that has another file than was published, with the published checksum or with one of its own.

use crate::failures::{contains, fetched_by_maven, maven_with_mirror};
use crate::scene::{TestFolder, ensure, trial};
use kdyno_model::version::{NEWEST, Version};
use kdyno_testbed::{TestbedError, download};
use libtest_mimic::{Failed, Trial};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the file lies in a repository of Maven's.
const PLACE: [&str; 4] = ["org", "apache", "kafka", "kafka-clients"];

pub fn trials() -> Vec<Trial> {
    vec![trial("a_file_that_is_not_as_it_was_published_is_refused", other_file)]
}

fn other_file() -> Result<(), Failed> {
    let mut scene = TestFolder::new()?;
    let version = Version::parse(NEWEST)?;
    scene.environment.cache_dir = scene.folder.path().join("first");
    let jars = download::clients(&scene.environment, &version, &|_| {})?;
    let Some(fetched) = fetched_by_maven(&scene) else {
        let _ = writeln!(std::io::stderr(), "skipped: it is not known where Maven keeps what it has fetched");
        return Ok(());
    };
    let name = format!("kafka-clients-{NEWEST}.jar");
    let published = std::fs::read(jars.join(&name))?;
    for (attack, is_checksum_changed, words) in [
        ("changed", false, "is not what its published checksum says"),
        (
            "changed-with-checksum",
            true,
            "is not Kafka 4.4.0 as it was published: kafka-clients-4.4.0.jar has",
        ),
    ] {
        let mirror = mirror(&scene, attack, &fetched)?;
        let jar = mirror.join(PLACE.join("/")).join(NEWEST).join(&name);
        std::fs::write(&jar, [published.as_slice(), b"more"].concat())?;
        if is_checksum_changed {
            let sum = Command::new("sha1sum").arg(&jar).output()?;
            let sum = String::from_utf8(sum.stdout)?;
            std::fs::write(jar.with_extension("jar.sha1"), sum.split(' ').next().unwrap_or_default())?;
        }
        let url = format!("file://{}", mirror.display());
        let maven = maven_with_mirror(&scene, &format!("{attack}-maven"), &url)?;
        let mut environment = scene.environment.clone();
        environment.path.insert(0, maven);
        environment.cache_dir = scene.folder.path().join(format!("{attack}-cache"));
        environment.maven_repository = Some(scene.folder.path().join(format!("{attack}-repository")));
        let refused = download::clients(&environment, &version, &|_| {});
        let error: TestbedError = refused.err().ok_or(format!("{attack}: it was taken"))?;
        contains(&error, words)?;
        let kept = environment.cache_dir.join("kafka-clients").join(NEWEST);
        ensure(!kept.exists(), "nothing of it is kept")?;
    }
    Ok(())
}

/// What Maven has fetched as another repository, in which the files of one release are copies.
fn mirror(scene: &TestFolder, name: &str, fetched: &Path) -> Result<PathBuf, Failed> {
    let mirror = scene.folder.path().join(name);
    let (mut from, mut to) = (fetched.to_path_buf(), mirror.clone());
    for below in PLACE.iter().copied().chain([NEWEST]) {
        std::fs::create_dir(&to)?;
        for entry in from.read_dir()? {
            let entry = entry?;
            if entry.file_name() != below {
                std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name()))?;
            }
        }
        (from, to) = (from.join(below), to.join(below));
    }
    std::fs::create_dir(&to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(mirror)
}
