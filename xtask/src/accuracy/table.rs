//! Tables in Markdown, as docs/benchmarks.md and docs/ACCURACY.md take them.

/// The text where there is no figure.
pub const NOTHING: &str = "–";

/// A table; each row has as many cells as the heading.
pub fn markdown(heading: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heading.to_vec());
    text.push_str(&line(vec!["---"; heading.len()]).replace(' ', ""));
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_in_markdown() {
        let text = markdown(&["a", "b"], &[vec!["1".to_owned(), "2".to_owned()]]);
        assert_eq!(text, "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
