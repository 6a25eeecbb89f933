//! What the policy says of a tenant by its name, and `PATCH /operator/v1/tenants/{id}`: the fields of it that change, and
//! no others.

use serde::{Deserialize, Deserializer, Serialize};
use weir_core::ordered::OrderedMap;

use super::amount::AmountBody;
use super::decimal::Decimal;
use super::numbers::{BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody};
use super::overrides::OverrideBody;
use super::section::section;
use super::unique_map;

/// A number of a claim that a tenant says of all budgets at once, as the console asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimToAll {
    /// Its field.
    pub name: &'static str,
    /// Its field of the console's form.
    pub input: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// What it means, and what counts where it is empty.
    pub hint: &'static str,
}

section! {
/// One named tenant.
pub struct TenantBody {
    /// Its tier; by rule when absent.
    pub tier: Option<String> = "string?";
    /// Its weight; the tier's when absent.
    pub weight: Option<Decimal> = "number?";
    /// The tenant above it.
    pub parent: Option<String> = "string?";
    /// Units above its guarantee that it may use in a window of each budget; any number when absent.
    pub borrow_max: Option<AmountBody> = "Amount?";
    /// Units of its guarantee that others may use while it does not; all of it when absent.
    pub lend_max: Option<AmountBody> = "Amount?";
    ...Changes;
    /// Changes with a start and an end.
    pub overrides: Vec<OverrideBody> = "[Override]";
}
}

/// A field of a tenant as a change names it: its own value, or none.
trait Patched: Default {
    /// What the tenant itself says.
    type Own;
    /// As the value of a change.
    fn own(&self) -> Option<Self::Own>;
    /// From the value of a change; `None` if it takes the tenant's own word away.
    fn of(own: Option<Self::Own>) -> Self;
}

impl<T: Clone> Patched for Option<T> {
    type Own = T;

    fn own(&self) -> Self {
        self.clone()
    }

    fn of(own: Self) -> Self {
        own
    }
}

/// A list or a map without anything in it is one that says nothing.
macro_rules! patched_whole {
    ($([$($of:ident)*] $whole:ty;)+) => { $(
        impl<$($of: Clone),*> Patched for $whole where Self: Default {
            type Own = Self;

            fn own(&self) -> Option<Self> {
                Some(self.clone())
            }

            fn of(own: Option<Self>) -> Self {
                own.unwrap_or_default()
            }
        }
    )+ };
}

patched_whole! {
    [K V] OrderedMap<K, V>;
    [T] Vec<T>;
}

/// Makes the change of a tenant from one row a field: the form, its fields in the OpenAPI document, and both ways between
/// it and the tenant.
macro_rules! patch {
    ($(#[$doc:meta])* pub struct $form:ident of $whole:ident {
        $($(#[$row:meta])* pub $name:ident: $own:ty = $schema:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $form {
            $($(#[$row])*
            #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
            pub $name: Option<Option<$own>>,)+
            /// Why, for the audit log. No part of the tenant.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub why: Option<String>,
        }

        impl $form {
            /// Its fields, as the OpenAPI document has them.
            pub const SCHEMA: &str =
                concat!($(stringify!($name), "?: ", $schema, "?, ",)+ "why?: string?");

            /// The change from one word about a tenant to another: the fields in which they differ.
            #[must_use]
            pub fn between(from: &$whole, to: &$whole) -> Self {
                Self {
                    $($name: (from.$name != to.$name).then(|| to.$name.own()),)+
                    why: None,
                }
            }

            /// Changes a tenant: fields that are not named stay, and those that are named as null go.
            pub fn apply(self, body: &mut $whole) {
                $(if let Some(own) = self.$name {
                    body.$name = Patched::of(own);
                })+
            }
        }
    };
}

patch! {
/// A change of one tenant. What is absent stays as it is; null takes the tenant's own word away, so that what is
/// beneath counts.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::tenant::TenantPatch;
/// let patch: TenantPatch = read_json(br#"{"tier":"pro","weight":null}"#).unwrap();
/// assert_eq!(patch.tier, Some(Some("pro".to_owned())));
/// assert_eq!(patch.weight, Some(None));
/// assert_eq!(patch.parent, None);
/// ```
pub struct TenantPatch of TenantBody {
    /// Its tier.
    pub tier: String = "string";
    /// Its weight.
    pub weight: Decimal = "number";
    /// The tenant above it.
    pub parent: String = "string";
    /// Units above its guarantee that it may use.
    pub borrow_max: AmountBody = "Amount";
    /// Units of its guarantee that others may use.
    pub lend_max: AmountBody = "Amount";
    /// All that it says of meters; null for nothing.
    pub meters: OrderedMap<String, MeterOverrideBody> = "{MeterOverride}";
    /// All that it says of guards; null for nothing.
    pub guards: OrderedMap<String, GuardOverrideBody> = "{GuardOverride}";
    /// All that it says of limits; null for nothing.
    pub limits: OrderedMap<String, LimitOverrideBody> = "{LimitOverride}";
    /// All that it says of its claim to single budgets; null for nothing.
    pub budgets: OrderedMap<String, BudgetOverrideBody> = "{BudgetOverride}";
    /// The whole list of its overrides; null for none.
    pub overrides: Vec<OverrideBody> = "[Override]";
}
}

impl TenantBody {
    /// The numbers that it says of all budgets at once, but its weight.
    pub const CLAIMS: [ClaimToAll; 2] = [
        ClaimToAll {
            name: "borrow_max",
            input: "borrow-max",
            label: "May borrow",
            hint: "Above its guarantee, of each budget. Empty or unlimited: any number.",
        },
        ClaimToAll {
            name: "lend_max",
            input: "lend-max",
            label: "May lend",
            hint: "Of its guarantee, to others. Empty or unlimited: all of it.",
        },
    ];

    /// What it claims of every budget, where it says nothing else of one.
    #[must_use]
    pub fn claim(&self) -> BudgetOverrideBody {
        BudgetOverrideBody {
            weight: self.weight,
            borrow_max: self.borrow_max,
            lend_max: self.lend_max,
            ..BudgetOverrideBody::default()
        }
    }
}

/// A field that is there: null is a value.
fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
