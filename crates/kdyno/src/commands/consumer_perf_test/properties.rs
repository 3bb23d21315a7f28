//! The consumer's properties: those of a file, those of the command line over them.

use crate::commands::typed_secrets::TypedSecrets;
use crate::failure::Failure;
use crate::target_source::{read_properties, with_properties_of};
use kdyno_perf_test::consumer::ConsumerOptions;
use kdyno_perf_test::properties::MergedProperties;
use kdyno_scenario::security::{ClientProperties, client_properties};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The place that messages name for a property which no file has.
pub(super) const TYPED: &str = "--command-property";

/// What was given.
pub(super) struct ConsumerProperties {
    /// How the cluster is reached, and how the consumer is set.
    pub(super) client: ClientProperties,
    typed: TypedSecrets,
}

impl ConsumerProperties {
    /// Reads the file, and what was typed.
    pub(super) fn read(options: &ConsumerOptions) -> Result<Self, Failure> {
        let path = options.config.as_deref().map(Path::new);
        let mut bytes = match path {
            Some(path) => read_properties(path)?,
            None => Vec::new(),
        };
        let mut typed = MergedProperties::default();
        options.properties.iter().for_each(|(name, value)| typed.set(name, value, TYPED));
        // A last line that goes on ends with the empty one.
        bytes.extend_from_slice(b"\n\n");
        bytes.extend_from_slice(typed.text().as_bytes());
        let path = path.unwrap_or(Path::new(TYPED));
        let mut client = with_properties_of(path, &bytes, |file| client_properties(file, &BTreeMap::new()))?;
        let typed = TypedSecrets::take(&mut client, &options.properties, TYPED)?;
        Ok(Self { client, typed })
    }

    /// The value of an environment variable, or of one of the command's own.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.typed.variable(name)
    }
}
