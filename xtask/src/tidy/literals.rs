//! String literals of Rust code, tests and comments apart, for rules about texts. They are read by their marks alone:
//! the parser has no lines, and it sees no literals within macros, where most texts are.

/// A string literal.
#[derive(Debug, PartialEq)]
pub(super) struct Literal {
    /// The line in which it begins, from 1.
    pub line: usize,
    /// What is between its quotes, with its lines. An escape is a `|`, but for one of a line's end.
    pub text: String,
}

/// All literals of a file formatted by rustfmt that are in no item under `#[cfg(test)]`.
pub(super) fn of_product(source: &str) -> Vec<Literal> {
    let tests = test_lines(source);
    let is_product =
        |literal: &Literal| !tests.iter().any(|(first, last)| (*first..=*last).contains(&literal.line));
    all(source).into_iter().filter(is_product).collect()
}

/// The first and last line of each item under `#[cfg(test)]`: it ends with a `;` in its own line, or with the brace
/// that is indented like it.
fn test_lines(source: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(indent) = line.strip_suffix("#[cfg(test)]").filter(|indent| indent.trim().is_empty()) else {
            continue;
        };
        let brace = format!("{indent}}}");
        let is_attribute = |line: &str| line.trim_start().starts_with("#[");
        let rest = lines.iter().enumerate().skip(first + 1).skip_while(|(_, line)| is_attribute(line));
        let mut ends = rest.enumerate().filter(|(nth, (_, line))| {
            line.starts_with(&brace) || (*nth == 0 && (line.ends_with(';') || line.ends_with('}')))
        });
        let last = ends.next().map_or(lines.len(), |(_, (last, _))| last);
        found.push((first + 1, last + 1));
    }
    found
}

fn all(source: &str) -> Vec<Literal> {
    let mut reader = LiteralScanner { rest: source, line: 1, found: Vec::new() };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.found
}

struct LiteralScanner<'s> {
    rest: &'s str,
    line: usize,
    found: Vec<Literal>,
}

impl<'s> LiteralScanner<'s> {
    /// Takes a comment, a literal, a name or one other character.
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.take(block_comment(rest));
        } else if let Some((opening, closing)) = raw_string(rest) {
            let line = self.line;
            self.take(opening);
            let end = self.rest.find(&closing).unwrap_or(self.rest.len());
            let text = self.take(end).to_owned();
            self.found.push(Literal { line, text });
            self.take(closing.len().min(self.rest.len()));
        } else if rest.starts_with('"') {
            let line = self.line;
            self.take(1);
            let text = unescaped(self.take(quoted(self.rest)));
            self.found.push(Literal { line, text });
            self.take(1.min(self.rest.len()));
        } else if let Some(length) = character(rest) {
            self.take(length);
        } else {
            // A name is taken as a whole, so that its last letter begins no raw string.
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let is_prefix = matches!(&rest[..name], "b" | "c");
            let other = rest.chars().next().map_or(0, char::len_utf8);
            self.take(if name == 0 || is_prefix { other } else { name });
        }
    }

    fn take(&mut self, length: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// The length of a comment that may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(next) = text[at..].find(['/', '*']) {
        at += next;
        let mark = text.as_bytes().get(at..at + 2);
        match mark {
            Some(b"/*") => depth += 1,
            Some(b"*/") => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of what opens a raw string, and what closes it.
fn raw_string(text: &str) -> Option<(usize, String)> {
    let after = ["r", "br", "cr"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let opening = text.len() - after.len() + hashes + 1;
    after[hashes..].starts_with('"').then(|| (opening, format!("\"{}", "#".repeat(hashes))))
}

/// The length of what is before the closing quote.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
        } else {
            plain.push(chars.next().filter(|escaped| *escaped == '\n').unwrap_or('|'));
        }
    }
    plain
}

/// The length of a character in quotes; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let after = text.strip_prefix('\'')?;
    let first = after.chars().next()?;
    let length = if first == '\\' { 2 + after[2..].find('\'')? } else { first.len_utf8() };
    after.get(length..)?.starts_with('\'').then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, String)> {
        of_product(source).into_iter().map(|literal| (literal.line, literal.text)).collect()
    }

    #[test]
    fn literals_of_each_kind_are_found() {
        for (source, text) in [
            (r#"f("a \" b")"#, "a | b"),
            (r##"r#"a "b" c"#"##, r#"a "b" c"#),
            (r#"br"a\""#, r"a\"),
            (r#"b"a""#, "a"),
            ("\"a \\\n   b\"", "a \n   b"),
            (r#"println!("a{}", 'x')"#, "a{}"),
            (r#"['"', '\'', 'é'] "a""#, "a"),
            (r#"fn f<'a>(r: &'a str) { r == "a" }"#, "a"),
        ] {
            assert_eq!(texts(source), [(1, text.to_owned())], "{source}");
        }
    }

    #[test]
    fn comments_and_names_hold_none() {
        for source in ["// \"a\"", "/// \"a\"", "/* /* \"a\" */ \"b\" */", "for_r", "'\"'"] {
            assert!(texts(source).is_empty(), "{source}");
        }
    }

    #[test]
    fn items_of_tests_are_left_out() {
        let source = "#[cfg(test)]\nmod tests;\nconst A: &str = \"a\";\n\n#[cfg(test)]\n#[path = \"x\"]\nmod inner {\n    \
                      fn f() {\n        g(\"b\");\n    }\n}\n\nconst C: &str = \"c\";\n";
        assert_eq!(texts(source), [(3, "a".to_owned()), (13, "c".to_owned())]);
    }
}
