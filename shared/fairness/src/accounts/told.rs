//! What is told of accounts.

use weir_core::ordered::sort_by;

use super::Accounts;
use crate::ask::{Moment, TenantClaim};
use crate::share::ShareRow;
use crate::weight::Weight;

impl Accounts {
    /// What a tenant is guaranteed, or would be if it came.
    pub fn guarantee(&self, name: &str, claim: &TenantClaim, at: &Moment) -> u64 {
        let member = self.own_member(name);
        let is_counted = member.is_some() || self.carried.contains_key(name);
        let class = self.class_or(member, claim);
        let more = (!is_counted).then_some(class);
        let basis = self.classes.basis(more, at.limit, self.classes.rest(at));
        basis.guarantee(class)
    }

    /// Units that a tenant may use, whatever else is free.
    pub fn most(&self, name: &str, claim: &TenantClaim) -> u64 {
        let member = self.own_member(name);
        let class = self.class_or(member, claim);
        class.ceiling
    }

    /// Every account, by name.
    pub fn rows(&self, at: &Moment) -> Vec<ShareRow> {
        let basis = self.classes.basis(None, at.limit, self.classes.rest(at));
        let rows = self.members.iter().filter_map(|member| {
            let class = self.classes.get(member.class)?.key;
            Some(ShareRow {
                name: member.name.to_string(),
                weight: Weight::from_micros(class.weight).unwrap_or(Weight::WHOLE),
                guarantee: basis.guarantee(class),
                ceiling: class.ceiling,
                used: member.used,
            })
        });
        let mut rows: Vec<_> = rows.collect();
        sort_by(&mut rows, |one, other| one.name.cmp(&other.name));
        rows
    }
}
