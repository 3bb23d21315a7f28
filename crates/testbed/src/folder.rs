//! Folders, with the path in what goes wrong.

use crate::error::TestbedError;
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// What only the owner of a folder may do.
const PRIVATE: Mode = Mode::RWXU;

/// Characters that something takes for its own: Java's `-Xlog` a quotation mark and a colon, Kafka's list of log folders a comma,
/// the address of log4j's configuration `%`, `#` and `?`, and that configuration itself `${`.
const TAKEN: &str = "\",:%#?$";

/// Makes sure that processes of a cluster can be given the name of a folder: in one with a comma brokers would have two
/// folders, in one with a `#` no log, and neither says a word.
///
/// # Errors
/// There is such a character in it; it is named.
pub fn check_name(folder: &Path) -> Result<(), TestbedError> {
    let text = folder.to_str();
    let taken = |text: &str| text.chars().find(|c| TAKEN.contains(*c) || c.is_control());
    let what = match text.map(taken) {
        Some(None) => return Ok(()),
        Some(Some(character)) => format!("there is a {character:?} in it"),
        None => "it is no UTF-8".to_string(),
    };
    Err(TestbedError::hinted(
        format!("brokers cannot be given the folder {folder:?}: {what}"),
        "name another one, without such signs: TMPDIR for a run's own, XDG_STATE_HOME for \
               `kdyno cluster up`, `storage` for logs",
    ))
}

/// Makes a folder and those above it; one that is there already is fine.
pub(crate) fn create_folder(path: &Path) -> Result<(), TestbedError> {
    std::fs::create_dir_all(path).map_err(|e| TestbedError::io("cannot create folder", path, e))
}

/// Makes a folder that only this user may enter, and those above it if they are missing: for a place that users share.
///
/// # Errors
/// There is something of that name already, be it a link, which may be another user's; or the folder that was made is not this
/// user's alone.
pub fn create_private(path: &Path) -> Result<(), TestbedError> {
    if let Some(above) = path.parent() {
        create_folder(above)?;
    }
    make_private(path).map_err(|e| TestbedError::io("cannot create folder", path, e))
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE.bits()).create(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            error.kind(),
            "something of that name is there already, and kdyno uses only a folder that it has just made (remove it if it is yours)",
        ),
        _ => error,
    })?;
    let opened = open(path)?;
    // Neither the umask nor a default ACL of the folder above has a say.
    rustix::fs::fchmod(&opened, PRIVATE)?;
    if is_private(&opened)? {
        return Ok(());
    }
    Err(io::Error::other("this file system does not keep it for its owner alone"))
}

/// Opens a folder that only this user may enter, as [`create_private`] has made it.
///
/// # Errors
/// It is not there, is a link, is another user's or open to others.
pub fn open_private(path: &Path) -> io::Result<OwnedFd> {
    let opened = open(path)?;
    if is_private(&opened)? {
        return Ok(opened);
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not this user's alone"))
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn is_private(folder: &OwnedFd) -> io::Result<bool> {
    let found = rustix::fs::fstat(folder)?;
    let is_ours = found.st_uid == rustix::process::geteuid().as_raw();
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    let others = Mode::from_raw_mode(found.st_mode) & (Mode::RWXG | Mode::RWXO);
    Ok(is_ours && is_folder && others.is_empty())
}

/// Removes a folder with all that is in it; one that is not there is fine.
pub(crate) fn remove_folder(path: &Path) -> Result<(), TestbedError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(TestbedError::io("cannot remove folder", path, e))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn folders_with_names_that_options_or_lists_split_are_refused() {
        for name in ["/tmp", "/mnt/Ann's drive (1)/k-2_3.4+5=6@7~8", "/tmp/Grüße"] {
            check_name(Path::new(name)).expect(name);
        }
        for (name, sign) in
            [("/a,b", r"','"), ("/a\"b", r#"'"'"#), ("/50%", "'%'"), ("/a:b", "':'"), ("/a\nb", r"'\n'")]
        {
            let reported = check_name(Path::new(name)).expect_err(name).to_string();
            assert!(reported.ends_with(&format!("there is a {sign} in it")), "{reported}");
        }
        let odd = std::ffi::OsStr::from_bytes(b"/tmp/\xff");
        assert!(
            check_name(Path::new(odd))
                .is_err_and(|reported| reported.to_string().ends_with("it is no UTF-8"))
        );
    }

    #[test]
    fn a_private_folder_is_its_owners_alone_and_takes_over_nothing() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("above/ours");
        create_private(&path).expect("made");
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o7777, 0o700);
        std::fs::write(path.join("theirs"), "").expect("written");
        let link = temp.path().join("link");
        symlink(temp.path().join("nowhere"), &link).expect("a link");
        for taken in [&path, &link] {
            let reported = create_private(taken).expect_err("it is there").to_string();
            assert!(
                reported.contains("is there already") && reported.contains("above/ours") == (taken == &path),
                "{reported}"
            );
        }
        assert!(path.join("theirs").exists() && !temp.path().join("nowhere").exists());
    }

    #[test]
    fn a_folder_that_others_may_enter_or_have_made_is_not_opened() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("ours");
        create_private(&path).expect("made");
        open_private(&path).expect("this user's alone");
        let link = temp.path().join("link");
        symlink(&path, &link).expect("a link");
        assert!(open_private(&link).is_err(), "where a link leads is not known");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o710)).expect("opened");
        let reported = open_private(&path).expect_err("open to a group").to_string();
        assert_eq!(reported, "it is not this user's alone");
        if rustix::process::geteuid().is_root() {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("closed");
            std::os::unix::fs::chown(&path, Some(65534), Some(65534)).expect("given away");
            assert!(open_private(&path).is_err(), "another user's");
        }
    }
}
