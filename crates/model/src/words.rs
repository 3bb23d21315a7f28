//! Names and texts in messages: the nearest known name, lists, quotes.

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

/// Names in backquotes, separated by commas.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A text in backquotes for a message: one line, shortened when it is long.
pub fn quoted(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let mut shown: String =
        text.chars().take(SHOWN_CHARS_MAX).map(|c| if c.is_control() { '·' } else { c }).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
