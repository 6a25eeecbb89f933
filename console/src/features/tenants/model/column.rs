//! The columns of the list of tenants, and what the server sorts them by.

use crate::glossary::Term;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The tenant's name.
    Tenant,
    /// Its tier.
    Tier,
    /// Its weight.
    Weight,
    /// Units a window that the budget guarantees to it.
    Guarantee,
    /// Units admitted.
    Used,
    /// Units admitted beyond its guarantee.
    Borrowed,
    /// Calls denied.
    Denied,
    /// What it was admitted of late.
    Trend,
}

impl Column {
    /// All of them, from left to right.
    pub const ALL: [Self; 8] = [
        Self::Tenant,
        Self::Tier,
        Self::Weight,
        Self::Guarantee,
        Self::Used,
        Self::Borrowed,
        Self::Denied,
        Self::Trend,
    ];

    /// Its name at the server and in the address; `None` where the server does not sort by it.
    pub fn key(self) -> Option<&'static str> {
        Some(match self {
            Self::Tenant => "tenant",
            Self::Tier => "tier",
            Self::Weight => "weight",
            Self::Guarantee => "guarantee",
            Self::Used => "admitted_units",
            Self::Borrowed => "borrowed_units",
            Self::Denied => "denied_calls",
            Self::Trend => return None,
        })
    }

    /// The column of that key.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|column| column.key() == Some(key))
    }

    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Tenant => "Tenant",
            Self::Tier => "Tier",
            Self::Weight => "Weight",
            Self::Guarantee => "Guarantee",
            Self::Used => "Used",
            Self::Borrowed => "Borrowed",
            Self::Denied => "Denied",
            Self::Trend => "Trend",
        }
    }

    /// The unit under the heading.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            Self::Tenant | Self::Tier | Self::Weight => None,
            Self::Guarantee => Some("units/window"),
            Self::Used | Self::Borrowed => Some("units"),
            Self::Denied => Some("calls"),
            Self::Trend => Some("units/s"),
        }
    }

    /// The word that is explained beside the heading.
    ///
    /// ```
    /// use weir_console::features::tenants::model::column::Column;
    /// use weir_console::glossary::Term;
    /// assert_eq!(Column::Guarantee.term(), Some(Term::Guarantee));
    /// ```
    pub fn term(self) -> Option<Term> {
        match self {
            Self::Weight => Some(Term::Weight),
            Self::Guarantee => Some(Term::Guarantee),
            Self::Borrowed => Some(Term::Borrowed),
            _ => None,
        }
    }

    /// Whether the first press sorts from the largest: names start at the top, figures at the largest.
    pub fn descends_first(self) -> bool {
        !matches!(self, Self::Tenant | Self::Tier)
    }

    /// Whether its values move while requests are decided.
    pub fn moves(self) -> bool {
        matches!(
            self,
            Self::Guarantee | Self::Used | Self::Borrowed | Self::Denied
        )
    }

    /// The class of its cells.
    pub fn class(self) -> &'static str {
        match self {
            Self::Tenant => "name",
            Self::Tier => "tier",
            Self::Trend => "trend",
            _ => "figure",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_are_all_different() {
        for column in Column::ALL {
            let back = column.key().map(Column::of_key);
            assert_eq!(back, column.key().map(|_| Some(column)));
        }
        assert_eq!(Column::of_key("price"), None);
    }
}
