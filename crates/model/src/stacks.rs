//! Stacks of a process that were sampled while it was measured: what flame graphs are drawn of.
//!
//! As text they are *collapsed*, one stack a line with its frames from the thread on: `[thread];a;b 12`. That is what
//! async-profiler writes and what other tools for flame graphs read.

use crate::words::is_acted_on;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use strum::{Display, EnumString, IntoStaticStr, VariantNames};

/// Frames of one stack at most; of a deeper one those nearest to its thread are kept.
pub const FRAMES_MAX: usize = 512;
/// Characters of one frame at most.
pub const FRAME_CHARACTERS_MAX: usize = 300;
/// Bytes of collapsed text at most: the rarest stacks beyond are counted together. A broker's are some 2 MB.
pub const TEXT_BYTES_MAX: usize = 8 << 20;
/// CPU time of a thread, ms, that a sample of [`FlameKind::Cpu`] represents.
pub const CPU_SAMPLE_MS: u64 = 5;
/// Replaces stacks that were too many to be kept, and the frames of one that was too deep.
pub const FURTHER: &str = "[further stacks]";

/// Options of a JVM with which its stacks are whole and name the lines that they are of: those of Intel's guide to
/// profiling Java, for Java 8 and later.
pub const JVM_OPTIONS: [&str; 3] =
    ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];

/// What a process is sampled for, in the measured window.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FlameKind {
    /// Where its CPU time goes.
    Cpu,
    /// Where its heap is allocated.
    Alloc,
    /// Where its threads wait for locks.
    Lock,
    /// All three, as a recording of Java's Flight Recorder for other tools; no graph is drawn of it.
    Jfr,
}

impl FlameKind {
    /// All of them, as typed.
    pub const NAMES: &[&str] = Self::VARIANTS;

    /// What the counts of its stacks are, in words.
    pub fn counted(self) -> &'static str {
        match self {
            Self::Cpu => "samples",
            Self::Alloc => "bytes allocated",
            Self::Lock => "ns waited for locks",
            Self::Jfr => "bytes",
        }
    }

    /// What it shows, in words.
    pub fn shows(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::Alloc => "allocation of heap",
            Self::Lock => "waiting for locks",
            Self::Jfr => "Flight Recorder",
        }
    }
}

/// A text that is not collapsed stacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no stack with its count: `{text}`")]
pub struct NoStacks {
    /// From 1.
    pub line: usize,
    /// Its beginning.
    pub text: String,
}

/// Stacks by how much was counted in each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Frames with `;` between them, the thread first.
    counts: BTreeMap<String, u64>,
}

impl Stacks {
    /// Reads collapsed text, within the bounds of this module. Threads of a pool become one: their numbers are replaced by
    /// `*`, so that the same thread of two processes has one name.
    ///
    /// # Errors
    /// The first line that is no stack.
    pub fn read(text: &str) -> Result<Self, NoStacks> {
        let mut read = Self::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let counted = line.rsplit_once(' ');
            let counted = counted.and_then(|(stack, count)| Some((tidy(stack), count.parse().ok()?)));
            let Some((stack, count)) = counted.filter(|(stack, _)| !stack.is_empty()) else {
                let text = line.chars().take(80).map(visible).collect();
                return Err(NoStacks { line: index + 1, text });
            };
            read.add(&stack, count);
        }
        read.bound(TEXT_BYTES_MAX);
        Ok(read)
    }

    fn add(&mut self, stack: &str, count: u64) {
        let of_stack = match self.counts.get_mut(stack) {
            Some(of_stack) => of_stack,
            None => self.counts.entry(stack.to_owned()).or_default(),
        };
        *of_stack = of_stack.saturating_add(count);
    }

    /// Adds those of another process, or of another trial.
    pub fn merge(&mut self, other: &Self) {
        for (stack, count) in &other.counts {
            self.add(stack, *count);
        }
    }

    /// Keeps the heaviest stacks whose text is no longer than so many bytes.
    fn bound(&mut self, bytes_max: usize) {
        // A number, the space and the line's end.
        const NODE_BYTES: usize = 22;
        let bytes = |stack: &String| stack.len() + NODE_BYTES;
        if self.counts.keys().map(bytes).sum::<usize>() <= bytes_max {
            return;
        }
        let mut heaviest: Vec<(String, u64)> = std::mem::take(&mut self.counts).into_iter().collect();
        heaviest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut left = bytes_max.saturating_sub(FURTHER.len() + NODE_BYTES);
        for (stack, count) in heaviest {
            match left.checked_sub(bytes(&stack)) {
                Some(still) => {
                    left = still;
                    self.counts.insert(stack, count);
                }
                None => self.add(FURTHER, count),
            }
        }
    }

    /// As collapsed text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (stack, count) in &self.counts {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{stack} {count}");
        }
        text
    }

    /// Each stack, frames from the thread on, and what was counted in it.
    pub fn iter(&self) -> impl Iterator<Item = (std::str::Split<'_, char>, u64)> {
        self.counts.iter().map(|(stack, count)| (stack.split(';'), *count))
    }

    /// Everything that was counted.
    pub fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }
}

/// A stack within the bounds, its thread without numbers.
fn tidy(stack: &str) -> String {
    let mut tidied = String::with_capacity(stack.len());
    let frames = stack.split(';').map(str::trim).filter(|frame| !frame.is_empty());
    for (index, frame) in frames.enumerate() {
        if index == FRAMES_MAX {
            tidied.push(';');
            tidied.push_str(FURTHER);
            break;
        }
        if index > 0 {
            tidied.push(';');
        }
        match frame.strip_prefix('[').and_then(|thread| thread.strip_suffix(']')).filter(|_| index == 0) {
            Some(thread) => tidied.push_str(&format!("[{}]", thread_of_pool(thread))),
            None => {
                let frame = without_lambda_number(frame);
                tidied.extend(frame.chars().take(FRAME_CHARACTERS_MAX).map(visible));
            }
        }
    }
    tidied
}

