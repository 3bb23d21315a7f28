//! Secrets for brokers: files that only their owner may read, in the cluster's work folder, which goes with the cluster.

use crate::error::TestbedError;
use kdyno_model::secret::Secret;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a value into a new file of that name, mode 0600, and gives its path.
///
/// # Errors
/// There is something of that name already, be it a link, or the value cannot be written; then no file is left.
pub fn write(folder: &Path, name: &str, secret: &Secret) -> Result<PathBuf, TestbedError> {
    let path = folder.join(name);
    let failed = |e| TestbedError::io("cannot write", &path, e);
    // `create_new` is O_EXCL: the file did not exist before, and no link leads elsewhere.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    if let Err(e) = file.write_all(secret.expose()) {
        // The report is why it could not be written; the folder is removed with the cluster anyway.
        let _ = std::fs::remove_file(&path);
        return Err(failed(e));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_secret_is_its_owners_alone_and_replaces_nothing() {
        let folder = tempfile::tempdir().expect("temp dir");
        let secret = Secret::new(b"hunter2".to_vec());
        let path = write(folder.path(), "pw", &secret).expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"hunter2");
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        let reported = write(folder.path(), "pw", &Secret::new(b"other".to_vec()))
            .expect_err("there already")
            .to_string();
        assert!(reported.contains("pw") && !reported.contains("other"), "{reported}");
        assert_eq!(std::fs::read(&path).expect("there"), b"hunter2");
        symlink(folder.path().join("elsewhere"), folder.path().join("link")).expect("a link");
        assert!(write(folder.path(), "link", &secret).is_err());
        assert!(!folder.path().join("elsewhere").exists());
    }
}
