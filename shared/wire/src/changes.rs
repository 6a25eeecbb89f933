//! What a tier, a tenant or an override says otherwise than the policy: the same fields in each of them.

/// Gives its rows to the section around them. Where a number may be another is said by its own table: see [`super::numbers`].
macro_rules! changes {
    ($($section:tt)*) => {
        $crate::section::section! { $($section)* {
            /// Numbers of meters, by name.
            #[serde(
                deserialize_with = "unique_map::deserialize",
                skip_serializing_if = "OrderedMap::is_empty"
            )]
            pub meters: OrderedMap<String, MeterOverrideBody> = "{MeterOverride}";
            /// Numbers of guards, by name.
            #[serde(
                deserialize_with = "unique_map::deserialize",
                skip_serializing_if = "OrderedMap::is_empty"
            )]
            pub guards: OrderedMap<String, GuardOverrideBody> = "{GuardOverride}";
            /// Numbers of limits with `per_tenant`, by name.
            #[serde(
                deserialize_with = "unique_map::deserialize",
                skip_serializing_if = "OrderedMap::is_empty"
            )]
            pub limits: OrderedMap<String, LimitOverrideBody> = "{LimitOverride}";
            /// Claims to budgets, by name.
            #[serde(
                deserialize_with = "unique_map::deserialize",
                skip_serializing_if = "OrderedMap::is_empty"
            )]
            pub budgets: OrderedMap<String, BudgetOverrideBody> = "{BudgetOverride}";
        } }
    };
}

pub(crate) use changes;

/// These fields, as the OpenAPI document has them.
pub const SCHEMA: &str = changes!(@fields);
