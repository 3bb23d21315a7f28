//! How a line of the files is written.

/// A line of fields.
pub(super) fn row(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().map(quoted).collect();
    fields.join(",") + "\r\n"
}

/// As RFC 4180 has it. What a spreadsheet would take for a formula has a `'` before it, as in the files that pages
/// save: names and labels are the scenario author's.
fn quoted(field: String) -> String {
    let is_formula = field.starts_with(['=', '+', '@', '-', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = if is_formula { format!("'{field}") } else { field };
    if field.contains([',', '"', '\r', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_it_are_quoted() {
        assert_eq!(
            row(["a", "b,c", "say \"hi\"", "two\nlines"].map(str::to_owned)),
            "a,\"b,c\",\"say \"\"hi\"\"\",\"two\nlines\"\r\n"
        );
    }

    #[test]
    fn no_field_is_a_formula_to_a_spreadsheet() {
        let fields = ["=1+1", "+cmd|x", "@SUM(A1)", "-2+3", "\t=1", "=\"a,b\"", "-2.5", "+1e3", "a=b", ""];
        assert_eq!(
            row(fields.map(str::to_owned)),
            "'=1+1,'+cmd|x,'@SUM(A1),'-2+3,'\t=1,\"'=\"\"a,b\"\"\",-2.5,+1e3,a=b,\r\n"
        );
    }
}
