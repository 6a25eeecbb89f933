//! What each role permits, in words.

use weir_shared::wire::role::Role;
use weir_shared::wire::role::Role::{Admin, Agent, Editor, Service, Tenant, Viewer};

/// Something that some roles permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ability {
    /// What it is.
    pub name: &'static str,
    /// Who has it.
    pub roles: &'static [Role],
}

/// What there is to permit, from the least to the most.
pub const ABILITIES: [Ability; 7] = [
    Ability {
        name: "Lease units of budgets",
        roles: &[Agent],
    },
    Ability {
        name: "Decide calls",
        roles: &[Service, Tenant, Admin],
    },
    Ability {
        name: "Report outcomes of calls, ask on behalf of clients",
        roles: &[Service, Admin],
    },
    Ability {
        name: "Read one tenant's share",
        roles: &[Tenant, Admin],
    },
    Ability {
        name: "Read the console",
        roles: &[Viewer, Editor, Admin],
    },
    Ability {
        name: "Change policy and tenants, reset",
        roles: &[Editor, Admin],
    },
    Ability {
        name: "Create and revoke tokens",
        roles: &[Admin],
    },
];

impl Ability {
    /// Whether a role has it.
    pub fn is_of(self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// Whom a role is for.
pub fn purpose(role: Role) -> &'static str {
    match role {
        Agent => "A program beside a proxy: it decides from units of budgets that it leases.",
        Service => {
            "A backend that decides for any tenant, or for tenants with the prefix in its token."
        }
        Tenant => "One tenant: it decides for itself and reads its own share.",
        Viewer => "Somebody who observes. Reads everything but tokens, and changes nothing.",
        Editor => {
            "Somebody on duty. A viewer who also changes the policy and tenants, and resets state."
        }
        Admin => "Somebody who grants access. An editor who also makes and revokes tokens.",
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::access::endpoint::{Access, Endpoint, ROUTES};

    use super::*;

    fn ability(endpoint: Endpoint) -> &'static str {
        use Endpoint as E;
        match endpoint {
            E::Check | E::CheckBatch | E::Reserve | E::Settle => "Decide calls",
            E::GuardAcquire | E::GuardRenew | E::GuardRelease => "Decide calls",
            E::Report | E::Authorize => "Report outcomes of calls, ask on behalf of clients",
            E::AgentContact => "Lease units of budgets",
            E::OwnFairness => "Read one tenant's share",
            E::PolicySave | E::TenantPatch | E::TenantDelete | E::Reset => {
                "Change policy and tenants, reset"
            }
            E::TokensList | E::TokenCreate | E::TokenRevoke | E::SessionsRevoke => {
                "Create and revoke tokens"
            }
            _ => "Read the console",
        }
    }

    #[test]
    fn what_is_said_of_roles_is_what_the_routes_permit() {
        let mut told = 0;
        for route in ROUTES {
            let Access::Roles(roles) = route.access else {
                continue;
            };
            let name = ability(route.endpoint);
            let ability = ABILITIES.iter().find(|ability| ability.name == name);
            let ability = ability.unwrap_or_else(|| panic!("no ability {name:?}"));
            for role in Role::ALL {
                let permitted = roles.contains(&role);
                assert_eq!(
                    ability.is_of(role),
                    permitted,
                    "{} {}",
                    route.path,
                    role.name()
                );
            }
            told += 1;
        }
        assert!(told > 20, "{told} routes have roles");
    }

    #[test]
    fn every_role_is_for_somebody() {
        for role in Role::ALL {
            assert!(purpose(role).ends_with('.'));
            assert!(ABILITIES.iter().any(|ability| ability.is_of(role)));
        }
    }
}
