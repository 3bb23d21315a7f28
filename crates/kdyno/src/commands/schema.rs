//! `kdyno schema`: for editors that check files while they are typed.

use crate::cli::{SchemaArgs, SchemaOf};
use crate::failure::{Exit, Outcome};
use crate::out;

/// Prints the JSON Schema.
pub(crate) fn schema(args: &SchemaArgs) -> Outcome {
    out::json(&match args.of {
        SchemaOf::Scenario => kdyno_scenario::json_schema(),
        SchemaOf::Target => kdyno_scenario::target_json_schema(),
        SchemaOf::Run => kdyno_report::json::schema(),
        SchemaOf::Doctor => kdyno_doctor::json_schema(),
    })?;
    Ok(Exit::Done)
}
