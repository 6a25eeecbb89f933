//! The verdict: who is denied, by what, and whether it is over its share, in plain words.

use weir_shared::ordered::sort_by_key;
use weir_shared::wire::operator::budgets::BudgetsReply;
use weir_shared::wire::policy::Scope;

use crate::features::overview::model::denials::{Claim, DeniedRow};
use crate::features::tenant::model::query::{Tab, TenantQuery};
use crate::format::{counted, rate};
use crate::live::rates::CallsPerS;
use crate::tenant_name::TenantName;
use crate::what::What;

/// Tenants that are named; the others are counted.
pub const NAMED_MAX: usize = 3;

/// Rates below this are written as 0.0: nobody is denied so seldom at this moment.
const LEAST_PER_S: f64 = 0.05;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictKind {
    /// It is not known yet.
    Measuring,
    /// Nothing is denied.
    Calm,
    /// Somebody is denied, and nobody is over its share of a budget.
    Denying,
    /// Somebody asks for more than its share of a budget.
    OverShare,
}

impl VerdictKind {
    /// Its name for scripted journeys and styles.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Measuring => "measuring",
            Self::Calm => "calm",
            Self::Denying => "denying",
            Self::OverShare => "over-share",
        }
    }
}

/// Somebody who is denied.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    /// The name that it is counted under.
    pub tenant: String,
    /// Calls denied a second.
    pub per_s: f64,
    /// What denies most of them.
    pub what: What,
    /// How that comes about.
    pub how: How,
}

/// How a denial comes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum How {
    /// It asks a budget for more than its guarantee, both in units a second.
    OverShare {
        /// What it asks for.
        asked: f64,
        /// What is guaranteed to it.
        guaranteed: f64,
    },
    /// It asks a budget for no more than its guarantee.
    WithinShare {
        /// What is guaranteed to it, units a second.
        guaranteed: f64,
    },
    /// A budget that guarantees nothing is used up.
    UsedUp,
    /// A limit of its keys.
    OverLimit,
    /// A meter sheds it.
    AboveRate,
    /// A guard has no slot or no call of the minute left for it.
    NoSlot,
    /// A resource is overloaded, and it uses more than the fair rate.
    Overloaded,
}

impl How {
    /// In a sentence about the tenant.
    pub fn words(self, name: &str) -> String {
        match self {
            Self::OverShare { asked, guaranteed } => format!(
                "asks for {} units/s of {name}, and is guaranteed {} units/s",
                rate(Some(asked)),
                rate(Some(guaranteed))
            ),
            Self::WithinShare { guaranteed } => format!(
                "asks for no more than the {} units/s of {name} that it is guaranteed, but in bursts or in several regions",
                rate(Some(guaranteed))
            ),
            Self::UsedUp => {
                format!("{name} guarantees nothing and is used up before its window ends")
            }
            Self::OverLimit => format!("its keys are over the limit {name}"),
            Self::AboveRate => format!("brings more than the meter {name} lets through"),
            Self::NoSlot => format!("has no slot or call of the guard {name} left"),
            Self::Overloaded => {
                format!("uses more than the fair rate of {name}, which is overloaded")
            }
        }
    }
}

impl Culprit {
    /// What stands after its name in the headline.
    pub fn short(&self) -> String {
        format!(
            "{} denied/s by {}",
            rate(Some(self.per_s)),
            self.what.words()
        )
    }

    /// The query of its page that leads to the reason.
    pub fn why_query(&self) -> String {
        let query = TenantQuery {
            tab: Tab::Why,
            what: Some(self.what.clone()),
            ..TenantQuery::default()
        };
        query.to_query_string()
    }
}

/// How it stands, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How it stands.
    pub kind: VerdictKind,
    /// The sentence, without the names of tenants: those of [`Self::named`] follow it.
    pub headline: String,
    /// Those who are denied most, at most [`NAMED_MAX`].
    pub named: Vec<Culprit>,
    /// How many the headline is about.
    pub count: usize,
    /// What is to be known of everybody else.
    pub rest: String,
    /// Whether that is what rules in shadow mode would have denied.
    pub shadows: bool,
}

impl Verdict {
    /// Before anything is known.
    pub fn measuring() -> Self {
        Self {
            kind: VerdictKind::Measuring,
            headline: "Measuring who is denied now.".to_owned(),
            named: Vec::new(),
            count: 0,
            rest: String::new(),
            shadows: false,
        }
    }

