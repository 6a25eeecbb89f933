//! What an isolate knows of the overloaded resources of one region: what it has of each, and what it has to tell.

use std::rc::Rc;

use getrandom::fill;
use weir_shared::access::table::AccessTable;
use weir_shared::gateway::provider_limits::TokensLately;
use weir_shared::limits::{CALL_MS_MAX, OVERLOAD_RESOURCES_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::Resource;
use weir_shared::overload::slots::Slots;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Revision};
use weir_shared::wire::shares::{SharesBody, SharesReply};

/// Keeps this use of the deployment's key apart from others.
const PURPOSE: &str = "overload";

/// What an isolate knows of the resources of one region.
#[derive(Default)]
pub struct Resources {
    by_name: OrderedMap<String, (Revision, Resource)>,
    /// What of each that takes so many requests at once is taken.
    slots: OrderedMap<String, Slots>,
    /// What a request takes at each whose provider tells its limits.
    pub(super) tokens: OrderedMap<String, TokensLately>,
    secret: Option<Secret>,
    /// The tokens that the secret was derived from.
    secret_of: Revision,
    /// Whether something was used or reported since the last share.
    news: bool,
    /// Until when an answer to the last share may come.
    telling_until: EpochMs,
}

/// By what clients are placed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Secret {
    bytes: [u8; 32],
    /// Whether it is the deployment's, so that others place clients alike.
    shared: bool,
}

impl Secret {
    /// The deployment's, once the isolate knows it; a random one until then, which is not shared.
    fn of(table: Option<&Rc<AccessTable>>, known: Option<Self>) -> Self {
        if let Some(bytes) = table.and_then(|table| table.mac(PURPOSE, "placement")) {
            return Self {
                bytes,
                shared: true,
            };
        }
        known.unwrap_or_else(|| {
            let mut bytes = [0; 32];
            // Without random bytes collisions could be aimed at this isolate alone, until it knows the secret.
            let _unlikely = fill(&mut bytes);
            Self {
                bytes,
                shared: false,
            }
        })
    }
}

impl Resources {
    /// A resource of the policy.
    pub(super) fn get(
        &mut self,
        (name, config): (&str, &Config),
        revision: Revision,
        table: Option<&Rc<AccessTable>>,
        now: EpochMs,
    ) -> &mut Resource {
        let secret = self.secret(table);
        if self.by_name.len() >= OVERLOAD_RESOURCES_MAX && !self.by_name.contains_key(name) {
            self.by_name.pop_first();
        }
        let new = || {
            let resource = Resource::new(config, revision, &secret.bytes, name, now);
            (revision, resource)
        };
        let (known, resource) = self.by_name.entry(name.to_owned()).or_insert_with(new);
        if *known < revision {
            resource.reconfigure(config, revision, now);
            *known = revision;
        }
        self.news = true;
        resource
    }

    /// By what clients are placed. What was placed by another secret is dropped.
    fn secret(&mut self, table: Option<&Rc<AccessTable>>) -> Secret {
        let newest = table.map_or(Revision(0), |table| table.revision());
        if let Some(secret) = self.secret
            && newest == self.secret_of
        {
            return secret;
        }
        let secret = Secret::of(table, self.secret);
        if self.secret != Some(secret) {
            self.by_name.clear();
        }
        (self.secret, self.secret_of) = (Some(secret), newest);
        secret
    }

    /// Whether there is something to tell.
    pub fn has_unsent(&self) -> bool {
        self.news && self.secret.is_some_and(|secret| secret.shared)
    }

    /// What there is to tell, one message at a time.
    pub fn begin(&mut self, holder: HolderId, now: EpochMs) -> Option<SharesBody> {
        if !self.has_unsent() || now < self.telling_until {
            return None;
        }
        let resources = self.by_name.values_mut();
        let shares: Vec<_> = resources
            .filter_map(|(_, resource)| resource.share(now))
            .collect();
        self.news = !shares.is_empty();
        if shares.is_empty() {
            return None;
        }
        self.telling_until = now.plus(CALL_MS_MAX);
        Some(SharesBody { holder, shares })
    }

    /// The region answered what was told, or did not; what was used since then is told next, and what was not answered
    /// again.
    pub fn finish(&mut self, reply: Option<&SharesReply>, now: EpochMs) {
        self.telling_until = EpochMs(0);
        for reply in reply.into_iter().flat_map(|reply| &reply.replies) {
            if let Some((_, resource)) = self.by_name.get_mut(&reply.resource) {
                resource.learn(reply, now);
            }
        }
    }

    /// The slots of a resource of the policy.
    pub fn slots(&mut self, name: &str) -> &mut Slots {
        self.slots.entry(name.to_owned()).or_default()
    }

    /// Drops what the policy does not have.
    pub fn retain(&mut self, policy: &Policy) {
        self.slots
            .retain(|name, _| policy.overload.contains_key(name));
        self.tokens
            .retain(|name, _| policy.overload.contains_key(name));
        self.by_name
            .retain(|name, _| policy.overload.contains_key(name));
    }
}
