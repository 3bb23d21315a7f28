//! What a scalar means under given param values: `$name` inserts one, `= …` computes.

use crate::expr;
use crate::input::{InputError, known_hint, quoted};
use crate::units::{self, UnitValue};
use crate::yaml::Scalar;
use std::collections::BTreeMap;

/// Longest text after insertion: params inserted into params must not multiply without bound.
const TEXT_BYTES_MAX: usize = 4096;
/// Most params looked up for one value: params that use others twice must not multiply without bound.
const LOOKUPS_MAX: u32 = 2000;

/// The place of an evaluation.
#[derive(Default)]
struct Walk {
    /// Params whose values are being looked up, outermost first.
    open: Vec<String>,
    lookups: u32,
}

/// The formula of a text that starts with `=`.
fn formula(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('=')
}

/// One stretch of a text: unchanged text, or a param's name.
enum TextPiece<'t> {
    Plain(&'t str),
    Param(&'t str),
}

/// Cuts a text at each `$name`; `$$` means `$`.
fn pieces(text: &str) -> Result<Vec<TextPiece<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        found.push(TextPiece::Plain(&rest[..start]));
        rest = &rest[start + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            found.push(TextPiece::Plain("$"));
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 {
            return Err("`$` is without the name of a param; `$$` means a dollar sign".to_owned());
        }
        found.push(TextPiece::Param(&rest[..end]));
        rest = &rest[end..];
    }
    found.push(TextPiece::Plain(rest));
    Ok(found)
}

/// The params a scalar refers to.
///
/// # Errors
/// A `$` without a name.
pub fn references(typed: &Scalar) -> Result<Vec<String>, InputError> {
    if let Some(formula) = formula(&typed.text) {
        return Ok(expr::names(formula));
    }
    let pieces = pieces(&typed.text).map_err(|message| InputError::at(typed.place, message).of_value())?;
    let names = pieces.into_iter().filter_map(|piece| match piece {
        TextPiece::Param(name) => Some(name.to_owned()),
        TextPiece::Plain(_) => None,
    });
    Ok(names.collect())
}

/// The error for a param that does not exist.
pub fn unknown_param<'a>(name: &Scalar, known: impl IntoIterator<Item = &'a str> + Clone) -> InputError {
    let hint = match known.clone().into_iter().next() {
        Some(_) => known_hint(&name.text, known),
        None => "the scenario has no `params`".to_owned(),
    };
    let message = format!("{} is not a param of this scenario", quoted(&name.text));
    InputError::at(name.place, message).hint(hint).of_value()
}

/// Param values of one case.
#[derive(Debug, Clone, Default)]
pub struct ParamValues {
    typed: BTreeMap<String, Scalar>,
}

impl ParamValues {
    /// Sets a param's value.
    pub fn set(&mut self, name: &str, value: Scalar) {
        self.typed.insert(name.to_owned(), value);
    }

    /// A param's value as typed.
    pub fn typed(&self, name: &str) -> Option<&Scalar> {
        self.typed.get(name)
    }

    /// Names of the params, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.typed.keys().map(String::as_str)
    }

    /// The text that a scalar evaluates to.
    ///
    /// # Errors
    /// An unknown param, params that refer to each other in a circle, a formula that fails.
    pub fn text(&self, typed: &Scalar) -> Result<String, InputError> {
        self.resolve(typed, &mut Walk::default())
    }

    /// The text of a param.
    ///
    /// # Errors
    /// As [`ParamValues::text`].
    pub fn param(&self, name: &Scalar) -> Result<String, InputError> {
        self.lookup(name, &mut Walk::default())
    }

    fn resolve(&self, typed: &Scalar, walk: &mut Walk) -> Result<String, InputError> {
        let at = |message: String| InputError::at(typed.place, message);
        if let Some(formula) = formula(&typed.text) {
            // Errors about params keep their own place; errors of the formula get the formula's.
            let mut inner = None;
            let result = expr::evaluate(formula, &mut |name| {
                let name = Scalar { text: name.to_owned(), ..typed.clone() };
                self.quantity(&name, walk).map_err(|error| {
                    let message = error.message.clone();
                    inner = Some(error);
                    message
                })
            });
            return result
                .map(|quantity| quantity.to_string())
                .map_err(|message| inner.unwrap_or(at(message)));
        }
        if !typed.text.contains('$') {
            return Ok(typed.text.clone());
        }
        let mut text = String::new();
        for piece in pieces(&typed.text).map_err(at)? {
            match piece {
                TextPiece::Plain(plain) => text.push_str(plain),
                TextPiece::Param(name) => {
                    let name = Scalar { text: name.to_owned(), ..typed.clone() };
                    text.push_str(&self.lookup(&name, walk)?);
                }
            }
            if text.len() > TEXT_BYTES_MAX {
                return Err(at(format!(
                    "the value is longer than {TEXT_BYTES_MAX} bytes once params are inserted"
                )));
            }
        }
        Ok(text)
    }

    fn lookup(&self, name: &Scalar, walk: &mut Walk) -> Result<String, InputError> {
        walk.lookups += 1;
        if walk.lookups > LOOKUPS_MAX {
            let message = format!("more than {LOOKUPS_MAX} params are looked up for this value");
            return Err(InputError::at(name.place, message));
        }
        if walk.open.contains(&name.text) {
            let circle = walk.open.join("` → `");
            let message = format!("params refer to each other in a circle: `{circle}` → `{}`", name.text);
            return Err(InputError::at(name.place, message));
        }
        let value = self.typed.get(&name.text).ok_or_else(|| unknown_param(name, self.names()))?;
        walk.open.push(name.text.clone());
        let text = self.resolve(value, walk)?;
        walk.open.pop();
        Ok(text)
    }

    fn quantity(&self, name: &Scalar, walk: &mut Walk) -> Result<UnitValue, InputError> {
        let text = self.lookup(name, walk)?;
        units::parse(&text).ok_or_else(|| {
            let message =
                format!("param `{}` is {}, with which nothing can be computed", name.text, quoted(&text));
            InputError::at(name.place, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::TextPosition;
    use proptest::prelude::*;

    fn typed(text: &str) -> Scalar {
        Scalar::assumed(text, TextPosition { line: 1, column: 1 })
    }

    fn values(pairs: &[(&str, &str)]) -> ParamValues {
        let mut values = ParamValues::default();
        for (name, text) in pairs {
            values.set(name, typed(text));
        }
        values
    }

    #[test]
    fn inserts_and_computes() {
        let values =
            values(&[("brokers", "3"), ("clients", "= 2*brokers"), ("size", "1KiB"), ("again", "$size")]);
        let text = |text: &str| values.text(&typed(text)).unwrap();
        assert_eq!(text("$clients"), "6");
        assert_eq!(text("= clients + 1"), "7");
        assert_eq!(text("= 16 * again"), "16KiB");
        assert_eq!(text("-Dx=$size-$$"), "-Dx=1KiB-$");
    }

    #[test]
    fn circles_and_unknown_names_are_reported() {
        let values = values(&[("a", "$b"), ("b", "= a + 1"), ("none", "no")]);
        let error = |text: &str| values.text(&typed(text)).unwrap_err().message;
        assert!(error("$a").contains("circle: `a` → `b` → `a`"), "{}", error("$a"));
        assert!(error("$c").contains("`c` is not a param"));
        assert!(error("= none + 1").contains("nothing can be computed"));
        assert!(error("5 $").contains("without the name"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[$= a-z()*]{0,40}") {
            let values = values(&[("a", "$b"), ("b", "1")]);
            let _ = values.text(&typed(&text));
            let _ = references(&typed(&text));
        }
    }
}
