//! What is wrong with the layout of a text that is not valid YAML. A parser names the place at which it could not go
//! on, which is often after the line that is wrong; here lines are looked at as a person does: where they begin, and
//! what was opened and not closed.

use crate::input::{InputError, TextPosition, quoted};

/// A column in which lines of one map or list begin.
struct IndentLevel {
    column: usize,
    is_list: bool,
}

/// A line that begins a key or an item.
#[derive(Clone, Copy)]
struct BegunLine<'t> {
    line: usize,
    column: usize,
    text: &'t str,
    /// Whether a map or list of its own may follow, deeper.
    opens: bool,
    /// Whether it is neither a key nor an item: a value on a line of its own.
    is_text: bool,
}

/// A bracket or quote that is not closed yet.
#[derive(Clone, Copy)]
struct Unclosed {
    mark: char,
    line: usize,
    column: usize,
}

#[derive(Default)]
struct LayoutChecker<'t> {
    levels: Vec<IndentLevel>,
    /// The last line that begins a key or an item, and the one before it.
    last: [Option<BegunLine<'t>>; 2],
    unclosed: Vec<Unclosed>,
    /// Column of the key whose text block (`|`, `>`) is open.
    block: Option<usize>,
}

/// The first line up to `last_line` that does not fit those before it; `None` when all of them do.
pub(crate) fn mistake(text: &str, last_line: usize) -> Option<InputError> {
    let mut layout = LayoutChecker::default();
    for (index, line) in text.lines().take(last_line).enumerate() {
        if let Some(error) = layout.take(index + 1, line) {
            return Some(error);
        }
    }
    let Unclosed { mark, line, column } = *layout.unclosed.last()?;
    let (what, close) = match mark {
        '[' => ("a list", ']'),
        '{' => ("a map", '}'),
        quote => ("a text", quote),
    };
    let message = format!("{what} begins here with `{mark}`, and is not closed");
    Some(InputError::at(place(line, column), message).hint(format!("add the `{close}` that belongs to it")))
}

fn place(line: usize, column: usize) -> TextPosition {
    let short = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    TextPosition { line: short(line), column: short(column) }
}

impl<'t> LayoutChecker<'t> {
    fn take(&mut self, line: usize, full: &'t str) -> Option<InputError> {
        let text = full.trim_start_matches(' ');
        let column = full.len() - text.len() + 1;
        if !self.unclosed.is_empty() {
            self.scan(line, 1, full);
            return None;
        }
        if text.trim().is_empty() || text.starts_with('#') || self.block.is_some_and(|block| column > block) {
            return None;
        }
        self.block = None;
        let is_item = text == "-" || text.starts_with("- ");
        let key = key_end(text);
        let text_end = text.trim_end().len();
        let is_text = !is_item && key.is_none() && !text.starts_with(['{', '[']);
        let opens = is_item || key == Some(text_end);
        let here = BegunLine { line, column, text: &text[..text_end], opens, is_text };
        if let Some(error) = self.place(here, is_item) {
            return error;
        }
        let value = match key {
            _ if is_item => "- ".len().min(text.len()),
            Some(end) => end,
            None => 0,
        };
        let rest = text[value..].trim_start();
        if matches!(rest.trim_end(), "|" | ">" | "|-" | ">-" | "|+" | ">+") {
            self.block = Some(column);
        } else if rest.starts_with(['[', '{', '"', '\'']) {
            self.scan(line, column + text.len() - rest.len(), rest);
        }
        None
    }

    /// Finds the level a line belongs to. `Some(None)`: it goes on with the text of the line before.
    fn place(&mut self, here: BegunLine<'t>, is_item: bool) -> Option<Option<InputError>> {
        let [last, before] = self.last;
        if let Some(text) = last.filter(|last| last.is_text && here.column >= last.column) {
            return Some(if here.is_text { None } else { Some(no_colon(text)) });
        }
        match last.filter(|last| here.column > last.column) {
            Some(last) if !last.opens && here.is_text => return Some(None),
            Some(last) if !last.opens => return Some(Some(too_deep(here, last, before))),
            _ => {}
        }
        if last.is_none_or(|last| here.column > last.column) {
            self.levels.push(IndentLevel { column: here.column, is_list: is_item });
        } else {
            while self.levels.last().is_some_and(|level| level.column > here.column) {
                self.levels.pop();
            }
            match self.levels.last() {
                Some(level) if level.column != here.column => return Some(Some(between(here, last))),
                Some(level) if level.is_list && !is_item => return Some(Some(no_item(here))),
                Some(_) if here.is_text => return Some(Some(no_colon(here))),
                Some(_) => {}
                None => return Some(Some(between(here, last))),
            }
        }
        // The map of an item begins behind its dash.
        if is_item && key_end(&here.text[1..]).is_some() {
            let inner = here.text[1..].trim_start();
            let column = here.column + here.text.len() - inner.len();
            self.levels.push(IndentLevel { column, is_list: false });
            let opens = key_end(inner) == Some(inner.len());
            self.last = [Some(BegunLine { column, opens, ..here }), last];
        } else {
            self.last = [Some(here), last];
        }
        None
    }

