//! No two files of a crate use each other, not even by way of others: each can be read once those below it have been.
//!
//! A file uses another when a name in its code, tests apart, leads to something that the other *defines*: an import, or
//! a path such as `topics::create`. Names are followed through modules and re-exports to where they are defined, so
//! declaring a module and handing its names on make no arrow, and a child that takes from its parent makes one only
//! where the parent itself defines what is taken. Methods and trait implementations are not seen.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Item, Macro, Token, UseTree, Visibility};

use super::problem::{Problem, SourceFile};

/// Re-exports of re-exports end somewhere; a name that leads in a ring is no name of ours.
const DEPTH_MAX: usize = 16;

/// Settings of serde whose text is the path of a module or function.
const CALLED_BY_SERDE: [&str; 5] =
    ["with", "serialize_with", "deserialize_with", "default", "skip_serializing_if"];

type Path = Vec<String>;

/// File, file that it uses, one of the names that it takes.
type Arrows<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

/// Checks every crate by itself.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        if let Some((root, _)) = file.path.split_once("/src/") {
            crates.entry(root).or_default().push(file);
        }
    }
    let mut problems = Vec::new();
    for (root, files) in crates {
        let (sources, unread) = CrateSources::read(root, &files);
        problems.extend(unread);
        let arrows = sources.arrows();
        let found = circles(&arrows);
        problems.extend(found.iter().map(|circle| problem(circle[0], reported(circle, &arrows))));
    }
    problems
}

fn problem(path: &str, what: String) -> Problem {
    let instead = "move what both need into a file below both, or what one takes into the one that uses it";
    Problem { path: path.to_owned(), line: 1, what, instead: instead.to_owned() }
}

/// Every arrow within the circle.
fn reported(circle: &[&str], arrows: &Arrows<'_>) -> String {
    let mut text = "files use each other".to_owned();
    for from in circle {
        for (to, name) in arrows.get(from).into_iter().flatten().filter(|(to, _)| circle.contains(to)) {
            text += &format!("\n  {from} takes {name} from {to}");
        }
    }
    text
}

/// Groups of files that each reach each other.
fn circles<'a>(arrows: &Arrows<'a>) -> Vec<Vec<&'a str>> {
    let reached = |from: &'a str| {
        let mut found: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            next.extend(
                arrows.get(file).into_iter().flatten().map(|(to, _)| *to).filter(|to| found.insert(to)),
            );
        }
        found
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|file| (*file, reached(file))).collect();
    let mut found: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (file, its) in reached.iter().filter(|(file, its)| its.contains(*file)) {
        let back = |other: &&&str| reached.get(**other).is_some_and(|theirs| theirs.contains(file));
        found.insert(its.iter().filter(back).copied().collect());
    }
    found.into_iter().collect()
}

/// One module: the names in it.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    defined: BTreeSet<String>,
    imported: BTreeMap<String, Path>,
    globs: Vec<Path>,
}

/// The modules of one crate by their paths, and each path that code names, with the module it is in.
#[derive(Default)]
struct CrateSources<'a> {
    modules: BTreeMap<Path, Module<'a>>,
    named: Vec<(Path, Path)>,
}

/// What a path leads to.
enum PathTarget<'a> {
    Module(Path),
    Item(&'a str),
}

impl<'a> CrateSources<'a> {
    /// Reads the files; the second part says which could not be.
    fn read(root: &str, files: &[&'a SourceFile]) -> (CrateSources<'a>, Vec<Problem>) {
        let (mut sources, mut unread) = (CrateSources::default(), Vec::new());
        for file in files {
            match syn::parse_file(&file.text) {
                Ok(parsed) if is_test(&parsed.attrs) => {}
                Ok(parsed) => {
                    let at = module_path(root, &file.path);
                    let mut reader = PathCollector { sources: &mut sources, file: &file.path, at };
                    reader.enter();
                    reader.visit_file(&parsed);
                }
                Err(error) => unread.push(problem(&file.path, format!("cannot be read as Rust: {error}"))),
            }
        }
        (sources, unread)
    }

    fn arrows(&self) -> Arrows<'a> {
        let mut arrows = Arrows::new();
        for (at, path) in &self.named {
            let Some(from) = self.modules.get(at).map(|module| module.file) else { continue };
            if let Some(PathTarget::Item(to)) = self.lead(at, path, 0)
                && to != from
            {
                let name = path.last().cloned().unwrap_or_default();
                arrows.entry(from).or_default().entry(to).or_insert(name);
            }
        }
        arrows
    }

