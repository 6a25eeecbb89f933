//! A tenant while it is being changed: its fields as text, and the patch that they come to. What is wrong with it is
//! found by the code that the edge runs.

use serde_json::{Map, Value};
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::limits::TENANT_DEPTH_MAX;
use weir_shared::policy::patch::merge;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::{PolicyDocument, TenantBody};
use weir_shared::wire::tenant::TenantPatch;

use super::numbers::{NumberDraft, as_text, fault, number, numbers, put, unsaid};
use super::override_draft::OverrideDraft;
use crate::features::policy::model::validate::without_zones;
use crate::visible::visible;

/// A value for each of [`TenantBody::CLAIMS`].
pub type Claims<T> = [T; TenantBody::CLAIMS.len()];

/// A tenant's fields as text; empty where the tenant has no word of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantDraft {
    /// Its tier.
    pub tier: String,
    /// Its weight.
    pub weight: String,
    /// The tenant above it.
    pub parent: String,
    /// What it claims of every budget, in the order of [`TenantBody::CLAIMS`].
    pub claims: Claims<String>,
    /// Its overrides.
    pub overrides: Vec<OverrideDraft>,
    /// Its own numbers of budgets, limits, meters and guards.
    pub numbers: Vec<NumberDraft>,
    /// Names without a number, which have no field here: they stay.
    pub kept: Map<String, Value>,
}

impl TenantDraft {
    /// What the policy says of a tenant, as text.
    pub fn of(body: &TenantBody) -> Self {
        let decimal = |value: Option<Decimal>| {
            let text = value.and_then(|value| serde_json::to_string(&value).ok());
            text.unwrap_or_default()
        };
        let written = weir_shared::json::to_value(body).unwrap_or_default();
        Self {
            tier: body.tier.clone().unwrap_or_default(),
            weight: decimal(body.weight),
            parent: body.parent.clone().unwrap_or_default(),
            claims: TenantBody::CLAIMS
                .map(|claim| written.get(claim.name).map(as_text).unwrap_or_default()),
            overrides: body.overrides.iter().map(OverrideDraft::of).collect(),
            numbers: numbers(&written),
            kept: unsaid(&written),
        }
    }

    /// The tenant as written.
    ///
    /// # Errors
    /// Every text that is no value, at its pointer within the tenant.
    pub fn body(&self) -> Result<TenantBody, Vec<Invalid>> {
        let mut errors = Vec::new();
        let weight = match self.weight.trim() {
            "" => None,
            text => {
                let value = number(text).and_then(|value| value.as_f64());
                if value.is_none() {
                    errors.push(fault("/weight".to_owned(), "is no number"));
                }
                value.map(Decimal)
            }
        };
        let mut numbers = self.kept.clone();
        for (claim, text) in TenantBody::CLAIMS.iter().zip(&self.claims) {
            match read_amount(text) {
                Some(amount) => {
                    numbers.extend(amount.map(|amount| (claim.name.to_owned(), amount)));
                }
                None => errors.push(fault(
                    format!("/{}", claim.name),
                    "is no whole number of at least 0, nor unlimited",
                )),
            }
        }
        let mut overrides = Vec::with_capacity(self.overrides.len());
        for (index, draft) in self.overrides.iter().enumerate() {
            match draft.body() {
                Ok(body) => overrides.push(body),
                Err(refused) => {
                    let prefix = format!("/overrides/{index}");
                    errors.extend(refused.into_iter().map(|one| one.under(&prefix)));
                }
            }
        }
        for one in &self.numbers {
            errors.extend(put(&mut numbers, one).err());
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let text = Value::Object(numbers).to_string();
        let numbers: TenantBody = read_json(text.as_bytes()).map_err(|error| vec![error])?;
        Ok(TenantBody {
            tier: said(&self.tier),
            weight,
            parent: said(&self.parent),
            overrides,
            ..numbers
        })
    }

    /// The change from `base`, where there is one.
    ///
    /// # Errors
    /// What is wrong, at its pointer within the tenant, or within the policy where it is about another part of it.
    pub fn change(
        &self,
        base: &TenantBody,
        setting: &Setting,
        tenant: &str,
    ) -> Result<Option<TenantPatch>, Vec<Invalid>> {
        let patch = TenantPatch::between(base, &self.body()?);
        if patch == TenantPatch::default() {
            return Ok(None);
        }
        let around = setting.around(tenant, base, &self.parent);
        merge(&around, tenant, &patch).map_err(|refused| vec![refused])?;
        Ok(Some(patch))
    }
}

/// The policy that a tenant is checked within. Only the tenants above and below it can be at odds with it: the others
/// are left out, so that a check takes no longer with ten thousand of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    document: PolicyDocument,
    rest: PolicyDocument,
}