    /// Follows brackets and quotes of a value that began with one.
    fn scan(&mut self, line: usize, first_column: usize, text: &str) {
        let mut before = ' ';
        for (at, c) in text.chars().enumerate() {
            let open = self.unclosed.last().map(|open| open.mark);
            match (open, c) {
                (Some('"'), '"') if before != '\\' => drop(self.unclosed.pop()),
                (Some('\''), '\'') => drop(self.unclosed.pop()),
                (Some('"' | '\''), _) => {}
                (_, '#') if before == ' ' => return,
                (Some('['), ']') | (Some('{'), '}') => drop(self.unclosed.pop()),
                (_, '[' | '{') => self.unclosed.push(Unclosed { mark: c, line, column: first_column + at }),
                (_, '"' | '\'') if matches!(before, ' ' | ',' | '[' | '{' | ':') => {
                    self.unclosed.push(Unclosed { mark: c, line, column: first_column + at });
                }
                _ => {}
            }
            before = c;
        }
    }
}

/// Where a key ends, its colon included, in a line that begins with one.
fn key_end(text: &str) -> Option<usize> {
    let text = text.trim_end();
    let end = text.find(": ").map(|at| at + 1);
    end.or_else(|| text.ends_with(':').then_some(text.len()))
}

fn shown(begun: BegunLine<'_>) -> String {
    quoted(begun.text)
}

fn too_deep(here: BegunLine<'_>, last: BegunLine<'_>, before: Option<BegunLine<'_>>) -> InputError {
    // Lines before and after it agree: the one between them is wrong.
    if before.is_some_and(|before| before.column == here.column) {
        let message = format!(
            "{} begins in column {}, but the lines before and after it in column {}",
            shown(last),
            last.column,
            here.column
        );
        return InputError::at(place(last.line, last.column), message)
            .hint("lines of one map begin in the same column");
    }
    let message = format!(
        "{} begins in column {}, deeper than line {}, which has its value already",
        shown(here),
        here.column,
        last.line
    );
    InputError::at(place(here.line, here.column), message)
        .hint(format!("begin it in column {}, as line {}", last.column, last.line))
}

fn between(here: BegunLine<'_>, last: Option<BegunLine<'_>>) -> InputError {
    let message = format!(
        "{} begins in column {}, in which no line begins that it could belong to",
        shown(here),
        here.column
    );
    let error = InputError::at(place(here.line, here.column), message);
    match last {
        Some(last) => error.hint(format!(
            "lines of one map begin in the same column: line {} begins in column {}",
            last.line, last.column
        )),
        None => error,
    }
}

fn no_item(here: BegunLine<'_>) -> InputError {
    let message = format!("{} is among the items of a list, but does not begin with `- `", shown(here));
    InputError::at(place(here.line, here.column), message).hint("a list has only items, a map only keys")
}

fn no_colon(here: BegunLine<'_>) -> InputError {
    InputError::at(
        place(here.line, here.column),
        format!("{} has no `: ` between a key and its value", shown(here)),
    )
    .hint("write `key: value`, with a space after the colon")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_wrong_with_what_is_valid() {
        for text in [
            include_str!("../../../scenarios/first-light.yaml"),
            include_str!("../../../scenarios/reports/ibm-fast.yaml"),
            include_str!("../../../scenarios/reports/ibm-payload.yaml"),
            include_str!("../../../scenarios/reports/ibm-resilient.yaml"),
            include_str!("../../../scenarios/reports/ibm-resilient-jobs.yaml"),
            include_str!("../../../scenarios/reports/ibm-resilient-kubernetes.yaml"),
            include_str!("../../../scenarios/reports/huawei-rate.yaml"),
            include_str!("../../../scenarios/reports/intel-sla.yaml"),
            include_str!("../../../scenarios/upgrade-check.yaml"),
            "a: What is\n  the question?\nq:\n  What is\n  this?\nb:\n- c: 1\n  d: 2\n- {e: 1,\n   f: [2,\n 3]}\ng: >-\n   x: y\n  z\nh: \"a\n b\"\n",
        ] {
            assert_eq!(mistake(text, usize::MAX), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([ -]{0,4}[a-zä]{0,3}[:\\[\\]{}\"'|# ]{0,3}\n?){0,30}") {
            let _ = mistake(&text, usize::MAX);
        }
    }
}
