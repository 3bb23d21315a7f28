//! How many files a process has open.

/// How many files and sockets a process has open; `None` when this user may not know.
pub(super) fn open_files(pid: u32) -> Option<u64> {
    /// Most that are counted one by one, where the kernel does not report their number.
    const COUNTED_MAX: usize = 65_536;
    let folder = format!("/proc/{pid}/fd");
    // Linux has their number as the folder's size from 6.2 on, before that 0.
    let reported = std::fs::metadata(&folder).ok()?.len();
    if reported > 0 {
        return Some(reported);
    }
    Some(std::fs::read_dir(&folder).ok()?.take(COUNTED_MAX).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_opened_counts() {
        let me = std::process::id();
        let before = open_files(me).expect("one's own are known");
        let held: Vec<_> = (0..64).map(|_| std::fs::File::open("/dev/null").expect("it opens")).collect();
        let opened = open_files(me).expect("one's own are known");
        assert!(opened >= before + 32, "{before} before, {opened} with {} more", held.len());
        assert_eq!(open_files(u32::MAX), None);
    }
}
