//! Rust source with comments and literals blanked out, so that rules see code only.
//!
//! This is a lexer for one purpose, not a parser: it keeps every byte offset and every line break,
//! so that a match in the masked text has the line number of the real file.

/// Replaces the content of comments, strings and character literals by spaces.
pub fn mask(source: &str) -> String {
    let mut out = source.as_bytes().to_vec();
    let bytes = source.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = match skip(bytes, at) {
            Some(end) => end,
            None => {
                at += 1;
                continue;
            }
        };
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The end of the comment or literal that starts at `at`, if one does.
fn skip(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at] {
        b'/' if bytes.get(at + 1) == Some(&b'/') => Some(find(bytes, at, b"\n")),
        b'/' if bytes.get(at + 1) == Some(&b'*') => Some(block_comment(bytes, at)),
        b'"' => Some(string(bytes, at + 1)),
        b'r' | b'b' | b'c' if !continues_a_word(bytes, at) => prefixed(bytes, at),
        b'\'' => character(bytes, at),
        _ => None,
    }
}

/// Raw and byte strings: `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `b'x'`.
fn prefixed(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    if bytes[at] != b'r' {
        match bytes.get(next)? {
            b'"' => return Some(string(bytes, next + 1)),
            b'\'' => return character(bytes, next),
            b'r' => next += 1,
            _ => return None,
        }
    }
    let hashes = bytes[next..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(next + hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    Some((find(bytes, next + hashes + 1, &close) + close.len()).min(bytes.len()))
}

fn string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A character literal; `None` for a lifetime such as `'a`.
fn character(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        return Some((find(bytes, at + 3, b"'") + 1).min(bytes.len()));
    }
    let text = std::str::from_utf8(&bytes[at + 1..bytes.len().min(at + 6)]).unwrap_or_else(|error| {
        std::str::from_utf8(&bytes[at + 1..at + 1 + error.valid_up_to()]).unwrap_or_default()
    });
    let width = text.chars().next()?.len_utf8();
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + 2 + width)
}

fn block_comment(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
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
    bytes.len()
}

fn continues_a_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
}

/// The offset of `needle` at or after `from`, or the end of the text.
fn find(bytes: &[u8], from: usize, needle: &[u8]) -> usize {
    let from = from.min(bytes.len());
    bytes[from..]
        .windows(needle.len())
        .position(|window| window == needle)
        .map_or(bytes.len(), |offset| from + offset)
}

/// Masked source without what is compiled for tests only, and the names of test-only child modules.
pub struct Production {
    /// Masked code; test-only items are blank.
    pub code: String,
    /// `name` of every `#[cfg(test)] mod name;`: that file (and its folder) is test code.
    pub test_modules: Vec<String>,
}

/// Blanks every item under `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub fn production(source: &str) -> Production {
    let masked = mask(source);
    let mut code = masked.clone().into_bytes();
    let mut test_modules = Vec::new();
    let mut from = 0;
    while let Some(start) = ["#[cfg(test)]", "#[cfg(all(test,"]
        .iter()
        .filter_map(|attribute| masked[from..].find(attribute))
        .min()
        .map(|offset| from + offset)
    {
        let end = item_end(masked.as_bytes(), start);
        let item = &masked[start..end];
        if let Some(name) = declared_module(item) {
            test_modules.push(name);
        }
        for byte in &mut code[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        from = end;
    }
    Production { code: String::from_utf8(code).unwrap_or_default(), test_modules }
}

/// The end of the item whose attributes start at `at`: its `;` or `,` or its closing brace.
fn item_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_i32;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth -= 1,
            b'}' => {
                depth -= 1;
                if depth <= 0 {
                    return at + 1;
                }
            }
            b';' | b',' if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn declared_module(item: &str) -> Option<String> {
    let rest = item.rsplit(']').next()?.trim();
    let rest = rest.strip_prefix("pub(crate) ").or_else(|| rest.strip_prefix("pub ")).unwrap_or(rest);
    Some(rest.strip_prefix("mod ")?.strip_suffix(';')?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_and_lines_stay() {
        let source =
            "let a = \"std::fs // no\"; // std::net\n/* std::env\n*/ let b = 'x'; let c: &'a str = r#\"x\"#;";
        let masked = mask(source);
        assert_eq!(masked.len(), source.len());
        assert_eq!(masked.lines().count(), source.lines().count());
        assert!(!masked.contains("std::"), "{masked}");
        assert!(masked.contains("&'a str"), "{masked}");
    }

    #[test]
    fn escapes_and_quotes_do_not_confuse_it() {
        let source =
            r#"let q = '"'; let s = "\"std::fs\\"; let n = b'\n'; let e = '\''; std::net::TcpStream"#;
        let masked = mask(source);
        assert!(!masked.contains("std::fs"), "{masked}");
        assert!(masked.contains("std::net::TcpStream"), "{masked}");
    }

    #[test]
    fn nested_block_comments_end_where_they_end() {
        assert_eq!(mask("/* a /* b */ c */ code").trim(), "code");
    }

    #[test]
    fn an_unclosed_literal_ends_the_file_without_a_panic() {
        for source in ["\"abc", "r#\"abc", "/* abc", "'\\", "b'", "'", "\"\\"] {
            assert_eq!(mask(source).len(), source.len(), "{source}");
        }
    }

    #[test]
    fn test_items_are_not_production_code() {
        let source = "use a::b;\n#[cfg(test)]\nmod tests {\n use std::fs;\n fn f() { {} }\n}\nfn g() {}\n\
                      #[cfg(test)]\nmod helpers;\n#[cfg(test)]\nuse std::env;\nfn h() {}\n";
        let production = production(source);
        assert!(!production.code.contains("std::"), "{}", production.code);
        for kept in ["use a::b;", "fn g()", "fn h()"] {
            assert!(production.code.contains(kept), "{kept}");
        }
        assert_eq!(production.test_modules, ["helpers"]);
    }
}
