//! The members of the paced rule: who they are, what they have used, and what is kept back for each.

use super::accounts::{OVERFLOW, shared};
use super::ask::{ClaimVersion, Floor, Moment, TenantClaim};
use super::books::{Books, Place};
use super::costs::Costs;
use super::floored::Pacing;
use super::floors::Floors;
use super::name_index::NameIndex;
use super::pace::Pace;
use super::rate::parts;
use super::reserve::Claim;
use super::share::ShareTerms;
use super::weight_sum::WeightSum;
use crate::weight::Weight;

/// Windows without a request after which a member is dropped.
const ABSENT_WINDOWS: u8 = 2;

/// One member.
#[derive(Debug, Clone)]
pub(super) struct Member {
    name: String,
    pub weight: Weight,
    pub known: bool,
    pub borrow_max: Option<u64>,
    lend_max: Option<u64>,
    /// Units that it may use, whatever else is free.
    pub ceiling: Option<u64>,
    /// What is set aside for it.
    pub floor: Floor,
    claim_version: ClaimVersion,
    pub used: u64,
    pub costs: Costs,
    pub pace: Pace,
    absent: u8,
    /// Whether its reserve was stated in this window.
    placed: bool,
}

/// All members.
#[derive(Debug, Clone)]
pub(super) struct PacedAccounts {
    terms: ShareTerms,
    index: NameIndex,
    members: Vec<Member>,
    /// The account that was looked for last: it is charged next.
    last: usize,
    weights: WeightSum,
    floors: Floors,
    unknown: u64,
    used_total: u64,
    /// Counts windows.
    window: u64,
    /// Whether no reserve was stated in this window yet.
    rolled: bool,
    books: Books,
    /// Parts that are kept back for all members together, at most.
    kept_max: Option<u128>,
    operations: u64,
}

impl PacedAccounts {
    /// No members.
    pub fn new(terms: ShareTerms) -> Self {
        Self {
            terms,
            index: NameIndex::default(),
            members: Vec::new(),
            last: 0,
            weights: WeightSum::new(terms.unknown_weight_max),
            floors: Floors::new(terms.floors),
            unknown: 0,
            used_total: 0,
            window: 1,
            rolled: true,
            books: Books::default(),
            kept_max: None,
            operations: 0,
        }
    }

    /// Other terms, for what comes.
    pub fn retune(&mut self, terms: ShareTerms) {
        self.terms = terms;
        self.weights.bound_unknown(terms.unknown_weight_max);
        self.floors.say(terms.floors);
    }

    /// The next window. Members that were not seen for two windows are dropped.
    pub fn roll(&mut self) {
        let mut next = Self {
            window: self.window.saturating_add(1),
            operations: self.operations(),
            ..Self::new(self.terms)
        };
        for mut member in std::mem::take(&mut self.members) {
            next.count(1);
            member.roll();
            if self.terms.carried && member.absent < ABSENT_WINDOWS {
                next.add(member);
            }
        }
        *self = next;
    }

    /// The account of a tenant, opened if it has none.
    pub fn open(&mut self, name: &str, claim: &TenantClaim) -> usize {
        if let Some(id) = self.own(name) {
            self.last = id;
            self.restate(id, claim);
            return id;
        }
        if claim.known || self.unknown < self.terms.tenants_max {
            return self.add(Member::new(name, claim));
        }
        match self.own(OVERFLOW) {
            Some(id) => self.tighten(id, claim),
            None => self.add(Member::new(OVERFLOW, &shared(claim))),
        }
    }

    /// The account that many share, under the least ceiling of those that came to it.
    fn tighten(&mut self, id: usize, claim: &TenantClaim) -> usize {
        if let Some(member) = self.members.get_mut(id) {
            let ceilings = member.ceiling.into_iter().chain(claim.ceiling);
            member.ceiling = ceilings.min();
        }
        id
    }

    fn add(&mut self, member: Member) -> usize {
        let id = self.members.len();
        self.weights.add(member.weight, member.known);
        self.floors.add(member.floor);
        self.unknown += u64::from(!member.known);
        self.members.push(member);
        let members = &self.members;
        let name_of = |id: usize| members.get(id).map(|member| member.name.as_str());
        let placed = name_of(id).map_or(0, |name| self.index.push(name, name_of));
        self.count(placed);
        self.last = id;
        id
    }

