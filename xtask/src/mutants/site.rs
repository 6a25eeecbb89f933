//! Where a file is edited: the expression, the arm or the function around what a mutant changes.

use std::ops::Range;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, Pat};

use super::Id;
use super::list::{Genre, Mutant};
use super::text::Text;

/// A place that is edited, for one mutant or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    /// The bytes that are replaced; empty where something is put in.
    pub(super) range: Range<usize>,
    pub(super) edit: Edit,
}

/// What is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    /// Before the statements of a function: it returns one of these.
    Return(Vec<(Id, String)>),
    /// The guard of an arm, or the place after its pattern where it has none.
    Guard(Guard),
    /// An expression that is one of these instead.
    Choice(Vec<(Id, String)>),
}

/// The mutants of one arm.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Guard {
    /// The arm is never taken.
    pub(super) deleted: Option<Id>,
    pub(super) always: Option<Id>,
    pub(super) never: Option<Id>,
    /// Whether it binds names: it stands without parentheses then.
    pub(super) binds: bool,
}

/// The places of a file, from outside inwards and from the beginning to the end; and the mutants that have none.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) sites: Vec<Site>,
    /// They do not compile: a condition that binds names takes no other operator.
    pub(super) unviable: Vec<Id>,
    /// They are worked out while compiling, or cannot be found.
    pub(super) not_tried: Vec<Id>,
}

/// Where these mutants of one file are.
pub(super) fn find(source: &str, mutants: &[(Id, &Mutant)]) -> Result<Found> {
    let file = syn::parse_file(source).context("parsing it")?;
    let mut anchors = Anchors::default();
    anchors.visit_file(&file);
    let text = Text::new(source);
    let mut found = Found::default();
    for (id, mutant) in mutants {
        let range = text.range(mutant.span)?;
        if mutant.function.is_none() {
            found.not_tried.push(*id);
            continue;
        }
        match anchors.edit(source, *id, mutant, &range) {
            Placed::At(range, edit) => found.add(range, edit),
            Placed::Unviable => found.unviable.push(*id),
            Placed::Nowhere => found.not_tried.push(*id),
        }
    }
    found.sites.sort_by_key(Site::order);
    Ok(found)
}

impl Site {
    /// What is put in comes before what begins there; what is around comes before what is within.
    fn order(&self) -> (usize, bool, std::cmp::Reverse<usize>, bool) {
        let Range { start, end } = self.range;
        let inner = matches!(self.edit, Edit::Choice(_));
        (start, start != end, std::cmp::Reverse(end), inner)
    }
}

impl Found {
    /// Mutants of one place are one edit.
    fn add(&mut self, range: Range<usize>, edit: Edit) {
        let kind = std::mem::discriminant(&edit);
        let same =
            |site: &&mut Site| site.range == range && std::mem::discriminant(&site.edit) == kind;
        match self.sites.iter_mut().find(same) {
            Some(site) => site.edit.merge(edit),
            None => self.sites.push(Site { range, edit }),
        }
    }
}

impl Edit {
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Return(all), Self::Return(more)) | (Self::Choice(all), Self::Choice(more)) => {
                all.extend(more);
            }
            (Self::Guard(all), Self::Guard(more)) => {
                all.deleted = all.deleted.or(more.deleted);
                all.always = all.always.or(more.always);
                all.never = all.never.or(more.never);
            }
            _ => {}
        }
    }

    /// The mutants of this place.
    pub(super) fn ids(&self) -> Vec<Id> {
        match self {
            Self::Return(all) | Self::Choice(all) => all.iter().map(|(id, _)| *id).collect(),
            Self::Guard(guard) => {
                let ids = [guard.deleted, guard.always, guard.never];
                ids.into_iter().flatten().collect()
            }
        }
    }
}

enum Placed {
    At(Range<usize>, Edit),
    Unviable,
    Nowhere,
}

/// What mutants are found by.
#[derive(Debug, Default)]
struct Anchors {
    operators: Vec<Operator>,
    structs: Vec<Range<usize>>,
    arms: Vec<Arm>,
}

/// An operator, and the expression in which another takes its place.
#[derive(Debug)]
struct Operator {
    range: Range<usize>,
    /// None where the expression binds names, as in a chain of `let`.
    within: Option<Range<usize>>,
}

#[derive(Debug)]
struct Arm {
    start: usize,
    /// Its guard, or the place for one.
    guard: Range<usize>,
    binds: bool,
}

