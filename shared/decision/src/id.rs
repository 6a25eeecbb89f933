//! Decision ids: what every denial tells, so that its explanation can be found.
//!
//! An id is no key of a record: it carries what leads to the explanation, so that nothing is kept for a denial and no denial
//! is too many. It says when, in which region, by which rule and why, all of which the denial says anyway, and a hash of the
//! tenant's name, by which whoever knows the tenants finds it. Who knows an id knows nothing of anybody else; who makes one up
//! has made up a claim, which the counters of that minute bear out or do not.

use std::fmt;

use weir_core::invalid::Fault;
use weir_core::limits::{DECISION_ID_BYTES_MAX, JSON_INTEGER_MAX};
use weir_core::name::label;
use weir_core::name_hash::hash;
use weir_core::units::EpochMs;
use weir_wire::check::Reason;
use weir_wire::rule_kind::RuleKind;

/// The header of a denial that has its id.
pub const HEADER: &str = "weir-decision";

/// Between the parts of an id: no name of the policy has it.
const POINT: &str = ".";

/// Hexadecimal digits of a tenant's mark.
const MARK_DIGITS: usize = 16;

/// The hash of a tenant's name, as it stands in an id. Two names may share one: it says where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantMark([u8; MARK_DIGITS]);

impl TenantMark {
    /// The mark of a tenant.
    ///
    /// ```
    /// use weir_decision::id::TenantMark;
    /// assert_eq!(TenantMark::of("acme").as_str(), "5a0a02d29c9c2c19");
    /// ```
    #[must_use]
    pub fn of(tenant: &str) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut rest = hash(tenant.as_bytes());
        let mut digits = [b'0'; MARK_DIGITS];
        for digit in digits.iter_mut().rev() {
            if let Some(shown) = DIGITS.get((rest & 15) as usize) {
                *digit = *shown;
            }
            rest >>= 4;
        }
        Self(digits)
    }

    /// The mark of that text.
    fn read(text: &str) -> Option<Self> {
        let digits: [u8; MARK_DIGITS] = text.as_bytes().try_into().ok()?;
        let good = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
        digits.iter().all(good).then_some(Self(digits))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Hexadecimal digits are text.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A denial, as its id tells it.
///
/// ```
/// use weir_decision::id::Denial;
/// use weir_core::units::EpochMs;
/// use weir_wire::{check::Reason, rule_kind::RuleKind};
/// let denial = Denial {
///     at: EpochMs(1_764_150_000_123), tenant: "acme", region: "weur", reason: Reason::OverShare,
///     kind: RuleKind::Budget, rule: "tokens",
/// };
/// assert_eq!(denial.to_string(), "1764150000123.5a0a02d29c9c2c19.weur.over_share.budget.tokens");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial<'a> {
    /// When it was decided.
    pub at: EpochMs,
    /// Whom it is counted for.
    pub tenant: &'a str,
    /// The region that decided.
    pub region: &'a str,
    /// Why.
    pub reason: Reason,
    /// What kind of rule denied.
    pub kind: RuleKind,
    /// Its name.
    pub rule: &'a str,
}

impl<'a> Denial<'a> {
    /// The id but for its beginning, which is the time in decimal digits: between two denials of one tenant by one rule in
    /// one region for one reason, nothing else differs. `mark` is the tenant's.
    pub fn pieces(&self, mark: &'a TenantMark) -> [&'a str; 10] {
        let [a, b, c, d, e] = [
            mark.as_str(),
            self.region,
            self.reason.name(),
            self.kind.name(),
            self.rule,
        ];
        [POINT, a, POINT, b, POINT, c, POINT, d, POINT, e]
    }
}

impl fmt::Display for Denial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = TenantMark::of(self.tenant);
        let denial = Denial { ..*self };
        write!(f, "{}", self.at.0)?;
        let mut pieces = denial.pieces(&mark).into_iter();
        pieces.try_for_each(|piece| f.write_str(piece))
    }
}

/// An id that was read: well formed, and true or made up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionId {
    /// When it was decided.
    pub at: EpochMs,
    /// The mark of the tenant.
    pub tenant: TenantMark,
    /// The region that decided.
    pub region: String,
    /// Why.
    pub reason: Reason,
    /// What kind of rule denied.
    pub kind: RuleKind,
    /// Its name.
    pub rule: String,
}

impl DecisionId {
    /// Whether it may be a denial of that tenant.
    #[must_use]
    pub fn is_of(&self, tenant: &str) -> bool {
        TenantMark::of(tenant) == self.tenant
    }
}

impl TryFrom<&str> for DecisionId {
    type Error = Fault;

