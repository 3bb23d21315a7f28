//! `--payload-delimiter`: a regular expression of Java, and only those that mean one text are understood.

/// The text that a delimiter matches.
///
/// # Errors
/// What of it means more than one text, or for none; one lowercase clause.
pub fn literal(delimiter: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = delimiter;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match char {
            '\\' => rest = escaped(rest, &mut text)?,
            '[' => {
                let (inside, behind) = rest.split_once(']').ok_or("`[` without `]`")?;
                let one = inside.strip_prefix('\\').unwrap_or(inside);
                let mut chars = one.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) if one == inside && only != '^' => text.push(only),
                    (Some(_), None) if one != inside => {
                        escaped(one, &mut text)?;
                    }
                    _ => return Err(format!("`[{inside}]` means more than one character")),
                }
                rest = behind;
            }
            '|' => return Err("`|` means one or the other: write `\\|` for the character".to_owned()),
            '.' | '*' | '+' | '?' | '(' | ')' | '{' | '^' | '$' => {
                return Err(format!("`{char}` has a meaning of its own: write `\\{char}` for the character"));
            }
            other => text.push(other),
        }
    }
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    // Scenarios read such a text as the character that it names.
    match ["\\n", "\\r", "\\t"].into_iter().find(|two| text.contains(two)) {
        Some(two) => Err(format!("the two characters `{two}` cannot separate payloads here")),
        None => Ok(text),
    }
}

/// Reads what follows a `\`, and returns what comes after that.
fn escaped<'a>(rest: &'a str, text: &mut String) -> Result<&'a str, String> {
    let char = rest.chars().next().ok_or("it ends with `\\`")?;
    let behind = &rest[char.len_utf8()..];
    match char {
        'n' => text.push('\n'),
        'r' => text.push('\r'),
        't' => text.push('\t'),
        'f' => text.push('\x0c'),
        'Q' => {
            let (quoted, behind) = behind.split_once("\\E").unwrap_or((behind, ""));
            text.push_str(quoted);
            return Ok(behind);
        }
        letter if letter.is_ascii_alphanumeric() => {
            return Err(format!("`\\{letter}` means more than one text"));
        }
        other => text.push(other),
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_for_one_text_is_that_text() {
        for (typed, text) in [
            ("\\n", "\n"),
            ("\n", "\n"),
            ("\\|", "|"),
            ("[|]", "|"),
            ("[\\n]", "\n"),
            ("[\\|]", "|"),
            ("\\Q||.*\\E", "||.*"),
            ("\\Q--", "--"),
            ("a\\.b\\r\\n", "a.b\r\n"),
            ("---", "---"),
            (",", ","),
            ("}]", "}]"),
        ] {
            assert_eq!(literal(typed).as_deref(), Ok(text), "{typed}");
        }
    }

    #[test]
    fn a_pattern_for_several_texts_is_reported() {
        for (typed, words) in [
            ("|", "write `\\|`"),
            ("a|b", "one or the other"),
            ("\\s", "`\\s` means more"),
            ("\\d", "`\\d` means more"),
            ("\\n+", "write `\\+`"),
            ("[ab]", "`[ab]` means more"),
            ("[^a]", "`[^a]` means more"),
            ("[^]", "`[^]` means more"),
            ("[a", "without `]`"),
            ("", "empty"),
            ("\\\\n", "the two characters `\\n`"),
            ("\\", "ends with"),
        ] {
            let why = literal(typed).expect_err(typed);
            assert!(why.contains(words), "{typed}: {why}");
        }
    }
}
