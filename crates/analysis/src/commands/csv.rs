//! CSV with a header: JMeter's results, and columns of given names.

use super::lines::LINE_BYTES_MAX;
use super::reported::CommandTotals;
use csv::{ReaderBuilder, StringRecord};
use kdyno_model::plan::CsvColumns;

/// Columns of JMeter's results without a header, in its usual order.
const JTL: [&str; 8] =
    ["timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success"];
/// Most columns of a header.
const COLUMNS_MAX: usize = 1_000;
const NS_PER_MS: f64 = 1e6;

/// Reads lines of CSV.
#[derive(Debug)]
pub(super) struct CsvReader {
    columns: CsvColumns,
    /// Whether the usual columns are meant where there is no header.
    is_jtl: bool,
    at: Option<ColumnIndexes>,
    /// State of a record that has not ended yet: a line's end in quotes is none.
    held: String,
}

/// Places of the columns.
#[derive(Debug, Clone, Copy)]
struct ColumnIndexes {
    elapsed: usize,
    time: Option<usize>,
    success: Option<usize>,
    label: Option<usize>,
}

impl CsvReader {
    /// JMeter's results.
    pub(super) fn jtl() -> Self {
        Self { is_jtl: true, ..Self::new(&CsvColumns::default()) }
    }

    /// With these columns.
    pub(super) fn new(columns: &CsvColumns) -> Self {
        Self { columns: columns.clone(), is_jtl: false, at: None, held: String::new() }
    }

    pub(super) fn line(&mut self, line: &str, reported: &mut CommandTotals) {
        if self.held.is_empty() {
            if line.trim().is_empty() {
                return;
            }
            if has_open_quote(line) {
                self.held = line.to_owned();
                return;
            }
            return self.record(line, reported);
        }
        self.held.push('\n');
        self.held.push_str(line);
        if self.held.len() > LINE_BYTES_MAX {
            self.held.clear();
            reported.unparsed += 1;
        } else if !has_open_quote(&self.held) {
            let record = std::mem::take(&mut self.held);
            self.record(&record, reported);
        }
    }

    /// What was begun and never ended is none.
    pub(super) fn finish(self, reported: &mut CommandTotals) {
        reported.unparsed += u64::from(!self.held.is_empty());
    }

    fn record(&mut self, line: &str, reported: &mut CommandTotals) {
        let fields = fields(line);
        let Some(at) = self.at else {
            let names: Vec<&str> =
                fields.iter().map(|name| name.trim().trim_start_matches('\u{feff}')).collect();
            if let Some(places) = self.places(&names) {
                reported.has_errors = places.success.is_some();
                self.at = Some(places);
                return;
            }
            let is_headless =
                self.is_jtl && fields.get(0).is_some_and(|first| first.trim().parse::<u64>().is_ok());
            match self.places(&JTL).filter(|_| is_headless) {
                Some(places) => {
                    reported.has_errors = true;
                    self.at = Some(places);
                    return self.record(line, reported);
                }
                None => reported.unparsed += 1,
            }
            return;
        };
        let field = |at: usize| fields.get(at).map(str::trim);
        let elapsed_ms = field(at.elapsed).and_then(|text| text.parse::<f64>().ok());
        let elapsed_ms = elapsed_ms.filter(|ms| CommandTotals::is_time(*ms / 1e3));
        let success = at.success.map(|at| field(at).and_then(is_success));
        let (Some(elapsed_ms), None | Some(Some(_))) = (elapsed_ms, success) else {
            reported.unparsed += 1;
            return;
        };
        let began_ms = at.time.and_then(field).and_then(|text| text.parse::<f64>().ok());
        let began_ns = began_ms.filter(|ms| ms.is_finite()).map(|ms| (ms * NS_PER_MS) as i64);
        let label = at.label.and_then(field);
        reported.request_of(label, elapsed_ms / 1e3, began_ns);
        if success == Some(Some(false)) {
            reported.error_of(label, began_ns);
        }
    }

    /// Places of the columns in a header; `None`: it is none.
    fn places(&self, names: &[&str]) -> Option<ColumnIndexes> {
        let at =
            |name: &str| names.iter().take(COLUMNS_MAX).position(|known| known.eq_ignore_ascii_case(name));
        let CsvColumns { elapsed, time, success, label } = &self.columns;
        Some(ColumnIndexes { elapsed: at(elapsed)?, time: at(time), success: at(success), label: at(label) })
    }
}

/// Whether a request succeeded; `None`: the text says neither.
fn is_success(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "ok" | "yes" | "success" | "1" => return Some(true),
        "false" | "ko" | "no" | "error" | "fail" | "failed" | "failure" | "0" => return Some(false),
        _ => {}
    }
    let status = text.parse::<u16>().ok()?;
    Some((100..400).contains(&status))
}

/// A quote that is not closed: quotes in a field are doubled.
fn has_open_quote(line: &str) -> bool {
    line.bytes().filter(|byte| *byte == b'"').count() % 2 == 1
}

fn fields(record: &str) -> StringRecord {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(record.as_bytes());
    let mut fields = StringRecord::new();
    // For text at hand, with as many fields as it likes, nothing can fail.
    let _ = reader.read_record(&mut fields);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_that_is_never_closed_takes_no_memory() {
        let mut reader = CsvReader::jtl();
        let mut reported = CommandTotals::default();
        reader.line("\"open", &mut reported);
        let line = "x".repeat(1000);
        for _ in 0..200 {
            reader.line(&line, &mut reported);
            assert!(reader.held.len() <= LINE_BYTES_MAX + 1001);
        }
        assert!(reported.unparsed >= 1);
    }
}
