//! Weighted fair escrow at one holder: a budget that tenants share by the pinned rule, decided in full.
//!
//! One budget in three states serves the three paths. `admit`: within the guarantee. `borrow`: one unit of the
//! guarantee is left and two are asked for; the charge is taken back, and that is timed too, as otherwise nobody
//! could borrow twice. `deny`: the guarantee is used up, and what is free is kept for a tenant that does not ask.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use weir_shared::fairness::ask::Party;
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::fairness::share::{Rule, ShareTerms};
use weir_shared::fairness::weight::Weight;

use super::federated::grouped;
use super::random::Access;
use super::{Kernel, START, party};

/// Units of a guarantee for each unit of weight.
const PER_WEIGHT: u64 = 1 << 24;

/// The tenants, and one that never asks.
struct Crowd {
    tenants: u64,
    budget: LocalBudget,
}

impl Crowd {
    /// All are there, and each has used one unit.
    fn new(tenants: u64, rule: Rule) -> Self {
        let weights: u64 = (0..=tenants).map(|index| 1 + index % 8).sum();
        let mut budget = LocalBudget::new(LocalTerms {
            limit: weights * PER_WEIGHT,
            window_ms: 3_600_000,
            share: Some(ShareTerms {
                rule,
                tenants_max: tenants,
                unknown_weight_max: Weight::WHOLE,
                carried: false,
                floors: 0,
            }),
        });
        for index in 0..=tenants {
            let decision = budget.check(&party(index), 1, START);
            assert!(decision.admitted());
        }
        Self { tenants, budget }
    }

    /// All but one have used their guarantee but for so many units.
    fn used_but(&self, left: u64) -> LocalBudget {
        let mut budget = self.budget.clone();
        for index in 0..self.tenants {
            let guarantee = (1 + index % 8) * PER_WEIGHT;
            let decision = budget.check(&party(index), guarantee - 1 - left, START);
            assert!(decision.admitted());
        }
        budget
    }

    fn askers(&self, access: Access) -> Rc<[Party]> {
        let draws = 262_144.min(8 * self.tenants as usize);
        let order = access.draws(self.tenants, draws);
        order.into_iter().map(party).collect()
    }
}

/// The paths at so many tenants.
pub fn kernels(tenants: u64) -> Vec<Kernel> {
    let crowd = Crowd::new(tenants, Rule::Pinned);
    let borrowing = Rc::new(RefCell::new(crowd.used_but(1)));
    let denying = Rc::new(RefCell::new(crowd.used_but(0)));
    let both = Access::ALL.map(|access| (access, crowd.askers(access)));
    let admitting = Rc::new(RefCell::new(crowd.budget));
    let paths = [
        ("admit", admitting, admit as fn(&mut LocalBudget, &Party)),
        ("borrow, and undo", borrowing, borrow),
        ("deny", denying, deny),
    ];
    let mut kernels = Vec::new();
    for (path, budget, act) in paths {
        for (access, askers) in &both {
            let name = format!(
                "fair, {path}, {} tenants, {}",
                grouped(tenants),
                access.name()
            );
            let (budget, askers) = (Rc::clone(&budget), Rc::clone(askers));
            let mut at = 0;
            kernels.push(Kernel::new(name, move |times| {
                let budget = &mut *budget.borrow_mut();
                for _ in 0..times {
                    at = (at + 1) % askers.len();
                    act(budget, black_box(&askers[at]));
                }
            }));
        }
    }
    kernels
}

fn admit(budget: &mut LocalBudget, party: &Party) {
    let decision = black_box(budget.check(party, 1, START));
    assert!(decision.admitted(), "{decision:?}");
}

fn borrow(budget: &mut LocalBudget, party: &Party) {
    let decision = black_box(budget.check(party, 2, START));
    assert!(decision.admitted(), "{decision:?}");
    if let Some(label) = budget.label() {
        budget.undo(label, party, 2);
    }
}

fn deny(budget: &mut LocalBudget, party: &Party) {
    let decision = black_box(budget.check(party, 1, START));
    assert!(!decision.admitted(), "{decision:?}");
}
