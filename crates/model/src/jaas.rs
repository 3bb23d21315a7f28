//! `sasl.jaas.config`: `LOGIN-MODULE FLAG (OPTION=VALUE)*;`, read as Kafka's own reader reads it, which is Java's
//! `StreamTokenizer` with a few changes. Values, and words that may be parts of values, are in no error.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// Longest text that is read, characters.
const CHARACTERS_MAX: usize = 64 << 10;

/// A login module with its options.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginModule {
    /// Its class.
    pub class: String,
    /// Its options; of two with one name the later counts.
    pub options: BTreeMap<String, String>,
}

impl LoginModule {
    /// Its class without the package.
    pub fn name(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }
}

/// Values are not printed.
impl fmt::Debug for LoginModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.class, self.options.keys())
    }
}

/// Why a text is no JAAS configuration. Holds no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JaasError {
    /// One lowercase sentence.
    pub message: String,
    /// What to do instead; may be empty.
    pub hint: &'static str,
}

const FORM: &str = "the form is `CLASS required username=\"…\" password=\"…\";`";
const QUOTE: &str =
    "put the value into double quotes; within them `\\` and `\"` are written `\\\\` and `\\\"`";

fn wrong<T>(message: impl Into<String>, hint: &'static str) -> Result<T, JaasError> {
    Err(JaasError { message: message.into(), hint })
}

/// Reads the one login module of a `sasl.jaas.config`.
///
/// # Errors
/// What Kafka's clients refuse, and a quote that is not closed.
pub fn parse(text: &str) -> Result<LoginModule, JaasError> {
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        return wrong(format!("it has more than {CHARACTERS_MAX} characters"), "");
    }
    let mut tokens = Tokens { chars: text.chars().peekable() };
    let class = match tokens.next_token()? {
        Some(JaasToken::Word(class)) => class,
        Some(_) => return wrong("it does not begin with the class of a login module", FORM),
        None => return wrong("it is empty", FORM),
    };
    flag(tokens.next_token()?)?;
    let mut options = BTreeMap::new();
    loop {
        let name = match tokens.next_token()? {
            Some(JaasToken::Word(name)) => name,
            Some(JaasToken::Sign(';')) => break,
            Some(_) => return wrong(format!("{} is no name", which(&options)), QUOTE),
            None => return wrong("it does not end with `;`", FORM),
        };
        if tokens.next_token()? != Some(JaasToken::Sign('=')) {
            // The word may be the rest of a value that has no quotes.
            return wrong(format!("{} has no `=` after its name", which(&options)), QUOTE);
        }
        match tokens.next_token()? {
            Some(JaasToken::Word(value)) => options.insert(name, value),
            _ => return wrong(format!("{} has no value that can be read", which(&options)), QUOTE),
        };
    }
    match tokens.next_token()? {
        None => Ok(LoginModule { class, options }),
        Some(_) => wrong("something follows after its `;`: clients take one login module", FORM),
    }
}

fn flag(token: Option<JaasToken>) -> Result<(), JaasError> {
    const FLAGS: [&str; 4] = ["required", "requisite", "sufficient", "optional"];
    match token {
        Some(JaasToken::Word(word)) if FLAGS.iter().any(|flag| word.eq_ignore_ascii_case(flag)) => Ok(()),
        _ => wrong("after the class of the login module `required` is missing", FORM),
    }
}

fn which(before: &BTreeMap<String, String>) -> String {
    format!("option {} of the login module", before.len() + 1)
}

#[derive(PartialEq)]
enum JaasToken {
    /// A word or a quoted text.
    Word(String),
    /// A number, as Java takes what begins with a digit, `.` or `-` for one; it cannot be a text.
    Number,
    /// Any other character.
    Sign(char),
}

