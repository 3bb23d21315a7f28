//! Java's `.properties`, read byte for byte as `java.util.Properties.load(InputStream)` reads them, which is what
//! Kafka's tools do with theirs: Latin-1, `\` goes on in the next line and begins escapes, `=`, `:` or blanks end a
//! name, `#` and `!` begin comments, of two with one name the later counts. Pure: bytes in, pairs out.

use crate::units::size;
use std::collections::BTreeMap;
use std::fmt;

/// Largest file that is read, bytes: those of clients have a few KiB, mostly certificates.
pub const PROPERTIES_BYTES_MAX: usize = 1 << 20;
/// Most properties of a file: Kafka's clients know some 200.
pub const PROPERTIES_MAX: usize = 10_000;

/// Most notes: a file that gives more reasons for them is not what it was meant to be.
const NOTES_MAX: usize = 20;

/// A value without what Kafka's clients leave out around it, as Java's `String.trim` does: blanks and control
/// characters, and no other kind of space.
pub fn trim(value: &str) -> &str {
    value.trim_matches(|char| char <= ' ')
}

/// One property. Its value may be a password, so that it is not printed by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The line on which it begins, from 1.
    pub line: u32,
}

impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.name, self.line)
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Properties {
    /// Its properties in the order of the file; of several with one name the last.
    pub properties: Vec<Property>,
    /// What its author may not expect.
    pub notes: Vec<PropertiesNote>,
}

/// What somebody who wrote a file may not expect: one lowercase sentence without any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertiesNote {
    /// The line, from 1.
    pub line: u32,
    /// The sentence.
    pub text: String,
}

/// Why a file cannot be read. Holds no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PropertiesError {
    /// The line, from 1; none when the file as a whole is meant.
    pub line: Option<u32>,
    /// One lowercase sentence.
    pub message: String,
    /// What to do instead; may be empty.
    pub hint: &'static str,
}

impl Properties {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.find(name).map(|property| property.value.as_str())
    }

    /// The property of a name.
    pub fn find(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Too large, UTF-16, or an escape that Java refuses.
    pub fn parse(bytes: &[u8]) -> Result<Self, PropertiesError> {
        let whole = |message: String, hint| PropertiesError { line: None, message, hint };
        if bytes.len() > PROPERTIES_BYTES_MAX {
            let (has, most) = (size(bytes.len() as u64), size(PROPERTIES_BYTES_MAX as u64));
            return Err(whole(format!("the file has {has}; at most {most} are read"), ""));
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            let message = "the file is UTF-16, which Java does not read as properties".to_owned();
            return Err(whole(message, "save it as Latin-1, with other characters as \\uXXXX"));
        }
        let mut found = Self::default();
        // Its place in `found`, by name.
        let mut places = BTreeMap::<String, usize>::new();
        let mut lines = LogicalLines { bytes, at: 0, line: 1 };
        if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
            lines.bytes = rest;
            let text = "the file begins with a byte order mark, which Java takes for a part of the first name; \
                        it is left out here: save the file without it";
            found.note(1, text.to_owned());
        }
        while let Some(line) = lines.next_line() {
            let property = line.property()?;
            if let Some(text) = line.encoding_note(&property.name) {
                found.note(line.number, text);
            }
            if let Some(place) = places.get(&property.name) {
                let first = found.properties[*place].line;
                let text = format!(
                    "`{}` is here a second time, first in line {first}: the later one counts",
                    shown(&property.name)
                );
                found.note(line.number, text);
                found.properties[*place] = property;
                continue;
            }
            if found.properties.len() >= PROPERTIES_MAX {
                let message = format!("the file has more than {PROPERTIES_MAX} properties");
                return Err(PropertiesError { line: Some(line.number), message, hint: "" });
            }
            places.insert(property.name.clone(), found.properties.len());
            found.properties.push(property);
        }
        Ok(found)
    }

    fn note(&mut self, line: u32, text: String) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(PropertiesNote { line, text });
        }
    }
}

