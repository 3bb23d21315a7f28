//! Reads the Prometheus text format, and OpenMetrics as far as it is the same, line by line: whatever comes, it takes no more
//! memory than one line.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};

/// Longest line that is read.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Most that is read of one answer: brokers with many thousands of topics send some 10 MB.
const BYTES_MAX: u64 = 64 << 20;
/// Most labels of a series.
const LABELS_MAX: usize = 64;
/// Most characters of a line that are quoted.
const QUOTED_CHARACTERS_MAX: usize = 60;

/// One line with a value.
#[derive(Debug, PartialEq)]
pub(super) struct SeriesLine<'a> {
    /// The metric's name.
    pub(super) name: &'a str,
    /// Names and values of its labels.
    pub(super) labels: Vec<(&'a str, Cow<'a, str>)>,
    /// May be infinite or not a number.
    pub(super) value: f64,
}

impl SeriesLine<'_> {
    /// The value of a label; some exporters write names of labels with small letters.
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(label, _)| label.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_ref())
    }
}

/// Hands over every series of an answer that is requested by its name.
///
/// # Errors
/// It cannot be read, is no such text, or is longer than it may be: one lowercase clause.
pub(super) fn read(
    answer: impl Read,
    is_asked: impl Fn(&str) -> bool,
    mut each: impl FnMut(&SeriesLine<'_>),
) -> Result<(), String> {
    let mut lines = BufReader::new(answer.take(BYTES_MAX + 1));
    let mut line = Vec::new();
    let mut read_bytes = 0;
    for number in 1_u64.. {
        line.clear();
        let length = (&mut lines)
            .take(LINE_BYTES_MAX as u64 + 1)
            .read_until(b'\n', &mut line)
            .map_err(|error| format!("the answer broke off: {error}"))?;
        read_bytes += length as u64;
        if length == 0 {
            return Ok(());
        }
        if length > LINE_BYTES_MAX {
            return Err(format!("line {number} of the answer is longer than {LINE_BYTES_MAX} bytes"));
        }
        if read_bytes > BYTES_MAX {
            return Err(format!("the answer is longer than {} MiB", BYTES_MAX >> 20));
        }
        let wrong = |what: &str, text: &str| {
            let start: String =
                text.chars().take(QUOTED_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
            format!("line {number} of the answer is no line of Prometheus's text format ({what}): {start}")
        };
        let no_utf8 = |_| wrong("it is no UTF-8", &String::from_utf8_lossy(&line));
        let text = std::str::from_utf8(&line).map_err(no_utf8)?.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let name = name_of(text).ok_or_else(|| wrong("it begins with no name", text))?;
        if is_asked(name) {
            each(&series(name, &text[name.len()..]).map_err(|what| wrong(what, text))?);
        }
    }
    Ok(())
}

/// The name at the start of a line.
fn name_of(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
    let name = &text[..end];
    name.starts_with(|c: char| !c.is_ascii_digit()).then_some(name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// What follows a name: labels, the value, and what may come after it.
fn series<'a>(name: &'a str, rest: &'a str) -> Result<SeriesLine<'a>, &'static str> {
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(labels) => labels_of(labels)?,
        None => (Vec::new(), rest),
    };
    // A time stamp and an exemplar may follow.
    let value = rest.split_ascii_whitespace().next().ok_or("it has no value")?;
    Ok(SeriesLine { name, labels, value: number(value).ok_or("its value is no number")? })
}

/// Names and values.
type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// Labels up to the closing brace, and what follows it.
fn labels_of(mut rest: &str) -> Result<(Labels<'_>, &str), &'static str> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        if labels.len() == LABELS_MAX {
            return Err("it has too many labels");
        }
        let end = rest.find(|c: char| !is_of_name(c)).filter(|end| *end > 0).ok_or("a label has no name")?;
        let (name, after) = rest.split_at(end);
        let value = after.trim_start().strip_prefix('=').ok_or("a label has no value")?;
        let value = value.trim_start().strip_prefix('"').ok_or("a label's value has no quotes")?;
        let (value, after) = quoted(value)?;
        labels.push((name, value));
        rest = after.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return Err("labels are not apart"),
        };
    }
}

/// A value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    const NO_END: &str = "a label's value has no end";
    let end = text.find(['"', '\\']).ok_or(NO_END)?;
    if text[end..].starts_with('"') {
        return Ok((Cow::Borrowed(&text[..end]), &text[end + 1..]));
    }
    let mut value = text[..end].to_owned();
    let mut characters = text[end..].char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((Cow::Owned(value), &text[end + at + 1..])),
            '\\' => match characters.next().ok_or(NO_END)?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    Err(NO_END)
}

