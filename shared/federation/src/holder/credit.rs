//! What a reply brings a holder.

use weir_core::limits::{AHEAD_WINDOWS_MAX, OPENING_CONTACTS, REFILLS_PER_CONTACT, RELEASE_MS_MIN};
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_core::units::{EpochMs, WindowLabel};
use weir_fairness::max_min::allocate;
use weir_wire::exchange::{ExchangeBody, ReplyBody};

use super::super::ahead::Ahead;
use super::super::lender::part_of;
use super::super::parent_status::{Again, ParentStatus};
use super::surplus::Windows;
use super::{Holder, Lease};

impl Holder {
    /// Credits the reply to the message in flight and answers whether it did; any other reply is ignored.
    pub fn finish(&mut self, reply: &ReplyBody, now: EpochMs) -> bool {
        let to = |body: &ExchangeBody| {
            body.incarnation == reply.to.incarnation && body.sequence == reply.to.sequence
        };
        let Some(sent) = self.unanswered.take_if(|sent| to(&sent.body)) else {
            return false;
        };
        let sent_at = sent.first_at.min(now);
        self.seen = Some(reply.to);
        self.left_alone(reply.outage);
        self.contact_ms = reply.next_contact_ms;
        self.contact_at = now.plus(reply.next_contact_ms);
        self.advance(now);
        let limit = self.lease.map_or(0, |lease| lease.limit);
        if self.credit(reply, sent_at, now) {
            self.update_parent_status(reply, &sent.body, now);
        }
        self.promised(reply, sent_at, now);
        self.shrink_slices(limit, reply.window.limit);
        self.recall_slices(Windows::of(&sent.body.terms));
        true
    }

    /// Takes the window and the grants. False when they are of a window that this holder has left.
    fn credit(&mut self, reply: &ReplyBody, sent_at: EpochMs, now: EpochMs) -> bool {
        let window = reply.window;
        let label = self.lease.map_or(WindowLabel(0), |lease| lease.label);
        if window.label < label {
            let granted = reply.grants.iter().map(|grant| grant.units).sum();
            self.lapses.add(window.label, granted);
            return false;
        }
        if window.label > label {
            self.enter(reply, sent_at, now);
        }
        let Some(lease) = self.lease.as_mut() else {
            return false;
        };
        let ends_at = sent_at.plus(window.remaining_ms);
        // It ends no later than that by this word: an edit has closed it early.
        let closes_early = now.plus(window.remaining_ms) < lease.ends_at;
        if ends_at > lease.ends_at || !lease.open(now) || closes_early {
            lease.ends_at = ends_at;
            lease.span_ms = window.remaining_ms;
        }
        lease.over_at = now.plus(window.remaining_ms);
        lease.limit = window.limit;
        lease.left = reply.left;
        lease.outage = reply.outage;
        let first_word = !std::mem::replace(&mut self.confirmed, true);
        for grant in &reply.grants {
            lease.held = lease.held.saturating_add(grant.units);
            match self.tenant_balances.get_mut(grant.tenant.as_deref()) {
                Some(tenant_balance) => {
                    tenant_balance.held = tenant_balance.held.saturating_add(grant.units);
                    tenant_balance.stated = tenant_balance.stated.saturating_add(grant.units);
                }
                None => self.unassigned = self.unassigned.saturating_add(grant.units),
            }
        }
        if first_word && !self.alone {
            self.end_unlimited();
        }
        true
    }

    /// Leaves the present window for the reply's, with what had been lent ahead of it.
    fn enter(&mut self, reply: &ReplyBody, sent_at: EpochMs, now: EpochMs) {
        let window = reply.window;
        let ahead = self
            .ahead
            .iter()
            .find(|ahead| ahead.label == window.label)
            .copied();
        self.note_lapse(window.label);
        self.ahead.retain(|ahead| ahead.label > window.label);
        self.lease = Some(Lease {
            label: window.label,
            ends_at: sent_at.plus(window.remaining_ms),
            over_at: now.plus(window.remaining_ms),
            span_ms: window.remaining_ms,
            limit: window.limit,
            held: ahead.map_or(0, |ahead| ahead.units),
            used: ahead.map_or(0, |ahead| ahead.lent),
            left: reply.left,
            outage: reply.outage,
        });
        self.roll(ahead, window.remaining_ms, now);
    }

    /// Empties the balances for another window, and shares out what was lent ahead of it: by weight, to those who are
    /// expected to ask in it.
    pub(super) fn roll(&mut self, ahead: Option<Ahead>, span_ms: u64, now: EpochMs) {
        let units = ahead.map_or(0, |ahead| ahead.units.saturating_sub(ahead.lent));
        self.early = ahead.map_or(0, |ahead| ahead.units);
        self.confirmed = false;
        self.cost_max /= 2;
        self.unassigned = units;
        self.bounded
            .open(units, self.lease.map_or(0, |lease| lease.limit));
        let tenant_balances = self.tenant_balances.iter();
        let demands: Vec<u64> = tenant_balances
            .map(|tenant_balance| tenant_balance.demanded(span_ms, now))
            .collect();
        let weights: Vec<_> = self
            .tenant_balances
            .iter()
            .map(|tenant_balance| tenant_balance.party.weight())
            .collect();
        let shares = allocate(&demands, &weights, units);
        for (tenant_balance, share) in self.tenant_balances.iter_mut().zip(shares) {
            let units = share
                .min(self.unassigned)
                .min(self.bounded.most(&tenant_balance.party));
            self.bounded.take(&tenant_balance.party, units);
            let bounded = !self.alone && tenant_balance.party.tenant().is_some();
            tenant_balance.opening = if tenant_balance.is_short() {
                0
            } else {
                let opening_ms = OPENING_CONTACTS * self.contact_ms;
                part_of(tenant_balance.used, opening_ms, span_ms)
            };
            tenant_balance.roll(units, bounded.then_some(units));
            self.unassigned -= units;
        }
        let waiting = self.waiting.by_tenant();
        self.tenant_balances
            .retain(|one| !one.idle(now) || waiting.of(one.party.name()).is_some());
    }

