//! A CSV file of series over time, as CloudWatch, RDS and others export them.

use super::quotes;
use super::time::{NoInstant, unix_ns};
use csv::{ReaderBuilder, StringRecord, Trim};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kdyno_model::imported;
use kdyno_model::metric::Unit;
use std::collections::BTreeMap;

/// Largest file: a year of one reading a minute of sixteen columns.
pub const FILE_BYTES_MAX: usize = 64 << 20;
/// Most columns.
pub const COLUMNS_MAX: usize = 200;
/// Most rows behind the head.
pub const ROWS_MAX: usize = 1_000_000;
/// Characters of a name that are kept, and of a text that is shown.
const CHARACTERS_MAX: usize = 100;

/// How a file is to be read.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The column with the times.
    pub time: String,
    /// The zone of times without an offset.
    pub zone: Option<TimeZone>,
    /// The unit of columns that have none of their own, as typed.
    pub unit: String,
    /// Columns with a unit of their own, as typed.
    pub units: BTreeMap<String, String>,
    /// Columns that are taken; empty: all but the time.
    pub columns: Vec<String>,
}

/// One column over time.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedColumn {
    /// As the file calls it.
    pub name: String,
    /// Unit of its values.
    pub unit: Unit,
    /// ns since 1970, and the value; in order of time. A cell that is empty has no point.
    pub points: Vec<(i64, f64)>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTable {
    /// Its columns.
    pub columns: Vec<ImportedColumn>,
    /// Values that stood there once more, at the same instant and equal: each counts once.
    pub repeated: usize,
}

/// What is wrong with a file or with what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TableError {
    /// One lowercase sentence, with line and column where it is about a cell.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

fn wrong(message: impl Into<String>) -> TableError {
    TableError { message: message.into(), hint: None }
}

fn hinted(message: impl Into<String>, hint: impl Into<String>) -> TableError {
    TableError { message: message.into(), hint: Some(hint.into()) }
}

/// A text from outside, short enough to be shown.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(CHARACTERS_MAX).filter(|c| !c.is_control()).collect();
    format!("`{short}`")
}