struct Tokens<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Tokens<'_> {
    fn next_token(&mut self) -> Result<Option<JaasToken>, JaasError> {
        loop {
            let Some(first) = self.chars.next() else { return Ok(None) };
            return Ok(Some(match first {
                blank if blank <= ' ' => continue,
                '/' => {
                    self.skip_comment();
                    continue;
                }
                quote @ ('"' | '\'') => JaasToken::Word(self.quoted(quote)?),
                '0'..='9' | '.' | '-' => self.number(first),
                begin if is_word(begin) => {
                    let mut word = String::from(begin);
                    let goes_on = |c: &char| is_word(*c) || c.is_ascii_digit() || matches!(c, '.' | '-');
                    while let Some(more) = self.chars.next_if(goes_on) {
                        word.push(more);
                    }
                    JaasToken::Word(word)
                }
                sign => JaasToken::Sign(sign),
            }));
        }
    }

    /// `/*` to `*/`; any other `/` begins a comment that lasts to the end of the line.
    fn skip_comment(&mut self) {
        if self.chars.next_if_eq(&'*').is_some() {
            let mut last = ' ';
            for c in self.chars.by_ref() {
                if last == '*' && c == '/' {
                    return;
                }
                last = c;
            }
            return;
        }
        while self.chars.next_if(|c| !matches!(c, '\n' | '\r')).is_some() {}
    }

    /// A lone `-` is a sign.
    fn number(&mut self, first: char) -> JaasToken {
        let digit = |c: &char| c.is_ascii_digit() || *c == '.';
        if first == '-' && !self.chars.peek().is_some_and(digit) {
            return JaasToken::Sign('-');
        }
        while self.chars.next_if(digit).is_some() {}
        JaasToken::Number
    }

    fn quoted(&mut self, quote: char) -> Result<String, JaasError> {
        let mut text = String::new();
        loop {
            match self.chars.next() {
                Some(end) if end == quote => return Ok(text),
                None | Some('\n' | '\r') => {
                    return wrong("a quote is not closed in its line", QUOTE);
                }
                Some('\\') => match self.chars.next() {
                    Some(escaped) => text.push(self.escaped(escaped)),
                    None => return wrong("a quote is not closed in its line", QUOTE),
                },
                Some(plain) => text.push(plain),
            }
        }
    }

    /// Up to three octal digits, a letter of C, or the character itself.
    fn escaped(&mut self, first: char) -> char {
        match first {
            '0'..='7' => {
                let mut code = first as u32 - '0' as u32;
                let more = if first <= '3' { 2 } else { 1 };
                for _ in 0..more {
                    let Some(digit) = self.chars.next_if(|c| matches!(c, '0'..='7')) else { break };
                    code = code * 8 + (digit as u32 - '0' as u32);
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            other => other,
        }
    }
}

/// What a word may begin with.
fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$') || c >= '\u{a0}'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";

    fn options(text: &str) -> Vec<(String, String)> {
        let module = parse(text).expect(text);
        module.options.into_iter().collect()
    }

    fn reported(text: &str) -> String {
        let error = parse(text).expect_err(text);
        format!("{} | {}", error.message, error.hint)
    }

    #[test]
    fn a_module_has_a_class_and_options() {
        let module =
            parse(&format!("{PLAIN} required username=\"alice\" password=\"p=;w\";")).expect("a module");
        assert_eq!((module.class.as_str(), module.name()), (PLAIN, "PlainLoginModule"));
        assert_eq!(
            (module.options["username"].as_str(), module.options["password"].as_str()),
            ("alice", "p=;w")
        );
        assert!(!format!("{module:?}").contains("p=;w"), "{module:?}");
        assert!(options(&format!("{PLAIN} REQUIRED;")).is_empty());
    }

    #[test]
    fn values_are_words_or_quoted_and_escaped() {
        let value = |typed: &str| options(&format!("x required a={typed};"))[0].1.clone();
        assert_eq!(value("alice"), "alice");
        assert_eq!(value("a-b_c$d.e1"), "a-b_c$d.e1");
        assert_eq!(value("'it\"s'"), "it\"s");
        assert_eq!(value(r#""q\"b\\s\n\101\7z""#), "q\"b\\s\nA\u{7}z");
        assert_eq!(value(r#""\400""#), " 0", "at most 255");
        assert_eq!(value("\"\""), "");
        assert_eq!(value("é€"), "é€");
        assert_eq!(options("x required a=\"1\";")[0].1, "1");
    }

    #[test]
    fn comments_and_line_ends_do_not_count() {
        let text = "x // a class\nrequired /* its\nflag */ a=b // c=d\n  e=f;";
        assert_eq!(options(text).len(), 2);
        assert_eq!(options("x required a=b a=c;"), [("a".to_owned(), "c".to_owned())]);
    }

    #[test]
    fn unreadable_text_is_reported_without_a_value() {
        for (text, why) in [
            ("", "it is empty"),
            ("x", "`required` is missing"),
            ("x needed;", "`required` is missing"),
            ("x required", "does not end with `;`"),
            ("x required password=hunter2", "does not end with `;`"),
            ("x required password;", "option 1 of the login module has no `=`"),
            ("x required username=a password=hunter2 hunter3;", "option 3 of the login module has no `=`"),
            ("x required password=;", "option 1 of the login module has no value"),
            ("x required password=2hunter;", "option 1 of the login module has no value"),
            ("x required password=-7;", "option 1 of the login module has no value"),
            ("x required password=hunter/2;", "does not end with `;`"),
            ("x required password=\"hunter2;", "a quote is not closed"),
            ("x required password=\"hunter2\\", "a quote is not closed"),
            ("x required; y required;", "one login module"),
            ("= required;", "does not begin with the class"),
        ] {
            let reported = reported(text);
            assert!(reported.contains(why), "{text}: {reported}");
            assert!(!reported.contains("hunter"), "{text}: {reported}");
        }
        assert!(reported(&" ".repeat(CHARACTERS_MAX + 1)).contains("more than 65536"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn quoted_values_come_back(value in "[^\\x00-\\x1f]{0,40}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            let text = format!("{PLAIN} required password=\"{escaped}\";");
            prop_assert_eq!(options(&text), [("password".to_owned(), value)]);
        }
    }
}