    /// Follows a path from the module `at`; nothing when it leads out of the crate.
    fn lead(&self, at: &[String], path: &[String], depth: usize) -> Option<PathTarget<'a>> {
        let (first, mut rest) = path.split_first()?;
        let mut place = match first.as_str() {
            "crate" => PathTarget::Module(Path::new()),
            "self" => PathTarget::Module(at.to_vec()),
            "super" => PathTarget::Module(at.split_last()?.1.to_vec()),
            name => self.look_up(at, name, rest.is_empty(), depth)?,
        };
        while let (PathTarget::Module(module), Some((name, further))) = (&place, rest.split_first()) {
            place = match name.as_str() {
                "super" => PathTarget::Module(module.split_last()?.1.to_vec()),
                name => self.look_up(module, name, further.is_empty(), depth)?,
            };
            rest = further;
        }
        Some(place)
    }

    /// A name within a module. What is followed by `::` is a module rather than an item of the same name.
    fn look_up(&self, at: &[String], name: &str, is_last: bool, depth: usize) -> Option<PathTarget<'a>> {
        let module = self.modules.get(at).filter(|_| depth < DEPTH_MAX)?;
        let item = module.defined.contains(name).then_some(PathTarget::Item(module.file));
        let child = [at, &[name.to_owned()]].concat();
        let child = self.modules.contains_key(&child).then_some(PathTarget::Module(child));
        let imported = || self.lead(at, module.imported.get(name)?, depth + 1);
        let through_glob = || {
            let modules = module.globs.iter().filter_map(|glob| self.lead(at, glob, depth + 1));
            let mut found = modules.filter_map(|place| match place {
                PathTarget::Module(other) => self.look_up(&other, name, is_last, depth + 1),
                PathTarget::Item(_) => None,
            });
            found.next()
        };
        let own = if is_last { item.or(child) } else { child.or(item) };
        own.or_else(imported).or_else(through_glob)
    }
}

/// `crates/x/src/a/mod.rs` and `crates/x/src/a.rs` are both module `a`.
fn module_path(root: &str, path: &str) -> Path {
    let inside = path.strip_prefix(root).unwrap_or(path).trim_start_matches("/src/").trim_end_matches(".rs");
    let mut parts: Path = inside.split('/').map(str::to_owned).collect();
    parts.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    parts
}

/// Whether what has these attributes is compiled for tests only.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

/// The attributes of an item, and the name that it defines; `None`: it is of a sort that we do not write.
pub(super) fn head(item: &Item) -> Option<(&[Attribute], Option<&Ident>)> {
    Some(match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => return None,
    })
}

/// Collects what one file defines and names.
struct PathCollector<'s, 'a> {
    sources: &'s mut CrateSources<'a>,
    file: &'a str,
    at: Path,
}

impl PathCollector<'_, '_> {
    fn enter(&mut self) {
        self.module().file = self.file;
    }
}

impl<'a> PathCollector<'_, 'a> {
    fn module(&mut self) -> &mut Module<'a> {
        self.sources.modules.entry(self.at.clone()).or_default()
    }

    /// `a::{self, b as c, d::*}`: three names. Those handed on to others make no arrow here.
    fn imports(&mut self, tree: &UseTree, prefix: &Path, is_handed_on: bool) {
        let (name, path) = match tree {
            UseTree::Path(path) => {
                let longer = [prefix.as_slice(), &[path.ident.to_string()]].concat();
                return self.imports(&path.tree, &longer, is_handed_on);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.imports(tree, prefix, is_handed_on));
            }
            UseTree::Glob(_) => return self.module().globs.push(prefix.clone()),
            UseTree::Name(name) if name.ident == "self" => {
                (prefix.last().cloned().unwrap_or_default(), prefix.clone())
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                (name.clone(), [prefix.as_slice(), &[name]].concat())
            }
            UseTree::Rename(renamed) => {
                let path = [prefix.as_slice(), &[renamed.ident.to_string()]].concat();
                (renamed.rename.to_string(), path)
            }
        };
        if !is_handed_on {
            self.sources.named.push((self.at.clone(), path.clone()));
        }
        self.module().imported.insert(name, path);
    }
}

