//! What an agent says, made what an isolate would say: whatever it claims of budgets and tenants is replaced by what the
//! deployment's own policy says, and it speaks for itself alone.

use sha2::{Digest, Sha256};
use weir_accounting::pending::claim;
use weir_core::invalid::{Fault, Invalid};
use weir_core::json;
use weir_core::limits::{EXCHANGES_PER_CONTACT_MAX, JSON_INTEGER_MAX};
use weir_core::name::tenant_name;
use weir_core::units::{EpochMs, HolderId, Revision};
use weir_fairness::ask::{Claimant, Party};
use weir_federation::party::window_claim;
use weir_federation::pool_name::is_budget;
use weir_policy::{Policy, count};
use weir_wire::accounting::{ANONYMOUS, FrameBody, OTHERS, TenantCounters};
use weir_wire::agent::{AgentContactBody, AgentContactReply};
use weir_wire::exchange::{
    ExchangeAnswer, ExchangeBody, RankBody, Refusal, Terms, VERSION, version_accepted,
};
use weir_wire::policy::PolicyDocument;
use weir_wire::route::UnroutedBody;
use weir_wire::saved_policy::SavedPolicy;
use weir_wire::windows::{TenantPart, WindowPart};

use crate::{ContactBody, ContactReply};

/// What the deployment knows of an agent that speaks.
#[derive(Debug, Clone, Copy)]
pub struct Speaker<'a> {
    /// The id of its token.
    pub token: &'a str,
    /// The region that lends.
    pub region: &'a str,
    /// The policy that applies there.
    pub policy: &'a Policy,
    /// Its revision.
    pub revision: Revision,
    /// The present time.
    pub now: EpochMs,
}

/// A contact that may be handed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    /// As an isolate's: for the region.
    pub contact: ContactBody,
    /// Of each message of the agent, in their order, whether the region is asked.
    asked: Vec<bool>,
}

