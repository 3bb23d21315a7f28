//! Words for a shell.

use kdyno_model::words::is_acted_on;

/// The word as a shell reads it back, whatever is in it: names of topics, mounts and settings come from elsewhere.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// One line without characters that a terminal or a script's comment would act on: names come from elsewhere, and in a
/// script a line more would be a command.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_acted_on(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_word_back() {
        assert_eq!(quoted("vm.swappiness=1"), "vm.swappiness=1");
        assert_eq!(quoted("4096 87380 16777216"), "'4096 87380 16777216'");
        assert_eq!(quoted("a'; rm -rf ~; '"), r"'a'\''; rm -rf ~; '\'''");
        assert_eq!(quoted(""), "''");
        assert_eq!(plain("a\nb\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
    }
}
