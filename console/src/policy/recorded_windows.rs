//! The preview that the browser works out itself: both policies over the windows that ledgers recorded.

use std::collections::BTreeMap;

use weir_shared::policy::Policy;
use weir_shared::policy::preview::preview;
use weir_shared::report::recorded::recorded;
use weir_shared::units::EpochMs;
use weir_shared::wire::preview::{PreviewBody, PreviewKind};
use weir_shared::wire::windows::WindowRecord;

/// Windows of one budget that are asked for, newest first.
pub const WINDOWS_OF_EACH: u64 = 60;

/// Who would gain and who would lose in the budgets of both policies, over the newest of these windows.
pub fn over_windows(
    present: &Policy,
    candidate: &Policy,
    windows: Vec<WindowRecord>,
    now_ms: u64,
) -> PreviewBody {
    // Where the order of windows counts for nothing, meters and guards are left to the server, which has their minutes.
    let recorded = recorded(windows, Vec::new(), 0);
    preview(present, candidate, &recorded, EpochMs(now_ms))
}

/// Whether two previews say the same of budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Nothing was recorded that either could look at.
    Nothing,
    /// Everybody who gains or loses in one does so in the other.
    Same,
    /// So many tenants at a budget gain in one and not in the other, or lose.
    Other(usize),
}

impl Agreement {
    /// What two previews have in common.
    pub fn of(browser: &PreviewBody, server: &PreviewBody) -> Self {
        let (browser, server) = (signs(browser), signs(server));
        if browser.is_empty() && server.is_empty() {
            return Self::Nothing;
        }
        let sign = |of: &BTreeMap<(String, String), i8>, at: &(String, String)| {
            of.get(at).copied().unwrap_or(0)
        };
        let mut all: Vec<_> = browser.keys().chain(server.keys()).collect();
        all.sort();
        all.dedup();
        let differ = all
            .into_iter()
            .filter(|at| sign(&browser, at) != sign(&server, at))
            .count();
        if differ == 0 {
            Self::Same
        } else {
            Self::Other(differ)
        }
    }

    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::Nothing => "Neither has a recorded window to look at.".to_owned(),
            Self::Same => "Both agree on who gains and who loses in each budget.".to_owned(),
            Self::Other(1) => {
                "They differ for one tenant, as they looked at different windows.".to_owned()
            }
            Self::Other(number) => {
                format!("They differ for {number} tenants, as they looked at different windows.")
            }
        }
    }
}

/// Whether each tenant gains (1) or loses (-1) in each budget.
fn signs(body: &PreviewBody) -> BTreeMap<(String, String), i8> {
    let budgets = body
        .rows
        .iter()
        .filter(|row| row.kind == PreviewKind::Budget);
    let signs = budgets.map(|row| {
        let sign = match row.candidate.0.cmp(&row.present.0) {
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Less => -1,
        };
        ((row.name.clone(), row.tenant.clone()), sign)
    });
    signs.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_shared::limits::PREVIEW_WINDOWS_MAX;
    use weir_shared::wire::windows::WindowRecord;

    use super::*;
    use crate::policy::validate::check;

    fn policy(limit: u64, weight: u64) -> Policy {
        let document = json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "tenants": { "a": { "weight": weight } },
            "budgets": { "tokens": {
                "limit": limit, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "global"
            } }
        });
        check(&document).unwrap().policy
    }

    fn window(label: u64, tenants: Value) -> WindowRecord {
        serde_json::from_value(json!({
            "budget": "tokens", "label": label, "ends_at": label * 60_000, "limit": 100, "complete": true,
            "granted": null, "admitted": 0, "returned": 0, "unaccounted": null, "exact": true, "denied": 0,
            "jain": null, "tenants_seen": 2, "tenants": tenants
        }))
        .unwrap()
    }

    fn asked(tenant: &str, served: u64, denied: u64) -> Value {
        json!({ "tenant": tenant, "weight": 1, "entitlement": 50, "served": served, "borrowed": 0, "denied": denied })
    }

    #[test]
    fn a_heavier_tenant_gains_what_the_others_lose() {
        let windows = vec![window(7, json!([asked("a", 50, 50), asked("b", 50, 50)]))];
        let body = over_windows(&policy(100, 1), &policy(100, 4), windows, 0);
        let told: Vec<_> = body
            .rows
            .iter()
            .map(|row| (row.tenant.as_str(), row.present.0, row.candidate.0))
            .collect();
        assert_eq!(told, [("a", 50, 80), ("b", 50, 20)]);
        assert_eq!((body.gaining, body.losing, body.windows), (1, 1, 1));
    }

    #[test]
    fn only_the_newest_windows_are_looked_at() {
        let windows: Vec<_> = (1..=PREVIEW_WINDOWS_MAX + 50)
            .map(|label| window(label, json!([asked("a", 1, 0)])))
            .collect();
        let body = over_windows(&policy(100, 1), &policy(200, 1), windows, 0);
        assert_eq!(
            (body.windows, body.windows_left_out),
            (PREVIEW_WINDOWS_MAX, 50)
        );
        assert_eq!(body.gaining + body.losing, 0);
    }

    #[test]
    fn two_previews_agree_by_who_gains_and_who_loses() {
        let windows = |denied| {
            vec![window(
                7,
                json!([asked("a", 50, denied), asked("b", 50, 50)]),
            )]
        };
        let of = |denied, weight| {
            over_windows(&policy(100, 1), &policy(100, weight), windows(denied), 0)
        };
        assert_eq!(Agreement::of(&of(50, 4), &of(40, 4)), Agreement::Same);
        assert_eq!(Agreement::of(&of(50, 4), &of(50, 1)), Agreement::Other(2));
        let empty = over_windows(&policy(100, 1), &policy(50, 1), Vec::new(), 0);
        assert_eq!(Agreement::of(&empty, &empty), Agreement::Nothing);
    }
}