impl Setting {
    /// The setting that a policy makes.
    pub fn of(document: &PolicyDocument) -> Self {
        let mut rest = without_zones(document).into_owned();
        rest.tenants.clear();
        Self {
            document: document.clone(),
            rest,
        }
    }

    /// The policy as it is in force.
    pub fn document(&self) -> &PolicyDocument {
        &self.document
    }

    /// The policy with the tenant as it is to be, for the preview of the server.
    pub fn candidate(&self, tenant: &str, body: &TenantBody) -> PolicyDocument {
        let mut candidate = self.document.clone();
        candidate.tenants.insert(tenant.to_owned(), body.clone());
        candidate
    }

    fn above<'a>(&'a self, tenant: &'a str) -> impl Iterator<Item = &'a str> {
        let parent = |name: &&str| self.document.tenants.get(*name)?.parent.as_deref();
        let line = std::iter::successors(Some(tenant), parent);
        line.take(TENANT_DEPTH_MAX + 1)
    }

    fn around(&self, tenant: &str, base: &TenantBody, parent: &str) -> PolicyDocument {
        let tenants = &self.document.tenants;
        let mut around = self.rest.clone();
        let mut add = |name: &str| {
            if let Some(body) = tenants.get(name) {
                around.tenants.insert(name.to_owned(), body.clone());
            }
        };
        let below = tenants
            .keys()
            .filter(|name| self.above(name).skip(1).any(|above| above == tenant));
        below.for_each(|name| add(name));
        self.above(parent).for_each(&mut add);
        self.above(tenant).for_each(&mut add);
        if base == &TenantBody::default() {
            around.tenants.remove(tenant);
        } else {
            around.tenants.insert(tenant.to_owned(), base.clone());
        }
        around
    }
}

/// `None` for what is no amount, `Some(None)` for nothing said.
fn read_amount(text: &str) -> Option<Option<Value>> {
    match text.trim() {
        "" => Some(None),
        "unlimited" => Some(Some(Value::from("unlimited"))),
        text => number(text).filter(Value::is_u64).map(Some),
    }
}

/// What is wrong at a pointer, or anywhere below it where `below` says so.
pub fn error_at<'a>(errors: &'a [Invalid], pointer: &str) -> Option<&'a Invalid> {
    errors.iter().find(|error| error.field == pointer)
}

/// What is wrong and belongs to no field of the form.
pub fn errors_elsewhere(errors: &[Invalid], pointers: &[String]) -> Vec<String> {
    let elsewhere = errors
        .iter()
        .filter(|error| !pointers.contains(&error.field));
    elsewhere.map(|error| visible(&error.to_string())).collect()
}