/// Reads a file of comma-separated values whose first line names the columns. A value that is in it twice, as where
/// two exports overlap, counts once.
///
/// # Errors
/// The first thing that is wrong: a size beyond the limits, a column that is not there, a time or a number that is none, or
/// two values at one instant, with line and column.
pub fn read(bytes: &[u8], how: &ImportOptions) -> Result<ImportedTable, TableError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(wrong(format!("it has more than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    quotes::check(bytes).map_err(wrong)?;
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(bytes);
    let head = reader.headers().map_err(|error| of_csv(&error))?.clone();
    let (time, columns) = columns(&head, how)?;
    let mut read: Vec<Vec<TimedValue>> = vec![Vec::new(); columns.len()];
    let mut record = StringRecord::new();
    let mut rows = 0;
    while reader.read_record(&mut record).map_err(|error| of_csv(&error))? {
        rows += 1;
        let line = record.position().map_or(0, csv::Position::line);
        if rows > ROWS_MAX {
            return Err(wrong(format!("it has more than {ROWS_MAX} rows")));
        }
        let at_ns = instant(record.get(time).unwrap_or_default(), line, how)?;
        for ((place, factor, column), points) in columns.iter().zip(&mut read) {
            let cell = record.get(*place).unwrap_or_default();
            let Some(value) = number(cell, line, &column.name)?.map(|value| value * *factor) else {
                continue;
            };
            if !value.is_finite() {
                let message =
                    format!("line {line}, column {}: {} is too large", shown(&column.name), shown(cell));
                return Err(wrong(message));
            }
            points.push((at_ns, value, line));
        }
    }
    if rows == 0 {
        return Err(wrong("it has no row behind its head"));
    }
    let mut table = ImportedTable { columns: Vec::new(), repeated: 0 };
    for ((.., mut column), points) in columns.into_iter().zip(read) {
        let all = points.len();
        column.points = one_at_an_instant(points, &column.name)?;
        table.repeated += all - column.points.len();
        table.columns.push(column);
    }
    Ok(table)
}

/// A value with its instant, ns since 1970, and its line.
type TimedValue = (i64, f64, u64);

/// The values in order of time. If two differ at one instant, it is unknown which is right, or whether they are two
/// series.
fn one_at_an_instant(mut points: Vec<TimedValue>, column: &str) -> Result<Vec<(i64, f64)>, TableError> {
    points.sort_by_key(|(at_ns, _, line)| (*at_ns, *line));
    for two in points.windows(2) {
        let [(before_ns, before, first), (at_ns, value, line)] = two else { continue };
        if before_ns == at_ns && before != value {
            let message = format!(
                "line {line}, column {}: another value at the instant of line {first}, {}",
                shown(column),
                Timestamp::from_nanosecond((*at_ns).into())
                    .map_or_else(|_| "?".to_owned(), |at| at.to_string())
            );
            let hint = "a column is one series: give each series that the file holds one below another a file of its own, or have \
                        the times exported more exactly";
            return Err(hinted(message, hint));
        }
    }
    points.dedup_by_key(|(at_ns, ..)| *at_ns);
    Ok(points.into_iter().map(|(at_ns, value, _)| (at_ns, value)).collect())
}

/// The place of the column of times, and of each that is taken with how many of its unit one is.
type ColumnPlaces = (usize, Vec<(usize, f64, ImportedColumn)>);

fn columns(head: &StringRecord, how: &ImportOptions) -> Result<ColumnPlaces, TableError> {
    if head.len() > COLUMNS_MAX {
        return Err(wrong(format!("it has {} columns, more than {COLUMNS_MAX}", head.len())));
    }
    let names: Vec<&str> = head.iter().collect();
    let listed = || names.iter().take(20).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    let place = |name: &str| -> Result<usize, TableError> {
        let mut found = names.iter().enumerate().filter(|(_, known)| **known == name).map(|(place, _)| place);
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err(wrong(format!("two columns are called {}", shown(name)))),
            _ if names.len() == 1 && names[0].contains([';', '\t']) => Err(hinted(
                "its first line has one column",
                "values are separated by commas; write the file again",
            )),
            _ if names.iter().all(|name| name.chars().all(char::is_control)) => {
                Err(wrong("its first line names no column"))
            }
            _ => Err(hinted(format!("it has no column {}", shown(name)), format!("it has {}", listed()))),
        }
    };
    let time = place(&how.time)?;
    for name in how.units.keys() {
        place(name)?;
    }
    let wanted: Vec<&str> = match how.columns.is_empty() {
        true => names.iter().copied().filter(|name| *name != how.time).collect(),
        false => how.columns.iter().map(String::as_str).collect(),
    };
    if wanted.is_empty() {
        return Err(wrong("it has no column but the times"));
    }
    let mut found = Vec::new();
    for name in wanted {
        if name.is_empty() || name.chars().count() > CHARACTERS_MAX || name.chars().any(char::is_control) {
            let message = format!("a column is called {}", shown(name));
            return Err(hinted(message, "name those that are to be taken, each with --column"));
        }
        if found.iter().any(|(.., column): &(usize, f64, ImportedColumn)| column.name == name) {
            return Err(hinted(
                format!("column {} is requested twice", shown(name)),
                "name each column once",
            ));
        }
        let word = how.units.get(name).unwrap_or(&how.unit);
        let (unit, factor) = imported::unit(word).ok_or_else(|| {
            let known: Vec<&str> = imported::UNITS.iter().map(|(name, ..)| *name).collect();
            hinted(format!("{} is not a unit", shown(word)), format!("known: {}", known.join(", ")))
        })?;
        found.push((
            place(name)?,
            factor,
            ImportedColumn { name: name.to_owned(), unit, points: Vec::new() },
        ));
    }
    Ok((time, found))
}

fn instant(text: &str, line: u64, how: &ImportOptions) -> Result<i64, TableError> {
    unix_ns(text, how.zone.as_ref()).map_err(|why| {
        let cell = format!("line {line}, column {}: {}", shown(&how.time), shown(text));
        match why {
            NoInstant::NoTime => hinted(
                format!("{cell} is not a time"),
                "e.g. 2026-03-07T09:05:04Z, or seconds or milliseconds since 1970",
            ),
            NoInstant::NoZone => hinted(
                format!("{cell} does not say in which time zone it is"),
                "name it: --zone UTC, --zone America/New_York, --zone +02:00",
            ),
            NoInstant::NotOne => hinted(
                format!("{cell} was not once in this time zone: its clocks were put forward or back then"),
                "export the times with an offset, or in UTC",
            ),
        }
    })
}

/// A cell's number; none where it is empty.
fn number(text: &str, line: u64, column: &str) -> Result<Option<f64>, TableError> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(hinted(
            format!("line {line}, column {}: {} is not a number", shown(column), shown(text)),
            "a cell in which nothing was read is empty; leave columns of words out with --column",
        )),
    }
}