    /// What the newest figures come to. `rows` are the tenants denied most at this moment; without `live` it is not known
    /// whether anything is called at all.
    pub fn of(
        rows: &[DeniedRow],
        budgets: Option<&BudgetsReply>,
        regions: usize,
        live: Option<CallsPerS>,
    ) -> Self {
        // Those of whom nothing is known yet were denied before: whether they still are is not.
        if rows.iter().any(|row| row.per_s.is_none()) && !rows.iter().any(is_denied) {
            return Self::measuring();
        }
        let mut denied: Vec<Culprit> = rows
            .iter()
            .filter(|row| is_denied(row))
            .filter_map(|row| culprit(row, budgets, regions))
            .collect();
        // Who is over its share stands before who is only hit by it.
        sort_by_key(&mut denied, |one| !matches!(one.how, How::OverShare { .. }));
        if denied.is_empty() {
            return calm(live);
        }
        let over = denied
            .iter()
            .filter(|one| matches!(one.how, How::OverShare { .. }))
            .count();
        let others = denied.len() - over;
        let (kind, headline, rest) = if over > 0 {
            let its = if over == 1 { "its" } else { "their" };
            let rest = match others {
                0 => "Everyone else is within its guarantee.".to_owned(),
                others => format!("{} denied for another reason.", are(others)),
            };
            (
                VerdictKind::OverShare,
                format!("{} over {its} share:", counted(over, "tenant")),
                rest,
            )
        } else {
            let rest = "Nobody is over its share of a budget.".to_owned();
            (
                VerdictKind::Denying,
                format!("{} denied:", counted(others, "tenant")),
                rest,
            )
        };
        denied.truncate(NAMED_MAX);
        Self {
            kind,
            headline,
            named: denied,
            count: if over > 0 { over } else { others },
            rest,
            shadows: false,
        }
    }

    /// What follows the first one in the headline: how many there are beside it.
    pub fn more(&self) -> String {
        match self.count.saturating_sub(1) {
            0 => String::new(),
            more => format!(", and {more} more"),
        }
    }

    /// All of it in one text, to be read aloud.
    pub fn text(&self) -> String {
        let mut text = self.headline.clone();
        if let Some(first) = self.named.first() {
            let name = TenantName::of(&first.tenant).label();
            text.push_str(&format!(" {name}, {}{}.", first.short(), self.more()));
        }
        if !self.rest.is_empty() {
            text.push_str(&format!(" {}", self.rest));
        }
        text
    }
}

fn are(tenants: usize) -> String {
    let verb = if tenants == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(tenants, "tenant"))
}

fn is_denied(row: &DeniedRow) -> bool {
    row.per_s.is_some_and(|per_s| per_s >= LEAST_PER_S)
}

/// Nobody is denied: what there is to say then.
fn calm(live: Option<CallsPerS>) -> Verdict {
    let rest = match live {
        Some(live) if live.would_deny >= LEAST_PER_S => format!(
            "Rules in shadow mode would have denied {} calls/s.",
            rate(Some(live.would_deny))
        ),
        Some(live) if live.admitted >= LEAST_PER_S => "Every call passes.".to_owned(),
        Some(_) => "There are no calls now.".to_owned(),
        None => String::new(),
    };
    Verdict {
        kind: VerdictKind::Calm,
        headline: "Nobody is denied.".to_owned(),
        named: Vec::new(),
        count: 0,
        rest,
        shadows: live.is_some_and(|live| live.would_deny >= LEAST_PER_S),
    }
}

fn culprit(row: &DeniedRow, budgets: Option<&BudgetsReply>, regions: usize) -> Option<Culprit> {
    let (kind, name) = row.by.as_ref()?;
    let how = match *kind {
        "budget" => of_budget(row.claim, name, budgets, regions),
        "limit" => How::OverLimit,
        "meter" => How::AboveRate,
        "guard" => How::NoSlot,
        _ => How::Overloaded,
    };
    Some(Culprit {
        tenant: row.tenant.clone(),
        per_s: row.per_s?,
        what: What::parse(&format!("{kind}:{name}"))?,
        how,
    })
}

