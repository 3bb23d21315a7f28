//! What an agent that listens is known by: a certificate that it made, its key, and a token, in a folder of their own.

use super::tls;
use crate::error::LabError;
use crate::secrets::resolve_again;
use kdyno_model::secret::{Secret, SecretRef};
use kdyno_testbed::{folder, secret_file};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Names of the files: what the lab needs of them is the certificate and the token.
pub(super) const CERTIFICATE: &str = "certificate.pem";
pub(super) const TOKEN: &str = "token";
const KEY: &str = "key.pem";

/// All of them.
#[cfg(test)]
pub(super) const FILES: [&str; 3] = [CERTIFICATE, KEY, TOKEN];

/// More than any certificate has, bytes.
const CERTIFICATE_BYTES_MAX: u64 = 64 << 10;

/// What an agent is known by.
pub(super) struct Identity {
    /// PEM.
    pub(super) certificate: Vec<u8>,
    /// PEM.
    pub(super) key: Secret,
    pub(super) token: Secret,
}

impl Identity {
    /// A new one.
    ///
    /// # Errors
    /// This host has no random numbers.
    pub(super) fn made() -> Result<Self, LabError> {
        let failed = |error: &dyn std::fmt::Display| LabError::Agent {
            why: format!("no certificate could be made: {error}"),
        };
        // First, since it closes this process's memory.
        let token = resolve_again(&SecretRef::Made).map_err(|e| failed(&e))?;
        let key = rcgen::KeyPair::generate().map_err(|e| failed(&e))?;
        let certificate = rcgen::CertificateParams::new(vec![tls::NAME.to_owned()])
            .and_then(|params| params.self_signed(&key))
            .map_err(|e| failed(&e))?;
        let key = Secret::new(key.serialize_pem().into_bytes());
        Ok(Self { certificate: certificate.pem().into_bytes(), key, token })
    }

    /// That of the folder, which is made with a new one where it is not there.
    ///
    /// # Errors
    /// A file lacks, is open to others, or cannot be written.
    pub(super) fn of(folder: &Path) -> Result<Self, LabError> {
        let wrong = |why: String| LabError::Agent { why };
        if !folder.exists() {
            make(folder)?;
        }
        let secret = |name: &str| {
            let path = folder.join(name);
            let read = resolve_again(&SecretRef::File(path.clone()));
            read.map_err(|why| wrong(format!("{} {why}", path.display())))
        };
        let path = folder.join(CERTIFICATE);
        let certificate =
            read_certificate(&path).map_err(|why| wrong(format!("{} {why}", path.display())))?;
        Ok(Self { certificate, key: secret(KEY)?, token: secret(TOKEN)? })
    }
}

/// A certificate's file.
pub(super) fn read_certificate(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(CERTIFICATE_BYTES_MAX).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| format!("could not be read: {error}"))
}

fn make(folder: &Path) -> Result<(), LabError> {
    let Identity { certificate, key, token } = Identity::made()?;
    folder::create_private(folder)?;
    let path = folder.join(CERTIFICATE);
    std::fs::write(&path, certificate).map_err(|error| LabError::not_made(&path, &error))?;
    secret_file::write(folder, KEY, &key)?;
    secret_file::write(folder, TOKEN, &token)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_identity_is_made_once_and_what_is_secret_is_private() {
        let dir = tempfile::tempdir().expect("temp dir");
        let folder = dir.path().join("agent");
        let first = Identity::of(&folder).expect("made");
        let again = Identity::of(&folder).expect("read");
        assert_eq!(first.certificate, again.certificate);
        assert!(first.token.expose() == again.token.expose() && first.key.expose() == again.key.expose());
        assert!(first.token.expose().len() >= 32);
        for name in [KEY, TOKEN] {
            let mode = folder.join(name).metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        std::fs::set_permissions(folder.join(TOKEN), std::fs::Permissions::from_mode(0o644)).expect("opened");
        let why = Identity::of(&folder).err().expect("refused").to_string();
        assert!(why.contains("token is open to other users"), "{why}");
    }
}