/// A name as messages show it. What is wrong in a file may be long, not printable, or the rest of a password after a line
/// without its `\`: what no name of a setting has in it is not shown.
fn shown(name: &str) -> &str {
    const CHARACTERS_MAX: usize = 60;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if name.len() <= CHARACTERS_MAX && name.bytes().all(is_plain) { name } else { "…" }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Goes through a file line by line.
struct LogicalLines<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The natural line that `at` is in.
    line: u32,
}

/// A logical line: natural ones put together, without comments, blanks before them, and what joined them.
struct LogicalLine {
    bytes: Vec<u8>,
    /// Where it begins.
    number: u32,
}

impl LogicalLines<'_> {
    fn next_byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        // In `\r\n` the first one ends the line.
        let second = byte == b'\n' && self.at >= 2 && self.bytes[self.at - 2] == b'\r';
        if is_line_end(byte) && !second {
            self.line += 1;
        }
        Some(byte)
    }

    fn next_line(&mut self) -> Option<LogicalLine> {
        let mut line = LogicalLine { bytes: Vec::new(), number: 0 };
        let mut skips_blanks = true;
        let mut is_continued = false;
        let mut escapes = false;
        loop {
            let number = self.line;
            let Some(byte) = self.next_byte() else {
                if escapes {
                    line.bytes.pop();
                }
                // A lone `\` is a line, with an empty name.
                return (escapes || !line.bytes.is_empty()).then_some(line);
            };
            if skips_blanks {
                if is_blank(byte) || (!is_continued && is_line_end(byte)) {
                    continue;
                }
                skips_blanks = false;
                is_continued = false;
            }
            if line.bytes.is_empty() {
                if matches!(byte, b'#' | b'!') {
                    while self.next_byte().is_some_and(|byte| !is_line_end(byte)) {}
                    skips_blanks = true;
                    continue;
                }
                line.number = number;
            }
            if !is_line_end(byte) {
                line.bytes.push(byte);
                escapes = byte == b'\\' && !escapes;
            } else if line.bytes.is_empty() {
                skips_blanks = true;
            } else if escapes {
                if self.at >= self.bytes.len() {
                    line.bytes.pop();
                    return Some(line);
                }
                line.bytes.pop();
                (skips_blanks, is_continued, escapes) = (true, true, false);
                if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
                    self.next_byte();
                }
            } else {
                return Some(line);
            }
        }
    }
}

impl LogicalLine {
    fn property(&self) -> Result<Property, PropertiesError> {
        let (name, value) = self.halves();
        Ok(Property { name: self.text(name)?, value: self.text(value)?, line: self.number })
    }

    /// The name and the value, escapes not yet read.
    fn halves(&self) -> (&[u8], &[u8]) {
        let bytes = &self.bytes;
        let mut escapes = false;
        let ends = |byte: &u8| {
            let ends = !escapes && (is_blank(*byte) || matches!(*byte, b'=' | b':'));
            escapes = *byte == b'\\' && !escapes;
            ends
        };
        let Some(end) = bytes.iter().position(ends) else { return (bytes, &[]) };
        let after_blanks = |rest: &mut &[u8]| {
            let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
            *rest = &rest[blanks..];
        };
        let mut value = &bytes[end..];
        after_blanks(&mut value);
        if let Some(rest) = value.strip_prefix(b"=").or_else(|| value.strip_prefix(b":")) {
            value = rest;
            after_blanks(&mut value);
        }
        (&bytes[..end], value)
    }

