//! The parts of the policy page, and the address of each.

use weir_shared::wire::rule_kind::RuleKind;

/// A part of the policy page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Section {
    /// Budgets.
    #[default]
    Budgets,
    /// Limits.
    Limits,
    /// Meters.
    Meters,
    /// Guards.
    Guards,
    /// Tiers and who is in them.
    Tiers,
    /// Named tenants, as a tree.
    Tenants,
    /// Overloaded resources.
    Overload,
    /// Routes of the gateway.
    Routes,
    /// Whose each API key is.
    ApiKeys,
    /// What counts for all.
    General,
    /// The whole document.
    Document,
    /// State put back to its start.
    Reset,
}

/// A part of the document that is edited as JSON.
pub struct JsonPart {
    /// Where it stands.
    pub pointer: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// What it is.
    pub hint: &'static str,
}

impl Section {
    /// All of them, in order.
    pub const ALL: [Self; 12] = [
        Self::Budgets,
        Self::Limits,
        Self::Meters,
        Self::Guards,
        Self::Tiers,
        Self::Tenants,
        Self::Overload,
        Self::Routes,
        Self::ApiKeys,
        Self::General,
        Self::Document,
        Self::Reset,
    ];

    /// Its name in an address.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Budgets => "budgets",
            Self::Limits => "limits",
            Self::Meters => "meters",
            Self::Guards => "guards",
            Self::Tiers => "tiers",
            Self::Tenants => "tenants",
            Self::Overload => "overload",
            Self::Routes => "routes",
            Self::ApiKeys => "api-keys",
            Self::General => "general",
            Self::Document => "document",
            Self::Reset => "reset",
        }
    }

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Budgets => "Budgets",
            Self::Limits => "Limits",
            Self::Meters => "Meters",
            Self::Guards => "Guards",
            Self::Tiers => "Tiers",
            Self::Tenants => "Tenants",
            Self::Overload => "Overload",
            Self::Routes => "Routes",
            Self::ApiKeys => "API keys",
            Self::General => "General",
            Self::Document => "Document",
            Self::Reset => "Reset state",
        }
    }

    /// What it is about, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Budgets => "Units per window that tenants share.",
            Self::Limits => "Bounds by key: an address, a user, a login.",
            Self::Meters => "Units per second that each tenant may bring.",
            Self::Guards => "Calls of each tenant at a time, and in a minute.",
            Self::Tiers => {
                "The weight of a tenant that has none of its own, and which tenants are in which tier."
            }
            Self::Tenants => "Tenants that the policy names, each below its parent.",
            Self::Overload => {
                "Resources that are shared fairly without a quota once they are overloaded."
            }
            Self::Routes => {
                "What the gateway forwards, where to, and what it checks first. The first matching route takes a request."
            }
            Self::ApiKeys => {
                "The tenant of each key, for routes that find the tenant by its API key. The policy stores the SHA-256 of a key, never the key itself."
            }
            Self::General => "Regions, enforcement and what counts for tenants without a name.",
            Self::Document => {
                "The whole policy as JSON. The forms and this text edit the same draft."
            }
            Self::Reset => {
                "Resets the state of a limit's key, a meter, a guard or a tenant. It takes effect at once and is not part of the policy."
            }
        }
    }

    /// The section of that name; the first for one that is none.
    pub fn parse(slug: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|section| section.slug() == slug)
            .unwrap_or_default()
    }

    /// Where the section's entries stand in the document, if it has forms for them.
    pub fn entries(self) -> Option<&'static str> {
        match self {
            Self::Budgets => Some("/budgets"),
            Self::Limits => Some("/limits"),
            Self::Meters => Some("/meters"),
            Self::Guards => Some("/guards"),
            Self::Tiers => Some("/tiers"),
            Self::Overload => Some("/overload"),
            _ => None,
        }
    }

    /// One entry, in a sentence: `budget`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Budgets => "budget",
            Self::Limits => "limit",
            Self::Meters => "meter",
            Self::Guards => "guard",
            Self::Tiers => "tier",
            Self::Overload => "resource",
            _ => "entry",
        }
    }

    /// What its entries are counted as; nothing for those that decide nothing.
    pub fn rule(self) -> Option<RuleKind> {
        match self {
            Self::Budgets => Some(RuleKind::Budget),
            Self::Limits => Some(RuleKind::Limit),
            Self::Meters => Some(RuleKind::Meter),
            Self::Guards => Some(RuleKind::Guard),
            Self::Overload => Some(RuleKind::Overload),
            _ => None,
        }
    }

    /// The parts of the document that the section edits as JSON.
    pub fn json(self) -> &'static [JsonPart] {
        match self {
            Self::Document => &[JsonPart {
                pointer: "",
                label: "Policy document",
                hint: "Every top-level key, empty ones included.",
            }],
            _ => &[],
        }
    }

    /// The section in which a flaw or a difference at a pointer is seen.
    pub fn of(pointer: &str) -> Self {
        match pointer.split('/').nth(1).unwrap_or_default() {
            "budgets" => Self::Budgets,
            "limits" => Self::Limits,
            "meters" => Self::Meters,
            "guards" => Self::Guards,
            "tiers" | "tier_rules" | "default_tier" => Self::Tiers,
            "tenants" => Self::Tenants,
            "overload" => Self::Overload,
            "routes" | "unrouted" | "trusted_proxies" | "allow_private_origins" | "descriptors" => {
                Self::Routes
            }
            "api_keys" => Self::ApiKeys,
            "regions" | "home" | "enforcing" | "tenants_max" | "unknown_weight_max"
            | "rate_limit_headers" => Self::General,
            _ => Self::Document,
        }
    }

    /// The section's address, with one of its entries open.
    ///
    /// ```
    /// use weir_console::features::policy::model::section::Section;
    /// assert_eq!(Section::Limits.address(Some("per_ip")), "/console/policy?section=limits&name=per_ip");
    /// ```
    pub fn address(self, name: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("section", self.slug());
        if let Some(name) = name {
            query.append_pair("name", name);
        }
        format!("/console/policy?{}", query.finish())
    }
}