/// `data-plane-kafka-request-handler-3 tid=4711` is `data-plane-kafka-request-handler-*`. A number that goes on with a
/// letter before it, as in `C2`, is part of a name.
fn thread_of_pool(thread: &str) -> String {
    let thread = thread.rsplit_once(" tid=").map_or(thread, |(name, _)| name);
    let mut name = String::with_capacity(thread.len());
    let mut before = ' ';
    for character in thread.chars().take(FRAME_CHARACTERS_MAX).map(visible) {
        let is_number = character.is_ascii_digit() && !before.is_alphabetic();
        match is_number {
            true if before == '*' => {}
            true => name.push('*'),
            false => name.push(character),
        }
        before = if is_number { '*' } else { character };
        // The digits of a name go on being part of it.
        if character.is_ascii_digit() && !is_number {
            before = 'a';
        }
    }
    name
}

/// `A$$Lambda$1330.apply` is `A$$Lambda.apply`: Java counts them as it meets them.
fn without_lambda_number(frame: &str) -> Cow<'_, str> {
    const LAMBDA: &str = "$$Lambda";
    match frame.split_once("$$Lambda$") {
        Some((class, rest)) => {
            let method = rest.trim_start_matches(|character: char| character.is_ascii_digit());
            Cow::Owned(format!("{class}{LAMBDA}{method}"))
        }
        None => Cow::Borrowed(frame),
    }
}

/// No control character, and none that separates frames.
fn visible(character: char) -> char {
    if is_acted_on(character) || character == ';' { '·' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        Stacks::read(text).expect("stacks").text()
    }

    #[test]
    fn threads_of_a_pool_are_one_and_alike_in_every_process() {
        let text = "[data-plane-kafka-request-handler-0 tid=71];a/B.c;d 3\n\
                    [data-plane-kafka-request-handler-11 tid=72];a/B.c;d 4\n\
                    [C2 CompilerThread0 tid=9];x 1\n[GC Thread#1 tid=8];y 2\n[ReplicaFetcherThread-0-12];z9 5\n";
        let read = read(text);
        let expected = "[C2 CompilerThread0];x 1\n[GC Thread#*];y 2\n[ReplicaFetcherThread-*-*];z9 5\n\
                        [data-plane-kafka-request-handler-*];a/B.c;d 7\n";
        assert_eq!(read, expected);
    }

    #[test]
    fn the_same_lambda_has_one_name_in_every_process() {
        let text =
            "t;A$$Lambda$1330.apply;B$$Lambda.run;C$D.e$1 2\nt;A$$Lambda$7.apply;B$$Lambda.run;C$D.e$1 3\n";
        assert_eq!(read(text), "t;A$$Lambda.apply;B$$Lambda.run;C$D.e$1 5\n");
    }

    #[test]
    fn frames_may_hold_spaces_and_lines_without_a_count_are_errors() {
        assert_eq!(read("a;operator new(unsigned long);b 2\n\n"), "a;operator new(unsigned long);b 2\n");
        for text in ["a;b 1\nnothing", "a;b 1\na -3", "a;b 1\n 5", "a;b 1\na 99999999999999999999999"] {
            let error = Stacks::read(text).expect_err("no stack");
            assert_eq!(error.line, 2, "{text}");
        }
        let reported =
            Stacks::read(&format!("\u{1b}[31m{}", "x".repeat(9000))).expect_err("no stack").to_string();
        assert!(reported.len() < 200 && !reported.contains('\u{1b}'), "{reported}");
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_cut_and_counted_all_the_same() {
        let deep = vec!["f"; 3 * FRAMES_MAX].join(";");
        let stacks = Stacks::read(&format!("{deep} 5\n")).expect("stacks");
        let (frames, count) = stacks.iter().next().expect("a stack");
        assert_eq!(
            (frames.clone().count(), frames.clone().next_back(), count),
            (FRAMES_MAX + 1, Some(FURTHER), 5)
        );
        let long = Stacks::read(&format!("{} 1\n", "é".repeat(5000))).expect("stacks");
        assert_eq!(long.text().chars().count(), FRAME_CHARACTERS_MAX + " 1\n".len());
    }

    #[test]
    fn of_too_many_the_rarest_are_counted_together() {
        let text: String = (0..1000u32).map(|n| format!("thread;f{n} {}\n", 1 + n % 7)).collect();
        let mut stacks = Stacks::read(&text).expect("stacks");
        let total = stacks.total();
        stacks.bound(4000);
        assert!(stacks.text().len() <= 4000);
        assert_eq!(stacks.total(), total);
        assert!(stacks.iter().all(|(mut frames, count)| count == 7 || frames.next_back() == Some(FURTHER)));
    }

    #[test]
    fn sums_do_not_overflow() {
        let most = u64::MAX;
        let mut stacks = Stacks::read(&format!("a {most}\na {most}\nb {most}\n")).expect("stacks");
        stacks.merge(&stacks.clone());
        assert_eq!(stacks.total(), most);
    }

    proptest! {
        #[test]
        fn any_text_is_read_within_bounds_or_an_error(text in "[\\x00-\\x7fé;\\[\\] 0-9\n-]{0,400}") {
            if let Ok(stacks) = Stacks::read(&text) {
                let again = Stacks::read(&stacks.text()).expect("what was written is read");
                prop_assert_eq!(again.total(), stacks.total());
                let has_control = stacks.text().contains('\u{0}');
                prop_assert!(!has_control);
            }
        }
    }
}