impl<'ast> Visit<'ast> for PathCollector<'_, '_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let Some((attributes, name)) = head(item) else { return };
        if is_test(attributes) {
            return;
        }
        if let Some(name) = name {
            let name = name.to_string();
            self.module().defined.insert(name);
        }
        match item {
            Item::Use(item) => {
                let is_handed_on = !matches!(item.vis, Visibility::Inherited);
                self.imports(&item.tree, &Path::new(), is_handed_on);
            }
            Item::Mod(item) if item.content.is_some() => {
                self.at.push(item.ident.to_string());
                self.enter();
                visit::visit_item_mod(self, item);
                self.at.pop();
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.sources.named.push((self.at.clone(), names));
        }
        visit::visit_path(self, path);
    }

    /// A function that serde is to call is in a string: `#[serde(with = "histogram::base64_bytes")]`.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if !attribute.path().is_ident("serde") {
            return;
        }
        let settings = attribute.parse_args_with(Punctuated::<syn::Meta, Token![,]>::parse_terminated);
        for setting in settings.into_iter().flatten() {
            let syn::Meta::NameValue(setting) = setting else { continue };
            let is_code = CALLED_BY_SERDE.iter().any(|key| setting.path.is_ident(key));
            let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = setting.value else { continue };
            if is_code && let Ok(path) = text.parse::<syn::Path>() {
                let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                self.sources.named.push((self.at.clone(), names));
            }
        }
    }

    /// The arguments of `format!`, `vec!`, `assert!` and their like are expressions.
    fn visit_macro(&mut self, called: &'ast Macro) {
        let arguments = called.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        for argument in arguments.into_iter().flatten() {
            // What was parsed lives as long as this call, the file longer: a reader of its own takes the names over.
            PathCollector { sources: self.sources, file: self.file, at: self.at.clone() }
                .visit_expr(&argument);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: format!("crates/x/src/{path}"),
            text: (*text).to_owned(),
        };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        check(&files).into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_found_with_the_names_taken() {
        let found = complaints(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::{self, B as Other}; pub struct A; pub fn f() { b::g() }"),
            ("b.rs", "pub struct B; pub fn g() { println!(\"{}\", crate::a::f()) }"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("crates/x/src/a.rs takes B from crates/x/src/b.rs"), "{found:?}");
        assert!(found[0].contains("crates/x/src/b.rs takes f from crates/x/src/a.rs"), "{found:?}");
    }

    #[test]
    fn a_longer_circle_is_one_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use super::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
            ("d.rs", "use crate::a::A;"),
        ];
        let found = complaints(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(!found[0].contains("d.rs"), "{found:?}");
    }

    #[test]
    fn a_child_imports_from_its_parent_only_its_re_exports() {
        let child = ("a/child.rs", "use super::Shared; pub fn f() {}");
        let brother = ("a/brother.rs", "pub struct Shared;");
        let lib = ("lib.rs", "mod a;");
        let handed_on = "mod child; mod brother; pub(crate) use brother::Shared; fn g() { child::f() }";
        assert_eq!(complaints(&[lib, ("a/mod.rs", handed_on), child, brother]), Vec::<String>::new());
        let defined = "mod child; pub struct Shared; fn g() { child::f() }";
        assert_eq!(complaints(&[lib, ("a.rs", defined), child]).len(), 1);
        let only_declared = "pub mod child; pub struct Shared; pub use child::f;";
        assert_eq!(complaints(&[lib, ("a.rs", only_declared), child]), Vec::<String>::new());
    }

    #[test]
    fn tests_and_names_from_outside_make_no_arrow() {
        let files = [
            ("lib.rs", "mod a; mod process;"),
            (
                "a.rs",
                "use std::process; use crate::process::P; #[cfg(test)] mod tests { use super::*; } fn f() { process::exit(1) }",
            ),
            (
                "process.rs",
                "pub struct P; #[cfg(test)] use crate::a::f; #[cfg(test)] mod tests { use crate::a::f; }",
            ),
        ];
        assert_eq!(complaints(&files), Vec::<String>::new());
    }

    #[test]
    fn functions_named_in_serde_attributes_make_an_arrow() {
        let found = complaints(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub const A: u8 = 1; pub mod text { pub fn serialize() {} }"),
            ("b.rs", "pub struct B { #[serde(default, with = \"crate::a::text\")] b: u8 } pub fn g() {}"),
        ]);
        assert_eq!(found, Vec::<String>::new(), "one way is no circle");
        let found = complaints(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub fn text() {}"),
            ("b.rs", "pub struct B { #[serde(deserialize_with = \"crate::a::text\")] b: u8 }"),
        ]);
        assert!(found.len() == 1 && found[0].contains("b.rs takes text from"), "{found:?}");
    }

    #[test]
    fn a_file_that_is_no_rust_is_named() {
        assert!(complaints(&[("lib.rs", "fn {")])[0].contains("cannot be read as Rust"));
    }
}
