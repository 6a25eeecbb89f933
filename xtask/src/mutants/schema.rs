//! A file with all its mutants in it, each behind its switch (a mutant schema).
//!
//! Edits are nested: where a mutant is on, what is around and within it is as it was; where it is off, what is within it is
//! edited in turn.

use std::ops::Range;

use super::Id;
use super::site::{Edit, Guard, Site};

/// A file of the copy, and what of it comes from where.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) text: String,
    /// The text of one mutant.
    pub(super) mutants: Vec<(Range<usize>, Id)>,
    /// All mutants of one place, with what is there where none is on.
    pub(super) sites: Vec<(Range<usize>, Vec<Id>)>,
    /// What is as it was.
    kept: Vec<UnchangedText>,
}

#[derive(Debug)]
struct UnchangedText {
    /// Where it begins in the source, and here.
    source: usize,
    written: usize,
}

/// The source with these places edited, but for the mutants that are left out.
pub(super) fn write(source: &str, sites: &[Site], left_out: impl Fn(Id) -> bool) -> Written {
    let sites: Vec<Site> = sites
        .iter()
        .filter_map(|site| remaining(site, &left_out))
        .collect();
    let mut written = Written::default();
    written.part(source, 0..source.len(), &sites);
    written
}

fn remaining(site: &Site, left_out: impl Fn(Id) -> bool) -> Option<Site> {
    let is_in = |id: &Id| !left_out(*id);
    let edit = match &site.edit {
        Edit::Return(all) => {
            Edit::Return(all.iter().filter(|(id, _)| is_in(id)).cloned().collect())
        }
        Edit::Choice(all) => {
            Edit::Choice(all.iter().filter(|(id, _)| is_in(id)).cloned().collect())
        }
        Edit::Guard(guard) => Edit::Guard(Guard {
            deleted: guard.deleted.filter(is_in),
            always: guard.always.filter(is_in),
            never: guard.never.filter(is_in),
            binds: guard.binds,
        }),
    };
    let range = site.range.clone();
    (!edit.ids().is_empty()).then_some(Site { range, edit })
}

fn is(id: Id) -> String {
    format!("weir_core::mutant::is({id})")
}

impl Written {
    /// Where the byte `at` of this file comes from, if what is there is as it was.
    pub(super) fn source(&self, at: usize) -> Option<usize> {
        let kept = self.kept.iter().rev().find(|kept| kept.written <= at)?;
        Some(kept.source + (at - kept.written))
    }

    fn part(&mut self, source: &str, range: Range<usize>, sites: &[Site]) {
        let (mut at, mut rest) = (range.start, sites);
        while let Some((site, after)) = rest.split_first() {
            self.keep(source, at..site.range.start);
            let within = after.iter().take_while(|next| {
                next.range.start < site.range.end && next.range.end <= site.range.end
            });
            let (within, after) = after.split_at(within.count());
            self.edit(source, site, within);
            (at, rest) = (site.range.end, after);
        }
        self.keep(source, at..range.end);
    }

    fn keep(&mut self, source: &str, range: Range<usize>) {
        self.kept.push(UnchangedText {
            source: range.start,
            written: self.text.len(),
        });
        self.text += &source[range];
    }

    fn edit(&mut self, source: &str, site: &Site, within: &[Site]) {
        let start = self.text.len();
        match &site.edit {
            Edit::Return(all) => {
                for (id, value) in all {
                    self.text += &format!("if {} {{ return ", is(*id));
                    self.mutant(*id, value);
                    self.text += "; }\n";
                }
            }
            Edit::Choice(all) => {
                self.text.push('(');
                for (id, text) in all {
                    self.text += &format!("if {} {{ ", is(*id));
                    self.mutant(*id, text);
                    self.text += " } else ";
                }
                self.text += "{ ";
                self.part(source, site.range.clone(), within);
                self.text += " })";
            }
            Edit::Guard(guard) => self.guard(source, site, guard, within),
        }
        let ids = site.edit.ids();
        self.sites.push((start..self.text.len(), ids));
    }

