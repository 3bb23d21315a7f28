//! String literals of Rust code, tests and comments apart, for rules about texts. They are taken from the tokens: the parsed
//! syntax does not reach into macros, where most texts are.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A string literal.
#[derive(Debug, PartialEq)]
pub(super) struct Literal {
    /// The line in which it begins, from 1.
    pub line: usize,
    /// What is between its quotes, with its lines. An escape is a `|`, but for one of a line's end.
    pub text: String,
}

/// All literals of a file that are in no item under `#[cfg(test)]`.
pub(super) fn of_product(source: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    // What cannot be read as Rust the rule about circles complains of.
    collect(source.parse().unwrap_or_default(), &mut found);
    found
}

/// An item of tests goes from its attribute to its `;` or its braces.
fn collect(tokens: TokenStream, found: &mut Vec<Literal>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut is_test = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                // An inner attribute has a `!`.
                tokens.next_if(|token| token.to_string() == "!");
                let attribute = tokens.peek().map(ToString::to_string).unwrap_or_default();
                let attribute: String = attribute.split_whitespace().collect();
                is_test |= attribute == "[cfg(test)]";
                // A comment of documentation is an attribute, too.
                tokens.next_if(|_| attribute.starts_with("[doc="));
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_test = false,
            TokenTree::Group(group) if is_test => is_test = group.delimiter() != Delimiter::Brace,
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Literal(literal) if !is_test => found.extend(Literal::of(&literal)),
            _ => {}
        }
    }
}

impl Literal {
    /// Numbers and characters are none.
    fn of(token: &proc_macro2::Literal) -> Option<Self> {
        let text = token.to_string();
        let (prefix, rest) = text.split_once('"').filter(|(prefix, _)| !prefix.contains('\''))?;
        let (inside, _) = rest.rsplit_once('"')?;
        let text = if prefix.contains('r') { inside.to_owned() } else { unescaped(inside) };
        Some(Self { line: token.span().start().line, text })
    }
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
