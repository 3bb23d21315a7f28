//! Text in columns, wrapped into blocks where the terminal is too narrow.

use kdyno_model::words::is_acted_on;
use std::collections::BTreeSet;

/// How wide text is set, and whether in colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; narrower than [`WIDTH_MIN`] is treated as that.
    pub width: usize,
    /// Whether ANSI colours may be used. Nothing is said by colour alone.
    pub colour: bool,
}

/// Narrowest width that is set; below it lines overflow.
pub const WIDTH_MIN: usize = 60;
/// Spaces between two columns of a grid.
const GAP: usize = 2;
/// A cell is cut above this, so that one long name does not push everything off the screen.
const CELL_MAX: usize = 40;

/// Every sequence that [`TextOptions::paint`] writes.
pub const SEQUENCES: &[&str] = &["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m"];

/// Emphasis of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Neither emphasised nor subdued.
    #[default]
    Plain,
    /// Heads of tables and sections.
    Strong,
    /// Published figures, ranges and notes: next to what was measured here.
    Faint,
    /// A warning, or a run that did not end as planned.
    Warn,
    /// Figures that must not be used.
    Bad,
}

impl TextOptions {
    /// The width that is set.
    pub fn columns(&self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    /// Text in a tone, if colours are wanted.
    pub fn paint(&self, text: &str, tone: Tone) -> String {
        let text = clean(text);
        let code = match tone {
            Tone::Plain => return text,
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Warn => "33",
            Tone::Bad => "31",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
    }
}

/// One column of a grid.
#[derive(Debug, Clone, Default)]
pub struct GridColumn {
    /// Head lines, top first.
    pub head: Vec<String>,
    /// One cell per row of the grid, from the top.
    pub cells: Vec<String>,
    /// Tone of the cells; heads are always strong.
    pub tone: Tone,
    /// Numbers are right-aligned.
    pub right: bool,
    /// Is in the same block as the column before it.
    pub joined: bool,
}

impl GridColumn {
    /// A number is never cut, nor its footnote behind it.
    fn cell_max(&self) -> usize {
        if self.right { usize::MAX } else { CELL_MAX }
    }

    fn width(&self) -> usize {
        self.head.iter().chain(&self.cells).map(|text| width(text).min(self.cell_max())).max().unwrap_or(0)
    }

    /// Whether cells that are not the same would read alike if their ends were cut.
    fn differs_behind(&self) -> bool {
        let cells: BTreeSet<&String> = self.cells.iter().collect();
        let cut: BTreeSet<String> = cells.iter().map(|cell| shorten(cell, self.cell_max())).collect();
        cut.len() < cells.len()
    }

    fn cut(&self, text: &str) -> String {
        if width(text) <= self.cell_max() {
            return text.to_owned();
        }
        let shorten = if self.differs_behind() { shorten_inside } else { shorten };
        shorten(text, self.cell_max())
    }

    fn line(&self, text: &str, tone: Tone, options: &TextOptions) -> String {
        let text = self.cut(text);
        let pad = " ".repeat(self.width() - width(&text));
        let painted = options.paint(&text, tone);
        if self.right { format!("{pad}{painted}") } else { format!("{painted}{pad}") }
    }
}

/// Sets columns next to each other. `fixed` columns head every block; the others flow into as many blocks as the width
/// needs, joined ones staying together as long as they fit.
pub fn grid(fixed: &[GridColumn], flowing: &[GridColumn], options: &TextOptions) -> String {
    let set = |block: &Vec<&GridColumn>| {
        set(&fixed.iter().chain(block.iter().copied()).collect::<Vec<_>>(), options)
    };
    blocks(fixed, flowing, options).iter().map(set).collect::<Vec<_>>().join("\n")
}

/// Into how many blocks columns flow.
pub fn block_count(fixed: &[GridColumn], flowing: &[GridColumn], options: &TextOptions) -> usize {
    blocks(fixed, flowing, options).len()
}

fn blocks<'a>(
    fixed: &[GridColumn],
    flowing: &'a [GridColumn],
    options: &TextOptions,
) -> Vec<Vec<&'a GridColumn>> {
    let room = options.columns();
    let fixed_width: usize = fixed.iter().map(|column| column.width() + GAP).sum();
    let mut blocks: Vec<Vec<&GridColumn>> = Vec::new();
    let mut used = room + 1;
    for group in groups(flowing) {
        let width: usize = group.iter().map(|column| column.width() + GAP).sum();
        let fits = used + width <= room + GAP;
        if fits {
            used += width;
            if let Some(block) = blocks.last_mut() {
                block.extend(group);
            }
        } else if fixed_width + width <= room + GAP {
            used = fixed_width + width;
            blocks.push(group);
        } else {
            // Too wide even alone: its columns flow one by one.
            used = room + 1;
            for column in group {
                let width = column.width() + GAP;
                match blocks.last_mut() {
                    Some(block) if used + width <= room + GAP => block.push(column),
                    _ => {
                        used = fixed_width;
                        blocks.push(vec![column]);
                    }
                }
                used += width;
            }
        }
    }
    if blocks.is_empty() {
        blocks.push(Vec::new());
    }
    blocks
}

