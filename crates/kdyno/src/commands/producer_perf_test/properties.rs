//! The producer's properties: those of the file, those that were typed, and the addresses.

use crate::commands::typed_secrets::TypedSecrets;
use crate::failure::Failure;
use crate::target_source::{head, read_properties};
use kdyno_model::properties::Properties;
use kdyno_perf_test::producer::ProducerOptions;
use kdyno_perf_test::properties::{MergedProperties, PropertyOrigin};
use kdyno_scenario::input::{InputError, TextPosition};
use kdyno_scenario::security::{ClientProperties, PropertiesFile, client_properties};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

const BOOTSTRAP_SERVERS: &str = "bootstrap.servers";
const BOOTSTRAP_FLAG: &str = "--bootstrap-server";
const TRANSACTIONAL_ID: &str = "transactional.id";

/// What all properties together say.
pub(super) struct ProducerProperties {
    /// How the cluster is reached, and how the producer behaves.
    pub(super) client: ClientProperties,
    /// Whether one of them asks for transactions.
    pub(super) has_transactional_id: bool,
    merged: MergedProperties,
    /// The file that was typed.
    file: Option<String>,
    typed: TypedSecrets,
}

/// Reads and merges them.
pub(super) fn read(options: &ProducerOptions) -> Result<ProducerProperties, Failure> {
    let mut merged = match &options.config {
        None => MergedProperties::default(),
        Some(path) => of_file(Path::new(path))?,
    };
    for (name, value) in &options.properties {
        merged.set(name, value, options.properties_flag);
    }
    if let Some(bootstrap) = &options.bootstrap {
        merged.set(BOOTSTRAP_SERVERS, bootstrap, BOOTSTRAP_FLAG);
    }
    let has_transactional_id = merged.remove(TRANSACTIONAL_ID).is_some();
    let text = merged.text();
    let path = Path::new(options.config.as_deref().unwrap_or(options.properties_flag));
    let file = PropertiesFile { path, bytes: text.as_bytes(), head: &head };
    let found = client_properties(file, &BTreeMap::new());
    let mut properties = ProducerProperties {
        client: ClientProperties::default(),
        has_transactional_id,
        merged,
        file: options.config.clone(),
        typed: TypedSecrets::default(),
    };
    properties.client = found.map_err(|error| error.each(&|one| properties.as_given(one)))?;
    // A secret of the file is read again when the run begins, from the place of its name.
    properties.typed =
        TypedSecrets::take(&mut properties.client, &options.properties, options.properties_flag)?;
    Ok(properties)
}

fn of_file(path: &Path) -> Result<MergedProperties, Failure> {
    let bytes = read_properties(path)?;
    let properties = Properties::parse(&bytes).map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        let hint = Some(error.hint.to_owned()).filter(|hint| !hint.is_empty());
        Failure::usage(format!("{}{line}: {error}", path.display())).maybe_hint(hint)
    })?;
    Ok(MergedProperties::of_file(&properties.properties))
}

impl ProducerProperties {
    /// The value of an environment variable, or of one of the command's own.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.typed.variable(name)
    }

    /// An error at a line of the merged properties, reported at the place where that one was given.
    pub(super) fn as_given(&self, error: InputError) -> InputError {
        let Some(given) = error.place.and_then(|place| self.merged.on_line(place.line)) else {
            return InputError { file: self.file.clone().unwrap_or_default(), place: None, ..error };
        };
        match (&given.from, &self.file) {
            (PropertyOrigin::Line(line), Some(file)) => InputError {
                file: file.clone(),
                place: Some(TextPosition { line: *line, column: 1 }),
                ..error
            },
            (PropertyOrigin::Line(_), None) => InputError { file: String::new(), place: None, ..error },
            (PropertyOrigin::Option(flag), _) => {
                InputError { file: (*flag).to_owned(), place: None, ..error }
            }
        }
    }
}
