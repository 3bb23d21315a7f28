//! Small files in folders that other users may write to: whatever lies there under the name must neither hold this process up
//! nor fill its memory.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens a regular file, never through a link at its end, and without waiting for a process behind it.
///
/// # Errors
/// The system refuses it, or it is a link, no regular file, or one with several names.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let file = File::from(rustix::fs::open(path, flags, mode).map_err(|error| match error {
        Errno::LOOP => io::Error::other("it is a link"),
        Errno::NXIO => no_regular_file(),
        error => error.into(),
    })?);
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(no_regular_file());
    }
    // Another name may be that of somebody's file that must not be written to.
    if found.nlink() > 1 {
        return Err(io::Error::other("it has several names"));
    }
    Ok(file)
}

fn no_regular_file() -> io::Error {
    io::Error::other("it is no regular file")
}

/// What is in such a file.
///
/// # Errors
/// As for [`open`], or there is more in it than `bytes_max`.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, OFlags::RDONLY)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::os::unix::fs::symlink;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// Plants a file without a writer, so that a process that opens it and waits waits for ever.
    pub(crate) fn plant_fifo(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("a FIFO");
    }

    /// What comes of `task`, which must not wait for ever.
    pub(crate) fn in_time<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, reported) = channel();
        std::thread::spawn(move || tell.send(task()));
        reported.recv_timeout(Duration::from_secs(30)).expect("it does not wait for ever")
    }

    #[test]
    fn what_others_put_in_its_place_is_refused() {
        let temp = tempfile::tempdir().expect("temp");
        let path = |name: &str| temp.path().join(name);
        std::fs::write(path("small"), "12345").expect("a file");
        assert_eq!(read(&path("small"), 5).expect("read"), b"12345");
        plant_fifo(&path("fifo"));
        std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
        symlink("/dev/zero", path("endless")).expect("a link");
        symlink(path("small"), path("link")).expect("a link");
        std::fs::File::create(path("long")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        for (name, why) in [
            ("fifo", "no regular file"),
            ("socket", "no regular file"),
            ("endless", "it is a link"),
            ("link", "it is a link"),
            ("long", "more than 5 bytes"),
            (".", "no regular file"),
        ] {
            let file = path(name);
            let reported = in_time(move || read(&file, 5)).expect_err(name).to_string();
            assert!(reported.contains(why), "{name}: {reported}");
        }
        std::fs::hard_link(path("small"), path("second-name")).expect("a link");
        let reported = read(&path("small"), 5).expect_err("it has two names").to_string();
        assert!(reported.contains("several names"), "{reported}");
    }
}
