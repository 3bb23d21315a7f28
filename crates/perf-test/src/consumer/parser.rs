//! How the tool reads its command line (joptsimple without abbreviations): `--name value`, `--name=value`, the same with one
//! dash, nothing shortened. What belongs to no option is passed over; values are read on demand.

use std::str::FromStr;

/// Whether an option has an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// Whatever comes next.
    Argument,
    /// What comes next, if it is a number.
    MaybeNumber,
}

/// An option.
#[derive(Debug)]
pub(super) struct OptionSpec {
    pub name: &'static str,
    pub takes: Takes,
    /// What its argument is called, and what it means.
    pub argument: &'static str,
    pub about: &'static str,
}

/// What was typed of each option.
#[derive(Default)]
pub(super) struct TypedOptions {
    found: Vec<(&'static str, Option<String>)>,
}

/// Reads a command line.
///
/// # Errors
/// A line: an option that is not known, or has no argument.
pub(super) fn typed(specs: &'static [OptionSpec], args: &[String]) -> Result<TypedOptions, String> {
    let known = |name: &str| specs.iter().find(|spec| spec.name == name);
    let mut typed = TypedOptions::default();
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            break;
        }
        let Some(option) = arg.strip_prefix('-').filter(|option| !option.is_empty()) else { continue };
        let long = option.strip_prefix('-');
        let (name, given) = match long.unwrap_or(option).split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long.unwrap_or(option), None),
        };
        let Some(spec) = known(name) else {
            // With one dash it may be a row of options of one letter, and there are none.
            let shown = if long.is_some() { name.to_owned() } else { option.chars().take(1).collect() };
            return Err(format!("{shown} is not a recognized option"));
        };
        let value = match spec.takes {
            Takes::Nothing => None,
            _ if given.is_some() => given,
            Takes::Argument => {
                let next = args.next().ok_or_else(|| format!("Option {name} requires an argument"))?;
                Some(next.clone())
            }
            Takes::MaybeNumber => args.next_if(|next| next.parse::<i64>().is_ok()).cloned(),
        };
        typed.found.push((spec.name, value));
    }
    Ok(typed)
}

impl TypedOptions {
    /// Whether an option is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.found.iter().any(|(found, _)| *found == name)
    }

    /// Every argument that it has.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of_name = self.found.iter().filter(move |(found, _)| *found == name);
        of_name.filter_map(|(_, value)| value.as_deref())
    }

    /// Its argument, if it is there.
    ///
    /// # Errors
    /// It is there more than once.
    pub(super) fn one<'a>(&'a self, name: &'a str) -> Result<Option<&'a str>, String> {
        let mut all = self.all(name);
        match (all.next(), all.next()) {
            (_, Some(_)) => {
                Err(format!("Found multiple arguments for option {name}, but you asked for only one"))
            }
            (one, None) => Ok(one),
        }
    }

    /// The value as a number, with what it is where nothing is typed.
    ///
    /// # Errors
    /// It is there more than once, or no such number.
    pub(super) fn number<N: FromStr>(&self, name: &str, default: N) -> Result<N, String> {
        match self.one(name)? {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| format!("Cannot parse argument '{text}' of option {name}"))
            }
        }
    }
}
