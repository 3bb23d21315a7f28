//! Arithmetic over params: `= 2*brokers`, `= min(3, brokers)`. Nothing more than that.
//!
//! Quantities keep their dimension: sizes add to sizes, a size divided by a size is a number, and a size
//! plus a duration is an error.

use crate::units::{Dimension, UnitValue, parse as parse_quantity};

/// Longest formula, bytes.
pub const TEXT_BYTES_MAX: usize = 500;
/// Deepest nesting of parentheses, calls and signs.
pub const DEPTH_MAX: u32 = 32;

/// Functions that a formula may call.
pub const FUNCTIONS: &[&str] = &["min", "max", "ceil"];

/// Evaluates the text after the `=`.
///
/// `param` gives a parameter's value; its error is passed on.
///
/// # Errors
/// One lowercase sentence: a syntax error, mixed dimensions, a division by zero, a result that is no
/// finite number.
pub fn evaluate(
    text: &str,
    param: &mut dyn FnMut(&str) -> Result<UnitValue, String>,
) -> Result<UnitValue, String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("the formula is longer than {TEXT_BYTES_MAX} bytes"));
    }
    let mut parser = ExprParser { rest: text, param, depth: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(c) => Err(format!("the formula has {} where an operator belongs", shown(c))),
    }
}

/// The parameter names a formula uses, in order, without evaluating it.
///
/// # Errors
/// None: a formula with a syntax error gives the names up to it.
pub fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let bounded = if text.len() > TEXT_BYTES_MAX { "" } else { text };
    let mut rest = bounded;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        rest = &rest[start..];
        let end = rest.find(|c: char| !word_char(c) && c != '.').unwrap_or(rest.len());
        let word = &rest[..end];
        let called = rest[end..].trim_start().starts_with('(');
        if !word.starts_with(|c: char| c.is_ascii_digit()) && !called {
            found.push(word.to_owned());
        }
        rest = &rest[end..];
    }
    found
}

fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn shown(c: char) -> String {
    crate::input::quoted(&c.to_string())
}

struct ExprParser<'t, 'p> {
    rest: &'t str,
    param: &'p mut dyn FnMut(&str) -> Result<UnitValue, String>,
    depth: u32,
}

