//! What the columns, units and series of the CSV files mean.

use super::{
    COUNTS, CPU, FIGURES, FINDINGS_AFTER, FINDINGS_BEFORE, PARAMS, SERIES_AFTER, SERIES_BEFORE,
    name_of_resource,
};
use crate::names::name_of;
use kdyno_model::grouped::distinct;
use kdyno_model::metric::{self, Unit};
use kdyno_model::plan::command::COURSES;
use kdyno_model::series::Resource;

/// What the columns, units and series mean, as Markdown.
pub fn reference() -> String {
    let counts = COUNTS.map(|(name, meaning, _)| (name, meaning));
    let times = FIGURES.map(|(name, meaning, _)| (name, meaning));
    let fixed =
        [&counts[..], &times, &[CPU]].concat().into_iter().map(|(name, meaning)| (name.to_owned(), meaning));
    let resources = Resource::all().map(|resource| (name_of_resource(resource), resource.meaning()));
    let of_commands = COURSES.map(|(name, unit, meaning)| (format!("{name} ({})", name_of(&unit)), meaning));
    let series: Vec<(String, &str)> = fixed.chain(resources).chain(of_commands).collect();
    let units = metric::all().map(|known| known.unit).chain([Unit::Ns]);
    let units = distinct(units.map(|unit| (name_of(&unit), unit.described())));
    [
        HEAD,
        "## csv\n\n`kdyno export RUN --format csv`: one finding per row: a figure of a trial's measure phase, the \
         median over\na case's trials, a ratio. Trials that only conditioned a cluster have none.\n\n",
        &table("column", [&FINDINGS_BEFORE[..], &[PARAMS], &FINDINGS_AFTER].concat()),
        &table("unit", units),
        "## series-csv\n\n`kdyno export RUN --format series-csv`: each trial over time, one figure of one second per \
         row.\nFirst every load item, then CPU time and other resources, then what commands reported and imported series, whose \
         names end with the\nunit in brackets too.\n\n",
        &table("column", [&SERIES_BEFORE[..], &[PARAMS], &SERIES_AFTER].concat()),
        &table("series", series),
        "## series-parquet\n\n`kdyno export RUN --format series-parquet --out FILE`: the same rows and columns as Parquet, compressed by \
         Snappy, a\nrow group for each trial (of long ones several). `trial`, `case` and `repeat` are 32-bit integers, `at_s` and `value` \
         doubles,\n`at_least` a boolean, all others strings; what is empty in CSV is null.\n",
    ]
    .concat()
    .trim_end()
    .to_owned()
        + "\n"
}

const HEAD: &str = "\
# CSV of a run

This page is made from the tables that the writer itself uses (`cargo test -p kdyno-report` fails when it differs;
`UPDATE_REFERENCE=1 cargo test -p kdyno-report` writes it).

Both forms are comma-separated values by RFC 4180: a head with the names of the columns, lines that end in CR LF,
fields with a comma, quote or line end in double quotes; UTF-8. A field that is no number and begins with `=`, `+`, `-`,
`@` or a tab has a `'` before it, so that no spreadsheet takes a name or label for a formula.

";

fn table<Name: std::fmt::Display>(head: &str, lines: Vec<(Name, &str)>) -> String {
    let mut text = format!("| {head} | meaning |\n|---|---|\n");
    for (name, meaning) in lines {
        text.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    text + "\n"
}