    /// Reads an id as [`Denial`] writes it, byte for byte.
    ///
    /// # Errors
    /// More than [`DECISION_ID_BYTES_MAX`] bytes, or another form.
    ///
    /// ```
    /// use weir_decision::id::DecisionId;
    /// let read = DecisionId::try_from("17.5a0a02d29c9c2c19.weur.cap_reached.budget.tokens").unwrap();
    /// assert!(read.is_of("acme") && !read.is_of("globex"));
    /// assert!(DecisionId::try_from("17.5a0a02d29c9c2c19.weur.admitted.budget.tokens").is_err());
    /// ```
    fn try_from(text: &str) -> Result<Self, Fault> {
        if text.len() > DECISION_ID_BYTES_MAX {
            let (got, max, what) = (text.len(), DECISION_ID_BYTES_MAX, "bytes");
            return Err(Fault::TooMany { got, max, what });
        }
        parts(text).ok_or_else(|| {
            let message =
                "is no decision id: it is copied whole from the field `decision` of a denial";
            Fault::Form {
                message: message.to_owned(),
            }
        })
    }
}

fn parts(text: &str) -> Option<DecisionId> {
    let mut parts = text.split(POINT);
    let mut next = || parts.next();
    let (at, mark, region, reason, kind, rule) =
        (next()?, next()?, next()?, next()?, next()?, next()?);
    let plain = at.bytes().all(|byte| byte.is_ascii_digit()) && (at == "0" || !at.starts_with('0'));
    let at = at
        .parse()
        .ok()
        .filter(|at| plain && *at <= JSON_INTEGER_MAX)?;
    label(region).ok()?;
    label(rule).ok()?;
    let id = DecisionId {
        at: EpochMs(at),
        tenant: TenantMark::read(mark)?,
        region: region.to_owned(),
        reason: Reason::named(reason).filter(|reason| *reason != Reason::Admitted)?,
        kind: RuleKind::named(kind)?,
        rule: rule.to_owned(),
    };
    parts.next().is_none().then_some(id)
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            tenant,
            region,
            reason,
            kind,
            rule,
        } = self;
        let (mark, reason, kind) = (tenant.as_str(), reason.name(), kind.name());
        write!(f, "{}.{mark}.{region}.{reason}.{kind}.{rule}", at.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial<'a>(tenant: &'a str, region: &'a str, rule: &'a str) -> Denial<'a> {
        Denial {
            at: EpochMs(JSON_INTEGER_MAX),
            tenant,
            region,
            reason: Reason::LimitExceeded,
            kind: RuleKind::Overload,
            rule,
        }
    }

    #[test]
    fn an_id_is_read_as_it_was_written() {
        for tenant in ["acme", "", "a\u{1}b", "é→.x", &"x".repeat(128)] {
            for reason in Reason::ALL
                .into_iter()
                .filter(|one| *one != Reason::Admitted)
            {
                for kind in RuleKind::ALL {
                    let told = Denial {
                        reason,
                        kind,
                        ..denial(tenant, "weur", "a-b_1")
                    }
                    .to_string();
                    let read = DecisionId::try_from(told.as_str()).unwrap();
                    assert_eq!(read.to_string(), told);
                    assert!(read.is_of(tenant) && !read.is_of("another"), "{told}");
                    assert_eq!((read.reason, read.kind), (reason, kind));
                }
            }
        }
    }

    #[test]
    fn the_longest_id_has_room() {
        let name = "x".repeat(64);
        let told = denial("acme", &name, &name).to_string();
        assert!(told.len() <= DECISION_ID_BYTES_MAX, "{}", told.len());
        assert!(DecisionId::try_from(told.as_str()).is_ok());
    }

    #[test]
    fn what_is_no_id_is_refused() {
        let good = "17.5a0a02d29c9c2c19.weur.cap_reached.budget.tokens";
        assert!(DecisionId::try_from(good).is_ok());
        let long = "1".repeat(DECISION_ID_BYTES_MAX + 1);
        for text in [
            "",
            ".",
            "17",
            &long,
            &format!("{good}."),
            &format!("{good}.x"),
            &format!(" {good}"),
            &good.replace("17.", "017."),
            &good.replace("17.", "+17."),
            &good.replace("17.", "9007199254740992."),
            &good.replace("17.", "-1."),
            &good.replace("5a0a", "ABCD"),
            &good.replace("5a0a", "abc"),
            &good.replace("weur", "We"),
            &good.replace("weur", ""),
            &good.replace("cap_reached", "admitted"),
            &good.replace("cap_reached", "unreachable"),
            &good.replace("budget", "budgets"),
            &good.replace("tokens", "to kens"),
            &good.replace("tokens", "<b>"),
            &good.replace("tokens", "to\nkens"),
            &good.replace("tokens", ""),
        ] {
            assert!(DecisionId::try_from(text).is_err(), "{text:?}");
        }
    }
}
