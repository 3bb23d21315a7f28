//! The `phases` section as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::Fields;
use crate::yaml::{Scalar, YamlNode};

/// The phases.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct PhasesFile {
    pub warmup: Scalar,
    pub condition: Scalar,
    pub measure: MeasureFile,
    pub drain: Scalar,
}

/// The measured window.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum MeasureFile {
    Time(Scalar),
    Records { records: Scalar, within: Scalar },
    Until { until: Scalar, within: Scalar },
}

/// Reads it.
pub(super) fn phases(node: &YamlNode) -> Result<PhasesFile, InputError> {
    let fields = Fields::of(node, &keys::PHASES)?;
    let measure = match fields.get("measure") {
        Some(node @ YamlNode::Map(..)) => {
            let measure = Fields::of(node, &keys::MEASURE)?;
            let within = measure.required("within")?;
            match (measure.scalar("records")?, measure.scalar("until")?) {
                (Some(records), None) => MeasureFile::Records { records, within },
                (None, Some(until)) => MeasureFile::Until { until, within },
                _ => {
                    let error = InputError::at(measure.place, "`measure` takes either `records` or `until`");
                    return Err(error.hint("a number of records, or a load item that is a command"));
                }
            }
        }
        _ => MeasureFile::Time(fields.required("measure")?),
    };
    Ok(PhasesFile {
        warmup: fields.required("warmup")?,
        condition: fields.required("condition")?,
        measure,
        drain: fields.required("drain")?,
    })
}
