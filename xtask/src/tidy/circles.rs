//! Files of one room that need each other: there are to be none, so that each is understood without those that use it.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree};

/// The rooms that are looked at: the one in which a request is decided.
pub(super) const ROOMS: [&str; 1] = ["edge/src/isolate"];

/// A module, by its path from the crate's root.
type Module = Vec<String>;

/// What is wrong: a line for each file of a room that imports, be it by way of others, one that imports it.
pub(super) fn check<'a>(
    room: &str,
    files: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<String> {
    let folder = format!("{room}/");
    let top = format!("{room}.rs");
    let of_room = files
        .filter(|(path, _)| *path == top || (path.starts_with(&folder) && path.ends_with(".rs")));
    let parsed: BTreeMap<Module, (&str, syn::File)> = of_room
        .filter_map(|(path, text)| Some((module(path)?, (path, syn::parse_file(text).ok()?))))
        .collect();
    let known: BTreeSet<&Module> = parsed.keys().collect();
    let mut imports: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, (_, file)) in &parsed {
        imports.insert(module, imported(module, file, &known));
    }
    // Who imports nothing that is left is in no circle.
    loop {
        let left: BTreeSet<Module> = imports.keys().map(|module| (*module).clone()).collect();
        let needs = |of: &BTreeSet<Module>| of.iter().any(|other| left.contains(other));
        let before = imports.len();
        imports.retain(|_, of| needs(of));
        if imports.len() == before {
            break;
        }
    }
    // What is left imports a circle or is in one.
    let left: BTreeSet<&Module> = imports.keys().copied().collect();
    let line = |(module, of): (&&Module, &BTreeSet<Module>)| {
        let needed = of.iter().filter(|other| left.contains(other));
        let needed: Vec<String> = needed.map(|other| other.join("::")).collect();
        let (path, _) = &parsed[*module];
        format!(
            "{path}: imports {}, which need it or each other",
            needed.join(", ")
        )
    };
    imports.iter().map(line).collect()
}

/// `edge/src/isolate/lease.rs` is `isolate::lease`.
fn module(path: &str) -> Option<Module> {
    let (_, rest) = path.split_once("/src/")?;
    let rest = rest.strip_suffix(".rs")?;
    Some(rest.split('/').map(str::to_owned).collect())
}

/// Those of the known modules that a file names, without itself.
fn imported(module: &Module, file: &syn::File, known: &BTreeSet<&Module>) -> BTreeSet<Module> {
    let mut named = Named::default();
    named.visit_file(file);
    let whole = named
        .0
        .into_iter()
        .filter_map(|path| whole(module, path, known));
    let longest = whole.filter_map(|path| {
        let mut prefixes = (1..=path.len()).rev().map(|length| path[..length].to_vec());
        prefixes.find(|prefix| known.contains(prefix))
    });
    longest.filter(|other| other != module).collect()
}

/// A path from the crate's root, if it leads there.
fn whole(module: &Module, path: Module, known: &BTreeSet<&Module>) -> Option<Module> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    if supers > 0 {
        let above = module.get(..module.len().checked_sub(supers)?)?;
        return Some([above, &path[supers..]].concat());
    }
    let first = path.first()?;
    match first.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        _ => {
            let below = [module.as_slice(), std::slice::from_ref(first)].concat();
            let is_below = known.contains(&below);
            is_below.then(|| [module.as_slice(), &path].concat())
        }
    }
}

/// The paths that the code of a file names, its tests left out.
#[derive(Default)]
struct Named(Vec<Module>);

impl Named {
    fn tree(&mut self, above: &Module, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                let below = [above.as_slice(), &[path.ident.to_string()]].concat();
                self.tree(&below, &path.tree);
            }
            UseTree::Name(name) => self
                .0
                .push([above.as_slice(), &[name.ident.to_string()]].concat()),
            UseTree::Rename(name) => self
                .0
                .push([above.as_slice(), &[name.ident.to_string()]].concat()),
            UseTree::Glob(_) => self.0.push(above.clone()),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(above, item)),
        }
    }
}

impl Visit<'_> for Named {
    fn visit_item_use(&mut self, item: &ItemUse) {
        self.tree(&Vec::new(), &item.tree);
    }

    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        if path.segments.len() > 1 {
            self.0.push(
                path.segments
                    .iter()
                    .map(|one| one.ident.to_string())
                    .collect(),
            );
        }
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let is_cfg = attribute.path().is_ident("cfg");
    is_cfg
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|name| name == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(files: &[(&str, &str)]) -> usize {
        check("edge/src/isolate", files.iter().copied()).len()
    }

    #[test]
    fn files_that_import_one_way_are_fine() {
        let files = [
            ("edge/src/isolate.rs", "mod a; mod b; mod c;"),
            (
                "edge/src/isolate/a.rs",
                "use super::b::{B, self}; use crate::isolate::c; use crate::other::D;",
            ),
            (
                "edge/src/isolate/b.rs",
                "mod part; fn f() { super::c::g(); part::h(); }",
            ),
            ("edge/src/isolate/b/part.rs", "fn h() {}"),
            (
                "edge/src/isolate/c.rs",
                "pub fn g() {}\n#[cfg(test)] mod tests { use super::super::a::A; }",
            ),
            ("edge/src/other.rs", "use crate::isolate::a::A;"),
        ];
        assert_eq!(check("edge/src/isolate", files.into_iter()), [""; 0]);
    }

    #[test]
    fn a_circle_is_found_however_it_is_named() {
        for back in [
            "use super::a::A;",
            "use crate::isolate::{a::A};",
            "fn f() { crate::isolate::a::f() }",
            "fn f(a: super::a::A) {}",
            "use super::{c::C, a as other};",
        ] {
            let two = [
                ("edge/src/isolate/a.rs", "use super::b::B;"),
                ("edge/src/isolate/b.rs", back),
            ];
            assert_eq!(circle(&two), 2, "{back}");
            let three = [
                ("edge/src/isolate/a.rs", "use super::c::C;"),
                ("edge/src/isolate/c.rs", "use super::b::B;"),
                ("edge/src/isolate/b.rs", back),
            ];
            assert_eq!(circle(&three), 3, "{back}");
        }
    }

    #[test]
    fn a_part_that_needs_the_whole_is_a_circle() {
        let files = [
            ("edge/src/isolate/b.rs", "mod part; use part::Part;"),
            ("edge/src/isolate/b/part.rs", "use super::Whole;"),
        ];
        assert_eq!(circle(&files), 2);
    }
}