fn groups(columns: &[GridColumn]) -> Vec<Vec<&GridColumn>> {
    let mut groups: Vec<Vec<&GridColumn>> = Vec::new();
    for column in columns {
        match groups.last_mut() {
            Some(group) if column.joined => group.push(column),
            _ => groups.push(vec![column]),
        }
    }
    groups
}

fn set(columns: &[&GridColumn], options: &TextOptions) -> String {
    let head_lines = columns.iter().map(|column| column.head.len()).max().unwrap_or(0);
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let gap = " ".repeat(GAP);
    let mut out = String::new();
    let mut push = |cells: Vec<String>| {
        out.push_str(cells.join(&gap).trim_end());
        out.push('\n');
    };
    for line in 0..head_lines {
        // Heads are bottom-aligned: a short one leaves its upper lines empty.
        let cell = |column: &&GridColumn| {
            let missing = head_lines - column.head.len();
            let text = line.checked_sub(missing).map_or("", |own| &column.head[own]);
            column.line(text, Tone::Strong, options)
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            push(cells);
        }
    }
    for row in 0..rows {
        let cell = |column: &&GridColumn| {
            column.line(column.cells.get(row).map_or("", String::as_str), column.tone, options)
        };
        push(columns.iter().map(cell).collect());
    }
    out
}

/// Units that stay on the line of their number.
const UNITS: &[&str] = &["%", "ms", "µs", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB"];

/// The words of a text, a unit with the number before it.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(clean) {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut().filter(|number| is_unit && number.ends_with(|c: char| c.is_ascii_digit())) {
            Some(number) => {
                number.push(' ');
                number.push_str(&word);
            }
            None => words.push(word),
        }
    }
    words
}