    /// What the parent said of each tenant.
    fn update_parent_status(&mut self, reply: &ReplyBody, asked: &ExchangeBody, now: EpochMs) {
        let lent_idle = reply.grants.iter().any(|grant| grant.tenant.is_none());
        if asked.idle > 0 && !lent_idle {
            self.refill_at = now.plus(reply.next_contact_ms / REFILLS_PER_CONTACT);
        }
        let grants = OrderedMap::from_iter(reply.grants.iter().map(|grant| (&grant.tenant, grant)));
        for want in &asked.wants {
            let tenant = want.tenant.as_deref();
            let grant = grants.get(&want.tenant);
            let Some(tenant_balance) = self.tenant_balances.get_mut(tenant) else {
                continue;
            };
            let units = grant.map_or(0, |grant| grant.units);
            if want.expected > 0 && units <= want.waiting {
                // There is nothing ahead of demand for now: to ask with every request would bring as little.
                self.refill_at = now.plus(reply.next_contact_ms / REFILLS_PER_CONTACT);
            }
            let (ceiling, left, retry_ms) = match (grant, want.tenant.is_some()) {
                (Some(grant), true) => (grant.ceiling, grant.left, grant.retry_ms),
                _ => (reply.window.limit, reply.left, reply.retry_ms),
            };
            // Until the time of contact, or the end of the lease, what the parent said counts.
            let hold_ms = reply.next_contact_ms.min(reply.window.remaining_ms);
            let again = retry_ms.map(|ms| Again {
                at: now.plus(ms),
                asked_at: now.plus(ms.max(hold_ms)),
                units: want.smallest,
            });
            // What is released as a window passes is asked for as it is, so far as that is not too often.
            let sooner = want.tenant.as_ref().and(retry_ms);
            let counts_ms = sooner.map_or(reply.next_contact_ms, |ms| {
                ms.max(RELEASE_MS_MIN).min(reply.next_contact_ms)
            });
            tenant_balance.told = Some(ParentStatus {
                by: reply.to,
                until: now.plus(counts_ms),
                span_ms: counts_ms,
                ceiling,
                used: grant.map_or(0, |grant| grant.used),
                left,
                unserved: units < want.waiting,
                contended: grant.is_some_and(|grant| grant.contended),
                outage: reply.outage,
                again,
            });
            if self.pooled && !self.alone && want.tenant.is_some() {
                let (allowance, contended) =
                    grant.map_or((0, false), |grant| (grant.allowance, grant.contended));
                if contended {
                    // What it kept is its own still.
                    tenant_balance.allow(allowance);
                    tenant_balance.stated = tenant_balance.stated.saturating_add(allowance);
                } else {
                    tenant_balance.unassigned_max = allowance;
                }
                tenant_balance.advance = 0;
                let advance = self.advance_of(tenant, now);
                if let Some(tenant_balance) = self.tenant_balances.get_mut(tenant) {
                    tenant_balance.advance = advance;
                }
            }
        }
    }

    /// What is promised of windows to come, and of one that has opened here before it did at the parent.
    fn promised(&mut self, reply: &ReplyBody, sent_at: EpochMs, now: EpochMs) {
        let label = self.lease.map_or(WindowLabel(0), |lease| lease.label);
        self.inherited.retain(|inherited, _| *inherited >= label);
        for body in reply.ahead.iter().take(AHEAD_WINDOWS_MAX) {
            let inherited = self.inherited.get(&body.label).copied().unwrap_or(0);
            let units = body.units.saturating_add(inherited);
            if body.label == label {
                let more = units.saturating_sub(self.early);
                self.early = self.early.max(units);
                self.unassigned = self.unassigned.saturating_add(more);
                self.bounded.grow(more);
                if let Some(lease) = self.lease.as_mut() {
                    lease.held = lease.held.saturating_add(more);
                }
            } else if body.label > label {
                let mut ahead = Ahead::told(body, sent_at, now);
                match self
                    .ahead
                    .iter_mut()
                    .find(|known| known.label == body.label)
                {
                    Some(known) => {
                        ahead.lent = known.lent;
                        ahead.units = units.max(known.units);
                        ahead.starts_at = ahead.starts_at.min(known.starts_at);
                        ahead.ends_at = ahead.ends_at.max(known.ends_at);
                        *known = ahead;
                    }
                    None => self.ahead.push(ahead),
                }
            }
        }
        sort_by_key(&mut self.ahead, |ahead| ahead.label);
        self.ahead.truncate(AHEAD_WINDOWS_MAX);
    }
}