impl Anchors {
    fn edit(&self, source: &str, id: Id, mutant: &Mutant, range: &Range<usize>) -> Placed {
        match mutant.genre {
            Genre::Return => {
                let edit = Edit::Return(vec![(id, mutant.replacement.clone())]);
                Placed::At(range.start..range.start, edit)
            }
            Genre::Binary | Genre::Unary => {
                let mut operators = self.operators.iter();
                match operators.find(|operator| operator.range == *range) {
                    None => Placed::Nowhere,
                    Some(Operator { within: None, .. }) => Placed::Unviable,
                    Some(Operator {
                        within: Some(within),
                        ..
                    }) => chosen(source, id, within, range, &mutant.replacement),
                }
            }
            Genre::Field => {
                let around = self.structs.iter().filter(|one| contains(one, range));
                match around.min_by_key(|one| one.len()) {
                    None => Placed::Nowhere,
                    Some(within) => chosen(source, id, within, &with_comma(source, range), ""),
                }
            }
            Genre::Arm => {
                let mut arms = self.arms.iter();
                match arms.find(|arm| arm.start == range.start) {
                    None => Placed::Nowhere,
                    Some(arm) => arm.edit(Guard {
                        deleted: Some(id),
                        ..Guard::default()
                    }),
                }
            }
            Genre::Guard => {
                let mut arms = self.arms.iter();
                match arms.find(|arm| arm.guard == *range) {
                    None => Placed::Nowhere,
                    Some(arm) if arm.binds => Placed::Unviable,
                    Some(arm) => arm.edit(guard(id, &mutant.replacement)),
                }
            }
        }
    }
}

fn guard(id: Id, replacement: &str) -> Guard {
    let always = replacement == "true";
    Guard {
        always: always.then_some(id),
        never: (!always).then_some(id),
        ..Guard::default()
    }
}

impl Arm {
    fn edit(&self, guard: Guard) -> Placed {
        let guard = Guard {
            binds: self.binds,
            ..guard
        };
        Placed::At(self.guard.clone(), Edit::Guard(guard))
    }
}

/// The expression `within`, with the part `range` of it replaced.
fn chosen(source: &str, id: Id, within: &Range<usize>, range: &Range<usize>, with: &str) -> Placed {
    let before = &source[within.start..range.start];
    let after = &source[range.end..within.end];
    let text = format!("{before}{with}{after}");
    Placed::At(within.clone(), Edit::Choice(vec![(id, text)]))
}

/// A field with the comma that follows it, where the range has none.
fn with_comma(source: &str, range: &Range<usize>) -> Range<usize> {
    if source[range.clone()].ends_with(',') {
        return range.clone();
    }
    let rest = &source[range.end..];
    let blank = rest.len() - rest.trim_start().len();
    let comma = usize::from(rest[blank..].starts_with(','));
    range.start..range.end + (blank + 1) * comma
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

impl Anchors {
    /// An operator is replaced in the whole of what is bound by operators without parentheses: `a - b * c` becomes `a - b + c`,
    /// as it does in the text, and not `a - (b + c)`.
    fn binary(&mut self, node: &ExprBinary, around: Option<Range<usize>>) {
        let binds = binds(&node.left) || binds(&node.right);
        let assigns = assigns(&node.op);
        let within = match around {
            Some(around) if !assigns => around,
            _ => range(node),
        };
        self.operators.push(Operator {
            range: range(&node.op),
            within: (!binds).then(|| within.clone()),
        });
        for side in [&*node.left, &*node.right] {
            match side {
                Expr::Binary(inner) => {
                    self.binary(inner, (!binds && !assigns).then(|| within.clone()))
                }
                other => self.visit_expr(other),
            }
        }
    }
}

/// Whether a condition binds names.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

fn assigns(operator: &BinOp) -> bool {
    use BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
        ShlAssign, ShrAssign, SubAssign,
    };
    matches!(
        operator,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

impl<'ast> Visit<'ast> for Anchors {
    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        self.binary(node, None);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        self.operators.push(Operator {
            range: range(&node.op),
            within: Some(range(node)),
        });
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        self.structs.push(range(node));
        visit::visit_expr_struct(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let (guard, binds) = match &node.pat {
            Pat::Guard(guarded) => (range(&guarded.guard), binds(&guarded.guard)),
            pattern => {
                let end = range(pattern).end;
                (end..end, false)
            }
        };
        self.arms.push(Arm {
            start: range(node).start,
            guard,
            binds,
        });
        visit::visit_arm(self, node);
    }

    // What follows is worked out while compiling, when no mutant is on.

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
    }
}
