//! The kinds of an axis are named in few places: what a kind is and can do is asked of its interface everywhere else. How many
//! files a new kind touches is counted by [`super::proofs`].

use syn::visit::{self, Visit};
use syn::{Item, Macro, UseTree};

use super::circles::{head, is_test};
use super::problem::{Problem, SourceFile};
use super::proofs::is_product;

/// An enum of kinds, and the files that may name them.
struct KindRule {
    /// The enum.
    kinds: &'static str,
    /// Where it is defined, and where each crate that does other work for each kind distinguishes them.
    places: &'static [&'static str],
}

const AXES: &[KindRule] = &[
    KindRule {
        kinds: "SystemPlan",
        places: &[
            "crates/lab/src/system/mod.rs",
            "crates/model/src/plan/system/mod.rs",
            "crates/plan/src/system_kind.rs",
        ],
    },
    KindRule {
        kinds: "Driver",
        places: &[
            "crates/lab/src/drivers.rs",
            "crates/model/src/plan/driver.rs",
            "crates/plan/src/driver.rs",
            "crates/plan/src/stored/load.rs",
        ],
    },
];

/// Checks the sources of every crate, tests apart.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    AXES.iter().flat_map(|axis| of_axis(axis, files)).collect()
}

fn of_axis(axis: &KindRule, files: &[SourceFile]) -> Vec<Problem> {
    let is_product = |file: &&SourceFile| is_product(&file.path) && file.path.ends_with(".rs");
    let mut problems = Vec::new();
    for file in files.iter().filter(is_product) {
        let may_name = axis.places.contains(&file.path.as_str());
        if may_name || !names(file, axis.kinds) {
            continue;
        }
        let call = format!("{}::", axis.kinds);
        let line = file.text.lines().position(|line| line.contains(&call)).unwrap_or(0);
        let what = format!("names a kind of {}", axis.kinds);
        let instead = "ask what it can do of the interface that each kind implements, or do it in the crate's one place";
        problems.push(Problem::new(file, line + 1, what, instead));
    }
    let is_there = |place: &&str| files.iter().any(|file| file.path == **place);
    for place in axis.places.iter().filter(|place| !files.is_empty() && !is_there(place)) {
        let file = SourceFile { path: (*place).to_owned(), text: String::new() };
        let what = format!("is a place of {}, and is not there", axis.kinds);
        problems.push(Problem::new(&file, 1, what, "take it out of xtask/src/tidy/kinds.rs"));
    }
    problems
}

/// Whether the code of a file, tests apart, names a kind: `Kinds::Kind`, however long the path.
fn names(file: &SourceFile, kinds: &str) -> bool {
    let mut reader = KindFinder { kinds, found: false };
    // What cannot be read as Rust the rule about circles complains of.
    if let Ok(parsed) = syn::parse_file(&file.text)
        && !is_test(&parsed.attrs)
    {
        reader.visit_file(&parsed);
    }
    reader.found
}

struct KindFinder<'k> {
    kinds: &'k str,
    found: bool,
}

impl<'ast> Visit<'ast> for KindFinder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !head(item).is_some_and(|(attributes, _)| is_test(attributes)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut before_last = path.segments.iter().rev().skip(1);
        // A function of the enum begins with a small letter.
        let is_kind =
            path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase));
        self.found |= is_kind && before_last.next().is_some_and(|segment| segment.ident == self.kinds);
        visit::visit_path(self, path);
    }

    /// `use ...::Kinds::Kind` and `use ...::Kinds::*`.
    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        self.found |= matches!(tree, UseTree::Path(path) if path.ident == self.kinds);
        visit::visit_use_tree(self, tree);
    }

    /// Arguments of `matches!` are no expressions, so their text is looked at.
    fn visit_macro(&mut self, called: &'ast Macro) {
        let text: String = called.tokens.to_string().split_whitespace().collect();
        self.found |= text.contains(&format!("{}::", self.kinds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: KindRule = KindRule { kinds: "Shape", places: &["crates/a/src/shape.rs"] };

    fn found(path: &str, text: &str) -> usize {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        of_axis(&AXIS, &[file("crates/a/src/shape.rs", "//! Shapes."), file(path, text)]).len()
    }

    #[test]
    fn a_kind_is_found_wherever_code_names_it() {
        for text in [
            "fn f(of: Shape) { match of { Shape::Round(_) => {} _ => {} } }",
            "fn f() -> Shape { model::Shape::Round(1) }",
            "fn f(of: Shape) -> bool { matches!(of, Shape :: Round(_) if true) }",
            "use model::Shape::*;",
        ] {
            assert_eq!(found("crates/a/src/other.rs", text), 1, "{text}");
            assert_eq!(found("crates/a/src/shape.rs", text), 0, "{text}");
            assert_eq!(found("crates/a/src/other_tests.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn what_only_uses_the_type_passes() {
        for text in [
            "use model::Shape; fn f(of: &Shape) -> bool { of.is_round() && Shape::new().is_round() }",
            "// Shape::Round",
            "#[cfg(test)] mod tests { fn f() -> Shape { Shape::Round(1) } }",
        ] {
            assert_eq!(found("crates/a/src/other.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn a_place_that_is_gone_leaves_the_list() {
        let file = SourceFile { path: "crates/a/src/lib.rs".to_owned(), text: "//! A.".to_owned() };
        assert_eq!(of_axis(&AXIS, &[file]).len(), 1);
    }
}