/// A number as Go writes it: `1.5E7`, `NaN`, `+Inf`.
pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Name, labels and value.
    type ParsedSeries = (String, Vec<(String, String)>, f64);

    fn all(text: &str) -> Result<Vec<ParsedSeries>, String> {
        let mut found = Vec::new();
        read(
            text.as_bytes(),
            |_| true,
            |one| {
                let labels = one.labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
                found.push((one.name.to_owned(), labels.collect(), one.value));
            },
        )?;
        Ok(found)
    }

    #[test]
    fn names_labels_and_values_are_read() {
        let text = "# HELP x Help.\n# TYPE x counter\nx_total 1.0998035E7\n\
            y{name=\"BytesInPerSec\",topic=\"a \\\"b\\\" \\\\ c\\n\",} 3 1700000000000\r\n  z { a = \"1\" , b=\"\" } +Inf # {id=\"1\"} 2\n\
            jvm_info{v=\"17\"} NaN\n\n# EOF\n";
        let found = all(text).expect("a text");
        let names: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["x_total", "y", "z", "jvm_info"]);
        assert_eq!((found[0].2, found[1].2), (10_998_035.0, 3.0));
        assert!(found[2].2.is_infinite() && found[3].2.is_nan());
        assert_eq!(found[1].1[1].1, "a \"b\" \\ c\n");
        assert_eq!(found[2].1, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())]);
    }

    #[test]
    fn invalid_text_is_reported_with_its_line() {
        for (text, part) in [
            (
                "<html>\n",
                "line 1 of the answer is no line of Prometheus's text format (it begins with no name): <html>",
            ),
            ("a 1\n{\"error\": 1}\n", "line 2 of the answer"),
            ("a\n", "it has no value"),
            ("a x\n", "its value is no number"),
            ("a{b=\"c} 1\n", "has no end"),
            ("a{b=\"c\\", "has no end"),
            ("a{b=c} 1\n", "has no quotes"),
            ("a{=\"c\"} 1\n", "has no name"),
            ("a{b=\"c\"d=\"e\"} 1\n", "are not apart"),
            ("9a 1\n", "begins with no name"),
        ] {
            let reported = all(text).expect_err(text);
            assert!(reported.contains(part), "{text}: {reported}");
        }
        let reported = read(&b"a\xff 1\n"[..], |_| true, |_| {}).expect_err("no UTF-8");
        assert!(reported.contains("no UTF-8"), "{reported}");
    }

    #[test]
    fn what_is_too_long_is_not_read_to_its_end() {
        /// Text without end that counts what was taken of it.
        struct Endless<'a>(&'a str, u64);
        impl Read for &mut Endless<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let piece = self.0.as_bytes().iter().cycle().skip((self.1 % self.0.len() as u64) as usize);
                buffer.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
                self.1 += buffer.len() as u64;
                Ok(buffer.len())
            }
        }
        let mut line = Endless("a", 0);
        let reported = read(&mut line, |_| true, |_| {}).expect_err("one line");
        assert!(reported.contains("longer than 65536 bytes") && line.1 < 1 << 20, "{reported}");
        let mut lines =
            Endless("# a comment that is as long as a comment may well be, and then a bit more\n", 0);
        let reported = read(&mut lines, |_| true, |_| {}).expect_err("many lines");
        assert!(reported.contains("longer than 64 MiB") && lines.1 < BYTES_MAX + (1 << 20), "{reported}");
        let labels: String = (0..65).map(|number| format!("l{number}=\"\",")).collect();
        assert!(all(&format!("a{{{labels}}} 1")).expect_err("labels").contains("too many labels"));
    }

    #[test]
    fn what_is_not_asked_for_is_not_looked_into() {
        let mut found = 0;
        read(&b"other{ 1\nkafka 1\n"[..], |name| name == "kafka", |_| found += 1).expect("read");
        assert_eq!(found, 1);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&bytes[..], |_| true, |_| {});
        }

        #[test]
        fn no_pieces_of_the_format_make_it_panic(
            text in "(a|_b|:|\\{|\\}|=|\"|\\\\|,| |\n|#|1|1e5|NaN|-|é){0,40}",
        ) {
            let _ = all(&text);
        }

        #[test]
        fn what_is_written_is_read(
            name in "[a-z_:][a-zA-Z0-9_:]{0,20}",
            labels in proptest::collection::vec(("[a-z][a-z0-9_]{0,8}", "\\PC{0,12}"), 0..5),
            value in proptest::num::f64::NORMAL,
        ) {
            let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let reported: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let found = all(&format!("{name}{{{}}} {value:e}\n", reported.join(","))).expect("a line");
            prop_assert_eq!(&found, &[(name, labels, value)]);
        }
    }
}
