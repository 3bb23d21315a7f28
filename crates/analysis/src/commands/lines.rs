//! Bytes to lines, in bounded memory.

/// Longest line that is read; of a longer one nothing is kept.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Cuts what comes in pieces into lines.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The line that has not ended yet.
    held: Vec<u8>,
    /// It is longer than is read.
    is_too_long: bool,
}

impl LineSplitter {
    /// Hands over each line that ends in this piece, without its end; `None` for one that was too long.
    pub fn push(&mut self, mut piece: &[u8], mut each: impl FnMut(Option<&[u8]>)) {
        while let Some(at) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&piece[..at], &piece[at + 1..]);
            piece = rest;
            if self.held.is_empty() && !self.is_too_long && line.len() <= LINE_BYTES_MAX {
                each(Some(line));
                continue;
            }
            self.hold(line);
            self.hand_over(&mut each);
        }
        self.hold(piece);
    }

    /// What came after the last end of a line.
    pub fn finish(mut self, mut each: impl FnMut(Option<&[u8]>)) {
        if !self.held.is_empty() || self.is_too_long {
            self.hand_over(&mut each);
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        self.is_too_long |= self.held.len() + piece.len() > LINE_BYTES_MAX;
        if self.is_too_long {
            self.held.clear();
        } else {
            self.held.extend_from_slice(piece);
        }
    }

    fn hand_over(&mut self, each: &mut impl FnMut(Option<&[u8]>)) {
        each((!self.is_too_long).then_some(&self.held));
        self.held.clear();
        self.is_too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<Option<String>> {
        let mut found = Vec::new();
        let mut lines = LineSplitter::default();
        let mut keep =
            |line: Option<&[u8]>| found.push(line.map(|line| String::from_utf8_lossy(line).into_owned()));
        for piece in pieces {
            lines.push(piece, &mut keep);
        }
        lines.finish(&mut keep);
        found
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let whole = b"one\n\ntwo\nthree";
        let expected: Vec<Option<String>> =
            ["one", "", "two", "three"].map(|line| Some(line.to_owned())).into();
        assert_eq!(cut(&[whole]), expected);
        for at in 0..whole.len() {
            assert_eq!(cut(&[&whole[..at], &whole[at..]]), expected, "cut at {at}");
        }
        assert_eq!(cut(&[]), []);
    }

    #[test]
    fn of_a_line_without_end_nothing_is_kept() {
        let flood = vec![b'x'; LINE_BYTES_MAX];
        let mut lines = LineSplitter::default();
        for _ in 0..100 {
            lines.push(&flood, |line| panic!("no line has ended: {line:?}"));
            assert!(lines.held.capacity() <= 2 * LINE_BYTES_MAX);
        }
        let mut found = Vec::new();
        lines.push(b"\nshort\n", |line| found.push(line.map(<[u8]>::to_vec)));
        assert_eq!(found, [None, Some(b"short".to_vec())]);
    }
}