    fn guard(&mut self, source: &str, site: &Site, guard: &Guard, within: &[Site]) {
        if site.range.is_empty() {
            if let Some(id) = guard.deleted {
                self.text += " if ";
                self.mutant(id, &format!("!{}", is(id)));
            }
            return;
        }
        if let Some(id) = guard.deleted {
            self.mutant(id, &format!("!{}", is(id)));
            self.text += " && ";
        }
        if guard.binds {
            self.part(source, site.range.clone(), within);
            return;
        }
        self.text.push('(');
        if let Some(id) = guard.always {
            self.mutant(id, &is(id));
            self.text += " || ";
        }
        if let Some(id) = guard.never {
            self.mutant(id, &format!("!{}", is(id)));
            self.text += " && ";
        }
        self.text.push('(');
        self.part(source, site.range.clone(), within);
        self.text += "))";
    }

    fn mutant(&mut self, id: Id, text: &str) {
        let start = self.text.len();
        self.text += text;
        self.mutants.push((start..self.text.len(), id));
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::Genre::{Arm, Binary, Field, Guard, Return, Unary};
    use super::super::list::tests::mutant_of;
    use super::super::list::{Genre, Mutant};
    use super::super::site::{Found, find};
    use super::*;

    type Change<'a> = (Genre, &'a str, &'a str);

    fn found(source: &str, changes: &[Change<'_>]) -> Found {
        let mutant = |(genre, what, with): &Change<'_>| mutant_of(source, *genre, what, with);
        let mutants: Vec<Mutant> = changes.iter().map(mutant).collect();
        let numbered: Vec<(Id, &Mutant)> = (1..).zip(&mutants).collect();
        find(source, &numbered).unwrap()
    }

    /// The statements of a function after its changes, numbered from 1, with a short name for the switch.
    fn after(body: &str, changes: &[Change<'_>]) -> String {
        let source = format!("fn f() {{ {body} }}");
        let found = found(&source, changes);
        assert_eq!(
            (found.unviable, found.not_tried),
            (vec![], vec![]),
            "{body}"
        );
        let text = write(&source, &found.sites, |_| false).text;
        assert!(syn::parse_file(&text).is_ok(), "{text}");
        let text = text.strip_prefix("fn f() { ").unwrap();
        let text = text.strip_suffix(" }").unwrap();
        text.replace("weir_core::mutant::is", "is")
    }

    #[test]
    fn a_function_returns_at_once() {
        let changes = [(Return, "one(); two()", "0"), (Return, "one(); two()", "1")];
        let due = "if is(1) { return 0; }\nif is(2) { return 1; }\none(); two()";
        assert_eq!(after("one(); two()", &changes), due);
    }

    #[test]
    fn an_operator_is_another_in_all_that_binds_as_tightly() {
        let changes = [(Binary, "*", "+"), (Binary, "-", "/")];
        let due = "(if is(1) { a - b + c } else if is(2) { a / b * c } else { a - b * c })";
        assert_eq!(after("a - b * c", &changes), due);
        let due = "(if is(1) { a -= b * c } else { a += (if is(2) { b / c } else { b * c }) });";
        assert_eq!(
            after("a += b * c;", &[(Binary, "+=", "-="), (Binary, "*", "/")]),
            due
        );
    }

    #[test]
    fn what_is_within_a_change_is_as_it_was_while_that_is_on() {
        let changes = [(Binary, "<", ">"), (Binary, "+", "-"), (Unary, "!", "")];
        let due = "(if is(1) { g(a + 1, !b) > c } else { g((if is(2) { a - 1 } else { a + 1 }), \
                   (if is(3) { b } else { !b })) < c })";
        assert_eq!(after("g(a + 1, !b) < c", &changes), due);
    }

    #[test]
    fn a_condition_that_binds_names_is_changed_in_its_parts() {
        let body = "if let Some(b) = a && b < c { d() }";
        let due = "if let Some(b) = a && (if is(1) { b > c } else { b < c }) { d() }";
        assert_eq!(after(body, &[(Binary, "<", ">")]), due);
        let source = format!("fn f() {{ {body} }}");
        assert_eq!(found(&source, &[(Binary, "&&", "||")]).unviable, [1]);
    }

    #[test]
    fn an_arm_is_never_taken() {
        let body = "match a { B => c, D if e => f, _ => g }";
        let due = "match a { B if !is(1) => c, D if !is(2) && ((e)) => f, _ => g }";
        assert_eq!(
            after(body, &[(Arm, "B => c,", ""), (Arm, "D if e => f,", "")]),
            due
        );
        let body = "match a { D if let Some(b) = e => f, _ => g }";
        let due = "match a { D if !is(1) && let Some(b) = e => f, _ => g }";
        assert_eq!(after(body, &[(Arm, "D if", "")]), due);
    }

    #[test]
    fn a_guard_is_always_or_never_true() {
        let body = "match a { D if e < h => f, _ => g }";
        let changes = [
            (Guard, "e < h", "true"),
            (Guard, "e < h", "false"),
            (Binary, "<", ">"),
        ];
        let due = "match a { D if (is(1) || !is(2) && ((if is(3) { e > h } else { e < h }))) => f, _ => g }";
        assert_eq!(after(body, &changes), due);
    }

    #[test]
    fn a_field_is_that_of_the_base() {
        let due = "(if is(1) { A {  c: 2, ..d } } else { A { b: 1, c: 2, ..d } })";
        assert_eq!(after("A { b: 1, c: 2, ..d }", &[(Field, "b: 1", "")]), due);
        assert_eq!(after("A { b: 1, c: 2, ..d }", &[(Field, "b: 1,", "")]), due);
    }

    #[test]
    fn what_is_worked_out_while_compiling_is_not_tried() {
        for source in [
            "fn f() { const A: u8 = 1 + 2; }",
            "fn f() { g([0; 1 + 2]) }",
            "fn f(a: [u8; 1 + 2]) {}",
        ] {
            assert_eq!(
                found(source, &[(Binary, "+", "-")]).not_tried,
                [1],
                "{source}"
            );
        }
    }

    #[test]
    fn a_mutant_that_is_left_out_leaves_what_was_there() {
        let source = "fn f() { a + b - c }";
        let sites = found(source, &[(Binary, "+", "-"), (Binary, "-", "+")]).sites;
        let text = write(source, &sites, |id| id == 1).text;
        let due = "fn f() { (if weir_core::mutant::is(2) { a + b + c } else { a + b - c }) }";
        assert_eq!(text, due);
        assert_eq!(write(source, &sites, |_| true).text, source);
    }

    #[test]
    fn it_is_known_what_of_the_text_is_whose() {
        let source = "fn f() { g(a + b) }";
        let sites = found(source, &[(Return, "g(a + b)", "0"), (Binary, "+", "-")]).sites;
        let written = write(source, &sites, |_| false);
        let of = |range: &Range<usize>| &written.text[range.clone()];
        let mutants: Vec<(&str, Id)> = written
            .mutants
            .iter()
            .map(|(range, id)| (of(range), *id))
            .collect();
        assert_eq!(mutants, [("0", 1), ("a - b", 2)]);
        let ids: Vec<&[Id]> = written.sites.iter().map(|(_, ids)| &ids[..]).collect();
        assert_eq!(ids, [[1], [2]]);
        let at = written.text.find("g(").unwrap();
        assert_eq!(written.source(at), source.find("g("));
        let end = written.text.len() - 1;
        assert_eq!(written.source(end), Some(source.len() - 1));
    }
}