/// Breaks a paragraph at spaces, though not between a number and its unit; later lines are indented. A word longer than the
/// line has a line to itself.
pub fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let start = if lines.is_empty() { 0 } else { indent };
        if !line.trim().is_empty() && width(&line) + 1 + width(&word) > columns {
            lines.push(std::mem::take(&mut line));
            line = " ".repeat(indent);
            line.push_str(&word);
        } else {
            if width(&line) > start {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines.push(line);
    lines.join("\n")
}

/// Columns a text takes. All that kdyno prints itself is one column per character.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// Cuts a text and says so with an ellipsis.
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Cuts a text between its beginning and its end, where names differ that begin alike.
pub fn shorten_inside(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(1);
    let first: String = text.chars().take(kept / 2).collect();
    let last: String = text.chars().skip(width(text) - kept.div_ceil(2)).collect();
    format!("{first}…{last}")
}

/// Replaces what a terminal would act on, line ends too, so that text from outside stays in its cell.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_acted_on(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: TextOptions = TextOptions { width: 60, colour: false };

    fn words(head: &str, cells: Vec<String>) -> GridColumn {
        GridColumn { head: vec![head.to_owned()], cells, ..GridColumn::default() }
    }

    fn numbers(head: &str, cells: Vec<String>) -> GridColumn {
        GridColumn { right: true, ..words(head, cells) }
    }

    #[test]
    fn columns_flow_into_blocks_with_their_heads() {
        let name = words("case", vec!["brokers=3".to_owned()]);
        let wide = |head: &str| numbers(head, vec!["1,234,567,890,123,456,789".to_owned()]);
        let text = grid(&[name], &[wide("first"), wide("second")], &PLAIN);
        assert_eq!(text.matches("brokers=3").count(), 2, "{text}");
        assert!(text.lines().all(|line| width(line) <= 60), "{text}");
    }

    #[test]
    fn colour_does_not_change_the_layout() {
        let column = GridColumn { tone: Tone::Bad, ..numbers("rate", vec!["7/s".to_owned()]) };
        let coloured = grid(&[], std::slice::from_ref(&column), &TextOptions { colour: true, ..PLAIN });
        assert!(coloured.contains("\x1b[31m"), "{coloured}");
        let stripped = coloured.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[0m", "");
        assert_eq!(stripped, grid(&[], &[column], &PLAIN));
    }

    #[test]
    fn every_sequence_of_a_tone_is_a_known_one() {
        let options = TextOptions { colour: true, ..PLAIN };
        for tone in [Tone::Plain, Tone::Strong, Tone::Faint, Tone::Warn, Tone::Bad] {
            let painted = options.paint("words\x1b[31m", tone);
            assert_eq!(kdyno_model::words::visible(&painted, SEQUENCES), painted, "{tone:?}");
            assert!(painted.contains("words\u{fffd}[31m"), "{painted:?}");
        }
    }

    #[test]
    fn long_cells_that_differ_at_their_ends_are_cut_inside() {
        let long = "a-name-that-is-longer-than-any-cell-of-a-table";
        let cells = |ends: [&str; 2]| ends.map(|end| format!("{long}{end}")).to_vec();
        let text = |cells: Vec<String>| grid(&[], &[words("case", cells)], &PLAIN);
        let two = text(cells(["-1KiB", "-2KiB"]));
        let lines: Vec<&str> = two.lines().skip(1).collect();
        assert!(lines[0].ends_with("table-1KiB") && lines[1].ends_with("table-2KiB"), "{two}");
        assert!(lines.iter().all(|line| width(line) == CELL_MAX), "{two}");
        let other = text(vec![format!("{long}-1KiB"), "short".to_owned()]);
        assert!(other.contains("any-cell-of-…"), "their beginnings differ: {other}");
    }

    #[test]
    fn a_number_and_its_unit_share_a_line() {
        assert_eq!(wrap("between 2 % and 10 ms, then", 9, 0), "between\n2 % and\n10 ms,\nthen");
        assert_eq!(wrap("of 32 trials", 5, 0), "of 32\ntrials");
    }

    proptest! {
        #[test]
        fn a_grid_never_overflows(cells in prop::collection::vec("[a-z ]{0,60}", 0..12), width_ in 80usize..200) {
            let options = TextOptions { width: width_, colour: false };
            let head = words("case", vec!["x=1".to_owned()]);
            let flowing: Vec<GridColumn> =
                cells.iter().map(|cell| words("h", vec![cell.clone()])).collect();
            for line in grid(&[head], &flowing, &options).lines() {
                prop_assert!(width(line) <= width_, "{line}");
            }
        }

        #[test]
        fn wrapping_keeps_every_word(words in prop::collection::vec("[a-z]{1,20}", 0..40)) {
            let text = words.join(" ");
            let wrapped = wrap(&text, 60, 4);
            prop_assert!(wrapped.lines().all(|line| width(line) <= 60));
            let again: Vec<&str> = wrapped.split_whitespace().collect();
            prop_assert_eq!(again.join(" "), text);
        }
    }
}