    /// Takes over what a member claims now.
    fn restate(&mut self, id: usize, claim: &TenantClaim) {
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        if claim.claim_version < member.claim_version {
            return;
        }
        member.claim_version = claim.claim_version;
        if member.claims(claim) {
            return;
        }
        self.weights.remove(member.weight, member.known);
        self.weights.add(claim.weight, claim.known);
        self.unknown = self.unknown.saturating_sub(u64::from(!member.known));
        self.unknown += u64::from(!claim.known);
        self.floors.remove(member.floor);
        self.floors.add(claim.set_aside());
        self.books.leave(member.place(), id);
        member.weight = claim.weight;
        member.known = claim.known;
        member.borrow_max = claim.borrow_max;
        member.lend_max = claim.lend_max;
        member.ceiling = claim.ceiling;
        member.floor = claim.set_aside();
        member.placed = false;
    }

    /// By which word the claim is that an own account of a tenant goes by.
    pub fn claim_version(&self, name: &str) -> Option<ClaimVersion> {
        let member = self.own(name).and_then(|id| self.members.get(id));
        member.map(|member| member.claim_version)
    }

    /// Lets time pass. Whether this is the first time in a window: then all that were carried get their reserves.
    pub fn begin(&mut self, at: &Moment) -> bool {
        let rest = Moment {
            limit: self.floors.rest(at.limit),
            ..*at
        };
        let pacing = Pacing {
            rates: self.weights.rates(&rest),
            floors: self.floors,
            at: *at,
        };
        if !std::mem::take(&mut self.rolled) {
            self.books.pass(&pacing);
            return false;
        }
        self.books = Books::open(&pacing);
        for id in 0..self.members.len() {
            self.state(id, None);
        }
        true
    }

    /// Whether reserves were stated in this window.
    pub fn has_begun(&self) -> bool {
        !self.rolled
    }

    /// A member.
    pub fn member(&self, id: usize) -> Option<&Member> {
        self.members.get(id)
    }

    /// A member, to count what it asks.
    pub fn member_mut(&mut self, id: usize) -> Option<&mut Member> {
        self.members.get_mut(id)
    }

    /// How many there are, those that are carried included.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Each by name.
    pub fn named(&self) -> impl Iterator<Item = (&str, usize)> {
        let named = self.members.iter().enumerate();
        let mut named: Vec<_> = named.map(|(id, one)| (one.name.as_str(), id)).collect();
        named.sort_unstable();
        named.into_iter()
    }

    /// The number of this window.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// What weights come to.
    pub fn weights(&self) -> &WeightSum {
        &self.weights
    }

    /// The account of a tenant, or the one that is shared by those without their own.
    pub fn id(&self, name: &str) -> Option<usize> {
        self.own(name).or_else(|| self.own(OVERFLOW))
    }

    /// The account of a tenant.
    pub fn own(&self, name: &str) -> Option<usize> {
        let name_of = |id: usize| self.members.get(id).map(|member| member.name.as_str());
        if name_of(self.last) == Some(name) {
            return Some(self.last);
        }
        self.index.get(name, name_of)
    }

    /// What a tenant has used; of one without an account, what those without one have used together.
    pub fn used(&self, name: &str) -> u64 {
        let member = self.id(name).and_then(|id| self.members.get(id));
        member.map_or(0, |member| member.used)
    }

    /// What all have used.
    pub fn used_total(&self) -> u64 {
        self.used_total
    }

    /// What a tenant is guaranteed, for one that has no account as if it had one.
    pub fn guarantee(&self, name: &str, claim: &TenantClaim, limit: u64) -> u64 {
        if let Some(member) = self.own(name).and_then(|id| self.members.get(id)) {
            return self.guaranteed(member, limit);
        }
        let (mut weights, mut floors) = (self.weights, self.floors);
        let member = Member::new("", claim);
        weights.add(member.weight, member.known);
        floors.add(member.floor);
        member.guarantee(&weights, &floors, limit)
    }

    /// The floor and `floor(w * R / W)` of the rest `R`, at most the ceiling.
    pub fn guaranteed(&self, member: &Member, limit: u64) -> u64 {
        member.guarantee(&self.weights, &self.floors, limit)
    }

    /// What is set aside for a member, as it counts.
    pub fn set_aside(&self, member: &Member, limit: u64) -> u64 {
        self.floors.of(member.floor, limit)
    }

    /// More parts than the rounding of all reserves comes to.
    pub fn rounding(&self) -> u128 {
        self.weights
            .rounding()
            .saturating_add(self.books.rounding())
    }

    /// Parts that are kept back for a member, whether or not its smallest cost fits.
    pub fn reserve(&self, id: usize) -> u128 {
        let place = self.members.get(id).map(Member::place);
        place.map_or(0, |place| self.books.of(place, id))
    }

    /// Parts that others have to leave for a member.
    pub fn counted(&self, id: usize) -> u128 {
        let place = self.members.get(id).map(Member::place);
        place.map_or(0, |place| self.books.counted(place, id))
    }

    /// Parts that are kept back for all, and for those that have a floor by name and are not there.
    pub fn reserved(&self) -> u128 {
        self.books.total()
    }

