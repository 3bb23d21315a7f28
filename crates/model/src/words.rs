//! Names and texts in messages: the nearest known name, lists, quotes; text from elsewhere as it is shown.

/// Below this similarity (Jaro–Winkler, 0–1) a name is no helpful suggestion.
const SIMILARITY_MIN: f64 = 0.75;

/// Longest word that is compared: names are short, and hostile text must not cost time.
const WORD_CHARS_MAX: usize = 200;

/// The known name that looks most like `word`, if one does.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_CHARS_MAX {
        return None;
    }
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&word, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Whether a terminal or a browser acts on a character instead of showing it: control characters, and those that turn the
/// direction of the text around them (Unicode's `Bidi_Control`).
pub fn is_acted_on(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// A text of several lines with U+FFFD for each character that would be acted on, but for tabs, line ends and `own`
/// sequences.
pub fn visible(text: &str, own: &[&str]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_acted_on) {
        let (plain, from) = rest.split_at(at);
        shown.push_str(plain);
        let kept = ["\n", "\r\n", "\t"].iter().chain(own).find(|kept| from.starts_with(**kept));
        shown.push_str(kept.copied().unwrap_or("\u{fffd}"));
        let bytes = kept.map_or_else(|| from.chars().next().map_or(0, char::len_utf8), |kept| kept.len());
        rest = &from[bytes..];
    }
    shown + rest
}

/// Names in backquotes, separated by commas.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A text in backquotes for a message: one line, shortened when it is long.
pub fn quoted(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let mut shown: String =
        text.chars().take(SHOWN_CHARS_MAX).map(|c| if is_acted_on(c) { '·' } else { c }).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_except_newlines_tabs_and_ours() {
        let text = "a\tb\r\nc\rd\x1b[31me\x1b[2J\u{9b}f\u{7f}\n\u{202e}g\u{2066}h\u{200f}é\0";
        assert_eq!(
            visible(text, &["\x1b[31m"]),
            "a\tb\r\nc\u{fffd}d\x1b[31me\u{fffd}[2J\u{fffd}f\u{fffd}\n\u{fffd}g\u{fffd}h\u{fffd}é\u{fffd}"
        );
        assert_eq!(visible("plain – ünïcode", &[]), "plain – ünïcode");
        assert_eq!(quoted("a\n\u{202e}b"), "`a··b`");
    }
}
