//! The `strimzi` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::Fields;
use crate::yaml::{Scalar, YamlNode};

/// The `strimzi` of a system.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct StrimziFile {
    pub context: Option<Scalar>,
    pub namespace: Option<Scalar>,
    pub cpu: Option<Scalar>,
    pub memory: Option<Scalar>,
    pub storage: Scalar,
    pub class: Option<Scalar>,
    pub listener: Scalar,
    pub template: Option<Scalar>,
    pub wait: Scalar,
}

impl StrimziFile {
    /// Every value of the section into which params may be inserted, under its key.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Scalar)> {
        let optional = [
            ("context", &self.context),
            ("namespace", &self.namespace),
            ("cpu", &self.cpu),
            ("memory", &self.memory),
            ("class", &self.class),
            ("template", &self.template),
        ];
        let optional = optional.into_iter().filter_map(|(key, typed)| Some((key, typed.as_ref()?)));
        [("storage", &self.storage), ("listener", &self.listener), ("wait", &self.wait)]
            .into_iter()
            .chain(optional)
    }
}

/// Reads it.
pub(super) fn strimzi(node: &YamlNode) -> Result<StrimziFile, InputError> {
    let fields = Fields::of(node, &keys::STRIMZI)?;
    Ok(StrimziFile {
        context: fields.scalar("context")?,
        namespace: fields.scalar("namespace")?,
        cpu: fields.scalar("cpu")?,
        memory: fields.scalar("memory")?,
        storage: fields.required("storage")?,
        class: fields.scalar("class")?,
        listener: fields.required("listener")?,
        template: fields.scalar("template")?,
        wait: fields.required("wait")?,
    })
}
