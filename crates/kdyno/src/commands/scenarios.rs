//! `kdyno scenarios`: what comes with the program.

use crate::cli::ScenariosArgs;
use crate::failure::{CommandResult, Exit};
use crate::out;
use crate::scenario_source::{self, BUNDLED};

/// Lists the bundled scenarios, or prints one.
pub(crate) fn scenarios(args: &ScenariosArgs) -> CommandResult {
    match &args.name {
        Some(name) => out::text(scenario_source::bundled(name)?.text)?,
        None => out::text(list())?,
    }
    Ok(Exit::Done)
}

fn list() -> String {
    let width = BUNDLED.iter().map(|bundled| bundled.name.len()).max().unwrap_or(0);
    let line = |bundled: &scenario_source::Bundled| {
        format!("{:width$}  {}\n", bundled.name, question(bundled.text).unwrap_or_default())
    };
    BUNDLED.iter().map(line).collect()
}

/// The `question:` of a scenario, without parsing all of it.
fn question(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix("question:"))?;
    Some(line.trim().trim_matches('"'))
}
