//! What the author of a document writes: a few facts between lines of three dashes, then text in Markdown.

use std::fmt::Write;

/// Facts of a document at most.
const FACTS_MAX: usize = 50;

/// What the author says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Front {
    /// `title`.
    pub title: String,
    /// Scenarios whose newest runs the document is of, where none is named (`scenarios`, with commas).
    pub scenarios: Vec<String>,
    /// Everything else, as given: date, authors, tickets, versions.
    pub facts: Vec<(String, String)>,
    /// Markdown.
    pub text: String,
}

impl Front {
    /// Reads a front.
    ///
    /// # Errors
    /// It has no facts, one of them is none, or there is no title; in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        let is_ruler = |line: &str| line.trim_end() == "---";
        if !lines.next().is_some_and(|(_, line)| is_ruler(line)) {
            return Err("it does not begin with a line of three dashes (`---`)".to_owned());
        }
        let mut facts: Vec<(String, String)> = Vec::new();
        loop {
            let Some((index, line)) = lines.next() else {
                return Err(
                    "its facts have no end: a second line of three dashes (`---`) is missing".to_owned()
                );
            };
            if is_ruler(line) {
                break;
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let line_number = index + 1;
            let no_fact = || {
                let text: String = line.chars().take(80).collect();
                format!(
                    "line {line_number}: `{text}` is no fact, which has a name and a value: `title: Kafka 4.1 on our cluster`"
                )
            };
            let (name, value) = line.split_once(':').ok_or_else(no_fact)?;
            let (name, value) = (name.trim().to_owned(), value.trim().trim_matches('"').to_owned());
            if name.is_empty() || value.is_empty() {
                return Err(no_fact());
            }
            if facts.iter().any(|(known, _)| *known == name) {
                return Err(format!("line {line_number}: `{name}` is there twice"));
            }
            facts.push((name, value));
            if facts.len() > FACTS_MAX {
                return Err(format!("it has more than {FACTS_MAX} facts"));
            }
        }
        let body = lines.fold(String::new(), |mut body, (_, line)| {
            // Writing to a String cannot fail.
            let _ = writeln!(body, "{line}");
            body
        });
        let mut take = |name: &str| {
            let place = facts.iter().position(|(known, _)| known == name)?;
            Some(facts.remove(place).1)
        };
        let title = take("title").ok_or("it has no `title`")?;
        let scenarios = take("scenarios").unwrap_or_default();
        let scenarios = scenarios.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty());
        Ok(Self { title, scenarios: scenarios.collect(), facts, text: body.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_front_is_facts_and_text() {
        let text = "---\r\ntitle: \"Kafka 4.1: what changed\"\n# not told\ndate: 2026-11-27\ntickets: PERF-1, PERF-2\n\
                    scenarios: ibm-fast, ibm-resilient\n---\n\nWe *measured*.\n---\nMore.\n";
        let front = Front::parse(text).expect("a front");
        assert_eq!(front.title, "Kafka 4.1: what changed");
        assert_eq!(front.scenarios, ["ibm-fast", "ibm-resilient"]);
        let facts: Vec<(&str, &str)> = front.facts.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(facts, [("date", "2026-11-27"), ("tickets", "PERF-1, PERF-2")]);
        assert_eq!(front.text, "We *measured*.\n---\nMore.");
    }

    #[test]
    fn what_is_no_front_says_where() {
        let error = |text: &str| Front::parse(text).expect_err("no front");
        assert_eq!(error("# Title\n"), "it does not begin with a line of three dashes (`---`)");
        assert_eq!(error(""), error("# Title\n"));
        assert!(error("---\ntitle: a\n").contains("have no end"));
        assert!(error("---\ntitle: a\nauthors\n---\n").starts_with("line 3: `authors` is no fact"));
        assert_eq!(error("---\ntitle: a\ntitle: b\n---\n"), "line 3: `title` is there twice");
        assert_eq!(error("---\ndate: today\n---\n"), "it has no `title`");
        let many = (0..60).map(|n| format!("f{n}: x\n")).collect::<String>();
        assert!(error(&format!("---\ntitle: a\n{many}---\n")).contains("more than 50"));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_read_or_refused(text in "\\PC{0,40}(\n\\PC{0,20}){0,6}") {
            // Either is fine; neither panics.
            let _ = Front::parse(&text);
            let _ = Front::parse(&format!("---\n{text}"));
        }
    }
}
