//! The keys of a file of OMB, taken one by one, so that what is left is named.

use crate::input::{InputError, TextPosition, nearest, quoted};
use crate::yaml::{self, Scalar, YamlNode};

/// Java's largest `int`, which OMB holds numbers in.
const INT_MAX: u64 = i32::MAX as u64;

/// A file's map.
pub(super) struct OmbKeys {
    left: Vec<(Scalar, YamlNode)>,
}

impl OmbKeys {
    /// Reads a file that is to be `what`.
    pub(super) fn read(text: &str, what: &str) -> Result<Self, InputError> {
        match yaml::parse(text)? {
            YamlNode::Map(_, left) => Ok(Self { left }),
            other => {
                Err(InputError::at(other.place(), format!("{what} is a map, and this is {}", other.kind()))
                    .hint("files of the OpenMessaging Benchmark have `KEY: VALUE` lines"))
            }
        }
    }

    /// Whether a key is there that was not taken.
    pub(super) fn has(&self, key: &str) -> bool {
        self.left.iter().any(|(name, _)| name.text == key)
    }

    /// Where a key is that was not taken.
    pub(super) fn place(&self, key: &str) -> Option<TextPosition> {
        self.left.iter().find(|(name, _)| name.text == key).map(|(name, _)| name.place)
    }

    /// Takes a single value; `null` is none.
    pub(super) fn take(&mut self, key: &str) -> Result<Option<Scalar>, InputError> {
        let Some(at) = self.left.iter().position(|(name, _)| name.text == key) else { return Ok(None) };
        match self.left.remove(at).1 {
            YamlNode::Scalar(typed) if !typed.quoted && matches!(typed.text.as_str(), "" | "~" | "null") => {
                Ok(None)
            }
            YamlNode::Scalar(typed) => Ok(Some(typed)),
            other => {
                Err(InputError::at(other.place(), format!("`{key}` is {}, not a single value", other.kind())))
            }
        }
    }

    /// A text, empty where it is not there.
    pub(super) fn text(&mut self, key: &str) -> Result<String, InputError> {
        Ok(self.take(key)?.map(|typed| typed.text).unwrap_or_default())
    }

    /// A whole number as OMB holds it; a missing one is `usual`.
    pub(super) fn int(&mut self, key: &str, usual: u32) -> Result<u32, InputError> {
        let Some(typed) = self.take(key)? else { return Ok(usual) };
        let digits = !typed.text.is_empty() && typed.text.chars().all(|c| c.is_ascii_digit());
        let wrong = |what: String| Err(InputError::at(typed.place, format!("`{key}`: {what}")));
        match typed.text.parse::<u64>() {
            Ok(number) if number <= INT_MAX => Ok(number as u32),
            _ if digits => {
                wrong(format!("{} is more than {INT_MAX}, the most that OMB holds", quoted(&typed.text)))
            }
            _ => wrong(format!("{} is no whole number from 0 on", quoted(&typed.text))),
        }
    }

    /// A number from 0 to 1.
    pub(super) fn share(&mut self, key: &str, usual: f64) -> Result<f64, InputError> {
        let Some(typed) = self.take(key)? else { return Ok(usual) };
        match typed.text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(InputError::at(
                typed.place,
                format!("`{key}`: {} is no number from 0 to 1", quoted(&typed.text)),
            )),
        }
    }

    /// A yes or no; a missing one is no.
    pub(super) fn is_set(&mut self, key: &str) -> Result<bool, InputError> {
        let Some(typed) = self.take(key)? else { return Ok(false) };
        match typed.text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(InputError::at(
                typed.place,
                format!("`{key}`: {} is neither `true` nor `false`", quoted(&typed.text)),
            )),
        }
    }

    /// A note for what is left: OMB says nothing of such keys.
    pub(super) fn unknown(&self, known: &[&str]) -> Option<String> {
        const LISTED_MAX: usize = 20;
        let shown = |(name, _): &(Scalar, YamlNode)| match nearest(&name.text, known.iter().copied()) {
            Some(near) => format!("{} (did you mean `{near}`?)", quoted(&name.text)),
            None => quoted(&name.text),
        };
        let names: Vec<String> = self.left.iter().take(LISTED_MAX).map(shown).collect();
        let more = if self.left.len() > LISTED_MAX { ", …" } else { "" };
        (!names.is_empty()).then(|| format!("OMB has no such key, not used: {}{more}", names.join(", ")))
    }
}