fn of_csv(error: &csv::Error) -> TableError {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            wrong(format!("line {line} has {len} values, the first line names {expected_len} columns"))
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            wrong(format!("line {} is not UTF-8", pos.as_ref().map_or(0, csv::Position::line)))
        }
        _ => wrong(format!("it cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn how() -> ImportOptions {
        ImportOptions {
            time: "time".to_owned(),
            zone: None,
            unit: "count".to_owned(),
            units: BTreeMap::new(),
            columns: Vec::new(),
        }
    }

    fn reported(text: &str) -> String {
        let error = read(text.as_bytes(), &how()).expect_err("refused");
        format!("{} | {}", error.message, error.hint.unwrap_or_default())
    }

    #[test]
    fn columns_are_read_over_time_and_empty_cells_are_gaps() {
        let text = "\u{feff}time,CPU, Reads \n60,12.5,1\n0,10,\n120,,3\n";
        let mut how = how();
        how.units.insert("CPU".to_owned(), "percent".to_owned());
        let found = read(text.as_bytes(), &how).expect("read");
        let column = |name: &str, unit, points: &[(i64, f64)]| ImportedColumn {
            name: name.to_owned(),
            unit,
            points: points.iter().map(|(s, value)| (s * 1_000_000_000, *value)).collect(),
        };
        assert_eq!(
            found.columns,
            [
                column("CPU", Unit::Percent, &[(0, 10.0), (60, 12.5)]),
                column("Reads", Unit::Count, &[(60, 1.0), (120, 3.0)])
            ]
        );
        how.columns = vec!["Reads".to_owned()];
        assert_eq!(read(text.as_bytes(), &how).expect("read").columns.len(), 1);
    }

    #[test]
    fn text_in_numbers_is_reported_with_line_and_column() {
        let error = reported("time,CPU\n0,1\n60,n/a\n");
        assert!(error.starts_with("line 3, column `CPU`: `n/a` is not a number"), "{error}");
        assert!(reported("time,CPU\n0,NaN\n").contains("is not a number"));
        assert!(reported("time,CPU\nnoon,1\n").starts_with("line 2, column `time`: `noon` is not a time"));
        assert!(reported("time,CPU\n0,1,2\n").starts_with("line 2 has 3 values"), "more than were named");
        // Lines within quotes count.
        assert!(reported("time,\"C\nPU\"\n0,x\n").contains("a column is called"));
    }

    #[test]
    fn a_column_has_one_value_at_an_instant() {
        let found = read(b"time,CPU,Reads\n60,2,7\n0,1,7\n60,2,\n60,2,7\n", &how()).expect("read");
        let points = |at: usize| found.columns[at].points.len();
        assert_eq!((found.repeated, points(0), points(1)), (3, 2, 2), "those that are equal count once");
        let error = reported("time,host,CPU\n60,1,5\n0,1,4\n60,1,6\n");
        let begin = "line 4, column `CPU`: another value at the instant of line 2, 1970-01-01T00:01:00Z | a column is one series";
        assert!(error.starts_with(begin), "{error}");
    }

    #[test]
    fn a_time_without_an_offset_needs_a_zone() {
        let text = "time,CPU\n2026-03-07 10:05:04,1\n";
        let error = reported(text);
        assert!(error.contains("does not say in which time zone it is | name it: --zone UTC"), "{error}");
        let mut how = how();
        how.zone = Some(TimeZone::fixed(jiff::tz::offset(1)));
        let found = read(text.as_bytes(), &how).expect("read");
        assert_eq!(found.columns[0].points, [(1_772_874_304_000_000_000, 1.0)]);
    }

    #[test]
    fn missing_columns_are_reported_with_existing_ones() {
        assert!(reported("Time,CPU\n0,1\n").contains("no column `time` | it has `Time`, `CPU`"));
        assert!(reported("time;CPU\n0;1\n").contains("separated by commas"));
        assert!(reported("time,time,CPU\n0,0,1\n").contains("two columns are called `time`"));
        assert!(reported("time\n0\n").contains("no column but the times"));
        assert!(reported("time,CPU\n").contains("no row"));
        assert!(reported("").starts_with("its first line names no column"));
        assert!(reported("\u{1}\n0\n").starts_with("its first line names no column"));
        let mut how = how();
        how.columns = vec!["CPU".to_owned()];
        let error = read(b"time,CPU,note\n0,1,\"open\n120,3,x\n", &how).expect_err("refused");
        assert_eq!(error.message, "line 2: a quotation mark is not closed");
        how.columns.clear();
        how.unit = "parsecs".to_owned();
        let error = read(b"time,CPU\n0,1\n", &how).expect_err("refused");
        assert!(error.message.contains("`parsecs` is not a unit"), "{error}");
        (how.unit, how.columns) = ("GB".to_owned(), vec!["CPU".to_owned(), "CPU".to_owned()]);
        let error = read(b"time,CPU\n0,1\n", &how).expect_err("refused");
        assert!(error.message.contains("`CPU` is requested twice"), "{error}");
        how.columns.pop();
        let error = read(b"time,CPU\n0,1e308\n", &how).expect_err("refused");
        assert!(error.message.contains("line 2, column `CPU`: `1e308` is too large"), "{error}");
    }

    #[test]
    fn hostile_sizes_are_refused_and_cost_no_memory() {
        let wide = format!("time{}\n", ",x".repeat(COLUMNS_MAX));
        assert!(reported(&wide).contains("more than 200"));
        let long = vec![b'x'; FILE_BYTES_MAX + 1];
        assert!(read(&long, &how()).expect_err("refused").message.contains("more than 64 MiB"));
        let deep = format!("time,CPU\n{}", "0,1\n".repeat(ROWS_MAX + 1));
        assert!(reported(&deep).contains("more than 1000000 rows"));
        let cell = format!("time,CPU\n0,{}\n", "x".repeat(10_000));
        assert!(reported(&cell).len() < 400, "a cell is shown in part");
        assert!(
            read(b"time,CPU\n0,\xff\n", &how()).expect_err("refused").message.contains("line 2 is not UTF-8")
        );
    }
}
