//! Text that comes from brokers, in messages of ours.

/// Longest text that is repeated, characters.
const CHARS_MAX: usize = 300;

/// Text of a broker, fit to be printed on one line.
pub(crate) fn of_broker(text: &str) -> String {
    let mut words: String =
        text.chars().take(CHARS_MAX).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_broker_are_short_and_on_one_line() {
        assert_eq!(of_broker("no\nsuch\u{1b}[31m user"), "no such [31m user");
        assert_eq!(of_broker(&"é".repeat(400)), "é".repeat(300) + "…");
    }
}
