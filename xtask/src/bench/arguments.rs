//! `--name value` pairs, read without a parser library: this tool must build fast.

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};

/// Options by name, and what is left.
#[derive(Debug, Default)]
pub struct Arguments {
    options: BTreeMap<String, String>,
    /// Words without a dash.
    pub words: Vec<String>,
    /// Options that take no value.
    pub flags: Vec<String>,
}

/// Splits a command line; `flags` are the options that take no value.
pub fn parse(arguments: &[String], flags: &[&str], options: &[&str]) -> anyhow::Result<Arguments> {
    let mut parsed = Arguments::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(name) = argument.strip_prefix("--") else {
            parsed.words.push(argument.clone());
            continue;
        };
        if flags.contains(&name) {
            parsed.flags.push(name.to_owned());
        } else if options.contains(&name) {
            let value = rest.next().with_context(|| format!("--{name} needs a value"))?;
            parsed.options.insert(name.to_owned(), value.clone());
        } else {
            bail!("unknown option --{name}");
        }
    }
    Ok(parsed)
}

impl Arguments {
    /// Whether a flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// An option's value, if given.
    pub fn get<T: FromStr>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(text) = self.options.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| anyhow!("--{name} {text}: not what is expected there"))
    }

    /// An option's value, which must be given.
    pub fn need<T: FromStr>(&self, name: &str) -> anyhow::Result<T> {
        self.get(name)?.with_context(|| format!("--{name} is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_flags_and_words() {
        let line = ["floor", "--quick", "--rounds", "3"].map(str::to_owned);
        let parsed = parse(&line, &["quick"], &["rounds"]).expect("a good line");
        assert!(parsed.has("quick"));
        assert_eq!(parsed.need::<usize>("rounds").expect("given"), 3);
        assert_eq!(parsed.words, ["floor"]);
        assert!(parse(&line, &["quick"], &[]).is_err(), "an unknown option is an error");
        assert!(parse(&line[..3], &["quick"], &["rounds"]).is_err(), "a missing value is an error");
    }
}