    /// Of what is kept back for others than a member, the parts that are kept until the window ends.
    pub fn lasting(&self, id: usize) -> u128 {
        self.books.lasting(id)
    }

    /// Keeps back no more than so many parts for all members together, what is set aside for those that are not there left
    /// out.
    pub fn keep_at_most(&mut self, parts: Option<u128>) {
        self.kept_max = parts;
    }

    /// Units that can be lent.
    pub fn pool(&self, at: &Moment) -> u64 {
        at.limit.saturating_sub(self.used_total).min(at.unlent)
    }

    /// Parts that can be lent and that nobody but members with `counted` parts has reserved.
    pub fn free(&self, counted: u128, at: &Moment) -> u128 {
        let members = self.reserved().saturating_sub(self.books.absent());
        let others = members
            .min(self.kept_max.unwrap_or(u128::MAX))
            .saturating_sub(counted);
        let others = others.saturating_add(self.books.absent());
        parts(self.pool(at)).saturating_sub(others)
    }

    /// States the reserve of a member after an ask. It grows when the member is new, never with what it asks.
    pub fn restate_reserve(&mut self, id: usize, at: &Moment) {
        let Some(member) = self.members.get(id) else {
            return;
        };
        let (placed, claim, place) = (member.placed, member.claim(), member.place());
        if placed && self.books.claim(place, id) == Some(claim) {
            return;
        }
        let (reserve, counted) = (self.books.of(place, id), self.books.counted(place, id));
        let free = self.free(counted, at).saturating_add(self.rounding());
        let bound = if placed { reserve } else { u128::MAX };
        self.state(id, Some(bound.min(free.max(counted))));
    }

    /// States the member's claim, with at most `bound` parts kept back for it, and no more than it may still use.
    fn state(&mut self, id: usize, bound: Option<u128>) {
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        member.placed = true;
        let most = member.ceiling.map(|most| most.saturating_sub(member.used));
        let bounds = bound.into_iter().chain(most.map(parts));
        self.books
            .state(member.place(), id, member.claim(), bounds.min());
    }

    /// Sets what a member has used, and takes the difference from its reserve or gives it back.
    pub fn use_up(&mut self, id: usize, used: u64) {
        self.count(1);
        let reserve = self.reserve(id);
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        let before = std::mem::replace(&mut member.used, used);
        let is_placed = member.placed && !self.rolled;
        self.used_total = self.used_total.saturating_sub(before).saturating_add(used);
        if !is_placed || before == used {
            return;
        }
        let bound = match used.checked_sub(before) {
            Some(more) => reserve.saturating_sub(parts(more)),
            None => reserve.saturating_add(parts(before.saturating_sub(used))),
        };
        self.state(id, Some(bound));
    }

    /// Counts members looked at.
    pub fn count(&mut self, steps: u64) {
        self.operations = self.operations.saturating_add(steps);
    }

    /// Members looked at and entries moved so far.
    pub fn operations(&self) -> u64 {
        self.operations.saturating_add(self.books.operations())
    }
}

impl Member {
    fn new(name: &str, claim: &TenantClaim) -> Self {
        Self {
            name: name.to_owned(),
            weight: claim.weight,
            known: claim.known,
            borrow_max: claim.borrow_max,
            lend_max: claim.lend_max,
            ceiling: claim.ceiling,
            floor: claim.set_aside(),
            claim_version: claim.claim_version,
            used: 0,
            costs: Costs::default(),
            pace: Pace::default(),
            absent: 0,
            placed: false,
        }
    }

    fn claims(&self, claim: &TenantClaim) -> bool {
        self.weight == claim.weight
            && self.known == claim.known
            && self.borrow_max == claim.borrow_max
            && self.lend_max == claim.lend_max
            && self.ceiling == claim.ceiling
            && self.floor == claim.set_aside()
    }

    fn guarantee(&self, weights: &WeightSum, floors: &Floors, limit: u64) -> u64 {
        let share = weights.guarantee(self.weight, self.known, floors.rest(limit));
        let all = floors.of(self.floor, limit).saturating_add(share);
        all.min(self.ceiling.unwrap_or(u64::MAX))
    }

    fn place(&self) -> Place {
        Place {
            known: self.known,
            floor: self.floor,
        }
    }

    fn claim(&self) -> Claim {
        Claim {
            weight: self.weight.micros(),
            burst: self.costs.largest(),
            smallest: self.costs.smallest(),
            used: self.used,
            lend_max: self.lend_max,
        }
    }

    fn roll(&mut self) {
        self.absent = if self.pace.seen() {
            0
        } else {
            self.absent.saturating_add(1)
        };
        self.pace.roll();
        self.costs.roll();
        self.used = 0;
        self.placed = false;
    }
}