/// The address at which a flaw or a difference at a pointer is edited.
///
/// ```
/// use weir_console::features::policy::model::section::address_of;
/// assert_eq!(address_of("/budgets/tokens/limit"), "/console/policy?section=budgets&name=tokens");
/// assert_eq!(address_of("/routes/2/path"), "/console/policy?section=routes&name=2");
/// assert_eq!(address_of("/regions/0"), "/console/policy?section=general");
/// assert_eq!(address_of("/api_keys/ba78"), "/console/policy?section=api-keys");
/// ```
pub fn address_of(pointer: &str) -> String {
    let section = Section::of(pointer);
    let listed = (section == Section::Routes).then_some("/routes");
    let name = section
        .entries()
        .or(listed)
        .filter(|entries| pointer.starts_with(&format!("{entries}/")))
        .and_then(|_| crate::difference::steps(pointer).into_iter().nth(1));
    section.address(name.as_deref())
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;
    use crate::features::policy::model::draft::as_value;

    #[test]
    fn sections_are_found_by_their_names() {
        for section in Section::ALL {
            assert_eq!(Section::parse(section.slug()), section);
        }
        assert_eq!(Section::parse("nope"), Section::Budgets);
        assert_eq!(Section::parse(""), Section::Budgets);
    }

    #[test]
    fn every_key_of_the_document_is_edited_somewhere_but_in_the_text() {
        let document = as_value(&PolicyDocument::default());
        for key in document.as_object().unwrap().keys() {
            assert_ne!(Section::of(&format!("/{key}")), Section::Document, "{key}");
        }
    }

    #[test]
    fn parts_that_are_edited_as_json_are_parts_of_the_document() {
        // What is written where there is any.
        let descriptors = [("edge".to_owned(), Vec::new())].into();
        let document = as_value(&PolicyDocument {
            descriptors,
            ..PolicyDocument::default()
        });
        for section in Section::ALL {
            for part in section.json() {
                assert!(document.pointer(part.pointer).is_some(), "{}", part.pointer);
                assert_eq!(Section::of(part.pointer), section);
            }
        }
    }
}