    /// Reads the escapes. A byte is a character, as Latin-1 has it; `\uXXXX` is a unit of UTF-16.
    fn text(&self, bytes: &[u8]) -> Result<String, PropertiesError> {
        let wrong = |message: &str, hint| {
            Err(PropertiesError { line: Some(self.number), message: message.to_owned(), hint })
        };
        let mut units = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            if *byte != b'\\' {
                units.push(u16::from(*byte));
                continue;
            }
            let Some((escaped, after)) = rest.split_first() else { break };
            rest = after;
            units.push(match escaped {
                b'u' => {
                    let Some(unit) = rest.get(..4).and_then(hexadecimal) else {
                        return wrong(
                            "a `\\u` without four hexadecimal digits is in the line that begins here",
                            "a backslash itself is written `\\\\`, also in paths",
                        );
                    };
                    rest = &rest[4..];
                    unit
                }
                b't' => u16::from(b'\t'),
                b'r' => u16::from(b'\r'),
                b'n' => u16::from(b'\n'),
                b'f' => 0x0c,
                other => u16::from(*other),
            });
        }
        String::from_utf16(&units).or_else(|_| {
            wrong(
                "a `\\u` escape in the line that begins here is half of a surrogate pair",
                "write both halves",
            )
        })
    }

    /// Java reads bytes of UTF-8 one by one, without a word.
    fn encoding_note(&self, name: &str) -> Option<String> {
        if self.bytes.is_ascii() {
            return None;
        }
        let name = shown(name);
        let utf_8 = std::str::from_utf8(&self.bytes).is_ok();
        let text = match utf_8 {
            true => format!(
                "`{name}` has characters in UTF-8, and Java reads each byte as a character of its own (Latin-1): \
                 write them as \\uXXXX"
            ),
            false => format!("`{name}` has characters beyond ASCII, read as Latin-1 as Java reads them"),
        };
        Some(text)
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u16> {
    let digit = |value: u16, digit: &u8| Some((value << 4) | char::from(*digit).to_digit(16)? as u16);
    digits.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names and values, with the line of each.
    fn read(bytes: &[u8]) -> Vec<(String, String, u32)> {
        let found = Properties::parse(bytes).expect("properties");
        found.properties.into_iter().map(|one| (one.name, one.value, one.line)).collect()
    }

    fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
        read(bytes).into_iter().map(|(name, value, _)| (name, value)).collect()
    }

    fn one(text: &str, name: &str, value: &str) {
        assert_eq!(pairs(text.as_bytes()), [(name.to_owned(), value.to_owned())], "{text:?}");
    }

    #[test]
    fn a_name_ends_at_the_first_separator_the_value_keeps_the_rest() {
        for text in ["a=b", "a:b", "a b", "a \t= b", "  a\x0c:\x0cb", "a   b\n", "a=b\r\n", "\n\r\n\ta = b"] {
            one(text, "a", "b");
        }
        one("a==b", "a", "=b");
        one("a = : b", "a", ": b");
        one("a b=c", "a", "b=c");
        one("a=b  ", "a", "b  ");
        one("a", "a", "");
        one("=b", "", "b");
        one("jaas=x required password=\"p=q:r\";", "jaas", "x required password=\"p=q:r\";");
    }

    #[test]
    fn escapes_are_javas() {
        one(r"a\=b\:c\ d=e", "a=b:c d", "e");
        one(r"path=C:\\kafka\\ca.pem", "path", r"C:\kafka\ca.pem");
        one(r"path=C:\kafka\ca.pem", "path", "C:kafkaca.pem");
        one(r"a=\t\n\r\f\#\!\q", "a", "\t\n\r\u{c}#!q");
        one(r"a=\u00e9\u20AC\ud83d\ude00", "a", "é€😀");
        one(r"a=\\u0041", "a", r"\u0041");
        one(r"\u0061=b", "a", "b");
        one("a=b\\", "a", "b");
        one("\\", "", "");
    }

    #[test]
    fn lines_go_on_and_comments_do_not() {
        one("a=b\\\n   c", "a", "bc");
        one("a=b\\\r\n\tc", "a", "bc");
        one("a=b\\\rc", "a", "bc");
        one("a=b\\\\\n", "a", "b\\");
        one("a\\\n=b", "a", "b");
        one("a=b\\\n#c", "a", "b#c");
        one("a=b\\\n", "a", "b");
        assert_eq!(pairs(b"a=b\\\n\nc=d").len(), 2, "an empty line ends it");
        assert_eq!(pairs(b"# a=b \\\n!c=d\n  # e=f\n"), []);
        assert_eq!(pairs(b"#\\\na=b"), [("a".to_owned(), "b".to_owned())]);
        one("\\\n# a comment\na=b", "a", "b");
    }

    #[test]
    fn lines_are_counted_as_editors_count_them() {
        let text = b"# one\r\n\r\na=1\\\r\n  2\r\nb=3\rc=4\n\n  d=5";
        let lines: Vec<u32> = read(text).into_iter().map(|(_, _, line)| line).collect();
        assert_eq!(lines, [3, 5, 6, 8]);
    }

    #[test]
    fn the_last_of_two_counts_and_that_is_said() {
        let found = Properties::parse(b"a=1\nb=2\na=3\n").expect("properties");
        assert_eq!((found.get("a"), found.get("b"), found.get("c")), (Some("3"), Some("2"), None));
        assert_eq!(found.find("a").map(|property| property.line), Some(3));
        assert_eq!((found.notes.len(), found.notes[0].line), (1, 3));
        assert!(found.notes[0].text.contains("first in line 1"), "{:?}", found.notes);
    }

    #[test]
    fn other_encodings_are_said() {
        let found = Properties::parse(b"\xef\xbb\xbfa=1\n").expect("properties");
        assert_eq!(found.get("a"), Some("1"));
        assert!(found.notes[0].text.contains("byte order mark"), "{:?}", found.notes);
        let found = Properties::parse("user=Müller\n".as_bytes()).expect("properties");
        assert_eq!(found.get("user"), Some("MÃ¼ller"), "each byte is a character");
        assert!(found.notes[0].text.contains("UTF-8"), "{:?}", found.notes);
        let found = Properties::parse(b"user=M\xfcller\n").expect("properties");
        assert_eq!(found.get("user"), Some("Müller"));
        assert!(found.notes[0].text.contains("as Latin-1"), "{:?}", found.notes);
        let found = Properties::parse("password=\"\nhünter2\";\n".as_bytes()).expect("properties");
        assert!(
            !found.notes[0].text.contains("nter2"),
            "a name may be the rest of a value: {:?}",
            found.notes
        );
        let error = Properties::parse(b"\xff\xfea\0=\0").expect_err("UTF-16");
        assert!(error.message.contains("UTF-16"), "{error:?}");
    }

    #[test]
    fn what_java_refuses_is_refused_with_its_line_not_its_value() {
        for text in
            ["a=1\npw=secret\\u12", "a=1\npw=secret\\u00zz", "a=1\npw=secret\\u+123", "a=1\npw=secret\\ud800"]
        {
            let error = Properties::parse(text.as_bytes()).expect_err(text);
            assert_eq!(error.line, Some(2), "{text}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
        let found = Properties::parse(b"pw=secret").expect("properties");
        assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    }

    #[test]
    fn a_file_is_bounded() {
        let error = Properties::parse(&vec![b'#'; PROPERTIES_BYTES_MAX + 1]).expect_err("too large");
        assert!(error.message.contains("at most 1 MiB"), "{error}");
        let many: String = (0..=PROPERTIES_MAX).map(|n| format!("p{n}\n")).collect();
        let error = Properties::parse(many.as_bytes()).expect_err("too many");
        assert_eq!(error.line, Some(PROPERTIES_MAX as u32 + 1));
        let same = Properties::parse("a=1\n".repeat(PROPERTIES_MAX + 1).as_bytes()).expect("one property");
        assert_eq!((same.properties.len(), same.notes.len()), (1, NOTES_MAX));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Properties::parse(&bytes);
        }

        #[test]
        fn what_is_escaped_comes_back(name in "\\PC{1,10}", value in "\\PC{0,20}") {
            let escaped = |text: &str| -> String {
                text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
            };
            let text = format!("{}={}", escaped(&name), escaped(&value));
            prop_assert_eq!(pairs(text.as_bytes()), [(name, value)]);
        }
    }
}