fn of_budget(
    claim: Option<Claim>,
    name: &str,
    budgets: Option<&BudgetsReply>,
    regions: usize,
) -> How {
    let row = budgets.and_then(|reply| reply.budgets.iter().find(|row| row.name == name));
    let window_ms = row.and_then(|row| row.body.window_ms).filter(|ms| *ms > 0);
    let (Some(claim), Some(window_ms)) = (claim, window_ms) else {
        return How::UsedUp;
    };
    if claim.guarantee == 0 {
        return How::UsedUp;
    }
    let regional = row.is_some_and(|row| row.body.scope == Some(Scope::Region));
    let windows = if regional { regions.max(1) } else { 1 };
    let guaranteed = claim.guarantee as f64 * windows as f64 * 1_000.0 / window_ms as f64;
    match claim.asked_per_s > guaranteed {
        true => How::OverShare {
            asked: claim.asked_per_s,
            guaranteed,
        },
        false => How::WithinShare { guaranteed },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn budgets() -> BudgetsReply {
        let body = |scope, sharing| json!({"limit": 100, "window_ms": 10_000, "sharing": sharing, "scope": scope});
        let row = |name, body| json!({"name": name, "body": body, "tenants": 1, "total": {}});
        serde_json::from_value(json!({
            "at": 1, "policy_revision": 1, "unreachable": [], "budgets": [
                row("tokens", body("global", "weighted_fair_escrow")),
                row("local", body("region", "weighted_fair_share")),
                row("images", body("global", "first_come")),
            ],
        }))
        .unwrap()
    }

    /// Denied so often a second by something; of a budget with what it asks a second and its guarantee a window.
    fn row(
        tenant: &str,
        per_s: Option<f64>,
        by: (&'static str, &str),
        claim: (f64, u64),
    ) -> DeniedRow {
        DeniedRow {
            tenant: tenant.to_owned(),
            tier: None,
            per_s,
            calls: 900,
            by: Some((by.0, by.1.to_owned())),
            claim: (by.0 == "budget").then_some(Claim {
                asked_per_s: claim.0,
                guarantee: claim.1,
            }),
        }
    }

    fn verdict(rows: &[DeniedRow]) -> Verdict {
        let live = CallsPerS {
            admitted: 20.0,
            ..CallsPerS::default()
        };
        Verdict::of(rows, Some(&budgets()), 3, Some(live))
    }

    const TOKENS: (&str, &str) = ("budget", "tokens");

    #[test]
    fn who_is_over_its_share_is_named_with_what_denies_it() {
        let told = verdict(&[row("free:flood", Some(96.0), TOKENS, (120.0, 50))]);
        assert_eq!(told.kind, VerdictKind::OverShare);
        assert_eq!(
            told.text(),
            "1 tenant over its share: free:flood, 96.0 denied/s by budget tokens. Everyone else is within its guarantee."
        );
        assert_eq!(
            told.named[0].how.words("tokens"),
            "asks for 120.0 units/s of tokens, and is guaranteed 5.0 units/s"
        );
        assert_eq!(told.named[0].why_query(), "tab=why&what=budget%3Atokens");
    }

    #[test]
    fn who_is_denied_within_its_guarantee_is_not_called_a_culprit() {
        let told = verdict(&[
            row("victim", Some(50.0), TOKENS, (4.0, 50)),
            row("flood", Some(9.0), TOKENS, (80.0, 50)),
        ]);
        assert_eq!(told.headline, "1 tenant over its share:");
        assert_eq!(
            told.named[0].tenant, "flood",
            "before who is denied more often"
        );
        assert_eq!(told.rest, "1 tenant is denied for another reason.");
        let alone = verdict(&[row("victim", Some(50.0), TOKENS, (4.0, 50))]);
        assert_eq!(
            (alone.kind, alone.rest.as_str()),
            (
                VerdictKind::Denying,
                "Nobody is over its share of a budget."
            )
        );
    }

    #[test]
    fn each_kind_of_denial_has_its_words() {
        for (by, how) in [
            (("limit", "login"), How::OverLimit),
            (("meter", "bytes"), How::AboveRate),
            (("guard", "queries"), How::NoSlot),
            (("overload", "origin"), How::Overloaded),
            (("budget", "images"), How::UsedUp),
            (("budget", "gone"), How::UsedUp),
        ] {
            let told = verdict(&[row("a", Some(1.0), by, (9.0, 0))]);
            assert_eq!(told.named[0].how, how, "{by:?}");
            assert!(told.named[0].how.words(by.1).contains(by.1));
            assert_eq!(told.headline, "1 tenant denied:");
        }
    }

    #[test]
    fn a_guarantee_of_each_region_counts_in_all_of_them() {
        let asks = |per_s| verdict(&[row("a", Some(1.0), ("budget", "local"), (per_s, 50))]);
        assert_eq!(
            asks(14.9).kind,
            VerdictKind::Denying,
            "3 × 50 units in 10 s are 15 units/s"
        );
        assert_eq!(asks(15.1).kind, VerdictKind::OverShare);
    }

    #[test]
    fn few_are_named_and_all_are_counted() {
        let rows: Vec<_> = (0..5)
            .map(|place| row(&format!("t{place}"), Some(9.0), TOKENS, (80.0, 50)))
            .collect();
        let told = verdict(&rows);
        assert_eq!(told.headline, "5 tenants over their share:");
        assert_eq!(told.named.len(), NAMED_MAX);
        assert!(told.text().contains(", and 4 more."), "{}", told.text());
    }

    #[test]
    fn nobody_is_accused_before_it_is_known() {
        let told = verdict(&[row("old", None, TOKENS, (0.0, 0))]);
        assert_eq!(told.kind, VerdictKind::Measuring);
        assert_eq!(
            verdict(&[row("old", Some(0.0), TOKENS, (0.0, 0))]).kind,
            VerdictKind::Calm
        );
    }

    #[test]
    fn where_nobody_is_denied_it_says_what_happens_instead() {
        let calm = |live: Option<CallsPerS>| Verdict::of(&[], None, 1, live).text();
        let live = CallsPerS::default();
        assert_eq!(calm(None), "Nobody is denied.");
        assert_eq!(
            calm(Some(live)),
            "Nobody is denied. There are no calls now."
        );
        let busy = CallsPerS {
            admitted: 3.0,
            ..live
        };
        assert_eq!(calm(Some(busy)), "Nobody is denied. Every call passes.");
        let shadowed = CallsPerS {
            would_deny: 12.0,
            ..busy
        };
        assert_eq!(
            calm(Some(shadowed)),
            "Nobody is denied. Rules in shadow mode would have denied 12.0 calls/s."
        );
        let leads = |live| Verdict::of(&[], None, 1, Some(live)).shadows;
        assert!(leads(shadowed) && !leads(busy));
    }
}
