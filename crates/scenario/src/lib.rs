//! Scenario: a public, portable YAML file that asks one question.
//!
//! Three types, in order: [`ScenarioFile`] as typed, [`Scenario`] checked as far as names go, and the
//! [plan](kdyno_model::plan) with every value explicit, which the plan crate makes once params are chosen.
//! The keys are in tables ([`keys`]) from which the reader, the reference and the JSON Schema come.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod check;
pub mod client;
mod documents;
pub mod expr;
mod facts;
pub mod file;
mod formats;
pub mod generators;
pub mod input;
pub mod judged;
pub mod keys;
mod layout;
mod mistakes;
mod names;
pub mod omb;
pub mod patch;
mod question;
mod reference;
mod schema;
pub mod security;
mod synonyms;
pub mod target;
pub mod units;
pub mod uses;
pub mod values;
pub(crate) mod walk;
pub mod yaml;

pub use check::{CheckedPublished, CheckedRow, is_id, is_item_name, is_topic_name, unknown_topic};
pub use documents::documents;
pub use file::ScenarioFile;
pub use names::{metric_names, metric_of, with_only_item};
pub use reference::reference;
pub use schema::{json_schema, target_json_schema};

use crate::input::InputError;
use crate::yaml::YamlNode;
use kdyno_model::metric::Address;

/// A scenario whose keys, names and references are right.
#[derive(Debug, Clone)]
pub struct Scenario {
    file_name: String,
    root: YamlNode,
    typed: ScenarioFile,
    columns: Vec<Address>,
    published: Option<CheckedPublished>,
}

impl Scenario {
    /// Reads and checks a scenario. `file_name` is for messages; nothing is opened.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and column.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, InputError> {
        let read = || {
            let root = yaml::parse(text)?;
            Self::of_tree(root, file_name)
        };
        read().map_err(|error| formats::recognised(text, "a scenario", error).in_file(file_name))
    }

    fn of_tree(root: YamlNode, file_name: &str) -> Result<Self, InputError> {
        let typed = ScenarioFile::read(&root)?;
        let (columns, published) = check::check(&typed)?;
        Ok(Self { file_name: file_name.to_owned(), root, typed, columns, published })
    }

    /// The scenario with a patch laid over it; its `params` are left out, since they are values of cases.
    ///
    /// # Errors
    /// A key that may not be there, a name that the scenario does not have, or whatever the patch makes wrong.
    pub fn patched(&self, patch: &YamlNode) -> Result<Self, InputError> {
        Self::of_tree(patch::apply(&self.root, patch)?, &self.file_name)
    }

    /// The patch that sets one path, e.g. `load.writers.client.linger.ms`.
    ///
    /// # Errors
    /// The first part of the path that is not there; the place is not one of the scenario.
    pub fn patch_of_path(&self, path: &str, value: &str) -> Result<YamlNode, InputError> {
        patch::of_path(&self.root, path, value)
    }

    /// What is under a path.
    pub fn at(&self, path: &[String]) -> Option<&YamlNode> {
        patch::at(&self.root, path)
    }

    /// Reads and checks a scenario from a file's bytes.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; text that is not UTF-8.
    pub fn parse_bytes(bytes: &[u8], file_name: &str) -> Result<Self, InputError> {
        Self::parse(yaml::decode(bytes, file_name)?, file_name)
    }

    /// Name of the text, for messages.
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// The scenario's id.
    pub fn id(&self) -> &str {
        &self.typed.id.text
    }

    /// The question it asks.
    pub fn question(&self) -> &str {
        &self.typed.question.text
    }

    /// Names of the profiles, in the order of the file.
    pub fn profiles(&self) -> Vec<&str> {
        self.typed.profiles.iter().map(|profile| profile.name.text.as_str()).collect()
    }

    /// The sections as typed.
    pub fn typed(&self) -> &ScenarioFile {
        &self.typed
    }

    /// The columns of `show`, resolved.
    pub fn columns(&self) -> &[Address] {
        &self.columns
    }

    /// The published rows, resolved.
    pub fn published(&self) -> Option<&CheckedPublished> {
        self.published.as_ref()
    }
}
