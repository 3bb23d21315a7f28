//! `--date-format`: patterns of Java's `SimpleDateFormat`, as far as they are numbers.

use jiff::civil::DateTime;

/// A pattern that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateFormat(Vec<PatternPart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPart {
    Text(String),
    /// A letter of the pattern, and how often it is there.
    Field(DateField, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateField {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

impl DateFormat {
    /// What the tool takes where nothing is said.
    pub const DEFAULT: &'static str = "yyyy-MM-dd HH:mm:ss:SSS";

    /// Reads a pattern.
    ///
    /// # Errors
    /// One sentence: a letter that is none of Java's, one whose text is not made here, a quote that does not end.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            if first == '\'' {
                let (text, after) = quoted(&rest[1..]).ok_or("Unterminated quote")?;
                parts.push(PatternPart::Text(text));
                rest = after;
                continue;
            }
            let count = rest.chars().take_while(|letter| *letter == first).count();
            parts.push(if first.is_ascii_alphabetic() {
                PatternPart::Field(field(first, count)?, count)
            } else {
                PatternPart::Text(first.to_string().repeat(count))
            });
            rest = &rest[first.len_utf8() * count..];
        }
        Ok(Self(parts))
    }

    /// A time in words of the pattern.
    pub fn format(&self, at: DateTime) -> String {
        let part = |part: &PatternPart| match part {
            PatternPart::Text(text) => text.clone(),
            // Java cuts the year short where it has two digits, and nowhere else.
            PatternPart::Field(DateField::Year, 2) => format!("{:02}", at.year().rem_euclid(100)),
            PatternPart::Field(field, count) => format!("{:0count$}", value(*field, at)),
        };
        self.0.iter().map(part).collect()
    }
}

fn value(field: DateField, at: DateTime) -> i64 {
    match field {
        DateField::Year => at.year().into(),
        DateField::Month => at.month().into(),
        DateField::Day => at.day().into(),
        DateField::Hour => at.hour().into(),
        DateField::Minute => at.minute().into(),
        DateField::Second => at.second().into(),
        DateField::Millisecond => at.millisecond().into(),
    }
}

fn field(letter: char, count: usize) -> Result<DateField, String> {
    Ok(match letter {
        'y' => DateField::Year,
        'M' if count <= 2 => DateField::Month,
        'd' => DateField::Day,
        'H' => DateField::Hour,
        'm' => DateField::Minute,
        's' => DateField::Second,
        'S' => DateField::Millisecond,
        'M' | 'L' | 'G' | 'Y' | 'w' | 'W' | 'D' | 'F' | 'E' | 'u' | 'a' | 'k' | 'K' | 'h' | 'z' | 'Z'
        | 'X' => {
            let letters = letter.to_string().repeat(count.min(8));
            return Err(format!(
                "--date-format: `{letters}` is not supported here, only y, M or MM, d, H, m, s, S and quoted text"
            ));
        }
        _ => return Err(format!("Illegal pattern character '{letter}'")),
    })
}

/// A text up to its closing quote, and what comes after that; two quotes are one, and an empty text is one too.
fn quoted(rest: &str) -> Option<(String, &str)> {
    if let Some(after) = rest.strip_prefix('\'') {
        return Some(("'".to_owned(), after));
    }
    let (mut text, mut rest) = (String::new(), rest);
    loop {
        let (before, after) = rest.split_once('\'')?;
        text.push_str(before);
        match after.strip_prefix('\'') {
            Some(after) => {
                text.push('\'');
                rest = after;
            }
            None => return Some((text, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> Result<String, String> {
        let at = jiff::civil::date(2026, 3, 7).at(9, 5, 4, 32_000_000);
        Ok(DateFormat::parse(pattern)?.format(at))
    }

    /// What `SimpleDateFormat` of Java 17 gives.
    #[test]
    fn patterns_mean_what_they_mean_in_java() {
        for (pattern, expected) in [
            (DateFormat::DEFAULT, "2026-03-07 09:05:04:032"),
            ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2026-03-07T09:05:04.032"),
            ("yy/M/d H:m:s", "26/3/7 9:5:4"),
            ("yyyyy y S SSSSS", "02026 2026 32 00032"),
            ("HH 'o''clock' ''", "09 o'clock '"),
            ("ss ß·", "04 ß·"),
            ("", ""),
        ] {
            assert_eq!(shown(pattern).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn what_is_not_made_here_is_said() {
        for (pattern, expected) in [
            ("yyyy MMM", "`MMM` is not supported here"),
            ("hh:mm a", "`hh` is not supported here"),
            ("HH:mm Z", "`Z` is not supported here"),
            ("yyyy-nn", "Illegal pattern character 'n'"),
            ("HH 'h", "Unterminated quote"),
        ] {
            let reported = shown(pattern).expect_err("refused");
            assert!(reported.contains(expected), "{pattern}: {reported}");
        }
    }
}