/// Every pointer that the form of a draft has a field for.
pub fn pointers(draft: &TenantDraft) -> Vec<String> {
    let claims = TenantBody::CLAIMS.map(|claim| claim.name);
    let own = ["tier", "weight", "parent"].into_iter().chain(claims);
    let mut pointers: Vec<String> = own.map(|field| format!("/{field}")).collect();
    pointers.extend(draft.numbers.iter().map(|number| number.at.pointer()));
    for (index, one) in draft.overrides.iter().enumerate() {
        let at = format!("/overrides/{index}");
        for field in ["starts_at", "expires_at", "weight"] {
            pointers.push(format!("{at}/{field}"));
        }
        let numbers = one.numbers.iter();
        pointers.extend(numbers.map(|number| format!("{at}{}", number.at.pointer())));
    }
    pointers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::features::tenant::model::numbers::NumberName;

    fn document() -> PolicyDocument {
        serde_json::from_value(json!({
            "regions": ["weur"], "tiers": { "pro": { "weight": 2 }, "free": { "weight": 1 } }, "default_tier": "free",
            "tenants": { "acme": body_json(), "other": {} },
            "meters": { "bytes": { "per_sec": 100 } },
        }))
        .unwrap()
    }

    fn body_json() -> Value {
        json!({
            "tier": "pro", "weight": 6, "parent": null, "borrow_max": 5000, "lend_max": "unlimited",
            "meters": { "bytes": { "per_sec": 400 } },
            "overrides": [ { "expires_at": 1_795_336_200_000_u64, "meters": { "bytes": { "per_sec": 500 } } } ],
        })
    }

    fn body() -> TenantBody {
        serde_json::from_value(body_json()).unwrap()
    }

    fn change(edit: impl FnOnce(&mut TenantDraft)) -> Result<Option<TenantPatch>, Vec<Invalid>> {
        let mut draft = TenantDraft::of(&body());
        edit(&mut draft);
        draft.change(&body(), &Setting::of(&document()), "acme")
    }

    #[test]
    fn a_tenant_comes_back_and_is_no_change() {
        assert_eq!(TenantDraft::of(&body()).body(), Ok(body()));
        assert_eq!(change(|_| ()), Ok(None));
        assert_eq!(change(|draft| draft.weight = " 6.0 ".to_owned()), Ok(None));
    }

    #[test]
    fn only_what_was_changed_is_in_the_patch() {
        let told = change(|draft| draft.weight = "7.5".to_owned());
        let patch = TenantPatch {
            weight: Some(Some(Decimal(7.5))),
            ..TenantPatch::default()
        };
        assert_eq!(told, Ok(Some(patch)));
    }

    #[test]
    fn its_own_numbers_are_changed_added_and_taken_away() {
        let more = change(|draft| {
            draft.numbers[0].value = "unlimited".to_owned();
            draft.numbers.push(NumberDraft {
                at: NumberName::new("meters", "bytes", "max_debt_ms"),
                value: "2 min".to_owned(),
            });
        });
        let meters = serde_json::to_value(more.unwrap().unwrap().meters).unwrap();
        assert_eq!(
            meters,
            json!({ "bytes": { "per_sec": "unlimited", "max_debt_ms": 120_000 } })
        );
        let none = change(|draft| draft.numbers.clear()).unwrap().unwrap();
        assert_eq!(
            none.meters.map(|meters| meters.map(|one| one.len())),
            Some(Some(0))
        );
    }

    #[test]
    fn a_name_without_a_number_stays() {
        let mut value = body_json();
        value["guards"] = json!({ "queries": {} });
        let body: TenantBody = serde_json::from_value(value).unwrap();
        assert_eq!(TenantDraft::of(&body).body(), Ok(body));
    }

    #[test]
    fn what_is_emptied_is_taken_away() {
        let change = change(|draft| {
            draft.weight.clear();
            draft.claims[0].clear();
            draft.overrides.clear();
        });
        let patch = change.unwrap().unwrap();
        assert_eq!((patch.weight, patch.borrow_max), (Some(None), Some(None)));
        assert_eq!((patch.overrides, patch.tier), (Some(Some(vec![])), None));
    }

    #[test]
    fn what_is_wrong_is_said_at_its_field_by_the_rules_of_the_edge() {
        type Edit = fn(&mut TenantDraft);
        let cases: [(Edit, &str); 13] = [
            (|draft| draft.weight = "0".to_owned(), "/weight"),
            (|draft| draft.weight = "x".to_owned(), "/weight"),
            (|draft| draft.weight = "1.1234567".to_owned(), "/weight"),
            (|draft| draft.claims[0] = "-1".to_owned(), "/borrow_max"),
            (|draft| draft.claims[1] = "1.5".to_owned(), "/lend_max"),
            (|draft| draft.tier = "gold".to_owned(), "/tier"),
            (|draft| draft.parent = "acme".to_owned(), "/parent"),
            (|draft| draft.parent = "nobody".to_owned(), "/parent"),
            (
                |draft| draft.numbers[0].value = "0".to_owned(),
                "/meters/bytes/per_sec",
            ),
            (
                |draft| draft.numbers[0].value = "many".to_owned(),
                "/meters/bytes/per_sec",
            ),
            (
                |draft| draft.numbers[0].value.clear(),
                "/meters/bytes/per_sec",
            ),
            (
                |draft| draft.overrides[0].starts_at = "2030-01-01 00:00".to_owned(),
                "/overrides/0/expires_at",
            ),
            (
                |draft| draft.overrides[0].numbers[0].value = "0".to_owned(),
                "/overrides/0/meters/bytes/per_sec",
            ),
        ];
        for (edit, field) in cases {
            let errors = change(edit).unwrap_err();
            assert_eq!(errors[0].field, field, "{errors:?}");
            let mut draft = TenantDraft::of(&body());
            edit(&mut draft);
            assert!(pointers(&draft).contains(&errors[0].field));
            assert!(error_at(&errors, field).is_some());
        }
    }

    #[test]
    fn every_text_that_is_no_value_is_named_at_once() {
        let errors = change(|draft| {
            draft.weight = "x".to_owned();
            draft.claims[1] = "y".to_owned();
            draft.overrides[0].weight = "z".to_owned();
        });
        let errors = errors.unwrap_err();
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["/weight", "/lend_max", "/overrides/0/weight"]);
        assert_eq!(errors_elsewhere(&errors, &["/weight".to_owned()]).len(), 2);
    }

    #[test]
    fn a_tenant_that_the_policy_does_not_name_is_named_by_its_first_change() {
        let draft = TenantDraft {
            weight: "3".to_owned(),
            ..TenantDraft::default()
        };
        let setting = Setting::of(&document());
        let change = draft.change(&TenantBody::default(), &setting, "new");
        assert_eq!(change.unwrap().unwrap().weight, Some(Some(Decimal(3.0))));
        let candidate = setting.candidate("new", &draft.body().unwrap());
        assert_eq!(candidate.tenants["new"].weight, Some(Decimal(3.0)));
        assert_eq!(candidate.tenants.len(), 3);
    }

    #[test]
    fn leaving_tenants_out_that_do_not_matter_changes_no_verdict() {
        let mut document = document();
        let named = |parent: Option<String>| TenantBody {
            parent,
            ..TenantBody::default()
        };
        for level in 1..TENANT_DEPTH_MAX {
            let parent = (level > 1).then(|| format!("deep-{}", level - 1));
            document
                .tenants
                .insert(format!("deep-{level}"), named(parent));
        }
        let below = named(Some("acme".to_owned()));
        document.tenants.insert("acme/team".to_owned(), below);
        let setting = Setting::of(&document);
        let parents = ["other", "acme/team", "acme", "nobody"].map(str::to_owned);
        let deep = (1..TENANT_DEPTH_MAX).map(|level| format!("deep-{level}"));
        for parent in deep.chain(parents) {
            let mut draft = TenantDraft::of(&body());
            draft.parent.clone_from(&parent);
            let told = draft.change(&body(), &setting, "acme");
            let patch = TenantPatch::between(&body(), &draft.body().unwrap());
            let whole = merge(&document, "acme", &patch).map_err(|refused| vec![refused]);
            assert_eq!(told.is_ok(), whole.is_ok(), "{parent}: {told:?}");
        }
    }
}