impl<'t> ExprParser<'t, '_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        if there {
            self.rest = &self.rest[c.len_utf8()..];
        }
        there
    }

    fn sum(&mut self) -> Result<UnitValue, String> {
        let mut value = self.product()?;
        loop {
            if self.eat('+') {
                let other = self.product()?;
                value = same(value, other, "+", |a, b| a + b)?;
            } else if self.eat('-') {
                let other = self.product()?;
                value = same(value, other, "-", |a, b| a - b)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<UnitValue, String> {
        let mut value = self.factor()?;
        loop {
            if self.eat('*') {
                let other = self.factor()?;
                value = times(value, other)?;
            } else if self.eat('/') {
                let other = self.factor()?;
                value = over(value, other)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self) -> Result<UnitValue, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("the formula is nested more than {DEPTH_MAX} deep"));
        }
        let value = match self.peek() {
            Some('(') => {
                self.eat('(');
                let value = self.sum()?;
                self.close()?;
                Ok(value)
            }
            Some('-') => {
                self.eat('-');
                let value = self.factor()?;
                Ok(UnitValue { value: -value.value, ..value })
            }
            Some(c) if c.is_ascii_digit() => self.literal(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            Some('$') => Err("inside a formula a param has no `$`".to_owned()),
            Some(c) => Err(format!("the formula has {} where a value belongs", shown(c))),
            None => Err("the formula ends where a value belongs".to_owned()),
        }?;
        self.depth -= 1;
        Ok(value)
    }

    fn close(&mut self) -> Result<(), String> {
        if self.eat(')') { Ok(()) } else { Err("the formula has a `(` without its `)`".to_owned()) }
    }

    fn word(&mut self, dots: bool) -> &'t str {
        let end = self.rest.find(|c: char| !(word_char(c) || dots && c == '.')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn literal(&mut self) -> Result<UnitValue, String> {
        let word = self.word(true);
        parse_quantity(word).ok_or_else(|| format!("`{word}` is not a number, size or duration"))
    }

    fn name(&mut self) -> Result<UnitValue, String> {
        let word = self.word(false);
        if !self.eat('(') {
            return finite((self.param)(word)?);
        }
        if !FUNCTIONS.contains(&word) {
            let allowed = crate::input::listed(FUNCTIONS.iter().copied());
            return Err(format!("`{word}` is not a function; there are {allowed}"));
        }
        let mut value = self.sum()?;
        if word == "ceil" {
            value.value = value.value.ceil();
        } else {
            while self.eat(',') {
                let other = self.sum()?;
                value = same(value, other, word, if word == "min" { f64::min } else { f64::max })?;
            }
        }
        self.close()?;
        Ok(value)
    }
}

fn finite(value: UnitValue) -> Result<UnitValue, String> {
    if value.value.is_finite() {
        Ok(value)
    } else {
        Err("the formula's result is not a finite number".to_owned())
    }
}

fn same(a: UnitValue, b: UnitValue, what: &str, apply: fn(f64, f64) -> f64) -> Result<UnitValue, String> {
    if a.dimension != b.dimension {
        return Err(format!(
            "`{what}` needs two of a kind, not {} and {}",
            a.dimension.name(),
            b.dimension.name()
        ));
    }
    finite(UnitValue { value: apply(a.value, b.value), dimension: a.dimension })
}

fn times(a: UnitValue, b: UnitValue) -> Result<UnitValue, String> {
    let dimension = match (a.dimension, b.dimension) {
        (Dimension::Plain, other) | (other, Dimension::Plain) => other,
        (a, b) => return Err(format!("{} times {} has no meaning here", a.name(), b.name())),
    };
    finite(UnitValue { value: a.value * b.value, dimension })
}

fn over(a: UnitValue, b: UnitValue) -> Result<UnitValue, String> {
    if b.value == 0.0 {
        return Err("the formula divides by zero".to_owned());
    }
    let dimension = match (a.dimension, b.dimension) {
        (a, Dimension::Plain) => a,
        (a, b) if a == b => Dimension::Plain,
        (a, b) => return Err(format!("{} divided by {} has no meaning here", a.name(), b.name())),
    };
    finite(UnitValue { value: a.value / b.value, dimension })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_brokers(text: &str) -> Result<String, String> {
        evaluate(text, &mut |name| match name {
            "brokers" => Ok(UnitValue { value: 3.0, dimension: Dimension::Plain }),
            "size" => Ok(UnitValue { value: 1024.0, dimension: Dimension::Bytes }),
            other => Err(format!("no {other}")),
        })
        .map(|quantity| quantity.to_string())
    }

    #[test]
    fn computes() {
        let cases = [
            (" 2*brokers", "6"),
            ("min(3, brokers) + 1", "4"),
            ("max(1, brokers, 2)", "3"),
            ("ceil(brokers / 2)", "2"),
            ("(1 + 2) * -brokers", "-9"),
            ("7 - 2 - 1", "4"),
            ("size * 16", "16KiB"),
            ("1MiB / size", "1024"),
            ("min(5ms, 1s)", "5ms"),
        ];
        for (text, value) in cases {
            assert_eq!(with_brokers(text).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let cases = [
            ("", "ends where a value belongs"),
            ("2 *", "ends where a value belongs"),
            ("(1", "without its `)`"),
            ("1 2", "where an operator belongs"),
            ("floor(1)", "not a function"),
            ("size + 5ms", "two of a kind"),
            ("size * size", "no meaning"),
            ("1 / 0", "divides by zero"),
            ("$brokers", "has no `$`"),
            ("nodes", "no nodes"),
        ];
        for (text, part) in cases {
            let error = with_brokers(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(with_brokers(&"(".repeat(400)).unwrap_err().contains("nested"));
        assert!(with_brokers(&"-".repeat(400)).unwrap_err().contains("nested"));
    }

    #[test]
    fn finds_the_names() {
        assert_eq!(names("min(3, brokers) * 16KiB + size"), ["brokers", "size"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = with_brokers(&text);
            let _ = names(&text);
        }

        #[test]
        fn near_formulas_do_not_panic(text in "[0-9()+*/, a-z.$-]{0,60}") {
            let _ = with_brokers(&text);
            let _ = names(&text);
        }
    }
}
