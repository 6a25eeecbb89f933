//! The numbers that a tier, a tenant or an override may say otherwise than the policy says for all: one row each.
//!
//! From its row a number has its field in every form, its name in refusals and pointers, its place in the OpenAPI
//! document, what counts where nobody says it, and its unit and words in the console.

use serde::{Deserialize, Serialize};

use super::amount::AmountBody;
use super::decimal::Decimal;
use super::effective::Valued;
use super::metering::RateBody;
use super::policy::{Cadence, LimitBody, Scope};
use super::section::section;

/// What a row says of a number to those who list all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// Its field.
    pub name: &'static str,
    /// What it counts, for people; empty where it counts nothing, and for a length of time, whose name ends with `_ms`.
    pub unit: &'static str,
}

/// Makes a section of numbers, each of which may be absent, from their rows: a field's, and the unit.
macro_rules! numbers {
    ($(#[$doc:meta])* pub struct $form:ident {
        $($(#[$row:meta])* pub $name:ident: $type:ty = $schema:literal, $unit:literal;)+
    }) => {
        section! {
            $(#[$doc])*
            pub struct $form {
                $($(#[$row])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type> = $schema;)+
            }
        }

        impl $form {
            /// Its numbers, in the order of the document.
            pub const NUMBERS: &[Number] =
                &[$(Number { name: stringify!($name), unit: $unit }),+];
        }
    };
}

/// Makes the effective form of a section, too: every number of it, as the last of its row what counts where nobody says it,
/// and what else is told of the section.
macro_rules! effective_numbers {
    ($(#[$doc:meta])* pub struct $form:ident {
        $($(#[$row:meta])* pub $name:ident: $type:ty = $schema:literal, $unit:literal, $default:expr;)+
    } $(#[$effective_doc:meta])* pub struct $effective:ident {
        $($(#[$more_row:meta])* pub $more:ident: $more_type:ty = $more_schema:literal;)*
    }) => {
        numbers! { $(#[$doc])* pub struct $form { $($(#[$row])* pub $name: $type = $schema, $unit;)+ } }

        $(#[$effective_doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $effective {
            $($(#[$row])* pub $name: Valued<$type>,)+
            $($(#[$more_row])* pub $more: $more_type,)*
        }

        impl $effective {
            /// Its fields, as the OpenAPI document has them.
            pub const SCHEMA: &str = concat!(
                $(stringify!($name), ": Valued, ",)+
                $(stringify!($more), ": ", $more_schema, ", ",)*
            );

            /// Each number as the first layer has it that says one; `None` if one without a default is not said.
            #[must_use]
            pub fn of(layers: &impl Layers<$form>, $($more: $more_type),*) -> Option<Self> {
                Some(Self {
                    $($name: layers.first(stringify!($name), |form| form.$name, $default)?,)+
                    $($more,)*
                })
            }
        }
    };
}

/// The layers of the policy that may say the numbers of a form: an override, the tenant, its tier, and the policy itself.
pub trait Layers<F> {
    /// What the first layer says that says anything of a field, else the default.
    fn first<T>(
        &self,
        field: &str,
        of: impl Fn(&F) -> Option<T>,
        default: Option<T>,
    ) -> Option<Valued<T>>;
}

effective_numbers! {
/// A tenant's claim to one budget.
#[derive(Copy)]
pub struct BudgetOverrideBody {
    /// Its weight there.
    pub weight: Decimal = "number", "", None;
    /// Units above its guarantee that it may use in a window.
    pub borrow_max: AmountBody = "Amount", "units/window", Some(AmountBody::Unlimited);
    /// Units of its guarantee that others may use while it does not.
    pub lend_max: AmountBody = "Amount", "units/window", Some(AmountBody::Unlimited);
    /// Units that it may use in a window, whatever else is free.
    pub ceiling: AmountBody = "Amount", "units/window", Some(AmountBody::Unlimited);
    /// Units that are set aside for it in a window before weights divide the rest.
    pub floor: u64 = "integer", "units/window", Some(0);
}

/// A tenant's claim to a budget, as it counts.
pub struct EffectiveBudgetBody {}
}

/// Seconds of a meter's rate in a full bucket, where the policy does not say: the default of the meters' source.
pub const BURST_SECONDS: Decimal = Decimal(10.0);

/// For how long one batch may leave a meter's bucket empty, where the policy does not say: a minute.
pub const MAX_DEBT_MS: u64 = 60_000;

effective_numbers! {
/// The numbers of a meter.
#[derive(Copy)]
pub struct MeterOverrideBody {
    /// Units per second.
    pub per_sec: RateBody = "number or 'unlimited'", "units/s", None;
    /// Seconds of that rate in a full bucket.
    pub burst_seconds: Decimal = "number", "s", Some(BURST_SECONDS);
    /// How long one batch may leave the bucket empty.
    pub max_debt_ms: u64 = "integer", "", Some(MAX_DEBT_MS);
}

/// A meter as it counts for one tenant.
pub struct EffectiveMeterBody {
    /// What it bounds.
    pub scope: Scope = "Scope";
    /// Whether what it admits is billed.
    pub billable: bool = "boolean";
    /// Whether it denies.
    pub enforced: bool = "boolean";
}
}

/// After how long a call counts as ended that nobody has renewed or released, where the policy does not say.
pub const LEASE_MS: u64 = 30_000;

effective_numbers! {
/// The numbers of a guard.
#[derive(Copy)]
pub struct GuardOverrideBody {
    /// Calls at a time.
    pub concurrency: AmountBody = "Amount", "calls", Some(AmountBody::Unlimited);
    /// Calls in a minute.
    pub per_minute: AmountBody = "Amount", "calls/min", Some(AmountBody::Unlimited);
    /// How long a call counts as running without a renewal or release.
    pub lease_ms: u64 = "integer", "", Some(LEASE_MS);
}

/// A guard as it counts for one tenant.
pub struct EffectiveGuardBody {
    /// What it bounds.
    pub scope: Scope = "Scope";
    /// Whether it denies.
    pub enforced: bool = "boolean";
}
}

/// Makes the form of a limit's numbers, and what they are within the limit itself.
macro_rules! limit_numbers {
    ($(#[$doc:meta])* pub struct $form:ident {
        $($(#[$row:meta])* pub $name:ident: $type:ty = $schema:literal, $unit:literal;)+
    }) => {
        numbers! { $(#[$doc])* pub struct $form { $($(#[$row])* pub $name: $type = $schema, $unit;)+ } }

        impl $form {
            /// A limit with these numbers in the place of its own.
            #[must_use]
            pub fn over(&self, limit: &LimitBody) -> LimitBody {
                let mut limit = limit.clone();
                $(if self.$name.is_some() {
                    limit.$name.clone_from(&self.$name);
                })+
                limit
            }

            /// The fields of a limit that are given, in the order of the document.
            pub fn given(limit: &LimitBody) -> impl Iterator<Item = &'static str> + use<> {
                let fields = [$((stringify!($name), limit.$name.is_some())),+];
                let given = fields.into_iter().filter(|(_, given)| *given);
                given.map(|(name, _)| name)
            }
        }
    };
}

limit_numbers! {
/// The numbers of a limit, as its algorithm has them.
pub struct LimitOverrideBody {
    /// Units per period, window or cadence.
    pub limit: u64 = "integer", "units";
    /// The period.
    pub period_ms: u64 = "integer", "";
    /// Units at once.
    pub burst: u64 = "integer", "units";
    /// Tokens in a full bucket.
    pub capacity: Decimal = "number", "tokens";
    /// Tokens that flow in.
    pub refill_per_sec: Decimal = "number", "tokens/s";
    /// Tokens that may be taken at once.
    pub peak_capacity: Decimal = "number", "tokens";
    /// Tokens that may be taken in a second after that.
    pub peak_per_sec: Decimal = "number", "tokens/s";
    /// Length of the window.
    pub window_ms: u64 = "integer", "";
    /// Parts of the window.
    pub buckets: u64 = "integer", "";
    /// The period of a quota.
    pub cadence: Cadence = "string", "";
    /// Minutes of local time before UTC.
    pub offset_minutes: i64 = "integer", "";
    /// The time zone of the periods' calendar.
    pub time_zone: String = "string", "";
    /// The first day of a week.
    pub week_starts_on: u64 = "integer", "";
    /// The start of a period.
    pub anchor: i64 = "integer", "";
    /// Units that leave.
    pub rate_per_sec: Decimal = "number", "units/s";
    /// The longest wait.
    pub max_queue_ms: u64 = "integer", "";
}
}
