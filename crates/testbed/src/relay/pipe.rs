//! One direction of one connection: bytes in the order in which they came, each with the instant at which it is due.

use std::collections::VecDeque;

/// Most stretches that a pipe holds: of single bytes the notes about them would take more room than they do.
const STRETCHES_MAX: usize = 16_384;
/// Most that is passed on at once, bytes: a thread that copies more lets others wait.
const WRITE_BYTES_MAX: usize = 256 << 10;

/// How a direction of a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectionEnd {
    /// Its sender sends no more; the other direction goes on (half-close).
    Fin,
    /// The connection is gone.
    Reset,
}

/// What was read at once.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    due_ns: u64,
    bytes: usize,
    /// None of it has been passed on.
    is_whole: bool,
}

/// Bytes under way.
#[derive(Debug)]
pub(super) struct Pipe {
    bytes: VecDeque<u8>,
    stretches: VecDeque<Stretch>,
    window_bytes: usize,
    last_due_ns: u64,
    end: Option<(DirectionEnd, u64)>,
    /// The receiver did not take all that was due.
    is_held: bool,
    /// Until then it did not: how late what was due by then is, is not the relay's doing.
    held_until_ns: u64,
}

impl Pipe {
    pub(super) fn new(window_bytes: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            stretches: VecDeque::new(),
            window_bytes,
            last_due_ns: 0,
            end: None,
            is_held: false,
            held_until_ns: 0,
        }
    }

    /// How many bytes more it takes.
    pub(super) fn room(&self) -> usize {
        if self.stretches.len() >= STRETCHES_MAX {
            return 0;
        }
        self.window_bytes.saturating_sub(self.bytes.len())
    }

    /// Takes bytes that are due at `due_ns`, or when those before them are if that is later.
    pub(super) fn push(&mut self, bytes: &[u8], due_ns: u64) {
        self.bytes.extend(bytes);
        self.last_due_ns = self.last_due_ns.max(due_ns);
        let stretch = Stretch { due_ns: self.last_due_ns, bytes: bytes.len(), is_whole: true };
        self.stretches.push_back(stretch);
    }

    /// Ends it behind all that it holds.
    pub(super) fn end(&mut self, end: DirectionEnd, due_ns: u64) {
        self.last_due_ns = self.last_due_ns.max(due_ns);
        self.end = Some((end, self.last_due_ns));
    }

    /// Whether nothing more comes in.
    pub(super) fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    /// When it next has something to pass on.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.stretches.front().map(|stretch| stretch.due_ns).or(self.end.map(|(_, due_ns)| due_ns))
    }

    /// Bytes that are due by now, as many as lie together and are passed on at once.
    pub(super) fn due(&self, now_ns: u64) -> &[u8] {
        let front = self.bytes.as_slices().0;
        let most = front.len().min(WRITE_BYTES_MAX);
        let mut count = 0;
        for stretch in self.stretches.iter().take_while(|stretch| stretch.due_ns <= now_ns) {
            count += stretch.bytes;
            if count >= most {
                break;
            }
        }
        &front[..count.min(most)]
    }

    /// The first `count` bytes were passed on by `now_ns`; `late` gets for each stretch that this began how late that
    /// was.
    pub(super) fn passed(&mut self, mut count: usize, now_ns: u64, mut late: impl FnMut(u64)) {
        if std::mem::replace(&mut self.is_held, false) {
            self.held_until_ns = now_ns;
        }
        self.bytes.drain(..count.min(self.bytes.len()));
        while count > 0 {
            let Some(front) = self.stretches.front_mut() else { return };
            if std::mem::replace(&mut front.is_whole, false) && front.due_ns >= self.held_until_ns {
                late(now_ns.saturating_sub(front.due_ns));
            }
            let taken = front.bytes.min(count);
            front.bytes -= taken;
            count -= taken;
            if front.bytes == 0 {
                self.stretches.pop_front();
            }
        }
    }

    /// The receiver takes no more for now.
    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// How it ends, once all has been passed on and the end is due.
    pub(super) fn end_due(&self, now_ns: u64) -> Option<DirectionEnd> {
        let (end, due_ns) = self.end?;
        (self.stretches.is_empty() && due_ns <= now_ns).then_some(end)
    }

    /// Bytes that it holds.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Gives memory back that it does not need at the moment.
    pub(super) fn shrink(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = VecDeque::new();
            self.stretches = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_due(pipe: &mut Pipe, now_ns: u64) -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut late) = (Vec::new(), Vec::new());
        loop {
            let due = pipe.due(now_ns).to_vec();
            if due.is_empty() {
                return (bytes, late);
            }
            pipe.passed(due.len(), now_ns, |late_ns| late.push(late_ns));
            bytes.extend(due);
        }
    }

    #[test]
    fn bytes_come_out_in_order_and_not_before_they_are_due() {
        let mut pipe = Pipe::new(100);
        pipe.push(b"ab", 10);
        // Jitter drew less for what came behind it.
        pipe.push(b"cd", 5);
        pipe.push(b"e", 20);
        assert_eq!((pipe.next_due_ns(), pipe.due(9)), (Some(10), &b""[..]));
        assert_eq!(all_due(&mut pipe, 10), (b"abcd".to_vec(), vec![0, 0]));
        assert_eq!(pipe.next_due_ns(), Some(20));
        pipe.end(DirectionEnd::Fin, 7);
        assert_eq!(pipe.end_due(100), None, "behind what it holds");
        assert_eq!(all_due(&mut pipe, 25), (b"e".to_vec(), vec![5]));
        assert_eq!((pipe.end_due(19), pipe.end_due(20)), (None, Some(DirectionEnd::Fin)));
    }

    #[test]
    fn what_a_receiver_does_not_take_is_no_error_of_the_relay() {
        let mut pipe = Pipe::new(100);
        pipe.push(b"abc", 10);
        pipe.push(b"def", 12);
        pipe.push(b"g", 15);
        pipe.push(b"h", 40);
        let mut late = Vec::new();
        pipe.passed(2, 11, |late_ns| late.push(late_ns));
        pipe.hold();
        pipe.passed(3, 30, |late_ns| late.push(late_ns));
        pipe.passed(2, 31, |late_ns| late.push(late_ns));
        pipe.passed(1, 42, |late_ns| late.push(late_ns));
        assert_eq!((late, pipe.len()), (vec![1, 2], 0));
    }

    #[test]
    fn it_holds_no_more_than_its_window_nor_notes_without_end() {
        let mut pipe = Pipe::new(4);
        pipe.push(b"abc", 10);
        assert_eq!(pipe.room(), 1);
        pipe.push(b"d", 10);
        assert_eq!(pipe.room(), 0);
        let mut pipe = Pipe::new(1 << 20);
        (0..STRETCHES_MAX).for_each(|_| pipe.push(b"a", 1));
        assert_eq!(pipe.room(), 0);
    }
}
