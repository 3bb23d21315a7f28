//! Secrets that were typed for a drop-in command: they stay in the memory of this process.

use crate::failure::Failure;
use kdyno_model::jaas;
use kdyno_model::properties::{Properties, trim};
use kdyno_model::secret::SecretRef;
use kdyno_perf_test::properties::MergedProperties;
use kdyno_scenario::security::ClientProperties;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Values by the names of variables that a plan takes for them: no environment has these, and nothing writes them anywhere.
#[derive(Default)]
pub(crate) struct TypedSecrets(BTreeMap<String, String>);

impl TypedSecrets {
    /// The secrets among those of the properties that were typed with this flag; a plan then refers to the variables.
    pub(crate) fn take(
        client: &mut ClientProperties,
        typed: &[(String, String)],
        flag: &'static str,
    ) -> Result<Self, Failure> {
        let mut merged = MergedProperties::default();
        typed.iter().for_each(|(name, value)| merged.set(name, value, flag));
        let typed = Properties::parse(merged.text().as_bytes());
        let typed = typed.map_err(|error| Failure::usage(format!("{flag}: {}", error.message)))?;
        let mut kept = BTreeMap::new();
        for (known_as, reference) in &mut client.secrets {
            let SecretRef::Property { name, option, .. } = &*reference else { continue };
            let Some(value) = typed.get(name) else { continue };
            let value = match option {
                None => trim(value).to_owned(),
                Some(option) => {
                    let module = jaas::parse(value)
                        .map_err(|error| Failure::usage(format!("{flag}: {}", error.message)))?;
                    module.options.get(option).cloned().unwrap_or_default()
                }
            };
            let variable = format!("{flag} {known_as}");
            kept.insert(variable.clone(), value);
            *reference = SecretRef::Env(variable);
        }
        Ok(Self(kept))
    }

    /// The value of an environment variable, or of one of these.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        self.0.get(name).map(OsString::from).or_else(|| std::env::var_os(name))
    }
}