/// The holder that an agent is to its region: no token speaks for an isolate, or for an agent of another token, as it
/// would have to find 64 bits of SHA-256.
///
/// ```
/// use weir_contact::agent::holder;
/// use weir_core::units::HolderId;
/// assert_ne!(holder("token", HolderId(7)), HolderId(7));
/// assert_ne!(holder("token", HolderId(7)), holder("other", HolderId(7)));
/// assert_eq!(holder("token", HolderId(7)), holder("token", HolderId(7)));
/// ```
#[must_use]
pub fn holder(token: &str, agent: HolderId) -> HolderId {
    let digest = Sha256::digest(format!("agent\n{token}\n{}", agent.0));
    let bytes = digest.iter().take(8);
    HolderId(bytes.fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

impl Speaker<'_> {
    /// The contact as the region may have it: with the terms and the claims of the policy, and counters of budgets alone.
    /// No token travels with it.
    ///
    /// # Errors
    /// At `/v` for a version that is not read, at `/exchanges` for too many messages, at `/exchanges/../budget` for a pool
    /// that is no budget's.
    pub fn admit(&self, body: AgentContactBody) -> Result<Admitted, Invalid> {
        if !version_accepted(body.v) {
            let fault = Fault::OutOfRange {
                got: body.v.to_string(),
                min: (VERSION - 1).to_string(),
                max: (VERSION + 1).to_string(),
            };
            return Err(Invalid::new("/v", fault));
        }
        let messages = body.exchanges.len();
        count(
            "/exchanges",
            "messages",
            messages,
            EXCHANGES_PER_CONTACT_MAX,
        )?;
        let holder = holder(self.token, body.agent);
        let (mut asked, mut exchanges) = (Vec::new(), Vec::new());
        for (index, message) in body.exchanges.into_iter().enumerate() {
            if !is_budget(&message.budget) {
                let fault = Fault::Unknown {
                    name: message.budget,
                    what: "name of a budget",
                };
                return Err(Invalid::new(format!("/exchanges/{index}/budget"), fault));
            }
            let message = self.message(message, holder);
            asked.push(message.is_some());
            exchanges.extend(message);
        }
        Ok(Admitted {
            contact: ContactBody {
                region: self.region.to_owned(),
                revision: body.revision,
                exchanges,
                frame: body.frame.map(|frame| self.frame(frame, holder)),
                // No table of tokens is newer.
                access_revision: Revision(JSON_INTEGER_MAX),
                tokens_used: Vec::new(),
                token_wanted: None,
                overload: None,
                accounts: Default::default(),
                speaker: None,
            },
            asked,
        })
    }

    /// A message by the policy's own terms and claims; `None` on a budget that it does not have here. A tenant that the
    /// policy refuses is left out.
    fn message(&self, message: ExchangeBody, holder: HolderId) -> Option<ExchangeBody> {
        let terms = self
            .policy
            .terms(&message.budget, self.region, self.revision, self.now)?;
        let budget = message.budget.clone();
        let wants = message.wants.into_iter().filter_map(|mut want| {
            if let Some(tenant) = &want.tenant {
                want.rank = Some(RankBody::from(&self.claimant(tenant, &budget)?));
            }
            Some(want)
        });
        let wants = wants.collect();
        Some(ExchangeBody {
            terms,
            holder,
            wants,
            ..message
        })
    }

    /// A tenant with its claim; those that a holder has no room to tell apart are bounded as one that nobody names.
    fn claimant(&self, tenant: &str, budget: &str) -> Option<Claimant> {
        let claimant = self
            .policy
            .claimant(tenant, Some(budget), self.revision, self.now)?;
        match tenant == Claimant::overflow().name {
            true => Some(claimant.overflow_with()),
            false => Some(claimant),
        }
    }

    /// Counters of the policy's budgets, of tenants that there can be; nothing else that a frame may have.
    fn frame(&self, frame: FrameBody, holder: HolderId) -> FrameBody {
        let has = |budget: &String| self.policy.budgets.contains_key(budget);
        let counters = frame.counters.into_iter().filter_map(|(tenant, counters)| {
            let mut budgets = counters.budgets;
            budgets.retain(|budget, _| has(budget));
            let counted = TenantCounters {
                budgets,
                known: self.policy.tiers.named(&tenant).is_some(),
                ..TenantCounters::default()
            };
            (is_counted(&tenant) && !counted.budgets.is_empty()).then_some((tenant, counted))
        });
        let counters = counters.collect();
        let mut windows = frame.windows;
        windows.retain(|budget, _| has(budget));
        for (budget, labels) in &mut windows {
            let terms = self
                .policy
                .budget_terms(budget, self.region, self.revision, self.now);
            for part in labels.values_mut() {
                *part = self.window(std::mem::take(part), budget, terms.as_ref());
            }
        }
        FrameBody {
            sender: holder,
            counters,
            windows,
            v: frame.v,
            incarnation: frame.incarnation,
            sequence: frame.sequence,
            receiver: frame.receiver,
            again: frame.again,
            ..FrameBody::default()
        }
    }

    /// What was counted of a window, by the policy's own terms and claims; none where it lends nothing here.
    fn window(&self, said: WindowPart, budget: &str, terms: Option<&Terms>) -> WindowPart {
        let mut part = WindowPart {
            limit: terms.map_or(0, |terms| terms.limit),
            ends_at: said.ends_at,
            lapsed: said.lapsed,
            ..WindowPart::default()
        };
        let tenants = said.tenants.into_iter();
        for (tenant, counted) in tenants.filter(|(tenant, _)| is_counted(tenant)) {
            let party = terms.and_then(|terms| Some((self.party(&tenant, budget, terms)?, terms)));
            let claims = party
                .as_ref()
                .map(|(party, terms)| window_claim(party, terms))
                .unwrap_or_default();
            claim(&mut part, &tenant, &claims);
            let one = TenantPart {
                known: self.policy.tiers.named(&tenant).is_some(),
                admitted: counted.admitted,
                denied: counted.denied,
                would_deny: counted.would_deny,
                ..claims.of_tenant()
            };
            part.tenants.insert(tenant, one);
        }
        part
    }

    /// Who a tenant is to a budget; `None` for one that the policy refuses.
    fn party(&self, tenant: &str, budget: &str, terms: &Terms) -> Option<Party> {
        match terms.sharing {
            Some(_) => self.claimant(tenant, budget).map(Party::Tenant),
            None => Some(Party::Everyone),
        }
    }
}

impl Admitted {
    /// What the agent is answered.
    ///
    /// # Errors
    /// When a policy cannot be written.
    pub fn answer(self, reply: ContactReply) -> Result<AgentContactReply, serde_json::Error> {
        let mut replies = reply.exchanges.into_iter();
        let unknown = || ExchangeAnswer::Refused(Refusal::UnknownBudget);
        let answers = self.asked.iter().map(|asked| match asked {
            // A region that answers less than it was asked has said nothing of the rest.
            true => replies.next().unwrap_or_else(unknown),
            false => unknown(),
        });
        let exchanges = answers.collect();
        // One that this version cannot read is not for the agent either.
        let saved = reply
            .policy
            .and_then(|saved| json::from_value::<SavedPolicy>(&saved).ok());
        let policy = saved.map(|saved| json::to_value(&for_agents(saved)));
        Ok(AgentContactReply {
            region: self.contact.region,
            policy: policy.transpose()?,
            exchanges,
            frame: reply.frame,
            next_contact_ms: reply.next_contact_ms,
        })
    }
}

/// A policy without what an agent does not decide by: where keys are kept, whose they are, and where requests go.
fn for_agents(saved: SavedPolicy) -> SavedPolicy {
    SavedPolicy {
        revision: saved.revision,
        document: PolicyDocument {
            routes: Vec::new(),
            unrouted: UnroutedBody::Refuse,
            trusted_proxies: Vec::new(),
            api_keys: Default::default(),
            ..saved.document
        },
        handovers: Default::default(),
        placement: None,
    }
}

/// Whether accounts have a tenant of that name.
fn is_counted(tenant: &str) -> bool {
    tenant_name(tenant).is_ok() || tenant == OTHERS || tenant == ANONYMOUS
}
