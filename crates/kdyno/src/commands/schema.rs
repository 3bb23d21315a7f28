//! `kdyno schema`: for editors that check files while they are typed.

use crate::cli::{SchemaArgs, SchemaOf};
use crate::failure::{CommandResult, Exit};
use crate::out;

/// Prints the JSON Schema, or writes it to a file.
pub(crate) fn schema(args: &SchemaArgs) -> CommandResult {
    let schema = match args.of {
        SchemaOf::Scenario => kdyno_scenario::json_schema(),
        SchemaOf::Target => kdyno_scenario::target_json_schema(),
        SchemaOf::Run => kdyno_report::json::schema(),
        SchemaOf::Doctor => kdyno_doctor::json_schema(),
    };
    let Some(file) = &args.write else {
        out::json(&schema)?;
        return Ok(Exit::Done);
    };
    out::file(file, kdyno_report::json::text(&schema))?;
    if matches!(args.of, SchemaOf::Scenario | SchemaOf::Target) {
        out::note(&format!("first line of a file that uses it: {}", modeline(&file.display().to_string())));
    }
    Ok(Exit::Done)
}

/// The line by which editors with a YAML language server find the schema of a file.
pub(super) fn modeline(schema: &str) -> String {
    format!("# yaml-language-server: $schema={schema}")
}
